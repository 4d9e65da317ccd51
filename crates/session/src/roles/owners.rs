//! Owners of inputs and receivers of outputs, by name: as stated, or as the program says.

use std::collections::BTreeSet;

use phineus_bytecode::Description;
use phineus_channels::ClusterConfig;

use super::{Outsourcing, program_names};
use crate::failure::{Failure, codes};

/// Names by input, and by output.
#[derive(Default)]
pub(super) struct Owners {
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<Vec<String>>,
}

/// Who brings each input and learns each output.
pub(super) fn owners(
    description: &Description,
    options: &Outsourcing,
    cluster: Option<&ClusterConfig>,
    computing: Option<&[String]>,
) -> Result<Owners, Failure> {
    let mut owners = Owners {
        inputs: vec![String::new(); description.inputs.len()],
        outputs: vec![Vec::new(); description.outputs.len()],
    };
    read_inputs(description, options, &mut owners)?;
    read_outputs(description, options, &mut owners)?;
    follow_subjects(description, &mut owners);
    let replaced = replaced(description, &owners);
    if replaced.len() == description.parties.len() {
        check_subjects(description, &owners)?;
        return Ok(owners);
    }
    let names = program_names(description, cluster, computing, &replaced)?;
    let name = |party: u16| names[usize::from(party)].clone();
    for (port, owner) in description.inputs.iter().zip(&mut owners.inputs) {
        if owner.is_empty() {
            *owner = name(port.party);
        }
    }
    for (port, learners) in description.outputs.iter().zip(&mut owners.outputs) {
        if learners.is_empty() {
            *learners = match port.rows_of {
                Some(rows_of) => vec![owners.inputs[rows_of.input as usize].clone()],
                None => port.parties.iter().map(|&party| name(party)).collect(),
            };
        }
    }
    check_subjects(description, &owners)?;
    Ok(owners)
}

/// Gives outputs about the rows of an input to who brings that input, where that is stated.
fn follow_subjects(description: &Description, owners: &mut Owners) {
    for (port, learners) in description.outputs.iter().zip(&mut owners.outputs) {
        let owner = port.rows_of.map(|rows_of| &owners.inputs[rows_of.input as usize]);
        if let Some(owner) = owner.filter(|owner| learners.is_empty() && !owner.is_empty()) {
            learners.push(owner.clone());
        }
    }
}

/// Refuses that somebody else learns what is about the rows of an owner.
fn check_subjects(description: &Description, owners: &Owners) -> Result<(), Failure> {
    for (port, learners) in description.outputs.iter().zip(&owners.outputs) {
        let Some(rows_of) = port.rows_of else { continue };
        let owner = &owners.inputs[rows_of.input as usize];
        if learners.iter().all(|learner| learner == owner) {
            continue;
        }
        let input = &description.inputs[rows_of.input as usize].name;
        let message = format!(
            "--outputs-to: output '{}' is about the rows of input '{input}', so who brings that \
             input learns it",
            port.name
        );
        return Err(Failure::new(codes::OUTPUT_OF_OTHERS, message)
            .remedy("leave the output out, or ask for a count"));
    }
    Ok(())
}

/// The parties of the program that bring no input and learn no output themselves.
fn replaced(description: &Description, owners: &Owners) -> Vec<usize> {
    let inputs = description.inputs.iter().zip(&owners.inputs);
    let outputs = description.outputs.iter().zip(&owners.outputs);
    let bringing =
        inputs.filter(|(_, owner)| owner.is_empty()).map(|(port, _)| usize::from(port.party));
    let learning = outputs
        .filter(|(port, learners)| learners.is_empty() && port.rows_of.is_none())
        .flat_map(|(port, _)| port.parties.iter().map(|&party| usize::from(party)));
    let taking_part: BTreeSet<usize> = bringing.chain(learning).collect();
    (0..description.parties.len()).filter(|party| !taking_part.contains(party)).collect()
}

/// `--inputs-from`.
fn read_inputs(
    description: &Description,
    options: &Outsourcing,
    owners: &mut Owners,
) -> Result<(), Failure> {
    let mut bringing: Vec<u16> = description.inputs.iter().map(|port| port.party).collect();
    bringing.sort_unstable();
    bringing.dedup();
    let mut unnamed = bringing.into_iter();
    for typed in &options.inputs_from {
        let ports = || description.inputs.iter().enumerate();
        let of_party =
            |party: u16| ports().filter(|(_, port)| port.party == party).map(|(k, _)| k).collect();
        let (owner, places): (&str, Vec<usize>) = match typed.split_once('=') {
            Some((name, owner)) => {
                let party = description.parties.iter().position(|party| party == name);
                let port = ports().find(|(_, port)| port.name == name).map(|(k, _)| vec![k]);
                let of_named = || party.map_or_else(Vec::new, |party| of_party(party as u16));
                (owner, port.unwrap_or_else(of_named))
            }
            None => match unnamed.next() {
                Some(party) => (typed, of_party(party)),
                None => {
                    let message = format!("--inputs-from: what does {typed} bring?");
                    return Err(Failure::usage(message)
                        .remedy("there is one name for each party that brings inputs"));
                }
            },
        };
        if places.is_empty() || owner.is_empty() {
            let known: Vec<&str> = description.inputs.iter().map(|p| p.name.as_str()).collect();
            let message = format!("--inputs-from {typed}: the inputs are {}", known.join(", "));
            return Err(Failure::new(codes::NO_SUCH_OWNER, message));
        }
        places.into_iter().for_each(|place| owner.clone_into(&mut owners.inputs[place]));
    }
    Ok(())
}

/// `--outputs-to`.
fn read_outputs(
    description: &Description,
    options: &Outsourcing,
    owners: &mut Owners,
) -> Result<(), Failure> {
    for typed in &options.outputs_to {
        let (port, learner) = match typed.split_once('=') {
            Some((port, learner)) => (Some(port), learner),
            None => (None, typed.as_str()),
        };
        let mut is_known = false;
        for (known, learners) in description.outputs.iter().zip(&mut owners.outputs) {
            if port.is_none_or(|port| port == known.name) {
                learners.push(learner.to_owned());
                is_known = true;
            }
        }
        if !is_known || learner.is_empty() {
            let known: Vec<&str> = description.outputs.iter().map(|p| p.name.as_str()).collect();
            let message = format!("--outputs-to {typed}: the outputs are {}", known.join(", "));
            return Err(Failure::new(codes::NO_SUCH_OWNER, message));
        }
    }
    Ok(())
}
