//! [`MemoryCell`]: one granule of memory, and the hash by which logs find it.

use std::hash::Hasher;
use std::rc::Rc;

use phineus_frontend::untyped::Value;

use crate::data::CellValue;

/// One granule of memory.
#[derive(Clone)]
pub(crate) enum MemoryCell {
    Undefined,
    /// Belongs to the value that begins so many cells before.
    Tail(u32),
    /// A public integer of so many bytes.
    Public(u64, u8),
    /// Lane of a secret integer of so many bytes.
    Lane(Rc<Value>, u32, u8),
    /// A secret integer of so many bytes in a dry run.
    Hidden(u8),
    /// Anything else of so many bytes.
    Other(Rc<CellValue>, u8),
}

const _: () = assert!(size_of::<MemoryCell>() == 16);

impl MemoryCell {
    pub(crate) fn new(data: &CellValue, bytes: u8) -> MemoryCell {
        match data {
            CellValue::Undefined => MemoryCell::Undefined,
            CellValue::Public(value) if bytes <= 8 => MemoryCell::Public(*value as u64, bytes),
            CellValue::Secret(value) if value.lanes() == 1 => {
                MemoryCell::Lane(value.clone(), 0, bytes)
            }
            CellValue::Lane(value, lane) => MemoryCell::Lane(value.clone(), *lane, bytes),
            CellValue::Hidden => MemoryCell::Hidden(bytes),
            other => MemoryCell::Other(Rc::new(other.clone()), bytes),
        }
    }

    /// The value that begins here and its bytes.
    pub(crate) fn value(&self) -> Option<(CellValue, u8)> {
        match self {
            MemoryCell::Undefined | MemoryCell::Tail(_) => None,
            MemoryCell::Public(value, bytes) => {
                Some((CellValue::Public(u128::from(*value)), *bytes))
            }
            MemoryCell::Lane(value, _, bytes) if value.lanes() == 1 => {
                Some((CellValue::Secret(value.clone()), *bytes))
            }
            MemoryCell::Lane(value, lane, bytes) => {
                Some((CellValue::Lane(value.clone(), *lane), *bytes))
            }
            MemoryCell::Hidden(bytes) => Some((CellValue::Hidden, *bytes)),
            MemoryCell::Other(data, bytes) => Some(((**data).clone(), *bytes)),
        }
    }
}

/// A cell as `factor` cells of a finer granule.
pub(crate) fn finer(cell: MemoryCell, factor: u32) -> Vec<MemoryCell> {
    match cell {
        MemoryCell::Undefined => vec![MemoryCell::Undefined; factor as usize],
        MemoryCell::Tail(back) => {
            (0..factor).map(|k| MemoryCell::Tail(back * factor + k)).collect()
        }
        head => std::iter::once(head).chain((1..factor).map(MemoryCell::Tail)).collect(),
    }
}

/// A hash of two small numbers: multiplication by an odd constant (Knuth, vol. 3, 6.4).
#[derive(Default)]
pub(crate) struct PairHasher(u64);

impl Hasher for PairHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, value: u32) {
        let mixed = (self.0.rotate_left(32) ^ u64::from(value)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 29);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
