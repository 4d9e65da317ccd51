//! BMR: garbled circuits that any number of parties garble together and evaluate alone.
//!
//! Sources: Beaver, Micali, Rogaway, STOC 1990; with free XOR and oblivious transfer: Ben-Efraim,
//! Lindell, Omri, "Optimizing Semi-Honest Secure Multiparty Computation for the Internet", CCS
//! 2016, as in Braun, Demmler, Schneider, Tkachenko, "MOTION", TOPS 2022 (ePrint 2020/1137),
//! Section 6.3.
//! Where the tables differ from theirs, and why, stands in `garbler`.
//!
//! How it runs: two passes over the same instructions. The *garbling pass* ([`Garbling`]) needs no
//! inputs: it runs a garbling program ([`GarblingProgram`]), makes the tables of ANDs with the
//! other parties in large batches over channels of its own, and hands them over as
//! [`GarbledTables`]. The
//! *evaluation* is part of the driver on shares ([`crate::mixed`]) and needs no messages.
//!
//! Cost: see `garbler` for an AND, `evaluation` for its evaluation, [`costs`] to the byte. XOR,
//! complement and constants are free.
//!
//! Of a program of several blocks the garbling pass goes through those that run, waits for what is
//! opened where that decides which comes next, and carries its half of what the evaluation carries.
//! All of it is one circuit under one offset: keys, masks, numbers of batches and OTs go on from
//! block to block and from iteration to iteration, so that nothing that must be fresh comes twice,
//! and no key of a block that does not run exists. Which blocks run depends on what all learn (see
//! `docs/protocols/bmr.md`, "Several blocks").
//!
//! Adversary: semi-honest, any number of the parties but one. Assumption: that of `hash`.
//! Invariants: the offset of a party has select bit 1 and its zero-keys 0, so the select bit of an
//! active key is the wire's public value; both passes of a party and those of all parties meet the
//! same gates in the same order.
//! Not protected: against a party that deviates.

mod batch;
mod batch_sink;
pub mod costs;
mod driver;
mod evaluation;
mod exchange;
mod fresh;
mod garbler;
mod hash;
pub mod limits;
mod links;
mod masked;
mod program;
mod rows;
mod start;
mod stored;
mod tables;
#[cfg(test)]
mod tests;

pub use costs::GarblingCosts;
pub use program::GarblingProgram;
pub use start::{FinishedGarbling, Garbling, GarblingBlocks, GarblingThread};
pub use stored::TableKey;
pub use tables::GarbledTables;

pub(crate) use driver::is_linear;
pub(crate) use evaluation::Evaluation;
pub(crate) use links::pack;
pub(crate) use rows::{TemplateRows, grow};
