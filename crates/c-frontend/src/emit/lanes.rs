//! Lanes cut out and brought together: the fewest slices and concatenations that give them.
//!
//! The cache must not depend on where values lie in memory: all parties make the same
//! program.

use std::rc::Rc;

use phineus_frontend::untyped::Value;

use crate::data::{CellValue, mask};
use crate::emit::Emitter;

/// Lanes that lie together.
enum LaneRange {
    /// Of a value, from a lane on, so many.
    Lanes(Rc<Value>, u32, u32),
    /// A public integer, so many times.
    Public(u128, u32),
}

/// Lanes that were brought together and are remembered.
const PACKS_KEPT: usize = 4096;

/// Constants that differ between lanes and are remembered.
const SPREADS_KEPT: usize = 256;

/// Lanes that were cut out and are remembered.
const SLICES_KEPT: usize = 4096;

impl Emitter {
    /// Constants that are remembered; a dry run adds none.
    pub(crate) fn spread_count(&self) -> usize {
        self.cache.spreads.len()
    }
}

impl Emitter {
    /// A constant that differs between lanes, recorded once.
    pub(crate) fn spread(&mut self, width: u16, values: &Rc<[u128]>) -> Rc<Value> {
        let key = (width, values.clone());
        if let Some(known) = self.cache.spreads.get(&key) {
            return known.clone();
        }
        if self.cache.spreads.len() >= SPREADS_KEPT {
            self.cache.spreads.clear();
        }
        let made = self.spread_anew(width, values);
        self.cache.spreads.insert(key, made.clone());
        made
    }

    /// Counting numbers have their low bits from a constant that all strips share; anything else is
    /// joined from its runs.
    fn spread_anew(&mut self, width: u16, values: &Rc<[u128]>) -> Rc<Value> {
        let lanes = values.len() as u128;
        let first = values[0];
        let low_bits = (128 - (lanes - 1).leading_zeros()) as u16;
        let counts = values.iter().zip(first..).all(|(value, expected)| *value == expected);
        let is_aligned = first & mask(low_bits) == 0;
        if counts && is_aligned && low_bits > 0 && low_bits < width {
            let low: Rc<[u128]> = (0..lanes).collect();
            let low = self.spread(low_bits, &low);
            let high = self.constant_value(width - low_bits, first >> low_bits);
            return Rc::new(low.bit_concat(&high.tile(lanes as u32)));
        }
        let cells: Vec<CellValue> = values.iter().map(|value| CellValue::Public(*value)).collect();
        self.pack(&cells, width)
    }

    /// One lane, which is cut out once while it is remembered. What is remembered must not depend
    /// on where values lie in memory: all parties make the same program.
    pub(super) fn slice(&mut self, value: &Rc<Value>, lane: u32) -> Rc<Value> {
        let key = (Rc::as_ptr(value), lane);
        if let Some((_, cut)) = self.cache.slices.get(&key) {
            return cut.clone();
        }
        if self.cache.slices.len() >= SLICES_KEPT {
            self.cache.slices.clear();
        }
        let cut = Rc::new(value.lane_slice(lane, 1));
        self.cache.slices.insert(key, (value.clone(), cut.clone()));
        cut
    }

    /// As [`Emitter::pack`], and the same value for the same lanes while it is remembered: the
    /// loops of a product of matrices read each column many times.
    pub(crate) fn pack_once(&mut self, cells: &[CellValue], width: u16) -> Rc<Value> {
        let mut key: Vec<(*const Value, u32, u32)> = Vec::new();
        let mut values: Vec<Rc<Value>> = Vec::new();
        for cell in cells {
            let (value, lane) = match cell {
                CellValue::Lane(value, lane) => (value, *lane),
                CellValue::Secret(value) => (value, 0),
                _ => return self.pack(cells, width),
            };
            let of = Rc::as_ptr(value);
            match key.last_mut() {
                Some((known, start, count)) if *known == of && *start + *count == lane => {
                    *count += 1;
                }
                _ => {
                    key.push((of, lane, 1));
                    values.push(value.clone());
                }
            }
        }
        if let ([(_, 0, count)], [value]) = (key.as_slice(), values.as_slice())
            && *count == value.lanes()
        {
            // Not remembered: sums that wait are recorded as long as somebody holds them.
            return value.clone();
        }
        if let Some((_, packed)) = self.cache.packs.get(&key) {
            return packed.clone();
        }
        let packed = self.pack(cells, width);
        if self.cache.packs.len() >= PACKS_KEPT {
            self.cache.packs.clear();
        }
        self.cache.packs.insert(key, (values, packed.clone()));
        packed
    }

    /// The cells as the lanes of one value of `width` bits.
    ///
    /// # Panics
    /// If there is none, or one is no integer.
    pub(crate) fn pack(&mut self, cells: &[CellValue], width: u16) -> Rc<Value> {
        let mut runs: Vec<LaneRange> = Vec::new();
        for cell in cells {
            let grown = match (runs.last_mut(), cell) {
                (Some(LaneRange::Lanes(value, start, count)), CellValue::Lane(next, lane)) => {
                    let follows = Rc::ptr_eq(value, next) && *start + *count == *lane;
                    *count += u32::from(follows);
                    follows
                }
                (Some(LaneRange::Public(value, count)), CellValue::Public(next)) => {
                    *count += u32::from(value == next);
                    value == next
                }
                _ => false,
            };
            if !grown {
                runs.push(match cell {
                    CellValue::Lane(value, lane) => LaneRange::Lanes(value.clone(), *lane, 1),
                    CellValue::Secret(value) => LaneRange::Lanes(value.clone(), 0, 1),
                    CellValue::Public(value) => LaneRange::Public(*value, 1),
                    CellValue::Opened(register) => {
                        LaneRange::Lanes(Rc::new(self.published(*register, width)), 0, 1)
                    }
                    _ => unreachable!("only integers are packed"),
                });
            }
        }
        let mut parts: Vec<Rc<Value>> = runs
            .into_iter()
            .map(|run| match run {
                LaneRange::Lanes(value, 0, count) if count == value.lanes() => value,
                LaneRange::Lanes(value, start, count) => Rc::new(value.lane_slice(start, count)),
                LaneRange::Public(value, count) => {
                    Rc::new(self.constant_value(width, value).tile(count))
                }
            })
            .collect();
        while parts.len() > 1 {
            let pairs = parts.chunks(2).map(|pair| match pair {
                [low, high] => Rc::new(low.lane_concat(high)),
                _ => pair[0].clone(),
            });
            parts = pairs.collect();
        }
        parts.pop().expect("there are cells")
    }

    /// Cells as one value; what is not set is 0.
    pub(crate) fn carried_value(&mut self, cells: &[CellValue], width: u16) -> Value {
        let set = |data: &CellValue| match data {
            data if data.is_secret() || matches!(data, CellValue::Public(_)) => data.clone(),
            _ => CellValue::Public(0),
        };
        let cells: Vec<CellValue> = cells.iter().map(set).collect();
        self.pack(&cells, width).with_sign(false)
    }
}
