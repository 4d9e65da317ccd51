//! [`Data`]: content of a register or a memory cell while a program is executed.

pub(crate) mod constant;
pub(crate) mod fold;
pub(crate) mod lanes;

use std::rc::Rc;

use phineus_frontend::Register;
use phineus_frontend::untyped::Value;

/// A value of the running program: public ones are here, secret ones are names.
#[derive(Clone)]
pub(crate) enum Data {
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
    Chosen(Rc<[(Data, Data)]>),
    Function(u32),
    /// A secret of one lane, or of as many as run together.
    Secret(Rc<Value>),
    /// One lane of a secret, not cut out yet.
    Lane(Rc<Value>, u32),
    /// A public integer that is known when the program runs, as [`Data::Public`] without a sign.
    Opened(Register),
    /// A secret in a dry run, in which nothing is recorded.
    Hidden,
    /// An integer for each lane.
    Spread(Rc<[u128]>),
    /// A place in one object for each lane.
    Places(u32, Rc<[i64]>),
    /// The elements of a vector, array or structure.
    Many(Rc<[Data]>),
    /// Values that lie one behind the other, with their bytes, on their way to another place.
    Parts(Rc<[(Data, u8)]>),
}

/// `offset` plus a multiple for each secret index.
#[derive(Clone)]
pub(crate) struct Indexed {
    pub(crate) object: u32,
    pub(crate) offset: i64,
    pub(crate) terms: Vec<Term>,
}

/// A secret index of `width` bits, `stride` bytes each, below `bound` where C says so.
#[derive(Clone)]
pub(crate) struct Term {
    pub(crate) index: Data,
    pub(crate) width: u16,
    pub(crate) stride: i64,
    pub(crate) bound: Option<u64>,
}

/// Each with its bit.
pub(crate) type Choices = Rc<[(Data, Data)]>;

impl Data {
    pub(crate) fn bit(bit: bool) -> Data {
        Data::Public(u128::from(bit))
    }

    /// Returns whether the value is an integer that is known only at run time.
    pub(crate) fn is_secret(&self) -> bool {
        matches!(self, Data::Secret(_) | Data::Lane(..) | Data::Hidden | Data::Opened(_))
    }

    /// Whether both are surely the same.
    pub(crate) fn is_same(&self, other: &Data) -> bool {
        match (self, other) {
            (Data::Undefined, Data::Undefined) => true,
            (Data::Public(a), Data::Public(b)) => a == b,
            (Data::Pointer(a, x), Data::Pointer(b, y)) => (a, x) == (b, y),
            (Data::Function(a), Data::Function(b)) => a == b,
            (Data::Opened(a), Data::Opened(b)) => a == b,
            (Data::Secret(a), Data::Secret(b)) => Rc::ptr_eq(a, b),
            (Data::Lane(a, i), Data::Lane(b, j)) => Rc::ptr_eq(a, b) && i == j,
            (Data::Spread(a), Data::Spread(b)) => a == b,
            (Data::Places(a, x), Data::Places(b, y)) => a == b && x == y,
            (Data::Indexed(a), Data::Indexed(b)) => Rc::ptr_eq(a, b),
            (Data::Chosen(a), Data::Chosen(b)) => Rc::ptr_eq(a, b),
            (Data::Many(a), Data::Many(b)) => {
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

pub(crate) fn is_address(data: &Data) -> bool {
    matches!(data, Data::Pointer(..) | Data::Indexed(_) | Data::Places(..) | Data::Chosen(_))
}

/// Returns whether the object that the address points into is known, if it points into one.
pub(crate) fn has_place(data: &Data) -> bool {
    matches!(data, Data::Pointer(..) | Data::Indexed(_) | Data::Places(..) | Data::Public(0))
}

pub(crate) fn is_integer(data: &Data) -> bool {
    matches!(data, Data::Secret(_) | Data::Lane(..) | Data::Public(_))
}

/// An integer that was not set is 0 where others are.
pub(crate) fn zero_if_unset(data: &mut Data) {
    if matches!(data, Data::Undefined) {
        *data = Data::Public(0);
    }
}

/// An address further on.
pub(crate) fn moved(place: Data, offset: i64) -> Data {
    match place {
        _ if offset == 0 => place,
        Data::Pointer(object, at) => Data::Pointer(object, at.wrapping_add(offset)),
        Data::Places(object, at) => {
            Data::Places(object, at.iter().map(|at| at.wrapping_add(offset)).collect())
        }
        Data::Indexed(indexed) => {
            let mut indexed = (*indexed).clone();
            indexed.offset += offset;
            Data::Indexed(Rc::new(indexed))
        }
        Data::Chosen(choices) => {
            let to = |(bit, place): &(Data, Data)| (bit.clone(), moved(place.clone(), offset));
            Data::Chosen(choices.iter().map(to).collect())
        }
        other => other,
    }
}
