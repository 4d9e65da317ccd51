//! Whether a program may become narrower, from one pass over it.
//!
//! In some programs, such as a sort, nothing is known of any value and all of its bits are needed. Then the passes of
//! narrowing, and rewriting before them, would change nothing. This pass goes backward as the second one of narrowing does, as
//! if nothing were known. It stops at the first instruction that may have another form: one whose results say more than its
//! operands, one that computes bits that nobody needs, one whose comparison is used again, and one that rules of rewriting or of sums
//! look for.
//!
//! Memory: an entry for each value that is alive.

use std::io::{Read, Seek};

use phineus_bytecode::limits::RESULTS_MAX;
use phineus_bytecode::{Instruction, Op, ProgramReader};

use super::demand;
use super::facts::{Facts, TRACKED_WIDTH_MAX, mask};
use super::recent::RecentOrders;
use crate::error::Error;
use crate::name_table::NameTable;
use crate::scratch::{Position, Scratch};

/// What is needed of a value.
#[derive(Clone, Copy, Default)]
struct Need {
    bits: u128,
    /// Whether an instruction takes it whose result depends on what is known of it: of a constant, that makes another
    /// form. In lanes of another width nothing is known.
    is_taken: bool,
}

/// Returns whether [`super::narrow`] or [`crate::rewrite`] may make anything of `program` but the same instructions.
///
/// # Errors
/// If reading fails, or if `memory_bytes` do not hold an entry for each value alive.
pub fn may_narrow<R: Read + Seek + Send>(
    program: &mut ProgramReader<R>,
    scratch: &Scratch,
    memory_bytes: u64,
) -> Result<bool, Error> {
    let mut tables = scratch.file().tables(memory_bytes);
    let mut needed: NameTable<Need> = NameTable::new();
    // Of the instructions behind the one at hand.
    let mut orders: RecentOrders<()> = RecentOrders::new();
    let (mut instructions, count) = (Vec::new(), program.instruction_count());
    let mut index = count;
    for frame in (0..program.frame_count()).rev() {
        program.read_frame(frame, &mut instructions)?;
        for i in instructions.iter().rev() {
            index -= 1;
            let compares = matches!(i.op, Op::Lt | Op::Le);
            if compares && orders.of(i).next().is_some() || !keeps_its_form(&mut needed, i) {
                return Ok(true);
            }
            orders.push(i, ());
            needed.count(&mut tables, 0, Position { read: index, all: count })?;
        }
    }
    Ok(false)
}

/// How an instruction is looked at.
enum Kind {
    /// It moves bits: those of its operands that are needed follow from those of its result.
    Moves,
    /// It computes all bits from all bits.
    Computes,
    Constant,
    /// It brings in, gives out or changes something besides its results.
    HasEffect,
    /// It may have another form.
    Other,
}

fn kind(i: &Instruction) -> Kind {
    match i.op {
        _ if i.op.info().meaning.is_none() => Kind::HasEffect,
        _ if demand::is_left_whole(i) => Kind::HasEffect,
        Op::Constant => Kind::Constant,
        Op::BitSlice | Op::BitConcat | Op::Reshape => Kind::Moves,
        _ if i.op.is_lane_movement() => Kind::Moves,
        // One that widens tells what is above.
        Op::Cast if i.operand_shape(0).width >= i.element.width() => Kind::Moves,
        Op::Xor | Op::Not | Op::Add | Op::Sub | Op::Neg | Op::LaneXor => Kind::Computes,
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Min | Op::Max => Kind::Computes,
        Op::Mux | Op::CondSwap | Op::Mask => Kind::Computes,
        _ => Kind::Other,
    }
}

/// Returns whether an instruction stays as it is, and notes what it needs.
fn keeps_its_form(needed: &mut NameTable<Need>, i: &Instruction) -> bool {
    let kind = kind(i);
    let mut found = [Need::default(); RESULTS_MAX];
    for (need, &name) in found.iter_mut().zip(i.results()) {
        if let Some(&mut of_name) = needed.get_mut(name) {
            *need = of_name;
            needed.remove(name);
        }
    }
    let of_result = |k: usize| mask(i.result_shape(k).width.min(TRACKED_WIDTH_MAX));
    let demanded = demand::joined(i, found.map(|need| need.bits));
    let bits = match kind {
        Kind::Other => return false,
        Kind::Constant => return !found[0].is_taken,
        Kind::Moves if demanded == [0; RESULTS_MAX] => return true,
        Kind::Moves => {
            let facts = [0, 1].map(|k| match k < i.result_count() {
                true => Facts::unknown(i.result_shape(k).width),
                false => Facts::unknown(1),
            });
            demand::operands(i, &facts, demanded)
        }
        // Equal operands make a known result.
        Kind::Computes if i.operands().len() == 2 && i.operands[0] == i.operands[1] => {
            return false;
        }
        Kind::Computes => {
            let is_whole = (0..i.result_count()).any(|k| demanded[k] == of_result(k));
            if !is_whole {
                return false;
            }
            [u128::MAX; 3]
        }
        Kind::HasEffect => [u128::MAX; 3],
    };
    for (k, &name) in i.operands().iter().enumerate().filter(|&(k, _)| bits[k] != 0) {
        let all = mask(i.operand_shape(k).width.min(TRACKED_WIDTH_MAX));
        let forgets = match i.op {
            Op::Reshape => i.operand_shape(0).width != i.element.width(),
            _ => matches!(kind, Kind::HasEffect),
        };
        let before = needed.get_mut(name).copied().unwrap_or_default();
        let bits = before.bits | bits[k] & all;
        needed.insert(name, Need { bits, is_taken: before.is_taken || !forgets });
    }
    true
}
