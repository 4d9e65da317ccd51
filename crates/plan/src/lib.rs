//! The planner: placement, replacement, scheduling, and an independent checker.

mod ahead;
mod annotate;
mod check;
mod error;
pub mod limits;
mod pipeline;
mod place;
mod replace;
mod schedule;
mod simulate;
mod value_map;

pub use check::check;
pub use error::Error;
pub use pipeline::{PlanOptions, plan};
pub use schedule::Lookahead;
pub use simulate::{Machine, Prediction, simulate};
