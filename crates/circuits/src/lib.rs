//! Integer, AES and SHA-256 circuits written once over a small bit algebra.

mod algebra;

pub use algebra::BitAlgebra;
