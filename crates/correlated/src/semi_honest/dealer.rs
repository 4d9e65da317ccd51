//! [`Dealer`]: correlated randomness from a common seed: for tests and measurements.
//!
//! **There is no security at all:** every party can compute the shares of all others.
//! All parties make the same calls; each call draws all parties' shares and keeps its own.

use phineus_crypto::point_function::{PointBits, deal};
use phineus_crypto::{Block, Prg};
use phineus_ot::packing::mask;

use super::generator::clear_beyond;
use super::{CorrelatedRandomness, Kind};
use crate::CorrelatedError;

/// A dealer that all parties trust and nobody should.
pub struct Dealer {
    prg: Prg,
    me: usize,
    parties: usize,
}

/// Values of all parties together, and those of this party.
#[derive(Clone, Copy, Default)]
struct DealtValues {
    value: u64,
    mine: u64,
}

impl Dealer {
    /// The dealer's end of party `me`: insecure, because all parties know `seed`.
    pub fn insecure(seed: Block, me: usize, parties: usize) -> Dealer {
        assert!(me < parties && parties >= 2, "one of two parties or more");
        Dealer { prg: Prg::from_seed(seed), me, parties }
    }

    fn word(&mut self) -> u64 {
        self.prg.next_block().to_bits() as u64
    }

    /// A random value in shares that add up to it modulo 2^64, or under XOR.
    fn draw(&mut self, xor: bool) -> DealtValues {
        let mut shared = DealtValues::default();
        for party in 0..self.parties {
            let share = self.word();
            shared.value =
                if xor { shared.value ^ share } else { shared.value.wrapping_add(share) };
            if party == self.me {
                shared.mine = share;
            }
        }
        shared
    }

    /// This party's share of a given value: the last party's is what is missing.
    fn deal(&mut self, value: u64, xor: bool) -> u64 {
        let random = self.draw(xor);
        let missing = if xor { value ^ random.value } else { value.wrapping_sub(random.value) };
        match (self.me + 1 == self.parties, xor) {
            (false, _) => random.mine,
            (true, true) => random.mine ^ missing,
            (true, false) => random.mine.wrapping_add(missing),
        }
    }
}

impl CorrelatedRandomness for Dealer {
    fn bit_triples(
        &mut self,
        count: usize,
        a: &mut [u64],
        b: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        for column in [&*a, &*b, &*c] {
            assert_eq!(column.len(), Kind::BitTriple.column_words(0, count), "room for the bits");
        }
        for ((a, b), c) in a.iter_mut().zip(b.iter_mut()).zip(c.iter_mut()) {
            let (x, y) = (self.draw(true), self.draw(true));
            (*a, *b, *c) = (x.mine, y.mine, self.deal(x.value & y.value, true));
        }
        [a, b, c].into_iter().for_each(|column| clear_beyond(count, column));
        Ok(())
    }

    fn ring_triples(
        &mut self,
        width: u16,
        a: &mut [u64],
        b: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        assert!(a.len() == b.len() && a.len() == c.len(), "columns of one length");
        let modulus = mask(Kind::RingTriple { width }.width().into());
        for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
            let (x, y) = (self.draw(false), self.draw(false));
            let product = self.deal(x.value.wrapping_mul(y.value), false);
            (*a, *b, *c) = (x.mine & modulus, y.mine & modulus, product & modulus);
        }
        Ok(())
    }

    fn square_pairs(
        &mut self,
        width: u16,
        a: &mut [u64],
        c: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        assert_eq!(a.len(), c.len(), "columns of one length");
        let modulus = mask(Kind::SquarePair { width }.width().into());
        for (a, c) in a.iter_mut().zip(c) {
            let x = self.draw(false);
            let square = self.deal(x.value.wrapping_mul(x.value), false);
            (*a, *c) = (x.mine & modulus, square & modulus);
        }
        Ok(())
    }

    fn shared_bits(
        &mut self,
        width: u16,
        bits: &mut [u64],
        ring: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let kind = Kind::SharedBit { width };
        assert_eq!(bits.len(), kind.column_words(0, ring.len()), "room for the bits");
        let modulus = mask(kind.width().into());
        for (bits, ring) in bits.iter_mut().zip(ring.chunks_mut(64)) {
            let word = self.draw(true);
            *bits = word.mine & mask(ring.len() as u32);
            for (i, share) in ring.iter_mut().enumerate() {
                *share = self.deal(word.value >> i & 1, false) & modulus;
            }
        }
        Ok(())
    }

    fn known_triples(
        &mut self,
        (owner, width): (u16, u16),
        count: usize,
        bits: &mut [u64],
        rows: &mut [u64],
        products: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        let kind = Kind::KnownTriple { owner, width };
        for (column, words) in [&*bits, &*rows, &*products].into_iter().enumerate() {
            assert_eq!(words.len(), kind.column_words(column, count), "room for the bits");
        }
        let (owner, n) = (usize::from(owner), bits.len());
        for (k, bits) in bits.iter_mut().enumerate() {
            let known = self.word();
            *bits = if self.me == owner { known } else { 0 };
            for at in (k..rows.len()).step_by(n) {
                let (mut row, mut mine) = (0, 0);
                for party in (0..self.parties).filter(|&party| party != owner) {
                    let share = self.word();
                    row ^= share;
                    mine |= if party == self.me { share } else { 0 };
                }
                (rows[at], products[at]) = (mine, self.deal(known & row, true));
            }
        }
        let strings = [bits, rows, products].into_iter().flat_map(|words| words.chunks_mut(n));
        strings.for_each(|string| clear_beyond(count, string));
        Ok(())
    }

    fn point_functions(
        &mut self,
        bits: u16,
        count: usize,
        points: &mut [u64],
        keys: &mut [u64],
    ) -> Result<(), CorrelatedError> {
        assert_eq!(self.parties, 2, "point functions are of two parties");
        let (kind, of) = (Kind::PointFunction { bits }, PointBits::new(bits));
        for (column, words) in [&*points, &*keys].into_iter().enumerate() {
            assert_eq!(words.len(), kind.column_words(column, count), "room for what is asked");
        }
        points.fill(0);
        let (words, blocks) = (count.div_ceil(64), of.key_blocks());
        let mut drawn = [0; 2].map(|_| vec![Block::ZERO; blocks]);
        for (number, key) in keys.chunks_exact_mut(2 * blocks).enumerate() {
            let below = mask(bits.into());
            let shares = [self.word() & below, self.word() & below];
            let [first, second] = &mut drawn;
            deal(of, shares[0] ^ shares[1], &mut self.prg, [first, second]);
            for (bit, string) in points.chunks_exact_mut(words).enumerate() {
                string[number / 64] |= (shares[self.me] >> bit & 1) << (number % 64);
            }
            for (words, block) in key.chunks_exact_mut(2).zip(&drawn[self.me]) {
                let bits = block.to_bits();
                words.copy_from_slice(&[bits as u64, (bits >> 64) as u64]);
            }
        }
        Ok(())
    }
}
