//! [`HyccModule`]: one circuit of a hybrid circuit, as its file has it.

use std::ops::Range;

/// An integer of a variable: all of it, or an element of an array or structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VariableElement {
    pub(super) name: String,
    pub(super) width: u8,
    pub(super) is_signed: bool,
}

/// A variable of the source program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceVariable {
    pub(super) name: String,
    pub(super) leaves: Vec<VariableElement>,
}

impl SourceVariable {
    pub(super) fn bits(&self) -> u64 {
        self.leaves.iter().map(|leaf| u64::from(leaf.width)).sum()
    }

    pub(super) fn widths(&self) -> Vec<u8> {
        self.leaves.iter().map(|leaf| leaf.width).collect()
    }
}

/// A variable that comes into the module, and its wires.
pub(super) struct Incoming {
    pub(super) variable: SourceVariable,
    pub(super) wires: Range<u32>,
}

/// A variable that leaves the module, and its wires.
pub(super) struct Outgoing {
    pub(super) variable: SourceVariable,
    pub(super) wires: Vec<u32>,
}

/// A call of another module.
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: Vec<Outgoing>,
    pub(super) returns: Vec<Incoming>,
}

/// Operation of a gate with one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    And,
    Or,
    Xor,
    Not,
    Add,
    Sub,
    Neg,
    Mul,
}

impl Operation {
    pub(super) fn is_arithmetic(self) -> bool {
        matches!(self, Operation::Add | Operation::Sub | Operation::Neg | Operation::Mul)
    }

    pub(super) fn operand_count(self) -> usize {
        if matches!(self, Operation::Not | Operation::Neg) { 1 } else { 2 }
    }
}

/// A gate; `first` is its first result.
pub(super) enum Gate {
    /// The second operand is 0 where there is only one.
    Compute { operation: Operation, operands: [u32; 2], first: u32 },
    /// An integer or bit.
    Constant { value: u64, first: u32 },
    /// The bits of `operands`, the lowest first, as one integer; a part of
    /// [`HyccModule::combined`].
    Combine { operands: Range<u32>, first: u32 },
    /// The bits of an integer, the lowest first.
    Split { operand: u32, first: u32 },
}

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModuleStep {
    Gate(u32),
    Call(u32),
}

/// One circuit.
pub(super) struct HyccModule {
    pub(super) name: String,
    /// Inputs with the party that brings them, where the module is the main one.
    pub(super) inputs: Vec<(u8, Incoming)>,
    pub(super) outputs: Vec<Outgoing>,
    pub(super) calls: Vec<Call>,
    pub(super) gates: Vec<Gate>,
    pub(super) combined: Vec<u32>,
    /// The width of each wire.
    pub(super) widths: Vec<u8>,
    /// Steps that the outputs need, in an executable order.
    pub(super) order: Vec<ModuleStep>,
}

impl HyccModule {
    /// The operands of a gate.
    pub(super) fn operands<'a>(&'a self, gate: &'a Gate) -> &'a [u32] {
        match gate {
            Gate::Compute { operation, operands, .. } => &operands[..operation.operand_count()],
            Gate::Constant { .. } => &[],
            Gate::Combine { operands, .. } => {
                &self.combined[operands.start as usize..operands.end as usize]
            }
            Gate::Split { operand, .. } => std::slice::from_ref(operand),
        }
    }

    pub(super) fn widths_of(&self, wires: Range<u32>) -> &[u8] {
        &self.widths[wires.start as usize..wires.end as usize]
    }
}
