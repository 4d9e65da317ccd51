use std::collections::VecDeque;

use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Op, ProgramReader, Table};
use phineus_frontend::{
    Arguments, ClosureProgram, Records, Value, column, program, reference, trace_to_file,
};

use super::Queue;

/// An operation whose place in the program is public.
#[derive(Clone, Copy, PartialEq)]
enum Operation {
    Push,
    Pop,
}

fn item_columns(widths: &[u16]) -> Vec<Column> {
    let columns = widths.iter().enumerate();
    let named = columns.map(|(index, &width)| {
        column(&format!("c{index}"), ElementType::unsigned(width), Encoding::Number)
    });
    named.collect()
}

fn bit_column(name: &str) -> Column {
    column(name, ElementType::BIT, Encoding::Number)
}

fn result_columns(widths: &[u16]) -> Vec<Column> {
    let length = column("length", ElementType::unsigned(16), Encoding::Number);
    [vec![bit_column("done"), length], item_columns(widths)].concat()
}

fn cells(records: &Records, row: u64) -> Vec<Value> {
    let lanes = u64::from(records.chunk_lanes());
    let chunk = records.chunk((row / lanes) as usize);
    chunk.iter().map(|column| column.lane_slice((row % lanes) as u32, 1)).collect()
}

/// Outputs for each operation whether it was done, the length after it, and what it popped.
fn queueing(operations: Vec<Operation>, widths: Vec<u16>, capacity: u64) -> ClosureProgram {
    program("queueing").party("a").party("b").trace(move |t, _| {
        let mut input = t.input("operations", operations.len() as u64).by("a");
        for column in [vec![bit_column("condition")], item_columns(&widths)].concat() {
            input = input.column(column);
        }
        let input = input.read();
        let elements: Vec<ElementType> =
            widths.iter().map(|&width| ElementType::unsigned(width)).collect();
        let mut queue = Queue::new(t, &elements, capacity);
        assert_eq!(queue.capacity(), capacity);
        let count = operations.len() as u64;
        let mut output = t.output("results", &["b"]).rows(&result_columns(&widths), count);
        for (row, operation) in (0..).zip(&operations) {
            let cells = cells(&input, row);
            let (condition, item) = cells.split_first().expect("a condition");
            let zeros =
                || elements.iter().map(|&element| t.constant(element, Lane::ZERO)).collect();
            let (done, item) = match operation {
                Operation::Push => (queue.push(condition, item), zeros()),
                Operation::Pop => queue.pop(condition),
            };
            let length = queue.length().cast(ElementType::unsigned(16));
            output.push(&[&done, &length].into_iter().chain(&item).collect::<Vec<_>>());
        }
        output.finish();
        Ok(())
    })
}

/// Random operations in stretches that mostly push or mostly pop, so that the queue is full and empty at times.
fn check(widths: &[u16], capacity: u64, count: u64, seed: u64) {
    let mut random = SeededRng::new(seed);
    let mut input = Table::new([vec![bit_column("condition")], item_columns(widths)].concat());
    let mut expected = Table::new(result_columns(widths));
    let (mut queue, mut operations) = (VecDeque::new(), Vec::new());
    let (mut pushes_in_ten, mut conditions_in_ten) = (5, 9);
    for _ in 0..count {
        if random.one_in(1 + 2 * capacity) {
            (pushes_in_ten, conditions_in_ten) = (random.below(11), 1 + random.below(10));
        }
        let condition = random.below(10) < conditions_in_ten;
        let item: Vec<Lane> = widths.iter().map(|&width| random.lane(width)).collect();
        input.push(&[vec![Lane::from(condition)], item.clone()].concat());
        let zeros = vec![Lane::ZERO; widths.len()];
        let push = random.below(10) < pushes_in_ten;
        operations.push(if push { Operation::Push } else { Operation::Pop });
        let (done, popped) = match push {
            true if condition && (queue.len() as u64) < capacity => {
                queue.push_back(item);
                (true, zeros)
            }
            true => (false, zeros),
            false if condition => match queue.pop_front() {
                Some(item) => (true, item),
                None => (false, zeros),
            },
            false => (false, zeros),
        };
        let length = Lane::from(queue.len());
        expected.push(&[vec![Lane::from(done), length], popped].concat());
    }
    let program = queueing(operations, widths.to_vec(), capacity);
    let arguments = Arguments::new(&program, []).expect("no parameters");
    let found = reference::run(&program, &arguments, &[input]).expect("it runs");
    for row in 0..count {
        let case =
            format!("operation {row} of widths {widths:?}, capacity {capacity}, seed {seed}");
        assert_eq!(found[0].row(row), expected.row(row), "{case}");
    }
}

#[test]
fn a_queue_is_a_queue() {
    let mut seeds = Seeds::fresh();
    for capacity in [0, 1, 2, 3, 4, 6, 7, 8, 15, 16, 31, 40] {
        for _ in 0..3 {
            check(&[8], capacity, 40 + 12 * capacity, seeds.draw());
        }
    }
}

/// The same pushes and pops, all of them, at every distance: each position of each level.
#[test]
fn nothing_is_lost_between_full_and_empty() {
    for capacity in [3, 7, 12, 15, 29] {
        for held in 0..=capacity {
            let mut operations = vec![Operation::Push; held as usize];
            for _ in 0..4 * capacity {
                operations.extend([Operation::Pop, Operation::Push]);
            }
            operations.extend(vec![Operation::Pop; capacity as usize]);
            let program = queueing(operations.clone(), vec![16], capacity);
            let mut input =
                Table::new([vec![bit_column("condition")], item_columns(&[16])].concat());
            let mut expected = Vec::new();
            let mut queue = VecDeque::new();
            for (row, operation) in (1..=operations.len()).zip(&operations) {
                input.push(&[Lane::ONE, Lane::from(row)]);
                expected.push(match operation {
                    Operation::Push => {
                        queue.push_back(row);
                        0
                    }
                    Operation::Pop => queue.pop_front().unwrap_or_default(),
                });
            }
            let arguments = Arguments::new(&program, []).expect("no parameters");
            let found = reference::run(&program, &arguments, &[input]).expect("it runs");
            for (row, expected) in (0..).zip(expected) {
                let case = format!("operation {row} with {held} of {capacity} items");
                assert_eq!(found[0].cell(row, 2), Lane::from(expected), "{case}");
            }
        }
    }
}

/// Items of one bit and of 256, of several columns, and slots that are several values.
#[test]
fn items_of_all_widths() {
    let mut seeds = Seeds::fresh();
    for widths in [&[1][..], &[256], &[3, 64], &[1, 256, 17]] {
        check(widths, 20, 200, seeds.draw());
    }
    // A slot of the last level has 32 items of 256 bits: two values.
    check(&[256, 2], 150, 900, seeds.draw());
}

#[test]
fn items_of_another_type_are_refused() {
    let wrong = program("wrong").party("a").party("b").trace(|t, _| {
        let mut queue = Queue::new(t, &[ElementType::unsigned(8)], 3);
        let bit = t.constant(ElementType::BIT, Lane::ONE);
        queue.push(&bit, &[t.constant(ElementType::unsigned(9), Lane::ONE)]);
        Ok(())
    });
    let arguments = Arguments::new(&wrong, []).expect("no parameters");
    let error = trace_to_file(&wrong, &arguments).map(|_| ()).expect_err("it is refused");
    assert!(error.to_string().contains("items of this queue are one lane of u8"), "{error}");
}

/// ANDs for each bit of an item, as the module states them.
#[test]
fn operations_cost_a_logarithm() {
    let cost = |capacity: u64, operations: &[Operation]| {
        let count = 4096;
        let program = queueing(operations.repeat(count), vec![64], capacity);
        let arguments = Arguments::new(&program, []).expect("no parameters");
        let (file, _) = trace_to_file(&program, &arguments).expect("it traces");
        let mut bits = 0;
        let mut reader = ProgramReader::open(file).expect("it was written");
        let counted = reader.for_each::<phineus_bytecode::Error>(|i| {
            if [Op::Mux, Op::Mask].contains(&i.op) && i.element.width() == 64 {
                bits += u64::from(i.lanes);
            }
            Ok(())
        });
        counted.expect("it reads");
        bits as f64 / count as f64
    };
    for (levels, capacity) in [(1.0, 3), (2.0, 7), (5.0, 63), (9.0, 1023)] {
        let push = cost(capacity, &[Operation::Push]);
        let both = cost(capacity, &[Operation::Push, Operation::Pop]);
        assert!(push > 5.0 * levels && push <= 6.0 * levels, "{push} bits of {levels} levels");
        let pop = both - push;
        assert!(pop > 4.0 * levels && pop <= 5.5 * levels, "{pop} bits of {levels} levels");
    }
}

/// In a loop a queue may be full from the second iteration on: it takes nothing more, and loses nothing.
#[test]
fn a_queue_in_a_loop_can_be_full() {
    for (capacity, pushes, iterations) in [(3, 4, 5), (2, 2, 3), (7, 8, 4), (15, 16, 3)] {
        let program = program("looping").party("a").trace(move |t, _| {
            let always = t.constant(ElementType::BIT, Lane::ONE);
            let one = t.constant(ElementType::unsigned(16), Lane::ONE);
            let queue = Queue::new(t, &[one.integer()], capacity);
            assert_eq!(pushes % queue.period(), 0);
            let state = (queue, one.clone());
            let (mut queue, _) = t.repeat(iterations, state, |(mut queue, mut item)| {
                for _ in 0..pushes {
                    queue.push(&always, std::slice::from_ref(&item));
                    item = item.add(&one);
                }
                (queue, item)
            });
            let columns = [column("item", one.integer(), Encoding::Number)];
            let mut output = t.output("items", &["a"]).rows(&columns, capacity + 1);
            for _ in 0..=capacity {
                let (_, item) = queue.pop(&always);
                output.push(&[&item[0]]);
            }
            output.finish();
            Ok(())
        });
        let arguments = Arguments::new(&program, []).expect("no parameters");
        let found = reference::run(&program, &arguments, &[]).expect("it runs");
        for row in 0..=capacity {
            let expected = if row < capacity { row + 1 } else { 0 };
            assert_eq!(found[0].cell(row, 0), Lane::from(expected), "{capacity} items");
        }
    }
}

/// A loop body is recorded once, so it must leave the queue in the same phase.
#[test]
fn a_loop_that_leaves_a_queue_otherwise_is_refused() {
    let program = program("looping").party("a").trace(|t, _| {
        let always = t.constant(ElementType::BIT, Lane::ONE);
        let queue = Queue::new(t, &[always.integer()], 7);
        t.repeat(3, queue, |mut queue| {
            queue.push(&always, std::slice::from_ref(&always));
            queue
        });
        Ok(())
    });
    let arguments = Arguments::new(&program, []).expect("no parameters");
    let refused = phineus_frontend::trace_to_file(&program, &arguments).map(drop);
    let refused = refused.expect_err("it is refused").to_string();
    assert!(refused.contains("multiple of its period"), "{refused}");
}
