//! What a protocol must be able to do for the registers, regions, permutations and tables of a program.

use phineus_bytecode::{Description, LookupTable, Op, Permutation, PermutationKind};

use super::openers;
use crate::failure::{Failure, Remedy, RunField, codes};
use crate::protocol::Protocol;
use crate::traced::TracedFile;

/// Refuses programs with regions where the protocol opens nothing inside a block, and those with tables where so many
/// parties look nothing up in them.
pub(super) fn check_state(
    description: &Description,
    protocol: Protocol,
    parties: usize,
) -> Result<(), Failure> {
    let is_able = |table: &LookupTable| match table.known_to {
        None if table.is_shared => protocol.looks_up_public_rows(parties),
        None => protocol.looks_up_in_tables() || protocol.looks_up_public_rows(parties),
        Some(party) => protocol.looks_up_in_tables() && party == 0,
    };
    if !description.tables.iter().all(is_able) {
        let message = format!(
            "the program looks rows up in tables that all parties know, or one, which {parties} parties under {} do not",
            protocol.name()
        );
        return Err(Failure::new(codes::NO_PUBLIC_ROWS, message));
    }
    let has_state = !description.regions.is_empty()
        || !description.permutations.is_empty()
        || description.registers > 0;
    let is_wrong = |permutation: &Permutation| permutation.kind.is_told() && permutation.party != 0;
    if description.permutations.iter().any(is_wrong) {
        let message = "the program has a permutation that another party than the first one is told";
        return Err(Failure::new(codes::NO_OPENING_INSIDE, message));
    }
    // Its switches would be zeros, which all know.
    let is_outside = |permutation: &Permutation| usize::from(permutation.party) >= parties;
    if description.permutations.iter().any(is_outside) {
        let message = "the program has a permutation of a party that does not compute";
        let remedy = Remedy::new("let more parties compute: ").field(RunField::Computing);
        return Err(Failure::new(codes::NO_OPENING_INSIDE, message).remedy(remedy));
    }
    if description.permutations.iter().any(|permutation| permutation.kind.is_located())
        && !protocol.looks_up_in_tables()
    {
        let name = protocol.name();
        let message = format!("{name} has no tables that one party looks rows up in");
        let remedy = Remedy::new("run it with ").field(RunField::Protocol).and(" garbled");
        return Err(Failure::new(codes::NO_OPENING_INSIDE, message).remedy(remedy));
    }
    let is_told = |permutation: &Permutation| permutation.kind != PermutationKind::Random;
    if protocol.field().is_some() && description.permutations.iter().any(is_told) {
        let name = protocol.name();
        let message = format!("{name} has permutations that are drawn at random, and no others");
        let remedy = Remedy::new("choose another ").field(RunField::Protocol);
        return Err(Failure::new(codes::NO_OPENING_INSIDE, message).remedy(remedy));
    }
    if !has_state || protocol.reveals_inside_blocks() {
        return Ok(());
    }
    let message = format!(
        "{} opens nothing inside a block, which memory that is touched in secret needs",
        protocol.name()
    );
    let remedy = format!(": {} open values inside a block", openers());
    let remedy = Remedy::new("choose another ").field(RunField::Protocol).and(remedy);
    Err(Failure::new(codes::NO_OPENING_INSIDE, message).remedy(remedy))
}

/// Refuses programs that open rows of tables, or hide them by pads, where so many parties look nothing up in such tables.
pub(super) fn check_tables(
    traced: &TracedFile,
    protocol: Protocol,
    parties: usize,
) -> Result<(), Failure> {
    if traced.description.tables.is_empty() || protocol.looks_up_public_rows(parties) {
        return Ok(());
    }
    traced.file.reader()?.for_each(|instruction| match instruction.op {
        Op::TableOpen | Op::PartyKey | Op::PartyPad => {
            let (op, protocol) = (instruction.op.info().name, protocol.name());
            let message =
                format!("the program has {op}, which {parties} parties under {protocol} do not");
            Err(Failure::new(codes::NO_PUBLIC_ROWS, message))
        }
        _ => Ok(()),
    })
}
