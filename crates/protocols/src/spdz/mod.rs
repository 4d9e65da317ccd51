//! SPDZ: authenticated additive shares over a prime field, secure against active adversaries.
//!
//! Sources: Damgard, Keller, Larraia, Pastro, Scholl, Smart, "Practical Covertly Secure MPC for
//! Dishonest Majority", ESORICS 2013, ePrint 2012/642 (shares, Figures of the online phase and MAC
//! check); Keller, Orsini, Scholl, "MASCOT", CCS 2016, ePrint 2016/505 (MACs without the check of
//! the key).
//! A value is the sum of the parties' `value`s, and the sum of their `mac`s is the value times a
//! key that nobody knows: the sum of the parties' [`Material::delta`]s.
//!
//! Invariant: nothing leaves to anybody before [`check`](Opening::check) has passed.
//! Not protected: an adversary can stop the run, and after that nobody has an output.

pub mod check;
mod commitment;
#[cfg(test)]
mod corrupted;
pub mod costs;
mod dealer;
pub mod distance;
mod driver;
mod inputs;
mod linear;
mod mat_mul;
mod material;
mod operations;
mod run;
#[cfg(test)]
mod runs;
mod script;
mod share;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unsorted;

pub use check::Opening;
pub use costs::SpdzCosts;
pub use dealer::Dealer;
pub use distance::{Distance, Masks};
pub use driver::{Activity, SpdzDriver, Watch};
pub use material::{BOUNDED_BITS, Material, MatrixSize, STATISTICAL_BITS};
pub use operations::SpdzRounds;
pub use share::Share;
