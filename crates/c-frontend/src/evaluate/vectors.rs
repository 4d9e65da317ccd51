//! Parts of vectors and structures, and bytes put together to integers.

use crate::data::{Data, is_address};
use crate::evaluate::Evaluator;
use crate::evaluate::report::Stop;
use crate::frame::Frame;
use crate::ir::{Binary, Kind, Unary};

impl Evaluator {
    /// Parts of vectors and structures.
    pub(crate) fn rearrange(&mut self, frame: &Frame<'_>, kind: &Kind) -> Result<Data, Stop> {
        match kind {
            Kind::Extract(from, indices) => {
                let mut data = frame.get(*from);
                for index in indices {
                    data = match data {
                        Data::Many(elements) => elements[*index as usize].clone(),
                        other => other,
                    };
                }
                Ok(data)
            }
            Kind::Insert(into, element, indices) => {
                Ok(inserted(frame.get(*into), frame.get(*element), indices))
            }
            Kind::ExtractElement([vector, index]) => {
                let (vector, index) = (frame.get(*vector), frame.get(*index));
                self.element(vector, index)
            }
            Kind::InsertElement([vector, element, index]) => {
                let Data::Public(index) = frame.get(*index) else {
                    return self.error("a secret index into a vector", "use an array");
                };
                Ok(inserted(frame.get(*vector), frame.get(*element), &[index as u32]))
            }
            Kind::Shuffle([a, b], mask) => Ok(shuffled(frame.get(*a), frame.get(*b), mask)),
            _ => unreachable!("all other kinds were done"),
        }
    }

    fn element(&mut self, vector: Data, index: Data) -> Result<Data, Stop> {
        match (vector, index) {
            (Data::Many(elements), Data::Public(index)) => {
                Ok(elements.get(index as usize).cloned().unwrap_or(Data::Undefined))
            }
            (Data::Undefined, _) => Ok(Data::Undefined),
            _ => self.error("a secret index into a vector", "use an array"),
        }
    }

    /// The bytes from `offset` on out of values that overlap them; those that are not set are 0, as
    /// long as one is set.
    pub(crate) fn join(
        &mut self,
        parts: Vec<(Data, i64, u8)>,
        offset: u64,
        bytes: u8,
    ) -> Result<Data, Stop> {
        let all = u16::from(bytes) * 8;
        let mut joined: Option<Data> = None;
        for (data, begin, size) in parts {
            if matches!(data, Data::Undefined) {
                continue;
            }
            let width = u16::from(size) * 8;
            let shift = (offset as i64 - begin) * 8;
            if (shift, width) != (0, all)
                && (is_address(&data) || matches!(data, Data::Function(_)))
            {
                let remedy = "copy a pointer whole, with `=` or memcpy, and keep numbers elsewhere";
                return self.error("this takes an address apart", remedy);
            }
            let data = if shift > 0 {
                let amount = Data::Public(shift as u128);
                self.binary(Binary::LShr, width, &data, &amount)?
            } else {
                data
            };
            let resized = if width > all { Unary::Truncate } else { Unary::ZeroExtend };
            let data = self.unary(resized, width, all, &data)?;
            let data = match shift {
                0.. => data,
                _ => {
                    let amount = Data::Public((-shift) as u128);
                    self.binary(Binary::Shl, all, &data, &amount)?
                }
            };
            joined = Some(match joined {
                None => data,
                Some(low) => self.binary(Binary::Or, all, &low, &data)?,
            });
        }
        Ok(joined.unwrap_or(Data::Undefined))
    }

    /// A byte, `size` times.
    pub(crate) fn repeated(&mut self, byte: &Data, size: u64) -> Result<Data, Stop> {
        use Binary;
        let width = size as u16 * 8;
        let ones = (0..size).fold(0u128, |all, k| all | 1 << (8 * k));
        let wide = self.unary(Unary::ZeroExtend, 8, width, byte)?;
        self.binary(Binary::Mul, width, &wide, &Data::Public(ones))
    }
}

fn inserted(into: Data, element: Data, indices: &[u32]) -> Data {
    let Some((first, rest)) = indices.split_first() else { return element };
    let first = *first as usize;
    let mut elements = match into {
        Data::Many(elements) => elements.to_vec(),
        _ => Vec::new(),
    };
    if elements.len() <= first {
        elements.resize(first + 1, Data::Undefined);
    }
    elements[first] = inserted(elements[first].clone(), element, rest);
    Data::Many(elements.into())
}

fn shuffled(a: Data, b: Data, mask: &[i32]) -> Data {
    let parts = |data: Data| match data {
        Data::Many(elements) => elements.to_vec(),
        _ => Vec::new(),
    };
    let (a, b) = (parts(a), parts(b));
    let length = a.len().max(b.len());
    let pick = |index: &i32| {
        let found = usize::try_from(*index)
            .ok()
            .and_then(|index| if index < length { a.get(index) } else { b.get(index - length) });
        found.cloned().unwrap_or(Data::Undefined)
    };
    Data::Many(mask.iter().map(pick).collect())
}
