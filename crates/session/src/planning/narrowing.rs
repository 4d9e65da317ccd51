//! The first stage of planning: programs are narrowed, unless the parties want them as they are.

use std::cell::RefCell;
use std::collections::HashMap;

use phineus_bytecode::{ElementType, Instruction, Op, Optimisation, Sharing, SharingRule};
use phineus_engine::bits::{Family, record};
use phineus_plan::{
    Assignment, NarrowClaim, NarrowOptions, Narrowed, Scratch, check_narrow, narrow,
};

use crate::choices::ProtocolVariant;
use crate::failure::Failure;
use crate::protocol::{Protocol, Representation};
use crate::traced::TracedFile;

/// Returns whether programs are narrowed under a protocol: if values are bits where the program does not say
/// otherwise. On elements of a ring or a field a narrower sum is not a cheaper one.
fn narrows(representation: Representation) -> bool {
    match representation {
        Representation::AsWritten | Representation::GarbledBesideRows => true,
        Representation::Sharings(Assignment::Uniform(sharing) | Assignment::Stated(sharing)) => {
            match sharing {
                Sharing::Boolean | Sharing::Garbled => true,
                Sharing::Any | Sharing::Arithmetic => false,
            }
        }
        Representation::Sharings(Assignment::GarbledBesideRows) => true,
        Representation::Sharings(Assignment::Arithmetic | Assignment::ArithmeticProducts)
        | Representation::Field(_) => false,
    }
}

/// Returns whether ANDs one after another cost rounds: on shares. Of garbled values the fewest are the best.
fn takes_rounds(representation: Representation, variant: ProtocolVariant) -> bool {
    if variant.sharings.is_some_and(|setting| setting.rule == SharingRule::Garbled) {
        return false;
    }
    match representation {
        Representation::Sharings(Assignment::Uniform(sharing)) => sharing != Sharing::Garbled,
        Representation::Sharings(Assignment::GarbledBesideRows) => false,
        Representation::Sharings(
            Assignment::Stated(_) | Assignment::Arithmetic | Assignment::ArithmeticProducts,
        )
        | Representation::Field(_) => true,
        Representation::AsWritten | Representation::GarbledBesideRows => false,
    }
}

/// The circuits of a protocol.
fn family(has_rounds: bool) -> Family {
    if has_rounds { Family::LeastDepth } else { Family::FewestAnds }
}

/// `traced`, a program of one block or a block, in the least widths; nothing if no operation takes fewer bits than in
/// the program itself.
pub fn narrowed(
    traced: &TracedFile,
    optimised: (Protocol, ProtocolVariant),
    planner_memory_bytes: u64,
    scratch: &Scratch,
) -> Result<Option<TracedFile>, Failure> {
    narrowed_with_claims(traced, optimised, planner_memory_bytes, scratch, |_| {})
}

/// Claims about values, made in narrowing `traced`, that cannot be proven.
pub fn unproven_facts(
    traced: &TracedFile,
    optimised: (Protocol, ProtocolVariant),
    planner_memory_bytes: u64,
    scratch: &Scratch,
) -> Result<Vec<String>, Failure> {
    let mut claims = Vec::new();
    let claim = |claim: &NarrowClaim| claims.push(*claim);
    narrowed_with_claims(traced, optimised, planner_memory_bytes, scratch, claim)?;
    Ok(check_narrow(&mut traced.file.reader()?, &claims)?)
}

/// As [`narrowed`]; `claim` hears what is relied on about each value.
pub(super) fn narrowed_with_claims(
    traced: &TracedFile,
    (protocol, variant): (Protocol, ProtocolVariant),
    planner_memory_bytes: u64,
    scratch: &Scratch,
    claim: impl FnMut(&NarrowClaim),
) -> Result<Option<TracedFile>, Failure> {
    let representation = protocol.representation_of(&traced.description);
    if variant.optimisation == Optimisation::Off || !narrows(representation) {
        return Ok(None);
    }
    let has_rounds = takes_rounds(representation, variant);
    let known: RefCell<HashMap<(Op, ElementType), u64>> = RefCell::default();
    let family = family(has_rounds);
    let and_gates = |i: &Instruction| {
        let count = || record(i, family).and_count() as u64;
        *known.borrow_mut().entry((i.op, i.element)).or_insert_with(count)
    };
    let options = NarrowOptions { and_gates: &and_gates, has_rounds, planner_memory_bytes };
    let (program, output) = (&mut traced.file.reader()?, scratch.file());
    let Narrowed { output: file, written, is_narrower } =
        narrow(program, output, scratch, options, claim)?;
    Ok(is_narrower.then(|| traced.rewritten(file, written.hash)))
}

#[cfg(test)]
mod tests;
