//! Elements of `Z_2^w` in integers of 1, 2, 4 or 8 bytes, and what a party computes on its shares of them
//! alone.
//!
//! Sums, differences and products do not look at bits above `w`, so these are reduced where values are
//! stored ([`reduce`]).

use phineus_bytecode::{Instruction, Op};
use phineus_crypto::Simd;
use phineus_crypto::ring::{mat_mul_add_32, mat_mul_add_64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
use zeroize::{Zeroize, Zeroizing};

use super::ring::mask_of;

/// Entries of a matrix that [`Element::add_products`] multiplies at a time, if it has few rows: they and
/// their factors are in the first cache.
const PART: usize = 4096;

/// An unsigned integer that holds an element.
pub(crate) trait Element:
    Copy + Default + FromBytes + IntoBytes + Immutable + KnownLayout + Zeroize + Into<u64>
{
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    /// The low bits.
    fn of(word: u64) -> Self;
    /// `out += matrix * vectors`, all column after column.
    fn mat_mul_add(out: &mut [Self], factors: (&[Self], usize), vectors: &[Self]);

    /// Memory as elements.
    fn elements(bytes: &[u8]) -> &[Self] {
        if bytes.is_empty() {
            return &[];
        }
        <[Self]>::ref_from_bytes(bytes).expect("elements lie at multiples of their size")
    }

    /// As [`Element::elements`], to be written.
    fn elements_mut(bytes: &mut [u8]) -> &mut [Self] {
        if bytes.is_empty() {
            return &mut [];
        }
        <[Self]>::mut_from_bytes(bytes).expect("elements lie at multiples of their size")
    }
}

macro_rules! elements {
    ($($integer:ident: $products:expr),+) => {
        $(impl Element for $integer {
            #[inline(always)]
            fn add(self, other: $integer) -> $integer {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn sub(self, other: $integer) -> $integer {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn mul(self, other: $integer) -> $integer {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn and(self, other: $integer) -> $integer {
                self & other
            }

            #[inline(always)]
            fn of(word: u64) -> $integer {
                word as $integer
            }

            fn mat_mul_add(
                out: &mut [$integer],
                (matrix, columns): (&[$integer], usize),
                vectors: &[$integer],
            ) {
                $products(Simd::selected(), out, (matrix, columns), (vectors, 1));
            }
        })+
    };
}

elements!(u64: mat_mul_add_64, u32: mat_mul_add_32, u16: mat_mul_add_narrow, u8: mat_mul_add_narrow);

/// Products of elements for which there is no kernel.
fn mat_mul_add_narrow<E: Element>(
    _: Simd,
    out: &mut [E],
    (matrix, columns): (&[E], usize),
    (vectors, _): (&[E], usize),
) {
    let rows = matrix.len() / columns;
    for (out, vector) in out.chunks_exact_mut(rows).zip(vectors.chunks_exact(columns)) {
        for (column, factor) in matrix.chunks_exact(rows).zip(vector) {
            out.iter_mut().zip(column).for_each(|(out, x)| *out = out.add(x.mul(*factor)));
        }
    }
}

/// Calls a function of an element type with the type of so many bytes.
macro_rules! for_bytes {
    ($bytes:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $bytes {
            1 => $function::<u8>($($argument),*),
            2 => $function::<u16>($($argument),*),
            4 => $function::<u32>($($argument),*),
            8 => $function::<u64>($($argument),*),
            bytes => unreachable!("no ring has elements of {bytes} bytes"),
        }
    };
}
pub(crate) use for_bytes;

/// Reduces elements modulo `2^width`.
pub(crate) fn reduce<E: Element>(elements: &mut [E], width: u16) {
    if usize::from(width) < 8 * size_of::<E>() {
        let mask = E::of(mask_of(width));
        elements.iter_mut().for_each(|element| *element = element.and(mask));
    }
}

/// `out += matrix * vectors`, all column after column, in parts that stay in the first cache.
pub(crate) fn add_products<E: Element>(
    out: &mut [E],
    (matrix, columns): (&[E], usize),
    vectors: &[E],
) {
    let rows = matrix.len() / columns;
    let part = PART / rows;
    // The kernel has blocks of its own for matrices of many rows.
    if columns <= part || part < 16 {
        return E::mat_mul_add(out, (matrix, columns), vectors);
    }
    let mut some = Zeroizing::new(Vec::with_capacity(vectors.len() / columns * part));
    for (k, matrix) in matrix.chunks(rows * part).enumerate() {
        let count = matrix.len() / rows;
        some.clear();
        vectors.chunks_exact(columns).for_each(|vector| {
            some.extend_from_slice(&vector[k * part..][..count]);
        });
        E::mat_mul_add(out, (matrix, count), &some);
    }
}

/// Computes a local operation on one share of each operand; results are not reduced. Only the `first`
/// party has public values in its share.
///
/// # Panics
/// If the operation is not local.
pub(crate) fn execute<E: Element>(
    instruction: &Instruction,
    results: &mut [&mut [E]],
    operands: &[&[E]],
    first: bool,
) {
    let [one, two, ..] = instruction.immediates.map(|word| word as usize);
    let (out, more) = results.split_first_mut().expect("a computation has a result");
    let a = operands.first().copied().unwrap_or_default();
    let b = operands.get(1).copied().unwrap_or_default();
    match instruction.op {
        Op::Constant => out.fill(E::of(if first { instruction.immediates[0] } else { 0 })),
        Op::Add => out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = a.add(*b)),
        Op::Sub => out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = a.sub(*b)),
        Op::Neg => out.iter_mut().zip(a).for_each(|(out, a)| *out = E::default().sub(*a)),
        Op::LaneSlice => out.copy_from_slice(&a[one..][..out.len()]),
        Op::LaneConcat => {
            out[..one].copy_from_slice(a);
            out[one..].copy_from_slice(b);
        }
        Op::LaneReverse => out.iter_mut().zip(a.iter().rev()).for_each(|(out, a)| *out = *a),
        Op::LaneTile => out.chunks_exact_mut(one).for_each(|out| out.copy_from_slice(a)),
        Op::LaneRepeat => {
            let each = out.len() / one;
            out.chunks_exact_mut(each).zip(a).for_each(|(out, a)| out.fill(*a));
        }
        Op::LaneDeinterleave => {
            let pairs = out.chunks_exact_mut(one).zip(more[0].chunks_exact_mut(one));
            for ((even, odd), pair) in pairs.zip(a.chunks_exact(2 * one)) {
                even.copy_from_slice(&pair[..one]);
                odd.copy_from_slice(&pair[one..]);
            }
        }
        Op::LaneInterleave => {
            let blocks = a.chunks_exact(one).zip(b.chunks_exact(one));
            for (out, (a, b)) in out.chunks_exact_mut(2 * one).zip(blocks) {
                out[..one].copy_from_slice(a);
                out[one..].copy_from_slice(b);
            }
        }
        Op::LaneSum => out[0] = a[..two].iter().fold(E::default(), |sum, a| sum.add(*a)),
        op => unreachable!("{} is not local on shares of ring elements", op.info().name),
    }
}
