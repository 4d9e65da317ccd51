//! Secure computation, planned ahead: the library to write programs with, to run them from a program of
//! one's own ([`run`], [`run_all`]; `docs/embedding.md`), and the whole `phineus` command line for them.
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

pub use phineus_bytecode as bytecode;
pub use phineus_channels as channels;
pub use phineus_correlated as correlated;
pub use phineus_crypto as crypto;
pub use phineus_frontend::*;
pub use phineus_oblivious as oblivious;
pub use phineus_ot as ot;
pub use phineus_protocols as protocols;
pub use phineus_session as session;
pub use phineus_tables as tables;

pub use phineus_channels::MemoryNetwork;
pub use phineus_session::cancel::Cancel;
pub use phineus_session::failure::{Exit, Failure, Fault, Place, Remedy, RunField, codes};
pub use phineus_session::forbid_core_dumps;
pub use phineus_session::party::{AllResults, Finished, run, run_all};
pub use phineus_session::progress::{Event, Listener, Progress, Snapshot};
pub use phineus_session::registry::Registry;
pub use phineus_session::report::RunReport;
pub use phineus_session::settings::{
    Cluster, Connections, GarblerChoice, InputTable, Leftovers, MemoryLimit, MemoryPool,
    OutputTable, Outsourcing, Participation, PreprocessingMode, ProgramChoice, Protocol,
    ProtocolChoice, Reading, Reservation, Resources, Run, protocols as protocol,
};
pub use phineus_tables::{MemoryTable, TableSink, TableSource};

/// The `phineus` command line with `program` as the one that runs if none is named.
///
/// `main` of a user's program: `cargo run -- run --local --in alice=a.csv --in bob=b.csv`.
#[cfg(feature = "cli")]
pub fn main(program: impl Program + 'static) -> std::process::ExitCode {
    phineus_cli::main(Registry::built_in().with(program))
}

/// Runs the command line with several programs that users select by name.
#[cfg(feature = "cli")]
pub fn main_with(registry: Registry) -> std::process::ExitCode {
    phineus_cli::main(registry)
}
