//! MASCOT: authenticated correlated randomness for SPDZ from oblivious transfer, among any number
//! of parties.
//!
//! Source: Keller, Orsini, Scholl, "MASCOT: Faster Malicious Arithmetic Secure Computation with
//! Oblivious Transfer", CCS 2016 (ePrint 2016/505). The paper was not at hand: protocol names are
//! from memory and carry no figure numbers. `docs/protocols/mascot.md` has all messages and costs.
//!
//! Read `triples` first. What each module is:
//!
//! | module | gives |
//! |---|---|
//! | [`Generator`] | correlated randomness of every kind, made by all parties together |
//! | [`OnDemand`] | the same, made when it is missing |
//! | [`Live`] | the same, made by a thread just ahead of its use |
//! | [`Sequential`] | the same, all made before |
//! | [`Stored`] | the same, from a file made earlier, once |
//! | [`costs`] | what making it costs, to the byte |
//! | `link`, `cope`, `authenticate` | OT with a peer; elements times its key; MACs |
//! | `products`, `triples`, `matrix` | shares of products; made random, given MACs, and checked |
//! | `bits`, `masks` | what follows from squares, and from MACs alone |
//! | `ranges` | proofs that elements are below a power of two |
//! | `deviation` | what a corrupted party of a test does besides |
//! | `coin`, `check` | coins and broadcast; the end of a batch |
//! | `trust` | whether other threads may still rely on the key |
//!
//! Adversary: malicious, all parties but one, with abort. Statistical security: 1/p for each lie,
//! and `limits::tau` for privacy: 32, 61 and 64 bits in the three fields.

mod authenticate;
mod batch;
mod bits;
mod buffered;
mod check;
mod coin;
mod cope;
pub mod costs;
mod deviation;
mod generator;
pub mod limits;
mod live;
mod masks;
mod matrix;
mod peer_state;
mod products;
mod ranges;
mod schedule;
mod triples;
mod trust;

#[cfg(test)]
mod tests;

pub use batch::{Batch, Kind};
pub use buffered::{
    AuthenticatedSource, Binding, Buffered, OnDemand, OnDemandSource, Sequential, Stored,
    WithMacKey,
};
pub use deviation::{Deviation, DeviationPoint, Honest};
pub use generator::Generator;
pub use live::{Live, LiveSource};
pub use schedule::{Demand, Schedule};
