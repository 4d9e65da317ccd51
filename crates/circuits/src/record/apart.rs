//! Templates whose first inputs have slots of their own, which nothing else is written to.

use super::{And, CircuitTemplate, LocalGate};

impl CircuitTemplate {
    /// Moves the first `count` inputs to slots from `slot_count` on, which are only read: for inputs that
    /// are stored in another form than rows. The other inputs come first.
    ///
    /// # Panics
    /// If one of these inputs is an output.
    pub fn with_inputs_apart(mut self, count: u32) -> CircuitTemplate {
        assert!(self.apart_count == 0 && count <= self.input_count, "inputs are set apart once");
        // Slots of these inputs that are written later are ordinary ones from then on.
        let mut is_row = vec![true; self.slot_count as usize];
        is_row[..count as usize].fill(false);
        let mut is_apart: Vec<bool> = is_row.iter().map(|is_row| !is_row).collect();
        for level in &self.levels {
            let ands = level.ands.iter().map(|and| and.out);
            for out in level.local.iter().map(LocalGate::out).chain(ands) {
                is_row[out as usize] = true;
            }
        }
        let inputs = count as usize..self.input_count as usize;
        let others = (0..count as usize).chain(inputs.end..is_row.len());
        let mut rows = vec![u32::MAX; is_row.len()];
        for (row, slot) in (0..).zip(inputs.chain(others.filter(|&slot| is_row[slot]))) {
            rows[slot] = row;
            self.slot_count = row + 1;
        }
        let slot_count = self.slot_count;
        let named = |slot: u32, is_apart: &[bool]| match is_apart[slot as usize] {
            true => slot_count + slot,
            false => rows[slot as usize],
        };
        for level in &mut self.levels {
            for gate in &mut level.local {
                let out = gate.out();
                let read = |slot| named(slot, &is_apart);
                *gate = match *gate {
                    LocalGate::Xor { a, b, .. } => {
                        LocalGate::Xor { out: rows[out as usize], a: read(a), b: read(b) }
                    }
                    LocalGate::Not { a, .. } => {
                        LocalGate::Not { out: rows[out as usize], a: read(a) }
                    }
                    LocalGate::Constant { value, .. } => {
                        LocalGate::Constant { out: rows[out as usize], value }
                    }
                };
                is_apart[out as usize] = false;
            }
            for And { a, b, .. } in &mut level.ands {
                (*a, *b) = (named(*a, &is_apart), named(*b, &is_apart));
            }
            for And { out, .. } in &mut level.ands {
                is_apart[*out as usize] = false;
                *out = rows[*out as usize];
            }
        }
        for output in &mut self.outputs {
            assert!(!is_apart[*output as usize], "inputs that are set apart are no outputs");
            *output = rows[*output as usize];
        }
        CircuitTemplate { apart_count: count, ..self }
    }
}
