//! Garbled tables against the table of AND, over many batches.

use std::thread;

use phineus_bytecode::{ElementType, Instruction, Op};
use phineus_channels::{memory_mesh, memory_mesh_ahead};
use phineus_circuits::record::{And, CircuitTemplate, Level};
use phineus_correlated::demand::BatchScale;
use phineus_crypto::{Block, Prg, SecretBit};
use phineus_ot::{FieldBits, SessionId};

use super::batch_sink::BatchSink;
use super::costs::{GarbledAmounts, garbling_costs_of_blocks};
use super::garbler::TableGarbler;
use super::limits::gates_per_batch;
use super::rows::TemplateRows;
use super::tables::{GarbledTables, SetupKeys, TableBatch};
use super::{Evaluation, Garbling, links};
use crate::ProtocolError;

const FULL: (FieldBits, BatchScale) = (FieldBits::DEFAULT, BatchScale::FULL);

/// One level of ANDs of rows 0 and 1.
fn template() -> CircuitTemplate {
    let level = Level { local: Vec::new(), ands: vec![And { out: 2, a: 0, b: 1 }] };
    let levels = vec![level, Level::default()];
    CircuitTemplate { input_count: 2, slot_count: 3, apart_count: 0, levels, outputs: [2].into() }
}

#[test]
fn ands_of_many_batches() {
    for (parties, scale) in [2, 3, 4, 2].into_iter().zip(BatchScale::ALL) {
        many_batches(parties, scale, &[3 * gates_per_batch(parties, scale) / LANES], None);
    }
}

/// Blocks of less than a batch, of several, of a whole one and of nothing: each ends its batches,
/// and they are numbered on.
#[test]
fn ands_of_blocks() {
    for (parties, scale) in [(2, BatchScale::FULL), (3, BatchScale::ALL[3])] {
        let batch = gates_per_batch(parties, scale);
        assert!(batch > 2 * LANES, "a block may have less than a batch");
        many_batches(parties, scale, &[1, 2 * batch / LANES, 0, 1, 2, 3 * batch / LANES], None);
    }
}

#[test]
fn ands_of_dealt_transfers() {
    for parties in [2, 3] {
        let rounds = 3 * gates_per_batch(parties, BatchScale::FULL) / LANES;
        many_batches(parties, BatchScale::FULL, &[rounds], Some(Block::from_bits(5)));
    }
}

/// Gates of a round of ANDs.
const LANES: usize = 250;

/// Blocks of so many rounds; with transfers from a seed, if there is one.
fn many_batches(parties: usize, scale: BatchScale, blocks: &[usize], seed: Option<Block>) {
    let handles: Vec<_> = memory_mesh_ahead(parties, scale.ahead_bytes())
        .into_iter()
        .map(|mesh| {
            let blocks = blocks.to_vec();
            thread::spawn(move || run(mesh, &blocks, seed))
        })
        .collect();
    let runs: Vec<_> = handles.into_iter().map(|h| h.join().expect("no panic")).collect();
    let garbled = |&rounds: &usize| {
        let gates = (LANES * rounds) as u64;
        (GarbledAmounts { gates, decoding_bytes: 0 }, 1)
    };
    let garbled: Vec<(GarbledAmounts, u64)> = blocks.iter().map(garbled).collect();
    for (me, run) in runs.iter().enumerate() {
        let BatchSink::Store { batches, .. } = &run.sink else { unreachable!("as given") };
        assert!(batches.iter().map(|batch| batch.number).eq(0..batches.len() as u64));
        let costs = garbling_costs_of_blocks(me, parties, &garbled, FULL);
        let expected = costs.sent_bytes - seed.map_or(0, |_| costs.ot_bytes);
        // The start values of the hashes are given here, not sent.
        assert_eq!(run.sent_bytes + 16 * (parties as u64 - 1), expected, "party {me}");
    }
    evaluate(runs, LANES, blocks.iter().sum());
}

struct TestRun {
    common: SetupKeys,
    sink: BatchSink,
    /// Wires of operands and results, round by round.
    wires: Vec<[Vec<Block>; 3]>,
    sent_bytes: u64,
}

fn run(
    mut parties: phineus_channels::Parties<phineus_channels::MemoryChannel>,
    blocks: &[usize],
    seed: Option<Block>,
) -> TestRun {
    let lanes = LANES;
    let (me, count) = (parties.me(), parties.count());
    let mut prg = Prg::from_seed(Block::from_bits(me as u128 + 1));
    let session = SessionId::new([8; 32]);
    let offset = match seed {
        Some(seed) => links::dealt_offset(seed, me),
        None => phineus_crypto::Delta::random(&mut prg),
    };
    let links = match seed {
        Some(seed) => links::dealt((me, count), &session, seed),
        None => links::set_up(&mut parties, &mut prg, &session, FieldBits::DEFAULT, &offset)
            .expect("all are honest"),
    };
    let starts: Vec<Block> = (0..count).map(|k| Block::from_bits(1000 + k as u128)).collect();
    let file = super::stored::TableFile::create(&std::env::temp_dir(), &mut prg, count);
    let sink = BatchSink::Store {
        batches: Default::default(),
        bytes_left: u64::MAX,
        file: Box::new(file.expect("a temporary file")),
        spilled: false,
    };
    let common = SetupKeys { offset: offset.clone(), fresh: Block::ZERO.into(), starts };
    let own = Prg::from_seed(prg.next_block());
    let mut garbler =
        TableGarbler::new(parties, links, offset, (common.starts[me], FULL.1), own, sink);
    let mut wires = Vec::new();
    let rounds = blocks.iter().flat_map(|&rounds| (1..=rounds).map(move |round| round == rounds));
    for is_last in rounds {
        let mut values = [vec![Block::ZERO; lanes], vec![Block::ZERO; lanes], vec![]];
        values[..2].iter_mut().for_each(|values| prg.fill_blocks(values));
        let mut products = vec![Block::ZERO; lanes];
        garbler.push(&values[0], &values[1], &mut products).expect("all are honest");
        values[2] = products;
        wires.push(values);
        if is_last {
            garbler.finish().expect("all are honest");
        }
    }
    garbler.finish().expect("all are honest");
    let (parties, sink) = garbler.into_parts();
    let sent_bytes = parties.traffic().iter().map(|traffic| traffic.sent_bytes).sum();
    TestRun { common, sink, wires, sent_bytes }
}

#[test]
fn a_peer_that_leaves_is_an_error() {
    let mut mesh = memory_mesh(2);
    let leaving = mesh.pop().expect("two parties");
    let set_up = |parties| {
        let prg = Prg::from_seed(Block::from_bits(4));
        let session = SessionId::new([9; 32]);
        Garbling::set_up(parties, prg, &session, FieldBits::DEFAULT).expect("all are honest")
    };
    let thread = thread::spawn(move || drop(set_up(leaving)));
    let garbling = set_up(mesh.pop().expect("two parties"));
    thread.join().expect("no panic");
    let (producer, mut tables) = GarbledTables::queue(garbling.common.clone(), BatchScale::FULL);
    let Garbling { parties, links, prg, common, .. } = garbling;
    let SetupKeys { offset, starts, .. } = common;
    let sink = BatchSink::Queue(producer);
    let mut garbler = TableGarbler::new(parties, links, offset, (starts[0], FULL.1), prg, sink);
    let (a, mut w) = ([Block::ZERO; 100], [Block::ZERO; 100]);
    garbler.push(&a, &a, &mut w).expect("nothing is sent yet");
    let error = garbler.finish().expect_err("the peer has left");
    assert!(matches!(error, ProtocolError::Channel(_)));
    garbler.into_parts().1.fail(error);
    assert!(
        tables.next(TableBatch::default()).is_err_and(|e| matches!(e, ProtocolError::Channel(_)))
    );
    assert!(tables.next(TableBatch::default()).is_err(), "it stays failed");
}

/// Every party evaluates on random values and has the keys that the others' passes state.
fn evaluate(runs: Vec<TestRun>, lanes: usize, rounds: usize) {
    let parties = runs.len();
    let mut prg = Prg::from_seed(Block::from_bits(77));
    let offsets: Vec<Block> = runs.iter().map(|run| run.common.offset.block()).collect();
    let mut wires = Vec::new();
    let mut evaluations = Vec::new();
    for (me, run) in runs.into_iter().enumerate() {
        let BatchSink::Store { batches, .. } = run.sink else { unreachable!("as given") };
        evaluations.push(Evaluation::new(GarbledTables::in_memory(run.common, batches), me));
        wires.push(run.wires);
    }
    let template = template();
    let and = Instruction::new(Op::And, ElementType::BIT, lanes as u32);
    for round in 0..rounds {
        let mask = |operand: usize, lane: usize| {
            let bits = wires.iter().map(|wires| wires[round][operand][lane].select_bit());
            bits.fold(SecretBit::public(false), |sum, bit| sum ^ bit)
        };
        let key = |party: usize, operand: usize, lane: usize, public: SecretBit| {
            let zero = wires[party][round][operand][lane];
            let zero = zero.with_select_bit(SecretBit::public(false));
            zero ^ offsets[party].and_bit(public)
        };
        let mut random = || (0..lanes).map(|_| prg.next_block().select_bit()).collect();
        let (alpha, beta): (Vec<SecretBit>, Vec<SecretBit>) = (random(), random());
        let gamma = (0..lanes).map(|lane| {
            let (a, b) = (alpha[lane] ^ mask(0, lane), beta[lane] ^ mask(1, lane));
            (a & b) ^ mask(2, lane)
        });
        let gamma = gamma.collect();
        let public = [alpha, beta, gamma];
        for (me, evaluation) in evaluations.iter_mut().enumerate() {
            let planes = |operand: usize| -> Vec<Block> {
                let keys = (0..parties * lanes).map(|k| (k / lanes, k % lanes));
                keys.map(|(party, lane)| {
                    let key = key(party, operand, lane, public[operand][lane]);
                    let share = wires[me][round][operand][lane].select_bit();
                    if party == me { key.with_select_bit(share) } else { key }
                })
                .collect()
            };
            let mut result = vec![Block::ZERO; parties * lanes];
            let (a, b) = (planes(0), planes(1));
            let done = evaluation.circuit(&and, (&template, lanes), &mut [&mut result], &[&a, &b]);
            done.expect("there are tables");
            let expected = planes(2);
            let same = result.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{parties} parties, party {me}, round {round}");
        }
    }
    for evaluation in &mut evaluations {
        evaluation.finish().expect("all was garbled");
    }
}

#[test]
fn rows_take_what_they_say() {
    let template = template();
    assert_eq!(TemplateRows::bytes(&template, 3, 5), 4 * 3 * 5 * 16);
    // 1 MiB for two parties.
    let parts: Vec<_> = TemplateRows::parts(&template, 2, 10_000).collect();
    assert_eq!(parts, [0..8192, 8192..10_000]);
    assert_eq!(TemplateRows::part_bytes(&template, (2, 2), 10_000), 1 << 20);
    assert_eq!(TemplateRows::part_bytes(&template, (1, 2), 100), 4 * 100 * 16);
}
