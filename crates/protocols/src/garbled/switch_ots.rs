//! [`SwitchOts`]: oblivious transfers for the switches of permutations that the garbler knows.
//!
//! In them the garbler chooses, where the evaluator does in those of its inputs. They are made in batches, each for
//! some switches of one permutation in their order. The batch behind the one that is used is made with it, so that the
//! evaluator has it when it comes to it.
//!
//! Memory: of each permutation at work two batches, or more if its switches are not brought in order.

use std::collections::HashMap;
use std::ops::Range;

use phineus_bytecode::{Description, Instruction};
use phineus_crypto::Block;
use zeroize::Zeroizing;

use crate::garbled::limits::OTS_PER_BATCH;

/// Blocks of a batch.
type Batch = Zeroizing<Vec<Block>>;

/// Transfers that are not used up, by permutation.
#[derive(Default)]
pub(super) struct SwitchOts {
    permutations: HashMap<u64, MadeOts>,
}

/// Transfers of a permutation.
struct MadeOts {
    /// How many batches were made.
    made: u64,
    /// Those that are not used up, and how many of their blocks are left.
    batches: HashMap<u64, (Batch, u64)>,
    /// Switches that were not brought yet.
    left: u64,
}

/// The switches that an instruction brings, and how many its permutation has.
pub(super) struct WantedSwitches {
    permutation: u64,
    brought: Range<u64>,
    all: u64,
}

impl WantedSwitches {
    pub(super) fn of(description: &Description, i: &Instruction) -> WantedSwitches {
        let [permutation, from, ..] = i.immediates;
        let all = description.permutations[permutation as usize].switches();
        WantedSwitches { permutation, brought: from..from + u64::from(i.lanes), all }
    }

    /// The switches of a batch.
    fn batch(&self, number: u64) -> Range<u64> {
        let [start, end] = [number, number + 1].map(|number| number * OTS_PER_BATCH as u64);
        start.min(self.all)..end.min(self.all)
    }
}

impl SwitchOts {
    /// Brings switches: `make` makes the transfers of some, and `take` takes blocks of the wanted ones in their order.
    /// Returns whether any were not made before.
    pub(super) fn bring<E>(
        &mut self,
        wanted: &WantedSwitches,
        mut make: impl FnMut(Range<u64>) -> Result<Batch, E>,
        mut take: impl FnMut(&[Block]),
    ) -> Result<bool, E> {
        let Range { start, end } = wanted.brought;
        let ots = self.permutations.entry(wanted.permutation).or_insert_with(|| MadeOts {
            made: 0,
            batches: HashMap::new(),
            left: wanted.all,
        });
        let mut is_new = false;
        let size = OTS_PER_BATCH as u64;
        for number in start / size..end.div_ceil(size) {
            is_new |= number >= ots.made;
            while ots.made < (number + 2).min(wanted.all.div_ceil(size)) {
                let switches = wanted.batch(ots.made);
                let count = switches.end - switches.start;
                ots.batches.insert(ots.made, (make(switches)?, count));
                ots.made += 1;
            }
            let batch = wanted.batch(number);
            let brought = start.max(batch.start)..end.min(batch.end);
            let (made, left) = ots.batches.get_mut(&number).expect("each is brought once");
            // Who counts only has made none.
            if let Some(made) = made.get((brought.start - batch.start) as usize..) {
                take(&made[..made.len().min((brought.end - brought.start) as usize)]);
            }
            *left -= brought.end - brought.start;
            if *left == 0 {
                ots.batches.remove(&number);
            }
        }
        ots.left -= end - start;
        if ots.left == 0 {
            self.permutations.remove(&wanted.permutation);
        }
        Ok(is_new)
    }

    /// As [`SwitchOts::bring`], into wires.
    pub(super) fn bring_into<E>(
        &mut self,
        wanted: &WantedSwitches,
        make: impl FnMut(Range<u64>) -> Result<Batch, E>,
        mut wires: &mut [Block],
    ) -> Result<bool, E> {
        self.bring(wanted, make, |blocks| {
            let (these, rest) = std::mem::take(&mut wires).split_at_mut(blocks.len());
            these.copy_from_slice(blocks);
            wires = rest;
        })
    }
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::random::{SeededRng, Seeds};
    use phineus_bytecode::{ElementType, Op, Permutation, PermutationKind};

    use super::*;

    /// Every switch gets the block of its number, whatever is brought first; nothing is kept.
    #[test]
    fn each_switch_has_its_transfer() {
        let seed = Seeds::fresh().draw();
        let mut random = SeededRng::new(seed);
        let permutation = Permutation { party: 0, items: 4000, kind: PermutationKind::Random };
        let description =
            Description { permutations: vec![permutation].into(), ..Description::default() };
        for is_in_order in [true, false] {
            let mut pieces: Vec<(u64, u32)> = Vec::new();
            let mut from = 0;
            while from < permutation.switches() {
                let lanes = (1 + random.below(3000)).min(permutation.switches() - from);
                pieces.push((from, lanes as u32));
                from += lanes;
            }
            if !is_in_order {
                pieces.reverse();
            }
            let mut ots = SwitchOts::default();
            let (mut made, mut news) = (0, 0);
            for (from, lanes) in pieces {
                let mut i = Instruction::new(Op::Switches, ElementType::BIT, lanes);
                i.immediates[1] = from;
                let mut found = Vec::new();
                let make = |switches: Range<u64>| {
                    assert_eq!(switches.start, made, "seed {seed}");
                    made = switches.end;
                    let blocks = switches.map(|switch| Block::from_bits(switch.into()));
                    Ok::<_, ()>(Zeroizing::new(blocks.collect::<Vec<_>>()))
                };
                let wanted = WantedSwitches::of(&description, &i);
                let is_new = ots.bring(&wanted, make, |blocks| found.extend_from_slice(blocks));
                news += u64::from(is_new.expect("nothing fails"));
                let expected: Vec<u128> = (from..from + u64::from(lanes)).map(u128::from).collect();
                let found: Vec<u128> = found.iter().map(|block| block.to_bits()).collect();
                assert_eq!(found, expected, "seed {seed}");
            }
            assert_eq!((made, news), (permutation.switches(), 1), "seed {seed}");
            assert!(ots.permutations.is_empty(), "nothing is kept");
        }
    }
}
