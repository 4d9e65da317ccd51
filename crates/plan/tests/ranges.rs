//! The oracle of ranges: what the lowering to a field claims of values holds.
//!
//! The planner once took every `mat_mul` of a value with itself for a square, and so for never negative:
//! comparisons with its entries were dropped, or opened numbers behind masks that were too small for
//! them. `check` proved such plans, since it begins after the lowering. So programs are lowered here and
//! computed in the clear, before and after; see docs/planning.md, section 10, for what is asserted.

#[path = "ranges/evaluate.rs"]
mod evaluate;
mod oracle;
#[path = "ranges/shares.rs"]
mod shares;

use phineus_bytecode::random::{RandomOptions, SeededRng, Seeds, random_program};
use std::io::Cursor;

use phineus_bytecode::{
    CarriedSlot, Column, Description, ElementType, Encoding, InputPort, Instruction, Lane, Lanes,
    Op, ProgramReader, RowOrder, Sharing, SharingCosts, SharingRule, StepCost, Table, step_digit,
    verify_without_ports,
};
use phineus_plan::{
    Assignment, Claim, Error, NarrowOptions, ProgramPart, Scratch, SharingModel, ValueWidths,
    assign, assign_chosen, narrow,
};

use evaluate::{Fault, hold, lowered, meaning, read};

/// Magnitudes of the fields modulo 2^32 - 5, 2^61 - 1 and 2^128 - 159, in bits.
const FIELDS: [u32; 3] = [30, 59, 126];

/// Number of programs in an ordinary test.
const PROGRAMS: u64 = 1500;
/// Sets of inputs that each program is computed on.
const INPUTS: u64 = 3;

/// A random program in which some inputs are carried in and some values carried out.
fn program(seed: u64) -> (Vec<Instruction>, Description) {
    let random = &mut SeededRng::new(seed);
    let width_max = *random.pick(&[1, 4, 8, 17, 33, 64, 80, 256]);
    let options = RandomOptions {
        instruction_count: 4 + random.below(36) as usize,
        width_max,
        // Round keys of AES take 1408.
        wires_max: if random.one_in(8) { 1408 } else { 256 },
        live_max: 2 + random.below(24) as usize,
        ops: on_elements(random),
        ..RandomOptions::default()
    };
    let (mut program, mut description) = random_program(random.next_u64(), &options);
    let mut defined = Vec::new();
    for i in &mut program {
        if i.op == Op::Input && random.one_in(4) {
            i.op = Op::Load;
            i.immediates = [description.slots.len() as u64, 0, 0, 0];
            description.slots.push(CarriedSlot { element: i.element, lanes: i.lanes });
        }
        let results = i.results().iter().enumerate();
        defined.extend(results.map(|(k, &name)| (name, i.result_shape(k))));
    }
    for _ in 0..random.below(4) {
        let (name, shape) = *random.pick(&defined);
        let element = ElementType::integer(shape.width, random.one_in(2));
        let mut store = Instruction::new(Op::Store, element, shape.lanes);
        (store.operands[0], store.immediates[0]) = (name, description.slots.len() as u64);
        description.slots.push(CarriedSlot { element, lanes: shape.lanes });
        program.push(store);
    }
    (program, description)
}

/// All operations, those that the lowering has something to say of, or those that it follows bits through.
fn on_elements(random: &mut SeededRng) -> Option<Vec<Op>> {
    let on_bits = [
        Op::Constant,
        Op::And,
        Op::Or,
        Op::Xor,
        Op::Not,
        Op::Add,
        Op::Neg,
        Op::Lt,
        Op::Mul,
        Op::Mux,
        Op::Mask,
        Op::CondSwap,
        Op::ShiftLeft,
        Op::ShiftRight,
        Op::RotateLeft,
        Op::Cast,
        Op::BitSlice,
        Op::BitConcat,
        Op::ReversePieces,
        Op::LaneSlice,
        Op::LaneConcat,
        Op::LaneReverse,
        Op::LaneTile,
        Op::LaneDeinterleave,
        Op::LaneInterleave,
    ];
    if random.one_in(3) {
        return Some(on_bits.to_vec());
    }
    let is_integer = |op: Op| {
        let others = [Op::Min, Op::Max, Op::MulFull, Op::BitSlice, Op::BitConcat];
        let known = op.is_arithmetic() || op.is_arithmetic_in_field() || others.contains(&op);
        known && !op.is_output_or_store() && !op.is_carrying()
    };
    let all = phineus_bytecode::OPS.iter().map(|info| info.op);
    random.one_in(2).then(|| all.filter(|&op| is_integer(op)).collect())
}

/// Lanes for what an instruction brings in, all of them at a boundary or any: the same each time.
fn brought(seed: u64, i: &Instruction) -> Lanes {
    let [port, column, row, _] = i.immediates;
    let mut lanes = Lanes::new();
    for k in 0..u64::from(i.lanes) {
        let place = [i.op as u64, port, column, row + k];
        let mixed = place.iter().fold(seed, |seed, &part| SeededRng::new(seed ^ part).next_u64());
        lanes.push(SeededRng::new(mixed).lane(i.element.width()));
    }
    lanes
}

/// Lowers and computes a random program; says what is wrong.
fn examine(seed: u64) -> Result<(), Fault> {
    let (program, description) = program(seed);
    for magnitude_bits in FIELDS {
        for prove_inputs in [true, false] {
            let bounds = (magnitude_bits, prove_inputs);
            let made = match lowered(&program, &description, bounds) {
                Err(Error::FieldTooSmall { .. }) => continue,
                made => made.map_err(|error| format!("it cannot be lowered: {error}"))?,
            };
            if let Some(fault) = made.unproven(magnitude_bits, None).first() {
                return Err(format!("{magnitude_bits} bits, not proven: {fault}"));
            }
            for k in 0..INPUTS {
                let inputs = |i: &Instruction| brought(seed.wrapping_add(k), i);
                hold((&program, &description), &made, magnitude_bits, &inputs).map_err(
                    |fault| {
                        format!("{magnitude_bits} bits, proven {prove_inputs}, inputs {k}: {fault}")
                    },
                )?;
            }
        }
    }
    Ok(())
}

/// `min(x * x, 0)`, where `x * x` is that of lanes or of matrices, with a matrix of `rows` rows.
fn least_of_product(op: Op, element: ElementType, [rows, columns]: [u32; 2]) -> Vec<Instruction> {
    let mut input = Instruction::new(Op::Load, element, rows * columns);
    input.results[0] = 0;
    let lanes = if op == Op::MatMul { rows * rows } else { rows * columns };
    let mut product = Instruction::new(op, element, lanes);
    if op == Op::MatMul {
        product.immediates[..2].copy_from_slice(&[u64::from(columns), u64::from(rows)]);
    }
    product.results[0] = 1;
    let mut zero = Instruction::new(Op::Constant, element, lanes);
    zero.results[0] = 2;
    let mut least = Instruction::new(Op::Min, element, lanes);
    (least.operands, least.results[0]) = ([1, 2, 0], 3);
    let mut store = Instruction::new(Op::Store, element, lanes);
    (store.operands[0], store.immediates[0]) = (3, 1);
    vec![input, product, zero, least, store]
}

/// Of one value as both operands, products of lanes and a row times a column are squares, and nothing
/// else is: `min(x x, 0)` is then 0 and not compared, and must be compared otherwise.
#[test]
fn only_what_is_a_square_is_never_negative() {
    let cases = [
        (Op::Mul, [1, 4], false),
        (Op::MatMul, [1, 1], false),
        (Op::MatMul, [1, 5], false),
        (Op::MatMul, [2, 1], true),
        (Op::MatMul, [2, 2], true),
        (Op::MatMul, [3, 2], true),
        (Op::MatMul, [2, 3], true),
    ];
    let mut seeds = Seeds::fresh();
    for (op, sides, is_compared) in cases {
        for width in [5, 8, 9, 14, 16] {
            // The product fits the type, so that it is in the range that is claimed of it.
            let narrow = ElementType::signed(width);
            let element = ElementType::signed(2 * width + 4);
            let mut program = least_of_product(op, element, sides);
            let mut cast = Instruction::new(Op::Cast, element, program[0].lanes);
            cast.immediates[..2].copy_from_slice(&[u64::from(width), 1]);
            program[0].element = narrow;
            program.insert(1, cast);
            for (k, i) in program.iter_mut().enumerate().skip(1) {
                i.results[0] = k as u64;
            }
            program[2].operands = [1, 1, 0];
            program[4].operands = [2, 3, 0];
            program[5].operands[0] = 4;
            let slots = [(narrow, 0), (element, 5)];
            let slots = slots.map(|(element, k)| CarriedSlot { element, lanes: program[k].lanes });
            let description = Description {
                name: "least".to_owned(),
                parties: vec!["a".to_owned()],
                slots: slots.to_vec().into(),
                ..Description::default()
            };
            for magnitude_bits in FIELDS {
                let made = lowered(&program, &description, (magnitude_bits, true));
                let made = made.expect("it can be lowered");
                let compares = made.program.iter().any(|i| i.op == Op::Lt);
                let what = format!("{} {sides:?} of {narrow}", op.info().name);
                if 2 * width + 8 < magnitude_bits as u16 {
                    assert_eq!(compares, is_compared, "{what} in {magnitude_bits} bits");
                    let product = made.program.iter().find(|i| i.op == op).expect("it is there");
                    let value = product.results[0];
                    let more = Claim::InRange { value, low: 0, high: i128::MAX };
                    let unproven = made.unproven(magnitude_bits, Some(more));
                    assert_eq!(!unproven.is_empty(), is_compared, "{what}: {unproven:?}");
                }
                for _ in 0..8 {
                    let seed = seeds.draw();
                    let inputs = |i: &Instruction| brought(seed, i);
                    let held = hold((&program, &description), &made, magnitude_bits, &inputs);
                    held.unwrap_or_else(|fault| panic!("{what}: {fault}"));
                }
            }
        }
    }
}

/// A sum that is rotated twice, shifted and added modulo two is decomposed once.
#[test]
fn bits_are_found_once() {
    let word = ElementType::unsigned(32);
    let make = |op, operands: [u64; 2], result, immediate| {
        let mut made = Instruction::new(op, word, 2);
        made.operands[..2].copy_from_slice(&operands);
        (made.results[0], made.immediates[0]) = (result, immediate);
        made
    };
    let program = vec![
        make(Op::Load, [0; 2], 0, 0),
        make(Op::Load, [0; 2], 1, 1),
        make(Op::Add, [0, 1], 2, 0),
        make(Op::RotateLeft, [2, 0], 3, 7),
        make(Op::RotateLeft, [2, 0], 4, 18),
        make(Op::Xor, [3, 4], 5, 0),
        make(Op::ShiftRight, [2, 0], 6, 3),
        make(Op::Xor, [5, 6], 7, 0),
        make(Op::Xor, [7, 2], 8, 0),
        make(Op::Store, [8, 0], 0, 2),
    ];
    let slots = [word; 3].map(|element| CarriedSlot { element, lanes: 2 });
    let description = Description {
        name: "once".to_owned(),
        parties: vec!["a".to_owned()],
        slots: slots.to_vec().into(),
        ..Description::default()
    };
    let made = lowered(&program, &description, (59, true)).expect("it is lowered");
    let converts = made
        .program
        .iter()
        .filter(|i| i.op == Op::Convert && i.element.sharing() == Sharing::Boolean);
    assert_eq!(converts.count(), 1, "{:?}", made.program);
    let xors = made.program.iter().filter(|i| i.op == Op::Xor);
    let widths: Vec<u16> = xors.map(|i| i.element.width()).collect();
    assert_eq!(widths, [32, 29, 32], "three bits are 0 after the shift");
    assert_eq!(made.unproven(59, None), Vec::<Fault>::new());
    let seed = Seeds::fresh().draw();
    let inputs = |i: &Instruction| brought(seed, i);
    hold((&program, &description), &made, 59, &inputs).expect("it is right");
    // Elements that are not bits, more bits than there are, and values that are not there are found.
    let sum = made.program.iter().find(|i| i.op == Op::Add).expect("it is there").results[0];
    let bits = made.program.iter().find(|i| i.op == Op::Xor).expect("it is there").results[0];
    for (value, count) in [(sum, 1), (bits, 33), (10_000, 1)] {
        let (to, at) = ((0, count), 0);
        let claim = Claim::Bits { source: 8, to, value, at, is_repeated: false, inverted: false };
        assert!(!made.unproven(59, Some(claim)).is_empty(), "{claim:?}");
    }
}

#[test]
fn what_the_lowering_claims_holds() {
    oracle::examine_programs(PROGRAMS, examine);
}

/// `(a + a) * -(b + 200)`, which takes two limbs of the first factor modulo 2^61 - 1: the lower one times the
/// second may be as small as the field allows, whatever the upper one adds. The planner stopped once.
#[test]
fn limbs_have_room_for_negative_factors() {
    let (wide, narrow) = (ElementType::unsigned(57), ElementType::unsigned(10));
    let make = |op, operands: [u64; 2], result| {
        let mut made = Instruction::new(op, wide, 3);
        made.operands[..2].copy_from_slice(&operands);
        made.results[0] = result;
        made
    };
    let mut program = vec![
        make(Op::Load, [0; 2], 0),
        Instruction { element: narrow, ..make(Op::Load, [0; 2], 1) },
        make(Op::Cast, [1, 0], 2),
        make(Op::Constant, [0; 2], 3),
        make(Op::Add, [0, 0], 4),
        make(Op::Add, [2, 3], 5),
        make(Op::Neg, [5, 0], 6),
        make(Op::Mul, [4, 6], 7),
        make(Op::Store, [7, 0], 0),
    ];
    (program[1].immediates[0], program[8].immediates[0]) = (1, 2);
    (program[2].immediates[0], program[3].immediates[0]) = (10, 200);
    let slots = [wide, narrow, wide].map(|element| CarriedSlot { element, lanes: 3 });
    let description = Description {
        name: "limbs".to_owned(),
        parties: vec!["a".to_owned()],
        slots: slots.to_vec().into(),
        ..Description::default()
    };
    let mut seeds = Seeds::fresh();
    for magnitude_bits in FIELDS {
        let made = lowered(&program, &description, (magnitude_bits, true)).expect("it is lowered");
        assert_eq!(made.unproven(magnitude_bits, None), Vec::<Fault>::new());
        for _ in 0..32 {
            let seed = seeds.draw();
            let inputs = |i: &Instruction| brought(seed, i);
            hold((&program, &description), &made, magnitude_bits, &inputs).expect("it is right");
        }
    }
}

/// A random program with some sharings stated.
fn stated(seed: u64) -> (Vec<Instruction>, Description) {
    let (mut program, description) = program(seed);
    let random = &mut SeededRng::new(!seed);
    for i in program.iter_mut().filter(|i| !i.op.is_carrying()) {
        let sharing = *random.pick(&Sharing::ALL);
        let is_additive = sharing == Sharing::Arithmetic;
        if !is_additive || shares::can_be_additive(i) && i.element.width() <= 64 {
            i.element = i.element.shared(sharing);
        }
    }
    (program, description)
}

/// Memory for the planner's tables.
const MEMORY: u64 = 64 << 20;

/// A program in memory, and the same with sharings.
type Assigned = Result<Vec<u8>, Error>;

/// A program with sharings computes the same, whatever is above the bits that additive shares know.
fn examine_sharings(
    seed: u64,
    assigned: impl Fn(&mut ProgramReader<Cursor<Vec<u8>>>) -> Assigned,
) -> Result<(), Fault> {
    let (program, description) = stated(seed);
    let mut reader = read(&program, &description);
    let made = assigned(&mut reader).map_err(|error| format!("it gets no sharings: {error}"))?;
    let mut reader = ProgramReader::open(Cursor::new(made)).expect("just written");
    let faults = verify_without_ports(&mut reader, true).expect("just written");
    if let Some(fault) = faults.first() {
        return Err(fault.to_string());
    }
    let mut assigned = Vec::new();
    let visit = |i: &Instruction| -> Result<(), phineus_bytecode::Error> {
        assigned.push(*i);
        Ok(())
    };
    reader.for_each(visit).expect("just written");
    for k in 0..INPUTS {
        let inputs = |i: &Instruction| brought(seed.wrapping_add(k), i);
        let expected = meaning(&program, &inputs).1;
        let found = shares::given(&assigned, &inputs, &mut SeededRng::new(seed ^ k))?;
        if found != expected {
            return Err(format!("inputs {k}: {found:?}, not {expected:?}"));
        }
    }
    Ok(())
}

#[test]
fn sharings_change_no_value() {
    let all = [
        Assignment::Uniform(Sharing::Boolean),
        Assignment::Uniform(Sharing::Garbled),
        Assignment::Arithmetic,
        Assignment::ArithmeticProducts,
        Assignment::Stated(Sharing::Boolean),
        Assignment::Stated(Sharing::Garbled),
    ];
    let mut seeds = Seeds::fresh();
    for number in 0..PROGRAMS / 2 {
        let (seed, assignment) = (seeds.draw(), all[number as usize % all.len()]);
        let assigned = |program: &mut ProgramReader<_>| {
            let scratch = tempfile::tempfile().expect("a temporary file");
            Ok(assign(program, Vec::new(), scratch, assignment, MEMORY)?.0)
        };
        if let Err(fault) = examine_sharings(seed, assigned) {
            panic!("program {number} ({assignment:?}): {fault}");
        }
    }
}

/// Costs that have nothing to do with any protocol, so that classes get all sharings.
struct RandomCosts(u64);

impl SharingCosts for RandomCosts {
    fn cost(&mut self, i: &Instruction) -> StepCost {
        let key = (i.op as u64) << 8 | (i.element.sharing() as u64) << 4 | i.immediates[0] & 15;
        let mut random = SeededRng::new(self.0 ^ key);
        StepCost { rounds: random.below(4) as u32, work_ps: random.below(1000) }
    }

    fn round_ps(&self) -> u64 {
        300
    }
}

/// The same for sharings that are chosen by classes.
#[test]
fn chosen_sharings_change_no_value() {
    let mut seeds = Seeds::fresh();
    let rules: Vec<SharingRule> =
        SharingRule::UNIFORM.into_iter().chain(SharingRule::cheapest()).collect();
    for number in 0..PROGRAMS / 2 {
        let (seed, rule) = (seeds.draw(), rules[number as usize % rules.len()]);
        let assigned = |program: &mut ProgramReader<Cursor<Vec<u8>>>| {
            let scratch = Scratch::new(std::env::temp_dir(), 1 << 20);
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
            narrow(program, Vec::new(), &scratch, options, |claim| widths.note(claim))?;
            let mut model = SharingModel::new();
            let part = ProgramPart { program, widths, times: 3 };
            model.collect(part, &scratch, &mut RandomCosts(seed), MEMORY)?;
            let chosen = model.chosen(rule);
            Ok(assign_chosen(program, Vec::new(), scratch.file(), &chosen, MEMORY)?.0)
        };
        if let Err(fault) = examine_sharings(seed, assigned) {
            panic!("program {number} ({rule}): {fault}");
        }
    }
}

/// A program that reads a sorted input and gives its first column out, and a table for it that may be in order.
fn sorted(random: &mut SeededRng) -> (Vec<Instruction>, Description, Table) {
    let widths = [*random.pick(&[1, 8, 28, 29, 64]), *random.pick(&[1, 31, 90])];
    let element = |column: usize| ElementType::integer(widths[column], column == 1);
    let column = |column| Column {
        name: "key".to_owned(),
        element: element(column),
        encoding: Encoding::Number,
    };
    let rows = 2 + random.below(8);
    let order = RowOrder::Sorted {
        columns: 1 + random.below(2) as u16,
        descending: random.one_in(2),
        unique: random.one_in(3),
        repeats_max: random.one_in(2).then(|| 1 + random.below(3) as u32),
    };
    let columns: Vec<Column> = (0..2).map(column).collect();
    let port = InputPort { name: "x".to_owned(), party: 0, rows, columns, order };
    let mut keys: Vec<[Lane; 2]> = Vec::new();
    for _ in 0..rows {
        let drawn = widths.map(|width| random.lane(width));
        keys.push(keys.last().copied().filter(|_| random.one_in(5)).unwrap_or(drawn));
    }
    keys.sort();
    if matches!(port.order, RowOrder::Sorted { descending: true, .. }) {
        keys.reverse();
    }
    if random.one_in(3) {
        keys.swap(0, 1);
    }
    let mut table = Table::new(port.columns.clone());
    keys.iter().for_each(|row| table.push(row));
    let input = |column: usize| {
        let mut input = Instruction::new(Op::Input, element(column), rows as u32);
        (input.immediates[1], input.results[0]) = (column as u64, column as u64);
        input
    };
    let mut output = Instruction::new(Op::Output, element(0), rows as u32);
    output.operands[0] = 0;
    let description = Description {
        name: "sorted".to_owned(),
        parties: vec!["a".to_owned()],
        inputs: vec![port].into(),
        ..Description::default()
    };
    (vec![input(0), input(1), output], description, table)
}

/// What must be zero is zero for all tables in order, and for no other; claims about it hold for both.
#[test]
fn steps_are_right_where_rows_are_in_order() {
    let (mut seeds, mut found) = (Seeds::fresh(), [0; 2]);
    for _ in 0..200 {
        let (program, description, table) = sorted(&mut SeededRng::new(seeds.draw()));
        let port = &description.inputs[0];
        let is_right = port.out_of_order(&table).is_none();
        found[usize::from(is_right)] += 1;
        let digits = port.step_digits();
        let brought = |i: &Instruction| -> Lanes {
            let (column, first) = (i.immediates[1] as usize, i.immediates[2]);
            let rows = first..first + u64::from(i.lanes);
            match column.checked_sub(port.columns.len()) {
                None => rows.map(|row| table.cell(row, column)).collect(),
                Some(k) => rows.map(|row| step_digit(&digits, k, &table, row)).collect(),
            }
        };
        for magnitude_bits in FIELDS {
            let made = lowered(&program, &description, (magnitude_bits, true));
            let made = made.expect("it can be lowered");
            assert_eq!(made.unproven(magnitude_bits, None), Vec::<Fault>::new());
            let held = hold((&program, &description), &made, magnitude_bits, &brought);
            match held {
                Ok(_) => assert!(is_right, "{:?}: a lie passes", port.order),
                Err(fault) => assert!(!is_right && fault.contains("is not zero"), "{fault}"),
            }
        }
    }
    assert!(found.iter().all(|&count| count > 20), "{found:?}");
}
