//! SPDZ: authenticated additive shares over a prime field, secure against active adversaries.
//!
//! Sources: Damgard, Keller, Larraia, Pastro, Scholl, Smart, "Practical Covertly Secure MPC for
//! Dishonest Majority", ESORICS 2013, ePrint 2012/642 (shares, Figures of the online phase and MAC
//! check); Keller, Orsini, Scholl, "MASCOT", CCS 2016, ePrint 2016/505 (MACs without the check of
//! the key).
//! A value is the sum of the parties' `value`s, and the sum of their `mac`s is the value times a
//! key that nobody knows: the sum of the parties' shares of it, which
//! [`phineus_correlated::authenticated::AuthenticatedRandomness::delta`] has.
//!
//! Invariant: nothing leaves to anybody before [`check`](Opening::check) has passed.
//! Not protected: an adversary can stop the run, and after that nobody has an output.

pub mod check;
mod commitment;
pub mod costs;
pub mod distance;
mod driver;
mod inputs;
mod linear;
mod mat_mul;
mod operations;
mod run;
mod script;
mod settings;
#[cfg(test)]
mod tests;

use phineus_bytecode::layout::SHARE_UNIT_BYTES;
use phineus_bytecode::{Domain, Layout, ValueSize};

pub use check::Opening;
pub use costs::SpdzCosts;
pub use distance::{Distance, Masks};
pub use driver::{Activity, SpdzDriver, Watch};
pub use operations::SpdzRounds;
pub use settings::SpdzSettings;

/// How authenticated shares lie in memory: an element of the field, of `element_bytes` bytes, for
/// the share of a value, and one for the share of its MAC.
pub fn layout(element_bytes: usize) -> Layout {
    let bytes = element_bytes as u16;
    let bits = ValueSize::WireElements { bytes, copies: 2 };
    Layout {
        unit_bytes: SHARE_UNIT_BYTES as u16,
        domain: Domain::Field,
        arithmetic: ValueSize::LaneElements { bytes, copies: 2 },
        boolean: bits,
        garbled: bits,
    }
}
