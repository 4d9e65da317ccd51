//! Assignment: which sharing each value has.
//!
//! Front ends leave the sharing of most values open. This stage gives every instruction one, and
//! inserts a conversion where a value is used in another sharing than it has; each value is
//! converted at most once to each sharing. Inputs and constants are brought in again instead, in
//! the sharing that is needed. Conversions that the program states become what the assignment
//! makes of them: where everything has one sharing, nothing. Inputs that nothing uses are left out.
//!
//! Invariant: the program computes the same, since in the clear all conversions are the identity.
//!
//! Memory: an entry for each value that is alive, within the planner's limit.

use std::io::{Read, Seek, Write};

use phineus_bytecode::limits::RING_WIDTH_MAX;
use phineus_bytecode::{
    ElementType, Instruction, Kind, Op, PortOrder, ProgramReader, ProgramWriter, Shape, Sharing,
    Written,
};

use crate::annotate::{NextUses, annotate, for_each_frame};
use crate::error::Error;
use crate::name_table::NameTable;
use crate::scratch::{Position, ScratchFile};

/// How values get their sharings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// Everything in one sharing, whatever the program says.
    Uniform(Sharing),
    /// Additive shares for sums, differences and products, XOR shares for all else, whatever the
    /// program says.
    Arithmetic,
    /// As the program says, and where it says nothing, as XOR shares or in the given sharing.
    Stated(Sharing),
}

impl Assignment {
    /// The type in which blocks carry what the program says is of type `element`: the same in all
    /// of them, so it depends on nothing else.
    pub fn carried(self, element: ElementType) -> ElementType {
        element.shared(match (self, element.sharing()) {
            (Assignment::Uniform(sharing), _) => sharing,
            (Assignment::Stated(default), Sharing::Any) => default,
            (Assignment::Stated(_), stated) => stated,
            (Assignment::Arithmetic, Sharing::Arithmetic) => Sharing::Arithmetic,
            (Assignment::Arithmetic, _) => Sharing::Boolean,
        })
    }

    /// The sharing of `instruction`, given what its operands have.
    fn sharing(self, instruction: &Instruction, operand: Option<&Value>) -> Sharing {
        let stated = instruction.element.sharing();
        if instruction.op.is_carrying() {
            return self.carried(instruction.element).sharing();
        }
        match self {
            Assignment::Uniform(sharing) => sharing,
            Assignment::Stated(default) if stated == Sharing::Any => default,
            Assignment::Stated(_) => stated,
            Assignment::Arithmetic => {
                let width = instruction.element.width();
                let fits = width > 1 && width <= RING_WIDTH_MAX;
                match instruction.op {
                    Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::MatMul if fits => {
                        Sharing::Arithmetic
                    }
                    Op::LaneSum if fits && instruction.immediates[0] == u64::from(width) => {
                        Sharing::Arithmetic
                    }
                    // Of shares modulo 2^w the carries out of w bits are not known.
                    Op::LaneSum => Sharing::Boolean,
                    op if op.is_arithmetic() && fits => match operand {
                        Some(value) if value.names[Sharing::Arithmetic as usize].is_some() => {
                            Sharing::Arithmetic
                        }
                        _ => Sharing::Boolean,
                    },
                    _ => Sharing::Boolean,
                }
            }
        }
    }
}

/// A value of the program, in the sharings that it has been needed in.
#[derive(Clone)]
struct Value {
    /// Its names in the new program, by sharing.
    names: [Option<u64>; 4],
    shape: Shape,
    /// What brings it in again, in any sharing.
    source: Option<Instruction>,
}

struct Assigner<E> {
    assignment: Assignment,
    emit: E,
    values: NameTable<Value>,
    next_name: u64,
}

/// Assigns sharings to `program`, into `output`; `scratch` is an empty file.
///
/// # Errors
/// [`Error::Invalid`] if the program is not one that the verifier accepts.
pub fn assign<R: Read + Seek + Send, W: Write>(
    program: &mut ProgramReader<R>,
    output: W,
    scratch: impl Into<ScratchFile>,
    assignment: Assignment,
    planner_memory_bytes: u64,
) -> Result<(W, Written), Error> {
    let scratch: ScratchFile = scratch.into();
    let mut tables = scratch.tables(planner_memory_bytes);
    let mut notes = annotate(program, scratch, planner_memory_bytes, PortOrder::Given)?;
    let mut description = program.description().clone();
    // Those of a block stand in the directory of all.
    if !description.is_block {
        for slot in &mut description.slots {
            slot.element = assignment.carried(slot.element);
        }
    }
    let mut writer = ProgramWriter::new(output, Kind::Program)?;
    let emit = |instruction: &Instruction| Ok(writer.push(instruction)?);
    let mut assigner = Assigner { assignment, emit, values: NameTable::new(), next_name: 0 };
    let mut index = 0;
    let instruction_count = program.instruction_count();
    for_each_frame(program, &mut notes, |instructions, uses| {
        instructions.iter().zip(uses).try_for_each(|(instruction, uses)| {
            assigner.step(index, instruction, uses)?;
            index += 1;
            assigner.values.count(&mut tables, 0, Position { read: index, all: instruction_count })
        })
    })?;
    Ok(writer.finish(&description)?)
}

impl<E: FnMut(&Instruction) -> Result<(), Error>> Assigner<E> {
    fn step(
        &mut self,
        index: u64,
        instruction: &Instruction,
        uses: &NextUses,
    ) -> Result<(), Error> {
        let operands = instruction.operands();
        if operands.iter().any(|operand| !self.values.contains(*operand)) {
            return Err(Error::Invalid { instruction: index, what: "an operand is not defined" });
        }
        let first = operands.first().map(|&operand| &self.values[operand]);
        let sharing = self.assignment.sharing(instruction, first);
        match instruction.op {
            Op::Convert => {
                // The same value, which may get another name when it is needed.
                let mut value = self.values[operands[0]].clone();
                if !matches!(self.assignment, Assignment::Uniform(_) | Assignment::Arithmetic) {
                    self.name(operands[0], sharing)?;
                    value = self.values[operands[0]].clone();
                }
                self.values.insert(instruction.results[0], value);
            }
            // As where a front end brings the same input in again in a sharing: some cost rounds.
            Op::Input | Op::Constant if uses.results[0] == 0 => {}
            Op::Input | Op::Constant => {
                let shape = instruction.shape();
                let source = Some(*instruction);
                let mut value = Value { names: [None; 4], shape, source };
                // What has its sharing for sure comes in at once, in the program's order.
                if self.assignment != Assignment::Arithmetic {
                    value.names[sharing as usize] = Some(self.bring(instruction, sharing)?);
                }
                self.values.insert(instruction.results[0], value);
            }
            _ => self.compute(instruction, sharing)?,
        }
        for (k, operand) in operands.iter().enumerate() {
            if uses.operands[k] == 0 {
                self.values.remove(*operand);
            }
        }
        for (k, result) in instruction.results().iter().enumerate() {
            if uses.results[k] == 0 {
                self.values.remove(*result);
            }
        }
        Ok(())
    }

    fn compute(&mut self, instruction: &Instruction, sharing: Sharing) -> Result<(), Error> {
        let has_vectors = instruction.immediates[1] > 1 || sharing == Sharing::Arithmetic;
        if instruction.op == Op::MatMul && has_vectors {
            return self.mat_mul(instruction, sharing);
        }
        let mut made = *instruction;
        made.element = made.element.shared(sharing);
        for (k, operand) in instruction.operands().iter().enumerate() {
            made.operands[k] = self.name(*operand, sharing)?;
        }
        for (k, &result) in instruction.results().iter().enumerate() {
            made.results[k] = self.next_name;
            let mut names = [None; 4];
            names[sharing as usize] = Some(self.next_name);
            self.next_name += 1;
            let shape = made.result_shape(k);
            self.values.insert(result, Value { names, shape, source: None });
        }
        (self.emit)(&made)
    }

    /// A product of matrices as products with vectors, one beside the other.
    fn mat_mul(&mut self, instruction: &Instruction, sharing: Sharing) -> Result<(), Error> {
        let element = instruction.element.shared(sharing);
        let [columns, vectors, ..] = instruction.immediates;
        let rows = instruction.lanes / vectors as u32;
        let matrix = self.name(instruction.operands[0], sharing)?;
        let all = self.name(instruction.operands[1], sharing)?;
        let mut products = Vec::with_capacity(vectors as usize);
        for k in 0..vectors {
            let mut vector = Instruction::new(Op::LaneSlice, element, columns as u32);
            vector.immediates = [k * columns, columns * vectors, 0, 0];
            vector.operands[0] = all;
            let vector = if vectors == 1 { all } else { self.define(vector)? };
            let mut product = Instruction::new(Op::MatMul, element, rows);
            product.immediates = [columns, 1, 0, 0];
            product.operands = [matrix, vector, 0];
            let product = match sharing {
                Sharing::Arithmetic => self.mat_vec(&product)?,
                _ => self.define(product)?,
            };
            products.push((product, rows));
        }
        while products.len() > 1 {
            let pairs = products.chunks(2).map(|pair| match *pair {
                [(low, own), (high, more)] => {
                    let mut both = Instruction::new(Op::LaneConcat, element, own + more);
                    both.immediates[0] = u64::from(own);
                    both.operands = [low, high, 0];
                    Ok((self.define(both)?, own + more))
                }
                _ => Ok(pair[0]),
            });
            products = pairs.collect::<Result<Vec<_>, Error>>()?;
        }
        let mut names = [None; 4];
        names[sharing as usize] = Some(products[0].0);
        let value = Value { names, shape: instruction.result_shape(0), source: None };
        self.values.insert(instruction.results[0], value);
        Ok(())
    }

    /// A product of matrix and vector, which have names, as products of entries and a tree of sums.
    fn mat_vec(&mut self, instruction: &Instruction) -> Result<u64, Error> {
        let element = instruction.element;
        let (rows, columns) = (instruction.lanes, instruction.immediates[0]);
        let entries = instruction.operand_shape(0).lanes;
        let [matrix, vector, _] = instruction.operands;
        let mut repeated = Instruction::new(Op::LaneRepeat, element, entries);
        repeated.immediates[0] = columns;
        repeated.operands[0] = vector;
        let mut products = Instruction::new(Op::Mul, element, entries);
        products.operands = [matrix, self.define(repeated)?, 0];
        let products = self.define(products)?;
        let mut sums = Vec::with_capacity(columns as usize);
        for column in 0..columns {
            let mut slice = Instruction::new(Op::LaneSlice, element, rows);
            slice.immediates = [column * u64::from(rows), u64::from(entries), 0, 0];
            slice.operands[0] = products;
            sums.push(self.define(slice)?);
        }
        while sums.len() > 1 {
            let pairs = sums.chunks(2).map(|pair| match *pair {
                [a, b] => {
                    let mut add = Instruction::new(Op::Add, element, rows);
                    add.operands = [a, b, 0];
                    self.define(add)
                }
                _ => Ok(pair[0]),
            });
            sums = pairs.collect::<Result<Vec<_>, _>>()?;
        }
        Ok(sums[0])
    }

    /// The name of `value` in `sharing`; converts it if it has none.
    fn name(&mut self, value: u64, sharing: Sharing) -> Result<u64, Error> {
        let known = &self.values[value];
        if let Some(name) = known.names[sharing as usize] {
            return Ok(name);
        }
        let (shape, source, names) = (known.shape, known.source, known.names);
        let name = match source {
            Some(source) => self.bring(&source, sharing)?,
            None => {
                // From garbled sharing to XOR shares nobody says anything: prefer XOR shares.
                let order = [Sharing::Boolean, Sharing::Garbled, Sharing::Arithmetic, Sharing::Any];
                let from = order.into_iter().find(|&from| names[from as usize].is_some());
                let from = from.expect("a value that is defined has a sharing");
                let element = ElementType::unsigned(shape.width).shared(sharing);
                let mut convert = Instruction::new(Op::Convert, element, shape.lanes);
                convert.immediates[0] = from as u64;
                convert.operands[0] = names[from as usize].expect("just found");
                self.define(convert)?
            }
        };
        let known = self.values.get_mut(value).expect("just looked at");
        known.names[sharing as usize] = Some(name);
        Ok(name)
    }

    /// Brings an input or constant in.
    fn bring(&mut self, source: &Instruction, sharing: Sharing) -> Result<u64, Error> {
        let mut instruction = *source;
        instruction.element = instruction.element.shared(sharing);
        self.define(instruction)
    }

    fn define(&mut self, mut instruction: Instruction) -> Result<u64, Error> {
        instruction.results[0] = self.next_name;
        self.next_name += 1;
        (self.emit)(&instruction)?;
        Ok(instruction.results[0])
    }
}
