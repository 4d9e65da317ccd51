//! [`TemplateRows`]: memory for circuits on wires of several keys.
//!
//! A slot of a template is a row: for each plane (a party's keys) one block per lane. The garbling
//! pass has one plane, the evaluation one for each party. The first party's own plane takes
//! complements and constants, in the select bits, since those are its share of the mask bits.
//! A circuit with many rows runs on a part of the lanes at a time ([`TemplateRows::parts`]): on the
//! same ones at all parties, in the pass as in the evaluation, since the order of gates depends on
//! it.

use std::ops::Range;

use phineus_bytecode::Instruction;
use phineus_circuits::BitAlgebra;
use phineus_circuits::record::{CircuitTemplate, Level, LocalGate};
use phineus_crypto::Block;
use phineus_engine::bits;
use zeroize::Zeroizing;

/// Bytes of rows that a circuit runs on in the evaluation, about: what the second level of cache holds.
/// A product of 32 bits on 64 lanes would take three times as much among two parties.
const PART_BYTES: usize = 1 << 20;

/// Lanes that are not parted: a row is then 128 bytes for each plane.
const PART_LANES: usize = 8;

/// Garbles or evaluates the ANDs of a level.
pub(super) trait LevelGates {
    type Error;

    /// Appends to `products` a row for each AND of `level`.
    fn ands(
        &mut self,
        level: &Level,
        rows: &TemplateRows,
        products: &mut [Block],
    ) -> Result<(), Self::Error>;
}

/// The slots of a template.
pub(crate) struct TemplateRows {
    blocks: Zeroizing<Vec<Block>>,
    products: Zeroizing<Vec<Block>>,
    pub(super) planes: usize,
    pub(super) lanes: usize,
    /// The first of these lanes, and the lanes of whole values.
    first: usize,
    all_lanes: usize,
    /// The plane whose select bits are flipped by a complement, if any is.
    flipped: Option<usize>,
}

impl TemplateRows {
    pub(super) fn new(planes: usize, flipped: Option<usize>) -> TemplateRows {
        let (blocks, products) = (Zeroizing::default(), Zeroizing::default());
        TemplateRows { blocks, products, planes, lanes: 1, first: 0, all_lanes: 1, flipped }
    }

    /// The parts of `lanes` on which a template runs among so many parties, one after the other.
    pub(crate) fn parts(
        template: &CircuitTemplate,
        parties: usize,
        lanes: usize,
    ) -> impl Iterator<Item = Range<usize>> + use<> {
        let lane_bytes = TemplateRows::bytes(template, parties, 1).max(1) as usize;
        let most = (PART_BYTES / lane_bytes / PART_LANES * PART_LANES).max(PART_LANES);
        (0..lanes).step_by(most).map(move |first| first..lanes.min(first + most))
    }

    /// Bytes that the largest part of a template needs in so many planes.
    pub(crate) fn part_bytes(
        template: &CircuitTemplate,
        (planes, parties): (usize, usize),
        lanes: usize,
    ) -> u64 {
        let first = TemplateRows::parts(template, parties, lanes).next();
        TemplateRows::bytes(template, planes, first.map_or(0, |part| part.len()))
    }

    /// Bytes that a template needs.
    pub(crate) fn bytes(template: &CircuitTemplate, planes: usize, lanes: usize) -> u64 {
        let widest = template.ands_per_level().into_iter().max().unwrap_or(0);
        ((template.slot_count as usize + widest) * planes * lanes * size_of::<Block>()) as u64
    }

    /// Makes space for `template` on `lanes` lanes; what is in the rows means nothing.
    pub(super) fn reset(&mut self, template: &CircuitTemplate, lanes: usize) {
        self.reset_part(template, 0..lanes, lanes);
    }

    /// Resets a part of the lanes of values.
    pub(super) fn reset_part(
        &mut self,
        template: &CircuitTemplate,
        part: Range<usize>,
        lanes: usize,
    ) {
        (self.first, self.lanes, self.all_lanes) = (part.start, part.len(), lanes);
        let lanes = self.lanes;
        let blocks = template.slot_count as usize * self.planes * lanes;
        grow(&mut self.blocks, blocks);
        let widest = template.levels.iter().map(|level| level.ands.len()).max().unwrap_or(0);
        grow(&mut self.products, widest * self.planes * lanes);
    }

    /// Row `slot`: plane after plane.
    #[inline]
    pub(super) fn row(&self, slot: u32) -> &[Block] {
        let length = self.planes * self.lanes;
        &self.blocks[slot as usize * length..][..length]
    }

    /// One plane of row `slot`.
    #[inline]
    pub(super) fn plane_mut(&mut self, slot: usize, plane: usize) -> &mut [Block] {
        &mut self.blocks[(slot * self.planes + plane) * self.lanes..][..self.lanes]
    }

    /// Puts a value of planes one after the other into the slots from `slot` on; how many it took.
    pub(super) fn load(&mut self, slot: usize, value: &[Block]) -> usize {
        let (lanes, wires) = (self.all_lanes, value.len() / self.planes);
        let part = self.first..self.first + self.lanes;
        for (plane, wires) in value.chunks_exact(wires).enumerate() {
            for (row, wires) in wires.chunks_exact(lanes).enumerate() {
                self.plane_mut(slot + row, plane).copy_from_slice(&wires[part.clone()]);
            }
        }
        wires / lanes
    }

    /// As [`TemplateRows::load`], of a value whose every wire is repeated in all lanes of a row of
    /// its own.
    pub(super) fn load_repeated(&mut self, slot: usize, value: &[Block]) -> usize {
        let rows = value.len() / self.planes;
        for (plane, wires) in value.chunks_exact(rows).enumerate() {
            for (row, &wire) in wires.iter().enumerate() {
                self.plane_mut(slot + row, plane).fill(wire);
            }
        }
        rows
    }

    /// Loads all operands of an instruction.
    pub(super) fn load_all(&mut self, instruction: &Instruction, operands: &[&[Block]]) {
        let mut slot = 0;
        for (k, operand) in operands.iter().enumerate() {
            slot += match bits::is_repeated(instruction, k) {
                true => self.load_repeated(slot, operand),
                false => self.load(slot, operand),
            };
        }
    }

    /// The inverse of [`TemplateRows::load`], from the slots that `outputs` names.
    pub(super) fn store<'a>(
        &self,
        outputs: &mut impl Iterator<Item = &'a u32>,
        value: &mut [Block],
    ) {
        let (lanes, wires) = (self.all_lanes, value.len() / self.planes);
        for row in 0..wires / lanes {
            let slot = *outputs.next().expect("a template has all outputs");
            for (plane, blocks) in self.row(slot).chunks_exact(self.lanes).enumerate() {
                let at = plane * wires + row * lanes + self.first;
                value[at..at + self.lanes].copy_from_slice(blocks);
            }
        }
    }

    /// Runs `template` on what was loaded.
    pub(super) fn run<G: LevelGates>(
        &mut self,
        template: &CircuitTemplate,
        gates: &mut G,
    ) -> Result<(), G::Error> {
        let length = self.planes * self.lanes;
        for level in &template.levels {
            level.local.iter().for_each(|gate| self.local(gate));
            if level.ands.is_empty() {
                continue;
            }
            let mut products = std::mem::take(&mut self.products);
            let count = level.ands.len() * length;
            let done = gates.ands(level, self, &mut products[..count]);
            for (and, product) in level.ands.iter().zip(products.chunks_exact(length)) {
                self.blocks[and.out as usize * length..][..length].copy_from_slice(product);
            }
            self.products = products;
            done?;
        }
        Ok(())
    }

    #[inline]
    fn local(&mut self, gate: &LocalGate) {
        let length = self.planes * self.lanes;
        let range = |slot: u32| slot as usize * length..(slot as usize + 1) * length;
        match *gate {
            LocalGate::Xor { out, a, b } => {
                let other = if out == a { Some(b) } else { (out == b).then_some(a) };
                if let Some(other) = other {
                    let rows = self.blocks.get_disjoint_mut([range(out), range(other)]);
                    let [out, other] = rows.expect("two slots are two rows");
                    out.iter_mut().zip(other).for_each(|(out, other)| *out ^= *other);
                } else {
                    let rows = self.blocks.get_disjoint_mut([range(out), range(a), range(b)]);
                    let [out, a, b] = rows.expect("three slots are three rows");
                    for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(b.iter())) {
                        *out = *a ^ *b;
                    }
                }
            }
            LocalGate::Not { out, a } => {
                self.blocks.copy_within(range(a), out as usize * length);
                self.flip(out);
            }
            LocalGate::Constant { out, value } => {
                self.blocks[range(out)].fill(Block::ZERO);
                if value {
                    self.flip(out);
                }
            }
        }
    }

    fn flip(&mut self, slot: u32) {
        if let Some(plane) = self.flipped {
            let one = Block::from_bits(1);
            self.plane_mut(slot as usize, plane).iter_mut().for_each(|block| *block ^= one);
        }
    }
}

/// Makes it at least so long, wiping what is moved.
pub(crate) fn grow(blocks: &mut Zeroizing<Vec<Block>>, length: usize) {
    if blocks.len() < length {
        *blocks = Zeroizing::new(vec![Block::ZERO; length]);
    }
}

/// The linear operations on one plane.
struct Linear {
    /// Whether this is the plane that takes complements and constants.
    flips: bool,
}

impl BitAlgebra for Linear {
    type Wire = Block;

    #[inline]
    fn xor(&mut self, out: &mut [Block], a: &[Block], b: &[Block]) {
        out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (&a, &b))| *out = a ^ b);
    }

    #[inline]
    fn xor_assign(&mut self, out: &mut [Block], a: &[Block]) {
        out.iter_mut().zip(a).for_each(|(out, &a)| *out ^= a);
    }

    fn not(&mut self, out: &mut [Block], a: &[Block]) {
        let flip = Block::from_bits(u128::from(self.flips));
        out.iter_mut().zip(a).for_each(|(out, &a)| *out = a ^ flip);
    }

    fn and(&mut self, _: &mut [Block], _: &[Block], _: &[Block]) {
        unreachable!("a linear operation has no ANDs")
    }

    fn constant(&mut self, out: &mut [Block], value: bool) {
        out.fill(Block::from_bits(u128::from(self.flips && value)));
    }
}

/// Computes a linear operation on values of `planes` planes.
pub(super) fn linear(
    instruction: &Instruction,
    planes: usize,
    flipped: Option<usize>,
    results: &mut [&mut [Block]],
    operands: &[&[Block]],
    scratch: &mut Zeroizing<Vec<Block>>,
) {
    grow(scratch, bits::scratch_wires(instruction));
    for plane in 0..planes {
        let part = |value: &[Block]| {
            let wires = value.len() / planes;
            plane * wires..(plane + 1) * wires
        };
        let operands: [&[Block]; 3] =
            std::array::from_fn(|k| operands.get(k).map_or(&[][..], |value| &value[part(value)]));
        let operands = &operands[..instruction.op.info().operands.len()];
        let mut algebra = Linear { flips: flipped == Some(plane) };
        match &mut *results {
            [one] => {
                let range = part(one);
                let one = &mut one[range];
                bits::execute(&mut algebra, instruction, &mut [one], operands, scratch);
            }
            [one, two] => {
                let (first, second) = (part(one), part(two));
                let results = &mut [&mut one[first], &mut two[second]];
                bits::execute(&mut algebra, instruction, results, operands, scratch);
            }
            _ => unreachable!("an operation has one or two results"),
        }
    }
}
