//! Runs a hybrid circuit on anything that can be computed with: secret values, or plain integers.

use phineus_bytecode::{ElementType, Lane, Sharing};

use crate::tracer::Tracer;
use crate::value::Value;

use super::bundle::{Bundle, Purpose};
use super::module::{Gate, HyccModule, ModuleStep, Operation};

/// Values and operations that a circuit computes with.
pub(super) trait Algebra {
    /// An integer of some bits, or one of each instance.
    type Wire: Clone;

    /// How many bits it has.
    fn width(&self, wire: &Self::Wire) -> u8;

    /// A public integer.
    fn constant(&self, width: u8, value: u64) -> Self::Wire;

    /// The result of a gate of a module for `purpose`.
    fn compute(
        &self,
        operation: Operation,
        purpose: Purpose,
        operands: &[&Self::Wire],
    ) -> Self::Wire;

    /// Its bits, the lowest first.
    fn split(&self, wire: &Self::Wire, purpose: Purpose) -> Vec<Self::Wire>;

    /// The integer of some bits, the lowest first.
    fn combine(&self, bits: &[Self::Wire], purpose: Purpose) -> Self::Wire;
}

/// Regroups bits into wires of other widths.
pub(super) fn fit<A: Algebra>(
    algebra: &A,
    wires: Vec<A::Wire>,
    widths: &[u8],
    purpose: Purpose,
) -> Vec<A::Wire> {
    if wires.iter().map(|wire| algebra.width(wire)).eq(widths.iter().copied()) {
        return wires;
    }
    let bits: Vec<A::Wire> = wires.iter().flat_map(|wire| algebra.split(wire, purpose)).collect();
    let mut rest = &bits[..];
    let mut fitted = Vec::with_capacity(widths.len());
    for &width in widths {
        let (taken, more) = rest.split_at(width.into());
        fitted.push(algebra.combine(taken, purpose));
        rest = more;
    }
    fitted
}

/// The outputs of module `name` on `inputs`, each in wires as the module has them.
pub(super) fn run<A: Algebra>(
    bundle: &Bundle,
    name: &str,
    algebra: &A,
    inputs: Vec<Vec<A::Wire>>,
) -> Vec<Vec<A::Wire>> {
    let (module, purpose) = &bundle.modules[name];
    let mut wires: Vec<Option<A::Wire>> = vec![None; module.widths.len()];
    for ((_, incoming), values) in module.inputs.iter().zip(inputs) {
        place(&mut wires, incoming.wires.start, values);
    }
    for step in &module.order {
        match *step {
            ModuleStep::Gate(index) => {
                let gate = &module.gates[index as usize];
                let (first, results) = gate_results(module, gate, *purpose, algebra, &wires);
                place(&mut wires, first, results);
            }
            ModuleStep::Call(index) => call(bundle, module, index as usize, algebra, &mut wires),
        }
    }
    let of = |wires: &[Option<A::Wire>], names: &[u32]| gathered::<A>(wires, names);
    module.outputs.iter().map(|output| of(&wires, &output.wires)).collect()
}

fn place<W>(wires: &mut [Option<W>], first: u32, values: Vec<W>) {
    for (place, value) in wires[first as usize..].iter_mut().zip(values) {
        *place = Some(value);
    }
}

fn gathered<A: Algebra>(wires: &[Option<A::Wire>], names: &[u32]) -> Vec<A::Wire> {
    names.iter().map(|&name| known::<A>(wires, name).clone()).collect()
}

fn known<A: Algebra>(wires: &[Option<A::Wire>], name: u32) -> &A::Wire {
    wires[name as usize].as_ref().expect("steps are in order")
}

/// The first wire that a gate makes, and what it makes.
fn gate_results<A: Algebra>(
    module: &HyccModule,
    gate: &Gate,
    purpose: Purpose,
    algebra: &A,
    wires: &[Option<A::Wire>],
) -> (u32, Vec<A::Wire>) {
    let operands = module.operands(gate);
    match *gate {
        Gate::Compute { operation, first, .. } => {
            let operands: [&A::Wire; 2] =
                [0, 1].map(|k| known::<A>(wires, operands[k.min(operands.len() - 1)]));
            let operands = &operands[..operation.operand_count()];
            (first, vec![algebra.compute(operation, purpose, operands)])
        }
        Gate::Constant { value, first } => {
            (first, vec![algebra.constant(module.widths[first as usize], value)])
        }
        Gate::Combine { first, .. } => {
            (first, vec![algebra.combine(&gathered::<A>(wires, operands), purpose)])
        }
        Gate::Split { operand, first } => {
            (first, algebra.split(known::<A>(wires, operand), purpose))
        }
    }
}

/// Runs a call: variables are matched by their names.
fn call<A: Algebra>(
    bundle: &Bundle,
    module: &HyccModule,
    index: usize,
    algebra: &A,
    wires: &mut [Option<A::Wire>],
) {
    let call = &module.calls[index];
    let (callee, purpose) = &bundle.modules[&call.name];
    let inputs = callee.inputs.iter().map(|(_, input)| {
        let name = &input.variable.name;
        let argument = call.arguments.iter().find(|argument| argument.variable.name == *name);
        let values = gathered::<A>(wires, &argument.expect("calls are checked").wires);
        fit(algebra, values, callee.widths_of(input.wires.clone()), *purpose)
    });
    let inputs = inputs.collect();
    let outputs = run(bundle, &call.name, algebra, inputs);
    for returned in &call.returns {
        let name = &returned.variable.name;
        let place_of = callee.outputs.iter().position(|output| output.variable.name == *name);
        let values = outputs[place_of.expect("calls are checked")].clone();
        let widths = module.widths_of(returned.wires.clone());
        place(wires, returned.wires.start, fit(algebra, values, widths, *purpose));
    }
}

/// Which sharings modules are computed in.
#[derive(Clone, Copy)]
pub(super) struct Sharings {
    /// Whether in those that they were made for.
    pub(super) is_marked: bool,
    /// The sharing of bits in arithmetic modules.
    pub(super) bits: Sharing,
}

impl Sharings {
    pub(super) fn arithmetic(self) -> Sharing {
        if self.is_marked { Sharing::Arithmetic } else { Sharing::Any }
    }

    /// That of the bits of a module.
    pub(super) fn boolean(self, purpose: Purpose) -> Sharing {
        match purpose {
            _ if !self.is_marked => Sharing::Any,
            Purpose::Arithmetic => self.bits,
            Purpose::Depth => Sharing::Boolean,
            Purpose::Size => Sharing::Garbled,
        }
    }
}

/// Secret values, an instance a lane.
pub(super) struct Secret<'t> {
    pub(super) tracer: &'t Tracer,
    pub(super) lanes: u32,
    pub(super) sharings: Sharings,
}

impl Algebra for Secret<'_> {
    type Wire = Value;

    fn width(&self, wire: &Value) -> u8 {
        wire.width() as u8
    }

    fn constant(&self, width: u8, value: u64) -> Value {
        let element = ElementType::unsigned(width.into());
        Value::known(self.tracer, element, self.lanes, Lane::from(value))
    }

    fn compute(&self, operation: Operation, purpose: Purpose, operands: &[&Value]) -> Value {
        let sharing = match operation.is_arithmetic() {
            true => self.sharings.arithmetic(),
            false => self.sharings.boolean(purpose),
        };
        let a = operands[0].to_sharing(sharing);
        let b = operands[operands.len() - 1].to_sharing(sharing);
        match operation {
            Operation::And => a.and(&b),
            Operation::Or => a.or(&b),
            Operation::Xor => a.xor(&b),
            Operation::Not => a.not(),
            Operation::Add => a.add(&b),
            Operation::Sub => a.sub(&b),
            Operation::Neg => a.neg(),
            Operation::Mul => a.mul(&b),
        }
    }

    fn split(&self, wire: &Value, purpose: Purpose) -> Vec<Value> {
        let wire = wire.to_sharing(self.sharings.boolean(purpose));
        (0..wire.width()).map(|bit| wire.bit_slice(bit, 1)).collect()
    }

    fn combine(&self, bits: &[Value], purpose: Purpose) -> Value {
        let sharing = self.sharings.boolean(purpose);
        let mut parts: Vec<Value> = bits.iter().map(|bit| bit.to_sharing(sharing)).collect();
        // In pairs, so that each bit is copied log times.
        while parts.len() > 1 {
            let pairs = parts.chunks(2).map(|pair| match pair {
                [low, high] => low.bit_concat(high),
                _ => pair[0].clone(),
            });
            parts = pairs.collect();
        }
        parts.pop().expect("an integer has a bit")
    }
}

/// Plain integers.
pub(super) struct Plain;

/// An integer of some bits.
#[derive(Clone, Copy)]
pub(super) struct Word {
    pub(super) value: u64,
    pub(super) width: u8,
}

impl Algebra for Plain {
    type Wire = Word;

    fn width(&self, wire: &Word) -> u8 {
        wire.width
    }

    fn constant(&self, width: u8, value: u64) -> Word {
        Word { value, width }
    }

    fn compute(&self, operation: Operation, _: Purpose, operands: &[&Word]) -> Word {
        let (a, b) = (operands[0].value, operands[operands.len() - 1].value);
        let value = match operation {
            Operation::And => a & b,
            Operation::Or => a | b,
            Operation::Xor => a ^ b,
            Operation::Not => !a,
            Operation::Add => a.wrapping_add(b),
            Operation::Sub => a.wrapping_sub(b),
            Operation::Neg => a.wrapping_neg(),
            Operation::Mul => a.wrapping_mul(b),
        };
        let width = operands[0].width;
        Word { value: value & u64::MAX >> (64 - width), width }
    }

    fn split(&self, wire: &Word, _: Purpose) -> Vec<Word> {
        (0..wire.width).map(|bit| Word { value: wire.value >> bit & 1, width: 1 }).collect()
    }

    fn combine(&self, bits: &[Word], _: Purpose) -> Word {
        let value = bits.iter().rev().fold(0, |value, bit| value << 1 | bit.value);
        Word { value, width: bits.len() as u8 }
    }
}
