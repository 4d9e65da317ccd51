//! Values carried from one basic block to another at run time: integers, secrets, and the numbers
//! of addresses.

pub(crate) mod address_set;
pub(crate) mod flow;
pub(crate) mod form;
pub(crate) mod nature;
pub(crate) mod widen;
