//! [`ReadyQueue`]: operations of one unit that can issue, by priority and then by age.
//!
//! Those that are tried in a cycle stand apart, in order, so that trying them costs no work on a heap.

use std::collections::BinaryHeap;

/// Ready operations of a unit that are tried in one cycle.
pub(super) const TRIES: usize = 12;

/// An operation that can issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    /// Priority in the high half; in the low half the complement of the age, so that older ones come first.
    key: u64,
    pub(super) entry: u32,
    /// Terms of a XOR, and their addresses.
    term_count: u32,
    terms: [u32; TERMS_MAX],
}

/// Terms of a XOR.
pub(super) const TERMS_MAX: usize = 3;

impl Candidate {
    pub(super) fn new(
        entry: u32,
        (priority, age): (u32, u32),
        terms: impl Iterator<Item = u32>,
    ) -> Candidate {
        let key = u64::from(priority) << 32 | u64::from(!age);
        let mut candidate = Candidate { key, entry, term_count: 0, terms: [0; TERMS_MAX] };
        for (place, address) in candidate.terms.iter_mut().zip(terms) {
            *place = address;
            candidate.term_count += 1;
        }
        candidate
    }

    /// Addresses of the terms of a XOR.
    #[inline]
    pub(super) fn terms(&self) -> &[u32] {
        &self.terms[..self.term_count as usize]
    }

    /// Which operation of those that had this entry it is.
    pub(super) fn age(self) -> u32 {
        !(self.key as u32)
    }
}

#[derive(Default)]
pub(super) struct ReadyQueue {
    /// The first ones in order, none of which is behind any of the rest.
    front: [Candidate; TRIES],
    front_count: usize,
    rest: BinaryHeap<Candidate>,
}

impl ReadyQueue {
    /// The first ones, in order.
    #[inline]
    pub(super) fn front(&mut self) -> &[Candidate] {
        if self.front_count < TRIES && !self.rest.is_empty() {
            self.fill();
        }
        &self.front[..self.front_count]
    }

    fn fill(&mut self) {
        while self.front_count < TRIES {
            let Some(next) = self.rest.pop() else { break };
            self.front[self.front_count] = next;
            self.front_count += 1;
        }
    }

    #[inline]
    pub(super) fn push(&mut self, candidate: Candidate) {
        let count = self.front_count;
        let is_behind = count > 0 && candidate < self.front[count - 1];
        if is_behind && (count == TRIES || !self.rest.is_empty())
            || count == 0 && !self.rest.is_empty()
        {
            self.rest.push(candidate);
            return;
        }
        if count == TRIES {
            self.rest.push(self.front[TRIES - 1]);
            self.front_count -= 1;
        }
        let mut place = self.front_count;
        while place > 0 && self.front[place - 1] < candidate {
            self.front[place] = self.front[place - 1];
            place -= 1;
        }
        self.front[place] = candidate;
        self.front_count += 1;
    }

    /// Takes one of the first ones out.
    #[inline]
    pub(super) fn remove(&mut self, place: usize) {
        self.front_count -= 1;
        for place in place..self.front_count {
            self.front[place] = self.front[place + 1];
        }
    }
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::random::{SeededRng, Seeds};

    use super::*;

    #[test]
    fn the_first_ones_are_those_of_a_sorted_list() {
        let seed = Seeds::fresh().draw();
        let mut random = SeededRng::new(seed);
        let (mut queue, mut list) = (ReadyQueue::default(), Vec::new());
        for age in 0..20_000 {
            if random.below(100) < 49 {
                let candidate = Candidate::new(age, (random.below(50) as u32, age), [].into_iter());
                assert_eq!(candidate.age(), age);
                queue.push(candidate);
                list.push(candidate);
                list.sort_by(|a, b| b.cmp(a));
            } else if !list.is_empty() {
                let front = queue.front();
                assert_eq!(front, &list[..list.len().min(TRIES)], "seed {seed}");
                let place = random.below(front.len() as u64) as usize;
                queue.remove(place);
                list.remove(place);
            }
        }
    }
}
