//! Integer, AES and SHA-256 circuits written once over a small bit algebra.

pub mod adder;
mod algebra;
mod clear;
pub mod comparison;
mod compressor;
mod count;
pub mod divider;
pub mod multiplier;
pub mod reduction;
mod rows;
pub mod selection;
pub mod shift;

pub use algebra::BitAlgebra;
pub use clear::ClearAlgebra;
pub use count::{CountingAlgebra, DepthAlgebra};
