//! [`OwnPermutations`]: the permutations that a party draws or is told.
//!
//! They are secret: what is computed of them, in `phineus_circuits::permutation`, has no branch and no address that
//! depends on them. A permutation is dropped when its party has brought all of it.
//!
//! Memory: [`OwnPermutations::peak_bytes`].

use std::collections::HashMap;

use phineus_bytecode::{CowList, Description, Instruction, Lane, Op, Permutation, PermutationKind};
use phineus_circuits::permutation::{control_bits, inverse, random_permutation};
use zeroize::Zeroizing;

/// Bytes for each item while control bits are computed: keys and their partners, twice.
const BYTES_PER_ITEM: u64 = 48;

/// What a party was told is no permutation: another one does not follow the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAPermutation;

/// Rows and labels that a driver holds while it exchanges lanes.
const EXCHANGE_BYTES: u64 = 128 << 10;

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

impl PermutationState {
    /// How many switches and origins are brought of it.
    fn whole(shape: &Permutation) -> u64 {
        let origins = match shape.kind {
            PermutationKind::RandomWithOrigins => shape.items.into(),
            PermutationKind::Random | PermutationKind::Told => 0,
        };
        shape.switches() + origins
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

    /// The most memory that they take at one time, in a program with these instructions in order.
    pub fn peak_bytes(
        description: &Description,
        instructions: impl Iterator<Item = Instruction>,
    ) -> u64 {
        let (mut alive, mut now, mut peak) = (HashMap::new(), 0, 0);
        for i in instructions.filter(|i| i.op.is_of_permutation() && i.op != Op::SwapKnown) {
            let Some(shape) = description.permutations.get(i.immediates[0] as usize) else {
                continue;
            };
            let bytes = BYTES_PER_ITEM * u64::from(shape.items) + shape.switches();
            let brought: &mut u64 = alive.entry(i.immediates[0]).or_insert_with(|| {
                now += bytes;
                0
            });
            *brought += u64::from(i.lanes);
            peak = peak.max(now);
            if *brought == PermutationState::whole(shape) + told(shape) {
                alive.remove(&i.immediates[0]);
                now -= bytes;
            }
        }
        match peak {
            0 => 0,
            _ => peak + EXCHANGE_BYTES,
        }
    }

    /// Who knows the permutation of an instruction, or the switches that it selects by.
    pub fn owner(description: &Description, instruction: &Instruction) -> u16 {
        let number = instruction.immediates[0];
        match instruction.op {
            Op::SwapKnown => number as u16,
            _ => description.permutations[number as usize].party,
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
            _ => {
                if state.switches.is_empty() {
                    state.switches = Zeroizing::new(control_bits(&state.image));
                }
                state.switches[rows].iter().map(|&bit| bit.into()).collect()
            }
        };
        state.brought += u64::from(instruction.lanes);
        if state.brought == PermutationState::whole(&shape) {
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
