//! The phineus command line
