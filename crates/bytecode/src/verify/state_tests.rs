//! One faulty program for each rule of registers, regions and permutations.

use std::io::Cursor;

use crate::binary::{FileKind, ProgramReader, to_bytes};
use crate::description::Description;
use crate::instruction::{ElementType, Instruction, Phase};
use crate::ops::Op;
use crate::state::{LookupTable, Memory, MemoryMethod, Permutation, PermutationKind, Region};
use crate::text::tests::assert_round_trip;
use crate::verify::verify;

const BYTE: ElementType = ElementType::unsigned(8);
const ITEM: ElementType = ElementType::unsigned(2);

fn description() -> Description {
    let permutation = |kind| Permutation { party: 0, items: 4, kind };
    let kinds =
        [PermutationKind::Random, PermutationKind::RandomWithOrigins, PermutationKind::Told];
    let located = [
        permutation(PermutationKind::RandomLocated),
        Permutation { party: 1, ..permutation(PermutationKind::ToldLocated) },
        permutation(PermutationKind::RandomPairs),
    ];
    let memory = |method| Memory {
        name: "a \"b\"".to_owned(),
        columns: vec![BYTE, ITEM],
        rows: 10,
        method,
        is_linked: false,
    };
    Description {
        parties: vec!["a".to_owned(), "b".to_owned()],
        regions: vec![Region { element: BYTE, rows: 10 }].into(),
        permutations: [kinds.map(permutation).to_vec(), located.to_vec()].concat().into(),
        registers: 2,
        tables: [(None, false), (Some(1), false), (None, true)]
            .map(|(known_to, is_shared)| LookupTable {
                element: BYTE,
                rows: 10,
                known_to,
                is_shared,
            })
            .to_vec()
            .into(),
        memories: [None, Some(MemoryMethod::SquareRoot)].map(memory).to_vec().into(),
        ..Description::default()
    }
}

/// A program under construction, whose values are named in order.
#[derive(Clone, Default)]
struct Draft(Vec<Instruction>, u64);

impl Draft {
    fn push(
        self,
        op: Op,
        (element, lanes): (ElementType, u32),
        operands: &[u64],
        immediates: [u64; 2],
    ) -> Draft {
        let mut instruction = Instruction::new(op, element, lanes);
        instruction.operands[..operands.len()].copy_from_slice(operands);
        instruction.immediates[..2].copy_from_slice(&immediates);
        self.record(instruction)
    }

    /// Locates value 3, an item, by a told permutation and a hiding one.
    fn locate(self, [told, hiding]: [u64; 2], last: u64) -> Draft {
        let mut instruction = Instruction::new(Op::Locate, ITEM, 1);
        instruction.operands[0] = 3;
        instruction.immediates = [1, told, hiding, last];
        self.record(instruction)
    }

    fn record(mut self, mut instruction: Instruction) -> Draft {
        let op = instruction.op;
        for k in 0..op.info().results.len() {
            instruction.results[k] = self.1;
            self.1 += 1;
        }
        self.0.push(instruction);
        self
    }

    fn faults(&self) -> Vec<String> {
        let bytes = to_bytes(FileKind::Program, &self.0, &description()).expect("in memory");
        let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("just written");
        verify(&mut reader).expect("readable").into_iter().map(|fault| fault.what).collect()
    }

    /// It has no faults, and its text says all of it.
    #[track_caller]
    fn is_right(&self) {
        assert_eq!(self.faults(), Vec::<String>::new());
        assert_round_trip(FileKind::Program, &self.0, &description());
    }

    #[track_caller]
    fn has(&self, part: &str) {
        let faults = self.faults();
        assert!(faults.len() == 1 && faults[0].contains(part), "{part}: {faults:?}");
    }

    #[track_caller]
    fn has_first(&self, part: &str) {
        let faults = self.faults();
        assert!(faults.first().is_some_and(|fault| fault.contains(part)), "{part}: {faults:?}");
    }
}

/// Value 0 of a byte, value 1 of four items, value 2 of two bits.
fn values() -> Draft {
    Draft::default()
        .push(Op::Constant, (BYTE, 1), &[], [0, 0])
        .push(Op::Constant, (ITEM, 4), &[], [0, 0])
        .push(Op::Constant, (ElementType::BIT, 2), &[], [0, 0])
}

#[test]
fn rows_of_tables_are_set_before_they_are_looked_up() {
    let index = ElementType::unsigned(4);
    let set = |draft: Draft, [row, value]: [u64; 2], lanes| {
        let mut set = Instruction::new(Op::TableSet, BYTE, lanes);
        set.immediates = [0, row, value, 0];
        draft.record(set)
    };
    let values = || values().push(Op::Constant, (index, 3), &[], [0, 0]);
    let right = set(set(values(), [9, 255], 1), [0, 1], 5);
    let looked_up = right.clone().push(Op::TableLookUp, (BYTE, 3), &[3], [0, 4]);
    looked_up.is_right();
    set(looked_up, [7, 1], 1).has("set after one was looked up");
    set(right.clone(), [3, 1], 1).has("row 3 of table 0 is set twice");
    set(values(), [8, 1], 3).has("table 0 has 10 rows, not 3 from 8 on");
    set(values(), [0, 256], 1).has("more bits than a row");
    let narrow = values().push(Op::Constant, (ElementType::unsigned(3), 3), &[], [0, 0]);
    narrow.push(Op::TableLookUp, (BYTE, 3), &[4], [0, 3]).has("has 4 bits, not 3");
    let wide = values().push(Op::TableLookUp, (ElementType::unsigned(9), 3), &[3], [0, 4]);
    wide.has("rows of table 0 are u8");
    values().push(Op::TableLookUp, (BYTE, 3), &[3], [3, 4]).has("no table 3");
    set(values(), [0, 1], 1)
        .push(Op::TableTell, (BYTE, 1), &[0], [0, 0])
        .has_first("told to one party");
}

/// The share of a key is zeros at everybody but its party. If that does not compute, or has no generator since there is no
/// table, the key is known to all.
#[test]
fn keys_are_of_parties_that_look_rows_up() {
    let block = ElementType::unsigned(128);
    let key =
        |[party, key]: [u64; 2]| Draft::default().push(Op::PartyKey, (block, 1), &[], [party, key]);
    let pad =
        |[party, key]: [u64; 2]| Draft::default().push(Op::PartyPad, (block, 3), &[], [party, key]);
    for party in [0, 1] {
        key([party, 0]).is_right();
        pad([party, 0]).is_right();
    }
    for draft in [key([2, 0]), pad([2, 0])] {
        draft.has("one of the first two parties, not of party 2");
    }
    for draft in [key([0, 1]), pad([1, 1]), key([0, 2]), pad([0, u64::MAX])] {
        draft.has("is for no table whose rows all know");
    }
}

#[test]
fn rows_of_tables_are_told_in_order_before_they_are_looked_up() {
    let index = ElementType::unsigned(4);
    let values = values()
        .push(Op::Constant, (index, 3), &[], [0, 0])
        .push(Op::Constant, (BYTE, 6), &[], [7, 0])
        .push(Op::Constant, (BYTE, 4), &[], [9, 0]);
    let look_up = |draft: Draft| draft.push(Op::TableLookUp, (BYTE, 3), &[3], [1, 4]);
    let half = values.clone().push(Op::TableTell, (BYTE, 6), &[4], [1, 0]);
    let whole = half.clone().push(Op::TableTell, (BYTE, 4), &[5], [1, 6]);
    look_up(whole.clone()).is_right();
    look_up(half).has("row 6 of table 1 was not told before a lookup");
    values
        .clone()
        .push(Op::TableTell, (BYTE, 4), &[5], [1, 6])
        .has("row 0 of table 1 is told next");
    look_up(whole)
        .push(Op::TableTell, (BYTE, 4), &[5], [1, 0])
        .has_first("row 10 of table 1 is told next");
    let mut set = Instruction::new(Op::TableSet, BYTE, 1);
    set.immediates = [1, 0, 5, 0];
    values.record(set).has("the rows of table 1 are not set for all");
}

#[test]
fn shared_tables_have_operations_of_their_own() {
    let index = ElementType::unsigned(4);
    let values = values().push(Op::Constant, (index, 1), &[], [0, 0]);
    let block = ElementType::unsigned(128);
    let set = |row| values.clone().push(Op::SharedSet, (BYTE, 1), &[0], [2, row]);
    let right = set(9)
        .push(Op::SharedHide, (block, 2), &[], [2, 0])
        .push(Op::SharedLookUp, (BYTE, 1), &[3], [2, 4])
        .push(Op::SharedAdd, (BYTE, 1), &[3, 0], [2, 4])
        .push(Op::SharedSet, (BYTE, 1), &[0], [2, 9])
        .push(Op::SharedHide, (block, 2), &[], [2, 0]);
    right.is_right();
    set(10).has("table 2 has 10 rows, not 1 from 10 on");
    values.clone().push(Op::SharedHide, (block, 1), &[], [2, 0]).has("two blocks of 128 bits");
    values
        .clone()
        .push(Op::SharedHide, (block, 2), &[], [0, 0])
        .has("table 0, which is not shared");
    values.clone().push(Op::TableLookUp, (BYTE, 1), &[3], [2, 4]).has("table 2, which is shared");
    values.clone().push(Op::TableOpen, (BYTE, 1), &[0], [2, 0]).has("table 2, which is shared");
    let wide = values.clone().push(Op::Constant, (ElementType::unsigned(5), 1), &[], [0, 0]);
    wide.push(Op::SharedAdd, (BYTE, 1), &[4, 0], [2, 5]).has("has 4 bits, not 5");
    let narrow = values.clone().push(Op::SharedLookUp, (index, 1), &[3], [2, 4]);
    narrow.has("rows of table 2 are u8, not u4");
    let several = values.clone().push(Op::Constant, (index, 4), &[], [0, 0]);
    let several = several.push(Op::Constant, (BYTE, 4), &[], [0, 0]);
    several.push(Op::SharedAdd, (BYTE, 4), &[4, 5], [2, 4]).has("a row has one cell");
}

#[test]
fn rows_are_of_a_region_and_registers_have_values() {
    let revealed = values().push(Op::Reveal, (BYTE, 1), &[0], [1, 0]);
    let right = revealed
        .clone()
        .push(Op::RegionStoreAt, (BYTE, 1), &[0], [0, 1])
        .push(Op::RegionLoadAt, (BYTE, 1), &[], [0, 1])
        .push(Op::RegionLoad, (BYTE, 8), &[], [0, 2]);
    right.is_right();
    revealed.clone().push(Op::RegionLoadAt, (BYTE, 1), &[], [0, 0]).has("before it has a value");
    revealed.clone().push(Op::RegionLoad, (BYTE, 8), &[], [0, 3]).has("10 rows, not 8 from 3");
    revealed.clone().push(Op::RegionLoad, (BYTE, 1), &[], [0, u64::MAX]).has("10 rows");
    revealed.clone().push(Op::RegionLoad, (BYTE, 1), &[], [1, 0]).has("no region 1");
    revealed.clone().push(Op::RegionLoad, (ITEM, 1), &[], [0, 0]).has("rows of region 0 are u8");
    let group = |lanes, bits| {
        let mut group = Instruction::new(Op::RegionLoadAt, BYTE, lanes);
        group.immediates = [0, 1, bits, 0];
        revealed.clone().record(group)
    };
    group(5, 3).is_right();
    group(4, 3).has("10 rows of region 0 are no groups of 4");
    group(1, 65).has("a register has at most 64 bits");
    revealed.push(Op::Reveal, (BYTE, 1), &[0], [2, 0]).has("no register 2");
    values().push(Op::Reveal, (ITEM, 4), &[1], [0, 0]).has("one lane of at most 64 bits");
}

/// A switch for each pair.
#[test]
fn pairs_have_a_switch_each() {
    let bit = |lanes| (ElementType::BIT, lanes);
    values().push(Op::Switches, bit(2), &[], [5, 0]).is_right();
    values().push(Op::Switches, bit(3), &[], [5, 0]).has_first("has 2, not 3 from 0");
    values().push(Op::Switches, bit(1), &[], [5, 1]).has("permutation 5 is used in part");
    values().push(Op::Origins, (ITEM, 4), &[], [5, 0]).has_first("permutation 5 has no origins");
}

#[test]
fn permutations_bring_what_they_have() {
    let bits = (ElementType::BIT, 2);
    let told = values().push(Op::Tell, (ITEM, 4), &[1], [2, 0]);
    let all = (ElementType::BIT, 5);
    let right = told
        .clone()
        .push(Op::Switches, all, &[], [1, 0])
        .push(Op::Origins, (ITEM, 4), &[], [1, 0])
        .push(Op::Switches, bits, &[], [2, 0])
        .push(Op::Switches, (ElementType::BIT, 3), &[], [2, 2])
        .push(Op::Switches, (ElementType::BIT, 1), &[], [0, 4])
        .push(Op::Switches, (ElementType::BIT, 4), &[], [0, 0])
        .push(Op::Constant, (BYTE, 4), &[], [0, 0])
        .push(Op::SwapKnown, (BYTE, 4), &[8, 9, 9], [0, 0]);
    right.is_right();
    values().push(Op::Switches, all, &[], [2, 0]).has("before all of it is told");
    values().push(Op::Switches, bits, &[], [0, 4]).has("permutation 0 has 5, not 2 from 4");
    values().push(Op::Switches, bits, &[], [6, 0]).has("no permutation 6");
    values().push(Op::Switches, (ITEM, 2), &[], [0, 0]).has_first("switches are u1");
    values().push(Op::Switches, bits, &[], [0, 0]).has("used in part");
    values().push(Op::Switches, bits, &[], [4, 0]).has_first("permutation 4 has no switches");
    told.has("used in part");
    let whole = values().push(Op::Switches, all, &[], [0, 0]);
    let last = (ElementType::BIT, 1);
    whole.clone().push(Op::Switches, last, &[], [0, 4]).has("4 of permutation 0 is there twice");
    whole.clone().push(Op::Origins, (ITEM, 4), &[], [0, 0]).has("permutation 0 has no origins");
    whole.clone().push(Op::Tell, (ITEM, 4), &[1], [0, 0]).has("permutation 0 has no tell");
    let part = values().push(Op::LaneSlice, (ITEM, 2), &[1], [0, 4]);
    let part = part.push(Op::Tell, (ITEM, 2), &[3], [2, 2]);
    part.push(Op::Tell, (ITEM, 2), &[3], [2, 0]).has_first("from its first row to its last");
    let swap = whole.push(Op::Constant, (BYTE, 5), &[], [0, 0]);
    swap.clone().push(Op::SwapKnown, (BYTE, 5), &[3, 4, 4], [1, 0]).has("of party 1");
    let swap = swap.push(Op::Switches, all, &[], [1, 0]);
    swap.push(Op::SwapKnown, (BYTE, 5), &[3, 4, 4], [0, 0]).has("needs the switches");
}

#[test]
fn memories_are_set_and_then_accessed() {
    let set = values().push(Op::Constant, (BYTE, 4), &[], [0, 0]);
    let at = |draft: Draft, row: u64| {
        let mut draft = draft.push(Op::MemorySet, (BYTE, 4), &[3], [0, 0]);
        draft.0.last_mut().expect("it was pushed").immediates[2] = row;
        draft
    };
    let set = at(at(set, 0), 6);
    let opened = set.clone().push(Op::MemoryOpen, (BYTE, 1), &[0], [0, 0]);
    let right = opened
        .clone()
        .push(Op::MemoryCell, (BYTE, 1), &[], [0, 0])
        .push(Op::MemoryCell, (ITEM, 1), &[], [0, 1])
        .push(Op::MemoryChange, (BYTE, 1), &[4], [0, 0])
        .push(Op::MemoryChange, (ITEM, 1), &[5], [0, 1])
        .push(Op::MemoryOpen, (BYTE, 1), &[4], [0, 0])
        .push(Op::MemoryCell, (ITEM, 1), &[], [0, 1]);
    right.is_right();
    at(set.clone(), 7).has("has 10 rows, not 4 from 7 on");
    at(set.clone(), u64::MAX).has("has 10 rows");
    at(set.clone(), 3).has("3 of column 0 of memory 0 is set twice");
    at(opened.clone(), 4).has_first("after an access to memory 0");
    let cell = (Op::MemoryCell, (BYTE, 1));
    set.push(cell.0, cell.1, &[], [0, 0]).has("before any access to memory 0");
    opened.clone().push(cell.0, cell.1, &[], [1, 0]).has("before any access to memory 1");
    opened.clone().push(cell.0, cell.1, &[], [2, 0]).has("no memory 2");
    opened.clone().push(cell.0, cell.1, &[], [0, 2]).has("memory 0 has no column 2");
    opened.clone().push(cell.0, cell.1, &[], [0, 1]).has("column 1 of memory 0 is u2");
    let changed = opened.push(Op::MemoryChange, (BYTE, 1), &[0], [0, 0]);
    changed.push(cell.0, cell.1, &[], [0, 0]).has("after the row was changed");
}

#[test]
fn items_are_located_in_what_was_told() {
    let all = (ElementType::BIT, 5);
    let item = values().push(Op::Constant, (ITEM, 1), &[], [0, 0]);
    let told = item.clone().push(Op::Tell, (ITEM, 4), &[1], [4, 0]);
    let both = told.clone().push(Op::Switches, all, &[], [3, 0]);
    let right = both.clone().locate([4, 3], 0).locate([4, 3], 1);
    right.is_right();
    right.push(Op::RegionLoadAt, (BYTE, 1), &[], [0, 1]).is_right();
    told.has("permutation 4 is used in part");
    both.clone().has_first("permutation 3 is used in part");
    told.clone().locate([4, 3], 0).has_first("before all of them is there");
    item.push(Op::Switches, all, &[], [3, 0]).locate([4, 3], 0).has_first("before all of them");
    let ended = both.clone().locate([4, 3], 1).locate([4, 3], 0);
    ended.has_first("used for the last time before");
    both.clone().locate([3, 4], 0).has_first("a told_located and a random_located");
    both.clone().locate([4, 7], 0).has_first("no permutations 4 and 7");
    both.clone().locate([4, 3], 2).has("'last' is 0 or 1, not 2");
    let part = values().push(Op::LaneSlice, (ITEM, 2), &[1], [0, 4]);
    let part = part.push(Op::Tell, (ITEM, 2), &[3], [4, 2]);
    part.push(Op::Tell, (ITEM, 2), &[3], [4, 0]).has_first("from its first row to its last");
}

/// Operations on state are never split into issue and finish.
#[test]
fn what_keeps_state_has_no_parts() {
    for phase in [Phase::Issue, Phase::Finish] {
        let mut reveal = values().push(Op::Reveal, (BYTE, 1), &[0], [1, 0]);
        let last = reveal.0.len() - 1;
        reveal.0[last].phase = phase;
        reveal.has_first("reveal has no parts");
    }
}

#[test]
fn sizes_are_limited() {
    let mut wrong = description();
    wrong.regions = vec![Region { element: BYTE, rows: 0 }].into();
    let large = Region { element: ElementType::unsigned(256), rows: 1 << 40 };
    let tall = Description { regions: vec![large].into(), ..description() };
    assert!(tall.faults().iter().any(|fault| fault.contains("2^44 bits")), "{:?}", tall.faults());
    let memory = Memory {
        name: String::new(),
        columns: Vec::new(),
        rows: 0,
        method: None,
        is_linked: false,
    };
    wrong.memories = vec![memory].into();
    let permutation = Permutation { party: 2, items: 0, kind: PermutationKind::Random };
    wrong.permutations = vec![permutation].into();
    wrong.registers = u32::MAX;
    let faults = wrong.faults();
    for part in ["memory 0 has 0 columns", "memory 0 has no rows"] {
        assert!(faults.iter().any(|fault| fault.contains(part)), "{part}: {faults:?}");
    }
    let pairs = Permutation { party: 0, items: 3, kind: PermutationKind::RandomPairs };
    wrong.permutations = vec![permutation, pairs].into();
    let faults = [faults, wrong.faults()].concat();
    for part in [
        "region 0 has 0 rows",
        "exchanges pairs, and 3 is odd",
        "moves 0 items",
        "is of no party",
        "registers",
    ] {
        assert!(faults.iter().any(|fault| fault.contains(part)), "{part}: {faults:?}");
    }
}
