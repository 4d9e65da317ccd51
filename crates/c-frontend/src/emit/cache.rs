//! Values that the emitter recorded before, to be used again.

use std::collections::HashMap;
use std::rc::{Rc, Weak};

use phineus_frontend::untyped::Value;
use phineus_frontend::{BlockId, ConstantTable, Register};

use crate::ir::{Compare, Unary};

/// Lanes that were cut before, each with the value that it is of, which keeps its address.
pub(crate) type Slices = HashMap<(*const Value, u32), (Rc<Value>, Rc<Value>)>;

/// Lanes that were brought together before: of which values, from where on, how many.
pub(crate) type Packs = HashMap<Vec<(*const Value, u32, u32)>, (Vec<Rc<Value>>, Rc<Value>)>;

/// Vectors whose width was changed before: how, and from which lane on.
pub(crate) type Casts = HashMap<(*const Value, Unary, u16, u32), (Rc<Value>, Rc<Value>)>;

/// Lanes cut out, joined and converted in the block that is being recorded.
#[derive(Default)]
pub(super) struct LaneCache {
    pub(super) slices: Slices,
    pub(super) packs: Packs,
    pub(super) casts: Casts,
    /// Constants that differ between lanes, by width.
    pub(super) spreads: HashMap<(u16, Rc<[u128]>), Rc<Value>>,
}

impl LaneCache {
    /// Forgets everything: another block is recorded from now on.
    pub(super) fn clear(&mut self) {
        self.slices.clear();
        self.spreads.clear();
        self.packs.clear();
        self.casts.clear();
    }
}

/// The lowest and the highest bits that are 0.
#[derive(Clone, Copy, Default)]
pub(crate) struct KnownZeroBits {
    pub(crate) low: u16,
    pub(crate) high: u16,
}

/// Bits that are 0, of values that are kept with it.
pub(super) type KnownZeros = HashMap<*const Value, (Rc<Value>, KnownZeroBits)>;

/// Circuits of tables of constants, by rows and their width.
pub(super) type ConstantTables = HashMap<(Vec<u128>, u16), Rc<ConstantTable>>;

/// The greatest values of unsigned integers. Of a value that only this knows nothing is left but its address.
pub(super) type Greatest = HashMap<*const Value, (Weak<Value>, u128)>;

/// Sums of an integer and a constant, by the address of the sum: both, and the constant.
pub(super) type Sums = HashMap<*const Value, (Weak<Value>, WeakInteger, u128)>;

/// A secret integer that is not held: what is computed from it may still wait for that.
pub(super) enum WeakInteger {
    Secret(Weak<Value>),
    Lane(Weak<Value>, u32),
}

/// Names, bounds and constant registers of opened integers.
#[derive(Default)]
pub(super) struct OpenedIntegers {
    /// How often something was opened in each block under a name.
    pub(super) names: HashMap<(BlockId, String), u32>,
    /// Registers that a block set to a constant.
    pub(super) constants: HashMap<(BlockId, u64), Register>,
    /// Upper bounds of opened integers, each with the comparison that states it.
    pub(super) most: HashMap<Register, (Compare, u128)>,
}
