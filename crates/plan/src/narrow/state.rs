//! [`StateFacts`]: what is known of values that a program puts somewhere and reads again: carried values, rows of regions
//! and of tables, cells of memories.
//!
//! Of each such place there is one set of facts, which holds for all that is ever read from it: the union of the facts of
//! all that is written to it, and of the zeros that regions, tables and memories begin with. Rows and lanes are not told
//! apart. So memory follows the number of places, not the length of a program.

use std::collections::BTreeSet;

use phineus_bytecode::{CarriedSlot, Description, ElementType, Instruction, Op, Sharing};

use super::facts::{Facts, TRACKED_WIDTH_MAX, above, bit_length, mask, signed_bounds};

/// Something that instructions write to and read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatePlace {
    /// The carried value with this number.
    Slot(u64),
    /// All rows of a region.
    Region(u64),
    /// All rows of a table.
    Table(u64),
    /// A column of a memory.
    Cells {
        /// The memory.
        memory: u64,
        /// The column.
        column: u64,
    },
}

/// Facts about all that is read from a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateClaim {
    /// Where it is read.
    pub place: StatePlace,
    /// Bits that are 0.
    pub zeros: u128,
    /// Bits that are 1.
    pub ones: u128,
    /// Bounds of the unsigned integer.
    pub unsigned: (u128, u128),
    /// Bounds of the signed integer.
    pub signed: (i128, i128),
}

/// What an instruction does with a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateAccess {
    Reads(StatePlace),
    /// It writes its operand.
    Writes(StatePlace),
    /// It writes a constant.
    Sets(StatePlace, u128),
    /// It writes something of which nothing is known.
    Spoils(StatePlace),
    None,
}

/// Operations without a meaning of their own that access no place that is followed.
///
/// Rows of shared tables change in messages that no instruction names, and links, permutations and keys are drawn.
const UNFOLLOWED: [Op; 24] = [
    Op::Input,
    Op::Output,
    Op::RequireZero,
    Op::Round,
    Op::Reveal,
    Op::Switches,
    Op::Origins,
    Op::Tell,
    Op::SwapKnown,
    Op::Locate,
    Op::MemoryOpen,
    Op::MemoryLink,
    Op::MemoryFollow,
    Op::MemoryNext,
    Op::PartyKey,
    Op::PartyPad,
    Op::SharedSet,
    Op::SharedHide,
    Op::SharedLookUp,
    Op::SharedAdd,
    Op::IssueSwapIn,
    Op::FinishSwapIn,
    Op::IssueSwapOut,
    Op::FinishSwapOut,
];

impl StateAccess {
    pub(crate) fn of(i: &Instruction) -> StateAccess {
        let [first, second, low, high] = i.immediates;
        let cells = StatePlace::Cells { memory: first, column: second };
        match i.op {
            Op::Load => StateAccess::Reads(StatePlace::Slot(first)),
            Op::Store => StateAccess::Writes(StatePlace::Slot(first)),
            Op::RegionLoad | Op::RegionLoadAt => StateAccess::Reads(StatePlace::Region(first)),
            Op::RegionStore | Op::RegionStoreAt => StateAccess::Writes(StatePlace::Region(first)),
            Op::TableLookUp => StateAccess::Reads(StatePlace::Table(first)),
            Op::TableSet => {
                let value = u128::from(high) << 64 | u128::from(low);
                StateAccess::Sets(StatePlace::Table(first), value)
            }
            Op::TableOpen => StateAccess::Writes(StatePlace::Table(first)),
            // What a party is told it may put in another form.
            Op::TableTell => StateAccess::Spoils(StatePlace::Table(first)),
            Op::MemorySet | Op::MemoryChange => match i.element.sharing() {
                // Elements of a ring cannot be cut.
                Sharing::Arithmetic => StateAccess::Spoils(cells),
                Sharing::Any | Sharing::Boolean | Sharing::Garbled => StateAccess::Writes(cells),
            },
            Op::MemoryCell => StateAccess::Reads(cells),
            op => {
                let is_decided = op.info().meaning.is_some() || UNFOLLOWED.contains(&op);
                assert!(is_decided, "{} may access a place", op.info().name);
                StateAccess::None
            }
        }
    }
}

/// Facts about places; nothing about a carried value that was not stored so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateFacts {
    slots: Vec<Option<Facts>>,
    regions: Vec<Option<Facts>>,
    tables: Vec<Option<Facts>>,
    cells: Vec<Vec<Option<Facts>>>,
}

impl StateFacts {
    /// What is known before the first instruction of a program.
    pub(super) fn at_start(description: &Description) -> StateFacts {
        let zero = |element: ElementType| Some(Facts::zero(element.width()));
        StateFacts {
            slots: vec![None; description.slots.len()],
            regions: description.regions.iter().map(|region| zero(region.element)).collect(),
            tables: description.tables.iter().map(|table| zero(table.element)).collect(),
            cells: description
                .memories
                .iter()
                .map(|memory| memory.columns.iter().map(|&column| zero(column)).collect())
                .collect(),
        }
    }

    /// What is known before the first instruction of the only block of a program.
    pub(super) fn of_only_block(description: &Description) -> StateFacts {
        let slot = |stated: &CarriedSlot| Some(Facts::unknown(stated.element.width()));
        let slots = description.slots.iter().map(slot).collect();
        StateFacts { slots, ..StateFacts::at_start(description) }
    }

    /// Nothing.
    pub(super) fn unknown(description: &Description) -> StateFacts {
        let mut state = StateFacts::of_only_block(description);
        let others = state.regions.iter_mut().chain(&mut state.tables);
        for facts in others.chain(state.cells.iter_mut().flatten()).flatten() {
            *facts = Facts::unknown(facts.width);
        }
        state
    }

    /// Forgets what is known of these places.
    pub(super) fn forget(&mut self, places: &BTreeSet<StatePlace>) {
        for &place in places {
            if let Some(facts) = self.of(place) {
                self.put(place, Facts::unknown(facts.width));
            }
        }
    }

    pub(super) fn of(&self, place: StatePlace) -> Option<Facts> {
        *match place {
            StatePlace::Slot(slot) => self.slots.get(slot as usize)?,
            StatePlace::Region(region) => self.regions.get(region as usize)?,
            StatePlace::Table(table) => self.tables.get(table as usize)?,
            StatePlace::Cells { memory, column } => {
                self.cells.get(memory as usize)?.get(column as usize)?
            }
        }
    }

    /// Makes `facts` what is known of a place.
    ///
    /// # Panics
    /// If the description has no such place, which the verifier refuses.
    pub(super) fn put(&mut self, place: StatePlace, facts: Facts) {
        let known = match place {
            StatePlace::Slot(slot) => &mut self.slots[slot as usize],
            StatePlace::Region(region) => &mut self.regions[region as usize],
            StatePlace::Table(table) => &mut self.tables[table as usize],
            StatePlace::Cells { memory, column } => {
                &mut self.cells[memory as usize][column as usize]
            }
        };
        *known = Some(facts);
    }

    /// Returns whether anything is known of any place.
    pub fn is_anything_known(&self) -> bool {
        self.places().any(|(_, facts)| facts != Facts::unknown(facts.width))
    }

    fn places(&self) -> impl Iterator<Item = (StatePlace, Facts)> {
        let slots = (0..).map(StatePlace::Slot).zip(&self.slots);
        let regions = (0..).map(StatePlace::Region).zip(&self.regions);
        let tables = (0..).map(StatePlace::Table).zip(&self.tables);
        let cells = (0..).zip(&self.cells).flat_map(|(memory, columns)| {
            (0..).map(move |column| StatePlace::Cells { memory, column }).zip(columns)
        });
        let all = slots.chain(regions).chain(tables).chain(cells);
        all.filter_map(|(place, facts)| facts.map(|facts| (place, facts)))
    }

    /// All that is known, by place.
    pub fn claims(&self) -> impl Iterator<Item = StateClaim> {
        self.places().map(|(place, facts)| {
            let Facts { zeros, ones, low, high, least, most, .. } = facts;
            StateClaim { place, zeros, ones, unsigned: (low, high), signed: (least, most) }
        })
    }

    /// The narrowest type that holds all cells of a column of type `stated`; that type itself if none is narrower.
    pub fn column(&self, (memory, column): (u64, u64), stated: ElementType) -> ElementType {
        let place = StatePlace::Cells { memory, column };
        let Some(facts) = self.of(place).filter(Facts::is_tracked) else { return stated };
        let (unsigned, signed) = (facts.unsigned_width().max(1), facts.signed_width());
        match unsigned.min(signed) {
            width if width >= stated.width() => stated,
            width => ElementType::integer(width, signed < unsigned).shared(stated.sharing()),
        }
    }
}

impl Facts {
    pub(super) fn zero(width: u16) -> Facts {
        if width > TRACKED_WIDTH_MAX { Facts::unknown(width) } else { Facts::constant(width, 0) }
    }

    /// Facts that admit all that `self` and `union` admit, where `union` admits all that `self` does. Bounds that moved
    /// move on to the next of few, so that repeated widening soon ends.
    pub(super) fn widened(self, union: Facts) -> Facts {
        if !self.is_tracked() || self == union {
            return union;
        }
        let w = self.width;
        // Bits that both have at the end: what else is known follows from the bounds.
        let same = self.zeros & union.zeros | self.ones & union.ones;
        let low_bits = mask((same.trailing_ones() as u16).min(w));
        let up = |value: u128| mask(bit_length(value).next_power_of_two().min(w));
        let low = if union.low < self.low { 0 } else { union.low };
        let high = if union.high > self.high { up(union.high) } else { union.high };
        let (lowest, highest) = signed_bounds(w);
        let away = |value: i128| {
            let size = if value < 0 { !value } else { value } as u128;
            mask(bit_length(size).next_power_of_two().min(w - 1)) as i128
        };
        let least = match union.least < self.least {
            true if union.least < 0 => (!away(union.least)).max(lowest),
            true => 0,
            false => union.least,
        };
        let most = match union.most > self.most {
            true if union.most >= 0 => away(union.most).min(highest),
            true => -1,
            false => union.most,
        };
        debug_assert!(low_bits & above(w) == 0, "bits are of the width");
        Facts::unknown(w)
            .with_bits(union.zeros & low_bits, union.ones & low_bits)
            .with_unsigned(Some((low, high)))
            .with_signed(Some((least, most)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phineus_bytecode::OPS;

    #[test]
    fn all_operations_are_decided() {
        for info in OPS {
            let access = StateAccess::of(&Instruction::new(info.op, ElementType::BIT, 1));
            let is_computed = info.meaning.is_some();
            assert!(!is_computed || access == StateAccess::None, "{}", info.name);
        }
    }
}
