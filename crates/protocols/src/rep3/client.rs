//! Clients: parties that share their inputs, learn outputs, and compute nothing.
//!
//! Of an input, components 0 and 1 are drawn from generators that the client has in common with the
//! parties which hold them; party 1 is sent what is left, component 2, and tells it party 2 in the coming
//! round, in which parties' own inputs are shared, too. Of an output, party 0 sends the sum of its
//! components and party 2 its first one, component 2. No party knows the value: none holds all components.
//! The client learns no more than the value: all components 2 of a run are masked by generators that it does
//! not have, or 0, or component 2 of an input that it brought.
//!
//! Cost: 64 bytes of seeds from a client that brings anything; its inputs once to party 1, bits packed without
//! gaps for each instruction and elements of a ring in 1 to 8 bytes; each output twice. No round is added: a
//! client sends before it is asked.
//!
//! Invariants: a client walks through the same ordered program as those who compute; it receives
//! outputs in the round that opens them, and has sent all inputs before, so that neither side waits
//! for the other to read.
//!
//! Not protected: as in all of [`super`], against anybody who deviates, and two parties that collude.

use phineus_bytecode::layout::share_bytes;
use phineus_bytecode::{Description, Instruction, Lane, Op, Phase};
use phineus_channels::Channel;
use phineus_crypto::secret::classify;
use phineus_crypto::{Block, Prg, declassify_value};
use phineus_engine::{Inputs, Outputs};
use zerocopy::IntoBytes;
use zeroize::{Zeroize, Zeroizing};

use super::PARTIES;
use super::sharing::{draw, input_values, pack, subtract};
use crate::ProtocolError;
use crate::shares::values::{add_share, lane_of_share, sent_share_bytes};

/// Which of a client's two generators each party has.
const GENERATORS: [&[usize]; PARTIES] = [&[0, 1], &[1], &[0]];

/// The party that is sent what is left of an input.
pub(super) const RECEIVER: usize = 1;

/// The parties that send an output.
pub(super) const SENDERS: [usize; 2] = [0, 2];

/// Whether party `client` brings anything, and so has generators in common with others.
pub(super) fn brings(description: &Description, client: usize) -> bool {
    description.inputs.iter().any(|port| usize::from(port.party) == client)
}

/// Bytes of seeds that a client which brings something sends to `party`.
pub(super) fn seed_bytes(party: usize) -> u64 {
    (GENERATORS[party].len() * size_of::<Block>()) as u64
}

/// What a computing party has of the clients.
pub(super) struct Clients<C> {
    channels: Vec<C>,
    /// By client, the generators in common with it.
    common: Vec<[Option<Prg>; 2]>,
    /// By client, shares of outputs that the coming round sends to it.
    outputs: Vec<Vec<u8>>,
}

impl<C> Default for Clients<C> {
    fn default() -> Clients<C> {
        Clients { channels: Vec::new(), common: Vec::new(), outputs: Vec::new() }
    }
}

impl<C: Channel> Clients<C> {
    /// Receives the seeds of those that bring something.
    pub(super) fn meet(
        mut channels: Vec<C>,
        description: &Description,
        me: usize,
    ) -> Result<Clients<C>, ProtocolError> {
        let mut common = Vec::new();
        for (client, channel) in channels.iter_mut().enumerate() {
            let mut generators = [None, None];
            if brings(description, PARTIES + client) {
                for &k in GENERATORS[me] {
                    let mut seed = Zeroizing::new(Block::ZERO);
                    channel.recv(seed.as_mut_bytes())?;
                    // Known to the holders of a component alone, though it was sent.
                    classify(&mut *seed);
                    generators[k] = Some(Prg::from_seed(*seed));
                }
            }
            common.push(generators);
        }
        let outputs = vec![Vec::new(); channels.len()];
        Ok(Clients { channels, common, outputs })
    }

    /// A generator in common with a client.
    pub(super) fn generator(&mut self, client: usize, k: usize) -> &mut Prg {
        self.common[client][k].as_mut().expect("a client that brings something sent its seeds")
    }

    /// Receives what is left of an input.
    pub(super) fn receive(&mut self, client: usize, rest: &mut [u8]) -> Result<(), ProtocolError> {
        self.channels[client].recv(rest)?;
        classify(rest);
        Ok(())
    }

    /// Sends a share of an output to a client at the end of the round.
    pub(super) fn push_output(&mut self, client: usize, share: &[u8]) {
        self.outputs[client].extend_from_slice(share);
    }

    /// Ends the round: clients get their shares.
    pub(super) fn send_outputs(&mut self) -> Result<(), ProtocolError> {
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
    pub(super) fn into_channels(mut self) -> Vec<C> {
        std::mem::take(&mut self.channels)
    }
}

impl<C> Drop for Clients<C> {
    fn drop(&mut self) {
        self.outputs.zeroize();
    }
}

/// An output whose shares are on their way.
struct Awaited {
    instruction: Instruction,
    at: usize,
}

/// One client of a computation on replicated shares, step by step through its ordered program.
pub struct Rep3Client<C> {
    /// To each computing party.
    channels: Vec<C>,
    me: usize,
    description: Description,
    /// None if this client brings nothing.
    common: Option<[Prg; 2]>,
    inputs: Inputs,
    outputs: Outputs,
    awaited: Vec<Awaited>,
    awaited_bytes: usize,
}

impl<C: Channel> Rep3Client<C> {
    /// Party `me` of `description`, with channels to the three that compute.
    ///
    /// # Errors
    /// When a channel fails.
    ///
    /// # Panics
    /// If `me` is one of those who compute, or there are not three channels.
    pub fn new(
        mut channels: Vec<C>,
        prg: &mut Prg,
        description: &Description,
        me: usize,
        inputs: Inputs,
    ) -> Result<Rep3Client<C>, ProtocolError> {
        assert_eq!(channels.len(), PARTIES, "three parties compute");
        assert!((PARTIES..description.parties.len()).contains(&me), "clients come last");
        let mut common = None;
        if brings(description, me) {
            let seeds = Zeroizing::new([prg.next_block(), prg.next_block()]);
            for (channel, generators) in channels.iter_mut().zip(GENERATORS) {
                for &k in generators {
                    channel.send(seeds[k].as_bytes())?;
                }
                channel.flush()?;
            }
            common = Some(seeds.map(Prg::from_seed));
        }
        Ok(Rep3Client {
            channels,
            me,
            common,
            inputs,
            outputs: Outputs::new(description, me as u16),
            description: description.clone(),
            awaited: Vec::new(),
            awaited_bytes: 0,
        })
    }

    /// Takes the next instruction of the ordered program.
    ///
    /// # Errors
    /// When a channel fails.
    pub fn step(&mut self, instruction: &Instruction) -> Result<(), ProtocolError> {
        let port = instruction.immediates[0] as usize;
        match instruction.op {
            Op::Input if instruction.phase == Phase::Issue => {
                let is_ours = usize::from(self.description.inputs[port].party) == self.me;
                if is_ours { self.share(instruction) } else { Ok(()) }
            }
            Op::Output if self.outputs.wants(instruction) => {
                self.awaited.push(Awaited { instruction: *instruction, at: self.awaited_bytes });
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
    pub fn finish(mut self) -> Result<(Vec<C>, Outputs), ProtocolError> {
        assert!(self.awaited.is_empty(), "an ordered program ends when everything is done");
        self.channels.iter_mut().try_for_each(Channel::flush)?;
        Ok((self.channels, self.outputs))
    }

    /// Shares the values of an input instruction among those who compute.
    fn share(&mut self, instruction: &Instruction) -> Result<(), ProtocolError> {
        let shape = instruction.shape();
        let mut rest = input_values(&self.inputs, instruction);
        let mut component = Zeroizing::new(vec![0; share_bytes(shape)]);
        for prg in self.common.as_mut().expect("it brings something") {
            draw(prg, shape, &mut component);
            subtract(shape, &mut rest, &component);
        }
        Ok(self.channels[RECEIVER].send(&pack(shape, &rest))?)
    }

    /// Adds up the shares of the outputs that this round opens.
    fn receive_outputs(&mut self) -> Result<(), ProtocolError> {
        self.channels.iter_mut().try_for_each(Channel::flush)?;
        let mut sums = Zeroizing::new(vec![0; self.awaited_bytes]);
        let mut theirs = Zeroizing::new(vec![0; self.awaited_bytes]);
        for sender in SENDERS {
            self.channels[sender].recv(&mut theirs)?;
            for Awaited { instruction, at } in &self.awaited {
                let shape = instruction.shape();
                let place = *at..at + sent_share_bytes(shape);
                add_share(shape, &mut sums[place.clone()], &theirs[place]);
            }
        }
        classify(&mut sums[..]);
        for Awaited { instruction, at } in self.awaited.drain(..) {
            let shape = instruction.shape();
            let sum = &sums[at..at + sent_share_bytes(shape)];
            let lane = |j: usize| lane_of_share(shape, sum, j);
            self.outputs.write(&instruction, (0..shape.lanes as usize).map(lane));
        }
        self.awaited_bytes = 0;
        Ok(())
    }
}
