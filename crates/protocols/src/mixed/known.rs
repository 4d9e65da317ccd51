//! [`KnownProducts`]: products of bits that one party knows with rows that all share.
//!
//! Source: Beaver, "Precomputing Oblivious Transfer", CRYPTO 1995, with the improvement of Braun, Demmler, Schneider,
//! Tkachenko, "MOTION", ACM TOPS 2022, Section 5.1.3, for rows: the sender's message does not wait for the receiver's.
//! The owner of a bit `c` has a triple `(s, d, s d)` with the others. It tells all of them `c ^ s`, and each of them tells
//! it `x ^ d` for its shares `x` of the row and `d`. Then `c` times the sum of all `x ^ d` and of the owner's share of the
//! row, and `(c ^ s) d` at each of the others, are shares of the product, after each party has added its share of `s d`.
//!
//! Cost: one triple; one round, in which the owner sends a bit to each other party and each of these a row to the owner.
//! A row of more than 128 bits takes several.
//! Not protected: malicious parties.

use std::ops::Range;

use phineus_correlated::semi_honest::{CorrelatedRandomness, KNOWN_WIDTH_MAX, Kind};

use super::flight::FlightContext;
use super::openings::Openings;
use crate::ProtocolError;
use crate::shares::values::{Words, blank};
use crate::shares::words::{get, put, words};

/// The bits of a row of `width` bits, as many at a time as a triple has.
fn pieces(width: usize) -> impl Iterator<Item = Range<usize>> {
    let most = usize::from(KNOWN_WIDTH_MAX);
    (0..width).step_by(most).map(move |from| from..width.min(from + most))
}

/// The triples for a row of `width` bits and a bit of `owner`.
pub(super) fn kinds(owner: usize, width: u16) -> impl Iterator<Item = Kind> {
    let kind = move |width| Kind::KnownTriple { owner: owner as u16, width };
    pieces(width.into()).map(move |piece| kind(piece.len() as u16))
}

/// Bits that the owner tells each other party, and each of these it, for rows of `width` bits.
pub(super) fn private_bits(width: u16, lanes: usize) -> [usize; 2] {
    [lanes * pieces(width.into()).count(), lanes * usize::from(width)]
}

/// Factors as shares: bits, and for each bit of a row a string of words, all of a bit for each of some lanes.
pub(super) struct Factors {
    pub(super) lanes: usize,
    pub(super) bits: Words,
    pub(super) rows: Words,
}

/// Products whose factors are on their way.
pub(super) struct KnownProducts {
    owner: usize,
    pieces: Vec<MaskedPiece>,
}

/// A piece of the rows.
struct MaskedPiece {
    /// Words of the row in this piece.
    range: Range<usize>,
    /// This party's part of the triples.
    rows: Words,
    products: Words,
    /// Where what each party tells this one will be.
    at: Vec<usize>,
}

impl KnownProducts {
    /// Issues the products of the bits that `owner` has in `factors` with the rows.
    pub(super) fn issue<P: CorrelatedRandomness>(
        context: &mut FlightContext<'_, P>,
        owner: usize,
        factors: &Factors,
    ) -> Result<KnownProducts, ProtocolError> {
        let width = factors.rows.len() / words(factors.lanes);
        let issued = pieces(width).map(|piece| MaskedPiece::issue(context, owner, factors, piece));
        Ok(KnownProducts { owner, pieces: issued.collect::<Result<_, _>>()? })
    }

    /// Takes what the others told, and adds this party's share of the products to `sums`.
    pub(super) fn take(&self, openings: &Openings, me: usize, factors: &Factors, sums: &mut Words) {
        for piece in &self.pieces {
            let share = match me == self.owner {
                true => piece.of_owner(openings, me, factors),
                false => piece.of_others(openings, self.owner, factors.lanes),
            };
            let sums = sums[piece.range.clone()].iter_mut().zip(&*share);
            sums.for_each(|(sum, word)| *sum ^= word);
        }
    }
}

impl MaskedPiece {
    fn issue<P: CorrelatedRandomness>(
        context: &mut FlightContext<'_, P>,
        owner: usize,
        factors: &Factors,
        piece: Range<usize>,
    ) -> Result<MaskedPiece, ProtocolError> {
        let (lanes, n) = (factors.lanes, words(factors.lanes));
        let range = piece.start * n..piece.end * n;
        let (mut bits, mut rows, mut products) = (blank(n), blank(range.len()), blank(range.len()));
        let of = (owner as u16, piece.len() as u16);
        context.correlated.known_triples(of, lanes, &mut bits, &mut rows, &mut products)?;
        let FlightContext { openings, me, .. } = context;
        let parties = openings.private.len();
        let mut at = vec![0; parties];
        let row_bits = piece.len() * lanes;
        if *me == owner {
            bits.iter_mut().zip(&*factors.bits).for_each(|(bit, own)| *bit ^= own);
            for peer in (0..parties).filter(|peer| peer != me) {
                openings.private[peer].push(&bits, lanes);
                at[peer] = openings.private[peer].expect(row_bits);
            }
        } else {
            let (mut sent, mut string) = (blank(words(row_bits)), blank(n));
            let own = factors.rows[range.clone()].chunks_exact(n).zip(rows.chunks_exact(n));
            for (k, (own, mask)) in own.enumerate() {
                for (word, (own, mask)) in string.iter_mut().zip(own.iter().zip(mask)) {
                    *word = own ^ mask;
                }
                put(&mut sent, k * lanes, &string, lanes);
            }
            openings.private[owner].push(&sent, row_bits);
            at[owner] = openings.private[owner].expect(lanes);
        }
        Ok(MaskedPiece { range, rows, products, at })
    }

    /// The share of the party that knows the bits.
    fn of_owner(&self, openings: &Openings, me: usize, factors: &Factors) -> Words {
        let (lanes, n) = (factors.lanes, words(factors.lanes));
        let mut share = blank(self.range.len());
        share.copy_from_slice(&factors.rows[self.range.clone()]);
        let row_bits = self.range.len() / n * lanes;
        let (mut masked, mut string) = (blank(words(row_bits)), blank(n));
        for (peer, told) in openings.private.iter().enumerate().filter(|&(peer, _)| peer != me) {
            told.received(self.at[peer], &mut masked, row_bits);
            for (k, share) in share.chunks_exact_mut(n).enumerate() {
                get(&masked, k * lanes, &mut string, lanes);
                share.iter_mut().zip(&*string).for_each(|(word, told)| *word ^= told);
            }
        }
        for (share, own) in share.chunks_exact_mut(n).zip(self.products.chunks_exact(n)) {
            for (word, (bits, own)) in share.iter_mut().zip(factors.bits.iter().zip(own)) {
                *word = *word & bits ^ own;
            }
        }
        share
    }

    /// The share of any other party.
    fn of_others(&self, openings: &Openings, owner: usize, lanes: usize) -> Words {
        let n = words(lanes);
        let (mut bits, mut share) = (blank(n), blank(self.range.len()));
        openings.private[owner].received(self.at[owner], &mut bits, lanes);
        let own = self.rows.chunks_exact(n).zip(self.products.chunks_exact(n));
        for (share, (rows, products)) in share.chunks_exact_mut(n).zip(own) {
            for (k, word) in share.iter_mut().enumerate() {
                *word = bits[k] & rows[k] ^ products[k];
            }
        }
        share
    }
}
