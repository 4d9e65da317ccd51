//! [`OwnPermutations`]: the permutations that a party draws or is told.
//!
//! They are secret: what is computed of them, in `phineus_circuits::permutation`, has no branch and no address that
//! depends on them. A permutation is dropped when its party has brought all of it.
//!
//! Memory: [`PermutationPeak`].

use std::collections::{HashMap, VecDeque};

use phineus_bytecode::{
    CowList, Description, Instruction, Lane, Op, Permutation, PermutationKind, Phase,
};
use phineus_circuits::permutation::{control_bits, inverse, random_permutation};
use zeroize::Zeroizing;

/// Bytes for each item while control bits are computed: keys and their partners, twice.
const BYTES_PER_ITEM: u64 = 48;

/// A list of rows that was told as a permutation and is none: another party does not follow the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAPermutation;

/// Rows and labels that a driver holds while it exchanges lanes.
const EXCHANGE_BYTES: u64 = 128 << 10;

/// Rows that the party is told.
fn told(shape: &Permutation) -> u64 {
    if shape.kind.is_told() { shape.items.into() } else { 0 }
}

/// How many switches and origins the party brings.
fn brought(shape: &Permutation) -> u64 {
    let switches = if shape.kind.has_switches() { shape.switches() } else { 0 };
    let origins = match shape.kind {
        PermutationKind::RandomWithOrigins => shape.items.into(),
        PermutationKind::Random
        | PermutationKind::RandomLocated
        | PermutationKind::RandomPairs
        | PermutationKind::Told
        | PermutationKind::ToldLocated => 0,
    };
    switches + origins
}

/// Bytes of what stays of a permutation while rows are located by it: where each one comes from.
fn located_bytes(shape: &Permutation) -> u64 {
    if shape.kind.is_located() { 4 * u64::from(shape.items) } else { 0 }
}

/// One permutation at work.
#[derive(Default)]
struct PermutationState {
    /// Where each row goes, and where each comes from, if that is asked for.
    image: Zeroizing<Vec<u32>>,
    origins: Zeroizing<Vec<u32>>,
    switches: Zeroizing<Vec<u8>>,
    /// Rows that were told, and switches and origins that were brought.
    done: u64,
}

/// The most memory that permutations take at one time, found from the instructions of a program in order.
#[derive(Default)]
pub struct PermutationPeak {
    /// Of permutations that are at work: how much was told and brought.
    at_work: HashMap<u64, u64>,
    now_bytes: u64,
    peak_bytes: u64,
    /// The most that located permutations of later iterations take.
    ahead_bytes: u64,
}

impl PermutationPeak {
    /// Takes the next instruction into account.
    pub fn push(&mut self, description: &Description, i: &Instruction) {
        let shape = |index: u64| description.permutations.get(index as usize);
        match i.op {
            // All of it was brought when it was issued.
            _ if i.phase == Phase::Finish => {}
            Op::Switches | Op::Origins | Op::Tell => {
                let Some(shape) = shape(i.immediates[0]) else { return };
                if shape.kind == PermutationKind::RandomPairs {
                    // Its switches are drawn when they are brought.
                    return;
                }
                let bytes = BYTES_PER_ITEM * u64::from(shape.items) + brought(shape);
                let done = self.at_work.entry(i.immediates[0]).or_insert_with(|| {
                    self.now_bytes += bytes;
                    0
                });
                *done += u64::from(i.lanes);
                if shape.kind == PermutationKind::RandomLocated {
                    let ahead = SWITCHES_AHEAD.div_ceil(shape.switches().max(1));
                    let bytes = ahead.saturating_mul(located_bytes(shape) + QUEUED_BYTES);
                    self.ahead_bytes = self.ahead_bytes.max(bytes);
                }
                self.peak_bytes = self.peak_bytes.max(self.now_bytes);
                if *done == brought(shape) + told(shape) {
                    self.at_work.remove(&i.immediates[0]);
                    self.now_bytes = self.now_bytes - bytes + located_bytes(shape);
                }
            }
            Op::Locate => {
                let [_, told, hiding, last] = i.immediates;
                // A driver may hold a copy of the table with as many rows as numbers of items.
                let rows = shape(told).map_or(0, |told| u64::from(told.items).next_power_of_two());
                self.peak_bytes = self.peak_bytes.max(self.now_bytes + 4 * rows);
                if last > 0 {
                    let both = [told, hiding].into_iter().filter_map(shape);
                    let bytes = both.map(located_bytes).sum();
                    self.now_bytes = self.now_bytes.saturating_sub(bytes);
                }
            }
            _ => {}
        }
    }

    /// The most memory, with that of a driver that exchanges lanes.
    pub fn bytes(&self) -> u64 {
        match self.peak_bytes {
            0 => 0,
            peak => peak + EXCHANGE_BYTES,
        }
    }

    /// As [`PermutationPeak::bytes`] for a block that may be repeated: those of the next iteration are brought in while
    /// those of the iteration at hand are used.
    pub fn bytes_of_block(&self) -> u64 {
        match self.bytes() {
            0 => 0,
            once => 2 * once + self.ahead_bytes,
        }
    }
}

/// Switches that a party brings ahead of their use, at most.
const SWITCHES_AHEAD: u64 = 1 << 17;

/// Bytes of a list in a queue, and of what the heap adds.
const QUEUED_BYTES: u64 = 80;

/// A party's own permutations.
pub struct OwnPermutations {
    shapes: CowList<Permutation>,
    states: Vec<Option<PermutationState>>,
    /// Of permutations that rows are located by: where each row comes from. A party that brings switches ahead of
    /// their use has those of later iterations of a block behind those of the iteration at hand.
    origins: Vec<VecDeque<Zeroizing<Vec<u32>>>>,
}

impl OwnPermutations {
    /// Those of a program.
    pub fn new(description: &Description) -> OwnPermutations {
        let states = description.permutations.iter().map(|_| None).collect();
        let origins = description.permutations.iter().map(|_| VecDeque::new()).collect();
        OwnPermutations { shapes: description.permutations.clone(), states, origins }
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
        if shape.kind == PermutationKind::RandomPairs {
            return random_bits(instruction.lanes, draw);
        }
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
        state.done += u64::from(instruction.lanes);
        if state.done == told(&shape) + brought(&shape) {
            if shape.kind.is_located() {
                let origins = inverse(&state.image).expect("it is a permutation");
                self.origins[index].push_back(Zeroizing::new(origins));
            }
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
        let Permutation { items, kind, .. } = self.shapes[index];
        let state = self.states[index].get_or_insert_default();
        state.image.resize(items as usize, 0);
        let told = state.image[from..].iter_mut().zip(lanes);
        told.for_each(|(image, lane)| *image = lane.as_limbs()[0] as u32);
        state.done += u64::from(instruction.lanes);
        if state.done < u64::from(items) {
            return Ok(());
        }
        let origins = inverse(&state.image).map(Zeroizing::new);
        let is_right = origins.is_some();
        if !is_right {
            state.image.iter_mut().zip(0..).for_each(|(image, item)| *image = item);
        }
        if kind.is_located() {
            let identity = || Zeroizing::new((0..items).collect());
            self.origins[index].push_back(origins.unwrap_or_else(identity));
            self.states[index] = None;
        }
        if is_right { Ok(()) } else { Err(NotAPermutation) }
    }

    /// Of the party that was told a permutation: where in the list each row is that `instruction` may locate.
    ///
    /// # Panics
    /// If the program was not verified.
    pub fn told_positions(&self, instruction: &Instruction) -> &[u32] {
        self.located(instruction.immediates[1])
    }

    /// Of the party that hid the list: the place that `position` comes from.
    ///
    /// # Security
    /// Reads all places, so that the sequence of memory accesses does not depend on the position.
    ///
    /// # Panics
    /// If the program was not verified.
    pub fn place(&self, instruction: &Instruction, position: u32) -> u32 {
        let origins = self.located(instruction.immediates[2]);
        origins.iter().zip(0..).fold(0, |place, (&origin, at): (&u32, u32)| {
            // All ones if both are equal, else 0: only 0 less one has the top bit.
            let is_equal = ((at ^ position).wrapping_sub(1) as i32 >> 31) as u32;
            place | origin & is_equal
        })
    }

    /// Where each row comes from under a permutation that rows are located by.
    fn located(&self, index: u64) -> &[u32] {
        self.origins[index as usize]
            .front()
            .expect("the verifier has seen that all of it came before")
    }

    /// Drops the permutations of `instruction` if it is the last one that locates by them.
    pub fn end_located(&mut self, instruction: &Instruction) {
        let [_, told, hiding, last] = instruction.immediates;
        if last > 0 {
            for index in [told, hiding] {
                self.origins[index as usize].pop_front();
            }
        }
    }
}

/// Draws `count` uniform bits, one for each pair of items.
fn random_bits(count: u32, draw: &mut dyn FnMut(&mut [u64])) -> Zeroizing<Vec<u32>> {
    let mut words = Zeroizing::new(vec![0; count.div_ceil(u64::BITS) as usize]);
    draw(&mut words);
    let bits =
        words.iter().flat_map(|word| (0..u64::BITS).map(move |bit| (word >> bit & 1) as u32));
    Zeroizing::new(bits.take(count as usize).collect())
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::ElementType;
    use phineus_bytecode::random::{SeededRng, Seeds};
    use phineus_circuits::permutation::{Layer, layers, switch_count};

    use super::*;

    /// A told order and a hiding permutation name the place of each item; both are dropped after the last use.
    #[test]
    fn items_are_located() {
        let mut seeds = Seeds::fresh();
        for items in [2u32, 3, 7, 40] {
            let permutation = |party, kind| Permutation { party, items, kind };
            let description = Description {
                parties: vec!["a".to_owned(), "b".to_owned()],
                permutations: vec![
                    permutation(0, PermutationKind::ToldLocated),
                    permutation(1, PermutationKind::RandomLocated),
                ]
                .into(),
                ..Description::default()
            };
            let mut own = OwnPermutations::new(&description);
            let mut peak = PermutationPeak::default();
            let element = ElementType::unsigned(description.permutations[0].item_bits());
            let tell = Instruction::new(Op::Tell, element, items);
            let seed = seeds.draw();
            let mut random = SeededRng::new(seed);
            let told = random_permutation(items as usize, &mut |words| {
                words.fill_with(|| random.next_u64());
            });
            own.tell(&tell, told.iter().map(|&item| Lane::from(item))).expect("a permutation");
            let count = description.permutations[1].switches() as u32;
            let mut switches = Instruction::new(Op::Switches, ElementType::BIT, count);
            switches.immediates[0] = 1;
            let bits = own.bring(&switches, &mut |words| words.fill_with(|| random.next_u64()));
            // Where the hiding permutation moves each place, by its network.
            let mut contents: Vec<u32> = (0..items).collect();
            let mut bits = bits.iter();
            for Layer { stride, switches } in layers(items.into()) {
                let firsts = (0..items as usize).filter(|i| i & stride as usize == 0);
                for (i, &bit) in firsts.take(switches as usize).zip(bits.by_ref()) {
                    contents.swap(i, i + stride as usize * bit as usize);
                }
            }
            let mut locate = Instruction::new(Op::Locate, element, 1);
            locate.immediates = [0, 0, 1, 0];
            for (position, &item) in (0..).zip(&told) {
                assert_eq!(own.told_positions(&locate)[item as usize], position, "seed {seed}");
                let place = own.place(&locate, position);
                assert_eq!(place, contents[position as usize], "{items} items, seed {seed}");
            }
            locate.immediates[3] = 1;
            own.end_located(&locate);
            assert!(own.origins.iter().all(VecDeque::is_empty), "nothing is kept");
            for instruction in [tell, switches, locate] {
                peak.push(&description, &instruction);
            }
            assert_eq!((peak.now_bytes, peak.at_work.len()), (0, 0));
            assert!(peak.bytes() > 2 * BYTES_PER_ITEM);
        }
    }

    /// Switches of pairs are drawn anew each time, all of them are used, and nothing is kept.
    #[test]
    fn switches_of_pairs_are_random() {
        let pairs = Permutation { party: 0, items: 600, kind: PermutationKind::RandomPairs };
        let description =
            Description { permutations: vec![pairs].into(), ..Description::default() };
        let mut own = OwnPermutations::new(&description);
        let mut peak = PermutationPeak::default();
        let seed = Seeds::fresh().draw();
        let mut random = SeededRng::new(seed);
        let mut ones = 0;
        for _ in 0..20 {
            for (from, lanes) in [(0, 130), (130, 170)] {
                let mut switches = Instruction::new(Op::Switches, ElementType::BIT, lanes);
                switches.immediates[1] = from;
                let bits = own.bring(&switches, &mut |words| words.fill_with(|| random.next_u64()));
                assert_eq!(bits.len(), lanes as usize);
                ones += bits.iter().sum::<u32>();
                peak.push(&description, &switches);
            }
        }
        // Of 6000 bits, within 7 standard deviations.
        assert!((2730..3270).contains(&ones), "{ones} of 6000, seed {seed}");
        assert_eq!(peak.bytes(), 0);
        assert!(own.states.iter().all(Option::is_none), "nothing is kept");
    }

    /// A list that is no permutation is noticed when all of it was told.
    #[test]
    fn a_list_with_an_item_twice_is_refused() {
        let told = Permutation { party: 0, items: 3, kind: PermutationKind::ToldLocated };
        let description = Description { permutations: vec![told].into(), ..Description::default() };
        let mut own = OwnPermutations::new(&description);
        let tell = Instruction::new(Op::Tell, ElementType::unsigned(2), 3);
        let lanes = [0u32, 2, 2].map(Lane::from);
        assert_eq!(own.tell(&tell, lanes.into_iter()), Err(NotAPermutation));
    }

    /// The bytecode counts the switches that the circuits have.
    #[test]
    fn networks_have_as_many_switches_as_programs_state() {
        for items in (1..300).chain((0..=24).map(|log2| 1 << log2)).chain([1_000_003]) {
            let permutation = Permutation { party: 0, items, kind: PermutationKind::Random };
            assert_eq!(permutation.switches(), switch_count(items.into()), "{items} items");
        }
    }
}
