//! The Rust language for secure programs, and Bristol circuits
