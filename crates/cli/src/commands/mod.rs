//! One module for each command.

pub(crate) mod bench;
pub(crate) mod check_c;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod hardware;
pub(crate) mod help;
pub(crate) mod id;
pub(crate) mod local;
pub(crate) mod plan;
pub(crate) mod preprocess;
pub(crate) mod programs;
pub(crate) mod run;
