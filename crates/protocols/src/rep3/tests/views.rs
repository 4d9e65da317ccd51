//! What each party receives, against what it knows: with the generators that it has, and all inputs, as they
//! are, every bit that it receives is uniform and none is an affine function of others, as the third generator
//! is fresh.

use std::sync::{Arc, Mutex};

use phineus_bytecode::{Column, Encoding, InputPort, RowOrder};
use phineus_channels::{ChannelError, Parties};

use super::*;

/// A channel that keeps what it received.
struct RecordingChannel {
    channel: MemoryChannel,
    received: Arc<Mutex<Vec<u8>>>,
}

impl Channel for RecordingChannel {
    fn send_with<R>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, ChannelError> {
        self.channel.send_with(len, fill)
    }

    fn recv_with<R>(
        &mut self,
        len: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ChannelError> {
        let received = &self.received;
        self.channel.recv_with(len, |bytes| {
            received.lock().expect("no party panics").extend_from_slice(bytes);
            read(bytes)
        })
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        self.channel.flush()
    }

    fn traffic(&self) -> Traffic {
        self.channel.traffic()
    }
}

/// Inputs of all parties, ANDs of two levels, a product, and both conversions; nobody learns anything.
fn program() -> Vec<u8> {
    let [a, b] =
        [Sharing::Arithmetic, Sharing::Boolean].map(|s| ElementType::unsigned(8).shared(s));
    let mut made: Vec<Instruction> = Vec::new();
    let mut push = |mut instruction: Instruction, operands: [u64; 3]| {
        (instruction.operands, instruction.results[0]) = (operands, made.len() as u64);
        made.push(instruction);
        made.len() as u64 - 1
    };
    let input = |port: u64, element| {
        let mut input = Instruction::new(Op::Input, element, 8);
        input.immediates[0] = port;
        input
    };
    let convert = |from: Sharing, element| {
        let mut convert = Instruction::new(Op::Convert, element, 8);
        convert.immediates[0] = from as u64;
        convert
    };
    let x = push(input(0, a), [0; 3]);
    let y = push(input(1, a), [0; 3]);
    let z = push(input(2, b), [0; 3]);
    let product = push(Instruction::new(Op::Mul, a, 8), [x, y, 0]);
    let bits = push(convert(Sharing::Arithmetic, b), [product, 0, 0]);
    let both = push(Instruction::new(Op::And, b, 8), [bits, z, 0]);
    let sum = push(convert(Sharing::Boolean, a), [both, 0, 0]);
    push(Instruction::new(Op::Mul, a, 8), [sum, x, 0]);
    let columns = vec![Column {
        name: "x".to_owned(),
        element: ElementType::unsigned(8),
        encoding: Encoding::Number,
    }];
    let inputs: Vec<InputPort> = (0..3)
        .map(|party| InputPort {
            name: format!("input_{party}"),
            party,
            rows: 8,
            columns: columns.clone(),
            order: RowOrder::Given,
        })
        .collect();
    let parties = (0..PARTIES).map(|party| format!("party_{party}")).collect();
    let description = Description {
        name: "test".to_owned(),
        parties,
        inputs: inputs.into(),
        ..Description::default()
    };
    write(&made, &description)
}

/// What party `me` receives when the parties' keys come from these seeds: from the party behind without
/// the key, then from the one before.
fn view(program: &[u8], tables: &[Table], me: usize, seeds: [u128; PARTIES]) -> Vec<u8> {
    let description = read(program).description().clone();
    let logs: [Arc<Mutex<Vec<u8>>>; PARTIES] = Default::default();
    thread::scope(|scope| {
        for parties in memory_mesh(PARTIES) {
            let party = parties.me();
            let channels = parties.into_channels().into_iter().zip(&logs).map(|(channel, log)| {
                // Only the watched party's logs are kept.
                let received = if party == me { log.clone() } else { Arc::default() };
                channel.map(|channel| RecordingChannel { channel, received })
            });
            let parties = Parties::new(party, channels.collect());
            let description = &description;
            scope.spawn(move || {
                let mut prg = Prg::from_seed(Block::from_bits(seeds[party]));
                let inputs = own(description, tables, party);
                let driver = Rep3Driver::new(parties, &mut prg, description, inputs);
                let mut driver = driver.expect("the set-up works");
                let mut memory = memory(description);
                run(&mut read(program), &mut driver, &mut memory, &mut |_| true).expect("it runs");
            });
        }
    });
    let [next, previous] = [(me + 1) % 3, (me + 2) % 3]
        .map(|peer| logs[peer].lock().expect("no party panics").clone());
    [&next[16..], &previous].concat()
}

/// The rank over bits of rows of bytes, each with a 1 in front.
fn rank(rows: Vec<Vec<u8>>) -> usize {
    let width = 8 * rows[0].len() + 1;
    let mut basis: Vec<Option<Vec<u64>>> = vec![None; width];
    let mut rank = 0;
    for row in rows {
        let bit = |k: usize| k == 0 || row[(k - 1) / 8] >> ((k - 1) % 8) & 1 == 1;
        let mut words = vec![0u64; width.div_ceil(64)];
        (0..width).filter(|&k| bit(k)).for_each(|k| words[k / 64] |= 1 << (k % 64));
        for (k, known) in basis.iter_mut().enumerate() {
            if words[k / 64] >> (k % 64) & 1 == 0 {
                continue;
            }
            match known {
                Some(known) => words.iter_mut().zip(known).for_each(|(a, b)| *a ^= *b),
                None => {
                    *known = Some(words);
                    rank += 1;
                    break;
                }
            }
        }
    }
    rank
}

#[test]
fn what_a_party_receives_is_independent_of_what_it_must_not_know() {
    let plans = planned(&program(), 16);
    let mut seeds = Seeds::fresh();
    let description = read(&plans.program).description().clone();
    let tables = random_inputs(seeds.draw(), &description);
    for me in 0..PARTIES {
        let mut keys: [u128; PARTIES] = std::array::from_fn(|_| seeds.draw().into());
        let mut fresh = || {
            // The party before has sampled the only key that this one does not have.
            keys[(me + 2) % 3] = seeds.draw().into();
            view(&plans.program, &tables, me, keys)
        };
        let first = fresh();
        let bits = 8 * first.len();
        let rows: Vec<Vec<u8>> = (0..bits + 80).map(|_| fresh()).collect();
        for k in 0..bits {
            let ones = rows.iter().filter(|row| row[k / 8] >> (k % 8) & 1 == 1).count() as f64;
            let expected = rows.len() as f64 / 2.0;
            // Six and a half standard deviations: once in 10^10 bits.
            assert!((ones - expected).abs() < 3.25 * (rows.len() as f64).sqrt(), "bit {k} of {me}");
        }
        assert_eq!(rank(rows), bits + 1, "party {me} receives bits that depend on each other");
    }
}
