//! Views of each party and of a client. With the party's generators and all inputs fixed and the other generators
//! fresh, every bit that it receives is uniform, and none is an affine function of the others.

use std::sync::{Arc, Mutex};

use phineus_channels::{Altering, MessagePosition, Parties};

use super::*;
use crate::ProtocolError;
use crate::harness::assert_uniform;
use crate::rep3::Rep3Client;

/// Inputs of all parties and a client, ANDs of two levels, products and both conversions. Only the client learns
/// anything: products whose components it has no part in.
fn program() -> TestPlans {
    let [a, b] = [A, B].map(|sharing| ElementType::unsigned(8).shared(sharing));
    let mut builder = Builder::default();
    let (x, y, z) = (builder.input(0, a, 8), builder.input(1, a, 8), builder.input(2, b, 8));
    let brought = builder.input(3, b, 8);
    let product = builder.apply(Op::Mul, a, 8, [x, y, 0]);
    let bits = builder.convert(product, (A, b), 8);
    let both = builder.apply(Op::And, b, 8, [bits, z, 0]);
    let with_brought = builder.apply(Op::And, b, 8, [both, brought, 0]);
    let sum = builder.convert(both, (B, a), 8);
    let last = builder.apply(Op::Mul, a, 8, [sum, x, 0]);
    builder.output(last, a, 8, &[3]);
    builder.output(with_brought, b, 8, &[3]);
    let (instructions, description) = builder.finish(PARTIES + 1);
    planned(&write(&instructions, &description), 16)
}

type Log = Arc<Mutex<Vec<u8>>>;

/// The bytes that each sends to each, by sender and receiver, when their generators come from these seeds.
fn sent(
    TestPlans { ordered, program }: &TestPlans,
    tables: &[Table],
    seeds: [u128; PARTIES + 1],
) -> [[Vec<u8>; PARTIES + 1]; PARTIES + 1] {
    let logs: [[Log; PARTIES + 1]; PARTIES + 1] = Default::default();
    let description = &read(program).description().clone();
    thread::scope(|scope| {
        for parties in memory_mesh(PARTIES + 1) {
            let me = parties.me();
            let channels = parties.into_channels().into_iter().zip(logs[me].clone());
            let mut channels: Vec<_> = channels
                .map(|(channel, log)| {
                    let keep = move |_: MessagePosition, bytes: &mut [u8]| {
                        log.lock().expect("no party panics").extend_from_slice(bytes);
                    };
                    channel.map(|channel| Altering::new(channel, keep))
                })
                .collect();
            let inputs = own(description, tables, me);
            let mut prg = Prg::from_seed(Block::from_bits(seeds[me]));
            let client = channels.pop().flatten();
            scope.spawn(move || {
                let Some(client) = client else {
                    let links = channels.into_iter().flatten().collect();
                    let client = Rep3Client::new(links, &mut prg, description, me, inputs);
                    let mut client = client.expect("the parties are there");
                    let all =
                        read(ordered).for_each::<ProtocolError>(|step| Ok(client.step(step)?));
                    return all.expect("it runs");
                };
                let parties = Parties::new(me, channels);
                let driver = Rep3Driver::new(parties, &mut prg, description, inputs);
                let driver = driver.and_then(|driver| driver.with_clients(vec![client]));
                let mut driver = driver.expect("the set-up works");
                let mut memory = memory(description);
                run(&mut read(program), &mut driver, &mut memory, &mut |_| true).expect("it runs");
            });
        }
    });
    logs.map(|logs| logs.map(|log| log.lock().expect("no party panics").clone()))
}

#[test]
fn what_a_party_receives_is_independent_of_what_it_must_not_know() {
    let programs = program();
    let mut seeds = Seeds::fresh();
    let tables = random_inputs(seeds.draw(), read(&programs.program).description());
    for me in 0..PARTIES {
        let mut keys: [u128; PARTIES + 1] = std::array::from_fn(|_| seeds.draw().into());
        assert_uniform(&format!("party {me}"), || {
            // The party before has sampled the only key that this one does not have. Of the client's two
            // generators one is fresh to it: both come from one seed.
            (keys[(me + 2) % 3], keys[PARTIES]) = (seeds.draw().into(), seeds.draw().into());
            let sent = sent(&programs, &tables, keys);
            [&sent[(me + 1) % 3][me][16..], &sent[(me + 2) % 3][me]].concat()
        });
    }
}

/// Component 2 is uniform, and the rest is what is left of the outputs; what it sends to party 1 is masked.
#[test]
fn what_a_client_receives_is_its_outputs_and_randomness() {
    let programs = program();
    let mut seeds = Seeds::fresh();
    let description = read(&programs.program).description().clone();
    let tables = random_inputs(seeds.draw(), &description);
    let mut outputs = None;
    let mut keys: [u128; PARTIES + 1] = std::array::from_fn(|_| seeds.draw().into());
    assert_uniform("the client", || {
        keys[..PARTIES].iter_mut().for_each(|key| *key = seeds.draw().into());
        let sent = sent(&programs, &tables, keys);
        let (first, last) = (&sent[0][PARTIES], &sent[2][PARTIES]);
        assert!(sent[1][PARTIES].is_empty(), "party 1 tells a client nothing");
        // Bits first, which are computed in fewer rounds, then ring elements.
        let sum = |(k, (x, y)): (usize, (&u8, &u8))| if k < 8 { x ^ y } else { x.wrapping_add(*y) };
        let sums: Vec<u8> = first.iter().zip(last).enumerate().map(sum).collect();
        assert_eq!(outputs.get_or_insert(sums.clone()), &sums, "the same outputs each time");
        last.clone()
    });
    assert_uniform("party 1 of the client", || {
        keys[PARTIES] = seeds.draw().into();
        sent(&programs, &tables, keys)[PARTIES][1][16..].to_vec()
    });
}
