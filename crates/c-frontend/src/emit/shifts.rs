//! Shifts by public amounts, also of amounts that differ between lanes.

use phineus_frontend::untyped::Value;

use crate::data::CellValue;
use crate::emit::Emitter;
use crate::emit::cache::KnownZeroBits;
use crate::emit::record::shift;
use crate::ir::Binary;

/// Parts of a vector that are shifted by amounts of their own.
const SHIFTS_MAX: usize = 256;

impl Emitter {
    /// A shift by what is public.
    pub(crate) fn shifted(
        &mut self,
        op: Binary,
        width: u16,
        a: &CellValue,
        b: &CellValue,
    ) -> Option<CellValue> {
        let amount = match b {
            CellValue::Public(amount) => *amount,
            CellValue::Spread(amounts) => return self.shift_lanes(op, width, a, amounts),
            _ => return None,
        };
        let value = self.value(a, width);
        let before = self.zeros(a, width);
        let by = amount.min(u128::from(width)) as u16;
        let zeros = match op {
            Binary::Shl => KnownZeroBits {
                low: (before.low + by).min(width),
                high: before.high.saturating_sub(by),
            },
            Binary::LShr => KnownZeroBits {
                low: before.low.saturating_sub(by),
                high: (before.high + by).min(width),
            },
            _ => KnownZeroBits::default(),
        };
        let shifted = self.known(shift(op, &value, amount as u64));
        Some(self.with_zeros(shifted, zeros))
    }

    /// A shift by public amounts that differ between lanes, part by part.
    fn shift_lanes(
        &mut self,
        op: Binary,
        width: u16,
        a: &CellValue,
        amounts: &[u128],
    ) -> Option<CellValue> {
        let starts: Vec<usize> =
            (0..amounts.len()).filter(|at| *at == 0 || amounts[at - 1] != amounts[*at]).collect();
        if starts.len() > SHIFTS_MAX {
            return None;
        }
        let value = self.value(a, width);
        let ends = starts.iter().skip(1).copied().chain([amounts.len()]);
        let part = |(start, end): (&usize, usize)| {
            let lanes = (end - start) as u32;
            let own = match value.lanes() {
                1 => (*value).clone(),
                _ => value.lane_slice(*start as u32, lanes),
            };
            shift(op, &own, amounts[*start] as u64).tile(lanes)
        };
        let mut parts: Vec<Value> = starts.iter().zip(ends).map(part).collect();
        while parts.len() > 1 {
            let pairs = parts.chunks(2).map(|pair| match pair {
                [low, high] => low.lane_concat(high),
                _ => pair[0].clone(),
            });
            parts = pairs.collect();
        }
        parts.pop().map(|all| self.known(all))
    }
}
