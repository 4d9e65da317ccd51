//! Random programs, planned under all kinds of memory, each plan proven by the checker.

mod planning;

use std::collections::BTreeMap;

use phineus_bytecode::random::{RandomOptions, random_program};
use phineus_bytecode::{Description, ElementType, FileKind, Instruction, Op, PortOrder};
use phineus_plan::{Error, PlanOptions, check};
use proptest::prelude::*;

use planning::{File, instructions, make_plan, options, read, write};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_plan_is_right(
        seed: u64,
        given: bool,
        frame_count in 8u64..60,
        lookahead_frames in 1u64..16,
        lookahead_ns in 0u64..20_000,
        live_max in 1usize..150,
        wires_max in prop_oneof![Just(64u32), Just(1500), Just(4096)],
    ) {
        let random = RandomOptions {
            instruction_count: 600,
            live_max,
            wires_max,
            ..RandomOptions::default()
        };
        let (instructions, description) = random_program(seed, &random);
        let program = write(FileKind::Program, &instructions, &description);
        let options = PlanOptions {
            port_order: if given { PortOrder::Given } else { PortOrder::Near },
            ..options(frame_count, lookahead_frames, lookahead_ns)
        };
        let (planned, figures) = make_plan(&program, &options).expect("8 frames are enough");
        prop_assert!(figures.frame_count <= frame_count);
        let faults = check(&mut read(&program), &mut read(&planned)).expect("readable");
        prop_assert!(faults.is_empty(), "{}", faults.join("\n"));
        let again = make_plan(&program, &options).expect("as before").0;
        prop_assert_eq!(planned.into_inner(), again.into_inner(), "planning is deterministic");
    }
}

/// A program that defines one page per entry of `accesses` and reads pages in that order.
///
/// Each read is of one page alone, so that the fewest swap-ins are those of the textbook's MIN.
fn page_trace(pages: u64, accesses: &[u64]) -> File {
    let mut program = Vec::new();
    let element = ElementType::BIT;
    for page in 0..pages {
        let mut constant = Instruction::new(Op::Constant, element, 4096);
        constant.results[0] = page;
        program.push(constant);
    }
    for (next, &page) in (pages..).zip(accesses) {
        let mut reduce = Instruction::new(Op::LaneXor, element, 1);
        reduce.immediates[0] = 4096;
        reduce.operands[0] = page;
        reduce.results[0] = next;
        program.push(reduce);
    }
    let description = Description { parties: vec!["a".to_string()], ..Description::default() };
    write(FileKind::Program, &program, &description)
}

/// The fewest loads with which `accesses` can be served by `frames` frames, by trying all.
///
/// Works on all sets of resident pages at once: for each the fewest loads that lead to it. The
/// program defines its pages before, so any set may be in memory at the start.
fn fewest_loads(pages: u64, accesses: &[u64], frames: u32) -> u64 {
    let full = |set: &u64| set.count_ones() == frames.min(pages as u32);
    let mut fewest: BTreeMap<u64, u64> =
        (0..1u64 << pages).filter(full).map(|set| (set, 0)).collect();
    for &page in accesses {
        let mut after = BTreeMap::new();
        for (set, loads) in fewest {
            let mut reach = |set: u64, loads: u64| {
                let entry = after.entry(set).or_insert(loads);
                *entry = loads.min(*entry);
            };
            if set >> page & 1 == 1 {
                reach(set, loads);
                continue;
            }
            for victim in (0..pages).filter(|victim| set >> victim & 1 == 1) {
                reach(set & !(1 << victim) | 1 << page, loads + 1);
            }
        }
        fewest = after;
    }
    fewest.into_values().min().expect("some set remains")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn replacement_is_optimal(accesses in prop::collection::vec(0u64..8, 1..12)) {
        // Frames: 2 of them are spare, and one holds the results of the reads, which are dead at
        // once: a result page is begun and dropped within one instruction. What is left holds
        // pages. All pages are read, so that none dies before.
        let mut accesses = accesses;
        accesses.extend(0..8);
        let program = page_trace(8, &accesses);
        let frame_count = 8;
        let (planned, figures) =
            make_plan(&program, &options(frame_count, 2, 1000)).expect("enough frames");
        let faults = check(&mut read(&program), &mut read(&planned)).expect("readable");
        prop_assert!(faults.is_empty(), "{}", faults.join("\n"));
        let for_pages = frame_count - 2 - 1;
        let fewest = fewest_loads(8, &accesses, for_pages as u32);
        prop_assert_eq!(figures.swap_in_count, fewest);
    }
}

#[test]
fn enough_memory_means_no_transfer() {
    let (instructions, description) = random_program(7, &RandomOptions::default());
    let program = write(FileKind::Program, &instructions, &description);
    let (_, figures) = make_plan(&program, &options(1000, 16, 10_000)).expect("enough frames");
    assert_eq!((figures.swap_in_count, figures.swap_out_count), (0, 0));
    assert_eq!(figures.frame_count, figures.unbounded_page_count);
}

#[test]
fn all_frames_hold_pages_where_nothing_is_swapped() {
    let program = page_trace(7, &[0, 1, 2, 3, 4, 5, 6]);
    let (_, unbounded) = make_plan(&program, &options(1000, 16, 1000)).expect("enough frames");
    let pages = unbounded.unbounded_page_count;
    assert_eq!(pages, 8, "as many as a plan has at least");
    let (_, spared) = make_plan(&program, &options(pages, 2, 1000)).expect("enough frames");
    assert!(spared.swap_out_count > 0);
    let (planned, figures) = make_plan(&program, &options(pages, 0, 1000)).expect("enough frames");
    assert_eq!((figures.frame_count, figures.spill_slot_count), (pages, 0));
    let faults = check(&mut read(&program), &mut read(&planned)).expect("readable");
    assert_eq!(faults, Vec::<String>::new());

    let program = page_trace(8, &[0, 1, 2, 3, 4, 5, 6, 7]);
    let refused = make_plan(&program, &options(pages, 0, 1000)).map(drop);
    assert!(matches!(refused, Err(Error::TooFewFrames { frames: 8, needed: 9 })));
}

#[test]
fn too_few_frames_are_refused() {
    let (instructions, description) = random_program(7, &RandomOptions::default());
    let program = write(FileKind::Program, &instructions, &description);
    let refused = make_plan(&program, &options(7, 2, 0)).map(drop);
    assert!(matches!(refused, Err(Error::TooFewFrames { frames: 7, needed: 8 })));
}

/// Every single change to a plan that matters must be found: the checker is not blind.
#[test]
fn the_checker_finds_planted_faults() {
    let random = RandomOptions { instruction_count: 300, live_max: 100, ..Default::default() };
    let (source, description) = random_program(11, &random);
    let program = write(FileKind::Program, &source, &description);
    let (planned, figures) = make_plan(&program, &options(10, 2, 2000)).expect("enough frames");
    assert!(figures.swap_in_count > 10 && figures.swap_out_count > 10);
    let mut with_plan = description.clone();
    with_plan.plan = Some(figures);
    let plan = instructions(&planned);
    let found = |changed: &[Instruction]| {
        let file = write(FileKind::Planned, changed, &with_plan);
        !check(&mut read(&program), &mut read(&file)).expect("readable").is_empty()
    };
    assert!(!found(&plan));
    for at in 0..plan.len() {
        let mut without = plan.clone();
        without.remove(at);
        assert!(found(&without), "leaving out {:?}", plan[at]);
        for k in 0..plan[at].operands().len() {
            let mut moved = plan.clone();
            moved[at].operands[k] ^= 4096;
            assert!(found(&moved), "another frame for operand {k} of {:?}", plan[at]);
        }
        let (first, second) = (plan[at].op, plan.get(at + 1).map(|next| next.op));
        let moves = |op: Op| op.is_input_or_load() || op.is_output_or_store();
        if second.is_some_and(|second| {
            (moves(first) || moves(second)) && !first.is_directive() && !second.is_directive()
        }) {
            let mut swapped = plan.clone();
            swapped.swap(at, at + 1);
            assert!(found(&swapped), "{:?} before {:?}", plan[at + 1], plan[at]);
        }
        if plan[at].op.is_directive() {
            let mut other = plan.clone();
            other[at].immediates[0] += 1;
            assert!(found(&other), "another frame in {:?}", plan[at]);
        }
    }
}
