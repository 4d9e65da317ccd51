//! Values carried from one basic block of the run time to another: integers, secrets, and which
//! one of a few addresses.

pub(crate) mod address_set;
pub(crate) mod flow;
pub(crate) mod form;
pub(crate) mod nature;
pub(crate) mod widen;
