//! Settings of a run: what a caller states before the parties meet.

use std::path::PathBuf;

use phineus_channels::{MemoryNetwork, NetworkModel, Transport};
use phineus_engine::StorageBackend;
use phineus_tables::TextKey;

pub use crate::choices::{
    BroadcastChoice, Choice, GarblerChoice, GpuChoice, NARROW_MASKS, NO_OPTIMISE, NarrowMasks,
    Optimisation, OtExtension, PreprocessingMode, ProtocolVariant, RepeatKeys, VariantChoices,
    Y2aChoice,
};
pub use crate::inputs::{InputTable, TableFrom};
pub use crate::leftovers::Leftovers;
pub use crate::level_order::LevelOrder;
pub use crate::memory_pool::{MemoryLimit, MemoryPool, Reservation};
pub use crate::output_table::{OutputTable, TableTo};
pub use crate::protocol::{Protocol, ProtocolChoice, list as protocols};

/// The program and its public parameters.
#[derive(Clone, Debug, Default)]
pub struct ProgramChoice {
    /// The name of a program of the registry, or a file: C (.c), text (.phi), a Bristol circuit
    /// (.txt), a traced or planned program. `None` is the registry's only program.
    pub program: Option<String>,
    /// Public parameters: name and value.
    pub parameters: Vec<(String, String)>,
    /// Whether the source line of each instruction is noted ([`crate::source_costs`]).
    pub notes_sources: bool,
    /// Whether networks may be traced level by level.
    pub levels: Option<LevelOrder>,
}

/// Numbers of rows, for sessions that read no values.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    /// Input and number of rows.
    pub rows: Vec<(String, String)>,
    /// Tables whose rows are counted.
    pub inputs: Vec<InputTable>,
    /// How the files are read.
    pub reading: Reading,
}

/// The memory limit, and storage for pages that do not fit.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// How much memory the session may take.
    pub memory: MemoryLimit,
    /// The directory of the swap file and of plans; the system's temporary directory if not stated.
    pub swap_dir: Option<PathBuf>,
    /// How pages move to and from storage.
    pub storage: StorageBackend,
    /// Whether a CUDA device multiplies matrices.
    pub gpu: GpuChoice,
    /// Unfinished files, which a caller removes if it ends its process before the session has ended.
    pub leftovers: Leftovers,
}

/// How a party reaches the others.
#[derive(Clone, Debug)]
pub enum Connections {
    /// Over a network, or between processes of one machine.
    Cluster(Cluster),
    /// All parties are threads of this process, and each has a clone of this network. There are no
    /// keys, and no addresses; the parties have the names of the program.
    Memory(MemoryNetwork),
}

impl Default for Connections {
    fn default() -> Connections {
        Connections::Cluster(Cluster::default())
    }
}

impl Connections {
    /// The cluster, if the parties have addresses.
    pub fn cluster(&self) -> Option<&Cluster> {
        match self {
            Connections::Cluster(cluster) => Some(cluster),
            Connections::Memory(_) => None,
        }
    }
}

/// Parties that have addresses and keys.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// The file with the names and addresses of the parties.
    pub file: PathBuf,
    /// The directory of this party's key and of the keys that it trusts.
    pub id_dir: PathBuf,
    /// Whether connections are without TLS; refused unless all parties are on this machine.
    pub plain: bool,
    /// The transport; `None` takes that of the file.
    pub transport: Option<Transport>,
}

impl Default for Cluster {
    fn default() -> Cluster {
        Cluster {
            file: PathBuf::from("cluster.toml"),
            id_dir: PathBuf::from("phineus-id"),
            plain: false,
            transport: None,
        }
    }
}

/// The parties, their connections, and the protocol.
#[derive(Clone, Debug)]
pub struct Participation {
    /// The name of this party.
    pub as_party: Option<String>,
    /// How it reaches the others.
    pub connections: Connections,
    /// The protocol.
    pub protocol: ProtocolChoice,
    /// Tells runs of the same parties apart: a party that states another label is refused.
    pub label: String,
    /// The OT extension that makes triples.
    pub ot: OtExtension,
    /// Variants of protocols on shares.
    pub variants: VariantChoices,
    /// The key of stored preprocessing; `stored.key` beside the party's own key if not stated.
    pub stored_key: Option<PathBuf>,
    /// A slower network to simulate.
    pub simulate: Option<NetworkModel>,
    /// How long to wait for the other parties, in seconds.
    pub timeout_s: u64,
    /// Whether one caller runs all parties; messages that concern all are then printed only for the
    /// first.
    pub is_all_ours: bool,
}

impl Default for Participation {
    fn default() -> Participation {
        Participation {
            as_party: None,
            connections: Connections::default(),
            protocol: ProtocolChoice::This(protocols::GARBLED),
            label: String::new(),
            ot: OtExtension::default(),
            variants: VariantChoices::default(),
            stored_key: None,
            simulate: None,
            timeout_s: 60,
            is_all_ours: false,
        }
    }
}

/// Computing parties and clients, by name.
#[derive(Clone, Debug, Default)]
pub struct Outsourcing {
    /// The parties that compute; the program's parties if empty.
    pub computing: Vec<String>,
    /// Owners of inputs, as `[INPUT=]NAME`.
    pub inputs_from: Vec<String>,
    /// Receivers of outputs, as `[OUTPUT=]NAME`.
    pub outputs_to: Vec<String>,
}

impl Outsourcing {
    /// Returns whether anything is stated.
    pub fn is_stated(&self) -> bool {
        !(self.computing.is_empty() && self.inputs_from.is_empty() && self.outputs_to.is_empty())
    }

    /// The options of a command line that state the same.
    pub fn typed(&self, computing: &[String]) -> Vec<String> {
        let options = [
            ("--computing", computing),
            ("--inputs-from", &self.inputs_from[..]),
            ("--outputs-to", &self.outputs_to[..]),
        ];
        let stated = options.into_iter().filter(|(_, values)| !values.is_empty());
        stated.flat_map(|(name, values)| [name.to_owned(), values.join(",")]).collect()
    }
}

/// How input files are read.
#[derive(Clone, Default)]
pub struct Reading {
    /// Columns that have other names in the file, as `[INPUT.]WANTED=FOUND`.
    pub columns: Vec<String>,
    /// Treatment of rows that repeat a key which must be unique.
    pub repeat_keys: RepeatKeys,
    /// The key for hashing texts, if one process chooses it for all parties.
    pub text_key: Option<TextKey>,
}

impl std::fmt::Debug for Reading {
    /// Omits the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading")
            .field("columns", &self.columns)
            .field("repeat_keys", &self.repeat_keys)
            .finish_non_exhaustive()
    }
}

/// Default limit on the runs of a basic block: days of even the shortest loop.
pub const ITERATIONS_MAX: u64 = 1_000_000_000;

/// A run of one party.
#[derive(Clone, Debug)]
pub struct Run {
    /// The program.
    pub choice: ProgramChoice,
    /// The parties and the protocol.
    pub together: Participation,
    /// Computing parties and clients.
    pub outsourcing: Outsourcing,
    /// This party's tables.
    pub inputs: Vec<InputTable>,
    /// How they are read.
    pub reading: Reading,
    /// Destinations of results besides [`crate::party::Finished`].
    pub outputs: Vec<OutputTable>,
    /// Memory and storage.
    pub resources: Resources,
    /// The network that predictions are for; all parties state the same.
    pub net: Option<NetworkModel>,
    /// When correlated randomness is made.
    pub preprocessing: PreprocessingMode,
    /// Who garbles, at the garbler's side of `garbled`.
    pub garbler: GarblerChoice,
    /// Cells of the overlay that garbles; 1 for other garblers.
    pub garbler_cells: u32,
    /// Threads that compute on authenticated shares, besides those of the connections.
    pub threads: u8,
    /// Bytes that one round of openings may take on authenticated shares; if `None`, chosen from
    /// memory and network.
    pub slice_bytes: Option<u64>,
    /// Limit on the runs of any basic block that may run more than once.
    pub max_iterations: u64,
    /// The correlated randomness to make; only for [`crate::party::preprocess`].
    pub making: Option<PreprocessSettings>,
}

impl Default for Run {
    fn default() -> Run {
        Run {
            choice: ProgramChoice::default(),
            together: Participation::default(),
            outsourcing: Outsourcing::default(),
            inputs: Vec::new(),
            reading: Reading::default(),
            outputs: Vec::new(),
            resources: Resources::default(),
            net: None,
            preprocessing: PreprocessingMode::Interleaved,
            garbler: GarblerChoice::Software,
            garbler_cells: 1,
            threads: 1,
            slice_bytes: None,
            max_iterations: ITERATIONS_MAX,
            making: None,
        }
    }
}

impl Run {
    /// A run of a program: one that the registry knows by this name, or a file.
    pub fn of(program: impl Into<String>) -> Run {
        let mut run = Run::default();
        run.choice.program = Some(program.into());
        run
    }

    /// The network that predictions are for: the stated one, or the simulated one.
    pub fn network(&self) -> Option<NetworkModel> {
        self.net.or(self.together.simulate)
    }
}

/// Correlated randomness to be made and stored.
#[derive(Clone, Debug)]
pub struct PreprocessSettings {
    /// The file; with `--local` the directory of all parties' files.
    pub out: PathBuf,
    /// Numbers of rows, by input.
    pub rows: Vec<(String, String)>,
}

/// Text of a network, as [`NetworkModel::parse`] reads it.
pub fn network_text(network: &NetworkModel) -> String {
    let mut text = format!("rtt={}us", network.rtt.as_micros());
    if let Some(bits) = network.bandwidth_bits_per_second {
        text.push_str(&format!(",bw={}kbit", bits.div_ceil(1000)));
    }
    text
}
