//! Inputs and outputs of a program by name, and the files that are for them.

use std::collections::BTreeMap;

use phineus_bytecode::{Description, InputPort, OutputPort};
use phineus_tables::Input;

use crate::failure::{Failure, codes};

/// Tables whose rows are counted, by the name of their port.
pub type Files = BTreeMap<String, Input>;

/// The inputs of `party`, or of all parties if none.
pub fn candidates(description: &Description, party: Option<u16>) -> Vec<&InputPort> {
    let ports = description.inputs.iter();
    ports.filter(|port| party.is_none_or(|party| port.party == party)).collect()
}

/// The candidate with this name, or the only one of the party with this name.
pub fn named<'a>(
    description: &Description,
    candidates: &[&'a InputPort],
    aliases: &[String],
    name: &str,
) -> Result<&'a InputPort, Failure> {
    if let Some(port) = candidates.iter().find(|port| port.name == name) {
        return Ok(port);
    }
    let names = description.parties.iter().position(|party| party == name);
    let party = names.or_else(|| aliases.iter().position(|alias| alias == name));
    let owned: Vec<_> = candidates
        .iter()
        .filter(|port| party.is_some_and(|party| usize::from(port.party) == party))
        .collect();
    let list = |ports: &mut dyn Iterator<Item = &str>| ports.collect::<Vec<_>>().join(", ");
    match owned.as_slice() {
        [port] => Ok(port),
        [] => {
            let known = match list(&mut candidates.iter().map(|port| port.name.as_str())) {
                none if none.is_empty() => "there is none at all".to_owned(),
                known => format!("there are: {known}"),
            };
            let message = format!("there is no input '{name}' here; {known}");
            Err(Failure::new(codes::NO_SUCH_INPUT, message))
        }
        several => {
            let known = list(&mut several.iter().map(|port| port.name.as_str()));
            let message = format!("{name} brings several inputs, say which: {known}");
            Err(Failure::new(codes::WHICH_INPUT, message))
        }
    }
}

/// The input with this name, or the only one of the party with this name.
pub fn port_named<'a>(description: &'a Description, name: &str) -> Result<&'a InputPort, Failure> {
    let candidates: Vec<&InputPort> = description.inputs.iter().collect();
    named(description, &candidates, &[], name)
}

/// Returns whether an input has outputs about its rows.
pub fn is_subject(description: &Description, input: usize) -> bool {
    let about = |port: &OutputPort| port.rows_of.is_some_and(|r| r.input as usize == input);
    description.outputs.iter().any(about)
}
