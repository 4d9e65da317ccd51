//! Secure computation, planned ahead: the library to write programs with, and the whole `phineus`
//! command line for them.
//!
//! ```no_run
//! use phineus::{Program, U32, program};
//!
//! fn main() -> std::process::ExitCode {
//!     let sum = program("sum").party("alice").party("bob").trace(|t, _| {
//!         let [a, b] = ["alice", "bob"]
//!             .map(|who| t.input(who, 1).number::<U32>("x").vector::<U32>().get(0));
//!         t.output("result", &["alice", "bob"]).number("sum", &(a + b)).write();
//!         Ok(())
//!     });
//!     phineus::main(sum)
//! }
//! ```

use std::process::ExitCode;

pub use phineus_bytecode as bytecode;
pub use phineus_channels as channels;
pub use phineus_correlated as correlated;
pub use phineus_crypto as crypto;
pub use phineus_frontend::*;
pub use phineus_oblivious as oblivious;
pub use phineus_ot as ot;
pub use phineus_protocols as protocols;
pub use phineus_session as session;

pub use phineus_cli::Registry;

/// The `phineus` command line with `program` as the one that runs if none is named.
///
/// `main` of a user's program: `cargo run -- run --local --in alice=a.csv --in bob=b.csv`.
pub fn main(program: impl Program + 'static) -> ExitCode {
    phineus_cli::main(Registry::built_in().with(program))
}

/// The same with several programs, run by their names.
pub fn main_with(registry: Registry) -> ExitCode {
    phineus_cli::main(registry)
}
