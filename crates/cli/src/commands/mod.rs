//! One module for each command.

pub(crate) mod demo;
pub(crate) mod local;
pub(crate) mod party;
pub(crate) mod run;
