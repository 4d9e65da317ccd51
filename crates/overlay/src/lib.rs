//! Compiles programs to command streams of the garbling overlay in `hw/`, and drives the overlay.
//!
//! The overlay garbles any circuit without being reprogrammed: each of its 1 to 16 cells at most one AND gate in a
//! cycle, with half gates and the hash of the software (`docs/protocols/garbled.md`), so its rows are byte for byte those
//! of the software garbler.
//!
//! The path of a program: [`record`] runs it and records its gates ([`netlist`]); `gates` finds how often each wire is used;
//! `fuse` absorbs XORs into operations of a cell; with several cells, `partition` gives each operation a cell; `look_back`
//! finds longest paths and next uses; [`schedule`] gives each operation a cycle and each label a place in the banks of the wire
//! memory; `stream_writer` writes the words. Each is a pass over a scratch file, forwards or backwards. [`device`] is a run on a
//! device. Its only implementation today is the simulation of the RTL by Verilator (cargo feature `verilator`).
//! [`garbling`] lets a device garble beside a host that sends the rows. [`link`] predicts what a link to the host costs.
//! `docs/hardware.md` describes all of it.
//!
//! Security: the stream does not depend on secrets. The device gets the labels of false of all inputs, the offset
//! and the start value from the garbler whose device it is.

mod compile;
pub mod device;
mod error;
mod fuse;
pub mod garbling;
mod gates;
mod lane;
pub mod link;
mod look_back;
mod memory;
pub mod memory_image;
pub mod netlist;
mod node_table;
mod operations;
pub mod parameters;
mod partition;
mod ports;
pub mod record;
mod records;
pub mod registers;
pub mod row_queue;
pub mod schedule;
mod scheduler;
pub mod sifo;
#[cfg(feature = "verilator")]
pub mod simulation;
pub mod software;
mod spill;
pub mod stream;
mod stream_writer;
mod sum;
mod wire_memory;
pub mod word;

pub use compile::{compile, compile_netlist, compile_to_file};
pub use error::OverlayError;
pub use gates::RecordedGates;
pub use memory::MemoryBound;
