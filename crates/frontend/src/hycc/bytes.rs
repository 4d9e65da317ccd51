//! Reads a `.circ` file, version 5; reports all faults.
//!
//! All integers are little-endian. Sizes that a file states are believed only as far as its length
//! and the limits here allow.

use crate::error::ProgramError;

use super::module::{
    Call, Gate, HyccModule, Incoming, Operation, Outgoing, SourceVariable, VariableElement,
};
use super::order::order;

const MAGIC: u32 = 0xcb11_c06c;
const VERSION: u8 = 5;
/// The most integers of one variable, and the most wires of all inputs.
const LEAVES_MAX: usize = 1 << 15;
const INPUT_WIRES_MAX: usize = 1 << 24;
/// The longest name: longer than any that a compiler makes of nested structures.
const NAME_BYTES_MAX: usize = 1 << 12;
/// The most arrays and structures within each other.
const DEPTH_MAX: usize = 32;

/// A file, and how far it was read.
struct Bytes<'a> {
    file: &'a str,
    data: &'a [u8],
    at: usize,
}

/// Reads a module from the bytes of `file`.
pub(super) fn read_module(file: &str, data: &[u8]) -> Result<HyccModule, ProgramError> {
    let mut bytes = Bytes { file, data, at: 0 };
    if bytes.word()? != MAGIC {
        return Err(bytes.error("this is no circuit of HyCC: it does not begin as one"));
    }
    let version = bytes.byte()?;
    if version != VERSION {
        return Err(bytes.error(format!("version {version} of the format, known is {VERSION}")));
    }
    let mut counts = [0u32; 6];
    for count in &mut counts {
        *count = bytes.word()?;
    }
    let [gates, input_wires, _, inputs, outputs, calls] = counts;
    let name = bytes.text()?;
    bytes.skip_properties()?;
    let inputs = bytes.several(inputs, Bytes::input)?;
    let mut outputs = bytes.several(outputs, Bytes::outgoing)?;
    let mut calls = bytes.several(calls, Bytes::call)?;
    let widths = bytes.partition(0)?;
    if widths.len() != input_wires as usize {
        let found = widths.len();
        return Err(bytes.error(format!("the inputs have {found} wires, not {input_wires}")));
    }
    let mut module = HyccModule {
        name,
        inputs,
        outputs: Vec::new(),
        calls: Vec::new(),
        gates: Vec::new(),
        combined: Vec::new(),
        widths,
        order: Vec::new(),
    };
    bytes.assign_wires(&mut module, &mut calls)?;
    for _ in 0..gates {
        bytes.gate(&mut module)?;
    }
    for output in &mut outputs {
        bytes.fill(output, &module.widths)?;
    }
    for argument in calls.iter_mut().flat_map(|call| &mut call.arguments) {
        bytes.fill(argument, &module.widths)?;
    }
    if bytes.at < data.len() {
        return Err(bytes.error("something follows the circuit"));
    }
    (module.outputs, module.calls) = (outputs, calls);
    module.order = order(&module).map_err(|call| {
        bytes.error(format!("calls, such as that of '{call}', need each other's results"))
    })?;
    Ok(module)
}

impl<'a> Bytes<'a> {
    fn error(&self, what: impl Into<String>) -> ProgramError {
        let (file, at) = (self.file, self.at);
        ProgramError::Refused(format!("{file}, byte {at}: {}", what.into()))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], ProgramError> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.data.len());
        let end = end.ok_or_else(|| self.error("the file ends too early"))?;
        let taken = &self.data[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, ProgramError> {
        Ok(self.take(1)?[0])
    }

    fn word(&mut self) -> Result<u32, ProgramError> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    /// A number in groups of 7 bits, the lowest first; the highest bit says that more follow.
    fn number(&mut self) -> Result<u64, ProgramError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(self.error("a number has more than 64 bits"));
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.error("a number has more than 64 bits"))
    }

    fn text(&mut self) -> Result<String, ProgramError> {
        let rest = &self.data[self.at..];
        let Some(length) = rest.iter().position(|&byte| byte == 0) else {
            return Err(self.error("a name does not end"));
        };
        // Names of leaves repeat it, and arrays have many leaves.
        if length > NAME_BYTES_MAX {
            return Err(self.error("a name is too long"));
        }
        let text = self.take(length)?;
        if !text.iter().all(u8::is_ascii_graphic) {
            return Err(self.error("a name has characters that none has"));
        }
        self.at += 1;
        Ok(text.iter().map(|&byte| char::from(byte)).collect())
    }

    fn several<T>(
        &mut self,
        count: u32,
        read: fn(&mut Self) -> Result<T, ProgramError>,
    ) -> Result<Vec<T>, ProgramError> {
        (0..count).map(|_| read(self)).collect()
    }

    /// Properties say nothing about what is computed.
    fn skip_properties(&mut self) -> Result<(), ProgramError> {
        while !self.text()?.is_empty() {
            let mut leaves = Vec::new();
            self.leaves("", 0, &mut leaves)?;
            match &leaves[..] {
                [VariableElement { width: 32, .. }] => self.word()?,
                _ => return Err(self.error("a property that is no integer of 32 bits")),
            };
        }
        Ok(())
    }

    /// A type: all its integers, each with the name of its place.
    fn leaves(
        &mut self,
        name: &str,
        depth: usize,
        leaves: &mut Vec<VariableElement>,
    ) -> Result<(), ProgramError> {
        let kind = self.byte()? & 0x3f;
        let size = self.number()?;
        if depth > DEPTH_MAX {
            return Err(self.error(format!("types nest deeper than {DEPTH_MAX}")));
        }
        if name.len() > NAME_BYTES_MAX {
            return Err(self.error("the name of an integer in a variable is too long"));
        }
        match kind {
            1 | 2 | 5 => {
                if size == 0 || size > 64 || (kind == 5 && size != 1) {
                    return Err(self.error(format!("an integer of {size} bits, not of 1 to 64")));
                }
                let (name, is_signed) = (name.to_owned(), kind == 1);
                leaves.push(VariableElement { name, width: size as u8, is_signed });
            }
            3 => {
                let start = self.at;
                for index in 0..size {
                    // Each element is the same type again, under its own name.
                    self.at = start;
                    let before = leaves.len();
                    self.leaves(&format!("{name}[{index}]"), depth + 1, leaves)?;
                    if leaves.len() == before {
                        return Err(self.error("an array has elements of nothing"));
                    }
                }
                if size == 0 {
                    return Err(self.error("an array has no elements"));
                }
            }
            4 => {
                for _ in 0..size {
                    let member = self.text()?;
                    self.leaves(&format!("{name}.{member}"), depth + 1, leaves)?;
                }
            }
            _ => return Err(self.error(format!("type {kind} is unknown"))),
        }
        if leaves.len() > LEAVES_MAX {
            return Err(self.error(format!("a variable of more than {LEAVES_MAX} integers")));
        }
        Ok(())
    }

    fn variable(&mut self, name: String) -> Result<SourceVariable, ProgramError> {
        let mut leaves = Vec::new();
        self.leaves(&name, 0, &mut leaves)?;
        Ok(SourceVariable { name, leaves })
    }

    fn input(&mut self) -> Result<(u8, Incoming), ProgramError> {
        let name = self.text()?;
        let owner = self.byte()?;
        if owner > 1 {
            return Err(self.error(format!("'{name}' belongs to party {owner}, not 0 or 1")));
        }
        Ok((owner, Incoming { variable: self.variable(name)?, wires: 0..0 }))
    }

    fn incoming(&mut self) -> Result<Incoming, ProgramError> {
        let name = self.text()?;
        Ok(Incoming { variable: self.variable(name)?, wires: 0..0 })
    }

    fn outgoing(&mut self) -> Result<Outgoing, ProgramError> {
        let name = self.text()?;
        Ok(Outgoing { variable: self.variable(name)?, wires: Vec::new() })
    }

    fn call(&mut self) -> Result<Call, ProgramError> {
        let name = self.text()?;
        let (arguments, returns) = (self.word()?, self.word()?);
        let returns = self.several(returns, Bytes::incoming)?;
        let arguments = self.several(arguments, Bytes::outgoing)?;
        Ok(Call { name, arguments, returns })
    }

    /// The widths of the input wires, in arrays and structures.
    fn partition(&mut self, depth: usize) -> Result<Vec<u8>, ProgramError> {
        let header = self.byte()?;
        let size = match header & 0x3f {
            0 => self.number()?,
            size => size.into(),
        };
        if depth > DEPTH_MAX {
            return Err(self.error(format!("inputs nest deeper than {DEPTH_MAX}")));
        }
        let too_many = |found: u64| found > INPUT_WIRES_MAX as u64;
        let wires = match header >> 6 {
            0 if size == 0 || size > 64 => {
                return Err(self.error(format!("a wire of {size} bits, not of 1 to 64")));
            }
            0 => vec![size as u8],
            1 => {
                let element = self.partition(depth + 1)?;
                let count = size.saturating_mul(element.len() as u64);
                if too_many(count) {
                    return Err(self.error(format!("{count} input wires are too many")));
                }
                element.repeat(size as usize)
            }
            2 => {
                let mut wires = Vec::new();
                for _ in 0..size {
                    wires.extend(self.partition(depth + 1)?);
                    if too_many(wires.len() as u64) {
                        return Err(self.error("too many input wires"));
                    }
                }
                wires
            }
            kind => return Err(self.error(format!("inputs of kind {kind}"))),
        };
        Ok(wires)
    }

    /// Gives the input wires to the inputs and then to the results of calls.
    fn assign_wires(
        &self,
        module: &mut HyccModule,
        calls: &mut [Call],
    ) -> Result<(), ProgramError> {
        let widths = &module.widths;
        let mut next = 0usize;
        let inputs = module.inputs.iter_mut().map(|(_, incoming)| incoming);
        for incoming in inputs.chain(calls.iter_mut().flat_map(|call| &mut call.returns)) {
            let (start, bits) = (next, incoming.variable.bits());
            let mut found = 0u64;
            while found < bits && next < widths.len() {
                found += u64::from(widths[next]);
                next += 1;
            }
            if found != bits {
                let name = &incoming.variable.name;
                return Err(self.error(format!("'{name}' has {bits} bits, its wires {found}")));
            }
            incoming.wires = start as u32..next as u32;
        }
        if next != widths.len() {
            let more = widths.len() - next;
            return Err(self.error(format!("{more} input wires belong to no variable")));
        }
        Ok(())
    }

    /// The number of a wire that is defined.
    fn wire(&mut self, widths: &[u8]) -> Result<u32, ProgramError> {
        let wire = self.word()?;
        if wire as usize >= widths.len() {
            return Err(self.error(format!("wire {wire} is used before it is defined")));
        }
        Ok(wire)
    }

    fn gate(&mut self, module: &mut HyccModule) -> Result<(), ProgramError> {
        use Operation::{Add, And, Mul, Neg, Not, Or, Sub, Xor};
        let code = self.byte()?;
        let first = module.widths.len() as u32;
        let gate = match code {
            0x01 => self.compute(module, And)?,
            0x02 => self.compute(module, Or)?,
            0x03 => self.compute(module, Xor)?,
            0x04 => self.compute(module, Not)?,
            0xc1 => self.compute(module, Add)?,
            0xc2 => self.compute(module, Sub)?,
            0xc3 => self.compute(module, Neg)?,
            0xc4 => self.compute(module, Mul)?,
            0x05 => {
                module.widths.push(1);
                Gate::Constant { value: 1, first }
            }
            0xc5 => self.constant(module)?,
            0x40..=0x7f => self.combine(module, usize::from(code & 0x3f) + 1)?,
            0xe0..=0xff => {
                let operand = self.wire(&module.widths)?;
                let width = usize::from(module.widths[operand as usize]);
                module.widths.resize(module.widths.len() + width, 1);
                Gate::Split { operand, first }
            }
            _ => return Err(self.error(format!("gate {code:#04x} is unknown"))),
        };
        module.gates.push(gate);
        Ok(())
    }

    fn compute(
        &mut self,
        module: &mut HyccModule,
        operation: Operation,
    ) -> Result<Gate, ProgramError> {
        let first = module.widths.len() as u32;
        let mut operands = [0; 2];
        for operand in operands.iter_mut().take(operation.operand_count()) {
            *operand = self.wire(&module.widths)?;
        }
        let width_of = |index: usize| module.widths[operands[index] as usize];
        let width = width_of(0);
        if operation.operand_count() == 2 && width_of(1) != width {
            let other = width_of(1);
            return Err(self.error(format!("operands of {width} and {other} bits")));
        }
        if !operation.is_arithmetic() && width != 1 {
            return Err(self.error(format!("a Boolean gate on {width} bits, not on 1")));
        }
        module.widths.push(width);
        Ok(Gate::Compute { operation, operands, first })
    }

    fn constant(&mut self, module: &mut HyccModule) -> Result<Gate, ProgramError> {
        let first = module.widths.len() as u32;
        let (width, value) = (self.number()?, self.number()?);
        if width == 0 || width > 64 || (width < 64 && value >> width != 0) {
            return Err(self.error(format!("the constant {value} in {width} bits")));
        }
        module.widths.push(width as u8);
        Ok(Gate::Constant { value, first })
    }

    fn combine(&mut self, module: &mut HyccModule, count: usize) -> Result<Gate, ProgramError> {
        let first = module.widths.len() as u32;
        let start = module.combined.len() as u32;
        for _ in 0..count {
            let wire = self.wire(&module.widths)?;
            if module.widths[wire as usize] != 1 {
                return Err(self.error("COMBINE takes single bits"));
            }
            module.combined.push(wire);
        }
        module.widths.push(count as u8);
        Ok(Gate::Combine { operands: start..module.combined.len() as u32, first })
    }

    /// Reads the wires of a variable that leaves the module.
    fn fill(&mut self, outgoing: &mut Outgoing, widths: &[u8]) -> Result<(), ProgramError> {
        let bits = outgoing.variable.bits();
        let mut found = 0u64;
        while found < bits {
            let wire = self.wire(widths)?;
            found += u64::from(widths[wire as usize]);
            outgoing.wires.push(wire);
        }
        if found != bits {
            let name = &outgoing.variable.name;
            return Err(self.error(format!("'{name}' has {bits} bits, its wires {found}")));
        }
        Ok(())
    }
}
