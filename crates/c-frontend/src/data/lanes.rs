//! Values that differ between lanes, as seen in one of them.

use std::rc::Rc;

use phineus_frontend::untyped::Value;

use crate::data::Data;

/// The last lane of what differs between lanes.
pub(crate) fn last_lane(data: &Data) -> Option<Data> {
    match data {
        Data::Spread(values) => values.last().map(|value| Data::Public(*value)),
        Data::Places(object, places) => places.last().map(|at| Data::Pointer(*object, *at)),
        Data::Secret(value) if value.lanes() > 1 => {
            Some(Data::Lane(value.clone(), value.lanes() - 1))
        }
        Data::Chosen(choices) => {
            let last = |data: &Data| last_lane(data).unwrap_or_else(|| data.clone());
            Some(Data::Chosen(choices.iter().map(|(bit, at)| (last(bit), last(at))).collect()))
        }
        Data::Indexed(indexed) => {
            let mut last = (**indexed).clone();
            for term in &mut last.terms {
                term.index = last_lane(&term.index).unwrap_or_else(|| term.index.clone());
            }
            Some(Data::Indexed(Rc::new(last)))
        }
        Data::Many(parts) if parts.iter().any(|part| last_lane(part).is_some()) => {
            let last = |part: &Data| last_lane(part).unwrap_or_else(|| part.clone());
            Some(Data::Many(parts.iter().map(last).collect()))
        }
        Data::Parts(parts) if parts.iter().any(|(part, _)| last_lane(part).is_some()) => {
            let last = |part: &Data| last_lane(part).unwrap_or_else(|| part.clone());
            Some(Data::Parts(parts.iter().map(|(part, bytes)| (last(part), *bytes)).collect()))
        }
        _ => None,
    }
}

/// The value of several lanes that a secret belongs to.
pub(crate) fn lane_of(data: &Data) -> Option<Rc<Value>> {
    match data {
        Data::Lane(value, _) => Some(value.clone()),
        _ => None,
    }
}
