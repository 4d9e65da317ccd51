//! [`Evaluation`]: garbled values in the online phase, without the other parties.
//!
//! A value of `w` wires is one plane for each party, one after the other, each with `w` active keys
//! of that party. The select bit of a key is the wire's public value; only the own plane has this
//! party's share of the mask bit there instead, so that the own share and the public value are at
//! hand wherever the value is. Both are linear, so linear operations are those of the planes.
//!
//! Cost for each AND: `2 n^2` hashes for `n` parties.

use phineus_bytecode::{Instruction, Shape};
use phineus_circuits::record::{Level, Template};
use phineus_crypto::{Block, CrHash};
use zeroize::Zeroizing;

use super::fresh::FreshWires;
use super::hash::{batch_hash, first_tweak, with_select_bit};
use super::limits::{GATES_PER_CHUNK, ROWS};
use super::masked;
use super::rows::{Gates, Rows, grow, linear};
use super::tables::{TableBatch, Tables};
use crate::ProtocolError;

/// One party's evaluation of garbled values.
pub(crate) struct Evaluation {
    me: usize,
    parties: usize,
    fresh: FreshWires,
    offset: Block,
    rows: Rows,
    scratch: Zeroizing<Vec<Block>>,
    gates: Evaluator,
}

/// Evaluates ANDs with the tables as they come.
struct Evaluator {
    tables: Tables,
    batch: TableBatch,
    /// Gates of the batch that were evaluated, and bytes of its masks that were used.
    position: usize,
    decoded: usize,
    /// Gates so far, of all batches.
    evaluated: u64,
    /// The number of the next batch.
    next_number: u64,
    /// The hashes of all parties for this batch.
    hashes: Vec<CrHash>,
    me: usize,
    /// A party whose keys have the public values in their select bits.
    other: usize,
    parties: usize,
    hashed: Zeroizing<Vec<Block>>,
    sums: Zeroizing<Vec<Block>>,
}

impl Evaluation {
    pub(crate) fn new(tables: Tables, me: usize) -> Evaluation {
        let parties = tables.parties();
        let blocks = |count: usize| Zeroizing::new(vec![Block::ZERO; count]);
        Evaluation {
            me,
            parties,
            fresh: FreshWires::new(*tables.common.fresh),
            offset: tables.common.offset.block(),
            rows: Rows::new(parties, (me == 0).then_some(0)),
            scratch: Zeroizing::default(),
            gates: Evaluator {
                tables,
                batch: TableBatch::default(),
                position: 0,
                decoded: 0,
                evaluated: 0,
                next_number: 0,
                hashes: Vec::new(),
                me,
                other: usize::from(me == 0),
                parties,
                hashed: blocks(2 * parties * GATES_PER_CHUNK),
                sums: blocks(parties * GATES_PER_CHUNK),
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
        (template, lanes): (&Template, usize),
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        self.rows.reset(template, lanes);
        self.rows.load_all(instruction, operands);
        self.rows.run(template, &mut self.gates)?;
        let mut outputs = template.outputs.iter();
        results.iter_mut().for_each(|result| self.rows.store(&mut outputs, result));
        Ok(())
    }

    /// Adds values of all parties: `planes` has for each party a plane of all their wires.
    pub(crate) fn sum(
        &mut self,
        template: &Template,
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
        template: &Template,
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
        masked::decode(public, self.gates.decoding(wires.div_ceil(8)), shares);
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
                    *word ^= u64::from(key.select_bit()) << k;
                }
            }
        }
    }

    /// Gates evaluated so far.
    pub(crate) fn gates(&self) -> u64 {
        self.gates.evaluated
    }

    /// Ends the evaluation.
    ///
    /// # Panics
    /// If gates are left over.
    pub(crate) fn finish(&mut self) {
        let used_up = self.gates.is_used_up();
        assert!(used_up && self.gates.tables.is_used_up(), "all that was garbled is evaluated");
    }
}

impl Evaluator {
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

    /// The next masks of sums, of the batch with the last gate.
    fn decoding(&mut self, bytes: usize) -> &[u8] {
        self.decoded += bytes;
        &self.batch.decoding[self.decoded - bytes..self.decoded]
    }

    /// Goes on to the next batch.
    fn advance(&mut self) -> Result<(), ProtocolError> {
        assert!(self.is_used_up(), "what was garbled to be decoded is decoded");
        let used = std::mem::take(&mut self.batch);
        self.batch = self.tables.next(used)?;
        (self.position, self.decoded) = (0, 0);
        let starts = &self.tables.common.starts;
        self.hashes.clear();
        let number = self.next_number;
        self.hashes.extend(starts.iter().map(|&start| batch_hash(start, number)));
        self.next_number += 1;
        Ok(())
    }

    /// Evaluates gates `range` of `level`, counted with their lanes, which are of one batch.
    fn chunk(
        &mut self,
        level: &Level,
        rows: &Rows,
        range: std::ops::Range<usize>,
        products: &mut [Block],
    ) {
        let (n, lanes, count) = (self.parties, rows.lanes, range.len());
        let sums = &mut self.sums[..n * count];
        sums.fill(Block::ZERO);
        let tweak = first_tweak(self.position, n);
        for party in 0..n {
            let hashed = &mut self.hashed[..2 * n * count];
            let mut targets = hashed.chunks_exact_mut(2 * n);
            operands(level, rows, &range, |a, b, gates, lane| {
                let at = |row: &[Block], plane: usize| plane * lanes + lane..row.len();
                let (keys_a, keys_b) = (&a[at(a, party)], &b[at(b, party)]);
                let (bits_a, bits_b) = (&a[at(a, self.other)], &b[at(b, self.other)]);
                for k in 0..gates {
                    let key_a = with_select_bit(keys_a[k], bits_a[k].select_bit());
                    let key_b = with_select_bit(keys_b[k], bits_b[k].select_bit());
                    let target = targets.next().expect("as many as gates");
                    target.as_chunks_mut().0.fill([key_a, key_b]);
                }
            });
            self.hashes[party].hash_blocks(tweak, hashed);
            let pairs = hashed.as_chunks::<2>().0;
            sums.iter_mut().zip(pairs).for_each(|(sum, pair)| *sum ^= pair[0] ^ pair[1]);
        }
        self.combine(level, rows, range, products);
    }

    /// The active keys of the results, from the sums of hashes.
    fn combine(
        &mut self,
        level: &Level,
        rows: &Rows,
        range: std::ops::Range<usize>,
        products: &mut [Block],
    ) {
        let (n, lanes, me) = (self.parties, rows.lanes, self.me);
        let tables = &self.batch.rows[self.position * n * ROWS..];
        let mut tables = tables.chunks_exact(n * ROWS).zip(self.sums.chunks_exact(n));
        let (mut gate, mut result) = (self.position, range.start);
        operands(level, rows, &range, |a, b, gates, lane| {
            for k in lane..lane + gates {
                let (table, sums) = tables.next().expect("a batch has a table for each gate");
                let alpha = a[self.other * lanes + k].select_bit();
                let beta = b[self.other * lanes + k].select_bit();
                let base = result / lanes * n * lanes + result % lanes;
                for (party, (row, &sum)) in table.as_chunks::<ROWS>().0.iter().zip(sums).enumerate()
                {
                    let key_a = with_select_bit(a[party * lanes + k], alpha);
                    let key = sum ^ row[2] ^ row[0].and_bit(alpha) ^ (row[1] ^ key_a).and_bit(beta);
                    products[base + party * lanes] = key;
                }
                let share = self.batch.masks[gate / 64] >> (gate % 64) & 1 == 1;
                let own = &mut products[base + me * lanes];
                *own = with_select_bit(*own, share);
                (gate, result) = (gate + 1, result + 1);
            }
        });
    }
}

/// Calls `each` with the operand rows of every AND that has gates in `range`, how many, and the
/// first lane.
#[inline(always)]
fn operands(
    level: &Level,
    rows: &Rows,
    range: &std::ops::Range<usize>,
    mut each: impl FnMut(&[Block], &[Block], usize, usize),
) {
    let mut next = range.start;
    while next < range.end {
        let (and, lane) = (level.ands[next / rows.lanes], next % rows.lanes);
        let gates = (rows.lanes - lane).min(range.end - next);
        each(rows.row(and.a), rows.row(and.b), gates, lane);
        next += gates;
    }
}

impl Gates for Evaluator {
    type Error = ProtocolError;

    fn ands(
        &mut self,
        level: &Level,
        rows: &Rows,
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
