//! The oracle of narrowing: a narrowed program gives what the program gives, and all that narrowing relies on
//! about a value holds for it.
//!
//! Random programs, whose inputs are often extended from narrow ones and masked, are computed in the clear before
//! and after, on inputs at the boundaries of their types. See docs/planning.md, section 11.

mod claims;
mod oracle;

use std::collections::HashMap;
use std::io::Cursor;

use phineus_bytecode::binary::to_bytes;
use phineus_bytecode::random::{RandomOptions, SeededRng, Seeds, random_program, with_sharings};
use phineus_bytecode::{
    CarriedSlot, Description, ElementType, FileKind, Instruction, Lane, Lanes, Op, ProgramReader,
    Sharing, mask_of, verify_without_ports,
};
use phineus_plan::{
    NarrowClaim, NarrowOptions, Scratch, check_narrow, may_narrow, narrow, rewrite,
};

use claims::{Draft, Fault, and_gates, holds, is_placed};

/// Number of programs in an ordinary test.
const PROGRAMS: u64 = 4000;
/// Sets of inputs that each program is computed on.
const INPUTS: u64 = 4;

/// A program, and the next name of a value.
struct ProgramEditor<'a> {
    random: &'a mut SeededRng,
    draft: Draft,
}

impl ProgramEditor<'_> {
    fn constant(&mut self, element: ElementType, lanes: u32) -> u64 {
        let mut constant = Instruction::new(Op::Constant, element, lanes);
        constant.immediates = self.random.lane(element.width()).into_limbs();
        self.draft.push(constant)
    }

    /// An input of the type of `i`, of fewer bits or with a mask on them.
    fn narrow_input(&mut self, i: &Instruction) -> u64 {
        let (width, lanes) = (i.element.width(), i.lanes);
        match self.random.below(4) {
            0 | 1 => {
                let from = self.random.below(u64::from(width)) as u16 + 1;
                let mut input = *i;
                input.element = ElementType::unsigned(from);
                let input = self.draft.push(input);
                let mut cast = Instruction::new(Op::Cast, i.element, lanes);
                cast.immediates[..2].copy_from_slice(&[from.into(), self.random.below(2)]);
                cast.operands[0] = input;
                self.draft.push(cast)
            }
            2 => {
                let (input, mask) = (self.draft.push(*i), self.constant(i.element, lanes));
                let op = *self.random.pick(&[Op::And, Op::Or, Op::Div, Op::Rem, Op::Min, Op::Max]);
                let mut masked = Instruction::new(op, i.element, lanes);
                masked.operands[..2].copy_from_slice(&[input, mask]);
                self.draft.push(masked)
            }
            _ => {
                let input = self.draft.push(*i);
                let op = *self.random.pick(&[Op::ShiftLeft, Op::ShiftRight]);
                let mut shifted = Instruction::new(op, i.element, lanes);
                shifted.immediates[0] = self.random.below(u64::from(width) + 1);
                shifted.operands[0] = input;
                self.draft.push(shifted)
            }
        }
    }
}

/// A random program of which half of the inputs are narrow, and which carries some values on.
fn program(seed: u64) -> (Vec<Instruction>, Description) {
    let random = &mut SeededRng::new(seed);
    let width_max = *random.pick(&[2, 4, 8, 9, 17, 33, 64, 80, 128, 256]);
    let options = RandomOptions {
        instruction_count: 4 + random.below(40) as usize,
        width_max,
        wires_max: if random.one_in(8) { 1408 } else { 256 },
        live_max: 2 + random.below(24) as usize,
        ops: integer_ops(random),
        ..RandomOptions::default()
    };
    let (program, mut description) = random_program(random.next_u64(), &options);
    let mut editor = ProgramEditor { random, draft: Draft::default() };
    let mut names: HashMap<u64, u64> = HashMap::new();
    for i in &program {
        let mut i = *i;
        for k in 0..i.operands().len() {
            i.operands[k] = names[&i.operands[k]];
        }
        let old = i.results;
        if i.op == Op::Input {
            i.op = Op::Load;
            i.immediates = [editor.draft.next, 0, 0, 0];
            let is_narrow = !editor.random.one_in(3);
            let name = if is_narrow { editor.narrow_input(&i) } else { editor.draft.push(i) };
            names.insert(old[0], name);
            continue;
        }
        let first = editor.draft.push(i);
        let results = old.iter().take(i.result_count());
        names.extend(results.copied().zip(first..));
    }
    let made = with_sharings_of(editor.random, &editor.draft.made);
    description.slots = slots_of(&made).into();
    (made, description)
}

/// The carried values that a program loads, whatever they are: the verifier wants to know them.
fn slots_of(program: &[Instruction]) -> Vec<CarriedSlot> {
    let mut slots = Vec::new();
    for i in program.iter().filter(|i| i.op == Op::Load) {
        let slot = i.immediates[0] as usize;
        let other = CarriedSlot { element: ElementType::BIT, lanes: 1 };
        slots.resize(slots.len().max(slot + 1), other);
        slots[slot] = CarriedSlot { element: i.element, lanes: i.lanes };
    }
    slots
}

/// All operations, or those that widths matter to.
fn integer_ops(random: &mut SeededRng) -> Option<Vec<Op>> {
    let all = phineus_bytecode::OPS.iter().map(|info| info.op);
    let is_wide = |op: Op| (op as u8) >= Op::Aes128 as u8;
    random.one_in(2).then(|| all.filter(|&op| !is_wide(op) && !op.is_lane_movement()).collect())
}

/// Gives instructions one sharing, or a sharing each.
fn with_sharings_of(random: &mut SeededRng, program: &[Instruction]) -> Vec<Instruction> {
    if !random.one_in(4) {
        return program.to_vec();
    }
    with_sharings(program, |i| {
        let width = (0..i.operands().len()).map(|k| i.operand_shape(k).width).max();
        let width = width.unwrap_or(0).max(i.element.width());
        let is_widening = i.op == Op::LaneSum && i.immediates[0] != u64::from(width);
        let is_arithmetic = i.op.is_arithmetic() && width <= 64 && !is_widening;
        match random.below(if is_arithmetic { 4 } else { 3 }) {
            0 => Sharing::Any,
            1 => Sharing::Garbled,
            2 => Sharing::Boolean,
            _ => Sharing::Arithmetic,
        }
    })
}

/// Lanes for what an instruction brings in, all of them at a boundary or any: the same each time.
fn brought(seed: u64, i: &Instruction) -> Lanes {
    let lane = |k: u32| {
        let mixed = [u64::from(k), i.immediates[0]];
        let mixed = mixed.iter().fold(seed, |seed, &part| SeededRng::new(seed ^ part).next_u64());
        SeededRng::new(mixed).lane(i.element.width())
    };
    (0..i.lanes).map(lane).collect()
}

/// The values of a program by name, and what it gives out, in order.
fn meaning(program: &[Instruction], seed: u64) -> (HashMap<u64, Lanes>, Vec<Lanes>) {
    meaning_with(program, |i| brought(seed, i))
}

/// As [`meaning`], with these values for what it brings in.
fn meaning_with(
    program: &[Instruction],
    brought: impl Fn(&Instruction) -> Lanes,
) -> (HashMap<u64, Lanes>, Vec<Lanes>) {
    let (mut values, mut given): (HashMap<u64, Lanes>, _) = (HashMap::new(), Vec::new());
    for i in program {
        let operands: Vec<Lanes> = i.operands().iter().map(|name| values[name].clone()).collect();
        let results = match i.op {
            Op::Load => vec![brought(i)],
            Op::Output => {
                given.push(operands[0].clone());
                continue;
            }
            op => (op.info().meaning.expect("it computes"))(i, &operands),
        };
        values.extend(i.results().iter().copied().zip(results));
    }
    (values, given)
}

/// A narrowed program, and what was relied on.
fn narrowed(
    program: &[Instruction],
    description: &Description,
    seed: u64,
) -> Result<(Vec<Instruction>, Vec<NarrowClaim>), Fault> {
    let bytes = to_bytes(FileKind::Program, program, description).expect("in memory");
    let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("just written");
    let scratch = Scratch::new(std::env::temp_dir(), 1 << 20);
    let (has_rounds, and_gates) = (seed.is_multiple_of(2), |i: &Instruction| and_gates(seed, i));
    let options = NarrowOptions {
        and_gates: &and_gates,
        has_rounds,
        gathers_sums: true,
        planner_memory_bytes: 64 << 20,
        state: None,
        written_after_each: &|_| (),
    };
    let mut claims = Vec::new();
    let claim = |claim: &NarrowClaim| claims.push(*claim);
    let made = narrow(&mut reader, Vec::new(), &scratch, options, claim);
    let bytes = made.map_err(|error| format!("it cannot be narrowed: {error}"))?.output;
    Ok((instructions(bytes)?, claims))
}

/// The instructions of a program, which must be right.
fn instructions(bytes: Vec<u8>) -> Result<Vec<Instruction>, Fault> {
    let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("just written");
    let mut made = Vec::new();
    let visit = |i: &Instruction| -> Result<(), phineus_bytecode::Error> {
        made.push(*i);
        Ok(())
    };
    reader.for_each(visit).expect("just written");
    let violations = verify_without_ports(&mut reader, true).expect("just written");
    match violations.first() {
        Some(violation) => Err(format!("the program that was made is wrong: {violation}")),
        None => Ok(made),
    }
}

/// Claims that the independent checker cannot prove.
fn unproven(
    program: &[Instruction],
    description: &Description,
    claims: &[NarrowClaim],
) -> Vec<Fault> {
    let bytes = to_bytes(FileKind::Program, program, description).expect("in memory");
    let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("just written");
    check_narrow(&mut reader, claims, None).expect("just written")
}

/// A program by the rules of rewriting, if one applies.
fn rewritten(
    program: &[Instruction],
    description: &Description,
) -> Result<Option<Vec<Instruction>>, Fault> {
    let bytes = to_bytes(FileKind::Program, program, description).expect("in memory");
    let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("just written");
    let scratch = Scratch::new(std::env::temp_dir(), 1 << 20);
    let made = rewrite(&mut reader, Vec::new, &scratch, 64 << 20, |_| ()).expect("in memory");
    made.map(|made| instructions(made.output)).transpose()
}

/// Rewrites and computes a random program of few operations and shapes; returns whether a rule applied.
fn examine_rewriting(seed: u64) -> Result<bool, Fault> {
    let random = &mut SeededRng::new(seed);
    let divides = [Op::Input, Op::Div, Op::Rem, Op::Output];
    let is_bitwise = !random.one_in(4);
    let bitwise = [Op::Input, Op::And, Op::Or, Op::Xor, Op::Not, Op::Constant, Op::Output];
    let options = RandomOptions {
        instruction_count: 4 + random.below(60) as usize,
        width_max: 1 + random.below(2) as u16,
        wires_max: 2,
        live_max: 2 + random.below(6) as usize,
        ops: Some(if is_bitwise { bitwise.to_vec() } else { divides.to_vec() }),
        ..RandomOptions::default()
    };
    let (mut program, mut description) = random_program(random.next_u64(), &options);
    for (slot, i) in program.iter_mut().filter(|i| i.op == Op::Input).enumerate() {
        (i.op, i.immediates) = (Op::Load, [slot as u64, 0, 0, 0]);
    }
    description.slots = slots_of(&program).into();
    let Some(made) = rewritten(&program, &description)? else { return Ok(false) };
    for k in 0..INPUTS {
        let inputs = seed.wrapping_add(k);
        let [given, after] = [meaning(&program, inputs).1, meaning(&made, inputs).1];
        if given != after {
            return Err(format!("other outputs: {given:?} and {after:?}"));
        }
    }
    Ok(true)
}

#[test]
fn rewritten_programs_give_the_same() {
    let mut seeds = Seeds::fresh();
    let mut applied = 0;
    for _ in 0..PROGRAMS {
        let seed = seeds.draw();
        let found = examine_rewriting(seed);
        applied += u64::from(found.unwrap_or_else(|fault| panic!("program {seed:#x}: {fault}")));
    }
    assert!(applied > PROGRAMS / 10, "{applied} programs were rewritten");
}

/// Narrows and computes a random program; says what is wrong.
fn examine(seed: u64) -> Result<(), Fault> {
    let (written, description) = program(seed);
    let program = rewritten(&written, &description)?.unwrap_or(written);
    let (made, claims) = narrowed(&program, &description, seed)?;
    if let Some(fault) = unproven(&program, &description, &claims).first() {
        return Err(format!("not proven: {fault}"));
    }
    let mut widths = HashMap::new();
    for i in &program {
        for (k, &name) in i.results().iter().enumerate() {
            widths.insert(name, (i.result_shape(k).width, i.op));
        }
    }
    for k in 0..INPUTS {
        let inputs = seed.wrapping_add(k);
        let (values, given) = meaning(&program, inputs);
        let (narrow_values, narrow_given) = meaning(&made, inputs);
        for claim in &claims {
            let (width, op) = widths[&claim.value];
            let (lanes, name) = (&values[&claim.value], op.info().name);
            let at = |fault: Fault| format!("%{} = {name} u{width}: {fault}", claim.value);
            holds(claim, lanes, width).map_err(at)?;
            is_placed(claim, (lanes, width), &narrow_values).map_err(at)?;
        }
        if given != narrow_given {
            return Err(format!("other outputs: {given:?} and {narrow_given:?}"));
        }
    }
    Ok(())
}

#[test]
fn narrowed_programs_give_the_same_and_all_claims_hold() {
    oracle::examine_programs(PROGRAMS, examine);
}

/// The checker refuses claims with a bit that is another one, and with bounds that leave out a value.
#[test]
fn the_checker_finds_planted_claims() {
    let mut seeds = Seeds::fresh();
    let mut planted = 0;
    while planted < 300 {
        let (program, description) = program(seeds.draw());
        let (_, claims) = narrowed(&program, &description, 0).expect("it can be narrowed");
        for claim in claims.iter().filter(|claim| claim.zeros | claim.ones != 0) {
            let known = claim.zeros | claim.ones;
            let flipped = known & known.wrapping_neg();
            let (zeros, ones) = (claim.zeros ^ flipped, claim.ones ^ flipped);
            let bits = NarrowClaim { zeros, ones, ..*claim };
            let (low, high) = claim.unsigned;
            let less = NarrowClaim { unsigned: (low, high.wrapping_sub(1)), ..*claim };
            let wrong = [Some(bits), (high > 0).then_some(less)];
            for wrong in wrong.into_iter().flatten() {
                let faults = unproven(&program, &description, &[wrong]);
                assert_eq!(faults.len(), 1, "{wrong:x?}");
            }
            planted += 1;
        }
    }
}

/// A description for a program that loads and gives out values.
fn description_of(program: &[Instruction]) -> Description {
    let (_, description) = random_program(0, &RandomOptions::default());
    Description { slots: slots_of(program).into(), ..description }
}

/// Sums and differences with all constants, of all values.
#[test]
fn sums_with_constants_are_right() {
    for width in 1..=5u16 {
        for (constant, form) in (0..1u64 << width).flat_map(|c| (0..4).map(move |form| (c, form))) {
            let (element, lanes) = (ElementType::unsigned(width), 1 << width);
            let of = |op: Op, operands: [u64; 2], immediate: u64| {
                let mut i = Instruction::new(op, element, lanes);
                i.operands[..2].copy_from_slice(&operands);
                i.immediates[0] = immediate;
                i
            };
            let op = if form < 2 { Op::Add } else { Op::Sub };
            let operands = if form % 2 == 0 { [0, 1] } else { [1, 0] };
            let mut program = vec![
                of(Op::Load, [0; 2], 0),
                of(Op::Constant, [0; 2], constant),
                of(op, operands, 0),
                of(Op::Output, [2, 0], 0),
            ];
            (0..3).for_each(|k| program[k].results[0] = k as u64);
            let description = description_of(&program);
            let (made, _) = narrowed(&program, &description, 1).expect("it can be narrowed");
            let all =
                |_: &Instruction| (0..lanes).map(|value| Lane::from(u128::from(value))).collect();
            let [before, after] = [&program, &made].map(|program| meaning_with(program, all).1);
            assert_eq!(before, after, "{op:?} of {operands:?} with {constant} in {width} bits");
            let add = |i: &&Instruction| matches!(i.op, Op::Add | Op::Sub);
            let widest = made.iter().filter(add).map(|i| i.element.width()).max();
            assert!(widest.unwrap_or(0) < width, "{made:?}");
        }
    }
}

/// A quotient of values that fill their type makes no value of more than 4096 wires: 704 lanes of 5 bits, of which two count.
#[test]
fn quotients_of_full_values_are_no_wider() {
    let (element, lanes) = (ElementType::unsigned(5), 704);
    let of = |op: Op, operands: [u64; 2], results: u64, immediate: u64| {
        let mut i = Instruction::new(op, element, lanes);
        i.operands[..2].copy_from_slice(&operands);
        (i.results[0], i.immediates[0]) = (results, immediate);
        i
    };
    let program = [
        of(Op::Load, [0; 2], 0, 0),
        of(Op::Constant, [0; 2], 1, 3),
        of(Op::And, [0, 1], 2, 0),
        of(Op::Div, [2, 1], 3, 0),
        of(Op::Output, [3, 0], 0, 0),
    ];
    let (made, _) = narrowed(&program, &description_of(&program), 1).expect("it can be narrowed");
    let widest = made.iter().map(|i| u32::from(i.element.width()) * i.lanes).max();
    assert!(widest <= Some(4096), "{made:?}");
    let all = |_: &Instruction| (0..lanes).map(|lane| Lane::from(u128::from(lane % 32))).collect();
    let [before, after] = [&program[..], &made].map(|program| meaning_with(program, all).1);
    assert_eq!(before, after);
}

/// A random program of few operations that count and sum bits, most of whose values are used once.
fn program_of_sums(random: &mut SeededRng) -> (Vec<Instruction>, Description) {
    let mut made: Vec<Instruction> = Vec::new();
    // Values with their widths and lanes.
    let mut alive: Vec<(u64, u16, u32)> = Vec::new();
    let mut next = 0;
    let mut push = |i: Instruction, alive: &mut Vec<(u64, u16, u32)>| {
        let i = Instruction { results: [next, 0], ..i };
        made.push(i);
        if i.result_count() > 0 {
            alive.push((next, i.element.width(), i.lanes));
            next += 1;
        }
    };
    let lanes = *random.pick(&[1, 1, 2, 3]);
    let widths: &[u16] = &[1, 1, 1, 2, 3, 8];
    for k in 0..2 + random.below(6) {
        let mut input =
            Instruction::new(Op::Load, ElementType::unsigned(*random.pick(widths)), lanes);
        input.immediates[0] = k;
        push(input, &mut alive);
    }
    for _ in 0..4 + random.below(24) {
        let (name, from, from_lanes) = *random.pick(&alive);
        let last = *alive.last().expect("there are values");
        // Often what was computed last, so that sums are of sums.
        let (name, from, from_lanes) =
            if random.one_in(2) { last } else { (name, from, from_lanes) };
        let width = *random.pick(&[1, 2, 4, 8]);
        let element = ElementType::unsigned(width);
        let mut i = match random.below(8) {
            0 | 1 => Instruction::new(Op::Popcount, element, from_lanes),
            2 => Instruction::new(Op::LaneSum, element, 1),
            3 | 4 => Instruction::new(Op::Cast, element, from_lanes),
            5 if random.one_in(3) => Instruction::new(Op::Constant, element, from_lanes),
            _ => {
                let same = alive.iter().filter(|value| (value.1, value.2) == (from, from_lanes));
                let same: Vec<u64> = same.map(|value| value.0).collect();
                let mut sum = Instruction::new(Op::Add, ElementType::unsigned(from), from_lanes);
                sum.operands[1] = *random.pick(&same);
                sum
            }
        };
        match i.op {
            Op::LaneSum => i.immediates[..2].copy_from_slice(&[from.into(), from_lanes.into()]),
            Op::Popcount | Op::Cast => i.immediates[0] = from.into(),
            Op::Constant => i.immediates[0] = random.below(1 << width),
            _ => {}
        }
        i.operands[0] = if i.op == Op::Constant { 0 } else { name };
        // What is summed is seldom used again.
        if i.op != Op::Constant && !random.one_in(4) {
            alive.retain(|value| !i.operands().contains(&value.0));
        }
        push(i, &mut alive);
    }
    let given = alive.clone();
    for (name, width, lanes) in given {
        let mut output = Instruction::new(Op::Output, ElementType::unsigned(width), lanes);
        output.operands[0] = name;
        push(output, &mut alive);
    }
    let description = description_of(&made);
    (made, description)
}

/// Sums of few bits, for all inputs where these have at most ten bits; many of the sums are put off.
#[test]
fn sums_of_many_terms_are_right() {
    // Each for up to 1024 inputs.
    let programs = PROGRAMS / 10;
    let (mut seeds, mut put_off) = (Seeds::fresh(), 0);
    for _ in 0..programs {
        let seed = seeds.draw();
        let (program, description) = program_of_sums(&mut SeededRng::new(seed));
        let (made, claims) = narrowed(&program, &description, seed).expect("it can be narrowed");
        let is_put_off =
            |claim: &NarrowClaim| claim.demanded == 0 && claim.unsigned.0 != claim.unsigned.1;
        put_off += u64::from(claims.iter().any(is_put_off));
        let faults = unproven(&program, &description, &claims);
        assert!(faults.is_empty(), "program {seed:#x}: {faults:?}");
        let loads = program.iter().filter(|i| i.op == Op::Load);
        let bits: u32 = loads.map(|i| u32::from(i.element.width()) * i.lanes).sum();
        for number in 0..1u64 << bits.min(10) {
            let brought = |wanted: &Instruction| {
                let mut inputs =
                    if bits <= 10 { number } else { SeededRng::new(number).next_u64() };
                let mut lanes = Lanes::default();
                for i in program.iter().filter(|i| i.op == Op::Load) {
                    let width = i.element.width();
                    for _ in 0..i.lanes {
                        let lane = Lane::from(u128::from(inputs & ((1 << width) - 1)));
                        inputs = inputs.rotate_right(width.into());
                        if i.immediates[0] == wanted.immediates[0] {
                            lanes.push(lane);
                        }
                    }
                }
                lanes
            };
            let [before, after] = [&program, &made].map(|of| meaning_with(of, brought).1);
            assert_eq!(before, after, "program {seed:#x}");
        }
    }
    assert!(put_off > programs / 4, "sums of {put_off} programs were put off");
}

/// Adds outputs of values that nobody uses.
fn give_out_all(program: &mut Vec<Instruction>) {
    let used: Vec<u64> = program.iter().flat_map(|i| i.operands().to_vec()).collect();
    for i in program.clone() {
        for k in (0..i.result_count()).filter(|&k| !used.contains(&i.results[k])) {
            let shape = i.result_shape(k);
            let element = ElementType::unsigned(shape.width);
            let mut output = Instruction::new(Op::Output, element, shape.lanes);
            output.operands[0] = i.results[k];
            program.push(output);
        }
    }
}

/// Leasts and greatests of values that are compared, too: a choice by the bit that is known.
#[test]
fn values_are_compared_once() {
    let (mut seeds, mut chosen) = (Seeds::fresh(), 0);
    for _ in 0..PROGRAMS {
        let seed = seeds.draw();
        let random = &mut SeededRng::new(seed);
        let options = RandomOptions {
            instruction_count: 4 + random.below(30) as usize,
            width_max: 1 + random.below(3) as u16,
            wires_max: 3,
            live_max: 2 + random.below(3) as usize,
            ops: Some(vec![Op::Input, Op::Lt, Op::Le, Op::Min, Op::Max, Op::Output]),
            ..RandomOptions::default()
        };
        let (mut program, mut description) = random_program(random.next_u64(), &options);
        for (slot, i) in program.iter_mut().filter(|i| i.op == Op::Input).enumerate() {
            (i.op, i.immediates) = (Op::Load, [slot as u64, 0, 0, 0]);
        }
        description.slots = slots_of(&program).into();
        // Often of what an earlier one compares.
        let orders = |i: &Instruction| matches!(i.op, Op::Lt | Op::Le | Op::Min | Op::Max);
        for k in (0..program.len()).filter(|&k| orders(&program[k])).collect::<Vec<_>>() {
            let shape = |i: &Instruction| (i.element, i.lanes);
            let earlier =
                program[..k].iter().filter(|i| orders(i) && shape(i) == shape(&program[k]));
            let earlier: Vec<[u64; 3]> = earlier.map(|i| i.operands).collect();
            if !earlier.is_empty() && random.one_in(2) {
                program[k].operands = *random.pick(&earlier);
                let is_turned = random.one_in(2);
                program[k].operands[..2].rotate_left(is_turned.into());
            }
        }
        give_out_all(&mut program);
        let (made, claims) = narrowed(&program, &description, seed).expect("it can be narrowed");
        let faults = unproven(&program, &description, &claims);
        assert!(faults.is_empty(), "program {seed:#x}: {faults:?}");
        chosen += u64::from(made.iter().any(|i| i.op == Op::Mux));
        for k in 0..INPUTS {
            let inputs = seed.wrapping_add(k);
            let [before, after] = [&program, &made].map(|of| meaning(of, inputs).1);
            assert_eq!(before, after, "program {seed:#x}");
        }
    }
    assert!(chosen > PROGRAMS / 10, "in {chosen} programs a value was chosen by a comparison");
}

/// Programs that are said to stay as they are: rewriting and narrowing find nothing in them either.
#[test]
fn programs_that_cannot_be_narrowed_are_left_alone() {
    let (mut seeds, mut left_alone) = (Seeds::fresh(), 0);
    for _ in 0..PROGRAMS {
        let seed = seeds.draw();
        let random = &mut SeededRng::new(seed);
        let ops = [
            Op::Lt,
            Op::Le,
            Op::Min,
            Op::CondSwap,
            Op::Xor,
            Op::Add,
            Op::Mux,
            Op::BitSlice,
            Op::BitConcat,
        ];
        let movements = [Op::LaneConcat, Op::LaneInterleave, Op::Cast, Op::And, Op::Constant];
        let ops = [&[Op::Input, Op::Output][..], &ops, &movements[..random.below(6) as usize]];
        let options = RandomOptions {
            instruction_count: 3 + random.below(12) as usize,
            width_max: *random.pick(&[4, 33, 128, 200]),
            ops: Some(ops.concat()),
            ..RandomOptions::default()
        };
        let (mut program, mut description) = random_program(random.next_u64(), &options);
        for (slot, i) in program.iter_mut().filter(|i| i.op == Op::Input).enumerate() {
            (i.op, i.immediates) = (Op::Load, [slot as u64, 0, 0, 0]);
        }
        description.slots = slots_of(&program).into();
        give_out_all(&mut program);
        let bytes = to_bytes(FileKind::Program, &program, &description).expect("in memory");
        let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("just written");
        let scratch = Scratch::new(std::env::temp_dir(), 1 << 20);
        if may_narrow(&mut reader, &scratch, 64 << 20).expect("in memory") {
            continue;
        }
        left_alone += 1;
        let is_rewritten = rewritten(&program, &description).expect("in memory").is_some();
        assert!(!is_rewritten, "program {seed:#x} is rewritten");
        let options = NarrowOptions {
            and_gates: &|i| and_gates(seed, i),
            has_rounds: false,
            gathers_sums: true,
            planner_memory_bytes: 64 << 20,
            state: None,
            written_after_each: &|_| (),
        };
        let made = narrow(&mut reader, Vec::new(), &scratch, options, |_| ()).expect("in memory");
        assert!(!made.is_narrower, "program {seed:#x} is narrower");
    }
    assert!(left_alone > PROGRAMS / 20, "{left_alone} programs were left alone");
}

/// All lanes are below two to their width.
#[test]
fn what_is_brought_is_of_its_type() {
    let mut load = Instruction::new(Op::Load, ElementType::unsigned(5), 9);
    load.immediates[0] = 3;
    assert!(brought(7, &load).iter().all(|lane| *lane <= mask_of(5)));
}
