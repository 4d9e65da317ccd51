//! [`RoundClock`]: the longest chain of messages that wait for one another.
//!
//! In a round all parties send to each other. Between two rounds only the garbler of two parties sends, garbled tables: what
//! the evaluator sends after them waits for them, and what the garbler sends does not.

/// Messages in a chain before each of the garbler and the evaluator goes on. Other parties do as the garbler.
type Depths = [u64; 2];

/// The set-up of half gates: the base OTs of both at once, then the trees of the evaluator.
const SET_UP: Depths = [2, 1];

/// Both parties send.
pub(super) const BOTH_SEND: [bool; 2] = [true; 2];

/// Depth of a chain of messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundClock {
    /// Rounds of this block, each of which counts as a message from every party.
    rounds: u64,
    /// Of this block with garbled tables, without what the run begins with.
    depths: Depths,
    /// Of a program of one block with garbled tables.
    after_set_up: Depths,
    /// Of blocks that have ended, if there are several: without garbled tables, and with them.
    ended: Option<[u64; 2]>,
}

fn most(depths: Depths) -> u64 {
    depths[0].max(depths[1])
}

impl Default for RoundClock {
    fn default() -> RoundClock {
        RoundClock { rounds: 0, depths: [0, 0], after_set_up: SET_UP, ended: None }
    }
}

impl RoundClock {
    /// All parties send to each other, so many times; with garbled tables, those of the two that `sends` says.
    pub(super) fn round(&mut self, times: u64, sends: [bool; 2]) {
        self.rounds += times;
        for [garbler, evaluator] in [&mut self.depths, &mut self.after_set_up] {
            for _ in 0..times {
                let [from_garbler, from_evaluator] = [*garbler + 1, *evaluator + 1];
                if sends[0] {
                    *evaluator = (*evaluator).max(from_garbler);
                }
                if sends[1] {
                    *garbler = (*garbler).max(from_evaluator);
                }
            }
        }
    }

    /// The garbler sends tables.
    pub(super) fn tables(&mut self) {
        for [garbler, evaluator] in [&mut self.depths, &mut self.after_set_up] {
            *evaluator = (*evaluator).max(*garbler + 1);
        }
    }

    /// A block of a program of several ends.
    pub(super) fn end_block(&mut self) {
        let mut all = RoundClock::default();
        all.add_block(self, 1);
        *self = all;
    }

    /// Adds a block that runs so often.
    pub(super) fn add_block(&mut self, block: &RoundClock, times: u64) {
        let [plain, with_tables] = block.ended.unwrap_or_default();
        let of_block = [plain + block.rounds, with_tables + most(block.depths)];
        let ended = self.ended.unwrap_or_default();
        self.ended = Some([0, 1].map(|k| ended[k] + of_block[k] * times));
    }

    /// All rounds, with those of the set-up if there are garbled tables.
    pub(super) fn total(&self, has_tables: bool) -> u64 {
        match (self.ended, has_tables) {
            (None, true) => most(self.after_set_up),
            (Some([_, ended]), true) => ended + most(self.depths) + most(SET_UP),
            (ended, false) => ended.unwrap_or_default()[0] + self.rounds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_evaluator_waits_for_tables() {
        let mut clock = RoundClock::default();
        clock.round(1, BOTH_SEND);
        assert_eq!(clock.total(false), 1);
        clock.tables();
        clock.tables();
        clock.round(1, [true, false]);
        // Set-up, a message of the evaluator at the same time as its trees, tables.
        assert_eq!((clock.total(false), clock.total(true)), (2, 3));
        clock.round(1, BOTH_SEND);
        // The answer to the tables.
        assert_eq!((clock.total(false), clock.total(true)), (3, 4));
        let mut blocks = RoundClock::default();
        blocks.add_block(&clock, 5);
        assert_eq!((blocks.total(false), blocks.total(true)), (15, 5 * 3 + 2));
    }
}
