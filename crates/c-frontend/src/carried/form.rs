//! The set of values that a loop carries at run time.

use std::collections::{BTreeMap, HashMap};

use crate::carried::nature::{Location, ValueKind};

/// Loops whose end is opened: by the calls around them, function and loop.
pub(crate) type Plan = HashMap<(u64, u32, u32), CarriedSet>;

/// The places that a loop carries, and in which form.
#[derive(Clone, Default)]
pub(crate) struct CarriedSet {
    pub(super) places: BTreeMap<Location, (u16, ValueKind)>,
    /// Secrets that are lanes of one value, and their width.
    pub(super) groups: Vec<(Vec<Location>, u16)>,
}

/// Bytes of an object, next to each other.
pub(super) struct MemoryStretch {
    pub(super) offset: u64,
    pub(super) bytes: u8,
    pub(super) is_address: bool,
}

impl CarriedSet {
    /// A stretch of memory in the parts that are carried, which are made smaller where they do not
    /// fit. An address stays whole.
    pub(super) fn fitting(
        &mut self,
        object: u32,
        MemoryStretch { offset, bytes, is_address }: MemoryStretch,
        changed: &mut bool,
    ) -> Vec<(u64, u8)> {
        let end = offset + u64::from(bytes);
        // No part has more than 16 bytes.
        let from = Location::Memory(object, offset.saturating_sub(16), 0);
        let near = self.places.range(from..Location::Memory(object, end, 0));
        let parts: Vec<(u64, u8)> = near
            .filter_map(|(place, _)| match place {
                Location::Memory(_, at, size) => Some((*at, *size)),
                _ => None,
            })
            .filter(|(at, size)| offset < at + u64::from(*size))
            .collect();
        if parts.is_empty() || parts == [(offset, bytes)] {
            return vec![(offset, bytes)];
        }
        // Whole parts that are there already cover it, or all are cut to the smallest.
        let covered: u64 = parts.iter().map(|(_, size)| u64::from(*size)).sum();
        let first = parts.iter().map(|(at, _)| *at).min().unwrap_or(offset);
        let last = parts.iter().map(|(at, size)| at + u64::from(*size)).max().unwrap_or(end);
        let is_within = first <= offset && end <= last;
        if is_address && (offset, end) == (first, last) {
            parts.iter().for_each(|(at, size)| {
                self.places.remove(&Location::Memory(object, *at, *size));
            });
            *changed = true;
            return vec![(offset, bytes)];
        }
        if covered == last - first && is_within {
            return parts;
        }
        let smallest = parts.iter().map(|(_, size)| *size).chain([bytes]).min().unwrap_or(1);
        for (at, size) in parts {
            self.places.remove(&Location::Memory(object, at, size));
        }
        *changed = true;
        let (first, last) = (first.min(offset), last.max(end));
        (first..last).step_by(usize::from(smallest)).map(|at| (at, smallest)).collect()
    }
}
