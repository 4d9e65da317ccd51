//! Bits packed into 64-bit words: bit `i` is bit `i % 64` of word `i / 64`.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
use zeroize::Zeroize;

pub(crate) use phineus_engine::packed::row_words as words;

use super::elements::Element;

/// A line of the cache: slots begin with one.
#[derive(Clone, Copy, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Zeroize)]
#[repr(C, align(64))]
pub(crate) struct Line([u64; 8]);

/// The words of lines.
pub(crate) fn words_of(lines: &mut [Line]) -> &mut [u64] {
    u64::elements_mut(lines.as_mut_bytes())
}

/// The bits that exist in the last word of `count` bits.
pub(crate) fn last_mask(count: usize) -> u64 {
    if count.is_multiple_of(64) { u64::MAX } else { (1 << (count % 64)) - 1 }
}

/// Adds, by XOR, the first `count` bits of `source` to those of `target` from bit `at` on.
///
/// Bits of `source` beyond `count` must be 0.
pub(crate) fn put(target: &mut [u64], at: usize, source: &[u64], count: usize) {
    let (first, shift) = (at / 64, at % 64);
    let source = &source[..words(count)];
    if shift == 0 {
        let target = &mut target[first..first + source.len()];
        return target.iter_mut().zip(source).for_each(|(target, word)| *target ^= word);
    }
    for (k, &word) in source.iter().enumerate() {
        target[first + k] ^= word << shift;
        // Where there is no next word the upper bits are beyond `count`; they are secret, too.
        if let Some(next) = target.get_mut(first + k + 1) {
            *next ^= word >> (64 - shift);
        }
    }
}

/// Reads `count` bits from bit `at` of `source` on; bits of `target` beyond them become 0.
pub(crate) fn get(source: &[u64], at: usize, target: &mut [u64], count: usize) {
    let (first, shift) = (at / 64, at % 64);
    let target = &mut target[..words(count)];
    if shift == 0 {
        target.copy_from_slice(&source[first..first + target.len()]);
    } else {
        for (k, word) in target.iter_mut().enumerate() {
            let high = source.get(first + k + 1).map_or(0, |word| word << (64 - shift));
            *word = source[first + k] >> shift | high;
        }
    }
    if let Some(last) = target.last_mut() {
        *last &= last_mask(count);
    }
}

/// Adds 64 bits, by OR, to those of `bytes` from bit `at` on, or as many as there are.
pub(crate) fn add_bits(bytes: &mut [u8], at: usize, bits: u64) {
    let shifted = (u128::from(bits) << (at % 8)).to_le_bytes();
    bytes[at / 8..].iter_mut().zip(shifted).for_each(|(byte, more)| *byte |= more);
}

/// 64 bits of `bytes` from bit `from` on, or as many as there are.
pub(crate) fn bits_of(bytes: &[u8], from: usize) -> u64 {
    let bytes = &bytes[from / 8..];
    let low = match (bytes.first_chunk(), bytes.first_chunk()) {
        (Some(eight), _) => u64::from_le_bytes(*eight),
        (None, Some(four)) if bytes.len() == 4 => u32::from_le_bytes(*four).into(),
        _ => bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    let high = bytes.get(8).map_or(0, |byte| u128::from(*byte) << 64);
    ((high | u128::from(low)) >> (from % 8)) as u64
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::random::SeededRng;

    use super::*;

    #[test]
    fn what_is_put_can_be_got() {
        let mut random = SeededRng::new(3);
        for _ in 0..1000 {
            let (count, at) = (random.below(300) as usize, random.below(200) as usize);
            let mut source: Vec<u64> = (0..words(count)).map(|_| random.next_u64()).collect();
            if let Some(last) = source.last_mut() {
                *last &= last_mask(count);
            }
            let mut target = vec![0; words(at + count) + 1];
            put(&mut target, at, &source, count);
            let ones = |words: &[u64]| words.iter().map(|word| word.count_ones()).sum::<u32>();
            assert_eq!(ones(&target), ones(&source));
            let mut back = vec![u64::MAX; words(count)];
            get(&target, at, &mut back, count);
            assert_eq!(back, source);
        }
    }
}
