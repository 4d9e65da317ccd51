//! Scripts on integers in the field: reduction, right shifts, comparisons, bits.
//!
//! All begin with opening `y + r`, where `r < 2^k` is a number whose bits are shared and `k` are the
//! bits of the prime `p`. With `c = (y + r) mod p` and `u = [c < r]`, `y = c - r + p u` for
//! `0 <= y < p`. Modulo `2^w` that is `c - r` if `u` is 0, else `c + p - r`, each with a borrow if
//! the low bits of the public number are less than those of `r`.
//!
//! Where `p + 1` is a power of two, `p` is `-1` modulo `2^w`, so that `u` is a borrow into the
//! lowest bit, and one comparison of the low bits serves both cases.
//!
//! Cost for `k` bits: `k` random bits; a comparison of a public and a shared number of `m` bits is a
//! tree of at most `2 (m - 1)` products in `ceil(log2 m)` rounds.

use super::{Number, Public, Recorder, Row};

/// An opened sum and the bits of its mask.
struct Masked {
    opened: Public,
    bits: Vec<Row>,
}

/// Whether a public number is less than a shared one, and whether they are equal.
#[derive(Clone, Copy)]
struct Order {
    less: Row,
    equal: Row,
}

impl Recorder {
    fn is_mersenne(&self) -> bool {
        (self.prime + 1).is_power_of_two()
    }

    /// Opens `row + r`. `bits` are those of `r`.
    fn mask(&mut self, row: Row, bits: Vec<Row>) -> Masked {
        let mut terms = vec![(row, 1)];
        terms.extend(bits.iter().enumerate().map(|(i, bit)| (*bit, self.power(i as u32))));
        let sum = self.combine(&terms, 0);
        Masked { opened: self.open(sum), bits }
    }

    /// `2^exponent` as a factor, whose sign does not matter modulo the prime.
    fn power(&self, exponent: u32) -> i128 {
        if exponent < 127 {
            1 << exponent
        } else {
            // 2^127 - p, which is small.
            ((1u128 << exponent).wrapping_sub(self.prime)) as i128
        }
    }

    /// Compares the bits `range` of a number with those of the mask.
    fn compare(
        &mut self,
        number: Number,
        bits: &[Row],
        range: std::ops::Range<usize>,
        needs_equal: bool,
    ) -> Order {
        let mut orders: Vec<Order> = range
            .map(|bit| Order {
                less: self.less(number, bit as u32, bits[bit]),
                equal: self.equal(number, bit as u32, bits[bit]),
            })
            .collect();
        if orders.is_empty() {
            return Order { less: self.constant(0), equal: self.constant(1) };
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

    /// The order of numbers of which `high` compares the higher and `low` the lower bits.
    fn join(&mut self, low: Order, high: Order, needs_equal: bool) -> Order {
        let through = self.product(high.equal, low.less);
        let less = self.add(high.less, through);
        let equal = if needs_equal { self.product(high.equal, low.equal) } else { high.equal };
        Order { less, equal }
    }

    /// `y mod 2^width` for `0 <= y < p`, from `y + r` opened.
    fn low_part(&mut self, masked: &Masked, width: u32) -> Row {
        let (w, k) = (width as usize, masked.bits.len());
        let plain = Number { public: masked.opened, plus_prime: false };
        let low = self.compare(plain, &masked.bits, 0..w, self.is_mersenne());
        let high = self.compare(plain, &masked.bits, w..k, true);
        let wraps = self.join(low, high, false).less;
        let mut terms: Vec<(Row, i128)> = masked.bits[..w]
            .iter()
            .enumerate()
            .map(|(i, bit)| (*bit, -self.power(i as u32)))
            .collect();
        if self.is_mersenne() {
            // y = c - r - u modulo 2^w; it borrows if c < r + u.
            let both = self.product(wraps, low.equal);
            terms.extend([(low.less, self.power(width)), (both, self.power(width)), (wraps, -1)]);
            let row = self.combine(&terms, 0);
            return self.add_low(row, plain, width);
        }
        let wrapped = Number { plus_prime: true, ..plain };
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
    fn shifted_up(&mut self, row: Row) -> Row {
        let offset = 1i128 << (self.prime_bits - 2);
        self.combine(&[(row, 1)], offset)
    }

    /// The integer in the unsigned or signed range of `width` bits that is equal modulo
    /// `2^width`.
    pub(in crate::spdz) fn reduce(
        &mut self,
        row: Row,
        bits: Vec<Row>,
        width: u32,
        signed: bool,
    ) -> Row {
        let half = if signed { 1i128 << (width - 1) } else { 0 };
        let up = self.shifted_up(row);
        let up = self.combine(&[(up, 1)], half);
        let masked = self.mask(up, bits);
        let low = self.low_part(&masked, width);
        self.combine(&[(low, 1)], -half)
    }

    /// `floor(row / 2^amount)`
    pub(in crate::spdz) fn shift_right(&mut self, row: Row, bits: Vec<Row>, amount: u32) -> Row {
        let low = self.reduce(row, bits, amount, false);
        let high = self.sub(row, low);
        self.halved(high, amount)
    }

    /// Whether an integer of magnitude below `2^(k - 2)` is negative: whether twice it is odd.
    pub(in crate::spdz) fn is_negative(&mut self, row: Row, bits: Vec<Row>) -> Row {
        let twice = self.combine(&[(row, 2)], 0);
        let masked = self.mask(twice, bits);
        let number = Number { public: masked.opened, plus_prime: false };
        let wraps = self.compare(number, &masked.bits, 0..masked.bits.len(), false).less;
        let odd = self.xor(masked.bits[0], wraps);
        self.differs(number, 0, odd)
    }

    /// Whether an integer is zero.
    pub(in crate::spdz) fn is_zero(&mut self, row: Row, bits: Vec<Row>) -> Row {
        let masked = self.mask(row, bits);
        let number = Number { public: masked.opened, plus_prime: false };
        let mut rows: Vec<Row> = masked
            .bits
            .iter()
            .enumerate()
            .map(|(bit, row)| self.equal(number, bit as u32, *row))
            .collect();
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
    pub(in crate::spdz) fn decompose(&mut self, row: Row, bits: Vec<Row>, width: u32) -> Vec<Row> {
        let up = self.shifted_up(row);
        let masked = self.mask(up, bits);
        let k = masked.bits.len();
        let sign_bit = self.prime_bits as usize - 2;
        let known = (width as usize).min(sign_bit);
        // With the offset, the bit at its place is 1 where the integer is not negative.
        let count = if width as usize > sign_bit { sign_bit + 1 } else { known };
        let plain = Number { public: masked.opened, plus_prime: false };
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
            let wrapped = Number { plus_prime: true, ..plain };
            let other = self.prefixes(wrapped, &masked.bits, count);
            for (bit, (order, other)) in low.iter().zip(&other).take(count).enumerate() {
                let digit = |recorder: &mut Recorder, number: Number, borrow: Row| {
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
    fn prefixes(&mut self, number: Number, bits: &[Row], count: usize) -> Vec<Order> {
        let mut orders: Vec<Order> = (0..count)
            .map(|bit| Order {
                less: self.less(number, bit as u32, bits[bit]),
                equal: self.equal(number, bit as u32, bits[bit]),
            })
            .collect();
        let mut span = 1;
        while span < count {
            for bit in (0..count).filter(|bit| bit & span != 0) {
                let low = orders[(bit & !(span - 1)) - 1];
                orders[bit] = self.join(low, orders[bit], true);
            }
            span *= 2;
        }
        let nothing = Order { less: self.constant(0), equal: self.constant(1) };
        let mut prefixes = vec![nothing];
        prefixes.extend(orders);
        prefixes
    }
}
