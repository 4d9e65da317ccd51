//! Runs on shares against the meanings of the op table.

use std::thread;

use phineus_bytecode::random::{
    RandomOptions, SeededRng, Seeds, random_inputs, random_program, with_sharings,
};
use phineus_bytecode::{Description, Instruction, Op, Sharing, Table};
use phineus_channels::{Channel, MemoryChannel, Parties, Traffic, memory_mesh};
use phineus_correlated::semi_honest::{CorrelatedRandomness, Dealer, Demand};
use phineus_crypto::{Block, Prg};
use phineus_engine::run;
use phineus_ot::{FieldBits, SessionId};

use super::{
    Broadcast, GarblingScheme, HalfGateGarbling, MixedCosts, MixedDriver, MixedRounds, PlanDemand,
    YaoToArithmetic, demand, totals,
};
use crate::bmr::costs::totals as garbling_totals;
use crate::bmr::{GarbledTables, Garbling, GarblingCosts, GarblingProgram};
use crate::harness::{
    self, assert_learned, can_be_arithmetic, expected, finish_clients, memory, options, own, read,
    received_bytes, sent_bytes, start_clients, write,
};
use crate::mixed::client::OneShareEach;

mod look_up;
mod shared_rows;
mod state;
mod wire;

/// Variants of conversion, of opening and of garbling between two parties.
#[derive(Clone, Copy, Default)]
struct VariantChoice {
    y2a: YaoToArithmetic,
    broadcast: Broadcast,
    two_party_scheme: GarblingScheme,
}

impl VariantChoice {
    /// All combinations in turn.
    fn of(seed: u64) -> VariantChoice {
        let y2a = [YaoToArithmetic::SharedBits, YaoToArithmetic::Masks][seed as usize % 2];
        let broadcast = [Broadcast::Direct, Broadcast::Star][seed as usize / 2 % 2];
        let schemes = [GarblingScheme::HalfGates, GarblingScheme::HalfGates, GarblingScheme::Joint];
        VariantChoice { y2a, broadcast, two_party_scheme: schemes[seed as usize / 4 % 3] }
    }

    /// How so many parties garble.
    fn scheme(self, parties: usize) -> GarblingScheme {
        if parties == 2 { self.two_party_scheme } else { GarblingScheme::Joint }
    }
}

/// Programs of all parties: the planned program, and the planned garbling program if there is one.
/// Clients read the ordered program.
struct TestPlans {
    ordered: Vec<u8>,
    program: Vec<u8>,
    garbling: Option<Vec<u8>>,
    broadcast: Broadcast,
}

impl TestPlans {
    /// Whether values are garbled by half gates.
    fn takes_half_gates(&self) -> bool {
        let plan = read(&self.program).description().plan.clone().expect("planned");
        plan.costs.contains_key(totals::ENTERING_OTS)
    }
}

/// Sets up half gates, over channels of their own.
fn half_gates<C: Channel>(parties: Parties<C>) -> HalfGateGarbling<C> {
    let mut prg = Prg::from_seed(Block::from_bits(55 + parties.me() as u128));
    let set_up = HalfGateGarbling::set_up(parties, &mut prg, &SessionId::new([6; 32]));
    set_up.expect("both are honest")
}

/// Orders and plans `program` for so many parties; both checkers agree.
fn planned(program: &[u8], parties: usize, frame_count: u64, variants: VariantChoice) -> TestPlans {
    let scheme = variants.scheme(parties);
    let layout = super::layout(parties, scheme);
    let mut model = MixedRounds::new(parties).with_y2a(variants.y2a).with_scheme(scheme);
    let ordered = harness::ordered(program, layout, &mut model).expect("a valid program");
    let page_wires = layout.units_max().next_power_of_two();
    let options = options("mixed", layout, page_wires, frame_count);
    let costs = MixedCosts::new(parties).with_broadcast(variants.broadcast);
    let mut costs = costs.with_scheme(scheme);
    let bytes = harness::planned(&ordered, &options, &mut costs).expect("it fits");
    let garbling = match scheme {
        GarblingScheme::Joint => planned_garbling(&ordered, parties, frame_count, &bytes),
        GarblingScheme::HalfGates => None,
    };
    TestPlans { garbling, ordered, program: bytes, broadcast: variants.broadcast }
}

/// The planned garbling program of `ordered`, whose own plan is `whole`, if anything is garbled.
fn planned_garbling(
    ordered: &[u8],
    parties: usize,
    frame_count: u64,
    whole: &[u8],
) -> Option<Vec<u8>> {
    let derived = GarblingProgram::derive(&mut read(ordered), Vec::new()).expect("memory");
    let (garbling, written) = derived;
    if written.instruction_count == 0 {
        return None;
    }
    let options = options("garbling", crate::garbled::layout(), 4096, frame_count);
    let mut costs = GarblingCosts::new(parties);
    let bytes = harness::planned(&garbling, &options, &mut costs).expect("it fits");
    let costs = |bytes: &[u8]| read(bytes).description().plan.clone().expect("planned").costs;
    let (own, all) = (costs(&bytes), costs(whole));
    let bytes_of = (0..parties).map(garbling_totals::garbling_bytes);
    for name in bytes_of.chain([garbling_totals::Y_AND_GATES.to_owned()]) {
        assert_eq!(own[&name], all[&name], "{name}");
    }
    Some(bytes)
}

/// The tables of `garbling`: made beside the run, or all before it.
fn tables(
    parties: Parties<MemoryChannel>,
    garbling: Vec<u8>,
    beforehand: bool,
) -> (GarbledTables, Box<dyn FnOnce() -> Parties<MemoryChannel> + Send>) {
    let prg = Prg::from_seed(Block::from_bits(99 + parties.me() as u128));
    let session = SessionId::new([5; 32]);
    let set_up = Garbling::set_up(parties, prg, &session, FieldBits::DEFAULT);
    let set_up = set_up.expect("all are honest");
    let planned = read(&garbling);
    if beforehand {
        let mut memory = memory(planned.description());
        let made = set_up.run(&mut read(&garbling), &mut memory, 1 << 16, &std::env::temp_dir());
        let (tables, parties) = made.expect("all are honest");
        return (tables, Box::new(move || parties));
    }
    let started = set_up.start(planned, move || Ok(memory(read(&garbling).description())));
    let (tables, thread) = started.expect("there are threads");
    (tables, Box::new(move || thread.join().expect("all are honest").parties))
}

/// Runs all parties in threads; each learns what it should, and sends what the plan states.
fn run_all<P: CorrelatedRandomness + 'static>(
    plans: &TestPlans,
    count: usize,
    inputs: &[Table],
    expected: &[Table],
    mut correlated: impl FnMut(usize) -> P,
) {
    let description = read(&plans.program).description().clone();
    let costs = description.plan.as_ref().expect("it is planned").costs.clone();
    let mut streams: Vec<_> = memory_mesh(count).into_iter().map(Some).collect();
    let (mut links, clients) =
        start_clients::<OneShareEach>(&plans.ordered, &description, count, 70, inputs);
    let handles: Vec<_> = memory_mesh(count)
        .into_iter()
        .map(|parties| {
            let me = parties.me();
            let links = std::mem::take(&mut links[me]);
            let inputs = own(&description, inputs, me);
            let (correlated, bytes) = (correlated(me), plans.program.clone());
            let stream = streams[me].take().expect("each party has one");
            let (garbling, takes_half_gates) = (plans.garbling.clone(), plans.takes_half_gates());
            let (description, broadcast) = (description.clone(), plans.broadcast);
            thread::spawn(move || {
                let mut prg = Prg::from_seed(Block::from_bits(7 + me as u128));
                let mut driver =
                    MixedDriver::new(parties, correlated, &mut prg, &description, inputs)
                        .expect("the set-up works");
                driver = driver.with_broadcast(broadcast);
                driver = driver.with_clients(links).expect("the clients are there");
                let mut garbled = None;
                if let Some(garbling) = garbling {
                    let (tables, rest) = tables(stream, garbling, count == 3);
                    driver = driver.with_tables(tables);
                    garbled = Some(rest);
                } else if takes_half_gates {
                    driver = driver.with_half_gates(half_gates(stream));
                }
                let mut memory = memory(&description);
                run(&mut read(&bytes), &mut driver, &mut memory, &mut |_| true).expect("it runs");
                let counts = (driver.rounds(), driver.garbled_gates());
                let links: Vec<Traffic> =
                    driver.take_clients().iter().map(Channel::traffic).collect();
                let by_half_gates = driver.take_half_gates().map(|half_gates| {
                    let ots = half_gates.ots();
                    (half_gates.into_parties().traffic(), ots)
                });
                let (parties, outputs, _) = driver.into_parts();
                let garbling = garbled.map_or_else(Vec::new, |join| join().traffic());
                let (tables, ots) = by_half_gates.map_or((Vec::new(), None), |(t, n)| (t, Some(n)));
                let traffic = [parties.traffic(), tables, links].concat();
                let counts = (counts, ots);
                (outputs.into_tables(), traffic, garbling, counts)
            })
        })
        .collect();
    for (me, handle) in handles.into_iter().enumerate() {
        let (outputs, online, garbling, ((rounds, gates), ots)) =
            handle.join().expect("no party panics");
        assert_eq!(ots, costs.get(totals::ENTERING_OTS).copied(), "OTs of labels");
        assert_eq!(rounds, costs[totals::ROUNDS], "rounds");
        assert_eq!(gates, costs[garbling_totals::Y_AND_GATES], "garbled gates");
        let garbled = costs[&garbling_totals::garbling_bytes(me)];
        assert_eq!(sent_bytes(&online), costs[&totals::online_bytes(me)], "bytes of party {me}");
        assert_eq!(sent_bytes(&garbling), garbled, "garbling of {me}");
        if costs.get(totals::OTS) == Some(&0) {
            let got = received_bytes(&[online, garbling].concat());
            assert_eq!(got, costs[&totals::received_bytes(me)], "bytes to party {me}");
        }
        assert_learned(&description, me, outputs, expected);
    }
    finish_clients(&description, count, clients, expected);
}

fn check_program(
    source: &[Instruction],
    description: &Description,
    seed: u64,
    frame_count: u64,
    pick: impl FnMut(&Instruction) -> Sharing,
) {
    check_outsourced(source, description, seed, (frame_count, 0), pick);
}

/// Checks a run in which the given number of last parties are clients.
fn check_outsourced(
    source: &[Instruction],
    description: &Description,
    seed: u64,
    (frame_count, clients): (u64, usize),
    pick: impl FnMut(&Instruction) -> Sharing,
) {
    let tables = random_inputs(seed, description);
    let expected = expected(&write(source, description), &tables);
    let program = write(&with_sharings(source, pick), description);
    let faults = phineus_bytecode::verify(&mut read(&program)).expect("readable");
    assert!(faults.is_empty(), "{}", faults[0]);
    let parties = description.parties.len() - clients;
    let planned = planned(&program, parties, frame_count, VariantChoice::of(seed));
    let needs =
        PlanDemand::new(read(&planned.program), parties).map(|need| need.expect("readable"));
    assert_eq!(Demand::of(needs), demand(read(&planned.program).description()));
    let seed = Block::from_bits(u128::from(seed));
    run_all(&planned, parties, &tables, &expected, |me| Dealer::insecure(seed, me, parties));
}

/// Whether the driver computes `instruction` on additive shares as it is: products with matrices come to it
/// as products of entries.
fn can_be_additive(instruction: &Instruction) -> bool {
    can_be_arithmetic(instruction) && instruction.op != Op::MatMul
}

#[test]
fn random_programs_on_xor_shares() {
    let mut seeds = Seeds::fresh();
    for case in 0..9 {
        let seed = seeds.draw();
        let options = RandomOptions {
            instruction_count: 60,
            party_count: [2, 3, 5][case as usize % 3],
            width_max: [8, 40, 256][case as usize / 3 % 3],
            ..RandomOptions::default()
        };
        let (source, description) = random_program(seed, &options);
        check_program(&source, &description, seed, 16, |_| Sharing::Boolean);
    }
}

#[test]
fn random_programs_on_all_kinds_of_shares() {
    let mut seeds = Seeds::fresh();
    for case in 0..12 {
        let seed = seeds.draw();
        let options = RandomOptions {
            instruction_count: 60,
            party_count: [2, 3, 5][case as usize % 3],
            width_max: 64,
            wires_max: [300, 4096][case as usize % 2],
            ..RandomOptions::default()
        };
        let (source, description) = random_program(seed, &options);
        let mut random = SeededRng::new(seed);
        check_program(&source, &description, seed, 16, |instruction| {
            if can_be_additive(instruction) && !random.one_in(3) {
                Sharing::Arithmetic
            } else {
                Sharing::Boolean
            }
        });
    }
}

#[test]
fn random_programs_on_garbled_values() {
    let mut seeds = Seeds::fresh();
    for case in 0..9 {
        let seed = seeds.draw();
        let options = RandomOptions {
            instruction_count: 60,
            party_count: [2, 3, 5][case as usize % 3],
            width_max: [8, 40, 256][case as usize / 3 % 3],
            ..RandomOptions::default()
        };
        let (source, description) = random_program(seed, &options);
        check_program(&source, &description, seed, 16, |_| Sharing::Garbled);
    }
}

#[test]
fn random_programs_in_all_sharings() {
    let mut seeds = Seeds::fresh();
    for case in 0..6 {
        let seed = seeds.draw();
        let options = RandomOptions {
            instruction_count: 60,
            party_count: [2, 3, 5][case as usize % 3],
            width_max: 64,
            wires_max: [300, 2000][case as usize % 2],
            ..RandomOptions::default()
        };
        let (source, description) = random_program(seed, &options);
        let mut random = SeededRng::new(seed);
        check_program(&source, &description, seed, 16, |instruction| {
            if can_be_additive(instruction) && random.one_in(2) {
                Sharing::Arithmetic
            } else if random.one_in(2) {
                Sharing::Garbled
            } else {
                Sharing::Boolean
            }
        });
    }
}

#[test]
fn random_programs_with_clients() {
    let mut seeds = Seeds::fresh();
    for case in 0..8 {
        let seed = seeds.draw();
        let (count, clients) = [(3, 1), (5, 2), (5, 3), (4, 2)][case as usize % 4];
        let options = RandomOptions {
            instruction_count: 60,
            party_count: count,
            width_max: 64,
            wires_max: [300, 2000][case as usize / 4 % 2],
            ..RandomOptions::default()
        };
        let (source, description) = random_program(seed, &options);
        let mut random = SeededRng::new(seed);
        let frames = (16, clients);
        check_outsourced(&source, &description, seed, frames, |instruction| {
            match random.below(3) {
                0 if can_be_additive(instruction) => Sharing::Arithmetic,
                1 => Sharing::Garbled,
                _ => Sharing::Boolean,
            }
        });
    }
}
