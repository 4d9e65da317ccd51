//! Transfer functions on all facts and values of few bits, for each operation of the op table.

use phineus_bytecode::{ElementType, Instruction, Lane, Lanes, OPS, Op};

use super::facts::{Facts, mask};
use super::transfer::results;

/// All facts about values of `width` bits that come from bits, an unsigned or a signed interval alone.
fn all_facts(width: u16) -> Vec<Facts> {
    let unknown = Facts::unknown(width);
    let mut all = vec![unknown];
    let values = 0..=mask(width);
    for zeros in values.clone() {
        for ones in values.clone().filter(|ones| ones & zeros == 0) {
            all.push(unknown.with_bits(zeros, ones));
        }
    }
    for low in values.clone() {
        all.extend((low..=mask(width)).map(|high| unknown.with_unsigned(Some((low, high)))));
    }
    for least in unknown.least..=unknown.most {
        all.extend((least..=unknown.most).map(|most| unknown.with_signed(Some((least, most)))));
    }
    all.sort_by_key(|facts| {
        (facts.zeros, facts.ones, facts.low, facts.high, facts.least, facts.most)
    });
    all.dedup();
    all
}

fn signed(value: u128, width: u16) -> i128 {
    ((value << (128 - width)) as i128) >> (128 - width)
}

fn admits(facts: &Facts, value: u128) -> bool {
    value & facts.zeros == 0
        && value & facts.ones == facts.ones
        && (facts.low..=facts.high).contains(&value)
        && (facts.least..=facts.most).contains(&signed(value, facts.width))
}

fn admitted(facts: &Facts) -> Vec<u128> {
    (0..=mask(facts.width)).filter(|&value| admits(facts, value)).collect()
}

/// Refinement loses no value, and finds the ends.
#[test]
fn facts_admit_their_values_and_no_wider_intervals() {
    for width in 1..=4 {
        for facts in all_facts(width) {
            let values = admitted(&facts);
            assert!(!values.is_empty(), "{facts:?}");
            for &value in &values {
                let constant = Facts::constant(width, value);
                assert!(admits(&facts.union(constant), value));
            }
            let first = values[0];
            let is_constant = values.len() == 1;
            assert_eq!(facts.as_constant().is_some(), is_constant, "{facts:?} {first}");
            let highest = values[values.len() - 1];
            assert!(highest <= mask(facts.unsigned_width()));
        }
    }
}

/// Instructions of one lane, or few, of the operation at this width.
fn instructions(op: Op, width: u16) -> Vec<Instruction> {
    let mut all = Vec::new();
    for is_signed in [false, true] {
        for (lanes, first, second) in immediates(op, width) {
            let mut i = Instruction::new(op, ElementType::integer(width, is_signed), lanes);
            i.immediates[..2].copy_from_slice(&[first, second]);
            let shapes = (0..i.op.info().operands.len()).map(|k| i.operand_shape(k));
            let results = (0..i.op.info().results.len()).map(|k| i.result_shape(k));
            let is_valid = shapes
                .chain(results)
                .all(|shape| shape.is_valid() && shape.width <= 4 && shape.lanes <= 2);
            if is_valid && (i.op.info().rule)(&i).is_ok() {
                (i.operands, i.results) = ([0, 1, 2], [3, 4]);
                all.push(i);
            }
        }
    }
    all
}

/// Lanes, and the first two immediates to try.
fn immediates(op: Op, width: u16) -> Vec<(u32, u64, u64)> {
    let mut all = Vec::new();
    let count = op.info().immediates.len();
    let last = if op == Op::Constant { mask(width) as u64 } else { 5 };
    for lanes in 1..=2 {
        for first in 0..=(if count > 0 { last } else { 0 }) {
            let seconds = if count > 1 { 5 } else { 0 };
            all.extend((0..=seconds).map(|second| (lanes, first, second)));
        }
    }
    all
}

/// Calls `visit` with all choices of one of each list.
fn for_each_choice<T: Copy>(lists: &[Vec<T>], visit: &mut dyn FnMut(&[T])) {
    fn rest<T: Copy>(lists: &[Vec<T>], chosen: &mut Vec<T>, visit: &mut dyn FnMut(&[T])) {
        match lists.get(chosen.len()) {
            None => visit(chosen),
            Some(list) => {
                for &one in list {
                    chosen.push(one);
                    rest(lists, chosen, visit);
                    chosen.pop();
                }
            }
        }
    }
    rest(lists, &mut Vec::new(), visit);
}

/// Holds the facts of the results against the results of all values that the facts of the operands admit.
fn check(i: &Instruction, facts: &[Facts]) {
    let found = results(i, facts);
    let is_same = i.operands().len() == 2 && i.operands[0] == i.operands[1];
    let lanes = |k: usize| i.operand_shape(k).lanes as usize;
    let mut lists = Vec::new();
    for (k, facts) in facts.iter().enumerate() {
        lists.extend(vec![admitted(facts); lanes(k)]);
    }
    let meaning = i.op.info().meaning.expect("it computes");
    for_each_choice(&lists, &mut |chosen: &[u128]| {
        let mut chosen = chosen.iter();
        let mut operands: Vec<Lanes> = Vec::new();
        for k in 0..facts.len() {
            operands.push(chosen.by_ref().take(lanes(k)).map(|&value| Lane::from(value)).collect());
        }
        if is_same && operands[0] != operands[1] {
            return;
        }
        for (k, result) in meaning(i, &operands).iter().enumerate() {
            for lane in result {
                let value = u128::try_from(*lane).expect("few bits");
                assert!(
                    admits(&found[k], value),
                    "{i:?} of {operands:?} is {value}, not {:?}, with {facts:?}",
                    found[k]
                );
            }
        }
    });
}

/// All facts of each operand where that is little work, and every `stride`-th where it is not.
#[test]
fn transfer_functions_admit_all_results() {
    for info in OPS.iter().filter(|info| info.meaning.is_some()) {
        for width in 1..=4 {
            for i in instructions(info.op, width) {
                let count = i.operands().len();
                let wires: u32 = (0..count).map(|k| i.operand_shape(k).wires()).sum();
                let mut lists: Vec<Vec<Facts>> =
                    (0..count).map(|k| all_facts(i.operand_shape(k).width)).collect();
                // Some 10^5 pairs of facts and values for each instruction.
                let cases = lists.iter().map(Vec::len).product::<usize>() << wires.min(12);
                let stride = (cases as f64 / 3e5).powf(1.0 / count.max(1) as f64).ceil() as usize;
                for list in &mut lists {
                    *list = list.iter().copied().step_by(stride.max(1)).collect();
                }
                for_each_choice(&lists, &mut |facts| check(&i, facts));
                if count == 2 && i.operand_shape(0) == i.operand_shape(1) {
                    let same = Instruction { operands: [0, 0, 0], ..i };
                    lists[0].iter().for_each(|&facts| check(&same, &[facts, facts]));
                }
            }
        }
    }
}

/// A 0 of 128 bits that is shifted by at least 128 places was shifted by as many bits as a `u128` has, which stopped the
/// planner.
#[test]
fn zero_is_shifted_by_any_amount() {
    let mut i = Instruction::new(Op::ShiftLeftBy, ElementType::unsigned(128), 1);
    i.immediates[0] = 8;
    (i.operands, i.results) = ([0, 1, 0], [2, 0]);
    let amount = Facts::unknown(8).with_unsigned(Some((130, 140)));
    assert_eq!(results(&i, &[Facts::constant(128, 0), amount])[0].as_constant(), Some(0));
}
