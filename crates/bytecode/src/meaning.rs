//! Meaning of each operation in plain integers: the reference for every protocol.
//!
//! A value in the clear is one [`Lane`] per lane, each reduced modulo 2^width. Signed integers are
//! in two's complement. These functions expect an instruction that the verifier accepts.

use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};

use crate::instruction::Instruction;
use crate::ops::Op;

/// One lane of a value in the clear: an integer below 2^width.
pub type Lane = ruint::Uint<256, 4>;

/// A value in the clear.
pub type Lanes = Vec<Lane>;

/// Computes the results of an instruction from its operands.
pub type Meaning = fn(&Instruction, &[Lanes]) -> Vec<Lanes>;

/// 2^width - 1.
pub fn mask_of(width: u16) -> Lane {
    if width >= 256 { Lane::MAX } else { (Lane::ONE << usize::from(width)) - Lane::ONE }
}

/// Whether the highest of `width` bits is 1.
fn is_negative(value: Lane, width: u16) -> bool {
    value.bit(usize::from(width) - 1)
}

/// `value` of `width` bits with its sign copied to 256 bits.
fn sign_extend(value: Lane, width: u16) -> Lane {
    if is_negative(value, width) { value | !mask_of(width) } else { value }
}

/// `value` as a signed or unsigned integer in an order that unsigned comparison respects.
fn ordered(i: &Instruction, value: Lane) -> Lane {
    if i.element.is_signed() {
        value ^ (Lane::ONE << (usize::from(i.element.width()) - 1))
    } else {
        value
    }
}

fn one(results: Lanes) -> Vec<Lanes> {
    vec![results]
}

fn map1(i: &Instruction, operands: &[Lanes], f: impl Fn(Lane) -> Lane) -> Vec<Lanes> {
    let mask = mask_of(i.element.width());
    one(operands[0].iter().map(|&a| f(a) & mask).collect())
}

fn map2(i: &Instruction, operands: &[Lanes], f: impl Fn(Lane, Lane) -> Lane) -> Vec<Lanes> {
    let mask = mask_of(i.element.width());
    one(operands[0].iter().zip(&operands[1]).map(|(&a, &b)| f(a, b) & mask).collect())
}

fn bit(value: bool) -> Lane {
    if value { Lane::ONE } else { Lane::ZERO }
}

fn test1(operands: &[Lanes], f: impl Fn(Lane) -> bool) -> Vec<Lanes> {
    one(operands[0].iter().map(|&a| bit(f(a))).collect())
}

fn test2(operands: &[Lanes], f: impl Fn(Lane, Lane) -> bool) -> Vec<Lanes> {
    one(operands[0].iter().zip(&operands[1]).map(|(&a, &b)| bit(f(a, b))).collect())
}

pub(crate) fn constant(i: &Instruction, _: &[Lanes]) -> Vec<Lanes> {
    one(vec![Lane::from_limbs(i.immediates); i.lanes as usize])
}

pub(crate) fn and(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, |a, b| a & b)
}

pub(crate) fn or(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, |a, b| a | b)
}

pub(crate) fn xor(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, |a, b| a ^ b)
}

pub(crate) fn not(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map1(i, o, |a| !a)
}

pub(crate) fn add(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, Lane::wrapping_add)
}

pub(crate) fn sub(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, Lane::wrapping_sub)
}

pub(crate) fn neg(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map1(i, o, Lane::wrapping_neg)
}

pub(crate) fn mul(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, Lane::wrapping_mul)
}

pub(crate) fn mul_full(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let half = i.element.width() / 2;
    let signed = i.element.is_signed();
    let wide = |a| if signed { sign_extend(a, half) } else { a };
    map2(i, o, |a, b| wide(a).wrapping_mul(wide(b)))
}

fn divide(i: &Instruction, a: Lane, b: Lane) -> (Lane, Lane) {
    let width = i.element.width();
    let mask = mask_of(width);
    if b.is_zero() {
        return (mask, a);
    }
    if !i.element.is_signed() {
        return (a / b, a % b);
    }
    let magnitude = |x: Lane| {
        if is_negative(x, width) { x.wrapping_neg() & mask } else { x }
    };
    let (q, r) = (magnitude(a) / magnitude(b), magnitude(a) % magnitude(b));
    let negate = |x: Lane, when: bool| if when { x.wrapping_neg() & mask } else { x };
    let (na, nb) = (is_negative(a, width), is_negative(b, width));
    (negate(q, na != nb), negate(r, na))
}

pub(crate) fn div(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, |a, b| divide(i, a, b).0)
}

pub(crate) fn rem(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, |a, b| divide(i, a, b).1)
}

pub(crate) fn div_rem(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let (q, r) = o[0].iter().zip(&o[1]).map(|(&a, &b)| divide(i, a, b)).unzip();
    vec![q, r]
}

pub(crate) fn abs(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let width = i.element.width();
    let signed = i.element.is_signed();
    map1(i, o, |a| if signed && is_negative(a, width) { a.wrapping_neg() } else { a })
}

pub(crate) fn min(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, |a, b| if ordered(i, b) < ordered(i, a) { b } else { a })
}

pub(crate) fn max(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, |a, b| if ordered(i, a) < ordered(i, b) { b } else { a })
}

pub(crate) fn eq(_: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    test2(o, |a, b| a == b)
}

pub(crate) fn ne(_: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    test2(o, |a, b| a != b)
}

pub(crate) fn lt(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    test2(o, |a, b| ordered(i, a) < ordered(i, b))
}

pub(crate) fn le(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    test2(o, |a, b| ordered(i, a) <= ordered(i, b))
}

/// Lane by lane, the pair of the second and third operand, or the reverse where the first is 1.
fn swap_where(o: &[Lanes]) -> (Lanes, Lanes) {
    let pairs = o[0].iter().zip(o[1].iter().zip(&o[2]));
    pairs.map(|(select, (&a, &b))| if select.is_zero() { (a, b) } else { (b, a) }).unzip()
}

pub(crate) fn mux(_: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    one(swap_where(o).1)
}

pub(crate) fn cond_swap(_: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let (low, high) = swap_where(o);
    vec![low, high]
}

pub(crate) fn mask(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, |select, a| if select.is_zero() { Lane::ZERO } else { a })
}

/// The amount as a `usize`, or the width where it is no smaller.
fn clamp(i: &Instruction, amount: Lane) -> usize {
    let width = usize::from(i.element.width());
    usize::try_from(amount).unwrap_or(width).min(width)
}

fn shifted_left(a: Lane, amount: usize) -> Lane {
    if amount >= 256 { Lane::ZERO } else { a << amount }
}

fn shifted_right(i: &Instruction, a: Lane, amount: usize) -> Lane {
    let width = i.element.width();
    let amount = if i.element.is_signed() { amount.min(usize::from(width) - 1) } else { amount };
    let a = if i.element.is_signed() { sign_extend(a, width) } else { a };
    let sign = if i.element.is_signed() && is_negative(a, width) { Lane::MAX } else { Lane::ZERO };
    if amount == 0 {
        a
    } else if amount >= 256 {
        sign
    } else {
        (a >> amount) | (sign << (256 - amount))
    }
}

fn rotated_left(i: &Instruction, a: Lane, amount: Lane) -> Lane {
    let width = i.element.width();
    let amount = usize::try_from(amount % Lane::from(width)).expect("below 256");
    let low = if amount == 0 { Lane::ZERO } else { a >> (usize::from(width) - amount) };
    shifted_left(a, amount) | low
}

pub(crate) fn shift_left(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let amount = clamp(i, Lane::from(i.immediates[0]));
    map1(i, o, |a| shifted_left(a, amount))
}

pub(crate) fn shift_right(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let amount = clamp(i, Lane::from(i.immediates[0]));
    map1(i, o, |a| shifted_right(i, a, amount))
}

pub(crate) fn rotate_left(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map1(i, o, |a| rotated_left(i, a, Lane::from(i.immediates[0])))
}

pub(crate) fn shift_left_by(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, |a, amount| shifted_left(a, clamp(i, amount)))
}

pub(crate) fn shift_right_by(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, |a, amount| shifted_right(i, a, clamp(i, amount)))
}

pub(crate) fn rotate_left_by(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, |a, amount| rotated_left(i, a, amount))
}

pub(crate) fn popcount(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map1(i, o, |a| Lane::from(a.count_ones()))
}

pub(crate) fn leading_zeros(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map1(i, o, |a| Lane::from(i.immediates[0]) - Lane::from(a.bit_len()))
}

pub(crate) fn all_bits(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let mask = mask_of(i.element.width());
    test1(o, |a| a == mask)
}

pub(crate) fn any_bit(_: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    test1(o, |a| !a.is_zero())
}

pub(crate) fn parity(_: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    test1(o, |a| a.count_ones() % 2 == 1)
}

pub(crate) fn cast(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let from_width = i.immediates[0] as u16;
    map1(i, o, |a| if i.immediates[1] == 1 { sign_extend(a, from_width) } else { a })
}

pub(crate) fn bit_slice(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map1(i, o, |a| a >> (i.immediates[0] as usize))
}

pub(crate) fn bit_concat(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, |low, high| low | shifted_left(high, i.immediates[0] as usize))
}

pub(crate) fn reduce(_: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    o.to_vec()
}

pub(crate) fn reverse_pieces(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let (width, piece) = (usize::from(i.element.width()), i.immediates[0] as usize);
    let mask = mask_of(piece as u16);
    let pieces = |a: Lane| (0..width).step_by(piece).map(move |at| (a >> at) & mask);
    map1(i, o, |a| pieces(a).fold(Lane::ZERO, |low, piece_of| shifted_left(low, piece) | piece_of))
}

pub(crate) fn convert(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map1(i, o, |a| a)
}

pub(crate) fn reshape(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let from_lanes = o[0].len();
    let (width, lanes) = (usize::from(i.element.width()), i.lanes as usize);
    let mut result = vec![Lane::ZERO; lanes];
    for (j, lane) in result.iter_mut().enumerate() {
        for k in 0..width {
            let wire = k * lanes + j;
            lane.set_bit(k, o[0][wire % from_lanes].bit(wire / from_lanes));
        }
    }
    one(result)
}

pub(crate) fn lane_slice(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let start = i.immediates[0] as usize;
    one(o[0][start..start + i.lanes as usize].to_vec())
}

pub(crate) fn lane_concat(_: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    one(o[0].iter().chain(&o[1]).copied().collect())
}

pub(crate) fn lane_reverse(_: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    one(o[0].iter().rev().copied().collect())
}

pub(crate) fn lane_tile(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    one((0..i.lanes as usize).map(|j| o[0][j % o[0].len()]).collect())
}

pub(crate) fn lane_repeat(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let each = i.lanes as usize / o[0].len();
    one((0..i.lanes as usize).map(|j| o[0][j / each]).collect())
}

pub(crate) fn lane_deinterleave(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let block = i.immediates[0] as usize;
    let part = |odd: usize| o[0].chunks(block).skip(odd).step_by(2).flatten().copied().collect();
    vec![part(0), part(1)]
}

pub(crate) fn lane_interleave(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let block = i.immediates[0] as usize;
    let pairs = o[0].chunks(block).zip(o[1].chunks(block));
    one(pairs.flat_map(|(a, b)| a.iter().chain(b)).copied().collect())
}

pub(crate) fn lane_sum(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let from_width = i.immediates[0] as u16;
    let wide = |&a: &Lane| {
        if i.element.is_signed() { sign_extend(a, from_width) } else { a }
    };
    let sum = o[0].iter().map(wide).fold(Lane::ZERO, Lane::wrapping_add);
    one(vec![sum & mask_of(i.element.width())])
}

fn fold(o: &[Lanes], f: impl Fn(Lane, Lane) -> Lane) -> Vec<Lanes> {
    one(o[0].iter().copied().reduce(f).into_iter().collect())
}

pub(crate) fn lane_and(_: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    fold(o, |a, b| a & b)
}

pub(crate) fn lane_or(_: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    fold(o, |a, b| a | b)
}

pub(crate) fn lane_xor(_: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    fold(o, |a, b| a ^ b)
}

pub(crate) fn mat_mul(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let [columns, vectors, ..] = i.immediates.map(|word| word as usize);
    let (rows, mask) = (i.lanes as usize / vectors, mask_of(i.element.width()));
    let mut sums = vec![Lane::ZERO; i.lanes as usize];
    for (sums, vector) in sums.chunks_exact_mut(rows).zip(o[1].chunks_exact(columns)) {
        for (column, &factor) in o[0].chunks_exact(rows).zip(vector) {
            for (sum, &entry) in sums.iter_mut().zip(column) {
                *sum = sum.wrapping_add(entry.wrapping_mul(factor)) & mask;
            }
        }
    }
    one(sums)
}

fn bytes16(value: Lane) -> [u8; 16] {
    let bytes: [u8; 32] = value.to_le_bytes();
    bytes[..16].try_into().expect("32 bytes hold 16")
}

fn lane16(bytes: &[u8]) -> Lane {
    Lane::try_from_le_slice(bytes).expect("16 bytes fit")
}

pub(crate) fn aes128(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    map2(i, o, |key, block| {
        let cipher = aes::Aes128::new(&Array(bytes16(key)));
        let mut block = Array(bytes16(block));
        cipher.encrypt_block(&mut block);
        lane16(&block)
    })
}

/// A key of a party, or pads under it, where nothing is hidden: all keys are 0.
pub fn of_party_key(i: &Instruction) -> Lanes {
    let lanes = i.lanes as usize;
    let keys = vec![Lane::ZERO; lanes];
    if i.op == Op::PartyKey {
        return keys;
    }
    let [_, _, block, piece] = i.immediates;
    let blocks = (0..lanes as u64).map(|k| Lane::from_limbs([block + k, piece, 0, 0])).collect();
    let pads = aes128(i, &[keys, blocks]).swap_remove(0);
    pads.into_iter().map(|pad| pad & mask_of(i.element.width())).collect()
}

pub(crate) fn aes128_key_schedule(_: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    one(expand_key(bytes16(o[0][0])).iter().map(|key| lane16(key)).collect())
}

/// FIPS-197, section 5.2.
fn expand_key(key: [u8; 16]) -> [[u8; 16]; 11] {
    let mut keys = [key; 11];
    let mut round_constant = 1u8;
    for round in 1..11 {
        let last = keys[round - 1];
        let mut word = [last[13], last[14], last[15], last[12]].map(sub_byte);
        word[0] ^= round_constant;
        round_constant = (round_constant << 1) ^ ((round_constant >> 7) * 0x1b);
        for k in 0..16 {
            let left = if k < 4 { word[k] } else { keys[round][k - 4] };
            keys[round][k] = last[k] ^ left;
        }
    }
    keys
}

/// FIPS-197, section 5.1.1: the inverse in GF(2^8), then an affine map.
fn sub_byte(byte: u8) -> u8 {
    // The inverse of x is x^254, the product of x^2, x^4, ..., x^128.
    let (mut power, mut inverse) = (byte, 1u8);
    for _ in 1..8 {
        power = multiply_bytes(power, power);
        inverse = multiply_bytes(inverse, power);
    }
    let rotations = (1..5).fold(inverse, |sum, k| sum ^ inverse.rotate_left(k));
    rotations ^ 0x63
}

/// The product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
fn multiply_bytes(mut a: u8, b: u8) -> u8 {
    let mut product = 0;
    for k in 0..8 {
        product ^= a * (b >> k & 1);
        a = (a << 1) ^ ((a >> 7) * 0x1b);
    }
    product
}

/// AES-128 with given round keys, which need not come from a key (FIPS-197, section 5.1).
pub(crate) fn aes128_round_keys(i: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let keys: Vec<[u8; 16]> = o[0].iter().map(|&key| bytes16(key)).collect();
    map1(i, &o[1..], |block| {
        let mut state = bytes16(block);
        add_key(&mut state, &keys[0]);
        for (round, key) in keys.iter().enumerate().skip(1) {
            let old = state.map(sub_byte);
            for (k, byte) in state.iter_mut().enumerate() {
                *byte = old[(k + 4 * (k % 4)) % 16];
            }
            if round < 10 {
                state.as_chunks_mut::<4>().0.iter_mut().for_each(mix_column);
            }
            add_key(&mut state, key);
        }
        lane16(&state)
    })
}

fn add_key(state: &mut [u8; 16], key: &[u8; 16]) {
    state.iter_mut().zip(key).for_each(|(byte, k)| *byte ^= k);
}

fn mix_column(column: &mut [u8; 4]) {
    let c = *column;
    for k in 0..4 {
        column[k] = multiply_bytes(c[k], 2)
            ^ multiply_bytes(c[(k + 1) % 4], 3)
            ^ c[(k + 2) % 4]
            ^ c[(k + 3) % 4];
    }
}

pub(crate) fn sha256_compress(_: &Instruction, o: &[Lanes]) -> Vec<Lanes> {
    let words = |value: Lane| -> Vec<u32> {
        let bytes: [u8; 32] = value.to_le_bytes();
        bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
    };
    let compress = |((&state, &low), &high): ((&Lane, &Lane), &Lane)| {
        let mut chain: [u32; 8] = words(state).try_into().expect("a state has 8 words");
        let mut block = [0u8; 64];
        let message = words(low).into_iter().chain(words(high));
        for (bytes, word) in block.as_chunks_mut::<4>().0.iter_mut().zip(message) {
            *bytes = word.to_be_bytes();
        }
        sha2::block_api::compress256(&mut chain, &[block]);
        let bytes: Vec<u8> = chain.iter().flat_map(|word| word.to_le_bytes()).collect();
        Lane::try_from_le_slice(&bytes).expect("32 bytes fit")
    };
    one(o[0].iter().zip(&o[1]).zip(&o[2]).map(compress).collect())
}

#[cfg(test)]
mod tests;
