//! [`Evaluation`]: garbled values in the online phase, without the other parties.
//!
//! A value of `w` wires is one plane for each party, one after the other, each with `w` active keys
//! of that party. The select bit of a key is the wire's public value; only the own plane has this
//! party's share of the mask bit there instead, so that the own share and the public value are at
//! hand wherever the value is. Both are linear, so linear operations are those of the planes.
//!
//! A party's own active key of a result follows from its zero-key and the public value.
//!
//! Cost for each AND: `2 n (n - 1)` hashes of `2 n` keys for `n` parties, `2 n^2` AES calls.

use phineus_bytecode::{Instruction, Lane, Shape};
use phineus_circuits::record::{CircuitTemplate, Level};
use phineus_crypto::{Block, CrHash, JointGates};
use zeroize::Zeroizing;

use super::fresh::FreshWires;
use super::hash::{batch_hash, tweaks};
use super::limits::GATES_PER_CHUNK;
use super::masked;
use super::rows::{LevelGates, TemplateRows, grow, linear};
use super::tables::{GarbledTables, TableBatch};
use crate::ProtocolError;

/// One party's evaluation of garbled values.
pub(crate) struct Evaluation {
    me: usize,
    parties: usize,
    fresh: FreshWires,
    offset: Block,
    rows: TemplateRows,
    scratch: Zeroizing<Vec<Block>>,
    gates: TableEvaluator,
}

/// Evaluates ANDs with the tables as they come.
struct TableEvaluator {
    tables: GarbledTables,
    batch: TableBatch,
    /// Gates of the batch that were evaluated, and bytes of its masks that were used.
    position: usize,
    decoded: usize,
    /// Gates so far, of all batches.
    evaluated: u64,
    /// The hashes of all parties for this batch.
    hashes: Vec<CrHash>,
    me: usize,
    /// A party whose keys have the public values in their select bits.
    other: usize,
    parties: usize,
    chunk: ChunkBuffers,
    linear: JointGates,
}

/// Buffers for evaluating a chunk of gates: for each gate a block, for some of them one for each
/// party.
struct ChunkBuffers {
    /// The active keys, with the public values in their select bits, party after party.
    a: Zeroizing<Vec<Block>>,
    b: Zeroizing<Vec<Block>>,
    /// One party's keys, halfway to their hashes: those of `a`, then those of `b`.
    permuted: Zeroizing<Vec<Block>>,
    /// Sums of hashes, then the active keys of the results, party after party.
    sums: Zeroizing<Vec<Block>>,
}

impl ChunkBuffers {
    fn new(parties: usize) -> ChunkBuffers {
        let blocks = |count: usize| Zeroizing::new(vec![Block::ZERO; count * GATES_PER_CHUNK]);
        ChunkBuffers {
            a: blocks(parties),
            b: blocks(parties),
            permuted: blocks(2),
            sums: blocks(parties),
        }
    }
}

impl Evaluation {
    pub(crate) fn new(tables: GarbledTables, me: usize) -> Evaluation {
        let parties = tables.parties();
        Evaluation {
            me,
            parties,
            fresh: FreshWires::new(*tables.common.fresh),
            offset: tables.common.offset.block(),
            rows: TemplateRows::new(parties, (me == 0).then_some(0)),
            scratch: Zeroizing::default(),
            gates: TableEvaluator {
                tables,
                batch: TableBatch::default(),
                position: 0,
                decoded: 0,
                evaluated: 0,
                hashes: Vec::new(),
                me,
                other: usize::from(me == 0),
                parties,
                chunk: ChunkBuffers::new(parties),
                linear: JointGates::selected(),
            },
        }
    }

    /// The offset between this party's two keys of a wire.
    pub(crate) fn offset(&self) -> Block {
        self.offset
    }

    /// This party's zero-keys of new wires, with its shares of the masks.
    pub(crate) fn fresh(&mut self, wires: &mut [Block]) {
        self.fresh.fill(wires);
    }

    /// Computes a linear operation.
    pub(crate) fn linear(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) {
        let flipped = (self.me == 0).then_some(0);
        linear(instruction, self.parties, flipped, results, operands, &mut self.scratch);
    }

    /// Computes an operation by its circuit.
    pub(crate) fn circuit(
        &mut self,
        instruction: &Instruction,
        (template, lanes): (&CircuitTemplate, usize),
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        for part in TemplateRows::parts(template, self.parties, lanes) {
            self.rows.reset_part(template, part, lanes);
            self.rows.load_all(instruction, operands);
            self.rows.run(template, &mut self.gates)?;
            let mut outputs = template.outputs.iter();
            results.iter_mut().for_each(|result| self.rows.store(&mut outputs, result));
        }
        Ok(())
    }

    /// Adds values of all parties: `planes` has for each party a plane of all their wires.
    pub(crate) fn sum(
        &mut self,
        template: &CircuitTemplate,
        shape: Shape,
        planes: &[Block],
        result: &mut [Block],
    ) -> Result<(), ProtocolError> {
        let (lanes, wires) = (shape.lanes as usize, shape.wires() as usize);
        self.rows.reset(template, lanes);
        for (plane, values) in planes.chunks_exact(self.parties * wires).enumerate() {
            for (owner, value) in values.chunks_exact(wires).enumerate() {
                for (bit, wires) in value.chunks_exact(lanes).enumerate() {
                    let slot = bit * self.parties + owner;
                    self.rows.plane_mut(slot, plane).copy_from_slice(wires);
                }
            }
        }
        self.rows.run(template, &mut self.gates)?;
        self.rows.store(&mut template.outputs.iter(), result);
        Ok(())
    }

    /// This party's additive shares of a value, not reduced: of the first party, the sum of the
    /// value and all masks; of every other, its mask, negative.
    pub(crate) fn masked_sum(
        &mut self,
        template: &CircuitTemplate,
        shape: Shape,
        value: &[Block],
        shares: &mut [u64],
    ) -> Result<(), ProtocolError> {
        if self.me != 0 {
            self.fresh.fill_masks(shares);
            shares.iter_mut().for_each(|share| *share = share.wrapping_neg());
            return self.gates.skip(template.and_count() * shares.len());
        }
        self.rows.reset(template, shares.len());
        masked::load(&mut self.rows, (self.me, self.parties), value, &[]);
        self.rows.run(template, &mut self.gates)?;
        let wires = shape.wires() as usize;
        grow(&mut self.scratch, value.len());
        let sums = &mut self.scratch[..value.len()];
        self.rows.store(&mut template.outputs.iter(), sums);
        let public = &sums[self.gates.other * wires..][..wires];
        masked::decode(public, self.gates.decoding(wires.div_ceil(8))?, shares);
        Ok(())
    }

    /// This party's XOR shares of `wires`, packed without gaps into `bits`: its share of the mask,
    /// and the first party's besides the public value.
    pub(crate) fn shares(&self, wires: &[Block], bits: &mut [u64]) {
        let length = wires.len() / self.parties;
        let plane = |party: usize| &wires[party * length..][..length];
        super::links::pack(plane(self.me), bits);
        if self.me == 0 {
            for (word, keys) in bits.iter_mut().zip(plane(self.gates.other).chunks(64)) {
                for (k, key) in keys.iter().enumerate() {
                    *word ^= key.select_u64() << k;
                }
            }
        }
    }

    /// Gates evaluated so far.
    pub(crate) fn gates(&self) -> u64 {
        self.gates.evaluated
    }

    /// Tells the garbling of a program of several blocks what has been opened.
    pub(crate) fn tell(&self, opened: Lane) {
        self.gates.tables.tell(opened);
    }

    /// Ends a block of a program of several.
    ///
    /// # Panics
    /// If gates of it are left over.
    pub(crate) fn end_block(&self) {
        assert!(self.gates.is_used_up(), "all that was garbled for a block is evaluated");
    }

    /// Ends the evaluation.
    ///
    /// # Errors
    /// Why the garbling failed behind the last table, if it did.
    ///
    /// # Panics
    /// If gates are left over.
    pub(crate) fn finish(&mut self) -> Result<(), ProtocolError> {
        let is_used_up = self.gates.is_used_up() && self.gates.tables.is_used_up()?;
        assert!(is_used_up, "all that was garbled is evaluated");
        Ok(())
    }
}

impl TableEvaluator {
    /// Whether all of the batch was used.
    fn is_used_up(&self) -> bool {
        self.position == self.batch.gates && self.decoded == self.batch.decoding.len()
    }

    /// Passes over the next `gates` gates, whose results this party does not need.
    fn skip(&mut self, mut gates: usize) -> Result<(), ProtocolError> {
        while gates > 0 {
            if self.position == self.batch.gates {
                self.advance()?;
            }
            let count = gates.min(self.batch.gates - self.position);
            self.position += count;
            self.evaluated += count as u64;
            gates -= count;
        }
        Ok(())
    }

    /// The next masks of sums, of the batch with the last gate; or, if sums without a gate follow
    /// a full batch, of the next one.
    fn decoding(&mut self, bytes: usize) -> Result<&[u8], ProtocolError> {
        while self.batch.decoding.len() < self.decoded + bytes {
            self.advance()?;
        }
        self.decoded += bytes;
        Ok(&self.batch.decoding[self.decoded - bytes..self.decoded])
    }

    /// Goes on to the next batch.
    fn advance(&mut self) -> Result<(), ProtocolError> {
        assert!(self.is_used_up(), "what was garbled to be decoded is decoded");
        let used = std::mem::take(&mut self.batch);
        self.batch = self.tables.next(used)?;
        (self.position, self.decoded) = (0, 0);
        let starts = &self.tables.common.starts;
        self.hashes.clear();
        let number = self.batch.number;
        self.hashes.extend(starts.iter().map(|&start| batch_hash(start, number)));
        Ok(())
    }

    /// Evaluates gates `range` of `level`, counted with their lanes, which are of one batch.
    fn chunk(
        &mut self,
        level: &Level,
        rows: &TemplateRows,
        range: std::ops::Range<usize>,
        products: &mut [Block],
    ) {
        let count = range.len();
        self.load(level, rows, &range);
        let ChunkBuffers { a, b, permuted, sums, .. } = &mut self.chunk;
        sums.fill(Block::ZERO);
        for (owner, hash) in self.hashes.iter().enumerate() {
            let first = owner * GATES_PER_CHUNK;
            let permuted = &mut permuted[..2 * count];
            let (permuted_a, permuted_b) = permuted.split_at_mut(count);
            permuted_a.copy_from_slice(&a[first..][..count]);
            permuted_b.copy_from_slice(&b[first..][..count]);
            hash.permute(permuted);
            let (permuted_a, permuted_b) = permuted.split_at(count);
            let sums = sums.chunks_exact_mut(GATES_PER_CHUNK).enumerate();
            for (party, sums) in sums.filter(|&(party, _)| party != self.me) {
                let tweaks = tweaks(self.position, party);
                hash.add_pairs(tweaks, [permuted_a, permuted_b], &mut sums[..count]);
            }
        }
        self.combine(count);
        self.store(range, rows.lanes, products);
    }

    /// The active keys of a chunk's operands, and their public values.
    fn load(&mut self, level: &Level, rows: &TemplateRows, range: &std::ops::Range<usize>) {
        let (lanes, other) = (rows.lanes, self.other);
        let mut next = range.start;
        while next < range.end {
            let (and, lane) = (level.ands[next / lanes], next % lanes);
            let gates = (lanes - lane).min(range.end - next);
            let at = next - range.start;
            let ChunkBuffers { a, b, .. } = &mut self.chunk;
            for (slot, keys) in [(and.a, a), (and.b, b)] {
                let row = rows.row(slot);
                let plane = |party: usize| &row[party * lanes + lane..][..gates];
                for (party, keys) in keys.chunks_exact_mut(GATES_PER_CHUNK).enumerate() {
                    self.linear.with_public(plane(party), plane(other), &mut keys[at..at + gates]);
                }
            }
            next += gates;
        }
    }

    /// The active keys of the results, from the sums of hashes.
    fn combine(&mut self, count: usize) {
        let ChunkBuffers { a, b, sums, .. } = &mut self.chunk;
        for party in (0..self.parties).filter(|&party| party != self.me) {
            let first = party * GATES_PER_CHUNK;
            let [a, b] = [&a, &b].map(|keys| &keys[first..][..count]);
            let rows = self.batch.rows_of(party, self.parties);
            let rows = rows.map(|row| &row[self.position..][..count]);
            self.linear.combine([a, b], rows, &mut sums[first..][..count]);
        }
        let planes = [self.me, self.other].map(|party| party * GATES_PER_CHUNK);
        let planes = planes.map(|first| first..first + count);
        let planes = sums.get_disjoint_mut(planes).expect("this party is not the other");
        let [own, public] = planes;
        let keys = &self.batch.keys[self.position..][..count];
        self.linear.active(keys, public, &self.tables.common.offset, own);
    }

    /// Writes the results of gates `range` to their rows.
    fn store(&self, range: std::ops::Range<usize>, lanes: usize, products: &mut [Block]) {
        let mut next = range.start;
        while next < range.end {
            let (and, lane) = (next / lanes, next % lanes);
            let gates = (lanes - lane).min(range.end - next);
            for (party, keys) in self.chunk.sums.chunks_exact(GATES_PER_CHUNK).enumerate() {
                let row = &mut products[(and * self.parties + party) * lanes + lane..][..gates];
                row.copy_from_slice(&keys[next - range.start..][..gates]);
            }
            next += gates;
        }
    }
}

impl LevelGates for TableEvaluator {
    type Error = ProtocolError;

    fn ands(
        &mut self,
        level: &Level,
        rows: &TemplateRows,
        products: &mut [Block],
    ) -> Result<(), ProtocolError> {
        let gates = level.ands.len() * rows.lanes;
        let mut next = 0;
        while next < gates {
            if self.position == self.batch.gates {
                self.advance()?;
            }
            let count = GATES_PER_CHUNK.min(gates - next).min(self.batch.gates - self.position);
            self.chunk(level, rows, next..next + count, products);
            self.position += count;
            self.evaluated += count as u64;
            next += count;
        }
        Ok(())
    }
}
