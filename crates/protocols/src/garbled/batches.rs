//! Labels that oblivious transfers made ahead of their use, batch by batch.

use std::collections::VecDeque;

use phineus_crypto::Block;
use zeroize::Zeroizing;

use crate::garbled::limits::BATCHES_AHEAD;

/// Batches of labels in the order of their use, and empty ones to fill again.
pub(super) struct LabelBatches {
    ready: VecDeque<Zeroizing<Vec<Block>>>,
    spare: Vec<Zeroizing<Vec<Block>>>,
    /// Labels of the first batch that are used up.
    position: usize,
}

impl LabelBatches {
    pub(super) fn new() -> LabelBatches {
        LabelBatches {
            ready: VecDeque::with_capacity(BATCHES_AHEAD),
            spare: Vec::new(),
            position: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// All labels that are ready, in order.
    pub(super) fn labels(&self) -> impl Iterator<Item = Block> {
        self.ready.iter().flat_map(|batch| batch.iter().copied()).skip(self.position)
    }

    /// A batch of `count` labels to fill and [`push`](Batches::push).
    pub(super) fn blank(&mut self, count: usize) -> Zeroizing<Vec<Block>> {
        let mut batch = self.spare.pop().unwrap_or_default();
        batch.resize(count, Block::ZERO);
        batch
    }

    pub(super) fn push(&mut self, batch: Zeroizing<Vec<Block>>) {
        self.ready.push_back(batch);
    }

    /// Moves labels of the first batch to the front of `wires`: how many, and whether they were
    /// its last.
    ///
    /// # Panics
    /// If there is no batch.
    pub(super) fn take(&mut self, wires: &mut [Block]) -> (usize, bool) {
        let batch = self.ready.front().expect("a batch is made before it is used");
        let left = &batch[self.position..];
        let count = wires.len().min(left.len());
        wires[..count].copy_from_slice(&left[..count]);
        self.position += count;
        let is_used_up = self.position == batch.len();
        if is_used_up {
            self.position = 0;
            self.spare.extend(self.ready.pop_front());
        }
        (count, is_used_up)
    }
}
