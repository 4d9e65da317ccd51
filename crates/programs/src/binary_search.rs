//! `binary-search`: keys of one party in the sorted table of another, which is read at secret rows.
//!
//! A search halves the rows `log2 n + 1` times. Each time it reads one row of a [`Memory`], whose method parameter
//! `memory` chooses. Zahur et al., "Revisiting Square-Root ORAM", IEEE S&P 2016, section V-C.

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_frontend::{
    Arguments, Element, OutputRows, Parameter, Program, ProgramError, Tracer, U32, Value, column,
    receivers, to_parameter,
};
use phineus_oblivious::Memory;

use super::choices::{memory_method, memory_parameter};
use super::random::random_table;
use super::sites;

/// The most rows of a table.
const ROWS_MAX: u64 = 1 << 24;

/// Bits of what a row has beside its key: rows of 16 bytes.
const VALUE: ElementType = ElementType::unsigned(96);

/// Looks for keys in a sorted table.
pub(super) struct BinarySearch;

fn table_columns() -> Vec<Column> {
    vec![column("key", U32::TYPE, Encoding::Number), column("value", VALUE, Encoding::Number)]
}

fn key_columns() -> Vec<Column> {
    vec![column("key", U32::TYPE, Encoding::Number)]
}

fn result_columns() -> Vec<Column> {
    vec![
        column("found", ElementType::BIT, Encoding::Number),
        column("value", VALUE, Encoding::Number),
    ]
}

/// One search: how many times it halves `rows` rows until one is left.
fn steps(rows: u64) -> u32 {
    rows.ilog2() + 1
}

/// The value of `key`, and whether there is one.
#[track_caller]
fn search(tracer: &Tracer, memory: &mut Memory, key: &Value) -> [Value; 2] {
    let rows = memory.rows();
    // An index up to the number of rows, and one bit for the sum of two.
    let element = ElementType::unsigned((u64::BITS - rows.leading_zeros() + 1) as u16);
    let number = |number: u64| tracer.constant(element, Lane::from(number));
    let (mut low, mut high) = (number(0), number(rows));
    let mut found = tracer.constant(ElementType::BIT, Lane::ZERO);
    let mut value = tracer.constant(VALUE, Lane::ZERO);
    for _ in 0..steps(rows) {
        let middle = low.add(&high).shift_right(1);
        let row = memory.read(&middle);
        // Beyond the last row there are zeros, which may be a key.
        let equal = row[0].eq(key).and(&middle.lt(&number(rows)));
        let is_less = row[0].lt(key);
        value = equal.select(&row[1], &value);
        found = found.or(&equal);
        low = is_less.select(&middle.add(&number(1)), &low);
        high = is_less.select(&high, &middle);
    }
    [found, value]
}

impl Program for BinarySearch {
    fn name(&self) -> &str {
        "binary-search"
    }

    fn about(&self) -> &str {
        "the values of site_b's keys in site_a's sorted table, which is read at secret rows"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("n", "1000", "rows of the table, where no file says"),
            Parameter::new("searches", "1", "keys that are looked for, where no file says"),
            memory_parameter(),
            to_parameter("all"),
        ]
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let rows = arguments.equal_rows(["table"], "n")?;
        let keys = arguments.equal_rows(["keys"], "searches")?;
        if rows > ROWS_MAX {
            let what = format!("the table has at most {ROWS_MAX} rows, not {rows}");
            return Err(ProgramError::Refused(what));
        }
        let method = memory_method(arguments)?;
        let names = sites();
        let to = receivers(arguments, &names)?;
        let mut table = tracer.input("table", rows).by("site_a").sorted(1).unique();
        for column in table_columns() {
            table = table.column(column);
        }
        let table = table.read();
        let keys = tracer.input("keys", keys).by("site_b").number::<U32>("key").vector::<U32>();
        let mut memory = (rows > 0).then(|| Memory::named("table", table, method));
        let output = tracer.output("result", &to);
        let mut results: OutputRows = output.rows(&result_columns(), keys.len());
        for at in 0..keys.len() {
            let [found, value] = match &mut memory {
                Some(memory) => search(tracer, memory, keys.get(at).value()),
                None => [ElementType::BIT, VALUE].map(|zero| tracer.constant(zero, Lane::ZERO)),
            };
            results.push(&[&found, &value]);
        }
        results.finish();
        Ok(())
    }

    fn reference(
        &self,
        _: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let (table, keys) = (&inputs[0], &inputs[1]);
        let rows: std::collections::HashMap<Lane, Lane> =
            (0..table.row_count()).map(|row| (table.cell(row, 0), table.cell(row, 1))).collect();
        let mut result = Table::new(result_columns());
        for row in 0..keys.row_count() {
            let value = rows.get(&keys.cell(row, 0));
            result.push(&[Lane::from(value.is_some()), value.copied().unwrap_or_default()]);
        }
        Some(Ok(vec![result]))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let rows = arguments.equal_rows(["table"], "n").ok()?;
        let searches = arguments.equal_rows(["keys"], "searches").ok()?;
        let mut random = SeededRng::new(seed);
        let values = random_table(vec![table_columns()[1].clone()], rows, &mut random);
        // Some keys are there and some are not.
        let (mut table, mut keys) = (Table::new(table_columns()), Table::new(key_columns()));
        for row in 0..rows {
            let key = row * 3 + random.below(3);
            table.push(&[Lane::from(key), values.cell(row, 0)]);
        }
        for _ in 0..searches {
            keys.push(&[Lane::from(random.below(3 * rows.max(1)))]);
        }
        Some(vec![table, keys])
    }
}
