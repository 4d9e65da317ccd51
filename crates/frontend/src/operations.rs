//! The operations on [`Value`]s: integers and bits, lane by lane.

use phineus_bytecode::{ElementType, Lane, Op, Sharing};

use crate::value::Value;
use crate::{fold, sharing};

impl Value {
    /// Records `op` on two values of one type with a result of that type, or of one bit.
    #[track_caller]
    fn binary(&self, op: Op, other: &Value) -> Value {
        let bit = matches!(op, Op::Eq | Op::Ne | Op::Lt | Op::Le);
        let Some((a, b)) = self.aligned(op.info().name, other) else {
            let element = if bit { ElementType::BIT } else { self.element() };
            return Value::poisoned(self.tracer(), element, self.lanes());
        };
        let Some(sharing) = sharing::common(op, &[&a, &b]) else {
            let element = if bit { ElementType::BIT } else { self.element() };
            return Value::poisoned(self.tracer(), element, a.lanes());
        };
        if (a.public().is_some() || b.public().is_some())
            && let Some(simple) = match sharing {
                Sharing::Arithmetic => fold::arithmetic(op, &a, &b),
                _ => fold::binary(op, &a, &b),
            }
        {
            return simple;
        }
        a.emit(op, a.element(), a.lanes(), &[&a, &b], [0; 4])
    }

    /// Records `op` on this value alone.
    #[track_caller]
    fn unary(&self, op: Op, element: ElementType, immediates: [u64; 4]) -> Value {
        if let Some(constant) = fold::constant(op, element, &[self], immediates) {
            return constant;
        }
        self.emit(op, element, self.lanes(), &[self], immediates)
    }

    /// Bitwise and.
    #[track_caller]
    pub fn and(&self, other: &Value) -> Value {
        self.binary(Op::And, other)
    }

    /// Bitwise or.
    #[track_caller]
    pub fn or(&self, other: &Value) -> Value {
        self.binary(Op::Or, other)
    }

    /// Bitwise exclusive or.
    #[track_caller]
    pub fn xor(&self, other: &Value) -> Value {
        self.binary(Op::Xor, other)
    }

    /// Bitwise complement.
    #[track_caller]
    pub fn not(&self) -> Value {
        self.unary(Op::Not, self.element(), [0; 4])
    }

    /// Sum, wrapping.
    #[track_caller]
    pub fn add(&self, other: &Value) -> Value {
        if let Some(sum) = self.delayed_sum(other) {
            return sum;
        }
        self.binary(Op::Add, other)
    }

    /// The sum of all, wrapping; none if there are none.
    ///
    /// As many additions as one after another, in a tree: protocols with rounds add in their
    /// logarithm. At most one partial sum of each height waits.
    #[track_caller]
    pub fn sum_of(terms: impl IntoIterator<Item = Value>) -> Option<Value> {
        let mut waiting: Vec<(u32, Value)> = Vec::new();
        for term in terms {
            let (mut height, mut sum) = (0, term);
            while let Some((_, left)) = waiting.pop_if(|(other, _)| *other == height) {
                sum = left.add(&sum);
                height += 1;
            }
            waiting.push((height, sum));
        }
        let (_, mut sum) = waiting.pop()?;
        while let Some((_, left)) = waiting.pop() {
            sum = left.add(&sum);
        }
        Some(sum)
    }

    /// Difference, wrapping.
    #[track_caller]
    pub fn sub(&self, other: &Value) -> Value {
        self.binary(Op::Sub, other)
    }

    /// Negation, wrapping.
    #[track_caller]
    pub fn neg(&self) -> Value {
        self.unary(Op::Neg, self.element(), [0; 4])
    }

    /// Product, low half.
    #[track_caller]
    pub fn mul(&self, other: &Value) -> Value {
        self.binary(Op::Mul, other)
    }

    /// Product of twice the width.
    #[track_caller]
    pub fn mul_full(&self, other: &Value) -> Value {
        let element =
            ElementType::integer(self.width().saturating_mul(2), self.element().is_signed());
        let Some((a, b)) = self.aligned("mul_full", other) else {
            return Value::poisoned(self.tracer(), element, self.lanes());
        };
        if let Some(constant) = fold::constant(Op::MulFull, element, &[&a, &b], [0; 4]) {
            return constant;
        }
        a.emit(Op::MulFull, element, a.lanes(), &[&a, &b], [0; 4])
    }

    /// Quotient, rounded towards zero; by zero all ones.
    #[track_caller]
    pub fn div(&self, other: &Value) -> Value {
        self.binary(Op::Div, other)
    }

    /// Remainder with the sign of the dividend; by zero the dividend.
    #[track_caller]
    pub fn rem(&self, other: &Value) -> Value {
        self.binary(Op::Rem, other)
    }

    /// Quotient and remainder at the price of one.
    #[track_caller]
    pub fn div_rem(&self, other: &Value) -> (Value, Value) {
        let Some((a, b)) = self.aligned("div_rem", other) else {
            let poisoned = Value::poisoned(self.tracer(), self.element(), self.lanes());
            return (poisoned.clone(), poisoned);
        };
        if let (Some(div), Some(rem)) =
            (fold::binary(Op::Div, &a, &b), fold::binary(Op::Rem, &a, &b))
        {
            return (div, rem);
        }
        a.emit_pair(Op::DivRem, a.element(), a.lanes(), &[&a, &b], [0; 4])
    }

    /// Absolute value, wrapping.
    #[track_caller]
    pub fn abs(&self) -> Value {
        if !self.element().is_signed() {
            return self.clone();
        }
        self.unary(Op::Abs, self.element(), [0; 4])
    }

    /// The smaller.
    #[track_caller]
    pub fn min(&self, other: &Value) -> Value {
        self.binary(Op::Min, other)
    }

    /// The larger.
    #[track_caller]
    pub fn max(&self, other: &Value) -> Value {
        self.binary(Op::Max, other)
    }

    /// Whether equal.
    #[track_caller]
    pub fn eq(&self, other: &Value) -> Value {
        self.binary(Op::Eq, other)
    }

    /// Whether different.
    #[track_caller]
    pub fn ne(&self, other: &Value) -> Value {
        self.binary(Op::Ne, other)
    }

    /// Whether less.
    #[track_caller]
    pub fn lt(&self, other: &Value) -> Value {
        self.binary(Op::Lt, other)
    }

    /// Whether less or equal.
    #[track_caller]
    pub fn le(&self, other: &Value) -> Value {
        self.binary(Op::Le, other)
    }

    /// Where this bit is 1 the first, else the second.
    #[track_caller]
    pub fn select(&self, when_one: &Value, when_zero: &Value) -> Value {
        let aligned = when_one.aligned("mux", when_zero).and_then(|(a, b)| {
            let (select, _) = self.aligned_bit("mux", a.lanes())?;
            let lanes = select.lanes();
            Some((select, a.tile_if_one(lanes), b.tile_if_one(lanes)))
        });
        let poisoned = Value::poisoned(self.tracer(), when_one.element(), when_one.lanes());
        let Some((select, a, b)) = aligned else { return poisoned };
        if sharing::common(Op::Mux, &[&select, &a, &b]).is_none() {
            return poisoned;
        }
        if let Some(simple) = fold::select(&select, &a, &b) {
            return simple;
        }
        a.emit(Op::Mux, a.element(), a.lanes(), &[&select, &a, &b], [0; 4])
    }

    /// Both, exchanged where this bit is 1.
    #[track_caller]
    pub fn swap(&self, first: &Value, second: &Value) -> (Value, Value) {
        let aligned = first.aligned("cond_swap", second).and_then(|(a, b)| {
            let (select, _) = self.aligned_bit("cond_swap", a.lanes())?;
            let lanes = select.lanes();
            Some((select, a.tile_if_one(lanes), b.tile_if_one(lanes)))
        });
        let Some((select, a, b)) = aligned else {
            let poisoned = Value::poisoned(self.tracer(), first.element(), first.lanes());
            return (poisoned.clone(), poisoned);
        };
        if let Some(select) = select.public() {
            return if select.is_zero() { (a, b) } else { (b, a) };
        }
        a.emit_pair(Op::CondSwap, a.element(), a.lanes(), &[&select, &a, &b], [0; 4])
    }

    /// The value where this bit is 1, else 0.
    #[track_caller]
    pub fn mask(&self, value: &Value) -> Value {
        let Some((select, _)) = self.aligned_bit("mask", value.lanes()) else {
            return Value::poisoned(self.tracer(), value.element(), value.lanes());
        };
        let value = value.tile_if_one(select.lanes());
        if sharing::common(Op::Mask, &[&select, &value]).is_none() {
            return Value::poisoned(self.tracer(), value.element(), value.lanes());
        }
        if let Some(simple) = fold::select(&select, &value, &value.like(Lane::ZERO)) {
            return simple;
        }
        value.emit(Op::Mask, value.element(), value.lanes(), &[&select, &value], [0; 4])
    }

    /// This bit with at least `lanes` lanes; a fault if it is not one bit.
    #[track_caller]
    fn aligned_bit(&self, name: &str, lanes: u32) -> Option<(Value, u32)> {
        if self.width() != 1 {
            let width = self.width();
            self.tracer().fault(format!("{name} needs 1 bit to choose by, got {width}"));
            return None;
        }
        Some((self.tile_if_one(lanes), lanes))
    }

    /// Repeated to `lanes` if it has one lane, else as it is.
    #[track_caller]
    fn tile_if_one(&self, lanes: u32) -> Value {
        if self.lanes() == 1 && lanes > 1 { self.tile(lanes) } else { self.clone() }
    }

    /// Shifted left by a public amount.
    #[track_caller]
    pub fn shift_left(&self, amount: u64) -> Value {
        match amount {
            0 => self.clone(),
            _ => self.unary(Op::ShiftLeft, self.element(), [amount, 0, 0, 0]),
        }
    }

    /// Shifted right by a public amount, copying the sign if signed.
    #[track_caller]
    pub fn shift_right(&self, amount: u64) -> Value {
        match amount {
            0 => self.clone(),
            _ => self.unary(Op::ShiftRight, self.element(), [amount, 0, 0, 0]),
        }
    }

    /// Rotated left by a public amount.
    #[track_caller]
    pub fn rotate_left(&self, amount: u64) -> Value {
        match amount % u64::from(self.width()) {
            0 => self.clone(),
            amount => self.unary(Op::RotateLeft, self.element(), [amount, 0, 0, 0]),
        }
    }

    /// Records a shift by a secret unsigned amount.
    #[track_caller]
    fn shift_by(&self, op: Op, amount: &Value) -> Value {
        let lanes = self.lanes().max(amount.lanes());
        let (value, amount) = (self.tile_if_one(lanes), amount.tile_if_one(lanes));
        let immediates = [u64::from(amount.width()), 0, 0, 0];
        if let Some(constant) = fold::constant(op, value.element(), &[&value, &amount], immediates)
        {
            return constant;
        }
        value.emit(op, value.element(), lanes, &[&value, &amount], immediates)
    }

    /// Shifted left by a secret unsigned amount.
    #[track_caller]
    pub fn shift_left_by(&self, amount: &Value) -> Value {
        self.shift_by(Op::ShiftLeftBy, amount)
    }

    /// Shifted right by a secret unsigned amount, copying the sign if signed.
    #[track_caller]
    pub fn shift_right_by(&self, amount: &Value) -> Value {
        self.shift_by(Op::ShiftRightBy, amount)
    }

    /// Rotated left by a secret unsigned amount.
    #[track_caller]
    pub fn rotate_left_by(&self, amount: &Value) -> Value {
        self.shift_by(Op::RotateLeftBy, amount)
    }

    /// How many bits are 1, in `width` bits.
    #[track_caller]
    pub fn popcount(&self, width: u16) -> Value {
        let from = [u64::from(self.width()), 0, 0, 0];
        self.unary(Op::Popcount, ElementType::unsigned(width), from)
    }

    /// How many bits are 0 before the highest 1, in `width` bits.
    #[track_caller]
    pub fn leading_zeros(&self, width: u16) -> Value {
        let from = [u64::from(self.width()), 0, 0, 0];
        self.unary(Op::LeadingZeros, ElementType::unsigned(width), from)
    }

    /// Whether all bits are 1.
    #[track_caller]
    pub fn all_bits(&self) -> Value {
        self.unary(Op::AllBits, self.element(), [0; 4])
    }

    /// Whether any bit is 1.
    #[track_caller]
    pub fn any_bit(&self) -> Value {
        self.unary(Op::AnyBit, self.element(), [0; 4])
    }

    /// The exclusive or of all bits.
    #[track_caller]
    pub fn parity(&self) -> Value {
        self.unary(Op::Parity, self.element(), [0; 4])
    }

    /// Reduces an integer in a field to the range of its type, so that later selections need not.
    /// Elsewhere it changes nothing.
    #[track_caller]
    pub fn reduced(&self) -> Value {
        self.unary(Op::Reduce, self.element(), [0; 4])
    }

    /// Cut or extended, by its sign if it is signed.
    #[track_caller]
    pub fn cast(&self, element: ElementType) -> Value {
        if element.width() == self.width() {
            return self.with_sign(element.is_signed());
        }
        if sharing::refuses_width("cast", self, element.width()) {
            return Value::poisoned(self.tracer(), element, self.lanes());
        }
        let signed = u64::from(self.element().is_signed());
        self.unary(Op::Cast, element, [u64::from(self.width()), signed, 0, 0])
    }

    /// The `width` bits from bit `start` on.
    #[track_caller]
    pub fn bit_slice(&self, start: u16, width: u16) -> Value {
        if start == 0 && width == self.width() {
            return self.with_sign(false);
        }
        let immediates = [u64::from(start), u64::from(self.width()), 0, 0];
        self.unary(Op::BitSlice, ElementType::unsigned(width), immediates)
    }

    /// The pieces of `width` bits of each lane in reverse order: 8 swaps bytes, 1 reverses bits.
    #[track_caller]
    pub fn reverse_pieces(&self, width: u16) -> Value {
        if width == self.width() {
            return self.clone();
        }
        self.unary(Op::ReversePieces, self.element(), [u64::from(width), 0, 0, 0])
    }

    /// This value's bits below those of `high`.
    #[track_caller]
    pub fn bit_concat(&self, high: &Value) -> Value {
        let lanes = self.lanes().max(high.lanes());
        let (low, high) = (self.tile_if_one(lanes), high.tile_if_one(lanes));
        let element = ElementType::unsigned(low.width().saturating_add(high.width()));
        let immediates = [u64::from(low.width()), 0, 0, 0];
        if let Some(constant) = fold::constant(Op::BitConcat, element, &[&low, &high], immediates) {
            return constant;
        }
        low.emit(Op::BitConcat, element, lanes, &[&low, &high], immediates)
    }

    /// AES-128 of each block under the key of its lane.
    #[track_caller]
    pub fn aes128(&self, key: &Value) -> Value {
        let key = key.tile_if_one(self.lanes());
        self.emit(Op::Aes128, self.element(), self.lanes(), &[&key, self], [0; 4])
    }

    /// The 11 round keys of this AES-128 key, one a lane.
    #[track_caller]
    pub fn aes128_key_schedule(&self) -> Value {
        let op = Op::Aes128KeySchedule;
        self.emit(op, self.element(), 11, &[self], [1, 0, 0, 0])
    }

    /// AES-128 of each block under one key's round keys.
    #[track_caller]
    pub fn aes128_round_keys(&self, round_keys: &Value) -> Value {
        let op = Op::Aes128RoundKeys;
        self.emit(op, self.element(), self.lanes(), &[round_keys, self], [0; 4])
    }

    /// SHA-256 compression of this state with a block, given as its low and high half.
    #[track_caller]
    pub fn sha256_compress(&self, low: &Value, high: &Value) -> Value {
        let state = self.tile_if_one(low.lanes());
        let (element, lanes) = (state.element(), state.lanes());
        state.emit(Op::Sha256Compress, element, lanes, &[&state, low, high], [0; 4])
    }
}
