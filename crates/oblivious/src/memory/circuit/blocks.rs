//! [`Blocks`]: rows with their numbers and leaves, some in lanes.

use phineus_frontend::Value;

/// The most bits of a column of a block: on shares, of a row that is selected in one piece.
const COLUMN_BITS: u16 = 128;

/// Blocks, one in each lane.
///
/// A block that is not there may have any other bits.
#[derive(Clone)]
pub(super) struct Blocks {
    /// From the lowest bit on: the number of the block, whether it is there, and on which side of each tree node further down its
    /// leaf lies.
    pub(super) head: Value,
    /// The row, cut into columns.
    pub(super) data: Vec<Value>,
}

impl Blocks {
    /// All columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = &Value> {
        std::iter::once(&self.head).chain(&self.data)
    }

    fn columns_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        std::iter::once(&mut self.head).chain(&mut self.data)
    }

    /// Exchanges the block in the lane where a bit is 1 with `held`; nothing if there is no such lane.
    ///
    /// Cost: an AND for each bit of each block.
    #[track_caller]
    pub(super) fn exchange(&mut self, chosen: &Value, held: &mut Blocks) {
        for (blocks, held) in self.columns_mut().zip(held.columns_mut()) {
            let difference = chosen.mask(&blocks.xor(&held.tile(blocks.lanes())));
            *blocks = blocks.xor(&difference);
            *held = held.xor(&difference.lane_xor());
        }
    }

    /// Takes out the block in the lane where a bit is 1, or one of zeros.
    ///
    /// Cost: as [`Blocks::exchange`].
    #[track_caller]
    pub(super) fn take(&mut self, chosen: &Value) -> Blocks {
        let mut taken = self.columns_mut().map(|blocks| {
            let product = chosen.mask(blocks);
            *blocks = blocks.xor(&product);
            product.lane_xor()
        });
        let head = taken.next().expect("a block has a head");
        Blocks { head, data: taken.collect() }
    }
}

/// Widths of the columns of so many bits.
pub(super) fn column_widths(bits: u64) -> Vec<u16> {
    let column = u64::from(COLUMN_BITS);
    let starts = (0..bits).step_by(COLUMN_BITS.into());
    starts.map(|start| (bits - start).min(column) as u16).collect()
}

/// The bits of `parts`, one behind another, in columns of these widths.
#[track_caller]
pub(super) fn cut(parts: &[Value], widths: &[u16]) -> Vec<Value> {
    let mut from = 0;
    let column = |&width: &u16| {
        from += u64::from(width);
        window(parts, from - u64::from(width), width)
    };
    widths.iter().map(column).collect()
}

/// The `width` bits from bit `from` on of the concatenation of `parts`.
#[track_caller]
pub(super) fn window(parts: &[Value], from: u64, width: u16) -> Value {
    let end = from + u64::from(width);
    let (mut start, mut found): (u64, Option<Value>) = (0, None);
    for part in parts {
        let next = start + u64::from(part.width());
        let (low, high) = (start.max(from), next.min(end));
        if low < high {
            let slice = part.bit_slice((low - start) as u16, (high - low) as u16);
            found = Some(found.map_or(slice.clone(), |found| found.bit_concat(&slice)));
        }
        start = next;
    }
    found.expect("the parts have these bits")
}
