//! Sharings that are chosen by costs: the same for all who choose, whatever the program.

use std::io::Cursor;
use std::time::Instant;

use phineus_bytecode::binary::to_bytes;
use phineus_bytecode::random::{RandomOptions, Seeds, random_program};
use phineus_bytecode::{
    Column, Description, ElementType, Encoding, FileKind, InputPort, Instruction, Op, OutputPort,
    ProgramReader, RowOrder, Sharing, SharingCosts, SharingRule, StepCost,
};
use phineus_plan::{
    ChosenSharings, NarrowOptions, ProgramPart, Scratch, SharingModel, ValueWidths, narrow,
};

const MEMORY: u64 = 256 << 20;

/// Costs like those of a protocol: products are dear in bits, conversions take rounds.
struct LikelyCosts;

impl SharingCosts for LikelyCosts {
    fn cost(&mut self, i: &Instruction) -> StepCost {
        let width = u64::from(i.element.width());
        let (rounds, gates) = match (i.op, i.element.sharing()) {
            (Op::Convert, Sharing::Garbled) => (2, 0),
            (Op::Convert, _) => (1, width),
            (Op::Mul, Sharing::Arithmetic) => (1, width),
            (_, Sharing::Arithmetic) => (0, 0),
            (Op::Mul, Sharing::Boolean | Sharing::Any) => (10, width * width),
            (Op::Mul, Sharing::Garbled) => (0, 4 * width * width),
            (op, _) if op.is_movement() => (0, 0),
            (_, Sharing::Boolean | Sharing::Any) => (3, width),
            (_, Sharing::Garbled) => (0, 4 * width),
        };
        StepCost { rounds, work_ps: 1000 * (1 + gates * u64::from(i.lanes)) }
    }

    fn round_ps(&self) -> u64 {
        1_000_000
    }
}

/// The model of a program, and how many instructions a second went into it.
fn modelled(bytes: &[u8]) -> (SharingModel, f64) {
    let scratch = Scratch::new(std::env::temp_dir(), 64 << 20);
    let mut program = ProgramReader::open(Cursor::new(bytes)).expect("just written");
    let mut widths = ValueWidths::new(scratch.file());
    let and_gates = |_: &Instruction| 1;
    let options = NarrowOptions {
        and_gates: &and_gates,
        has_rounds: true,
        gathers_sums: false,
        planner_memory_bytes: MEMORY,
        state: None,
        written_after_each: &|_| (),
    };
    let made = narrow(&mut program, std::io::sink(), &scratch, options, |claim| widths.note(claim));
    made.expect("it can be narrowed");
    let (mut model, start) = (SharingModel::new(), Instant::now());
    let count = program.instruction_count() as f64;
    let part = ProgramPart { program: &mut program, widths, times: 1 };
    model.collect(part, &scratch, &mut LikelyCosts, MEMORY).expect("it is valid");
    (model, count / start.elapsed().as_secs_f64())
}

fn program(seed: u64, instruction_count: usize) -> Vec<u8> {
    let options = RandomOptions {
        instruction_count,
        width_max: 64,
        wires_max: 1024,
        live_max: 200,
        ..RandomOptions::default()
    };
    let (program, description) = random_program(seed, &options);
    to_bytes(FileKind::Program, &program, &description).expect("in memory")
}

#[test]
fn all_who_choose_choose_alike() {
    let mut seeds = Seeds::fresh();
    let mut mixtures = 0;
    for _ in 0..20 {
        let bytes = program(seeds.draw(), 2000);
        let (one, other) = (modelled(&bytes).0, modelled(&bytes).0);
        for rule in SharingRule::cheapest() {
            let chosen = one.chosen(rule);
            assert_eq!(chosen, other.chosen(rule), "{rule}");
            let ChosenSharings::Classes(classes) = &chosen else { panic!("{rule} has classes") };
            let parts = one.described(classes);
            mixtures += u32::from(parts.iter().any(|part| part.3 != parts[0].3));
        }
    }
    assert!(mixtures > 0, "some program has more than one sharing");
}

/// Products of four widths that are compared: each conversion alone costs more than a garbled product, and all of them
/// together less.
fn compared_products() -> Vec<u8> {
    let column = |element| Column { name: "x".to_owned(), element, encoding: Encoding::Number };
    let sizes = [(8, 4), (9, 4), (10, 4), (7, 6)];
    let (mut program, mut columns, mut next) = (Vec::new(), Vec::new(), 0);
    for (number, (width, lanes)) in (0..).zip(sizes) {
        let element = ElementType::unsigned(width);
        columns.push(column(element));
        let mut add = |op: Op, element: ElementType, operands: [u64; 3], immediates: [u64; 4]| {
            let mut i = Instruction::new(op, element, lanes);
            (i.operands, i.immediates) = (operands, immediates);
            if op != Op::Output {
                i.results[0] = next;
                next += 1;
            }
            program.push(i);
            next - 1
        };
        let x = add(Op::Input, element, [0; 3], [0, number, 0, 0]);
        let product = add(Op::Mul, element, [x, x, 0], [0; 4]);
        let less = add(Op::Lt, element, [product, x, 0], [0; 4]);
        add(Op::Output, ElementType::BIT, [less, 0, 0], [0, number, 0, 0]);
    }
    let input =
        InputPort { name: "x".to_owned(), party: 0, rows: 8, columns, order: RowOrder::Given };
    let output = OutputPort {
        name: "y".to_owned(),
        parties: vec![0, 1],
        rows: 8,
        columns: vec![column(ElementType::BIT); sizes.len()],
        rows_of: None,
    };
    let description = Description {
        name: "test".to_owned(),
        parties: vec!["a".to_owned(), "b".to_owned()],
        inputs: vec![input].into(),
        outputs: vec![output].into(),
        ..Description::default()
    };
    to_bytes(FileKind::Program, &program, &description).expect("in memory")
}

/// Each group of conversions paid for a whole round, so products stayed garbled although all are converted in one round.
#[test]
fn conversions_of_a_level_share_its_rounds() {
    let model = modelled(&compared_products()).0;
    let of_products = |rule: SharingRule| {
        let ChosenSharings::Classes(classes) = model.chosen(rule) else { panic!("{rule}") };
        let parts = model.described(&classes).into_iter();
        parts.filter(|part| part.0 == Op::Mul).map(|part| part.3).collect::<Vec<_>>()
    };
    let alone = SharingRule::cheapest().next().expect("there is a rule");
    assert_eq!(of_products(alone), [Sharing::Garbled; 4]);
    assert_eq!(of_products(SharingRule::JOINT), [Sharing::Arithmetic; 4]);
}

/// How fast the model is made, and that the search does not depend on the length of the program.
#[test]
#[ignore = "a measurement: `cargo test --release -p phineus-plan --test sharings -- --ignored --nocapture`"]
fn a_long_program_is_modelled_fast() {
    for count in [100_000, 1_000_000] {
        let (model, each_second) = modelled(&program(7, count));
        let start = Instant::now();
        model.chosen(SharingRule::cheapest().next().expect("there is a rule"));
        let searching = start.elapsed();
        println!("{count} instructions: {each_second:.0} a second, then {searching:?} for a rule");
    }
}
