//! Bits that are known to be 0, and shifts that differ between lanes.
//!
//! C puts bytes together by shifting and `|`. What widening, shifts and masks leave is known to be
//! 0 at both ends, so that such an `|`, `^` or `+` is one value behind the other, which costs
//! nothing under any protocol.

use std::rc::Rc;

use crate::data::Data;
use crate::evaluate::arithmetic::shift;
use crate::interpreter::Machine;
use crate::ir::Binary;
use phineus_frontend::untyped::Value;

/// Values of which this is remembered.
const KEPT: usize = 1 << 12;
/// Parts of a vector that are shifted by amounts of their own.
const SHIFTS_MAX: usize = 256;

/// The lowest and the highest bits that are 0.
#[derive(Clone, Copy, Default)]
pub(crate) struct Zeros {
    pub(crate) low: u16,
    pub(crate) high: u16,
}

impl Machine<'_> {
    pub(crate) fn zeros(&self, data: &Data, width: u16) -> Zeros {
        match data {
            Data::Public(value) => Zeros {
                low: (value.trailing_zeros() as u16).min(width),
                high: width - (128 - value.leading_zeros() as u16).min(width),
            },
            Data::Secret(value) | Data::Lane(value, _) => {
                match self.known_zeros.get(&Rc::as_ptr(value)) {
                    Some((_, zeros)) => *zeros,
                    None => Zeros::default(),
                }
            }
            _ => Zeros::default(),
        }
    }

    /// Remembers it of a result, which it returns.
    pub(crate) fn with_zeros(&mut self, data: Data, zeros: Zeros) -> Data {
        if let Data::Secret(value) = &data
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
    pub(crate) fn side_by_side(&mut self, width: u16, a: &Data, b: &Data) -> Option<Data> {
        let (of_a, of_b) = (self.zeros(a, width), self.zeros(b, width));
        // What is 0 in all bits is so at both ends, and says nothing of the other.
        let zeros = Zeros { low: of_a.low.min(of_b.low), high: of_a.high.min(of_b.high) };
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

    /// A shift by what is public.
    pub(crate) fn shifted(&mut self, op: Binary, width: u16, a: &Data, b: &Data) -> Option<Data> {
        let amount = match b {
            Data::Public(amount) => *amount,
            Data::Spread(amounts) => return self.shift_lanes(op, width, a, amounts),
            _ => return None,
        };
        let value = self.value(a, width);
        let before = self.zeros(a, width);
        let by = amount.min(u128::from(width)) as u16;
        let zeros = match op {
            Binary::Shl => {
                Zeros { low: (before.low + by).min(width), high: before.high.saturating_sub(by) }
            }
            Binary::LShr => {
                Zeros { low: before.low.saturating_sub(by), high: (before.high + by).min(width) }
            }
            _ => Zeros::default(),
        };
        let shifted = self.known(shift(op, &value, amount as u64));
        Some(self.with_zeros(shifted, zeros))
    }

    /// A shift by public amounts that differ between lanes, part by part.
    fn shift_lanes(&mut self, op: Binary, width: u16, a: &Data, amounts: &[u128]) -> Option<Data> {
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
