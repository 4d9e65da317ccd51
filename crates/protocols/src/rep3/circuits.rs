//! [`Circuits`]: recorded circuits on replicated XOR shares, level by level.
//!
//! All instructions with the same recorded circuit that begin in the same round form a *group*: their
//! lanes lie next to each other and run as one circuit. A group is cut into chunks of 512, 256, 128
//! and 64 lanes and a last one of the lanes that do not fill a word, so that a gate is a loop of fixed
//! length over words that lie together, without shifts. In a chunk each slot of the circuit has the words
//! of the party's first component, then those of its second.
//!
//! Cost: an AND of `n` lanes sends `n` bits; the bits of a group's level are rounded up to 8 bytes.
//! Memory: 16 bytes for 64 lanes of each slot.

use std::sync::Arc;

use phineus_bytecode::Instruction;
use phineus_bytecode::layout::share_bytes;
use phineus_circuits::record::{And, Level, Local, Template};
use phineus_crypto::SecretBit;
use phineus_engine::bits::is_repeated;
use zeroize::Zeroizing;

use super::keys::Keys;
use crate::shares::values::{Words, blank};
use crate::shares::words::{get, last_mask, put, words};

/// Words of the widest chunk: one register of 512 bits for each component.
const CHUNK_WORDS: usize = 8;

/// Words that the ANDs of a level send, of a group of `lanes`.
pub(super) fn level_words(template: &Template, level: usize, lanes: usize) -> usize {
    let ands = template.levels[level].ands.len();
    ands * (lanes / 64) + words(ands * (lanes % 64))
}

/// How the lanes of a group are cut into chunks.
#[derive(Clone, Copy)]
struct Cut {
    slots: usize,
    /// Words that are full of lanes.
    full: usize,
    /// Lanes of the last word, if it is not full.
    tail: usize,
}

impl Cut {
    fn lanes(self) -> usize {
        64 * self.full + self.tail
    }

    fn words(self) -> usize {
        self.full + usize::from(self.tail > 0)
    }

    /// First word and width in words of each chunk of full words.
    fn chunks(self) -> impl Iterator<Item = (usize, usize)> {
        let wide = self.full / CHUNK_WORDS;
        let narrow = [4, 2, 1].into_iter().filter(move |width| self.full & width != 0);
        let widths = std::iter::repeat_n(CHUNK_WORDS, wide).chain(narrow);
        widths.scan(0, |start, width| {
            *start += width;
            Some((*start - width, width))
        })
    }

    /// Where a word of the lanes lies: the chunk's start, its width, and the word in it.
    fn place(self, word: usize) -> (usize, usize, usize) {
        let wide = self.full / CHUNK_WORDS * CHUNK_WORDS;
        let (start, width) = if word < wide {
            (word / CHUNK_WORDS * CHUNK_WORDS, CHUNK_WORDS)
        } else {
            let mut chunks = self.chunks().skip(self.full / CHUNK_WORDS);
            chunks.find(|(start, width)| word < start + width).unwrap_or((self.full, 1))
        };
        (2 * self.slots * start, width, word - start)
    }
}

/// Instructions with one circuit that run side by side.
struct Group {
    id: u64,
    template: Arc<Template>,
    cut: Cut,
    rows: Words,
    level: usize,
}

impl Group {
    fn new(id: u64, template: Arc<Template>, lanes: usize) -> Group {
        let slots = template.slot_count as usize;
        let cut = Cut { slots, full: lanes / 64, tail: lanes % 64 };
        Group { id, template, cut, rows: blank(2 * slots * cut.words()), level: 0 }
    }

    fn level_words(&self) -> usize {
        level_words(&self.template, self.level, self.cut.lanes())
    }

    /// Loads the operands of an instruction, whose lanes begin at `first`.
    fn load(&mut self, circuit: &Instruction, (first, lanes): (usize, usize), operands: &[u8]) {
        let mut slot = 0;
        let mut rest = operands;
        for k in 0..circuit.operand_count() {
            let shape = circuit.operand_shape(k);
            let is_whole = shape.lanes as usize == lanes && !is_repeated(circuit, k);
            let row_bytes = (shape.lanes as usize).div_ceil(8);
            for component in 0..2 {
                let (rows, behind) = rest.split_at(share_bytes(shape));
                rest = behind;
                if is_whole {
                    self.load_rows((slot, component), (first, lanes), rows, row_bytes);
                    continue;
                }
                for (bit, row) in rows.chunks_exact(row_bytes).enumerate() {
                    for j in 0..shape.lanes as usize {
                        let value = SecretBit::lowest(u64::from(row[j / 8] >> (j % 8))).mask();
                        let slot = slot + bit * shape.lanes as usize + j;
                        self.fill((slot, component), (first, lanes), value);
                    }
                }
            }
            slot += if is_whole { usize::from(shape.width) } else { shape.wires() as usize };
        }
    }

    /// Loads packed rows to slots from `slot` on.
    fn load_rows(
        &mut self,
        (slot, component): (usize, usize),
        (first, lanes): (usize, usize),
        rows: &[u8],
        row_bytes: usize,
    ) {
        for word in first / 64..(first + lanes).div_ceil(64) {
            let (chunk, width, index) = self.cut.place(word);
            let targets = self.rows[chunk + (2 * slot + component) * width + index..].iter_mut();
            let targets = targets.step_by(2 * width).zip(rows.chunks_exact(row_bytes));
            let start = (64 * word).max(first);
            let (from, shift) = (start - first, start - 64 * word);
            let count = (64 - shift).min(first + lanes - start);
            if count == 64 && from % 8 == 0 {
                for (target, row) in targets {
                    let bytes = row[from / 8..].first_chunk().expect("64 lanes have 8 bytes");
                    *target |= u64::from_le_bytes(*bytes);
                }
            } else {
                targets.for_each(|(target, row)| *target |= read_bits(row, from, count) << shift);
            }
        }
    }

    /// Sets `lanes` lanes of a slot from `first` on to the bit that `value` repeats.
    fn fill(
        &mut self,
        (slot, component): (usize, usize),
        (first, lanes): (usize, usize),
        value: u64,
    ) {
        for word in first / 64..(first + lanes).div_ceil(64) {
            let (chunk, width, index) = self.cut.place(word);
            let start = (64 * word).max(first);
            let count = (64 * word + 64).min(first + lanes) - start;
            let mask = last_mask(count) << (start - 64 * word);
            self.rows[chunk + (2 * slot + component) * width + index] |= value & mask;
        }
    }

    /// Takes the results of the last level, runs the gates of the current one that need nobody, and
    /// writes what its ANDs send to `z`.
    fn run(
        &mut self,
        results: Option<(&[u64], &[u64])>,
        z: &mut [u64],
        keys: &mut Keys,
        adds_constants: [bool; 2],
    ) {
        let levels = &self.template.levels;
        let taken = results.map_or(&[][..], |_| &levels[self.level - 1].ands[..]);
        let (own, other) = results.unwrap_or_default();
        let level = &levels[self.level];
        let (mut taken_at, mut z_at) = (0, 0);
        for (start, width) in self.cut.chunks() {
            let rows = 2 * self.cut.slots * start..2 * self.cut.slots * (start + width);
            let taken_words = taken_at..taken_at + taken.len() * width;
            let z_words = z_at..z_at + level.ands.len() * width;
            (taken_at, z_at) = (taken_words.end, z_words.end);
            let z = &mut z[z_words];
            let stream = keys.bit_masks(z);
            let results = (&own[taken_words.clone()], &other[taken_words]);
            let chunk = Chunk { taken, results, level, adds_constants, z, stream };
            let rows = &mut self.rows[rows];
            match width {
                8 => chunk.run::<16, 8>(rows),
                4 => chunk.run::<8, 4>(rows),
                2 => chunk.run::<4, 2>(rows),
                _ => chunk.run::<2, 1>(rows),
            }
        }
        if self.cut.tail > 0 {
            let results = (&own[taken_at..], &other[taken_at..]);
            self.run_tail(taken.len(), results, &mut z[z_at..], keys, adds_constants);
        }
    }

    /// The same for the lanes that fill no word: their bits lie next to each other in messages.
    fn run_tail(
        &mut self,
        taken_count: usize,
        (own, other): (&[u64], &[u64]),
        z: &mut [u64],
        keys: &mut Keys,
        adds_constants: [bool; 2],
    ) {
        let (lanes, levels) = (self.cut.tail, &self.template.levels);
        let unpack = |bits: &[u64]| {
            let mut words = blank(taken_count);
            for (k, word) in words.iter_mut().enumerate() {
                get(bits, k * lanes, std::slice::from_mut(word), lanes);
            }
            words
        };
        let results = (&unpack(own)[..], &unpack(other)[..]);
        let taken = if taken_count > 0 { &levels[self.level - 1].ands[..] } else { &[] };
        let level = &levels[self.level];
        let count = level.ands.len();
        let (mut products, zeros) = (blank(count), blank(count));
        let (products_out, stream) = (&mut products[..], &zeros[..]);
        let chunk = Chunk { taken, results, level, adds_constants, z: products_out, stream };
        chunk.run::<2, 1>(&mut self.rows[2 * self.cut.slots * self.cut.full..]);
        let mut packed = blank(z.len());
        for (k, word) in products.iter().enumerate() {
            put(&mut packed, k * lanes, &[word & last_mask(lanes)], lanes);
        }
        let stream = keys.bit_masks(z);
        z.iter_mut().zip(&*packed).zip(stream).for_each(|((z, bits), mask)| *z ^= bits ^ mask);
    }

    /// Writes results of an instruction, whose lanes begin at `first`.
    fn store(
        &self,
        circuit: &Instruction,
        (first, lanes): (usize, usize),
        results: &mut [&mut [u8]],
    ) {
        let mut outputs = &self.template.outputs[..];
        for (k, bytes) in results.iter_mut().enumerate() {
            let shape = circuit.result_shape(k);
            let (size, row_bytes) = (share_bytes(shape), (shape.lanes as usize).div_ceil(8));
            let is_whole = shape.lanes as usize == lanes;
            let slot_count = if is_whole { u32::from(shape.width) } else { shape.wires() };
            let (slots, behind) = outputs.split_at(slot_count as usize);
            outputs = behind;
            bytes[..2 * size].fill(0);
            for (component, bytes) in bytes[..2 * size].chunks_exact_mut(size).enumerate() {
                if is_whole {
                    self.store_rows((slots, component), (first, lanes), bytes, row_bytes);
                    continue;
                }
                let slots = slots.chunks_exact(shape.lanes as usize);
                for (row, slots) in bytes.chunks_exact_mut(row_bytes).zip(slots) {
                    for (j, &slot) in slots.iter().enumerate() {
                        let (chunk, width, index) = self.cut.place(first / 64);
                        let at = chunk + (2 * slot as usize + component) * width + index;
                        let bit = (self.rows[at] >> (first % 64)) as u8 & 1;
                        row[j / 8] |= bit << (j % 8);
                    }
                }
            }
        }
    }

    fn store_rows(
        &self,
        (slots, component): (&[u32], usize),
        (first, lanes): (usize, usize),
        rows: &mut [u8],
        row_bytes: usize,
    ) {
        for word in first / 64..(first + lanes).div_ceil(64) {
            let (chunk, width, index) = self.cut.place(word);
            let start = (64 * word).max(first);
            let (to, shift) = (start - first, start - 64 * word);
            let count = (64 - shift).min(first + lanes - start);
            for (row, &slot) in rows.chunks_exact_mut(row_bytes).zip(slots) {
                let word = self.rows[chunk + (2 * slot as usize + component) * width + index];
                if count == 64 && to % 8 == 0 {
                    row[to / 8..to / 8 + 8].copy_from_slice(&word.to_le_bytes());
                } else {
                    write_bits(row, to, word >> shift & last_mask(count));
                }
            }
        }
    }
}

/// Up to 64 bits of a row from bit `start` on.
fn read_bits(row: &[u8], start: usize, count: usize) -> u64 {
    let mut bytes = [0; 16];
    let from = &row[start / 8..];
    let length = from.len().min(9);
    bytes[..length].copy_from_slice(&from[..length]);
    (u128::from_le_bytes(bytes) >> (start % 8)) as u64 & last_mask(count)
}

/// Writes the ones of `bits` from bit `start` on.
fn write_bits(row: &mut [u8], start: usize, bits: u64) {
    let bytes = (u128::from(bits) << (start % 8)).to_le_bytes();
    for (target, byte) in row[start / 8..].iter_mut().zip(bytes).take(9) {
        *target |= byte;
    }
}

/// What one chunk of a group does between two rounds.
struct Chunk<'a> {
    /// The ANDs of the last level, and what they gave: the own component and the other one.
    taken: &'a [And],
    results: (&'a [u64], &'a [u64]),
    level: &'a Level,
    adds_constants: [bool; 2],
    /// Masks from the own generator, to which the products are added.
    z: &'a mut [u64],
    /// Masks from the next party's generator.
    stream: &'a [u64],
}

impl Chunk<'_> {
    /// `SLOT` words of a slot, of which `WORDS` are the first component's.
    fn run<const SLOT: usize, const WORDS: usize>(self, rows: &mut [u64]) {
        const { assert!(SLOT == 2 * WORDS) };
        let (rows, _) = rows.as_chunks_mut::<SLOT>();
        let own = self.results.0.as_chunks::<WORDS>().0;
        let other = self.results.1.as_chunks::<WORDS>().0;
        for (and, (own, other)) in self.taken.iter().zip(own.iter().zip(other)) {
            let (first, second) = rows[and.out as usize].split_at_mut(WORDS);
            first.copy_from_slice(own);
            second.copy_from_slice(other);
        }
        for &gate in &self.level.local {
            match gate {
                Local::Xor { out, a, b } => {
                    let (a, b) = (&rows[a as usize], &rows[b as usize]);
                    rows[out as usize] = std::array::from_fn(|k| a[k] ^ b[k]);
                }
                Local::Not { out, a } => {
                    let flip = self.adds_constants.map(|adds| u64::from(adds).wrapping_neg());
                    let a = &rows[a as usize];
                    rows[out as usize] = std::array::from_fn(|k| a[k] ^ flip[k / WORDS]);
                }
                Local::Constant { out, value } => {
                    let word =
                        self.adds_constants.map(|adds| u64::from(adds && value).wrapping_neg());
                    rows[out as usize] = std::array::from_fn(|k| word[k / WORDS]);
                }
            }
        }
        let z = self.z.as_chunks_mut::<WORDS>().0;
        let stream = self.stream.as_chunks::<WORDS>().0;
        for (and, (z, mask)) in self.level.ands.iter().zip(z.iter_mut().zip(stream)) {
            let (x, y) = (&rows[and.a as usize], &rows[and.b as usize]);
            for k in 0..WORDS {
                let (x0, x1, y0, y1) = (x[k], x[WORDS + k], y[k], y[WORDS + k]);
                z[k] ^= mask[k] ^ (x0 & (y0 ^ y1)) ^ (x1 & y0);
            }
        }
    }
}

/// An instruction whose circuit begins with a round.
struct Starting {
    circuit: Instruction,
    /// Its group among those that begin with the same round.
    group: usize,
    first: usize,
    lanes: usize,
    operands_at: usize,
    operand_bytes: usize,
}

/// Circuits that begin with the same round.
#[derive(Default)]
struct Start {
    /// Id, circuit and lanes so far of each group.
    groups: Vec<(u64, Arc<Template>, usize)>,
    instructions: Vec<Starting>,
    operands: Zeroizing<Vec<u8>>,
}

/// Which round a circuit begins with.
#[derive(Clone, Copy)]
pub(super) enum Begin {
    /// The coming one.
    Coming,
    /// The one after it.
    Following,
}

/// Where an instruction runs.
#[derive(Clone, Copy)]
pub(super) struct Place {
    group: u64,
    first: usize,
    lanes: usize,
}

/// All circuits in flight.
#[derive(Default)]
pub(super) struct Circuits {
    coming: Start,
    following: Start,
    groups: Vec<Group>,
    /// Groups that were done in the last round.
    finished: Vec<Group>,
    /// Groups so far.
    group_count: u64,
    /// ANDs of one lane whose results have come, so far.
    and_gates: u64,
}

impl Circuits {
    /// Issues the circuit of `circuit` on `lanes` lanes; returns where it runs, and where its operands
    /// go: of each operand both components as packed rows.
    pub(super) fn push(
        &mut self,
        begin: Begin,
        circuit: &Instruction,
        (template, lanes): (Arc<Template>, usize),
    ) -> (Place, &mut [u8]) {
        let start = match begin {
            Begin::Coming => &mut self.coming,
            Begin::Following => &mut self.following,
        };
        let known = start.groups.iter().position(|(_, known, _)| Arc::ptr_eq(known, &template));
        let group = known.unwrap_or(start.groups.len());
        if known.is_none() {
            start.groups.push((self.group_count, template, 0));
            self.group_count += 1;
        }
        let (id, _, group_lanes) = &mut start.groups[group];
        let place = Place { group: *id, first: *group_lanes, lanes };
        *group_lanes += lanes;
        let sizes = (0..circuit.operand_count()).map(|k| 2 * share_bytes(circuit.operand_shape(k)));
        let (operands_at, operand_bytes) = (start.operands.len(), sizes.sum());
        start.operands.resize(operands_at + operand_bytes, 0);
        start.instructions.push(Starting {
            circuit: *circuit,
            group,
            first: place.first,
            lanes,
            operands_at,
            operand_bytes,
        });
        (place, &mut start.operands[operands_at..])
    }

    /// ANDs of one lane so far.
    pub(super) fn and_gates(&self) -> u64 {
        self.and_gates
    }

    /// Where the operands of the circuit that was issued last for the following round lie.
    pub(super) fn last_following(&self) -> usize {
        self.following.instructions.last().expect("one was issued").operands_at
    }

    /// The operands of circuits that begin with the coming round, from `at` on.
    pub(super) fn coming_operands(&mut self, at: usize) -> &mut [u8] {
        &mut self.coming.operands[at..]
    }

    /// Begins what was issued before the coming round; appends what it sends to `z`.
    pub(super) fn start(&mut self, z: &mut Vec<u64>, keys: &mut Keys, adds_constants: [bool; 2]) {
        let first = self.groups.len();
        let new = self.coming.groups.drain(..);
        self.groups.extend(new.map(|(id, template, lanes)| Group::new(id, template, lanes)));
        for starting in self.coming.instructions.drain(..) {
            let operands = &self.coming.operands[starting.operands_at..][..starting.operand_bytes];
            let lanes = (starting.first, starting.lanes);
            self.groups[first + starting.group].load(&starting.circuit, lanes, operands);
        }
        self.coming.operands.clear();
        for group in &mut self.groups[first..] {
            let at = z.len();
            z.resize(at + group.level_words(), 0);
            group.run(None, &mut z[at..], keys, adds_constants);
        }
    }

    /// Takes what the ANDs of the round gave, and goes on to what the next one sends, in `z`.
    pub(super) fn advance(
        &mut self,
        (mut own, mut other): (&[u64], &[u64]),
        z: &mut Vec<u64>,
        keys: &mut Keys,
        adds_constants: [bool; 2],
    ) {
        let next = |group: &Group| level_words(&group.template, group.level + 1, group.cut.lanes());
        z.clear();
        z.reserve_exact(self.groups.iter().map(next).sum());
        self.finished.clear();
        let (mut running, mut done) = (Vec::with_capacity(self.groups.len()), Vec::new());
        for mut group in self.groups.drain(..) {
            let taken;
            (taken, own) = own.split_at(group.level_words());
            let received;
            (received, other) = other.split_at(taken.len());
            let ands = group.template.levels[group.level].ands.len();
            self.and_gates += (ands * group.cut.lanes()) as u64;
            group.level += 1;
            let at = z.len();
            z.resize(at + group.level_words(), 0);
            group.run(Some((taken, received)), &mut z[at..], keys, adds_constants);
            if group.template.levels[group.level].ands.is_empty() {
                done.push(group);
            } else {
                running.push(group);
            }
        }
        (self.groups, self.finished) = (running, done);
        std::mem::swap(&mut self.coming, &mut self.following);
    }

    /// Writes the results of an instruction that the last round finished.
    pub(super) fn write(&self, place: Place, circuit: &Instruction, results: &mut [&mut [u8]]) {
        let group = self.finished.iter().find(|group| group.id == place.group);
        let group = group.expect("the planner finishes what is done before the next round");
        group.store(circuit, (place.first, place.lanes), results);
    }

    /// Whether nothing is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.coming.groups.is_empty() && self.following.groups.is_empty()
    }
}

/// Computes an instruction whose circuit has no ANDs, at once.
pub(super) fn run_whole(
    circuit: &Instruction,
    (template, lanes): (Arc<Template>, usize),
    operands: &[u8],
    results: &mut [&mut [u8]],
    (keys, adds_constants): (&mut Keys, [bool; 2]),
) {
    assert_eq!(template.depth(), 0, "an instruction with rounds is issued and finished");
    let mut group = Group::new(0, template, lanes);
    group.load(circuit, (0, lanes), operands);
    group.run(None, &mut [], keys, adds_constants);
    group.store(circuit, (0, lanes), results);
}
