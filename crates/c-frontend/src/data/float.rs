//! The meaning of operations on public floating-point numbers: the machine's, with one NaN.

use phineus_bytecode::float::bits_of;
use phineus_frontend::Rounding;

use crate::data::{mask, signed};
use crate::ir::float::{FloatOperation, FloatPredicate};

/// A floating-point type of the machine.
trait MachineFloat: Copy + PartialOrd {
    /// Of its bits.
    fn of(bits: u128) -> Self;
    /// Its bits, those of the one NaN if it is one.
    fn bits(self) -> u128;
    fn from_signed(integer: i128) -> Self;
    fn from_unsigned(integer: u128) -> Self;
    fn to_signed(self) -> i128;
    fn to_unsigned(self) -> u128;
    fn to_double(self) -> f64;
    fn of_two(op: FloatOperation, a: Self, b: Self) -> Option<Self>;
    fn of_one(op: FloatOperation, a: Self) -> Option<Self>;
    fn is_nan(self) -> bool;
}

macro_rules! machine_float {
    ($float:ty, $integer:ty, $width:literal) => {
        impl MachineFloat for $float {
            fn of(bits: u128) -> $float {
                <$float>::from_bits(bits as $integer)
            }

            fn bits(self) -> u128 {
                bits_of(f64::from(self), $width).into()
            }

            fn from_signed(integer: i128) -> $float {
                integer as $float
            }

            fn from_unsigned(integer: u128) -> $float {
                integer as $float
            }

            fn to_signed(self) -> i128 {
                self as i128
            }

            fn to_unsigned(self) -> u128 {
                self as u128
            }

            fn to_double(self) -> f64 {
                f64::from(self)
            }

            fn is_nan(self) -> bool {
                <$float>::is_nan(self)
            }

            fn of_two(op: FloatOperation, a: $float, b: $float) -> Option<$float> {
                Some(match op {
                    FloatOperation::Add => a + b,
                    FloatOperation::Subtract => a - b,
                    FloatOperation::Multiply => a * b,
                    FloatOperation::Divide => a / b,
                    _ => return None,
                })
            }

            fn of_one(op: FloatOperation, a: $float) -> Option<$float> {
                Some(match op {
                    FloatOperation::SquareRoot => a.sqrt(),
                    FloatOperation::Integral(Rounding::TowardsZero) => a.trunc(),
                    FloatOperation::Integral(Rounding::Down) => a.floor(),
                    FloatOperation::Integral(Rounding::Up) => a.ceil(),
                    FloatOperation::Integral(Rounding::TiesToEven) => a.round_ties_even(),
                    FloatOperation::Integral(Rounding::TiesAway) => a.round(),
                    _ => return None,
                })
            }
        }
    };
}

machine_float!(f32, u32, 32);
machine_float!(f64, u64, 64);

/// The result of an operation on public operands of `from` bits, in `to` bits; `None` if the machine has no such
/// numbers.
pub(crate) fn public(op: FloatOperation, from: u16, to: u16, operands: &[u128]) -> Option<u128> {
    match (op, from, to) {
        (FloatOperation::FromSigned | FloatOperation::FromUnsigned, _, 32) => {
            Some(from_integer::<f32>(op, from, operands[0]))
        }
        (FloatOperation::FromSigned | FloatOperation::FromUnsigned, _, 64) => {
            Some(from_integer::<f64>(op, from, operands[0]))
        }
        (FloatOperation::ToWidth, _, 16) => None,
        (FloatOperation::FromSigned | FloatOperation::FromUnsigned, ..) => None,
        (_, 32, _) => computed::<f32>(op, from, to, operands),
        (_, 64, _) => computed::<f64>(op, from, to, operands),
        _ => None,
    }
}

fn from_integer<F: MachineFloat>(op: FloatOperation, from: u16, integer: u128) -> u128 {
    match op {
        FloatOperation::FromSigned => F::from_signed(signed(integer, from)).bits(),
        _ => F::from_unsigned(integer).bits(),
    }
}

fn computed<F: MachineFloat>(
    op: FloatOperation,
    from: u16,
    to: u16,
    operands: &[u128],
) -> Option<u128> {
    let a = F::of(operands[0]);
    let b = operands.get(1).map_or(a, |bits| F::of(*bits));
    let sign = 1u128 << (from - 1);
    Some(match op {
        FloatOperation::Add
        | FloatOperation::Subtract
        | FloatOperation::Multiply
        | FloatOperation::Divide => F::of_two(op, a, b)?.bits(),
        FloatOperation::SquareRoot | FloatOperation::Integral(_) => F::of_one(op, a)?.bits(),
        FloatOperation::Minimum => operands[if a < b || b.is_nan() { 0 } else { 1 }],
        FloatOperation::Maximum => operands[if b < a || b.is_nan() { 0 } else { 1 }],
        FloatOperation::CopySign => operands[0] & !sign | operands[1] & sign,
        FloatOperation::Negate => operands[0] ^ sign,
        FloatOperation::Absolute => operands[0] & !sign,
        FloatOperation::Compare(predicate) => u128::from(holds(predicate, a, b)),
        FloatOperation::ToSigned => {
            let most = (mask(to) >> 1) as i128;
            a.to_signed().clamp(-most - 1, most) as u128 & mask(to)
        }
        FloatOperation::ToUnsigned => a.to_unsigned().min(mask(to)),
        FloatOperation::ToWidth => bits_of(a.to_double(), to).into(),
        FloatOperation::IsOfClass(_) => return None,
        FloatOperation::FromSigned | FloatOperation::FromUnsigned => return None,
    })
}

fn holds<F: PartialOrd>(predicate: FloatPredicate, a: F, b: F) -> bool {
    match a.partial_cmp(&b) {
        Some(std::cmp::Ordering::Less) => predicate.less,
        Some(std::cmp::Ordering::Equal) => predicate.equal,
        Some(std::cmp::Ordering::Greater) => predicate.greater,
        None => predicate.unordered,
    }
}
