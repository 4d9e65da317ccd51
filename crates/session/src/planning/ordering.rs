//! Sharings or elements of a field for the values of a program, and its order in rounds.

use phineus_bytecode::FileSummary;
use phineus_bytecode::layout::SHARE_UNIT_BYTES;
use phineus_correlated::demand::BatchScale;
use phineus_crypto::field::FieldName;
use phineus_plan::{
    Assignment, Claims, OrderOptions, Scratch, ScratchFile, assign, check_ranges, lower_to_field,
    lower_with_claims, order, window_instructions,
};
use phineus_protocols::mixed::YaoToArithmetic;
use phineus_protocols::spdz::Masks;

use super::masks::{self, MaskSituation};
use super::narrowing::assignment_of_narrowed;
use crate::choices::{NarrowMasks, ProtocolVariant};
use crate::failure::Failure;
use crate::program_file::ProgramFile;
use crate::protocol::{CostTerms, Protocol, Representation};
use crate::slices::held_bytes;
use crate::traced::TracedFile;

/// Bytes of shares that results may take before their turn, and the part of the limit that they may take between
/// parties that are far from each other, if that is more.
const WINDOW_BYTES: u64 = 8 << 20;
const FAR_WINDOWS_PER_LIMIT: u64 = 16;

/// Integers in a field are of a smaller magnitude than two to this power: comparisons look at the
/// difference of two, and at its sign.
pub fn magnitude_bits(field: FieldName) -> u32 {
    field.bits() - 2
}

/// Parameters of ordering besides the program and the protocol.
#[derive(Clone, Copy)]
pub struct OrderingBounds {
    /// The least memory limit of all parties.
    pub least_limit_bytes: u64,
    /// Limit on the bytes that a round opens, if it was stated.
    pub slice_bytes: Option<u64>,
    /// Whether the parties are far from each other, as all of them know.
    pub is_far: bool,
    pub planner_memory_bytes: u64,
    /// Whether authenticated inputs are proven to be in range.
    pub prove_inputs: bool,
    /// How garbled values become additive.
    pub y2a: YaoToArithmetic,
    /// Which masks authenticated integers of few bits hide behind.
    pub masks: NarrowMasks,
    /// In what batches correlated randomness is made.
    pub scale: BatchScale,
}

/// A program with sharings, and the same in rounds.
pub struct Ordered {
    pub assigned: ProgramFile,
    pub ordered: TracedFile,
    /// The masks that were chosen, on authenticated shares.
    pub masks: Masks,
}

/// `traced`, which may have been narrowed, with sharings and in rounds, if the protocol has any.
pub fn ordered(
    (traced, is_narrowed): (&TracedFile, bool),
    protocol: Protocol,
    parties: usize,
    bounds: OrderingBounds,
    scratch: &Scratch,
) -> Result<Option<Ordered>, Failure> {
    let program = &mut traced.file.reader()?;
    let (output, notes) = (scratch.file(), scratch.file());
    let memory = bounds.planner_memory_bytes;
    let (file, _) = match protocol.representation_of(&traced.description) {
        Representation::AsWritten => return Ok(None),
        Representation::Sharings(assignment) => {
            let narrowed = assignment_of_narrowed(assignment);
            let assignment = if is_narrowed { narrowed } else { assignment };
            assign(program, output, notes, assignment, memory)?
        }
        Representation::GarbledBesideRows => {
            let assignment = Assignment::GarbledBesideRows;
            let (file, written) = assign(program, output, notes, assignment, memory)?;
            return Ok(Some(Ordered::as_assigned(traced, (file, written), assignment)));
        }
        Representation::Field(field) => {
            let lowering = (magnitude_bits(field), bounds.prove_inputs);
            lower_to_field(program, output, notes, lowering, memory)?
        }
    };
    let assigned = ProgramFile::new_block(file, traced.file.program());
    let in_rounds =
        |masks| in_rounds((traced, &assigned), protocol, parties, (bounds, masks), scratch);
    let (ordered, masks) = match protocol.field() {
        None => (in_rounds(Masks::Narrow)?, Masks::Narrow),
        Some(field) => {
            let situation =
                MaskSituation { field, parties, scale: bounds.scale, choice: bounds.masks };
            masks::ordered(&assigned, &traced.description, situation, in_rounds)?
        }
    };
    Ok(Some(Ordered { assigned, ordered, masks }))
}

impl Ordered {
    /// An assigned program that has no rounds.
    fn as_assigned(
        traced: &TracedFile,
        (file, written): (ScratchFile, FileSummary),
        assignment: Assignment,
    ) -> Ordered {
        let mut ordered = traced.rewritten(file, written.hash);
        for region in &mut ordered.description.regions {
            region.element = assignment.resting(region.element);
        }
        Ordered { assigned: ordered.file.clone(), ordered, masks: Masks::Narrow }
    }
}

/// An assigned or lowered program in rounds.
fn in_rounds(
    (traced, assigned): (&TracedFile, &ProgramFile),
    protocol: Protocol,
    parties: usize,
    (bounds, masks): (OrderingBounds, Masks),
    scratch: &Scratch,
) -> Result<TracedFile, Failure> {
    let OrderingBounds { least_limit_bytes, is_far, planner_memory_bytes, y2a, scale, .. } = bounds;
    let held_bytes = held_bytes(protocol, least_limit_bytes, (bounds.slice_bytes, is_far));
    let far_bytes = if is_far { least_limit_bytes / FAR_WINDOWS_PER_LIMIT } else { 0 };
    let window_bytes = WINDOW_BYTES.max(held_bytes / 2).max(far_bytes);
    let options = OrderOptions {
        layout: protocol.layout(parties),
        window_instructions: window_instructions(least_limit_bytes, is_far),
        window_units: window_bytes / SHARE_UNIT_BYTES as u64,
        held_bytes,
        planner_memory_bytes,
    };
    let variant = ProtocolVariant { y2a, ..ProtocolVariant::default() };
    let terms = CostTerms { parties, scale, variant, masks };
    let mut model = protocol.rounds(&terms).expect("what has sharings or a field has rounds");
    let (output, notes) = (scratch.file(), scratch.file());
    let (file, written) = order(&mut assigned.reader()?, output, notes, &options, &mut model)?;
    Ok(traced.rewritten(file, written.hash))
}

/// Claims about ranges, made in lowering `traced` to a field, that cannot be proven.
pub fn unproven_ranges(
    traced: &TracedFile,
    field: FieldName,
    OrderingBounds { planner_memory_bytes, prove_inputs, .. }: OrderingBounds,
    scratch: &Scratch,
) -> Result<Vec<String>, Failure> {
    let program = &mut traced.file.reader()?;
    let (output, notes) = (scratch.file(), scratch.file());
    let bounds = (magnitude_bits(field), prove_inputs);
    let mut claims = Claims::default();
    let note = |claim| claims.note(claim);
    let (file, _) = lower_with_claims(program, output, notes, bounds, planner_memory_bytes, note)?;
    let lowered = ProgramFile::new_block(file, traced.file.program());
    Ok(check_ranges(&mut lowered.reader()?, &claims, magnitude_bits(field))?)
}
