//! `accesses`: rows of one party's table, changed at the other's secret indices.
//!
//! The cost of an access is the difference of runs with different numbers of accesses. Cells are secret, or begin as
//! public zeros. One index more is read than there are accesses, so that a run without accesses has oblivious
//! transfers too, and the difference is not that of setting them up.

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table, mask_of};
use phineus_frontend::{
    Arguments, Parameter, Program, ProgramError, Tracer, Value, column, receivers, to_parameter,
};
use phineus_oblivious::Memory;
use phineus_programs::choices::{choice, memory_method, memory_parameter};
use phineus_programs::random::random_table;

use super::sites;

/// Accesses of a memory.
pub(super) struct MemoryAccesses;

/// Widest column of the table, in bits.
pub(in crate::commands::bench) const COLUMN_BITS: u16 = 128;

/// Widest row, in bits.
const ROW_BITS_MAX: u16 = 8192;

/// Values of parameter `contents`: the rows of a table, or zeros that all parties know.
const CONTENTS: [&str; 2] = ["secret", "zeros"];

/// Sizes of the memory, and how often it is accessed.
struct Sizes {
    rows: u64,
    row_bits: u16,
    accesses: u64,
    is_zeros: bool,
}

impl Sizes {
    fn of(arguments: &Arguments) -> Result<Sizes, ProgramError> {
        let expected = format!("1 to {ROW_BITS_MAX}");
        let row_bits: u16 = arguments.parsed("width", &expected)?;
        if !(1..=ROW_BITS_MAX).contains(&row_bits) {
            return Err(arguments.bad("width", &expected));
        }
        let is_zeros = choice(arguments, "contents", &CONTENTS)? == "zeros";
        let rows = match is_zeros {
            true => arguments.parsed("rows", "a whole number")?,
            false => arguments.equal_rows(["table"], "rows")?,
        };
        if rows == 0 {
            return Err(ProgramError::Rows("the table has no rows".to_owned()));
        }
        let accesses = match arguments.stated_rows("indices") {
            Some(0) => {
                let what = "the last index is not accessed: the table of indices needs a row more";
                return Err(ProgramError::Rows(what.to_owned()));
            }
            Some(indices) => indices - 1,
            None => arguments.parsed("accesses", "a whole number below 2^32")?,
        };
        if accesses >> 32 > 0 {
            return Err(arguments.bad("accesses", "a whole number below 2^32"));
        }
        Ok(Sizes { rows, row_bits, accesses, is_zeros })
    }

    fn columns(&self) -> Vec<Column> {
        let whole = std::iter::repeat_n(COLUMN_BITS, usize::from(self.row_bits / COLUMN_BITS));
        let rest = Some(self.row_bits % COLUMN_BITS).filter(|&bits| bits > 0);
        let widths = whole.chain(rest).zip(0..);
        let named = |(bits, number): (u16, u16)| {
            column(&format!("c{number}"), ElementType::unsigned(bits), Encoding::Hex)
        };
        widths.map(named).collect()
    }

    fn index(&self) -> Column {
        let bits = (u64::BITS - (self.rows - 1).leading_zeros()).max(1);
        column("index", ElementType::unsigned(bits as u16), Encoding::Number)
    }
}

impl Program for MemoryAccesses {
    fn name(&self) -> &str {
        "accesses"
    }

    fn about(&self) -> &str {
        "the exclusive or of rows at site_b's indices but the last, and of that index"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("rows", "64", "rows of the table, where no file says"),
            Parameter::new("width", "128", "bits of a row, 1 to 8192"),
            Parameter::new("accesses", "32", "indices but the last, where no file says"),
            Parameter::new(
                "contents",
                "secret",
                "secret: site_a's table; zeros: all rows begin as zeros",
            ),
            memory_parameter(),
            to_parameter("all"),
        ]
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let sizes = Sizes::of(arguments)?;
        let method = memory_method(arguments)?;
        let names = sites();
        let to = receivers(arguments, &names)?;
        let columns = sizes.columns();
        let table = (!sizes.is_zeros).then(|| {
            let table = tracer.input("table", sizes.rows).by("site_a");
            columns.iter().cloned().fold(table, |table, column| table.column(column)).read()
        });
        let indices =
            tracer.input("indices", sizes.accesses + 1).by("site_b").column(sizes.index());
        let indices = indices.lanes(1).read().into_columns().swap_remove(0);
        let elements: Vec<ElementType> = columns.iter().map(|column| column.element).collect();
        let mut memory = match table {
            Some(table) => Memory::named("table", table, method),
            None => Memory::zeros(tracer, "table", &elements, sizes.rows, method),
        };
        let (last, indices) = indices.split_last().expect("there is one index at least");
        let mut sums: Vec<Value> = columns.iter().map(|column| last.cast(column.element)).collect();
        for index in indices {
            let row = memory.update(index, |row| {
                row.iter().map(|cell| cell.xor(&index.cast(cell.integer()))).collect()
            });
            sums = sums.iter().zip(&row).map(|(sum, cell)| sum.xor(cell)).collect();
        }
        let mut output = tracer.output("sum", &to).rows(&columns, 1);
        output.push(&sums.iter().collect::<Vec<_>>());
        output.finish();
        Ok(())
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        Some(Sizes::of(arguments).map(|sizes| {
            let columns = sizes.columns();
            let (table, indices) = match inputs {
                [table, indices] => (Some(table), indices),
                [indices] => (None, indices),
                _ => unreachable!("one input or two"),
            };
            let cell = |row, column| table.map_or(Lane::ZERO, |table| table.cell(row, column));
            let cells = |row| (0..columns.len()).map(|column| cell(row, column)).collect();
            let mut rows: Vec<Vec<Lane>> = (0..sizes.rows).map(cells).collect();
            let last = indices.cell(sizes.accesses, 0);
            let masks = columns.iter().map(|column| mask_of(column.element.width()));
            let mut sums: Vec<Lane> = masks.map(|mask| last & mask).collect();
            for access in 0..sizes.accesses {
                let index = indices.cell(access, 0);
                // Beyond the last row an access reads zeros and changes nothing.
                let Some(row) = rows.get_mut(index.as_limbs()[0] as usize) else { continue };
                for ((sum, cell), column) in sums.iter_mut().zip(row).zip(&columns) {
                    *sum ^= *cell;
                    *cell ^= index & mask_of(column.element.width());
                }
            }
            let mut table = Table::new(columns);
            table.push(&sums);
            vec![table]
        }))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let sizes = Sizes::of(arguments).ok()?;
        let mut random = SeededRng::new(seed);
        let table =
            (!sizes.is_zeros).then(|| random_table(sizes.columns(), sizes.rows, &mut random));
        let mut indices = Table::new(vec![sizes.index()]);
        for _ in 0..=sizes.accesses {
            indices.push(&[Lane::from(random.below(sizes.rows))]);
        }
        Some(table.into_iter().chain([indices]).collect())
    }
}
