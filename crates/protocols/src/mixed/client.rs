//! Clients: parties that share their inputs, learn outputs, and compute nothing.
//!
//! Source: the outsourcing of Braun, Demmler, Schneider, Tkachenko, "MOTION", TOPS 2022 (ePrint
//! 2020/1137): additive and XOR shares can be made and added up by anybody. A client has a
//! generator in common with each computing party but the last, from which both draw that party's
//! share; the last one is sent what is left of the value. Of an output it gets everybody's share.
//!
//! Cost: 16 bytes from the client to each computing party but the last, if it brings anything; its
//! inputs once to the last, bits packed without gaps for each instruction and elements of a ring in
//! 1 to 8 bytes; each output once from each computing party. No round is added: a client sends
//! before it is asked.
//!
//! Invariants: a client walks through the same ordered program as those who compute; it receives
//! outputs in the round that opens them, and has sent all inputs before, so that neither side waits
//! for the other to read.
//!
//! Not protected: as in all of [`super`], against anybody who deviates. All computing parties
//! together know the inputs, whoever brings them: one of them must be honest.

use phineus_bytecode::layout::share_bytes;
use phineus_bytecode::{Description, Instruction, Lane, Op, Phase, Shape, Sharing};
use phineus_channels::Channel;
use phineus_crypto::secret::classify;
use phineus_crypto::{Block, Prg, declassify_value};
use phineus_engine::{Inputs, Outputs, packed};
use zerocopy::IntoBytes;
use zeroize::{Zeroize, Zeroizing};

use crate::ProtocolError;
use crate::shares::ring;
use crate::shares::values::{
    add_share, blank, lane_of_share, sent_share_bytes, with_gaps, without_gaps,
};
use crate::shares::words::words;

/// Whether party `client` brings anything, and so has generators in common with others.
fn brings(description: &Description, client: usize) -> bool {
    description.inputs.iter().any(|port| usize::from(port.party) == client)
}

/// What a computing party has of the clients.
pub(super) struct Clients<C> {
    channels: Vec<C>,
    /// By client, the generator in common with it; none at the last computing party.
    common: Vec<Option<Prg>>,
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
    pub(super) fn meet(
        mut channels: Vec<C>,
        description: &Description,
        me: usize,
        computing: usize,
    ) -> Result<Clients<C>, ProtocolError> {
        let mut common = Vec::new();
        for (client, channel) in channels.iter_mut().enumerate() {
            let mut seed = Block::ZERO;
            let has_seed = me + 1 < computing && brings(description, computing + client);
            if has_seed {
                channel.recv(seed.as_mut_bytes())?;
                // Known to these two alone, though it was sent.
                classify(&mut seed);
            }
            common.push(has_seed.then(|| Prg::from_seed(seed)));
        }
        let outputs = vec![Vec::new(); channels.len()];
        Ok(Clients { channels, common, outputs })
    }

    /// Our XOR share of packed bits that a client brings.
    pub(super) fn bits(
        &mut self,
        client: usize,
        shape: Shape,
        share: &mut [u8],
    ) -> Result<(), ProtocolError> {
        if let Some(prg) = &mut self.common[client] {
            draw_bits(prg, shape, share);
            return Ok(());
        }
        let mut bits = blank(words(shape.wires() as usize));
        self.channels[client].recv(&mut bits.as_mut_bytes()[..sent_share_bytes(shape)])?;
        with_gaps(&bits, shape, share);
        Ok(())
    }

    /// Our additive share of elements that a client brings.
    pub(super) fn ring(
        &mut self,
        client: usize,
        shape: Shape,
        share: &mut [u64],
    ) -> Result<(), ProtocolError> {
        if let Some(prg) = &mut self.common[client] {
            prg.fill_bytes(share.as_mut_bytes());
            return Ok(());
        }
        let mut bytes = Zeroizing::new(vec![0; sent_share_bytes(shape)]);
        self.channels[client].recv(&mut bytes)?;
        ring::load(share, &bytes, shape.width);
        Ok(())
    }

    /// Sends `share` of an output to a client at the end of the round.
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

fn draw_bits(prg: &mut Prg, shape: Shape, share: &mut [u8]) {
    prg.fill_bytes(share);
    packed::clear_padding(share, shape.lanes as usize);
}

/// An output whose shares are on their way.
struct Awaited {
    instruction: Instruction,
    at: usize,
}

/// One client of a computation on shares, step by step through its ordered program.
pub struct MixedClient<C> {
    /// To each computing party.
    channels: Vec<C>,
    me: usize,
    description: Description,
    /// In common with each computing party but the last; none if this client brings nothing.
    common: Vec<Prg>,
    inputs: Inputs,
    outputs: Outputs,
    awaited: Vec<Awaited>,
    awaited_bytes: usize,
}

impl<C: Channel> MixedClient<C> {
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
    ) -> Result<MixedClient<C>, ProtocolError> {
        assert!((channels.len()..description.parties.len()).contains(&me), "clients come last");
        let mut common = Vec::new();
        if brings(description, me) {
            let (_, seeded) = channels.split_last_mut().expect("some compute");
            for channel in seeded {
                let seed = prg.next_block();
                channel.send(seed.as_bytes())?;
                channel.flush()?;
                common.push(Prg::from_seed(seed));
            }
        }
        Ok(MixedClient {
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
            Op::Input if instruction.phase != Phase::Finish => {
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
        let lanes = shape.lanes as usize;
        let last = self.channels.last_mut().expect("some compute");
        let size = sent_share_bytes(shape);
        if shape.sharing == Sharing::Arithmetic {
            let (mut rest, mut mask) = (blank(lanes), blank(lanes));
            let values = self.inputs.lanes(instruction);
            rest.iter_mut().zip(values).for_each(|(rest, value)| *rest = value.as_limbs()[0]);
            for prg in &mut self.common {
                prg.fill_bytes(mask.as_mut_bytes());
                rest.iter_mut().zip(&*mask).for_each(|(r, m)| *r = r.wrapping_sub(*m));
            }
            let store = |bytes: &mut [u8]| ring::store(bytes, &rest, shape.width);
            let mut bytes = Zeroizing::new(vec![0; size]);
            store(&mut bytes);
            return Ok(last.send(&bytes)?);
        }
        let mut rest = Zeroizing::new(vec![0; share_bytes(shape)]);
        let mut mask = Zeroizing::new(vec![0; rest.len()]);
        packed::to_bits(self.inputs.lanes(instruction), lanes, &mut rest);
        for prg in &mut self.common {
            draw_bits(prg, shape, &mut mask);
            packed::xor_assign(&mut rest, &mask);
        }
        let bits = without_gaps(&rest, shape);
        Ok(last.send(&bits.as_bytes()[..size])?)
    }

    /// Adds up the shares of the outputs that this round opens.
    fn receive_outputs(&mut self) -> Result<(), ProtocolError> {
        self.channels.iter_mut().try_for_each(Channel::flush)?;
        let mut sums = Zeroizing::new(vec![0; self.awaited_bytes]);
        let mut theirs = Zeroizing::new(vec![0; self.awaited_bytes]);
        for channel in &mut self.channels {
            channel.recv(&mut theirs)?;
            for Awaited { instruction, at } in &self.awaited {
                let shape = instruction.shape();
                let place = *at..at + sent_share_bytes(shape);
                add_share(shape, &mut sums[place.clone()], &theirs[place]);
            }
        }
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
