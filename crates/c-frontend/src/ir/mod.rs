//! The program as the interpreter runs it: LLVM's instructions with operands and layouts resolved.

pub(crate) mod bounds;
pub(crate) mod compare;
pub(crate) mod control_flow;
pub(crate) mod liveness;
pub(crate) mod module;

use crate::diagnostic::Spot;

/// Where an instruction came from: file (an index), line and column, counted from 1; 0 is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) file: u16,
    pub(crate) column: u16,
    pub(crate) line: u32,
}

impl Place {
    /// The place for people.
    pub(crate) fn spot(self, files: &[String]) -> Spot {
        Spot {
            file: files.get(usize::from(self.file)).cloned().unwrap_or_default(),
            line: self.line,
            column: u32::from(self.column),
        }
    }
}

/// A register of the running function, or one of its constants.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
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
    /// Floating point, which there is not.
    Float,
    /// Something that has no meaning here.
    Unsupported,
}

/// A type of values in registers and memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Void,
    /// An integer of 1 to 128 bits.
    Integer(u16),
    Pointer,
    /// Elements with their offsets, and the size of all.
    Many(Vec<(Type, u64)>, u64),
    /// Floating point, or wider than 128 bits.
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
    pub(crate) operand: Operand,
    pub(crate) width: u16,
    pub(crate) stride: i64,
    pub(crate) bound: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Operation, width.
    Binary(Binary, u16, [Operand; 2]),
    Compare(Compare, u16, [Operand; 2]),
    /// Operation, from and to width.
    Unary(Unary, u16, u16, Operand),
    /// Width, condition, both.
    Select(u16, [Operand; 3]),
    /// Funnel shift to the left or right of the width.
    Funnel(bool, u16, [Operand; 3]),
    /// Result and whether it overflowed; signed or not.
    Overflow(Binary, bool, u16, [Operand; 2]),
    /// All elements into one by the operation.
    Reduce(Binary, u16, Operand),
    Load(Type, Operand),
    Store(Type, [Operand; 2]),
    /// The variable, bytes of one element, granule, count.
    Allocate(String, u64, u8, Operand),
    Address(Operand, i64, Vec<Index>),
    /// Difference of two addresses, and back, both as integers of 64 bits.
    ToInteger(Operand),
    ToPointer(Operand),
    Call(u32, Vec<Operand>),
    CallPointer(Operand, Vec<Operand>),
    /// `memcpy` and `memmove`: target, source, bytes.
    Copy([Operand; 3]),
    /// `memset`: target, byte, bytes.
    Fill([Operand; 3]),
    /// `malloc` and `calloc`: bytes or count and bytes each.
    Heap(Vec<Operand>, bool),
    /// The variable at this address begins to live, and is not set.
    Begin(Operand),
    Extract(Operand, Vec<u32>),
    Insert(Operand, Operand, Vec<u32>),
    ExtractElement([Operand; 2]),
    InsertElement([Operand; 3]),
    /// Mask, negative where undefined.
    Shuffle([Operand; 2], Vec<i32>),
    Freeze(Operand),
    /// `ph_reveal`: a secret of this width becomes public when the program runs.
    Reveal(u16, Operand),
    /// An unsupported construct, and what to write instead.
    Unsupported(String, String),
}

impl Kind {
    /// The operands.
    pub(crate) fn operands(&self) -> Vec<Operand> {
        match self {
            Kind::Binary(_, _, operands)
            | Kind::Compare(_, _, operands)
            | Kind::Overflow(_, _, _, operands)
            | Kind::Store(_, operands)
            | Kind::ExtractElement(operands)
            | Kind::Shuffle(operands, _) => operands.to_vec(),
            Kind::Select(_, operands)
            | Kind::Funnel(_, _, operands)
            | Kind::Copy(operands)
            | Kind::Fill(operands)
            | Kind::InsertElement(operands) => operands.to_vec(),
            Kind::Unary(_, _, _, operand)
            | Kind::Reduce(_, _, operand)
            | Kind::Load(_, operand)
            | Kind::Allocate(_, _, _, operand)
            | Kind::ToInteger(operand)
            | Kind::ToPointer(operand)
            | Kind::Extract(operand, _)
            | Kind::Begin(operand)
            | Kind::Freeze(operand)
            | Kind::Reveal(_, operand) => vec![*operand],
            Kind::Address(base, _, indices) => {
                [*base].into_iter().chain(indices.iter().map(|index| index.operand)).collect()
            }
            Kind::Call(_, operands) | Kind::Heap(operands, _) => operands.clone(),
            Kind::CallPointer(target, operands) => {
                [*target].into_iter().chain(operands.iter().copied()).collect()
            }
            Kind::Insert(a, b, _) => vec![*a, *b],
            Kind::Unsupported(..) => Vec::new(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) result: u32,
    pub(crate) place: Place,
    pub(crate) kind: Kind,
}

/// A choice by the edge on which the block was entered.
#[derive(Clone, Debug)]
pub(crate) struct Phi {
    pub(crate) result: u32,
    pub(crate) width: u16,
    pub(crate) incoming: Vec<(u32, Operand)>,
}

impl Phi {
    /// The operand on the edge from block `from`.
    pub(crate) fn from(&self, from: u32) -> Operand {
        let found = self.incoming.iter().find(|(block, _)| *block == from);
        found.expect("a phi names each block that goes to its own").1
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Terminator {
    Jump(u32),
    Branch(Operand, u32, u32),
    /// Width, cases, default.
    Switch(Operand, Vec<(u128, u32)>, u32),
    Return(Option<Operand>),
    Unreachable,
}

impl Terminator {
    /// The operands.
    pub(crate) fn operand(&self) -> Option<Operand> {
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
pub(crate) struct Block {
    pub(crate) phis: Vec<Phi>,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) terminator: Terminator,
    /// Of the terminator.
    pub(crate) place: Place,
    /// Whether there was an edge out of it that C says is never taken: LLVM leaves an assumption.
    pub(crate) assumes: bool,
}
