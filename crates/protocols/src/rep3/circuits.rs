//! [`Circuits`]: recorded circuits on replicated XOR shares, level by level.
//!
//! All instructions with the same recorded circuit that begin in the same round form a *group*: their lanes
//! lie next to each other and run as one circuit. A group is cut into chunks of 512 lanes and a last one
//! of 1, 2, 4 or 8 words, so that a gate is a loop of fixed length over words that lie together. In a
//! chunk each slot of the circuit has the words of the party's first component, then those of its second.
//!
//! Cost: an AND of `n` lanes sends `n` bits; the bits of a chunk's level are rounded up to 8 bytes.
//! Memory: 16 bytes for 64 lanes of each slot.

use std::sync::Arc;

use phineus_bytecode::Instruction;
use phineus_bytecode::layout::share_bytes;
use phineus_circuits::record::{And, CircuitTemplate};
use phineus_crypto::{SecretBit, Simd};
use phineus_engine::bits::is_repeated;
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::gates::{ChunkStep, chunk_words};
use super::keys::Keys;
use super::messages::{MaskedProducts, RoundMessages};
use crate::shares::elements::Element;
use crate::shares::repeated::{CHUNK_WORDS, RepeatedOperand};
use crate::shares::words::{Line, add_bits, bits_of, last_mask, words, words_of};

/// Lanes of the widest chunk: one register of 512 bits for each component.
const CHUNK_LANES: usize = 64 * CHUNK_WORDS;

/// A circuit on lanes that run side by side, and the level whose ANDs are being sent.
pub(super) struct CircuitGroup {
    template: Arc<CircuitTemplate>,
    lanes: usize,
    level: usize,
    /// Bytes of an operand that is repeated.
    repeated_bytes: usize,
}

impl CircuitGroup {
    /// Lanes of each chunk.
    fn chunks(&self) -> impl Iterator<Item = usize> + use<> {
        let lanes = self.lanes;
        (0..lanes).step_by(CHUNK_LANES).map(move |start| CHUNK_LANES.min(lanes - start))
    }

    /// Lines of memory of all slots.
    fn lines(&self) -> usize {
        let words: usize = self.chunks().map(chunk_words).sum();
        (2 * self.template.slot_count as usize * words).div_ceil(8)
    }

    /// Bytes of all slots and of what is repeated.
    pub(super) fn row_bytes(&self) -> usize {
        size_of::<Line>() * self.lines() + self.repeated_bytes
    }

    /// Where a word of the lanes lies in a component of a slot.
    fn place(&self, (slot, component): (usize, usize), word: usize) -> usize {
        let chunk = word / CHUNK_WORDS;
        let width = chunk_words(CHUNK_LANES.min(self.lanes - chunk * CHUNK_LANES));
        let start = chunk * CHUNK_WORDS * self.template.slot_count as usize;
        2 * start + (2 * slot + component) * width + word % CHUNK_WORDS
    }

    fn ands(&self) -> &[And] {
        &self.template.levels[self.level].ands
    }

    /// Bytes that the ANDs of the level send.
    pub(super) fn sent_bytes(&self) -> usize {
        8 * self.chunks().map(|lanes| words(self.ands().len() * lanes)).sum::<usize>()
    }

    /// Goes on to the next level; whether it has ANDs.
    pub(super) fn goes_on(&mut self) -> bool {
        self.level += 1;
        !self.ands().is_empty()
    }
}

/// Puts lanes of a circuit behind those of `groups` with the same circuit; returns the number of the
/// group, and the first of the lanes.
pub(super) fn join_group(
    groups: &mut Vec<CircuitGroup>,
    circuit: &Instruction,
    (template, lanes): (Arc<CircuitTemplate>, usize),
) -> (usize, usize) {
    let known = groups.iter().position(|group| Arc::ptr_eq(&group.template, &template));
    let number = known.unwrap_or(groups.len());
    if known.is_none() {
        groups.push(CircuitGroup { template, lanes: 0, level: 0, repeated_bytes: 0 });
    }
    let group = &mut groups[number];
    group.lanes += lanes;
    if group.template.apart_count > 0 {
        let operand = 2 * share_bytes(circuit.operand_shape(0));
        group.repeated_bytes += RepeatedOperand::instruction_bytes(operand, lanes);
    }
    (number, group.lanes - lanes)
}

/// A group that runs.
struct RunningGroup {
    /// The round that it began with, and its number among those.
    id: (u64, usize),
    group: CircuitGroup,
    rows: Zeroizing<Vec<Line>>,
    repeated: RepeatedOperand,
    /// Where its ANDs lie in what is sent.
    sent_at: usize,
}

impl RunningGroup {
    fn new(id: (u64, usize), group: CircuitGroup, rows: Zeroizing<Vec<Line>>) -> RunningGroup {
        RunningGroup { id, group, rows, repeated: RepeatedOperand::default(), sent_at: 0 }
    }

    /// Loads the operands of instructions, chunk by chunk, so that rows are written while they are in a cache.
    fn load(&mut self, starting: &[StartingInstruction], operands: &[u8]) {
        let mut first_slot = 0;
        let mut at: Vec<usize> = starting.iter().map(|starting| starting.operands_at).collect();
        for k in 0..starting[0].circuit.operand_count() {
            let StartingInstruction { circuit, place, .. } = &starting[0];
            let shape = circuit.operand_shape(k);
            let operand_lanes = shape.lanes as usize;
            let parts = starting.iter().zip(&mut at).map(|(starting, at)| {
                let size = 2 * share_bytes(starting.circuit.operand_shape(k));
                *at += size;
                (starting, &operands[*at - size..*at])
            });
            let parts: Vec<(&StartingInstruction, &[u8])> = parts.collect();
            if is_repeated(circuit, k) {
                for (StartingInstruction { place, .. }, bytes) in parts {
                    self.repeated.push(bytes, operand_lanes, (place.first, place.lanes));
                }
                continue;
            }
            let is_whole = operand_lanes == place.lanes;
            // Each bit of an operand that is not whole is a row of its own, the same in all lanes.
            let bits = if is_whole { 1 } else { operand_lanes };
            for component in 0..2 {
                let mut pieces = Vec::new();
                for (StartingInstruction { circuit, place, .. }, bytes) in &parts {
                    let rows = &bytes[component * bytes.len() / 2..][..bytes.len() / 2];
                    let row_bytes = (circuit.operand_shape(k).lanes as usize).div_ceil(8);
                    self.cut(&mut pieces, *place, component, (rows, row_bytes));
                }
                let words = words_of(&mut self.rows);
                for pieces in pieces.chunk_by(|one, next| one.chunk == next.chunk) {
                    for slot in 0..usize::from(shape.width) * bits {
                        let (row, bit) = (slot / bits, slot % bits);
                        for piece in pieces {
                            let row = &piece.rows[row * piece.row_bytes..][..piece.row_bytes];
                            let value = match is_whole {
                                true => bits_of(row, piece.from),
                                false => {
                                    SecretBit::lowest((row[bit / 8] >> (bit % 8)).into()).mask()
                                }
                            };
                            let at = piece.at + (first_slot + slot) * piece.step;
                            words[at] |= (value & last_mask(piece.count)) << piece.shift;
                        }
                    }
                }
            }
            first_slot += usize::from(shape.width) * bits;
        }
    }

    /// Cuts an instruction's rows of an operand where words of the group end.
    fn cut<'a>(
        &self,
        pieces: &mut Vec<Piece<'a>>,
        place: GroupSlot,
        component: usize,
        (rows, row_bytes): (&'a [u8], usize),
    ) {
        let mut from = 0;
        while from < place.lanes {
            let (word, shift) = ((place.first + from) / 64, (place.first + from) % 64);
            let count = (64 - shift).min(place.lanes - from);
            let at = self.group.place((0, component), word);
            let step = self.group.place((1, component), word) - at;
            let chunk = word / CHUNK_WORDS;
            pieces.push(Piece { rows, row_bytes, from, count, chunk, at, step, shift });
            from += count;
        }
    }

    /// Writes results of an instruction.
    fn store(&self, circuit: &Instruction, place: GroupSlot, results: &mut [&mut [u8]]) {
        let (rows, mut outputs) =
            (u64::elements(self.rows.as_bytes()), &self.group.template.outputs[..]);
        for (k, bytes) in results.iter_mut().enumerate() {
            let shape = circuit.result_shape(k);
            let (size, row_bytes) = (share_bytes(shape), (shape.lanes as usize).div_ceil(8));
            // Each bit of a result that is not whole is a row of its own.
            let is_whole = shape.lanes as usize == place.lanes;
            let slots_of_row = if is_whole { 1 } else { shape.lanes as usize };
            let slots;
            (slots, outputs) = outputs.split_at(usize::from(shape.width) * slots_of_row);
            bytes.fill(0);
            for (component, bytes) in bytes.chunks_exact_mut(size).enumerate() {
                let mut pieces = Vec::new();
                self.cut(&mut pieces, place, component, (&[], 0));
                let targets =
                    bytes.chunks_exact_mut(row_bytes).zip(slots.chunks_exact(slots_of_row));
                for (row, slots) in targets {
                    for ((bit, &slot), piece) in slots
                        .iter()
                        .enumerate()
                        .flat_map(|slot| pieces.iter().map(move |piece| (slot, piece)))
                    {
                        let lanes = rows[piece.at + slot as usize * piece.step] >> piece.shift;
                        add_bits(row, piece.from + bit, lanes & last_mask(piece.count));
                    }
                }
            }
        }
    }

    /// Takes what the ANDs of the last level gave, runs the gates of the current one that need nobody, and
    /// writes to `z` what its ANDs send; `mask` draws the masks, chunk by chunk, so that they are added while
    /// they are in a cache.
    fn run(
        &mut self,
        results: Option<[&[u64]; 2]>,
        mut z: &mut [u64],
        adds_constants: [bool; 2],
        mut mask: impl FnMut(&mut [u64]),
    ) {
        let group = &self.group;
        let (levels, slots) = (&group.template.levels, group.template.slot_count as usize);
        let taken = results.map_or(&[][..], |_| &levels[group.level - 1].ands[..]);
        let [mut own, mut other] = results.unwrap_or_default();
        let level = &levels[group.level];
        let flips = adds_constants.map(|adds| u64::from(adds).wrapping_neg());
        let (mut rows, simd) = (words_of(&mut self.rows), Simd::selected());
        for (number, lanes) in group.chunks().enumerate() {
            let repeated = self.repeated.chunk(number);
            let (own_bits, other_bits, z_bits, chunk_rows);
            (own_bits, own) = own.split_at(words(taken.len() * lanes));
            (other_bits, other) = other.split_at(own_bits.len());
            (z_bits, z) = z.split_at_mut(words(level.ands.len() * lanes));
            mask(z_bits);
            (chunk_rows, rows) = rows.split_at_mut(2 * slots * chunk_words(lanes));
            let results = [own_bits, other_bits];
            let (rows, z) = (chunk_rows, z_bits);
            simd.run(ChunkStep { lanes, taken, results, level, flips, rows, repeated, z });
        }
    }
}

/// Lanes of the rows of an operand that lie in one word of the group.
struct Piece<'a> {
    rows: &'a [u8],
    row_bytes: usize,
    /// The first of the lanes, and how many.
    from: usize,
    count: usize,
    chunk: usize,
    /// Where they go for slot 0, how far it is to the next slot, and the place in the word.
    at: usize,
    step: usize,
    shift: usize,
}

/// An instruction whose circuit begins with a round.
struct StartingInstruction {
    circuit: Instruction,
    place: GroupSlot,
    operands_at: usize,
}

/// Where an instruction runs.
#[derive(Clone, Copy)]
pub(super) struct GroupSlot {
    group: (u64, usize),
    first: usize,
    lanes: usize,
}

/// All circuits in flight.
#[derive(Default)]
pub(super) struct Circuits {
    /// Instructions that begin with the coming round, and their operands.
    coming: Vec<CircuitGroup>,
    starting: Vec<StartingInstruction>,
    operands: Zeroizing<Vec<u8>>,
    running: Vec<RunningGroup>,
    /// Groups that were done in the last round.
    finished: Vec<RunningGroup>,
    /// Rows of groups whose results were written, for the next ones.
    spare: Vec<Zeroizing<Vec<Line>>>,
    rounds: u64,
    and_gates: u64,
}

impl Circuits {
    /// Issues `circuit`, an instruction with this template and so many lanes of it, which begins with the coming
    /// round; returns where it runs. `operands` are of each operand both components as packed rows.
    pub(super) fn push(
        &mut self,
        circuit: &Instruction,
        (template, lanes): (Arc<CircuitTemplate>, usize),
        operands: &[&[u8]],
    ) -> GroupSlot {
        let (group, first) = join_group(&mut self.coming, circuit, (template, lanes));
        let place = GroupSlot { group: (self.rounds, group), first, lanes };
        let operands_at = self.operands.len();
        operands.iter().for_each(|operand| self.operands.extend_from_slice(operand));
        self.starting.push(StartingInstruction { circuit: *circuit, place, operands_at });
        place
    }

    /// ANDs of one lane so far.
    pub(super) fn and_gates(&self) -> u64 {
        self.and_gates
    }

    /// Begins what was issued before the coming round.
    pub(super) fn start(&mut self, z: &mut MaskedProducts, keys: &mut Keys, adds: [bool; 2]) {
        self.spare.extend(self.finished.drain(..).map(|done| done.rows));
        let first = self.running.len();
        for (k, group) in self.coming.drain(..).enumerate() {
            let mut rows = self.spare.pop().unwrap_or_default();
            rows.clear();
            rows.resize(group.lines(), Line::default());
            self.running.push(RunningGroup::new((self.rounds, k), group, rows));
        }
        self.spare.clear();
        self.starting.sort_by_key(|starting| starting.place.group.1);
        for starting in self.starting.chunk_by(|one, next| one.place.group == next.place.group) {
            self.running[first + starting[0].place.group.1].load(starting, &self.operands);
        }
        self.starting.clear();
        self.operands = Zeroizing::default();
        for running in &mut self.running[first..] {
            running.sent_at = z.push(running.group.sent_bytes(), size_of::<u64>());
            let z = u64::elements_mut(z.bytes_mut(running.sent_at, running.group.sent_bytes()));
            running.run(None, z, adds, |z| keys.mask_bits(z));
        }
    }

    /// Takes what the ANDs of the round gave, and goes on to what the next one sends.
    pub(super) fn advance(
        &mut self,
        messages: &mut RoundMessages,
        keys: &mut Keys,
        adds_constants: [bool; 2],
    ) {
        let RoundMessages { coming, received, following: z, .. } = messages;
        let mut still = Vec::with_capacity(self.running.len());
        for mut running in self.running.drain(..) {
            let group = &mut running.group;
            let (at, bytes) = (running.sent_at, group.sent_bytes());
            self.and_gates += (group.ands().len() * group.lanes) as u64;
            let goes_on = group.goes_on();
            running.sent_at = z.push(group.sent_bytes(), size_of::<u64>());
            let z = u64::elements_mut(z.bytes_mut(running.sent_at, group.sent_bytes()));
            let results = [&*coming, &*received].map(|all| u64::elements(all.bytes(at, bytes)));
            running.run(Some(results), z, adds_constants, |z| keys.mask_bits(z));
            if goes_on { still.push(running) } else { self.finished.push(running) }
        }
        self.running = still;
        self.rounds += 1;
    }

    /// Writes the results of an instruction that the last round finished.
    pub(super) fn write(&self, place: GroupSlot, circuit: &Instruction, results: &mut [&mut [u8]]) {
        let done = self.finished.iter().find(|done| done.id == place.group);
        let done = done.expect("the planner finishes what is done before the next round");
        done.store(circuit, place, results);
    }

    /// Whether nothing is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.coming.is_empty()
    }
}

/// Bytes of all operands of an instruction.
pub(super) fn operand_bytes(circuit: &Instruction) -> usize {
    (0..circuit.operand_count()).map(|k| 2 * share_bytes(circuit.operand_shape(k))).sum()
}

/// Computes an instruction whose circuit has no ANDs, at once.
pub(super) fn run_whole(
    circuit: &Instruction,
    (template, lanes): (Arc<CircuitTemplate>, usize),
    operands: &[u8],
    results: &mut [&mut [u8]],
    adds_constants: [bool; 2],
) {
    assert_eq!(template.depth(), 0, "an instruction with rounds is issued and finished");
    let mut groups = Vec::new();
    join_group(&mut groups, circuit, (template, lanes));
    let group = groups.pop().expect("it was just added");
    let rows = Zeroizing::new(vec![Line::default(); group.lines()]);
    let mut running = RunningGroup::new((0, 0), group, rows);
    let place = GroupSlot { group: (0, 0), first: 0, lanes };
    running.load(&[StartingInstruction { circuit: *circuit, place, operands_at: 0 }], operands);
    running.run(None, &mut [], adds_constants, |_| {});
    running.store(circuit, place, results);
}
