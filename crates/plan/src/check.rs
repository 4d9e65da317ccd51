//! The checker: proves that a planned program computes the same as its program.
//!
//! Independent of the planner: it replays the plan over symbolic memory, in which a cell holds the
//! name of a value, next to the program that was planned. It proves, for every instruction:
//! 1. the plan's instructions, directives left out, are the program's in the same order, inputs and
//!    outputs where the plan says that they come (`check/near.rs`);
//! 2. each operand's cell holds the value that the program names, whole;
//! 3. no cell straddles a page, no result overlaps an operand or another result, and all lie in
//!    the frames that the plan states;
//! 4. no frame is touched while a transfer to or from it is in flight;
//! 5. a page is read from a slot only after it was written there, the write being finished;
//! 6. every transfer that is issued is finished, once, and no slot is beyond the stated number;
//! 7. the stated numbers of transfers, instructions and frames are the actual ones;
//! 8. the parties, the tables and who learns what are the program's.
//!
//! Memory: one entry per cell in frames and on storage, and per input and output that moved.

mod near;

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek};

use phineus_bytecode::{Description, FileKind, Instruction, Layout, Op, ProgramReader};

use crate::check::near::ExpectedOrder;
use crate::error::Error;

/// More frames than any machine has: 2^26 of the smallest pages are 256 GiB.
const FRAMES_MAX: u64 = 1 << 26;

/// Faults are reported up to this many.
const FAULTS_MAX: usize = 20;

/// The cells of a page: for each offset, the wires and the value there.
type Cells = BTreeMap<u64, (u64, u64)>;

/// State of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FrameState {
    Idle,
    Arriving(u64),
    Leaving(u64),
}

struct PlanChecker {
    layout: Layout,
    page_wires: u64,
    frames: Vec<(FrameState, Cells)>,
    slots: HashMap<u64, Cells>,
    slot_count: u64,
    swap_ins: u64,
    swap_outs: u64,
    frames_touched: u64,
    faults: Vec<String>,
}

/// Checks `planned` against the `program` it was made from; the faults, none if it is right.
///
/// # Errors
/// If either file cannot be read.
pub fn check<R: Read + Seek, S: Read + Seek>(
    program: &mut ProgramReader<R>,
    planned: &mut ProgramReader<S>,
) -> Result<Vec<String>, Error> {
    let Some(plan) = planned.description().plan.clone() else {
        return Ok(vec!["the file is not a planned program".to_string()]);
    };
    if planned.kind() != FileKind::Planned || program.kind() != FileKind::Program {
        return Ok(vec!["one file must be a program and the other its plan".to_string()]);
    }
    if plan.page_wires == 0 || plan.frame_count > FRAMES_MAX {
        let what = format!("{} frames of {} wires", plan.frame_count, plan.page_wires);
        return Ok(vec![format!("the plan states {what}, which no machine has")]);
    }
    let mut checker = PlanChecker {
        layout: plan.layout,
        page_wires: plan.page_wires,
        frames: vec![(FrameState::Idle, Cells::new()); plan.frame_count as usize],
        slots: HashMap::new(),
        slot_count: plan.spill_slot_count,
        swap_ins: 0,
        swap_outs: 0,
        frames_touched: 0,
        faults: Vec::new(),
    };
    if plan.program_hash != program.hash().to_string() {
        checker.fault(0, "the plan was made from another program".to_string());
    }
    let (own, programs) = (planned.description(), program.description());
    // Of blocks that is looked at once for all of them.
    let are_blocks = own.is_block && programs.is_block;
    if !are_blocks && described_by(own) != described_by(programs) {
        let what = "the plan's parties, tables or receivers are others than the program's";
        checker.fault(0, what.to_string());
    }
    let mut source = ExpectedOrder::new(program, plan.port_order)?;
    let mut position = 0u64;
    let mut instruction_count = 0u64;
    planned.for_each::<Error>(|instruction| {
        position += 1;
        if checker.faults.len() >= FAULTS_MAX {
            return Ok(());
        }
        if instruction.op.is_directive() {
            checker.directive(position - 1, instruction);
            return Ok(());
        }
        instruction_count += 1;
        match source.next()? {
            Some(original) => checker.run(position - 1, &original, instruction),
            None => checker.fault(position - 1, "the program has ended before".to_string()),
        }
        Ok(())
    })?;
    if checker.faults.len() < FAULTS_MAX && source.next()?.is_some() {
        checker.fault(position, "the program goes on".to_string());
    }
    for frame in 0..checker.frames.len() {
        if checker.frames[frame].0 != FrameState::Idle {
            checker.fault(position, format!("the transfer of frame {frame} is not finished"));
        }
    }
    for (what, stated, actual) in [
        ("swap-ins", plan.swap_in_count, checker.swap_ins),
        ("swap-outs", plan.swap_out_count, checker.swap_outs),
        ("instructions", plan.instruction_count, instruction_count),
        ("frames", plan.frame_count, checker.frames_touched),
    ] {
        if stated != actual {
            checker.fault(position, format!("the plan states {stated} {what} and has {actual}"));
        }
    }
    Ok(checker.faults)
}

/// Parts of a description that a plan takes from its program: everything except the plan and the
/// sharing of carried values, which planning chooses.
fn described_by(description: &Description) -> Description {
    Description { plan: None, slots: Default::default(), ..description.clone() }
}

impl PlanChecker {
    fn fault(&mut self, position: u64, what: String) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(format!("instruction {position}: {what}"));
        }
    }

    /// The frame and offset of a cell of `wires` wires at `place`, if a cell may be there now.
    fn locate(&mut self, position: u64, place: u64, wires: u64) -> Option<(usize, u64)> {
        let (frame, offset) = (place / self.page_wires, place % self.page_wires);
        if offset + wires > self.page_wires {
            self.fault(position, format!("the cell at {place} straddles a page"));
            return None;
        }
        self.idle(position, frame).map(|frame| (frame, offset))
    }

    fn idle(&mut self, position: u64, frame: u64) -> Option<usize> {
        if frame >= self.frames.len() as u64 {
            self.fault(position, format!("there is no frame {frame}"));
            return None;
        }
        self.frames_touched = self.frames_touched.max(frame + 1);
        let state = self.frames[frame as usize].0;
        if state != FrameState::Idle {
            self.fault(position, format!("frame {frame} is in flight: {state:?}"));
            return None;
        }
        Some(frame as usize)
    }

    fn run(&mut self, position: u64, original: &Instruction, planned: &Instruction) {
        let mut same = *planned;
        same.operands = original.operands;
        same.results = original.results;
        if same != *original {
            self.fault(position, format!("is {planned:?}, the program has {original:?}"));
            return;
        }
        let mut taken: Vec<(u64, u64)> = Vec::new();
        for (k, (&place, &value)) in planned.operands().iter().zip(original.operands()).enumerate()
        {
            let wires = u64::from(self.layout.units(original.operand_shape(k)));
            let Some((frame, offset)) = self.locate(position, place, wires) else {
                continue;
            };
            taken.push((place, wires));
            let found = self.frames[frame].1.get(&offset).copied();
            if found != Some((wires, value)) {
                let what =
                    format!("operand {k} should be value {value} of {wires} wires at {place}");
                let found = found.map_or_else(
                    || "nothing is there".to_owned(),
                    |(wires, value)| format!("there is value {value} of {wires} wires"),
                );
                self.fault(position, format!("{what}, and {found}"));
            }
        }
        for (k, (&place, &value)) in planned.results().iter().zip(original.results()).enumerate() {
            let wires = u64::from(self.layout.units(original.result_shape(k)));
            let Some((frame, offset)) = self.locate(position, place, wires) else {
                continue;
            };
            if taken.iter().any(|&(start, len)| place < start + len && start < place + wires) {
                self.fault(position, format!("result {k} at {place} overlaps another place"));
            }
            taken.push((place, wires));
            let cells = &mut self.frames[frame].1;
            let overwritten =
                |(&start, &(len, _)): (&u64, &(u64, u64))| (start + len > offset).then_some(start);
            let gone: Vec<u64> =
                cells.range(..offset + wires).rev().map_while(overwritten).collect();
            for start in gone {
                cells.remove(&start);
            }
            cells.insert(offset, (wires, value));
        }
    }

    fn directive(&mut self, position: u64, directive: &Instruction) {
        let (frame, slot) = (directive.immediates[0], directive.immediates[1]);
        if slot >= self.slot_count {
            return self.fault(position, format!("there is no slot {slot}"));
        }
        match directive.op {
            Op::IssueSwapIn => {
                let Some(index) = self.idle(position, frame) else {
                    return;
                };
                self.swap_ins += 1;
                if self.is_in_flight(slot) {
                    self.fault(position, format!("slot {slot} is in flight already"));
                }
                let Some(cells) = self.slots.get(&slot).cloned() else {
                    return self.fault(position, format!("slot {slot} was never written"));
                };
                self.frames[index] = (FrameState::Arriving(slot), cells);
            }
            Op::IssueSwapOut => {
                let Some(index) = self.idle(position, frame) else {
                    return;
                };
                self.swap_outs += 1;
                if self.is_in_flight(slot) {
                    self.fault(position, format!("slot {slot} is in flight already"));
                }
                let cells = std::mem::take(&mut self.frames[index].1);
                self.frames[index].0 = FrameState::Leaving(slot);
                self.slots.insert(slot, cells);
            }
            Op::FinishSwapIn => self.finish(position, frame, FrameState::Arriving(slot)),
            Op::FinishSwapOut => self.finish(position, frame, FrameState::Leaving(slot)),
            op => self.fault(position, format!("{op:?} is no directive of a swap")),
        }
    }

    fn is_in_flight(&self, slot: u64) -> bool {
        self.frames.iter().any(|(state, _)| {
            matches!(*state, FrameState::Arriving(other) | FrameState::Leaving(other) if other == slot)
        })
    }

    fn finish(&mut self, position: u64, frame: u64, expected: FrameState) {
        let state = self.frames.get(frame as usize).map(|(state, _)| *state);
        if state != Some(expected) {
            let what = format!("frame {frame} should be {expected:?}, it is {state:?}");
            return self.fault(position, what);
        }
        self.frames[frame as usize].0 = FrameState::Idle;
    }
}
