//! Inputs and outputs: tables, checked against the program's ports.

use phineus_bytecode::{Description, Instruction, Lane, StepDigit, Table, step_digit};

/// Why data does not fit the program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// An input table is missing or has another shape than the port.
    #[error("input '{port}' should have {expected}, it has {found}")]
    Mismatch {
        /// The port's name.
        port: String,
        /// Shape that the program states.
        expected: String,
        /// Shape that was given.
        found: String,
    },
    /// There is not one table, or place of a table, for each input port.
    #[error("the program has {expected} inputs, and tables for {found} were given")]
    Count {
        /// Input ports of the program.
        expected: usize,
        /// Places that were given, also those of other parties' tables.
        found: usize,
    },
    /// The rows of a sorted input are in another order, or a key is there too often.
    #[error(
        "input '{port}' is not in the order that the program states: row {row} must not follow \
         those before it"
    )]
    Unsorted {
        /// The port's name.
        port: String,
        /// The first wrong row, counted from 1.
        row: u64,
    },
}

/// The tables that one party brings, by input port.
pub struct Inputs {
    tables: Vec<Option<Table>>,
    /// By port: what is brought besides the columns, where a protocol proves the order of rows.
    digits: Vec<Vec<StepDigit>>,
}

impl Inputs {
    /// Pairs tables with the ports of `description`; ports of other parties have none.
    ///
    /// # Errors
    /// If a table has not the rows and columns of its port, its rows are not in the port's order, or there is
    /// not one place for each port.
    pub fn new(description: &Description, tables: Vec<Option<Table>>) -> Result<Inputs, DataError> {
        let inputs = Inputs::in_any_order(description, tables)?;
        for (port, table) in description.inputs.iter().zip(&inputs.tables) {
            if let Some(row) = table.as_ref().and_then(|table| port.out_of_order(table)) {
                return Err(DataError::Unsorted { port: port.name.clone(), row: row + 1 });
            }
        }
        Ok(inputs)
    }

    /// As [`Inputs::new`], but leaves it to the protocol to notice that rows are not in order: for tests of
    /// owners that lie about it.
    ///
    /// # Errors
    /// If a table has not the rows and columns of its port, or there is not one place for each port.
    pub fn in_any_order(
        description: &Description,
        tables: Vec<Option<Table>>,
    ) -> Result<Inputs, DataError> {
        let (expected, found) = (description.inputs.len(), tables.len());
        if expected != found {
            return Err(DataError::Count { expected, found });
        }
        for (port, table) in description.inputs.iter().zip(&tables) {
            let Some(table) = table else { continue };
            let shape = |columns: usize, rows: u64| format!("{columns} columns of {rows} rows");
            if table.row_count() != port.rows || table.columns().len() != port.columns.len() {
                return Err(DataError::Mismatch {
                    port: port.name.clone(),
                    expected: shape(port.columns.len(), port.rows),
                    found: shape(table.columns().len(), table.row_count()),
                });
            }
        }
        let digits = description.inputs.iter().map(|port| port.step_digits()).collect();
        Ok(Inputs { tables, digits })
    }

    /// The values that an input instruction of this party asks for, one per lane.
    ///
    /// # Panics
    /// If the program was not verified: the port is not this party's or has no such rows.
    pub fn lanes(&self, instruction: &Instruction) -> impl Iterator<Item = Lane> + '_ {
        let [port, column, row, _] = instruction.immediates;
        let (table, column) = (self.table(port), column as usize);
        let digit = column.checked_sub(table.columns().len());
        let cell = move |row| match digit {
            None => table.cell(row, column),
            Some(k) => step_digit(&self.digits[port as usize], k, table, row),
        };
        (row..row + u64::from(instruction.lanes)).map(cell)
    }

    /// Returns the lanes as integers with the sign of the instruction's element, if all are below
    /// 2^63.
    pub fn integers(&self, instruction: &Instruction) -> Option<impl Iterator<Item = i64> + '_> {
        let [port, column, row, _] = instruction.immediates;
        let (width, is_signed) = (instruction.element.width(), instruction.element.is_signed());
        if column as usize >= self.table(port).columns().len() {
            return None;
        }
        let rows = row..row + u64::from(instruction.lanes);
        let (cells, size) = self.table(port).cells(rows, column as usize);
        let shift = 64u32.checked_sub(u32::from(width)).filter(|&shift| shift > 0)?;
        let value = move |cell: &[u8]| {
            let bits = match *cell {
                [only] => u64::from(only),
                [low, high] => u64::from(u16::from_le_bytes([low, high])),
                [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
                _ => cell.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte)),
            };
            let extended = (bits << shift) as i64 >> shift;
            if is_signed { extended } else { bits as i64 }
        };
        Some(cells.chunks_exact(size).map(value))
    }

    fn table(&self, port: u64) -> &Table {
        let table = self.tables.get(port as usize).and_then(Option::as_ref);
        table.expect("a verified program reads only this party's ports")
    }
}

/// The tables that this party learns, by output port.
pub struct Outputs {
    tables: Vec<Option<Table>>,
}

impl Outputs {
    /// Empty tables for the output ports of `description` that `party` learns.
    pub fn new(description: &Description, party: u16) -> Outputs {
        let table = |port: &phineus_bytecode::OutputPort| {
            port.parties.contains(&party).then(|| Table::zeros(port.columns.clone(), port.rows))
        };
        Outputs { tables: description.outputs.iter().map(table).collect() }
    }

    /// Whether this party learns the values of an output instruction.
    pub fn wants(&self, instruction: &Instruction) -> bool {
        self.tables[instruction.immediates[0] as usize].is_some()
    }

    /// Writes the values of an output instruction, one per lane.
    pub fn write(&mut self, instruction: &Instruction, lanes: impl Iterator<Item = Lane>) {
        let [port, column, row, _] = instruction.immediates;
        if let Some(table) = &mut self.tables[port as usize] {
            lanes.zip(row..).for_each(|(value, row)| table.set_cell(row, column as usize, value));
        }
    }

    /// The value of an output port that is one value.
    ///
    /// # Panics
    /// If this party does not learn it.
    pub fn opened(&self, port: u32) -> Lane {
        let table = self.tables[port as usize].as_ref();
        table.expect("all parties learn what is opened").cell(0, 0)
    }

    /// The tables, by output port.
    pub fn into_tables(self) -> Vec<Option<Table>> {
        self.tables
    }
}

/// Spreads `lanes` into bits, bit-major: bit `i` of lane `j` goes to `bits[i * n + j]`.
pub fn to_bits(lanes: impl Iterator<Item = Lane>, count: usize, bits: &mut [u8]) {
    for (j, lane) in lanes.enumerate() {
        let limbs = lane.as_limbs();
        for (i, row) in bits.chunks_exact_mut(count).enumerate() {
            row[j] = (limbs[i / 64] >> (i % 64) & 1) as u8;
        }
    }
}

/// The inverse of [`to_bits`]: lane `j` of `count`.
pub fn from_bits(bits: &[u8], count: usize, j: usize) -> Lane {
    let mut limbs = [0u64; 4];
    for (i, row) in bits.chunks_exact(count).enumerate() {
        limbs[i / 64] |= u64::from(row[j] & 1) << (i % 64);
    }
    Lane::from_limbs(limbs)
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::random::SeededRng;
    use phineus_bytecode::{Column, ElementType, Encoding, InputPort, Instruction, Op, Table};

    use super::*;

    /// Ports behind the last table went unchecked, and the run stopped with a panic at the first of them.
    #[test]
    fn tables_that_do_not_fit_are_refused() {
        let element = ElementType::unsigned(8);
        let column = || Column { name: "x".to_owned(), element, encoding: Encoding::Number };
        let port = |name: &str| InputPort {
            name: name.to_owned(),
            party: 0,
            rows: 2,
            columns: vec![column()],
            order: Default::default(),
        };
        let parties = vec!["a".to_owned()];
        let inputs = vec![port("p"), port("q")].into();
        let description = Description { parties, inputs, ..Description::default() };
        let said = |rows: &[u64]| {
            let tables = rows.iter().map(|&rows| Some(Table::zeros(vec![column()], rows)));
            Inputs::new(&description, tables.collect()).err().map(|error| error.to_string())
        };
        assert_eq!(said(&[2, 2]), None);
        for (rows, expected) in [
            (&[][..], "the program has 2 inputs, and tables for 0 were given"),
            (&[2], "the program has 2 inputs, and tables for 1 were given"),
            (&[2, 2, 2], "the program has 2 inputs, and tables for 3 were given"),
            (&[2, 1], "input 'q' should have 1 columns of 2 rows, it has 1 columns of 1 rows"),
        ] {
            assert_eq!(said(rows).as_deref(), Some(expected));
        }
    }

    #[test]
    fn integers_are_the_lanes_with_their_sign() {
        let mut random = SeededRng::new(7);
        for width in 1..=63 {
            for is_signed in [false, true] {
                let element = ElementType::integer(width, is_signed);
                let name = "x".to_owned();
                let encoding = Encoding::Number;
                let mut table = Table::new(vec![Column { name, element, encoding }]);
                for _ in 0..20 {
                    table.push(&[random.lane(width)]);
                }
                let inputs = Inputs { tables: vec![Some(table)], digits: Vec::new() };
                let instruction = Instruction {
                    immediates: [0, 0, 3, 0],
                    ..Instruction::new(Op::Input, element, 11)
                };
                let found: Vec<i64> = inputs.integers(&instruction).expect("narrow").collect();
                let lanes = inputs.lanes(&instruction);
                let expected = lanes.map(|lane| {
                    let bits = lane.as_limbs()[0] as i64;
                    let is_negative = is_signed && lane.bit(usize::from(width) - 1);
                    if is_negative { bits.wrapping_sub(1 << width) } else { bits }
                });
                assert_eq!(found, expected.collect::<Vec<_>>(), "{element}");
            }
        }
        let wide = Instruction::new(Op::Input, ElementType::unsigned(64), 1);
        let table = Table::zeros(
            vec![Column {
                name: "x".to_owned(),
                element: wide.element,
                encoding: Encoding::Number,
            }],
            1,
        );
        assert!(Inputs { tables: vec![Some(table)], digits: Vec::new() }.integers(&wide).is_none());
    }
}
