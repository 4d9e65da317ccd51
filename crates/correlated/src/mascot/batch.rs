//! [`Kind`] and [`Batch`]: kinds of correlated randomness, and values that were made together.

use phineus_crypto::field::Field;
use zerocopy::IntoBytes;
use zeroize::{DefaultIsZeroes, Zeroize, Zeroizing};

use super::limits::{
    BATCH_ELEMENTS, BOUNDED_BATCH_ITEMS, MASK_BATCH_ELEMENTS, MATRIX_ELEMENTS_MAX,
};
use crate::authenticated::{MatrixSize, Share};
use crate::demand::BatchScale;
use crate::generator::RandomnessBatch;
use crate::stored::StoredBatch;

/// The most columns that a kind has.
pub(super) const COLUMNS_MAX: usize = 3;

/// A kind of authenticated correlated randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Random `a` and `b`, and `c = a * b`.
    Triple,
    /// Random `a`, and `c = a * a`.
    Square,
    /// Random elements that are zero or one.
    Bit,
    /// Random elements that one party knows.
    Mask {
        /// Who knows them.
        owner: u16,
    },
    /// Random bits that one party knows.
    BitMask {
        /// Who knows them.
        owner: u16,
    },
    /// Sums of a random integer of [`BOUNDED_BITS`](crate::authenticated::BOUNDED_BITS) bits of each party.
    Bounded,
    /// Random matrices `a` and `b`, and `c = a * b`, all column by column.
    Matrix(MatrixSize),
}

impl Kind {
    /// Elements of each column of one item.
    pub(super) fn item_elements(self) -> [usize; COLUMNS_MAX] {
        match self {
            Kind::Triple => [1, 1, 1],
            Kind::Square => [1, 1, 0],
            Kind::Bit | Kind::Mask { .. } | Kind::BitMask { .. } | Kind::Bounded => [1, 0, 0],
            Kind::Matrix(size) => [size.entries(), size.factors(), size.results()],
        }
    }

    /// Items of a batch.
    pub fn batch_items(self, scale: BatchScale) -> usize {
        match self {
            Kind::Triple | Kind::Square | Kind::Bit => scale.of(BATCH_ELEMENTS),
            Kind::Mask { .. } | Kind::BitMask { .. } => scale.of(MASK_BATCH_ELEMENTS),
            Kind::Bounded => scale.of(BOUNDED_BATCH_ITEMS),
            Kind::Matrix(size) => {
                (scale.of(MATRIX_ELEMENTS_MAX) / size.multiplications().max(1)).max(1)
            }
        }
    }
}

/// Correlated randomness of one kind. Wiped on drop.
pub struct Batch<F: Field> {
    kind: Kind,
    count: usize,
    pub(super) columns: [Zeroizing<Vec<Share<F>>>; COLUMNS_MAX],
    /// Values of the masks, at their owner; empty at all other parties.
    pub(super) values: Zeroizing<Vec<F>>,
}

impl<F: Field> Batch<F> {
    /// An empty batch, whose memory grows to that of the largest batch it ever holds.
    pub fn empty() -> Batch<F> {
        Batch {
            kind: Kind::Triple,
            count: 0,
            columns: std::array::from_fn(|_| Vec::new().into()),
            values: Vec::new().into(),
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

    /// The shares of a column, as in [`crate::authenticated::AuthenticatedRandomness`].
    pub fn column(&self, column: usize) -> &[Share<F>] {
        &self.columns[column]
    }

    /// Masks in the clear, at their owner.
    pub fn values(&self) -> &[F] {
        &self.values
    }

    /// Makes it a batch of `count` zeros of `kind`.
    pub(super) fn reset(&mut self, kind: Kind, count: usize) {
        (self.kind, self.count) = (kind, count);
        for (column, elements) in self.columns.iter_mut().zip(kind.item_elements()) {
            refill(column, count * elements);
        }
        refill(&mut self.values, 0);
    }
}

impl<F: Field> RandomnessBatch for Batch<F> {
    type Kind = Kind;

    fn empty() -> Batch<F> {
        Batch::empty()
    }

    fn kind(&self) -> Kind {
        self.kind
    }

    fn count(&self) -> usize {
        self.count
    }
}

/// The name in files of correlated randomness in this field.
const fn family<F: Field>() -> [u8; 8] {
    let [low, high] = (F::BITS as u16).to_le_bytes();
    [b'M', b'A', b'C', b's', b' ', b'p', low, high]
}

impl<F: Field> StoredBatch for Batch<F> {
    const FAMILY: [u8; 8] = family::<F>();
    /// The share of the key.
    const SECRET_BYTES: usize = F::BYTES;

    fn code(kind: Kind) -> [u32; 3] {
        match kind {
            Kind::Triple => [1, 0, 0],
            Kind::Square => [2, 0, 0],
            Kind::Bit => [3, 0, 0],
            Kind::Mask { owner } => [4, owner.into(), 0],
            Kind::BitMask { owner } => [6, owner.into(), 0],
            Kind::Bounded => [7, 0, 0],
            Kind::Matrix(MatrixSize { rows, cols, vectors }) => {
                [5 | (vectors - 1) << 8, rows, cols]
            }
        }
    }

    fn kind_of(code: [u32; 3]) -> Option<Kind> {
        match code {
            [1, 0, 0] => Some(Kind::Triple),
            [2, 0, 0] => Some(Kind::Square),
            [3, 0, 0] => Some(Kind::Bit),
            [4, owner, 0] => Some(Kind::Mask { owner: owner.try_into().ok()? }),
            [6, owner, 0] => Some(Kind::BitMask { owner: owner.try_into().ok()? }),
            [7, 0, 0] => Some(Kind::Bounded),
            [code, rows, cols] if code & 0xff == 5 && rows > 0 && cols > 0 => {
                Some(Kind::Matrix(MatrixSize { rows, cols, vectors: (code >> 8) + 1 }))
            }
            _ => None,
        }
    }

    fn bytes(kind: Kind, count: usize, me: usize) -> u64 {
        let shares: usize = kind.item_elements().iter().sum();
        let elements = 2 * shares + usize::from(is_owner(kind, me));
        (count * elements * F::BYTES) as u64
    }

    fn reset(&mut self, kind: Kind, count: usize, me: usize) {
        Batch::reset(self, kind, count);
        refill(&mut self.values, if is_owner(kind, me) { count } else { 0 });
    }

    fn columns(&self) -> impl Iterator<Item = &[u8]> {
        let columns = self.columns.iter().map(|shares| shares.as_bytes());
        columns.chain([self.values.as_bytes()])
    }

    fn columns_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let columns = self.columns.iter_mut().map(|shares| shares.as_mut_slice().as_mut_bytes());
        columns.chain([self.values.as_mut_slice().as_mut_bytes()])
    }
}

/// Whether party `me` knows the elements.
fn is_owner(kind: Kind, me: usize) -> bool {
    matches!(kind, Kind::Mask { owner } | Kind::BitMask { owner } if usize::from(owner) == me)
}

/// Makes it `len` zeros. Growing would leave a copy behind: what is in there is wiped first.
pub(super) fn refill<T: DefaultIsZeroes>(elements: &mut Vec<T>, len: usize) {
    elements.as_mut_slice().zeroize();
    elements.clear();
    elements.resize(len, T::default());
}
