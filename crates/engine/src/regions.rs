//! [`Regions`]: arrays of rows outside the frames, from which opened registers select.
//!
//! A plan states where every value lies, but not which row of a region is touched: a register says that, which all
//! parties opened while the program ran. Rows lie one after another, each as a value of one lane, so that a row is
//! one copy. Values of many lanes are gathered and scattered wire by wire, or, where lanes are packed, bit by bit: a
//! bit of a row then takes a byte.
//!
//! Cost: a copy of each row. Memory: [`Regions::bytes`]. Public: which rows are touched, in which order.

use phineus_bytecode::{Description, Instruction, Lane, Layout, Op, Region, ValueSize};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::storage::{FrameMemory, StorageError};

/// Bytes of the pages that regions lie in.
const PAGE_BYTES: u32 = 1 << 16;

/// A register selects a row that the region does not have: the program is wrong, or a party deviates from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {row} of a region of {rows} rows was selected")]
pub struct NoSuchRow {
    /// The row.
    pub row: u64,
    /// How many rows there are.
    pub rows: u64,
}

/// Regions and public registers of a run. Wiped on drop.
#[derive(Default)]
pub struct Regions {
    memory: Option<FrameMemory>,
    /// Of each region: where it begins and the wires of a row.
    places: Vec<(usize, usize, u64)>,
    registers: Vec<u64>,
    layout: Layout,
    /// How often the block at hand has run in a row before.
    pub(crate) turn: u64,
}

/// Units of a row, and of a whole region.
fn units(region: &Region, layout: Layout) -> (u64, u64) {
    let row = Instruction::new(Op::RegionLoad, region.element, 1).shape();
    let units = u64::from(layout.units(row));
    (units, units.saturating_mul(region.rows))
}

impl Regions {
    /// Memory of the regions and registers of a program, in whole pages.
    pub fn bytes(description: &Description, layout: Layout) -> u64 {
        let units = description.regions.iter().map(|region| units(region, layout).1);
        let units = units.fold(0, u64::saturating_add);
        let bytes = units.saturating_mul(layout.unit_bytes.into());
        let pages = bytes.div_ceil(PAGE_BYTES.into()).saturating_mul(PAGE_BYTES.into());
        pages.saturating_add(8 * u64::from(description.registers))
    }

    /// Regions full of zeros, and registers.
    ///
    /// # Errors
    /// If the operating system gives no memory.
    ///
    /// # Panics
    /// If the regions have 2^32 pages, which no memory limit allows.
    pub fn new(description: &Description, layout: Layout) -> Result<Regions, StorageError> {
        let mut start = 0;
        let place = |region: &Region| {
            let (row, all) = units(region, layout);
            let place = (start as usize, row as usize, region.rows);
            start += all;
            place
        };
        let places: Vec<_> = description.regions.iter().map(place).collect();
        let pages = (start * u64::from(layout.unit_bytes)).div_ceil(PAGE_BYTES.into());
        let pages = u32::try_from(pages).expect("regions are part of a memory limit");
        let memory = (pages > 0).then(|| FrameMemory::new(pages, PAGE_BYTES)).transpose()?;
        Ok(Regions { memory, places, registers: vec![0; description.registers as usize], layout, turn: 0 })
    }

    /// Puts an opened value into a register.
    pub(crate) fn set(&mut self, register: u64, value: Lane) {
        self.registers[register as usize] = value.as_limbs()[0];
    }

    /// Moves rows between frames and a region.
    pub(crate) fn step<W: Copy + FromBytes + IntoBytes + Immutable>(
        &mut self,
        instruction: &Instruction,
        frames: &mut FrameMemory,
    ) -> Result<(), NoSuchRow> {
        let [region, selected, stride, _] = instruction.immediates;
        let (start, width, rows) = self.places[region as usize];
        let row = match instruction.op {
            Op::RegionLoadAt | Op::RegionStoreAt => self.registers[selected as usize],
            Op::RegionLoad => selected,
            Op::RegionStore => selected + self.turn * stride,
            op => unreachable!("{} moves no rows", op.info().name),
        };
        let lanes = instruction.lanes as usize;
        if row.checked_add(lanes as u64).is_none_or(|end| end > rows) {
            return Err(NoSuchRow { row, rows });
        }
        let from = start + row as usize * width;
        let memory = self.memory.as_mut().expect("a region has rows");
        let stored = memory.slice_mut::<W>(from..from + lanes * width);
        let shape = instruction.shape();
        let units = self.layout.units(shape) as usize;
        let is_load = instruction.result_count() > 0;
        let at = if is_load { instruction.results[0] } else { instruction.operands[0] } as usize;
        let value = frames.slice_mut::<W>(at..at + units);
        match self.layout.size(shape.sharing) {
            _ if lanes == 1 && is_load => value.copy_from_slice(stored),
            _ if lanes == 1 => stored.copy_from_slice(value),
            ValueSize::Wires { units: 1 } if is_load => {
                for (bit, wires) in value.chunks_exact_mut(lanes).enumerate() {
                    let row = stored.chunks_exact(width);
                    wires.iter_mut().zip(row).for_each(|(wire, row)| *wire = row[bit]);
                }
            }
            ValueSize::Wires { units: 1 } => {
                for (bit, wires) in value.chunks_exact(lanes).enumerate() {
                    let row = stored.chunks_exact_mut(width);
                    row.zip(wires).for_each(|(row, wire)| row[bit] = *wire);
                }
            }
            ValueSize::Rows { copies } => {
                let bits = usize::from(shape.width) * usize::from(copies);
                let row_bytes = width * usize::from(self.layout.unit_bytes);
                let rows = (stored.as_mut_bytes(), row_bytes);
                let value = &mut value.as_mut_bytes()[..bits * lanes.div_ceil(8)];
                match is_load {
                    true => pack_rows(value, rows, lanes),
                    false => unpack_rows(value, rows, lanes),
                }
            }
            ValueSize::Wires { .. }
            | ValueSize::RingElements { .. }
            | ValueSize::LaneElements { .. }
            | ValueSize::WireElements { .. }
            | ValueSize::Fixed { .. } => {
                unreachable!("no protocol with regions has values of this size")
            }
        }
        Ok(())
    }
}

/// Packs bit `k` of all rows, which is in byte `k` of each, next to each other in `value`.
fn pack_rows(value: &mut [u8], (rows, row_bytes): (&mut [u8], usize), lanes: usize) {
    value.fill(0);
    for (bit, packed) in value.chunks_exact_mut(lanes.div_ceil(8)).enumerate() {
        for (lane, row) in rows.chunks_exact(row_bytes).enumerate() {
            packed[lane / 8] |= (row[bit] & 1) << (lane % 8);
        }
    }
}

/// The inverse of [`pack_rows`].
fn unpack_rows(value: &[u8], (rows, row_bytes): (&mut [u8], usize), lanes: usize) {
    for (bit, packed) in value.chunks_exact(lanes.div_ceil(8)).enumerate() {
        for (lane, row) in rows.chunks_exact_mut(row_bytes).enumerate() {
            row[bit] = packed[lane / 8] >> (lane % 8) & 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::random::{SeededRng, Seeds};
    use phineus_bytecode::{Domain, ElementType};

    use super::*;

    /// Rows of packed lanes come back lane by lane and all at once.
    #[test]
    fn packed_lanes_are_stored_as_rows() {
        let seed = Seeds::fresh().draw();
        let mut random = SeededRng::new(seed);
        for copies in [1, 2] {
            for _ in 0..50 {
                let (width, lanes) = (1 + random.below(40) as u16, 1 + random.below(70) as u32);
                let packed = ValueSize::Rows { copies };
                let layout = Layout {
                    unit_bytes: 16,
                    domain: Domain::Ring,
                    arithmetic: packed,
                    boolean: packed,
                    garbled: packed,
                };
                let element = ElementType::unsigned(width);
                let rows = u64::from(lanes) + 5;
                let mut description = Description::default();
                description.regions.push(Region { element, rows });
                let mut regions = Regions::new(&description, layout).expect("memory");
                let mut frames = FrameMemory::new(4, PAGE_BYTES).expect("memory");
                let mut all = Instruction::new(Op::RegionStore, element, lanes);
                let bytes = usize::from(width) * usize::from(copies) * (lanes as usize).div_ceil(8);
                let units = layout.units(all.shape()) as usize;
                let value = frames.slice_mut::<[u8; 16]>(0..units).as_mut_bytes();
                value[..bytes].iter_mut().for_each(|byte| *byte = random.next_u64() as u8);
                let row_bytes = (lanes as usize).div_ceil(8);
                for row in value[..bytes].chunks_exact_mut(row_bytes) {
                    row[row_bytes - 1] &= 0xff >> (8 * row_bytes - lanes as usize);
                }
                let value = value[..bytes].to_vec();
                all.immediates[1] = 3;
                regions.step::<[u8; 16]>(&all, &mut frames).expect("it is there");
                all.op = Op::RegionLoad;
                all.results[0] = 4096;
                regions.step::<[u8; 16]>(&all, &mut frames).expect("it is there");
                let loaded = frames.slice::<[u8; 16]>(4096..4096 + units).as_bytes();
                assert_eq!(loaded[..bytes], value, "{width} x {lanes}, seed {seed}");
                let lane = random.below(lanes.into());
                let mut one = Instruction::new(Op::RegionLoad, element, 1);
                (one.results[0], one.immediates[1]) = (8192, 3 + lane);
                regions.step::<[u8; 16]>(&one, &mut frames).expect("it is there");
                let units = layout.units(one.shape()) as usize;
                let loaded = frames.slice::<[u8; 16]>(8192..8192 + units).as_bytes();
                for (bit, row) in value.chunks_exact(row_bytes).enumerate() {
                    let wanted = row[lane as usize / 8] >> (lane % 8) & 1;
                    assert_eq!(loaded[bit], wanted, "{width} x {lanes}, seed {seed}");
                }
            }
        }
    }
}
