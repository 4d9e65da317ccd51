//! Inputs and outputs: ports, columns, types and rows (2 and 3 of the list in [`super`]).

use super::Verifier;
use crate::description::{Column, Encoding, InputPort};
use crate::instruction::{Instruction, Sharing};
use crate::steps::StepDigit;

impl Verifier<'_> {
    pub(super) fn check_input(&self, i: &Instruction, faults: &mut Vec<String>) {
        if self.place.is_some_and(|place| !place.is_first) {
            faults.push("only the first block has inputs: it runs once".to_owned());
        }
        match self.description.inputs.get(i.immediates[0] as usize) {
            Some(port) => match self.step_digit(port, i) {
                Some(digit) => {
                    let steps = Column {
                        name: "steps".to_owned(),
                        element: digit.element(),
                        encoding: Encoding::Number,
                    };
                    let [port_index, _, row, _] = i.immediates;
                    let i = &Instruction { immediates: [port_index, 0, row, 0], ..*i };
                    let rows = port.rows.saturating_sub(digit.stride());
                    check_cells("input", i, &port.name, &[steps], rows, faults);
                }
                None => {
                    check_cells("input", i, &port.name, &port.columns, port.rows, faults);
                }
            },
            None => no_port("input", i, self.description.inputs.len(), faults),
        }
    }

    /// The digit of steps that an input of a plan in a field brings, if it brings one.
    pub(super) fn step_digit(&self, port: &InputPort, i: &Instruction) -> Option<StepDigit> {
        let k = (i.immediates[1] as usize).checked_sub(port.columns.len())?;
        port.step_digits().get(k).copied().filter(|_| self.layout.is_in_field())
    }

    pub(super) fn check_output(&mut self, i: &Instruction, faults: &mut Vec<String>) {
        let Some(port) = self.description.outputs.get(i.immediates[0] as usize) else {
            return no_port("output", i, self.description.outputs.len(), faults);
        };
        if !check_cells("output", i, &port.name, &port.columns, port.rows, faults) {
            return;
        }
        let [port_index, column, row, _] = i.immediates;
        let is_opened = self.description.is_opened(port_index as usize);
        match self.place {
            Some(place) if !place.is_last && !is_opened => faults.push(format!(
                "output '{}' is written in a block that others follow; outputs leave where the \
                 program ends",
                port.name
            )),
            None if is_opened => faults.push(format!(
                "'{}' is opened while the program runs, which takes several blocks",
                port.name
            )),
            _ => {}
        }
        let written = self.written.entry((port_index as usize, column as usize)).or_default();
        if let Some(twice) = written.add(row, row + u64::from(i.lanes)) {
            faults.push(format!(
                "row {twice} of column '{}' of output '{}' is written twice",
                port.columns[column as usize].name, port.name
            ));
        }
    }
}

fn no_port(kind: &str, i: &Instruction, count: usize, faults: &mut Vec<String>) {
    faults.push(format!("there is no {kind} port {}, only {count} in all", i.immediates[0]));
}

/// Checks column, type and rows of an input or output; returns whether the cells exist.
fn check_cells(
    kind: &str,
    i: &Instruction,
    port: &str,
    columns: &[Column],
    rows: u64,
    faults: &mut Vec<String>,
) -> bool {
    let [_, column, row, _] = i.immediates;
    let Some(column) = columns.get(column as usize) else {
        let count = columns.len();
        faults.push(format!("{kind} '{port}' has no column {column}, only {count} in all"));
        return false;
    };
    if column.element != i.element.shared(Sharing::Any) {
        faults.push(format!(
            "column '{}' of {kind} '{port}' has type {}, not {}",
            column.name,
            column.element,
            i.element.shared(Sharing::Any)
        ));
    }
    let fits = row.checked_add(u64::from(i.lanes)).is_some_and(|end| end <= rows);
    if !fits {
        let lanes = i.lanes;
        faults.push(format!("{kind} '{port}' has {rows} rows, not {lanes} from row {row} on"));
    }
    fits
}
