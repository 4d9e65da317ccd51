//! [`Cell`]: one granule of memory, and the hash by which logs find it.

use std::hash::Hasher;
use std::rc::Rc;

use phineus_frontend::untyped::Value;

use crate::data::Data;

/// One granule of memory.
#[derive(Clone)]
pub(crate) enum Cell {
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
    Other(Rc<Data>, u8),
}

const _: () = assert!(size_of::<Cell>() == 16);

impl Cell {
    pub(crate) fn new(data: &Data, bytes: u8) -> Cell {
        match data {
            Data::Undefined => Cell::Undefined,
            Data::Public(value) if bytes <= 8 => Cell::Public(*value as u64, bytes),
            Data::Secret(value) if value.lanes() == 1 => Cell::Lane(value.clone(), 0, bytes),
            Data::Lane(value, lane) => Cell::Lane(value.clone(), *lane, bytes),
            Data::Hidden => Cell::Hidden(bytes),
            other => Cell::Other(Rc::new(other.clone()), bytes),
        }
    }

    /// The value that begins here and its bytes.
    pub(crate) fn value(&self) -> Option<(Data, u8)> {
        match self {
            Cell::Undefined | Cell::Tail(_) => None,
            Cell::Public(value, bytes) => Some((Data::Public(u128::from(*value)), *bytes)),
            Cell::Lane(value, _, bytes) if value.lanes() == 1 => {
                Some((Data::Secret(value.clone()), *bytes))
            }
            Cell::Lane(value, lane, bytes) => Some((Data::Lane(value.clone(), *lane), *bytes)),
            Cell::Hidden(bytes) => Some((Data::Hidden, *bytes)),
            Cell::Other(data, bytes) => Some(((**data).clone(), *bytes)),
        }
    }
}

/// A cell as `factor` cells of a finer granule.
pub(crate) fn finer(cell: Cell, factor: u32) -> Vec<Cell> {
    match cell {
        Cell::Undefined => vec![Cell::Undefined; factor as usize],
        Cell::Tail(back) => (0..factor).map(|k| Cell::Tail(back * factor + k)).collect(),
        head => std::iter::once(head).chain((1..factor).map(Cell::Tail)).collect(),
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
