//! Garbling by any number of parties beside a run: its memory, its thread, its tables.

mod blocks;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use phineus_bytecode::{Description, PlanDescription, verify_without_ports};
use phineus_channels::{FramedChannel, Parties};
use phineus_correlated::demand::BatchScale;
use phineus_crypto::Prg;
use phineus_engine::{Storage, StorageBackend};
use phineus_ot::{FieldBits, SessionId};
use phineus_plan::{Scratch, check};
use phineus_protocols::batch_scale;
use phineus_protocols::bmr::costs::totals::{GARBLING_ROUNDS, SCRATCH_BYTES, Y_AND_GATES};
use phineus_protocols::bmr::limits::memory_bytes;
use phineus_protocols::bmr::{
    FinishedGarbling, GarbledTables, Garbling, GarblingProgram, GarblingThread, TableKey,
};
use phineus_protocols::mixed::HalfGateGarbling;
use phineus_protocols::{ProtocolError, garbled};
use sha2::{Digest, Sha256};

use crate::correlated::{dealer_seed, made_at};
use crate::execute::{STORAGE_DEPTH, frames_and_swap};
use crate::failure::{Failure, codes};
use crate::leftovers::Leftovers;
use crate::metered::{CounterSnapshot, Metered, PhaseFigures};
use crate::planned::{GarblingNeeds, GarblingPlan, PAGE_WIRES, PlannedFile};
use crate::program_file::ProgramFile;
use crate::traced::TracedFile;

pub use blocks::{bytes_of_blocks, write_blocks};

/// Name that the plan of a garbling program states in place of a protocol.
pub(crate) const PROTOCOL: &str = "garbling";

/// The channels of one stream.
type Stream = Parties<Metered<FramedChannel>>;

impl GarblingNeeds {
    fn of(figures: &PlanDescription) -> GarblingNeeds {
        let total = |name: &str| figures.costs.get(name).copied();
        GarblingNeeds {
            frames: figures.frame_count,
            slots: figures.spill_slot_count,
            circuit_bytes: total(SCRATCH_BYTES).unwrap_or(0),
            gates: total(Y_AND_GATES).unwrap_or(u64::MAX),
        }
    }

    pub(crate) fn frames_bytes(self) -> u64 {
        self.frames * PAGE_WIRES * 16
    }

    /// Frames and what moves their pages.
    fn paged_bytes(self) -> u64 {
        let storage = match self.slots {
            0 => 0,
            slots => Storage::memory_bytes(self.frames as u32, slots as u32, STORAGE_DEPTH),
        };
        self.frames_bytes() + storage
    }
}

/// If `ordered` is a block, the description of the program of all that is garbled beside blocks.
pub(crate) fn described_beside(ordered: &ProgramFile) -> Option<Arc<Description>> {
    ordered.program().map(|program| Arc::new(GarblingProgram::describe(&program)))
}

impl GarblingPlan {
    /// A plan with what it will hold.
    pub(crate) fn new(
        file: ProgramFile,
        figures: &PlanDescription,
        (parties, scale): (usize, BatchScale),
    ) -> GarblingPlan {
        let needs = GarblingNeeds::of(figures);
        let sizes = (FieldBits::DEFAULT, scale);
        let state = memory_bytes(parties, sizes, needs.circuit_bytes, needs.gates);
        GarblingPlan { file, bytes: needs.paged_bytes() + state, needs, scale }
    }

    /// The garbling of a plan that was made before; nothing if it garbles nothing, and is of no
    /// block of a program of which another one `is_garbled`.
    ///
    /// # Errors
    /// If the file lacks it, or it is not of that plan, as far as figures and form show: `check`
    /// proves the rest.
    pub fn open(
        planned: &TracedFile,
        (plan, is_garbled): (&PlanDescription, bool),
        parties: usize,
    ) -> Result<Option<GarblingPlan>, Failure> {
        let stated = |plan: &PlanDescription, name: &str| plan.costs.get(name).copied();
        if !is_garbled && stated(plan, GARBLING_ROUNDS).unwrap_or(0) == 0 {
            return Ok(None);
        }
        let refused = |message: &str| {
            Failure::new(codes::OTHER_GARBLING, message).remedy("plan the program again")
        };
        let Some(file) = planned.file.garbling() else {
            return Err(refused("the plan lacks what is to be garbled beside it"));
        };
        let mut reader = file.reader()?;
        reader.verify_hash()?;
        if let Some(violation) = verify_without_ports(&mut reader, is_garbled)?.first() {
            return Err(refused(&format!("in what is garbled beside the plan: {violation}")));
        }
        let Some(figures) = reader.description().plan.clone() else {
            return Err(refused("what is garbled beside the plan is not planned"));
        };
        let gates = stated(&figures, Y_AND_GATES);
        let fits = figures.protocol == PROTOCOL
            && (figures.layout, figures.page_wires) == (garbled::layout(), PAGE_WIRES)
            && figures.frame_count.max(figures.spill_slot_count) < u64::from(u32::MAX)
            && reader.description().parties == planned.description.parties
            && reader.description().slots == planned.description.slots
            && gates.is_some()
            && gates == stated(plan, Y_AND_GATES);
        if !fits {
            return Err(refused("what is garbled beside the plan is of another one"));
        }
        let scale = batch_scale(plan);
        Ok(Some(GarblingPlan::new(file, &figures, (parties, scale))))
    }

    /// The planned garbling program.
    pub fn file(&self) -> &ProgramFile {
        &self.file
    }

    /// Checks the garbling plan in the file of a plan, which was made from `ordered`.
    pub fn check(
        ordered: &TracedFile,
        planned: &TracedFile,
        scratch: &Scratch,
    ) -> Result<Vec<String>, Failure> {
        let (file, written) = GarblingProgram::derive(&mut ordered.file.reader()?, scratch.file())?;
        let meant = ProgramFile::new_block(file, described_beside(&ordered.file));
        let Some(beside) = planned.file.garbling() else {
            let fault = "the plan lacks what is to be garbled beside it";
            let is_lacking = written.instruction_count > 0;
            return Ok(is_lacking.then(|| fault.to_owned()).into_iter().collect());
        };
        let mut reader = beside.reader()?;
        let plan = reader.description().plan.as_ref();
        if plan.map(|plan| plan.program_hash.as_str()) != Some(&written.hash.to_string()) {
            return Ok(vec!["what is garbled beside the plan is of another program".to_owned()]);
        }
        let faults = check(&mut meant.reader()?, &mut reader)?;
        Ok(faults.into_iter().map(|fault| format!("garbled beside it: {fault}")).collect())
    }

    /// Sets garbling up and starts its thread; its oblivious transfers are dealt where there is no
    /// security anyhow.
    fn start(
        &self,
        parties: Stream,
        prg: Prg,
        (session, is_dealt): (&SessionId, bool),
        (swap_dir, backend): (&Path, StorageBackend),
    ) -> Result<Started, Failure> {
        let garbling = set_up_any(parties, prg, (session, is_dealt))?.with_scale(self.scale);
        let reader = self.file.reader()?;
        let figures = reader.description().plan.clone().expect("it was planned");
        let directory = swap_dir.to_owned();
        let memory = move || frames_and_swap(&figures, &directory, backend);
        garbling.start(reader, memory).map_err(no_thread)
    }
}

/// Tables to come, and the thread that makes them.
type Started = (GarbledTables, GarblingThread<Metered<FramedChannel>>);

fn no_thread(error: std::io::Error) -> Failure {
    Failure::new(codes::NO_THREAD, format!("cannot start a thread: {error}"))
}

impl PlannedFile {
    /// Sets garbling up and starts its thread, where something is garbled; of several blocks, of
    /// which each may run so often.
    pub fn start_garbling(
        &self,
        parties: Stream,
        prg: Prg,
        session: (&SessionId, bool),
        place: (&Path, StorageBackend),
        turns_max: u64,
    ) -> Result<Started, Failure> {
        match &self.blocks {
            Some(parts) => blocks::start((self, parts), parties, prg, session, place, turns_max),
            None => {
                let garbling = self.garbling.as_ref().expect("the caller has looked");
                garbling.start(parties, prg, session, place)
            }
        }
    }
}

/// Garbled tables that were stored for a later run.
pub struct StoredTables {
    pub key: TableKey,
    pub bytes: u64,
    /// Oblivious transfers with each peer.
    pub ots: u64,
    pub figures: PhaseFigures,
    pub parties: Stream,
}

impl GarblingPlan {
    /// Garbles all into the file at `path`, together with the others; it is one of `leftovers`
    /// until it is complete.
    pub fn store(
        &self,
        parties: Stream,
        mut prg: Prg,
        session: &SessionId,
        (path, leftovers): (&Path, &Leftovers),
        (swap_dir, backend): (&Path, StorageBackend),
    ) -> Result<StoredTables, Failure> {
        let start = Instant::now();
        let key = TableKey::draw(&mut prg);
        let garbling = set_up(parties, prg, session)?.with_scale(self.scale);
        let mut reader = self.file.reader()?;
        let figures = reader.description().plan.clone().expect("it was planned");
        let mut memory = frames_and_swap(&figures, swap_dir, backend)?;
        let store = |unfinished| garbling.store(&mut reader, &mut memory, unfinished, &key);
        let (FinishedGarbling { mut parties, ots }, bytes) = made_at(path, leftovers, store)?;
        let figures = CounterSnapshot::of_parties(&mut parties)
            .since(&CounterSnapshot::default(), start.elapsed());
        Ok(StoredTables { key, bytes, ots, figures, parties })
    }
}

fn set_up_any(
    parties: Stream,
    prg: Prg,
    (session, is_dealt): (&SessionId, bool),
) -> Result<Garbling<Metered<FramedChannel>>, Failure> {
    match is_dealt {
        true => Ok(Garbling::insecure(parties, prg, session, dealer_seed(session))?),
        false => set_up(parties, prg, session),
    }
}

fn set_up(
    parties: Stream,
    prg: Prg,
    session: &SessionId,
) -> Result<Garbling<Metered<FramedChannel>>, Failure> {
    Ok(Garbling::set_up(parties, prg, &own_session(session), FieldBits::DEFAULT)?)
}

/// The session of garbling: the other oblivious transfers of the run have one of their own.
fn own_session(session: &SessionId) -> SessionId {
    let own = Sha256::new().chain_update("phineus garbling").chain_update(session.as_bytes());
    SessionId::new(own.finalize().into())
}

/// Sets up half gates of two parties.
pub fn set_up_half_gates(
    parties: Stream,
    prg: &mut Prg,
    session: &SessionId,
) -> Result<HalfGateGarbling<Metered<FramedChannel>>, Failure> {
    Ok(HalfGateGarbling::set_up(parties, prg, &own_session(session))?)
}

/// A garbling that has been started, or the stream that one would have had.
pub enum GarblingHandle {
    Idle(Option<Stream>),
    Garbling(GarblingThread<Metered<FramedChannel>>),
}

impl GarblingHandle {
    /// The stream, when all is garbled, and the oblivious transfers that it took with each peer.
    pub fn finish(self) -> Result<(Option<Stream>, u64), ProtocolError> {
        match self {
            GarblingHandle::Idle(stream) => Ok((stream, 0)),
            GarblingHandle::Garbling(thread) => {
                thread.join().map(|made| (Some(made.parties), made.ots))
            }
        }
    }
}
