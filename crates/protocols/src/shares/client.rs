//! Clients: parties that share their inputs, learn outputs, and compute nothing.
//!
//! An input is a sum of shares. A client has a generator in common with those who hold a share, from
//! which all of them draw it, for each share but the last one; that one, what is left of the value, it sends.
//! Which party holds which share is the protocol's ([`ClientSharing`]). Of an output it gets shares
//! of some parties, whose sum it is.
//!
//! Cost: 16 bytes from the client to each holder of each share but the last, if it brings anything; its
//! inputs once, bits packed without gaps for each instruction and elements of a ring in
//! 1 to 8 bytes; each output once from each party that sends it. No round is added: a client sends
//! before it is asked.
//!
//! Invariants: a client goes through the same ordered program as those who compute; it receives
//! outputs in the round that opens them, and has sent all inputs before, so that neither side waits
//! for the other to read.

use std::marker::PhantomData;
use std::ops::Range;

use phineus_bytecode::layout::share_bytes;
use phineus_bytecode::{Description, Instruction, Lane, Op, Phase, Shape, Sharing};
use phineus_channels::{Channel, ChannelError};
use phineus_crypto::secret::classify;
use phineus_crypto::{Block, Prg, declassify_value};
use phineus_engine::{Inputs, Outputs, packed};
use zerocopy::IntoBytes;
use zeroize::{Zeroize, Zeroizing};

use super::ring;
use super::transpose::to_rows;
use super::values::{add_share, blank, lanes_of_share, sent_share_bytes, with_gaps, without_gaps};
use super::words::words;

/// How a protocol shares what clients bring, and opens what they learn.
pub trait ClientSharing {
    /// How many shares are drawn from generators, where so many parties compute.
    fn generator_count(parties: usize) -> usize;

    /// The generators that `party` has in common with a client.
    fn generators(party: usize, parties: usize) -> Range<usize>;

    /// The party to which a client sends what is left of an input.
    fn receiver(parties: usize) -> usize;

    /// Whether `party` sends a share of an output to a client.
    fn sends(party: usize) -> bool;
}

/// Whether party `client` brings anything, and so has generators in common with others.
pub(crate) fn has_inputs(description: &Description, client: usize) -> bool {
    description.inputs.iter().any(|port| usize::from(port.party) == client)
}

/// State of a computing party for its clients.
pub(crate) struct Clients<C> {
    channels: Vec<C>,
    /// By client, the generators in common with it, by number.
    common: Vec<Vec<Option<Prg>>>,
    /// By client, shares of outputs that the coming round sends to it.
    outputs: Vec<Vec<u8>>,
}

impl<C> Default for Clients<C> {
    fn default() -> Clients<C> {
        Clients { channels: Vec::new(), common: Vec::new(), outputs: Vec::new() }
    }
}

impl<C: Channel> Clients<C> {
    /// Receives the seeds of those that bring something. Clients are the parties of `description`
    /// from `computing` on; `me` is one of those before.
    pub(crate) fn meet<O: ClientSharing>(
        mut channels: Vec<C>,
        description: &Description,
        me: usize,
        computing: usize,
    ) -> Result<Clients<C>, ChannelError> {
        let mut common = Vec::new();
        for (client, channel) in channels.iter_mut().enumerate() {
            let mut generators: Vec<_> = (0..O::generator_count(computing)).map(|_| None).collect();
            if has_inputs(description, computing + client) {
                for generator in &mut generators[O::generators(me, computing)] {
                    let mut seed = Zeroizing::new(Block::ZERO);
                    channel.recv(seed.as_mut_bytes())?;
                    // Known to the holders of the share alone, though it was sent.
                    classify(&mut *seed);
                    *generator = Some(Prg::from_seed(*seed));
                }
            }
            common.push(generators);
        }
        let outputs = vec![Vec::new(); channels.len()];
        Ok(Clients { channels, common, outputs })
    }

    /// Draws a share of what a client brings from a generator in common with it.
    pub(crate) fn draw(&mut self, client: usize, generator: usize, shape: Shape, share: &mut [u8]) {
        let prg = self.common[client][generator].as_mut();
        draw(prg.expect("a client that brings something sent its seeds"), shape, share);
    }

    /// Receives the share that is not drawn, as it was sent.
    pub(crate) fn receive(
        &mut self,
        client: usize,
        shape: Shape,
    ) -> Result<Zeroizing<Vec<u8>>, ChannelError> {
        let mut sent = Zeroizing::new(vec![0; sent_share_bytes(shape)]);
        self.channels[client].recv(&mut sent)?;
        classify(&mut sent[..]);
        Ok(sent)
    }

    /// Sends `share` of an output to a client at the end of the round.
    pub(crate) fn push_output(&mut self, client: usize, share: &[u8]) {
        self.outputs[client].extend_from_slice(share);
    }

    /// Ends the round: clients get their shares.
    pub(crate) fn send_outputs(&mut self) -> Result<(), ChannelError> {
        for (channel, shares) in self.channels.iter_mut().zip(&mut self.outputs) {
            if !shares.is_empty() {
                channel.send(shares)?;
                channel.flush()?;
                shares.zeroize();
            }
        }
        Ok(())
    }

    /// The channels, when all is done.
    pub(crate) fn into_channels(mut self) -> Vec<C> {
        std::mem::take(&mut self.channels)
    }
}

impl<C> Drop for Clients<C> {
    fn drop(&mut self) {
        self.outputs.zeroize();
    }
}

/// Draws a share.
pub(crate) fn draw(prg: &mut Prg, shape: Shape, share: &mut [u8]) {
    if shape.sharing == Sharing::Arithmetic {
        let mut elements = blank(shape.lanes as usize);
        prg.fill_bytes(elements.as_mut_bytes());
        return ring::store(share, &elements, shape.width);
    }
    prg.fill_bytes(share);
    packed::clear_padding(share, shape.lanes as usize);
}

/// A share as it is sent: bits without gaps, or elements of a ring.
pub(crate) fn pack(shape: Shape, share: &[u8]) -> Zeroizing<Vec<u8>> {
    if shape.sharing == Sharing::Arithmetic {
        return Zeroizing::new(share.to_vec());
    }
    let size = sent_share_bytes(shape);
    Zeroizing::new(without_gaps(share, shape).as_bytes()[..size].to_vec())
}

/// The inverse of [`pack`].
pub(crate) fn unpack(shape: Shape, sent: &[u8], share: &mut [u8]) {
    if shape.sharing == Sharing::Arithmetic {
        return share.copy_from_slice(sent);
    }
    let mut bits = blank(words(shape.wires() as usize));
    bits.as_mut_bytes()[..sent.len()].copy_from_slice(sent);
    with_gaps(&bits, shape, share);
}

/// Takes a share off a value or another share.
pub(crate) fn subtract(shape: Shape, from: &mut [u8], share: &[u8]) {
    if shape.sharing != Sharing::Arithmetic {
        return packed::xor_assign(from, share);
    }
    let (mut left, mut right) = (blank(shape.lanes as usize), blank(shape.lanes as usize));
    ring::load(&mut left, from, shape.width);
    ring::load(&mut right, share, shape.width);
    left.iter_mut().zip(&*right).for_each(|(left, right)| *left = left.wrapping_sub(*right));
    ring::store(from, &left, shape.width);
}

/// The values of an input, as a share.
pub(crate) fn input_values(inputs: &Inputs, instruction: &Instruction) -> Zeroizing<Vec<u8>> {
    let shape = instruction.shape();
    let mut values = Zeroizing::new(vec![0; share_bytes(shape)]);
    let lanes = inputs.lanes(instruction).map(|lane| *lane.as_limbs());
    let lanes: Zeroizing<Vec<[u64; 4]>> = Zeroizing::new(lanes.collect());
    let limbs = |k: usize| -> Zeroizing<Vec<u64>> {
        Zeroizing::new(lanes.iter().map(|limbs| limbs[k]).collect())
    };
    match shape.sharing {
        Sharing::Arithmetic => ring::store(&mut values, &limbs(0), shape.width),
        Sharing::Any | Sharing::Boolean | Sharing::Garbled => {
            let rows_of_limb = values.chunks_mut(64 * packed::row_bytes(shape.lanes as usize));
            rows_of_limb.enumerate().for_each(|(k, rows)| to_rows(&limbs(k), rows));
        }
    }
    values
}

/// An output whose shares are on their way.
struct PendingClientOutput {
    instruction: Instruction,
    at: usize,
}

/// One client of a computation on shares, step by step through its ordered program.
pub struct Client<C, O> {
    /// To each computing party.
    channels: Vec<C>,
    me: usize,
    description: Description,
    /// Those that shares are drawn from; none if this client brings nothing.
    common: Vec<Prg>,
    inputs: Inputs,
    outputs: Outputs,
    awaited: Vec<PendingClientOutput>,
    awaited_bytes: usize,
    outsourcing: PhantomData<O>,
}

impl<C: Channel, O: ClientSharing> Client<C, O> {
    /// Party `me` of `description`, whose first parties, as many as `channels`, compute.
    ///
    /// # Errors
    /// When a channel fails.
    ///
    /// # Panics
    /// If `me` is one of those who compute.
    pub fn new(
        mut channels: Vec<C>,
        prg: &mut Prg,
        description: &Description,
        me: usize,
        inputs: Inputs,
    ) -> Result<Client<C, O>, ChannelError> {
        let parties = channels.len();
        assert!((parties..description.parties.len()).contains(&me), "clients come last");
        let mut common = Vec::new();
        if has_inputs(description, me) {
            let seeds = (0..O::generator_count(parties)).map(|_| prg.next_block());
            let seeds = Zeroizing::new(seeds.collect::<Vec<Block>>());
            for (party, channel) in channels.iter_mut().enumerate() {
                for seed in &seeds[O::generators(party, parties)] {
                    channel.send(seed.as_bytes())?;
                    channel.flush()?;
                }
            }
            common.extend(seeds.iter().map(|&seed| Prg::from_seed(seed)));
        }
        Ok(Client {
            channels,
            me,
            common,
            inputs,
            outputs: Outputs::new(description, me as u16),
            description: description.clone(),
            awaited: Vec::new(),
            awaited_bytes: 0,
            outsourcing: PhantomData,
        })
    }

    /// Takes the next instruction of the ordered program.
    ///
    /// # Errors
    /// When a channel fails.
    pub fn step(&mut self, instruction: &Instruction) -> Result<(), ChannelError> {
        let port = instruction.immediates[0] as usize;
        match instruction.op {
            Op::Input if instruction.phase != Phase::Finish => {
                let is_ours = usize::from(self.description.inputs[port].party) == self.me;
                if is_ours { self.share(instruction) } else { Ok(()) }
            }
            Op::Output if self.outputs.wants(instruction) => {
                self.awaited.push(PendingClientOutput {
                    instruction: *instruction,
                    at: self.awaited_bytes,
                });
                self.awaited_bytes += sent_share_bytes(instruction.shape());
                Ok(())
            }
            Op::Round if !self.awaited.is_empty() => self.receive_outputs(),
            _ => Ok(()),
        }
    }

    /// The value that the program has opened to all as output port `port`.
    pub fn opened(&self, port: u32) -> Lane {
        let opened = self.outputs.opened(port).into_limbs();
        Lane::from_limbs(declassify_value(opened, "opened to all parties"))
    }

    /// Sends what is left; returns the channels and the outputs.
    ///
    /// # Errors
    /// When a channel fails.
    ///
    /// # Panics
    /// If the program ended before its outputs were opened.
    pub fn finish(mut self) -> Result<(Vec<C>, Outputs), ChannelError> {
        assert!(self.awaited.is_empty(), "an ordered program ends when everything is done");
        self.channels.iter_mut().try_for_each(Channel::flush)?;
        Ok((self.channels, self.outputs))
    }

    /// Shares the values of an input instruction among those who compute.
    fn share(&mut self, instruction: &Instruction) -> Result<(), ChannelError> {
        let shape = instruction.shape();
        let mut rest = input_values(&self.inputs, instruction);
        let mut share = Zeroizing::new(vec![0; share_bytes(shape)]);
        for prg in &mut self.common {
            draw(prg, shape, &mut share);
            subtract(shape, &mut rest, &share);
        }
        let receiver = O::receiver(self.channels.len());
        self.channels[receiver].send(&pack(shape, &rest))
    }

    /// Adds up the shares of the outputs that this round opens.
    fn receive_outputs(&mut self) -> Result<(), ChannelError> {
        self.channels.iter_mut().try_for_each(Channel::flush)?;
        let mut sums = Zeroizing::new(vec![0; self.awaited_bytes]);
        let mut theirs = Zeroizing::new(vec![0; self.awaited_bytes]);
        let senders = self.channels.iter_mut().enumerate().filter(|(party, _)| O::sends(*party));
        for (_, channel) in senders {
            channel.recv(&mut theirs)?;
            for PendingClientOutput { instruction, at } in &self.awaited {
                let shape = instruction.shape();
                let place = *at..at + sent_share_bytes(shape);
                add_share(shape, &mut sums[place.clone()], &theirs[place]);
            }
        }
        for PendingClientOutput { instruction, at } in self.awaited.drain(..) {
            let shape = instruction.shape();
            let sum = &sums[at..at + sent_share_bytes(shape)];
            self.outputs.write(&instruction, lanes_of_share(shape, sum).into_iter());
        }
        self.awaited_bytes = 0;
        Ok(())
    }
}
