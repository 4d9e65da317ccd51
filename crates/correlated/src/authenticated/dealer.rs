//! [`Dealer`]: authenticated correlated randomness from a common seed: for tests and measurements.
//!
//! **There is no security at all:** every party can compute all shares and the key.
//! Each party's shares come from a generator of its own, but the first party's: it follows all
//! others' generators, draws the clear values, and its shares are what is missing. All parties make
//! the same calls with the same lengths.
//! Cost: a party draws its own shares; the first party those of all others and the clear values.

use phineus_crypto::field::Field;
use phineus_crypto::{Block, Prg, SecretBit};

use super::{AuthenticatedRandomness, BOUNDED_BITS, MatrixSize, Share};
use crate::CorrelatedError;

/// Shares that are dealt while they lie in the cache.
const PIECE: usize = 1024;

/// A dealer that all parties trust and nobody should.
pub struct Dealer<F: Field> {
    me: usize,
    /// This party's share of the key; at the first party the whole key is in `key`.
    delta: F,
    key: F,
    /// This party's generator; at the first party, those of all others.
    shares: Vec<Prg>,
    /// Where the clear values are from; used by the first party.
    clear: Prg,
    /// By owner: where the values of its masks are from; used by the owner and the first party.
    masks: Vec<Prg>,
    scratch: Vec<Share<F>>,
    columns: [Vec<F>; 3],
    macs: Vec<F>,
}

impl<F: Field> Dealer<F> {
    /// The dealer's end of party `me`: insecure, because all parties know `seed`.
    pub fn insecure(seed: Block, me: usize, parties: usize) -> Dealer<F> {
        assert!(me < parties && parties >= 2, "one of two parties or more");
        let mut seeds = Prg::from_seed(seed);
        let clear = Prg::from_seed(seeds.next_block());
        let mut all: Vec<Prg> = (0..parties).map(|_| Prg::from_seed(seeds.next_block())).collect();
        let masks = (0..parties).map(|_| Prg::from_seed(seeds.next_block())).collect();
        let mut deltas = vec![F::ZERO; parties];
        F::fill_random(&mut seeds, &mut deltas);
        let shares = if me == 0 { all.split_off(1) } else { vec![all.swap_remove(me)] };
        Dealer {
            me,
            delta: deltas[me],
            key: F::sum(&deltas),
            shares,
            clear,
            masks,
            scratch: vec![Share::ZERO; PIECE],
            columns: [(); 3].map(|()| vec![F::ZERO; PIECE]),
            macs: vec![F::ZERO; PIECE],
        }
    }

    /// Which party this end is of.
    pub fn me(&self) -> usize {
        self.me
    }

    /// Deals shares, a piece at a time; `clear` makes the values of piece after piece of all
    /// slices, at the first party only.
    fn deal<const N: usize>(
        &mut self,
        mut out: [&mut [Share<F>]; N],
        mut clear: impl FnMut(&mut Prg, [&mut [F]; N]),
    ) {
        let len = out.first().map_or(0, |out| out.len());
        assert!(out.iter().all(|out| out.len() == len), "slices of one length");
        for at in (0..len).step_by(PIECE) {
            let piece = at..len.min(at + PIECE);
            let mut columns = self.columns.iter_mut().map(|column| &mut column[..piece.len()]);
            let mut columns: [&mut [F]; N] =
                std::array::from_fn(|_| columns.next().expect("three columns at most"));
            if self.me == 0 {
                clear(&mut self.clear, columns.each_mut().map(|column| &mut **column));
            }
            for (out, clear) in out.iter_mut().zip(columns) {
                let out = &mut out[piece.clone()];
                let [first, others @ ..] = &mut *self.shares else { unreachable!("two parties") };
                if self.me != 0 {
                    F::fill_random(first, Share::elements_mut(out));
                    continue;
                }
                let macs = &mut self.macs[..out.len()];
                macs.fill(F::ZERO);
                F::scale_add(macs, self.key, clear);
                for ((out, &value), &mac) in out.iter_mut().zip(&*clear).zip(&*macs) {
                    *out = Share { value, mac };
                }
                let scratch = &mut self.scratch[..out.len()];
                for prg in std::iter::once(first).chain(others) {
                    F::fill_random(prg, Share::elements_mut(scratch));
                    F::sub_assign(Share::elements_mut(out), Share::elements(scratch));
                }
            }
        }
    }
}

fn draw_bits<F: Field>(prg: &mut Prg, bits: &mut [F]) {
    for group in bits.chunks_mut(128) {
        let drawn = prg.next_block().to_bits();
        for (i, bit) in group.iter_mut().enumerate() {
            *bit = F::ONE.and_bit(SecretBit::lowest((drawn >> i) as u64));
        }
    }
}

impl<F: Field> Dealer<F> {
    /// Deals what `draw` draws and party `owner` knows.
    fn known(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        values: Option<&mut [F]>,
        draw: impl Fn(&mut Prg, &mut [F]),
    ) {
        assert_eq!(values.is_some(), owner == self.me, "the owner learns the values");
        let mut known = match values {
            Some(values) => {
                assert_eq!(values.len(), shares.len(), "a value per share");
                for piece in values.chunks_mut(PIECE) {
                    draw(&mut self.masks[owner], piece);
                }
                Some(values.chunks(PIECE))
            }
            None => None,
        };
        // Taken out so that the closure can draw from it while shares are dealt.
        let blank = Prg::from_seed(Block::ZERO);
        let mut masks = std::mem::replace(&mut self.masks[owner], blank);
        self.deal([shares], |_, [clear]| match &mut known {
            Some(known) => clear.copy_from_slice(known.next().expect("as many pieces")),
            None => draw(&mut masks, clear),
        });
        self.masks[owner] = masks;
    }
}

impl<F: Field> AuthenticatedRandomness<F> for Dealer<F> {
    fn delta(&self) -> F {
        self.delta
    }

    fn settle(&mut self) -> Result<(), CorrelatedError> {
        Ok(())
    }

    fn triples(
        &mut self,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), CorrelatedError> {
        self.deal([a, b, c], |prg, [a, b, c]| {
            F::fill_random(prg, a);
            F::fill_random(prg, b);
            F::mul_slices(c, a, b);
        });
        Ok(())
    }

    fn squares(&mut self, a: &mut [Share<F>], c: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        self.deal([a, c], |prg, [a, c]| {
            F::fill_random(prg, a);
            F::mul_slices(c, a, a);
        });
        Ok(())
    }

    fn bits(&mut self, b: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        self.deal([b], |prg, [b]| draw_bits(prg, b));
        Ok(())
    }

    fn masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        values: Option<&mut [F]>,
    ) -> Result<(), CorrelatedError> {
        self.known(owner, shares, values, F::fill_random);
        Ok(())
    }

    fn bit_masks(
        &mut self,
        owner: usize,
        shares: &mut [Share<F>],
        values: Option<&mut [F]>,
    ) -> Result<(), CorrelatedError> {
        self.known(owner, shares, values, draw_bits);
        Ok(())
    }

    fn bounded(&mut self, integers: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        let parties = self.masks.len();
        self.deal([integers], |prg, [integers]| {
            for integer in integers {
                let drawn =
                    (0..parties).map(|_| prg.next_block().to_bits() >> (128 - BOUNDED_BITS));
                *integer = F::new(drawn.sum());
            }
        });
        Ok(())
    }

    fn matrix_triples(
        &mut self,
        size: MatrixSize,
        a: &mut [Share<F>],
        b: &mut [Share<F>],
        c: &mut [Share<F>],
    ) -> Result<(), CorrelatedError> {
        let _ = size.count(a.len(), b.len(), c.len());
        let (mut factors, mut products) = (vec![F::ZERO; b.len()], vec![F::ZERO; c.len()]);
        let mut done = 0;
        self.deal([b], |prg, [b]| {
            F::fill_random(prg, b);
            factors[done..][..b.len()].copy_from_slice(b);
            done += b.len();
        });
        let [rows, cols, vectors] = [size.rows, size.cols, size.vectors].map(|n| n as usize);
        let mut at = 0;
        self.deal([a], |prg, [a]| {
            F::fill_random(prg, a);
            let mut rest = &*a;
            while !rest.is_empty() {
                // Column by column, matrix by matrix.
                let (item, column, row) = (at / size.entries(), at / rows % cols, at % rows);
                let (part, others) = rest.split_at(rest.len().min(rows - row));
                for vector in item * vectors..(item + 1) * vectors {
                    let product = &mut products[vector * rows + row..][..part.len()];
                    F::scale_add(product, factors[vector * cols + column], part);
                }
                (at, rest) = (at + part.len(), others);
            }
        });
        let mut done = 0;
        self.deal([c], |_, [c]| {
            c.copy_from_slice(&products[done..][..c.len()]);
            done += c.len();
        });
        Ok(())
    }
}
