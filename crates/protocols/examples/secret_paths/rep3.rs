//! Replicated shares of three parties, both sharings, conversions, a client.

use std::thread;

use phineus_bytecode::random::{SeededRng, with_sharings};
use phineus_bytecode::{Instruction, Op, Sharing};
use phineus_engine::run;
use phineus_plan::order;
use phineus_protocols::ProtocolError;
use phineus_protocols::rep3::{PARTIES, Rep3Client, Rep3Costs, Rep3Driver, Rep3Rounds, layout};

use crate::programs::{
    assert_learned, memory, ordering, planned, random, read, scratch, secret_inputs, write,
};
use crate::shares::expected;
use crate::watch;
use crate::wire::{mesh, pair, secret_prg};

pub fn all() {
    let seed = watch::seed("rep3");
    for k in 0..3 {
        check(seed.wrapping_add(k));
    }
}

/// Runs a random program of three parties and a client.
fn check(seed: u64) {
    let program = random(seed, PARTIES as u16 + 1, (64, 400));
    let right = expected(&program);
    let mut choices = SeededRng::new(seed);
    let pick = |instruction: &Instruction| {
        let is_sum = instruction.op == Op::LaneSum;
        let width = u64::from(instruction.element.width());
        let is_wide = is_sum && instruction.immediates[0] != width;
        match instruction.op.is_arithmetic() && !is_wide && !choices.one_in(3) {
            true => Sharing::Arithmetic,
            false => Sharing::Boolean,
        }
    };
    let bytes = write(&with_sharings(&program.instructions, pick), &program.description);
    let (mut model, ordering) = (Rep3Rounds::default(), ordering(layout()));
    let ordered = order(&mut read(&bytes), Vec::new(), scratch(), &ordering, &mut model);
    let ordered = ordered.expect("a valid program").0;
    let planned = planned(&ordered, "rep3", layout(), 4096, 16, &mut Rep3Costs::default());
    let description = read(&planned).description().clone();
    let (description, tables, right) = (&description, &program.tables, &right);
    let (near, far): (Vec<_>, Vec<_>) = (0..PARTIES).map(|_| pair()).unzip();
    thread::scope(|scope| {
        for (parties, link) in mesh(PARTIES).into_iter().zip(far) {
            let planned = &planned;
            scope.spawn(move || {
                let me = parties.me();
                let inputs = secret_inputs(description, tables, me);
                let prg = &mut secret_prg(16 * me as u128);
                let driver = Rep3Driver::new(parties, prg, description, inputs);
                let driver = driver.expect("the set-up works").with_clients(vec![link]);
                let mut driver = driver.expect("the client is there");
                let mut memory = memory(description);
                run(&mut read(planned), &mut driver, &mut memory, &mut |_| true).expect("it runs");
                assert_learned(description, me, driver.into_parts().1.into_tables(), right);
            });
        }
        scope.spawn(move || {
            let inputs = secret_inputs(description, tables, PARTIES);
            let client = Rep3Client::new(near, &mut secret_prg(99), description, PARTIES, inputs);
            let mut client = client.expect("the parties are there");
            read(&ordered)
                .for_each::<ProtocolError>(|instruction| Ok(client.step(instruction)?))
                .expect("it runs");
            let outputs = client.finish().expect("the parties are there").1;
            assert_learned(description, PARTIES, outputs.into_tables(), right);
        });
    });
}
