//! Two-party garbled circuits: a garbler and an evaluator on every operation.

use std::io::Cursor;

use phineus_bytecode::{ProgramReader, Table};
use phineus_engine::{Driver, run};
use phineus_ot::SessionId;
use phineus_plan::Assignment;
use phineus_protocols::garbled::{
    Evaluator, GarbledCosts, Garbler, layout, layout_beside_rows, moves_rows,
};

use crate::moved_rows;
use crate::programs::{
    Program, assert_learned, assigned, memory, planned, random, read, secret_inputs, write,
};
use crate::shares::expected;
use crate::watch;
use crate::wire::{both, secret_prg};

pub fn all() {
    let seed = watch::seed("garbled");
    for (k, size) in [(8, 200), (64, 600), (256, 1500)].into_iter().enumerate() {
        let program = random(seed.wrapping_add(k as u64), 2, size);
        let right = expected(&program);
        garble(&program, &right);
    }
}

/// Rows of a program that permutations move.
pub fn rows() {
    let program = moved_rows::program(watch::seed("garbled-rows"));
    let right = expected(&program);
    garble(&program, &right);
}

fn garble(program: &Program, right: &[Table]) {
    let bytes = write(&program.instructions, &program.description);
    let costs = &mut GarbledCosts::default();
    let (bytes, layout) = match moves_rows(&program.description) {
        true => (assigned(&bytes, Assignment::GarbledBesideRows), layout_beside_rows()),
        false => (bytes, layout()),
    };
    let bytes = planned(&bytes, "garbled", layout, 4096, 16, costs);
    let description = read(&bytes).description().clone();
    let (bytes, description) = (&bytes, &description);
    let session = &SessionId::new([1; 32]);
    both(
        |channel| {
            let inputs = secret_inputs(description, &program.tables, 0);
            let garbler = Garbler::new(channel, &mut secret_prg(1), session, description, inputs);
            let mut garbler = garbler.expect("both are honest");
            execute(read(bytes), &mut garbler);
            let outputs = garbler.into_parts().1.into_tables();
            assert_learned(description, 0, outputs, right);
        },
        |channel| {
            let inputs = secret_inputs(description, &program.tables, 1);
            let upcoming = Box::new(read(bytes).into_inputs().collect::<Vec<_>>().into_iter());
            let prg = &mut secret_prg(2);
            let evaluator = Evaluator::new(channel, prg, session, description, inputs, upcoming);
            let mut evaluator = evaluator.expect("both are honest");
            execute(read(bytes), &mut evaluator);
            let outputs = evaluator.into_parts().1.into_tables();
            assert_learned(description, 1, outputs, right);
        },
    );
}

fn execute<D: Driver>(mut reader: ProgramReader<Cursor<Vec<u8>>>, driver: &mut D) {
    let mut memory = memory(reader.description());
    let done = run(&mut reader, driver, &mut memory, &mut |_| true);
    assert!(done.is_ok(), "it runs");
}
