//! How the memory limit is shared out: what a party's process needs besides frames, and so how
//! many frames there can be.
//!
//! Everything that the process may ever have resident is counted, at its most; what is left are
//! frames. The same arithmetic is used to explain, to plan and to run, so that they agree.

mod figures;
mod making;

use std::time::Duration;

use phineus_bytecode::{Description, Layout};
use phineus_channels::{
    CONNECTING_MEMORY_BYTES, NetworkModel, QUIC_MEMORY_BYTES, SEND_AHEAD_BYTES_MIN, Transport,
    channel_memory_bytes,
};
use phineus_correlated::demand::BatchScale;
use phineus_engine::Storage;
use phineus_protocols::spdz::Masks;
use phineus_tables::quantity;

use crate::choices::ProtocolVariant;
use crate::disclosed::Disclosed;
use crate::execute::STORAGE_DEPTH;
use crate::failure::{Failure, Remedy, RunField, codes};
use crate::planned::Budget;
use crate::protocol::{CostTerms, Protocol, STREAMS_MAX};

pub use crate::process_memory::{OPTIMISED_PROCESS_BYTES, PROCESS_BYTES, default_limit};
pub use figures::PlanFigures;

/// Memory of a process for the connections to each other party before a run touches more of it:
/// measured at 0.35 to 0.45 MiB.
const PEER_BYTES: u64 = 448 << 10;

/// All streams to a peer are connected at once, even where one alone is used later: what that takes
/// lies in what the one is counted with.
const _: () = assert!(
    STREAMS_MAX as usize * CONNECTING_MEMORY_BYTES <= channel_memory_bytes(SEND_AHEAD_BYTES_MIN)
);

/// Memory of a process that has any connections: code of TLS and of agreement.
const CONNECTED_BYTES: u64 = 1408 << 10;

/// Memory of QUIC: its code, and the thread that moves packets.
const QUIC_CODE_BYTES: u64 = 1 << 20;

/// The process of a party that has met so many others, with what it may still grow by: the release
/// build measured 14.3 to 14.7 MiB for two parties, 14.8 to 15.2 for three and 15.8 for five. A
/// process that measures more plans for more.
pub fn connected_process_bytes(peers: usize, transport: Transport) -> u64 {
    let quic = if transport == Transport::Quic { QUIC_CODE_BYTES } else { 0 };
    PROCESS_BYTES + CONNECTED_BYTES + peers as u64 * PEER_BYTES + quic
}

/// Refuses a limit that is too small for any program, before the others are waited for.
///
/// It states no least limit: that depends on the program and on the rows of all parties.
pub fn check_limit(limit_bytes: u64) -> Result<(), Failure> {
    if limit_bytes >= PROCESS_BYTES + PLANNER_BUFFERS_BYTES + scratch_memory(limit_bytes) {
        return Ok(());
    }
    let limit = quantity::bytes(limit_bytes);
    let message = format!("nothing fits into {limit}, whatever the program");
    Err(Failure::new(codes::MEMORY, message)
        .remedy("`phineus explain` with the rows of all parties states the least that works")
        .revealed(Disclosed::Nothing.sentence()))
}

/// Memory that the process may touch after it was measured: code of the protocol and of storage,
/// thread stacks, and pages that the heap does not give back.
pub const GROWTH_BYTES: u64 = 1 << 20;

/// A reader of planned programs, and its thread: 4096 decoded instructions of about 100 bytes, a frame
/// raw and compressed (at most 512 KiB each, 200 KiB in practice), and the decompressor (160 KiB).
const READER_BYTES: u64 = 1 << 20;

/// Memory of the planner that it does not count itself: buffers of instructions, next uses and
/// compressors (3 MiB) and the scheduler's window of 16,384 events (1.6 MiB).
pub const PLANNER_BUFFERS_BYTES: u64 = 5 << 20;

/// Memory for the temporary files of planning under a limit: a sixteenth of it. The rest of the
/// files is on disk.
pub fn scratch_memory(limit_bytes: u64) -> u64 {
    (limit_bytes / 16).min(SCRATCH_MEMORY_BYTES_MAX)
}

/// Programs of some three million instructions; less than the connections of a run take, which come
/// when planning is over, so that it adds nothing to what a run has at its peak.
const SCRATCH_MEMORY_BYTES_MAX: u64 = 4 << 20;

/// Parameters of the budget.
#[derive(Clone, Copy, Debug)]
pub struct BudgetParameters {
    /// The limit of the process.
    pub limit_bytes: u64,
    /// The least limit of all parties, which the order of instructions depends on.
    pub least_limit_bytes: u64,
    /// Limit on the bytes that a round opens, if it was stated.
    pub slice_bytes: Option<u64>,
    /// Whether authenticated inputs are proven to be in the range of their types.
    pub prove_inputs: bool,
    /// Memory of the process without any of the other parts.
    pub process_bytes: u64,
    /// Input and output tables.
    pub tables_bytes: u64,
    /// The largest tables of a client, where the limit is to do for clients, too.
    pub client_tables_bytes: Option<u64>,
    pub protocol: Protocol,
    /// How many parties compute.
    pub parties: usize,
    /// How many clients they have.
    pub clients: usize,
    /// How shares are made and opened.
    pub variant: ProtocolVariant,
    /// The longest time from question to answer between two parties; all know the same.
    pub round_trip: Duration,
    /// Whether that is long ([`is_far`](crate::slices::is_far)), also where the windows of what is made beside the run
    /// are those of a short one.
    pub is_far: bool,
    /// Transport that carries the messages.
    pub transport: Transport,
    /// A simulated network holds bytes back.
    pub network: Option<NetworkModel>,
}

impl BudgetParameters {
    pub fn page_bytes(&self) -> u64 {
        self.page_wires() * self.wire_bytes()
    }

    /// Bytes of a wire, or of a unit of shares.
    pub fn wire_bytes(&self) -> u64 {
        self.protocol.layout(self.parties).unit_bytes.into()
    }

    /// Parameters of the costs of a plan.
    pub fn cost_terms(&self, masks: Masks) -> CostTerms {
        let (parties, scale) = (self.parties, self.batch_scale());
        CostTerms { parties, scale, variant: self.variant, masks }
    }

    /// How values of a program with this description lie in memory.
    pub fn layout_of(&self, description: &Description) -> Layout {
        self.protocol.layout_of(description, self.parties)
    }

    /// Wires or units of a page.
    pub fn page_wires(&self) -> u64 {
        self.protocol.page_units(self.parties)
    }

    /// Connections of this party's process to others that compute, of those that are used. What is
    /// never used is never resident: the streams of the garbling where nothing is garbled, and of
    /// correlated randomness where none is made.
    fn channels(&self, is_garbled: bool, is_made: bool) -> u64 {
        let unused = u16::from(!is_garbled) + u16::from(!is_made);
        let streams = self.protocol.streams().min(STREAMS_MAX - unused);
        u64::from(streams) * (self.parties as u64).saturating_sub(1)
    }

    /// Memory of the connections to clients, which are not made smaller (`shared::take_clients`).
    fn client_channel_bytes(&self) -> u64 {
        self.channel_bytes(BatchScale::FULL) * self.clients as u64
    }

    /// Memory of a connection.
    pub fn channel_bytes(&self, scale: BatchScale) -> u64 {
        let network = self.network.as_ref().map_or(0, NetworkModel::memory_bytes) as u64;
        let transport = match self.transport {
            Transport::Tcp => 0,
            Transport::Quic => QUIC_MEMORY_BYTES as u64,
        };
        channel_memory_bytes(scale.ahead_bytes()) as u64 + transport + network
    }

    /// Memory of all connections.
    pub fn connections_bytes(&self, scale: BatchScale, is_garbled: bool, is_made: bool) -> u64 {
        let computing = self.channel_bytes(scale) * self.channels(is_garbled, is_made);
        computing + self.client_channel_bytes()
    }

    /// The shares for a plan with these figures; `frames` as well.
    pub fn budget(&self, figures: PlanFigures) -> Budget {
        let (frames, slots) = (figures.frames, figures.slots);
        Budget {
            process: self.process_bytes,
            tables: self.tables_bytes,
            channel: self.connections_bytes(
                figures.scale,
                figures.garbling_bytes > 0 || figures.takes_half_gates,
                figures.making.is_made,
            ),
            driver: self.driver_bytes(&figures)
                + self.window_bytes(figures.scale, figures.garbling_bytes > 0),
            scratch: figures.scratch_wires * self.wire_bytes()
                + figures.held_bytes
                + figures.making.ready_bytes
                + figures.making.silent_bytes
                + figures.state_bytes
                + figures.garbling_bytes
                + figures.circuit_bytes,
            readers: 2 * (READER_BYTES + figures.index_bytes),
            storage: match slots {
                0 => 0,
                _ => Storage::memory_bytes(frames as u32, slots as u32, STORAGE_DEPTH),
            },
            frames: frames * self.page_bytes(),
            planning: self.planning_bytes(&figures),
        }
    }

    /// Peak memory of planning, before the other parts exist: buffers, the circuits, and the
    /// recording of the largest one.
    fn planning_bytes(&self, figures: &PlanFigures) -> u64 {
        let recording = self.protocol.recording_bytes_per_two() * figures.largest_circuit_bytes / 2;
        let planner = figures.planner_bytes + figures.template_bytes + recording;
        self.process_bytes + self.tables_bytes + planner + self.planner_buffers_bytes()
    }

    /// Memory of planning besides its tables and circuits: buffers, and files of which the beginning
    /// is in memory.
    pub fn planner_buffers_bytes(&self) -> u64 {
        PLANNER_BUFFERS_BYTES + scratch_memory(self.limit_bytes)
    }

    /// The peak of a client's process whose inputs and outputs take `tables_bytes`: it orders the
    /// program as those who compute do, and then reads it again beside its connections.
    pub fn client_peak_bytes(&self, tables_bytes: u64, planner_bytes: u64) -> u64 {
        let channels = self.channel_bytes(BatchScale::FULL) * self.parties as u64;
        let planning = self.planner_buffers_bytes() + planner_bytes;
        self.process_bytes + tables_bytes + planning.max(channels + READER_BYTES)
    }

    /// Frames that fit when the other figures are these.
    pub fn frames(&self, figures: PlanFigures) -> u64 {
        let total = |frames| self.budget(PlanFigures { frames, ..figures }).running();
        // Storage keeps a note of each frame besides the frame itself.
        let each = total(1) - total(0);
        self.limit_bytes.saturating_sub(total(0)) / each
    }
}

/// A reader's note of where a frame of the program is.
pub const INDEX_ENTRY_BYTES: u64 = 40;

/// The advice to give at least so many bytes, a whole number of mebibytes.
pub(crate) fn more_memory(bytes: u64) -> Remedy {
    Remedy::new("give ").field(RunField::Memory).and(format!(" {}MiB or more", bytes >> 20))
}

/// The refusal when `needed` bytes are more than the limit.
pub fn does_not_fit(limit: u64, needed: u64) -> Failure {
    // Rounded up to a whole MiB, so that what is printed is enough when it is typed.
    let needed = needed.div_ceil(1 << 20) << 20;
    let message = format!(
        "this does not fit into {}: it needs at least {}",
        quantity::bytes(limit),
        quantity::bytes(needed)
    );
    let failure = Failure::new(codes::MEMORY, message).remedy(more_memory(needed));
    Failure { needed_bytes: Some(needed), ..failure }
}

#[cfg(test)]
mod tests;
