//! A party that changes what it computes with and says the same to everybody, so that nothing but a
//! check can notice.

use phineus_crypto::field::Field;

use crate::mascot::{Deviation, DeviationPoint};

/// A lie about the element with a number, when as many others have been passed by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lie {
    pub(super) about: DeviationPoint,
    pub(super) times_before: usize,
    pub(super) element: usize,
}

/// Tells a lie once, if it has one.
pub(super) struct Liar(pub(super) Option<Lie>);

impl Liar {
    /// Which element is to be changed now, if any.
    fn now(&mut self, about: DeviationPoint) -> Option<usize> {
        let lie = self.0.take_if(|lie| lie.about == about)?;
        match lie.times_before.checked_sub(1) {
            Some(times_before) => {
                self.0 = Some(Lie { times_before, ..lie });
                None
            }
            None => Some(lie.element),
        }
    }
}

impl Deviation for Liar {
    fn elements<F: Field>(&mut self, point: DeviationPoint, elements: &mut [F]) {
        if let Some(element) = self.now(point).and_then(|at| elements.get_mut(at)) {
            *element = element.add(F::ONE);
        }
    }

    fn coins(&mut self, coins: &mut [u8], coin_bytes: usize) {
        let coin = self.now(DeviationPoint::Coin);
        if let Some(coin) = coin.and_then(|at| coins.chunks_exact_mut(coin_bytes).nth(at)) {
            coin[0] ^= 1;
        }
    }
}
