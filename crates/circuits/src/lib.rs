//! Integer, AES and SHA-256 circuits written once over a small bit algebra.
//!
//! A circuit is a function over a [`BitAlgebra`]: run it on labels to garble, on bits to compute in
//! the clear, on nothing to count ([`CountingAlgebra`]), on depths ([`DepthAlgebra`]). Values are
//! bit-major slices of wires (see [`BitAlgebra`]) of any width from 1 to 256 and any number of
//! lanes from 1. Circuits do not allocate: every one takes scratch wires, and the function
//! `scratch_wires` of its module says how many suffice (they may hold anything).
//!
//! These circuits have the fewest ANDs we know, as garbling wants; within that, batches are as wide
//! as they can be. The family with the least depth, for protocols that pay for rounds, stands
//! beside them in [`least_depth`]; [`record`] turns circuits of either family into templates.
//!
//! ANDs per lane for `w` bits (counts are exact and tested; sources are in the modules):
//!
//! | circuit | ANDs | how |
//! |---|---|---|
//! | [`adder::add`], [`adder::sub`] | `w - 1` | ripple, one AND per carry |
//! | [`adder::neg`]; [`adder::abs`], [`adder::negate_if`] | `w - 2`; `w - 1` | ripple |
//! | [`comparison::lt_unsigned`] and the other orders | `w` | borrow of a subtraction |
//! | [`comparison::eq`], [`comparison::ne`] | `w - 1` | AND tree |
//! | [`selection::mux`], [`selection::cond_swap`] | `w` | one batch |
//! | [`selection::min_unsigned`] and the others | `2w` | order, then selection |
//! | [`multiplier::mul`] | 43, 151, 559, 2143 (8 to 64 bits) | array of exclusive ors |
//! | [`multiplier::mul_full_unsigned`] | 79, 287, 1034, 3451 | the same; Karatsuba if wide |
//! | [`multiplier::mul_full_signed`] | 79, 287, 1087, 3663 | the same; around an unsigned one if wide |
//! | [`multiplier::square`] | 15, 63, 255, 1023 | columns of exclusive ors |
//! | [`multiplier::square_full_unsigned`] | 38, 142, 542, 2110 | the same |
//! | [`divider::div_unsigned`] | 49, 165, 589, 2205 | non-restoring, at the width of the remainder |
//! | [`divider::divrem_unsigned`], [`divider::rem_unsigned`] | 64, 196, 652, 2332 | the same |
//! | [`reduction::and_reduce`], [`reduction::or_reduce`] | `w - 1` | tree |
//! | [`reduction::popcount`] | `w - ones(w)` | full adders by column |
//! | [`reduction::leading_zeros`] | `w - 1` | OR from the top, one-hot steps |
//! | [`reduction::lane_sum`] of `n` lanes | [`reduction::lane_sum_ands`] for all | the same |
//! | [`reduction::lane_and`], [`reduction::lane_or`] of `n` lanes | `w (n - 1)` for all | tree |
//! | [`shift::shl`], [`shift::shr`]; [`shift::sar`] | `w log2 w`; `(w - 1) log2 w` | barrel |
//! | [`shift::rotl`] | `w log2 w - (w - 1)` | barrel, cycles share an AND |
//! | [`aes::aes128`]; with expanded key | 6,400; 5,120 | Boyar-Peralta S-box of 32 ANDs |
//! | [`sha256::sha256_compress`] | 22,335 | full adders, constants folded |
//! | [`lookup::look_up`], 256 constants of 8 bits; those of AES | 80; 32 | polynomials over GF(2) |
//! | shifts and rotations by public amounts, casts, XOR, NOT | 0 | |

#![forbid(unsafe_code)]

pub mod adder;
pub mod aes;
mod algebra;
mod clear;
mod column_sum;
pub mod comparison;
mod compressor;
mod count;
pub mod divider;
pub mod least_depth;
pub mod lookup;
pub mod multiplier;
pub mod permutation;
pub mod record;
pub mod reduction;
mod rows;
mod sbox;
pub mod selection;
pub mod sha256;
pub mod shift;

pub use algebra::BitAlgebra;
pub use clear::ClearAlgebra;
pub use count::{CountingAlgebra, DepthAlgebra};
pub use record::{And, CircuitTemplate, Level, LocalGate, Recorder};

/// Scratch wires that every integer circuit on values of `width` bits and `lanes` lanes fits in,
/// with shift amounts no wider than the values (see the modules for each circuit's own need).
pub const fn scratch_wires(width: usize, lanes: usize) -> usize {
    let needs = [
        adder::scratch_wires(width + 1, lanes),
        comparison::scratch_wires(width, lanes),
        selection::scratch_wires(width, lanes),
        multiplier::scratch_wires(width, lanes),
        divider::scratch_wires(width, lanes),
        shift::scratch_wires(width, width, lanes),
        reduction::scratch_wires(width, lanes),
    ];
    let (mut most, mut i) = (0, 0);
    while i < needs.len() {
        if needs[i] > most {
            most = needs[i];
        }
        i += 1;
    }
    most
}
