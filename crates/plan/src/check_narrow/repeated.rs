//! Carried values that a block changes by a bounded term each time it runs: after a stated number of iterations they are at
//! most so many terms from what they were.
//!
//! This is an induction over iterations. If what is claimed is true of all that the block loads, no sum wraps, so the carried
//! value after k iterations is what it was at the beginning and k terms.

use std::collections::HashMap;

use phineus_bytecode::{Flow, Instruction, Op, Successor};

use super::integers::{Integer, at_most, power, times};
use super::{Bounds, Known, greatest, least, meet};
use crate::narrow::StatePlace;

/// A carried value at the beginning of an iteration, and what is added to it, as integers without and with sign. Where a sum
/// may wrap nothing is known.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    slot: u64,
    added: [Option<Bounds>; 2],
}

/// How far values of a block that is repeated are from what it loaded.
#[derive(Default)]
pub(super) struct MovedValues(HashMap<u64, Moved>);

impl MovedValues {
    /// Takes note of the result of `i`; returns what it stores, if that was moved from what it replaces.
    pub(super) fn step(&mut self, i: &Instruction, o: &[&Known]) -> Option<Moved> {
        let of = |k: usize| self.0.get(&i.operands[k]).cloned();
        let moved = match i.op {
            Op::Store => return of(0).filter(|moved| moved.slot == i.immediates[0]),
            Op::Load => {
                let none = Some((Integer::ZERO, Integer::ZERO));
                Some(Moved { slot: i.immediates[0], added: [none; 2] })
            }
            Op::Add => match (of(0), of(1)) {
                (Some(moved), None) => moved.by(o[0], plain(o[1])),
                (None, Some(moved)) => moved.by(o[1], plain(o[0])),
                (Some(_), Some(_)) | (None, None) => None,
            },
            Op::Sub if of(1).is_none() => {
                of(0).and_then(|moved| moved.by(o[0], plain(o[1]).map(negated)))
            }
            Op::Mux => of(1).zip(of(2)).and_then(|(a, b)| a.or(b)),
            Op::Min | Op::Max => of(0).zip(of(1)).and_then(|(a, b)| a.or(b)),
            Op::Convert => of(0),
            _ => None,
        };
        if let Some(moved) = moved {
            self.0.insert(i.results[0], moved);
        }
        None
    }
}

/// The bounds of a value without and with sign.
fn plain(known: &Known) -> [Bounds; 2] {
    [known.unsigned, known.signed]
}

fn negated((low, high): Bounds) -> Bounds {
    (high.wrapping_neg(), low.wrapping_neg())
}

fn sum(a: Bounds, b: Bounds) -> Bounds {
    (a.0.wrapping_add(b.0), a.1.wrapping_add(b.1))
}

impl Moved {
    /// With a term besides, added to `value`.
    fn by(self, value: &Known, term: [Bounds; 2]) -> Option<Moved> {
        if !value.is_followed() {
            return None;
        }
        let ends = ends(value.width);
        let added = [0, 1].map(|kind| {
            let reached = sum(plain(value)[kind], term[kind]);
            let stays = at_most(ends[kind].0, reached.0) && at_most(reached.1, ends[kind].1);
            self.added[kind].filter(|_| stays).map(|added| sum(added, term[kind]))
        });
        Some(Moved { slot: self.slot, added })
    }

    fn or(self, other: Moved) -> Option<Moved> {
        let span = |(a, b): (Bounds, Bounds)| (least(a.0, b.0), greatest(a.1, b.1));
        let added = [0, 1].map(|kind| self.added[kind].zip(other.added[kind]).map(span));
        (self.slot == other.slot).then_some(Moved { slot: self.slot, added })
    }

    /// What the carried value may be after up to so many iterations, if it was `begin` before the first; `stored` is true after
    /// each.
    fn after(&self, (begin, iterations): (&Known, u64), stored: &Known) -> Known {
        let count = Integer::from(iterations);
        let ends = ends(begin.width);
        let bounds = [0, 1].map(|kind| {
            let (low, high) = self.added[kind]?;
            let down = times(least(low, Integer::ZERO), count)?;
            let up = times(greatest(high, Integer::ZERO), count)?;
            let reached = sum(plain(begin)[kind], (down, up));
            let stays = at_most(ends[kind].0, reached.0) && at_most(reached.1, ends[kind].1);
            stays.then_some(reached)
        });
        let mut known = stored.clone();
        if !known.is_followed() {
            return known;
        }
        if let Some(unsigned) = bounds[0] {
            known.unsigned = meet(known.unsigned, unsigned);
        }
        if let Some(signed) = bounds[1] {
            known.signed = meet(known.signed, signed);
        }
        known.settled()
    }
}

/// The bounds of all values of a width, without and with sign.
fn ends(width: u16) -> [Bounds; 2] {
    let half = power(width - 1);
    [(Integer::ZERO, power(width) - Integer::ONE), (half.wrapping_neg(), half - Integer::ONE)]
}

/// Of programs of more blocks nothing is proven by iterations.
const BLOCKS_MAX: usize = 256;

/// A block that runs a stated number of times in a row, once for most, and never again after that.
struct Repeated {
    block: usize,
    iterations: u64,
    /// The blocks that may run before it.
    before: Vec<usize>,
}

/// What blocks store that is proven by iterations.
pub(super) struct RepeatedStores {
    repeated: Vec<Repeated>,
    /// By block, with what is known of it otherwise.
    moved: Vec<(usize, Moved, Known)>,
    stored: HashMap<(usize, u64), Known>,
}

impl RepeatedStores {
    pub(super) fn of(flow: &Flow) -> RepeatedStores {
        let mut repeated = Vec::new();
        let blocks = if flow.blocks.len() > BLOCKS_MAX { &[][..] } else { &flow.blocks[..] };
        for (block, end) in blocks.iter().enumerate() {
            let next: Vec<usize> = match end.next {
                Successor::Repeat { then, .. } => vec![then as usize],
                Successor::End | Successor::Jump { .. } | Successor::Branch { .. } => {
                    end.next.blocks().collect()
                }
            };
            if next.into_iter().all(|next| !leads(flow, next, block)) {
                let others = (0..flow.blocks.len()).filter(|&other| other != block);
                let before = others.filter(|&other| leads(flow, other, block)).collect();
                repeated.push(Repeated { block, iterations: end.next.iterations(), before });
            }
        }
        // Those that lead to another one come before it: they have fewer before them.
        repeated.sort_by_key(|repeated| repeated.before.len());
        RepeatedStores { repeated, moved: Vec::new(), stored: HashMap::new() }
    }

    pub(super) fn is_repeated(&self, block: usize) -> bool {
        self.repeated.iter().any(|repeated| repeated.block == block)
    }

    /// Takes note of what a block stores, which is moved from what it loaded or not.
    pub(super) fn note(
        &mut self,
        block: usize,
        slot: u64,
        (known, moved): (&Known, Option<Moved>),
    ) {
        match moved {
            Some(moved) => self.moved.push((block, moved, known.clone())),
            None => self.join((block, slot), known),
        }
    }

    fn join(&mut self, place: (usize, u64), known: &Known) {
        let stored = self.stored.entry(place);
        stored.and_modify(|stored| *stored = stored.either(known)).or_insert(known.clone());
    }

    /// All that was moved, with what it may be after all iterations.
    pub(super) fn ends(mut self, widths: impl Fn(u64) -> u16) -> Vec<(usize, StatePlace, Known)> {
        let mut found = Vec::new();
        let moved = std::mem::take(&mut self.moved);
        for Repeated { block, iterations, before } in std::mem::take(&mut self.repeated) {
            for (_, moved, known) in moved.iter().filter(|(of, ..)| *of == block) {
                let begins =
                    before.iter().filter_map(|&other| self.stored.get(&(other, moved.slot)));
                let begin = begins.cloned().reduce(|a, b| a.either(&b));
                let begin = begin.unwrap_or_else(|| Known::nothing(widths(moved.slot)));
                let end = moved.after((&begin, iterations), known);
                self.join((block, moved.slot), &end);
                found.push((block, StatePlace::Slot(moved.slot), end));
            }
        }
        found
    }
}

/// Returns whether `to` may run once `from` does.
fn leads(flow: &Flow, from: usize, to: usize) -> bool {
    let (mut seen, mut next) = (vec![false; flow.blocks.len()], vec![from]);
    while let Some(block) = next.pop() {
        if block == to {
            return true;
        }
        if !std::mem::replace(&mut seen[block], true) {
            next.extend(flow.blocks[block].next.blocks());
        }
    }
    false
}
