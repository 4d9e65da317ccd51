//! The command line as it is typed; each option is described once, here.

mod choices;
mod inputs;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use phineus_channels::{NetworkModel, Transport};
use phineus_engine::StorageBackend;
use phineus_session::settings::{
    self, GpuChoice, InputTable, MemoryLimit, OtExtension, OutputTable, Preprocessed, Protocol,
    ProtocolChoice,
};
use phineus_tables::quantity::parse_size;

pub(crate) use choices::OtChoice;
pub(crate) use inputs::{Outsourcing, Reading};

use choices::{Variants, choice};

/// Printed below the help.
const AFTER_HELP: &str = "\
Exit codes: 0 ok, 1 run-time error, 2 usage, 3 program refused, 4 peer lost, 5 peer cheated,
6 does not fit, 7 parties disagree, 8 bad input, 130 interrupted.
Results go to stdout or --out, all else to stderr. A flag goes before a PHINEUS_* variable, that
before cluster.toml, that before the default.
Start with `phineus demo`.";

/// Secure computation, planned ahead.
#[derive(Parser)]
#[command(name = "phineus", version, after_help = AFTER_HELP, arg_required_else_help = true)]
#[command(propagate_version = true, infer_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// Print one JSON document to stdout instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say more: after a run, what was predicted and measured, and each phase
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Say nothing but results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Show it all on this machine: generated data, a memory limit, the answer checked
    Demo(Demo),
    /// Run a program, as one party or (--local) all parties on this machine
    Run(Run),
    /// Make the triples and garbled tables of a later run now, with the others, and keep them encrypted
    ///
    /// No input is needed, only how many rows there will be. The file serves one run
    /// (--preprocessing stored=FILE), of the same program and sizes by the same parties, and is spent
    /// from its first use on, whatever happens after. It is encrypted under a key that stays in
    /// --id-dir: without the key, or after the run, nobody can read it.
    Preprocess(Preprocess),
    /// Say what a run would cost and reveal, exactly, without running it
    Explain(Explain),
    /// Plan a program into a file
    Plan(Plan),
    /// Print a program or a planned program as text
    Show(Show),
    /// Prove that a program or a planned program is right; for a C program, say what leaks
    Check(Check),
    /// List the programs that can be run by name
    Programs(Programs),
    /// Generate input files for a program
    Data(Data),
    /// Say what this machine has: kernels, storage, memory, peers
    Doctor(Doctor),
    /// Make and trust the keys by which parties know each other
    Id(Id),
    /// Measure this machine
    Bench(Bench),
    /// Explain a command or the code of an error
    Help(Help),
    /// Read a C program for another process of Phineus, which asks on stdin
    #[command(hide = true)]
    ReadC(ReadC),
}

#[derive(Args)]
pub(crate) struct Help {
    /// A command, as in `run` or `id trust`, or the code of an error, as in E4102
    #[arg(value_name = "COMMAND OR CODE")]
    pub(crate) what: Vec<String>,
}

#[derive(Args)]
pub(crate) struct ReadC {
    /// The C program
    pub(crate) program: PathBuf,
}

impl Command {
    /// Whether this process is one party of a local run, whose parent speaks for all.
    pub(crate) fn is_child(&self) -> bool {
        match self {
            Command::Run(run) => run.together.child.is_some(),
            Command::Preprocess(make) => make.together.child.is_some(),
            _ => false,
        }
    }
}

#[derive(Args)]
pub(crate) struct Programs {
    /// One program in detail: a name, or a circuit, a directory of circuits or a C program
    pub(crate) name: Option<String>,
}

/// What to run, and with which public settings.
#[derive(Args, Clone)]
pub(crate) struct ProgramChoice {
    /// A built-in name (see `phineus programs`), a C program (.c), a text form (.phi), a Bristol
    /// circuit (.txt), or a traced or planned file
    #[arg(value_name = "PROGRAM")]
    pub(crate) program: Option<String>,
    /// A public parameter of the program, as in n=1000
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parse_pair)]
    pub(crate) parameters: Vec<(String, String)>,
}

impl ProgramChoice {
    pub(crate) fn settings(&self) -> settings::ProgramChoice {
        let ProgramChoice { program, parameters } = self.clone();
        settings::ProgramChoice { program, parameters }
    }
}

/// How many rows inputs have, where nothing else of them is wanted.
#[derive(Args, Clone, Default)]
pub(crate) struct Sizes {
    /// How many rows an input has, as in site_a=100000
    #[arg(long, value_name = "INPUT=ROWS", value_parser = parse_pair)]
    pub(crate) rows: Vec<(String, String)>,
    /// An input file whose rows are counted, and of which nothing else is read
    #[arg(long = "in", value_name = "[NAME=]FILE")]
    pub(crate) inputs: Vec<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

impl Sizes {
    pub(crate) fn settings(&self) -> settings::Sizes {
        let Sizes { rows, inputs, reading } = self.clone();
        settings::Sizes { rows, inputs: input_tables(&inputs), reading: reading.settings() }
    }
}

/// Input tables as `--in` names them.
fn input_tables(arguments: &[String]) -> Vec<InputTable> {
    arguments.iter().map(|argument| InputTable::parse(argument)).collect()
}

/// How much memory, and where pages go that do not fit.
#[derive(Args, Clone)]
pub(crate) struct Resources {
    /// The most memory that a party's process may ever have resident, its code included, such as
    /// 256MiB; if that is too little, the message states the least that works
    #[arg(long, value_name = "SIZE", env = "PHINEUS_MEMORY", value_parser = parse_size)]
    pub(crate) memory: Option<u64>,
    /// Where the swap file and the plan go while running
    #[arg(long, value_name = "DIR", env = "PHINEUS_SWAP_DIR")]
    pub(crate) swap_dir: Option<PathBuf>,
    /// How pages move to and from storage
    #[arg(long, value_name = "BACKEND", default_value = "auto", env = "PHINEUS_STORAGE")]
    #[arg(value_parser = choice::<StorageBackend>())]
    pub(crate) storage: StorageBackend,
    /// Whether a CUDA device multiplies the matrices that it multiplies faster, copies included
    #[arg(long, value_name = "WHEN", default_value = "auto", env = "PHINEUS_GPU")]
    #[arg(value_parser = choice::<GpuChoice>())]
    pub(crate) gpu: GpuChoice,
}

impl Resources {
    pub(crate) fn settings(&self) -> settings::Resources {
        let Resources { swap_dir, storage, gpu, .. } = self.clone();
        settings::Resources { memory: self.limit(), swap_dir, storage, gpu }
    }

    /// The memory limit of a process.
    pub(crate) fn limit(&self) -> MemoryLimit {
        self.memory.map_or(MemoryLimit::Default, MemoryLimit::Process)
    }
}

/// Who takes part, where, and under which protocol.
#[derive(Args, Clone)]
pub(crate) struct Together {
    /// Run every party on this machine, each in a process of its own
    #[arg(long, conflicts_with_all = ["as_party", "cluster"])]
    pub(crate) local: bool,
    /// Which party this is, by its name in cluster.toml
    #[arg(long = "as", value_name = "NAME", env = "PHINEUS_AS")]
    pub(crate) as_party: Option<String>,
    /// The file that says who the parties are and where
    #[arg(long, value_name = "FILE", env = "PHINEUS_CLUSTER", default_value = "cluster.toml")]
    pub(crate) cluster: PathBuf,
    /// Where the keys are
    #[arg(long, value_name = "DIR", env = "PHINEUS_ID_DIR", default_value = "phineus-id")]
    pub(crate) id_dir: PathBuf,
    /// The protocol
    #[arg(long, value_name = "NAME", default_value = "garbled", env = "PHINEUS_PROTOCOL")]
    #[arg(value_parser = choice::<ProtocolChoice>())]
    pub(crate) protocol: ProtocolChoice,
    /// The OT extension that triples are made with; all parties say the same
    #[arg(long, value_name = "NAME", default_value = "softspoken", env = "PHINEUS_OT")]
    #[arg(value_parser = choice::<OtExtension>())]
    pub(crate) ot: OtExtension,
    #[command(flatten)]
    pub(crate) variants: Variants,
    /// The key of stored preprocessing, made if there is none, readable by its owner only
    /// [default: stored.key in --id-dir; with --local NAME.key beside each file]
    #[arg(long, value_name = "FILE", env = "PHINEUS_STORED_KEY")]
    pub(crate) stored_key: Option<PathBuf>,
    /// A slower network than there is, such as rtt=40ms,bw=100mbit
    #[arg(long, value_name = "MODEL", env = "PHINEUS_SIMULATE", value_parser = parse_network)]
    pub(crate) simulate: Option<NetworkModel>,
    /// Seconds to wait for the peer to appear
    #[arg(long, value_name = "SECONDS", default_value_t = 60, env = "PHINEUS_TIMEOUT")]
    pub(crate) timeout: u64,
    /// Do without TLS; refused unless all parties are on this machine
    #[arg(long)]
    pub(crate) plain: bool,
    /// What carries the messages: `tcp` or `quic`, if not what cluster.toml says
    #[arg(long, value_name = "NAME", value_parser = parse_transport, env = "PHINEUS_TRANSPORT")]
    pub(crate) transport: Option<Transport>,
    /// Machine-readable progress on stdout, results to this directory: for `--local`
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) child: Option<PathBuf>,
}

impl Together {
    pub(crate) fn settings(&self) -> settings::Together {
        let together = self.clone();
        settings::Together {
            as_party: together.as_party,
            connections: settings::Connections::Cluster(settings::Cluster {
                file: together.cluster,
                id_dir: together.id_dir,
                plain: together.plain,
                transport: together.transport,
            }),
            protocol: together.protocol,
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
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) choice: ProgramChoice,
    #[command(flatten)]
    pub(crate) together: Together,
    #[command(flatten)]
    pub(crate) outsourcing: Outsourcing,
    /// An input file (CSV with a header, .npy, and with the feature `parquet` .parquet and .arrow; - is
    /// stdin), by the name of the input or its party
    #[arg(long = "in", value_name = "[NAME=]FILE")]
    pub(crate) inputs: Vec<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
    /// Where results go, by the name of the output if there are several; the others go to stdout. The
    /// extension is the format: .csv, .npy, and with the feature `parquet` .parquet and .arrow
    #[arg(long = "out", value_name = "[NAME=]FILE")]
    pub(crate) outputs: Vec<String>,
    #[command(flatten)]
    pub(crate) resources: Resources,
    /// The network that there is, for --protocol auto (else that of --simulate, else one machine);
    /// all parties state the same
    #[arg(long, value_name = "MODEL", value_parser = parse_network)]
    pub(crate) net: Option<NetworkModel>,
    /// When triples are made, for protocols on shares: `interleaved` (in the background),
    /// `sequential` (all before), or `stored=FILE` (earlier, by `preprocess`; with --local
    /// `stored=DIR`)
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "interleaved",
        value_parser = Preprocessed::parse,
        env = "PHINEUS_PREPROCESSING"
    )]
    pub(crate) preprocessing: Preprocessed,
    /// Correlated randomness from a dealer whom everybody would have to trust: NO SECURITY, for
    /// measurements of what comes after it; all parties have to state it, clients too
    #[arg(long, conflicts_with = "preprocessing")]
    pub(crate) fake_preprocessing: bool,
    /// Threads with which a party computes on authenticated shares, besides those of its connections
    #[arg(long, value_name = "COUNT", default_value_t = 1, env = "PHINEUS_THREADS")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) threads: u8,
    /// What one round of openings may take in memory, on authenticated shares; the least that any
    /// party says [default: an eighth of the least --memory, at most 160MiB; less where rounds on
    /// the network of --net are short]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) slice: Option<u64>,
    /// Compare the answer with the plaintext one (with --local: it needs every input)
    #[arg(long)]
    pub(crate) verify: bool,
    /// Run so many times and print means and standard deviations (with --local)
    #[arg(long, value_name = "TIMES", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) repeat: u32,
    /// How often any part of a program may run whose repetition is decided while it runs
    #[arg(long, value_name = "TIMES", default_value_t = settings::ITERATIONS_MAX)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..), env = "PHINEUS_MAX_ITERATIONS")]
    pub(crate) max_iterations: u64,
    /// Where predicted and measured figures go; `none` for nowhere
    #[arg(long, value_name = "FILE", default_value = "run.json")]
    pub(crate) report: PathBuf,
}

impl Run {
    /// The part that a session needs.
    pub(crate) fn settings(&self) -> settings::Run {
        let preprocessing = match self.fake_preprocessing {
            true => Preprocessed::Fake,
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
pub(crate) struct Preprocess {
    #[command(flatten)]
    pub(crate) choice: ProgramChoice,
    #[command(flatten)]
    pub(crate) together: Together,
    #[command(flatten)]
    pub(crate) outsourcing: Outsourcing,
    #[command(flatten)]
    pub(crate) sizes: Sizes,
    #[command(flatten)]
    pub(crate) resources: Resources,
    /// The file that is made; with --local the directory, with NAME.prep for each party
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

impl Preprocess {
    /// The session that stops when its correlated randomness is made.
    pub(crate) fn settings(&self) -> settings::Run {
        settings::Run {
            choice: self.choice.settings(),
            together: self.together.settings(),
            outsourcing: self.outsourcing.clone().settings(),
            inputs: input_tables(&self.sizes.inputs),
            reading: self.sizes.reading.clone().settings(),
            resources: self.resources.settings(),
            making: Some(settings::Making { out: self.out.clone(), rows: self.sizes.rows.clone() }),
            ..settings::Run::default()
        }
    }
}

#[derive(Args, Clone)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) choice: ProgramChoice,
    #[command(flatten)]
    pub(crate) outsourcing: Outsourcing,
    #[command(flatten)]
    pub(crate) sizes: Sizes,
    #[command(flatten)]
    pub(crate) resources: Resources,
    /// The network to predict the time for
    #[arg(long, value_name = "MODEL", value_parser = parse_network)]
    pub(crate) net: Option<NetworkModel>,
    /// The protocol
    #[arg(long, value_name = "NAME", default_value = "garbled", env = "PHINEUS_PROTOCOL")]
    #[arg(value_parser = choice::<Protocol>())]
    pub(crate) protocol: Protocol,
    /// The OT extension that triples are made with
    #[arg(long, value_name = "NAME", default_value = "softspoken", env = "PHINEUS_OT")]
    #[arg(value_parser = choice::<OtChoice>())]
    pub(crate) ot: OtChoice,
    #[command(flatten)]
    pub(crate) variants: Variants,
    /// The costs of a run with correlated randomness from a dealer whom everybody would have to trust:
    /// NO SECURITY, as `run` has it for measurements
    #[arg(long)]
    pub(crate) fake_preprocessing: bool,
    /// Compare these protocols, as in gmw,bmr,mixed
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', conflicts_with = "protocol")]
    #[arg(value_parser = choice::<Protocol>())]
    pub(crate) protocols: Vec<Protocol>,
}

#[derive(Args, Clone)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) choice: ProgramChoice,
    #[command(flatten)]
    pub(crate) outsourcing: Outsourcing,
    #[command(flatten)]
    pub(crate) sizes: Sizes,
    #[command(flatten)]
    pub(crate) resources: Resources,
    /// The protocol
    #[arg(long, value_name = "NAME", default_value = "garbled", env = "PHINEUS_PROTOCOL")]
    #[arg(value_parser = choice::<Protocol>())]
    pub(crate) protocol: Protocol,
    /// The OT extension that triples are made with
    #[arg(long, value_name = "NAME", default_value = "softspoken", env = "PHINEUS_OT")]
    #[arg(value_parser = choice::<OtExtension>())]
    pub(crate) ot: OtExtension,
    #[command(flatten)]
    pub(crate) variants: Variants,
    /// The planned program
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Also keep the program before planning, for `check`
    #[arg(long, value_name = "FILE")]
    pub(crate) program_out: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Show {
    /// A traced or planned file, a .phi, a circuit or a built-in name
    #[command(flatten)]
    pub(crate) choice: ProgramChoice,
    /// Only the description, without instructions
    #[arg(long)]
    pub(crate) description: bool,
}

#[derive(Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) choice: ProgramChoice,
    /// What the plan was made from, if it is not to be found by the plan's name and parameters
    #[arg(long = "program", value_name = "PROGRAM")]
    pub(crate) source: Option<String>,
}

/// The formats of tables by the extensions of their files.
fn table_format() -> PossibleValuesParser {
    PossibleValuesParser::new(phineus_tables::Format::ALL.iter().map(|(name, _)| *name))
}

#[derive(Args)]
pub(crate) struct Data {
    #[command(flatten)]
    pub(crate) choice: ProgramChoice,
    /// Where the files go, one for each input
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out_dir: PathBuf,
    /// The format of the files. NumPy's (npy) is smaller than CSV and read faster
    #[arg(long, value_name = "FORMAT", default_value = "csv", value_parser = table_format())]
    pub(crate) format: String,
    /// The same seed gives the same data
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// How many rows an input has, as in site_a=100000
    #[arg(long, value_name = "INPUT=ROWS", value_parser = parse_pair)]
    pub(crate) rows: Vec<(String, String)>,
}

#[derive(Args)]
pub(crate) struct Demo {
    /// What to show
    #[arg(value_enum, default_value_t = DemoSubject::Passwords)]
    pub(crate) what: DemoSubject,
    /// Users of each site (default 100000), or rows of the database (default 4096)
    #[arg(long)]
    pub(crate) rows: Option<u64>,
    /// The memory limit of each party
    #[arg(long, value_name = "SIZE", default_value = "48MiB", value_parser = parse_size)]
    pub(crate) memory: u64,
    /// Keep the generated files here
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoSubject {
    /// Two sites find reused passwords with garbled circuits, swapping
    Passwords,
    /// Three parties find the nearest match in a database that is split between two of them
    Mixed,
}

#[derive(Args)]
pub(crate) struct Doctor {
    /// Also measure the way to a peer that runs `doctor --listen`
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
pub(crate) struct Id {
    /// Where the keys are
    #[arg(
        long,
        value_name = "DIR",
        env = "PHINEUS_ID_DIR",
        default_value = "phineus-id",
        global = true
    )]
    pub(crate) dir: PathBuf,
    #[command(subcommand)]
    pub(crate) action: IdAction,
}

#[derive(Subcommand)]
pub(crate) enum IdAction {
    /// Make a key for this party; it never leaves this machine
    Init {
        /// The party's name in cluster.toml
        name: String,
    },
    /// Print a fingerprint, to be told to the peers
    Show {
        /// The party's name; not needed if there is one key only
        name: Option<String>,
    },
    /// Trust a peer's key
    Trust {
        /// The peer's name in cluster.toml
        name: String,
        /// What `id show` prints there
        fingerprint: String,
    },
    /// Trust a peer's key no more
    Untrust {
        /// The peer's name
        name: String,
    },
    /// List own and trusted keys
    List,
}

#[derive(Args)]
pub(crate) struct Bench {
    /// What to measure
    #[arg(value_enum)]
    pub(crate) what: BenchSubject,
    /// How many times
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) repeat: u16,
    /// Programs for plan, kernels, paging, shares and spdz; all of the suite without it
    #[arg(long = "program", value_name = "NAME")]
    pub(crate) programs: Vec<String>,
    /// The size of the programs: their parameter n
    #[arg(long)]
    pub(crate) n: Option<u64>,
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
    /// Whole runs with less and less memory
    Paging,
    /// Whole runs on shares: AES, SHA-256, integer operations, biometric matching
    Shares,
    /// Runs on authenticated shares: a linear layer, biometric matching; MASCOT triples per second
    Spdz,
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
