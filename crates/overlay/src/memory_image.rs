//! [`MemoryImage`]: what a host writes into memory beside the device before a run, and where.
//!
//! Each cell has a memory of its own. It begins with the lanes of the words. Then come the numbers of the labels that the cell
//! reads again, in the order in which it does, 8 bytes each, and then space for the labels that it stores, 16 bytes each, in
//! the order in which it stores them. Each part begins at a multiple of a beat, the same in all memories.

use crate::schedule::STORED;
use crate::stream::Stream;
use crate::word::WRITE_LOAD;

/// Bytes that a memory port of the device moves in a cycle.
pub const MEMORY_BEAT_BYTES: u64 = 64;

/// Quadwords of 64 bits in a beat, and labels.
pub(crate) const BEAT_QUADS: u64 = MEMORY_BEAT_BYTES / 8;
const BEAT_LABELS: u64 = MEMORY_BEAT_BYTES / 16;

/// Where the parts of the memory of each cell are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryLayout {
    /// Address of the first word, a multiple of [`MEMORY_BEAT_BYTES`]; the same in the memory of every cell.
    pub base: u64,
    /// Words, with the header.
    pub word_count: u32,
    /// Beats before the numbers.
    pub fill_offset: u32,
    /// Numbers, in the cell that has most of them.
    pub fill_count: u32,
    /// Beats before the labels.
    pub label_offset: u32,
}

/// The contents of all memories of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryImage {
    /// Where the parts are.
    pub layout: MemoryLayout,
    /// The memory of each cell from the base on.
    pub quads: Vec<Vec<u64>>,
}

impl MemoryImage {
    /// Where the parts of the memories are, for a stream at an address.
    ///
    /// # Panics
    /// As [`MemoryImage::new`].
    pub fn layout(stream: &Stream, base: u64) -> MemoryLayout {
        assert_eq!(base % MEMORY_BEAT_BYTES, 0, "the port moves whole beats");
        let size = stream.parameters.lane_quads();
        let words = stream.quads.len() / size / stream.parameters.cells as usize;
        let fills = Stored::of(stream).fills;
        let fill_count = fills.iter().map(Vec::len).max().unwrap_or(0) as u64;
        let fill_offset = ((words * size) as u64).div_ceil(BEAT_QUADS);
        let narrow = |number: u64| u32::try_from(number).expect("a part is shorter than 256 GiB");
        MemoryLayout {
            base,
            word_count: narrow(words as u64),
            fill_offset: narrow(fill_offset),
            fill_count: narrow(fill_count),
            label_offset: narrow(fill_offset + fill_count.div_ceil(BEAT_QUADS)),
        }
    }

    /// The image of a stream at an address.
    ///
    /// # Panics
    /// If the address is not a multiple of a beat, or a part is longer than its register can say.
    pub fn new(stream: &Stream, base: u64) -> MemoryImage {
        let layout = MemoryImage::layout(stream, base);
        let (cells, size) = (stream.parameters.cells as usize, stream.parameters.lane_quads());
        let Stored { fills, spills } = Stored::of(stream);
        let label_count = spills.iter().copied().max().unwrap_or(0) as u64;
        let fill_offset = u64::from(layout.fill_offset);
        let label_offset = u64::from(layout.label_offset);
        let beats = label_offset + label_count.div_ceil(BEAT_LABELS);
        let memory = |(cell, fills): (usize, Vec<u64>)| {
            let lanes = stream.quads.chunks_exact(size).skip(cell).step_by(cells);
            let mut quads: Vec<u64> = lanes.flatten().copied().collect();
            quads.resize((fill_offset * BEAT_QUADS) as usize, 0);
            quads.extend(fills);
            // No label has this number, so a cell with fewer of them asks for nothing more.
            quads.resize((label_offset * BEAT_QUADS) as usize, u64::MAX);
            quads.resize((beats * BEAT_QUADS) as usize, 0);
            quads
        };
        MemoryImage { layout, quads: fills.into_iter().enumerate().map(memory).collect() }
    }
}

/// The labels that are stored for a time, by cell.
pub(crate) struct Stored {
    /// Numbers of those that each cell reads again, in order.
    pub(crate) fills: Vec<Vec<u64>>,
    /// Those that each cell stores.
    pub(crate) spills: Vec<usize>,
}

impl Stored {
    pub(crate) fn of(stream: &Stream) -> Stored {
        let cells = stream.parameters.cells as usize;
        let (mut fills, mut spills) = (vec![Vec::new(); cells], vec![0; cells]);
        // Cell of each label, and its number there.
        let mut places = Vec::new();
        let mut loads = stream.loads.iter();
        for lanes in stream.steps() {
            let loading = lanes.iter().position(|lane| lane.writes[WRITE_LOAD].is_some());
            if let Some(cell) = loading {
                let number = loads.next().expect("the stream was checked");
                if number & STORED != 0 {
                    let (stored_in, place) = places[(number & !STORED) as usize];
                    assert_eq!(cell, stored_in, "a label returns to its cell");
                    fills[cell].push(place);
                }
            }
            for cell in (0..cells).filter(|&cell| lanes[cell].is_spill) {
                places.push((cell, spills[cell] as u64));
                spills[cell] += 1;
            }
        }
        Stored { fills, spills }
    }
}
