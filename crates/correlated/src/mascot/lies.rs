//! Deviations of a corrupted party in tests, the same towards all peers: the party changes its
//! values and sends them consistently, so that only a check can notice.
//!
//! A lie is told once, by the thread that makes correlated randomness.

use std::cell::Cell;

use phineus_crypto::field::Field;

/// Value that is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// An element that is authenticated, such as a factor or a product of a triple.
    Input,
    /// A share of a MAC.
    Mac,
    /// A summand of what is opened to check products.
    Summand,
    /// A summand of the difference that makes a triple a square.
    Difference,
    /// A summand of the square that becomes a bit.
    Square,
    /// A share of what must add up to zero, well committed to.
    Sigma,
    /// A summand of the proof that elements are small.
    Proof,
    /// A coin other than the one committed to.
    Coin,
}

/// A lie: about the element with a number, when as many others have been passed by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lie {
    pub(super) about: About,
    pub(super) times_before: usize,
    pub(super) element: usize,
}

thread_local! {
    static LIE: Cell<Option<Lie>> = const { Cell::new(None) };
}

/// Lets this thread lie from now on.
pub(super) fn add(lie: Option<Lie>) {
    LIE.set(lie.or(LIE.get()));
}

/// Which element is to be changed now, if any.
fn now(about: About) -> Option<usize> {
    let lie = LIE.get().filter(|lie| lie.about == about)?;
    match lie.times_before.checked_sub(1) {
        Some(times_before) => LIE.set(Some(Lie { times_before, ..lie })),
        None => LIE.set(None),
    }
    (lie.times_before == 0).then_some(lie.element)
}

/// The element, or one more if this thread lies about it.
pub(super) fn told<F: Field>(about: About, element: F) -> F {
    let mut elements = [element];
    tell(about, &mut elements);
    elements[0]
}

/// Adds one to an element, if this thread lies about it.
pub(super) fn tell<F: Field>(about: About, elements: &mut [F]) {
    if let Some(element) = now(about).and_then(|at| elements.get_mut(at)) {
        *element = element.add(F::ONE);
    }
}

/// Changes a coin of `bytes` bytes, if this thread lies about it.
pub(super) fn tell_coin(coins: &mut [u8], bytes: usize) {
    if let Some(coin) = now(About::Coin).and_then(|at| coins.chunks_exact_mut(bytes).nth(at)) {
        coin[0] ^= 1;
    }
}
