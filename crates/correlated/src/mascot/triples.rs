//! Triples and squares.
//!
//! Source: Keller, Orsini, Scholl, "MASCOT", CCS 2016 (ePrint 2016/505), the protocol Pi_Triple:
//! multiply (`products`), combine (two random combinations `a` and `x` of `tau` factors, `x` is
//! the paper's a-hat), authenticate, sacrifice. *Deviations*:
//! * The sacrifice is of a batch: coins `chi_j` are tossed, `rho_j = chi_j a_j - x_j` is opened,
//!   and the sum over all `j` of `chi_j c_j - x_j b_j - rho_j b_j` must be zero, where only the
//!   sum of all `x_j b_j` has been authenticated. If a triple is wrong by `e_j` and the sum by
//!   `e`, which are fixed before the coins, this is the sum of `chi_j e_j`, minus `e`: zero with
//!   probability 1/p at most. In the paper each triple has a coin and an equation, and the products
//!   `x_j b_j` are authenticated one by one.
//! * The equation is not opened: its MAC shares must be shares of zero, with the openings' ones.
//! * A square is a triple whose `b` is moved to `a`: the difference `a - b` is opened without a
//!   MAC, and times `a` and `x` added to their products. A lie about it makes a square wrong, as a
//!   lie in the product does; and `b` masks `a` in it and is used nowhere else.
//!
//! Cost per triple and ordered pair, with a field of `k` bits: `tau k` OTs; `(tau + 4) k + 1`
//! elements, for squares `(tau + 3) k + 2`; and what a batch costs (`costs`). The paper has
//! `(tau + 5) k`.
//! Invariants: nothing is given out before the last check. Not protected: see `limits::tau`.

use phineus_channels::Channel;
use phineus_crypto::Prg;
use phineus_crypto::field::Field;
use zeroize::Zeroizing;

use super::authenticate::AuthenticatedOwners;
use super::batch::{COLUMNS_MAX, refill};
use super::coin::{Coins, misbehaved, say};
use super::deviation::{Deviation, DeviationPoint};
use super::generator::{BatchBuffers, Generator};
use super::limits::{TAU_MAX, tau};
use crate::CorrelatedError;
use crate::authenticated::Share;
use zerocopy::IntoBytes;

/// Coins of a batch: the combination, the checks' coefficients, those of the openings' MACs.
pub(super) const COINS: usize = 3;

type Columns<F> = [Zeroizing<Vec<Share<F>>>; COLUMNS_MAX];

/// Where the parts of what is authenticated lie, after the mask.
#[derive(Clone, Copy)]
struct VectorOffsets {
    count: usize,
    /// How many vectors there are: `a`, `b`, `c`, `x` of triples, `a`, `c`, `x` of squares.
    vectors: usize,
}

impl VectorOffsets {
    fn a<T>(self, elements: &[T]) -> &[T] {
        self.part(elements, 0)
    }

    /// For squares, `a` itself.
    fn b<T>(self, elements: &[T]) -> &[T] {
        self.part(elements, self.vectors - 3)
    }

    fn c<T>(self, elements: &[T]) -> &[T] {
        self.part(elements, self.vectors - 2)
    }

    fn x<T>(self, elements: &[T]) -> &[T] {
        self.part(elements, self.vectors - 1)
    }

    fn part<T>(self, elements: &[T], vector: usize) -> &[T] {
        &elements[1 + vector * self.count..][..self.count]
    }

    fn part_mut<T>(self, elements: &mut [T], vector: usize) -> &mut [T] {
        &mut elements[1 + vector * self.count..][..self.count]
    }

    fn len(self) -> usize {
        self.vectors * self.count + 2
    }
}

impl<F: Field, C: Channel, D: Deviation> Generator<F, C, D> {
    /// Makes `count` triples.
    pub(super) fn triples(
        &mut self,
        count: usize,
        columns: &mut Columns<F>,
    ) -> Result<(), CorrelatedError> {
        let parts = VectorOffsets { count, vectors: 4 };
        let mut coins = self.products_combined(parts)?;
        let BatchBuffers { inputs, b, .. } = &mut self.room;
        parts.part_mut(inputs, 1).copy_from_slice(b);
        self.authenticate_and_sacrifice(parts, &mut coins)?;
        let [a, b, c] = columns;
        for (column, vector) in [(a, 0), (b, 1), (c, 2)] {
            self.give(parts, vector, column);
        }
        Ok(())
    }

    /// Makes `count` squares.
    pub(super) fn squares(
        &mut self,
        count: usize,
        columns: &mut Columns<F>,
    ) -> Result<(), CorrelatedError> {
        let parts = VectorOffsets { count, vectors: 3 };
        let mut coins = self.products_combined(parts)?;
        self.move_to_squares(parts)?;
        self.authenticate_and_sacrifice(parts, &mut coins)?;
        let [a, c, _] = columns;
        for (column, vector) in [(a, 0), (c, 1)] {
            self.give(parts, vector, column);
        }
        Ok(())
    }

    /// Multiplies and combines: afterwards the inputs are complete but for `b`, with the sum of
    /// all `x_j b_j` at the end, whose summands are in `room.sums`.
    fn products_combined(&mut self, parts: VectorOffsets) -> Result<Coins, CorrelatedError> {
        let VectorOffsets { count, vectors } = parts;
        let (parties, transcript) = (&mut self.parties, &mut self.transcript);
        let mut coins =
            Coins::commit(parties, transcript, &mut self.prg, COINS, &mut self.deviation)?;
        let BatchBuffers { raw: [a, c], b, inputs, sums, .. } = &mut self.room;
        refill(b, count);
        F::fill_random(&mut self.prg, b);
        refill(a, tau::<F>() * count);
        refill(c, tau::<F>() * count);
        let raw = [a.as_mut_slice(), c.as_mut_slice()];
        self.products.multiply(parties, &mut self.links, &mut self.prg, raw, b)?;

        let mut coin = coins.open(parties, transcript)?;
        refill(inputs, parts.len());
        F::fill_random(&mut self.prg, &mut inputs[..1]);
        refill(sums, count);
        let mut factors = [[F::ZERO; TAU_MAX]; 2];
        F::fill_random(&mut coin, factors.as_flattened_mut());
        let [for_a, for_x] = &factors;
        combine(for_a, a, parts.part_mut(inputs, 0));
        combine(for_a, c, parts.part_mut(inputs, vectors - 2));
        combine(for_x, a, parts.part_mut(inputs, vectors - 1));
        combine(for_x, c, sums);
        inputs[parts.len() - 1] = F::sum(sums);
        Ok(coins)
    }

    /// Opens `a - b` and adds it, times `a` and `x`, to the products with `b`.
    fn move_to_squares(&mut self, parts: VectorOffsets) -> Result<(), CorrelatedError> {
        let BatchBuffers { inputs, b, sums, opened, said, .. } = &mut self.room;
        b.iter_mut().zip(parts.a(inputs)).for_each(|(b, a)| *b = a.sub(*b));
        self.deviation.elements(DeviationPoint::Difference, b);
        refill(said, size_of_val(b.as_slice()) * self.parties.count());
        say(&mut self.parties, &mut self.transcript, b.as_bytes(), said)?;
        refill(opened, parts.count);
        for summands in said.chunks_exact(parts.count * F::BYTES) {
            F::read(summands, sums).map_err(|_| misbehaved())?;
            F::add_assign(opened, sums);
        }
        F::mul_slices(sums, opened, parts.a(inputs));
        F::add_assign(parts.part_mut(inputs, parts.vectors - 2), sums);
        let sum = F::dot(opened, parts.x(inputs));
        let last = &mut inputs[parts.len() - 1];
        *last = last.add(sum);
        Ok(())
    }

    /// Gives the inputs MACs and checks that the products are right.
    fn authenticate_and_sacrifice(
        &mut self,
        parts: VectorOffsets,
        coins: &mut Coins,
    ) -> Result<(), CorrelatedError> {
        self.authenticate(AuthenticatedOwners::All)?;
        let mut coin = coins.open(&mut self.parties, &mut self.transcript)?;
        let mut chi = vec![F::ZERO; parts.count];
        F::fill_random(&mut coin, &mut chi);
        let BatchBuffers { inputs, sums, .. } = &mut self.room;
        refill(sums, parts.count);
        F::mul_slices(sums, &chi, parts.a(inputs));
        F::sub_assign(sums, parts.x(inputs));
        self.open_checked(AuthenticatedOwners::All, &mut coin)?;
        let mut coin = coins.open(&mut self.parties, &mut self.transcript)?;
        let sigma = self.sacrifice(parts, &chi, &mut coin);
        self.add_up_to_zero(sigma)
    }

    /// This party's share of zero, if the openings and the equation of the batch are right.
    fn sacrifice(&mut self, parts: VectorOffsets, chi: &[F], coin: &mut Prg) -> F {
        let BatchBuffers { macs, sums, opened, coefficients, .. } = &mut self.room;
        // The MAC shares of what was opened.
        F::mul_slices(sums, chi, parts.a(macs));
        F::sub_assign(sums, parts.x(macs));
        let equation = F::dot(chi, parts.c(macs))
            .sub(macs[parts.len() - 1])
            .sub(F::dot(opened, parts.b(macs)));
        refill(coefficients, parts.count + 1);
        F::fill_random(coin, coefficients);
        let (of_equation, of_openings) = coefficients.split_first().expect("there is one");
        let value = F::dot(of_openings, opened);
        let sigma = F::dot(of_openings, sums).sub(self.key.mul(value));
        sigma.add(of_equation.mul(equation))
    }

    /// Writes the shares of one vector.
    fn give(&self, parts: VectorOffsets, vector: usize, column: &mut [Share<F>]) {
        let BatchBuffers { inputs, macs, .. } = &self.room;
        let shares = parts.part(inputs, vector).iter().zip(parts.part(macs, vector));
        for (share, (&value, &mac)) in column.iter_mut().zip(shares) {
            *share = Share { value, mac };
        }
    }
}

/// `sum`, which is zeros, plus `factors` times the vectors.
fn combine<F: Field>(factors: &[F], vectors: &[F], sum: &mut [F]) {
    for (&factor, vector) in factors.iter().zip(vectors.chunks_exact(sum.len())) {
        F::scale_add(sum, factor, vector);
    }
}
