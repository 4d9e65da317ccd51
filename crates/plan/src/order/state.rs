//! [`StateQueues`]: the order of instructions on registers, regions, permutations and tables.
//!
//! Such an instruction changes more than its results, or depends on more than its operands. Two that are about the
//! same register, region or permutation stay in program order; others may change places. A lookup waits until the rows of
//! its table are set that are set before it; none is set behind it. Changes of a
//! shared table stay in order, and so do its lookups; when it is hidden, all of them before are done.
//!
//! Cost: `O(log n)` for each instruction. Memory: [`StateQueues::memory_bytes`].

use std::collections::{BTreeMap, BTreeSet};

use phineus_bytecode::{Instruction, Op};

/// What an instruction reads or changes besides values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Register(u64),
    Region(u64),
    Permutation(u64),
    Table(u64),
    /// Rows of a table as they are, where the table itself is as they were hidden last.
    SharedRows(u64),
}

/// Returns whether another instruction may wait until this one is done, because both work on the same state.
pub(super) fn is_awaited(instruction: &Instruction) -> bool {
    states(instruction).next().is_some()
}

/// What `instruction` works on besides values; nothing if it is not stateful, and about no shared table.
fn states(instruction: &Instruction) -> impl Iterator<Item = State> {
    let [index, selected, third, _] = instruction.immediates;
    let register = |number| Some(State::Register(number));
    let region = |number| Some(State::Region(number));
    let permutation = |number| Some(State::Permutation(number));
    let all = match instruction.op {
        Op::Reveal => [register(index), None, None],
        Op::Locate => [register(index), permutation(selected), permutation(third)],
        Op::RegionLoad | Op::RegionStore => [region(index), None, None],
        Op::RegionLoadAt | Op::RegionStoreAt => [region(index), register(selected), None],
        Op::Switches | Op::Origins | Op::Tell => [permutation(index), None, None],
        Op::SharedLookUp => [Some(State::Table(index)), None, None],
        Op::SharedSet | Op::SharedAdd => [Some(State::SharedRows(index)), None, None],
        Op::SharedHide => [Some(State::SharedRows(index)), Some(State::Table(index)), None],
        op => {
            assert!(!op.is_stateful(), "{} is replaced before", op.info().name);
            [None; 3]
        }
    };
    all.into_iter().flatten()
}

/// The table that `instruction` sets rows of.
fn filled(instruction: &Instruction) -> Option<State> {
    instruction.op.fills_table().then_some(State::Table(instruction.immediates[0]))
}

/// The table that `instruction` looks rows up in.
fn read(instruction: &Instruction) -> Option<State> {
    (instruction.op == Op::TableLookUp).then_some(State::Table(instruction.immediates[0]))
}

/// The stateful instructions of the window.
#[derive(Default)]
pub(super) struct StateQueues {
    /// Numbers of those that are not done, by what they work on.
    pending: BTreeSet<(State, u64)>,
    /// Numbers of those that have their operands and wait for earlier ones.
    waiting: BTreeSet<u64>,
    /// Lookups that wait for rows of their table.
    reading: BTreeSet<(State, u64)>,
}

impl StateQueues {
    /// Adds an instruction behind all others.
    pub(super) fn push(&mut self, instruction: &Instruction, number: u64) {
        let all = states(instruction).chain(filled(instruction));
        self.pending.extend(all.map(|state| (state, number)));
    }

    /// Returns whether `instruction`, which has its operands, is the next one on all that it works on. It waits here if
    /// not.
    pub(super) fn is_next(&mut self, instruction: &Instruction, number: u64) -> bool {
        let is_next = states(instruction).all(|state| self.first(state) == Some(number))
            && read(instruction).is_none_or(|state| !self.is_before(state, number));
        match read(instruction) {
            _ if is_next => {}
            Some(state) => {
                self.reading.insert((state, number));
            }
            None => {
                self.waiting.insert(number);
            }
        }
        is_next
    }

    /// Takes note that an instruction is done; returns the numbers of those that waited for it.
    pub(super) fn done(
        &mut self,
        instruction: &Instruction,
        number: u64,
    ) -> impl Iterator<Item = u64> + use<> {
        let mut next = Vec::new();
        for state in states(instruction) {
            self.pending.remove(&(state, number));
            next.extend(self.first(state).filter(|first| self.waiting.remove(first)));
        }
        if let Some(table) = filled(instruction) {
            self.pending.remove(&(table, number));
            let free = (table, 0)..(table, self.first(table).unwrap_or(u64::MAX));
            while let Some(&lookup) = self.reading.range(free.clone()).next() {
                self.reading.remove(&lookup);
                next.push(lookup.1);
            }
        }
        next.into_iter()
    }

    /// Returns whether an earlier instruction than this one on `state` is not done.
    fn is_before(&self, state: State, number: u64) -> bool {
        self.first(state).is_some_and(|first| first < number)
    }

    /// Bytes of all entries, in trees that are half full at the least.
    pub(super) fn memory_bytes(&self) -> u64 {
        let pending = self.pending.len() * size_of::<(State, u64)>();
        let waiting = self.waiting.len() * size_of::<u64>();
        let waiting = waiting + self.reading.len() * size_of::<(State, u64)>();
        2 * (pending + waiting) as u64
    }

    /// The first instruction on `state` that is not done.
    fn first(&self, state: State) -> Option<u64> {
        let (found, number) = self.pending.range((state, 0)..).next()?;
        (*found == state).then_some(*number)
    }
}

/// Rounds from the next instruction on each state to the end, for a pass over a window from its end.
#[derive(Default)]
pub(super) struct StateHeights(BTreeMap<State, u32>);

impl StateHeights {
    /// Rounds from the first instruction behind `instruction` that must wait for it.
    pub(super) fn behind(&self, instruction: &Instruction) -> Option<u32> {
        let all = states(instruction).chain(filled(instruction));
        all.filter_map(|state| self.0.get(&state).copied()).max()
    }

    /// Takes note of the rounds from `instruction` to the end.
    pub(super) fn set(&mut self, instruction: &Instruction, height: u32) {
        self.0.extend(states(instruction).map(|state| (state, height)));
        if let Some(state) = read(instruction) {
            let known = self.0.entry(state).or_default();
            *known = height.max(*known);
        }
    }
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::ElementType;

    use super::*;

    fn instruction(op: Op, immediates: [u64; 2]) -> Instruction {
        let mut made = Instruction::new(op, ElementType::unsigned(8), 1);
        made.immediates[..2].copy_from_slice(&immediates);
        made
    }

    #[test]
    fn lookups_wait_for_rows_and_not_for_each_other() {
        let all = [
            instruction(Op::TableSet, [0, 0]),
            instruction(Op::TableSet, [0, 1]),
            instruction(Op::TableLookUp, [0, 8]),
            instruction(Op::TableLookUp, [0, 8]),
            instruction(Op::TableLookUp, [1, 8]),
        ];
        let mut queues = StateQueues::default();
        (0..).zip(&all).for_each(|(number, i)| queues.push(i, number));
        let is_next =
            |queues: &mut StateQueues, number: usize| queues.is_next(&all[number], number as u64);
        assert!(is_next(&mut queues, 4) && !is_next(&mut queues, 3) && !is_next(&mut queues, 2));
        // Rows are set in any order.
        assert!(is_next(&mut queues, 1) && is_next(&mut queues, 0));
        assert_eq!(queues.done(&all[1], 1).count(), 0);
        assert!(!is_next(&mut queues, 2));
        assert_eq!(queues.done(&all[0], 0).collect::<Vec<_>>(), [2, 3]);
        assert!(is_next(&mut queues, 3) && is_next(&mut queues, 2));
    }

    #[test]
    fn what_hides_a_shared_table_waits_for_changes_and_lookups() {
        let all = [
            instruction(Op::SharedLookUp, [0, 8]),
            instruction(Op::SharedAdd, [0, 8]),
            instruction(Op::SharedHide, [0, 0]),
            instruction(Op::SharedLookUp, [0, 8]),
            instruction(Op::SharedSet, [1, 0]),
        ];
        let mut queues = StateQueues::default();
        (0..).zip(&all).for_each(|(number, i)| queues.push(i, number));
        let is_next =
            |queues: &mut StateQueues, number: usize| queues.is_next(&all[number], number as u64);
        assert!(is_next(&mut queues, 4) && all.iter().all(is_awaited));
        // A change does not change what is looked up.
        assert!(!is_next(&mut queues, 3) && !is_next(&mut queues, 2));
        assert!(is_next(&mut queues, 1) && is_next(&mut queues, 0));
        assert_eq!(queues.done(&all[1], 1).collect::<Vec<_>>(), [2]);
        assert!(!is_next(&mut queues, 2));
        assert_eq!(queues.done(&all[0], 0).collect::<Vec<_>>(), [2]);
        assert!(is_next(&mut queues, 2));
        assert_eq!(queues.done(&all[2], 2).collect::<Vec<_>>(), [3]);
        assert!(is_next(&mut queues, 3));
    }

    #[test]
    fn those_on_one_region_wait_for_each_other() {
        let all = [
            instruction(Op::RegionStore, [0, 0]),
            instruction(Op::Reveal, [3, 0]),
            instruction(Op::RegionLoadAt, [0, 3]),
            instruction(Op::Reveal, [3, 0]),
            instruction(Op::RegionLoad, [1, 0]),
            instruction(Op::Switches, [0, 0]),
        ];
        let mut queues = StateQueues::default();
        (0..).zip(&all).for_each(|(number, i)| queues.push(i, number));
        let is_next =
            |queues: &mut StateQueues, number: usize| queues.is_next(&all[number], number as u64);
        // Another region, and a permutation, wait for nobody.
        assert!(is_next(&mut queues, 4) && is_next(&mut queues, 5));
        assert!(!is_next(&mut queues, 3) && !is_next(&mut queues, 2));
        assert!(is_next(&mut queues, 1));
        assert_eq!(queues.done(&all[1], 1).collect::<Vec<_>>(), [2]);
        // Of what it needs, only the register is ready.
        assert!(!is_next(&mut queues, 2));
        assert!(is_next(&mut queues, 0));
        assert_eq!(queues.done(&all[0], 0).collect::<Vec<_>>(), [2]);
        assert!(is_next(&mut queues, 2));
        assert_eq!(queues.done(&all[2], 2).collect::<Vec<_>>(), [3]);
        assert!(is_next(&mut queues, 3));
        assert_eq!(queues.done(&all[3], 3).count(), 0);
    }
}
