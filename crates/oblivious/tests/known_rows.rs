//! Rows that a party is told, or that all know: they do not depend on what others bring, however they came to the cells
//! of a memory.

use std::io::Seek;

use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_bytecode::{Column, ElementType, Encoding, Lane, ProgramReader, Table};
use phineus_frontend::{
    Arguments, ClosureProgram, Value, column, program, reference, trace_to_file,
};
use phineus_oblivious::Memory;
use phineus_oblivious::memory::{RowKnowledge, usages};

const CELL: ElementType = ElementType::unsigned(24);
const ROWS: u64 = 12;

fn cell() -> Column {
    column("cell", CELL, Encoding::Number)
}

/// Moves bits of some values, or computes with them.
fn step(random: &mut SeededRng, values: &mut Vec<Value>, may_compute: bool) {
    let (a, b) = (random.pick(values).clone(), random.pick(values).clone());
    let amount = random.below(24) as u16;
    let next = match random.below(if may_compute { 14 } else { 9 }) {
        0 => a.shift_left(u64::from(amount)),
        1 => a.shift_right(u64::from(amount)),
        2 => a.rotate_left(u64::from(amount)),
        3 => a.bit_slice(0, 8).bit_concat(&b.bit_slice(3, 16)),
        4 => a.bit_slice(7, 9).cast(CELL),
        5 => a.with_sign(true).cast(ElementType::signed(30)).with_sign(false).cast(CELL),
        6 => {
            let lanes = a.lane_concat(&b).tile(4);
            lanes.lane_slice(random.below(4) as u32, 1)
        }
        7 => a.lane_concat(&b).reshape(48).bit_slice(12, 24),
        8 => a.lane_concat(&b).lane_reverse().deinterleave(1).0,
        9 => a.xor(&b),
        10 => a.add(&b),
        11 => a.not(),
        12 => a.bit_slice(0, 1).select(&a, &b),
        _ => a.lane_concat(&b).lane_xor(),
    };
    values.push(next);
}

fn moving(seed: u64) -> ClosureProgram {
    program("moving").party("a").party("b").party("c").trace(move |t, _| {
        let mut random = SeededRng::new(seed);
        let mut values = vec![t.constant(CELL, Lane::from(random.below(1 << 24)))];
        let used = random.below(4);
        for (party, name) in ["a", "b", "c"].iter().enumerate() {
            let input = t.input(&format!("of {name}"), 2).by(name).column(cell()).read();
            if party as u64 == used || party == 0 && random.one_in(2) {
                let chunk = &input.chunks(0)[0];
                values.extend((0..2).map(|lane| chunk.lane_slice(lane, 1)));
            }
        }
        let may_compute = random.one_in(2);
        (0..12).for_each(|_| step(&mut random, &mut values, may_compute));
        let mut memory = Memory::zeros(t, "rows", &[CELL], ROWS, None);
        for row in 0..ROWS {
            if random.below(4) > 0 {
                memory.set_each_iteration(row, 0, std::slice::from_ref(random.pick(&values)));
            }
        }
        let mut output = t.output("rows", &["a"]).rows(&[cell()], ROWS);
        for row in 0..ROWS {
            output.push(&[&memory.read(&t.constant(CELL, Lane::from(row)))[0]]);
        }
        output.finish();
        Ok(())
    })
}

#[test]
fn known_rows_do_not_depend_on_others() {
    let mut seeds = Seeds::fresh();
    let mut found = [0; 3];
    for _ in 0..300 {
        let seed = seeds.draw();
        let program = moving(seed);
        let arguments = Arguments::new(&program, []).expect("no parameters");
        let (mut file, _) = trace_to_file(&program, &arguments).expect("it is traced");
        file.rewind().expect("a file");
        let mut reader = [ProgramReader::open(file).expect("it is a program")];
        let known = usages(&mut reader, &[1]).expect("it is read")[0].known;
        found[known as usize] += 1;
        // Of so many parties the inputs do not matter.
        let own = match known {
            RowKnowledge::All => 0,
            RowKnowledge::FirstParty => 1,
            RowKnowledge::Nobody => continue,
        };
        let mut random = SeededRng::new(seed);
        let mut table = || {
            let mut table = Table::new(vec![cell()]);
            (0..2).for_each(|_| table.push(&[random.lane(24)]));
            table
        };
        let inputs = [table(), table(), table()];
        let mut others = [table(), table(), table()];
        others[..own].clone_from_slice(&inputs[..own]);
        let [one, other] = [inputs, others].map(|inputs| {
            reference::run(&program, &arguments, &inputs).expect("it runs").swap_remove(0)
        });
        for row in 0..ROWS {
            assert_eq!(one.row(row), other.row(row), "row {row}, seed {seed}");
        }
    }
    assert!(found.iter().all(|count| *count > 5), "{found:?}");
}
