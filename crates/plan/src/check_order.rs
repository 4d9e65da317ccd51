//! The checker of ordering: proves that an ordered program computes the same as its program.
//!
//! Independent of the order: every value gets a digest of the operation that defines it and of the
//! digests of its operands, in the program and in the ordered program alike. They mean the same if
//! every output cell has the same digest in both. Beside that it proves the invariants of rounds
//! (see `order.rs`), for the protocol that `model` describes: among them that both require the same to be
//! zero, and that every output waits for all that stands before it in the program.
//!
//! Registers, regions and permutations have a digest of all that was done to them, in order. A stateful instruction
//! depends on the digests of what it works on, and extends them. At the end they must be the same in both. The digest of a
//! table is the sum of what was done to it, in any order, and a lookup depends on it.
//!
//! Memory: 16 bytes per value, 48 per output instruction, 32 for each that requires something, and 32 for each
//! register, region and permutation.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Seek};

use phineus_bytecode::{Instruction, Op, Phase, ProgramReader, RoundModel};

use crate::error::Error;

/// Faults are reported up to this many.
const FAULTS_MAX: usize = 20;

type Digest = u128;

/// Registers, regions, permutations and tables.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum StateKind {
    Register,
    Region,
    Permutation,
    Table,
    SharedRows,
}

/// One of them.
type State = (StateKind, u64);

/// Cells of an input or output: whether it is a carried value; its number, or port, column and row
/// of the first cell; the number of rows.
type Cells = (bool, u64, u64, u64, u32);

#[derive(Default)]
struct Meaning {
    values: Vec<Digest>,
    outputs: HashMap<Cells, Digest>,
    /// Digests of the requirements so far, in order.
    required: Vec<Digest>,
    /// Of the outputs to parties: how much was required before.
    after: HashMap<Cells, usize>,
    /// Of registers, regions and permutations: what was done to them so far.
    states: HashMap<State, Digest>,
}

/// Returns whether it takes a value out of the program, to a party or to another block.
fn leaves(instruction: &Instruction) -> bool {
    matches!(instruction.op, Op::Output | Op::Store)
}

/// The table that an instruction sets rows of.
fn filled(instruction: &Instruction) -> Option<State> {
    let fills = instruction.op.fills_table();
    fills.then(|| (StateKind::Table, instruction.immediates[0]))
}

/// What an instruction reads besides values and does not change.
fn read(instruction: &Instruction) -> Option<State> {
    let is_lookup = instruction.op == Op::TableLookUp;
    is_lookup.then(|| (StateKind::Table, instruction.immediates[0]))
}

/// What an instruction works on besides values, if it stays in order with others on that.
fn states(instruction: &Instruction) -> Vec<State> {
    use StateKind::{Permutation, Region, Register, SharedRows, Table};
    let [first, second, third, _] = instruction.immediates;
    match instruction.op {
        Op::Reveal => vec![(Register, first)],
        Op::Locate => vec![(Register, first), (Permutation, second), (Permutation, third)],
        Op::RegionLoadAt | Op::RegionStoreAt => vec![(Region, first), (Register, second)],
        op if op.is_region() => vec![(Region, first)],
        Op::Switches | Op::Origins | Op::Tell => vec![(Permutation, first)],
        Op::SharedLookUp => vec![(Table, first)],
        Op::SharedSet | Op::SharedAdd => vec![(SharedRows, first)],
        Op::SharedHide => vec![(SharedRows, first), (Table, first)],
        _ => Vec::new(),
    }
}

fn cells(instruction: &Instruction) -> Cells {
    let [port, column, row, _] = instruction.immediates;
    (instruction.op == Op::Store, port, column, row, instruction.lanes)
}

impl Meaning {
    /// Digests of the results of `instruction`, whose operands are known.
    fn results(&self, instruction: &Instruction) -> Result<Vec<Digest>, String> {
        let whole = instruction.part(Phase::Whole);
        let mut operands = Vec::new();
        for operand in whole.operands() {
            let digest = self.values.get(*operand as usize);
            operands.push(*digest.ok_or(format!("%{operand} is not defined"))?);
        }
        let states = states(&whole);
        let depends = states.iter().copied().chain(read(&whole));
        let before: Vec<Digest> = depends.map(|state| self.state(&state)).collect();
        let digest = |result: usize| {
            let half = |seed: u8| {
                let mut hasher = DefaultHasher::new();
                (seed, result, whole.op, whole.element, whole.lanes, whole.immediates)
                    .hash(&mut hasher);
                operands.hash(&mut hasher);
                before.hash(&mut hasher);
                u128::from(hasher.finish())
            };
            half(0) << 64 | half(1)
        };
        let has_digest = leaves(&whole)
            || whole.op == Op::RequireZero
            || filled(&whole).is_some()
            || !states.is_empty();
        let count = whole.results().len().max(usize::from(has_digest));
        Ok((0..count).map(digest).collect())
    }

    /// Digest of what was done to a register, region or permutation.
    fn state(&self, state: &State) -> Digest {
        self.states.get(state).copied().unwrap_or_default()
    }

    fn output(&mut self, instruction: &Instruction, digest: Digest) -> Result<(), String> {
        let cells = cells(instruction);
        if instruction.op == Op::Output {
            self.after.insert(cells, self.required.len());
        }
        match self.outputs.insert(cells, digest) {
            None => Ok(()),
            Some(_) => Err(format!("output {cells:?} is written twice")),
        }
    }

    fn whole(&mut self, instruction: &Instruction) -> Result<(), String> {
        let results = self.results(instruction)?;
        if leaves(instruction) {
            return self.output(instruction, results[0]);
        }
        self.define(instruction, results)
    }

    /// Takes note of what is required, which has no results.
    fn require(&mut self, instruction: &Instruction, results: &[Digest]) {
        if instruction.op == Op::RequireZero {
            self.required.push(results[0]);
        }
    }

    fn define(&mut self, instruction: &Instruction, results: Vec<Digest>) -> Result<(), String> {
        self.require(instruction, &results);
        self.change_states(instruction, &results);
        self.define_values(instruction, results)
    }

    /// Takes note of what is done to registers, regions and permutations.
    fn change_states(&mut self, instruction: &Instruction, results: &[Digest]) {
        for state in states(instruction) {
            self.states.insert(state, results[0]);
        }
        if let Some(table) = filled(instruction) {
            let sum = self.states.entry(table).or_default();
            *sum = sum.wrapping_add(results[0]);
        }
    }

    fn define_values(
        &mut self,
        instruction: &Instruction,
        results: Vec<Digest>,
    ) -> Result<(), String> {
        for (name, digest) in instruction.results().iter().zip(results) {
            if *name != self.values.len() as u64 {
                return Err(format!("%{name} is not the next name"));
            }
            self.values.push(digest);
        }
        Ok(())
    }
}

/// The state of the replay of an ordered program.
struct OrderReplay<'a> {
    /// Of the program that was ordered.
    source: &'a Meaning,
    meaning: Meaning,
    round: u64,
    /// Issued instructions and their results by the round after which they finish.
    in_flight: BTreeMap<u64, VecDeque<(Instruction, Vec<Digest>)>>,
    outputs_wait: bool,
    /// Requirements that have been opened, and the number of opened ones in program order.
    opened: HashSet<Digest>,
    opened_in_order: usize,
}

impl<'a> OrderReplay<'a> {
    fn new(source: &'a Meaning) -> OrderReplay<'a> {
        OrderReplay {
            source,
            meaning: Meaning::default(),
            round: 0,
            in_flight: BTreeMap::new(),
            outputs_wait: false,
            opened: HashSet::new(),
            opened_in_order: 0,
        }
    }

    /// Checks that an output comes after all that is required before it.
    fn waited(&mut self, output: &Instruction) -> Result<(), String> {
        let required = &self.source.required;
        while required.get(self.opened_in_order).is_some_and(|next| self.opened.contains(next)) {
            self.opened_in_order += 1;
        }
        match self.source.after.get(&cells(output)) {
            Some(&before) if before > self.opened_in_order => {
                Err("something that it must wait for is not known to be zero".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn step(&mut self, i: &Instruction, model: &mut impl RoundModel) -> Result<(), String> {
        let rounds = match i.op {
            Op::Round | Op::Load | Op::Store => 0,
            // What these open is exchanged at once.
            op if op.is_stateful() && !op.may_take_rounds() => 0,
            _ => model.interaction(&i.part(Phase::Whole)).rounds,
        };
        let due = self.in_flight.first_key_value().is_some_and(|(&due, _)| due == self.round);
        if due && i.phase != Phase::Finish {
            return Err("something should finish before".to_owned());
        }
        match i.phase {
            Phase::Whole if i.op == Op::Round => {
                self.round += 1;
                self.outputs_wait = false;
                Ok(())
            }
            Phase::Whole if i.op == Op::Output => {
                self.outputs_wait |= rounds > 0;
                self.waited(i)?;
                self.meaning.whole(i)
            }
            Phase::Whole if rounds > 0 => Err(format!("it takes {rounds} rounds and is whole")),
            Phase::Whole => {
                if i.op == Op::RequireZero {
                    self.opened.extend(self.meaning.results(i)?);
                }
                self.meaning.whole(i)
            }
            Phase::Issue if rounds == 0 => Err("it takes no rounds and is issued".to_owned()),
            Phase::Issue => {
                let results = self.meaning.results(i)?;
                if i.op == Op::Switches {
                    // The next ones of the permutation need not wait until these are exchanged.
                    self.meaning.change_states(&i.part(Phase::Whole), &results);
                }
                let due = self.round + u64::from(rounds);
                self.in_flight.entry(due).or_default().push_back((*i, results));
                Ok(())
            }
            Phase::Finish => self.finish(i),
        }
    }

    fn finish(&mut self, i: &Instruction) -> Result<(), String> {
        let Some(due) = self.in_flight.get_mut(&self.round) else {
            return Err("nothing finishes in this round".to_owned());
        };
        let (issued, results) = due.pop_front().expect("an empty queue is removed");
        if due.is_empty() {
            self.in_flight.remove(&self.round);
        }
        let same = Instruction {
            phase: Phase::Finish,
            operands: i.operands,
            results: i.results,
            ..issued
        };
        if same != *i {
            return Err(format!("{issued:?} should finish here"));
        }
        if i.op == Op::RequireZero {
            self.opened.insert(results[0]);
        }
        match i.op {
            Op::Switches => self.meaning.define_values(i, results),
            _ => self.meaning.define(i, results),
        }
    }
}

/// Checks `ordered` against the `program` that it was made from; the faults, none if it is right.
///
/// # Errors
/// If either file cannot be read.
pub fn check_order<R: Read + Seek, S: Read + Seek>(
    program: &mut ProgramReader<R>,
    ordered: &mut ProgramReader<S>,
    model: &mut impl RoundModel,
) -> Result<Vec<String>, Error> {
    let mut faults = Vec::new();
    let mut fault = |position: u64, result: Result<(), String>| {
        if let Err(what) = result
            && faults.len() < FAULTS_MAX
        {
            faults.push(format!("instruction {position}: {what}"));
        }
    };
    let mut source = Meaning::default();
    let mut position = 0;
    program.for_each::<Error>(|instruction| {
        fault(position, source.whole(instruction));
        position += 1;
        Ok(())
    })?;
    let mut replay = OrderReplay::new(&source);
    position = 0;
    ordered.for_each::<Error>(|instruction| {
        fault(position, replay.step(instruction, model));
        position += 1;
        Ok(())
    })?;
    if !replay.in_flight.is_empty() || replay.outputs_wait {
        fault(position, Err("something issued is not finished at the end".to_owned()));
    }
    if replay.meaning.outputs != source.outputs {
        fault(position, Err("the outputs do not mean the same".to_owned()));
    }
    if replay.meaning.states != source.states {
        let what = "registers, regions or permutations are not used in the same order";
        fault(position, Err(what.to_owned()));
    }
    let (mut wanted, mut found) = (source.required.clone(), replay.meaning.required);
    wanted.sort_unstable();
    found.sort_unstable();
    if wanted != found {
        fault(position, Err("not the same is required to be zero".to_owned()));
    }
    Ok(faults)
}
