//! [`RowsOf`]: outputs about the rows of an input.

use serde::{Deserialize, Serialize};

use crate::description::{InputPort, OutputPort};
use crate::instruction::ElementType;

/// Ties the rows of an output to the rows of an input of the party that learns it: row `i` of the
/// output is about row `i` of the input, in the order in which its owner brought the rows in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowsOf {
    /// The input, by index.
    pub input: u32,
    /// The column, one bit wide, that says whether a row has a result: where it is 0 the other
    /// columns have no meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<u16>,
    /// Show rows without a result, too.
    #[serde(default)]
    pub all: bool,
    /// How many groups of equally many columns there are, where a row may have several results: each group
    /// begins with such a column of its own, `found` being that of the first one.
    #[serde(default = "one_group", skip_serializing_if = "is_one_group")]
    pub groups: u16,
}

fn one_group() -> u16 {
    1
}

fn is_one_group(groups: &u16) -> bool {
    *groups == 1
}

impl RowsOf {
    /// The column that says whether a row has a value in `column`, of so many columns.
    pub fn found_for(self, column: usize, columns: usize) -> Option<usize> {
        let found = usize::from(self.found?);
        let of_group = columns / usize::from(self.groups.max(1));
        Some(if self.groups > 1 { column / of_group * of_group } else { found })
    }

    /// Its faults as part of an output.
    pub(crate) fn faults(self, port: &OutputPort, inputs: &[InputPort]) -> Vec<String> {
        let name = &port.name;
        let Some(input) = inputs.get(self.input as usize) else {
            return vec![format!(
                "output '{name}' is about the rows of input {}, of {}",
                self.input,
                inputs.len()
            )];
        };
        let mut faults = Vec::new();
        if port.parties != [input.party] {
            faults.push(format!(
                "output '{name}' is about the rows of input '{}' and goes to its owner alone",
                input.name
            ));
        }
        if port.rows != input.rows {
            let (rows, of) = (port.rows, input.rows);
            faults.push(format!(
                "output '{name}' has {rows} rows, and input '{}', which it is about, has {of}",
                input.name
            ));
        }
        let (groups, columns) = (usize::from(self.groups), port.columns.len());
        let begins = |group: usize| port.columns.get(group * (columns / groups));
        let is_bit = |group| begins(group).is_some_and(|column| column.element == ElementType::BIT);
        let are_groups = groups == 1
            || groups > 1
                && self.found == Some(0)
                && columns.is_multiple_of(groups)
                && (0..groups).all(is_bit);
        if !are_groups {
            faults.push(format!(
                "output '{name}': its columns are not {groups} groups that begin with a bit"
            ));
        }
        if let Some(found) = self.found
            && port.columns.get(usize::from(found)).map(|column| column.element)
                != Some(ElementType::BIT)
        {
            faults.push(format!("output '{name}': column {found} tells results and is not a bit"));
        }
        faults
    }
}
