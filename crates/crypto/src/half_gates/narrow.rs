//! Half gates on 16 registers of 128 or 256 bits: written once, made twice by a macro.
//!
//! Long batches go with their key schedules by words ([`super::many`]): in steps of one set to
//! garble, since the eight states and five words of a set already fill the registers, and of two
//! to evaluate, where a set has four states. At most one vector of gates, or what is left of that
//! size, goes with a key in each lane ([`super::in_lane`]).

/// Defines `garble`, `evaluate` and `hashes_alone` over the operations `crate::x86::$ops`.
macro_rules! narrow_kernels {
    ($ops:ident, $features:literal) => {
        use crate::half_gates::narrow::long_part;
        use crate::x86::$ops::WIDTH;
        use crate::{AndIndex, Block, Delta, GarbledGate};

        /// At most one gate in each lane.
        mod few {
            crate::half_gates::in_lane::in_lane_kernels!($ops, $features);
        }

        /// Two gates in each lane of a set.
        mod many {
            crate::half_gates::many::many_kernels!($ops, $features);
        }

        /// Gates in a set.
        const SET: usize = 2 * WIDTH;

        /// Garbles any number of gates; lengths and indices were checked by the caller.
        #[target_feature(enable = $features)]
        pub(super) fn garble(
            start: Block,
            delta: &Delta,
            first_index: AndIndex,
            a: &[Block],
            b: &[Block],
            out: &mut [Block],
            rows: &mut [u8],
        ) {
            crate::public([a.len(), b.len(), out.len(), rows.len()]);
            if a.len() <= WIDTH {
                return few::garble(start, delta, first_index, a, b, out, rows);
            }
            let long = long_part(a.len(), SET, WIDTH);
            let (a, a_rest) = a.split_at(long);
            let (b, b_rest) = b.split_at(long);
            let (out, out_rest) = out.split_at_mut(long);
            let (rows, rows_rest) = rows.split_at_mut(long * GarbledGate::BYTES);
            if !a.is_empty() {
                many::garble::<1>(start, delta, first_index, a, b, out, rows);
            }
            if !a_rest.is_empty() {
                let index = AndIndex(first_index.0 + long as u64);
                few::garble(start, delta, index, a_rest, b_rest, out_rest, rows_rest);
            }
        }

        /// Evaluates any number of gates; lengths and indices were checked by the caller.
        #[target_feature(enable = $features)]
        pub(super) fn evaluate(
            start: Block,
            first_index: AndIndex,
            a: &[Block],
            b: &[Block],
            out: &mut [Block],
            rows: &[u8],
        ) {
            crate::public([a.len(), b.len(), out.len(), rows.len()]);
            if a.len() <= WIDTH {
                return few::evaluate(start, first_index, a, b, out, rows);
            }
            let long = long_part(a.len(), 2 * SET, SET);
            let (a, a_rest) = a.split_at(long);
            let (b, b_rest) = b.split_at(long);
            let (out, out_rest) = out.split_at_mut(long);
            let (rows, rows_rest) = rows.split_at(long * GarbledGate::BYTES);
            if !a.is_empty() {
                many::evaluate::<2>(start, first_index, a, b, out, rows);
            }
            let index = AndIndex(first_index.0 + long as u64);
            if a_rest.len() > WIDTH {
                many::evaluate::<1>(start, index, a_rest, b_rest, out_rest, rows_rest);
            } else if !a_rest.is_empty() {
                few::evaluate(start, index, a_rest, b_rest, out_rest, rows_rest);
            }
        }

        /// The hashes of that many gates and nothing else; see [`super::hashes_alone`].
        #[target_feature(enable = $features)]
        pub(super) fn hashes_alone(start: Block, garbling: bool, gates: usize) -> Block {
            crate::public([gates]);
            if garbling {
                many::hashes_alone::<1, true>(start, gates)
            } else {
                many::hashes_alone::<2, false>(start, gates)
            }
        }
    };
}

pub(in crate::half_gates) use narrow_kernels;

/// How many of `gates` gates go in whole steps of `step`: all, the last step being short, unless
/// the rest is at most `rest_max`, for which there is a narrower way.
#[inline]
pub(in crate::half_gates) fn long_part(gates: usize, step: usize, rest_max: usize) -> usize {
    let rest = gates % step;
    if rest <= rest_max { gates - rest } else { gates }
}
