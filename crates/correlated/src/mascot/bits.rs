//! Random bits: the sign of a random element whose square is known.
//!
//! Source: Damgard, Fitzi, Kiltz, Nielsen, Toft, "Unconditionally Secure Constant-Rounds
//! Multi-party Computation for Equality, Comparison, Bits and Exponentiation", TCC 2006, the
//! protocol for random shared bits: open `a^2`, take the public root `r` (of two always the same),
//! then `a / r` is 1 or -1 and `(a / r + 1) / 2` a bit. Where the square is zero another is made.
//!
//! Cost per bit: a square, and one element opened.
//! Invariants: nothing is given out before the MACs of what was opened have been checked.

use phineus_channels::Channel;
use phineus_crypto::field::Field;
use zeroize::Zeroizing;

use super::batch::{COLUMNS_MAX, refill};
use super::coin::{Coins, cheated, misbehaved, say};
use super::deviation::{Deviation, DeviationPoint};
use super::generator::{BatchBuffers, Generator};
use crate::CorrelatedError;
use crate::authenticated::Share;
use zerocopy::IntoBytes;

impl<F: Field, C: Channel, D: Deviation> Generator<F, C, D> {
    /// Makes as many bits as `bits` has space for.
    pub(super) fn bits(&mut self, bits: &mut [Share<F>]) -> Result<(), CorrelatedError> {
        let mut columns: [Zeroizing<Vec<Share<F>>>; COLUMNS_MAX] =
            std::array::from_fn(|_| Vec::new().into());
        let mut made = 0;
        while made < bits.len() {
            let count = bits.len() - made;
            refill(&mut columns[0], count);
            refill(&mut columns[1], count);
            self.squares(count, &mut columns)?;
            self.open_squares(&columns[1])?;
            made += self.take_signs(&columns[0], &mut bits[made..])?;
        }
        Ok(())
    }

    /// Opens `squares` and checks their MACs.
    fn open_squares(&mut self, squares: &[Share<F>]) -> Result<(), CorrelatedError> {
        let (parties, transcript) = (&mut self.parties, &mut self.transcript);
        let mut coins = Coins::commit(parties, transcript, &mut self.prg, 1, &mut self.deviation)?;
        let BatchBuffers { sums, macs, opened, said, coefficients, .. } = &mut self.room;
        refill(sums, squares.len());
        refill(macs, squares.len());
        refill(opened, squares.len());
        for (square, (value, mac)) in squares.iter().zip(sums.iter_mut().zip(macs.iter_mut())) {
            (*value, *mac) = (square.value, square.mac);
        }
        self.deviation.elements(DeviationPoint::Square, sums);
        refill(said, size_of_val(sums.as_slice()) * parties.count());
        say(parties, transcript, sums.as_bytes(), said)?;
        for summands in said.chunks_exact(squares.len() * F::BYTES) {
            F::read(summands, sums).map_err(|_| misbehaved())?;
            F::add_assign(opened, sums);
        }
        let mut coin = coins.open(parties, transcript)?;
        refill(coefficients, squares.len());
        F::fill_random(&mut coin, coefficients);
        let value = F::dot(coefficients, opened);
        let sigma = F::dot(coefficients, macs).sub(self.key.mul(value));
        self.add_up_to_zero(sigma)
    }

    /// Bits from elements and their opened squares; how many there are.
    fn take_signs(
        &mut self,
        elements: &[Share<F>],
        bits: &mut [Share<F>],
    ) -> Result<usize, CorrelatedError> {
        let (me, key) = (self.parties.me(), *self.key);
        let half = F::new(2).inverse();
        let BatchBuffers { opened, coefficients, .. } = &mut self.room;
        let mut count = 0;
        coefficients.clear();
        for (&element, square) in elements.iter().zip(opened.iter()) {
            if *square != F::ZERO {
                coefficients.push(square.square_root().ok_or_else(cheated)?);
                bits[count] = element;
                count += 1;
            }
        }
        invert_all(coefficients, opened);
        for (bit, &inverse) in bits.iter_mut().zip(coefficients.iter()) {
            *bit = bit.scale(inverse.mul(half)).add_public(half, me, key);
        }
        Ok(count)
    }
}

/// Replaces public elements that are not zero by their inverses (Montgomery's trick): three
/// products each and one inverse for all. `products` is space for as many.
fn invert_all<F: Field>(elements: &mut [F], products: &mut [F]) {
    let mut product = F::ONE;
    for (element, before) in elements.iter().zip(products.iter_mut()) {
        *before = product;
        product = product.mul(*element);
    }
    let mut inverse = product.inverse();
    for (element, before) in elements.iter_mut().zip(products.iter()).rev() {
        let next = inverse.mul(*element);
        *element = inverse.mul(*before);
        inverse = next;
    }
}
