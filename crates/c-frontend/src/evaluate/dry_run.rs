//! Records the reads and writes of a loop's iterations, and finds conflicts between them.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::data::CellValue;
use crate::memory::ObjectStore;
use crate::memory::cell::PairHasher;

/// Written by every lane.
const ALL: u32 = u32::MAX;

/// Places with equal distances, one for each lane; one alone is touched by all lanes.
struct Access {
    object: u32,
    bytes: u64,
    time: u32,
    is_write: bool,
    places: Places,
}

enum Places {
    All(i64),
    /// First, distance, how many.
    Even(i64, i64, u32),
    Each(Vec<i64>),
}

impl Places {
    fn new(places: &[i64]) -> Places {
        let [first, second, ..] = places else { return Places::All(places[0]) };
        let step = second - first;
        if places.windows(2).all(|pair| pair[1] - pair[0] == step) {
            return Places::Even(*first, step, places.len() as u32);
        }
        Places::Each(places.to_vec())
    }

    /// Each lane with its place.
    fn each(&self, mut with: impl FnMut(u32, i64)) {
        match self {
            Places::All(at) => with(ALL, *at),
            Places::Even(first, step, count) => {
                (0..*count).for_each(|lane| with(lane, first + step * i64::from(lane)));
            }
            Places::Each(places) => {
                places.iter().zip(0..).for_each(|(at, lane)| with(lane, *at));
            }
        }
    }
}

/// A run of a loop's body in which nothing is recorded.
pub(crate) struct DryRun {
    accesses: Vec<Access>,
    widest: u16,
    arms: u32,
    /// Objects from this one on are allocated in the body.
    first_own: u32,
    /// Older objects that begin to live in the body.
    begun: Vec<u32>,
    /// Where a public branch differs between iterations, how many of the first take the same
    /// branch.
    pub(crate) same_branch: Option<u32>,
}

impl DryRun {
    /// With so many secret branches being run, and so many objects in memory.
    pub(crate) fn new(arms: u32, first_own: u32) -> DryRun {
        let (accesses, begun) = (Vec::new(), Vec::new());
        DryRun { accesses, widest: 0, arms, first_own, begun, same_branch: None }
    }

    /// Notes that the life of the object begins in the iteration, with no value of an earlier one.
    pub(crate) fn begin(&mut self, object: u32) {
        if !self.begun.contains(&object) {
            self.begun.push(object);
        }
    }

    /// Whether no iteration sees what another one left in the object.
    pub(crate) fn is_own(&self, object: u32) -> bool {
        object >= self.first_own || self.begun.contains(&object)
    }

    /// Whether an address that lasts is stored: of an object that each iteration allocates for
    /// itself, while lanes share one.
    pub(crate) fn keeps(&self, object: u32, data: &CellValue) -> bool {
        let points = match data {
            CellValue::Pointer(to, _) | CellValue::Places(to, _) => *to >= self.first_own,
            CellValue::Indexed(indexed) => indexed.object >= self.first_own,
            CellValue::Chosen(choices) => {
                return choices.iter().any(|(_, at)| self.keeps(object, at));
            }
            _ => false,
        };
        points && object < self.first_own
    }

    /// A secret of some width.
    pub(crate) fn hidden(&mut self, width: u16) -> CellValue {
        self.widest = self.widest.max(width);
        CellValue::Hidden
    }

    /// The widest secret there was.
    pub(crate) fn widest(&self) -> u16 {
        self.widest.max(1)
    }

    /// Whether anything secret was computed.
    pub(crate) fn is_worth(&self) -> bool {
        self.widest > 0
    }

    /// Whether a secret decides if the current instruction counts.
    pub(crate) fn is_in_arm(&self, arms: u32) -> bool {
        arms > self.arms
    }

    pub(crate) fn read(&mut self, object: u32, places: &[i64], bytes: u64) {
        self.add(object, places, bytes, false);
    }

    pub(crate) fn write(&mut self, object: u32, places: &[i64], bytes: u64) {
        self.add(object, places, bytes, true);
    }

    fn add(&mut self, object: u32, places: &[i64], bytes: u64, is_write: bool) {
        let time = self.accesses.len() as u32;
        let places = Places::new(places);
        self.accesses.push(Access { object, bytes, time, is_write, places });
    }

    /// Whether an iteration touches what another one writes.
    pub(crate) fn has_conflict(&self, memory: &ObjectStore) -> bool {
        let mut owners: HashMap<(u32, u32), (u32, u32), BuildHasherDefault<PairHasher>> =
            HashMap::default();
        let mut conflict = false;
        let mut written: Vec<u32> = Vec::new();
        for access in self.accesses.iter().filter(|access| access.is_write) {
            if !memory.object(access.object).is_alive {
                continue;
            }
            if !written.contains(&access.object) {
                written.push(access.object);
            }
            each_cell(memory, access, |lane, cell| {
                let (owner, _) = owners.entry((access.object, cell)).or_insert((lane, access.time));
                conflict |= *owner != lane;
            });
            if conflict {
                return true;
            }
        }
        for access in self.accesses.iter().filter(|access| !access.is_write) {
            if !written.contains(&access.object) {
                continue;
            }
            each_cell(memory, access, |lane, cell| {
                if let Some((owner, time)) = owners.get(&(access.object, cell)) {
                    let is_own = if *owner == ALL {
                        lane == ALL && access.time > *time
                    } else {
                        lane == *owner
                    };
                    conflict |= !is_own;
                }
            });
            if conflict {
                return true;
            }
        }
        false
    }
}

fn each_cell(memory: &ObjectStore, access: &Access, mut with: impl FnMut(u32, u32)) {
    let granule = memory.object(access.object).granule;
    access.places.each(|lane, at| {
        let first = at as u64 / granule;
        let last = (at as u64 + access.bytes.max(1) - 1) / granule;
        (first..=last).for_each(|cell| with(lane, cell as u32));
    });
}
