//! [`RoundCount`]: the messages of a session of garbled circuits that wait for one another.
//!
//! The set-up of oblivious transfers takes two, as both base OTs go at once and the trees with the
//! first transfers after them; the rows take one, and the evaluator's answers one more. In a program
//! of several blocks what follows an answered block waits for that answer. What goes ahead in a
//! stream, such as later batches of transfers, waits for nothing and is no round.

/// Rounds of one party's session, counted as they happen; or those of a program, instruction by instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundCount {
    done: u64,
    /// Whether the evaluator has answered since the last end.
    is_answered: bool,
    /// Whether the garbler has said anything since the evaluator's last answer that it waited for.
    has_spoken: bool,
}

impl Default for RoundCount {
    /// Those of a block, which begins with what the garbler says.
    fn default() -> RoundCount {
        RoundCount { done: 0, is_answered: false, has_spoken: true }
    }
}

impl RoundCount {
    /// The set-up is done, and the first rows are on their way.
    pub(super) fn set_up(has_transfers: bool) -> RoundCount {
        RoundCount { done: RoundCount::of_set_up(has_transfers), ..RoundCount::default() }
    }

    /// Rounds until the first rows are on their way. Base OTs: both send at once, then the trees and OTs go out together.
    pub(super) fn of_set_up(has_transfers: bool) -> u64 {
        1 + if has_transfers { 2 } else { 0 }
    }

    /// The garbler sends what the evaluator needs for its next answer.
    pub(super) fn spoken(&mut self) {
        self.has_spoken = true;
    }

    /// The evaluator tells the garbler an output.
    pub(super) fn answered(&mut self) {
        self.is_answered = true;
    }

    /// The evaluator answers, and what follows waits for it.
    pub(super) fn opened(&mut self) {
        self.done += 2;
        (self.is_answered, self.has_spoken) = (false, false);
    }

    /// The evaluator sends what the garbler waits for; if it did so before, and has heard nothing since, both go together.
    pub(super) fn told(&mut self) {
        if self.has_spoken {
            self.opened();
        }
    }

    /// All answers are there.
    pub(super) fn end(&mut self) {
        self.done += u64::from(self.is_answered);
    }

    /// The program goes on after an end.
    pub(super) fn go_on(&mut self) {
        self.done += u64::from(self.take_answered());
        self.has_spoken = true;
    }

    /// Whether the evaluator has answered since the last end; that is behind now.
    pub(super) fn take_answered(&mut self) -> bool {
        std::mem::take(&mut self.is_answered)
    }

    /// Adds those of a block that runs so often.
    pub(super) fn add(&mut self, block: RoundCount, times: u64) {
        self.done += block.done * times;
    }

    pub(super) fn total(&self) -> u64 {
        self.done
    }
}
