//! Assignment: chooses the sharing of each value.
//!
//! Front ends leave the sharing of most values open. This stage gives every instruction one, and
//! inserts a conversion where a value is used in another sharing than it has; each value is
//! converted at most once to each sharing. Inputs and constants are brought in again instead, in
//! the sharing that is needed. Conversions that the program states become what the assignment
//! makes of them: where everything has one sharing, nothing. Inputs that nothing uses are left out.
//! Rows of regions and tables, and what permutations bring and move, are in Boolean sharing; where all else is garbled
//! between two parties, only rows that permutations move, and regions that the program says so of.
//!
//! Invariant: the program computes the same, since in the clear all conversions are the identity.
//!
//! Memory: an entry for each value that is alive, within the planner's limit.

use std::io::{Read, Seek, Write};

use phineus_bytecode::limits::RING_WIDTH_MAX;
use phineus_bytecode::{
    CowList, ElementType, FileKind, FileSummary, Instruction, Op, Permutation, PermutationKind,
    PortOrder, ProgramReader, ProgramWriter, Shape, Sharing,
};

use crate::annotate::{NextUses, annotate, for_each_frame};
use crate::error::Error;
use crate::name_table::NameTable;
use crate::scratch::{Position, ScratchFile};

/// Sharing of what registers, regions, tables and permutations take and give.
pub const STATE_SHARING: Sharing = Sharing::Boolean;

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
    /// As the program says, and where it says nothing, arithmetic sharing for products and for sums that need
    /// no conversion to it, and XOR shares for all else. Products of matrices stay whole, and garbled sharing
    /// becomes Boolean sharing.
    ArithmeticProducts,
    /// Everything garbled, but for rows that permutations move, and regions that are stated to be in Boolean sharing
    /// with what is moved to and from them. Switches are garbled, too.
    GarbledBesideRows,
}

impl Assignment {
    /// The assignment for a program whose accesses to memories have been replaced by what a method does: these compute
    /// on XOR shares, and all that is garbled besides says so.
    pub fn beside_accesses(self) -> Assignment {
        match self {
            Assignment::Uniform(Sharing::Garbled) => Assignment::Stated(Sharing::Boolean),
            Assignment::Uniform(Sharing::Any | Sharing::Arithmetic | Sharing::Boolean)
            | Assignment::Arithmetic
            | Assignment::Stated(_)
            | Assignment::ArithmeticProducts
            | Assignment::GarbledBesideRows => self,
        }
    }

    /// The type in which blocks carry what the program says is of type `element`: the same in all
    /// of them, so it depends on nothing else.
    pub fn carried(self, element: ElementType) -> ElementType {
        element.shared(match (self, element.sharing()) {
            (Assignment::Uniform(sharing), _) => sharing,
            (Assignment::Stated(default), Sharing::Any) => default,
            (Assignment::Stated(_), stated) => stated,
            (Assignment::Arithmetic | Assignment::ArithmeticProducts, Sharing::Arithmetic) => {
                Sharing::Arithmetic
            }
            (Assignment::Arithmetic | Assignment::ArithmeticProducts, _) => Sharing::Boolean,
            (Assignment::GarbledBesideRows, _) => Sharing::Garbled,
        })
    }

    /// The type in which regions hold what the program says is of type `element`.
    pub fn resting(self, element: ElementType) -> ElementType {
        element.shared(match (self.moves_shares_only(), element.sharing()) {
            (false, _) | (true, Sharing::Boolean) => STATE_SHARING,
            (true, Sharing::Any | Sharing::Arithmetic | Sharing::Garbled) => Sharing::Garbled,
        })
    }

    /// Whether XOR shares are moved only, and all that is computed is garbled.
    fn moves_shares_only(self) -> bool {
        match self {
            Assignment::GarbledBesideRows => true,
            Assignment::Uniform(_)
            | Assignment::Arithmetic
            | Assignment::Stated(_)
            | Assignment::ArithmeticProducts => false,
        }
    }

    /// The sharing of an instruction about state.
    fn of_state(self, instruction: &Instruction) -> Sharing {
        if !self.moves_shares_only() {
            return STATE_SHARING;
        }
        match instruction.op {
            Op::SwapKnown | Op::Origins | Op::Tell => STATE_SHARING,
            op if op.is_region() || op == Op::Reveal => self.resting(instruction.element).sharing(),
            // Switches, and what is looked up or located by labels.
            _ => Sharing::Garbled,
        }
    }

    /// The sharing of `instruction`, given what its operands have.
    fn sharing<'a>(
        self,
        instruction: &Instruction,
        operand: impl Fn(usize) -> &'a AssignedValue,
    ) -> Sharing {
        let stated = instruction.element.sharing();
        if instruction.op.is_about_state() {
            return self.of_state(instruction);
        }
        if instruction.op.is_carrying() {
            return self.carried(instruction.element).sharing();
        }
        match self {
            Assignment::Uniform(sharing) => sharing,
            Assignment::Stated(default) if stated == Sharing::Any => default,
            Assignment::Stated(_) => stated,
            Assignment::GarbledBesideRows => match stated {
                Sharing::Boolean if moves(instruction.op) => Sharing::Boolean,
                Sharing::Any | Sharing::Arithmetic | Sharing::Boolean | Sharing::Garbled => {
                    Sharing::Garbled
                }
            },
            Assignment::ArithmeticProducts => match stated {
                Sharing::Any if prefers_arithmetic(instruction, operand) => Sharing::Arithmetic,
                Sharing::Any | Sharing::Boolean | Sharing::Garbled => Sharing::Boolean,
                Sharing::Arithmetic => Sharing::Arithmetic,
            },
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
                    op if op.is_arithmetic() && fits => {
                        let has_operand = instruction.operand_count() > 0;
                        match has_operand && operand(0).is_in(Sharing::Arithmetic) {
                            true => Sharing::Arithmetic,
                            false => Sharing::Boolean,
                        }
                    }
                    _ => Sharing::Boolean,
                }
            }
        }
    }
}

/// Whether an operation brings in or moves bits, and does nothing else with them.
fn moves(op: Op) -> bool {
    op.is_movement() || matches!(op, Op::Xor | Op::Input | Op::Constant | Op::Convert)
}

/// A value of the program, in the sharings that it has been needed in.
#[derive(Clone)]
struct AssignedValue {
    /// Its names in the new program, by sharing.
    names: [Option<u64>; 4],
    shape: Shape,
    /// Instruction that brings the value in again, in any sharing.
    source: Option<Instruction>,
    /// Whether it selects rows, and nothing else: its parties have transfers, and no labels.
    is_switch: bool,
}

impl AssignedValue {
    fn is_in(&self, sharing: Sharing) -> bool {
        self.names[sharing as usize].is_some()
    }
}

/// Whether an instruction of which the program says nothing is computed in arithmetic sharing: products, which
/// cost far less there than conversions save, and sums and movements of what was computed there, or of
/// nothing but inputs and constants, which come in any sharing.
fn prefers_arithmetic<'a>(
    instruction: &Instruction,
    operand: impl Fn(usize) -> &'a AssignedValue,
) -> bool {
    let width = instruction.element.width();
    let operands = || (0..instruction.operand_count()).map(&operand);
    let is_computed =
        |value: &AssignedValue| value.source.is_none() && value.is_in(Sharing::Arithmetic);
    let fits = width > 1 && width <= RING_WIDTH_MAX;
    fits && match instruction.op {
        Op::Mul | Op::MatMul => true,
        Op::Add | Op::Sub | Op::Neg => {
            operands().any(is_computed) || operands().all(|value| value.source.is_some())
        }
        // Of shares modulo 2^w the carries out of w bits are not known.
        Op::LaneSum => {
            let is_same_width = instruction.immediates[0] == u64::from(width);
            is_same_width && operands().all(|value| value.source.is_some() || is_computed(value))
        }
        op => {
            op.is_arithmetic()
                && operands().next().is_some_and(|value| value.is_in(Sharing::Arithmetic))
        }
    }
}

struct Assigner<E> {
    assignment: Assignment,
    permutations: CowList<Permutation>,
    emit: E,
    values: NameTable<AssignedValue>,
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
) -> Result<(W, FileSummary), Error> {
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
    for region in &mut description.regions {
        region.element = assignment.resting(region.element);
    }
    let mut writer = ProgramWriter::new(output, FileKind::Program)?;
    let emit = |instruction: &Instruction| Ok(writer.push(instruction)?);
    let permutations = description.permutations.clone();
    let values = NameTable::new();
    let mut assigner = Assigner { assignment, permutations, emit, values, next_name: 0 };
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
        let is_misused = |k: usize| {
            let selects = instruction.op == Op::SwapKnown && k == 0;
            let selects_rows = selects && self.assignment.moves_shares_only();
            // Random bits are no switches either: their parties have labels, and no transfers.
            match self.values[operands[k]].is_switch {
                true => !selects,
                false => selects_rows,
            }
        };
        if (0..operands.len()).any(is_misused) {
            let what = "switches of a permutation exchange rows here, and are no other values";
            return Err(Error::Invalid { instruction: index, what });
        }
        let sharing = self.assignment.sharing(instruction, |k| &self.values[operands[k]]);
        let is_stated = instruction.element.sharing() != Sharing::Any;
        let is_chosen = match self.assignment {
            Assignment::Uniform(_) | Assignment::Stated(_) | Assignment::GarbledBesideRows => true,
            Assignment::ArithmeticProducts => is_stated,
            Assignment::Arithmetic => false,
        };
        match instruction.op {
            Op::Convert => {
                // The same value, which may get another name when it is needed.
                let mut value = self.values[operands[0]].clone();
                if is_chosen && !matches!(self.assignment, Assignment::Uniform(_)) {
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
                let mut value = AssignedValue { names: [None; 4], shape, source, is_switch: false };
                // What has its sharing for sure comes in at once, in the program's order.
                if is_chosen {
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
        let is_whole =
            sharing == Sharing::Arithmetic && self.assignment == Assignment::ArithmeticProducts;
        if instruction.op == Op::MatMul && has_vectors && !is_whole {
            return self.mat_mul(instruction, sharing);
        }
        let mut made = *instruction;
        made.element = made.element.shared(sharing);
        if instruction.op == Op::SwapKnown && self.assignment.moves_shares_only() {
            made.immediates[1] = Sharing::Garbled as u64;
        }
        for (k, operand) in instruction.operands().iter().enumerate() {
            made.operands[k] = self.name(*operand, made.operand_shape(k).sharing)?;
        }
        for (k, &result) in instruction.results().iter().enumerate() {
            made.results[k] = self.next_name;
            let mut names = [None; 4];
            names[sharing as usize] = Some(self.next_name);
            self.next_name += 1;
            let shape = made.result_shape(k);
            let is_switch = self.is_switch(instruction);
            self.values.insert(result, AssignedValue { names, shape, source: None, is_switch });
        }
        (self.emit)(&made)
    }

    /// Whether an instruction brings what selects rows, and nothing else. Switches of pairs are random bits.
    fn is_switch(&self, instruction: &Instruction) -> bool {
        let permutation = || self.permutations.get(instruction.immediates[0] as usize);
        self.assignment.moves_shares_only()
            && instruction.op == Op::Switches
            && permutation().is_none_or(|found| found.kind != PermutationKind::RandomPairs)
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
        let shape = instruction.result_shape(0);
        let value = AssignedValue { names, shape, source: None, is_switch: false };
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
