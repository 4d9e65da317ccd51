//! From recorded gates to a [`CircuitTemplate`]: levels, then slots.
//!
//! ANDs go to their earliest level, so that the depth is the circuit's. Local gates go to the
//! latest level in which something needs them. Slots are those of a linear scan: a slot is free as
//! soon as the last reader has read, also for the result of that very reader.

use super::{And, CircuitTemplate, Gate, Level, LocalGate, Wire};

/// Origin of a wire: a gate, or the complement of its result.
enum WireOrigin {
    Gate(Gate),
    Complement(Wire),
}

struct LevelScheduler<'a> {
    gates: &'a [Gate],
    /// Level in which each wire (a gate's result or its complement) is first needed.
    needed: Vec<u32>,
    /// Readers of each wire that are still to come.
    readers: Vec<u32>,
    slots: Vec<u32>,
    free: Vec<u32>,
    slot_count: u32,
}

const UNNEEDED: u32 = u32::MAX;

pub(super) fn schedule(
    gates: &[Gate],
    depths: &[u32],
    input_count: u32,
    outputs: &[Wire],
) -> CircuitTemplate {
    let depth = outputs.iter().map(|wire| depths[wire.gate()]).max().unwrap_or(0);
    let mut scheduler = LevelScheduler {
        gates,
        needed: vec![UNNEEDED; 2 * gates.len()],
        readers: vec![0; 2 * gates.len()],
        slots: vec![u32::MAX; 2 * gates.len()],
        free: Vec::new(),
        slot_count: input_count,
    };
    for &output in outputs {
        scheduler.need(output, depth);
    }
    let by_level = scheduler.place(depths, depth);
    // Input k is gate k + 1; slots of inputs that nobody reads are free at once.
    for input in 0..input_count {
        let wire = Wire::of(input as usize + 1);
        scheduler.slots[wire.0 as usize] = input;
        if scheduler.readers[wire.0 as usize] == 0 {
            scheduler.free.push(input);
        }
    }
    let levels = by_level.into_iter().map(|wires| scheduler.emit(&wires)).collect();
    let outputs = outputs.iter().map(|wire| scheduler.slots[wire.0 as usize]).collect();
    let slot_count = scheduler.slot_count;
    CircuitTemplate { input_count, slot_count, apart_count: 0, levels, outputs }
}

impl LevelScheduler<'_> {
    fn source(&self, wire: Wire) -> WireOrigin {
        // The constant 1 is a constant, not a complement.
        if wire.is_complement() && !wire.is_constant() {
            WireOrigin::Complement(!wire)
        } else {
            WireOrigin::Gate(self.gates[wire.gate()])
        }
    }

    fn need(&mut self, wire: Wire, level: u32) {
        let needed = &mut self.needed[wire.0 as usize];
        *needed = level.min(*needed);
        self.readers[wire.0 as usize] += 1;
    }

    /// Puts every wire that is needed into a level; wires of a level are in the order of recording.
    fn place(&mut self, depths: &[u32], depth: u32) -> Vec<Vec<Wire>> {
        let mut levels = vec![Vec::new(); depth as usize + 1];
        // Complements come right after what they complement, so backwards they come before.
        for name in (0..self.needed.len() as u32).rev() {
            let wire = Wire(name);
            let needed = self.needed[name as usize];
            if needed == UNNEEDED {
                continue;
            }
            let level = match self.source(wire) {
                WireOrigin::Gate(Gate::Input) => continue,
                WireOrigin::Gate(Gate::Zero) => needed,
                WireOrigin::Gate(Gate::Xor(a, b)) => {
                    self.need(a, needed);
                    self.need(b, needed);
                    needed
                }
                WireOrigin::Gate(Gate::And(a, b)) => {
                    let level = depths[wire.gate()] - 1;
                    self.need(a, level);
                    self.need(b, level);
                    level
                }
                WireOrigin::Complement(a) => {
                    self.need(a, needed);
                    needed
                }
            };
            levels[level as usize].push(wire);
        }
        levels.iter_mut().for_each(|level| level.reverse());
        levels
    }

    fn emit(&mut self, wires: &[Wire]) -> Level {
        let mut level = Level::default();
        let mut results = Vec::new();
        for &wire in wires {
            let local = match self.source(wire) {
                WireOrigin::Gate(Gate::And(a, b)) => {
                    results.push((wire, self.slot(a), self.slot(b)));
                    continue;
                }
                WireOrigin::Gate(Gate::Input) => unreachable!("inputs are not placed"),
                WireOrigin::Gate(Gate::Zero) => {
                    let value = wire == Wire::ONE;
                    LocalGate::Constant { out: self.take(wire), value }
                }
                WireOrigin::Gate(Gate::Xor(a, b)) => {
                    let operands = [self.slot(a), self.slot(b)];
                    self.read(a);
                    self.read(b);
                    LocalGate::Xor { out: self.take(wire), a: operands[0], b: operands[1] }
                }
                WireOrigin::Complement(a) => {
                    let operand = self.slot(a);
                    self.read(a);
                    LocalGate::Not { out: self.take(wire), a: operand }
                }
            };
            level.local.push(local);
        }
        level.local.shrink_to_fit();
        for &(wire, ..) in &results {
            let Gate::And(a, b) = self.gates[wire.gate()] else { unreachable!("an AND") };
            self.read(a);
            self.read(b);
        }
        level.ands =
            results.into_iter().map(|(wire, a, b)| And { out: self.take(wire), a, b }).collect();
        level
    }

    fn slot(&self, wire: Wire) -> u32 {
        let slot = self.slots[wire.0 as usize];
        debug_assert_ne!(slot, u32::MAX, "a wire is computed before it is read");
        slot
    }

    fn read(&mut self, wire: Wire) {
        let readers = &mut self.readers[wire.0 as usize];
        *readers -= 1;
        if *readers == 0 {
            self.free.push(self.slots[wire.0 as usize]);
        }
    }

    fn take(&mut self, wire: Wire) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slot_count += 1;
            self.slot_count - 1
        });
        self.slots[wire.0 as usize] = slot;
        slot
    }
}
