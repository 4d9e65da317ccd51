//! The phineus command line

pub mod programs;
