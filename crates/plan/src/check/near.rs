//! Where inputs, outputs and the movements beside them must stand in a plan whose ports are near:
//! computed anew, with sorted maps of whole bundles and lists of all uses, from what
//! `docs/planning.md` says and not from what planning does.
//!
//! Memory: some 200 bytes for each input, output and movement, 50 for each use of what they give.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{Read, Seek};

use phineus_bytecode::{Instruction, PortOrder, ProgramReader};

use crate::error::Error;
use crate::limits::HELD_MAX;

/// Instructions with their numbers.
type Numbered = Vec<(u64, Instruction)>;

/// A program's instructions, some of them elsewhere than in the program.
pub(super) struct ExpectedOrder<'a, R> {
    program: &'a mut ProgramReader<R>,
    frame: usize,
    at: usize,
    instructions: Vec<Instruction>,
    /// First outputs are moved, then inputs among what that gives.
    outputs: MovedInstructions,
    inputs: MovedInstructions,
}

/// Some instructions, each with the number of the instruction that it comes before.
#[derive(Default)]
struct MovedInstructions {
    moved: Numbered,
    /// The numbers of the instructions that are not where they were.
    gone: HashSet<u64>,
    given: usize,
    /// How many of the others, and of those that moved away, have passed.
    index: u64,
}

/// An instruction that moves.
struct MovedInstruction {
    /// Number of the instruction that it comes before.
    before: u64,
    /// Its own number where it was.
    own: u64,
    moved: Instruction,
}

impl MovedInstructions {
    /// Of instructions that come before others, each with its own number.
    fn new(mut moves: Vec<MovedInstruction>) -> MovedInstructions {
        moves.sort_unstable_by_key(|one| (one.before, one.own));
        let gone = moves.iter().map(|one| one.own).collect();
        let moved = moves.into_iter().map(|one| (one.before, one.moved)).collect();
        MovedInstructions { moved, gone, ..MovedInstructions::default() }
    }

    /// The next instruction, if `source` gives those before any is moved.
    fn next(
        &mut self,
        mut source: impl FnMut() -> Result<Option<Instruction>, Error>,
    ) -> Result<Option<Instruction>, Error> {
        loop {
            if let Some(&(before, instruction)) = self.moved.get(self.given)
                && before <= self.index
            {
                self.given += 1;
                return Ok(Some(instruction));
            }
            let Some(instruction) = source()? else { return Ok(None) };
            self.index += 1;
            if !self.gone.contains(&(self.index - 1)) {
                return Ok(Some(instruction));
            }
        }
    }
}

impl<'a, R: Read + Seek> ExpectedOrder<'a, R> {
    pub(super) fn new(
        program: &'a mut ProgramReader<R>,
        ports: PortOrder,
    ) -> Result<ExpectedOrder<'a, R>, Error> {
        let (outputs, inputs) = (MovedInstructions::default(), MovedInstructions::default());
        let instructions = Vec::new();
        let mut expected =
            ExpectedOrder { program, frame: 0, at: 0, instructions, outputs, inputs };
        if ports == PortOrder::Near {
            expected.outputs = outputs_moved(expected.program)?;
            expected.inputs = expected.inputs_moved()?;
        }
        Ok(expected)
    }

    pub(super) fn next(&mut self) -> Result<Option<Instruction>, Error> {
        let ExpectedOrder { program, frame, at, instructions, outputs, inputs } = self;
        let mut given = || loop {
            if let Some(instruction) = instructions.get(*at) {
                *at += 1;
                return Ok(Some(*instruction));
            }
            if *frame == program.frame_count() {
                return Ok(None);
            }
            program.read_frame(*frame, instructions)?;
            (*frame, *at) = (*frame + 1, 0);
        };
        inputs.next(|| outputs.next(&mut given))
    }

    /// Inputs, and movements behind them, in the order in which they come; outputs have moved.
    fn inputs_moved(&mut self) -> Result<MovedInstructions, Error> {
        // What might move, and for each value it gives who uses it.
        let mut candidates: Numbered = Vec::new();
        let mut users: HashMap<u64, Vec<u64>> = HashMap::new();
        let mut number = 0;
        while let Some(instruction) = self.next()? {
            let mut all_known = true;
            for operand in instruction.operands() {
                match users.get_mut(operand) {
                    Some(of) if of.last() == Some(&number) => {}
                    Some(of) => of.push(number),
                    None => all_known = false,
                }
            }
            let moves = instruction.op.is_movement() && instruction.results().len() == 1;
            if instruction.op.is_input_or_load() || moves && all_known {
                users.insert(instruction.results[0], Vec::new());
                candidates.push((number, instruction));
            }
            number += 1;
        }
        self.frame = 0;
        self.at = 0;
        self.instructions.clear();
        (self.outputs.given, self.outputs.index) = (0, 0);
        Ok(places_of_inputs(&candidates, &users))
    }
}

fn places_of_inputs(candidates: &Numbered, users: &HashMap<u64, Vec<u64>>) -> MovedInstructions {
    let mut places = Vec::new();
    // By first use and last number: the bundles, the instruction that gives the value last.
    let mut held: BTreeMap<(u64, u64), Numbered> = BTreeMap::new();
    let mut held_count = 0;
    for &(number, instruction) in candidates {
        let rest = held.split_off(&(number, 0));
        for ((first_use, _), bundle) in std::mem::replace(&mut held, rest) {
            held_count -= bundle.len();
            places.extend(bundle.into_iter().map(|(own, moved)| MovedInstruction {
                before: first_use,
                own,
                moved,
            }));
        }
        let Some(&first_use) = users[&instruction.results[0]].first() else { continue };
        // What the operands are given by, as long as it is held and for nothing else.
        let operands: HashSet<u64> = instruction.operands().iter().copied().collect();
        let rest = held.split_off(&(number + 1, 0));
        let due = std::mem::replace(&mut held, rest);
        let whole = operands.iter().all(|operand| {
            let is_root = |bundle: &Numbered| {
                bundle.last().is_some_and(|(_, root)| root.results[0] == *operand)
            };
            users[operand] == [number] && due.values().any(is_root)
        });
        if !whole {
            held.extend(due);
            continue;
        }
        let mut bundle: Numbered = due.into_values().flatten().collect();
        bundle.push((number, instruction));
        held_count += 1;
        held.insert((first_use, number), bundle);
        if held_count > HELD_MAX
            && let Some((_, next)) = held.pop_first()
        {
            held_count -= next.len();
            places.extend(next.into_iter().map(|(own, moved)| MovedInstruction {
                before: number,
                own,
                moved,
            }));
        }
    }
    for ((first_use, _), bundle) in held {
        places.extend(bundle.into_iter().map(|(own, moved)| MovedInstruction {
            before: first_use,
            own,
            moved,
        }));
    }
    MovedInstructions::new(places)
}

/// Outputs, and movements before them, in the order in which they come.
fn outputs_moved<R: Read + Seek>(
    program: &mut ProgramReader<R>,
) -> Result<MovedInstructions, Error> {
    let mut found = FromTheEnd::default();
    let mut number = program.instruction_count();
    let mut instructions = Vec::new();
    for frame in (0..program.frame_count()).rev() {
        program.read_frame(frame, &mut instructions)?;
        for instruction in instructions.iter().rev() {
            number -= 1;
            found.visit(number, instruction);
        }
    }
    let FromTheEnd { held, mut places, .. } = found;
    // Nothing defines what these use: they stay, and are found where values are looked up.
    places.extend(held.into_values().flatten().map(|(own, moved)| MovedInstruction {
        before: own,
        own,
        moved,
    }));
    Ok(MovedInstructions::new(places))
}

/// Uses in a program's instructions from some point to the end.
#[derive(Default)]
struct FromTheEnd {
    /// By the last value that is used, and the first number: the bundles.
    held: BTreeMap<(u64, u64), Numbered>,
    held_count: usize,
    /// Values that instructions outside all bundles use.
    used: HashSet<u64>,
    places: Vec<MovedInstruction>,
}

impl FromTheEnd {
    fn visit(&mut self, number: u64, instruction: &Instruction) {
        let results = instruction.results();
        let members: Numbered = match results.first() {
            Some(&first) => self.held.split_off(&(first, 0)).into_values().flatten().collect(),
            None => Vec::new(),
        };
        if !instruction.op.is_output_or_store() && !self.joins(instruction, &members) {
            self.come_before(number + 1, members);
            results.iter().for_each(|result| _ = self.used.remove(result));
            self.used.extend(instruction.operands());
            return;
        }
        let mut bundle = members;
        bundle.push((number, *instruction));
        self.held_count += 1;
        let last = *instruction.operands().iter().max().expect("what is held uses a value");
        self.held.insert((last, number), bundle);
        if self.held_count > HELD_MAX
            && let Some((_, next)) = self.held.pop_last()
        {
            self.come_before(number + 1, next);
        }
    }

    /// Whether `instruction` is a movement for nothing but `members`, and they need nothing else.
    fn joins(&self, instruction: &Instruction, members: &Numbered) -> bool {
        let given = members.iter().flat_map(|(_, member)| member.results());
        let given: HashSet<u64> = given.chain(instruction.results()).copied().collect();
        let mut needed = members.iter().flat_map(|(_, member)| member.operands());
        instruction.op.is_movement()
            && !members.is_empty()
            && needed.all(|value| given.contains(value))
            && !instruction.results().iter().any(|result| self.used.contains(result))
    }

    fn come_before(&mut self, before: u64, members: Numbered) {
        self.held_count -= members.len();
        self.used.extend(members.iter().flat_map(|(_, member)| member.operands()));
        self.places.extend(members.into_iter().map(|(own, moved)| MovedInstruction {
            before,
            own,
            moved,
        }));
    }
}
