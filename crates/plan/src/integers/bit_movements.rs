//! Movements of bits and lanes, on the views of their operands.
//!
//! A movement within lanes changes a view. A movement of lanes emits instructions; of a value that has
//! elements, too, it waits until somebody needs the bits.

use std::rc::Rc;

use phineus_bytecode::{Instruction, Op};

use super::Lowering;
use super::bit_forms::{BitForm, ResultBit};
use super::bit_view::{BitSource, BitView};
use super::claims::LoweringOutput;
use crate::error::Error;

/// Movements that wait for each other at most: each is done again for each value that needs it.
const DEFERRED_MAX: u32 = 16;

/// A movement of bits or lanes that nobody has needed yet.
pub(super) struct DeferredMovement {
    instruction: Instruction,
    pub(super) operands: Vec<BitForm>,
    /// How many movements it consists of.
    pub(super) count: u32,
}

impl<S: LoweringOutput> Lowering<S> {
    /// The bits after a movement; a movement of lanes emits instructions.
    pub(super) fn moved(&mut self, form: &BitForm) -> Result<BitView, Error> {
        match form {
            BitForm::Unknown => unreachable!("only what is known is moved"),
            BitForm::View(view) => Ok(view.clone()),
            BitForm::Deferred(movement) => {
                let views = movement.operands.iter().map(|operand| self.moved(operand));
                let views = views.collect::<Result<Vec<_>, _>>()?;
                let results = self.movement_of(&movement.instruction, &views)?;
                Ok(results.into_iter().next().expect("a movement has a result"))
            }
        }
    }

    /// The form of the bits of a movement's only result, without any instruction.
    pub(super) fn deferred(&self, i: &Instruction) -> BitForm {
        let operands: Vec<BitForm> = i.operands().iter().map(|&name| self.bit_form(name)).collect();
        let count = 1 + operands.iter().map(BitForm::count).sum::<u32>();
        let is_one = i.results().len() == 1;
        if !is_one || count > DEFERRED_MAX || !operands.iter().all(BitForm::is_known) {
            return BitForm::Unknown;
        }
        let views = operands.iter().map(|operand| match operand {
            BitForm::View(view) => Some(view),
            BitForm::Unknown | BitForm::Deferred(_) => None,
        });
        let views = views.collect::<Option<Vec<_>>>();
        if let Some(view) = views.and_then(|views| moved_bits(i, &views)) {
            return BitForm::View(view);
        }
        BitForm::Deferred(Rc::new(DeferredMovement { instruction: *i, operands, count }))
    }

    /// The bits of a movement's results, of those of its operands.
    pub(super) fn movement_of(
        &mut self,
        i: &Instruction,
        views: &[BitView],
    ) -> Result<Vec<BitView>, Error> {
        let operands: Vec<&BitView> = views.iter().collect();
        if let Some(view) = moved_bits(i, &operands) {
            return Ok(vec![view]);
        }
        let second = |k: usize| operands.get(1).map_or(BitSource::ZERO, |view| view.bits()[k]);
        let bits = operands[0].bits().into_iter().enumerate();
        let wanted = bits.map(|(k, bit)| match (bit, second(k), operands.len()) {
            (BitSource::Constant(_), _, 1) => ResultBit::Known(bit),
            (BitSource::Constant(a), BitSource::Constant(b), _) if a == b => ResultBit::Known(bit),
            (_, other, _) => ResultBit::Computed { operands: [bit, other], is_inverted: false },
        });
        self.computed(i, None, wanted.collect())
    }

    /// How many lanes the two operands have that bits are computed of.
    pub(super) fn operand_lanes(&self, i: &Instruction) -> [u32; 2] {
        match i.op {
            Op::LaneSlice => [i.immediates[1] as u32, 0],
            Op::LaneConcat => {
                let low = i.immediates[0] as u32;
                [low, i.lanes - low]
            }
            Op::LaneTile | Op::LaneRepeat => [i.immediates[0] as u32, 0],
            Op::LaneDeinterleave => [2 * i.lanes, 0],
            Op::LaneInterleave => [i.lanes / 2; 2],
            _ => [i.lanes; 2],
        }
    }
}

/// The bits after a movement within each lane; `None` for movements of lanes.
fn moved_bits(i: &Instruction, views: &[&BitView]) -> Option<BitView> {
    let (width, view, immediates) = (i.element.width(), views[0], i.immediates);
    let amount = immediates[0].min(u64::from(width)) as u16;
    Some(match i.op {
        Op::Not => view.inverted(),
        Op::ShiftLeft => view.shifted_left(amount),
        Op::ShiftRight => view.slice(amount, width, i.element.is_signed()),
        Op::RotateLeft => view.rotated_left((immediates[0] % u64::from(width)) as u16),
        Op::Cast => view.slice(0, width, immediates[1] == 1),
        Op::BitSlice => view.slice(immediates[0] as u16, width, false),
        Op::BitConcat => view.below(views[1]),
        Op::ReversePieces => view.reversed(immediates[0] as u16),
        _ => return None,
    })
}
