//! What the checker knows of places that instructions write to and read from, and [`check_state`]: a proof of what
//! narrowing claims to know of them.
//!
//! If no block can run twice, blocks are gone through in an order in which they may run, from what their predecessors leave
//! behind. Otherwise the proof is by induction: if the claims are true of all that was read so far, they are true of what
//! is written next.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use phineus_bytecode::{
    Description, ElementType, Flow, Instruction, Op, ProgramReader, RegisterStep,
};

use super::repeated::{MovedValues, RepeatedStores};
use super::{FAULTS_MAX, Known, for_each_known};
use crate::error::Error;
use crate::narrow::{StateClaim, StatePlace};

/// What is known of all that a place may hold.
type KnownPlaces = BTreeMap<StatePlace, Known>;

/// Where what is read comes from.
enum ReadFrom<'a> {
    /// What was written before.
    Before(KnownPlaces),
    /// What is claimed.
    Claims(&'a BTreeMap<StatePlace, Known>),
}

/// The places of the block at hand.
pub(super) struct KnownState<'a> {
    read: ReadFrom<'a>,
    /// Carried values that the block stores: what it loads is what it began with.
    stored: KnownPlaces,
}

impl<'a> KnownState<'a> {
    /// Of a block of which nothing is known but what it writes itself; `is_alone` says whether no other block does.
    pub(super) fn of_block(description: &Description, is_alone: bool) -> KnownState<'a> {
        let places = if is_alone { zeros(description) } else { KnownPlaces::new() };
        KnownState { read: ReadFrom::Before(places), stored: KnownPlaces::new() }
    }

    /// Of a block of a program of which this is claimed, and proven.
    pub(super) fn claimed(claims: &'a BTreeMap<StatePlace, Known>) -> KnownState<'a> {
        KnownState { read: ReadFrom::Claims(claims), stored: KnownPlaces::new() }
    }

    /// What is known of results that are read from a place.
    pub(super) fn read(&self, i: &Instruction) -> Option<Known> {
        let place = read_place(i)?;
        let before = match &self.read {
            ReadFrom::Before(places) => places.get(&place),
            ReadFrom::Claims(claims) => claims.get(&place),
        }?;
        let known = match self.stored.get(&place) {
            Some(stored) => before.either(stored),
            None => before.clone(),
        };
        (known.width == i.element.width()).then_some(known)
    }

    /// Takes note of what `i` writes, whose operands are known; returns the place, and what.
    pub(super) fn write(&mut self, i: &Instruction, o: &[&Known]) -> Option<(StatePlace, Known)> {
        let (place, known) = written(i, o)?;
        match (place, &mut self.read) {
            (StatePlace::Slot(_), ReadFrom::Before(_)) => {
                self.stored.insert(place, known.clone());
            }
            // Other rows are what they were.
            (_, ReadFrom::Before(places)) => join(places, place, &known),
            (_, ReadFrom::Claims(_)) => {}
        }
        Some((place, known))
    }

    /// What the block leaves behind.
    fn end(self) -> KnownPlaces {
        match self.read {
            ReadFrom::Before(mut places) => {
                places.extend(self.stored);
                places
            }
            ReadFrom::Claims(_) => KnownPlaces::new(),
        }
    }
}

/// What may be in a place: one of two values.
fn join(places: &mut KnownPlaces, place: StatePlace, known: &Known) {
    match places.get_mut(&place) {
        Some(before) if before.width == known.width => *before = before.either(known),
        Some(before) => *before = Known::nothing(before.width),
        None => {
            places.insert(place, known.clone());
        }
    }
}

/// What regions, tables and memories begin with.
fn zeros(description: &Description) -> KnownPlaces {
    let zero = |element: ElementType| {
        let width = element.width();
        let nothing = Known::nothing(width);
        match nothing.is_followed() {
            true => Known::of(width, vec![Some(false); width.into()], &[]),
            false => nothing,
        }
    };
    let mut places = KnownPlaces::new();
    for (region, shape) in (0..).zip(&description.regions) {
        places.insert(StatePlace::Region(region), zero(shape.element));
    }
    for (table, shape) in (0..).zip(&description.tables) {
        places.insert(StatePlace::Table(table), zero(shape.element));
    }
    for (memory, shape) in (0..).zip(&description.memories) {
        for (column, &element) in (0..).zip(&shape.columns) {
            places.insert(StatePlace::Cells { memory, column }, zero(element));
        }
    }
    places
}

fn read_place(i: &Instruction) -> Option<StatePlace> {
    let [first, second, ..] = i.immediates;
    match i.op {
        Op::Load => Some(StatePlace::Slot(first)),
        Op::RegionLoad | Op::RegionLoadAt => Some(StatePlace::Region(first)),
        Op::TableLookUp => Some(StatePlace::Table(first)),
        Op::MemoryCell => Some(StatePlace::Cells { memory: first, column: second }),
        _ => None,
    }
}

/// Where `i` writes, and what.
fn written(i: &Instruction, o: &[&Known]) -> Option<(StatePlace, Known)> {
    let [first, second, low, high] = i.immediates;
    let operand = || o[0].clone();
    match i.op {
        Op::Store => Some((StatePlace::Slot(first), operand())),
        Op::RegionStore | Op::RegionStoreAt => Some((StatePlace::Region(first), operand())),
        Op::MemorySet | Op::MemoryChange => {
            Some((StatePlace::Cells { memory: first, column: second }, operand()))
        }
        Op::TableOpen => Some((StatePlace::Table(first), operand())),
        Op::TableTell => Some((StatePlace::Table(first), Known::nothing(i.element.width()))),
        Op::TableSet => {
            let width = i.element.width();
            let bit = |k: u16| match k {
                0..64 => low >> k & 1 == 1,
                64..128 => high >> (k - 64) & 1 == 1,
                _ => false,
            };
            let nothing = Known::nothing(width);
            let known = match nothing.is_followed() {
                true => Known::of(width, (0..width).map(|k| Some(bit(k))).collect(), &[]),
                false => nothing,
            };
            Some((StatePlace::Table(first), known))
        }
        _ => None,
    }
}

/// The claims as what is known, if they are all true.
pub(super) fn known_of(
    description: &Description,
    claims: &[StateClaim],
) -> BTreeMap<StatePlace, Known> {
    let width = |place: StatePlace| match place {
        StatePlace::Slot(slot) => description.slots[slot as usize].element.width(),
        StatePlace::Region(region) => description.regions[region as usize].element.width(),
        StatePlace::Table(table) => description.tables[table as usize].element.width(),
        StatePlace::Cells { memory, column } => {
            description.memories[memory as usize].columns[column as usize].width()
        }
    };
    let known = |claim: &StateClaim| (claim.place, Known::claimed(width(claim.place), claim));
    claims.iter().map(known).collect()
}

/// Claims about places, and what does not follow.
struct StateProof<'a> {
    claims: BTreeMap<StatePlace, &'a StateClaim>,
    faults: Vec<String>,
}

impl StateProof<'_> {
    /// Notes a fault if `known` does not follow the claim about its place.
    fn holds(&mut self, by: &str, place: StatePlace, known: &Known) {
        let Some(claim) = self.claims.get(&place) else { return };
        let bounds = (claim.unsigned, claim.signed);
        let fault = known.refutes_facts((claim.zeros, claim.ones), bounds);
        if let Some(fault) = fault.filter(|_| self.faults.len() < FAULTS_MAX) {
            self.faults.push(format!("{by}, {place:?}: {fault}"));
        }
    }
}

/// Returns the claims about places of a program of these blocks that do not follow from it; nothing if all do.
///
/// # Errors
/// If a block cannot be read.
pub fn check_state<R: Read + Seek>(
    blocks: &mut [ProgramReader<R>],
    flow: &Flow,
    claims: &[StateClaim],
) -> Result<Vec<String>, Error> {
    let description = blocks[0].description().clone();
    let by_place = claims.iter().map(|claim| (claim.place, claim)).collect();
    let mut proof = StateProof { claims: by_place, faults: Vec::new() };
    for (place, known) in zeros(&description) {
        proof.holds("the beginning", place, &known);
    }
    for step in flow.blocks.iter().flat_map(|block| &block.steps) {
        if let &RegisterStep::Publish { slot, .. } = step {
            let known = Known::nothing(description.slots[slot as usize].element.width());
            proof.holds("a register", StatePlace::Slot(slot.into()), &known);
        }
    }
    let (reached, order) = order_without_loops(flow);
    match order {
        Some(order) => {
            let mut begins: BTreeMap<usize, KnownPlaces> = [(0, zeros(&description))].into();
            for block in order {
                let begin = begins.remove(&block).unwrap_or_default();
                let read = ReadFrom::Before(with_published(begin, &description, flow));
                let state = KnownState { read, stored: KnownPlaces::new() };
                let end = prove(block, &mut blocks[block], state, &mut proof)?;
                for next in flow.blocks[block].next.blocks() {
                    let begin = begins.entry(next).or_default();
                    end.iter().for_each(|(&place, known)| join(begin, place, known));
                }
            }
        }
        None => {
            let known = known_of(&description, claims);
            let mut stores = RepeatedStores::of(flow);
            for block in reached {
                let state = KnownState::claimed(&known);
                prove_repeated(block, &mut blocks[block], state, (&mut proof, &mut stores))?;
            }
            let width = |slot: u64| description.slots[slot as usize].element.width();
            for (block, place, known) in stores.ends(width) {
                proof.holds(&format!("block {block}, after all iterations"), place, &known);
            }
        }
    }
    Ok(proof.faults)
}

/// Carried values that registers are published to may be anything.
fn with_published(mut begin: KnownPlaces, description: &Description, flow: &Flow) -> KnownPlaces {
    for step in flow.blocks.iter().flat_map(|block| &block.steps) {
        if let &RegisterStep::Publish { slot, .. } = step {
            let width = description.slots[slot as usize].element.width();
            begin.insert(StatePlace::Slot(slot.into()), Known::nothing(width));
        }
    }
    begin
}

/// Proves the claims about what a block writes; returns what it leaves behind.
fn prove<R: Read + Seek>(
    block: usize,
    program: &mut ProgramReader<R>,
    mut state: KnownState<'_>,
    proof: &mut StateProof<'_>,
) -> Result<KnownPlaces, Error> {
    for_each_known(program, &mut state, |number, _, _, _, written| {
        if let Some((place, known)) = written {
            proof.holds(&format!("block {block}, instruction {number}"), place, &known);
        }
    })?;
    Ok(state.end())
}

/// As [`prove`], of a program with loops. Carried values that are moved by terms are noted: how far that leads depends on what
/// other blocks store.
fn prove_repeated<R: Read + Seek>(
    block: usize,
    program: &mut ProgramReader<R>,
    mut state: KnownState<'_>,
    (proof, stores): (&mut StateProof<'_>, &mut RepeatedStores),
) -> Result<(), Error> {
    let is_repeated = stores.is_repeated(block);
    let mut values = MovedValues::default();
    for_each_known(program, &mut state, |number, i, operands, _, written| {
        let moved = if is_repeated { values.step(i, operands) } else { None };
        let Some((place, known)) = written else { return };
        if moved.is_none() {
            proof.holds(&format!("block {block}, instruction {number}"), place, &known);
        }
        if let StatePlace::Slot(slot) = place {
            stores.note(block, slot, (&known, moved));
        }
    })
}

/// The blocks that can be reached, and an order of them in which each comes behind all that lead to it; none if one can run
/// twice.
fn order_without_loops(flow: &Flow) -> (Vec<usize>, Option<Vec<usize>>) {
    let mut leading = vec![0; flow.blocks.len()];
    let mut reached = vec![0];
    let mut seen = 0;
    while let Some(&block) = reached.get(seen) {
        seen += 1;
        for next in flow.blocks[block].next.blocks() {
            if leading[next] == 0 && next != 0 {
                reached.push(next);
            }
            leading[next] += 1;
        }
    }
    let (mut ready, mut order) = (vec![0], Vec::new());
    while let Some(block) = ready.pop() {
        order.push(block);
        for next in flow.blocks[block].next.blocks() {
            leading[next] -= 1;
            if leading[next] == 0 {
                ready.push(next);
            }
        }
    }
    let has_all = order.len() == reached.len();
    (reached, has_all.then_some(order))
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::OPS;

    use super::*;
    use crate::narrow::StateAccess;

    /// An operation that narrowing learns to follow is one that the checker follows, and the other way round.
    #[test]
    fn the_checker_follows_what_narrowing_follows() {
        for info in OPS {
            let i = Instruction::new(info.op, ElementType::BIT, 1);
            let nothing = Known::nothing(1);
            let checked = (read_place(&i), written(&i, &[&nothing]).map(|(place, _)| place));
            let followed = match StateAccess::of(&i) {
                StateAccess::Reads(place) => (Some(place), None),
                StateAccess::Writes(place)
                | StateAccess::Sets(place, _)
                | StateAccess::Spoils(place) => (None, Some(place)),
                StateAccess::None => (None, None),
            };
            assert_eq!(checked, followed, "{}", info.name);
        }
    }
}
