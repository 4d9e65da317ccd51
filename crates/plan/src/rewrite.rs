//! Rewriting: programs that compute the same with fewer ANDs, whatever their widths.
//!
//! Two rules, over windows of instructions, before a program is narrowed:
//! * Bitwise functions of up to three values that have a product of two bits at most take one AND a bit,
//!   however they are written: majority, choice, masks ([`bitwise`]).
//! * A quotient and a remainder of the same operands are one division.
//!
//! What is left over is not taken out here: narrowing leaves out what nobody needs.
//!
//! Memory: what is known of the values of two frames, and a name for each value alive.

mod bitwise;

use std::collections::HashMap;
use std::io::{Read, Seek, Write};

use phineus_bytecode::{
    ElementType, FileKind, FileSummary, Instruction, Op, PortOrder, ProgramReader, ProgramWriter,
    Sharing,
};

use crate::annotate::{annotate, for_each_frame};
use crate::error::Error;
use crate::name_table::NameTable;
use crate::scratch::{Position, Scratch};

use bitwise::{BitFunction, OneProduct};

/// A rewritten program.
pub struct Rewritten<W> {
    /// The output that it was written to.
    pub output: W,
    /// Its hash, number of instructions and bytes.
    pub written: FileSummary,
}

/// Rewrites `program`, into what `output` returns; nothing if no rule applies. `written_after_each` hears after each
/// instruction of the program how many were written so far.
///
/// # Errors
/// If reading or writing fails, or if `memory_bytes` do not hold a name for each value alive.
pub fn rewrite<R: Read + Seek + Send, W: Write>(
    program: &mut ProgramReader<R>,
    output: impl FnOnce() -> W,
    scratch: &Scratch,
    memory_bytes: u64,
    written_after_each: impl FnMut(u64),
) -> Result<Option<Rewritten<W>>, Error> {
    let (mut window, mut instructions, mut made) = (Window::default(), Vec::new(), Vec::new());
    for frame in 0..program.frame_count() {
        program.read_frame(frame, &mut instructions)?;
        window.rewrite(&instructions, &mut made);
        if window.applied {
            return write(program, output(), scratch, memory_bytes, written_after_each).map(Some);
        }
    }
    Ok(None)
}

fn write<R: Read + Seek + Send, W: Write>(
    program: &mut ProgramReader<R>,
    output: W,
    scratch: &Scratch,
    memory_bytes: u64,
    mut written_after_each: impl FnMut(u64),
) -> Result<Rewritten<W>, Error> {
    let description = program.description().clone();
    let count = program.instruction_count();
    let mut writer = ProgramWriter::new(output, FileKind::Program)?;
    let mut tables = scratch.file().tables(memory_bytes);
    let mut next_uses = annotate(program, scratch.file(), memory_bytes, PortOrder::Given)?;
    let (mut window, mut made) = (Window::default(), Vec::new());
    let (mut names, mut next_name): (NameTable<u64>, u64) = (NameTable::new(), 0);
    let (mut index, mut written_count) = (0, 0);
    for_each_frame(program, &mut next_uses, |instructions, uses| {
        window.rewrite(instructions, &mut made);
        for i in &mut made {
            for k in 0..i.operands().len() {
                if !names.contains(i.operands[k]) {
                    let what = "an operand is not defined";
                    return Err(Error::Invalid { instruction: index, what });
                }
                i.operands[k] = names[i.operands[k]];
            }
            for k in 0..i.result_count() {
                names.insert(i.results[k], next_name);
                i.results[k] = next_name;
                next_name += 1;
            }
            writer.push(i)?;
            names.count(&mut tables, 0, Position { read: index, all: count })?;
        }
        window.ends.iter().for_each(|end| written_after_each(written_count + *end as u64));
        written_count += made.len() as u64;
        // Values may be used in the frame once more than the program says, and then no more.
        (FIRST_NEW_NAME..window.next_name).for_each(|name| names.remove(name));
        for (i, uses) in instructions.iter().zip(uses) {
            let operands = i.operands().iter().zip(uses.operands);
            let results = i.results().iter().zip(uses.results);
            let dead = operands.chain(results).filter(|(_, next)| *next == 0);
            dead.for_each(|(&name, _)| names.remove(name));
        }
        index += instructions.len() as u64;
        Ok(())
    })?;
    let (output, written) = writer.finish(&description)?;
    Ok(Rewritten { output, written })
}

/// Names from here on are of values that a rule adds.
const FIRST_NEW_NAME: u64 = 1 << 62;

/// What is known of a value that was defined in the window.
#[derive(Clone, Copy)]
enum Definition {
    /// Anything.
    Value,
    /// A constant: what is computed with it may take no AND as it is.
    Constant,
    /// A bitwise function of values of this type and number of lanes.
    Bitwise(BitFunction, (ElementType, u32)),
}

/// The last frame and the one before it.
struct Window {
    before: HashMap<u64, Definition>,
    now: HashMap<u64, Definition>,
    /// How often a value is used in the frame.
    uses: HashMap<u64, u32>,
    /// How many instructions of the frame are written after each of its instructions.
    ends: Vec<usize>,
    /// Whether anything was rewritten.
    applied: bool,
    /// The next name of a value that is not in the program; they begin anew with each frame.
    next_name: u64,
}

impl Default for Window {
    fn default() -> Window {
        let (before, now, uses) = (HashMap::new(), HashMap::new(), HashMap::new());
        let (ends, applied, next_name) = (Vec::new(), false, FIRST_NEW_NAME);
        Window { before, now, uses, ends, applied, next_name }
    }
}

impl Window {
    /// What the instructions of the next frame become.
    fn rewrite(&mut self, instructions: &[Instruction], made: &mut Vec<Instruction>) {
        made.clear();
        self.next_name = FIRST_NEW_NAME;
        self.before = std::mem::take(&mut self.now);
        self.uses.clear();
        self.ends.clear();
        let may_apply = |i: &Instruction| matches!(i.op, Op::And | Op::Or | Op::Div | Op::Rem);
        if !instructions.iter().any(may_apply) {
            self.ends.extend(1..=instructions.len());
            return made.extend_from_slice(instructions);
        }
        let operands = instructions.iter().flat_map(|i| i.operands());
        operands.for_each(|&operand| *self.uses.entry(operand).or_default() += 1);
        let pairs = paired_divisions(instructions);
        for i in instructions {
            let pair = Division::of(i).and_then(|key| pairs.get(&key));
            match pair.filter(|results| results.contains(&i.results[0])) {
                // The first of the two computes both.
                Some(_) if self.now.contains_key(&i.results[0]) => {}
                Some(&results) => {
                    self.applied = true;
                    made.push(Instruction { op: Op::DivRem, results, ..*i });
                    self.now.extend(results.map(|name| (name, Definition::Value)));
                }
                None => self.rewrite_bitwise(i, made),
            }
            self.ends.push(made.len());
        }
    }

    /// Notes what an instruction defines; a bitwise one is written with as few ANDs as it needs.
    fn rewrite_bitwise(&mut self, i: &Instruction, made: &mut Vec<Instruction>) {
        let Some(mut function) = self.function(i) else {
            let is_constant = i.op == Op::Constant;
            let what = if is_constant { Definition::Constant } else { Definition::Value };
            self.now.extend(i.results().iter().map(|&name| (name, what)));
            return made.push(*i);
        };
        let form = OneProduct::of(function.table);
        let takes_and = i.op == Op::And || i.op == Op::Or;
        match form.filter(|form| takes_and && form.products() < function.products) {
            Some(form) => {
                self.applied = true;
                function.products = form.products();
                form.emit(i, &function.leaves, &mut self.next_name, made);
            }
            None => made.push(*i),
        }
        self.now.insert(i.results[0], Definition::Bitwise(function, (i.element, i.lanes)));
    }

    /// The function of a bitwise instruction, of operands that were defined in the window and are no constants.
    fn function(&self, i: &Instruction) -> Option<BitFunction> {
        let is_bitwise = matches!(i.op, Op::And | Op::Or | Op::Xor | Op::Not);
        if !is_bitwise || i.element.sharing() == Sharing::Arithmetic {
            return None;
        }
        let mut operands = [BitFunction::of_value(0); 2];
        let mut definitions = [None; 2];
        for (k, &name) in i.operands().iter().enumerate() {
            operands[k] = BitFunction::of_value(name);
            match self.now.get(&name).or_else(|| self.before.get(&name))? {
                Definition::Constant => return None,
                // Only of this frame: values of a function are then used in the frame.
                Definition::Bitwise(function, shape)
                    if *shape == (i.element, i.lanes) && self.now.contains_key(&name) =>
                {
                    let is_used_again = self.uses[&name] > 1;
                    let products = if is_used_again { 0 } else { function.products };
                    definitions[k] = Some(BitFunction { products, ..*function });
                }
                Definition::Value | Definition::Bitwise(..) => {}
            }
        }
        let [a, b] = [0, 1].map(|k| definitions[k].unwrap_or(operands[k]));
        if i.op == Op::Not {
            return Some(a.complement());
        }
        let forms = [[a, b], [a, operands[1]], [operands[0], b], operands];
        forms.iter().find_map(|[a, b]| BitFunction::joined(i.op, a, b))
    }
}

/// The type, lanes and operands of a division.
#[derive(PartialEq, Eq, Hash)]
struct Division(ElementType, u32, [u64; 2]);

impl Division {
    fn of(i: &Instruction) -> Option<Division> {
        let [a, b, _] = i.operands;
        let divides = i.op == Op::Div || i.op == Op::Rem;
        let is_whole = i.element.sharing() != Sharing::Arithmetic;
        (divides && is_whole).then_some(Division(i.element, i.lanes, [a, b]))
    }
}

/// Quotients and remainders of the same operands: the names of the two results.
fn paired_divisions(instructions: &[Instruction]) -> HashMap<Division, [u64; 2]> {
    let mut found: HashMap<Division, [Option<u64>; 2]> = HashMap::new();
    for i in instructions {
        if let Some(key) = Division::of(i) {
            let results = found.entry(key).or_default();
            results[usize::from(i.op == Op::Rem)].get_or_insert(i.results[0]);
        }
    }
    let pair = |results: [Option<u64>; 2]| Some([results[0]?, results[1]?]);
    found.into_iter().filter_map(|(key, results)| Some((key, pair(results)?))).collect()
}
