//! [`Regions`]: arrays of rows outside the frames, from which opened registers select.
//!
//! A plan states where every value lies, but not which row of a region is touched: a register says that, which all
//! parties opened while the program ran. Rows lie one after another, each as a value of one lane and inside one page, so
//! that a row is one copy. Values of many lanes are gathered and scattered wire by wire, or, where lanes are packed, bit
//! by bit: a bit of a row then takes a byte.
//!
//! Regions that do not fit into memory are paged on demand, between frames of their own and a swap file of their own
//! (`paging.rs`).
//!
//! Cost: a copy of each row. Memory: [`Regions::bytes`]. Public: which rows are touched, in which order.

mod paging;

use phineus_bytecode::{
    Description, Instruction, Lane, Layout, Op, Region, ValueSize, row_of_group,
};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::storage::{FrameMemory, StorageBackend, StorageError, StorageStatistics};
use paging::RegionPaging;

pub use paging::REGION_PAGE_BYTES;

/// A register selects a row that the region does not have: the program is wrong, or a party deviates from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {row} of a region of {rows} rows was selected")]
pub struct NoSuchRow {
    /// The row.
    pub row: u64,
    /// How many rows there are.
    pub rows: u64,
}

/// Why rows of a region cannot be moved.
#[derive(Debug, thiserror::Error)]
pub enum RegionError {
    /// There is no such row.
    #[error(transparent)]
    Row(#[from] NoSuchRow),
    /// A page could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Regions and public registers of a run. Wiped on drop.
#[derive(Default)]
pub struct Regions {
    memory: Option<FrameMemory>,
    /// Moves pages, unless all of them are in memory.
    paging: Option<RegionPaging>,
    places: Vec<RegionPlace>,
    registers: Vec<u64>,
    layout: Layout,
    /// How often the block at hand has run in a row before.
    pub(crate) iteration: u64,
}

/// Where the rows of a region lie: behind those of others in one page, or from the beginning of a page on.
#[derive(Clone, Copy)]
struct RegionPlace {
    first_page: u64,
    /// Units of other regions before them in that page.
    offset: usize,
    rows: u64,
    rows_of_page: u64,
    /// Units of a row.
    row_units: usize,
}

impl RegionPlace {
    /// Behind `used` units of other regions in page `page`, if it fits there.
    fn new(region: &Region, (page, used): (u64, usize), layout: Layout) -> RegionPlace {
        let row = Instruction::new(Op::RegionLoad, region.element, 1).shape();
        let (row_units, rows) = (layout.units(row) as usize, region.rows);
        let room = ((page_units(layout) - used) / row_units.max(1)) as u64;
        if rows <= room {
            return RegionPlace {
                first_page: page,
                offset: used,
                rows,
                rows_of_page: rows,
                row_units,
            };
        }
        let rows_of_page = (page_units(layout) / row_units.max(1)).max(1) as u64;
        RegionPlace {
            first_page: page + u64::from(used > 0),
            offset: 0,
            rows,
            rows_of_page,
            row_units,
        }
    }

    /// The page behind the last row, and the units before it in that page.
    fn end(&self) -> (u64, usize) {
        let last = self.first_page.saturating_add((self.rows - 1) / self.rows_of_page);
        let rows = (self.rows - 1) % self.rows_of_page + 1;
        (last, self.offset + rows as usize * self.row_units)
    }
}

/// Units of a page.
fn page_units(layout: Layout) -> usize {
    REGION_PAGE_BYTES as usize / usize::from(layout.unit_bytes)
}

fn places(description: &Description, layout: Layout) -> Vec<RegionPlace> {
    let mut end = (0, 0);
    let place = |region: &Region| {
        let place = RegionPlace::new(region, end, layout);
        end = place.end();
        place
    };
    description.regions.iter().map(place).collect()
}

/// Where and how regions are paged that do not fit into memory.
#[derive(Clone, Copy, Debug)]
pub struct RegionSwap<'a> {
    /// Pages in memory; 0 for all.
    pub frames: u64,
    /// Where the swap file is made.
    pub directory: &'a std::path::Path,
    /// How pages are moved.
    pub backend: StorageBackend,
}

impl RegionSwap<'static> {
    /// All pages are in memory.
    pub fn none() -> RegionSwap<'static> {
        RegionSwap { frames: 0, directory: std::path::Path::new(""), backend: StorageBackend::Auto }
    }
}

impl Regions {
    /// Pages of all regions of a program.
    pub fn pages(description: &Description, layout: Layout) -> u64 {
        places(description, layout).last().map_or(0, |last| last.end().0.saturating_add(1))
    }

    /// Memory of the regions and registers of a program, of which `frames` pages are in memory, or all if it is 0.
    pub fn bytes(description: &Description, layout: Layout, frames: u64) -> u64 {
        let pages = Regions::pages(description, layout);
        let held = match frames {
            0 => pages.saturating_mul(REGION_PAGE_BYTES.into()),
            frames => RegionPaging::bytes(pages, frames),
        };
        held.saturating_add(8 * u64::from(description.registers))
    }

    /// Pages that an instruction on a region touches at most.
    pub fn touched_pages(description: &Description, layout: Layout, i: &Instruction) -> u64 {
        let [index, first, stride, _] = i.immediates;
        let place = RegionPlace::new(&description.regions[index as usize], (0, 0), layout);
        let lanes = u64::from(i.lanes);
        match i.op {
            // It may begin anywhere in a page.
            Op::RegionLoadAt | Op::RegionStoreAt => (lanes - 1).div_ceil(place.rows_of_page) + 1,
            // In another iteration, too.
            Op::RegionLoad | Op::RegionStore if stride > 0 => {
                (lanes - 1).div_ceil(place.rows_of_page) + 1
            }
            Op::RegionLoad | Op::RegionStore => {
                (first + lanes - 1) / place.rows_of_page - first / place.rows_of_page + 1
            }
            op => unreachable!("{} touches no rows", op.info().name),
        }
    }

    /// Regions full of zeros, and registers.
    ///
    /// # Errors
    /// If the operating system gives no memory, or no room for a swap file.
    ///
    /// # Panics
    /// If the regions have 2^32 pages, which no disk has room for.
    pub fn new(
        description: &Description,
        layout: Layout,
        swap: RegionSwap<'_>,
    ) -> Result<Regions, StorageError> {
        let pages = u32::try_from(Regions::pages(description, layout)).expect("pages of a disk");
        let frames = match swap.frames {
            0 => pages,
            frames => u32::try_from(frames).expect("frames are part of a memory limit").min(pages),
        };
        let memory =
            (frames > 0).then(|| FrameMemory::new(frames, REGION_PAGE_BYTES)).transpose()?;
        let paging = match &memory {
            Some(memory) if frames < pages => Some(RegionPaging::new(memory, pages, swap)?),
            Some(_) | None => None,
        };
        let registers = vec![0; description.registers as usize];
        Ok(Regions {
            memory,
            paging,
            places: places(description, layout),
            registers,
            layout,
            iteration: 0,
        })
    }

    /// Pages moved so far; nothing if all are in memory.
    pub fn statistics(&self) -> Option<StorageStatistics> {
        self.paging.as_ref().map(RegionPaging::statistics)
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
    ) -> Result<(), RegionError> {
        let [region, selected, stride, _] = instruction.immediates;
        let place = self.places[region as usize];
        let row = match instruction.op {
            Op::RegionLoadAt | Op::RegionStoreAt => {
                row_of_group(self.registers[selected as usize], stride, instruction.lanes)
            }
            Op::RegionLoad | Op::RegionStore => (selected + self.iteration * stride) % place.rows,
            op => unreachable!("{} moves no rows", op.info().name),
        };
        let lanes = instruction.lanes as usize;
        let end = row.checked_add(lanes as u64).filter(|&end| end <= place.rows);
        let end = end.ok_or(NoSuchRow { row, rows: place.rows })?;
        let shape = instruction.shape();
        let units = self.layout.units(shape) as usize;
        let is_load = instruction.result_count() > 0;
        let at = if is_load { instruction.results[0] } else { instruction.operands[0] } as usize;
        let value = frames.slice_mut::<W>(at..at + units);
        let size = self.layout.size(shape.sharing);
        if is_load && matches!(size, ValueSize::Rows { .. }) {
            value.as_mut_bytes().fill(0);
        }
        let mut next = row;
        while next < end {
            // The rows of one page.
            let (page, inside) = (next / place.rows_of_page, next % place.rows_of_page);
            let count = (place.rows_of_page - inside).min(end - next) as usize;
            let page = place.first_page + page;
            let memory = self.memory.as_mut().expect("a region has rows");
            let frame = match &mut self.paging {
                Some(paging) => paging.frame(memory, page as u32, !is_load)? as usize,
                None => page as usize,
            };
            let from =
                frame * page_units(self.layout) + place.offset + inside as usize * place.row_units;
            let rows = memory.slice_mut::<W>(from..from + count * place.row_units);
            let lane = (next - row) as usize;
            let moved = MovedRows { lanes, lane, count, row_units: place.row_units, is_load };
            match size {
                _ if lanes == 1 && is_load => value.copy_from_slice(rows),
                _ if lanes == 1 => rows.copy_from_slice(value),
                ValueSize::Wires { units: 1 } => moved.wires(value, rows),
                ValueSize::Rows { copies } => {
                    let bits = usize::from(shape.width) * usize::from(copies);
                    let value = &mut value.as_mut_bytes()[..bits * lanes.div_ceil(8)];
                    moved.bits(value, rows.as_mut_bytes(), self.layout.unit_bytes.into());
                }
                ValueSize::LaneElements { bytes, copies } => {
                    let bytes = usize::from(bytes) * usize::from(copies);
                    moved.elements(value.as_mut_bytes(), rows.as_mut_bytes(), (1, bytes));
                }
                ValueSize::WireElements { bytes, copies } => {
                    let of = (usize::from(shape.width), usize::from(bytes) * usize::from(copies));
                    moved.elements(value.as_mut_bytes(), rows.as_mut_bytes(), of);
                }
                ValueSize::Wires { .. }
                | ValueSize::RingElements { .. }
                | ValueSize::Fixed { .. } => {
                    unreachable!("no protocol with regions has values of this size")
                }
            }
            next += count as u64;
        }
        Ok(())
    }
}

/// Rows of one page, and the lanes of a value that they are.
struct MovedRows {
    /// Of the value, and the first of them that lies here.
    lanes: usize,
    lane: usize,
    /// How many lie here.
    count: usize,
    row_units: usize,
    is_load: bool,
}

impl MovedRows {
    /// Between lanes of wires and rows of wires.
    fn wires<W: Copy>(&self, value: &mut [W], rows: &mut [W]) {
        for (bit, wires) in value.chunks_exact_mut(self.lanes).enumerate() {
            let wires = wires[self.lane..].iter_mut();
            let rows = rows.chunks_exact_mut(self.row_units);
            match self.is_load {
                true => wires.zip(rows).for_each(|(wire, row)| *wire = row[bit]),
                false => wires.zip(rows).for_each(|(wire, row)| row[bit] = *wire),
            }
        }
    }

    /// Between lanes of `count` elements of `bytes` bytes each, bit-major, and rows of as many.
    fn elements(&self, value: &mut [u8], rows: &mut [u8], (count, bytes): (usize, usize)) {
        let row_bytes = rows.len() / self.count;
        for (k, row) in rows.chunks_exact_mut(row_bytes).enumerate() {
            for (element, in_row) in row.chunks_exact_mut(bytes).take(count).enumerate() {
                let at = (element * self.lanes + self.lane + k) * bytes;
                let in_value = &mut value[at..at + bytes];
                match self.is_load {
                    true => in_value.copy_from_slice(in_row),
                    false => in_row.copy_from_slice(in_value),
                }
            }
        }
    }

    /// Between packed lanes, which are 0 before they are loaded, and rows with a bit in each byte.
    fn bits(&self, value: &mut [u8], rows: &mut [u8], unit_bytes: usize) {
        let row_bytes = self.row_units * unit_bytes;
        for (bit, packed) in value.chunks_exact_mut(self.lanes.div_ceil(8)).enumerate() {
            for (lane, row) in (self.lane..).zip(rows.chunks_exact_mut(row_bytes)) {
                match self.is_load {
                    true => packed[lane / 8] |= (row[bit] & 1) << (lane % 8),
                    false => row[bit] = packed[lane / 8] >> (lane % 8) & 1,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::random::{SeededRng, Seeds};
    use phineus_bytecode::{Domain, ElementType, Sharing};

    use super::*;

    /// A register names a group by its lowest bits, and behind the last row comes the first.
    #[test]
    fn groups_of_rows() {
        let (layout, element, rows) = (Layout::wires(16), ElementType::unsigned(1), 24);
        let mut description = Description { registers: 1, ..Description::default() };
        description.regions.push(Region { element, rows });
        let mut regions = Regions::new(&description, layout, RegionSwap::none()).expect("memory");
        let mut frames = FrameMemory::new(1, REGION_PAGE_BYTES).expect("memory");
        let mut moved = |op, iteration, immediates, values: Option<[u128; 3]>| {
            let mut instruction = Instruction::new(op, element, 3);
            instruction.immediates = immediates;
            if let Some(values) = values {
                frames.slice_mut::<u128>(0..3).copy_from_slice(&values);
            }
            regions.set(0, Lane::from(0b1101u8));
            regions.iteration = iteration;
            regions.step::<u128>(&instruction, &mut frames).map(|()| {
                let found: [u128; 3] = frames.slice::<u128>(0..3).try_into().expect("three");
                found
            })
        };
        // Group 5 of 8, which are the lowest three bits.
        moved(Op::RegionStoreAt, 0, [0, 0, 3, 0], Some([1, 2, 3])).expect("it is there");
        let nothing = Some([0; 3]);
        assert_eq!(moved(Op::RegionLoad, 0, [0, 15, 0, 0], nothing).expect("there"), [1, 2, 3]);
        assert_eq!(moved(Op::RegionLoadAt, 0, [0, 0, 3, 0], nothing).expect("there"), [1, 2, 3]);
        // Group 13 in all bits.
        let beyond = moved(Op::RegionLoadAt, 0, [0, 0, 0, 0], nothing);
        assert!(matches!(beyond, Err(RegionError::Row(NoSuchRow { row: 39, rows: 24 }))));
        // 6 + 5 * 9 is 51, 3 modulo 24.
        moved(Op::RegionStore, 5, [0, 6, 9, 0], Some([7, 8, 9])).expect("it is there");
        assert_eq!(moved(Op::RegionLoad, 0, [0, 3, 0, 0], nothing).expect("there"), [7, 8, 9]);
        assert_eq!(moved(Op::RegionLoad, 5, [0, 6, 9, 0], nothing).expect("there"), [7, 8, 9]);
    }

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
                let mut regions =
                    Regions::new(&description, layout, RegionSwap::none()).expect("memory");
                let mut frames = FrameMemory::new(4, REGION_PAGE_BYTES).expect("memory");
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

    /// So do elements of a field: one for each lane, or for each bit of each lane.
    #[test]
    fn elements_are_stored_as_rows() {
        let seed = Seeds::fresh().draw();
        let mut random = SeededRng::new(seed);
        for case in 0..120 {
            let bytes = [4usize, 8, 16][case % 3];
            let sharing = [Sharing::Arithmetic, Sharing::Boolean][case / 3 % 2];
            let (width, lanes) = (1 + random.below(28) as u16, 1 + random.below(70) as u32);
            let bits = ValueSize::WireElements { bytes: bytes as u16, copies: 2 };
            let layout = Layout {
                unit_bytes: 16,
                domain: Domain::Field,
                arithmetic: ValueSize::LaneElements { bytes: bytes as u16, copies: 2 },
                boolean: bits,
                garbled: bits,
            };
            let element = ElementType::unsigned(width).shared(sharing);
            let rows = u64::from(lanes) + 5;
            let mut description = Description::default();
            description.regions.push(Region { element, rows });
            let mut regions =
                Regions::new(&description, layout, RegionSwap::none()).expect("memory");
            let mut frames = FrameMemory::new(12, REGION_PAGE_BYTES).expect("memory");
            let mut all = Instruction::new(Op::RegionStore, element, lanes);
            let count = if sharing == Sharing::Arithmetic { 1 } else { usize::from(width) };
            let value: Vec<u8> =
                (0..2 * bytes * count * lanes as usize).map(|_| random.next_u64() as u8).collect();
            let units = layout.units(all.shape()) as usize;
            frames.slice_mut::<[u8; 16]>(0..units).as_mut_bytes()[..value.len()]
                .copy_from_slice(&value);
            all.immediates[1] = 3;
            regions.step::<[u8; 16]>(&all, &mut frames).expect("it is there");
            all.op = Op::RegionLoad;
            all.results[0] = 4 * 4096;
            regions.step::<[u8; 16]>(&all, &mut frames).expect("it is there");
            let loaded = frames.slice::<[u8; 16]>(4 * 4096..4 * 4096 + units).as_bytes();
            assert_eq!(loaded[..value.len()], value, "{element} x {lanes}, seed {seed}");
            let lane = random.below(lanes.into()) as usize;
            let mut one = Instruction::new(Op::RegionLoad, element, 1);
            (one.results[0], one.immediates[1]) = (8 * 4096, 3 + lane as u64);
            regions.step::<[u8; 16]>(&one, &mut frames).expect("it is there");
            let units = layout.units(one.shape()) as usize;
            let loaded = frames.slice::<[u8; 16]>(8 * 4096..8 * 4096 + units).as_bytes();
            for (k, row) in value.chunks_exact(2 * bytes * lanes as usize).enumerate() {
                let wanted = &row[2 * bytes * lane..2 * bytes * (lane + 1)];
                let found = &loaded[2 * bytes * k..2 * bytes * (k + 1)];
                assert_eq!(found, wanted, "{element} x {lanes}, seed {seed}");
            }
        }
    }
}
