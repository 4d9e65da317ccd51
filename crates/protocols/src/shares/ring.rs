//! Elements of `Z_2^w` as they lie in memory.

use phineus_bytecode::layout::ring_bytes;

/// The elements that a width has.
pub(crate) fn mask_of(width: u16) -> u64 {
    if width == 64 { u64::MAX } else { (1 << width) - 1 }
}

/// Reads elements of `Z_2^width`.
pub(crate) fn load(elements: &mut [u64], bytes: &[u8], width: u16) {
    let size = ring_bytes(width);
    for (element, bytes) in elements.iter_mut().zip(bytes.chunks_exact(size)) {
        let mut whole = [0; 8];
        whole[..size].copy_from_slice(bytes);
        *element = u64::from_le_bytes(whole);
    }
}

/// Writes elements, reduced modulo `2^width`.
pub(crate) fn store(bytes: &mut [u8], elements: &[u64], width: u16) {
    let (size, mask) = (ring_bytes(width), mask_of(width));
    for (element, bytes) in elements.iter().zip(bytes.chunks_exact_mut(size)) {
        bytes.copy_from_slice(&(element & mask).to_le_bytes()[..size]);
    }
}

/// Adds the elements of `Z_2^width` in `addends` to those in `sums`.
pub(crate) fn add_assign(sums: &mut [u8], addends: &[u8], width: u16) {
    let size = ring_bytes(width);
    for (sum, addend) in sums.chunks_exact_mut(size).zip(addends.chunks_exact(size)) {
        let (mut left, mut right) = ([0], [0]);
        load(&mut left, sum, width);
        load(&mut right, addend, width);
        store(sum, &[left[0].wrapping_add(right[0])], width);
    }
}
