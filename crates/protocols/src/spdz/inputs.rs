//! [`BroughtInputs`]: the integers and bits that parties bring in a round.
//!
//! The owner tells everybody its values minus masks that only it knows; all add that to their
//! shares of the masks. Of bits it tells the exclusive or with masks that are proven to be bits, so
//! that whoever sees a bit told knows that a bit was brought. Inputs of one owner wait for each other until they fill a part of the cache,
//! then take their masks together. Memory per element: a share, the element that is told, and the one of
//! the round before.
//! Invariant: values leave this memory only under masks.

use std::ops::Range;

use phineus_bytecode::limits::VALUE_WIRES_MAX;
use phineus_correlated::authenticated::{AuthenticatedRandomness, Share};
use phineus_crypto::SecretBit;
use phineus_crypto::field::Field;
use zeroize::Zeroizing;

use super::mat_mul::lengthen;
use super::run::{FlightContext, ShareBuffer};
use crate::ProtocolError;

/// Elements that take their masks together: 128 KiB of shares, masks and values in a field of 8
/// bytes.
const TOGETHER: usize = 4096;
const _: () = assert!(TOGETHER >= VALUE_WIRES_MAX as usize);

/// Inputs of one owner that took their masks together.
struct InputGroup {
    owner: usize,
    are_bits: bool,
    count: usize,
    told_at: usize,
}

/// Inputs that are told at the end of the round; after it, until the next is begun, their shares.
pub(super) struct BroughtInputs<F: Field> {
    /// Whose inputs wait for masks, whether they are bits, and how many elements they are.
    owner: usize,
    are_bits: bool,
    waiting: usize,
    /// Values that wait, if this party owns them.
    values: Zeroizing<Vec<F>>,
    masks: Zeroizing<Vec<F>>,
    groups: Vec<InputGroup>,
    /// Shares of masks, then of inputs.
    shares: ShareBuffer<F>,
    is_done: bool,
}

impl<F: Field> BroughtInputs<F> {
    pub(super) fn new() -> BroughtInputs<F> {
        BroughtInputs {
            owner: 0,
            are_bits: false,
            waiting: 0,
            values: Zeroizing::new(Vec::with_capacity(TOGETHER)),
            masks: Zeroizing::new(vec![F::ZERO; TOGETHER]),
            groups: Vec::new(),
            shares: Zeroizing::new(Vec::new()),
            is_done: false,
        }
    }

    /// Brings an input of `count` elements of `owner`, all of them bits or none; the owner knows the
    /// `values`. Returns where it will be among [`BroughtInputs::done`].
    pub(super) fn issue<M: AuthenticatedRandomness<F>>(
        &mut self,
        context: &mut FlightContext<'_, F, M>,
        (owner, are_bits): (usize, bool),
        count: usize,
        values: Option<impl Iterator<Item = F>>,
    ) -> Result<Range<usize>, ProtocolError> {
        assert_eq!(values.is_some(), owner == context.me, "a party knows its own values");
        if std::mem::take(&mut self.is_done) {
            self.shares.clear();
        }
        if (owner, are_bits) != (self.owner, self.are_bits) || self.waiting + count > TOGETHER {
            self.flush(context)?;
            (self.owner, self.are_bits) = (owner, are_bits);
        }
        if let Some(values) = values {
            self.values.extend(values);
        }
        let at = self.shares.len() + self.waiting;
        self.waiting += count;
        Ok(at..at + count)
    }

    /// Takes masks for what waits, and has it told.
    pub(super) fn flush<M: AuthenticatedRandomness<F>>(
        &mut self,
        context: &mut FlightContext<'_, F, M>,
    ) -> Result<(), ProtocolError> {
        let (owner, are_bits) = (self.owner, self.are_bits);
        let count = std::mem::take(&mut self.waiting);
        if count == 0 {
            return Ok(());
        }
        let shares = lengthen(&mut self.shares, count);
        let mut masks = (owner == context.me).then_some(&mut self.masks[..count]);
        let known = masks.as_deref_mut();
        if are_bits {
            context.correlated.bit_masks(owner, shares, known)?;
        } else {
            context.correlated.masks(owner, shares, known)?;
        }
        let told_at = if let Some(masks) = masks {
            F::sub_assign(&mut self.values, masks);
            if are_bits {
                // 1 or -1 if they differ.
                for value in self.values.iter_mut() {
                    *value = value.mul(*value);
                }
            }
            let told_at = context.opening.tell(owner, count, Some(&self.values));
            self.values.clear();
            told_at
        } else {
            context.opening.tell(owner, count, None)
        };
        self.groups.push(InputGroup { owner, are_bits, count, told_at });
        Ok(())
    }

    /// Ends the round: makes shares of inputs of what was told.
    ///
    /// # Errors
    /// When an owner tells what is no bit where it should be.
    pub(super) fn take<M>(
        &mut self,
        context: &FlightContext<'_, F, M>,
    ) -> Result<(), ProtocolError> {
        assert_eq!(self.waiting, 0, "what waits takes its masks before the round ends");
        let mut rest = &mut self.shares[..];
        for InputGroup { owner, are_bits, count, told_at } in self.groups.drain(..) {
            let shares;
            (shares, rest) = rest.split_at_mut(count);
            let told = context.opening.told(owner, told_at, count);
            if are_bits {
                if told.iter().any(|&told| told != F::ZERO && told != F::ONE) {
                    return Err(ProtocolError::Cheated { during: "that an input is made of bits" });
                }
                for (share, &told) in shares.iter_mut().zip(told) {
                    // What is told is public.
                    if told == F::ONE {
                        *share = Share::public(F::ONE, context.me, context.delta).sub(*share);
                    }
                }
                continue;
            }
            let factors = [F::ONE.and_bit(SecretBit::public(context.me == 0)), context.delta];
            F::scale_add_pairs(Share::elements_mut(shares), factors, told);
        }
        self.is_done = true;
        Ok(())
    }

    /// The inputs of the round that has ended, in the order of their issue.
    pub(super) fn done(&self) -> &[Share<F>] {
        assert!(self.is_done, "inputs are taken before others are brought");
        &self.shares
    }
}
