//! Where inputs and outputs must stand in a plan whose ports are near: computed anew, by sorting
//! all of them, from what `docs/planning.md` says and not from what planning does.
//!
//! Memory: some 200 bytes for each input and output.

use std::collections::{BTreeSet, HashMap};
use std::io::{Read, Seek};

use phineus_bytecode::{Instruction, Op, PortOrder, ProgramReader};

use crate::error::Error;
use crate::limits::HELD_MAX;

/// A program's instructions, some of them elsewhere than in the program.
pub(super) struct Expected<'a, R> {
    program: &'a mut ProgramReader<R>,
    frame: usize,
    at: usize,
    instructions: Vec<Instruction>,
    /// First outputs are moved, then inputs among what that gives.
    outputs: Moves,
    inputs: Moves,
}

/// Some instructions, each with the number of the instruction that it comes before.
struct Moves {
    moves: fn(Op) -> bool,
    moved: Vec<(u64, Instruction)>,
    given: usize,
    /// How many of the others, and of those that moved away, have passed.
    index: u64,
}

impl Moves {
    fn none() -> Moves {
        Moves { moves: |_| false, moved: Vec::new(), given: 0, index: 0 }
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
            if !(self.moves)(instruction.op) {
                return Ok(Some(instruction));
            }
        }
    }
}

impl<'a, R: Read + Seek> Expected<'a, R> {
    pub(super) fn new(
        program: &'a mut ProgramReader<R>,
        ports: PortOrder,
    ) -> Result<Expected<'a, R>, Error> {
        let (outputs, inputs) = (Moves::none(), Moves::none());
        let instructions = Vec::new();
        let mut expected = Expected { program, frame: 0, at: 0, instructions, outputs, inputs };
        if ports == PortOrder::Near {
            let moved = outputs_moved(expected.program)?;
            expected.outputs = Moves { moves: Op::gives_out, moved, given: 0, index: 0 };
            let moved = expected.inputs_moved()?;
            expected.inputs = Moves { moves: Op::brings_in, moved, given: 0, index: 0 };
            (expected.frame, expected.at) = (0, 0);
            expected.instructions.clear();
            (expected.outputs.given, expected.outputs.index) = (0, 0);
        }
        Ok(expected)
    }

    pub(super) fn next(&mut self) -> Result<Option<Instruction>, Error> {
        let Expected { program, frame, at, instructions, outputs, inputs } = self;
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

    /// Inputs in the order in which they come; outputs have moved.
    fn inputs_moved(&mut self) -> Result<Vec<(u64, Instruction)>, Error> {
        let mut inputs: Vec<(u64, Instruction)> = Vec::new();
        let mut first_uses: HashMap<u64, Option<u64>> = HashMap::new();
        let mut index = 0;
        while let Some(instruction) = self.next()? {
            for operand in instruction.operands() {
                if let Some(first) = first_uses.get_mut(operand) {
                    first.get_or_insert(index);
                }
            }
            if instruction.op.brings_in() {
                inputs.push((index, instruction));
                first_uses.insert(instruction.results[0], None);
            }
            index += 1;
        }
        // Before which instruction each comes, its own number, and it.
        let mut places = Vec::new();
        let mut held: BTreeSet<(u64, usize)> = BTreeSet::new();
        for (k, (index, input)) in inputs.iter().enumerate() {
            let Some(first_use) = first_uses[&input.results[0]] else {
                places.push((*index, k));
                continue;
            };
            let waiting = held.split_off(&(*index, 0));
            places.extend(std::mem::replace(&mut held, waiting));
            held.insert((first_use, k));
            if held.len() > HELD_MAX
                && let Some((_, next)) = held.pop_first()
            {
                places.push((*index, next));
            }
        }
        places.extend(held);
        places.sort_unstable();
        Ok(places.into_iter().map(|(before, k)| (before, inputs[k].1)).collect())
    }
}

/// Outputs in the order in which they come.
fn outputs_moved<R: Read + Seek>(
    program: &mut ProgramReader<R>,
) -> Result<Vec<(u64, Instruction)>, Error> {
    let mut outputs: Vec<(u64, Instruction)> = Vec::new();
    let mut index = 0;
    program.for_each::<Error>(|instruction| {
        if instruction.op.gives_out() {
            outputs.push((index, *instruction));
        }
        index += 1;
        Ok(())
    })?;
    let values = outputs.iter().map(|(_, output)| (output.operands[0], 0));
    let mut definitions: HashMap<u64, u64> = values.collect();
    index = 0;
    program.for_each::<Error>(|instruction| {
        for result in instruction.results() {
            definitions.entry(*result).and_modify(|definition| *definition = index);
        }
        index += 1;
        Ok(())
    })?;
    // Before which instruction each comes, and its own number: where several come behind one
    // definition, the order is that of the values, and then the program's.
    let mut places = Vec::new();
    let mut held: BTreeSet<(u64, usize)> = BTreeSet::new();
    for (k, (index, output)) in outputs.iter().enumerate().rev() {
        while let Some(&(value, next)) = held.last()
            && definitions[&value] > *index
        {
            places.push((definitions[&value] + 1, value, next));
            held.pop_last();
        }
        held.insert((output.operands[0], k));
        if held.len() > HELD_MAX
            && let Some((value, next)) = held.pop_last()
        {
            places.push((index + 1, value, next));
        }
    }
    places.extend(held.into_iter().map(|(value, k)| (definitions[&value] + 1, value, k)));
    places.sort_unstable();
    Ok(places.into_iter().map(|(before, _, k)| (before, outputs[k].1)).collect())
}
