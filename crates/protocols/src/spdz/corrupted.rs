//! A corrupted party in whole runs, material and online phase together: one bit of any one of its
//! messages is flipped on the way to the first party, and no honest party ever has a wrong output.
//!
//! What all lies of one bit have in common with all others: they are either noticed, then no honest
//! party has an output, or they change nothing. The last message alone can be told to some only.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use phineus_bytecode::random::Random;
use phineus_bytecode::{
    Column, Description, ElementType, Encoding, InputPort, Instruction, Op, OutputPort, Table,
};
use phineus_channels::{Channel, ChannelError, MemoryChannel, Traffic};
use phineus_crypto::field::{F32, F61, Field, FieldName};
use phineus_crypto::{Block, Prg};
use phineus_engine::run;

use super::costs::{Needs, stated_demand};
use super::runs::planned;
use super::{Material, Opening, SpdzDriver};
use crate::harness::{expected, memory, own, random_inputs, read, write};
use crate::mascot::{Generator, Live};
use crate::ot::{FieldBits, SessionId};
use crate::{Parties, ProtocolError, memory_mesh};

/// More than any of these runs takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Which of the corrupted party's messages is changed: of which stream, which one, and how.
#[derive(Clone, Copy, Debug)]
struct Lie {
    stream: usize,
    message: usize,
    bit: usize,
}

/// Counts messages by their lengths, and flips a bit of one.
struct Flipping {
    channel: MemoryChannel,
    stream: usize,
    lens: Arc<Mutex<[Vec<usize>; 2]>>,
    lie: Option<Lie>,
}

impl Channel for Flipping {
    fn send_with<R>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, ChannelError> {
        let mut lens = self.lens.lock().expect("nobody panics in here");
        let number = lens[self.stream].len();
        lens[self.stream].push(len);
        drop(lens);
        let lie = self.lie.filter(|lie| (lie.stream, lie.message) == (self.stream, number));
        self.channel.send_with(len, |bytes| {
            let result = fill(bytes);
            if let (Some(lie), true) = (lie, len > 0) {
                let bit = lie.bit % (8 * len);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            result
        })
    }

    fn recv_with<R>(
        &mut self,
        len: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ChannelError> {
        self.channel.recv_with(len, read)
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        self.channel.flush()
    }

    fn traffic(&self) -> Traffic {
        self.channel.traffic()
    }
}

/// A planned program with inputs and what it must give.
struct Case {
    bytes: Vec<u8>,
    parties: usize,
    field: FieldName,
    inputs: Vec<Table>,
    expected: Vec<Table>,
}

/// Every way to use material: inputs of two parties, a matrix, a product, a square, a comparison,
/// outputs to all and to one.
fn case<F: Field>(parties: usize, field: FieldName) -> Case {
    let element = ElementType::signed(4);
    let column = |name: &str, element| Column {
        name: name.to_string(),
        element,
        encoding: Encoding::Number,
    };
    let input = |name: &str, party, rows| InputPort {
        name: name.to_string(),
        party,
        rows,
        columns: vec![column("x", element)],
        order: Default::default(),
    };
    let output = |name: &str, parties: Vec<u16>, element| OutputPort {
        name: name.to_string(),
        parties,
        rows: 2,
        columns: vec![column("y", element)],
    };
    let last = parties as u16 - 1;
    let bit = ElementType::unsigned(1);
    let description = Description {
        name: "all kinds".to_string(),
        parties: (0..parties).map(|party| format!("p{party}")).collect(),
        inputs: vec![input("matrix", 0, 4), input("vector", last, 2)],
        outputs: vec![
            output("less", (0..parties as u16).collect(), bit),
            output("sum", vec![0], element),
        ],
        ..Description::default()
    };
    let mut program = vec![Instruction::new(Op::Input, element, 4)];
    let mut push =
        |op: Op, element, operands: [u64; 3], immediates: [u64; 4], result: Option<u64>| {
            let mut instruction = Instruction::new(op, element, 2);
            (instruction.operands, instruction.immediates) = (operands, immediates);
            result.into_iter().for_each(|result| instruction.results[0] = result);
            program.push(instruction);
        };
    push(Op::Input, element, [0; 3], [1, 0, 0, 0], Some(1));
    push(Op::MatVec, element, [0, 1, 0], [2, 0, 0, 0], Some(2));
    push(Op::Mul, element, [1, 2, 0], [0; 4], Some(3));
    push(Op::Mul, element, [1, 1, 0], [0; 4], Some(4));
    push(Op::Add, element, [3, 4, 0], [0; 4], Some(5));
    push(Op::Lt, element, [1, 5, 0], [0; 4], Some(6));
    push(Op::Output, bit, [6, 0, 0], [0; 4], None);
    push(Op::Output, element, [5, 0, 0], [1, 0, 0, 0], None);
    let program = write(&program, &description);
    let bytes = planned::<F>(&program, parties, field, 64).expect("it can be planned");
    let inputs = random_inputs(&description, &mut Random::new(17));
    let expected = expected(&program, &inputs);
    Case { bytes, parties, field, inputs, expected }
}

type Tables = Vec<Option<Table>>;

/// One party from set-up to outputs, material made beside it.
fn party<F: Field, C: Channel + 'static>(
    [online, background]: [Parties<C>; 2],
    case: &Case,
) -> Result<Tables, ProtocolError> {
    let (me, count) = (online.me(), online.count());
    let description = read(&case.bytes).description().clone();
    let inputs = own(&description, &case.inputs, me);
    let session = SessionId::new([23; 32]);
    let prg = |of: u128| Prg::from_seed(Block::from_bits(of << 8 | me as u128));
    let generator = Generator::<F, C>::setup(background, prg(1), &session, FieldBits::DEFAULT)?;
    let demand = stated_demand(&description.plan.as_ref().expect("it is planned").costs);
    let needs = Needs::new(read(&case.bytes), count, case.field);
    let live = Live::start(generator, demand, needs).expect("there are threads");
    let opening = Opening::new(me, count, live.delta(), &session, prg(2));
    let mut driver = SpdzDriver::new(online, live, opening, &description, inputs, case.field);
    let mut memory = memory(&description);
    run(&mut read(&case.bytes), &mut driver, &mut memory, &mut |_| true).map_err(|error| {
        match error {
            phineus_engine::RunError::Driver(error) => error,
            _ => panic!("not what a peer can do"),
        }
    })?;
    let (_, outputs, live) = driver.into_parts();
    live.finish()?;
    Ok(outputs.into_tables())
}

/// What came of a run, by party, and the lengths of what the last party sent the first one, by
/// stream.
struct Ended {
    results: Vec<Result<Tables, ProtocolError>>,
    lens: [Vec<usize>; 2],
}

fn session<F: Field>(case: &Arc<Case>, lie: Option<Lie>) -> Ended {
    let lens = Arc::new(Mutex::new([Vec::new(), Vec::new()]));
    let mut streams = [0, 1].map(|_| memory_mesh(case.parties).into_iter());
    let (sender, ended) = channel();
    for me in 0..case.parties {
        let parties = [0, 1].map(|stream| {
            let parties = streams[stream].next().expect("as many parties");
            let channels = parties.into_channels().into_iter().enumerate();
            let channels = channels.map(|(peer, channel)| {
                // Towards the first party only, so that others hear something else.
                let watched = me + 1 == case.parties && peer == 0;
                let lens = if watched { lens.clone() } else { Arc::default() };
                let lie = lie.filter(|_| watched);
                channel.map(|channel| Flipping { channel, stream, lens, lie })
            });
            Parties::new(me, channels.collect())
        });
        let (case, sender) = (case.clone(), sender.clone());
        thread::spawn(move || {
            // Whoever is not there any more hangs nobody: the receiver waits for so long only.
            let _ = sender.send((me, party::<F, _>(parties, &case)));
        });
    }
    drop(sender);
    let mut results = BTreeMap::new();
    for _ in 0..case.parties {
        let (me, result) = ended.recv_timeout(PATIENCE).unwrap_or_else(|error| {
            panic!("{lie:?}: a party hangs or panics: {error}");
        });
        results.insert(me, result);
    }
    let lens = lens.lock().expect("all have ended").clone();
    Ended { results: results.into_values().collect(), lens }
}

/// Whether a lie was noticed; panics if anything is as it must not be.
fn noticed(case: &Case, lie: Lie, ended: &Ended) -> bool {
    let honest = &ended.results[..case.parties - 1];
    for (me, result) in honest.iter().enumerate() {
        match result {
            Ok(outputs) => {
                for (output, expected) in outputs.iter().zip(&case.expected) {
                    let Some(output) = output else { continue };
                    for row in 0..expected.row_count() {
                        let (got, right) = (output.row(row), expected.row(row));
                        assert_eq!(got, right, "{lie:?}: a wrong output at party {me}");
                    }
                }
            }
            Err(error) => {
                let right = matches!(
                    error,
                    ProtocolError::Cheated { .. }
                        | ProtocolError::Misbehaved { .. }
                        | ProtocolError::Channel(ChannelError::Closed { .. })
                );
                assert!(right, "{lie:?}: the wrong error at party {me}: {error}");
            }
        }
    }
    let failed = honest.iter().filter(|result| result.is_err()).count();
    let is_last = lie.stream == 0 && lie.message + 1 == ended.lens[0].len();
    assert!(
        failed == 0 || failed == honest.len() || is_last,
        "{lie:?}: {failed} of {} honest parties noticed, others have outputs",
        honest.len()
    );
    let knows = |result: &Result<_, ProtocolError>| {
        matches!(result, Err(ProtocolError::Cheated { .. } | ProtocolError::Misbehaved { .. }))
    };
    assert!(failed == 0 || ended.results.iter().any(knows), "{lie:?}: somebody says why");
    failed > 0
}

/// Of each stream and each length of message, the first and the last one.
fn of_each_kind(lens: &[Vec<usize>; 2]) -> Vec<(usize, usize)> {
    let mut places = Vec::new();
    for (stream, lens) in lens.iter().enumerate() {
        let mut by_len: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (message, &len) in lens.iter().enumerate().filter(|(_, len)| **len > 0) {
            by_len.entry(len).or_default().push(message);
        }
        for places_of_len in by_len.values() {
            places.extend(places_of_len.first().map(|&message| (stream, message)));
            places.extend(places_of_len[1..].last().map(|&message| (stream, message)));
        }
    }
    places
}

fn every(lens: &[Vec<usize>; 2]) -> Vec<(usize, usize)> {
    let of = |stream: usize| {
        let lens = lens[stream].iter().enumerate();
        lens.filter(|(_, len)| **len > 0).map(move |(message, _)| (stream, message))
    };
    of(0).chain(of(1)).collect()
}

fn lies<F: Field>(
    parties: usize,
    field: FieldName,
    which: impl Fn(&[Vec<usize>; 2]) -> Vec<(usize, usize)>,
) {
    let case = Arc::new(case::<F>(parties, field));
    let honest = session::<F>(&case, None);
    assert!(honest.results.iter().all(Result::is_ok), "nobody lies");
    let lie = Lie { stream: 0, message: 0, bit: 0 };
    assert!(!noticed(&case, lie, &honest), "and all outputs are right");
    let mut random = Random::new(parties as u64);
    let (mut caught, mut tried) = ([0, 0], [0, 0]);
    for (stream, message) in which(&honest.lens) {
        let bit = random.lane(30).as_limbs()[0] as usize;
        let lie = Lie { stream, message, bit };
        let is_noticed = noticed(&case, lie, &session::<F>(&case, Some(lie)));
        tried[stream] += 1;
        caught[stream] += usize::from(is_noticed);
    }
    println!("{} {parties}: noticed {caught:?} of {tried:?}, online and material", F::NAME);
    assert_eq!(caught[0], tried[0], "every message of the online phase is looked at");
    assert!(2 * caught[1] >= tried[1], "most messages of making material are looked at");
}

#[test]
fn no_lie_of_any_kind_of_message_gives_a_wrong_output() {
    lies::<F32>(2, FieldName::F32, of_each_kind);
    lies::<F32>(3, FieldName::F32, of_each_kind);
}

#[test]
#[ignore = "takes many minutes"]
fn no_lie_in_any_message_gives_a_wrong_output() {
    lies::<F32>(2, FieldName::F32, every);
    lies::<F32>(3, FieldName::F32, every);
    lies::<F61>(2, FieldName::F61, of_each_kind);
}
