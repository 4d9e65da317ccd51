//! The program, its parameters and rows, and the resources of a party.

use std::path::PathBuf;

use clap::Args;
use phineus_engine::StorageBackend;
use phineus_session::settings::{self, GpuChoice, InputTable, MemoryLimit};
use phineus_tables::quantity::parse_size;

use super::choices::choice;
use super::inputs::ReadingArguments;
use super::parse_pair;
use crate::leftovers::leftovers;

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
        settings::ProgramChoice { program, parameters, notes_sources: false, levels: None }
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
pub(super) fn input_tables(arguments: &[String]) -> Vec<InputTable> {
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
