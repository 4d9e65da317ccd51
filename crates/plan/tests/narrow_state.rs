//! The oracle of what narrowing claims of carried values, regions, tables and memories.
//!
//! Random programs of several blocks, with branches and loops, are computed in the clear along random paths, before and
//! after narrowing. All that is ever in a place satisfies what is claimed of it, all claims about values hold, narrowed
//! blocks leave the same behind, and the independent checker proves all claims. See docs/planning.md, section 11.

mod claims;
mod oracle;
#[path = "narrow_state/program.rs"]
mod program;
#[path = "narrow_state/run.rs"]
mod run;

use std::collections::HashMap;
use std::io::Cursor;

use phineus_bytecode::binary::to_bytes;
use phineus_bytecode::random::{RandomOptions, SeededRng, Seeds, random_program};
use phineus_bytecode::{
    BlockEnd, CarriedSlot, Description, ElementType, FileKind, Flow, Instruction, Op,
    ProgramReader, Successor,
};
use phineus_plan::{
    NarrowClaim, NarrowOptions, Scratch, StateClaim, StateFacts, StatePlace, check_narrow,
    check_state, find_state, narrow,
};

use claims::{Fault, and_gates, holds, is_placed};
use program::{BlockProgram, block_program};
use run::PlaceContents;

/// Number of programs in an ordinary test.
const PROGRAMS: u64 = 1500;
/// Paths, with inputs, that each program is computed on.
const PATHS: u64 = 4;
/// Blocks of a path.
const VISITS_MAX: usize = 24;
const MEMORY: u64 = 64 << 20;

type BlockReader = ProgramReader<Cursor<Vec<u8>>>;

fn scratch() -> Scratch {
    Scratch::new(std::env::temp_dir(), 1 << 20)
}

fn opened(bytes: Vec<u8>, description: &Description) -> BlockReader {
    match description.is_block {
        true => ProgramReader::open_block(Cursor::new(bytes), description),
        false => ProgramReader::open(Cursor::new(bytes)),
    }
    .expect("just written")
}

fn readers(program: &BlockProgram) -> Vec<BlockReader> {
    let reader = |block: &Vec<Instruction>| {
        let description = &program.description;
        opened(to_bytes(FileKind::Program, block, description).expect("in memory"), description)
    };
    program.blocks.iter().map(reader).collect()
}

fn state_of(program: &BlockProgram) -> StateFacts {
    let blocks = &mut readers(program);
    find_state(blocks, &program.flow, &scratch(), MEMORY).expect("in memory")
}

fn unproven(program: &BlockProgram, claims: &[StateClaim]) -> Vec<Fault> {
    check_state(&mut readers(program), &program.flow, claims).expect("in memory")
}

/// A narrowed block, and what was relied on.
fn narrowed(
    program: &BlockProgram,
    block: usize,
    (state, seed): (&StateFacts, u64),
) -> Result<(Vec<Instruction>, Vec<NarrowClaim>), Fault> {
    let reader = &mut readers(program)[block];
    let (has_rounds, and_gates) = (seed.is_multiple_of(2), |i: &Instruction| and_gates(seed, i));
    let options = NarrowOptions {
        and_gates: &and_gates,
        has_rounds,
        gathers_sums: true,
        planner_memory_bytes: MEMORY,
        state: program.description.is_block.then_some(state),
        written_after_each: &|_| (),
    };
    let mut claims = Vec::new();
    let claim = |claim: &NarrowClaim| claims.push(*claim);
    let made = narrow(reader, Vec::new(), &scratch(), options, claim);
    let bytes = made.map_err(|error| format!("it cannot be narrowed: {error}"))?.output;
    let mut made = Vec::new();
    let visit = |i: &Instruction| -> Result<(), phineus_bytecode::Error> {
        made.push(*i);
        Ok(())
    };
    opened(bytes, &program.description).for_each(visit).expect("just written");
    Ok((made, claims))
}

/// A claim about a place as one about a value.
fn as_of_value(claim: &StateClaim) -> NarrowClaim {
    let StateClaim { zeros, ones, unsigned, signed, .. } = *claim;
    NarrowClaim { value: 0, zeros, ones, unsigned, signed, demanded: 0, place: None }
}

fn width_of(description: &Description, place: StatePlace) -> u16 {
    match place {
        StatePlace::Slot(slot) => description.slots[slot as usize].element,
        StatePlace::Region(region) => description.regions[region as usize].element,
        StatePlace::Table(table) => description.tables[table as usize].element,
        StatePlace::Cells { memory, column } => {
            description.memories[memory as usize].columns[column as usize]
        }
    }
    .width()
}

/// The blocks of a random path, each with its iteration.
fn path(program: &BlockProgram, random: &mut SeededRng) -> Vec<(usize, u64)> {
    let (mut block, mut path) = (0, Vec::new());
    while path.len() < VISITS_MAX {
        let next = program.flow.blocks[block].next;
        path.extend((0..next.iterations()).map(|iteration| (block, iteration)));
        block = match next {
            Successor::End => break,
            Successor::Jump { block } | Successor::Repeat { then: block, .. } => block,
            Successor::Branch { nonzero, zero, .. } => *random.pick(&[nonzero, zero]),
        } as usize;
    }
    path
}

/// A program, and what is relied on.
struct Examined<'a> {
    program: &'a BlockProgram,
    state: Vec<StateClaim>,
    blocks: Vec<(Vec<Instruction>, Vec<NarrowClaim>)>,
    /// The width and the operation of each value, by block.
    widths: Vec<HashMap<u64, (u16, Op)>>,
}

impl Examined<'_> {
    /// Computes a path before and after narrowing.
    fn compare(&self, seed: u64) -> Result<(), Fault> {
        let description = &self.program.description;
        let random = &mut SeededRng::new(seed);
        let mut contents = PlaceContents::at_start(description);
        let mut narrow_contents = contents.clone();
        for (block, iteration) in path(self.program, random) {
            let inputs = random.next_u64();
            let (made, claims) = &self.blocks[block];
            let (values, given) = contents.run(&self.program.blocks[block], iteration, inputs);
            let (narrow_values, narrow_given) = narrow_contents.run(made, iteration, inputs);
            for claim in claims {
                let (width, op) = self.widths[block][&claim.value];
                let (lanes, name) = (&values[&claim.value], op.info().name);
                let at =
                    |fault: Fault| format!("block {block}, %{} = {name}: {fault}", claim.value);
                holds(claim, lanes, width).map_err(at)?;
                is_placed(claim, (lanes, width), &narrow_values).map_err(at)?;
            }
            if given != narrow_given || contents != narrow_contents {
                return Err(format!("block {block} gives {given:?}, and then {narrow_given:?}"));
            }
            for claim in &self.state {
                let width = width_of(description, claim.place);
                let lanes = contents.of(claim.place);
                let at = |fault: Fault| format!("after block {block}, {:?}: {fault}", claim.place);
                holds(&as_of_value(claim), lanes, width).map_err(at)?;
            }
        }
        Ok(())
    }
}

/// Narrows and computes a random program; says what is wrong.
fn examine(seed: u64) -> Result<(), Fault> {
    let program = block_program(seed);
    let state = state_of(&program);
    let claims: Vec<StateClaim> = state.claims().collect();
    if let Some(fault) = unproven(&program, &claims).first() {
        return Err(format!("not proven of places: {fault}"));
    }
    let mut blocks = Vec::new();
    for block in 0..program.blocks.len() {
        let (made, of_values) = narrowed(&program, block, (&state, seed))?;
        let reader = &mut readers(&program)[block];
        let assumed = program.description.is_block.then_some(&claims[..]);
        let faults = check_narrow(reader, &of_values, assumed).expect("in memory");
        if let Some(fault) = faults.first() {
            return Err(format!("block {block}, not proven: {fault}"));
        }
        blocks.push((made, of_values));
    }
    let widths = |block: &Vec<Instruction>| {
        let results = |i: &Instruction| {
            let of = |k: usize| (i.result_shape(k).width, i.op);
            let all: Vec<_> = (0..i.result_count()).map(|k| (i.results[k], of(k))).collect();
            all
        };
        block.iter().flat_map(results).collect()
    };
    let widths = program.blocks.iter().map(widths).collect();
    let examined = Examined { program: &program, state: claims, blocks, widths };
    (0..PATHS).try_for_each(|k| examined.compare(seed.wrapping_add(k)))
}

#[test]
fn narrowed_blocks_leave_the_same_behind_and_all_claims_hold() {
    oracle::examine_programs(PROGRAMS, examine);
}

/// The greatest value that a path leaves in a place.
fn greatest(program: &BlockProgram, place: StatePlace, seed: u64) -> u128 {
    let random = &mut SeededRng::new(seed);
    let mut contents = PlaceContents::at_start(&program.description);
    let mut greatest = 0;
    for (block, iteration) in path(program, random) {
        contents.run(&program.blocks[block], iteration, random.next_u64());
        let lanes = contents.of(place).iter();
        let values = lanes.map(|&lane| u128::try_from(lane).expect("few bits"));
        greatest = values.fold(greatest, u128::max);
    }
    greatest
}

/// The checker refuses claims about places that leave out what is written there.
#[test]
fn the_checker_finds_planted_claims_about_places() {
    let (mut seeds, mut planted) = (Seeds::fresh(), 0);
    while planted < 300 {
        let seed = seeds.draw();
        let program = block_program(seed);
        let claims: Vec<StateClaim> = state_of(&program).claims().collect();
        for (k, claim) in claims.iter().enumerate() {
            if width_of(&program.description, claim.place) > 128 {
                continue;
            }
            let greatest = greatest(&program, claim.place, seed);
            if greatest == 0 {
                continue;
            }
            let mut wrong = claims.clone();
            wrong[k] = StateClaim { unsigned: (0, greatest - 1), zeros: 0, ones: 0, ..*claim };
            let faults = unproven(&program, &wrong);
            assert!(!faults.is_empty(), "program {seed}: {:?}", wrong[k]);
            planted += 1;
        }
    }
}

const WORD: (ElementType, u32) = (ElementType::unsigned(32), 1);

fn instruction(op: Op, result: Option<u64>, operands: &[u64], immediates: [u64; 4]) -> Instruction {
    let mut i = Instruction::new(op, WORD.0, WORD.1);
    i.operands[..operands.len()].copy_from_slice(operands);
    i.immediates = immediates;
    i.results[0] = result.unwrap_or(0);
    i
}

/// A program whose only carried value begins as 5. The other blocks store what `step` makes of it and an input of 8 bits, and
/// end as stated.
fn of_steps(step: &dyn Fn() -> Vec<Instruction>, ends: &[Successor]) -> BlockProgram {
    let begin = vec![
        instruction(Op::Constant, Some(0), &[], [5, 0, 0, 0]),
        instruction(Op::Store, None, &[0], [0; 4]),
    ];
    let block = || {
        let mut input = instruction(Op::Input, Some(1), &[], [0; 4]);
        input.element = ElementType::unsigned(8);
        let mut all = vec![
            instruction(Op::Load, Some(0), &[], [0; 4]),
            input,
            instruction(Op::Cast, Some(2), &[1], [8, 0, 0, 0]),
        ];
        all.extend(step());
        all
    };
    let mut blocks = vec![begin];
    blocks.extend(ends.iter().map(|_| block()));
    let first = Successor::Jump { block: 1 };
    let all = [&[first], ends].concat();
    let end = |&next: &Successor| BlockEnd { steps: Vec::new(), next };
    let flow = Flow { registers: 1, blocks: all.iter().map(end).collect() };
    let (_, mut description) = random_program(0, &RandomOptions::default());
    description.slots = vec![CarriedSlot { element: WORD.0, lanes: WORD.1 }].into();
    description.is_block = true;
    BlockProgram { description, flow, blocks }
}

/// Bounds of a carried value, proven.
fn bounds(program: &BlockProgram) -> (u128, u128) {
    let claims: Vec<StateClaim> = state_of(program).claims().collect();
    assert_eq!(unproven(program, &claims), Vec::<Fault>::new());
    claims[0].unsigned
}

/// The carried value and a term.
fn plus() -> Vec<Instruction> {
    vec![instruction(Op::Add, Some(3), &[0, 2], [0; 4]), instruction(Op::Store, None, &[3], [0; 4])]
}

/// As [`plus`], at most 1,000.
fn plus_at_most() -> Vec<Instruction> {
    vec![
        instruction(Op::Add, Some(3), &[0, 2], [0; 4]),
        instruction(Op::Constant, Some(4), &[], [1000, 0, 0, 0]),
        instruction(Op::Min, Some(5), &[3, 4], [0; 4]),
        instruction(Op::Store, None, &[5], [0; 4]),
    ]
}

/// A remainder of the carried value.
fn remainder() -> Vec<Instruction> {
    vec![instruction(Op::Rem, Some(3), &[2, 0], [0; 4]), instruction(Op::Store, None, &[3], [0; 4])]
}

#[test]
fn sums_over_stated_iterations_are_bounded_exactly() {
    let repeat =
        |block: u32, iterations: u64| Successor::Repeat { block, iterations, then: block + 1 };
    let whole = (0, (1 << 32) - 1);
    assert_eq!(bounds(&of_steps(&plus, &[repeat(1, 100), Successor::End])), (5, 5 + 101 * 255));
    let two_loops = [repeat(1, 100), repeat(2, 1000), Successor::End];
    assert_eq!(bounds(&of_steps(&plus, &two_loops)), (5, 5 + 1101 * 255));
    // What wraps may be anything.
    assert_eq!(bounds(&of_steps(&plus, &[repeat(1, 1 << 25), Successor::End])), whole);
    // The loop is entered again.
    let back = Successor::Branch { register: 0, nonzero: 1, zero: 3 };
    assert_eq!(bounds(&of_steps(&plus, &[repeat(1, 100), back, Successor::End])), whole);
    // Without loops, one term after another.
    let ends = [Successor::Jump { block: 2 }, Successor::Jump { block: 3 }, Successor::End];
    assert_eq!(bounds(&of_steps(&plus, &ends)), (5, 5 + 3 * 255));
}

#[test]
fn loops_on_opened_values_are_bounded_by_what_they_compute() {
    let back = [Successor::Branch { register: 0, nonzero: 1, zero: 2 }, Successor::End];
    assert_eq!(bounds(&of_steps(&plus_at_most, &back)), (5, 1000));
    assert_eq!(bounds(&of_steps(&remainder, &back)), (0, 255));
}
