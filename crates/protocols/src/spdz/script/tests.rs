//! Scripts against integers, computed on elements that are not shared.

use phineus_bytecode::random::Seeds;
use phineus_bytecode::{ElementType, Instruction, Op, Sharing};
use phineus_correlated::authenticated::BOUNDED_BITS;
use phineus_crypto::field::{F32, F61, F128, Field};
use phineus_crypto::{Block, Prg, SecretBit};

use super::{LocalOperation, Modulus, OpenedNumber, RoundOperation, Script};
use crate::spdz::Masks;
use crate::spdz::operations::Scripts;

/// Runs a script on elements of one lane; random bits are drawn.
fn evaluate<F: Field>(script: &Script, inputs: &[F], prg: &mut Prg) -> Vec<F> {
    let mut rows = inputs.to_vec();
    assert_eq!(rows.len(), script.input_count as usize);
    for _ in 0..script.bit_count {
        let mut byte = [0];
        prg.fill_bytes(&mut byte);
        rows.push(F::ONE.and_bit(SecretBit::lowest(byte[0].into())));
    }
    for _ in 0..script.bounded_count {
        // Of two parties.
        let of_one = |prg: &mut Prg| prg.next_block().to_bits() >> (128 - BOUNDED_BITS);
        rows.push(F::new(of_one(prg) + of_one(prg)));
    }
    rows.resize(script.slot_count as usize, F::ZERO);
    let mut publics = vec![F::ZERO; script.public_count as usize];
    for level in &script.levels {
        for step in &level.local {
            let row = |slot: &u32| rows[*slot as usize];
            let number = |number: &OpenedNumber| {
                let plus = if number.plus_prime { F::MODULUS } else { 0 };
                publics[number.public.slot()].value().wrapping_add(plus)
            };
            let digit = |n: &OpenedNumber, bit: &u32| number(n) >> bit & 1 == 1;
            let low = |n: &OpenedNumber, bits: &u32| F::new(number(n) & ((1 << bits) - 1));
            let out = match &step.what {
                LocalOperation::Combine(sum) => {
                    sum.terms.iter().fold(F::from_signed(sum.constant), |sum, (slot, factor)| {
                        sum.add(row(slot).mul(F::from_signed(*factor)))
                    })
                }
                LocalOperation::Xor { a, b, product } => {
                    row(a).add(row(b)).sub(row(product)).sub(row(product))
                }
                LocalOperation::Not { a } => F::ONE.sub(row(a)),
                LocalOperation::Less { shared, number, bit } => {
                    row(shared).and_bit(SecretBit::public(!digit(number, bit)))
                }
                LocalOperation::Equal { shared, number, bit } if digit(number, bit) => row(shared),
                LocalOperation::Equal { shared, .. } => F::ONE.sub(row(shared)),
                LocalOperation::LessOfTwo(two) => {
                    let [low, high] = [two.low, two.high].map(|slot| row(&slot));
                    let (both, n) = (row(&two.both), two.number);
                    match [digit(&n, &two.bit), digit(&n, &(two.bit + 1))] {
                        [false, false] => high.add(low).sub(both),
                        [true, false] => high,
                        [false, true] => both,
                        [true, true] => F::ZERO,
                    }
                }
                LocalOperation::EqualOfTwo(two) => {
                    let [low, high] = [two.low, two.high].map(|slot| row(&slot));
                    let n = two.number;
                    let of = |bit: u32, row: F| {
                        if digit(&n, &bit) { row } else { F::ONE.sub(row) }
                    };
                    of(two.bit, low).mul(of(two.bit + 1, high))
                }
                LocalOperation::Differs { shared, number, bit } if digit(number, bit) => {
                    F::ONE.sub(row(shared))
                }
                LocalOperation::Differs { shared, .. } => row(shared),
                LocalOperation::AddLow { row: slot, number, bits } => {
                    row(slot).add(low(number, bits))
                }
                LocalOperation::TimesLow { row: slot, number, bits } => {
                    row(slot).mul(low(number, bits))
                }
                LocalOperation::Halved { row: slot, times } => {
                    row(slot).mul(F::new(1 << times).inverse())
                }
            };
            rows[step.out as usize] = out;
        }
        let results: Vec<F> = level
            .joint
            .iter()
            .map(|step| match step.what {
                RoundOperation::Product { a, b } => rows[a as usize].mul(rows[b as usize]),
                RoundOperation::Square { a } => rows[a as usize].mul(rows[a as usize]),
                RoundOperation::Open { a } => rows[a as usize],
            })
            .collect();
        for (step, result) in level.joint.iter().zip(results) {
            match step.what {
                RoundOperation::Open { .. } => publics[step.out as usize] = result,
                _ => rows[step.out as usize] = result,
            }
        }
    }
    script.outputs.iter().map(|&slot| rows[slot as usize]).collect()
}

fn integers<F: Field>() {
    [Masks::Narrow, Masks::Whole].into_iter().for_each(integers_behind::<F>);
}

fn integers_behind<F: Field>(masks: Masks) {
    let mut seeds = Seeds::fresh();
    let seed = seeds.draw();
    let mut prg = Prg::from_seed(Block::from_bits(seed.into()));
    let mut scripts = Scripts::new(Modulus::new(F::MODULUS, 2, masks));
    let magnitude = (F::BITS - 2).min(125);
    let mut random = || {
        let mut bytes = [0; 16];
        prg.fill_bytes(&mut bytes);
        let [size, sign, ..] = bytes;
        let bits = u32::from(size) % magnitude;
        let value = (u128::from_le_bytes(bytes) >> 64 << 62 ^ u128::from_le_bytes(bytes)) >> 2;
        let value = (value & ((1u128 << bits) - 1)) as i128;
        if sign & 1 == 1 { -value } else { value }
    };
    let mut other = Prg::from_seed(Block::from_bits(!u128::from(seed)));
    let instruction = |op: Op, width: u16, signed: bool, immediate: u64| {
        let element = ElementType::integer(width, signed).shared(Sharing::Arithmetic);
        let mut instruction = Instruction::new(op, element, 2);
        instruction.immediates[0] = immediate;
        instruction
    };
    let edges = [0, 1, -1, 2, -2, 3, (1 << (magnitude - 1)) - 1, 1 - (1 << (magnitude - 1))];
    for round in 0..300 {
        let x = if round < edges.len() { edges[round] } else { random() };
        let y = if round % 5 == 0 { x } else { random() };
        let fx = F::from_signed(x);
        let width = (round % usize::try_from(magnitude.min(64)).expect("small") + 1) as u16;
        let mut run =
            |i: &Instruction, inputs: &[F]| evaluate(&scripts.of(i).0, inputs, &mut other);
        let wide = width.min(magnitude.min(64) as u16);
        for signed in [false, true] {
            let low = x.rem_euclid(1 << wide);
            let half = signed && low >> (wide - 1) & 1 == 1;
            let expected = low - if half { 1 << wide } else { 0 };
            let reduced = run(&instruction(Op::Reduce, wide, signed, 0), &[fx]);
            assert!(reduced[0] == F::from_signed(expected), "reduce {x} to {wide}");
        }
        let half = |v: i128| v >> 1;
        let (hx, hy) = (half(x), half(y));
        let bit = |value: bool| F::ONE.and_bit(SecretBit::public(value));
        // Modulo any prime, and as narrow as they may be.
        let bits_of = |v: i128| 129 - (v ^ (v >> 127)).leading_zeros();
        let least = bits_of(x).max(bits_of(y)).max(2);
        for size in [magnitude as u16, 64.max(least) as u16, least as u16, least as u16 + 1] {
            let size = size.max(least as u16).min(magnitude as u16 + 1);
            let mut test = |op: Op, pair: &[i128], expected: F| {
                let pair: Vec<F> = pair.iter().map(|&v| F::from_signed(v)).collect();
                let result = run(&instruction(op, size, true, 0), &pair)[0];
                assert!(result == expected, "{x} {} {y} in {size} bits", op.info().name);
            };
            test(Op::Lt, &[hx, hy], bit(hx < hy));
            test(Op::Le, &[hx, hy], bit(hx <= hy));
            test(Op::Eq, &[x, y], bit(x == y));
            test(Op::Ne, &[x, y], bit(x != y));
            test(Op::Abs, &[x], F::from_signed(x.abs()));
            let (ux, uy) = (hx.abs(), hy.abs());
            let pair = [F::from_signed(ux), F::from_signed(uy)];
            let result = run(&instruction(Op::Lt, size - 1, false, 0), &pair)[0];
            assert!(result == bit(ux < uy), "{ux} < {uy} in {} bits", size - 1);
            let amount = u32::from(wide).min(u32::from(size)).min(magnitude);
            let shift = |signed: bool| instruction(Op::ShiftRight, size, signed, amount.into());
            let result = run(&shift(true), &[fx])[0];
            assert!(result == F::from_signed(x >> amount), "{x} >> {amount} in {size} bits");
            let result = run(&shift(false), &[F::from_signed(ux)])[0];
            assert!(result == F::from_signed(ux >> amount), "{ux} >> {amount} in {size} bits");
        }
        let mut convert =
            Instruction::new(Op::Convert, ElementType::unsigned(width).shared(Sharing::Boolean), 2);
        convert.immediates[0] = Sharing::Arithmetic as u64;
        let digits = run(&convert, &[fx]);
        for (k, digit) in digits.iter().enumerate() {
            assert!(*digit == bit(x >> k & 1 == 1), "bit {k} of {x} in {width}");
        }
        let mut wide = convert;
        wide.element = ElementType::unsigned(70).shared(Sharing::Boolean);
        for (k, digit) in run(&wide, &[fx]).iter().enumerate() {
            assert!(*digit == bit(x >> k & 1 == 1), "bit {k} of {x} in 70");
        }
    }
}

#[test]
fn integers_in_f61() {
    integers::<F61>();
}

#[test]
fn integers_in_f128() {
    integers::<F128>();
}

#[test]
fn integers_in_f32() {
    // The mask is not below the prime with a probability of 2^-29, in some 2^14 draws.
    integers::<F32>();
}

#[test]
fn circuits_on_bits() {
    let mut prg = Prg::from_seed(Block::from_bits(9));
    let mut scripts = Scripts::new(Modulus::new(F61::MODULUS, 2, Masks::Narrow));
    for (op, expected) in [
        (Op::Xor, 0xa5u64 ^ 0x3c),
        (Op::And, 0xa5 & 0x3c),
        (Op::Add, (0xa5 + 0x3c) & 0xff),
        (Op::Div, 0xa5 / 0x3c),
    ] {
        let element = ElementType::unsigned(8).shared(Sharing::Boolean);
        let instruction = Instruction::new(op, element, 2);
        let bits =
            |value: u64| (0..8).map(move |k| F61::ONE.and_bit(SecretBit::lowest(value >> k)));
        let inputs: Vec<F61> = bits(0xa5).chain(bits(0x3c)).collect();
        let result = evaluate(&scripts.of(&instruction).0, &inputs, &mut prg);
        assert!(result == bits(expected).collect::<Vec<_>>(), "{}", op.info().name);
    }
}

/// Sums under masks that are not uniform stay below the prime, for any number of parties.
#[test]
fn masks_have_room_in_the_field() {
    for (prime, parties, width) in [
        (F61::MODULUS, 2, 18),
        (F61::MODULUS, 3, 18),
        (F61::MODULUS, 4, 17),
        (F61::MODULUS, 16, 15),
        (F128::MODULUS, 2, 85),
        (F128::MODULUS, 16, 82),
        (F32::MODULUS, 2, 0),
    ] {
        assert_eq!(
            Modulus::new(prime, parties, Masks::Narrow).hidden_bits,
            width,
            "{prime}, {parties} parties"
        );
    }
}

/// Compares the costs of a comparison with the figures of the documentation.
#[test]
fn costs() {
    let cost = |modulus: Modulus, op: Op, width: u16| {
        let mut scripts = Scripts::new(modulus);
        let element = ElementType::unsigned(width).shared(Sharing::Arithmetic);
        let script = scripts.of(&Instruction::new(op, element, 2)).0;
        let products: usize = script.levels.iter().map(|level| level.amounts().products).sum();
        (script.bit_count, script.bounded_count, products, script.rounds())
    };
    let [f61, f128] =
        [F61::MODULUS, F128::MODULUS].map(|prime| Modulus::new(prime, 2, Masks::Narrow));
    let whole = Modulus::new(F61::MODULUS, 2, Masks::Whole);
    assert_eq!(cost(whole, Op::Lt, 8), (61, 0, 86, 7));
    assert_eq!(cost(whole, Op::Eq, 1), (61, 0, 60, 6));
    assert_eq!(cost(f61, Op::Lt, 32), (61, 0, 86, 7));
    assert_eq!(cost(f61, Op::Eq, 32), (61, 0, 60, 6));
    assert_eq!(cost(f61, Op::Lt, 18), (18, 1, 21, 5));
    assert_eq!(cost(f61, Op::Lt, 8), (8, 1, 8, 3));
    assert_eq!(cost(f61, Op::Eq, 8), (8, 1, 7, 3));
    assert_eq!(cost(f128, Op::Lt, 64), (64, 1, 89, 6));
    assert_eq!(cost(f128, Op::Eq, 64), (64, 1, 63, 6));
}
