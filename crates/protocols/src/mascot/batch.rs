//! [`Kind`] and [`Batch`]: what is made, and what was made together.

use phineus_crypto::field::Field;
use zeroize::{DefaultIsZeroes, Zeroize, Zeroizing};

use super::limits::{BATCH_ELEMENTS, MASK_BATCH_ELEMENTS, MATRIX_ELEMENTS_MAX};
use crate::spdz::Share;

/// The most columns that a kind has.
pub(super) const COLUMNS_MAX: usize = 3;

/// A kind of authenticated material.
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
    /// A random matrix `a`, column by column, a random vector `b`, and `c = a * b`.
    Matrix {
        /// Elements of `c`.
        rows: u32,
        /// Elements of `b`.
        cols: u32,
    },
}

impl Kind {
    /// Elements of each column of one item.
    pub(super) fn item_elements(self) -> [usize; COLUMNS_MAX] {
        match self {
            Kind::Triple => [1, 1, 1],
            Kind::Square => [1, 1, 0],
            Kind::Bit | Kind::Mask { .. } => [1, 0, 0],
            Kind::Matrix { rows, cols } => {
                let [rows, cols] = [rows as usize, cols as usize];
                [rows * cols, cols, rows]
            }
        }
    }

    /// Items of a full batch.
    pub fn batch_items(self) -> usize {
        match self {
            Kind::Triple | Kind::Square | Kind::Bit => BATCH_ELEMENTS,
            Kind::Mask { .. } => MASK_BATCH_ELEMENTS,
            Kind::Matrix { .. } => {
                let [elements, _, _] = self.item_elements();
                (MATRIX_ELEMENTS_MAX / elements.max(1)).max(1)
            }
        }
    }
}

/// Material of one kind. Wiped on drop.
pub struct Batch<F: Field> {
    kind: Kind,
    count: usize,
    pub(super) columns: [Zeroizing<Vec<Share<F>>>; COLUMNS_MAX],
    /// What the owner of masks knows; empty at all others.
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

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The shares of a column, as in [`crate::spdz::Material`].
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

/// Makes it `len` zeros. Growing would leave a copy behind: what is in there is wiped first.
pub(super) fn refill<T: DefaultIsZeroes>(elements: &mut Vec<T>, len: usize) {
    elements.as_mut_slice().zeroize();
    elements.clear();
    elements.resize(len, T::default());
}
