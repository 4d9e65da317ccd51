//! Many cells as one value: the fewest slices and concatenations that give its lanes.

use std::rc::Rc;

use crate::data::Data;
use crate::interpreter::Machine;
use phineus_frontend::untyped::Value;

/// Lanes that lie together.
enum Run {
    /// Of a value, from a lane on, so many.
    Lanes(Rc<Value>, u32, u32),
    /// A public integer, so many times.
    Public(u128, u32),
}

/// Lanes that were brought together and are remembered.
const PACKS_KEPT: usize = 4096;

impl Machine<'_> {
    /// As [`Machine::pack`], and the same value for the same lanes while it is remembered: the
    /// loops of a product of matrices read each column many times.
    pub(crate) fn pack_once(&mut self, cells: &[Data], width: u16) -> Rc<Value> {
        let mut key: Vec<(*const Value, u32, u32)> = Vec::new();
        let mut values: Vec<Rc<Value>> = Vec::new();
        for cell in cells {
            let (value, lane) = match cell {
                Data::Lane(value, lane) => (value, *lane),
                Data::Secret(value) => (value, 0),
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
        if let Some((_, packed)) = self.packs.get(&key) {
            return packed.clone();
        }
        let packed = self.pack(cells, width);
        if self.packs.len() >= PACKS_KEPT {
            self.packs.clear();
        }
        self.packs.insert(key, (values, packed.clone()));
        packed
    }

    /// The cells as the lanes of one value of `width` bits.
    ///
    /// # Panics
    /// If there is none, or one is no integer.
    pub(crate) fn pack(&mut self, cells: &[Data], width: u16) -> Rc<Value> {
        let mut runs: Vec<Run> = Vec::new();
        for cell in cells {
            let grown = match (runs.last_mut(), cell) {
                (Some(Run::Lanes(value, start, count)), Data::Lane(next, lane)) => {
                    let follows = Rc::ptr_eq(value, next) && *start + *count == *lane;
                    *count += u32::from(follows);
                    follows
                }
                (Some(Run::Public(value, count)), Data::Public(next)) => {
                    *count += u32::from(value == next);
                    value == next
                }
                _ => false,
            };
            if !grown {
                runs.push(match cell {
                    Data::Lane(value, lane) => Run::Lanes(value.clone(), *lane, 1),
                    Data::Secret(value) => Run::Lanes(value.clone(), 0, 1),
                    Data::Public(value) => Run::Public(*value, 1),
                    Data::Opened(register) => {
                        Run::Lanes(Rc::new(self.published(*register, width)), 0, 1)
                    }
                    _ => unreachable!("only integers are packed"),
                });
            }
        }
        let mut parts: Vec<Rc<Value>> = runs
            .into_iter()
            .map(|run| match run {
                Run::Lanes(value, 0, count) if count == value.lanes() => value,
                Run::Lanes(value, start, count) => Rc::new(value.lane_slice(start, count)),
                Run::Public(value, count) => Rc::new(self.constant_value(width, value).tile(count)),
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
}
