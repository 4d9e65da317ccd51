//! [`RegionPaging`]: pages of regions that are brought in when they are touched.
//!
//! Which page comes next is known only when a register has been opened, so this is the one storage traffic that is not
//! planned. Frames are given up in turn, those spared once that were touched since (second chance, Corbato 1968). Pages
//! are encrypted like all others.
//!
//! Cost: at most one page out and one page in for each page that an instruction touches. Public: which pages move.

use super::RegionSwap;
use crate::storage::{
    FrameIndex, FrameMemory, SpillSlot, Storage, StorageConfig, StorageError, StorageStatistics,
};

/// Bytes of a page of regions.
pub const REGION_PAGE_BYTES: u32 = 1 << 16;

/// Transfers in flight at the device.
const DEPTH: u32 = 2;

/// No frame, or no page.
const NONE: u32 = u32::MAX;

/// Which pages lie in which frames.
pub(super) struct RegionPaging {
    storage: Storage,
    /// By page: its frame, and whether it was ever written to the swap file.
    frame_of: Box<[u32]>,
    is_stored: Box<[bool]>,
    frames: Box<[FrameState]>,
    /// The frame that is asked next to give up its page.
    hand: usize,
}

/// The page in a frame.
#[derive(Clone, Copy)]
struct FrameState {
    page: u32,
    is_touched: bool,
    is_changed: bool,
}

impl RegionPaging {
    pub(super) fn new(
        memory: &FrameMemory,
        pages: u32,
        swap: RegionSwap<'_>,
    ) -> Result<RegionPaging, StorageError> {
        let config = StorageConfig {
            directory: swap.directory.to_owned(),
            page_bytes: REGION_PAGE_BYTES,
            slots: pages,
            backend: swap.backend,
            depth: DEPTH,
        };
        let nothing = FrameState { page: NONE, is_touched: false, is_changed: false };
        Ok(RegionPaging {
            storage: Storage::new(&config, memory)?,
            frame_of: vec![NONE; pages as usize].into(),
            is_stored: vec![false; pages as usize].into(),
            frames: vec![nothing; memory.frame_count() as usize].into(),
            hand: 0,
        })
    }

    /// Memory of so many pages of which so many are in frames, frames included.
    pub(super) fn bytes(pages: u64, frames: u64) -> u64 {
        let [pages, frames] = [pages, frames].map(|count| count.min(u32::MAX.into()));
        let notes = pages * (size_of::<u32>() + size_of::<bool>()) as u64
            + frames * size_of::<FrameState>() as u64;
        Storage::memory_bytes(frames as u32, pages as u32, DEPTH)
            + notes
            + frames * u64::from(REGION_PAGE_BYTES)
    }

    pub(super) fn statistics(&self) -> StorageStatistics {
        self.storage.statistics()
    }

    /// The frame that holds `page`, which is brought in if it is not there.
    pub(super) fn frame(
        &mut self,
        memory: &mut FrameMemory,
        page: u32,
        is_changing: bool,
    ) -> Result<u32, StorageError> {
        let mut frame = self.frame_of[page as usize];
        if frame == NONE {
            frame = self.freed(memory)?;
            let index = FrameIndex(frame);
            match self.is_stored[page as usize] {
                true => {
                    self.storage.issue_in(memory, index, SpillSlot(page))?;
                    self.storage.finish_in(memory, index)?;
                }
                // It has its zeros from the beginning.
                false => memory.frame_mut(index).fill(0),
            }
            self.frame_of[page as usize] = frame;
            self.frames[frame as usize].page = page;
        }
        let state = &mut self.frames[frame as usize];
        state.is_touched = true;
        state.is_changed |= is_changing;
        Ok(frame)
    }

    /// A frame whose page is given up.
    fn freed(&mut self, memory: &mut FrameMemory) -> Result<u32, StorageError> {
        loop {
            let frame = self.hand;
            self.hand = (frame + 1) % self.frames.len();
            let state = &mut self.frames[frame];
            if std::mem::take(&mut state.is_touched) {
                continue;
            }
            let page = std::mem::replace(&mut state.page, NONE);
            if page != NONE {
                self.frame_of[page as usize] = NONE;
                if std::mem::take(&mut state.is_changed) {
                    let index = FrameIndex(frame as u32);
                    self.storage.issue_out(memory, index, SpillSlot(page))?;
                    self.storage.finish_out(memory, index)?;
                    self.is_stored[page as usize] = true;
                }
            }
            return Ok(frame as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::random::{SeededRng, Seeds};
    use phineus_bytecode::{Description, ElementType, Instruction, Layout, Op, Region};

    use super::*;
    use crate::regions::Regions;
    use crate::storage::StorageBackend;

    /// Few frames for many pages: rows are what was stored last, and each page moves at most once for each touch.
    #[test]
    fn rows_survive_paging() {
        let seed = Seeds::fresh().draw();
        let mut random = SeededRng::new(seed);
        let directory = tempfile::tempdir().expect("a directory");
        let (layout, element) = (Layout::wires(16), ElementType::unsigned(16));
        let rows = 4000;
        let mut description = Description::default();
        description.regions.push(Region { element, rows });
        let pages = Regions::pages(&description, layout);
        let frames = 2 + random.below(6);
        assert!(pages > 2 * frames, "{pages} pages");
        let backend = StorageBackend::Threads;
        let swap = RegionSwap { frames, directory: directory.path(), backend };
        let mut regions = Regions::new(&description, layout, swap).expect("it can be made");
        let mut values = FrameMemory::new(1, 1 << 20).expect("memory");
        let mut expected = vec![[0u128; 16]; rows as usize];
        let mut touched = 0;
        for _ in 0..2000 {
            let row = random.below(rows);
            let lanes = 1 + random.below((rows - row).min(300)) as u32;
            let is_load = random.one_in(2);
            let op = if is_load { Op::RegionLoad } else { Op::RegionStore };
            let mut instruction = Instruction::new(op, element, lanes);
            instruction.immediates[1] = row;
            if !is_load {
                // The same rows in a later iteration.
                regions.iteration = random.below(1 + row / 3);
                instruction.immediates[1] = row - 3 * regions.iteration;
                instruction.immediates[2] = 3;
            }
            touched += Regions::touched_pages(&description, layout, &instruction);
            let wires = 0..16 * lanes as usize;
            let cell = |wire: usize| (row as usize + wire % lanes as usize, wire / lanes as usize);
            if !is_load {
                for (at, wire) in values.slice_mut::<u128>(wires.clone()).iter_mut().enumerate() {
                    *wire = random.next_u64().into();
                    let (row, bit) = cell(at);
                    expected[row][bit] = *wire;
                }
            }
            regions.step::<u128>(&instruction, &mut values).expect("it is there");
            for (at, wire) in values.slice::<u128>(wires).iter().enumerate() {
                let (row, bit) = cell(at);
                assert_eq!(*wire, expected[row][bit], "row {row}, seed {seed}");
            }
        }
        let moved = regions.statistics().expect("it is paged");
        assert!(moved.pages_in > 0 && moved.pages_out > 0, "seed {seed}");
        assert!(moved.pages_in <= touched && moved.pages_out <= touched, "seed {seed}");
    }
}
