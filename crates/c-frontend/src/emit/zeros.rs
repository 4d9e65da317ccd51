//! Bits that are known to be 0.
//!
//! C puts bytes together by shifting and `|`. What widening, shifts and masks leave is known to be
//! 0 at both ends, so that such an `|`, `^` or `+` is one value behind the other, which costs
//! nothing under any protocol.

use std::rc::Rc;

use crate::data::CellValue;
use crate::emit::Emitter;
use crate::emit::cache::KnownZeroBits;

/// Values of which this is remembered.
const KEPT: usize = 1 << 12;

impl Emitter {
    pub(crate) fn zeros(&self, data: &CellValue, width: u16) -> KnownZeroBits {
        match data {
            CellValue::Public(value) => KnownZeroBits {
                low: (value.trailing_zeros() as u16).min(width),
                high: width - (128 - value.leading_zeros() as u16).min(width),
            },
            CellValue::Secret(value) | CellValue::Lane(value, _) => {
                match self.known_zeros.get(&Rc::as_ptr(value)) {
                    Some((_, zeros)) => *zeros,
                    None => KnownZeroBits::default(),
                }
            }
            _ => KnownZeroBits::default(),
        }
    }

    /// Remembers it of a result, which it returns.
    pub(crate) fn with_zeros(&mut self, data: CellValue, zeros: KnownZeroBits) -> CellValue {
        if let CellValue::Secret(value) = &data
            && (zeros.low > 0 || zeros.high > 0)
        {
            if self.known_zeros.len() >= KEPT {
                self.known_zeros.clear();
            }
            self.known_zeros.insert(Rc::as_ptr(value), (value.clone(), zeros));
        }
        data
    }

    /// The sum of two integers of which one is 0 where the other is not.
    pub(crate) fn side_by_side(
        &mut self,
        width: u16,
        a: &CellValue,
        b: &CellValue,
    ) -> Option<CellValue> {
        let (of_a, of_b) = (self.zeros(a, width), self.zeros(b, width));
        // What is 0 in all bits is so at both ends, and says nothing of the other.
        let zeros = KnownZeroBits { low: of_a.low.min(of_b.low), high: of_a.high.min(of_b.high) };
        let (low, high, at) = if width - of_a.high <= of_b.low {
            (a, b, of_b.low)
        } else if width - of_b.high <= of_a.low {
            (b, a, of_a.low)
        } else {
            return None;
        };
        if at == 0 || at >= width {
            return None;
        }
        let (low, high) = (self.value(low, width), self.value(high, width));
        let both = low.bit_slice(0, at).bit_concat(&high.bit_slice(at, width - at));
        let both = self.known(both);
        Some(self.with_zeros(both, zeros))
    }
}
