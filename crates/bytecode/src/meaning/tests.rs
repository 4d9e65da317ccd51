//! The meanings against Rust's integers, published vectors, and the crates for AES and SHA-256.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::*;
use crate::instruction::ElementType;
use crate::ops::{OPS, Op};
use crate::random::{RandomOptions, SeededRng, random_program};

/// The operations that the plain model below does not have.
const CIPHERS: [Op; 4] =
    [Op::Aes128, Op::Aes128KeySchedule, Op::Aes128RoundKeys, Op::Sha256Compress];

fn has_model(op: Op) -> bool {
    op.info().meaning.is_some() && !CIPHERS.contains(&op)
}

fn cut(value: i128, width: u16) -> u128 {
    value as u128 & (u128::MAX >> (128 - u32::from(width)))
}

fn integer(value: u128, width: u16, signed: bool) -> i128 {
    let shift = 128 - u32::from(width);
    if signed { (value << shift) as i128 >> shift } else { value as i128 }
}

/// Result of an operation in one lane, from Rust's integers; `None` if it moves lanes.
fn lane_model(i: &Instruction, o: &[u128]) -> Option<Vec<u128>> {
    let (w, signed) = (i.element.width(), i.element.is_signed());
    let [imm0, imm1, ..] = i.immediates;
    let int = |k: usize| integer(o[k], w, signed);
    let shift = |left: bool, amount: u128| {
        let amount = amount.min(127) as u32;
        let shifted = if left { int(0).checked_shl(amount) } else { int(0).checked_shr(amount) };
        // A left shift by the width or more loses everything, also where i128 would not.
        shifted.filter(|_| !left || amount < u32::from(w)).unwrap_or(0)
    };
    let rotate = |amount: u128| {
        let bits: Vec<u128> = (0..w).map(|k| o[0] >> k & 1).collect();
        let from =
            |k: usize| bits[(k + bits.len() - (amount % u128::from(w)) as usize) % bits.len()];
        (0..bits.len()).map(|k| from(k) << k).sum::<u128>() as i128
    };
    let quotient = || {
        if o[1] == 0 { -1 } else { int(0).wrapping_div(int(1)) }
    };
    let remainder = || {
        if o[1] == 0 { int(0) } else { int(0).wrapping_rem(int(1)) }
    };
    let flag = |value: bool| Some(vec![u128::from(value)]);
    let result = match i.op {
        Op::Constant => i128::from(imm0) | i128::from(imm1) << 64,
        Op::And => (o[0] & o[1]) as i128,
        Op::Or => (o[0] | o[1]) as i128,
        Op::Xor => (o[0] ^ o[1]) as i128,
        Op::Convert => int(0),
        Op::Not => !int(0),
        Op::Add => int(0).wrapping_add(int(1)),
        Op::Sub => int(0).wrapping_sub(int(1)),
        Op::Neg => int(0).wrapping_neg(),
        Op::Mul => int(0).wrapping_mul(int(1)),
        Op::MulFull => integer(o[0], w / 2, signed).wrapping_mul(integer(o[1], w / 2, signed)),
        Op::Div => quotient(),
        Op::Rem => remainder(),
        Op::DivRem => return Some(vec![cut(quotient(), w), cut(remainder(), w)]),
        Op::Abs => int(0).wrapping_abs(),
        Op::Min => int(0).min(int(1)),
        Op::Max => int(0).max(int(1)),
        Op::Eq => return flag(o[0] == o[1]),
        Op::Ne => return flag(o[0] != o[1]),
        Op::Lt => return flag(int(0) < int(1)),
        Op::Le => return flag(int(0) <= int(1)),
        Op::Mux => return Some(vec![if o[0] == 1 { o[1] } else { o[2] }]),
        Op::CondSwap if o[0] == 1 => return Some(vec![o[2], o[1]]),
        Op::CondSwap => return Some(vec![o[1], o[2]]),
        Op::Mask => return Some(vec![o[0] * o[1]]),
        Op::ShiftLeft => shift(true, imm0.into()),
        Op::ShiftRight => shift(false, imm0.into()),
        Op::RotateLeft => rotate(imm0.into()),
        Op::ShiftLeftBy => shift(true, o[1]),
        Op::ShiftRightBy => shift(false, o[1]),
        Op::RotateLeftBy => rotate(o[1]),
        Op::Popcount => i128::from(o[0].count_ones()),
        Op::LeadingZeros => i128::from(o[0].leading_zeros()) - 128 + i128::from(imm0),
        Op::AllBits => return flag(o[0] == cut(-1, w)),
        Op::AnyBit => return flag(o[0] != 0),
        Op::Parity => return flag(o[0].count_ones() % 2 == 1),
        Op::Cast => integer(o[0], imm0 as u16, imm1 == 1),
        Op::BitSlice => (o[0] >> imm0) as i128,
        Op::BitConcat => (o[0] | o[1] << imm0) as i128,
        _ => return None,
    };
    Some(vec![cut(result, w)])
}

/// Result of an operation that moves or folds lanes, by the index formulas of its description.
fn lanes_model(i: &Instruction, o: &[Vec<u128>]) -> Vec<Vec<u128>> {
    let (w, n) = (i.element.width(), i.lanes as usize);
    let [imm0, imm1, ..] = i.immediates.map(|word| word as usize);
    let each = |from: &dyn Fn(usize) -> u128| vec![(0..n).map(from).collect()];
    let folded =
        |f: fn(u128, u128) -> u128| vec![vec![o[0][1..].iter().fold(o[0][0], |a, &b| f(a, b))]];
    match i.op {
        Op::LaneSlice => each(&|j| o[0][imm0 + j]),
        Op::LaneConcat => each(&|j| if j < imm0 { o[0][j] } else { o[1][j - imm0] }),
        Op::LaneReverse => each(&|j| o[0][n - 1 - j]),
        Op::LaneTile => each(&|j| o[0][j % imm0]),
        Op::LaneRepeat => each(&|j| o[0][j / (n / imm0)]),
        Op::LaneDeinterleave => {
            let part = |odd| move |j: usize| o[0][(2 * (j / imm0) + odd) * imm0 + j % imm0];
            [each(&part(0)), each(&part(1))].concat()
        }
        Op::LaneInterleave => each(&|j| o[j / imm0 % 2][j / (2 * imm0) * imm0 + j % imm0]),
        Op::LaneSum => {
            let sum = o[0].iter().fold(0i128, |sum, &lane| {
                sum.wrapping_add(integer(lane, imm0 as u16, i.element.is_signed()))
            });
            assert_eq!(o[0].len(), imm1);
            vec![vec![cut(sum, w)]]
        }
        Op::LaneAnd => folded(|a, b| a & b),
        Op::LaneOr => folded(|a, b| a | b),
        Op::LaneXor => folded(|a, b| a ^ b),
        Op::Reshape => {
            let wires = (0..imm0).flat_map(|bit| o[0].iter().map(move |lane| lane >> bit & 1));
            let wires: Vec<u128> = wires.collect();
            each(&|j| (0..w as usize).map(|bit| wires[bit * n + j] << bit).sum())
        }
        Op::ReversePieces => each(&|j| {
            let bit = |k: usize| (w as usize / imm0 - 1 - k / imm0) * imm0 + k % imm0;
            (0..w as usize).map(|k| (o[0][j] >> bit(k) & 1) << k).sum()
        }),
        Op::Reduce => each(&|j| o[0][j]),
        Op::MatMul => each(&|j| {
            let rows = n / imm1;
            let (row, vector) = (j % rows, j / rows);
            let factors = &o[1][vector * imm0..];
            let terms = (0..imm0).map(|k| o[0][k * rows + row].wrapping_mul(factors[k]));
            cut(terms.fold(0u128, u128::wrapping_add) as i128, w)
        }),
        op => panic!("{op:?} has no model"),
    }
}

fn model(i: &Instruction, o: &[Vec<u128>]) -> Vec<Vec<u128>> {
    let lane = |j: usize| o.iter().map(|lanes| lanes[j % lanes.len()]).collect::<Vec<_>>();
    if lane_model(i, &[1, 1, 1]).is_none() {
        return lanes_model(i, o);
    }
    let count = o.first().map_or(i.lanes as usize, Vec::len);
    let mut results = vec![Vec::new(); i.op.info().results.len()];
    for j in 0..count {
        let one = lane_model(i, &lane(j)).expect("it has a model, as was asked above");
        results.iter_mut().zip(one).for_each(|(lanes, value)| lanes.push(value));
    }
    results
}

fn meaning(i: &Instruction, o: &[Vec<u128>]) -> Vec<Vec<u128>> {
    let wide = |lanes: &Vec<u128>| lanes.iter().map(|&lane| Lane::from(lane)).collect();
    let narrow = |lanes: Lanes| lanes.iter().map(|&lane| lane.to::<u128>()).collect();
    let compute = i.op.info().meaning.expect("only operations with a meaning are tested");
    let operands: Vec<Lanes> = o.iter().map(wide).collect();
    compute(i, &operands).into_iter().map(narrow).collect()
}

/// All combinations of values of these widths, one a lane.
fn combinations(widths: &[u16]) -> Vec<Vec<u128>> {
    let total: u16 = widths.iter().sum();
    let mut low = 0;
    let mut operands = Vec::new();
    for &width in widths {
        operands.push((0..1u128 << total).map(|lane| cut((lane >> low) as i128, width)).collect());
        low += width;
    }
    operands
}

/// Every operation, every width up to 4 bits, every immediate that matters, every value.
#[test]
fn narrow_operations_are_right_everywhere() {
    let mut seen = BTreeSet::new();
    for info in OPS.iter().filter(|info| has_model(info.op)) {
        for width in 1..=4 {
            for (signed, imm0, imm1) in (0..2 * 100).map(|k| (k % 2 == 1, k / 2 % 10, k / 20)) {
                let mut i = Instruction::new(info.op, ElementType::integer(width, signed), 1);
                i.immediates = [imm0, if info.op == Op::Constant { 0 } else { imm1 }, 0, 0];
                let shapes: Vec<_> = (0..info.operands.len()).map(|k| i.operand_shape(k)).collect();
                let valid = shapes.iter().all(|shape| shape.is_valid()) && (info.rule)(&i).is_ok();
                let widths: Vec<u16> = shapes.iter().map(|shape| shape.width).collect();
                let lanes_move = valid && lane_model(&i, &[1, 1, 1]).is_none();
                if !valid || lanes_move || widths.iter().sum::<u16>() > 12 {
                    continue;
                }
                let operands = combinations(&widths);
                assert_eq!(meaning(&i, &operands), model(&i, &operands), "{i:?}");
                seen.insert(info.op);
            }
        }
    }
    assert!(seen.len() > 35, "{seen:?}");
}

/// Every operation that the table has, with random shapes, immediates and operands.
#[test]
fn operations_are_right_on_random_values() {
    let widths = [8, 32, 64, 127];
    let cases = widths.iter().flat_map(|&width| (0..4).map(move |seed| (width, seed)));
    for (info, (width_max, seed)) in OPS
        .iter()
        .filter(|info| has_model(info.op))
        .flat_map(|info| cases.clone().map(move |case| (info, case)))
    {
        let ops = Some(vec![info.op]);
        let options =
            RandomOptions { ops, instruction_count: 40, width_max, ..RandomOptions::default() };
        let mut random = SeededRng::new(seed);
        let (program, _) = random_program(seed, &options);
        let mut drawn = program.iter().filter(|i| i.op == info.op).peekable();
        assert!(drawn.peek().is_some(), "{} was not drawn, seed {seed}", info.name);
        for i in drawn {
            let operands = random_operands(i, &mut random);
            let narrow = |lanes: Lanes| lanes.iter().map(|lane| lane.to::<u128>()).collect();
            let operands: Vec<Vec<u128>> = operands.into_iter().map(narrow).collect();
            assert_eq!(meaning(i, &operands), model(i, &operands), "{i:?}, seed {seed}");
        }
    }
}

fn random_operands(i: &Instruction, random: &mut SeededRng) -> Vec<Lanes> {
    let shapes = (0..i.operands().len()).map(|k| i.operand_shape(k));
    shapes.map(|shape| (0..shape.lanes).map(|_| random.lane(shape.width)).collect()).collect()
}

/// Also the widths that no integer of Rust has: results have the shape that the table states.
#[test]
fn results_have_the_shape_of_their_role() {
    let options = RandomOptions { instruction_count: 2000, ..RandomOptions::default() };
    let mut random = SeededRng::new(5);
    for i in &random_program(5, &options).0 {
        let Some(compute) = i.op.info().meaning else {
            continue;
        };
        let operands = random_operands(i, &mut random);
        let results = compute(i, &operands);
        assert_eq!(results.len(), i.results().len());
        for (k, lanes) in results.iter().enumerate() {
            let shape = i.result_shape(k);
            assert_eq!(lanes.len(), shape.lanes as usize, "{i:?}");
            assert!(lanes.iter().all(|&lane| lane <= mask_of(shape.width)), "{i:?}");
        }
    }
}

fn aes_lane(hex: &str) -> Lane {
    let byte = |k: usize| u8::from_str_radix(&hex[2 * k..2 * k + 2], 16).expect("hexadecimal");
    lane16(&std::array::from_fn::<u8, 16, _>(byte))
}

/// FIPS-197, appendices B and C.1; A.1 for the last round key.
#[test]
fn aes_gives_the_published_vectors() {
    let vectors = [
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "3243f6a8885a308d313198a2e0370734",
            "3925841d02dc09fbdc118597196a0b32",
        ),
        (
            "000102030405060708090a0b0c0d0e0f",
            "00112233445566778899aabbccddeeff",
            "69c4e0d86a7b0430d8cdb78070b4c55a",
        ),
    ];
    let instruction = |op| Instruction::new(op, ElementType::unsigned(128), 1);
    for (key, plain, cipher) in vectors {
        let [key, plain, cipher] = [key, plain, cipher].map(|hex| vec![aes_lane(hex)]);
        let direct = aes128(&instruction(Op::Aes128), &[key.clone(), plain.clone()]);
        assert_eq!(direct[0], cipher);
        let keys = aes128_key_schedule(&instruction(Op::Aes128KeySchedule), &[key]).remove(0);
        let two_steps = aes128_round_keys(&instruction(Op::Aes128RoundKeys), &[keys, plain]);
        assert_eq!(two_steps, [cipher]);
    }
    let key = vec![aes_lane(vectors[0].0)];
    let keys = aes128_key_schedule(&instruction(Op::Aes128KeySchedule), &[key]);
    assert_eq!(keys[0][10], aes_lane("d014f9a8c9ee2589e13f0cc8b6630ca6"));
}

#[test]
fn aes_in_two_steps_is_aes() {
    let mut random = SeededRng::new(9);
    let instruction = Instruction::new(Op::Aes128, ElementType::unsigned(128), 7);
    for _ in 0..100 {
        let key = random.lane(128);
        let blocks: Lanes = (0..7).map(|_| random.lane(128)).collect();
        let keys = aes128_key_schedule(&instruction, &[vec![key]]).remove(0);
        let direct = aes128(&instruction, &[vec![key; 7], blocks.clone()]);
        assert_eq!(aes128_round_keys(&instruction, &[keys, blocks]), direct);
    }
}

/// Messages of up to 300 bytes, padded as FIPS 180-4, section 5.1.1, says.
#[test]
fn sha256_of_compressions_is_sha256() {
    let lane_of = |bytes: &[u8]| {
        let words = bytes.chunks(4).map(|w| u32::from_be_bytes(w.try_into().expect("4 bytes")));
        words.enumerate().fold(Lane::ZERO, |lane, (k, word)| lane | Lane::from(word) << (32 * k))
    };
    let initial: [u32; 8] = [
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
        0x5be0cd19,
    ];
    let initial: Vec<u8> = initial.iter().flat_map(|word| word.to_be_bytes()).collect();
    let instruction = Instruction::new(Op::Sha256Compress, ElementType::unsigned(256), 1);
    for length in (0..300).step_by(13) {
        let message: Vec<u8> = (0..length).map(|k| (k * k + 7) as u8).collect();
        let mut padded = message.clone();
        padded.push(0x80);
        padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
        padded.extend((8 * length as u64).to_be_bytes());
        let mut state = lane_of(&initial);
        for block in padded.chunks(64) {
            let operands = [vec![state], vec![lane_of(&block[..32])], vec![lane_of(&block[32..])]];
            state = sha256_compress(&instruction, &operands)[0][0];
        }
        assert_eq!(state, lane_of(&Sha256::digest(&message)), "{length} bytes");
    }
}
