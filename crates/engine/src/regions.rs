//! [`Regions`]: arrays of rows outside the frames, from which opened registers select.
//!
//! A plan states where every value lies, but not which row of a region is touched: a register says that, which all
//! parties opened while the program ran. Rows lie one after another, each as a value of one lane, so that a row is
//! one copy. Values of many lanes are gathered and scattered wire by wire.
//!
//! Cost: a copy of each row. Memory: [`Regions::bytes`]. Public: which rows are touched, in which order.

use phineus_bytecode::{Description, Instruction, Lane, Layout, Op, Region};
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
        Ok(Regions { memory, places, registers: vec![0; description.registers as usize] })
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
        let [region, selected, ..] = instruction.immediates;
        let (start, width, rows) = self.places[region as usize];
        let row = match instruction.op {
            Op::RegionLoadAt | Op::RegionStoreAt => self.registers[selected as usize],
            Op::RegionLoad | Op::RegionStore => selected,
            op => unreachable!("{} moves no rows", op.info().name),
        };
        let lanes = instruction.lanes as usize;
        if row.checked_add(lanes as u64).is_none_or(|end| end > rows) {
            return Err(NoSuchRow { row, rows });
        }
        let from = start + row as usize * width;
        let memory = self.memory.as_mut().expect("a region has rows");
        let stored = memory.slice_mut::<W>(from..from + lanes * width);
        if instruction.result_count() > 0 {
            let at = instruction.results[0] as usize;
            let value = frames.slice_mut::<W>(at..at + lanes * width);
            for (bit, wires) in value.chunks_exact_mut(lanes).enumerate() {
                let row = stored.chunks_exact(width);
                wires.iter_mut().zip(row).for_each(|(wire, row)| *wire = row[bit]);
            }
        } else {
            let at = instruction.operands[0] as usize;
            let value = frames.slice::<W>(at..at + lanes * width);
            for (bit, wires) in value.chunks_exact(lanes).enumerate() {
                let row = stored.chunks_exact_mut(width);
                row.zip(wires).for_each(|(row, wire)| row[bit] = *wire);
            }
        }
        Ok(())
    }
}
