//! Writes at secret indices inside secret branches.
//!
//! Such a write changes an element only if the index is its own and the arms are taken. So where the arms end there is nothing
//! to choose between: where they are not taken, the new element is the old one.

use std::collections::HashMap;
use std::rc::Rc;

use phineus_frontend::untyped::Value;

use crate::data::CellValue;
use crate::evaluate::scope::ArmCondition;

/// Old elements that are remembered.
const ELEMENTS_MAX: usize = 1 << 20;

/// Elements that were written under a condition.
struct ConditionalWrite {
    /// The new elements, as lanes.
    value: Rc<Value>,
    /// The arms in which the write takes place.
    arms: Rc<[ArmCondition]>,
    /// The old elements, by lane.
    before: Vec<CellValue>,
}

/// Writes of the secret branch at hand.
#[derive(Default)]
pub(crate) struct ConditionalWrites {
    by_value: HashMap<*const Value, ConditionalWrite>,
    elements: usize,
}

impl ConditionalWrites {
    /// Remembers that the lanes of `value` are `before` unless all of these arms are taken.
    pub(crate) fn note(
        &mut self,
        value: &Rc<Value>,
        arms: &Rc<[ArmCondition]>,
        before: Vec<CellValue>,
    ) {
        if self.elements + before.len() > ELEMENTS_MAX {
            self.clear();
        }
        self.elements += before.len();
        let write = ConditionalWrite { value: value.clone(), arms: arms.clone(), before };
        self.by_value.insert(Rc::as_ptr(value), write);
    }

    pub(crate) fn clear(&mut self) {
        self.by_value.clear();
        self.elements = 0;
    }

    /// The element after a branch, if no choice is needed. `yes` is the element where the condition holds, `no` where it does
    /// not.
    pub(crate) fn settled(
        &self,
        condition: &CellValue,
        yes: &CellValue,
        no: &CellValue,
    ) -> Option<CellValue> {
        if self.comes_from(yes, no, |arm| arm.implies(condition)) {
            return Some(yes.clone());
        }
        self.comes_from(no, yes, |arm| arm.excludes(condition)).then(|| no.clone())
    }

    /// Whether an element is `old` with writes that take place in certain arms only.
    fn comes_from(
        &self,
        new: &CellValue,
        old: &CellValue,
        is_arm: impl Fn(&ArmCondition) -> bool,
    ) -> bool {
        let mut new = new;
        loop {
            let (value, lane) = match new {
                CellValue::Secret(value) if value.lanes() == 1 => (value, 0),
                CellValue::Lane(value, lane) => (value, *lane),
                _ => return false,
            };
            let Some(write) = self.by_value.get(&Rc::as_ptr(value)) else { return false };
            assert!(Rc::ptr_eq(&write.value, value), "a value that is held keeps its address");
            if !write.arms.iter().any(&is_arm) {
                return false;
            }
            new = &write.before[lane as usize];
            if new.is_same(old) {
                return true;
            }
        }
    }
}
