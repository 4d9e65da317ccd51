//! Accesses at secret indices: reads and writes scan all places that the address may mean.
//!
//! A read at a secret index is a tree of choices between all elements that the index can mean, by
//! the bits of the index: `n - 1` choices. A write chooses between the old and the new value at
//! each of them: `n` choices. Both are noted. Where elements are alike they are done many at once
//! (`write_at_once.rs`, `evaluate/pick.rs`); the rest here is one by one.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::access::MemoryModel;
use crate::access::write_at_once::ElementWrite;
use crate::data::{
    CellValue, IndexTerm, Indexed, is_integer, is_single_integer, mask, zero_if_unset,
};
use crate::evaluate::report::ExecutionStop;
use crate::ir::{Binary, Compare, Unary};

/// Elements that one secret index may choose between.
const SCAN_MAX: u64 = 1 << 20;

const ACCESS_REMEDY: &str = "`explain` says how it finds the element, and what that costs";

impl MemoryModel {
    /// Returns the place with indices truncated to the bits that can be set, none of them negative.
    /// An index that may be negative is counted from the beginning of the object.
    fn settled(&mut self, indexed: &Indexed) -> Result<Indexed, ExecutionStop> {
        let may_fall = |term: &IndexTerm| {
            let greatest = self.values.emit.greatest(&term.index, term.width);
            term.bound.is_none() && term.width > 1 && greatest > mask(term.width) >> 1
        };
        if indexed.terms.len() > 1 && indexed.terms.iter().any(may_fall) {
            return self.joined(indexed);
        }
        let mut settled = Indexed { object: indexed.object, offset: indexed.offset, terms: vec![] };
        for term in &indexed.terms {
            let IndexTerm { mut index, mut width, mut stride, bound } = term.clone();
            let zeros = self.values.emit.zeros(&index, width);
            let kept = width.saturating_sub(zeros.high + zeros.low);
            let steps = (1i64 << zeros.low.min(32)).checked_mul(stride);
            if kept > 0 && kept < width && zeros.low <= 32 && bound.is_none() {
                let low = CellValue::Public(zeros.low.into());
                let moved = self.values.binary(Binary::LShr, width, &index, &low)?;
                index = self.values.unary(Unary::Truncate, width, kept, &moved)?;
                (width, stride) = (kept, steps.unwrap_or(stride));
            }
            let before = if stride > 0 { settled.offset / stride } else { 0 };
            if zeros.high == 0 && bound.is_none() && width > 1 && before > 0 {
                let all = self.memory.object(indexed.object).size as i64 / stride + 1;
                let bits = (64 - all.leading_zeros() as u16).min(width);
                let low = self.values.unary(Unary::Truncate, width, bits, &index)?;
                index = self.values.binary(
                    Binary::Add,
                    bits,
                    &low,
                    &CellValue::Public(before as u128),
                )?;
                (width, settled.offset) = (bits, settled.offset - before * stride);
            }
            settled.terms.push(IndexTerm { index, width, stride, bound });
        }
        Ok(settled)
    }

    /// Returns the place with a single index, counted from the beginning of the object: one index
    /// may be negative where another compensates for it.
    fn joined(&mut self, indexed: &Indexed) -> Result<Indexed, ExecutionStop> {
        let strides = indexed.terms.iter().map(|term| term.stride.unsigned_abs());
        let stride = strides.fold(0, gcd).max(1) as i64;
        let all = self.memory.object(indexed.object).size as i64 / stride + 1;
        let width = 64 - all.leading_zeros() as u16;
        let before = indexed.offset.div_euclid(stride);
        let mut index = CellValue::Public(before as u128 & mask(width));
        for term in &indexed.terms {
            // A bit alone, and what C says the bound of, have no sign.
            let has_sign = term.width > 1 && term.bound.is_none();
            let resized = match term.width.cmp(&width) {
                Ordering::Less if has_sign => Some(Unary::SignExtend),
                Ordering::Less => Some(Unary::ZeroExtend),
                Ordering::Equal => None,
                Ordering::Greater => Some(Unary::Truncate),
            };
            let resized = match resized {
                Some(resize) => self.values.unary(resize, term.width, width, &term.index)?,
                None => term.index.clone(),
            };
            let times = CellValue::Public((term.stride / stride) as u128 & mask(width));
            let moved = self.values.binary(Binary::Mul, width, &resized, &times)?;
            index = self.values.binary(Binary::Add, width, &index, &moved)?;
        }
        let term = IndexTerm { index, width, stride, bound: None };
        let (object, offset) = (indexed.object, indexed.offset - before * stride);
        Ok(Indexed { object, offset, terms: vec![term] })
    }

    /// How many elements each secret index can mean, and all offsets, the last index fastest.
    fn candidates(
        &mut self,
        indexed: &Indexed,
        bytes: u64,
    ) -> Result<Vec<(u64, IndexTerm)>, ExecutionStop> {
        let object = self.memory.object(indexed.object);
        let size = object.size as i64;
        let mut counts = Vec::new();
        for term in &indexed.terms {
            let fitting = match term.stride.signum() {
                1 => (size - indexed.offset - bytes as i64).max(-1) / term.stride.abs() + 1,
                -1 => indexed.offset / term.stride.abs() + 1,
                _ => 1,
            };
            let reach = if term.width >= 63 { u64::MAX } else { 1 << term.width };
            let own = term.bound.unwrap_or(u64::MAX).min(reach);
            counts.push((own.min(fitting.max(0) as u64), term.clone()));
        }
        for (_, term) in &mut counts {
            // One value for all comparisons with it.
            if let CellValue::Opened(register) = term.index
                && self.values.scope.dry_run.is_none()
            {
                term.index =
                    CellValue::Secret(Rc::new(self.values.emit.published(register, term.width)));
            }
        }
        let product = counts.iter().try_fold(1u64, |all, (count, _)| all.checked_mul(*count));
        match product {
            Some(1..=SCAN_MAX) => Ok(counts),
            Some(0) => {
                self.values
                    .error("no value of this index is within the array", "check the bounds")?;
                Err(ExecutionStop::Fatal)
            }
            _ => {
                let (whose, name) = (whose(indexed), self.memory.object(indexed.object).shown());
                let many = match product {
                    Some(many) => format!("{many}"),
                    None => "more than 2^64".to_owned(),
                };
                let what =
                    format!("{whose} into {name} can mean {many} elements, at most {SCAN_MAX}");
                self.values
                    .error(what, "index a smaller array, or a smaller part of it: `a[i & 1023]`")?;
                Err(ExecutionStop::Fatal)
            }
        }
    }

    /// As many of the candidates as indices reach that are known to be small.
    fn reached(&self, counts: &[(u64, IndexTerm)]) -> Vec<(u64, IndexTerm)> {
        let reached = |(count, term): &(u64, IndexTerm)| {
            let greatest = self.values.emit.greatest(&term.index, term.width);
            let reach = u64::try_from(greatest).unwrap_or(u64::MAX).saturating_add(1);
            ((*count).min(reach), term.clone())
        };
        counts.iter().map(reached).collect()
    }

    pub(crate) fn read_indexed(
        &mut self,
        indexed: &Indexed,
        bytes: u64,
    ) -> Result<CellValue, ExecutionStop> {
        let whose = whose(indexed);
        let is_open = indexed.terms.iter().all(|term| is_opened(&term.index));
        let (address, indexed) = (indexed, &self.settled(indexed)?);
        let counts = self.candidates(indexed, bytes)?;
        let reached = self.reached(&counts);
        let all: u64 = reached.iter().map(|(count, _)| count).product();
        if let Some(access) = self.row_access((address, indexed), (&counts, all), bytes)? {
            let (all, _) = counts[0];
            let what = format!("a read at {whose} is an access to a memory of {all} elements");
            self.values.note(what, ACCESS_REMEDY);
            return Ok(self.read_row(&access));
        }
        let counts = reached;
        let mut found = Vec::with_capacity(all as usize);
        for offset in offsets(indexed.offset, &counts) {
            found.push(match self.memory.check(indexed.object, offset, bytes) {
                Ok(()) => {
                    self.note_read(indexed.object, offset, bytes)?;
                    Some(self.read(indexed.object, offset as u64, bytes as u8)?)
                }
                // Only an index out of bounds chooses it.
                Err(_) => None,
            });
        }
        if all > 1 {
            let table = match counts.len() {
                1 => self.values.constants(&found, bytes as u16 * 8),
                _ => None,
            };
            let (what, cost) = match table {
                Some(table) => {
                    let ands = table.and_count();
                    (format!("a read at {whose} looks up {all} constants"), format!("{ands} ANDs"))
                }
                None => (
                    format!("a read at {whose} looks at {all} elements"),
                    format!("{} choices of {} bits", all - 1, bytes * 8),
                ),
            };
            self.values.note(what, &cost);
        }
        let is_function = |data: &Option<CellValue>| matches!(data, Some(CellValue::Function(_)));
        if is_open && all > 1 && found.iter().any(is_function) {
            let found: Vec<CellValue> = found.into_iter().flatten().collect();
            return self.values.address_differs(&found);
        }
        if found.iter().flatten().any(is_integer) {
            found.iter_mut().flatten().for_each(zero_if_unset);
        }
        let version = self.memory.object(indexed.object).version;
        for (count, term) in counts.iter().rev() {
            let rows: Vec<Option<CellValue>> = found;
            found = Vec::with_capacity(rows.len() / *count as usize);
            for row in rows.chunks(*count as usize) {
                found.push(self.values.pick(
                    row.to_vec(),
                    &term.index,
                    term.width,
                    bytes as u16 * 8,
                )?);
            }
        }
        let found = found.pop().flatten().unwrap_or(CellValue::Undefined);
        self.element_reads.note(&found, address, bytes, version);
        Ok(found)
    }

    pub(crate) fn write_indexed(
        &mut self,
        indexed: &Indexed,
        bytes: u64,
        data: &CellValue,
    ) -> Result<(), ExecutionStop> {
        let (address, indexed) = (indexed, &self.settled(indexed)?);
        let counts = self.candidates(indexed, bytes)?;
        let reached = self.reached(&counts);
        let all: u64 = reached.iter().map(|(count, _)| count).product();
        let whose = whose(indexed);
        if self.memory.object(indexed.object).is_constant {
            self.values.error("this writes to a constant", "write to a copy")?;
            return Ok(());
        }
        if (is_single_integer(data) || matches!(data, CellValue::Undefined))
            && let Some(access) = self.row_access((address, indexed), (&counts, all), bytes)?
            && self.make_rows(access.memory)?
        {
            let (all, _) = counts[0];
            let what = format!("a write at {whose} is an access to a memory of {all} elements");
            self.values.note(what, ACCESS_REMEDY);
            let condition = self.values.path_condition()?;
            return self.write_row(&access, data, &condition);
        }
        if all > 1 {
            let what = format!("a write at {whose} touches {all} elements");
            self.values.note(what, &format!("{all} choices of {} bits", bytes * 8));
        }
        let counts = reached;
        let places = offsets(indexed.offset, &counts);
        let element = ElementWrite { address, bytes, data };
        if self.write_at_once(indexed, &counts, &places, element)? {
            return Ok(());
        }
        let mut digits = vec![0u64; counts.len()];
        for offset in places {
            if self.memory.check(indexed.object, offset, bytes).is_ok() {
                let mut hit = CellValue::bit(true);
                for (digit, (count, term)) in digits.iter().zip(&counts) {
                    // Within bounds the low bits tell the elements apart.
                    let bits = (64 - (count - 1).leading_zeros()).clamp(1, 64) as u16;
                    let bits = bits.min(term.width);
                    let low = self.values.unary(Unary::Truncate, term.width, bits, &term.index)?;
                    let digit = CellValue::Public(u128::from(*digit));
                    let is_it = self.values.compare(Compare::Eq, bits, &low, &digit)?;
                    hit = self.values.binary(Binary::And, 1, &hit, &is_it)?;
                }
                // The old value stays where the index means another place.
                self.note_read(indexed.object, offset, bytes)?;
                self.note_write(indexed.object, offset, bytes)?;
                let old = self.read(indexed.object, offset as u64, bytes as u8)?;
                let new = self.values.select(&hit, data, &old, bytes as u16 * 8)?;
                self.write(indexed.object, offset as u64, bytes as u8, &new)?;
            }
            for (digit, (count, _)) in digits.iter_mut().zip(&counts).rev() {
                *digit += 1;
                if *digit < *count {
                    break;
                }
                *digit = 0;
            }
        }
        Ok(())
    }
}

fn is_opened(index: &CellValue) -> bool {
    matches!(index, CellValue::Opened(_))
}

pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The kind of index, for messages.
fn whose(indexed: &Indexed) -> &'static str {
    match indexed.terms.iter().all(|term| is_opened(&term.index)) {
        true => "an index that is opened when the program runs",
        false => "a secret index",
    }
}

/// All offsets that the terms give, the last term fastest.
fn offsets(base: i64, counts: &[(u64, IndexTerm)]) -> Vec<i64> {
    let mut all = vec![base];
    for (count, term) in counts {
        let step = |at: &i64| {
            let (at, stride) = (*at, term.stride);
            (0..*count as i64).map(move |k| at + k * stride)
        };
        all = all.iter().flat_map(step).collect();
    }
    all
}
