//! Many cells as one value: the fewest slices and concatenations that give its lanes.

use std::rc::Rc;

use super::data::Data;
use super::machine::Machine;
use crate::value::Value;

/// Lanes that lie together.
enum Run {
    /// Of a value, from a lane on, so many.
    Lanes(Rc<Value>, u32, u32),
    /// A public integer, so many times.
    Public(u128, u32),
}

impl Machine<'_> {
    /// The cells as the lanes of one value of `width` bits.
    ///
    /// # Panics
    /// If there is none, or one is no integer.
    pub(super) fn pack(&mut self, cells: &[Data], width: u16) -> Rc<Value> {
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
