//! [`CircuitTemplate`]: a recorded circuit, and its evaluation in the clear.

/// A recorded circuit: what to compute on rows, level by level.
///
/// A *slot* holds one row. Slots `0..input_count` hold the inputs at the start; a slot is written
/// again once nothing needs what it holds. An output may be an input's slot, and two outputs may
/// be the same slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CircuitTemplate {
    /// Rows that go in.
    pub input_count: u32,
    /// Rows in use at the same time, at most; never below `input_count`, if no inputs are apart.
    pub slot_count: u32,
    /// How many inputs, the first ones, are read from slots of their own behind all others
    /// ([`CircuitTemplate::with_inputs_apart`]).
    pub apart_count: u32,
    /// One level per round, and a last one without ANDs.
    pub levels: Vec<Level>,
    /// The slots of the outputs after the last level.
    pub outputs: Box<[u32]>,
}

/// Gates of one AND depth: first `local`, in order, then `ands`, all together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Gates without communication, each after those it needs.
    pub local: Vec<LocalGate>,
    /// Independent ANDs. All operands are read before any result is written: the result of one
    /// may go to a slot that is an operand of another. Results count from the next level on.
    pub ands: Vec<And>,
}

/// A gate that each party computes alone on XOR shares. `out` may be one of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are slots; the variants say what they are")]
pub enum LocalGate {
    /// `out = a ^ b`
    Xor { out: u32, a: u32, b: u32 },
    /// `out = !a`
    Not { out: u32, a: u32 },
    /// `out = value`, in every lane.
    Constant { out: u32, value: bool },
}

/// `out = a & b`; fields are slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are slots")]
pub struct And {
    pub out: u32,
    pub a: u32,
    pub b: u32,
}

impl CircuitTemplate {
    /// ANDs of all levels.
    pub fn and_count(&self) -> usize {
        self.levels.iter().map(|level| level.ands.len()).sum()
    }

    /// Levels that have ANDs: the rounds that a protocol takes.
    pub fn depth(&self) -> usize {
        self.levels.len() - 1
    }

    /// Bytes that the circuit itself takes.
    pub fn memory_bytes(&self) -> u64 {
        let level = |level: &Level| {
            size_of_val(level) + size_of_val(&level.local[..]) + size_of_val(&level.ands[..])
        };
        let levels: usize = self.levels.iter().map(level).sum();
        (size_of::<CircuitTemplate>() + levels + size_of_val(&self.outputs[..])) as u64
    }

    /// ANDs of each level that has some.
    pub fn ands_per_level(&self) -> Vec<usize> {
        self.levels[..self.depth()].iter().map(|level| level.ands.len()).collect()
    }

    /// Runs the circuit in the clear on 64 lanes, one bit of a word each.
    ///
    /// # Panics
    /// If there are not `input_count` inputs.
    pub fn evaluate_clear(&self, inputs: &[u64]) -> Vec<u64> {
        assert_eq!(inputs.len(), self.input_count as usize, "a word for each input");
        let (apart, rows) = inputs.split_at(self.apart_count as usize);
        let mut slots = rows.to_vec();
        slots.resize(self.slot_count as usize, 0);
        slots.extend_from_slice(apart);
        for level in &self.levels {
            for &gate in &level.local {
                match gate {
                    LocalGate::Xor { out, a, b } => {
                        slots[out as usize] = slots[a as usize] ^ slots[b as usize];
                    }
                    LocalGate::Not { out, a } => slots[out as usize] = !slots[a as usize],
                    LocalGate::Constant { out, value } => {
                        slots[out as usize] = if value { u64::MAX } else { 0 };
                    }
                }
            }
            let operands: Vec<(u64, u64)> = level
                .ands
                .iter()
                .map(|and| (slots[and.a as usize], slots[and.b as usize]))
                .collect();
            for (and, (a, b)) in level.ands.iter().zip(operands) {
                slots[and.out as usize] = a & b;
            }
        }
        self.outputs.iter().map(|&slot| slots[slot as usize]).collect()
    }
}

impl LocalGate {
    /// The slot that it writes.
    pub(super) fn out(&self) -> u32 {
        match *self {
            LocalGate::Xor { out, .. }
            | LocalGate::Not { out, .. }
            | LocalGate::Constant { out, .. } => out,
        }
    }
}
