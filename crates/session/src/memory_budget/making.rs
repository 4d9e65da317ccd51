//! Memory for making correlated randomness, and the size of its batches that follows from the
//! limit.
//!
//! Batches, what is on the way and the connections' memory follow the least limit of all parties; all
//! parties find the same sizes, because nothing else goes into them but what they have agreed on.

use phineus_channels::{Transport, channel_memory_bytes};
use phineus_correlated::demand::BatchScale;
use phineus_correlated::semi_honest::limits::IN_PROGRESS_BYTES;
use phineus_ot::FieldBits;
use phineus_plan::Assignment;
use phineus_protocols::bmr::limits::{LONGEST_AHEAD_BYTES, memory_bytes as garbling_bytes};

use super::{BudgetParameters, OPTIMISED_PROCESS_BYTES, PlanFigures};
use crate::protocol::{DriverTerms, PreprocessingFigures, Representation};

/// Recorded circuits, where there is no plan yet that says what they take: a gate is 16 bytes at most,
/// and SHA-256 and AES together have 150,000.
const TEMPLATE_BYTES: u64 = 3 << 20;

/// Bandwidth of a network that windows are sized for, and the largest window.
const LINE_BYTES_PER_S: f64 = 125e6;
const AHEAD_BYTES_MAX: u64 = 8 << 20;

impl BudgetParameters {
    /// How large batches are, and what is on the way: no larger than what leaves a third of the
    /// least limit to the program itself, if there is such a size.
    pub fn batch_scale(&self) -> BatchScale {
        if !self.protocol.has_preprocessing() || self.variant.ot.is_silent() {
            return BatchScale::FULL;
        }
        // All parties must find the same one: what differs between them is left out.
        let common =
            BudgetParameters { network: None, clients: 0, transport: Transport::Tcp, ..*self };
        let most = self.least_limit_bytes / 3 * 2;
        let fits = |scale: &BatchScale| common.making_bytes(*scale) <= most;
        let least = BatchScale::ALL[BatchScale::ALL.len() - 1];
        BatchScale::ALL.into_iter().find(fits).unwrap_or(least)
    }

    /// Memory of the process, correlated randomness and connections with batches of this size.
    fn making_bytes(&self, scale: BatchScale) -> u64 {
        let may_garble = self.protocol.may_garble();
        let garbling = match self.protocol.garbles_beside(self.parties) {
            true => garbling_bytes(self.parties, (FieldBits::DEFAULT, scale), 0, u64::MAX),
            false => 0,
        };
        let is_made = self.protocol.may_take_triples();
        // Scripts are of the program itself, for which room is left.
        let template_bytes = if self.protocol.field().is_some() { 0 } else { TEMPLATE_BYTES };
        let making =
            PreprocessingFigures { triples: u64::MAX, is_made, ..PreprocessingFigures::default() };
        let figures = PlanFigures { making, scale, template_bytes, ..PlanFigures::default() };
        let in_progress = match self.makes_arithmetic_shares() && scale == BatchScale::FULL {
            true => IN_PROGRESS_BYTES,
            false => 0,
        };
        let channels = self.channel_bytes(scale) * self.channels(may_garble, is_made);
        OPTIMISED_PROCESS_BYTES + channels + self.driver_bytes(&figures) + garbling + in_progress
    }

    /// Whether correlated randomness for arithmetic shares may be made, with several batches in progress at once.
    fn makes_arithmetic_shares(&self) -> bool {
        let may_be_arithmetic = match self.protocol.representation() {
            Representation::Sharings(assignment) => match assignment {
                Assignment::Arithmetic | Assignment::Stated(_) | Assignment::ArithmeticProducts => {
                    true
                }
                Assignment::Uniform(_) | Assignment::GarbledBesideRows => false,
            },
            Representation::AsWritten
            | Representation::GarbledBesideRows
            | Representation::Field(_) => false,
        };
        self.parties == 2 && may_be_arithmetic && self.protocol.may_take_triples()
    }

    /// Bytes that a party may be ahead of another while authenticated correlated randomness is made
    /// or gates are garbled: twice what 1 Gbit/s carries in a round trip, since a party is ahead by
    /// half of it. At most a thirty-second of the least limit, and only if batches are whole.
    pub fn ahead_bytes(&self, scale: BatchScale, is_garbled: bool) -> usize {
        let mut ahead = scale.ahead_bytes();
        let longest = match (self.protocol.field(), is_garbled) {
            (Some(_), _) => AHEAD_BYTES_MAX,
            (None, true) => LONGEST_AHEAD_BYTES as u64,
            (None, false) => return ahead,
        };
        if scale != BatchScale::FULL {
            return ahead;
        }
        let wanted = 2.0 * LINE_BYTES_PER_S * self.round_trip.as_secs_f64();
        let most = self.least_limit_bytes / 32 / (self.parties as u64 - 1).max(1);
        while (ahead as f64) < wanted && 2 * ahead as u64 <= most.min(longest) {
            ahead *= 2;
        }
        ahead
    }

    /// Memory of a larger window beyond that of the usual one.
    pub(super) fn window_bytes(&self, scale: BatchScale, is_garbled: bool) -> u64 {
        let (ahead, usual) = (self.ahead_bytes(scale, is_garbled), scale.ahead_bytes());
        let channel = channel_memory_bytes(ahead) - channel_memory_bytes(usual);
        let peers = self.parties as u64 - 1;
        // Of each tile of authenticated correlated randomness on the way, the messages that were
        // chosen, and those for choice 0 of all peers: of what a tile sends, two thirds at the
        // most. What garbling sends and takes lies in its batches.
        let tiles = if is_garbled { 0 } else { (ahead - usual) as u64 * 2 / 3 * (peers + 1) };
        channel as u64 * peers + tiles
    }

    /// Memory of the driver, except for scratch wires and instructions in flight.
    pub(super) fn driver_bytes(&self, figures: &PlanFigures) -> u64 {
        self.protocol.driver_bytes(&DriverTerms {
            parties: self.parties,
            prove_inputs: self.prove_inputs,
            scale: figures.scale,
            template_bytes: figures.template_bytes,
            making: figures.making,
        })
    }
}
