//! [`OwnPermutations`]: the permutations that a party draws or is told.
//!
//! They are secret: what is computed of them, in `phineus_circuits::permutation`, has no branch and no address that
//! depends on them. A permutation is dropped when its party has brought all of it.
//!
//! Memory: [`PermutationPeak`].

use std::collections::HashMap;

use phineus_bytecode::{CowList, Description, Instruction, Lane, Op, Permutation, PermutationKind};
use phineus_circuits::permutation::{control_bits, inverse, random_permutation};
use zeroize::Zeroizing;

/// Bytes for each item while control bits are computed: keys and their partners, twice.
const BYTES_PER_ITEM: u64 = 48;

/// A list of rows that was told as a permutation and is none: another party does not follow the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAPermutation;

/// Rows and labels that a driver holds while it exchanges lanes.
const EXCHANGE_BYTES: u64 = 128 << 10;

/// How many switches and origins the party brings.
fn brought(shape: &Permutation) -> u64 {
    let origins = match shape.kind {
        PermutationKind::RandomWithOrigins => shape.items.into(),
        PermutationKind::Random | PermutationKind::Told => 0,
    };
    shape.switches() + origins
}

/// Rows that the party is told.
fn told(shape: &Permutation) -> u64 {
    match shape.kind {
        PermutationKind::Told => shape.items.into(),
        PermutationKind::Random | PermutationKind::RandomWithOrigins => 0,
    }
}

/// One permutation at work.
#[derive(Default)]
struct PermutationState {
    /// Where each row goes, and where each comes from, if that is asked for.
    image: Zeroizing<Vec<u32>>,
    origins: Zeroizing<Vec<u32>>,
    switches: Zeroizing<Vec<u8>>,
    /// Switches and origins that were brought, or rows that were told before that.
    brought: u64,
}

/// The most memory that permutations take at one time, found from the instructions of a program in order.
#[derive(Default)]
pub struct PermutationPeak {
    /// Of permutations that are at work: how much was told and brought.
    at_work: HashMap<u64, u64>,
    now_bytes: u64,
    peak_bytes: u64,
}

impl PermutationPeak {
    /// Takes the next instruction into account.
    pub fn push(&mut self, description: &Description, i: &Instruction) {
        if !matches!(i.op, Op::Switches | Op::Origins | Op::Tell) {
            return;
        }
        let Some(shape) = description.permutations.get(i.immediates[0] as usize) else { return };
        let bytes = BYTES_PER_ITEM * u64::from(shape.items) + shape.switches();
        let done = self.at_work.entry(i.immediates[0]).or_insert_with(|| {
            self.now_bytes += bytes;
            0
        });
        *done += u64::from(i.lanes);
        self.peak_bytes = self.peak_bytes.max(self.now_bytes);
        if *done == brought(shape) + told(shape) {
            self.at_work.remove(&i.immediates[0]);
            self.now_bytes -= bytes;
        }
    }

    /// The most memory, with that of a driver that exchanges lanes.
    pub fn bytes(&self) -> u64 {
        match self.peak_bytes {
            0 => 0,
            peak => peak + EXCHANGE_BYTES,
        }
    }
}

/// A party's own permutations.
pub struct OwnPermutations {
    shapes: CowList<Permutation>,
    states: Vec<Option<PermutationState>>,
}

impl OwnPermutations {
    /// Those of a program.
    pub fn new(description: &Description) -> OwnPermutations {
        let states = description.permutations.iter().map(|_| None).collect();
        OwnPermutations { shapes: description.permutations.clone(), states }
    }

    /// Who knows the permutation of an instruction, or the switches that it selects by.
    pub fn owner(description: &Description, instruction: &Instruction) -> u16 {
        let number = instruction.immediates[0];
        match instruction.op {
            Op::SwapKnown => number as u16,
            _ => description.permutations[number as usize].party,
        }
    }

    /// Returns whether an instruction tells the last rows of a permutation.
    pub fn is_last_told(description: &Description, instruction: &Instruction) -> bool {
        let [index, from, ..] = instruction.immediates;
        instruction.op == Op::Tell && {
            let items = description.permutations[index as usize].items;
            from + u64::from(instruction.lanes) == u64::from(items)
        }
    }

    /// The values that `instruction` brings, one for each lane; `draw` gives random words.
    ///
    /// # Panics
    /// If the program was not verified.
    pub fn bring(
        &mut self,
        instruction: &Instruction,
        draw: &mut dyn FnMut(&mut [u64]),
    ) -> Zeroizing<Vec<u32>> {
        let [index, from, ..] = instruction.immediates.map(|word| word as usize);
        let shape = self.shapes[index];
        let state = self.states[index].get_or_insert_default();
        if state.image.is_empty() {
            state.image = Zeroizing::new(random_permutation(shape.items as usize, draw));
        }
        let rows = from..from + instruction.lanes as usize;
        let values = match instruction.op {
            Op::Origins => {
                if state.origins.is_empty() {
                    let origins = inverse(&state.image).expect("it is a permutation");
                    state.origins = Zeroizing::new(origins);
                }
                state.origins[rows].to_vec()
            }
            Op::Switches => {
                if state.switches.is_empty() {
                    state.switches = Zeroizing::new(control_bits(&state.image));
                }
                state.switches[rows].iter().map(|&bit| bit.into()).collect()
            }
            op => unreachable!("{} brings nothing", op.info().name),
        };
        state.brought += u64::from(instruction.lanes);
        if state.brought == brought(&shape) {
            self.states[index] = None;
        }
        Zeroizing::new(values)
    }

    /// Takes what `instruction` tells this party: where a permutation moves rows.
    ///
    /// # Errors
    /// If all of it has been told, and it is no permutation: then it is the identity.
    ///
    /// # Panics
    /// If the program was not verified.
    pub fn tell(
        &mut self,
        instruction: &Instruction,
        lanes: impl Iterator<Item = Lane>,
    ) -> Result<(), NotAPermutation> {
        let [index, from, ..] = instruction.immediates.map(|word| word as usize);
        let items = self.shapes[index].items as usize;
        let state = self.states[index].get_or_insert_default();
        state.image.resize(items, 0);
        let told = state.image[from..].iter_mut().zip(lanes);
        told.for_each(|(image, lane)| *image = lane.as_limbs()[0] as u32);
        state.brought += u64::from(instruction.lanes);
        if state.brought == items as u64 {
            state.brought = 0;
            if inverse(&state.image).map(Zeroizing::new).is_none() {
                state.image.iter_mut().zip(0..).for_each(|(image, item)| *image = item);
                return Err(NotAPermutation);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use phineus_circuits::permutation::switch_count;

    use super::*;

    /// The bytecode counts the switches that the circuits have.
    #[test]
    fn networks_have_as_many_switches_as_programs_state() {
        for items in (1..300).chain((0..=24).map(|log2| 1 << log2)).chain([1_000_003]) {
            let permutation = Permutation { party: 0, items, kind: PermutationKind::Random };
            assert_eq!(permutation.switches(), switch_count(items.into()), "{items} items");
        }
    }
}
