//! Looks rows up, which the garbler knows, at secret indices: [`GarblerTables`] and [`EvaluatorTables`].
//!
//! The garbler sends all rows, under a mask, in a table of [`Lookups`], and the evaluator decrypts one: a row XOR the mask.
//! The labels of the result come from oblivious transfers with random choices, made ahead as those of inputs: the
//! evaluator tells the garbler the masked row XOR the choices, and the garbler shifts its labels by that and by the mask.
//!
//! Source: point-and-permute tables (`lookup.rs`), and precomputed oblivious transfer (Beaver, CRYPTO 1995).
//!
//! Cost: for each lookup in `2^k` rows of `b` bits, `ceil(b / 8) 2^k` bytes and as many hashes, and `b` correlated OTs;
//! two rounds for all lanes of an instruction. Rows that the garbler is told: `b` bits each, once.
//! Security: the mask and the choices are uniform and used once, so both what the evaluator decrypts and what the garbler
//! is told are uniform. The evaluator learns nothing of other rows: they are encrypted under keys it cannot have.
//! Not protected: who deviates can put anything into the table.

use std::collections::VecDeque;

use phineus_bytecode::{Description, Instruction, Lane, Op};
use phineus_channels::Channel;
use phineus_crypto::{Block, Delta, Prg};
use phineus_engine::{from_bits, row_bits};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use crate::ProtocolError;
use crate::garbled::lookup::Lookups;
use crate::garbled::pack;

/// The index wires of a lane.
fn index_wires(i: &Instruction, operand: &[Block], lane: usize) -> Vec<Block> {
    operand.iter().skip(lane).step_by(i.lanes as usize).copied().collect()
}

/// Bit `bit` of each lane's row, all lanes of a bit next to each other.
fn bits_of_rows<'a>(i: &Instruction, rows: &'a [u128]) -> impl Iterator<Item = u64> + use<'a> {
    let width = i.element.width();
    (0..width).flat_map(move |bit| rows.iter().map(move |row| (row >> bit) as u64 & 1))
}

/// The garbler's tables.
pub(super) struct GarblerTables {
    rows: Vec<Zeroizing<Vec<u128>>>,
}

impl GarblerTables {
    pub(super) fn new(description: &Description) -> GarblerTables {
        let rows = |rows: u64| Zeroizing::new(vec![0; rows as usize]);
        GarblerTables { rows: description.tables.iter().map(|table| rows(table.rows)).collect() }
    }

    /// Sets rows that all parties know.
    pub(super) fn set(&mut self, i: &Instruction) {
        let [table, row, low, high] = i.immediates;
        let rows = &mut self.rows[table as usize][row as usize..][..i.lanes as usize];
        rows.fill(u128::from(high) << 64 | u128::from(low));
    }

    /// Takes rows that this party is told.
    pub(super) fn tell(&mut self, i: &Instruction, told: impl Iterator<Item = Lane>) {
        let [table, row, ..] = i.immediates;
        let rows = self.rows[table as usize][row as usize..].iter_mut().zip(told);
        rows.for_each(|(row, told)| *row = row_bits(told));
    }

    /// Sends the tables of all lanes; returns the packed masks.
    pub(super) fn garble(
        &self,
        (i, operand): (&Instruction, &[Block]),
        (lookups, delta, prg): (&mut Lookups, &Delta, &mut Prg),
        channel: &mut impl Channel,
    ) -> Result<Zeroizing<Vec<u8>>, ProtocolError> {
        let rows = &self.rows[i.immediates[0] as usize];
        let width = i.element.width();
        let mut masks = Zeroizing::new(vec![0u128; i.lanes as usize]);
        prg.fill_bytes(masks.as_mut_bytes());
        for (lane, mask) in masks.iter_mut().enumerate() {
            *mask &= u128::MAX >> (128 - width);
            let wires = Zeroizing::new(index_wires(i, operand, lane));
            lookups.garble(delta, &wires, (rows, width, *mask), channel)?;
        }
        let mut packed = Zeroizing::new(vec![0; crate::garbled::packed_bytes(i)]);
        pack(bits_of_rows(i, &masks), &mut packed);
        Ok(packed)
    }
}

/// Returns whether `i` tells the last rows of a table.
pub(super) fn is_last_told(description: &Description, i: &Instruction) -> bool {
    let [table, row, ..] = i.immediates;
    i.op == Op::TableTell && row + u64::from(i.lanes) == description.tables[table as usize].rows
}

/// The evaluator's choices of lookups, which were made ahead.
#[derive(Default)]
pub(super) struct EvaluatorTables {
    choices: VecDeque<Zeroizing<Vec<u8>>>,
}

impl EvaluatorTables {
    /// Draws the choices of a lookup.
    pub(super) fn draw(&mut self, prg: &mut Prg, bits: &mut [u8]) {
        prg.fill_bytes(bits);
        bits.iter_mut().for_each(|bit| *bit &= 1);
        self.choices.push_back(Zeroizing::new(bits.to_vec()));
    }

    /// Receives the tables of all lanes; returns the rows that it finds XOR its choices, packed.
    pub(super) fn evaluate(
        &mut self,
        (i, operand): (&Instruction, &[Block]),
        lookups: &mut Lookups,
        channel: &mut impl Channel,
    ) -> Result<Zeroizing<Vec<u8>>, ProtocolError> {
        let mut rows = Zeroizing::new(Vec::with_capacity(i.lanes as usize));
        for lane in 0..i.lanes as usize {
            let wires = Zeroizing::new(index_wires(i, operand, lane));
            rows.push(lookups.evaluate(&wires, i.element.width(), channel)?);
        }
        let mut packed = Zeroizing::new(vec![0; crate::garbled::packed_bytes(i)]);
        pack(bits_of_rows(i, &rows), &mut packed);
        Ok(packed)
    }

    /// Adds the choices of the next lookup to packed bits.
    pub(super) fn add_choices(&mut self, i: &Instruction, packed: &mut [u8]) {
        let choices = self.choices.pop_front().expect("they were drawn with the transfers");
        assert_eq!(choices.len(), i.shape().wires() as usize, "lookups come in their order");
        for (bit, choice) in choices.iter().enumerate() {
            packed[bit / 8] ^= choice << (bit % 8);
        }
    }
}

/// The lanes of a value whose bits are in `bits`.
pub(super) fn lanes_of(i: &Instruction, bits: &[u8]) -> impl Iterator<Item = Lane> {
    let lanes = i.lanes as usize;
    (0..lanes).map(move |lane| from_bits(bits, lanes, lane))
}
