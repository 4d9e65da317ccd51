//! [`Circuit`]: Circuit ORAM.
//!
//! Source: Wang, Chan, Shi, "Circuit ORAM: On Tightness of the Goldreich-Ostrovsky Lower Bound", ACM CCS 2015 (ePrint
//! 2014/672). Each row has a random leaf of a tree, and lies on the path to it, or in the stash (`tree.rs`). An access
//! opens the leaf, takes the row out, gives it a new leaf, puts it into the stash, and moves blocks down two paths
//! (`eviction.rs`). The leaves lie in smaller trees, and those of the smallest one are scanned.
//!
//! Rows that were never written are in no tree: they are 0, and their leaves are drawn when they are asked for.
//!
//! Cost: [`CircuitShape::access_ands`], an opened leaf for each tree, and some random bits of each party. Invariant: a
//! leaf is opened once. Fails, with a wrong row, if the stash is full (`shape.rs`).

mod blocks;
mod eviction;
mod leaves;
mod shape;
#[cfg(test)]
mod stash_tests;
mod tree;

use std::collections::{BTreeMap, BTreeSet};

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{Records, Region, Tracer, Value, lanes_for};

use super::accesses::AccessKind;
use super::period::MemoryTerms;
use super::square_root::all_numbers;
use super::{in_range, index_bits, one_hot};
use blocks::{Blocks, cut, window};
use leaves::RandomBits;
pub(super) use shape::CircuitShape;
use shape::EVICTIONS;
use tree::Tree;

/// Rows at random leaves.
pub(super) struct Circuit {
    tracer: Tracer,
    elements: Vec<ElementType>,
    rows: u64,
    shape: CircuitShape,
    /// That of the rows first, then each that holds the leaves of the one before.
    trees: Vec<Tree>,
    /// Leaves of the blocks of the last tree, in chunks.
    leaves: Vec<Value>,
    random: RandomBits,
    /// How the block at hand accesses the rows.
    block: AccessedPart,
    /// State between blocks; nothing in a program of one block.
    resting: Option<RestingCircuit>,
}

/// A block of a program.
#[derive(Default)]
struct AccessedPart {
    /// Accesses, and how many of them are left.
    accesses: u64,
    left: u64,
    /// How often it runs in a row.
    repeats: u64,
}

/// Regions that hold a memory between blocks, besides its trees.
struct RestingCircuit {
    leaves: Region,
    /// Each row is its own number.
    numbers: Region,
    is_awake: bool,
}

/// An access whose row has not been put back.
pub(super) struct AccessedBlock {
    kind: AccessKind,
    index: Value,
    /// Whether the index is that of a row; nothing if it always is.
    valid: Option<Value>,
    /// The row that was found, unless it was not to be read.
    data: Option<Vec<Value>>,
    leaf: Value,
    /// Blocks of the trees behind the first.
    packed: Vec<Blocks>,
}

impl Circuit {
    /// Rows of zeros, but for those that are set.
    #[track_caller]
    pub(super) fn new(
        tracer: &Tracer,
        (elements, rows): (&[ElementType], u64),
        set: Option<(Records, BTreeSet<u64>)>,
        terms: MemoryTerms,
    ) -> Circuit {
        let row_bits = elements.iter().map(|element| u64::from(element.width())).sum();
        let shape = CircuitShape::new(index_bits(rows), row_bits);
        let trees = shape.trees.iter().map(|shape| Tree::new(tracer, shape.clone())).collect();
        let random = RandomBits::new(tracer, terms.parties);
        let mut circuit = Circuit {
            tracer: tracer.clone(),
            elements: elements.to_vec(),
            rows,
            shape,
            trees,
            leaves: Vec::new(),
            random,
            block: AccessedPart::default(),
            resting: None,
        };
        match set {
            Some((records, set)) => circuit.fill(records, set),
            None => circuit.leaves = circuit.random_leaves(circuit.shape.trees.len() - 1),
        }
        circuit
    }

    /// As [`Circuit::new`], for a program of several blocks, of which the one at hand is not repeated.
    #[track_caller]
    pub(super) fn resting(
        tracer: &Tracer,
        (elements, rows): (&[ElementType], u64),
        terms: MemoryTerms,
    ) -> Circuit {
        let mut circuit = Circuit::new(tracer, (elements, rows), None, terms);
        let (count, bits) = circuit.shape.scanned();
        let leaves = tracer.region(ElementType::unsigned(bits), 1 << count);
        let bits = index_bits(rows);
        let numbers = tracer.region(ElementType::unsigned(bits), 1 << bits);
        let (items, lanes) = (1 << bits, lanes_for(bits).min(1 << bits));
        let chunks = all_numbers(tracer, bits, lanes, items);
        for (start, chunk) in (0..).step_by(lanes as usize).zip(&chunks) {
            numbers.store(start, chunk);
        }
        circuit.resting = Some(RestingCircuit { leaves, numbers, is_awake: true });
        circuit.rest();
        circuit
    }

    /// Begins a block with so many accesses that runs so often in a row.
    pub(super) fn begin(&mut self, accesses: u64, repeats: u64) {
        self.block = AccessedPart { accesses, left: accesses, repeats };
        let stride = if repeats > 1 { EVICTIONS * accesses } else { 0 };
        self.trees.iter_mut().for_each(|tree| tree.stride = stride);
    }

    /// Returns whether it is there before the first block.
    pub(super) fn is_of_several_blocks(&self) -> bool {
        self.resting.is_some()
    }

    /// Leaves all where the next block finds it.
    #[track_caller]
    pub(super) fn rest(&mut self) {
        let resting = self.resting.as_mut().expect("there are several blocks");
        if !std::mem::take(&mut resting.is_awake) {
            return;
        }
        let mut start = 0;
        for leaves in &self.leaves {
            resting.leaves.store(start, leaves);
            start += u64::from(leaves.lanes());
        }
        let AccessedPart { accesses, repeats, .. } = self.block;
        for tree in &mut self.trees {
            tree.rest();
            tree.evictions += EVICTIONS * accesses * repeats.saturating_sub(1);
        }
    }

    /// Takes up again what rests.
    #[track_caller]
    fn wake(&mut self) {
        let Some(resting) = self.resting.as_mut().filter(|resting| !resting.is_awake) else {
            return;
        };
        resting.is_awake = true;
        let mut start = 0;
        for leaves in &mut self.leaves {
            *leaves = resting.leaves.load(start, leaves.lanes());
            start += u64::from(leaves.lanes());
        }
        self.trees.iter_mut().for_each(Tree::wake);
    }

    /// Replaces cells of a row in the block at hand; where it is repeated, of one `stride` rows further in each iteration.
    #[track_caller]
    pub(super) fn set(&mut self, [row, stride]: [u64; 2], cells: &[Option<Value>]) {
        let resting = self.resting.as_ref().expect("there are several blocks");
        let index = match stride {
            0 => {
                self.tracer.constant(ElementType::unsigned(index_bits(self.rows)), Lane::from(row))
            }
            _ => resting.numbers.load_each_iteration(row, stride, 1),
        };
        let is_whole = cells.iter().all(Option::is_some);
        let kind = if is_whole { AccessKind::Write } else { AccessKind::Update };
        let block = self.open(&index, kind);
        self.close(block, cells);
    }

    /// A random leaf for each block of a tree, in chunks.
    #[track_caller]
    fn random_leaves(&mut self, tree: usize) -> Vec<Value> {
        let shape = &self.shape.trees[tree];
        let (count, levels) = (1u64 << shape.number_bits, shape.levels);
        let lanes = u64::from(lanes_for(levels));
        let chunks = (0..count).step_by(lanes as usize).map(|start| lanes.min(count - start));
        let draw = |lanes: u64| {
            self.random.provide(u64::from(levels) * lanes, 1);
            self.random.draw_lanes(levels, lanes as u32)
        };
        chunks.map(draw).collect()
    }

    /// Begins an access: finds the row at `index`. Beyond the last row, that is the first one, which stays as it is.
    #[track_caller]
    pub(super) fn open(&mut self, index: &Value, kind: AccessKind) -> AccessedBlock {
        self.wake();
        let (index, valid) = in_range(index, index_bits(self.rows), self.rows);
        let index = match &valid {
            Some(valid) => valid.mask(&index),
            None => index,
        };
        self.random.provide(self.shape.random_bits(), self.block.left);
        self.block.left -= 1;
        let new: Vec<Value> =
            self.shape.trees.iter().map(|tree| self.random.draw(tree.levels)).collect();
        let mut numbers = vec![index.clone()];
        for &bits in &self.shape.packed_bits {
            let above = numbers.last().expect("there is a tree");
            numbers.push(above.bit_slice(bits, above.width() - bits));
        }
        let last = self.trees.len() - 1;
        let mut leaf = self.exchange_scanned(&numbers[last], &new[last]);
        let mut packed = Vec::new();
        for tree in (1..=last).rev() {
            let removed = self.trees[tree].remove(&numbers[tree], &leaf, true);
            let data = removed.data.expect("it is read");
            let none = removed.is_there.not();
            let data = data.iter().map(|column| {
                let random = self.random.draw(column.width());
                column.xor(&none.mask(&random))
            });
            let mut data: Vec<Value> = data.collect();
            let low = numbers[tree - 1].bit_slice(0, self.shape.packed_bits[tree - 1]);
            leaf = exchange_packed(&mut data, &low, &new[tree - 1]);
            packed.push(Blocks { head: head(&numbers[tree], &new[tree]), data });
        }
        packed.reverse();
        let is_read = kind != AccessKind::Write || valid.is_some();
        let data = self.trees[0].remove(&index, &leaf, is_read).data;
        AccessedBlock { kind, index, valid, data, leaf: new[0].clone(), packed }
    }

    /// The cell of a column: zeros if the index is that of no row.
    #[track_caller]
    pub(super) fn cell(&self, block: &AccessedBlock, column: usize) -> Value {
        assert!(block.kind != AccessKind::Write, "what is only written is not read");
        let cell = self.old_cell(block, column);
        match &block.valid {
            Some(valid) => valid.mask(&cell),
            None => cell,
        }
    }

    /// The cell of a column in the row that was found.
    #[track_caller]
    fn old_cell(&self, block: &AccessedBlock, column: usize) -> Value {
        let before = self.elements[..column].iter().map(|element| u64::from(element.width()));
        let (from, element) = (before.sum(), self.elements[column]);
        let data = block.data.as_ref().expect("it is read");
        window(data, from, element.width()).with_sign(element.is_signed())
    }

    /// Completes an access, with new cells where there are some.
    #[track_caller]
    pub(super) fn close(&mut self, block: AccessedBlock, new: &[Option<Value>]) {
        let cells = new.iter().enumerate().map(|(column, new)| {
            let cell = match (new, &block.valid) {
                (None, _) => self.old_cell(&block, column),
                (Some(new), None) => new.clone(),
                (Some(new), Some(valid)) => valid.select(new, &self.old_cell(&block, column)),
            };
            cell.with_sign(false)
        });
        let cells: Vec<Value> = cells.collect();
        let data = cut(&cells, &self.shape.trees[0].widths);
        let rows = Blocks { head: head(&block.index, &block.leaf), data };
        let is_repeated = self.block.repeats > 1;
        let numbers = self.resting.as_ref().filter(|_| is_repeated).map(|resting| &resting.numbers);
        for (tree, block) in self.trees.iter_mut().zip(std::iter::once(rows).chain(block.packed)) {
            tree.insert(block, numbers);
        }
    }

    /// Makes some rows those of `records`, before any access: puts each into its tree, with its leaf in the next one.
    #[track_caller]
    fn fill(&mut self, records: Records, set: BTreeSet<u64>) {
        let lanes = records.chunk_lanes();
        let columns = records.into_columns();
        let widths = &self.shape.trees[0].widths;
        let row = |row: u64| {
            let cell = |chunks: &Vec<Value>| lane_of(chunks, lanes, row).with_sign(false);
            cut(&columns.iter().map(cell).collect::<Vec<_>>(), widths)
        };
        let mut blocks: BTreeMap<u64, Vec<Value>> =
            set.into_iter().map(|number| (number, row(number))).collect();
        for tree in 0..self.trees.len() - 1 {
            blocks = self.fill_packed(tree, blocks);
        }
        let last = self.trees.len() - 1;
        let leaves = self.random_leaves(last);
        let lanes = leaves[0].lanes();
        for (number, data) in blocks {
            self.insert_first(last, (number, lane_of(&leaves, lanes, number)), data);
        }
        self.leaves = leaves;
    }

    /// Puts blocks into a tree; returns those of the next tree, with their leaves.
    #[track_caller]
    fn fill_packed(
        &mut self,
        tree: usize,
        blocks: BTreeMap<u64, Vec<Value>>,
    ) -> BTreeMap<u64, Vec<Value>> {
        let (levels, bits) = (self.shape.trees[tree].levels, self.shape.packed_bits[tree]);
        let widths = self.shape.trees[tree + 1].widths.clone();
        let packed: BTreeSet<u64> = blocks.keys().map(|number| number >> bits).collect();
        let mut left = packed.len() as u64;
        let fill = |number: u64| {
            self.random.provide(u64::from(levels) << bits, left);
            left -= 1;
            let all = number << bits..(number + 1) << bits;
            let leaves: Vec<Value> = all.clone().map(|_| self.random.draw(levels)).collect();
            for (block, leaf) in all.zip(&leaves) {
                if let Some(data) = blocks.get(&block) {
                    self.insert_first(tree, (block, leaf.clone()), data.clone());
                }
            }
            (number, cut(&leaves, &widths))
        };
        packed.into_iter().map(fill).collect()
    }

    #[track_caller]
    fn insert_first(&mut self, tree: usize, (number, leaf): (u64, Value), data: Vec<Value>) {
        let element = ElementType::unsigned(self.shape.trees[tree].number_bits);
        let number = self.tracer.constant(element, Lane::from(number));
        self.trees[tree].insert(Blocks { head: head(&number, &leaf), data }, None);
    }

    /// Replaces the leaf of a block of the last tree; returns what it was.
    #[track_caller]
    fn exchange_scanned(&mut self, number: &Value, new: &Value) -> Value {
        let one = self.tracer.constant(ElementType::BIT, Lane::ONE);
        let wanted = one_hot(number, 0..number.width(), &one);
        let (mut start, mut old) = (0, new.clone());
        for leaves in &mut self.leaves {
            let wanted = wanted.lane_slice(start, leaves.lanes());
            start += leaves.lanes();
            exchange(leaves, &wanted, &mut old);
        }
        old
    }
}

/// Exchanges the leaf where a bit is 1 with `held`, if there is such a bit.
#[track_caller]
fn exchange(leaves: &mut Value, wanted: &Value, held: &mut Value) {
    let difference = wanted.mask(&leaves.xor(&held.tile(leaves.lanes())));
    *leaves = leaves.xor(&difference);
    *held = held.xor(&difference.lane_xor());
}

/// Replaces the leaf with a number in a block; returns what it was.
#[track_caller]
fn exchange_packed(data: &mut Vec<Value>, number: &Value, new: &Value) -> Value {
    let width = new.width();
    let leaf = |at: u64| window(data, at * u64::from(width), width);
    let leaves = (0..1u64 << number.width()).map(leaf).collect();
    let mut leaves = Value::joined(leaves).expect("there are leaves");
    let one = number.tracer().constant(ElementType::BIT, Lane::ONE);
    let wanted = one_hot(number, 0..number.width(), &one);
    let mut old = new.clone();
    exchange(&mut leaves, &wanted, &mut old);
    let widths: Vec<u16> = data.iter().map(Value::width).collect();
    let leaves: Vec<Value> = (0..leaves.lanes()).map(|lane| leaves.lane_slice(lane, 1)).collect();
    *data = cut(&leaves, &widths);
    old
}

/// The head of a block that is there.
#[track_caller]
fn head(number: &Value, leaf: &Value) -> Value {
    let yes = number.tracer().constant(ElementType::BIT, Lane::ONE);
    number.bit_concat(&yes).bit_concat(leaf)
}

/// A lane of some chunks, all but the last of so many lanes.
#[track_caller]
fn lane_of(chunks: &[Value], lanes: u32, lane: u64) -> Value {
    let lanes = u64::from(lanes);
    chunks[(lane / lanes) as usize].lane_slice((lane % lanes) as u32, 1)
}
