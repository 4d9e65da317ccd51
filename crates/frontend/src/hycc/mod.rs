//! Hybrid circuits of HyCC: modules, each for one sharing, that call each other.
//!
//! Büscher, Demmler, Katzenbeisser, Kretzmer, Schneider, "HyCC: Compilation of Hybrid Protocols
//! for Practical Secure Computation", CCS 2018. A bundle (`.cmb`) lists the files of the modules
//! (`.circ`, version 5), whose names end with the sharing: `@arith`, `@bool_depth` (GMW) or
//! `@bool_size` (BMR). These are the files that ABY and MOTION read. `docs/hycc.md` has the bytes.
//!
//! A module is read whole: about 20 bytes for each of its gates stay in memory.

mod bundle;
mod bytes;
mod module;
mod order;
mod program;
mod run;

pub use program::Hybrid;
