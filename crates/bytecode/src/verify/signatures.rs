//! Shapes of an instruction and the rule of its operation (1 of the list in [`super`]).

use super::Verifier;
use crate::instruction::{Instruction, Sharing};
use crate::limits::WIDTH_MAX;
use crate::ops::Op;

impl Verifier<'_> {
    /// Checks the shapes and the rule of an instruction; returns whether they hold.
    pub(super) fn check_shapes(&self, i: &Instruction, faults: &mut Vec<String>) -> bool {
        let (layout, wires_max) = (self.layout, self.description.value_wires_max());
        let info = i.op.info();
        if !i.shape().is_valid_within(wires_max) {
            faults.push(format!(
                "{}x{} is no valid shape: at most {WIDTH_MAX} bits, and at most {wires_max} \
                 bits in all lanes together; split the lanes",
                i.element, i.lanes
            ));
            return false;
        }
        if let Err(message) = (info.rule)(i) {
            faults.push(format!("{}: {message}", info.name));
            return false;
        }
        let is_arithmetic = i.element.sharing() == Sharing::Arithmetic;
        let is_element = is_arithmetic && layout.is_in_field();
        if i.op == Op::RequireZero && !is_element {
            faults.push(format!("{} belongs into plans in a field only", info.name));
            return false;
        }
        // In a field there are more operations on integers than modulo 2^w.
        let in_field = layout.is_in_field() && i.op.is_arithmetic_in_field();
        if is_arithmetic && !i.op.is_arithmetic() && !in_field {
            faults.push(format!(
                "{} does not work on arithmetic shares: convert the operands to Boolean or garbled \
                 sharing before",
                info.name
            ));
            return false;
        }
        let widens = i.op == Op::LaneSum && i.immediates[0] < u64::from(i.element.width());
        if widens && is_arithmetic && !layout.is_in_field() {
            faults.push(
                "lane_sum of arithmetic shares cannot widen: they are modulo 2^from_width; convert \
                 the operand to Boolean or garbled sharing before"
                    .to_owned(),
            );
            return false;
        }
        let operands = (0..info.operands.len()).map(|k| ("operand", k, i.operand_shape(k)));
        let results = (0..info.results.len()).map(|k| ("result", k, i.result_shape(k)));
        let before = faults.len();
        for (what, k, shape) in operands.chain(results) {
            if !shape.is_valid_within(wires_max) {
                faults.push(format!("{}: {what} {} would have {shape}", info.name, k + 1));
            }
        }
        faults.len() == before
    }
}
