//! Labels, re-keyed AES hashing, garbling kernels, generators and bit-matrix transposition.
//!
//! Everything works on slices, allocates nothing in its steady state and holds no global state
//! except the choice of instructions, made once ([`Kernel::selected`]).

mod block;
mod cipher;
mod cr_hash;
pub mod field;
mod half_gates;
mod joint_gates;
mod kernel;
mod matrix;
pub mod measure;
mod pads;
mod page_cipher;
pub mod point_function;
mod polyval;
mod prg;
mod public;
pub mod ring;
pub mod secret;
mod simd;
mod transpose;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use block::Block;
pub use cr_hash::CrHash;
pub use half_gates::{AndIndex, Delta, GarbledGate, HalfGates};
pub use joint_gates::JointGates;
pub use kernel::{InstructionSet, Kernel, kernel_name};
pub use pads::Pads;
pub use page_cipher::{PageCipher, Tag, TagMismatch};
pub use polyval::Polyval;
pub use prg::Prg;
pub use public::public;
pub use secret::{SecretBit, declassify, declassify_choice, declassify_value};
pub use simd::{Simd, Vectorized, Width};
pub use transpose::{transpose, transpose_with};
