//! Random programs, ordered for random protocols with rounds, each order proven by the checker.

use std::collections::BTreeMap;
use std::io::Cursor;

use phineus_bytecode::random::{RandomOptions, SeededRng, random_program};
use phineus_bytecode::{
    CostModel, Description, ElementType, FileKind, Instruction, Interaction, Layout, Op, Phase,
    ProgramReader, ProgramWriter, RoundModel,
};
use phineus_plan::{
    Error, Lookahead, OrderOptions, PlanOptions, Scratch, check, check_order, order, plan,
    window_instructions,
};
use proptest::prelude::*;

type File = Cursor<Vec<u8>>;

/// Rounds that depend on nothing but the operation; outputs take one.
struct ByOp(u64);

impl RoundModel for ByOp {
    fn interaction(&mut self, instruction: &Instruction) -> Interaction {
        let rounds = match instruction.op {
            Op::Output => 1,
            Op::Input | Op::Constant | Op::Xor => 0,
            op => ((op as u64 * self.0) >> 3) as u32 % 5,
        };
        Interaction { rounds, held_bytes: u64::from(rounds) * 10 }
    }
}

struct Free;

impl CostModel for Free {
    fn duration_ns(&mut self, _: &Instruction) -> u64 {
        100
    }

    fn count(&mut self, _: &Instruction, _: &Description) {}

    fn totals(&self, _: &Description) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
}

fn write(instructions: &[Instruction], description: &Description) -> File {
    let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program).expect("memory");
    instructions.iter().for_each(|i| writer.push(i).expect("memory"));
    Cursor::new(writer.finish(description).expect("a valid description").0)
}

fn read(file: &File) -> ProgramReader<File> {
    ProgramReader::open(file.clone()).expect("just written")
}

fn instructions(file: &File) -> Vec<Instruction> {
    let mut all = Vec::new();
    let visit = |i: &Instruction| -> Result<(), phineus_bytecode::Error> {
        all.push(*i);
        Ok(())
    };
    read(file).for_each(visit).expect("just written");
    all
}

fn scratch() -> std::fs::File {
    tempfile::tempfile().expect("a temporary file")
}

fn ordered(program: &File, model: &mut ByOp, window_units: u64, held_bytes: u64) -> File {
    ordered_in(program, model, (window_units, 1 << 17), held_bytes)
}

fn ordered_in(
    program: &File,
    model: &mut ByOp,
    (window_units, window_instructions): (u64, u64),
    held_bytes: u64,
) -> File {
    let options = OrderOptions {
        layout: Layout::wires(1),
        window_units,
        window_instructions,
        held_bytes,
        planner_memory_bytes: 64 << 20,
    };
    let made = order(&mut read(program), Vec::new(), scratch(), &options, model);
    Cursor::new(made.expect("the program is valid").0)
}

fn rounds(file: &File) -> u64 {
    instructions(file).iter().filter(|i| i.op == Op::Round).count() as u64
}

/// `source` with something that must be zero before some of its outputs, and so before all behind them.
fn with_required(source: &[Instruction], random: &mut SeededRng) -> Vec<Instruction> {
    let mut all = Vec::new();
    for &instruction in source {
        if instruction.op == Op::Output && random.one_in(3) {
            let mut required =
                Instruction::new(Op::RequireZero, instruction.element, instruction.lanes);
            required.operands = instruction.operands;
            all.push(required);
        }
        all.push(instruction);
    }
    all
}

/// What a stateful instruction works on: a kind and a number.
fn states(instruction: &Instruction) -> Vec<(char, u64)> {
    let [first, second, third, _] = instruction.immediates;
    match instruction.op {
        Op::Reveal => vec![('r', first)],
        Op::Locate => vec![('r', first), ('p', second), ('p', third)],
        Op::RegionLoad | Op::RegionStore => vec![('m', first)],
        Op::RegionLoadAt | Op::RegionStoreAt => vec![('m', first), ('r', second)],
        Op::Switches | Op::Origins | Op::Tell => vec![('p', first)],
        _ => Vec::new(),
    }
}

/// `source` with instructions on a few registers, regions and permutations, which take operands of others and give
/// them new ones.
fn with_state(source: &[Instruction], random: &mut SeededRng) -> Vec<Instruction> {
    let (mut all, mut names) = (Vec::new(), Vec::new());
    let mut next = 0;
    let mut name = || {
        next += 1;
        next - 1
    };
    for &instruction in source {
        let mut made = instruction;
        for (place, &old) in made.operands.iter_mut().zip(instruction.operands()) {
            *place = names[old as usize];
        }
        let count = instruction.operand_count() as u64;
        if count > 0 && random.one_in(2) {
            let k = random.below(count) as usize;
            let shape = instruction.operand_shape(k);
            let op = *random.pick(&[
                Op::Reveal,
                Op::Locate,
                Op::RegionLoad,
                Op::RegionStore,
                Op::RegionLoadAt,
                Op::RegionStoreAt,
                Op::Switches,
                Op::Origins,
                Op::Tell,
            ]);
            let mut state = Instruction::new(op, ElementType::unsigned(shape.width), shape.lanes);
            state.immediates = [random.below(3), random.below(2), 2, 0];
            if state.result_count() > 0 {
                state.results[0] = name();
                made.operands[k] = state.results[0];
            } else {
                state.operands[0] = made.operands[k];
            }
            all.push(state);
        }
        for result in &mut made.results[..instruction.result_count()] {
            *result = name();
            names.push(*result);
        }
        all.push(made);
    }
    all
}

/// The longest chain of rounds from an input to an output.
fn critical_path(program: &File, model: &mut ByOp) -> u64 {
    let mut ready: Vec<u64> = Vec::new();
    let (mut longest, mut required) = (0, 0);
    let mut done = BTreeMap::new();
    for instruction in instructions(program) {
        let operands = instruction.operands().iter().map(|&operand| ready[operand as usize]);
        let start = operands.max().unwrap_or(0);
        let start = if instruction.op == Op::Output { start.max(required) } else { start };
        let states = states(&instruction);
        let before = states.iter().filter_map(|state| done.get(state)).max();
        let start = start.max(before.copied().unwrap_or(0));
        let is_at_once = !states.is_empty() && !instruction.op.may_take_rounds();
        let rounds = if is_at_once { 0 } else { model.interaction(&instruction).rounds };
        let end = start + u64::from(rounds);
        // The next switches of a permutation wait for none.
        let changed = if instruction.op == Op::Switches { start } else { end };
        done.extend(states.into_iter().map(|state| (state, changed)));
        if instruction.op == Op::RequireZero {
            required = required.max(end);
        }
        ready.extend(instruction.results().iter().map(|_| end));
        longest = longest.max(end);
    }
    longest
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_order_is_right(
        seed: u64,
        weight in 1u64..200,
        window_units in prop_oneof![Just(1u64), Just(5_000), Just(u64::MAX)],
        window_instructions in prop_oneof![1u64..50, Just(1 << 17)],
        held_bytes in prop_oneof![Just(0u64), Just(100), Just(u64::MAX)],
        has_state: bool,
    ) {
        let random = RandomOptions { instruction_count: 400, ..RandomOptions::default() };
        let (source, description) = random_program(seed, &random);
        let source = with_required(&source, &mut SeededRng::new(seed));
        let source = match has_state {
            true => with_state(&source, &mut SeededRng::new(seed)),
            false => source,
        };
        let program = write(&source, &description);
        let mut model = ByOp(weight);
        let window = (window_units, window_instructions);
        let ordered = ordered_in(&program, &mut model, window, held_bytes);
        let faults = check_order(&mut read(&program), &mut read(&ordered), &mut model);
        let faults = faults.expect("readable");
        prop_assert!(faults.is_empty(), "{}", faults.join("\n"));
        if window == (u64::MAX, 1 << 17) && held_bytes == u64::MAX {
            prop_assert_eq!(rounds(&ordered), critical_path(&program, &mut model));
        }
        let options = PlanOptions {
            protocol: "test".to_string(),
            optimisation: Default::default(),
            port_order: phineus_bytecode::PortOrder::Given,
            memory_limit_bytes: 0,
            region_frames: 0,
            frame_count: 16,
            computing: None,
            layout: Layout::wires(1),
            page_wires: 4096,
            lookahead: Lookahead { time_ns: 1_000, frames: 4 },
            planner_memory_bytes: 256 << 20,
        };
        let planned = plan(&mut read(&ordered), Vec::new(), scratch(), &options, &mut Free);
        let planned = Cursor::new(planned.expect("it fits").0);
        let faults = check(&mut read(&ordered), &mut read(&planned)).expect("readable");
        prop_assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}

/// A chain of `depth` products beside `width` independent ones.
fn deep_and_wide(depth: u64, width: u64) -> File {
    let element = ElementType::unsigned(32);
    let mut source = Vec::new();
    let mut name = 0;
    let mut push = |op: Op, operands: [u64; 2]| {
        let mut instruction = Instruction::new(op, element, 1);
        instruction.operands[..2].copy_from_slice(&operands);
        instruction.results[0] = name;
        name += u64::from(op != Op::Output);
        source.push(instruction);
        name.max(1) - 1
    };
    let one = push(Op::Constant, [0, 0]);
    for _ in 0..width {
        push(Op::Mul, [one, one]);
    }
    let mut last = one;
    for _ in 0..depth {
        last = push(Op::Mul, [last, one]);
    }
    let (_, description) = random_program(1, &RandomOptions::default());
    write(&source, &description)
}

#[test]
fn deep_and_wide_side_by_side_take_the_rounds_of_the_deep_one() {
    let mut model = ByOp(8);
    let each = u64::from(model.interaction(&Instruction::new(Op::Mul, ElementType::BIT, 1)).rounds);
    assert!(each > 0);
    let program = deep_and_wide(20, 3000);
    let made = ordered(&program, &mut model, u64::MAX, u64::MAX);
    assert_eq!(rounds(&made), 20 * each);
    // The wide part is spread over all rounds but the last product's; one of the deep part may be
    // there.
    let all = instructions(&made);
    let issues = |round: &[Instruction]| round.iter().filter(|i| i.phase == Phase::Issue).count();
    let most = all.split(|i| i.op == Op::Round).map(issues).max().expect("there is a round");
    assert!(most as u64 <= 3020u64.div_ceil(19 * each + 1) + 1, "{most} at once");
    // With room for 500 products at a time, six batches of the wide part go along.
    let made = ordered(&program, &mut model, u64::MAX, 500 * 10 * each);
    assert!(rounds(&made) <= 20 * each + 7 * each);
}

#[test]
fn the_checker_finds_what_is_wrong() {
    let mut model = ByOp(8);
    let program = deep_and_wide(3, 3);
    let right = instructions(&ordered(&program, &mut model, u64::MAX, u64::MAX));
    let (_, description) = random_program(1, &RandomOptions::default());
    let mut faulty = |wrong: Vec<Instruction>, what: &str| {
        let ordered = write(&wrong, &description);
        let faults = check_order(&mut read(&program), &mut read(&ordered), &mut model);
        let faults = faults.expect("readable").join("\n");
        assert!(faults.contains(what), "{what}: {faults}");
    };
    let round = right.iter().position(|i| i.op == Op::Round).expect("it has rounds");
    let without = |at: usize| [&right[..at], &right[at + 1..]].concat();
    faulty(without(round), "nothing finishes in this round");
    let finish = right.iter().position(|i| i.phase == Phase::Finish).expect("it has finishes");
    let mut swapped = right.clone();
    swapped.swap(finish, finish - 1);
    faulty(swapped, "nothing finishes");
    let mut other = right.clone();
    other[finish].lanes = 2;
    faulty(other, "should finish here");
    let mut twice = right.clone();
    twice.insert(round, right[round]);
    faulty(twice, "should finish before");
}

/// The window and what is alive are counted, and a window that a smaller limit allows takes less.
#[test]
fn tables_are_counted_and_bounded() {
    let program = deep_and_wide(300, 30_000);
    let order_within = |window_instructions: u64, planner_memory_bytes: u64| {
        let options = OrderOptions {
            layout: Layout::wires(1),
            window_units: u64::MAX,
            window_instructions,
            held_bytes: u64::MAX,
            planner_memory_bytes,
        };
        let scratch = Scratch::new(std::env::temp_dir(), 1 << 20);
        let (mut model, file) = (ByOp(100), scratch.file());
        let made = order(&mut read(&program), Vec::new(), file, &options, &mut model);
        made.map(|_| scratch.tables_peak_bytes())
    };
    let all = order_within(1 << 17, u64::MAX).expect("there is no limit");
    assert!(all > 30_000 * 200, "{all}: the window is not counted");
    let few = order_within(1 << 12, u64::MAX).expect("there is no limit");
    assert!(few < all / 2, "{few} of {all}");
    for (window, bytes) in [(1 << 17, all), (1 << 12, few)] {
        assert_eq!(order_within(window, bytes).expect("it is enough"), bytes);
        assert!(matches!(order_within(window, bytes - 1), Err(Error::PlannerMemory { .. })));
    }
    assert_eq!(
        [0, 8 << 20, 64 << 20, 1 << 30].map(|limit| window_instructions(limit, false)),
        [4096, 4096, 1 << 15, 1 << 17]
    );
    assert_eq!(
        [0, 64 << 20, 256 << 20, 1 << 30].map(|limit| window_instructions(limit, true)),
        [4096, 1 << 15, 1 << 17, 1 << 18]
    );
}

/// An instruction on a region that changes places with another one reads or leaves other rows.
#[test]
fn the_checker_finds_state_in_another_order() {
    let element = ElementType::unsigned(8);
    let made = |op, immediates: [u64; 2], operand: u64, result: u64| {
        let mut made = Instruction::new(op, element, 1);
        made.immediates[..2].copy_from_slice(&immediates);
        (made.operands[0], made.results[0]) = (operand, result);
        made
    };
    let source = [
        made(Op::Constant, [7, 0], 0, 0),
        made(Op::Reveal, [0, 0], 0, 0),
        made(Op::RegionStore, [0, 0], 0, 0),
        made(Op::RegionLoadAt, [0, 0], 0, 1),
        made(Op::RegionStore, [1, 0], 1, 0),
        made(Op::RegionStore, [0, 3], 1, 0),
        made(Op::RegionLoad, [1, 0], 0, 2),
        made(Op::Output, [0, 0], 2, 0),
    ];
    let (_, description) = random_program(1, &RandomOptions::default());
    let program = write(&source, &description);
    let mut model = ByOp(3);
    let right = instructions(&ordered(&program, &mut model, u64::MAX, u64::MAX));
    let mut faults = |wrong: &[Instruction]| {
        let ordered = write(wrong, &description);
        let faults = check_order(&mut read(&program), &mut read(&ordered), &mut model);
        faults.expect("readable").join("\n")
    };
    assert_eq!(faults(&right), "");
    let at = |op: Op, immediates: [u64; 2]| {
        let found = right.iter().position(|i| i.op == op && i.immediates[..2] == immediates);
        found.expect("it is there")
    };
    let order = "not used in the same order";
    let mut swapped = |first: usize, second: usize, wanted: &str| {
        let mut wrong = right.clone();
        wrong.swap(first, second);
        assert!(faults(&wrong).contains(wanted), "{wrong:?}: {}", faults(&wrong));
    };
    let store = at(Op::RegionStore, [0, 0]);
    swapped(store, at(Op::RegionLoadAt, [0, 0]), order);
    swapped(at(Op::Reveal, [0, 0]), at(Op::RegionLoadAt, [0, 0]), order);
    let without: Vec<_> = right.iter().filter(|i| **i != right[store]).copied().collect();
    assert!(faults(&without).contains(order));
    // Regions and registers do not wait for each other.
    let mut other = right.clone();
    other.swap(store, at(Op::Reveal, [0, 0]));
    assert_eq!(faults(&other), "");
}

/// An output that is opened before an input is known to be in order reveals what it should protect.
#[test]
fn an_output_waits_for_all_that_is_required_before_it() {
    let element = ElementType::unsigned(8);
    let made = |op, operand: Option<u64>| {
        let mut made = Instruction::new(op, element, 1);
        made.operands[0] = operand.unwrap_or(0);
        made
    };
    let first = made(Op::Output, Some(0));
    let second = Instruction { immediates: [0, 0, 1, 0], ..first };
    let required = made(Op::RequireZero, Some(0));
    let source = [made(Op::Constant, None), first, required, second];
    let (_, description) = random_program(1, &RandomOptions::default());
    let program = write(&source, &description);
    // So that it takes two rounds.
    let mut model = ByOp(3);
    assert_eq!(model.interaction(&required).rounds, 2);
    let file = ordered(&program, &mut model, u64::MAX, u64::MAX);
    let right = instructions(&file);
    let at = |row: u64| right.iter().position(|i| i.op == Op::Output && i.immediates[2] == row);
    let finish = right.iter().position(|i| i.phase == Phase::Finish).expect("it finishes");
    assert!(at(0) < Some(finish) && Some(finish) < at(1), "{right:?}");
    let mut faults = |wrong: &[Instruction]| {
        let ordered = write(wrong, &description);
        let faults = check_order(&mut read(&program), &mut read(&ordered), &mut model);
        faults.expect("readable").join("\n")
    };
    assert_eq!(faults(&right), "");
    let mut early = right.clone();
    let output = early.remove(at(1).expect("it is there"));
    early.insert(at(0).expect("it is there"), output);
    assert!(faults(&early).contains("is not known to be zero"), "{}", faults(&early));
    let without: Vec<_> = right.into_iter().filter(|i| i.op != Op::RequireZero).collect();
    assert!(faults(&without).contains("not the same is required to be zero"));
}
