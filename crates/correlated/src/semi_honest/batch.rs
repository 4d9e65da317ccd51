//! [`Batch`]: correlated randomness of one kind, made together, column by column.

use phineus_crypto::Block;
use phineus_crypto::point_function::PointBits;
use phineus_ot::packing::copy_bits;
use zerocopy::IntoBytes;
use zeroize::{Zeroize, Zeroizing};

use super::costs::{PartyPair, offered_ots};
use super::limits::{BATCH_ELEMENTS, BATCH_OTS, KNOWN_ROW_BITS};
use super::point_functions::batch_points;
use super::{KNOWN_WIDTH_MAX, Kind, POINT_BITS_MAX};
use crate::demand::BatchScale;
use crate::generator::RandomnessBatch;
use crate::stored::StoredBatch;

/// The widest element of a ring.
const RING_WIDTH_MAX: u16 = 64;

/// The most columns that a kind has.
pub(super) const COLUMNS_MAX: usize = 3;

impl Kind {
    /// Columns of this kind: `a`, `b`, `c` of triples, `a`, `c` of pairs, bits and elements of
    /// shared bits, points and keys.
    pub(super) fn columns(self) -> usize {
        match self {
            Kind::BitTriple | Kind::RingTriple { .. } | Kind::KnownTriple { .. } => 3,
            Kind::SquarePair { .. } | Kind::SharedBit { .. } | Kind::PointFunction { .. } => 2,
        }
    }

    /// Whether a column holds bits, packed, and not words.
    pub(super) fn is_packed(self, column: usize) -> bool {
        match self {
            Kind::BitTriple | Kind::KnownTriple { .. } => true,
            Kind::SharedBit { .. } | Kind::PointFunction { .. } => column == 0,
            Kind::RingTriple { .. } | Kind::SquarePair { .. } => false,
        }
    }

    /// Strings of bits, one for each element, that a packed column consists of.
    pub(super) fn strings(self, column: usize) -> usize {
        match self {
            Kind::KnownTriple { width, .. } if column > 0 => width.into(),
            Kind::PointFunction { bits } => bits.into(),
            Kind::KnownTriple { .. }
            | Kind::BitTriple
            | Kind::SharedBit { .. }
            | Kind::RingTriple { .. }
            | Kind::SquarePair { .. } => 1,
        }
    }

    /// Words of each element in a column that is not packed.
    fn element_words(self) -> usize {
        match self {
            Kind::PointFunction { bits } => 2 * PointBits::new(bits).key_blocks(),
            Kind::BitTriple
            | Kind::RingTriple { .. }
            | Kind::SquarePair { .. }
            | Kind::SharedBit { .. }
            | Kind::KnownTriple { .. } => 1,
        }
    }

    /// Words of a column of `count` elements.
    pub(super) fn column_words(self, column: usize, count: usize) -> usize {
        match self.is_packed(column) {
            true => self.strings(column) * count.div_ceil(64),
            false => self.element_words() * count,
        }
    }

    /// Bytes of the columns of `count` elements.
    pub(super) fn bytes(self, count: usize) -> u64 {
        (0..self.columns()).map(|column| 8 * self.column_words(column, count) as u64).sum()
    }

    /// Bits of an element.
    ///
    /// # Panics
    /// If it is not in 1 to 64, or to 128 of rows, or to 27 of points.
    pub fn width(self) -> u16 {
        let (width, most) = match self {
            Kind::BitTriple => (1, 1),
            Kind::RingTriple { width } | Kind::SquarePair { width } | Kind::SharedBit { width } => {
                (width, RING_WIDTH_MAX)
            }
            Kind::KnownTriple { width, .. } => (width, KNOWN_WIDTH_MAX),
            Kind::PointFunction { bits } => (bits, POINT_BITS_MAX),
        };
        assert!((1..=most).contains(&width), "an element has 1 to {most} bits");
        width
    }

    /// Whether batches of this size are begun before those before them are finished. A batch of point functions takes a
    /// round for each bit of a point. Where memory is short, there is no space for batches of other kinds than bits.
    pub(super) fn is_begun(self, scale: BatchScale) -> bool {
        match self {
            Kind::BitTriple => true,
            Kind::RingTriple { .. }
            | Kind::SquarePair { .. }
            | Kind::SharedBit { .. }
            | Kind::KnownTriple { .. } => scale == BatchScale::FULL,
            Kind::PointFunction { .. } => false,
        }
    }

    /// Whether the choices in a batch are answered by a message.
    pub(super) fn is_answered(self) -> bool {
        match self {
            Kind::RingTriple { .. } | Kind::SquarePair { .. } | Kind::SharedBit { .. } => true,
            Kind::BitTriple | Kind::KnownTriple { .. } | Kind::PointFunction { .. } => false,
        }
    }

    /// Words of pad with each peer from when a batch is begun until it is finished.
    pub(super) fn pads(self, count: usize) -> usize {
        let (by_lower, by_higher) = offered_ots(self, count, PartyPair::OF_TWO);
        if self.is_answered() { by_lower.max(by_higher) } else { 0 }
    }

    /// Elements of a batch.
    pub fn batch_elements(self, scale: BatchScale) -> usize {
        let (width, ots) = (usize::from(self.width()), scale.of(BATCH_OTS));
        let elements = match self {
            Kind::BitTriple => ots,
            Kind::RingTriple { .. } => ots / width,
            // Each direction between two parties does one half, with width - 1 OTs for each.
            Kind::SquarePair { .. } => 2 * (ots / (width - 1).max(1)),
            Kind::SharedBit { .. } => 2 * ots,
            Kind::KnownTriple { .. } => ots * KNOWN_ROW_BITS / width.max(KNOWN_ROW_BITS),
            Kind::PointFunction { bits } => batch_points(PointBits::new(bits), scale),
        };
        elements.min(scale.of(BATCH_ELEMENTS))
    }
}

/// Bytes of the key of a file that lies beside a stored one and is used with it.
pub const COMPANION_KEY_BYTES: usize = size_of::<Block>();

/// Correlated randomness of one kind. Wiped on drop.
pub struct Batch {
    kind: Kind,
    count: usize,
    pub(super) columns: [Zeroizing<Vec<u64>>; COLUMNS_MAX],
}

impl Batch {
    /// An empty batch, whose memory grows to that of the largest batch it ever holds.
    pub fn empty() -> Batch {
        Batch {
            kind: Kind::BitTriple,
            count: 0,
            columns: std::array::from_fn(|_| Vec::new().into()),
        }
    }

    /// Kind of the correlated randomness in the batch.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Makes it a batch of `count` zeros of `kind`.
    pub(super) fn reset(&mut self, kind: Kind, count: usize) {
        (self.kind, self.count) = (kind, count);
        for (column, words) in self.columns.iter_mut().enumerate() {
            let len = if column < kind.columns() { kind.column_words(column, count) } else { 0 };
            // Growing would leave a copy behind: what is in there is wiped first.
            words.as_mut_slice().zeroize();
            words.clear();
            words.resize(len, 0);
        }
    }

    /// Copies `count` elements from number `from` to number `to` of `targets`.
    pub(super) fn copy(&self, from: usize, targets: &mut [&mut [u64]], to: usize, count: usize) {
        for (column, target) in targets.iter_mut().enumerate() {
            let source = &self.columns[column];
            if self.kind.is_packed(column) {
                let strings = self.kind.strings(column);
                let (own, wanted) = (source.len() / strings, target.len() / strings);
                let both = source.chunks_exact(own).zip(target.chunks_exact_mut(wanted));
                both.for_each(|(source, target)| copy_bits(source, from, target, to, count));
            } else {
                let words = self.kind.element_words();
                let source = &source[words * from..][..words * count];
                target[words * to..][..words * count].copy_from_slice(source);
            }
        }
    }
}

impl RandomnessBatch for Batch {
    type Kind = Kind;

    fn empty() -> Batch {
        Batch::empty()
    }

    fn kind(&self) -> Kind {
        self.kind
    }

    fn count(&self) -> usize {
        self.count
    }
}

/// Words lie in files as in memory.
const _: () = assert!(cfg!(target_endian = "little"));

impl StoredBatch for Batch {
    const FAMILY: [u8; 8] = *b"shares 2";
    /// The key of the file that lies beside it; zeros if there is none.
    const SECRET_BYTES: usize = COMPANION_KEY_BYTES;

    fn code(kind: Kind) -> [u32; 3] {
        let (code, owner) = match kind {
            Kind::BitTriple => (1, 0),
            Kind::RingTriple { .. } => (2, 0),
            Kind::SquarePair { .. } => (3, 0),
            Kind::SharedBit { .. } => (4, 0),
            Kind::KnownTriple { owner, .. } => (5, owner.into()),
            Kind::PointFunction { .. } => (6, 0),
        };
        [code, kind.width().into(), owner]
    }

    fn kind_of([code, width, owner]: [u32; 3]) -> Option<Kind> {
        let most = match code {
            5 => KNOWN_WIDTH_MAX,
            6 => POINT_BITS_MAX,
            _ => RING_WIDTH_MAX,
        };
        let width = u16::try_from(width).ok().filter(|width| (1..=most).contains(width))?;
        match (code, owner) {
            (1, 0) => (width == 1).then_some(Kind::BitTriple),
            (2, 0) => Some(Kind::RingTriple { width }),
            (3, 0) => Some(Kind::SquarePair { width }),
            (4, 0) => Some(Kind::SharedBit { width }),
            (6, 0) => Some(Kind::PointFunction { bits: width }),
            (5, _) => u16::try_from(owner).ok().map(|owner| Kind::KnownTriple { owner, width }),
            _ => None,
        }
    }

    fn bytes(kind: Kind, count: usize, _: usize) -> u64 {
        kind.bytes(count)
    }

    fn reset(&mut self, kind: Kind, count: usize, _: usize) {
        Batch::reset(self, kind, count);
    }

    fn columns(&self) -> impl Iterator<Item = &[u8]> {
        self.columns.iter().map(|words| words.as_bytes())
    }

    fn columns_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        self.columns.iter_mut().map(|words| words.as_mut_slice().as_mut_bytes())
    }
}
