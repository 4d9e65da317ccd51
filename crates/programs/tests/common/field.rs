//! Programs that are run on authenticated elements of a prime field, all parties in one process.

use std::io::{Cursor, Read, Seek};
use std::thread;

use phineus_bytecode::{ProgramReader, Sharing, Table};
use phineus_channels::{Channel, MemoryChannel, Parties, memory_mesh};
use phineus_correlated::authenticated::{AuthenticatedRandomness, Dealer};
use phineus_crypto::field::{F61, FieldName};
use phineus_crypto::{Block, Prg};
use phineus_engine::{FrameMemory, RegionSwap, Regions, RunError, RunMemory, run};
use phineus_oblivious::memory::{MemoryTerms, RowSharing};
use phineus_ot::SessionId;
use phineus_plan::{Claims, check_ranges, lower_with_claims};
use phineus_protocols::ProtocolError;
use phineus_protocols::mixed::totals;
use phineus_protocols::spdz::costs::totals as of_checks;
use phineus_protocols::spdz::{Opening, SpdzCosts, SpdzDriver, SpdzRounds, layout};

use super::shares::{PartyRun, PlanSizes, Recording, own, planned_in_rounds, read, scratch};

const PLANNER_BYTES: u64 = 256 << 20;

/// Integers of the field of 61 bits are of a smaller magnitude than two to this power.
const MAGNITUDE_BITS: u32 = 59;

/// How so many parties compute with memories.
pub fn terms(parties: usize) -> MemoryTerms {
    let rows = RowSharing::Elements { bits: MAGNITUDE_BITS as u16 };
    MemoryTerms { parties: parties as u16, rows, outside: Sharing::Any }
}

/// Lowers, orders and plans a program; all checkers agree.
pub fn planned<R: Read + Seek + Send>(program: &mut ProgramReader<R>, parties: usize) -> Vec<u8> {
    let mut claims = Claims::default();
    let bounds = (MAGNITUDE_BITS, true);
    let note = |claim| claims.note(claim);
    let lowered = lower_with_claims(program, Vec::new(), scratch(), bounds, PLANNER_BYTES, note);
    let lowered = lowered.expect("the field is large enough").0;
    let faults = check_ranges(&mut read(&lowered), &claims, MAGNITUDE_BITS).expect("readable");
    assert_eq!(faults, Vec::<String>::new());
    let layout = layout(8);
    let page_wires = layout.units_max().next_power_of_two();
    let sizes =
        PlanSizes { layout, frame_count: 2000, page_wires, planner_memory_bytes: PLANNER_BYTES };
    let mut models =
        (SpdzRounds::new(FieldName::F61, parties), SpdzCosts::new(parties, FieldName::F61));
    planned_in_rounds(&lowered, "spdz", sizes, &mut models)
}

/// Runs a plan as one party, with correlated randomness that `with` may change.
///
/// # Errors
/// What a protocol notices.
pub fn run_party<C: Channel + 'static, M: AuthenticatedRandomness<F61>>(
    planned: &[u8],
    tables: &[Table],
    (mesh, correlated): (Parties<C>, M),
    seed: u64,
) -> Result<(PartyRun, Parties<C>), ProtocolError> {
    let mut reader: ProgramReader<Cursor<Vec<u8>>> = read(planned);
    let description = reader.description().clone();
    let (me, count) = (mesh.me(), mesh.count());
    let mut prg = Prg::from_seed(Block::from_bits(u128::from(seed) << 8 | me as u128));
    let draws = Prg::from_seed(prg.next_block());
    let opening = Opening::new(me, count, correlated.delta(), &SessionId::new([7; 32]), prg);
    let inputs = own(&description, tables, me as u16);
    let driver = SpdzDriver::new(mesh, correlated, opening, &description, inputs, FieldName::F61);
    let mut recording = Recording { driver: driver.with_draws(draws), places: Vec::new() };
    let plan = description.plan.as_ref().expect("it is planned");
    assert_eq!(plan.spill_slot_count, 0, "all of it is in memory");
    let frames = FrameMemory::new(plan.frame_count as u32, plan.page_bytes() as u32);
    let mut memory = RunMemory::new(frames.expect("memory"), None);
    let regions = Regions::new(&description, plan.layout, RegionSwap::none());
    memory.regions = regions.expect("memory");
    run(&mut reader, &mut recording, &mut memory, &mut |_| true).map_err(|error| match error {
        RunError::Driver(error) => error,
        error => panic!("no peer can do that, seed {seed}: {error}"),
    })?;
    let rounds = recording.driver.rounds();
    assert_eq!(rounds, plan.costs[totals::ROUNDS], "rounds of {me}, seed {seed}");
    let (mesh, outputs, _) = recording.driver.into_parts();
    Ok((PartyRun { outputs: outputs.into_tables(), opened: recording.places }, mesh))
}

/// Correlated randomness of a dealer.
pub fn dealer(me: usize, parties: usize, seed: u64) -> Dealer<F61> {
    Dealer::insecure(Block::from_bits(seed.into()), me, parties)
}

/// Runs a plan as all parties, with correlated randomness of a dealer. Each sends as many bytes, in as many rounds, as the
/// plan states.
pub fn run_all(planned: &[u8], tables: &[Table], seed: u64) -> Vec<PartyRun> {
    let description = read(planned).description().clone();
    let parties = description.parties.len();
    let costs = &description.plan.as_ref().expect("it is planned").costs;
    assert!(costs[of_checks::MAC_CHECKS] > 0, "outputs are checked");
    thread::scope(|scope| {
        let start = |mesh: Parties<MemoryChannel>| {
            scope.spawn(move || {
                let me = mesh.me();
                let correlated = dealer(me, parties, seed);
                let ran = run_party(planned, tables, (mesh, correlated), seed);
                let (run, mesh) = ran.expect("nobody deviates");
                let sent: u64 = mesh.traffic().iter().map(|link| link.sent_bytes).sum();
                assert_eq!(sent, costs[&totals::online_bytes(me)], "bytes of {me}, seed {seed}");
                run
            })
        };
        let running: Vec<_> = memory_mesh(parties).into_iter().map(start).collect();
        running.into_iter().map(|party| party.join().expect("a party succeeds")).collect()
    })
}
