//! Replicated shares in `Z_2^w`: what each party computes alone, and what products send.
//!
//! A value lies in memory as all elements of the party's first component, then those of its second.
//! Elements are as wide as their bytes while they are computed and sent, and reduced modulo `2^w` where
//! they are stored.
//!
//! Source: Araki et al., CCS 2016 (ePrint 2016/768), section 2.1, in its form for rings; sums of products
//! before anything is sent: Mohassel, Rindal, "ABY3", CCS 2018 (ePrint 2018/403), section 5.1.

use phineus_bytecode::layout::ring_bytes;
use phineus_bytecode::{Instruction, Op};
use zeroize::Zeroizing;

use super::keys::Keys;
use super::messages::MaskedProducts;
use crate::shares::elements::{self, Element, add_products, for_bytes, reduce};
use crate::shares::ring::load;
use crate::shares::values::{Words, blank};

/// Computes what needs no other party, on one component of each value.
pub(super) fn execute(
    instruction: &Instruction,
    results: &mut [&mut [u8]],
    operands: &[&[u8]],
    adds_constants: bool,
) {
    fn on<E: Element>(
        instruction: &Instruction,
        results: &mut [&mut [u8]],
        operands: &[&[u8]],
        adds_constants: bool,
    ) {
        let operands: Vec<&[E]> = operands.iter().map(|bytes| E::elements(bytes)).collect();
        let mut results: Vec<&mut [E]> =
            results.iter_mut().map(|bytes| E::elements_mut(bytes)).collect();
        elements::execute(instruction, &mut results, &operands, adds_constants);
        results.into_iter().for_each(|result| reduce(result, instruction.element.width()));
    }
    let bytes = ring_bytes(instruction.element.width());
    for_bytes!(bytes, on(instruction, results, operands, adds_constants));
}

/// Elements that wait to be sent, or were.
#[derive(Clone, Copy)]
pub(super) struct SentProduct {
    width: u16,
    at: usize,
    count: usize,
}

impl SentProduct {
    /// Makes room for `count` elements, which are masks so far.
    pub(super) fn push(to: &mut MaskedProducts, keys: &mut Keys, width: u16, count: usize) -> Self {
        let size = ring_bytes(width);
        let sent = SentProduct { width, at: to.push(size * count, size), count };
        let z = to.bytes_mut(sent.at, size * count);
        for_bytes!(size, mask(z, keys));
        fn mask<E: Element>(z: &mut [u8], keys: &mut Keys) {
            keys.mask(E::elements_mut(z));
        }
        sent
    }

    fn bytes(self) -> usize {
        ring_bytes(self.width) * self.count
    }

    /// Adds the own terms of a product.
    pub(super) fn multiply(
        self,
        instruction: &Instruction,
        products: &mut MaskedProducts,
        operands: [&[u8]; 2],
    ) {
        let z = products.bytes_mut(self.at, self.bytes());
        for_bytes!(ring_bytes(self.width), multiply(instruction, z, operands));
    }

    /// Adds words to the elements.
    pub(super) fn add(self, products: &mut MaskedProducts, words: &[u64]) {
        fn add<E: Element>(z: &mut [u8], words: &[u64]) {
            let z = E::elements_mut(z).iter_mut();
            z.zip(words).for_each(|(z, word)| *z = z.add(E::of(*word)));
        }
        let z = products.bytes_mut(self.at, self.bytes());
        for_bytes!(ring_bytes(self.width), add(z, words));
    }

    /// Writes what a round resent as a value: the own elements, then the other party's.
    pub(super) fn store(self, value: &mut [u8], own: &MaskedProducts, other: &MaskedProducts) {
        fn reduced<E: Element>(value: &mut [u8], width: u16) {
            reduce(E::elements_mut(value), width);
        }
        let (first, second) = value.split_at_mut(self.bytes());
        first.copy_from_slice(own.bytes(self.at, self.bytes()));
        second.copy_from_slice(other.bytes(self.at, self.bytes()));
        for_bytes!(ring_bytes(self.width), reduced(value, self.width));
    }
}

/// `z += x0 (y0 + y1) + x1 y0`, for each lane or as matrices. Both components of a matrix are one of twice
/// the columns.
fn multiply<E: Element>(instruction: &Instruction, z: &mut [u8], [x, y]: [&[u8]; 2]) {
    let (z, x, y) = (E::elements_mut(z), E::elements(x), E::elements(y));
    let ((x0, x1), (y0, y1)) = (x.split_at(x.len() / 2), y.split_at(y.len() / 2));
    if instruction.op == Op::MatMul {
        let columns = instruction.immediates[0] as usize;
        let mut factors = Zeroizing::new(Vec::with_capacity(y.len()));
        for (y0, y1) in y0.chunks_exact(columns).zip(y1.chunks_exact(columns)) {
            factors.extend(y0.iter().zip(y1).map(|(y0, y1)| y0.add(*y1)));
            factors.extend_from_slice(y0);
        }
        return add_products(z, (x, 2 * columns), &factors);
    }
    for (j, z) in z.iter_mut().enumerate() {
        *z = z.add(x0[j].mul(y0[j].add(y1[j]))).add(x1[j].mul(y0[j]));
    }
}

/// The elements of one component of a value as words.
pub(super) fn to_words(value: &[u8], width: u16) -> Words {
    let mut words = blank(value.len() / ring_bytes(width));
    load(&mut words, value, width);
    words
}
