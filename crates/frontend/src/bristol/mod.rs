//! Circuits in Bristol format and Bristol Fashion.
//!
//! Old format: "Circuits of Basic Functions Suitable for MPC and FHE", S. Tillich, N. Smart.
//! Fashion: the same with any number of inputs and outputs of any width, and the gates EQ, EQW
//! and MAND. A file is read as a stream; what stays in memory is 8 bytes a wire.
//!
//! Wire `k` of an input or output is bit `k` of its value, the lowest first.

mod evaluate;
mod export;
mod gates;
mod import;

pub use export::{Expansion, ExportedWire, GateWriter, export};
pub use gates::{CircuitHeader, Gate, GateReader, PORT_BITS_MAX};
pub use import::Circuit;
