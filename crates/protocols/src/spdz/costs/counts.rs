//! Amounts that the instructions of an ordered program need and open, one after another.

use std::collections::VecDeque;
use std::io::{Read, Seek};

use phineus_bytecode::layout::element_count;
use phineus_bytecode::{Description, Instruction, Op, Phase, ProgramReader, Sharing};
use phineus_correlated::CorrelatedError;
use phineus_correlated::mascot::Kind;
use phineus_crypto::field::FieldName;
use phineus_engine::OwnPermutations;

use super::super::Masks;
use super::super::operations::{Method, SpdzRounds, matrix_size, method};
use super::super::script::Script;

/// Amounts that the instructions of an ordered program need and open.
pub(super) struct ProgramCounts {
    pub(super) parties: usize,
    pub(super) model: SpdzRounds,
    /// Openings under masks of the whole field.
    pub(super) whole_openings: u64,
}

impl ProgramCounts {
    pub(super) fn new(parties: usize, field: FieldName, masks: Masks) -> ProgramCounts {
        let model = SpdzRounds::new(field, parties).with_masks(masks);
        ProgramCounts { parties, model, whole_openings: 0 }
    }

    /// Calls `need` for the correlated randomness of an instruction; returns how many elements it
    /// opens, and how many its owner tells.
    pub(super) fn step(
        &mut self,
        instruction: &Instruction,
        description: &Description,
        mut need: impl FnMut(Kind, usize),
    ) -> (u64, u64) {
        let count = element_count(instruction.shape()) as usize;
        match (instruction.op, instruction.phase) {
            (Op::Round, _) | (_, Phase::Finish) => (0, 0),
            (Op::Output, _) => {
                let learners = &description.outputs[instruction.immediates[0] as usize].parties;
                if learners.len() == self.parties {
                    return (count as u64, 0);
                }
                learners.iter().for_each(|&owner| need(Kind::Mask { owner }, count));
                ((learners.len() * count) as u64, 0)
            }
            // A script without rounds needs nothing.
            (_, Phase::Whole) => (0, 0),
            (_, Phase::Issue) => self.issue(instruction, description, need),
        }
    }

    fn issue(
        &mut self,
        instruction: &Instruction,
        description: &Description,
        mut need: impl FnMut(Kind, usize),
    ) -> (u64, u64) {
        match method(instruction) {
            Method::Linear | Method::Movement | Method::Rows => (0, 0),
            Method::Switches => {
                let owner = OwnPermutations::owner(description, instruction);
                need(Kind::BitMask { owner }, instruction.lanes as usize);
                (0, instruction.lanes.into())
            }
            Method::Input => {
                let count = element_count(instruction.shape()) as usize;
                let owner = description.inputs[instruction.immediates[0] as usize].party;
                let kind = match instruction.element.sharing() {
                    Sharing::Arithmetic => Kind::Mask { owner },
                    _ => Kind::BitMask { owner },
                };
                need(kind, count);
                (0, count as u64)
            }
            Method::Zeros | Method::Reveal => (element_count(instruction.shape()).into(), 0),
            Method::MatMul => {
                let size = matrix_size(instruction);
                need(Kind::Matrix(size), 1);
                ((size.entries() + size.factors()) as u64, 0)
            }
            Method::Script => {
                let (script, lanes) = self.model.scripts.of(instruction);
                self.whole_openings += u64::from(script.whole_count) * lanes as u64;
                (script_needs(&script, lanes, need), 0)
            }
        }
    }
}

/// Calls `need` for what a script takes on so many lanes; returns how many elements it opens.
fn script_needs(script: &Script, lanes: usize, mut need: impl FnMut(Kind, usize)) -> u64 {
    need(Kind::Bit, script.bit_count as usize * lanes);
    need(Kind::Bounded, script.bounded_count as usize * lanes);
    let mut opened = 0;
    for level in &script.levels {
        let amounts = level.amounts();
        need(Kind::Triple, amounts.products * lanes);
        need(Kind::Square, amounts.squares * lanes);
        opened += (amounts.opened() * lanes) as u64;
    }
    opened
}

/// The correlated randomness that a planned program needs, in about the order in which it needs it,
/// and the same for all parties.
pub struct PlanDemand<R> {
    planned: ProgramReader<R>,
    walk: ProgramCounts,
    frame: usize,
    instructions: Vec<Instruction>,
    found: VecDeque<(Kind, usize)>,
}

impl<R: Read + Seek> PlanDemand<R> {
    /// Of `planned`, for so many parties.
    pub fn new(planned: ProgramReader<R>, parties: usize, field: FieldName) -> PlanDemand<R> {
        let walk = ProgramCounts::new(parties, field, Masks::of(planned.description()));
        PlanDemand { planned, walk, frame: 0, instructions: Vec::new(), found: VecDeque::new() }
    }
}

impl<R: Read + Seek> Iterator for PlanDemand<R> {
    type Item = Result<(Kind, usize), CorrelatedError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(need) = self.found.pop_front() {
                return Some(Ok(need));
            }
            if self.frame == self.planned.frame_count() {
                return None;
            }
            if let Err(error) = self.planned.read_frame(self.frame, &mut self.instructions) {
                self.frame = self.planned.frame_count();
                return Some(Err(error.into()));
            }
            self.frame += 1;
            for instruction in &self.instructions {
                let found = &mut self.found;
                self.walk.step(instruction, self.planned.description(), |kind, count| {
                    if count > 0 {
                        found.push_back((kind, count));
                    }
                });
            }
        }
    }
}
