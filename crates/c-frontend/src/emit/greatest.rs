//! The greatest value of an unsigned integer: an index that counts reaches only as far as it has counted.

use std::rc::Rc;

use crate::data::{CellValue, mask};
use crate::emit::Emitter;
use crate::ir::{Binary, Unary};

/// Values of which this is remembered.
const KEPT: usize = 1 << 16;

impl Emitter {
    /// The greatest unsigned integer that `data`, of so many bits, can be, as far as it is known.
    pub(crate) fn greatest(&self, data: &CellValue, width: u16) -> u128 {
        let of_zeros = mask(width - self.zeros(data, width).high.min(width));
        match data {
            CellValue::Public(value) => value & mask(width),
            CellValue::Secret(value) | CellValue::Lane(value, _) => {
                let known = self.greatest.get(&Rc::as_ptr(value));
                known.map_or(of_zeros, |(_, greatest)| of_zeros.min(*greatest))
            }
            _ => of_zeros,
        }
    }

    /// Remembers the greatest value of a result of `width` bits, and returns the result.
    pub(crate) fn with_greatest(
        &mut self,
        data: CellValue,
        width: u16,
        greatest: Option<u128>,
    ) -> CellValue {
        if let (CellValue::Secret(value), Some(greatest)) = (&data, greatest)
            && greatest < mask(width - self.zeros(&data, width).high.min(width))
        {
            if self.greatest.len() >= KEPT {
                self.greatest.clear();
            }
            self.greatest.insert(Rc::as_ptr(value), (Rc::downgrade(value), greatest));
        }
        data
    }

    /// The greatest result of an operation on integers of `width` bits; `None` if it may wrap or is not bounded.
    pub(crate) fn greatest_of_binary(
        &self,
        op: Binary,
        width: u16,
        [a, b]: [&CellValue; 2],
    ) -> Option<u128> {
        let [of_a, of_b] = [a, b].map(|data| self.greatest(data, width));
        let known = match op {
            Binary::Add => of_a.checked_add(of_b),
            Binary::Mul => of_a.checked_mul(of_b),
            Binary::And | Binary::UMin => Some(of_a.min(of_b)),
            Binary::UMax => Some(of_a.max(of_b)),
            // C does not define a division by 0, so the quotient and the remainder are taken to be at most the dividend.
            Binary::UDiv | Binary::LShr => match (op, b) {
                (Binary::UDiv, CellValue::Public(by)) => of_a.checked_div(*by),
                (Binary::LShr, CellValue::Public(by)) => {
                    Some(of_a.checked_shr(*by as u32).unwrap_or(0))
                }
                _ => Some(of_a),
            },
            Binary::URem => match b {
                CellValue::Public(by) if *by > 0 => Some(of_a.min(by - 1)),
                _ => Some(of_a),
            },
            Binary::Shl => match b {
                CellValue::Public(by) if *by < 64 => of_a.checked_mul(1 << by),
                _ => None,
            },
            Binary::Or | Binary::Xor => Some(mask(128 - (of_a | of_b).leading_zeros() as u16)),
            Binary::Sub | Binary::SDiv | Binary::SRem | Binary::AShr => None,
            Binary::SMin | Binary::SMax => None,
            Binary::UAddSat | Binary::USubSat | Binary::SAddSat | Binary::SSubSat => None,
        };
        known.filter(|greatest| *greatest <= mask(width))
    }

    /// The greatest result of an operation from `from` to `to` bits; `None` as for [`Emitter::greatest_of_binary`].
    pub(crate) fn greatest_of_unary(
        &self,
        op: Unary,
        (from, to): (u16, u16),
        data: &CellValue,
    ) -> Option<u128> {
        let greatest = self.greatest(data, from);
        match op {
            Unary::ZeroExtend => Some(greatest),
            Unary::Truncate => (greatest <= mask(to)).then_some(greatest),
            Unary::SignExtend => (greatest <= mask(from) >> 1).then_some(greatest),
            Unary::PopCount | Unary::LeadingZeros | Unary::TrailingZeros => Some(from.into()),
            Unary::Abs | Unary::ByteSwap | Unary::BitReverse => None,
        }
    }
}
