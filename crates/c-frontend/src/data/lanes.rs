//! Values that differ between lanes, as seen in one of them.

use std::rc::Rc;

use phineus_frontend::untyped::Value;

use crate::data::CellValue;

/// The last lane of what differs between lanes.
pub(crate) fn last_lane(data: &CellValue) -> Option<CellValue> {
    match data {
        CellValue::Spread(values) => values.last().map(|value| CellValue::Public(*value)),
        CellValue::Places(object, places) => {
            places.last().map(|at| CellValue::Pointer(*object, *at))
        }
        CellValue::Secret(value) if value.lanes() > 1 => {
            Some(CellValue::Lane(value.clone(), value.lanes() - 1))
        }
        CellValue::Chosen(choices) => {
            let last = |data: &CellValue| last_lane(data).unwrap_or_else(|| data.clone());
            Some(CellValue::Chosen(choices.iter().map(|(bit, at)| (last(bit), last(at))).collect()))
        }
        CellValue::Indexed(indexed) => {
            let mut last = (**indexed).clone();
            for term in &mut last.terms {
                term.index = last_lane(&term.index).unwrap_or_else(|| term.index.clone());
            }
            Some(CellValue::Indexed(Rc::new(last)))
        }
        CellValue::Many(parts) if parts.iter().any(|part| last_lane(part).is_some()) => {
            let last = |part: &CellValue| last_lane(part).unwrap_or_else(|| part.clone());
            Some(CellValue::Many(parts.iter().map(last).collect()))
        }
        CellValue::Parts(parts) if parts.iter().any(|(part, _)| last_lane(part).is_some()) => {
            let last = |part: &CellValue| last_lane(part).unwrap_or_else(|| part.clone());
            Some(CellValue::Parts(parts.iter().map(|(part, bytes)| (last(part), *bytes)).collect()))
        }
        _ => None,
    }
}

/// The value of several lanes that a secret belongs to.
pub(crate) fn lane_of(data: &CellValue) -> Option<Rc<Value>> {
    match data {
        CellValue::Lane(value, _) => Some(value.clone()),
        _ => None,
    }
}
