//! Ordering: decides which instructions share a round.
//!
//! List scheduling inside a window (Graham, "Bounds for certain multiprocessing anomalies", 1966):
//! in each round, everything that has its operands is done or issued, in program order; then the
//! round ends, and what has had its rounds finishes. Independent interactive instructions share
//! rounds, and a deep and a wide part of a program side by side take the rounds of the deeper one.
//!
//! Up to the end of the program, where all of it fits in flight, what has time is spread over the
//! rounds of what has none ([`issue_schedule`]), so that the wide part fills the waiting of the deep one.
//!
//! Invariants of an ordered program, which [`check_order`](crate::check_order) proves:
//! an instruction of `r > 0` rounds is issued once and finishes right behind the `r`-th round after
//! that, in the order of issues; each operand is defined before; a round follows the last output. An
//! output stands behind the ends of all `require_zero` before it in the program, which nobody else waits for.
//! Stateful instructions stay in order where they are about the same register, region or permutation
//! ([`StateQueues`]). What they open is exchanged when they are reached, outside of these rounds, or, as the protocol
//! has it, in a round like all else: a register has its value when that ends, and switches of one permutation may share
//! a round.
//!
//! Memory: [`WINDOW_ENTRY_BYTES`] for each instruction that the window may have, an entry for each
//! value that is alive, and 16 bytes for 4096 instructions. All parties must find the same order, so
//! the window follows a limit that they agree on, and what does not fit is refused.
//! Results of instructions that are moved forward are alive for longer. The units that they take bound the
//! window as well, so an ordered program needs at most that many units more than the program.

mod issue_schedule;
mod state;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::io::{Read, Seek, Write};

use phineus_bytecode::limits::OPERANDS_MAX;
use phineus_bytecode::{
    FileKind, FileSummary, Instruction, Interaction, Layout, Op, Phase, PortOrder, ProgramReader,
    ProgramWriter, RoundModel,
};

use crate::annotate::{NextUses, annotate, for_each_frame};
use crate::error::Error;
use crate::name_table::NameTable;
use crate::scratch::{Position, ScratchFile};

use issue_schedule::IssueSchedule;
use state::{StateHeights, StateQueues, is_awaited};

/// How far ordering looks ahead.
#[derive(Clone, Copy, Debug)]
pub struct OrderOptions {
    /// How values lie in memory.
    pub layout: Layout,
    /// Units that the results of the instructions in the window take at most.
    pub window_units: u64,
    /// Instructions in the window at most, and as many in flight. All parties must state the same.
    pub window_instructions: u64,
    /// Bytes that all instructions in flight hold together at most, unless one alone holds more; and
    /// as much again the outputs of a round.
    pub held_bytes: u64,
    /// The most memory that ordering itself may take.
    pub planner_memory_bytes: u64,
}

/// The most instructions in the window: those that are of any use where rounds wait shortly, and those for which the
/// planner has memory where they wait long. And the fewest.
const WINDOW_INSTRUCTIONS_MAX: u64 = 1 << 17;
const FAR_WINDOW_INSTRUCTIONS_MAX: u64 = 1 << 18;
const WINDOW_INSTRUCTIONS_MIN: u64 = 1 << 12;

/// Bytes of the limit for each instruction of the window, and for each in flight.
const LIMIT_BYTES_PER_INSTRUCTION: u64 = 2048;

/// Bytes for an instruction of the window: its entry, itself in flight, its places in the lists of
/// what is ready or waits for room, and when it is issued at the end.
const WINDOW_ENTRY_BYTES: u64 = (size_of::<WindowEntry>()
    + size_of::<IssuedInstruction>()
    + 2 * size_of::<u64>()
    + issue_schedule::ENTRY_BYTES) as u64;

/// Number of instructions in the window under a memory limit that all parties have agreed on: all
/// that are of use from 256 MiB on, or from 512 MiB between parties that are far from each other.
pub fn window_instructions(limit_bytes: u64, is_far: bool) -> u64 {
    let most = if is_far { FAR_WINDOW_INSTRUCTIONS_MAX } else { WINDOW_INSTRUCTIONS_MAX };
    (limit_bytes / LIMIT_BYTES_PER_INSTRUCTION).clamp(WINDOW_INSTRUCTIONS_MIN, most)
}

/// Orders `program` into `output`; `scratch` is an empty file.
///
/// # Errors
/// [`Error::Invalid`] if the program is not one that the verifier accepts, or is ordered already.
pub fn order<R: Read + Seek + Send, W: Write>(
    program: &mut ProgramReader<R>,
    output: W,
    scratch: impl Into<ScratchFile>,
    options: &OrderOptions,
    model: &mut (impl RoundModel + Send),
) -> Result<(W, FileSummary), Error> {
    let scratch: ScratchFile = scratch.into();
    let mut tables = scratch.tables(options.planner_memory_bytes);
    let mut notes = annotate(program, scratch, options.planner_memory_bytes, PortOrder::Given)?;
    let description = program.description().clone();
    let mut writer = ProgramWriter::new(output, FileKind::Program)?;
    let emit = |instruction: &Instruction| Ok(writer.push(instruction)?);
    let instruction_count = program.instruction_count();
    let mut orderer = Orderer::new(*options, instruction_count, model, emit);
    let window_bytes = orderer.window_max as u64 * WINDOW_ENTRY_BYTES;
    let mut read = 0;
    for_each_frame(program, &mut notes, |instructions, uses| {
        instructions.iter().zip(uses).try_for_each(|(instruction, uses)| {
            orderer.push(instruction, uses)?;
            read += 1;
            orderer.values.count(
                &mut tables,
                window_bytes + orderer.states.memory_bytes(),
                Position { read, all: instruction_count },
            )
        })
    })?;
    orderer.finish()?;
    Ok(writer.finish(&description)?)
}

/// Names nothing, and no instruction.
const NONE: u64 = u64::MAX;

/// An instruction of the window that waits for a value, as its `k`-th operand: `3 number + k`.
type Waiter = u64;

/// State of a value of the program.
struct OrderedValue {
    /// Its name in the ordered program, or [`NONE`] until it is defined there.
    name: u64,
    /// The first of those that wait for it; [`WindowEntry::next`] has the others.
    waiter: Waiter,
    /// Uses in the window that are not issued yet.
    uses: u32,
    /// Whether no instruction behind the window uses it.
    is_last: bool,
    /// Rounds from its use to the end, while the schedule of the last window is made.
    height: u32,
}

/// An instruction of the window.
struct WindowEntry {
    instruction: Instruction,
    /// Who waits for the same operand next.
    next: [Waiter; OPERANDS_MAX],
    units: u32,
    missing: u8,
    is_gone: bool,
    /// Which results are used at all.
    is_used: [bool; 2],
}

struct IssuedInstruction {
    instruction: Instruction,
    /// Its number in the program, if other instructions on the same state wait for its end.
    awaited: Option<u64>,
    held_bytes: u64,
    is_used: [bool; 2],
}

impl IssuedInstruction {
    /// The values of the program that it defines and something uses.
    fn results(&self) -> impl Iterator<Item = u64> {
        let results = self.instruction.results().iter().zip(self.is_used);
        results.filter(|(_, is_used)| *is_used).map(|(&result, _)| result)
    }
}

/// What an instruction exchanges in rounds: nothing if no protocol takes part in it, or at once.
fn interaction(model: &mut impl RoundModel, instruction: &Instruction) -> Interaction {
    let op = instruction.op;
    match op.is_carrying() || op.is_stateful() && !op.may_take_rounds() {
        true => Interaction::default(),
        false => model.interaction(instruction),
    }
}

/// Returns whether an instruction changes state when it is issued, so that the next one on it need not wait for its end:
/// what a party brings of its permutation is fixed then.
fn changes_state_at_once(instruction: &Instruction) -> bool {
    instruction.op == Op::Switches
}

struct Orderer<'a, M, E> {
    options: OrderOptions,
    model: &'a mut M,
    emit: E,
    window: VecDeque<WindowEntry>,
    /// The most instructions in it.
    window_max: usize,
    /// Number of the window's first instruction.
    first: u64,
    units: u64,
    values: NameTable<OrderedValue>,
    /// Instructions that have their operands, first in program order on top.
    ready: BinaryHeap<Reverse<u64>>,
    /// Ready ones that found no space in flight.
    stalled: Vec<u64>,
    /// When what is left is issued, once all of it is in the window and fits in flight.
    schedule: Option<IssueSchedule>,
    in_flight: BTreeMap<u64, Vec<IssuedInstruction>>,
    in_flight_count: usize,
    held_bytes: u64,
    round: u64,
    /// Instructions that must have finished before outputs behind them, by number, and when those in flight
    /// will have.
    required: BTreeSet<u64>,
    required_due: Vec<(u64, u64)>,
    states: StateQueues,
    /// Instructions in flight that set rows of tables, by number, and when they finish.
    filling_due: Vec<(u64, u64, Instruction)>,
    /// Bytes of the outputs that wait for the end of the round, if any do.
    outputs_wait: Option<u64>,
    next_name: u64,
}

impl<'a, M: RoundModel, E: FnMut(&Instruction) -> Result<(), Error>> Orderer<'a, M, E> {
    fn new(options: OrderOptions, instruction_count: u64, model: &'a mut M, emit: E) -> Self {
        // A window that holds all of a program is never full: what is left at the end has a schedule.
        let window_max = options.window_instructions.clamp(1, instruction_count + 1) as usize;
        Orderer {
            options,
            model,
            emit,
            window: VecDeque::new(),
            window_max,
            first: 0,
            units: 0,
            values: NameTable::new(),
            ready: BinaryHeap::new(),
            stalled: Vec::new(),
            schedule: None,
            in_flight: BTreeMap::new(),
            in_flight_count: 0,
            held_bytes: 0,
            round: 0,
            required: BTreeSet::new(),
            required_due: Vec::new(),
            states: StateQueues::default(),
            filling_due: Vec::new(),
            outputs_wait: None,
            next_name: 0,
        }
    }

    /// Takes the next instruction of the program.
    fn push(&mut self, instruction: &Instruction, uses: &NextUses) -> Result<(), Error> {
        let index = self.first + self.window.len() as u64;
        let invalid = |what| Error::Invalid { instruction: index, what };
        if instruction.phase != Phase::Whole || instruction.op == Op::Round {
            return Err(invalid("it is ordered already"));
        }
        if instruction.op.is_of_memory() {
            return Err(invalid("it is to be replaced before"));
        }
        let (mut missing, mut next) = (0, [NONE; OPERANDS_MAX]);
        let operands = instruction.operands();
        for (k, operand) in operands.iter().enumerate() {
            if operands[..k].contains(operand) {
                continue;
            }
            let value = self.values.get_mut(*operand);
            let value = value.ok_or(invalid("an operand is not defined"))?;
            value.uses += 1;
            value.is_last = uses.operands[k] == 0;
            if value.name == NONE {
                let waiter = index * OPERANDS_MAX as u64 + k as u64;
                next[k] = std::mem::replace(&mut value.waiter, waiter);
                missing += 1;
            }
        }
        let (mut units, mut is_used) = (0, [false; 2]);
        for (k, &result) in instruction.results().iter().enumerate() {
            units += self.options.layout.units(instruction.result_shape(k));
            is_used[k] = uses.results[k] != 0;
            if is_used[k] {
                let value =
                    OrderedValue { name: NONE, waiter: NONE, uses: 0, is_last: false, height: 0 };
                self.values.insert(result, value);
            }
        }
        let instruction = *instruction;
        let entry = WindowEntry { instruction, next, units, missing, is_gone: false, is_used };
        if self.window.len() == self.window.capacity() {
            // Doubled, but never to more than there is room for.
            let most = (self.window_max - self.window.len()).max(1);
            self.window.reserve_exact(self.window.len().max(64).min(most));
        }
        self.window.push_back(entry);
        self.units += u64::from(units);
        if instruction.op == Op::RequireZero {
            self.required.insert(index);
        }
        self.states.push(&instruction, index);
        if missing == 0 {
            self.ready.push(Reverse(index));
        }
        let is_full = |order: &Self| {
            order.units > order.options.window_units || order.window.len() >= order.window_max
        };
        while is_full(self) {
            self.run()?;
            if is_full(self) {
                self.end_round()?;
            }
        }
        Ok(())
    }

    /// Does all that is left.
    fn finish(&mut self) -> Result<(), Error> {
        self.schedule = self.schedule_of_the_rest();
        loop {
            self.run()?;
            if self.in_flight.is_empty() && self.outputs_wait.is_none() {
                assert!(self.window.is_empty(), "whatever waits, waits for something in flight");
                assert!(self.schedule.as_ref().is_none_or(IssueSchedule::is_empty), "likewise");
                return Ok(());
            }
            self.end_round()?;
        }
    }

    /// When to issue the instructions of the window, if all of them fit in flight.
    fn schedule_of_the_rest(&mut self) -> Option<IssueSchedule> {
        let mut latest = vec![0u32; self.window.len()];
        let (mut left, mut bytes, mut count) = (0, 0, 0);
        let mut states = StateHeights::default();
        for (entry, latest) in self.window.iter().zip(&mut latest).rev() {
            if entry.is_gone {
                continue;
            }
            let instruction = &entry.instruction;
            let interaction = interaction(self.model, instruction);
            if instruction.op != Op::Output {
                bytes += interaction.held_bytes;
                count += usize::from(interaction.rounds > 0);
            }
            let results = instruction.results().iter().zip(entry.is_used);
            let used = results.filter(|(_, is_used)| *is_used);
            let behind = used.map(|(&result, _)| self.values[result].height).max();
            // Outputs, of one round, wait for what is required.
            let least = u32::from(instruction.op == Op::RequireZero);
            let state_behind = states.behind(instruction);
            let height = match changes_state_at_once(instruction) {
                true => {
                    (interaction.rounds + behind.unwrap_or(least)).max(state_behind.unwrap_or(0))
                }
                false => interaction.rounds + behind.max(state_behind).unwrap_or(least),
            };
            states.set(instruction, height);
            for &operand in instruction.operands() {
                let value = self.values.get_mut(operand).expect("it is still to be used");
                value.height = value.height.max(height);
            }
            if entry.missing == 0 {
                left = left.max(height);
            }
            *latest = height;
        }
        for (due, flights) in &self.in_flight {
            let results = flights.iter().flat_map(IssuedInstruction::results);
            let behind = results.map(|name| self.values[name].height).max().unwrap_or(0);
            left = left.max((due - self.round) as u32 + behind);
        }
        latest.iter_mut().for_each(|height| *height = left - *height);
        let fits = self.held_bytes + bytes <= self.options.held_bytes
            && self.in_flight_count + count <= self.options.window_instructions as usize;
        fits.then(|| IssueSchedule::new(self.first, latest, self.round, bytes))
    }

    /// Does or issues everything that has its operands, unless outputs fill the round before.
    fn run(&mut self) -> Result<(), Error> {
        while let Some(Reverse(index)) = self.ready.pop() {
            let entry = &self.window[(index - self.first) as usize];
            let instruction = entry.instruction;
            let is_early = self.required.first().is_some_and(|&required| required < index);
            if instruction.op == Op::Output && is_early {
                self.stalled.push(index);
                continue;
            }
            if !self.states.is_next(&instruction, index) {
                continue;
            }
            let interaction = interaction(self.model, &instruction);
            let is_interactive = interaction.rounds > 0 && instruction.op != Op::Output;
            let held_bytes = self.held_bytes + interaction.held_bytes;
            let is_too_much = held_bytes > self.options.held_bytes && self.held_bytes > 0;
            let are_too_many = self.in_flight_count >= self.options.window_instructions as usize;
            if is_interactive && (is_too_much || are_too_many) {
                self.stalled.push(index);
                continue;
            }
            if is_interactive
                && let Some(schedule) = &mut self.schedule
                && !schedule.issues(index, interaction.held_bytes, self.round)
            {
                continue;
            }
            if instruction.op == Op::Output && interaction.rounds > 0 {
                let waiting = self.outputs_wait.unwrap_or(0) + interaction.held_bytes;
                if self.outputs_wait.is_some() && waiting > self.options.held_bytes {
                    self.stalled.push(index);
                    return Ok(());
                }
                self.outputs_wait = Some(waiting);
            }
            let is_used = entry.is_used;
            let renamed = self.take_operands(&instruction);
            if is_interactive {
                (self.emit)(&renamed.part(Phase::Issue))?;
                self.held_bytes = held_bytes;
                let due = self.round + u64::from(interaction.rounds);
                let held_bytes = interaction.held_bytes;
                let is_done = changes_state_at_once(&instruction);
                if is_done {
                    self.ready.extend(self.states.done(&instruction, index).map(Reverse));
                }
                let awaited = (!is_done && is_awaited(&instruction)).then_some(index);
                let entry =
                    IssuedInstruction { instruction: renamed, awaited, held_bytes, is_used };
                self.in_flight.entry(due).or_default().push(entry);
                self.in_flight_count += 1;
                if instruction.op == Op::RequireZero {
                    self.required_due.push((due, index));
                }
                if instruction.op.fills_table() {
                    self.filling_due.push((due, index, instruction));
                }
            } else {
                self.define(renamed, is_used)?;
                self.required.remove(&index);
                self.ready.extend(self.states.done(&instruction, index).map(Reverse));
            }
            self.retire(index);
        }
        Ok(())
    }

    /// `instruction` with the new names of its operands, which it needs no longer.
    fn take_operands(&mut self, instruction: &Instruction) -> Instruction {
        let mut renamed = *instruction;
        let operands = instruction.operands();
        for (k, operand) in operands.iter().enumerate() {
            if let Some(equal) = operands[..k].iter().position(|before| before == operand) {
                renamed.operands[k] = renamed.operands[equal];
                continue;
            }
            let value = self.values.get_mut(*operand).expect("an operand lives until its last use");
            assert!(value.name != NONE, "what is ready has its operands");
            renamed.operands[k] = value.name;
            value.uses -= 1;
            if value.uses == 0 && value.is_last {
                self.values.remove(*operand);
            }
        }
        renamed
    }

    /// Emits what defines the results of `instruction`, and wakes who waits for them.
    fn define(&mut self, mut instruction: Instruction, is_used: [bool; 2]) -> Result<(), Error> {
        let count = instruction.results().len();
        for (result, is_used) in instruction.results[..count].iter_mut().zip(is_used) {
            let name = self.next_name;
            self.next_name += 1;
            let old = std::mem::replace(result, name);
            if !is_used {
                continue;
            }
            let value = self.values.get_mut(old).expect("a value that is used is known");
            value.name = name;
            let mut waiter = std::mem::replace(&mut value.waiter, NONE);
            while waiter != NONE {
                let (number, k) = (waiter / OPERANDS_MAX as u64, waiter % OPERANDS_MAX as u64);
                let entry = &mut self.window[(number - self.first) as usize];
                waiter = entry.next[k as usize];
                entry.missing -= 1;
                if entry.missing == 0 {
                    self.ready.push(Reverse(number));
                }
            }
        }
        (self.emit)(&instruction)
    }

    /// Takes instructions that are gone off the front of the window.
    fn retire(&mut self, index: u64) {
        self.window[(index - self.first) as usize].is_gone = true;
        while self.window.front().is_some_and(|entry| entry.is_gone) {
            let entry = self.window.pop_front().expect("just seen");
            self.units -= u64::from(entry.units);
            self.first += 1;
        }
    }

    fn end_round(&mut self) -> Result<(), Error> {
        (self.emit)(&Instruction::new(Op::Round, phineus_bytecode::ElementType::BIT, 1))?;
        self.round += 1;
        self.outputs_wait = None;
        for done in self.in_flight.remove(&self.round).unwrap_or_default() {
            self.in_flight_count -= 1;
            self.held_bytes -= done.held_bytes;
            self.define(done.instruction.part(Phase::Finish), done.is_used)?;
            if let Some(number) = done.awaited {
                let next = self.states.done(&done.instruction, number);
                self.ready.extend(next.map(Reverse));
            }
        }
        let (required, round) = (&mut self.required, self.round);
        self.required_due.retain(|&(due, index)| due > round || !required.remove(&index));
        let states = &mut self.states;
        for (_, index, filling) in self.filling_due.extract_if(.., |(due, ..)| *due <= round) {
            self.ready.extend(states.done(&filling, index).map(Reverse));
        }
        self.ready.extend(self.stalled.drain(..).map(Reverse));
        let (schedule, round) = (&mut self.schedule, self.round);
        let due = std::iter::from_fn(|| schedule.as_mut()?.next_due(round));
        self.ready.extend(due.map(Reverse));
        Ok(())
    }
}
