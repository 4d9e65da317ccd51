//! Verifies what works on memories, registers, regions, tables and permutations.

use super::intervals::Intervals;
use super::{BlockPlace, Verifier};
use crate::binary::FileKind;
use crate::instruction::{ElementType, Instruction, Phase, Sharing};
use crate::ops::Op;
use crate::state::PermutationKind;

/// The parties that look rows up which all know, and have keys for that.
const KEY_PARTIES: u64 = 2;

/// Progress of the last access to a memory: cells are read before any is changed.
#[derive(Clone, Copy, Debug)]
pub(super) enum AccessPart {
    /// It has read cells, at most.
    Read,
    /// It has changed one.
    Change,
}

impl Verifier<'_> {
    /// Checks an instruction on state besides values.
    pub(super) fn check_state(&mut self, i: &Instruction, faults: &mut Vec<String>) {
        let name = i.op.info().name;
        match i.op {
            Op::Reveal => {
                self.check_register(i.immediates[0], faults);
                if i.phase != Phase::Issue {
                    self.revealed.insert(i.immediates[0]);
                }
            }
            Op::Locate => {
                self.check_register(i.immediates[0], faults);
                self.check_locate(i, faults);
                self.revealed.insert(i.immediates[0]);
            }
            Op::Switches | Op::Origins | Op::Tell => self.check_permutation(i, faults),
            Op::SwapKnown => {
                let party = i.immediates[0];
                let is_of_party = self.switches.is_some_and(|(name, owner)| {
                    (name, u64::from(owner)) == (i.operands[0], party)
                });
                // An ordered program has the switches of its program, which the checker of orders proves.
                let is_whole = i.phase == Phase::Whole && self.kind == FileKind::Program;
                if is_whole && !is_of_party {
                    faults.push(format!(
                        "{name} needs the switches that were brought last, of party {party}"
                    ));
                } else if party >= self.description.parties.len() as u64 {
                    faults.push(format!("there is no party {party}"));
                }
            }
            Op::RegionLoad | Op::RegionStore | Op::RegionLoadAt | Op::RegionStoreAt => {
                self.check_region(i, faults);
            }
            op if op.is_of_table() => self.check_table(i, faults),
            Op::PartyKey | Op::PartyPad => self.check_party_key(i, faults),
            Op::MemorySet
            | Op::MemoryOpen
            | Op::MemoryCell
            | Op::MemoryChange
            | Op::MemoryLink
            | Op::MemoryFollow
            | Op::MemoryNext => self.check_memory(i, faults),
            _ => unreachable!("{name} keeps no state"),
        }
    }

    fn check_memory(&mut self, i: &Instruction, faults: &mut Vec<String>) {
        let (name, [index, column, row, stride]) = (i.op.info().name, i.immediates);
        if self.kind == FileKind::Planned {
            return faults.push(format!("{name} is replaced before a program is planned"));
        }
        let Some(memory) = self.description.memories.get(index as usize) else {
            let count = self.description.memories.len();
            return faults.push(format!("there is no memory {index}, only {count} in all"));
        };
        let accessed = self.accessed.get(&index).copied();
        let takes_links = matches!(i.op, Op::MemoryLink | Op::MemoryFollow | Op::MemoryNext);
        if memory.is_linked && matches!(i.op, Op::MemoryOpen | Op::MemoryChange)
            || takes_links && !memory.is_linked
        {
            let is = if memory.is_linked { "is" } else { "is not" };
            return faults.push(format!("{name} is not for memory {index}, which {is} linked"));
        }
        if takes_links && i.element.shared(Sharing::Any) != memory.link() {
            let (link, found) = (memory.link(), i.element);
            return faults.push(format!("a link of memory {index} is {link}, not {found}"));
        }
        match i.op {
            Op::MemoryOpen | Op::MemoryFollow => {
                self.accessed.insert(index, AccessPart::Read);
                return;
            }
            Op::MemoryNext if accessed.is_some() => return,
            Op::MemoryNext => {
                return faults.push(format!("{name} comes before any access to memory {index}"));
            }
            // In place of the row, its immediate has the column.
            Op::MemoryLink if column >= memory.rows => {
                let rows = memory.rows;
                return faults.push(format!("memory {index} has {rows} rows, not a row {column}"));
            }
            Op::MemoryLink => {
                self.accessed.entry(index).or_insert(AccessPart::Read);
                return;
            }
            Op::MemorySet | Op::MemoryCell | Op::MemoryChange => {}
            op => unreachable!("{} is not about a memory", op.info().name),
        }
        match memory.columns.get(column as usize) {
            None => faults.push(format!("memory {index} has no column {column}")),
            Some(&element) if element != i.element => faults
                .push(format!("column {column} of memory {index} is {element}, not {}", i.element)),
            Some(_) => {}
        }
        match (i.op, accessed) {
            (Op::MemoryCell | Op::MemoryChange, None) => {
                return faults.push(format!("{name} comes before any access to memory {index}"));
            }
            (Op::MemoryCell, Some(AccessPart::Change)) => {
                return faults.push(format!("{name} comes after the row was changed"));
            }
            (Op::MemoryCell, Some(AccessPart::Read)) => return,
            (Op::MemoryChange, Some(_)) => {
                self.accessed.insert(index, AccessPart::Change);
                return;
            }
            (Op::MemorySet, Some(_)) => {
                faults.push(format!("{name} comes after an access to memory {index}"));
            }
            (Op::MemorySet, None) => {}
            (op, _) => unreachable!("{} is not about a memory", op.info().name),
        }
        if self.last_row(row, stride, i.lanes).is_none_or(|end| end > memory.rows) {
            let (rows, lanes) = (memory.rows, i.lanes);
            let steps = self.in_steps(stride);
            return faults
                .push(format!("memory {index} has {rows} rows, not {lanes} from {row} on{steps}"));
        }
        let end = row + u64::from(i.lanes);
        if let Some(twice) = self.set.entry((index, column)).or_default().add(row, end) {
            faults.push(format!("row {twice} of column {column} of memory {index} is set twice"));
        }
    }

    fn check_register(&self, register: u64, faults: &mut Vec<String>) {
        if register >= u64::from(self.description.registers) {
            let count = self.description.registers;
            faults.push(format!("there is no register {register}, only {count} in all"));
        }
    }

    /// The row behind those that an instruction touches in any iteration of its block; nothing beyond 2^64.
    fn last_row(&self, row: u64, stride: u64, lanes: u32) -> Option<u64> {
        let iterations = self.place.map_or(1, |place| place.iterations);
        let further = stride.checked_mul(iterations.saturating_sub(1))?;
        row.checked_add(further)?.checked_add(lanes.into())
    }

    fn in_steps(&self, stride: u64) -> String {
        match self.place {
            Some(BlockPlace { iterations: iterations @ 2.., .. }) if stride > 0 => {
                format!(" in each of {iterations} iterations, {stride} further each time")
            }
            Some(_) | None => String::new(),
        }
    }

    fn check_region(&self, i: &Instruction, faults: &mut Vec<String>) {
        let [index, selected, stride, _] = i.immediates;
        let Some(region) = self.description.regions.get(index as usize) else {
            let count = self.description.regions.len();
            return faults.push(format!("there is no region {index}, only {count} in all"));
        };
        if region.element != i.element {
            faults
                .push(format!("rows of region {index} are {}, not {}", region.element, i.element));
        }
        let (rows, lanes) = (region.rows, u64::from(i.lanes));
        if matches!(i.op, Op::RegionLoadAt | Op::RegionStoreAt) {
            self.check_register(selected, faults);
            if !self.revealed.contains(&selected) {
                faults.push(format!("register {selected} selects a row before it has a value"));
            }
            if !rows.is_multiple_of(lanes) {
                faults.push(format!("{rows} rows of region {index} are no groups of {lanes}"));
            }
            return;
        }
        let is_inside = selected.checked_add(lanes).is_some_and(|end| end <= rows);
        // Passing the last row, it never begins but at the first row of a group.
        let is_in_groups = [rows, selected, stride].iter().all(|rows| rows.is_multiple_of(lanes));
        let is_passing = self.last_row(selected, stride, i.lanes).is_none_or(|end| end > rows);
        if !is_inside || is_passing && !is_in_groups {
            let steps = self.in_steps(stride);
            faults.push(format!(
                "region {index} has {rows} rows, not {lanes} from {selected} on{steps}"
            ));
        }
    }

    fn check_table(&mut self, i: &Instruction, faults: &mut Vec<String>) {
        let [index, row, ..] = i.immediates;
        let Some(table) = self.description.tables.get(index as usize) else {
            let count = self.description.tables.len();
            return faults.push(format!("there is no table {index}, only {count} in all"));
        };
        if table.is_shared != i.op.is_of_shared_table() {
            let (name, is) = (i.op.info().name, if table.is_shared { "is" } else { "is not" });
            faults.push(format!("{name} is not for table {index}, which {is} shared"));
            return;
        }
        // What hides rows gives keys.
        let has_rows = i.op != Op::SharedHide;
        if has_rows && table.element.shared(Sharing::Any) != i.element.shared(Sharing::Any) {
            faults.push(format!("rows of table {index} are {}, not {}", table.element, i.element));
        }
        if matches!(i.op, Op::TableLookUp | Op::SharedLookUp | Op::SharedAdd) {
            let (bits, found) = (table.index_bits(), i.immediates[1]);
            if found != u64::from(bits) {
                faults.push(format!("an index of table {index} has {bits} bits, not {found}"));
            }
            if table.is_shared {
                return;
            }
            let told = self.filled.get(&index).map_or(0, Intervals::first_missing);
            // In several blocks they may have been told in another one.
            if table.known_to.is_some() && self.place.is_none() && told < table.rows {
                faults.push(format!("row {told} of table {index} was not told before a lookup"));
            }
            self.looked_up.insert(index);
            return;
        }
        if i.op == Op::SharedHide {
            return;
        }
        let lanes = i.lanes;
        if row.checked_add(lanes.into()).is_none_or(|end| end > table.rows) {
            let rows = table.rows;
            faults.push(format!("table {index} has {rows} rows, not {lanes} from {row} on"));
        }
        if table.is_shared {
            return;
        }
        if table.known_to.is_some() != (i.op == Op::TableTell) {
            let how = if i.op == Op::TableTell { "told to one party" } else { "set for all" };
            faults.push(format!("the rows of table {index} are not {how}"));
        }
        let next = self.filled.get(&index).map_or(0, Intervals::first_missing);
        if i.op == Op::TableTell && row != next {
            faults.push(format!("row {next} of table {index} is told next, not {row}"));
        }
        if self.looked_up.contains(&index) {
            faults.push(format!("a row of table {index} is set after one was looked up"));
        }
        let end = row.saturating_add(lanes.into());
        if let Some(twice) = self.filled.entry(index).or_default().add(row, end) {
            faults.push(format!("row {twice} of table {index} is set twice"));
        }
    }

    /// Tables that all know are looked up by two parties, the first ones. A key of anybody else would be nobody's.
    fn check_party_key(&self, i: &Instruction, faults: &mut Vec<String>) {
        let (name, [party, key, ..]) = (i.op.info().name, i.immediates);
        if party >= KEY_PARTIES {
            faults.push(format!("{name} is of one of the first two parties, not of party {party}"));
        }
        let table = self.description.tables.get(key as usize);
        if table.is_none_or(|table| table.known_to.is_some() || table.is_shared) {
            faults.push(format!("key {key} is for no table whose rows all know"));
        }
    }

    fn check_permutation(&mut self, i: &Instruction, faults: &mut Vec<String>) {
        let [index, from, ..] = i.immediates;
        let Some(permutation) = self.description.permutations.get(index as usize) else {
            let count = self.description.permutations.len();
            return faults.push(format!("there is no permutation {index}, only {count} in all"));
        };
        let (items, kind) = (permutation.items, permutation.kind);
        let is_told = kind.is_told();
        let (element, count) = match i.op {
            Op::Switches => (ElementType::BIT, permutation.switches()),
            Op::Origins | Op::Tell => {
                (ElementType::unsigned(permutation.item_bits()), items.into())
            }
            _ => unreachable!("it is about a permutation"),
        };
        if element != i.element.shared(Sharing::Any) && i.op != Op::Switches {
            faults.push(format!("this is {element} for permutation {index}, not {}", i.element));
        }
        let Some(end) = from.checked_add(i.lanes.into()).filter(|&end| end <= count) else {
            let lanes = i.lanes;
            faults.push(format!("permutation {index} has {count}, not {lanes} from {from} on"));
            return;
        };
        if i.op == Op::Switches {
            self.switches = Some((i.results[0], permutation.party));
        }
        let is_right = match i.op {
            Op::Tell => is_told,
            Op::Origins => kind == PermutationKind::RandomWithOrigins,
            Op::Switches => kind.has_switches(),
            _ => unreachable!("it is about a permutation"),
        };
        if !is_right {
            faults.push(format!("permutation {index} has no {}", i.op.info().name));
        }
        let told = self.brought.get(&(index, Op::Tell));
        let gap = told.map_or(Some((0, 0)), |told| told.first_gap(items.into()));
        if i.op == Op::Switches && is_told && gap.is_some() {
            faults.push(format!("permutation {index} is used before all of it is told"));
        }
        if i.op == Op::Tell && gap.is_some_and(|(next, _)| next != from) {
            faults.push(format!("permutation {index} is told from its first row to its last"));
        }
        if let Some(twice) = self.brought.entry((index, i.op)).or_default().add(from, end) {
            faults.push(format!(
                "{} {twice} of permutation {index} is there twice",
                i.op.info().name
            ));
        }
    }

    fn check_locate(&mut self, i: &Instruction, faults: &mut Vec<String>) {
        let [_, told, hiding, last] = i.immediates;
        let permutation = |index: u64| self.description.permutations.get(index as usize).copied();
        let (Some(list), Some(hider)) = (permutation(told), permutation(hiding)) else {
            let count = self.description.permutations.len();
            return faults.push(format!(
                "there are no permutations {told} and {hiding}, only {count} in all"
            ));
        };
        let kinds = (list.kind, hider.kind);
        if kinds != (PermutationKind::ToldLocated, PermutationKind::RandomLocated) {
            faults.push(
                "items are located in a told_located and a random_located permutation".to_owned(),
            );
        } else if list.items != hider.items || list.party == hider.party {
            faults.push(format!(
                "permutations {told} and {hiding} are of one party, or not of equally many items"
            ));
        }
        let element = ElementType::unsigned(list.item_bits());
        if element != i.element.shared(Sharing::Any) {
            faults.push(format!("this is {element} for permutation {told}, not {}", i.element));
        }
        let is_partial = |index, op, count| match self.brought.get(&(index, op)) {
            Some(brought) => brought.first_gap(count).is_some(),
            None => true,
        };
        if is_partial(told, Op::Tell, list.items.into())
            || is_partial(hiding, Op::Switches, hider.switches())
        {
            faults.push(format!(
                "permutations {told} and {hiding} are used before all of them is there"
            ));
        }
        for index in [told, hiding] {
            if self.located.insert(index, last > 0) == Some(true) {
                faults.push(format!("permutation {index} was used for the last time before"));
            }
        }
        if last > 1 {
            faults.push(format!("'last' is 0 or 1, not {last}"));
        }
    }

    /// Checks that of each permutation all is used or nothing.
    pub(super) fn finish_state(&self, faults: &mut Vec<String>) {
        let mut partly: Vec<u64> = Vec::new();
        for ((index, op), brought) in &self.brought {
            let Some(permutation) = self.description.permutations.get(*index as usize) else {
                continue;
            };
            let all = match op {
                Op::Switches => permutation.switches(),
                Op::Origins | Op::Tell => permutation.items.into(),
                _ => unreachable!("nothing else is noted"),
            };
            // A block that runs again locates by others.
            let is_used = match permutation.kind.is_located() {
                true if self.place.is_some() => self.located.get(index) == Some(&true),
                true => self.located.contains_key(index),
                false => self.brought.contains_key(&(*index, Op::Switches)),
            };
            if brought.first_gap(all).is_some() || !is_used {
                partly.push(*index);
            }
        }
        partly.sort_unstable();
        partly.dedup();
        let fault =
            |index| format!("permutation {index} is used in part: all of it is, or nothing");
        faults.extend(partly.into_iter().map(fault));
    }
}
