//! SIFO, a published garbling overlay, reproduced for comparison only.
//!
//! Source: Fang, Ioannidis, Leeser, "SIFO: Secure Computational Infrastructure using FPGA Overlays". Sections and tables
//! named in this module are those of that paper. Gates are garbled with three rows of 80 bits, SHA-1, point and permute
//! and free XOR.
//!
//! The path of a problem: [`circuits`] builds it as FlexSC does, or [`netlist`] reads SIFO's text form; [`layers`] finds
//! what is garbled in parallel; [`allocation`] gives wires addresses in block RAM or DDR; [`host`] generates the writes
//! of the host; [`timing`] predicts the run cycle by cycle; [`garbling`] is the software that the tables must equal.
//! [`problems`] and [`published`] have the numbers of the paper. The RTL is in `hw/ip/sifo`.
//!
//! # Security
//! Never use it to protect data. Labels have 80 bits, SHA-1 is broken for collisions, and secrets are neither erased nor
//! handled in constant time.

pub mod allocation;
pub mod circuits;
mod conversion;
pub mod garbling;
pub mod host;
pub mod layers;
pub mod netlist;
pub mod problems;
pub mod published;
#[cfg(feature = "verilator")]
pub mod simulation;
pub mod timing;
