//! Additive shares, XOR shares, garbled values of several parties, conversions, clients.

use std::thread;

use phineus_bytecode::random::{SeededRng, with_sharings};
use phineus_bytecode::{Description, Instruction, Layout, Op, Sharing, Table};
use phineus_channels::Parties;
use phineus_correlated::semi_honest::{CorrelatedRandomness, Dealer, Generator, Sequential};
use phineus_engine::{ClearDriver, Inputs, Outputs, run};
use phineus_ot::{FieldBits, SessionId};
use phineus_plan::order;
use phineus_protocols::ProtocolError;
use phineus_protocols::bmr::{Garbling, GarblingCosts, GarblingProgram};
use phineus_protocols::mixed::{
    Broadcast, GarblingScheme, HalfGateGarbling, MixedClient, MixedCosts, MixedDriver, MixedRounds,
    PlanDemand, YaoToArithmetic, demand, totals,
};

use crate::look_ups;
use crate::programs::{
    Program, assert_learned, memory, ordering, planned, random, read, scratch, secret_inputs, write,
};
use crate::watch;
use crate::wire::{Wire, mesh, pair, secret_block, secret_prg};

/// Where triples and the OTs of garbling come from.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    /// From the parties, through a file.
    Parties,
    /// From a dealer with a secret seed, which is much faster; the parties' own way has cases of its own.
    Dealer,
}

/// Plans of all parties.
struct Plans {
    ordered: Vec<u8>,
    program: Vec<u8>,
    garbling: Option<Vec<u8>>,
    broadcast: Broadcast,
    source: Source,
    /// Whether values are garbled by half gates.
    has_half_gates: bool,
}

/// How the parties of a case garble.
fn scheme(parties: usize, takes_half_gates: bool) -> GarblingScheme {
    match takes_half_gates && parties == 2 {
        true => GarblingScheme::HalfGates,
        false => GarblingScheme::Joint,
    }
}

/// By number of parties: two, three.
const SOURCES: [Source; 2] = [Source::Parties, Source::Dealer];

pub fn boolean() {
    let seed = watch::seed("gmw");
    for (k, parties) in [2, 3].into_iter().enumerate() {
        let program = random(seed.wrapping_add(k as u64), parties, ([40, 256][k], 600));
        check(&program, (seed, 0, SOURCES[k]), false, |_| Sharing::Boolean);
    }
}

/// With point functions that the parties make, and pads that they remove.
pub fn look_ups() {
    let seed = watch::seed("look-ups");
    check(&look_ups::program(seed), (seed, 0, Source::Parties), false, |_| Sharing::Boolean);
}

pub fn arithmetic() {
    let seed = watch::seed("arith");
    for (k, parties) in [2, 3].into_iter().enumerate() {
        let program = random(seed.wrapping_add(k as u64), parties, (64, 300));
        let pick = |instruction: &Instruction| match can_be_additive(instruction) {
            true => Sharing::Arithmetic,
            false => Sharing::Boolean,
        };
        check(&program, (seed.wrapping_add(k as u64), 0, Source::Dealer), false, pick);
    }
}

pub fn garbled() {
    let seed = watch::seed("bmr");
    for (k, parties) in [2, 3].into_iter().enumerate() {
        let program = random(seed.wrapping_add(k as u64), parties, (40, 300));
        check(&program, (seed, 0, SOURCES[k]), false, |_| Sharing::Garbled);
    }
}

pub fn mixed() {
    let seed = watch::seed("mixed");
    for (k, parties) in [2, 2, 3, 3].into_iter().enumerate() {
        let program = random(seed.wrapping_add(k as u64), parties, (64, 300));
        check(&program, (seed.wrapping_add(k as u64), 0, Source::Dealer), true, any(seed));
    }
}

pub fn clients() {
    let seed = watch::seed("clients");
    check(&random(seed, 4, (64, 300)), (seed, 2, Source::Dealer), true, any(seed));
}

/// Any sharing that an instruction can have.
fn any(seed: u64) -> impl FnMut(&Instruction) -> Sharing {
    let mut random = SeededRng::new(seed);
    move |instruction| match random.below(3) {
        0 if can_be_additive(instruction) => Sharing::Arithmetic,
        1 => Sharing::Garbled,
        _ => Sharing::Boolean,
    }
}

/// Returns whether the driver computes `instruction` on additive shares without a conversion.
fn can_be_additive(instruction: &Instruction) -> bool {
    let is_sum = instruction.op == Op::LaneSum;
    let is_wide = is_sum && instruction.immediates[0] != u64::from(instruction.element.width());
    instruction.op.is_arithmetic() && instruction.op != Op::MatMul && !is_wide
}

/// The outputs in the clear, by port.
pub fn expected(program: &Program) -> Vec<Table> {
    let description = &program.description;
    let bytes = write(&program.instructions, description);
    let mut costs = MixedCosts::new(description.parties.len());
    let bytes = planned(&bytes, "clear", Layout::wires(1), 4096, 1 << 16, &mut costs);
    let mut reader = read(&bytes);
    let inputs = Inputs::new(description, program.tables.iter().cloned().map(Some).collect());
    let parties = 0..description.parties.len() as u16;
    let outputs = parties.map(|party| Outputs::new(description, party)).collect();
    let mut driver = ClearDriver::new(description, inputs.expect("the right shapes"), outputs);
    let mut memory = memory(reader.description());
    run(&mut reader, &mut driver, &mut memory, &mut |_| true).expect("it runs");
    let mut merged: Vec<Option<Table>> = vec![None; description.outputs.len()];
    for outputs in driver.into_outputs() {
        for (merged, table) in merged.iter_mut().zip(outputs.into_tables()) {
            *merged = merged.take().or(table);
        }
    }
    merged.into_iter().map(|table| table.expect("every port has a learner")).collect()
}

/// Runs a program, whose last so many parties are clients.
fn check(
    program: &Program,
    (seed, clients, source): (u64, usize, Source),
    takes_half_gates: bool,
    pick: impl FnMut(&Instruction) -> Sharing,
) {
    let count = program.description.parties.len() - clients;
    let right = expected(program);
    let bytes = write(&with_sharings(&program.instructions, pick), &program.description);
    let plans = plans(&bytes, (count, scheme(count, takes_half_gates)), seed, source);
    run_all(&plans, count, &program.tables, &right);
}

fn plans(
    program: &[u8],
    (count, scheme): (usize, GarblingScheme),
    seed: u64,
    source: Source,
) -> Plans {
    let layout = phineus_protocols::mixed::layout(count, scheme);
    let y2a = [YaoToArithmetic::SharedBits, YaoToArithmetic::Masks][seed as usize % 2];
    let broadcast = [Broadcast::Direct, Broadcast::Star][seed as usize / 2 % 2];
    let mut model = MixedRounds::new(count).with_y2a(y2a).with_scheme(scheme);
    let ordered = order(&mut read(program), Vec::new(), scratch(), &ordering(layout), &mut model);
    let ordered = ordered.expect("a valid program").0;
    let page_wires = layout.units_max().next_power_of_two();
    let mut costs = MixedCosts::new(count).with_broadcast(broadcast).with_scheme(scheme);
    let program = planned(&ordered, "mixed", layout, page_wires, 16, &mut costs);
    let (garbling, written) =
        GarblingProgram::derive(&mut read(&ordered), Vec::new()).expect("memory");
    let is_joint = scheme == GarblingScheme::Joint;
    let garbling = (is_joint && written.instruction_count > 0).then(|| {
        let mut costs = GarblingCosts::new(count);
        planned(&garbling, "garbling", phineus_protocols::garbled::layout(), 4096, 16, &mut costs)
    });
    let plan = read(&program).description().plan.clone().expect("it is planned");
    let has_half_gates = plan.costs.contains_key(totals::ENTERING_OTS);
    Plans { ordered, program, garbling, broadcast, source, has_half_gates }
}

fn run_all(plans: &Plans, count: usize, tables: &[Table], right: &[Table]) {
    let description = read(&plans.program).description().clone();
    let description = &description;
    let mut links: Vec<Vec<Wire>> = (0..count).map(|_| Vec::new()).collect();
    let mut own_links = Vec::new();
    for _ in count..description.parties.len() {
        let ends = links.iter_mut().map(|links| {
            let (near, far) = pair();
            links.push(far);
            near
        });
        own_links.push(ends.collect::<Vec<_>>());
    }
    thread::scope(|scope| {
        let meshes = mesh(count).into_iter().zip(mesh(count)).zip(mesh(count)).zip(links);
        for (((online, offline), garbling), links) in meshes {
            scope.spawn(move || {
                let me = online.me();
                let learned = party(plans, description, [online, offline, garbling], links, tables);
                assert_learned(description, me, learned, right);
            });
        }
        for (client, links) in (count..).zip(own_links) {
            scope.spawn(move || {
                let learned = client_party(plans, description, client, links, tables);
                assert_learned(description, client, learned, right);
            });
        }
    });
}

/// A computing party, with channels for its online phase, its preprocessing and its garbling.
fn party(
    plans: &Plans,
    description: &Description,
    [online, offline, garbling]: [Parties<Wire>; 3],
    clients: Vec<Wire>,
    tables: &[Table],
) -> Vec<Option<Table>> {
    let count = online.count();
    if plans.source == Source::Dealer {
        let dealer = Dealer::insecure(secret_block(5), online.me(), count);
        return compute(plans, description, dealer, [online, garbling], clients, tables);
    }
    let (prg, session) = (secret_prg(100 + offline.me() as u128), SessionId::new([1; 32]));
    let made = Generator::setup(offline, prg, &session, FieldBits::LAN);
    let mut generator = made.expect("all are honest");
    let needs = PlanDemand::new(read(&plans.program), count).map(|need| Ok(need?));
    let (demand, directory) = (demand(description), std::env::temp_dir());
    let correlated = Sequential::make(&mut generator, demand, needs, 1 << 10, &directory);
    let correlated = correlated.expect("all are honest");
    compute(plans, description, correlated, [online, garbling], clients, tables)
}

fn compute<P: CorrelatedRandomness>(
    plans: &Plans,
    description: &Description,
    correlated: P,
    [online, garbling]: [Parties<Wire>; 2],
    clients: Vec<Wire>,
    tables: &[Table],
) -> Vec<Option<Table>> {
    let me = online.me();
    let prg = |number: u128| secret_prg(16 * me as u128 + number);
    let inputs = secret_inputs(description, tables, me);
    let driver = MixedDriver::new(online, correlated, &mut prg(2), description, inputs);
    let driver = driver.expect("the set-up works").with_broadcast(plans.broadcast);
    let mut driver = driver.with_clients(clients).expect("the clients are there");
    if let Some(program) = &plans.garbling {
        let session = &SessionId::new([2; 32]);
        let set_up = match plans.source {
            Source::Parties => Garbling::set_up(garbling, prg(3), session, FieldBits::DEFAULT),
            Source::Dealer => Garbling::insecure(garbling, prg(3), session, secret_block(6)),
        };
        let mut memory = memory(read(program).description());
        let set_up = set_up.expect("all are honest");
        let made = set_up.run(&mut read(program), &mut memory, 1 << 14, &std::env::temp_dir());
        driver = driver.with_tables(made.expect("all are honest").0);
    } else if plans.has_half_gates {
        let set_up = HalfGateGarbling::set_up(garbling, &mut prg(3), &SessionId::new([2; 32]));
        driver = driver.with_half_gates(set_up.expect("all are honest"));
    }
    let mut memory = memory(description);
    run(&mut read(&plans.program), &mut driver, &mut memory, &mut |_| true).expect("it runs");
    driver.into_parts().1.into_tables()
}

fn client_party(
    plans: &Plans,
    description: &Description,
    me: usize,
    links: Vec<Wire>,
    tables: &[Table],
) -> Vec<Option<Table>> {
    let inputs = secret_inputs(description, tables, me);
    let prg = &mut secret_prg(7 + me as u128);
    let client = MixedClient::new(links, prg, description, me, inputs);
    let mut client = client.expect("the parties are there");
    read(&plans.ordered)
        .for_each::<ProtocolError>(|instruction| Ok(client.step(instruction)?))
        .expect("it runs");
    client.finish().expect("the parties are there").1.into_tables()
}
