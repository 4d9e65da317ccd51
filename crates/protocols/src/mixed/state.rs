//! Openings inside a block, and permutations that one party knows.
//!
//! What a party brings from its permutation is its share; the shares of the others are 0. So nothing is sent. Whatever
//! is computed with such a value hides it as any other: operands of ANDs are masked by triples, and the shares of
//! what is opened or told to two parties follow from the value and the own share.
//!
//! [`MixedDriver::open_now`] and [`MixedDriver::tell_now`] exchange messages at once, on the stream of the openings and
//! between two rounds.
//!
//! Cost: for an opening its bits, packed, from each party to each other one, and a round; for rows that a party is
//! told as much from each other party to it, and a round for a whole permutation.
//!
//! Not protected: more than two parties. Rows are moved by permutations of two parties, so two others that
//! collude with one of them would know all of the order.

use phineus_bytecode::layout::share_bytes;
use phineus_bytecode::{Instruction, Lane, Op};
use phineus_channels::Channel;
use phineus_correlated::semi_honest::CorrelatedRandomness;
use phineus_crypto::{Block, declassify_value};
use phineus_engine::{NotAPermutation, OwnPermutations};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::clock::BOTH_SEND;
use super::driver::MixedDriver;
use crate::ProtocolError;
use crate::shares::transpose::to_rows;
use crate::shares::values::{Words, add_share, lanes_of_share, sent_share_bytes, without_gaps};

/// The own share of a value as it is sent.
fn sent_share(instruction: &Instruction, wires: &[Block]) -> Zeroizing<Vec<u8>> {
    let shape = instruction.shape();
    let bits = without_gaps(&wires.as_bytes()[..share_bytes(shape)], shape);
    Zeroizing::new(bits.as_bytes()[..sent_share_bytes(shape)].to_vec())
}

impl<C: Channel, P: CorrelatedRandomness> MixedDriver<C, P> {
    /// Sends a share to the parties that `learns` names; returns the sum of all shares if this is one of them.
    fn sum_now(
        &mut self,
        instruction: &Instruction,
        wires: &[Block],
        learns: impl Fn(usize) -> bool,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, ProtocolError> {
        self.flush_tables()?;
        let (me, count) = (self.parties.me(), self.parties.count());
        let mut sum = sent_share(instruction, wires);
        let length = |sends: bool| if sends { sum.len() } else { 0 };
        let mut received = Zeroizing::new(Vec::new());
        let outgoing: Vec<&[u8]> =
            (0..count).map(|peer| &sum[..length(peer != me && learns(peer))]).collect();
        received.extend((0..count).map(|peer| vec![0; length(peer != me && learns(me))]));
        let mut incoming: Vec<&mut [u8]> = received.iter_mut().map(Vec::as_mut_slice).collect();
        self.parties.exchange(&outgoing, &mut incoming)?;
        if !learns(me) {
            return Ok(None);
        }
        for share in received.iter().filter(|share| !share.is_empty()) {
            add_share(instruction.shape(), &mut sum, share);
        }
        Ok(Some(sum))
    }

    /// Opens a value of one lane to all parties.
    pub(super) fn open_now(
        &mut self,
        instruction: &Instruction,
        wires: &[Block],
    ) -> Result<Lane, ProtocolError> {
        let sum = self.sum_now(instruction, wires, |_| true)?.expect("all parties learn it");
        self.clock.round(1, BOTH_SEND);
        let opened = lanes_of_share(instruction.shape(), &sum)[0].into_limbs();
        Ok(Lane::from_limbs(declassify_value(opened, "opened to all parties")))
    }

    /// Tells a party rows of its permutation.
    pub(super) fn tell_now(
        &mut self,
        instruction: &Instruction,
        wires: &[Block],
    ) -> Result<(), ProtocolError> {
        let owner = usize::from(OwnPermutations::owner(&self.description, instruction));
        let sum = self.sum_now(instruction, wires, |party| party == owner)?;
        let is_last = OwnPermutations::is_last_told(&self.description, instruction);
        self.clock.round(is_last.into(), BOTH_SEND);
        let Some(sum) = sum else { return Ok(()) };
        let told = lanes_of_share(instruction.shape(), &sum);
        let during = "a permutation that is told";
        self.permutations
            .tell(instruction, told.into_iter())
            .map_err(|NotAPermutation| ProtocolError::Misbehaved { during })
    }

    /// The share of what a party brings from its permutation.
    pub(super) fn bring(&mut self, instruction: &Instruction, wires: &mut [Block]) {
        debug_assert!(matches!(instruction.op, Op::Switches | Op::Origins));
        let owner = usize::from(OwnPermutations::owner(&self.description, instruction));
        let share = &mut wires.as_mut_bytes()[..share_bytes(instruction.shape())];
        if owner != self.parties.me() {
            return share.fill(0);
        }
        let draws = self.draws.as_mut().expect("a program with permutations draws them");
        let values = self
            .permutations
            .bring(instruction, &mut |words| draws.fill_bytes(words.as_mut_bytes()));
        let values: Words = Zeroizing::new(values.iter().map(|&value| value.into()).collect());
        to_rows(&values, share);
    }
}
