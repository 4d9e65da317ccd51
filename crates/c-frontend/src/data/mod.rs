//! [`CellValue`]: content of a register or a memory cell while a program is executed.

pub(crate) mod constant;
pub(crate) mod float;
pub(crate) mod fold;
pub(crate) mod lanes;

use std::rc::Rc;

use phineus_frontend::Register;
use phineus_frontend::untyped::Value;

/// A value of the running program: public ones are here, secret ones are names.
#[derive(Clone)]
pub(crate) enum CellValue {
    /// Not set yet.
    Undefined,
    /// The result of a mistake that was reported.
    Poison,
    /// An integer, or the null pointer.
    Public(u128),
    /// A place in an object.
    Pointer(u32, i64),
    /// A place in an object that a secret chooses.
    Indexed(Rc<Indexed>),
    /// One of several places, by secrets, each with a bit of whether it is meant
    /// (`evaluate/addresses.rs`).
    Chosen(Rc<[(CellValue, CellValue)]>),
    Function(u32),
    /// A secret of one lane, or of as many as run together.
    Secret(Rc<Value>),
    /// One lane of a secret, not cut out yet.
    Lane(Rc<Value>, u32),
    /// In a cell: what a row of a memory is (`access/rows.rs`).
    Row(u32, u32),
    /// A public integer that is known when the program runs, as [`CellValue::Public`] without a
    /// sign.
    Opened(Register),
    /// A secret in a dry run, in which nothing is recorded.
    Hidden,
    /// An integer for each lane.
    Spread(Rc<[u128]>),
    /// A place in one object for each lane.
    Places(u32, Rc<[i64]>),
    /// The elements of a vector, array or structure.
    Many(Rc<[CellValue]>),
    /// Values that lie one behind the other, with their bytes, on their way to another place.
    Parts(Rc<[(CellValue, u8)]>),
}

/// `offset` plus a multiple for each secret index.
#[derive(Clone)]
pub(crate) struct Indexed {
    pub(crate) object: u32,
    pub(crate) offset: i64,
    pub(crate) terms: Vec<IndexTerm>,
}

impl Indexed {
    /// Whether both are surely the same address.
    pub(crate) fn is_same(&self, other: &Indexed) -> bool {
        let is_same = |(a, b): (&IndexTerm, &IndexTerm)| {
            (a.width, a.stride) == (b.width, b.stride) && a.index.is_same(&b.index)
        };
        (self.object, self.offset, self.terms.len())
            == (other.object, other.offset, other.terms.len())
            && self.terms.iter().zip(&other.terms).all(is_same)
    }
}

/// A secret index of `width` bits, `stride` bytes each, below `bound` where C says so.
#[derive(Clone)]
pub(crate) struct IndexTerm {
    pub(crate) index: CellValue,
    pub(crate) width: u16,
    pub(crate) stride: i64,
    pub(crate) bound: Option<u64>,
}

/// Each with its bit.
pub(crate) type Choices = Rc<[(CellValue, CellValue)]>;

impl CellValue {
    pub(crate) fn bit(bit: bool) -> CellValue {
        CellValue::Public(u128::from(bit))
    }

    /// Returns whether the value is an integer that is known only at run time.
    pub(crate) fn is_secret(&self) -> bool {
        matches!(
            self,
            CellValue::Secret(_) | CellValue::Lane(..) | CellValue::Hidden | CellValue::Opened(_)
        )
    }

    /// Whether both are surely the same.
    pub(crate) fn is_same(&self, other: &CellValue) -> bool {
        match (self, other) {
            (CellValue::Undefined, CellValue::Undefined) => true,
            (CellValue::Public(a), CellValue::Public(b)) => a == b,
            (CellValue::Pointer(a, x), CellValue::Pointer(b, y)) => (a, x) == (b, y),
            (CellValue::Function(a), CellValue::Function(b)) => a == b,
            (CellValue::Opened(a), CellValue::Opened(b)) => a == b,
            (CellValue::Row(a, x), CellValue::Row(b, y)) => (a, x) == (b, y),
            (CellValue::Secret(a), CellValue::Secret(b)) => Rc::ptr_eq(a, b),
            (CellValue::Lane(a, i), CellValue::Lane(b, j)) => Rc::ptr_eq(a, b) && i == j,
            (CellValue::Spread(a), CellValue::Spread(b)) => a == b,
            (CellValue::Places(a, x), CellValue::Places(b, y)) => a == b && x == y,
            (CellValue::Indexed(a), CellValue::Indexed(b)) => Rc::ptr_eq(a, b),
            (CellValue::Chosen(a), CellValue::Chosen(b)) => Rc::ptr_eq(a, b),
            (CellValue::Many(a), CellValue::Many(b)) => {
                a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.is_same(b))
            }
            _ => false,
        }
    }
}

/// The low `width` bits.
pub(crate) fn mask(width: u16) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

/// As a signed integer of `width` bits.
pub(crate) fn signed(value: u128, width: u16) -> i128 {
    let unused = 128 - u32::from(width.clamp(1, 128));
    ((value << unused) as i128) >> unused
}

pub(crate) fn is_address(data: &CellValue) -> bool {
    matches!(
        data,
        CellValue::Pointer(..)
            | CellValue::Indexed(_)
            | CellValue::Places(..)
            | CellValue::Chosen(_)
    )
}

/// Returns whether the object that the address points into is known, if it points into one.
pub(crate) fn has_place(data: &CellValue) -> bool {
    matches!(
        data,
        CellValue::Pointer(..)
            | CellValue::Indexed(_)
            | CellValue::Places(..)
            | CellValue::Public(0)
    )
}

pub(crate) fn is_integer(data: &CellValue) -> bool {
    matches!(data, CellValue::Secret(_) | CellValue::Lane(..) | CellValue::Public(_))
}

/// An integer of which there is one for all lanes.
pub(crate) fn is_single_integer(data: &CellValue) -> bool {
    match data {
        CellValue::Secret(value) => value.lanes() == 1,
        data => is_integer(data),
    }
}

/// An integer that was not set is 0 where others are.
pub(crate) fn zero_if_unset(data: &mut CellValue) {
    if matches!(data, CellValue::Undefined) {
        *data = CellValue::Public(0);
    }
}

/// An address further on.
pub(crate) fn moved(place: CellValue, offset: i64) -> CellValue {
    match place {
        _ if offset == 0 => place,
        CellValue::Pointer(object, at) => CellValue::Pointer(object, at.wrapping_add(offset)),
        CellValue::Places(object, at) => {
            CellValue::Places(object, at.iter().map(|at| at.wrapping_add(offset)).collect())
        }
        CellValue::Indexed(indexed) => {
            let mut indexed = (*indexed).clone();
            indexed.offset += offset;
            CellValue::Indexed(Rc::new(indexed))
        }
        CellValue::Chosen(choices) => {
            let to =
                |(bit, place): &(CellValue, CellValue)| (bit.clone(), moved(place.clone(), offset));
            CellValue::Chosen(choices.iter().map(to).collect())
        }
        other => other,
    }
}
