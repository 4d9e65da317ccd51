//! Half-gates garbling of AND gates, in batches of independent gates and in chains.
//!
//! Source: Zahur, Rosulek, Evans, "Two Halves Make a Whole", EUROCRYPT 2015 (ePrint 2014/756),
//! Figure 2, procedures `GbAnd` and `Ev`. The hash is the one of Guo, Katz, Wang, Weng, Yu,
//! "Better Concrete Security for Half-Gates Garbling (in the Multi-Instance Setting)", CRYPTO
//! 2020 (ePrint 2019/1168): `H(x, i) = E(k_i, s(x)) ^ s(x)` with `E` = AES-128,
//! `k_i = start ^ i` and `s(l || r) = (l ^ r) || l`, where `l` is the high half of the label. A
//! random public `start` per session keeps keys distinct within it and unrelated between sessions.
//!
//! Cost per gate: 32 bytes sent; garbling 2 key schedules and 4 AES calls, evaluating 2 and 2.
//! Invariants: gate `i` uses the tweaks `2 * i` and `2 * i + 1`; an index is never used twice
//! under one `Delta` and one `start`. Constant time in labels and `Delta`.
//! Not protected: an actively cheating garbler (semi-honest only).

#[cfg(target_arch = "x86_64")]
mod aesni;
#[cfg(target_arch = "x86_64")]
mod chain;
#[cfg(target_arch = "x86_64")]
mod in_lane;
#[cfg(target_arch = "x86_64")]
mod many;
#[cfg(target_arch = "x86_64")]
mod narrow;
mod portable;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod vaes256;
#[cfg(target_arch = "x86_64")]
mod vaes512;

#[cfg(target_arch = "x86_64")]
use crate::InstructionSet;
use crate::{Block, Kernel, Prg};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The free-XOR offset: the label of true is the label of false XOR this. Its select bit is 1.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Delta(Block);

impl Delta {
    /// The offset made of `bits`, with the select bit forced to 1 (so 127 bits are free).
    pub fn from_block(bits: Block) -> Delta {
        Delta(Block::from_bits(bits.to_bits() | 1))
    }

    /// A random offset.
    pub fn random(prg: &mut Prg) -> Delta {
        Delta::from_block(prg.next_block())
    }

    /// The offset as a block; the caller must not let it leave the garbler.
    #[inline]
    pub fn block(&self) -> Block {
        self.0
    }
}

/// The number of an AND gate within a session; gates are numbered in the order both parties meet
/// them, from zero, and no number is used twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AndIndex(pub u64);

impl AndIndex {
    /// How many gates a session can have: a tweak has 64 bits and a gate uses two.
    pub const COUNT_MAX: u64 = 1 << 63;

    /// The index `gates` further on.
    ///
    /// # Panics
    /// If the session's indices are exhausted.
    #[inline]
    pub fn advance(self, gates: usize) -> AndIndex {
        let end = self.0.checked_add(gates as u64).filter(|end| *end <= AndIndex::COUNT_MAX);
        AndIndex(end.expect("a session has at most 2^63 AND gates"))
    }

    /// The two tweaks of this gate: for the garbler's half and for the evaluator's half.
    #[inline]
    fn tweaks(self) -> (u64, u64) {
        (2 * self.0, 2 * self.0 + 1)
    }
}

/// Row of one AND gate, sent to the evaluator: `T_G` and `T_E` of the paper.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GarbledGate {
    /// The row of the half gate whose one input the garbler knows.
    pub garbler_half: Block,
    /// The row of the half gate whose one input the evaluator knows.
    pub evaluator_half: Block,
}

impl GarbledGate {
    /// Bytes on the wire: two labels of 16 bytes.
    pub const BYTES: usize = size_of::<GarbledGate>();
}
const _: () = assert!(GarbledGate::BYTES == 2 * size_of::<Block>());

/// Garbles and evaluates AND gates of one session.
///
/// `start` is public and random, chosen anew for every session and known to both parties.
#[derive(Clone)]
pub struct HalfGates {
    start: Block,
    kernel: Kernel,
}

impl HalfGates {
    /// The gates of the session with this public random `start`.
    pub fn new(start: Block) -> HalfGates {
        HalfGates::with_kernel(Kernel::selected(), start)
    }

    /// As [`HalfGates::new`], on a given kernel.
    pub fn with_kernel(kernel: Kernel, start: Block) -> HalfGates {
        HalfGates { start, kernel }
    }

    /// Garbles `out[i] = a[i] AND b[i % b.len()]` as gate `first_index + i`.
    ///
    /// All labels are those of *false*. `rows` receives one [`GarbledGate`] per gate, at any
    /// alignment.
    ///
    /// # Security
    /// Breaks if an index repeats under the same `delta` and start.
    ///
    /// # Panics
    /// If lengths disagree (`b.len()` divides `a.len()`) or the indices are exhausted.
    #[inline]
    pub fn garble(
        &self,
        delta: &Delta,
        first_index: AndIndex,
        a: &[Block],
        b: &[Block],
        out: &mut [Block],
        rows: &mut [u8],
    ) {
        check_lengths(first_index, a, b, out, rows);
        if a.len() == b.len() {
            return self.garble_batch(delta, first_index, a, b, out, rows);
        }
        let mut repeated = [Block::ZERO; REPEATED_BLOCKS];
        let b = repeat(b, a.len(), &mut repeated);
        let labels = a.chunks(b.len()).zip(out.chunks_mut(b.len()));
        let rows = rows.chunks_mut(b.len() * GarbledGate::BYTES);
        let mut index = first_index;
        for ((a, out), rows) in labels.zip(rows) {
            self.garble_batch(delta, index, a, &b[..a.len()], out, rows);
            index = index.advance(a.len());
        }
    }

    /// Evaluates `out[i] = a[i] AND b[i % b.len()]` as gate `first_index + i`, on active labels.
    ///
    /// # Panics
    /// If lengths disagree (`b.len()` divides `a.len()`) or the indices are exhausted.
    #[inline]
    pub fn evaluate(
        &self,
        first_index: AndIndex,
        a: &[Block],
        b: &[Block],
        out: &mut [Block],
        rows: &[u8],
    ) {
        check_lengths(first_index, a, b, out, rows);
        if a.len() == b.len() {
            return self.evaluate_batch(first_index, a, b, out, rows);
        }
        let mut repeated = [Block::ZERO; REPEATED_BLOCKS];
        let b = repeat(b, a.len(), &mut repeated);
        let labels = a.chunks(b.len()).zip(out.chunks_mut(b.len()));
        let rows = rows.chunks(b.len() * GarbledGate::BYTES);
        let mut index = first_index;
        for ((a, out), rows) in labels.zip(rows) {
            self.evaluate_batch(index, a, &b[..a.len()], out, rows);
            index = index.advance(a.len());
        }
    }

    /// Garbles a chain: row after row, `x[i + 1] ^= a[i] AND x[i]`. Rows have `product.len()`
    /// lanes, and `x` has one row more than `a`; gate `k` of `a` is gate `first_index + k`. What
    /// `product` holds afterwards is not specified.
    ///
    /// The same gates as calling [`HalfGates::garble`] for each row of `a` and of `x`. With few
    /// lanes it is faster, since all that does not need the row before is done ahead.
    ///
    /// # Security
    /// As [`HalfGates::garble`].
    ///
    /// # Panics
    /// If lengths disagree, there are no lanes, or the indices are exhausted.
    #[inline]
    pub fn garble_chain(
        &self,
        delta: &Delta,
        first_index: AndIndex,
        a: &[Block],
        x: &mut [Block],
        product: &mut [Block],
        rows: &mut [u8],
    ) {
        let lanes = product.len();
        check_chain(first_index, a, x, lanes, rows);
        #[cfg(target_arch = "x86_64")]
        let start = self.start;
        match (self.kernel.variant(), lanes) {
            // SAFETY: a `Kernel` exists only for a variant whose features this CPU has.
            #[cfg(target_arch = "x86_64")]
            (InstructionSet::Vaes512, 1..=vaes512::CHAIN_LANES_MAX) => unsafe {
                vaes512::garble_chain(start, delta, first_index, a, x, lanes, rows);
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            (InstructionSet::Vaes256, 1..=vaes256::CHAIN_LANES_MAX) => unsafe {
                vaes256::garble_chain(start, delta, first_index, a, x, lanes, rows);
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            (InstructionSet::AesNi, 1..=aesni::CHAIN_LANES_MAX) => unsafe {
                aesni::garble_chain(start, delta, first_index, a, x, lanes, rows);
            },
            _ => {
                let rows = rows.chunks_exact_mut(lanes * GarbledGate::BYTES);
                for (i, (a, rows)) in a.chunks_exact(lanes).zip(rows).enumerate() {
                    let (below, above) = x.split_at_mut((i + 1) * lanes);
                    let index = first_index.advance(i * lanes);
                    self.garble_batch(delta, index, a, &below[i * lanes..], product, rows);
                    above.iter_mut().zip(&*product).for_each(|(x, &product)| *x ^= product);
                }
            }
        }
    }

    /// Evaluates what [`HalfGates::garble_chain`] garbled, on active labels.
    ///
    /// # Panics
    /// If lengths disagree, there are no lanes, or the indices are exhausted.
    #[inline]
    pub fn evaluate_chain(
        &self,
        first_index: AndIndex,
        a: &[Block],
        x: &mut [Block],
        product: &mut [Block],
        rows: &[u8],
    ) {
        let lanes = product.len();
        check_chain(first_index, a, x, lanes, rows);
        #[cfg(target_arch = "x86_64")]
        let start = self.start;
        match (self.kernel.variant(), lanes) {
            // SAFETY: a `Kernel` exists only for a variant whose features this CPU has.
            #[cfg(target_arch = "x86_64")]
            (InstructionSet::Vaes512, 1..=vaes512::CHAIN_LANES_MAX) => unsafe {
                vaes512::evaluate_chain(start, first_index, a, x, lanes, rows);
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            (InstructionSet::Vaes256, 1..=vaes256::CHAIN_LANES_MAX) => unsafe {
                vaes256::evaluate_chain(start, first_index, a, x, lanes, rows);
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            (InstructionSet::AesNi, 1..=aesni::CHAIN_LANES_MAX) => unsafe {
                aesni::evaluate_chain(start, first_index, a, x, lanes, rows);
            },
            _ => {
                let rows = rows.chunks_exact(lanes * GarbledGate::BYTES);
                for (i, (a, rows)) in a.chunks_exact(lanes).zip(rows).enumerate() {
                    let (below, above) = x.split_at_mut((i + 1) * lanes);
                    let index = first_index.advance(i * lanes);
                    self.evaluate_batch(index, a, &below[i * lanes..], product, rows);
                    above.iter_mut().zip(&*product).for_each(|(x, &product)| *x ^= product);
                }
            }
        }
    }

    /// Garbles with one `b` per gate, on this kernel.
    #[inline]
    fn garble_batch(
        &self,
        delta: &Delta,
        first: AndIndex,
        a: &[Block],
        b: &[Block],
        out: &mut [Block],
        rows: &mut [u8],
    ) {
        let start = self.start;
        match self.kernel.variant() {
            // SAFETY: a `Kernel` exists only for a variant whose features this CPU has.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Vaes512 => unsafe {
                vaes512::garble(start, delta, first, a, b, out, rows);
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Vaes256 => unsafe {
                vaes256::garble(start, delta, first, a, b, out, rows);
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::AesNi => unsafe {
                aesni::garble(start, delta, first, a, b, out, rows);
            },
            _ => portable::garble(start, delta, first, a, b, out, rows),
        }
    }

    /// Evaluates with one `b` per gate, on this kernel.
    #[inline]
    fn evaluate_batch(
        &self,
        first: AndIndex,
        a: &[Block],
        b: &[Block],
        out: &mut [Block],
        rows: &[u8],
    ) {
        let start = self.start;
        match self.kernel.variant() {
            // SAFETY: a `Kernel` exists only for a variant whose features this CPU has.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Vaes512 => unsafe { vaes512::evaluate(start, first, a, b, out, rows) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Vaes256 => unsafe { vaes256::evaluate(start, first, a, b, out, rows) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            InstructionSet::AesNi => unsafe { aesni::evaluate(start, first, a, b, out, rows) },
            _ => portable::evaluate(start, first, a, b, out, rows),
        }
    }
}

/// The hashes of garbling or evaluating that many gates with nothing around them, for
/// [`crate::measure`]; the result only keeps the compiler from dropping them.
pub(crate) fn hashes_alone(kernel: Kernel, start: Block, garbling: bool, gates: usize) -> Block {
    match kernel.variant() {
        // SAFETY: a `Kernel` exists only for a variant whose features this CPU has.
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Vaes512 => unsafe { vaes512::hashes_alone(start, garbling, gates) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        InstructionSet::Vaes256 => unsafe { vaes256::hashes_alone(start, garbling, gates) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        InstructionSet::AesNi => unsafe { aesni::hashes_alone(start, garbling, gates) },
        _ => portable::hashes_alone(start, garbling, gates),
    }
}

/// Room for a short `b` written out several times, so that the kernels see a long one:
/// 64 * 16 bytes = 1 KiB of stack, eight steps of the widest kernel.
const REPEATED_BLOCKS: usize = 64;

/// `b` if it is long, else `b` written out as often as fits into `room` or is needed.
#[inline]
fn repeat<'a>(b: &'a [Block], gates: usize, room: &'a mut [Block; REPEATED_BLOCKS]) -> &'a [Block] {
    if b.len() * 2 > REPEATED_BLOCKS {
        return b;
    }
    let used = gates.min(REPEATED_BLOCKS / b.len() * b.len());
    for (copy, block) in room[..used].iter_mut().zip(b.iter().cycle()) {
        *copy = *block;
    }
    &room[..used]
}

/// A wrong length or a repeated tweak is a bug of the caller that must stop the process.
#[inline]
fn check_lengths(first: AndIndex, a: &[Block], b: &[Block], out: &[Block], rows: &[u8]) {
    let gates = a.len();
    assert!(gates == out.len(), "one output per gate");
    assert!(rows.len() == gates * GarbledGate::BYTES, "32 bytes of rows per gate");
    assert!(b.len() == gates || (!b.is_empty() && gates.is_multiple_of(b.len())), "b repeats");
    first.advance(gates);
}

/// As [`check_lengths`], for a chain.
#[inline]
fn check_chain(first: AndIndex, a: &[Block], x: &[Block], lanes: usize, rows: &[u8]) {
    let gates = a.len();
    assert!(lanes > 0 && gates.is_multiple_of(lanes), "a chain has whole rows");
    assert!(x.len() == gates + lanes, "the labels of a chain have one row more than its gates");
    assert!(rows.len() == gates * GarbledGate::BYTES, "32 bytes of rows per gate");
    first.advance(gates);
}
