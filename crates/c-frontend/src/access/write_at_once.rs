//! Writes at a secret index, many elements at once: the elements are lanes of a vector.
//!
//! A write needs to know which element is meant: a bit for each, of which the index sets one. These
//! bits are made by doubling, `2^k - 2` ANDs for an index of `k` bits; comparing with each element
//! takes `k - 1` for each.
//!
//! A constant that is added to what was read at the same index is added to each element, or 0: the read is not needed then.
//!
//! In an arm the bit is set only if the arm is taken (`conditional.rs`).
//!
//! Cost: `n` choices and about `n` ANDs; a few instructions for each bit of the index and for each
//! 4096 wires.

use std::collections::VecDeque;
use std::rc::Rc;

use phineus_frontend::untyped::Value;

use crate::access::MemoryModel;
use crate::data::{CellValue, IndexTerm, Indexed, is_integer, zero_if_unset};
use crate::evaluate::report::ExecutionStop;
use crate::evaluate::scope::ArmCondition;

const WIRES: usize = phineus_bytecode::limits::VALUE_WIRES_MAX as usize;

/// An integer that is written at a secret index.
pub(super) struct ElementWrite<'a> {
    /// As the program computed it.
    pub(super) address: &'a Indexed,
    pub(super) bytes: u64,
    pub(super) data: &'a CellValue,
}

/// The elements that were read last at secret indices.
#[derive(Default)]
pub(super) struct ElementReads(VecDeque<ElementRead>);

struct ElementRead {
    found: CellValue,
    address: Indexed,
    bytes: u64,
    /// The version of the object.
    version: u64,
}

impl ElementReads {
    pub(super) fn note(&mut self, found: &CellValue, address: &Indexed, bytes: u64, version: u64) {
        if !matches!(found, CellValue::Secret(_)) {
            return;
        }
        if self.0.len() == READS_KEPT {
            self.0.pop_front();
        }
        let (found, address) = (found.clone(), address.clone());
        self.0.push_back(ElementRead { found, address, bytes, version });
    }

    /// Whether an integer was read at this address, as the object still is.
    fn is_element(&self, data: &CellValue, write: &ElementWrite<'_>, version: u64) -> bool {
        self.0.iter().any(|read| {
            read.found.is_same(data)
                && (read.bytes, read.version) == (write.bytes, version)
                && read.address.is_same(write.address)
        })
    }
}

/// Reads that are remembered.
const READS_KEPT: usize = 16;

impl MemoryModel {
    /// Writes where secret indices say, if it can be done so.
    pub(super) fn write_at_once(
        &mut self,
        indexed: &Indexed,
        counts: &[(u64, IndexTerm)],
        offsets: &[i64],
        write: ElementWrite<'_>,
    ) -> Result<bool, ExecutionStop> {
        let ElementWrite { bytes, data, .. } = write;
        let (object, own) = (indexed.object, bytes as u16 * 8);
        let Some(old) = self.old_elements(object, counts, offsets, &write)? else {
            return Ok(false);
        };
        let condition = match self.values.path_condition()? {
            CellValue::Public(_) => None,
            secret => Some(self.values.emit.value(&secret, 1)),
        };
        let arms: Rc<[ArmCondition]> = self.values.scope.arms.clone().into();
        if arms.is_empty() {
            self.conditional_writes.clear();
        }
        let mut hits: Option<Value> = None;
        for (count, term) in counts {
            let index = self.values.emit.value(&term.index, term.width);
            let own = meant(&index, *count as u32, condition.as_deref().filter(|_| hits.is_none()));
            hits = Some(match hits {
                None => own,
                Some(outer) => {
                    let lanes = outer.lanes() * own.lanes();
                    outer.repeat(lanes).and(&own.tile(lanes))
                }
            });
        }
        let hits = hits.expect("there is a secret index");
        let version = self.memory.object(object).version;
        let is_element = |term: &CellValue| self.element_reads.is_element(term, &write, version);
        let added = self.values.emit.added(data, is_element);
        let added = added.map(|added| self.values.emit.value(&added, own));
        let new = self.values.emit.value(data, own);
        let most = WIRES / usize::from(own);
        for (part, first) in old.chunks(most).zip((0..).step_by(most)) {
            let lanes = part.len() as u32;
            let before = self.values.emit.pack(part, own);
            let hits = hits.lane_slice(first as u32, lanes);
            let chosen = Rc::new(match &added {
                Some(added) => before.add(&hits.mask(&added.tile(lanes))),
                None => hits.select(&new.tile(lanes), &before),
            });
            if condition.is_some() {
                self.conditional_writes.note(&chosen, &arms, part.to_vec());
            }
            for (element, at) in lanes_of(chosen).zip(&offsets[first..]) {
                self.write(object, *at as u64, bytes as u8, &element)?;
            }
        }
        Ok(true)
    }

    /// The elements that a write may change; nothing if they cannot be written at once.
    fn old_elements(
        &mut self,
        object: u32,
        counts: &[(u64, IndexTerm)],
        offsets: &[i64],
        &ElementWrite { bytes, data, .. }: &ElementWrite<'_>,
    ) -> Result<Option<Vec<CellValue>>, ExecutionStop> {
        let inside = |at: &i64| self.memory.check(object, *at, bytes).is_ok();
        let is_plain = self.values.scope.dry_run.is_none() && self.values.scope.lanes == 1;
        if !is_plain || offsets.len() > WIRES || !offsets.iter().all(inside) {
            return Ok(None);
        }
        // Two indices may mean one place more than once, which have to be written in order.
        let mut sorted = offsets.to_vec();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[1] - pair[0] < bytes as i64) {
            return Ok(None);
        }
        let mut old = Vec::with_capacity(offsets.len());
        for at in offsets {
            old.push(self.read(object, *at as u64, bytes as u8)?);
        }
        if is_integer(data) {
            old.iter_mut().for_each(zero_if_unset);
        }
        let is_set =
            is_integer(data) && counts.iter().all(|(_, t)| self.values.is_row(&old, &t.index));
        let is_one = match data {
            CellValue::Secret(value) => value.lanes() == 1,
            _ => true,
        };
        if !is_set || !is_one {
            return Ok(None);
        }
        Ok(Some(old))
    }
}

/// As lanes of their own.
fn lanes_of(value: Rc<Value>) -> impl Iterator<Item = CellValue> {
    let lanes = value.lanes();
    (0..lanes).map(move |lane| match lanes {
        1 => CellValue::Secret(value.clone()),
        _ => CellValue::Lane(value.clone(), lane),
    })
}

/// For each of `count` numbers whether the index is it, and the condition holds. An index that is none of them is the
/// program's mistake, and may give any.
fn meant(index: &Value, count: u32, condition: Option<&Value>) -> Value {
    let first = index.bit_slice(0, 1);
    let odd = condition.map_or_else(|| first.clone(), |condition| first.and(condition));
    let mut all = condition.map_or_else(|| odd.not(), |condition| odd.xor(condition));
    if count > 1 {
        all = all.lane_concat(&odd);
    }
    let mut bit = 1;
    while all.lanes() < count {
        let lanes = all.lanes();
        // Beyond the last number nothing is doubled.
        let doubled = lanes.min(count - lanes);
        let high = match bit < index.width() {
            true => index.bit_slice(bit, 1),
            false => break,
        };
        let low = all.lane_slice(0, doubled);
        let upper = low.and(&high.tile(doubled));
        let lower = low.xor(&upper);
        let rest = (doubled < lanes).then(|| all.lane_slice(doubled, lanes - doubled));
        all = match rest {
            Some(rest) => lower.lane_concat(&rest).lane_concat(&upper),
            None => lower.lane_concat(&upper),
        };
        bit += 1;
    }
    all.lane_slice(0, count)
}
