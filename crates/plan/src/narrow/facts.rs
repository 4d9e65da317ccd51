//! [`Facts`]: known bits and ranges of a value, over all its lanes.
//!
//! Three views of one value are held together: bits that are known, an unsigned interval and a signed
//! one. Each is made as narrow as the others allow. Facts follow from types, constants and operations
//! alone; where in doubt nothing is known.
//!
//! Invariant: the actual value of every lane satisfies all of them, for all inputs.

/// Values of more bits have no facts: they are computed whole.
pub(crate) const TRACKED_WIDTH_MAX: u16 = 128;

/// The lowest `width` bits.
pub(crate) fn mask(width: u16) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

/// Number of bits up to the highest 1.
pub(crate) fn bit_length(value: u128) -> u16 {
    (128 - value.leading_zeros()) as u16
}

/// All bits but the lowest `width`.
pub(crate) fn above(width: u16) -> u128 {
    !mask(width)
}

/// The least and the greatest signed integer of `width` bits.
pub(crate) fn signed_bounds(width: u16) -> (i128, i128) {
    let most = (mask(width) >> 1) as i128;
    (!most, most)
}

/// Facts about all lanes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) width: u16,
    /// Bits that are 0, and bits that are 1.
    pub(crate) zeros: u128,
    pub(crate) ones: u128,
    /// Bounds of the unsigned integer.
    pub(crate) low: u128,
    pub(crate) high: u128,
    /// Bounds of the signed integer.
    pub(crate) least: i128,
    pub(crate) most: i128,
}

impl Facts {
    pub(crate) fn unknown(width: u16) -> Facts {
        let (least, most) = signed_bounds(width.min(TRACKED_WIDTH_MAX));
        Facts { width, zeros: 0, ones: 0, low: 0, high: mask(width), least, most }
    }

    pub(crate) fn constant(width: u16, value: u128) -> Facts {
        Facts::unknown(width).with_bits(!value & mask(width), value)
    }

    /// A value that is `when` or the complement, if that is known.
    pub(crate) fn bit(when: Option<bool>) -> Facts {
        when.map_or(Facts::unknown(1), |when| Facts::constant(1, u128::from(when)))
    }

    /// Returns whether anything can be known.
    pub(crate) fn is_tracked(&self) -> bool {
        self.width <= TRACKED_WIDTH_MAX
    }

    pub(crate) fn known(&self) -> u128 {
        self.zeros | self.ones
    }

    /// The value, if there is only one.
    pub(crate) fn as_constant(&self) -> Option<u128> {
        (self.is_tracked() && self.low == self.high).then_some(self.low)
    }

    /// Returns whether it is never negative.
    pub(crate) fn is_natural(&self) -> bool {
        self.least >= 0
    }

    pub(crate) fn may_be_zero(&self) -> bool {
        self.low == 0 && self.ones == 0
    }

    /// Number of bits that hold the unsigned integer; 0 of the integer 0.
    pub(crate) fn unsigned_width(&self) -> u16 {
        if self.is_tracked() { bit_length(self.high) } else { self.width }
    }

    /// Number of bits that hold the signed integer.
    pub(crate) fn signed_width(&self) -> u16 {
        if !self.is_tracked() {
            return self.width;
        }
        let bits = |end: i128| bit_length((if end < 0 { !end } else { end }) as u128);
        1 + bits(self.least).max(bits(self.most))
    }

    /// How many of the lowest bits are known to be 0.
    pub(crate) fn trailing_zeros(&self) -> u16 {
        (self.zeros.trailing_ones() as u16).min(self.width)
    }

    /// The signed integer of these bits.
    fn signed(&self, value: u128) -> i128 {
        let sign = 1 << (self.width - 1);
        if value & sign == 0 { value as i128 } else { (value | above(self.width)) as i128 }
    }

    /// The bits of this signed integer.
    fn unsigned(&self, value: i128) -> u128 {
        value as u128 & mask(self.width)
    }

    pub(crate) fn with_bits(self, zeros: u128, ones: u128) -> Facts {
        if !self.is_tracked() {
            return self;
        }
        let within = mask(self.width);
        Facts { zeros: self.zeros | zeros & within, ones: self.ones | ones & within, ..self }
            .refined()
    }

    /// With an unsigned interval, if the type holds all of it.
    pub(crate) fn with_unsigned(self, interval: Option<(u128, u128)>) -> Facts {
        match interval {
            Some((low, high)) if self.is_tracked() && high <= mask(self.width) => {
                Facts { low: self.low.max(low), high: self.high.min(high), ..self }.refined()
            }
            _ => self,
        }
    }

    /// With a signed interval, if the type holds all of it.
    pub(crate) fn with_signed(self, interval: Option<(i128, i128)>) -> Facts {
        let (lowest, highest) = signed_bounds(self.width.min(TRACKED_WIDTH_MAX));
        match interval {
            Some((least, most)) if self.is_tracked() && lowest <= least && most <= highest => {
                Facts { least: self.least.max(least), most: self.most.min(most), ..self }.refined()
            }
            _ => self,
        }
    }

    /// Facts about a value of which one of two facts is true.
    pub(crate) fn union(self, other: Facts) -> Facts {
        Facts {
            width: self.width,
            zeros: self.zeros & other.zeros,
            ones: self.ones & other.ones,
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
        .refined()
    }

    /// Makes each view as narrow as the others allow.
    fn refined(mut self) -> Facts {
        if !self.is_tracked() {
            return Facts::unknown(self.width);
        }
        loop {
            let before = self;
            self.refine_unsigned();
            self.refine_signed();
            self.refine_across();
            let is_possible = self.low <= self.high && self.least <= self.most;
            assert!(
                is_possible && self.zeros & self.ones == 0,
                "facts of a value contradict each other: {before:?}"
            );
            if self == before {
                return self;
            }
        }
    }

    /// From known bits to the unsigned interval, and back to bits that its ends share.
    fn refine_unsigned(&mut self) {
        let within = mask(self.width);
        self.low = self.low.max(self.ones);
        self.high = self.high.min(within & !self.zeros);
        let shared = within & above(bit_length(self.low ^ self.high));
        self.zeros |= shared & !self.low;
        self.ones |= shared & self.low;
    }

    /// From known bits to the signed interval. From the bit on that its ends need, all bits are equal.
    fn refine_signed(&mut self) {
        let (within, sign) = (mask(self.width), 1u128 << (self.width - 1));
        let (set, possible) = (self.ones, within & !self.zeros);
        if self.zeros & sign == 0 {
            self.least = self.least.max(self.signed(set | sign));
        }
        if self.ones & sign == 0 {
            self.most = self.most.min(self.signed(possible & !sign));
        }
        let copies = within & above(self.signed_width() - 1);
        if self.zeros & copies != 0 {
            self.least = self.least.max(0);
        }
        if self.ones & copies != 0 {
            self.most = self.most.min(-1);
        }
    }

    /// Between the intervals, where one does not go across the end of the other.
    fn refine_across(&mut self) {
        let sign = 1u128 << (self.width - 1);
        if self.high < sign || self.low >= sign {
            self.least = self.least.max(self.signed(self.low));
            self.most = self.most.min(self.signed(self.high));
        }
        if self.least >= 0 || self.most < 0 {
            self.low = self.low.max(self.unsigned(self.least));
            self.high = self.high.min(self.unsigned(self.most));
        }
    }
}
