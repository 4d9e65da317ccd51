//! Commands around a computation: `data`, `demo`, `doctor`, `id` and `bench`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use phineus_tables::quantity::parse_size;

use super::parse_pair;
use super::program::ProgramArguments;

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
    /// For oram: draw the figures of accesses and crossovers into this directory (SVG), with their numbers (CSV)
    #[arg(long, value_name = "DIR", conflicts_with = "grid")]
    pub(crate) pictures: Option<PathBuf>,
    /// For --pictures: curves of another system in the same pictures, as CSV: picture,curve,x,y
    #[arg(long, value_name = "FILE", requires = "pictures")]
    pub(crate) beside: Option<PathBuf>,
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
