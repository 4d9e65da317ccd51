//! Operations with constants that move bits and compute none: masks, and choices between constants.

use phineus_bytecode::{Instruction, Op};

use super::Narrowing;
use crate::error::Error;
use crate::narrow::NarrowClaim;
use crate::narrow::demand::Extent;
use crate::narrow::facts::mask;
use crate::narrow::views::{View, limbs};

/// Runs of equal bits in a mask that are worth their instructions.
const RUNS_MAX: usize = 8;

/// Source of a run of bits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RunSource {
    /// Copied from these bits of the other operand, or from the selecting bit.
    Other,
    /// The complement of the selecting bit.
    Complement,
    /// Known bits.
    Constant,
}

/// A run: its source, its first bit, and the first one behind it.
type Run = (RunSource, u16, u16);

/// The runs of the bits that `extent` names; bits that are not wanted go with those before them.
fn runs(extent: Extent, source: impl Fn(u16) -> RunSource) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for at in extent.low..extent.high {
        let is_wanted = extent.wanted >> at & 1 == 1;
        match runs.last_mut() {
            Some((last, _, end)) if !is_wanted || *last == source(at) => {
                *end = at + 1;
            }
            _ => runs.push((source(at), at, at + 1)),
        }
    }
    runs
}

impl<E, C> Narrowing<'_, E, C>
where
    E: FnMut(&Instruction) -> Result<(), Error>,
    C: FnMut(&NarrowClaim),
{
    /// Bitwise and, or, with a constant: bits of the other operand, and known ones.
    pub(super) fn masked(&mut self, i: &Instruction, e: Extent) -> Result<Option<View>, Error> {
        let facts = [self.facts(i, 0), self.facts(i, 1)];
        let is_constant = |k: usize| e.wanted & !facts[k].known() == 0;
        let Some(k) = (0..2).find(|&k| is_constant(k)) else { return Ok(None) };
        let passing = match i.op {
            Op::And => facts[k].ones,
            Op::Or => facts[k].zeros,
            _ => return Ok(None),
        };
        let source = |at: u16| match passing >> at & 1 {
            1 => RunSource::Other,
            _ => RunSource::Constant,
        };
        let runs = runs(e, source);
        if runs.len() > RUNS_MAX {
            return Ok(None);
        }
        let known = if i.op == Op::Or { facts[k].ones } else { 0 };
        self.joined(i, (1 - k, known), &runs, e).map(Some)
    }

    /// A choice between two constants, or a constant and 0: copies of the selecting bit, its complement,
    /// and bits that are equal in both.
    pub(super) fn chosen(&mut self, i: &Instruction, e: Extent) -> Result<Option<View>, Error> {
        let first = self.facts(i, 1);
        let (second, second_known) = match i.op {
            Op::Mux => (self.facts(i, 2).ones, self.facts(i, 2).known()),
            _ => (0, u128::MAX),
        };
        if e.wanted & !(first.known() & second_known) != 0 {
            return Ok(None);
        }
        let source = |at: u16| match (first.ones >> at & 1, second >> at & 1) {
            (1, 0) => RunSource::Other,
            (0, 1) => RunSource::Complement,
            _ => RunSource::Constant,
        };
        let runs = runs(e, source);
        if runs.len() > RUNS_MAX {
            return Ok(None);
        }
        self.joined(i, (0, first.ones), &runs, e).map(Some)
    }

    /// The runs one above the other; `operand` is the other operand, or the selecting bit.
    fn joined(
        &mut self,
        i: &Instruction,
        (operand, known): (usize, u128),
        runs: &[Run],
        e: Extent,
    ) -> Result<View, Error> {
        let mut made: Option<u64> = None;
        for &(source, low, high) in runs {
            let width = high - low;
            let run = match source {
                RunSource::Constant => {
                    let bits = known >> low & mask(width);
                    self.of_naturals(i, Op::Constant, width, &[], &limbs(bits))?
                }
                RunSource::Other if i.operand_shape(operand).width > 1 => {
                    self.part(i, operand, low, high)?
                }
                RunSource::Other if i.element.width() == 1 => self.part(i, operand, 0, 1)?,
                RunSource::Other | RunSource::Complement => {
                    let bit = self.part(i, operand, 0, 1)?;
                    let bit = match source {
                        RunSource::Complement => self.of_naturals(i, Op::Not, 1, &[bit], &[])?,
                        RunSource::Other | RunSource::Constant => bit,
                    };
                    match width {
                        1 => bit,
                        _ => self.of_naturals(i, Op::Cast, width, &[bit], &[1, 1])?,
                    }
                }
            };
            made = Some(match made {
                None => run,
                Some(below) => {
                    let at = u64::from(low - e.low);
                    let (width, parts) = (high - e.low, [below, run]);
                    self.of_naturals(i, Op::BitConcat, width, &parts, &[at])?
                }
            });
        }
        Ok(View::of_extent(made.expect("there are bits"), e))
    }
}
