//! [`Assignment`]: the sharing of each instruction, as a protocol has it.

use phineus_bytecode::limits::RING_WIDTH_MAX;
use phineus_bytecode::{ElementType, Instruction, Op, Sharing};

use super::{AssignedValue, STATE_SHARING};

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
    pub(super) fn moves_shares_only(self) -> bool {
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

    /// The sharing of `instruction`, given what its operands have, and whether it moves what feeds products only.
    pub(super) fn sharing<'a>(
        self,
        instruction: &Instruction,
        operand: impl Fn(usize) -> &'a AssignedValue,
        is_feeding: bool,
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
                Sharing::Any if prefers_arithmetic(instruction, operand, is_feeding) => {
                    Sharing::Arithmetic
                }
                Sharing::Any | Sharing::Boolean | Sharing::Garbled => Sharing::Boolean,
                Sharing::Arithmetic => Sharing::Arithmetic,
            },
            Assignment::Arithmetic => of_sums_and_products(instruction, operand, is_feeding),
        }
    }
}

/// Whether a movement of lanes is one of arithmetic shares: of what has been computed so, and of inputs and constants that
/// are needed so.
fn moves_arithmetic_shares(moved: &AssignedValue, is_feeding: bool) -> bool {
    let is_open = |source: &Instruction| source.element.sharing() == Sharing::Any;
    match moved.source.as_ref().is_some_and(is_open) {
        true => is_feeding,
        false => moved.is_in(Sharing::Arithmetic),
    }
}

/// Arithmetic sharing for sums and products and for movements of what has it or feeds nothing else, and Boolean sharing for
/// all else.
pub(super) fn of_sums_and_products<'a>(
    instruction: &Instruction,
    operand: impl Fn(usize) -> &'a AssignedValue,
    is_feeding: bool,
) -> Sharing {
    let width = instruction.element.width();
    let fits = width > 1 && width <= RING_WIDTH_MAX;
    match instruction.op {
        Op::Add | Op::Sub | Op::Neg | Op::Mul | Op::MatMul if fits => Sharing::Arithmetic,
        Op::LaneSum if fits && instruction.immediates[0] == u64::from(width) => Sharing::Arithmetic,
        // Of shares modulo 2^w the carries out of w bits are not known.
        Op::LaneSum => Sharing::Boolean,
        op if op.is_lane_movement() && fits => {
            match moves_arithmetic_shares(operand(0), is_feeding) {
                true => Sharing::Arithmetic,
                false => Sharing::Boolean,
            }
        }
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

/// Whether an operation brings in or moves bits, and does nothing else with them.
fn moves(op: Op) -> bool {
    op.is_movement() || matches!(op, Op::Xor | Op::Input | Op::Constant | Op::Convert)
}

/// Whether an instruction of which the program says nothing is computed in arithmetic sharing: products, which
/// cost far less there than conversions save, and sums and movements of what was computed there, or of
/// nothing but inputs and constants, which come in any sharing.
fn prefers_arithmetic<'a>(
    instruction: &Instruction,
    operand: impl Fn(usize) -> &'a AssignedValue,
    is_feeding: bool,
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
        op if op.is_lane_movement() => moves_arithmetic_shares(operand(0), is_feeding),
        op => {
            op.is_arithmetic()
                && operands().next().is_some_and(|value| value.is_in(Sharing::Arithmetic))
        }
    }
}
