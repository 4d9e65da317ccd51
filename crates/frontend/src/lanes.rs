//! The operations on [`Value`]s that move or combine lanes.

use phineus_bytecode::{ElementType, Op};

use crate::sharing;
use crate::value::Value;
use crate::vector::lanes_for;

impl Value {
    /// This public value with `lanes` lanes, if it is public.
    fn public_lanes(&self, lanes: u32) -> Option<Value> {
        let public = self.public()?;
        Some(Value::known(self.tracer(), self.element(), lanes, public))
    }

    /// The `lanes` lanes from lane `start` on.
    #[track_caller]
    pub fn lane_slice(&self, start: u32, lanes: u32) -> Value {
        if start == 0 && lanes == self.lanes() {
            return self.clone();
        }
        let fits = start.checked_add(lanes).is_some_and(|end| end <= self.lanes());
        if fits && let Some(public) = self.public_lanes(lanes) {
            return public;
        }
        let immediates = [u64::from(start), u64::from(self.lanes()), 0, 0];
        self.emit(Op::LaneSlice, self.element(), lanes, &[self], immediates)
    }

    /// This value's lanes, then those of `next`.
    #[track_caller]
    pub fn lane_concat(&self, next: &Value) -> Value {
        let lanes = self.lanes().saturating_add(next.lanes());
        if self.integer() != next.integer() {
            let (a, b) = (self.integer(), next.integer());
            self.tracer().fault(format!("lane_concat needs equal types, got {a} and {b}"));
            return Value::poisoned(self.tracer(), a, lanes);
        }
        if self.public().is_some() && self.public() == next.public() {
            return Value::known(
                self.tracer(),
                self.element(),
                lanes,
                self.public().unwrap_or_default(),
            );
        }
        let immediates = [u64::from(self.lanes()), 0, 0, 0];
        self.emit(Op::LaneConcat, self.element(), lanes, &[self, next], immediates)
    }

    /// The lanes of all `parts`, one part after the other; nothing if there are none.
    ///
    /// They are joined in pairs, so that each lane is copied log times.
    #[track_caller]
    pub fn joined(mut parts: Vec<Value>) -> Option<Value> {
        while parts.len() > 1 {
            let pairs = parts.chunks(2).map(|pair| match pair {
                [low, high] => low.lane_concat(high),
                alone => alone[0].clone(),
            });
            parts = pairs.collect();
        }
        parts.pop()
    }

    /// The results of `function` on parts of the lanes, so that values of `widest` bits in between fit; on all lanes at
    /// once if they do.
    #[track_caller]
    pub(crate) fn in_parts<const N: usize>(
        operands: [&Value; N],
        widest: u16,
        function: impl Fn([&Value; N]) -> Value,
    ) -> Value {
        let lanes = operands.iter().map(|operand| operand.lanes()).max().unwrap_or(1);
        let most = lanes_for(widest);
        if lanes <= most {
            return function(operands);
        }
        let mut parts = Vec::new();
        for start in (0..lanes).step_by(most as usize) {
            let length = most.min(lanes - start);
            let own = operands.map(|operand| match operand.lanes() {
                1 => operand.clone(),
                _ => operand.lane_slice(start, length),
            });
            parts.push(function(own.each_ref()));
        }
        Value::joined(parts).expect("there are lanes")
    }

    /// The lanes in reverse order.
    #[track_caller]
    pub fn lane_reverse(&self) -> Value {
        if self.lanes() == 1 || self.public().is_some() {
            return self.clone();
        }
        self.emit(Op::LaneReverse, self.element(), self.lanes(), &[self], [0; 4])
    }

    /// Lane `j` of the result is lane `(j + amount) mod lanes` of this value.
    #[track_caller]
    pub fn lane_rotate(&self, amount: u32) -> Value {
        match amount % self.lanes() {
            0 => self.clone(),
            amount => {
                let head = self.lane_slice(0, amount);
                self.lane_slice(amount, self.lanes() - amount).lane_concat(&head)
            }
        }
    }

    /// All lanes, over and over, up to `lanes` lanes.
    #[track_caller]
    pub fn tile(&self, lanes: u32) -> Value {
        if lanes == self.lanes() {
            return self.clone();
        }
        if let Some(public) = self.public_lanes(lanes) {
            return public;
        }
        let from = [u64::from(self.lanes()), 0, 0, 0];
        self.emit(Op::LaneTile, self.element(), lanes, &[self], from)
    }

    /// Each lane several times in a row, up to `lanes` lanes.
    #[track_caller]
    pub fn repeat(&self, lanes: u32) -> Value {
        if lanes == self.lanes() {
            return self.clone();
        }
        if let Some(public) = self.public_lanes(lanes) {
            return public;
        }
        let from = [u64::from(self.lanes()), 0, 0, 0];
        self.emit(Op::LaneRepeat, self.element(), lanes, &[self], from)
    }

    /// The even and the odd blocks of `block` lanes.
    #[track_caller]
    pub fn deinterleave(&self, block: u32) -> (Value, Value) {
        if !self.lanes().is_multiple_of(2) {
            let lanes = self.lanes();
            self.tracer()
                .fault(format!("lane_deinterleave needs an even number of lanes, got {lanes}"));
        }
        let immediates = [u64::from(block), 0, 0, 0];
        let half = self.lanes() / 2;
        self.emit_pair(Op::LaneDeinterleave, self.element(), half, &[self], immediates)
    }

    /// Blocks of `block` lanes, in turn from this value and from `odd`.
    #[track_caller]
    pub fn interleave(&self, odd: &Value, block: u32) -> Value {
        let Some((even, odd)) = self.aligned("lane_interleave", odd) else {
            return Value::poisoned(self.tracer(), self.element(), self.lanes());
        };
        let lanes = even.lanes().saturating_mul(2);
        let immediates = [u64::from(block), 0, 0, 0];
        even.emit(Op::LaneInterleave, even.element(), lanes, &[&even, &odd], immediates)
    }

    /// The sum of all lanes, extended to `element` first, by the sign of `element`.
    #[track_caller]
    pub fn lane_sum(&self, element: ElementType) -> Value {
        if self.lanes() == 1 {
            return self.with_sign(element.is_signed()).cast(element);
        }
        if sharing::refuses_width("lane_sum", self, element.width()) {
            return Value::poisoned(self.tracer(), element, 1);
        }
        let immediates = [u64::from(self.width()), u64::from(self.lanes()), 0, 0];
        self.emit(Op::LaneSum, element, 1, &[self], immediates)
    }

    /// The product of this matrix, column after column in the lanes, and a vector with a lane for
    /// each column, wrapping.
    #[track_caller]
    pub fn mat_vec(&self, vector: &Value) -> Value {
        self.mat_mul(vector, 1)
    }

    /// The product of this matrix and one of `vectors` columns, all column after column in their
    /// lanes, wrapping.
    #[track_caller]
    pub fn mat_mul(&self, other: &Value, vectors: u32) -> Value {
        let columns = other.lanes() / vectors.max(1);
        let fits = columns > 0
            && other.lanes() == columns * vectors
            && self.lanes().is_multiple_of(columns)
            && self.width() == other.width();
        if !fits {
            let (matrix, other) = (self.shape(), other.shape());
            self.tracer().fault(format!("mat_mul cannot multiply {matrix} by {other}"));
            return Value::poisoned(self.tracer(), self.element(), self.lanes());
        }
        let lanes = self.lanes() / columns * vectors;
        let immediates = [u64::from(columns), u64::from(vectors), 0, 0];
        self.emit(Op::MatMul, self.element(), lanes, &[self, other], immediates)
    }

    #[track_caller]
    fn lane_fold(&self, op: Op) -> Value {
        if self.lanes() == 1 {
            return self.clone();
        }
        let from = [u64::from(self.lanes()), 0, 0, 0];
        self.emit(op, self.element(), 1, &[self], from)
    }

    /// Bitwise and of all lanes.
    #[track_caller]
    pub fn lane_and(&self) -> Value {
        self.lane_fold(Op::LaneAnd)
    }

    /// Bitwise or of all lanes.
    #[track_caller]
    pub fn lane_or(&self) -> Value {
        self.lane_fold(Op::LaneOr)
    }

    /// Bitwise exclusive or of all lanes.
    #[track_caller]
    pub fn lane_xor(&self) -> Value {
        self.lane_fold(Op::LaneXor)
    }

    /// Returns the wires in the same order as lanes of `width` bits.
    #[track_caller]
    pub fn reshape(&self, width: u16) -> Value {
        let wires = self.shape().wires();
        if width == 0 || !wires.is_multiple_of(u32::from(width)) {
            self.tracer()
                .fault(format!("reshape cannot divide {wires} wires into lanes of {width} bits"));
            return Value::poisoned(self.tracer(), ElementType::unsigned(width.max(1)), 1);
        }
        let lanes = wires / u32::from(width);
        let immediates = [u64::from(self.width()), 0, 0, 0];
        let element = ElementType::unsigned(width);
        self.emit(Op::Reshape, element, lanes, &[self], immediates)
    }
}
