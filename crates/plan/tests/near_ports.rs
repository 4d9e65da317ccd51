//! Inputs and outputs near their values, with what joins and takes apart: where they come, and that
//! the checker expects them there.

mod planning;

use phineus_bytecode::{
    Column, Description, ElementType, Encoding, FileKind, InputPort, Instruction, Op, OutputPort,
    PlanDescription, RowOrder,
};
use phineus_plan::check;
use phineus_plan::limits::HELD_MAX;

use planning::{File, instructions, make_plan, options, read, write};

/// A program that reads `count` bits, complements each, and gives all out: in the order of `used`
/// and `given`, which are permutations.
fn table_program(used: &[u64], given: &[u64]) -> File {
    let (element, count) = (ElementType::BIT, used.len() as u64);
    let port = |op, row| {
        let mut instruction = Instruction::new(op, element, 1);
        instruction.immediates[2] = row;
        instruction
    };
    let inputs = (0..count).map(|row| Instruction { results: [row, 0], ..port(Op::Input, row) });
    let mut program: Vec<Instruction> = inputs.collect();
    for (result, &row) in (count..).zip(used) {
        let mut not = Instruction::new(Op::Not, element, 1);
        (not.operands[0], not.results[0]) = (row, result);
        program.push(not);
    }
    let outputs = given.iter().map(|&row| {
        let operands = [count + row, 0, 0];
        Instruction { operands, ..port(Op::Output, row) }
    });
    program.extend(outputs);
    let columns = vec![Column { name: "bit".to_owned(), element, encoding: Encoding::Number }];
    with_ports(&program, "bits", count, columns)
}

/// A program of one party whose only output has the rows and columns of its only input.
fn with_ports(program: &[Instruction], name: &str, rows: u64, columns: Vec<Column>) -> File {
    let input = InputPort {
        name: name.to_owned(),
        party: 0,
        rows,
        columns: columns.clone(),
        order: RowOrder::Given,
    };
    let output =
        OutputPort { name: name.to_owned(), parties: vec![0], rows, columns, rows_of: None };
    let (inputs, outputs) = (vec![input], vec![output]);
    let parties = vec!["a".to_string()];
    write(
        FileKind::Program,
        program,
        &Description {
            parties,
            inputs: inputs.into(),
            outputs: outputs.into(),
            ..Description::default()
        },
    )
}

/// Records of two fields, `count` of them: fields are read and joined for all rows, records
/// complemented in the order of `used`, and then taken apart and given out in the order of `given`.
fn record_program(used: &[u64], given: &[u64]) -> File {
    let count = used.len() as u64;
    let byte = ElementType::unsigned(8);
    let mut program = Vec::new();
    let mut value = 0;
    let mut push = |op, width, immediates: &[u64], operands: &[u64]| {
        let mut instruction = Instruction::new(op, ElementType::unsigned(width), 1);
        instruction.immediates[..immediates.len()].copy_from_slice(immediates);
        instruction.operands[..operands.len()].copy_from_slice(operands);
        if instruction.result_count() == 1 {
            instruction.results[0] = value;
            value += 1;
        }
        program.push(instruction);
        instruction.results[0]
    };
    let records: Vec<u64> = (0..count)
        .map(|row| {
            let fields = [0, 1].map(|column| push(Op::Input, 8, &[0, column, row], &[]));
            let turned = push(Op::RotateLeft, 8, &[3], &fields[1..]);
            push(Op::BitConcat, 16, &[8], &[fields[0], turned])
        })
        .collect();
    let mut results = vec![0; used.len()];
    for &row in used {
        results[row as usize] = push(Op::Not, 16, &[], &[records[row as usize]]);
    }
    for &row in given {
        let fields =
            [0, 8].map(|start| push(Op::BitSlice, 8, &[start, 16], &[results[row as usize]]));
        let turned = push(Op::RotateLeft, 8, &[5], &fields[1..]);
        push(Op::Output, 8, &[0, 0, row], &fields[..1]);
        push(Op::Output, 8, &[0, 1, row], &[turned]);
    }
    let column =
        |name: &str| Column { name: name.to_owned(), element: byte, encoding: Encoding::Number };
    with_ports(&program, "records", count, vec![column("low"), column("high")])
}

/// The instructions of the plan for `program`, which the checker accepts, and what it states.
fn near_plan(program: &File) -> (Vec<Instruction>, PlanDescription) {
    let (planned, figures) = make_plan(program, &options(1 << 20, 2, 0)).expect("enough frames");
    let faults = check(&mut read(program), &mut read(&planned)).expect("readable");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    (instructions(&planned), figures)
}

#[test]
fn what_waits_takes_no_memory() {
    let count = 1000;
    let forwards: Vec<u64> = (0..count).collect();
    let backwards: Vec<u64> = (0..count).rev().collect();
    for (used, given) in [(&forwards, &backwards), (&backwards, &forwards)] {
        let (plan, figures) = near_plan(&table_program(used, given));
        assert_eq!((figures.peak_wire_count, figures.unbounded_page_count), (2, 1));
        for (step, &row) in plan.chunks(3).zip(used) {
            let ops = [Op::Input, Op::Not, Op::Output];
            assert_eq!(step.iter().map(|i| i.op).collect::<Vec<_>>(), ops);
            assert_eq!(step[0].immediates[2], row);
        }
    }
}

#[test]
fn records_are_joined_where_they_are_used() {
    let count = 1000;
    let forwards: Vec<u64> = (0..count).collect();
    let backwards: Vec<u64> = (0..count).rev().collect();
    for (used, given) in [(&forwards, &backwards), (&backwards, &forwards)] {
        let (plan, figures) = near_plan(&record_program(used, given));
        // A record and its complement, or a field besides: 16 wires each, never 1000 records.
        assert_eq!(figures.peak_wire_count, 32);
        for (step, &row) in plan.chunks(10).zip(used) {
            use Op::{BitConcat, BitSlice, Input, Not, Output, RotateLeft};
            let joined = [Input, Input, RotateLeft, BitConcat];
            let apart = [Not, BitSlice, BitSlice, RotateLeft, Output, Output];
            let ops: Vec<Op> = step.iter().map(|i| i.op).collect();
            assert_eq!(ops, [&joined[..], &apart[..]].concat());
            assert_eq!((step[0].immediates[2], step[9].immediates[2]), (row, row));
        }
    }
}

/// What has another use, or comes with something computed, is not held with the rest.
#[test]
fn only_what_is_for_nothing_else_is_joined() {
    let element = ElementType::unsigned(8);
    let instruction = |op, element, operands: &[u64], result: u64, immediates: &[u64]| {
        let mut instruction = Instruction::new(op, element, 1);
        instruction.operands[..operands.len()].copy_from_slice(operands);
        instruction.immediates[..immediates.len()].copy_from_slice(immediates);
        instruction.results[0] = result;
        instruction
    };
    let double = ElementType::unsigned(16);
    let program = [
        instruction(Op::Input, element, &[], 0, &[0, 0, 0]),
        instruction(Op::Input, element, &[], 1, &[0, 0, 1]),
        // %0 is used again: this joins nothing.
        instruction(Op::BitConcat, double, &[0, 1], 2, &[8]),
        instruction(Op::Not, element, &[0], 3, &[]),
        // %3 is computed: likewise.
        instruction(Op::Input, element, &[], 4, &[0, 0, 2]),
        instruction(Op::BitConcat, double, &[3, 4], 5, &[8]),
        instruction(Op::Xor, double, &[2, 5], 6, &[]),
        instruction(Op::BitSlice, element, &[6], 7, &[0, 16]),
        // %7 is used besides: its slice stays, the output comes right behind it.
        instruction(Op::Not, element, &[7], 8, &[]),
        instruction(Op::Output, element, &[8], 0, &[0, 0, 0]),
        instruction(Op::Output, element, &[7], 0, &[0, 0, 1]),
    ];
    let column = Column { name: "byte".to_owned(), element, encoding: Encoding::Number };
    let inputs = vec![InputPort {
        name: "bytes".to_owned(),
        party: 0,
        rows: 3,
        columns: vec![column.clone()],
        order: RowOrder::Given,
    }];
    let outputs = vec![OutputPort {
        name: "bytes".to_owned(),
        parties: vec![0],
        rows: 2,
        columns: vec![column],
        rows_of: None,
    }];
    let parties = vec!["a".to_string()];
    let description = Description {
        parties,
        inputs: inputs.into(),
        outputs: outputs.into(),
        ..Description::default()
    };
    let (plan, _) = near_plan(&write(FileKind::Program, &program, &description));
    use Op::{BitConcat, BitSlice, Input, Not, Output, Xor};
    let ops: Vec<Op> = plan.iter().map(|i| i.op).collect();
    let expected =
        [Input, Input, BitConcat, Not, Input, BitConcat, Xor, BitSlice, Output, Not, Output];
    assert_eq!(ops, expected);
}

/// Where more wait than planning holds back, the next to come are given back, one for one.
#[test]
fn what_is_too_much_to_hold_stays() {
    let more = 1000;
    let count = (HELD_MAX + more) as u64;
    let in_order: Vec<u64> = (0..count).collect();
    let (plan, figures) = near_plan(&table_program(&in_order, &in_order));
    // The first inputs, one whenever another one is met, and the last outputs likewise.
    assert!(
        plan[..more].iter().zip(0..).all(|(i, row)| (i.op, i.immediates[2]) == (Op::Input, row))
    );
    assert_eq!(plan[more].op, Op::Not);
    let last = plan[plan.len() - more..].iter().zip(count - more as u64..);
    assert!(last.into_iter().all(|(i, row)| (i.op, i.immediates[2]) == (Op::Output, row)));
    assert_eq!(figures.peak_wire_count, more as u64 + 1);
    // And in no order at all.
    let mut random = phineus_bytecode::random::SeededRng::new(5);
    let mut shuffled = || {
        let mut rows = in_order.clone();
        for at in (1..rows.len()).rev() {
            rows.swap(at, random.below(at as u64 + 1) as usize);
        }
        rows
    };
    let (used, given) = (shuffled(), shuffled());
    near_plan(&table_program(&used, &given));
    // Bundles of four likewise, of which three times as many wait.
    let mut rows: Vec<u64> = (0..50_000).collect();
    let in_order = rows.clone();
    for at in (1..rows.len()).rev() {
        rows.swap(at, random.below(at as u64 + 1) as usize);
    }
    near_plan(&record_program(&rows, &in_order));
    near_plan(&record_program(&in_order, &rows));
}
