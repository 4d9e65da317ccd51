//! From recorded nodes to a [`Script`]: what is not needed is left out, then levels, then slots.
//!
//! Slots are those of a linear scan: a slot is free as soon as the last reader has read.

use super::{
    JointStep, LocalStep, OpenedNumber, PublicRow, RecordedNode, RoundOperation, Script,
    ScriptLevel, ScriptRecorder, ShareRow,
};

struct ScriptScheduler<'a> {
    recorder: &'a ScriptRecorder,
    /// Readers of each node that are still to come.
    readers: Vec<u32>,
    slots: Vec<u32>,
    publics: Vec<u32>,
    free: Vec<u32>,
    slot_count: u32,
    public_count: u32,
}

pub(super) fn schedule(recorder: &ScriptRecorder, outputs: &[ShareRow]) -> Script {
    let count = recorder.nodes.len();
    let mut scheduler = ScriptScheduler {
        recorder,
        readers: vec![0; count],
        slots: vec![u32::MAX; count],
        publics: vec![u32::MAX; count],
        free: Vec::new(),
        slot_count: recorder.given(),
        public_count: 0,
    };
    outputs.iter().for_each(|row| scheduler.readers[row.0 as usize] += 1);
    // Nodes come after what they read, so backwards all readers are known.
    for node in (0..count).rev() {
        if scheduler.readers[node] > 0 {
            scheduler.reads(node).into_iter().for_each(|read| scheduler.readers[read] += 1);
        }
    }
    let depth = outputs.iter().map(|row| recorder.level(*row)).max().unwrap_or(0) as usize;
    // Joint nodes belong to the level before the one in which they are known.
    let mut by_level = vec![(Vec::new(), Vec::new()); depth + 1];
    for node in 0..count {
        let level = recorder.levels[node] as usize;
        match recorder.nodes[node] {
            _ if scheduler.readers[node] == 0 => {}
            RecordedNode::Input => {}
            RecordedNode::Local(_) => by_level[level].0.push(node),
            RecordedNode::Joint(_) => by_level[level - 1].1.push(node),
        }
    }
    for input in 0..recorder.given() as usize {
        scheduler.slots[input] = input as u32;
        if scheduler.readers[input] == 0 {
            scheduler.free.push(input as u32);
        }
    }
    let levels = by_level.iter().map(|(local, joint)| scheduler.level(local, joint)).collect();
    Script {
        input_count: recorder.input_count,
        bit_count: recorder.bit_count,
        bounded_count: recorder.bounded_count,
        whole_count: recorder.whole_count,
        slot_count: scheduler.slot_count,
        public_count: scheduler.public_count,
        levels,
        outputs: outputs.iter().map(|row| scheduler.slots[row.0 as usize]).collect(),
    }
}

impl ScriptScheduler<'_> {
    /// The nodes that `node` reads.
    fn reads(&self, node: usize) -> Vec<usize> {
        let rows = match &self.recorder.nodes[node] {
            RecordedNode::Input => Vec::new(),
            RecordedNode::Joint(joint) => joint.rows(),
            RecordedNode::Local(local) => {
                let mut rows = local.rows();
                rows.extend(number(local).map(|number| ShareRow(number.public.0)));
                rows
            }
        };
        rows.into_iter().map(|row| row.0 as usize).collect()
    }

    fn level(&mut self, local: &[usize], joint: &[usize]) -> ScriptLevel {
        let mut level = ScriptLevel {
            local: Vec::with_capacity(local.len()),
            joint: Vec::with_capacity(joint.len()),
        };
        for &node in local {
            let RecordedNode::Local(what) = &self.recorder.nodes[node] else {
                unreachable!("sorted so")
            };
            let mapped = what.map(
                |row| self.slots[row.0 as usize],
                |number| OpenedNumber {
                    public: PublicRow(self.publics[number.public.0 as usize]),
                    ..number
                },
            );
            // The result gets a slot of its own before the operands' are free: steps add up in it.
            let out = self.take(node);
            self.read_all(node);
            level.local.push(LocalStep { out, what: mapped });
        }
        for &node in joint {
            let RecordedNode::Joint(what) = self.recorder.nodes[node] else {
                unreachable!("sorted so")
            };
            level
                .joint
                .push(JointStep { out: 0, what: what.map(|row| self.slots[row.0 as usize]) });
        }
        joint.iter().for_each(|&node| self.read_all(node));
        for (step, &node) in level.joint.iter_mut().zip(joint) {
            step.out = if matches!(step.what, RoundOperation::Open { .. }) {
                self.publics[node] = self.public_count;
                self.public_count += 1;
                self.publics[node]
            } else {
                self.take(node)
            };
        }
        level
    }

    fn read_all(&mut self, node: usize) {
        for read in self.reads(node) {
            self.readers[read] -= 1;
            if self.readers[read] == 0 && self.slots[read] != u32::MAX {
                self.free.push(self.slots[read]);
            }
        }
    }

    fn take(&mut self, node: usize) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slot_count += 1;
            self.slot_count - 1
        });
        self.slots[node] = slot;
        slot
    }
}

/// The number whose bits a local node looks at.
fn number(local: &super::LocalOperation<ShareRow>) -> Option<OpenedNumber> {
    match local {
        super::LocalOperation::LessOfTwo(two) | super::LocalOperation::EqualOfTwo(two) => {
            Some(two.number)
        }
        super::LocalOperation::Less { number, .. }
        | super::LocalOperation::Equal { number, .. }
        | super::LocalOperation::Differs { number, .. }
        | super::LocalOperation::AddLow { number, .. }
        | super::LocalOperation::TimesLow { number, .. } => Some(*number),
        super::LocalOperation::Combine(_)
        | super::LocalOperation::Xor { .. }
        | super::LocalOperation::Not { .. }
        | super::LocalOperation::Halved { .. } => None,
    }
}
