//! Constraints of operations beyond the shapes of their operands.

use crate::instruction::{ElementType, Instruction, Sharing};
use crate::limits::REGISTER_BITS;
use crate::meaning;

type Rule = Result<(), &'static str>;

fn ensure(holds: bool, message: &'static str) -> Rule {
    if holds { Ok(()) } else { Err(message) }
}

pub(super) fn any(_: &Instruction) -> Rule {
    Ok(())
}

pub(super) fn constant_fits(i: &Instruction) -> Rule {
    let value = meaning::Lane::from_limbs(i.immediates);
    ensure(value.bit_len() <= usize::from(i.element.width()), "the constant is wider than its type")
}

pub(super) fn even_width(i: &Instruction) -> Rule {
    ensure(i.element.width().is_multiple_of(2), "a full product has an even width")
}

pub(super) fn signed_flag(i: &Instruction) -> Rule {
    ensure(i.immediates[1] <= 1, "from_signed is 0 or 1")
}

pub(super) fn bit_slice_fits(i: &Instruction) -> Rule {
    let end = i.immediates[0].checked_add(u64::from(i.element.width()));
    ensure(
        end.is_some_and(|end| end <= i.immediates[1]),
        "the slice ends after the operand's last bit",
    )
}

pub(super) fn pieces_fit(i: &Instruction) -> Rule {
    let piece = i.immediates[0];
    let is_whole = piece > 0 && u64::from(i.element.width()).is_multiple_of(piece);
    ensure(is_whole, "piece_width must divide the width")
}

pub(super) fn reshape_fits(i: &Instruction) -> Rule {
    let wires = u64::from(i.shape().wires());
    ensure(
        i.immediates[0] > 0 && wires.is_multiple_of(i.immediates[0]),
        "from_width must divide the number of wires",
    )
}

pub(super) fn convertible(i: &Instruction) -> Rule {
    let from = Sharing::from_code(i.immediates[0]);
    ensure(from.is_some(), "from is 0 (any), 1 (@a), 2 (@b) or 3 (@y)")
}

pub(super) fn switch_sharing(i: &Instruction) -> Rule {
    let is_possible = match Sharing::from_code(i.immediates[1]) {
        Some(Sharing::Any) => true,
        Some(Sharing::Garbled) => i.element.sharing() == Sharing::Boolean,
        Some(Sharing::Arithmetic | Sharing::Boolean) | None => false,
    };
    ensure(is_possible, "switches is 0, or 3 (@y) where rows are @b")
}

pub(super) fn round_type(i: &Instruction) -> Rule {
    ensure(i.element == ElementType::BIT && i.lanes == 1, "a round has the type u1x1")
}

pub(super) fn lane_slice_fits(i: &Instruction) -> Rule {
    let end = i.immediates[0].checked_add(u64::from(i.lanes));
    ensure(
        end.is_some_and(|end| end <= i.immediates[1]),
        "the slice ends after the operand's last lane",
    )
}

pub(super) fn lanes_multiple(i: &Instruction) -> Rule {
    ensure(
        i.immediates[0] > 0 && u64::from(i.lanes).is_multiple_of(i.immediates[0]),
        "lanes must be a multiple of from_lanes",
    )
}

pub(super) fn deinterleave_fits(i: &Instruction) -> Rule {
    ensure(
        i.immediates[0] > 0 && u64::from(i.lanes).is_multiple_of(i.immediates[0]),
        "lanes must be a multiple of block",
    )
}

pub(super) fn interleave_fits(i: &Instruction) -> Rule {
    ensure(
        i.lanes.is_multiple_of(2)
            && i.immediates[0] > 0
            && u64::from(i.lanes / 2).is_multiple_of(i.immediates[0]),
        "half the lanes must be a multiple of block",
    )
}

pub(super) fn one_lane(i: &Instruction) -> Rule {
    ensure(i.lanes == 1, "a reduction has one lane")
}

pub(super) fn bits_only(i: &Instruction) -> Rule {
    ensure(i.element.shared(Sharing::Any) == ElementType::BIT, "switches are u1")
}

pub(super) fn bits_of_register(i: &Instruction) -> Rule {
    ensure(i.immediates[2] <= REGISTER_BITS.into(), "a register has at most 64 bits")
}

pub(super) fn single_lane(i: &Instruction) -> Rule {
    ensure(i.lanes == 1, "a row has one cell in each column")
}

pub(super) fn one_word(i: &Instruction) -> Rule {
    ensure(
        i.lanes == 1 && i.element.width() <= REGISTER_BITS,
        "a register takes one lane of at most 64 bits",
    )
}

pub(super) fn one_block(i: &Instruction) -> Rule {
    ensure(i.lanes == 1 && i.element.width() == 128, "a key is one block of 128 bits")
}

pub(super) fn two_blocks(i: &Instruction) -> Rule {
    ensure(i.lanes == 2 && i.element.width() == 128, "two keys are two blocks of 128 bits")
}

pub(super) fn of_a_block(i: &Instruction) -> Rule {
    ensure(i.element.width() <= 128, "a block has 128 bits")
}

pub(super) fn table_row_fits(i: &Instruction) -> Rule {
    let [.., low, high] = i.immediates;
    let (value, width) = (u128::from(high) << 64 | u128::from(low), u32::from(i.element.width()));
    ensure(width >= 128 || value >> width == 0, "the value has more bits than a row")
}

pub(super) fn matrices_fit(i: &Instruction) -> Rule {
    let [columns, vectors, ..] = i.immediates;
    ensure(columns > 0 && vectors > 0, "a matrix has columns")?;
    ensure(u64::from(i.lanes).is_multiple_of(vectors), "lanes must be a multiple of vectors")
}

pub(super) fn width_128(i: &Instruction) -> Rule {
    ensure(i.element.shared(Sharing::Any) == ElementType::unsigned(128), "AES works on u128")
}

pub(super) fn round_keys(i: &Instruction) -> Rule {
    width_128(i)?;
    ensure(i.lanes == 11 && i.immediates[0] == 1, "a key schedule takes 1 lane and gives 11")
}

pub(super) fn width_256(i: &Instruction) -> Rule {
    ensure(i.element.shared(Sharing::Any) == ElementType::unsigned(256), "SHA-256 works on u256")
}
