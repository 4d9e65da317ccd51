//! The command line as it is typed; each option is described once, here.

mod choices;
mod inputs;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use phineus_channels::{NetworkModel, Transport};
use phineus_engine::StorageBackend;
use phineus_session::settings::{
    self, GpuChoice, InputTable, MemoryLimit, OtExtension, OutputTable, PreprocessingMode,
    Protocol, ProtocolChoice,
};
use phineus_tables::quantity::parse_size;

pub(crate) use choices::OtChoice;
pub(crate) use inputs::{OutsourcingArguments, ReadingArguments};

use choices::{VariantArguments, choice};

use crate::leftovers::leftovers;

/// Printed below the help.
const AFTER_HELP: &str = "\
Exit codes: 0 ok, 1 run-time error, 2 usage, 3 program refused, 4 peer lost, 5 peer cheated,
6 does not fit, 7 parties disagree, 8 bad input, 130 interrupted.
Results go to stdout or --out, everything else to stderr. A flag takes precedence over a PHINEUS_*
variable, the variable over cluster.toml, and cluster.toml over the default.
Start with `phineus demo`.";

/// Computes on the combined data of several parties without showing it to any of them.
#[derive(Parser)]
#[command(name = "phineus", version, after_help = AFTER_HELP, arg_required_else_help = true)]
#[command(propagate_version = true, infer_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// Print one JSON document to stdout instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print more: after a run, predicted and measured figures, and each phase
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Print only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run an example on this machine: generated data, a memory limit, and a check of the answer
    Demo(DemoArguments),
    /// Run a program as one party, or with --local all parties on this machine
    Run(RunArguments),
    /// Make the triples and garbled tables of a later run together with the other parties, and store
    /// them encrypted
    ///
    /// This needs only the numbers of rows, not the inputs. The file serves one run
    /// (--preprocessing stored=FILE) of the same program and sizes by the same parties. Once a run has
    /// begun to use it, it cannot be used again, even if that run fails. It is encrypted under a key
    /// that stays in --id-dir: without the key, or after the run, nobody can read it.
    Preprocess(PreprocessArguments),
    /// State exactly what a run would cost and reveal, without running it
    Explain(ExplainArguments),
    /// Plan a program and write the plan to a file
    Plan(PlanArguments),
    /// Print a program or a planned program as text
    Show(ShowArguments),
    /// Prove that a plan computes its program, or check a program; for C, state what it would leak
    Check(CheckArguments),
    /// List the built-in programs
    Programs(ProgramsArguments),
    /// Generate input files for a program
    Data(DataArguments),
    /// Report the kernels, storage, memory and peers of this machine
    Doctor(DoctorArguments),
    /// Make keys, and trust the keys of other parties
    Id(IdArguments),
    /// Measure the speed of this machine
    Bench(BenchArguments),
    /// Explain a command or an error code
    Help(HelpArguments),
    /// Read a C program for another process of Phineus, which asks on stdin
    #[command(hide = true)]
    ReadC(ReadC),
}

#[derive(Args)]
pub(crate) struct HelpArguments {
    /// A command such as `run` or `id trust`, or an error code such as E4102
    #[arg(value_name = "COMMAND OR CODE")]
    pub(crate) what: Vec<String>,
}

#[derive(Args)]
pub(crate) struct ReadC {
    /// The C program
    pub(crate) program: PathBuf,
}

impl Command {
    /// Returns whether this process is one party of a local run; its parent prints for all parties.
    pub(crate) fn is_child(&self) -> bool {
        match self {
            Command::Run(run) => run.together.child.is_some(),
            Command::Preprocess(make) => make.together.child.is_some(),
            _ => false,
        }
    }
}

#[derive(Args)]
pub(crate) struct ProgramsArguments {
    /// Describe one program: a name, a circuit, a directory of circuits or a C program
    pub(crate) name: Option<String>,
    /// A public parameter, on which the columns of tables may depend, as in key=id:u64
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parse_pair, requires = "name")]
    pub(crate) parameters: Vec<(String, String)>,
}

/// The program and its public parameters.
#[derive(Args, Clone)]
pub(crate) struct ProgramArguments {
    /// The name of a built-in program (see `phineus programs`), a C program (.c), a program as text
    /// (.phi), a Bristol circuit (.txt), or a traced or planned file
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: Option<String>,
    /// A public parameter of the program, as in n=1000
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parse_pair)]
    pub(crate) parameters: Vec<(String, String)>,
}

impl ProgramArguments {
    pub(crate) fn settings(&self) -> settings::ProgramChoice {
        let ProgramArguments { program, parameters } = self.clone();
        settings::ProgramChoice { program, parameters }
    }
}

/// Numbers of rows, for commands that read no values.
#[derive(Args, Clone, Default)]
pub(crate) struct RowCountArguments {
    /// The number of rows of an input, as in site_a=100000
    #[arg(long, value_name = "INPUT=ROWS", value_parser = parse_pair)]
    pub(crate) rows: Vec<(String, String)>,
    /// An input file; only its rows are counted
    #[arg(long = "in", value_name = "[NAME=]FILE")]
    pub(crate) inputs: Vec<String>,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
}

impl RowCountArguments {
    pub(crate) fn settings(&self) -> settings::Sizes {
        let RowCountArguments { rows, inputs, reading } = self.clone();
        settings::Sizes { rows, inputs: input_tables(&inputs), reading: reading.settings() }
    }
}

/// Input tables as `--in` names them.
fn input_tables(arguments: &[String]) -> Vec<InputTable> {
    arguments.iter().map(|argument| InputTable::parse(argument)).collect()
}

/// The memory limit, and storage for pages that do not fit.
#[derive(Args, Clone)]
pub(crate) struct ResourceArguments {
    /// The limit on the resident memory of a party's process, including its code, such as 256MiB; if
    /// it is too small, the message states the least limit that works
    #[arg(long, value_name = "SIZE", env = "PHINEUS_MEMORY", value_parser = parse_size)]
    pub(crate) memory: Option<u64>,
    /// Directory of the swap file and the plan during a run
    #[arg(long, value_name = "DIR", env = "PHINEUS_SWAP_DIR")]
    pub(crate) swap_dir: Option<PathBuf>,
    /// How pages move to and from storage
    #[arg(long, value_name = "BACKEND", default_value = "auto", env = "PHINEUS_STORAGE")]
    #[arg(value_parser = choice::<StorageBackend>())]
    pub(crate) storage: StorageBackend,
    /// When a CUDA device multiplies matrices
    #[arg(long, value_name = "WHEN", default_value = "auto", env = "PHINEUS_GPU")]
    #[arg(value_parser = choice::<GpuChoice>())]
    pub(crate) gpu: GpuChoice,
}

impl ResourceArguments {
    pub(crate) fn settings(&self) -> settings::Resources {
        let ResourceArguments { swap_dir, storage, gpu, .. } = self.clone();
        let leftovers = leftovers().clone();
        settings::Resources { memory: self.limit(), swap_dir, storage, gpu, leftovers }
    }

    /// The memory limit of a process.
    pub(crate) fn limit(&self) -> MemoryLimit {
        self.memory.map_or(MemoryLimit::Default, MemoryLimit::Process)
    }
}

/// The parties, their addresses and the protocol.
#[derive(Args, Clone)]
pub(crate) struct PartyArguments {
    /// Run all parties on this machine, each in its own process
    #[arg(long, conflicts_with_all = ["as_party", "cluster"])]
    pub(crate) local: bool,
    /// The name of this party in cluster.toml
    #[arg(long = "as", value_name = "NAME", env = "PHINEUS_AS")]
    pub(crate) as_party: Option<String>,
    /// The file with the names and addresses of the parties
    #[arg(long, value_name = "FILE", env = "PHINEUS_CLUSTER", default_value = "cluster.toml")]
    pub(crate) cluster: PathBuf,
    /// Directory of the keys
    #[arg(long, value_name = "DIR", env = "PHINEUS_ID_DIR", default_value = "phineus-id")]
    pub(crate) id_dir: PathBuf,
    /// The protocol
    #[arg(long, value_name = "NAME", default_value = "garbled", env = "PHINEUS_PROTOCOL")]
    #[arg(value_parser = choice::<ProtocolChoice>())]
    pub(crate) protocol: ProtocolChoice,
    /// A name for this run, such as an order number; all parties must state the same
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    #[arg(env = "PHINEUS_LABEL")]
    pub(crate) label: String,
    /// The OT extension that makes triples; all parties must state the same
    #[arg(long, value_name = "NAME", default_value = "softspoken", env = "PHINEUS_OT")]
    #[arg(value_parser = choice::<OtExtension>())]
    pub(crate) ot: OtExtension,
    #[command(flatten)]
    pub(crate) variants: VariantArguments,
    /// The key file of stored preprocessing; made if it does not exist, readable only by its owner
    /// [default: stored.key in --id-dir; with --local NAME.key beside each file]
    #[arg(long, value_name = "FILE", env = "PHINEUS_STORED_KEY")]
    pub(crate) stored_key: Option<PathBuf>,
    /// Simulate a slower network, such as rtt=40ms,bw=100mbit
    #[arg(long, value_name = "MODEL", env = "PHINEUS_SIMULATE", value_parser = parse_network)]
    pub(crate) simulate: Option<NetworkModel>,
    /// Seconds to wait for the other parties to connect
    #[arg(long, value_name = "SECONDS", default_value_t = 60, env = "PHINEUS_TIMEOUT")]
    pub(crate) timeout: u64,
    /// Connect without TLS; refused unless all parties are on this machine
    #[arg(long)]
    pub(crate) plain: bool,
    /// The transport, `tcp` or `quic`, instead of the one in cluster.toml
    #[arg(long, value_name = "NAME", value_parser = parse_transport, env = "PHINEUS_TRANSPORT")]
    pub(crate) transport: Option<Transport>,
    /// Print machine-readable progress to stdout and write results to this directory (used by `--local`)
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) child: Option<PathBuf>,
}

impl PartyArguments {
    pub(crate) fn settings(&self) -> settings::Participation {
        let together = self.clone();
        settings::Participation {
            as_party: together.as_party,
            connections: settings::Connections::Cluster(settings::Cluster {
                file: together.cluster,
                id_dir: together.id_dir,
                plain: together.plain,
                transport: together.transport,
            }),
            protocol: together.protocol,
            label: together.label,
            ot: together.ot,
            variants: together.variants.choices(),
            stored_key: together.stored_key,
            simulate: together.simulate,
            timeout_s: together.timeout,
            is_all_ours: together.child.is_some(),
        }
    }
}

#[derive(Args, Clone)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) choice: ProgramArguments,
    #[command(flatten)]
    pub(crate) together: PartyArguments,
    #[command(flatten)]
    pub(crate) outsourcing: OutsourcingArguments,
    /// An input file, by the name of the input or its party: CSV with a header, .npy, and with the
    /// feature `parquet` .parquet and .arrow; - is stdin
    #[arg(long = "in", value_name = "[NAME=]FILE")]
    pub(crate) inputs: Vec<String>,
    #[command(flatten)]
    pub(crate) reading: ReadingArguments,
    /// The file of a result, by the name of the output if there are several; other results go to
    /// stdout. The extension states the format: .csv, .npy, and with the feature `parquet` .parquet
    /// and .arrow
    #[arg(long = "out", value_name = "[NAME=]FILE")]
    pub(crate) outputs: Vec<String>,
    #[command(flatten)]
    pub(crate) resources: ResourceArguments,
    /// The network, for --protocol auto (default: that of --simulate, or else one machine); all
    /// parties must state the same
    #[arg(long, value_name = "MODEL", value_parser = parse_network)]
    pub(crate) net: Option<NetworkModel>,
    /// When protocols on shares make triples: `interleaved` (in the background during the run),
    /// `sequential` (all before the computation), or `stored=FILE` (made earlier by `preprocess`; with
    /// --local `stored=DIR`)
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "interleaved",
        value_parser = PreprocessingMode::parse,
        env = "PHINEUS_PREPROCESSING"
    )]
    pub(crate) preprocessing: PreprocessingMode,
    /// Take correlated randomness from a simulated trusted dealer: NO SECURITY, only to measure the
    /// online phase; all parties must state it, including clients
    #[arg(long, conflicts_with = "preprocessing")]
    pub(crate) fake_preprocessing: bool,
    /// Threads that compute on authenticated shares, besides those of the connections
    #[arg(long, value_name = "COUNT", default_value_t = 1, env = "PHINEUS_THREADS")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) threads: u8,
    /// The memory that one round of openings may take on authenticated shares; the least of all
    /// parties counts [default: an eighth of the least --memory, at most 160MiB; less if rounds on the
    /// network are short]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) slice: Option<u64>,
    /// Compare the result with a plaintext computation (needs --local and all inputs)
    #[arg(long)]
    pub(crate) verify: bool,
    /// Number of runs; prints means and standard deviations (with --local)
    #[arg(long, value_name = "TIMES", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) repeat: u32,
    /// The most times that any part of a program with loops on opened values may run
    #[arg(long, value_name = "TIMES", default_value_t = settings::ITERATIONS_MAX)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..), env = "PHINEUS_MAX_ITERATIONS")]
    pub(crate) max_iterations: u64,
    /// The file for predicted and measured figures; `none` writes no file
    #[arg(long, value_name = "FILE", default_value = "run.json")]
    pub(crate) report: PathBuf,
}

impl RunArguments {
    /// The settings of the session.
    pub(crate) fn settings(&self) -> settings::Run {
        let preprocessing = match self.fake_preprocessing {
            true => PreprocessingMode::Fake,
            false => self.preprocessing.clone(),
        };
        settings::Run {
            choice: self.choice.settings(),
            together: self.together.settings(),
            outsourcing: self.outsourcing.clone().settings(),
            inputs: input_tables(&self.inputs),
            reading: self.reading.clone().settings(),
            outputs: self.outputs.iter().map(|output| OutputTable::parse(output)).collect(),
            resources: self.resources.settings(),
            net: self.net,
            preprocessing,
            threads: self.threads,
            slice_bytes: self.slice,
            max_iterations: self.max_iterations,
            making: None,
        }
    }
}

#[derive(Args, Clone)]
pub(crate) struct PreprocessArguments {
    #[command(flatten)]
    pub(crate) choice: ProgramArguments,
    #[command(flatten)]
    pub(crate) together: PartyArguments,
    #[command(flatten)]
    pub(crate) outsourcing: OutsourcingArguments,
    #[command(flatten)]
    pub(crate) sizes: RowCountArguments,
    #[command(flatten)]
    pub(crate) resources: ResourceArguments,
    /// The file to write; with --local a directory, with NAME.prep for each party
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

impl PreprocessArguments {
    /// The settings of a session that ends when its correlated randomness is made.
    pub(crate) fn settings(&self) -> settings::Run {
        settings::Run {
            choice: self.choice.settings(),
            together: self.together.settings(),
            outsourcing: self.outsourcing.clone().settings(),
            inputs: input_tables(&self.sizes.inputs),
            reading: self.sizes.reading.clone().settings(),
            resources: self.resources.settings(),
            making: Some(settings::PreprocessSettings {
                out: self.out.clone(),
                rows: self.sizes.rows.clone(),
            }),
            ..settings::Run::default()
        }
    }
}

#[derive(Args, Clone)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    pub(crate) choice: ProgramArguments,
    #[command(flatten)]
    pub(crate) outsourcing: OutsourcingArguments,
    #[command(flatten)]
    pub(crate) sizes: RowCountArguments,
    #[command(flatten)]
    pub(crate) resources: ResourceArguments,
    /// The network to predict the time for
    #[arg(long, value_name = "MODEL", value_parser = parse_network)]
    pub(crate) net: Option<NetworkModel>,
    /// The protocol
    #[arg(long, value_name = "NAME", default_value = "garbled", env = "PHINEUS_PROTOCOL")]
    #[arg(value_parser = choice::<Protocol>())]
    pub(crate) protocol: Protocol,
    /// The OT extension that makes triples
    #[arg(long, value_name = "NAME", default_value = "softspoken", env = "PHINEUS_OT")]
    #[arg(value_parser = choice::<OtChoice>())]
    pub(crate) ot: OtChoice,
    #[command(flatten)]
    pub(crate) variants: VariantArguments,
    /// State the costs of a run with `--fake-preprocessing`: correlated randomness from a simulated
    /// trusted dealer, NO SECURITY
    #[arg(long)]
    pub(crate) fake_preprocessing: bool,
    /// Compare these protocols, as in gmw,bmr,mixed
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', conflicts_with = "protocol")]
    #[arg(value_parser = choice::<Protocol>())]
    pub(crate) protocols: Vec<Protocol>,
}

#[derive(Args, Clone)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) choice: ProgramArguments,
    #[command(flatten)]
    pub(crate) outsourcing: OutsourcingArguments,
    #[command(flatten)]
    pub(crate) sizes: RowCountArguments,
    #[command(flatten)]
    pub(crate) resources: ResourceArguments,
    /// The protocol
    #[arg(long, value_name = "NAME", default_value = "garbled", env = "PHINEUS_PROTOCOL")]
    #[arg(value_parser = choice::<Protocol>())]
    pub(crate) protocol: Protocol,
    /// The OT extension that makes triples
    #[arg(long, value_name = "NAME", default_value = "softspoken", env = "PHINEUS_OT")]
    #[arg(value_parser = choice::<OtExtension>())]
    pub(crate) ot: OtExtension,
    #[command(flatten)]
    pub(crate) variants: VariantArguments,
    /// The file for the plan
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// A file for the program before planning, for `check`
    #[arg(long, value_name = "FILE")]
    pub(crate) program_out: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ShowArguments {
    /// A traced or planned file, a .phi, a circuit or a built-in name
    #[command(flatten)]
    pub(crate) choice: ProgramArguments,
    /// Print only the description, without instructions
    #[arg(long)]
    pub(crate) description: bool,
}

#[derive(Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) choice: ProgramArguments,
    /// The program of the plan, if the plan's name and parameters do not identify it
    #[arg(long = "program", value_name = "PROGRAM")]
    pub(crate) source: Option<String>,
}

/// The formats of tables by the extensions of their files.
fn table_format() -> PossibleValuesParser {
    PossibleValuesParser::new(phineus_tables::Format::ALL.iter().map(|(name, _)| *name))
}

#[derive(Args)]
pub(crate) struct DataArguments {
    #[command(flatten)]
    pub(crate) choice: ProgramArguments,
    /// Directory for the files, one for each input
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out_dir: PathBuf,
    /// The format of the files. npy (NumPy) is smaller than CSV and faster to read
    #[arg(long, value_name = "FORMAT", default_value = "csv", value_parser = table_format())]
    pub(crate) format: String,
    /// Seed of the generated data; the same seed gives the same data
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The number of rows of an input, as in site_a=100000
    #[arg(long, value_name = "INPUT=ROWS", value_parser = parse_pair)]
    pub(crate) rows: Vec<(String, String)>,
}

#[derive(Args)]
pub(crate) struct DemoArguments {
    /// The example
    #[arg(value_enum, default_value_t = DemoSubject::Passwords)]
    pub(crate) what: DemoSubject,
    /// Users of each site (default 100000), or rows of the database (default 4096)
    #[arg(long)]
    pub(crate) rows: Option<u64>,
    /// The memory limit of each party
    #[arg(long, value_name = "SIZE", default_value = "48MiB", value_parser = parse_size)]
    pub(crate) memory: u64,
    /// Store the generated files in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoSubject {
    /// Two sites find reused passwords with garbled circuits, in less memory than they need
    Passwords,
    /// Three parties find the nearest match in a database that is split between two of them
    Mixed,
}

#[derive(Args)]
pub(crate) struct DoctorArguments {
    /// Also measure the connection to a peer that runs `doctor --listen`
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "listen")]
    pub(crate) peer: Option<String>,
    /// Answer a peer that runs `doctor --peer` (at this port of every interface)
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "7710")]
    pub(crate) listen: Option<u16>,
    /// The directory whose disk is measured
    #[arg(long, value_name = "DIR", env = "PHINEUS_SWAP_DIR")]
    pub(crate) swap_dir: Option<PathBuf>,
    /// Skip the two seconds of measuring the disk
    #[arg(long)]
    pub(crate) no_disk: bool,
}

#[derive(Args)]
pub(crate) struct IdArguments {
    /// Directory of the keys
    #[arg(
        long,
        alias = "dir",
        value_name = "DIR",
        env = "PHINEUS_ID_DIR",
        default_value = "phineus-id",
        global = true
    )]
    pub(crate) id_dir: PathBuf,
    #[command(subcommand)]
    pub(crate) action: IdAction,
}

#[derive(Subcommand)]
pub(crate) enum IdAction {
    /// Make a key for this party; the private key never leaves this machine
    Init {
        /// The party's name in cluster.toml
        name: String,
    },
    /// Print the fingerprint of a key, to give to the other parties
    Show {
        /// The party's name; optional if there is only one key
        name: Option<String>,
    },
    /// Trust a peer's key
    Trust {
        /// The peer's name in cluster.toml
        name: String,
        /// The fingerprint that `id show` prints at the peer
        fingerprint: String,
    },
    /// Stop trusting a peer's key
    Untrust {
        /// The peer's name
        name: String,
    },
    /// List own and trusted keys
    List,
}

#[derive(Args)]
pub(crate) struct BenchArguments {
    /// The subject of the measurement
    #[arg(value_enum)]
    pub(crate) what: BenchSubject,
    /// Number of repetitions
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) repeat: u16,
    /// Programs for plan, kernels, paging, shares, spdz and oram (default: the whole suite)
    #[arg(long = "program", value_name = "NAME")]
    pub(crate) programs: Vec<String>,
    /// The size of the programs: their parameter n, or for oram the rows, vertices or pairs
    #[arg(long)]
    pub(crate) n: Option<u64>,
    /// For oram: runs that are predicted to take longer are only predicted [default: 5]
    #[arg(long)]
    pub(crate) seconds: Option<f64>,
    /// For oram: compare the method that is chosen with each method, over a grid of sizes
    #[arg(long, conflicts_with = "programs")]
    pub(crate) grid: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchSubject {
    /// AND gates per second of the garbler, one core
    Garble,
    /// AND gates per second of the evaluator, one core
    Evaluate,
    /// Correlated oblivious transfers per second
    Ot,
    /// Instructions and gates planned per second
    Plan,
    /// Whole runs over loopback, with TLS and without
    Kernels,
    /// Whole runs with decreasing memory limits
    Paging,
    /// Whole runs on shares: AES, SHA-256, integer operations, biometric matching
    Shares,
    /// Runs on authenticated shares: a linear layer, biometric matching; MASCOT triples per second
    Spdz,
    /// Accesses of memory at secret indices, and programs made of them
    Oram,
}

fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("'{text}' is not NAME=VALUE")),
    }
}

fn parse_transport(text: &str) -> Result<Transport, String> {
    Transport::from_name(text).ok_or_else(|| "the transports are `tcp` and `quic`".to_owned())
}

fn parse_network(text: &str) -> Result<NetworkModel, String> {
    NetworkModel::parse(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_options_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
