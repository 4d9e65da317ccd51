//! Labels, re-keyed AES hashing, garbling kernels, generators and bit-matrix transposition.

mod block;

pub use block::Block;
