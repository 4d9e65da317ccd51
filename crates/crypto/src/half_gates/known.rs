//! Half gates of bits that one party knows: ANDs at half the bytes and half the hashes.
//!
//! Source: Zahur, Rosulek, Evans, EUROCRYPT 2015, section III, the two halves that a gate consists of, by
//! themselves: `row = H(v) ^ H(v ^ delta) ^ w` and `out = H(v) ^ p(v) row`, where `p` is the select bit.
//! * The garbler knows bit `s`: `v` is the label of the other input, `w` is `delta` if `s` is 1 and else 0.
//! * The evaluator knows the bit: `v` is its label, whose select bit is the bit itself, and `w` is the label of
//!   the other input, which the evaluator adds to the row.
//!
//! Cost per gate: 16 bytes sent; garbling 1 key schedule and 2 AES calls, evaluating 1 and 1.
//! Invariants: half gate `i` of `n` has index `first + i`, and with `h = n / 2` rounded up uses the first tweak
//! of index `first + i` if `i < h`, else the second one of `first + i - h`.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use crate::InstructionSet;
use crate::half_gates::portable;
#[cfg(target_arch = "x86_64")]
use crate::half_gates::{aesni, vaes256, vaes512};
use crate::{AndIndex, Block, Delta, HalfGates};

/// The half gates under the first tweaks, of so many, and those under the second ones: as many, or one less.
#[inline]
pub(super) fn lists(count: usize) -> [Range<usize>; 2] {
    let half = count.div_ceil(2);
    [0..half, half..count]
}

/// Both lists in steps of at most `length` half gates each.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn steps(count: usize, length: usize) -> impl Iterator<Item = [Range<usize>; 2]> {
    let [first, second] = lists(count);
    let (half, end) = (second.start, second.end);
    first.step_by(length).map(move |at| {
        let next = at + length;
        [at..next.min(half), half + at..(half + next).min(end)]
    })
}

impl HalfGates {
    /// Garbles `out[i]` as half gate `i` of those from `first` on: `hashed` and `added` are `v` and `w` of the module's
    /// documentation, labels of *false*; `rows` are sent.
    ///
    /// # Security
    /// As [`HalfGates::garble`].
    ///
    /// # Panics
    /// If lengths disagree or the indices are exhausted.
    #[inline]
    pub fn garble_known(
        &self,
        delta: &Delta,
        first: AndIndex,
        [hashed, added]: [&[Block]; 2],
        out: &mut [Block],
        rows: &mut [Block],
    ) {
        let count = hashed.len();
        let lengths = [added.len(), out.len(), rows.len()];
        assert!(lengths == [count; 3], "one output and one row per half gate");
        first.advance(count);
        if count == 0 {
            return;
        }
        let start = self.start;
        match self.kernel.variant() {
            // SAFETY: a `Kernel` exists only for a variant whose features this CPU has.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Vaes512 => unsafe {
                vaes512::garble_known(start, delta, first, hashed, added, out, rows)
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Vaes256 => unsafe {
                vaes256::garble_known(start, delta, first, hashed, added, out, rows)
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::AesNi => unsafe {
                aesni::garble_known(start, delta, first, hashed, added, out, rows)
            },
            _ => portable::garble_known(start, delta, first, hashed, added, out, rows),
        }
    }

    /// Evaluates what [`HalfGates::garble_known`] garbled, on active labels: `rows` are those that were sent, to
    /// which the evaluator has added `w` where it knows the bits.
    ///
    /// # Panics
    /// If lengths disagree or the indices are exhausted.
    #[inline]
    pub fn evaluate_known(
        &self,
        first: AndIndex,
        hashed: &[Block],
        rows: &[Block],
        out: &mut [Block],
    ) {
        let count = hashed.len();
        assert!([rows.len(), out.len()] == [count; 2], "one output and one row per half gate");
        first.advance(count);
        if count == 0 {
            return;
        }
        let start = self.start;
        match self.kernel.variant() {
            // SAFETY: a `Kernel` exists only for a variant whose features this CPU has.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Vaes512 => unsafe {
                vaes512::evaluate_known(start, first, hashed, rows, out)
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Vaes256 => unsafe {
                vaes256::evaluate_known(start, first, hashed, rows, out)
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::AesNi => unsafe {
                aesni::evaluate_known(start, first, hashed, rows, out)
            },
            _ => portable::evaluate_known(start, first, hashed, rows, out),
        }
    }
}
