//! Integers in a field: chooses which values are elements of a prime field and which are bits, and
//! where an element must be reduced to the range of its type.
//!
//! Protocols over a field compute sums and products of integers by themselves, but not modulo
//! `2^w`. This stage holds a value as an element that is *equal modulo `2^w`* to what the program
//! means, and follows the range that the element is known to be in. An element is reduced only
//! where its range would leave the field, or where its size matters: in comparisons, right shifts,
//! widening casts and outputs. Programs whose inputs are narrow never pay for a reduction, and none
//! computes a wrong number.
//!
//! In the lowered program, arithmetic sharing (`@a`) means one element for each lane, Boolean
//! sharing (`@b`) one element of value 0 or 1 for each bit. Operations on bits that have no better
//! form become circuits on `@b`. A value is converted at most once in each direction, and the bits of a
//! value that is moved, masked or inverted are those of the original (`bit_view.rs`). Casts leave
//! elements as they are, so that an `@a` operand may be defined with another width than it is used
//! with.
//!
//! Products whose range does not fit are made of limbs (`wide.rs`, `columns.rs`). Refused: sums of
//! so many products that no limb would do ([`Error::FieldTooSmall`]).
//!
//! Memory: an entry for each value that is alive, as in ordering.

use std::io::{Read, Seek, Write};

use phineus_bytecode::limits::RING_WIDTH_MAX;
use phineus_bytecode::{
    ElementType, FileKind, FileSummary, Instruction, Lane, Op, PortOrder, ProgramReader,
    ProgramWriter, Shape, Sharing,
};

use crate::annotate::{NextUses, annotate, for_each_frame};
use crate::error::Error;
use crate::name_table::NameTable;
use crate::scratch::{Position, ScratchFile};

mod bit_forms;
mod bit_movements;
mod bit_view;
mod bitwise;
mod choices;
mod claims;
mod columns;
mod movements;
mod operations;
mod range;
mod row_order;
mod state;
mod wide;

use bit_forms::BitForm;
use bit_view::BitView;
pub use claims::Claim;
use claims::{LoweringOutput, RangedElement};
use range::Range;
use row_order::KeyRows;

/// A value of the program, in the forms that it has been needed in.
#[derive(Clone)]
struct LoweredValue {
    width: u16,
    lanes: u32,
    integer: Option<RangedElement>,
    /// Reduced to the unsigned and to the signed range of its width.
    reduced: [Option<RangedElement>; 2],
    bits: BitForm,
    constant: Option<Lane>,
    /// How many times some of its bits were cut off by arithmetic, with masks over the whole field.
    cut_count: u8,
}

impl LoweredValue {
    /// A value of this shape that has no form yet.
    fn of(Shape { width, lanes, .. }: Shape) -> LoweredValue {
        let (integer, reduced, bits) = (None, [None; 2], BitForm::Unknown);
        LoweredValue { width, lanes, integer, reduced, bits, constant: None, cut_count: 0 }
    }
}

/// The type in which blocks carry what the program says is of type `element`: elements in the range
/// of the type, or bits where it is one bit or the field does not hold it.
pub fn carried_in_field(element: ElementType, magnitude_bits: u32) -> ElementType {
    let width = element.width();
    let is_integer = width > 1 && u32::from(width) <= magnitude_bits && width <= RING_WIDTH_MAX;
    element.shared(if is_integer { Sharing::Arithmetic } else { Sharing::Boolean })
}

/// The type of the rows of a region that the program says are of type `element`: elements in the range of the type, or
/// bits where the field does not hold it.
pub fn stored_in_field(element: ElementType, magnitude_bits: u32) -> ElementType {
    let width = element.width();
    let is_integer = u32::from(width) <= magnitude_bits && width <= RING_WIDTH_MAX;
    element.shared(if is_integer { Sharing::Arithmetic } else { Sharing::Boolean })
}

struct Lowering<S> {
    /// Elements are integers of a smaller magnitude than two to this power.
    magnitude_bits: u32,
    prove_inputs: bool,
    /// By input port: what has been read of it, if its order must be proven.
    keys: Vec<Option<KeyRows>>,
    sink: S,
    values: NameTable<LoweredValue>,
    /// Bytes of what is known of the bits of all values.
    forms_bytes: u64,
    next_name: u64,
    /// The instruction at hand, for errors.
    index: u64,
}

/// Lowers `program` to elements of a field that holds integers below `2^magnitude_bits` in
/// magnitude, into `output`; `scratch` is an empty file. Inputs are proven to be in the range of
/// their types, and the rows of sorted ones in their order, if `prove_inputs`.
///
/// # Errors
/// [`Error::FieldTooSmall`] if a sum of products leaves the field; [`Error::KeyReadAgain`] if a key whose
/// order is proven is read twice; [`Error::Invalid`] if the program is not one that the verifier accepts.
pub fn lower_to_field<R: Read + Seek + Send, W: Write>(
    program: &mut ProgramReader<R>,
    output: W,
    scratch: impl Into<ScratchFile>,
    (magnitude_bits, prove_inputs): (u32, bool),
    planner_memory_bytes: u64,
) -> Result<(W, FileSummary), Error> {
    let bounds = (magnitude_bits, prove_inputs);
    lower_with_claims(program, output, scratch, bounds, planner_memory_bytes, |_| {})
}

/// As [`lower_to_field`]; `claim` hears of every range that the lowering relies on, right after the value
/// is defined or later.
///
/// For tests, which compute the lowered program in the clear and hold its elements against the claims.
///
/// # Errors
/// As [`lower_to_field`].
pub fn lower_with_claims<R: Read + Seek + Send, W: Write>(
    program: &mut ProgramReader<R>,
    output: W,
    scratch: impl Into<ScratchFile>,
    (magnitude_bits, prove_inputs): (u32, bool),
    planner_memory_bytes: u64,
    claim: impl FnMut(Claim),
) -> Result<(W, FileSummary), Error> {
    let scratch: ScratchFile = scratch.into();
    let mut tables = scratch.tables(planner_memory_bytes);
    let mut notes = annotate(program, scratch, planner_memory_bytes, PortOrder::Given)?;
    let mut description = program.description().clone();
    // Those of a block stand in the directory of all.
    if !description.is_block {
        for slot in &mut description.slots {
            slot.element = carried_in_field(slot.element, magnitude_bits);
        }
        for region in &mut description.regions {
            region.element = stored_in_field(region.element, magnitude_bits);
        }
    }
    let writer = ProgramWriter::new(output, FileKind::Program)?;
    let ports = description.inputs.iter().enumerate();
    let keys = ports.map(|(index, port)| KeyRows::of(index, port).filter(|_| prove_inputs));
    let mut lowering = Lowering {
        magnitude_bits,
        prove_inputs,
        keys: keys.collect(),
        sink: ProgramSink { writer, claim },
        values: NameTable::new(),
        forms_bytes: 0,
        next_name: 0,
        index: 0,
    };
    let instruction_count = program.instruction_count();
    for_each_frame(program, &mut notes, |instructions, uses| {
        instructions.iter().zip(uses).try_for_each(|(instruction, uses)| {
            lowering.step(instruction, uses)?;
            lowering.index += 1;
            lowering.values.count(
                &mut tables,
                lowering.forms_bytes,
                Position { read: lowering.index, all: instruction_count },
            )
        })
    })?;
    if description.is_block {
        // Blocks that follow give values out.
        lowering.prove_orders()?;
    }
    Ok(lowering.sink.writer.finish(&description)?)
}

/// Writes instructions to a program and gives claims away.
struct ProgramSink<W: Write, C> {
    writer: ProgramWriter<W>,
    claim: C,
}

impl<W: Write, C: FnMut(Claim)> LoweringOutput for ProgramSink<W, C> {
    fn emit(&mut self, instruction: &Instruction) -> Result<(), Error> {
        Ok(self.writer.push(instruction)?)
    }

    fn claim(&mut self, claim: Claim) {
        (self.claim)(claim);
    }
}

impl<S: LoweringOutput> Lowering<S> {
    fn step(&mut self, instruction: &Instruction, uses: &NextUses) -> Result<(), Error> {
        let operands = instruction.operands();
        if operands.iter().any(|operand| !self.values.contains(*operand)) {
            return Err(Error::Invalid {
                instruction: self.index,
                what: "an operand is not defined",
            });
        }
        self.lower(instruction)?;
        for (k, operand) in operands.iter().enumerate() {
            if uses.operands[k] == 0 {
                self.forget(*operand);
            }
        }
        for (k, result) in instruction.results().iter().enumerate() {
            if uses.results[k] == 0 {
                self.forget(*result);
            }
        }
        Ok(())
    }

    fn forget(&mut self, name: u64) {
        if self.values.contains(name) {
            self.forms_bytes -= self.values[name].bits.memory_bytes();
            self.values.remove(name);
        }
    }

    fn fits(&self, range: Range) -> bool {
        range.fits(self.magnitude_bits)
    }

    /// Whether every integer of this width is an element.
    fn holds(&self, width: u16) -> bool {
        u32::from(width) <= self.magnitude_bits && width <= RING_WIDTH_MAX
    }

    fn value(&self, name: u64) -> &LoweredValue {
        &self.values[name]
    }

    fn value_mut(&mut self, name: u64) -> &mut LoweredValue {
        self.values.get_mut(name).expect("an operand lives until its last use")
    }

    /// The value as elements, if it can be held so.
    fn integer(&mut self, name: u64) -> Result<Option<RangedElement>, Error> {
        let value = self.value(name);
        let (width, lanes) = (value.width, value.lanes);
        if value.integer.is_some() {
            return Ok(value.integer);
        }
        let integer = if let Some(constant) = value.constant {
            let Some((range, signed)) = range::of_constant(constant, width) else {
                return Ok(None);
            };
            if !self.fits(range) || width > RING_WIDTH_MAX {
                return Ok(None);
            }
            self.constant((constant, range), width, lanes, signed)?
        } else {
            if width > RING_WIDTH_MAX {
                return Ok(None);
            }
            let view = self.compact(name)?;
            let Some(integer) = self.elements_of_view(&view, lanes, None)? else { return Ok(None) };
            integer
        };
        self.means(integer.name(), name);
        self.value_mut(name).integer = Some(integer);
        Ok(Some(integer))
    }

    /// The value as elements in the signed or unsigned range of its type, if it can be held so.
    fn canonical(&mut self, name: u64, signed: bool) -> Result<Option<RangedElement>, Error> {
        let value = self.value(name);
        let (width, lanes) = (value.width, value.lanes);
        if let Some(known) = value.reduced[usize::from(signed)] {
            return Ok(Some(known));
        }
        let made = if let Some(constant) = value.constant {
            let Some(exact) = range::constant_as(constant, width, signed) else { return Ok(None) };
            if !self.fits(exact) || width > RING_WIDTH_MAX {
                return Ok(None);
            }
            self.constant((constant, exact), width, lanes, signed)?
        } else {
            let Some(integer) = self.integer(name)? else { return Ok(None) };
            let kind = Range::of_type(width, signed);
            if integer.range().is_within(kind) {
                integer
            } else if self.holds(width) && self.has_bits(name) {
                let view = self.compact(name)?;
                let made = self.elements_of_view(&view, lanes, Some(signed))?;
                made.expect("the field holds the type")
            } else if self.holds(width) {
                self.reduce(integer, ElementType::integer(width, signed), lanes)?
            } else {
                return Ok(None);
            }
        };
        self.means(made.name(), name);
        self.value_mut(name).reduced[usize::from(signed)] = Some(made);
        Ok(Some(made))
    }

    /// The integer of type `element` that is equal modulo two to its width.
    fn reduce(
        &mut self,
        integer: RangedElement,
        element: ElementType,
        lanes: u32,
    ) -> Result<RangedElement, Error> {
        let element = element.shared(Sharing::Arithmetic);
        let mut reduce = Instruction::new(Op::Reduce, element, lanes);
        reduce.operands[0] = integer.name();
        self.define_integer(reduce, Range::of_type(element.width(), element.is_signed()))
    }

    /// The low `width` bits of elements.
    fn bits_of_elements(
        &mut self,
        mut integer: RangedElement,
        width: u16,
        lanes: u32,
    ) -> Result<u64, Error> {
        if width == 1 && !integer.range().is_within(Range::BIT) {
            // An element that is 0 or 1 is taken for the bit.
            integer = self.reduce(integer, ElementType::BIT, lanes)?;
        }
        let element = ElementType::unsigned(width).shared(Sharing::Boolean);
        let mut convert = Instruction::new(Op::Convert, element, lanes);
        convert.immediates[0] = Sharing::Arithmetic as u64;
        convert.operands[0] = integer.name();
        self.define(convert)
    }

    /// `width` bits as elements.
    fn elements_of(&mut self, bits: u64, width: u16, lanes: u32) -> Result<RangedElement, Error> {
        let element = ElementType::unsigned(width).shared(Sharing::Arithmetic);
        let mut convert = Instruction::new(Op::Convert, element, lanes);
        convert.immediates[0] = Sharing::Boolean as u64;
        convert.operands[0] = bits;
        self.define_integer(convert, Range::of_type(width, false))
    }

    /// A constant as elements; `exact` is what it is as a signed or unsigned integer.
    fn constant(
        &mut self,
        (value, exact): (Lane, Range),
        width: u16,
        lanes: u32,
        signed: bool,
    ) -> Result<RangedElement, Error> {
        let element = ElementType::integer(width, signed).shared(Sharing::Arithmetic);
        let mut instruction = Instruction::new(Op::Constant, element, lanes);
        instruction.immediates = value.into_limbs();
        self.define_integer(instruction, exact)
    }

    /// Emits an instruction of one result; returns the result's name.
    fn define(&mut self, mut instruction: Instruction) -> Result<u64, Error> {
        instruction.results[0] = self.next_name;
        self.next_name += 1;
        self.sink.emit(&instruction)?;
        Ok(instruction.results[0])
    }

    /// Notes that `result` of the program is these elements.
    fn set_integer(&mut self, result: u64, shape: Shape, integer: RangedElement) {
        self.set_value(result, LoweredValue { integer: Some(integer), ..LoweredValue::of(shape) });
    }

    /// Notes that `result` of the program is these bits.
    fn set_bits(&mut self, result: u64, shape: Shape, name: u64) {
        self.set_view(result, shape, BitView::of_name(name, shape.width));
    }

    /// Notes where the bits of `result` of the program are found.
    fn set_view(&mut self, result: u64, shape: Shape, view: BitView) {
        let value = match view.as_constant() {
            Some(constant) => LoweredValue { constant: Some(constant), ..LoweredValue::of(shape) },
            None => LoweredValue { bits: BitForm::View(view), ..LoweredValue::of(shape) },
        };
        self.set_value(result, value);
    }

    /// Notes the forms of `result` of the program.
    fn set_value(&mut self, result: u64, value: LoweredValue) {
        let [unsigned, signed] = value.reduced;
        let elements = [value.integer, unsigned, signed].into_iter().flatten();
        elements.for_each(|known| self.means(known.name(), result));
        if let BitForm::View(view) = &value.bits {
            self.claim_view(view, result);
        }
        self.forms_bytes += value.bits.memory_bytes();
        self.values.insert(result, value);
    }
}

#[cfg(test)]
mod tests;
