//! MASCOT: authenticated material from oblivious transfer, among any number of parties.
mod authenticate;
mod batch;
mod bits;
mod check;
mod coin;
mod cope;
pub mod costs;
mod generator;
mod limits;
mod link;
mod live;
mod masks;
mod matrix;
mod products;
mod schedule;
mod supply;
#[cfg(test)]
mod tests;
mod triples;

pub use batch::{Batch, Kind};
pub use generator::Generator;
pub use live::Live;
pub use schedule::{Demand, Schedule};
pub use supply::{Mascot, Sequential, Supply};
