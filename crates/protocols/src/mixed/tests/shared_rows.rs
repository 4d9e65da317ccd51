//! What a party receives when rows of shared tables are hidden, looked up and changed: uniform bits that do not depend on
//! each other.

use std::sync::{Arc, Mutex};

use phineus_bytecode::{ElementType, LookupTable};
use phineus_channels::{Altering, MessagePosition};

use super::*;
use crate::harness::{Builder, assert_uniform};

const TABLES: u64 = 4;
const ROWS: u64 = 4;
const ROW: ElementType = ElementType::unsigned(8).shared(Sharing::Boolean);
const INDEX: ElementType = ElementType::unsigned(2).shared(Sharing::Boolean);
const KEYS: ElementType = ElementType::unsigned(128).shared(Sharing::Boolean);

/// Hides four tables, looks a row of each up, changes it by what was found, and hides them again. So all messages have
/// whole bytes.
fn hiding() -> TestPlans {
    let mut made = Builder::default();
    let (row, index) = (made.input(0, ROW, ROWS as u32), made.input(1, INDEX, 1));
    let step =
        |op: Op, (element, lanes): (ElementType, u32), operands: [u64; 3], what: [u64; 2]| {
            let mut step = Instruction { operands, ..Instruction::new(op, element, lanes) };
            step.immediates[..2].copy_from_slice(&what);
            step
        };
    let hide = |made: &mut Builder| {
        for table in 0..TABLES {
            made.push(step(Op::SharedHide, (KEYS, 2), [0; 3], [table, 0]));
        }
    };
    for table in 0..TABLES {
        made.act(step(Op::SharedSet, (ROW, ROWS as u32), [row, 0, 0], [table, 0]));
    }
    hide(&mut made);
    let look_up = |table| step(Op::SharedLookUp, (ROW, 1), [index, 0, 0], [table, 2]);
    let found: Vec<u64> = (0..TABLES).map(|table| made.push(look_up(table))).collect();
    for (table, found) in (0..).zip(found) {
        made.act(step(Op::SharedAdd, (ROW, 1), [index, found, 0], [table, 2]));
    }
    hide(&mut made);
    let (instructions, mut description) = made.finish(2);
    let table = LookupTable {
        element: ElementType::unsigned(8),
        rows: ROWS,
        known_to: None,
        is_shared: true,
    };
    description.tables = vec![table; TABLES as usize].into();
    let program = write(&instructions, &description);
    let faults = phineus_bytecode::verify(&mut read(&program)).expect("readable");
    assert!(faults.is_empty(), "{}", faults[0]);
    planned(&program, 2, 64, VariantChoice::default())
}

/// What each party sends, without the seed that the first one draws for both, if generators have these seeds.
fn sent(plans: &TestPlans, inputs: &[Table], seeds: [u64; 2], dealer: u64) -> [Vec<u8>; 2] {
    let logs: [Arc<Mutex<Vec<u8>>>; 2] = Default::default();
    let description = &read(&plans.program).description().clone();
    let costs = &description.plan.as_ref().expect("it is planned").costs;
    thread::scope(|scope| {
        for parties in memory_mesh(2) {
            let me = parties.me();
            let log = logs[me].clone();
            let channels = parties.into_channels().into_iter().map(|channel| {
                let log = log.clone();
                let record = move |_: MessagePosition, bytes: &mut [u8]| {
                    log.lock().expect("no party panics").extend_from_slice(bytes);
                };
                channel.map(|channel| Altering::new(channel, record))
            });
            let parties = Parties::new(me, channels.collect());
            let inputs = own(description, inputs, me);
            scope.spawn(move || {
                let mut prg = Prg::from_seed(Block::from_bits(seeds[me].into()));
                let dealer = Dealer::insecure(Block::from_bits(dealer.into()), me, 2);
                let driver = MixedDriver::new(parties, dealer, &mut prg, description, inputs);
                let mut driver = driver.expect("the set-up works");
                let mut memory = memory(description);
                run(&mut read(&plans.program), &mut driver, &mut memory, &mut |_| true)
                    .expect("it runs");
                assert_eq!(driver.rounds(), costs[totals::ROUNDS]);
                let (parties, ..) = driver.into_parts();
                let sent = sent_bytes(&parties.traffic());
                assert_eq!(sent, costs[&totals::online_bytes(me)], "bytes of party {me}");
            });
        }
    });
    let [first, second] = logs.map(|log| log.lock().expect("no party panics").clone());
    [first[size_of::<Block>()..].to_vec(), second]
}

#[test]
fn what_a_party_receives_is_uniform() {
    let (plans, mut seeds) = (hiding(), Seeds::fresh());
    let inputs = random_inputs(seeds.draw(), read(&plans.program).description());
    for me in 0..2 {
        let own = seeds.draw();
        assert_uniform(&format!("party {me}"), || {
            let mut all = [own; 2];
            all[1 - me] = seeds.draw();
            let sent = sent(&plans, &inputs, all, seeds.draw()).into_iter().nth(1 - me);
            let sent = sent.expect("there are two");
            // Rows twice, and the bits of indices and changes.
            let bytes = TABLES * ROWS * 2 + TABLES * 2 / 8 + TABLES * 10 / 8;
            assert_eq!(sent.len() as u64, bytes, "all of it is masked");
            sent
        });
    }
}
