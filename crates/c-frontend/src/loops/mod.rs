//! Detection of loops that do not end.

pub(crate) mod dead_ends;
pub(crate) mod exits;
pub(crate) mod progress;
