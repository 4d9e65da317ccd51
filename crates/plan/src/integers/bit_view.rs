//! [`BitView`]: where the bits of a value are found in the lowered program.
//!
//! Operations that only move bits, and operations with constants, change the view and emit nothing. What
//! is needed as one value is put together then (`bit_forms.rs`).
//!
//! Memory: 24 bytes for each run of bits that lie side by side.

use std::rc::Rc;

use phineus_bytecode::Lane;

/// A bit of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BitSource {
    Constant(bool),
    Held(HeldBit),
}

/// Bit `at` of `name`, which is `width` bits of the lowered program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeldBit {
    pub(super) name: u64,
    pub(super) width: u16,
    pub(super) at: u16,
    /// Whether the bit of the value is 1 where the held bit is 0.
    pub(super) inverted: bool,
}

impl BitSource {
    pub(super) const ZERO: BitSource = BitSource::Constant(false);

    pub(super) fn inverted(self) -> BitSource {
        match self {
            BitSource::Constant(value) => BitSource::Constant(!value),
            BitSource::Held(held) => BitSource::Held(HeldBit { inverted: !held.inverted, ..held }),
        }
    }

    /// The held bit itself, inverted or not.
    pub(super) fn plain(self) -> BitSource {
        match self {
            BitSource::Held(held) => BitSource::Held(HeldBit { inverted: false, ..held }),
            constant => constant,
        }
    }

    pub(super) fn is_inverted(self) -> bool {
        matches!(self, BitSource::Held(HeldBit { inverted: true, .. }))
    }

    /// The bit `by` places above it in the same value.
    fn above(self, by: u16) -> BitSource {
        match self {
            BitSource::Held(held) => BitSource::Held(HeldBit { at: held.at + by, ..held }),
            constant => constant,
        }
    }
}

/// Bits side by side: `count` bits from `first` on, or `first` again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BitRun {
    pub(super) first: BitSource,
    pub(super) count: u16,
    pub(super) is_repeated: bool,
}

impl BitRun {
    fn bit(&self, k: u16) -> BitSource {
        self.first.above(if self.is_repeated { 0 } else { k })
    }

    /// Takes one more bit in, if it continues the run.
    fn extend(&mut self, bit: BitSource) -> bool {
        let is_same = bit == self.first && (self.count == 1 || self.is_repeated);
        let is_next = !is_same
            && (self.count == 1 || !self.is_repeated)
            && matches!(bit, BitSource::Held(_))
            && bit == self.first.above(self.count);
        if is_same || is_next {
            (self.count, self.is_repeated) = (self.count + 1, is_same);
        }
        is_same || is_next
    }
}

/// The bits of a value, from the lowest on.
#[derive(Clone, Debug)]
pub(super) struct BitView(Rc<[BitRun]>);

impl BitView {
    pub(super) fn of(bits: impl IntoIterator<Item = BitSource>) -> BitView {
        let mut runs: Vec<BitRun> = Vec::new();
        for bit in bits {
            if !runs.last_mut().is_some_and(|run| run.extend(bit)) {
                runs.push(BitRun { first: bit, count: 1, is_repeated: false });
            }
        }
        BitView(runs.into())
    }

    /// All bits of `name`.
    pub(super) fn of_name(name: u64, width: u16) -> BitView {
        let first = BitSource::Held(HeldBit { name, width, at: 0, inverted: false });
        BitView([BitRun { first, count: width, is_repeated: false }].into())
    }

    pub(super) fn of_constant(value: Lane, width: u16) -> BitView {
        BitView::of((0..width).map(|k| BitSource::Constant(value.bit(usize::from(k)))))
    }

    pub(super) fn runs(&self) -> &[BitRun] {
        &self.0
    }

    pub(super) fn bits(&self) -> Vec<BitSource> {
        self.0.iter().flat_map(|run| (0..run.count).map(|k| run.bit(k))).collect()
    }

    pub(super) fn width(&self) -> u16 {
        self.0.iter().map(|run| run.count).sum()
    }

    /// The name whose bits these are, all of them and nothing else.
    pub(super) fn whole(&self) -> Option<u64> {
        match *self.0 {
            [BitRun { first: BitSource::Held(held), count, is_repeated }]
                if held.at == 0 && held.width == count && !held.inverted && !is_repeated =>
            {
                Some(held.name)
            }
            _ => None,
        }
    }

    pub(super) fn as_constant(&self) -> Option<Lane> {
        let mut value = Lane::ZERO;
        for (k, bit) in self.bits().into_iter().enumerate() {
            let BitSource::Constant(bit) = bit else { return None };
            value.set_bit(k, bit);
        }
        Some(value)
    }

    pub(super) fn has_zeros(&self) -> bool {
        self.0.iter().any(|run| run.first == BitSource::ZERO)
    }

    /// The number of bits up to the highest that may be 1.
    pub(super) fn significant(&self) -> u16 {
        let zeros = self.0.last().filter(|run| run.first == BitSource::ZERO);
        self.width() - zeros.map_or(0, |run| run.count)
    }

    /// The number of bits up to the lowest that all bits above are copies of.
    pub(super) fn signed(&self) -> u16 {
        let bits = self.bits();
        let Some(&sign) = bits.last() else { return 0 };
        let copies = bits.iter().rev().take_while(|&&bit| bit == sign).count();
        (bits.len() - copies + 1) as u16
    }

    /// `count` bits from bit `start` on; those above the highest are copies of it if `signed`, or 0.
    pub(super) fn slice(&self, start: u16, count: u16, signed: bool) -> BitView {
        let bits = self.bits();
        let sign = bits.last().copied().filter(|_| signed).unwrap_or(BitSource::ZERO);
        let at = |k: u16| bits.get(usize::from(k)).copied().unwrap_or(sign);
        BitView::of((0..count).map(|k| at(start.saturating_add(k))))
    }

    /// Moved up by `amount` bits, with zeros below.
    pub(super) fn shifted_left(&self, amount: u16) -> BitView {
        let width = self.width();
        let kept = self.slice(0, width - amount, false).bits();
        let zeros = std::iter::repeat_n(BitSource::ZERO, usize::from(amount));
        BitView::of(zeros.chain(kept))
    }

    pub(super) fn rotated_left(&self, amount: u16) -> BitView {
        let mut bits = self.bits();
        let by = usize::from(amount) % bits.len();
        bits.rotate_right(by);
        BitView::of(bits)
    }

    /// With pieces of `size` bits in reverse order.
    pub(super) fn reversed(&self, size: u16) -> BitView {
        let bits = self.bits();
        BitView::of(bits.chunks(usize::from(size)).rev().flatten().copied())
    }

    pub(super) fn inverted(&self) -> BitView {
        let run = |run: &BitRun| BitRun { first: run.first.inverted(), ..*run };
        BitView(self.0.iter().map(run).collect())
    }

    /// These bits below `high`.
    pub(super) fn below(&self, high: &BitView) -> BitView {
        BitView::of(self.bits().into_iter().chain(high.bits()))
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        size_of_val(&*self.0) as u64
    }
}
