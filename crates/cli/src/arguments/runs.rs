//! Commands in which parties compute: `run` and `preprocess`.

use std::path::PathBuf;

use clap::Args;
use phineus_channels::NetworkModel;
use phineus_session::settings::{self, GarblerChoice, OutputTable, PreprocessingMode};
use phineus_tables::quantity::parse_size;

use super::choices::choice;
use super::inputs::{OutsourcingArguments, ReadingArguments};
use super::parse_network;
use super::parties::PartyArguments;
use super::program::{ProgramArguments, ResourceArguments, RowCountArguments, input_tables};

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
    /// Who garbles under `garbled`; only the garbler, the first party of the program, states it
    #[arg(long, value_name = "GARBLER", default_value = "software")]
    #[arg(value_parser = choice::<GarblerChoice>())]
    pub(crate) garbler: GarblerChoice,
    /// Cells of the overlay that garbles, 1 to 16
    #[arg(long, value_name = "CELLS", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) cells: u32,
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
            garbler: self.garbler,
            garbler_cells: self.cells,
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
