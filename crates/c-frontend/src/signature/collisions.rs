//! Names that two columns of a table, or two tables, would share.
//!
//! Columns are called by the path of their fields (`outer_inner`, `array0`), tables by their
//! parameter or party: two paths may lead to one name, which a file cannot hold twice.

use crate::annotations::tokens::SourceLine;
use crate::signature::{CParameter, Signature};

/// Remedy for names that collide.
pub(crate) const RENAME: &str = "give one of them another name";

/// The line and name of each parameter with such a name, and what is wrong with it.
pub(crate) fn collisions(signature: &Signature) -> Vec<(SourceLine, String, String)> {
    let mut found = Vec::new();
    let mut wrong = |port: &CParameter, what: String| {
        let name = port.name.split('.').next().unwrap_or_default().to_owned();
        found.push((port.line.clone(), name, what));
    };
    for port in &signature.ports {
        let leaves = &port.rows.leaves;
        for (at, leaf) in leaves.iter().enumerate() {
            if leaves[..at].iter().any(|other| other.name == leaf.name) {
                wrong(port, format!("two columns of '{}' are called '{}'", port.name, leaf.name));
            }
        }
    }
    let inputs = signature.inputs();
    for (at, table) in inputs.iter().enumerate() {
        let Some(other) = inputs[..at].iter().find(|other| other.name == table.name) else {
            continue;
        };
        // At the array: what a party brings by value has the party's name, whoever else has it.
        let first = |table: &crate::signature::TableParameter| &signature.ports[table.ports[0].0];
        let port = if first(table).is_scalar { first(other) } else { first(table) };
        let scalars = "the integers that a party brings by value are a table of its name";
        wrong(port, format!("two inputs are called '{}': {scalars}", table.name));
    }
    let outputs: Vec<&CParameter> = signature.outputs().collect();
    for (at, port) in outputs.iter().enumerate() {
        // At the parameter: what is returned comes last and has no other name.
        if let Some(other) = outputs[..at].iter().find(|other| other.name == port.name) {
            let returned = "what is returned is a table of this name";
            wrong(other, format!("two outputs are called '{}': {returned}", port.name));
        }
    }
    found
}
