//! The circuits of least AND depth, for protocols that pay a round for each level of ANDs.
//!
//! They are written over the [`Recorder`](crate::record::Recorder), wire by wire and in vectors:
//! they run only to be recorded, once for each operation and width. Values are slices of wires,
//! lowest bit first, of any width; constants are wires like others, and fold.
//!
//! ANDs at depth, for `w` bits (exact and tested):
//!
//! | circuit | 8 | 16 | 32 | 64 | depth |
//! |---|---|---|---|---|---|
//! | [`adder::add`], [`adder::sub`] | 20 at 3 | 54 at 4 | 132 at 5 | 304 at 6 | `ceil(log2 w)` |
//! | [`adder::neg`] | 9 at 3 | 27 at 4 | 69 at 5 | 162 at 6 | `ceil(log2(w - 1))` |
//! | [`adder::abs`], `negate_if` | 12 at 3 | 31 at 4 | 74 at 5 | 168 at 6 | `ceil(log2 w)` |
//! | [`order::eq`], [`order::all`] | 7 at 3 | 15 at 4 | 31 at 5 | 63 at 6 | `ceil(log2 w)` |
//! | [`order::lt`] | 14 at 4 | 31 at 5 | 66 at 6 | 137 at 7 | `ceil(log2(w + 1))` |
//! | [`order::min`], [`order::max`] | 22 at 5 | 47 at 6 | 98 at 7 | 201 at 8 | that of `lt` and 1 |
//! | [`order::mux`], [`order::cond_swap`] | 8 at 1 | 16 at 1 | 32 at 1 | 64 at 1 | 1 |
//! | [`multiplier::mul`] | 60 at 6 | 168 at 9 | 625 at 11 | 2,332 at 13 | about `2 log2 w + 1` |
//! | [`multiplier::mul`], a square | 20 at 5 | 87 at 8 | 336 at 10 | 1,243 at 12 | |
//! | [`multiplier::mul_full`] | 109 at 8 | 374 at 10 | 1,315 at 12 | 4,770 at 14 | |
//! | [`divider`], quotient | 297 at 12 | 1,188 at 28 | 5,168 at 59 | 22,605 at 137 | |
//! | [`divider`], both, signed | 425 at 19 | 1,538 at 37 | 6,079 at 70 | 24,844 at 150 | |
//! | [`shift::rotl`] by `w` bits | 29 at 2 | 73 at 3 | 210 at 3 | 678 at 3 | see there |
//! | [`shift::shl`] by 7 bits | 44 at 3 | 99 at 4 | 259 at 4 | 774 at 4 | see there |
//! | [`count::popcount`] | 7 at 3 | 15 at 4 | 31 at 5 | 63 at 6 | `floor(log2 w)` |
//! | [`count::leading_zeros`] | 11 at 3 | 26 at 4 | 57 at 5 | 120 at 6 | `ceil(log2 w)` |
//! | [`aes::aes128`]; its key schedule | | | | | 6,800 at 40; 1,360 at 40 |
//! | [`sha256::sha256_compress`] | | | | | 47,133 at 451 |
//!
//! The depths with a `log2` but that of `mul` are the least possible: a wire of depth `d` is a
//! polynomial of degree at most `2^d` in the inputs, and the outputs have these degrees.

pub mod adder;
pub mod aes;
mod columns;
pub mod count;
pub mod divider;
pub mod multiplier;
pub mod order;
mod plan;
mod prefix;
pub mod sha256;
pub mod shift;
