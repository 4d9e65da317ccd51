//! Addresses and directives of planned programs (9 to 11 of the list in [`super`]).

use super::Verifier;
use crate::instruction::Instruction;

impl Verifier<'_> {
    pub(super) fn check_directive(&self, i: &Instruction, faults: &mut Vec<String>) {
        if i.element.width() != 1 || i.element.is_signed() || i.lanes != 1 {
            faults.push("a directive has the type u1x1".to_owned());
        }
        let Some(plan) = &self.description.plan else {
            return;
        };
        let [frame, slot, ..] = i.immediates;
        if frame >= plan.frame_count {
            faults.push(format!("frame {frame} is none of the {} frames", plan.frame_count));
        }
        if slot >= plan.spill_slot_count {
            faults.push(format!("slot {slot} is none of the {} slots", plan.spill_slot_count));
        }
    }

    pub(super) fn check_places(&self, i: &Instruction, faults: &mut Vec<String>) {
        if self.page_wires == 0 {
            return;
        }
        let operands = i.operands().iter().enumerate();
        let results = i.results().iter().enumerate();
        let operands = operands.map(|(k, &place)| ("operand", k, place, i.operand_shape(k)));
        let results = results.map(|(k, &place)| ("result", k, place, i.result_shape(k)));
        for (what, k, place, shape) in operands.clone().chain(results.clone()) {
            let last = place.saturating_add(u64::from(self.layout.units(shape)) - 1);
            if last >= self.end {
                let end = self.end;
                faults.push(format!("{what} {} ends at @{last}, the frames at @{end}", k + 1));
            } else if place / self.page_wires != last / self.page_wires {
                faults.push(format!("{what} {} at @{place} lies in two pages", k + 1));
            }
        }
        let overlaps = |a: u64, a_wires: u32, b: u64, b_wires: u32| {
            a < b.saturating_add(u64::from(b_wires)) && b < a.saturating_add(u64::from(a_wires))
        };
        for (_, r, place, shape) in results.clone() {
            for (what, k, other, other_shape) in operands.clone().chain(results.clone().take(r)) {
                let units = |shape| self.layout.units(shape);
                if overlaps(place, units(shape), other, units(other_shape)) {
                    faults.push(format!("result {} overlaps {what} {}", r + 1, k + 1));
                }
            }
        }
    }
}
