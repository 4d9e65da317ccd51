//! `hw`: commands about the garbling overlay.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use phineus_overlay::link::{HostLink, MEMORY_RATE, parse_rate};

use super::inputs::OutsourcingArguments;
use super::program::{ProgramArguments, ResourceArguments, RowCountArguments};

#[derive(Args)]
pub(crate) struct HardwareArguments {
    #[command(subcommand)]
    pub(crate) action: HardwareAction,
}

#[derive(Subcommand)]
pub(crate) enum HardwareAction {
    /// Compile a program to a command stream of the overlay
    Compile(CompileArguments),
    /// Print a command stream as text
    Show(ShowStreamArguments),
    /// State the cycles, memory, bytes and time of a program or a command stream on the overlay
    Explain(ExplainHardwareArguments),
    /// Garble a program with the RTL, simulated, and compare every row with the software garbler
    ///
    /// Needs a build with the cargo feature `verilator`. Labels are random; no party takes part.
    Simulate(SimulateArguments),
}

/// A program, and what its size depends on.
#[derive(Args)]
pub(crate) struct HardwareProgram {
    #[command(flatten)]
    pub(crate) choice: ProgramArguments,
    #[command(flatten)]
    pub(crate) outsourcing: OutsourcingArguments,
    #[command(flatten)]
    pub(crate) sizes: RowCountArguments,
    #[command(flatten)]
    pub(crate) resources: ResourceArguments,
    /// Cells of the overlay, 1 to 16; each garbles at most one AND gate in a cycle [default: 1]
    #[arg(long, value_name = "CELLS", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) cells: Option<u32>,
}

#[derive(Args)]
pub(crate) struct CompileArguments {
    #[command(flatten)]
    pub(crate) program: HardwareProgram,
    /// The file for the command stream
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Args)]
pub(crate) struct ShowStreamArguments {
    /// A command stream that `hw compile` wrote
    #[arg(value_name = "STREAM")]
    pub(crate) stream: PathBuf,
}

#[derive(Args)]
pub(crate) struct ExplainHardwareArguments {
    /// A program, or a command stream that `hw compile` wrote (.ovl)
    #[command(flatten)]
    pub(crate) program: HardwareProgram,
    #[command(flatten)]
    pub(crate) clock: ClockArguments,
    /// The link between host and device: gen3x8, gen3x16, gen4x8, gen4x16 or gen5x16 (PCIe), or numbers, also after a name,
    /// as in gen3x8,latency=2us or in=6.5gb,out=6.5gb,latency=1us,buffer=64kib; several give a table [default: gen3x8]
    #[arg(long, value_name = "LINK")]
    pub(crate) link: Vec<HostLink>,
    #[command(flatten)]
    pub(crate) memory: DeviceMemoryArguments,
    /// The overlay that figures are of
    #[arg(long, value_name = "NAME", default_value = "phineus")]
    #[arg(conflicts_with_all = ["clock", "cells", "link", "words_in_memory"])]
    pub(crate) overlay: OverlayChoice,
}

#[derive(Args)]
pub(crate) struct ClockArguments {
    /// The clock that times are stated for; nothing here says that a device reaches it
    #[arg(long, value_name = "MHZ", default_value_t = 200)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=5000))]
    pub(crate) clock: u32,
}

#[derive(Args)]
pub(crate) struct DeviceMemoryArguments {
    /// The command stream is in memory beside the device, which stores spilled labels there, too; all cells together move
    /// this many bytes a second, as in 15gb [without a rate: 60gb]
    #[arg(long, value_name = "RATE", value_parser = parse_rate, require_equals = true)]
    #[arg(num_args = 0..=1, default_missing_value = MEMORY_RATE)]
    pub(crate) words_in_memory: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OverlayChoice {
    /// The overlay of this project
    Phineus,
    /// SIFO, a published overlay, to compare with; it also reads netlists in SIFO's text form (.sifo)
    Sifo,
}

#[derive(Args)]
pub(crate) struct SimulateArguments {
    #[command(flatten)]
    pub(crate) program: HardwareProgram,
    /// Let the simulated host be slow at random, by this seed
    #[arg(long, value_name = "SEED")]
    pub(crate) stalls: Option<u64>,
    #[command(flatten)]
    pub(crate) clock: ClockArguments,
    /// Put a link between host and device, as in `hw explain`, and compare the waiting cycles with the prediction
    #[arg(long, value_name = "LINK", conflicts_with = "stalls")]
    pub(crate) link: Option<HostLink>,
    #[command(flatten)]
    pub(crate) memory: DeviceMemoryArguments,
}
