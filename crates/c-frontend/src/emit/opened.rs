//! Integers that are opened when the program runs (`ph_reveal`), and computation on them alone.
//!
//! Where registers can do it, it costs nothing, and the result may decide branches. All else is
//! computed as with a secret, and so is what depends on a secret as well.
//!
//! Invariant: a register holds the integer without sign, zero above its width.

use phineus_bytecode::ElementType;
use phineus_frontend::untyped::Value;
use phineus_frontend::{Register, RegisterOp};

use crate::data::{CellValue, fold, mask};
use crate::emit::Emitter;
use crate::ir::{Binary, Compare, Unary};

/// The widest that a register holds.
const WIDTH_MAX: u16 = phineus_bytecode::limits::REGISTER_BITS;

impl Emitter {
    /// Opens a value to all parties under the name of its place; a second one in the same block
    /// gets a number.
    pub(crate) fn open(&mut self, mut name: String, value: &Value) -> Register {
        let opened = self.opened.names.entry((self.tracer.block(), name.clone())).or_default();
        *opened += 1;
        if *opened > 1 {
            name += &format!(" ({opened})");
        }
        self.tracer.open(&name, value)
    }
}

impl Emitter {
    /// The register of an integer that all parties know when the program runs.
    fn register_of(&mut self, data: &CellValue) -> Option<Register> {
        match data {
            CellValue::Opened(register) => Some(*register),
            CellValue::Public(value) => {
                let value = u64::try_from(*value).ok()?;
                let tracer = &self.tracer;
                let known = self.opened.constants.entry((tracer.block(), value));
                Some(*known.or_insert_with(|| tracer.register(value)))
            }
            _ => None,
        }
    }

    /// As [`Emitter::register_of`], of all operands, if it is worth it.
    fn registers<const N: usize>(
        &mut self,
        width: u16,
        data: [&CellValue; N],
    ) -> Option<[Register; N]> {
        let is_known =
            |data: &&CellValue| matches!(data, CellValue::Opened(_) | CellValue::Public(_));
        let any_opened = data.iter().any(|data| matches!(data, CellValue::Opened(_)));
        if width > WIDTH_MAX || !any_opened || self.is_dry_run || !data.iter().all(is_known) {
            return None;
        }
        let mut found = data.map(|data| self.register_of(data)).into_iter();
        let first = found.next().flatten()?;
        let mut all = [first; N];
        for place in &mut all[1..] {
            *place = found.next().flatten()?;
        }
        Some(all)
    }

    fn compute(&mut self, op: RegisterOp, a: Register, b: Register) -> Register {
        self.tracer.compute(op, a, b)
    }

    fn with_constant(&mut self, op: RegisterOp, a: Register, constant: u128) -> Register {
        let constant = self.register_of(&CellValue::Public(constant)).expect("it has 64 bits");
        self.compute(op, a, constant)
    }

    /// Cut to `width` bits.
    fn cut(&mut self, register: Register, width: u16) -> CellValue {
        CellValue::Opened(match width {
            WIDTH_MAX => register,
            _ => self.with_constant(RegisterOp::And, register, mask(width)),
        })
    }

    /// A binary operation on what is opened; `None` if it is not, or registers cannot do it.
    pub(crate) fn opened_binary(
        &mut self,
        op: Binary,
        width: u16,
        a: &CellValue,
        b: &CellValue,
    ) -> Option<CellValue> {
        if let (Binary::Shl, CellValue::Public(amount)) = (op, b) {
            let factor = 1u128.checked_shl(*amount as u32)?;
            return match *amount < u128::from(width.min(WIDTH_MAX)) {
                true => self.opened_binary(Binary::Mul, width, a, &CellValue::Public(factor)),
                false => None,
            };
        }
        if let Some(public) = decided(op, width, a, b) {
            return Some(CellValue::Public(public));
        }
        let compare = match op {
            Binary::UMin => Some(Compare::Ult),
            Binary::UMax => Some(Compare::Ugt),
            Binary::SMin => Some(Compare::Slt),
            Binary::SMax => Some(Compare::Sgt),
            _ => None,
        };
        if let Some(compare) = compare {
            let first = self.opened_compare(compare, width, a, b)?;
            let found = self.opened_select(&first, a, b, width)?;
            if let (Compare::Slt | Compare::Ult, CellValue::Opened(least)) = (compare, &found)
                && let (CellValue::Public(most), _) | (_, CellValue::Public(most)) = (a, b)
            {
                self.opened.most.insert(*least, (compare, *most));
            }
            return Some(found);
        }
        let done = match op {
            Binary::Add => RegisterOp::Add,
            Binary::Sub => RegisterOp::Sub,
            Binary::Mul => RegisterOp::Mul,
            Binary::And => RegisterOp::And,
            Binary::Or => RegisterOp::Or,
            Binary::Xor => RegisterOp::Xor,
            _ => return None,
        };
        let [a, b] = self.registers(width, [a, b])?;
        let result = self.compute(done, a, b);
        Some(match op {
            Binary::And | Binary::Or | Binary::Xor => CellValue::Opened(result),
            _ => self.cut(result, width),
        })
    }

    /// Whether `public < opened` or the like can hold at all: `i < n && i < N` is `i < least(n, N)`
    /// when we see it.
    fn is_beyond(&self, op: Compare, width: u16, a: &CellValue, b: &CellValue) -> bool {
        let (op, at, register) = match (op, a, b) {
            (Compare::Slt | Compare::Ult, CellValue::Public(at), CellValue::Opened(r)) => {
                (op, at, r)
            }
            (Compare::Sgt, CellValue::Opened(r), CellValue::Public(at)) => (Compare::Slt, at, r),
            (Compare::Ugt, CellValue::Opened(r), CellValue::Public(at)) => (Compare::Ult, at, r),
            _ => return false,
        };
        self.opened
            .most
            .get(register)
            .is_some_and(|(known, most)| *known == op && !fold::compare(op, width, *at, *most))
    }

    /// Whether a comparison ends with a public one, whatever is opened.
    pub(crate) fn has_most(&self, a: &CellValue, b: &CellValue) -> bool {
        match (a, b) {
            (CellValue::Opened(register), CellValue::Public(_))
            | (CellValue::Public(_), CellValue::Opened(register)) => {
                self.opened.most.contains_key(register)
            }
            _ => false,
        }
    }

    /// A comparison of what is opened.
    pub(crate) fn opened_compare(
        &mut self,
        op: Compare,
        width: u16,
        a: &CellValue,
        b: &CellValue,
    ) -> Option<CellValue> {
        if self.is_beyond(op, width, a, b) {
            return Some(CellValue::bit(false));
        }
        let [mut a, mut b] = self.registers(width, [a, b])?;
        if matches!(op, Compare::Slt | Compare::Sle | Compare::Sgt | Compare::Sge) {
            // In order of the sign: x + 2^(width - 1) without sign.
            let sign = 1 << (width - 1);
            a = self.with_constant(RegisterOp::Xor, a, sign);
            b = self.with_constant(RegisterOp::Xor, b, sign);
        }
        Some(CellValue::Opened(match op {
            Compare::Eq => self.compute(RegisterOp::Eq, a, b),
            Compare::Ne => self.compute(RegisterOp::Ne, a, b),
            Compare::Ult | Compare::Slt => self.compute(RegisterOp::Lt, a, b),
            Compare::Ule | Compare::Sle => self.compute(RegisterOp::Le, a, b),
            Compare::Ugt | Compare::Sgt => self.compute(RegisterOp::Lt, b, a),
            Compare::Uge | Compare::Sge => self.compute(RegisterOp::Le, b, a),
        }))
    }

    /// Another width of what is opened.
    pub(crate) fn opened_unary(
        &mut self,
        op: Unary,
        from: u16,
        to: u16,
        a: &CellValue,
    ) -> Option<CellValue> {
        let [register] = self.registers(from.max(to), [a])?;
        match op {
            Unary::Truncate => Some(self.cut(register, to)),
            Unary::ZeroExtend => Some(CellValue::Opened(register)),
            Unary::SignExtend => {
                let sign = 1 << (from - 1);
                let moved = self.with_constant(RegisterOp::Xor, register, sign);
                let extended = self.with_constant(RegisterOp::Sub, moved, sign);
                Some(self.cut(extended, to))
            }
            _ => None,
        }
    }

    /// A choice among what is opened: `b + c (a - b)`.
    pub(crate) fn opened_select(
        &mut self,
        condition: &CellValue,
        a: &CellValue,
        b: &CellValue,
        width: u16,
    ) -> Option<CellValue> {
        if !matches!(condition, CellValue::Opened(_)) {
            return None;
        }
        let [condition, a, b] = self.registers(width, [condition, a, b])?;
        let difference = self.compute(RegisterOp::Sub, a, b);
        let chosen = self.compute(RegisterOp::Mul, condition, difference);
        let result = self.compute(RegisterOp::Add, b, chosen);
        Some(CellValue::Opened(result))
    }

    /// The register as an operand of `width` bits.
    pub(crate) fn published(
        &mut self,
        register: Register,
        width: u16,
    ) -> phineus_frontend::untyped::Value {
        self.tracer.publish(register, ElementType::unsigned(width), 1)
    }
}

/// The result that a public operand decides alone, whatever is opened: `i >= N || i >= n` where `i` is `N`.
fn decided(op: Binary, width: u16, a: &CellValue, b: &CellValue) -> Option<u128> {
    let known = match (a, b) {
        (CellValue::Public(known), CellValue::Opened(_))
        | (CellValue::Opened(_), CellValue::Public(known)) => *known,
        _ => return None,
    };
    match op {
        Binary::And | Binary::Mul => (known == 0).then_some(0),
        Binary::Or => (known == mask(width)).then_some(known),
        _ => None,
    }
}
