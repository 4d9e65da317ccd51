//! Executes operations as circuits of XOR and AND, for any protocol that computes on bits.
//!
//! One `match` over the op table; every arm is one circuit or a movement of wires.

use phineus_bytecode::{Instruction, Op};
use phineus_circuits::{
    BitAlgebra, CountingAlgebra, adder, aes, comparison, divider, multiplier, reduction, selection,
    sha256, shift,
};

use crate::lanes;
use crate::packed::reverse_pieces;

mod record;

pub use record::{Family, is_repeated, record, template_lanes};

/// Wires of scratch memory that [`execute`] needs for `instruction`.
pub fn scratch_wires(instruction: &Instruction) -> usize {
    let width = usize::from(instruction.element.width());
    let lanes = instruction.lanes as usize;
    let from_width = instruction.immediates[0] as usize;
    match instruction.op {
        Op::Add | Op::Sub | Op::Neg | Op::Abs => adder::scratch_wires(width, lanes),
        Op::Mul => multiplier::scratch_wires(width, lanes),
        Op::MulFull => multiplier::scratch_wires(width / 2, lanes),
        Op::Div | Op::Rem | Op::DivRem => divider::scratch_wires(width, lanes),
        Op::Eq | Op::Ne | Op::Lt | Op::Le => comparison::scratch_wires(width, lanes),
        Op::Mux | Op::CondSwap | Op::Min | Op::Max => selection::scratch_wires(width, lanes),
        Op::ShiftLeftBy | Op::ShiftRightBy | Op::RotateLeftBy => {
            shift::scratch_wires(width, from_width, lanes)
        }
        Op::Popcount | Op::LeadingZeros => reduction::scratch_wires(from_width, lanes),
        Op::AllBits | Op::AnyBit => reduction::scratch_wires(width, lanes),
        Op::LaneSum => {
            let from_lanes = instruction.immediates[1] as usize;
            if instruction.element.is_signed() && from_width <= width {
                width * from_lanes + reduction::scratch_wires(width, from_lanes)
            } else {
                reduction::scratch_wires(from_width.min(width), from_lanes)
            }
        }
        Op::LaneAnd | Op::LaneOr | Op::LaneXor => {
            reduction::scratch_wires(width, instruction.immediates[0] as usize)
        }
        Op::MatMul => {
            let [columns, vectors, ..] = instruction.immediates.map(|word| word as usize);
            let rows = lanes / vectors;
            let entries = rows * columns;
            let inner =
                multiplier::scratch_wires(width, entries).max(adder::scratch_wires(width, rows));
            width * (2 * entries + 2 * rows + columns) + inner
        }
        Op::Aes128 => aes::scratch_wires(lanes),
        Op::Aes128KeySchedule => 11 * 128 + aes::scratch_wires(1),
        Op::Aes128RoundKeys => 11 * 128 * lanes + aes::scratch_wires(lanes),
        Op::Sha256Compress => 512 * lanes + sha256::scratch_wires(lanes),
        _ => 0,
    }
}

/// ANDs of an instruction as [`execute`] computes it: all lanes, without recording its circuit.
///
/// # Panics
/// As [`execute`].
pub fn executed_ands(instruction: &Instruction) -> u64 {
    type Wire = <CountingAlgebra as BitAlgebra>::Wire;
    let info = instruction.op.info();
    let blank = |wires: usize| vec![Wire::default(); wires];
    let mut results: Vec<Vec<Wire>> = (0..info.results.len())
        .map(|k| blank(instruction.result_shape(k).wires() as usize))
        .collect();
    let operands: Vec<Vec<Wire>> = (0..info.operands.len())
        .map(|k| blank(instruction.operand_shape(k).wires() as usize))
        .collect();
    let mut results: Vec<&mut [Wire]> = results.iter_mut().map(Vec::as_mut_slice).collect();
    let operands: Vec<&[Wire]> = operands.iter().map(Vec::as_slice).collect();
    let mut counter = CountingAlgebra::default();
    let mut scratch = blank(scratch_wires(instruction));
    execute(&mut counter, instruction, &mut results, &operands, &mut scratch);
    counter.ands
}

/// Executes one instruction on wires.
///
/// `results` and `operands` are as in the op table, bit-major; `scratch` has at least
/// [`scratch_wires`] wires.
///
/// # Panics
/// On operations that are not computed: input, output and directives.
pub fn execute<A: BitAlgebra>(
    alg: &mut A,
    instruction: &Instruction,
    results: &mut [&mut [A::Wire]],
    operands: &[&[A::Wire]],
    scratch: &mut [A::Wire],
) {
    match instruction.op as u8 {
        0..40 => arithmetic(alg, instruction, results, operands, scratch),
        40..60 => choice(alg, instruction, results, operands, scratch),
        60..80 => bitwise(alg, instruction, results, operands, scratch),
        80..110 => movement(alg, instruction, results, operands, scratch),
        _ => ciphers(alg, instruction, results, operands, scratch),
    }
}

fn wrong_op(instruction: &Instruction) -> ! {
    panic!("{} is not a computation on bits", instruction.op.info().name)
}

fn arithmetic<A: BitAlgebra>(
    alg: &mut A,
    instruction: &Instruction,
    results: &mut [&mut [A::Wire]],
    operands: &[&[A::Wire]],
    scratch: &mut [A::Wire],
) {
    let n = instruction.lanes as usize;
    let signed = instruction.element.is_signed();
    let (out, more) = results.split_first_mut().expect("a computation has a result");
    let a = operands.first().copied().unwrap_or_default();
    let b = operands.get(1).copied().unwrap_or_default();
    match instruction.op {
        Op::Constant => constant(alg, out, &instruction.immediates, n),
        Op::And => selection::bit_and(alg, out, a, b),
        Op::Or => selection::bit_or(alg, out, a, b),
        Op::Xor => selection::bit_xor(alg, out, a, b),
        Op::Not => selection::bit_not(alg, out, a),
        Op::Add => adder::add(alg, out, a, b, n, scratch),
        Op::Sub => adder::sub(alg, out, a, b, n, scratch),
        Op::Neg => adder::neg(alg, out, a, n, scratch),
        Op::Mul if instruction.is_square() => multiplier::square(alg, out, a, n, scratch),
        Op::Mul => multiplier::mul(alg, out, a, b, n, scratch),
        Op::MulFull if instruction.is_square() && signed => {
            multiplier::square_full_signed(alg, out, a, n, scratch)
        }
        Op::MulFull if instruction.is_square() => {
            multiplier::square_full_unsigned(alg, out, a, n, scratch)
        }
        Op::MulFull if signed => multiplier::mul_full_signed(alg, out, a, b, n, scratch),
        Op::MulFull => multiplier::mul_full_unsigned(alg, out, a, b, n, scratch),
        Op::Div if signed => divider::div_signed(alg, out, a, b, n, scratch),
        Op::Div => divider::div_unsigned(alg, out, a, b, n, scratch),
        Op::Rem if signed => divider::rem_signed(alg, out, a, b, n, scratch),
        Op::Rem => divider::rem_unsigned(alg, out, a, b, n, scratch),
        Op::DivRem if signed => divider::divrem_signed(alg, out, more[0], a, b, n, scratch),
        Op::DivRem => divider::divrem_unsigned(alg, out, more[0], a, b, n, scratch),
        Op::Abs if signed => adder::abs(alg, out, a, n, scratch),
        Op::Abs => out.copy_from_slice(a),
        Op::Min if signed => selection::min_signed(alg, out, a, b, n, scratch),
        Op::Min => selection::min_unsigned(alg, out, a, b, n, scratch),
        Op::Max if signed => selection::max_signed(alg, out, a, b, n, scratch),
        Op::Max => selection::max_unsigned(alg, out, a, b, n, scratch),
        _ => wrong_op(instruction),
    }
}

fn constant<A: BitAlgebra>(alg: &mut A, out: &mut [A::Wire], limbs: &[u64; 4], lanes: usize) {
    for (bit, row) in out.chunks_exact_mut(lanes).enumerate() {
        alg.constant(row, limbs[bit / 64] >> (bit % 64) & 1 == 1);
    }
}

fn choice<A: BitAlgebra>(
    alg: &mut A,
    instruction: &Instruction,
    results: &mut [&mut [A::Wire]],
    operands: &[&[A::Wire]],
    scratch: &mut [A::Wire],
) {
    let n = instruction.lanes as usize;
    let signed = instruction.element.is_signed();
    let (out, more) = results.split_first_mut().expect("a computation has a result");
    let (a, b) = (operands[0], operands[1]);
    match instruction.op {
        Op::Eq => comparison::eq(alg, out, a, b, n, scratch),
        Op::Ne => comparison::ne(alg, out, a, b, n, scratch),
        Op::Lt if signed => comparison::lt_signed(alg, out, a, b, n, scratch),
        Op::Lt => comparison::lt_unsigned(alg, out, a, b, n, scratch),
        Op::Le if signed => comparison::le_signed(alg, out, a, b, n, scratch),
        Op::Le => comparison::le_unsigned(alg, out, a, b, n, scratch),
        Op::Mux => selection::mux(alg, out, a, b, operands[2], scratch),
        Op::CondSwap => selection::cond_swap(alg, out, more[0], a, b, operands[2], scratch),
        Op::Mask => selection::and_mask(alg, out, a, b),
        _ => wrong_op(instruction),
    }
}

fn bitwise<A: BitAlgebra>(
    alg: &mut A,
    instruction: &Instruction,
    results: &mut [&mut [A::Wire]],
    operands: &[&[A::Wire]],
    scratch: &mut [A::Wire],
) {
    let n = instruction.lanes as usize;
    let width = u64::from(instruction.element.width());
    let signed = instruction.element.is_signed();
    let out = &mut *results[0];
    let a = operands[0];
    let by = operands.get(1).copied().unwrap_or_default();
    let amount = instruction.immediates[0].min(width) as usize;
    match instruction.op {
        Op::ShiftLeft => shift::shl_const(alg, out, a, amount, n),
        Op::ShiftRight if signed => shift::sar_const(out, a, amount, n),
        Op::ShiftRight => shift::shr_const(alg, out, a, amount, n),
        Op::RotateLeft => {
            shift::rotl_const(out, a, (instruction.immediates[0] % width) as usize, n);
        }
        Op::ShiftLeftBy => shift::shl(alg, out, a, by, n, scratch),
        Op::ShiftRightBy if signed => shift::sar(alg, out, a, by, n, scratch),
        Op::ShiftRightBy => shift::shr(alg, out, a, by, n, scratch),
        Op::RotateLeftBy => shift::rotl(alg, out, a, by, n, scratch),
        Op::Popcount => reduction::popcount(alg, out, a, n, scratch),
        Op::LeadingZeros => reduction::leading_zeros(alg, out, a, n, scratch),
        Op::AllBits => reduction::and_reduce(alg, out, a, n, scratch),
        Op::AnyBit => reduction::or_reduce(alg, out, a, n, scratch),
        Op::Parity => reduction::xor_reduce(alg, out, a, n),
        _ => wrong_op(instruction),
    }
}

fn movement<A: BitAlgebra>(
    alg: &mut A,
    instruction: &Instruction,
    results: &mut [&mut [A::Wire]],
    operands: &[&[A::Wire]],
    scratch: &mut [A::Wire],
) {
    let n = instruction.lanes as usize;
    let [first, second, ..] = instruction.immediates.map(|word| word as usize);
    let (out, more) = results.split_first_mut().expect("a computation has a result");
    let a = operands[0];
    match instruction.op {
        Op::Cast if second == 1 => shift::cast_signed(out, a, n),
        Op::Cast => shift::cast_unsigned(alg, out, a),
        Op::BitSlice => out.copy_from_slice(&a[first * n..first * n + out.len()]),
        Op::BitConcat => {
            out[..a.len()].copy_from_slice(a);
            out[a.len()..].copy_from_slice(operands[1]);
        }
        Op::ReversePieces => reverse_pieces(out, a, first * n),
        Op::Reshape | Op::Convert | Op::Reduce => out.copy_from_slice(a),
        Op::LaneSlice => lanes::slice(out, a, n, first, second),
        Op::LaneConcat => lanes::concat(out, a, operands[1], n, first),
        Op::LaneReverse => lanes::reverse(out, a, n),
        Op::LaneTile => lanes::tile(out, a, n, first),
        Op::LaneRepeat => lanes::repeat(out, a, n, first),
        Op::LaneDeinterleave => lanes::deinterleave(out, more[0], a, n, first),
        Op::LaneInterleave => lanes::interleave(out, a, operands[1], n, first),
        Op::LaneSum => lane_sum(alg, instruction, out, a, scratch),
        Op::LaneAnd => reduction::lane_and(alg, out, a, first, scratch),
        Op::LaneOr => reduction::lane_or(alg, out, a, first, scratch),
        Op::LaneXor => reduction::lane_xor(alg, out, a, first, scratch),
        Op::MatMul => mat_mul(alg, instruction, out, (a, operands[1]), scratch),
        _ => wrong_op(instruction),
    }
}

/// Sums lanes; signed or too wide ones are brought to the result's width before.
fn lane_sum<A: BitAlgebra>(
    alg: &mut A,
    instruction: &Instruction,
    out: &mut [A::Wire],
    a: &[A::Wire],
    scratch: &mut [A::Wire],
) {
    let width = usize::from(instruction.element.width());
    let [from_width, from_lanes, ..] = instruction.immediates.map(|word| word as usize);
    if from_width > width {
        return reduction::lane_sum(alg, out, &a[..width * from_lanes], from_lanes, scratch);
    }
    if !instruction.element.is_signed() {
        return reduction::lane_sum(alg, out, a, from_lanes, scratch);
    }
    let (wide, scratch) = scratch.split_at_mut(width * from_lanes);
    shift::cast_signed(wide, a, from_lanes);
    reduction::lane_sum(alg, out, wide, from_lanes, scratch);
}

/// One vector after the other.
fn mat_mul<A: BitAlgebra>(
    alg: &mut A,
    instruction: &Instruction,
    out: &mut [A::Wire],
    (matrix, vectors): (&[A::Wire], &[A::Wire]),
    scratch: &mut [A::Wire],
) {
    let [columns, count, ..] = instruction.immediates.map(|word| word as usize);
    let (width, lanes) = (usize::from(instruction.element.width()), instruction.lanes as usize);
    let rows = lanes / count;
    let (vector, scratch) = scratch.split_at_mut(width * columns);
    let (product, scratch) = scratch.split_at_mut(width * rows);
    for k in 0..count {
        lanes::slice(vector, vectors, columns, k * columns, columns * count);
        mat_vec(alg, (rows, columns), product, (matrix, vector), scratch);
        for (bits, product) in out.chunks_exact_mut(lanes).zip(product.chunks_exact(rows)) {
            bits[k * rows..][..rows].copy_from_slice(product);
        }
    }
}

/// All products at once, then the columns one after another.
fn mat_vec<A: BitAlgebra>(
    alg: &mut A,
    (rows, columns): (usize, usize),
    out: &mut [A::Wire],
    (matrix, vector): (&[A::Wire], &[A::Wire]),
    scratch: &mut [A::Wire],
) {
    let entries = rows * columns;
    let (factors, scratch) = scratch.split_at_mut(matrix.len());
    let (products, scratch) = scratch.split_at_mut(matrix.len());
    lanes::repeat(factors, vector, entries, columns);
    multiplier::mul(alg, products, matrix, factors, entries, scratch);
    lanes::slice(out, products, rows, 0, entries);
    let (column, scratch) = scratch.split_at_mut(out.len());
    let sum = &mut factors[..out.len()];
    for k in 1..columns {
        lanes::slice(column, products, rows, k * rows, entries);
        sum.copy_from_slice(out);
        adder::add(alg, out, sum, column, rows, scratch);
    }
}

fn ciphers<A: BitAlgebra>(
    alg: &mut A,
    instruction: &Instruction,
    results: &mut [&mut [A::Wire]],
    operands: &[&[A::Wire]],
    scratch: &mut [A::Wire],
) {
    let n = instruction.lanes as usize;
    let out = &mut *results[0];
    let a = operands[0];
    match instruction.op {
        Op::Aes128 => aes::aes128(alg, out, a, operands[1], n, scratch),
        Op::Aes128KeySchedule => {
            // The circuit gives eleven values of 128 bits; the operation one value of 11 lanes.
            let (keys, scratch) = scratch.split_at_mut(11 * 128);
            aes::aes128_key_schedule(alg, keys, a, 1, scratch);
            for (wire, slot) in out.iter_mut().enumerate() {
                *slot = keys[wire % 11 * 128 + wire / 11];
            }
        }
        Op::Aes128RoundKeys => {
            let (keys, scratch) = scratch.split_at_mut(11 * 128 * n);
            for (row, slots) in keys.chunks_exact_mut(n).enumerate() {
                slots.fill(a[row % 128 * 11 + row / 128]);
            }
            aes::aes128_encrypt_with_round_keys(alg, out, keys, operands[1], n, scratch);
        }
        Op::Sha256Compress => {
            let (block, scratch) = scratch.split_at_mut(512 * n);
            block[..256 * n].copy_from_slice(operands[1]);
            block[256 * n..].copy_from_slice(operands[2]);
            sha256::sha256_compress(alg, out, a, block, n, scratch);
        }
        _ => wrong_op(instruction),
    }
}
