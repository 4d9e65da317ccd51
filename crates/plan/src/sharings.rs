//! Chooses sharings: which parts of a program are computed in arithmetic, Boolean or garbled sharing.
//!
//! Instructions fall into classes ([`classes`]). One pass over each block ([`pass`]) finds what each class costs in each
//! sharing, and which values go from which class to which others, with what their conversions cost. The assignment of
//! least cost is found by minimum cuts ([`moves`], [`cut`]). What a program states binds.
//!
//! Costs add up here, and in a run they do not: rounds wait while something else is computed and sent. So there are
//! several assignments, under several weights
//! ([`SharingRule`](phineus_bytecode::SharingRule)); whoever calls predicts a run of each and takes the
//! best. Costs are whole numbers and all parties find the same.
//!
//! Rounds: the levels of a program are those of its rounds on XOR shares. A class has an equal share of each level on which
//! it computes with others, so that the shares of all classes add up to the depth. In another sharing it has as much of
//! that as its instructions have of their rounds. Each group of values that are converted pays for a whole round on each
//! level, or, in one of the assignments, for an equal share of a round with all groups of the level.
//!
//! Memory: as many classes as [`classes`] allows, and [`GROUPS_MAX`] groups of values; an entry for each value that is alive.

mod classes;
mod cut;
mod levels;
mod model;
mod moves;
mod narrowed;
mod pass;
mod widths;

use phineus_bytecode::{ElementType, Instruction, Op, Sharing};

pub(crate) use classes::{Ancestry, ClassKeys, ClassNumbers, classified};
pub use model::{ProgramPart, SharingModel};
pub use widths::ValueWidths;

use moves::SHARINGS;

/// The sharings in the order of the model.
const ORDER: [Sharing; SHARINGS] = [Sharing::Arithmetic, Sharing::Boolean, Sharing::Garbled];

/// The most groups of values that go from one class to the same others. Those that are too many go to one class each.
const GROUPS_MAX: usize = 4096;

/// The sharings of what a program leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChosenSharings {
    /// One for everything, Boolean or garbled.
    One(Sharing),
    /// Arithmetic sharing for sums and products.
    Arithmetic,
    /// One for each class.
    Classes(ClassSharings),
}

/// The sharing of each class of instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassSharings {
    numbers: ClassNumbers,
    sharings: Vec<Sharing>,
}

impl ClassSharings {
    /// The sharing of an instruction with these keys. One that can have no arithmetic sharing gets another one: classes by
    /// operation and width alone have such instructions among others.
    pub(crate) fn of(&self, i: &Instruction, keys: ClassKeys) -> Sharing {
        let found = self.numbers.find(keys).map(|class| self.sharings[class as usize]);
        match found.unwrap_or(Sharing::Boolean) {
            Sharing::Arithmetic if !pass::can_be_arithmetic(i) => Sharing::Boolean,
            found => found,
        }
    }
}

impl ChosenSharings {
    /// The type in which blocks carry as `slot` what the program says is of type `element`.
    pub fn carried(&self, slot: u64, element: ElementType) -> ElementType {
        if element.sharing() != Sharing::Any {
            return element;
        }
        element.shared(match self {
            ChosenSharings::One(sharing) => *sharing,
            ChosenSharings::Arithmetic => Sharing::Boolean,
            ChosenSharings::Classes(classes) => {
                let mut load = Instruction::new(Op::Load, element, 1);
                load.immediates[0] = slot;
                let (keys, _) = classified(&load, |_| Ancestry::default());
                classes.of(&load, keys)
            }
        })
    }
}
