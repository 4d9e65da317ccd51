//! Bits in words: strings of numbers of any width without gaps, in memory and on a channel.
//!
//! Bit `i` of a string is bit `i % 64` of word `i / 64`; on a channel words are little-endian and
//! the last byte is filled with zeros. Cost: nothing is sent but the bits. Constant time in them.

use phineus_channels::Channel;
use phineus_crypto::Block;
use zeroize::Zeroizing;

use crate::OtError;

/// The lowest `bits` bits of a word.
#[inline(always)]
pub fn mask(bits: u32) -> u64 {
    debug_assert!((1..=64).contains(&bits), "a number has 1 to 64 bits");
    u64::MAX >> (64 - bits)
}

/// Packs bit 0 of every block; bits beyond the last block are 0.
pub(crate) fn select_bits(blocks: &[Block], out: &mut [u64]) {
    for (blocks, out) in blocks.chunks(64).zip(out) {
        let mut word = 0;
        for (i, block) in blocks.iter().enumerate() {
            word |= (block.to_bits() as u64 & 1) << i;
        }
        *out = word;
    }
}

/// Packs the lowest `width` bits of every number into `out`, which has just space for them.
pub fn pack(width: u32, numbers: &[u64], out: &mut [u64]) {
    let (mut pending, mut filled, mut at) = (0u64, 0, 0);
    for number in numbers {
        let number = number & mask(width);
        pending |= number << filled;
        filled += width;
        if filled >= 64 {
            out[at] = pending;
            at += 1;
            filled -= 64;
            // `width - filled` bits went into the word that is full.
            pending = number.checked_shr(width - filled).unwrap_or(0);
        }
    }
    if filled > 0 {
        out[at] = pending;
    }
}

/// The inverse of [`pack`].
pub fn unpack(width: u32, words: &[u64], numbers: &mut [u64]) {
    let mut at = 0;
    for number in numbers {
        *number = bits_at(words, at, width);
        at += width as usize;
    }
}

/// The `bits` bits from bit `at` on.
#[inline(always)]
pub fn bits_at(words: &[u64], at: usize, bits: u32) -> u64 {
    let (word, shift) = (at / 64, (at % 64) as u32);
    let low = words[word] >> shift;
    let high = if shift + bits > 64 { words[word + 1] << (64 - shift) } else { 0 };
    (low | high) & mask(bits)
}

/// Copies `count` bits from bit `from` of `source` to the bits from `to` of `target` on.
pub fn copy_bits(source: &[u64], from: usize, target: &mut [u64], to: usize, count: usize) {
    let mut done = 0;
    while done < count {
        let room = 64 - (to + done) % 64;
        let bits = room.min(count - done) as u32;
        let value = bits_at(source, from + done, bits);
        let (word, shift) = ((to + done) / 64, (to + done) % 64);
        target[word] = target[word] & !(mask(bits) << shift) | value << shift;
        done += bits as usize;
    }
}

/// Sends numbers of any width as one string of bits.
pub(crate) struct BitSink {
    whole: Zeroizing<Vec<u64>>,
    pending: u64,
    filled: u32,
}

impl BitSink {
    /// Room for `words` words between two calls of [`BitSink::send_whole`].
    pub(crate) fn with_capacity(words: usize) -> BitSink {
        BitSink { whole: Zeroizing::new(Vec::with_capacity(words + 1)), pending: 0, filled: 0 }
    }

    /// Appends `number`, which is less than `2^bits`.
    #[inline(always)]
    pub(crate) fn push(&mut self, number: u64, bits: u32) {
        self.pending |= number << self.filled;
        self.filled += bits;
        if self.filled >= 64 {
            self.whole.push(self.pending.to_le());
            self.filled -= 64;
            self.pending = number.checked_shr(bits - self.filled).unwrap_or(0);
        }
    }

    /// Sends every word that is full.
    pub(crate) fn send_whole(&mut self, channel: &mut impl Channel) -> Result<(), OtError> {
        channel.send(zerocopy::IntoBytes::as_bytes(&self.whole[..]))?;
        self.whole.clear();
        Ok(())
    }

    /// Sends all that is left and flushes; the sink is then empty.
    pub(crate) fn finish(&mut self, channel: &mut impl Channel) -> Result<(), OtError> {
        self.send_whole(channel)?;
        let rest = self.pending.to_le_bytes();
        channel.send(&rest[..self.filled.div_ceil(8) as usize])?;
        (self.pending, self.filled) = (0, 0);
        Ok(channel.flush()?)
    }
}

/// Receives what a [`BitSink`] sends.
pub(crate) struct BitSource {
    words: Zeroizing<Vec<u64>>,
    /// The next bit of `words`.
    at: usize,
    /// Bits of `words` that are there.
    end: usize,
    /// Bits of the string that are still to come.
    coming: u64,
}

impl BitSource {
    pub(crate) fn with_capacity(words: usize) -> BitSource {
        let words = Zeroizing::new(vec![0; words + 2]);
        BitSource { words, at: 0, end: 0, coming: 0 }
    }

    /// Begins a string of `bits` bits.
    pub(crate) fn start(&mut self, bits: u64) {
        (self.at, self.end, self.coming) = (0, 0, bits);
    }

    /// Waits until the next `bits` bits are there.
    pub(crate) fn fill(&mut self, channel: &mut impl Channel, bits: usize) -> Result<(), OtError> {
        // At most one word is left over; it moves to the front.
        let kept = self.at / 64;
        let used = self.end.div_ceil(64);
        self.words.copy_within(kept..used, 0);
        (self.at, self.end) = (self.at - kept * 64, self.end - kept * 64);
        let missing = bits.saturating_sub(self.end - self.at).next_multiple_of(64);
        let missing = (missing as u64).min(self.coming) as usize;
        if missing == 0 {
            return Ok(());
        }
        debug_assert_eq!(self.end % 64, 0, "only the last word of a string is partial");
        let first = self.end / 64;
        let last = first + missing.div_ceil(64);
        if self.words.len() < last {
            self.words.resize(last, 0);
        }
        let words = &mut self.words[first..last];
        words.fill(0);
        let bytes = zerocopy::IntoBytes::as_mut_bytes(words);
        channel.recv(&mut bytes[..missing.div_ceil(8)])?;
        words.iter_mut().for_each(|word| *word = u64::from_le(*word));
        self.end += missing;
        self.coming -= missing as u64;
        Ok(())
    }

    /// The next number of `bits` bits.
    #[inline(always)]
    pub(crate) fn pull(&mut self, bits: u32) -> u64 {
        let number = bits_at(&self.words, self.at, bits);
        self.at += bits as usize;
        number
    }
}

#[cfg(test)]
mod tests {
    use phineus_channels::memory_pair;
    use phineus_crypto::Prg;

    use super::*;

    #[test]
    fn every_width_comes_back_from_memory_and_channel() {
        let seed = 0xb175;
        let mut prg = Prg::from_seed(Block::from_bits(seed));
        for width in 1..=64 {
            for count in [0, 1, 2, 63, 64, 65, 100] {
                let numbers: Vec<u64> =
                    (0..count).map(|_| prg.next_block().to_bits() as u64 & mask(width)).collect();
                let mut words = vec![0; (count * width as usize).div_ceil(64)];
                pack(width, &numbers, &mut words);
                let mut back = vec![0; count];
                unpack(width, &words, &mut back);
                assert_eq!(back, numbers, "width {width}, seed {seed:#x}");

                let (mut a, mut b) = memory_pair();
                let mut sink = BitSink::with_capacity(4);
                let mut source = BitSource::with_capacity(4);
                source.start(width as u64 * count as u64);
                for numbers in numbers.chunks(7) {
                    numbers.iter().for_each(|&number| sink.push(number, width));
                    sink.send_whole(&mut a).expect("there is room");
                }
                sink.finish(&mut a).expect("there is room");
                assert_eq!(a.traffic().sent_bytes as usize, (count * width as usize).div_ceil(8));
                for numbers in numbers.chunks(5) {
                    source.fill(&mut b, numbers.len() * width as usize).expect("it was sent");
                    for number in numbers {
                        assert_eq!(source.pull(width), *number, "width {width}, seed {seed:#x}");
                    }
                }
            }
        }
    }

    #[test]
    fn copying_bits_touches_no_others() {
        let seed = 0xc0b1;
        let mut prg = Prg::from_seed(Block::from_bits(seed));
        let mut random = || prg.next_block().to_bits() as u64;
        for _ in 0..300 {
            let source: Vec<u64> = (0..6).map(|_| random()).collect();
            let before: Vec<u64> = (0..6).map(|_| random()).collect();
            let (from, to, count) = (random() % 190, random() % 190, random() % 190);
            let (from, to, count) = (from as usize, to as usize, count as usize);
            let mut target = before.clone();
            copy_bits(&source, from, &mut target, to, count);
            let bit = |words: &[u64], i: usize| words[i / 64] >> (i % 64) & 1;
            for i in 0..384 {
                let copied = (to..to + count).contains(&i);
                let expected = if copied { bit(&source, i - to + from) } else { bit(&before, i) };
                assert_eq!(bit(&target, i), expected, "seed {seed:#x}");
            }
        }
    }
}
