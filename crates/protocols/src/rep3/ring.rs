//! Replicated shares in `Z_2^w`: what each party computes alone, and what products send.
//!
//! A value lies in memory as all elements of the party's first component, then those of its second.
//! Elements are as wide as their bytes while they are computed and sent, and reduced modulo `2^w` where
//! they are stored: sums, differences and products do not look at higher bits.
//!
//! Source: Araki et al., CCS 2016 (ePrint 2016/768), section 2.1, in its form for rings; sums of products
//! before anything is sent: Mohassel, Rindal, "ABY3", CCS 2018 (ePrint 2018/403), section 5.1.

use phineus_bytecode::layout::ring_bytes;
use phineus_bytecode::{Instruction, Op};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};
use zeroize::{Zeroize, Zeroizing};

use crate::shares::ring::mask_of;

/// An unsigned integer, as a ring of 8, 16, 32 or 64 bits.
pub(super) trait Element:
    Copy + Default + FromBytes + IntoBytes + Immutable + KnownLayout + Zeroize + Into<u64>
{
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    /// The low bits.
    fn of(word: u64) -> Self;
    /// Those of this width that a round sends.
    fn sent(elements: &mut Elements) -> &mut Vec<Self>;

    /// Memory as elements.
    fn elements(bytes: &[u8]) -> &[Self] {
        if bytes.is_empty() {
            return &[];
        }
        <[Self]>::ref_from_bytes(bytes).expect("values lie at multiples of 16 bytes")
    }

    /// As [`Element::elements`], to be written.
    fn elements_mut(bytes: &mut [u8]) -> &mut [Self] {
        <[Self]>::mut_from_bytes(bytes).expect("values lie at multiples of 16 bytes")
    }
}

macro_rules! elements {
    ($($integer:ident),+) => {
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

            fn sent(elements: &mut Elements) -> &mut Vec<$integer> {
                &mut elements.$integer
            }
        })+

        /// Elements that a round sends, by their bytes.
        #[derive(Default)]
        pub(super) struct Elements { $(pub(super) $integer: Vec<$integer>,)+ }

        impl Elements {
            /// All of them, as they lie in messages.
            pub(super) fn parts(&self) -> [&[u8]; 4] {
                [$(self.$integer.as_bytes()),+]
            }

            /// As [`Elements::parts`], to be written.
            pub(super) fn parts_mut(&mut self) -> [&mut [u8]; 4] {
                [$(self.$integer.as_mut_bytes()),+]
            }

            /// Makes room for as many as another has.
            pub(super) fn resize_as(&mut self, other: &Elements) {
                $(self.$integer.resize(other.$integer.len(), 0);)+
            }

            pub(super) fn clear(&mut self) {
                $(self.$integer.clear();)+
            }

            /// Masks all of them.
            pub(super) fn mask(&mut self, keys: &mut super::keys::Keys) {
                $(keys.mask(&mut self.$integer);)+
            }
        }

        impl Drop for Elements {
            fn drop(&mut self) {
                $(self.$integer.zeroize();)+
            }
        }
    };
}

elements!(u64, u32, u16, u8);

/// Calls a function of an element type with the type of so many bytes.
macro_rules! for_bytes {
    ($bytes:expr, $function:ident($($argument:expr),*)) => {
        match $bytes {
            1 => $function::<u8>($($argument),*),
            2 => $function::<u16>($($argument),*),
            4 => $function::<u32>($($argument),*),
            8 => $function::<u64>($($argument),*),
            bytes => unreachable!("no ring has elements of {bytes} bytes"),
        }
    };
}
pub(super) use for_bytes;

/// Computes what needs no other party, on both components.
pub(super) fn execute(
    instruction: &Instruction,
    results: &mut [&mut [u8]],
    operands: &[&[u8]],
    adds_constants: [bool; 2],
) {
    let bytes = ring_bytes(instruction.element.width());
    for_bytes!(bytes, execute_on(instruction, results, operands, adds_constants));
}

fn execute_on<E: Element>(
    instruction: &Instruction,
    results: &mut [&mut [u8]],
    operands: &[&[u8]],
    adds_constants: [bool; 2],
) {
    let mask = E::of(mask_of(instruction.element.width()));
    let (out, more) = results.split_first_mut().expect("a computation has a result");
    let out = E::elements_mut(out);
    let a = E::elements(operands.first().copied().unwrap_or_default());
    let b = E::elements(operands.get(1).copied().unwrap_or_default());
    let all = out.iter_mut();
    match instruction.op {
        Op::Add => all.zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = a.add(*b).and(mask)),
        Op::Sub => all.zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = a.sub(*b).and(mask)),
        Op::Neg => all.zip(a).for_each(|(out, a)| *out = E::default().sub(*a).and(mask)),
        Op::Constant => {
            let components = out.chunks_exact_mut(instruction.lanes as usize);
            for (out, adds) in components.zip(adds_constants) {
                out.fill(E::of(if adds { instruction.immediates[0] } else { 0 }));
            }
        }
        Op::LaneDeinterleave => {
            let (n, block) = (instruction.lanes as usize, instruction.immediates[0] as usize);
            let odd = E::elements_mut(more[0]).chunks_exact_mut(n);
            let both = out.chunks_exact_mut(n).zip(odd).zip(a.chunks_exact(2 * n));
            for ((even, odd), a) in both {
                let targets = even.chunks_exact_mut(block).zip(odd.chunks_exact_mut(block));
                for ((even, odd), pair) in targets.zip(a.chunks_exact(2 * block)) {
                    even.copy_from_slice(&pair[..block]);
                    odd.copy_from_slice(&pair[block..]);
                }
            }
        }
        _ => {
            let components = out.chunks_exact_mut(instruction.lanes as usize);
            let (a_lanes, b_lanes) = (a.len() / 2, b.len() / 2);
            for (k, out) in components.enumerate() {
                let a = &a[k * a_lanes..][..a_lanes];
                let b = &b[k * b_lanes..][..b_lanes];
                move_lanes(instruction, out, (a, b), mask);
            }
        }
    }
}

/// Moves or sums the lanes of one component.
fn move_lanes<E: Element>(instruction: &Instruction, out: &mut [E], (a, b): (&[E], &[E]), mask: E) {
    let one = instruction.immediates[0] as usize;
    match instruction.op {
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
        Op::LaneInterleave => {
            let blocks = a.chunks_exact(one).zip(b.chunks_exact(one));
            for (out, (a, b)) in out.chunks_exact_mut(2 * one).zip(blocks) {
                out[..one].copy_from_slice(a);
                out[one..].copy_from_slice(b);
            }
        }
        Op::LaneSum => {
            out[0] = a.iter().fold(E::default(), |sum, a| sum.add(*a)).and(mask);
        }
        op => unreachable!("{} is not local on replicated shares", op.info().name),
    }
}

/// A product whose results wait to be sent, or were.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    pub(super) bytes: usize,
    pub(super) at: usize,
    pub(super) count: usize,
}

/// Makes room for `count` elements that the coming round sends.
pub(super) fn push(elements: &mut Elements, width: u16, count: usize) -> Sent {
    fn grow<E: Element>(elements: &mut Elements, count: usize) -> usize {
        let sent = E::sent(elements);
        sent.resize(sent.len() + count, E::default());
        sent.len() - count
    }
    let bytes = ring_bytes(width);
    Sent { bytes, at: for_bytes!(bytes, grow(elements, count)), count }
}

/// Writes the own terms of a product to where they are sent.
pub(super) fn multiply(
    instruction: &Instruction,
    elements: &mut Elements,
    sent: Sent,
    (x, y): (&[u8], &[u8]),
) {
    for_bytes!(sent.bytes, multiply_on(instruction, elements, sent, (x, y)));
}

fn multiply_on<E: Element>(
    instruction: &Instruction,
    elements: &mut Elements,
    sent: Sent,
    (x, y): (&[u8], &[u8]),
) {
    let z = &mut E::sent(elements)[sent.at..][..sent.count];
    let (x, y) = (E::elements(x), E::elements(y));
    let ((x0, x1), (y0, y1)) = (x.split_at(x.len() / 2), y.split_at(y.len() / 2));
    if instruction.op == Op::MatMul {
        let columns = instruction.immediates[0] as usize;
        return multiply_matrices(z, (x0, x1), (y0, y1), columns);
    }
    for (j, z) in z.iter_mut().enumerate() {
        *z = x0[j].mul(y0[j].add(y1[j])).add(x1[j].mul(y0[j]));
    }
}

/// `z = x0 (y0 + y1) + x1 y0` of matrices, all column after column: each entry of the second matrix
/// adds a multiple of a column of the first to a column of the result, which stays in registers or in
/// the first cache.
fn multiply_matrices<E: Element>(
    z: &mut [E],
    (x0, x1): (&[E], &[E]),
    (y0, y1): (&[E], &[E]),
    columns: usize,
) {
    let rows = x0.len() / columns;
    let vectors = y0.chunks_exact(columns).zip(y1.chunks_exact(columns));
    for (z, (y0, y1)) in z.chunks_exact_mut(rows).zip(vectors) {
        let matrix = x0.chunks_exact(rows).zip(x1.chunks_exact(rows));
        for ((x0, x1), (&y0, &y1)) in matrix.zip(y0.iter().zip(y1)) {
            let sum = y0.add(y1);
            for (z, (x0, x1)) in z.iter_mut().zip(x0.iter().zip(x1)) {
                *z = z.add(x0.mul(sum)).add(x1.mul(y0));
            }
        }
    }
}

/// Writes what a round resent as a value: the own elements, then the other party's.
pub(super) fn store(
    value: &mut [u8],
    width: u16,
    sent: Sent,
    own: &mut Elements,
    other: &mut Elements,
) {
    for_bytes!(sent.bytes, store_on(value, width, sent, own, other));
}

fn store_on<E: Element>(
    value: &mut [u8],
    width: u16,
    sent: Sent,
    own: &mut Elements,
    other: &mut Elements,
) {
    let mask = E::of(mask_of(width));
    let (first, second) = E::elements_mut(value).split_at_mut(sent.count);
    for (value, elements) in [(first, own), (second, other)] {
        let elements = &E::sent(elements)[sent.at..][..sent.count];
        value.iter_mut().zip(elements).for_each(|(value, z)| *value = z.and(mask));
    }
}

/// Adds words to elements that wait to be sent.
pub(super) fn add_words(elements: &mut Elements, sent: Sent, words: &[u64]) {
    fn add<E: Element>(elements: &mut Elements, sent: Sent, words: &[u64]) {
        let z = &mut E::sent(elements)[sent.at..][..sent.count];
        z.iter_mut().zip(words).for_each(|(z, word)| *z = z.add(E::of(*word)));
    }
    for_bytes!(sent.bytes, add(elements, sent, words));
}

/// The elements of one component of a value as words.
pub(super) fn to_words(value: &[u8], width: u16) -> Zeroizing<Vec<u64>> {
    fn words<E: Element>(value: &[u8]) -> Zeroizing<Vec<u64>> {
        Zeroizing::new(E::elements(value).iter().map(|&element| element.into()).collect())
    }
    for_bytes!(ring_bytes(width), words(value))
}
