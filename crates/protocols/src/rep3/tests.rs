//! Runs on replicated shares against the meanings of the op table.

use std::thread;

use phineus_bytecode::random::{
    RandomOptions, SeededRng, Seeds, random_inputs, random_program, with_sharings,
};
use phineus_bytecode::{
    Description, ElementType, Instruction, Op, PlanDescription, Sharing, Table,
};
use phineus_channels::{Channel, Traffic, memory_mesh};
use phineus_crypto::{Block, Prg};
use phineus_engine::run;

use super::client::TwoComponentsEach;
use super::{PARTIES, Rep3Costs, Rep3Driver, Rep3Rounds, layout};
use crate::harness::{
    self, Builder, assert_learned, can_be_arithmetic, expected, finish_clients, memory, options,
    own, read, received_bytes, sent_bytes, start_clients, write,
};
use crate::mixed::totals;

mod operations;
mod views;

const A: Sharing = Sharing::Arithmetic;
const B: Sharing = Sharing::Boolean;

/// The ordered program, which clients walk through, and the planned one.
struct TestPlans {
    ordered: Vec<u8>,
    program: Vec<u8>,
}

/// Orders and plans `program`; both checkers agree.
fn planned(program: &[u8], frame_count: u64) -> TestPlans {
    let ordered = harness::ordered(program, layout(), &mut Rep3Rounds::default());
    let ordered = ordered.expect("a valid program");
    let options = options("rep3", layout(), 4096, frame_count);
    let program = harness::planned(&ordered, &options, &mut Rep3Costs::default());
    let program = program.expect("it fits");
    TestPlans { ordered, program }
}

/// Runs all parties in threads; each learns what it should, and sends and receives what the plan states.
fn run_all(plans: &TestPlans, seed: u64, inputs: &[Table], expected: &[Table]) {
    let description = read(&plans.program).description().clone();
    let costs = description.plan.as_ref().expect("it is planned").costs.clone();
    let (mut links, clients) =
        start_clients::<TwoComponentsEach>(&plans.ordered, &description, PARTIES, seed, inputs);
    let handles: Vec<_> = memory_mesh(PARTIES)
        .into_iter()
        .map(|parties| {
            let me = parties.me();
            let links = std::mem::take(&mut links[me]);
            let inputs = own(&description, inputs, me);
            let (bytes, description) = (plans.program.clone(), description.clone());
            thread::spawn(move || {
                let mut prg = Prg::from_seed(Block::from_bits(u128::from(seed) << 8 | me as u128));
                let driver = Rep3Driver::new(parties, &mut prg, &description, inputs);
                let driver = driver.expect("the set-up works");
                let mut driver = driver.with_clients(links).expect("the clients are there");
                let mut memory = memory(&description);
                run(&mut read(&bytes), &mut driver, &mut memory, &mut |_| true).expect("it runs");
                let rounds = driver.rounds();
                let links: Vec<Traffic> =
                    driver.take_clients().iter().map(Channel::traffic).collect();
                let (parties, outputs) = driver.into_parts();
                (outputs.into_tables(), [parties.traffic(), links].concat(), rounds)
            })
        })
        .collect();
    for (me, handle) in handles.into_iter().enumerate() {
        let (outputs, traffic, rounds) = handle.join().expect("no party panics");
        assert_eq!(rounds, costs[totals::ROUNDS], "rounds");
        let (sent, received) = (sent_bytes(&traffic), received_bytes(&traffic));
        assert_eq!(sent, costs[&totals::sent_bytes(me)], "bytes of party {me}");
        assert_eq!(received, costs[&totals::received_bytes(me)], "bytes to party {me}");
        assert_learned(&description, me, outputs, expected);
    }
    finish_clients(&description, PARTIES, clients, expected);
}

fn check_program(
    source: &[Instruction],
    description: &Description,
    seed: u64,
    pick: impl FnMut(&Instruction) -> Sharing,
) {
    let tables = random_inputs(seed, description);
    let expected = expected(&write(source, description), &tables);
    let program = write(&with_sharings(source, pick), description);
    let faults = phineus_bytecode::verify(&mut read(&program)).expect("readable");
    assert!(faults.is_empty(), "{}", faults[0]);
    run_all(&planned(&program, 16), seed, &tables, &expected);
}

/// Runs a program with so many clients, against the clear driver; returns the costs and the plan.
fn check(builder: Builder, seed: u64, clients: usize) -> PlanDescription {
    let (instructions, description) = builder.finish(PARTIES + clients);
    let tables = random_inputs(seed, &description);
    let clear = with_sharings(&instructions, |_| Sharing::Any);
    let expected = expected(&write(&clear, &description), &tables);
    let plans = planned(&write(&instructions, &description), 16);
    run_all(&plans, seed, &tables, &expected);
    read(&plans.program).description().plan.clone().expect("it is planned")
}

#[test]
fn random_programs_on_xor_shares() {
    let mut seeds = Seeds::fresh();
    for case in 0..12 {
        let seed = seeds.draw();
        let options = RandomOptions {
            instruction_count: 60,
            party_count: 3,
            width_max: [8, 40, 256][case as usize % 3],
            ..RandomOptions::default()
        };
        let (source, description) = random_program(seed, &options);
        check_program(&source, &description, seed, |_| Sharing::Boolean);
    }
}

#[test]
fn random_programs_in_both_sharings_with_clients() {
    let mut seeds = Seeds::fresh();
    for case in 0..24 {
        let seed = seeds.draw();
        let options = RandomOptions {
            instruction_count: 60,
            party_count: 3 + case as u16 % 3,
            width_max: 64,
            wires_max: [300, 4096][case as usize / 3 % 2],
            ..RandomOptions::default()
        };
        let (source, description) = random_program(seed, &options);
        let mut random = SeededRng::new(seed);
        check_program(&source, &description, seed, |instruction| {
            match can_be_arithmetic(instruction) && !random.one_in(3) {
                true => Sharing::Arithmetic,
                false => Sharing::Boolean,
            }
        });
    }
}
