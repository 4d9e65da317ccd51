//! The planner: ordering, placement, replacement, scheduling, and independent checkers.

mod ahead;
mod annotate;
mod assign;
mod check;
mod check_narrow;
mod check_order;
mod check_ranges;
mod error;
mod integers;
pub mod limits;
mod name_table;
mod narrow;
mod near;
mod order;
mod page_size;
mod pipeline;
mod place;
mod replace;
mod rewrite;
mod schedule;
mod scratch;
mod sharings;
mod value_map;

pub use assign::{Assignment, STATE_SHARING, assign, assign_chosen};
pub use check::check;
pub use check_narrow::{check_narrow, check_state};
pub use check_order::check_order;
pub use check_ranges::{Claims, check_ranges};
pub use error::Error;
pub use integers::{Claim, carried_in_field, lower_to_field, lower_with_claims, stored_in_field};
pub use narrow::{
    NarrowClaim, NarrowOptions, NarrowPlace, Narrowed, StateClaim, StateFacts, StatePlace,
    find_state, may_narrow, narrow,
};
pub use order::{OrderOptions, order, window_instructions};
pub use page_size::page_units;
pub use pipeline::{PlanOptions, plan};
pub use rewrite::{Rewritten, rewrite};
pub use schedule::Lookahead;
pub use scratch::{Scratch, ScratchFile};
pub use sharings::{ChosenSharings, ClassSharings, ProgramPart, SharingModel, ValueWidths};
