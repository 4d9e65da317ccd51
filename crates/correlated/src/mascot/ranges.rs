//! Proofs that authenticated elements of a party are in range: below a power of two.
//!
//! Source: Yang, Sarkar, Weng, Wang, "QuickSilver: Efficient and Affordable Zero-Knowledge Proofs
//! for Circuits and Polynomials over Any Field", CCS 2021 (ePrint 2021/076): its proof of
//! polynomials. Towards a holder, an element is a line in the holder's key, `q = t + x key`, of which
//! the owner knows `t` and `x` and the holder the value. The product of `t + (x - v) key` for all `v`
//! below `d = 2^bits` is a polynomial in the key whose coefficient of `key^d` is zero just if `x` is
//! one of them. The owner sends a random combination of the coefficients below it, under masks; the
//! holder knows what the polynomial must be at its key.
//!
//! Cost: `d` elements from an owner to each holder, and for each holder `d - 1` more that are
//! authenticated, however many elements there are; an owner computes about `d^2` products for each element and holder, a holder `d`.
//! Invariants: the combination is tossed when all rows have arrived; what is proven is what
//! `authenticate` checks to be the same towards all; each proof has masks of its own, since holders
//! that compare two proofs under the same ones would learn a combination of the elements.
//! Not protected: as in `authenticate`. A lie passes with probability (d + 1)/p.

use phineus_channels::Channel;
use phineus_crypto::Prg;
use phineus_crypto::field::Field;
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::authenticate::AuthenticatedOwners;
use super::batch::refill;
use super::coin::{cheated, misbehaved};
use super::deviation::{Deviation, DeviationPoint};
use super::generator::{BatchBuffers, Generator};
use super::peer_state::PeerState;
use crate::CorrelatedError;

/// Elements whose polynomials are computed while they lie in the cache.
const PIECE: usize = 256;

/// Vectors of elements, the first ones behind the mask; and behind them the masks of the proof.
#[derive(Clone, Copy)]
pub(super) struct Ranges {
    /// Elements of a vector.
    pub(super) count: usize,
    /// The bits of the elements of each vector.
    pub(super) bits: &'static [u32],
    /// To how many each owner proves.
    pub(super) holders: usize,
}

impl Ranges {
    /// Elements in all.
    pub(super) fn len(self) -> usize {
        self.count * self.bits.len()
    }

    /// The degree of the proof: elements that an owner sends to a holder.
    pub(super) fn degree(self) -> usize {
        1 << self.bits.iter().max().expect("there are vectors")
    }

    /// Elements that are authenticated besides, to mask all proofs of an owner.
    pub(super) fn masks(self) -> usize {
        self.holders * (self.degree() - 1)
    }

    /// Where the masks of the proof from `owner` to `holder` are.
    fn masks_of(self, owner: usize, holder: usize) -> std::ops::Range<usize> {
        let each = self.degree() - 1;
        // All but the owner, in their order.
        let number = if holder < owner { holder } else { holder - 1 };
        let at = 1 + self.len() + number * each;
        at..at + each
    }

    /// Everything that is authenticated: a mask, the vectors, the masks of the proof.
    pub(super) fn inputs(self) -> usize {
        1 + self.len() + self.masks()
    }

    /// The vectors: their bits, and parts of `all`, which holds nothing else.
    fn vectors<T>(self, all: &[T]) -> impl Iterator<Item = (u32, &[T])> {
        self.bits.iter().copied().zip(all.chunks_exact(self.count))
    }

    /// The coefficients that the owner sends, with masks at a place.
    fn prove<F: Field>(
        self,
        inputs: &[F],
        (link, masks): (&PeerState<F>, std::ops::Range<usize>),
        chi: &[F],
        proof: &mut [F],
    ) {
        let degree = self.degree();
        let [x, t] = [inputs, link.t.as_slice()].map(|all| &all[1..][..self.len()]);
        let vectors = self.vectors(x).zip(self.vectors(t)).zip(self.vectors(chi));
        let mut room = Polynomials::new(degree);
        for (((bits, x), (_, t)), (_, chi)) in vectors {
            // Of a smaller degree: times a power of the key.
            let proof = &mut proof[degree - (1 << bits)..];
            let pieces = x.chunks(PIECE).zip(t.chunks(PIECE)).zip(chi.chunks(PIECE));
            for ((x, t), chi) in pieces {
                room.add(x, t, chi, proof);
            }
        }
        let [x, t] = [inputs, link.t.as_slice()].map(|all| &all[masks.clone()]);
        for (k, (&x, &t)) in x.iter().zip(t).enumerate() {
            proof[k] = proof[k].add(t);
            proof[k + 1] = proof[k + 1].add(x);
        }
    }

    /// Whether a proof under masks at a place is right.
    fn holds<F: Field>(
        self,
        (link, masks): (&PeerState<F>, std::ops::Range<usize>),
        key: F,
        chi: &[F],
        proof: &[F],
    ) -> bool {
        let degree = self.degree();
        let mut expected = F::ZERO;
        let q = &link.q[1..][..self.len()];
        for ((bits, q), (_, chi)) in self.vectors(q).zip(self.vectors(chi)) {
            let lifted = key.pow_vartime((degree - (1 << bits)) as u128);
            expected = expected.add(lifted.mul(values_at(q, key, chi, bits)));
        }
        let at_key = |coefficients: &[F]| {
            let sum = |sum: F, &coefficient: &F| sum.mul(key).add(coefficient);
            coefficients.iter().rev().fold(F::ZERO, sum)
        };
        let holds = expected.add(at_key(&link.q[masks])).equals(at_key(proof));
        holds.declassify("all learn whether a proof holds")
    }
}

/// Room for the polynomials of some elements, coefficient by coefficient.
struct Polynomials<F: Field> {
    rows: Zeroizing<Vec<F>>,
    factor: Zeroizing<Vec<F>>,
    sum: Zeroizing<Vec<F>>,
}

impl<F: Field> Polynomials<F> {
    fn new(degree: usize) -> Polynomials<F> {
        let room = |len: usize| Zeroizing::new(vec![F::ZERO; len]);
        Polynomials { rows: room(degree * PIECE), factor: room(PIECE), sum: room(PIECE) }
    }

    /// Adds to `proof` the coefficients of `chi` times the product of `t + (x - v) key` for all `v`
    /// below `proof.len()`, but for the highest one.
    fn add(&mut self, x: &[F], t: &[F], chi: &[F], proof: &mut [F]) {
        let (len, degree) = (x.len(), proof.len());
        let (factor, sum) = (&mut self.factor[..len], &mut self.sum[..len]);
        let rows = &mut self.rows[..degree * len];
        rows.fill(F::ZERO);
        rows[..len].copy_from_slice(chi);
        factor.copy_from_slice(x);
        let ones = [F::ONE; PIECE];
        for v in 0..degree {
            for k in (0..=(v + 1).min(degree - 1)).rev() {
                F::mul_slices(sum, &rows[k * len..][..len], t);
                if k > 0 {
                    F::mul_add_assign(sum, &rows[(k - 1) * len..][..len], factor);
                }
                rows[k * len..][..len].copy_from_slice(sum);
            }
            F::sub_assign(factor, &ones[..len]);
        }
        for (proof, row) in proof.iter_mut().zip(rows.chunks_exact(len)) {
            *proof = proof.add(F::sum(row));
        }
    }
}

/// The sum of `chi` times the product of `q - v key` for all `v` of so many bits.
fn values_at<F: Field>(q: &[F], key: F, chi: &[F], bits: u32) -> F {
    let room = || Zeroizing::new([F::ZERO; PIECE]);
    let (mut factor, mut product, mut next, mut keys) = (room(), room(), room(), room());
    keys.fill(key);
    let mut sum = F::ZERO;
    for (q, chi) in q.chunks(PIECE).zip(chi.chunks(PIECE)) {
        let len = q.len();
        factor[..len].copy_from_slice(q);
        product[..len].copy_from_slice(chi);
        for _ in 0..1 << bits {
            F::mul_slices(&mut next[..len], &product[..len], &factor[..len]);
            std::mem::swap(&mut product, &mut next);
            F::sub_assign(&mut factor[..len], &keys[..len]);
        }
        sum = sum.add(F::sum(&product[..len]));
    }
    sum
}

impl<F: Field, C: Channel, D: Deviation> Generator<F, C, D> {
    /// Proves that what this party has authenticated lies in its ranges, if it is an owner, and
    /// checks the proofs of all other owners. `coin` was tossed after `authenticate`.
    pub(super) fn prove_ranges(
        &mut self,
        owners: AuthenticatedOwners,
        ranges: Ranges,
        coin: &mut Prg,
    ) -> Result<(), CorrelatedError> {
        let (me, parties) = (self.parties.me(), self.parties.count());
        let BatchBuffers { inputs, coefficients: chi, sums, outgoing, incoming, .. } =
            &mut self.room;
        refill(chi, ranges.len());
        F::fill_random(coin, chi);
        let degree = ranges.degree();
        let bytes = degree * F::BYTES;
        refill(outgoing, parties * degree);
        refill(incoming, parties * bytes);
        let of = |owner: usize| if owners.contains(owner) { bytes } else { 0 };
        if owners.contains(me) {
            let links = self.links.iter().enumerate().zip(outgoing.chunks_exact_mut(degree));
            for ((holder, link), proof) in links {
                if let Some(link) = link {
                    ranges.prove(inputs, (link, ranges.masks_of(me, holder)), chi, proof);
                    self.deviation.elements(DeviationPoint::Proof, proof);
                }
            }
        }
        let sent: Vec<&[u8]> =
            outgoing.chunks_exact(degree).map(|proof| &proof.as_bytes()[..of(me)]).collect();
        let got = incoming.chunks_exact_mut(bytes).enumerate();
        let mut got: Vec<&mut [u8]> =
            got.map(|(party, got)| &mut got[..if party == me { 0 } else { of(party) }]).collect();
        self.parties.exchange(&sent, &mut got)?;
        refill(sums, degree);
        let links = self.links.iter().enumerate().zip(incoming.chunks_exact(bytes));
        for ((owner, link), proof) in links {
            let Some(link) = link.as_ref().filter(|_| owners.contains(owner)) else { continue };
            F::read(proof, sums).map_err(|_| misbehaved())?;
            if !ranges.holds((link, ranges.masks_of(owner, me)), *self.key, chi, sums) {
                return Err(cheated());
            }
        }
        Ok(())
    }
}
