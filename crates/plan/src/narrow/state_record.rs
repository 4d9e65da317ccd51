//! [`StateRecord`]: facts about places as a pass finds them, and [`FollowedState`]: what a pass reads and writes.

use std::collections::{BTreeMap, BTreeSet};

use phineus_bytecode::{Description, Flow, Instruction, RegisterStep};

use super::facts::Facts;
use super::increments::Increment;
use super::state::{StateAccess, StateFacts, StatePlace};
use super::transfer::{self, ResultFacts};

/// Of a program of more blocks iterations are not counted: stores are noted by block for that.
pub(super) const COUNTED_BLOCKS_MAX: usize = 256;

/// Facts about places as they are found.
pub(super) struct StateRecord {
    pub(super) facts: StateFacts,
    /// Places of which less is known than before, and places that were read.
    pub(super) changed: BTreeSet<StatePlace>,
    pub(super) read: BTreeSet<StatePlace>,
    /// Whether bounds that move are widened.
    pub(super) is_widened: bool,
    /// Of programs of few blocks.
    stores: Option<BlockStores>,
}

/// What each block stores.
#[derive(Default)]
struct BlockStores {
    /// By slot and block.
    stored: BTreeMap<(u64, usize), Facts>,
    /// The block at hand, and which blocks lead to it.
    block: usize,
    leading: Vec<bool>,
}

impl StateRecord {
    pub(super) fn new(facts: StateFacts) -> StateRecord {
        let (changed, read) = (BTreeSet::new(), BTreeSet::new());
        StateRecord { facts, changed, read, is_widened: false, stores: None }
    }

    /// Before the first instruction of a program. What is published from registers is anything.
    pub(super) fn at_start(description: &Description, flow: &Flow) -> StateRecord {
        let mut record = StateRecord::new(StateFacts::at_start(description));
        if flow.blocks.len() <= COUNTED_BLOCKS_MAX {
            record.stores = Some(BlockStores::default());
        }
        for step in flow.blocks.iter().flat_map(|block| &block.steps) {
            if let &RegisterStep::Publish { slot, .. } = step {
                let width = description.slots[slot as usize].element.width();
                record.write(StatePlace::Slot(slot.into()), Facts::unknown(width));
            }
        }
        record
    }

    fn begin(&mut self, block: usize, leading: &[bool]) {
        if let Some(stores) = &mut self.stores {
            (stores.block, stores.leading) = (block, leading.to_vec());
        }
    }

    /// Takes note that a value is written to a place.
    fn write(&mut self, place: StatePlace, facts: Facts) {
        let known = self.facts.of(place).map_or(facts.width, |known| known.width);
        let mut facts = if known == facts.width { facts } else { Facts::unknown(known) };
        if let (StatePlace::Slot(slot), Some(stores)) = (place, &mut self.stores) {
            let stored = stores.stored.entry((slot, stores.block));
            let before = *stored.or_insert(facts);
            facts = joined(Some(before), facts, self.is_widened);
            if facts != before {
                self.changed.insert(place);
                stores.stored.insert((slot, stores.block), facts);
            }
        }
        let before = self.facts.of(place);
        let after = joined(before, facts, self.is_widened);
        if before != Some(after) {
            self.facts.put(place, after);
            self.changed.insert(place);
        }
    }

    /// Takes note that a block that runs so many times in a row, and never again, stores a carried value with an increment, of which `facts`
    /// are true.
    fn write_repeated(&mut self, increment: Increment, facts: Facts, iterations: u64) {
        let begin = self.stores.as_ref().and_then(|stores| stores.begin_of(increment.slot));
        let facts = begin.map_or(facts, |begin| increment.after((&begin, iterations), facts));
        self.write(StatePlace::Slot(increment.slot), facts);
    }
}

impl BlockStores {
    /// A carried value before the first iteration of the block at hand.
    fn begin_of(&self, slot: u64) -> Option<Facts> {
        let stored = self.stored.range((slot, 0)..=(slot, usize::MAX));
        let before = stored.filter(|((_, block), _)| self.leading.get(*block) == Some(&true));
        before.map(|(_, &facts)| facts).reduce(Facts::union)
    }
}

fn joined(before: Option<Facts>, facts: Facts, is_widened: bool) -> Facts {
    let Some(before) = before else { return facts };
    let both = before.union(facts);
    if is_widened { before.widened(both) } else { both }
}

/// What is known of places while a pass goes through a block.
pub(super) enum FollowedState<'a> {
    /// What was written so far.
    Running(&'a mut StateRecord),
    /// All that is ever written.
    Given(&'a StateFacts),
    /// As `Given`, and what this pass writes goes elsewhere.
    Apart(&'a StateFacts, &'a mut StateRecord),
}

impl FollowedState<'_> {
    /// Begins a block, to which others lead.
    pub(super) fn begin(&mut self, block: usize, leading: &[bool]) {
        if let Some(record) = self.record() {
            record.begin(block, leading);
        }
    }

    /// Facts of the results of an instruction. If it stores an increment of a carried value in a block that is repeated, that
    /// and the number of iterations are given.
    pub(super) fn results(
        &mut self,
        i: &Instruction,
        operands: &[Facts],
        repeated: Option<(Increment, u64)>,
    ) -> ResultFacts {
        let mut found = transfer::results(i, operands);
        let width = i.element.width();
        match StateAccess::of(i) {
            StateAccess::None => {}
            StateAccess::Reads(place) => {
                if let Some(facts) = self.read(place).filter(|facts| facts.width == width) {
                    found[0] = facts;
                }
            }
            StateAccess::Writes(place) => match (self.record(), repeated) {
                (None, _) => {}
                (Some(record), None) => record.write(place, operands[0]),
                (Some(record), Some((increment, iterations))) => {
                    record.write_repeated(increment, operands[0], iterations);
                }
            },
            StateAccess::Sets(place, value) => self.write(place, Facts::constant(width, value)),
            StateAccess::Spoils(place) => self.write(place, Facts::unknown(width)),
        }
        found
    }

    fn read(&mut self, place: StatePlace) -> Option<Facts> {
        match self {
            FollowedState::Running(record) => {
                record.read.insert(place);
                record.facts.of(place)
            }
            FollowedState::Given(facts) | FollowedState::Apart(facts, _) => facts.of(place),
        }
    }

    fn write(&mut self, place: StatePlace, facts: Facts) {
        if let Some(record) = self.record() {
            record.write(place, facts);
        }
    }

    /// Where what is written is noted.
    fn record(&mut self) -> Option<&mut StateRecord> {
        match self {
            FollowedState::Running(record) | FollowedState::Apart(_, record) => Some(record),
            FollowedState::Given(_) => None,
        }
    }
}
