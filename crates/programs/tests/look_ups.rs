//! Lookups of constant rows by distributed point functions on XOR shares: what they find, what is opened, and what they
//! cost, with keys that two parties really make.

mod common;

use std::sync::{Arc, Mutex};
use std::thread;

use common::{expanded_for, shares};
use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_bytecode::{ElementType, Encoding, Lane, Table};
use phineus_channels::{Altering, Channel, MemoryChannel, MessagePosition, Parties, memory_mesh};
use phineus_correlated::semi_honest::costs::setup_costs;
use phineus_correlated::semi_honest::{Generator, Live};
use phineus_crypto::{Block, Prg};
use phineus_engine::{FrameMemory, RunMemory, run};
use phineus_frontend::{ClosureProgram, Value, column, program};
use phineus_oblivious::{Memory, MemoryMethod};
use phineus_ot::{FieldBits, SessionId};
use phineus_protocols::mixed::{MixedDriver, PlanDemand, demand, totals};

const ROW: ElementType = ElementType::unsigned(128);

/// Row `number` of all programs here.
fn row(number: u64) -> Lane {
    let mixed = u128::from(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    Lane::from(mixed ^ mixed >> 61)
}

/// Where rows come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    /// The program.
    Constants,
    /// The first party.
    Inputs,
    /// They are computed, so that nobody knows them.
    Computed,
}

/// Reads rows of `2^bits` at `accesses` indices of the second party, and gives both their sum.
fn reading(bits: u16, accesses: u64, from: Rows) -> ClosureProgram {
    program("reading").party("a").party("b").trace(move |t, _| {
        let rows: Vec<Value> = match from {
            Rows::Constants => (0..1 << bits).map(|number| t.constant(ROW, row(number))).collect(),
            Rows::Inputs | Rows::Computed => {
                let column = column("row", ROW, Encoding::Hex);
                let rows = t.input("rows", 1 << bits).by("a").column(column).lanes(1).read();
                let rows = rows.into_columns().swap_remove(0).into_iter();
                let computed = |row: Value| if from == Rows::Computed { row.not() } else { row };
                rows.map(computed).collect()
            }
        };
        let chunks = rows.chunks(32).map(|rows| Value::joined(rows.to_vec()).expect("a row"));
        let records = phineus_frontend::Records::from_pieces(t, 32, &[ROW], vec![chunks.collect()]);
        let mut memory = Memory::new(records, None);
        let index = column("index", ElementType::unsigned(bits), Encoding::Number);
        let indices = t.input("indices", accesses).by("b").column(index).read();
        let lanes = u64::from(indices.chunk_lanes());
        let mut sum = t.constant(ROW, Lane::ZERO);
        for access in 0..accesses {
            let chunk = &indices.chunks(0)[(access / lanes) as usize];
            let found = memory.read(&chunk.lane_slice((access % lanes) as u32, 1)).swap_remove(0);
            sum = sum.xor(&found);
        }
        let mut output = t.output("sum", &["a", "b"]).rows(&[column("sum", ROW, Encoding::Hex)], 1);
        output.push(&[&sum]);
        output.finish();
        Ok(())
    })
}

/// What both parties did in a run.
struct LookUps {
    /// Bytes that they sent, set-up of the OTs not included.
    sent_bytes: u64,
    /// Indices XOR points, as they were opened.
    offsets: Vec<u64>,
}

/// What a party sends, message after message.
type Recorded = Arc<Mutex<Vec<Vec<u8>>>>;

/// The parties of a mesh, and what they send.
fn recorded_mesh() -> Vec<(Parties<impl Channel + use<>>, Recorded)> {
    let recording = |parties: Parties<MemoryChannel>| {
        let (me, log) = (parties.me(), Recorded::default());
        let channels = parties.into_channels().into_iter().map(|channel| {
            let log = log.clone();
            let record = move |_: MessagePosition, bytes: &mut [u8]| {
                log.lock().expect("no party panics").push(bytes.to_vec());
            };
            channel.map(|channel| Altering::new(channel, record))
        });
        (Parties::new(me, channels.collect()), log)
    };
    memory_mesh(2).into_iter().map(recording).collect()
}

/// The offsets that two parties have opened, from what they sent in a round.
fn offsets(sent: [&[u8]; 2], bits: u16, accesses: u64) -> Vec<u64> {
    let bit = |at: u64| {
        let [first, second] = sent.map(|bytes| bytes[at as usize / 8] >> (at % 8) & 1);
        u64::from(first ^ second)
    };
    let bits = u64::from(bits);
    (0..accesses).map(|k| (0..bits).map(|b| bit(k * bits + b) << b).sum()).collect()
}

/// Runs lookups at these indices, which find the right rows at the stated cost.
fn run_all(bits: u16, indices: &[u64], from: Rows, seed: u64) -> LookUps {
    let accesses = indices.len() as u64;
    let terms = shares::terms(2);
    let planned = shares::planned(
        &mut expanded_for(&reading(bits, accesses, from), MemoryMethod::Dpf, terms),
        2,
    );
    let description = shares::read(&planned).description().clone();
    let ports = description.inputs.iter();
    let mut tables: Vec<Table> = ports.map(|port| Table::new(port.columns.clone())).collect();
    let at = tables.len() - 1;
    indices.iter().for_each(|&index| tables[at].push(&[Lane::from(index)]));
    if from != Rows::Constants {
        (0..1 << bits).for_each(|number| tables[0].push(&[row(number)]));
    }
    let inverted = if from == Rows::Computed { !Lane::ZERO >> 128 } else { Lane::ZERO };
    let expected = indices.iter().fold(Lane::ZERO, |sum, &index| sum ^ row(index) ^ inverted);
    let stated = description.plan.as_ref().expect("it is planned").costs.clone();
    if from == Rows::Constants {
        assert_eq!(stated[totals::AND_GATES], 0, "no AND at all");
        assert_eq!(stated[totals::ROUNDS], 2, "one for all lookups, and one for the output");
    }
    let (planned, description) = (&planned, &description);
    let meshes = recorded_mesh();
    let logs: Vec<Recorded> = meshes.iter().map(|(_, log)| log.clone()).collect();
    let sent_bytes: u64 = thread::scope(|scope| {
        let running: Vec<_> = meshes
            .into_iter()
            .zip(memory_mesh(2))
            .map(|((online, _), ahead)| {
                let (tables, stated) = (tables.clone(), stated.clone());
                scope.spawn(move || {
                    let me = online.me();
                    let prg = |k: u128| {
                        Prg::from_seed(Block::from_bits(
                            u128::from(seed) << 8 | k << 1 | me as u128,
                        ))
                    };
                    let session = SessionId::new([seed as u8; 32]);
                    let generator = Generator::setup(ahead, prg(1), &session, FieldBits::DEFAULT);
                    let generator = generator.expect("all are honest");
                    let needs = PlanDemand::new(shares::read(planned), 2).map(|need| Ok(need?));
                    let live = Live::start(generator, demand(description), needs);
                    let live = live.expect("a thread");
                    let inputs = shares::own(description, &tables, me as u16);
                    let driver = MixedDriver::new(online, live, &mut prg(2), description, inputs);
                    let mut driver = driver.expect("the set-up succeeds");
                    let plan = description.plan.as_ref().expect("it is planned");
                    let frames =
                        FrameMemory::new(plan.frame_count as u32, plan.page_bytes() as u32);
                    let mut memory = RunMemory::new(frames.expect("memory"), None);
                    let mut reader = shares::read(planned);
                    run(&mut reader, &mut driver, &mut memory, &mut |_| true).expect("it runs");
                    let (parties, outputs, live) = driver.into_parts();
                    let mut generator = live.finish().expect("all was used");
                    let online = parties.traffic()[1 - me].sent_bytes;
                    let ahead = generator.parties().traffic()[1 - me].sent_bytes;
                    assert_eq!(online + ahead, stated[&totals::sent_bytes(me)], "seed {seed}");
                    assert_eq!(generator.ots(), stated[&totals::party_ots(me)], "seed {seed}");
                    let found = outputs.into_tables()[0].as_ref().expect("it learns it").cell(0, 0);
                    assert_eq!(found, expected, "2^{bits} rows, seed {seed}");
                    let seeds = if me == 0 { 16 } else { 0 };
                    online + ahead - setup_costs(FieldBits::DEFAULT).from_lower_bytes - seeds
                })
            })
            .collect();
        running.into_iter().map(|party| party.join().expect("a party succeeds")).sum()
    });
    println!("2^{bits} rows, {from:?}, {accesses} lookups: {} bytes each", sent_bytes / accesses);
    let logs: Vec<Vec<Vec<u8>>> =
        logs.iter().map(|log| log.lock().expect("no party panics").clone()).collect();
    // Before the first round, the first party told a seed.
    let offsets = offsets([&logs[0][1], &logs[1][0]], bits, accesses);
    LookUps { sent_bytes, offsets }
}

/// The formula of `docs/protocols/oram.md`, section 6, with OTs of 31 bits.
fn formula(bits: u16, accesses: u64) -> u64 {
    let (bits, row) = (u64::from(bits), 32);
    let function = 32 * (bits - 6) * 8 + 2 * 126 + 31 * 2 * (bits - 1);
    (accesses * (2 * bits + function)).div_ceil(8) + row
}

#[test]
fn lookups_cost_what_the_formula_says() {
    let mut seeds = Seeds::fresh();
    for (bits, accesses) in [(8, 64), (12, 64), (14, 40), (16, 64)] {
        let seed = seeds.draw();
        let mut random = SeededRng::new(seed);
        let indices: Vec<u64> = (0..accesses).map(|_| random.below(1 << bits)).collect();
        let sent = run_all(bits, &indices, Rows::Constants, seed).sent_bytes;
        let expected = formula(bits, accesses);
        // Bits that fill up bytes, of each round and each level of a batch.
        assert!(sent.abs_diff(expected) < 400, "2^{bits} rows: {sent}, by formula {expected}");
    }
}

/// Rows that are hidden by pads of one party, or of both.
#[test]
fn hidden_rows_are_found() {
    let mut seeds = Seeds::fresh();
    for from in [Rows::Inputs, Rows::Computed] {
        let (bits, seed) = (8, seeds.draw());
        let mut random = SeededRng::new(seed);
        let indices: Vec<u64> = (0..6).map(|_| random.below(1 << bits)).collect();
        let [few, many] = [&indices[..2], &indices[..]]
            .map(|indices| run_all(bits, indices, from, seed).sent_bytes);
        let of_one = (many - few) / 4;
        println!("2^{bits} rows, {from:?}: {of_one} bytes for each lookup more");
    }
}

/// Pearson's statistic of samples that should be uniform.
fn chi_squared(samples: impl Iterator<Item = usize>, cells: usize) -> f64 {
    let mut counts = vec![0.0; cells];
    samples.for_each(|sample| counts[sample] += 1.0);
    let expected = counts.iter().sum::<f64>() / cells as f64;
    counts.iter().map(|count| (count - expected).powi(2) / expected).sum()
}

/// A bound that a statistic of so many degrees of freedom exceeds with probability 2^-40 or so (Wilson, Hilferty).
fn bound(degrees: f64) -> f64 {
    let part = 2.0 / (9.0 * degrees);
    degrees * (1.0 - part + 7.2 * part.sqrt()).powi(3)
}

#[test]
fn opened_offsets_are_uniform_whatever_the_indices_are() {
    let (mut seeds, bits) = (Seeds::fresh(), 4);
    for pattern in ["the same", "in turn"] {
        let seed = seeds.draw();
        let indices: Vec<u64> =
            (0..4000).map(|k| if pattern == "in turn" { k % 16 } else { seed % 16 }).collect();
        let offsets = run_all(bits, &indices, Rows::Constants, seed).offsets;
        let single = offsets.iter().map(|&offset| offset as usize);
        assert!(chi_squared(single, 16) < bound(15.0), "{pattern}, seed {seed}");
        let next = offsets.chunks_exact(2).map(|pair| (16 * pair[0] + pair[1]) as usize);
        assert!(chi_squared(next, 256) < bound(255.0), "{pattern}, seed {seed}");
        let with_index = offsets.iter().zip(&indices).map(|(o, i)| (16 * o + i) as usize);
        if pattern == "in turn" {
            assert!(chi_squared(with_index, 256) < bound(255.0), "{pattern}, seed {seed}");
        }
    }
}
