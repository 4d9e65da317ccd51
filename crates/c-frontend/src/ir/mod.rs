//! The program as the interpreter runs it: LLVM's instructions with operands and layouts resolved.

pub(crate) mod bounds;
pub(crate) mod compare;
pub(crate) mod control_flow;
pub(crate) mod float;
pub(crate) mod liveness;
pub(crate) mod module;

use crate::diagnostic::SourceLocation;
use crate::ir::float::FloatOperation;

/// Where an instruction came from: file (an index), line and column, counted from 1; 0 is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct InstructionLocation {
    pub(crate) file: u16,
    pub(crate) column: u16,
    pub(crate) line: u32,
}

impl InstructionLocation {
    /// The place for people.
    pub(crate) fn spot(self, files: &[String]) -> SourceLocation {
        SourceLocation {
            file: files.get(usize::from(self.file)).cloned().unwrap_or_default(),
            line: self.line,
            column: u32::from(self.column),
        }
    }
}

/// A register of the running function, or one of its constants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IrOperand {
    Register(u32),
    Constant(u32),
}

/// A constant operand.
#[derive(Clone, Debug)]
pub(crate) enum Constant {
    Undefined,
    Integer(u128),
    Null,
    /// A global variable and an offset in it.
    Global(u32, i64),
    Function(u32),
    Many(Vec<Constant>),
    /// Floating point of another format than those of C's `float` and `double`.
    UnsupportedFloat,
    /// Something that has no meaning here.
    Unsupported,
}

/// A type of values in registers and memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Void,
    /// An integer of 1 to 128 bits, or the bits of a floating-point number of 16, 32 or 64.
    Integer(u16),
    Pointer,
    /// Elements with their offsets, and the size of all.
    Many(Vec<(Type, u64)>, u64),
    /// Floating point of another format, or wider than 128 bits.
    Unsupported(String),
}

impl Type {
    /// Bytes that a load or store of it touches.
    pub(crate) fn size_bytes(&self) -> u64 {
        match self {
            Type::Void | Type::Unsupported(_) => 0,
            Type::Integer(width) => u64::from(width.div_ceil(8)),
            Type::Pointer => 8,
            Type::Many(_, size) => *size,
        }
    }

    /// The width of an integer or of the elements.
    pub(crate) fn width(&self) -> u16 {
        match self {
            Type::Integer(width) => *width,
            Type::Pointer => 64,
            Type::Many(elements, _) => elements.first().map_or(0, |(element, _)| element.width()),
            Type::Void | Type::Unsupported(_) => 0,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
    UMin,
    UMax,
    SMin,
    SMax,
    UAddSat,
    SAddSat,
    USubSat,
    SSubSat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    Ult,
    Ule,
    Ugt,
    Uge,
    Slt,
    Sle,
    Sgt,
    Sge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Unary {
    Truncate,
    ZeroExtend,
    SignExtend,
    Abs,
    PopCount,
    LeadingZeros,
    TrailingZeros,
    ByteSwap,
    BitReverse,
}

/// One index of an address computation: `stride` bytes each, below `bound` where C says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Index {
    pub(crate) operand: IrOperand,
    pub(crate) width: u16,
    pub(crate) stride: i64,
    pub(crate) bound: Option<u64>,
    pub(crate) multiple: Option<Multiple>,
}

/// An index is `factor` times the operand, an integer of `width` bits. If that is not exact, the product may wrap, and then the
/// factor cannot be taken as part of the stride.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Multiple {
    pub(crate) operand: IrOperand,
    pub(crate) width: u16,
    pub(crate) factor: i64,
    pub(crate) is_exact: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum OperationKind {
    /// Operation, width.
    Binary(Binary, u16, [IrOperand; 2]),
    Compare(Compare, u16, [IrOperand; 2]),
    /// Operation, from and to width.
    Unary(Unary, u16, u16, IrOperand),
    /// Operation, width of the operands and of the result.
    Float(FloatOperation, u16, u16, Vec<IrOperand>),
    /// Width, condition, both.
    Select(u16, [IrOperand; 3]),
    /// Funnel shift to the left or right of the width.
    Funnel(bool, u16, [IrOperand; 3]),
    /// Result and whether it overflowed; signed or not.
    Overflow(Binary, bool, u16, [IrOperand; 2]),
    /// All elements into one by the operation.
    Reduce(Binary, u16, IrOperand),
    Load(Type, IrOperand),
    Store(Type, [IrOperand; 2]),
    /// The variable, bytes of one element, granule, count.
    Allocate(String, u64, u8, IrOperand),
    Address(IrOperand, i64, Vec<Index>),
    /// Difference of two addresses, and back, both as integers of 64 bits.
    ToInteger(IrOperand),
    ToPointer(IrOperand),
    Call(u32, Vec<IrOperand>),
    CallPointer(IrOperand, Vec<IrOperand>),
    /// `memcpy` and `memmove`: target, source, bytes.
    Copy([IrOperand; 3]),
    /// `memset`: target, byte, bytes.
    Fill([IrOperand; 3]),
    /// `malloc` and `calloc`: bytes or count and bytes each.
    Heap(Vec<IrOperand>, bool),
    /// The variable at this address begins to live, and is not set.
    Begin(IrOperand),
    Extract(IrOperand, Vec<u32>),
    Insert(IrOperand, IrOperand, Vec<u32>),
    ExtractElement([IrOperand; 2]),
    InsertElement([IrOperand; 3]),
    /// Mask, negative where undefined.
    Shuffle([IrOperand; 2], Vec<i32>),
    Freeze(IrOperand),
    /// `ph_reveal`: a secret of this width becomes public when the program runs.
    Reveal(u16, IrOperand),
    /// An unsupported construct, and what to write instead.
    Unsupported(String, String),
}

impl OperationKind {
    /// The operands.
    pub(crate) fn operands(&self) -> Vec<IrOperand> {
        match self {
            OperationKind::Binary(_, _, operands)
            | OperationKind::Compare(_, _, operands)
            | OperationKind::Overflow(_, _, _, operands)
            | OperationKind::Store(_, operands)
            | OperationKind::ExtractElement(operands)
            | OperationKind::Shuffle(operands, _) => operands.to_vec(),
            OperationKind::Select(_, operands)
            | OperationKind::Funnel(_, _, operands)
            | OperationKind::Copy(operands)
            | OperationKind::Fill(operands)
            | OperationKind::InsertElement(operands) => operands.to_vec(),
            OperationKind::Unary(_, _, _, operand)
            | OperationKind::Reduce(_, _, operand)
            | OperationKind::Load(_, operand)
            | OperationKind::Allocate(_, _, _, operand)
            | OperationKind::ToInteger(operand)
            | OperationKind::ToPointer(operand)
            | OperationKind::Extract(operand, _)
            | OperationKind::Begin(operand)
            | OperationKind::Freeze(operand)
            | OperationKind::Reveal(_, operand) => vec![*operand],
            OperationKind::Address(base, _, indices) => {
                let multiples = indices.iter().filter_map(|index| index.multiple);
                let own = indices.iter().map(|index| index.operand);
                let all = own.chain(multiples.map(|multiple| multiple.operand));
                [*base].into_iter().chain(all).collect()
            }
            OperationKind::Call(_, operands)
            | OperationKind::Heap(operands, _)
            | OperationKind::Float(_, _, _, operands) => operands.clone(),
            OperationKind::CallPointer(target, operands) => {
                [*target].into_iter().chain(operands.iter().copied()).collect()
            }
            OperationKind::Insert(a, b, _) => vec![*a, *b],
            OperationKind::Unsupported(..) => Vec::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct IrInstruction {
    pub(crate) result: u32,
    pub(crate) place: InstructionLocation,
    pub(crate) kind: OperationKind,
}

/// A choice by the edge on which the block was entered.
#[derive(Clone, Debug)]
pub(crate) struct Phi {
    pub(crate) result: u32,
    pub(crate) width: u16,
    pub(crate) incoming: Vec<(u32, IrOperand)>,
}

impl Phi {
    /// The operand on the edge from block `from`.
    pub(crate) fn from(&self, from: u32) -> IrOperand {
        let found = self.incoming.iter().find(|(block, _)| *block == from);
        found.expect("a phi names each block that goes to its own").1
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Terminator {
    Jump(u32),
    Branch(IrOperand, u32, u32),
    /// Width, cases, default.
    Switch(IrOperand, Vec<(u128, u32)>, u32),
    Return(Option<IrOperand>),
    Unreachable,
}

impl Terminator {
    /// The operands.
    pub(crate) fn operand(&self) -> Option<IrOperand> {
        match self {
            Terminator::Branch(operand, ..) | Terminator::Switch(operand, ..) => Some(*operand),
            Terminator::Return(operand) => *operand,
            Terminator::Jump(_) | Terminator::Unreachable => None,
        }
    }

    pub(crate) fn successors(&self) -> Vec<u32> {
        match self {
            Terminator::Jump(target) => vec![*target],
            Terminator::Branch(_, yes, no) => vec![*yes, *no],
            Terminator::Switch(_, cases, default) => {
                cases.iter().map(|(_, block)| *block).chain([*default]).collect()
            }
            Terminator::Return(_) | Terminator::Unreachable => Vec::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct IrBlock {
    pub(crate) phis: Vec<Phi>,
    pub(crate) instructions: Vec<IrInstruction>,
    pub(crate) terminator: Terminator,
    /// Of the terminator.
    pub(crate) place: InstructionLocation,
    /// Whether there was an edge out of it that C says is never taken: LLVM leaves an assumption.
    pub(crate) assumes: bool,
}
