//! [`Registers`]: contents of the registers of a running function.
//!
//! Paths of the run time begin with the same registers, and each changes a few of them: a copy
//! shares what neither side wrote. A program of hundreds of blocks has thousands of registers, and
//! is copied for each path and each try.

use std::ops::{Index, IndexMut};
use std::rc::Rc;

use crate::data::CellValue;

/// Registers that are copied together.
const CHUNK: usize = 64;

#[derive(Clone)]
pub(crate) struct Registers {
    /// Each of [`CHUNK`], but for the last one.
    chunks: Vec<Rc<[CellValue]>>,
}

impl Registers {
    /// `count` registers, the first of which are set.
    pub(crate) fn new(first: Vec<CellValue>, count: usize) -> Registers {
        let mut all = first;
        all.resize(count, CellValue::Undefined);
        let mut rest = all.into_iter();
        let chunk = |_| rest.by_ref().take(CHUNK).collect();
        Registers { chunks: (0..count.div_ceil(CHUNK)).map(chunk).collect() }
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut CellValue> {
        self.chunks.iter_mut().flat_map(|chunk| Rc::make_mut(chunk).iter_mut())
    }
}

impl Index<usize> for Registers {
    type Output = CellValue;

    #[inline]
    fn index(&self, at: usize) -> &CellValue {
        &self.chunks[at / CHUNK][at % CHUNK]
    }
}

impl IndexMut<usize> for Registers {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut CellValue {
        &mut Rc::make_mut(&mut self.chunks[at / CHUNK])[at % CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(registers: &Registers, at: usize) -> Option<u128> {
        match registers[at] {
            CellValue::Public(number) => Some(number),
            _ => None,
        }
    }

    /// A copy does not see what another one writes, and shares everything else.
    #[test]
    fn copies_share_what_is_not_written() {
        let mut first = Registers::new(vec![CellValue::Public(7), CellValue::Public(8)], 150);
        first[149] = CellValue::Public(9);
        let mut second = first.clone();
        second[1] = CellValue::Public(3);
        assert_eq!([0, 1, 149].map(|at| number(&first, at)), [Some(7), Some(8), Some(9)]);
        assert_eq!([0, 1, 149].map(|at| number(&second, at)), [Some(7), Some(3), Some(9)]);
        let shared = first.chunks.iter().zip(&second.chunks).map(|(a, b)| Rc::ptr_eq(a, b));
        assert_eq!(shared.collect::<Vec<bool>>(), [false, true, true]);
        assert_eq!(second.iter_mut().count(), 150);
    }
}
