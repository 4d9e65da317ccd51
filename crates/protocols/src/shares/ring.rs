//! Elements of `Z_2^w` as they lie in memory.

use phineus_bytecode::layout::ring_bytes;

use super::elements::{Element, for_bytes};

/// The elements that a width has.
pub(crate) fn mask_of(width: u16) -> u64 {
    if width == 64 { u64::MAX } else { (1 << width) - 1 }
}

/// Elements at any address, one after the other.
fn read<E: Element>(bytes: &[u8]) -> impl Iterator<Item = E> {
    let chunks = bytes.chunks_exact(size_of::<E>());
    chunks.map(|bytes| E::read_from_bytes(bytes).expect("chunks have the size of an element"))
}

/// Writes elements to any address, one after the other.
fn write<E: Element>(bytes: &mut [u8], elements: impl Iterator<Item = E>) {
    for (bytes, element) in bytes.chunks_exact_mut(size_of::<E>()).zip(elements) {
        bytes.copy_from_slice(element.as_bytes());
    }
}

/// Reads elements of `Z_2^width`.
pub(crate) fn load(elements: &mut [u64], bytes: &[u8], width: u16) {
    fn load<E: Element>(elements: &mut [u64], bytes: &[u8]) {
        elements
            .iter_mut()
            .zip(read::<E>(bytes))
            .for_each(|(word, element)| *word = element.into());
    }
    for_bytes!(ring_bytes(width), load(elements, bytes));
}

/// Writes elements, reduced modulo `2^width`.
pub(crate) fn store(bytes: &mut [u8], elements: &[u64], width: u16) {
    fn store<E: Element>(bytes: &mut [u8], elements: &[u64], mask: u64) {
        write(bytes, elements.iter().map(|element| E::of(element & mask)));
    }
    for_bytes!(ring_bytes(width), store(bytes, elements, mask_of(width)));
}

/// Adds the elements of `Z_2^width` in `addends` to those in `sums`.
pub(crate) fn add_assign(sums: &mut [u8], addends: &[u8], width: u16) {
    fn add<E: Element>(sums: &mut [u8], addends: &[u8], mask: u64) {
        for (sum, addend) in sums.chunks_exact_mut(size_of::<E>()).zip(read::<E>(addends)) {
            let before = E::read_from_bytes(sum).expect("chunks have the size of an element");
            sum.copy_from_slice(before.add(addend).and(E::of(mask)).as_bytes());
        }
    }
    for_bytes!(ring_bytes(width), add(sums, addends, mask_of(width)));
}
