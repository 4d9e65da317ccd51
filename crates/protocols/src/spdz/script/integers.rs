//! Scripts on integers in the field: reduction, right shifts, comparisons, bits.
//!
//! All begin with opening `y + r`. For an integer `y` below `2^(m + 1)`, where the field has space,
//! `r` is a number of `m` bits that are shared, and above them a bounded integer of each party:
//! nothing wraps, and `y` modulo `2^m` is `c - r` with a borrow if the low bits of `c` are less
//! than those of `r`.
//!
//! Else `r < 2^k` is a number whose bits are shared and `k` are the bits of the prime `p`. With `c = (y + r) mod p` and `u = [c < r]`, `y = c - r + p u` for
//! `0 <= y < p`. Modulo `2^w` that is `c - r` if `u` is 0, else `c + p - r`, each with a borrow if
//! the low bits of the public number are less than those of `r`.
//!
//! Where `p + 1` is a power of two, `p` is `-1` modulo `2^w`, so that `u` is a borrow into the
//! lowest bit, and one comparison of the low bits serves both cases.
//!
//! Cost for `k` bits, or `m` and a bounded integer: as many random bits; a comparison of a public
//! and a shared number of `m` bits is a tree of about `3 m / 2` products in `ceil(log2 m)` rounds, of
//! which the first does not wait for the opening.

use super::{OpenedNumber, PublicRow, ScriptRecorder, ShareRow};

/// Mask of an integer.
pub(in crate::spdz) struct Mask {
    bits: Vec<ShareRow>,
    /// Above the bits; without it, those are as many as the prime has.
    bounded: Option<ShareRow>,
}

/// An opened sum and the bits of its mask.
struct MaskedSum {
    opened: PublicRow,
    bits: Vec<ShareRow>,
    is_bounded: bool,
}

/// Whether a public number is less than a shared one, and whether they are equal.
#[derive(Clone, Copy)]
struct ComparisonBits {
    less: ShareRow,
    equal: ShareRow,
}

impl ScriptRecorder {
    fn is_mersenne(&self) -> bool {
        (self.modulus.prime + 1).is_power_of_two()
    }

    /// A mask for an integer below `2^(bits + 1)` of which `bits` are looked at; or for any.
    pub(in crate::spdz) fn mask_of(&mut self, bits: u32) -> Mask {
        if bits == 0 || bits > self.modulus.hidden_bits {
            return self.whole_mask();
        }
        let bits = self.random_bits(bits);
        Mask { bits, bounded: Some(self.bounded()) }
    }

    /// A mask for any element.
    pub(in crate::spdz) fn whole_mask(&mut self) -> Mask {
        self.whole_count += 1;
        Mask { bits: self.random_bits(self.prime_bits), bounded: None }
    }

    /// Opens `row + r`, where `r` is the mask.
    fn mask(&mut self, row: ShareRow, Mask { bits, bounded }: Mask) -> MaskedSum {
        let mut terms = vec![(row, 1)];
        let rows = bits.iter().chain(&bounded).enumerate();
        terms.extend(rows.map(|(i, row)| (*row, self.power(i as u32))));
        let sum = self.combine(&terms, 0);
        MaskedSum { opened: self.open(sum), bits, is_bounded: bounded.is_some() }
    }

    /// `2^exponent` as a factor, whose sign does not matter modulo the prime.
    fn power(&self, exponent: u32) -> i128 {
        if exponent < 127 {
            1 << exponent
        } else {
            // 2^127 - p, which is small.
            ((1u128 << exponent).wrapping_sub(self.modulus.prime)) as i128
        }
    }

    /// Compares the bits `range` of a number with those of the mask.
    fn compare(
        &mut self,
        number: OpenedNumber,
        bits: &[ShareRow],
        range: std::ops::Range<usize>,
        needs_equal: bool,
    ) -> ComparisonBits {
        let mut orders = self.orders_of_two(number, bits, range);
        if orders.is_empty() {
            return ComparisonBits { less: self.constant(0), equal: self.constant(1) };
        }
        while orders.len() > 1 {
            let is_last = orders.len() == 2;
            let mut joined = Vec::with_capacity(orders.len().div_ceil(2));
            for (k, pair) in orders.chunks(2).enumerate() {
                // The equality of the lowest part serves only who asks for it.
                let equal = needs_equal || !(k == 0 || is_last);
                joined.push(match *pair {
                    [low, high] => self.join(low, high, equal),
                    _ => pair[0],
                });
            }
            orders = joined;
        }
        orders[0]
    }

    /// The order of each two bits, and of the last one if their count is odd.
    fn orders_of_two(
        &mut self,
        number: OpenedNumber,
        bits: &[ShareRow],
        range: std::ops::Range<usize>,
    ) -> Vec<ComparisonBits> {
        let places = range.clone().step_by(2).zip(bits[range].chunks(2));
        let order = |(place, bits): (usize, &[ShareRow])| match *bits {
            [low, high] => {
                let [less, equal] = self.order_of_two(number, place as u32, [low, high]);
                ComparisonBits { less, equal }
            }
            _ => self.order(number, place, bits[0]),
        };
        places.map(order).collect()
    }

    fn order(&mut self, number: OpenedNumber, place: usize, bit: ShareRow) -> ComparisonBits {
        ComparisonBits {
            less: self.less(number, place as u32, bit),
            equal: self.equal(number, place as u32, bit),
        }
    }

    /// The order of numbers of which `high` compares the higher and `low` the lower bits.
    fn join(
        &mut self,
        low: ComparisonBits,
        high: ComparisonBits,
        needs_equal: bool,
    ) -> ComparisonBits {
        let through = self.product(high.equal, low.less);
        let less = self.add(high.less, through);
        let equal = if needs_equal { self.product(high.equal, low.equal) } else { high.equal };
        ComparisonBits { less, equal }
    }

    /// `y mod 2^width` for `0 <= y < p`, or less if the mask is bounded, from `y + r` opened.
    fn low_part(&mut self, masked: &MaskedSum, width: u32) -> ShareRow {
        let (w, k) = (width as usize, masked.bits.len());
        let plain = OpenedNumber { public: masked.opened, plus_prime: false };
        let needs_equal = self.is_mersenne() && !masked.is_bounded;
        let low = self.compare(plain, &masked.bits, 0..w, needs_equal);
        let mut terms: Vec<(ShareRow, i128)> = masked.bits[..w]
            .iter()
            .enumerate()
            .map(|(i, bit)| (*bit, -self.power(i as u32)))
            .collect();
        if masked.is_bounded {
            terms.push((low.less, self.power(width)));
            let row = self.combine(&terms, 0);
            return self.add_low(row, plain, width);
        }
        let high = self.compare(plain, &masked.bits, w..k, true);
        let wraps = self.join(low, high, false).less;
        if self.is_mersenne() {
            // y = c - r - u modulo 2^w; it borrows if c < r + u.
            let both = self.product(wraps, low.equal);
            terms.extend([(low.less, self.power(width)), (both, self.power(width)), (wraps, -1)]);
            let row = self.combine(&terms, 0);
            return self.add_low(row, plain, width);
        }
        let wrapped = OpenedNumber { plus_prime: true, ..plain };
        let other = self.compare(wrapped, &masked.bits, 0..w, false);
        // The borrow of the number that holds, and what the two differ by, where it is the other.
        let borrow = self.select(wraps, other.less, low.less);
        terms.push((borrow, self.power(width)));
        let row = self.combine(&terms, 0);
        let row = self.add_low(row, plain, width);
        let plus = self.times_low(wraps, wrapped, width);
        let minus = self.times_low(wraps, plain, width);
        self.combine(&[(row, 1), (plus, 1), (minus, -1)], 0)
    }

    /// An integer of magnitude below `2^(k - 2)`, and that on top, so that it is not negative.
    fn shifted_up(&mut self, row: ShareRow) -> ShareRow {
        let offset = 1i128 << (self.prime_bits - 2);
        self.combine(&[(row, 1)], offset)
    }

    /// The integer in the unsigned or signed range of `width` bits that is equal modulo
    /// `2^width`.
    pub(in crate::spdz) fn reduce(
        &mut self,
        row: ShareRow,
        mask: Mask,
        width: u32,
        signed: bool,
    ) -> ShareRow {
        let half = if signed { 1i128 << (width - 1) } else { 0 };
        let up = self.shifted_up(row);
        let up = self.combine(&[(up, 1)], half);
        let masked = self.mask(up, mask);
        let low = self.low_part(&masked, width);
        self.combine(&[(low, 1)], -half)
    }

    /// `floor(row / 2^amount)`; under a bounded mask of an integer that is not negative with `offset`
    /// on top, a multiple of `2^amount`.
    pub(in crate::spdz) fn shift_right(
        &mut self,
        row: ShareRow,
        mask: Mask,
        amount: u32,
        offset: i128,
    ) -> ShareRow {
        let up = match mask.bounded {
            Some(_) => self.combine(&[(row, 1)], offset),
            None => self.shifted_up(row),
        };
        let masked = self.mask(up, mask);
        let low = self.low_part(&masked, amount);
        let high = self.sub(row, low);
        self.halved(high, amount)
    }

    /// Whether an integer is negative: whether twice it is odd, for a magnitude below `2^(k - 2)`. Under
    /// a bounded mask of `m` bits, for one below `2^m`: whether bit `m` is 0 with `2^m` on top.
    pub(in crate::spdz) fn is_negative(&mut self, row: ShareRow, mask: Mask) -> ShareRow {
        if mask.bounded.is_some() {
            let width = mask.bits.len() as u32;
            let up = self.combine(&[(row, 1)], self.power(width));
            let masked = self.mask(up, mask);
            let low = self.low_part(&masked, width);
            let bit = self.sub(up, low);
            let bit = self.halved(bit, width);
            return self.not(bit);
        }
        let twice = self.combine(&[(row, 2)], 0);
        let masked = self.mask(twice, mask);
        let number = OpenedNumber { public: masked.opened, plus_prime: false };
        let wraps = self.compare(number, &masked.bits, 0..masked.bits.len(), false).less;
        let odd = self.xor(masked.bits[0], wraps);
        self.differs(number, 0, odd)
    }

    /// Whether an integer is zero; under a bounded mask of `m` bits, one of magnitude below `2^m`.
    pub(in crate::spdz) fn is_zero(&mut self, row: ShareRow, mask: Mask) -> ShareRow {
        let offset = match mask.bounded {
            Some(_) => self.power(mask.bits.len() as u32),
            None => 0,
        };
        let up = self.combine(&[(row, 1)], offset);
        let masked = self.mask(up, mask);
        let number = OpenedNumber { public: masked.opened, plus_prime: false };
        let orders = self.orders_of_two(number, &masked.bits, 0..masked.bits.len());
        let mut rows: Vec<ShareRow> = orders.into_iter().map(|order| order.equal).collect();
        while rows.len() > 1 {
            rows = rows
                .chunks(2)
                .map(|pair| if pair.len() == 2 { self.product(pair[0], pair[1]) } else { pair[0] })
                .collect();
        }
        rows[0]
    }

    /// The low `width` bits of an integer of magnitude below `2^(k - 2)`, lowest first; beyond
    /// that its sign.
    pub(in crate::spdz) fn decompose(
        &mut self,
        row: ShareRow,
        mask: Mask,
        width: u32,
    ) -> Vec<ShareRow> {
        let up = self.shifted_up(row);
        let masked = self.mask(up, mask);
        let k = masked.bits.len();
        let sign_bit = self.prime_bits as usize - 2;
        let known = (width as usize).min(sign_bit);
        // With the offset, the bit at its place is 1 where the integer is not negative.
        let count = if width as usize > sign_bit { sign_bit + 1 } else { known };
        let plain = OpenedNumber { public: masked.opened, plus_prime: false };
        let low = self.prefixes(plain, &masked.bits, count);
        let high = self.compare(plain, &masked.bits, count..k, true);
        let wraps = self.join(low[count], high, false).less;
        let mut digits = Vec::with_capacity(width as usize);
        if self.is_mersenne() {
            for (bit, order) in low.iter().take(count).enumerate() {
                let through = self.product(order.equal, wraps);
                let borrow = self.add(order.less, through);
                let sum = self.xor(masked.bits[bit], borrow);
                digits.push(self.differs(plain, bit as u32, sum));
            }
        } else {
            let wrapped = OpenedNumber { plus_prime: true, ..plain };
            let other = self.prefixes(wrapped, &masked.bits, count);
            for (bit, (order, other)) in low.iter().zip(&other).take(count).enumerate() {
                let digit =
                    |recorder: &mut ScriptRecorder, number: OpenedNumber, borrow: ShareRow| {
                        let sum = recorder.xor(masked.bits[bit], borrow);
                        recorder.differs(number, bit as u32, sum)
                    };
                let straight = digit(self, plain, order.less);
                let around = digit(self, wrapped, other.less);
                digits.push(self.select(wraps, around, straight));
            }
        }
        if width as usize > sign_bit {
            let sign = self.not(digits[sign_bit]);
            digits.truncate(sign_bit);
            digits.resize(width as usize, sign);
        }
        digits
    }

    /// For each `i` up to `count`, the order of the low `i` bits: Sklansky's prefix network.
    fn prefixes(
        &mut self,
        number: OpenedNumber,
        bits: &[ShareRow],
        count: usize,
    ) -> Vec<ComparisonBits> {
        // Of each bit, then of each two: those with an odd place below.
        let mut orders: Vec<ComparisonBits> =
            (0..count).map(|bit| self.order(number, bit, bits[bit])).collect();
        let twos = self.orders_of_two(number, bits, 0..count);
        for (order, two) in orders.chunks_exact_mut(2).zip(twos) {
            order[1] = two;
        }
        let mut span = 2;
        while span < count {
            for bit in (0..count).filter(|bit| bit & span != 0) {
                let low = orders[(bit & !(span - 1)) - 1];
                orders[bit] = self.join(low, orders[bit], true);
            }
            span *= 2;
        }
        let nothing = ComparisonBits { less: self.constant(0), equal: self.constant(1) };
        let mut prefixes = vec![nothing];
        prefixes.extend(orders);
        prefixes
    }
}
