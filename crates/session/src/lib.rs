//! Secure computations, from "a program, tables, parties, a memory limit" to "tables and a report".
//!
//! The path of a run: `resolve` (which program), `roles` (who computes, and for whom), `binding`
//! and `reading` (its inputs), `connecting` (connections), `agreement` (what the parties tell each
//! other first), `planning` and `memory_budget` (what fits), `execute` (the run; a client's is in
//! `client`), `report` (predicted and measured figures). `party` is all of it in order.
//!
//! Nothing here prints, reads a command line, or changes settings of the process. A process that
//! handles secrets should forbid core dumps ([`forbid_core_dumps`]) and, to keep a
//! memory limit with glibc, use one heap arena and give large buffers back to the system (the command
//! line's `heap.rs` does).

// Fields whose names say everything stay without a comment.
#![allow(missing_docs)]

pub mod accelerator;
pub mod agreement;
pub mod binding;
#[cfg(feature = "llvm")]
mod c_check;
pub mod c_reader;
pub mod calibration;
pub mod cancel;
pub mod candidates;
pub mod choices;
pub mod client;
pub mod connecting;
pub mod correlated;
pub mod dealt;
pub mod disclosed;
pub mod distance;
pub mod execute;
pub mod failure;
pub mod garbling;
mod heap;
pub mod inputs;
pub mod learnt;
pub mod leftovers;
pub mod level_order;
pub mod memories;
pub mod memory_budget;
pub mod memory_choice;
mod memory_columns;
mod memory_loops;
pub mod memory_pool;
pub mod memory_watch;
pub mod metered;
mod openings;
pub mod output_file;
mod output_table;
pub mod outputs;
pub mod overlay;
pub mod own_rows;
pub mod party;
pub mod planned;
pub mod planning;
pub mod ports;
pub mod prediction;
pub mod private_directory;
pub mod process_memory;
pub mod program_file;
pub mod progress;
pub mod protocol;
pub mod reading;
pub mod registry;
pub mod repeated;
pub mod report;
pub mod resolve;
pub mod roles;
pub mod scratch;
pub mod settings;
pub mod sharing_candidates;
pub mod sharing_choice;
pub mod sizing;
pub mod slices;
pub mod source_costs;
pub mod statistics;
pub mod stored;
pub mod text_key;
pub mod traced;
pub mod verify;

pub use phineus_engine::forbid_core_dumps;
