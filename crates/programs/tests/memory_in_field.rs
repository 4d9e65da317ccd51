//! Memories on authenticated elements between two and three parties: against plain arrays, and against a party that
//! deviates.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use common::accesses::RandomAccesses;
use common::expanded_for;
use common::field::{self, dealer, planned, run_all, run_party};
use common::shares::PartyRun;
use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_bytecode::{ElementType, Encoding, Permutation, PermutationKind};
use phineus_channels::{
    Altering, ChannelError, MemoryChannel, MessagePosition, Parties, memory_mesh,
};
use phineus_correlated::CorrelatedError;
use phineus_correlated::authenticated::{AuthenticatedRandomness, Dealer, MatrixSize, Share};
use phineus_crypto::field::{F61, Field};
use phineus_frontend::{column, program};
use phineus_oblivious::memory::{MemoryShape, accesses_of_a_turn};
use phineus_oblivious::{Memory, MemoryMethod};
use phineus_protocols::ProtocolError;

/// The plan of random accesses, and what they must give.
fn case(
    method: MemoryMethod,
    (parties, rows, count): (usize, u64, usize),
    seed: u64,
) -> (Vec<u8>, RandomAccesses) {
    let accesses = RandomAccesses::new(parties, rows, count, seed);
    let mut expanded = expanded_for(&accesses.program, method, field::terms(parties));
    (planned(&mut expanded, parties), accesses)
}

#[test]
fn random_accesses_equal_those_to_an_array() {
    let mut seeds = Seeds::fresh();
    for method in [MemoryMethod::SquareRoot, MemoryMethod::Scan] {
        for (parties, rows, count) in
            [(2, 1, 3), (2, 2, 5), (3, 3, 7), (2, 13, 12), (3, 17, 9), (2, 40, 30)]
        {
            let seed = seeds.draw();
            let (planned, accesses) = case(method, (parties, rows, count), seed);
            let runs = run_all(&planned, &accesses.tables, seed);
            let case = format!("{method:?}, {parties} parties, {rows} rows, seed {seed}");
            accesses.check(&runs, &case);
        }
    }
}

/// Correlated randomness of a party that brings other switches than its permutations have: it flips some of the bits that mask
/// them. It brings nothing else.
struct WildSwitches {
    dealer: Dealer<F61>,
    random: SeededRng,
}

impl AuthenticatedRandomness<F61> for WildSwitches {
    fn delta(&self) -> F61 {
        self.dealer.delta()
    }

    fn settle(&mut self) -> Result<(), CorrelatedError> {
        self.dealer.settle()
    }

    fn blame(&mut self) -> Option<CorrelatedError> {
        self.dealer.blame()
    }

    fn triples(
        &mut self,
        a: &mut [Share<F61>],
        b: &mut [Share<F61>],
        c: &mut [Share<F61>],
    ) -> Result<(), CorrelatedError> {
        self.dealer.triples(a, b, c)
    }

    fn squares(
        &mut self,
        a: &mut [Share<F61>],
        c: &mut [Share<F61>],
    ) -> Result<(), CorrelatedError> {
        self.dealer.squares(a, c)
    }

    fn bits(&mut self, b: &mut [Share<F61>]) -> Result<(), CorrelatedError> {
        self.dealer.bits(b)
    }

    fn masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F61>],
        values: Option<&mut [F61]>,
    ) -> Result<(), CorrelatedError> {
        self.dealer.masks(owner, shares, values)
    }

    fn bit_masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F61>],
        mut values: Option<&mut [F61]>,
    ) -> Result<(), CorrelatedError> {
        self.dealer.bit_masks(owner, shares, values.as_deref_mut())?;
        for value in values.into_iter().flatten() {
            if self.random.one_in(2) {
                *value = F61::ONE.sub(*value);
            }
        }
        Ok(())
    }

    fn bounded(&mut self, integers: &mut [Share<F61>]) -> Result<(), CorrelatedError> {
        self.dealer.bounded(integers)
    }

    fn matrix_triples(
        &mut self,
        size: MatrixSize,
        a: &mut [Share<F61>],
        b: &mut [Share<F61>],
        c: &mut [Share<F61>],
    ) -> Result<(), CorrelatedError> {
        self.dealer.matrix_triples(size, a, b, c)
    }
}

/// Whatever switches a party chooses, they are those of a permutation: no row is lost, and none is there twice.
#[test]
fn a_party_may_choose_any_switches() {
    let mut seeds = Seeds::fresh();
    for rows in [3, 14] {
        let (parties, seed) = (3, seeds.draw());
        let (planned, accesses) = case(MemoryMethod::SquareRoot, (parties, rows, 20), seed);
        let runs: Vec<PartyRun> = thread::scope(|scope| {
            let start = |mesh: Parties<MemoryChannel>| {
                let (planned, tables) = (&planned, &accesses.tables);
                scope.spawn(move || {
                    let me = mesh.me();
                    let dealer = dealer(me, parties, seed);
                    // The third party has no inputs.
                    let ran = match me {
                        2 => {
                            let wild = WildSwitches { dealer, random: SeededRng::new(seed) };
                            run_party(planned, tables, (mesh, wild), seed)
                        }
                        _ => run_party(planned, tables, (mesh, dealer), seed),
                    };
                    ran.expect("nothing is wrong").0
                })
            };
            let running: Vec<_> = memory_mesh(parties).into_iter().map(start).collect();
            running.into_iter().map(|party| party.join().expect("a party succeeds")).collect()
        });
        accesses.check(&runs, &format!("{rows} rows, seed {seed}"));
    }
}

type Lying = Altering<Box<dyn FnMut(MessagePosition, &mut [u8]) + Send>>;

/// A run in which party `from` flips a bit of one message to party `to`, or of none. Returns what each party ends with, and how
/// many messages it sends that party.
fn lie(
    (planned, accesses): &(Vec<u8>, RandomAccesses),
    (parties, from, to): (usize, usize, usize),
    (message, bit): (Option<usize>, usize),
    seed: u64,
) -> (Vec<Result<PartyRun, ProtocolError>>, usize) {
    let sent = Arc::new(AtomicUsize::new(0));
    let results = thread::scope(|scope| {
        let start = |mesh: Parties<MemoryChannel>| {
            let sent = sent.clone();
            scope.spawn(move || {
                let me = mesh.me();
                let channels = mesh.into_channels().into_iter().enumerate();
                let altered = |(peer, channel): (usize, Option<MemoryChannel>)| {
                    let (sent, is_watched) = (sent.clone(), (me, peer) == (from, to));
                    let alter = move |place: MessagePosition, bytes: &mut [u8]| {
                        if !is_watched || bytes.is_empty() {
                            return;
                        }
                        sent.fetch_max(place.message + 1, Ordering::Relaxed);
                        if Some(place.message) == message {
                            let bit = bit % (8 * bytes.len());
                            bytes[bit / 8] ^= 1 << (bit % 8);
                        }
                    };
                    channel.map(|channel| Altering::new(channel, Box::new(alter) as _))
                };
                let mesh: Parties<Lying> = Parties::new(me, channels.map(altered).collect());
                let correlated = dealer(me, parties, seed);
                run_party(planned, &accesses.tables, (mesh, correlated), seed).map(|ran| ran.0)
            })
        };
        let running: Vec<_> = memory_mesh(parties).into_iter().map(start).collect();
        running.into_iter().map(|party| party.join().expect("no party panics")).collect()
    });
    (results, sent.load(Ordering::Relaxed))
}

/// A flipped bit in any message ends the run at all honest parties: none learns anything, not even a wrong output.
#[test]
fn no_lie_in_any_message_gives_an_output() {
    let mut seeds = Seeds::fresh();
    for (parties, rows, from, to, step) in [(2, 3, 1, 0, 1), (2, 2, 0, 1, 7), (3, 3, 2, 0, 11)] {
        let seed = seeds.draw();
        let mut random = SeededRng::new(seed);
        let case = case(MemoryMethod::SquareRoot, (parties, rows, 4), seed);
        let (honest, count) = lie(&case, (parties, from, to), (None, 0), seed);
        assert!(honest.iter().all(Result::is_ok) && count > 50, "{count} messages, seed {seed}");
        let last = if parties > 2 { count - 1 } else { count };
        for message in (0..last).step_by(step) {
            let bit = random.below(1 << 30) as usize;
            let (results, _) = lie(&case, (parties, from, to), (Some(message), bit), seed);
            for (me, result) in results.iter().enumerate().filter(|&(me, _)| me != from) {
                let is_noticed = matches!(
                    result,
                    Err(ProtocolError::Cheated { .. }
                        | ProtocolError::Misbehaved { .. }
                        | ProtocolError::Channel(ChannelError::Closed { .. }))
                );
                let case = format!("{message} of {count} messages of {from} of {parties}");
                assert!(is_noticed, "party {me}, bit {bit} of {case}, seed {seed}");
            }
        }
        println!("{last} messages of party {from} of {parties}: every {step}th lie is noticed");
    }
}

/// Triples that reads of `rows` rows of one element take, for so many periods of reads.
fn triples(rows: u64, bits: u16, reads: u64, parties: usize) -> u64 {
    let cell = ElementType::unsigned(32);
    let program = program("reads").party("a").party("b").party("c").trace(move |t, _| {
        let cells = column("cell", cell, Encoding::Number);
        let records = t.input("rows", rows).by("a").column(cells.clone()).read();
        let index = column("index", ElementType::unsigned(bits), Encoding::Number);
        let index = t.input("index", 1).by("b").column(index).read().chunks(0)[0].clone();
        let mut memory = Memory::new(records, None);
        let mut found = None;
        (0..reads).for_each(|_| found = Some(memory.read(&index).swap_remove(0)));
        let mut output = t.output("found", &["a"]).rows(&[cells], 1);
        output.push(&[&found.expect("there are reads")]);
        output.finish();
        Ok(())
    });
    let terms = field::terms(parties);
    let mut expanded = expanded_for(&program, MemoryMethod::SquareRoot, terms);
    let planned = planned(&mut expanded, parties);
    let description = common::shares::read(&planned).description().clone();
    let costs = description.plan.expect("it is planned").costs;
    assert_eq!(costs.get("bounded_integers"), None, "nothing is opened under narrow masks");
    costs["triples"]
}

/// What section 9 of `docs/protocols/oram.md` states, by which the period is chosen, is what plans have, within 3 %.
#[test]
fn products_follow_the_formula() {
    let parties = 3;
    for bits in [5, 7] {
        let (rows, terms) = (1u64 << bits, field::terms(parties));
        let columns = vec![ElementType::unsigned(32)];
        let name = String::new();
        let shape = MemoryShape { name, columns, rows, method: None, is_linked: false };
        let period = accesses_of_a_turn(&shape, MemoryMethod::SquareRoot, terms);
        let [once, twice] = [1, 2].map(|turns| triples(rows, bits, turns * period, parties));
        let items = (rows + period) as u32;
        let switches = Permutation { party: 0, items, kind: PermutationKind::Random }.switches();
        let shuffle = parties as u64 * switches * (1 + 3);
        let k = u64::from(bits);
        let access = |stashed: u64| stashed * (2 * k + 2) + rows + k + 2;
        let formula = shuffle + (0..period).map(access).sum::<u64>();
        let (found, formula) = ((twice - once) as f64, formula as f64);
        assert!((found / formula - 1.0).abs() < 0.03, "{rows} rows: {found}, not {formula}");
    }
}
