//! Parameters of the computation: tables that come in and go out.

pub(crate) mod build;
pub(crate) mod collisions;
pub(crate) mod columns;

use phineus_bytecode::Column;
use phineus_frontend::{ColumnRange, column};

use crate::annotations::Annotations;
use crate::annotations::tokens::SourceLine;
use crate::memory::table::TableColumn;

/// Rows of equal bytes, with a column for each scalar in a row.
#[derive(Clone, Debug)]
pub(crate) struct RowType {
    pub(crate) rows: u64,
    pub(crate) row_bytes: u64,
    pub(crate) leaves: Vec<TableColumn>,
}

impl RowType {
    pub(crate) fn size_bytes(&self) -> u64 {
        self.rows * self.row_bytes
    }

    pub(crate) fn columns(&self) -> Vec<Column> {
        self.leaves.iter().map(|leaf| column(&leaf.name, leaf.element, leaf.encoding)).collect()
    }
}

/// A parameter or what is returned, or an array in a structure of which there is one.
#[derive(Clone, Debug)]
pub(crate) struct CParameter {
    pub(crate) name: String,
    /// The parameter that it is in, the result being the last one, and its first byte there.
    pub(crate) parameter: usize,
    pub(crate) offset: u64,
    pub(crate) line: SourceLine,
    /// Passed by value and no structure: a column in the table of all such of its party.
    pub(crate) is_scalar: bool,
    /// Who brings it.
    pub(crate) input: Option<String>,
    /// Who learns it.
    pub(crate) outputs: Vec<String>,
    pub(crate) rows: RowType,
    /// Rows for each element of the first dimension.
    pub(crate) rows_each: u64,
    /// The values that may come in, where that is said.
    pub(crate) range: Option<(i128, i128)>,
}

/// A table that a party brings: ports by index.
#[derive(Clone, Debug)]
pub(crate) struct TableParameter {
    pub(crate) name: String,
    pub(crate) party: String,
    pub(crate) rows: u64,
    pub(crate) columns: Vec<Column>,
    /// The ports in it, each with its first column.
    pub(crate) ports: Vec<(usize, usize)>,
}

/// The whole signature.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signature {
    /// By parameter, those of the result last.
    pub(crate) ports: Vec<CParameter>,
    /// Bytes of what each parameter points to, and of the result.
    pub(crate) sizes: Vec<u64>,
}

/// The parties in the order in which they are named.
pub(crate) fn parties(annotations: &Annotations) -> Vec<String> {
    let mut parties: Vec<String> = Vec::new();
    let all = annotations.parameters.iter().chain([&annotations.result]);
    let named = all.flat_map(|marked| marked.input.iter().chain(&marked.outputs));
    for party in named {
        if !parties.contains(party) {
            parties.push(party.clone());
        }
    }
    parties
}

impl Signature {
    /// The tables that come in: one for each array, one for all scalars of a party.
    pub(crate) fn inputs(&self) -> Vec<TableParameter> {
        let mut tables: Vec<TableParameter> = Vec::new();
        for (index, port) in self.ports.iter().enumerate() {
            let Some(party) = &port.input else { continue };
            let name = if port.is_scalar { party } else { &port.name };
            let columns = port.rows.columns();
            match tables.iter_mut().find(|table| port.is_scalar && table.name == *name) {
                Some(table) => {
                    table.ports.push((index, table.columns.len()));
                    table.columns.extend(columns);
                }
                None => tables.push(TableParameter {
                    name: name.clone(),
                    party: party.clone(),
                    rows: port.rows.rows,
                    columns,
                    ports: vec![(index, 0)],
                }),
            }
        }
        tables
    }

    /// Rows of a parameter's table for each element of its first dimension.
    pub(crate) fn rows_each(&self, parameter: usize) -> u64 {
        let mut ports = self.ports.iter();
        ports.find(|port| port.parameter == parameter).map_or(1, |port| port.rows_each)
    }

    /// The ranges that are stated, by column of what comes in.
    pub(crate) fn ranges(&self) -> Vec<ColumnRange> {
        let mut all = Vec::new();
        for table in self.inputs() {
            for (index, first) in &table.ports {
                let port = &self.ports[*index];
                let Some((low, high)) = port.range else { continue };
                let columns = *first..first + port.rows.leaves.len();
                let of = |column| ColumnRange { input: table.name.clone(), column, low, high };
                all.extend(columns.map(of));
            }
        }
        all
    }

    /// The outputs in order, the result last.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &CParameter> {
        self.ports.iter().filter(|port| !port.outputs.is_empty())
    }
}
