//! Where values come from and go to: tables, checked against the program's ports.

use phineus_bytecode::{Description, Instruction, Lane, Table};

/// Why data does not fit the program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// An input table is missing or has another shape than the port.
    #[error("input '{port}' should have {expected}, it has {found}")]
    Mismatch {
        /// The port's name.
        port: String,
        /// What the program says.
        expected: String,
        /// What was given.
        found: String,
    },
}

/// The tables that one party brings, by input port.
pub struct Inputs {
    tables: Vec<Option<Table>>,
}

impl Inputs {
    /// Pairs tables with the ports of `description`; ports of other parties have none.
    ///
    /// # Errors
    /// If a table has not the rows and columns of its port.
    pub fn new(description: &Description, tables: Vec<Option<Table>>) -> Result<Inputs, DataError> {
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
        Ok(Inputs { tables })
    }

    /// The values that an input instruction of this party asks for, one per lane.
    ///
    /// # Panics
    /// If the program was not verified: the port is not this party's or has no such rows.
    pub fn lanes(&self, instruction: &Instruction) -> impl Iterator<Item = Lane> + '_ {
        let [port, column, row, _] = instruction.immediates;
        let table = self.tables.get(port as usize).and_then(Option::as_ref);
        let table = table.expect("a verified program reads only this party's ports");
        (row..row + u64::from(instruction.lanes)).map(move |row| table.cell(row, column as usize))
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
