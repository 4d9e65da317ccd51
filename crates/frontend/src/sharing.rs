//! Conversion of values to one sharing, and the limits of arithmetic shares.
//!
//! An operation takes operands of one sharing. A public operand fits every sharing, one that says
//! none follows the others, and two that say different ones are a mistake of the program: what
//! a conversion costs should be seen in it.

use phineus_bytecode::limits::RING_WIDTH_MAX;
use phineus_bytecode::{Op, Sharing};

use crate::value::{Value, ValueOrigin};

/// The sharing of `op` on these operands; `None` after a mistake, which is reported.
#[track_caller]
pub(crate) fn common(op: Op, operands: &[&Value]) -> Option<Sharing> {
    let mut common = Sharing::Any;
    for operand in operands {
        match (common, operand.sharing()) {
            _ if matches!(operand.place(), ValueOrigin::Poisoned) => return None,
            (_, Sharing::Any) => {}
            (Sharing::Any, sharing) => common = sharing,
            (sharing, other) if sharing == other => {}
            (sharing, other) => {
                operand.tracer().fault(format!(
                    "{} mixes {} and {} sharing: bring both to one with .to_arith(), .to_gmw() or \
                     .to_bmr()",
                    op.info().name,
                    name(sharing),
                    name(other),
                ));
                return None;
            }
        }
    }
    if common == Sharing::Arithmetic && !op.is_arithmetic() {
        let what = op.info().name;
        operands[0].tracer().fault(format!(
            "{what} does not work on arithmetic shares, only +, -, *, sums and moves of lanes do: \
             convert with .to_gmw() or .to_bmr() before"
        ));
        return None;
    }
    Some(common)
}

/// Whether `value` would have to change its width and is in arithmetic sharing; reports it.
#[track_caller]
pub(crate) fn refuses_width(what: &str, value: &Value, width: u16) -> bool {
    let refuses = value.sharing() == Sharing::Arithmetic && value.width() != width;
    if refuses && !matches!(value.place(), ValueOrigin::Poisoned) {
        let from = value.element();
        value.tracer().fault(format!(
            "{what} from {from} to {width} bits is not possible on arithmetic shares: they keep \
             their width; convert with .to_gmw() or .to_bmr() before"
        ));
    }
    refuses
}

fn name(sharing: Sharing) -> &'static str {
    match sharing {
        Sharing::Any => "no",
        Sharing::Arithmetic => "arithmetic",
        Sharing::Boolean => "Boolean (GMW)",
        Sharing::Garbled => "garbled (BMR)",
    }
}

impl Value {
    /// Converts the integers to a sharing; [`Sharing::Any`] leaves it unchanged.
    ///
    /// A public value stays public. A value as it came from an input comes in again, in that
    /// sharing, which costs less than any conversion: nothing, unless it is the garbled one.
    #[track_caller]
    pub fn to_sharing(&self, sharing: Sharing) -> Value {
        let same = sharing == Sharing::Any || sharing == self.sharing();
        if same || self.public().is_some() {
            return self.clone();
        }
        let element = self.element().shared(sharing);
        if matches!(self.place(), ValueOrigin::Poisoned) {
            return Value::poisoned(self.tracer(), element, self.lanes());
        }
        if sharing == Sharing::Arithmetic && self.width() > RING_WIDTH_MAX {
            let found = self.element();
            self.tracer().fault(format!(
                "arithmetic sharing has at most {RING_WIDTH_MAX} bits, got {found}: take its low \
                 bits first, or stay in Boolean sharing"
            ));
            return Value::poisoned(self.tracer(), element, self.lanes());
        }
        if let ValueOrigin::Input(cells) = self.place() {
            let cells = self.tracer().shared_cells(cells, sharing);
            return Value::of_cells(self.tracer(), cells).with_sign(element.is_signed());
        }
        let results = self.tracer().convert(&self.settled(), sharing);
        Value::result(self.tracer(), element, self.lanes(), results, 0)
    }

    /// In whichever sharing is chosen when the program is planned.
    #[track_caller]
    pub fn in_any_sharing(&self) -> Value {
        if self.sharing() == Sharing::Any {
            return self.clone();
        }
        let results = self.tracer().convert(&self.settled(), Sharing::Any);
        Value::result(self.tracer(), self.integer(), self.lanes(), results, 0)
    }

    /// In the sharing of `other` if it has none of its own.
    #[track_caller]
    pub(crate) fn beside(&self, other: &Value) -> Value {
        if self.sharing() == Sharing::Any { self.to_sharing(other.sharing()) } else { self.clone() }
    }
}
