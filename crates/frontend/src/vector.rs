//! [`Vector`]: any number of secret elements, cut into chunks that fill a page.
//!
//! Element `i` is lane `i mod L` of chunk `i / L`; `L` is a power of two and only the last chunk
//! is shorter. Elementwise operations are one instruction a chunk.

use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Sub};

use phineus_bytecode::limits::VALUE_WIRES_MAX;
use phineus_bytecode::{ElementType, Lane, Sharing};

use crate::element::{Element, Operand};
use crate::integer::{Bit, Int, UInt};
use crate::tracer::Tracer;
use crate::value::Value;

/// Lanes of a chunk of elements of `width` bits: the largest power of two that fits a value.
pub const fn lanes_for(width: u16) -> u32 {
    let most = VALUE_WIRES_MAX / width as u32;
    1 << (31 - most.leading_zeros())
}

/// A sequence of secret elements of one type; may be empty.
#[derive(Clone)]
pub struct Vector<T> {
    tracer: Tracer,
    chunks: Vec<Value>,
    lanes: u32,
    length: u64,
    element: PhantomData<T>,
}

/// Cuts chunks of any sizes into chunks of `lanes` lanes.
#[track_caller]
pub fn rechunk(pieces: impl IntoIterator<Item = Value>, lanes: u32) -> Vec<Value> {
    let mut chunks: Vec<Value> = Vec::new();
    let mut parts: Vec<Value> = Vec::new();
    let mut filled = 0;
    for piece in pieces {
        let mut start = 0;
        while start < piece.lanes() {
            let take = (lanes - filled).min(piece.lanes() - start);
            parts.push(piece.lane_slice(start, take));
            start += take;
            filled += take;
            if filled == lanes {
                chunks.extend(Value::joined(std::mem::take(&mut parts)));
                filled = 0;
            }
        }
    }
    chunks.extend(Value::joined(parts));
    chunks
}

impl<T: Element> Vector<T> {
    /// From chunks that are already cut as `lanes` says.
    pub(crate) fn from_parts(tracer: &Tracer, chunks: Vec<Value>, lanes: u32) -> Vector<T> {
        let length = chunks.iter().map(|chunk| u64::from(chunk.lanes())).sum();
        Vector { tracer: tracer.clone(), chunks, lanes, length, element: PhantomData }
    }

    /// From values of any numbers of lanes, one after the other.
    #[track_caller]
    pub fn from_pieces(tracer: &Tracer, pieces: impl IntoIterator<Item = T>) -> Vector<T> {
        let lanes = lanes_for(T::TYPE.width());
        let pieces = pieces.into_iter().map(|piece| piece.value().clone());
        Vector::from_parts(tracer, rechunk(pieces, lanes), lanes)
    }

    /// Public elements.
    #[track_caller]
    pub fn constants<P: Operand<T>>(
        tracer: &Tracer,
        elements: impl IntoIterator<Item = P>,
    ) -> Vector<T> {
        let width = T::TYPE.width();
        let elements: Vec<Value> = elements.into_iter().map(|e| e.to_operand(tracer)).collect();
        // As many elements as fit one constant of 256 bits, bit-major, are one reshape of it.
        let each = (256 / u32::from(width)).max(1) as usize;
        let pieces = elements.chunks(each).map(|few| public_lanes(tracer, few));
        let lanes = lanes_for(width);
        Vector::from_parts(tracer, rechunk(pieces, lanes), lanes)
    }

    /// `length` times the same public element.
    #[track_caller]
    pub fn filled(tracer: &Tracer, element: impl Operand<T>, length: u64) -> Vector<T> {
        let lanes = lanes_for(T::TYPE.width());
        let element = element.to_operand(tracer);
        let chunks = chunk_lanes(length, lanes).map(|lanes| element.tile(lanes)).collect();
        Vector::from_parts(tracer, chunks, lanes)
    }

    /// How many elements there are.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Lanes of a full chunk.
    pub fn chunk_lanes(&self) -> u32 {
        self.lanes
    }

    /// Tracer that records the elements.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// The chunks, as untyped values.
    pub fn chunks(&self) -> &[Value] {
        &self.chunks
    }

    /// The chunks, as untyped values.
    pub fn into_chunks(self) -> Vec<Value> {
        self.chunks
    }

    /// Element `index`.
    #[track_caller]
    pub fn get(&self, index: u64) -> T {
        if index >= self.length {
            let length = self.length;
            self.tracer.fault(format!("element {index} of a vector of {length}"));
            return T::from_value_unchecked(Value::poisoned(&self.tracer, T::TYPE, 1));
        }
        let lanes = u64::from(self.lanes);
        let chunk = &self.chunks[(index / lanes) as usize];
        T::from_value_unchecked(chunk.lane_slice((index % lanes) as u32, 1))
    }

    /// With `function` applied to each chunk; chunks are cut so that results of a wider type fit a value.
    #[track_caller]
    pub fn map<U: Element>(&self, function: impl Fn(&T) -> U) -> Vector<U> {
        let lanes = self.lanes.min(lanes_for(U::TYPE.width()));
        let chunks = self
            .rechunked(lanes)
            .chunks
            .into_iter()
            .map(|chunk| function(&T::from_value_unchecked(chunk)).value().clone())
            .collect();
        Vector::from_parts(&self.tracer, chunks, lanes)
    }

    /// With `function` applied to each pair of chunks; the lengths must be equal.
    #[track_caller]
    pub fn zip<U: Element, V: Element>(
        &self,
        other: &Vector<U>,
        function: impl Fn(&T, &U) -> V,
    ) -> Vector<V> {
        let (pairs, lanes) = self.paired(other, lanes_for(V::TYPE.width()));
        let chunks = pairs.iter().map(|(a, b)| function(a, b).value().clone()).collect();
        Vector::from_parts(&self.tracer, chunks, lanes)
    }

    /// The chunks of both, cut alike into at most `most` lanes, and the lanes of a full one; no chunks, and a fault, if the
    /// lengths differ.
    #[track_caller]
    fn paired<U: Element>(&self, other: &Vector<U>, most: u32) -> (Vec<(T, U)>, u32) {
        if self.length != other.length {
            let (a, b) = (self.length, other.length);
            self.tracer.fault(format!("vectors need equal lengths, got {a} and {b}"));
            return (Vec::new(), self.lanes);
        }
        let lanes = self.lanes.min(other.lanes).min(most);
        let (left, right) = (self.rechunked(lanes), other.rechunked(lanes));
        let left = left.chunks.into_iter().map(T::from_value_unchecked);
        let right = right.chunks.into_iter().map(U::from_value_unchecked);
        (left.zip(right).collect(), lanes)
    }

    /// Returns the same elements in chunks of `lanes` lanes.
    #[track_caller]
    pub fn rechunked(&self, lanes: u32) -> Vector<T> {
        if lanes == self.lanes {
            return self.clone();
        }
        let chunks = rechunk(self.chunks.iter().cloned(), lanes);
        Vector::from_parts(&self.tracer, chunks, lanes)
    }

    /// The elements cut or extended to another type.
    #[track_caller]
    pub fn to<U: Element>(&self) -> Vector<U> {
        let lanes = self.lanes.min(lanes_for(U::TYPE.width()));
        // A loop and no closure: mistakes are reported at the caller's line.
        let mut chunks = Vec::with_capacity(self.chunks.len());
        for chunk in self.rechunked(lanes).chunks {
            chunks.push(chunk.cast(U::TYPE));
        }
        Vector::from_parts(&self.tracer, chunks, lanes)
    }

    /// In arithmetic sharing, modulo two to the width: cheap sums and products, nothing else.
    #[track_caller]
    pub fn to_arith(&self) -> Vector<T> {
        self.to_sharing(Sharing::Arithmetic)
    }

    /// In Boolean sharing, computed on by GMW: a round for each level of a circuit.
    #[track_caller]
    pub fn to_gmw(&self) -> Vector<T> {
        self.to_sharing(Sharing::Boolean)
    }

    /// In garbled sharing, computed on by BMR: no rounds, more bytes.
    #[track_caller]
    pub fn to_bmr(&self) -> Vector<T> {
        self.to_sharing(Sharing::Garbled)
    }

    /// In a sharing; [`Sharing::Any`] leaves it as it is.
    #[track_caller]
    pub fn to_sharing(&self, sharing: Sharing) -> Vector<T> {
        let mut chunks = Vec::with_capacity(self.chunks.len());
        for chunk in &self.chunks {
            chunks.push(chunk.to_sharing(sharing));
        }
        Vector::from_parts(&self.tracer, chunks, self.lanes)
    }

    /// The `length` elements from `start` on.
    #[track_caller]
    pub fn slice(&self, start: u64, length: u64) -> Vector<T> {
        if start.checked_add(length).is_none_or(|end| end > self.length) {
            let all = self.length;
            self.tracer
                .fault(format!("a slice of {length} elements from {start} of a vector of {all}"));
            return Vector::from_parts(&self.tracer, Vec::new(), self.lanes);
        }
        let pieces = slice_pieces(&self.chunks, self.lanes, start, length);
        Vector::from_parts(&self.tracer, rechunk(pieces, self.lanes), self.lanes)
    }

    /// These elements, then those of `next`.
    #[track_caller]
    pub fn concat(&self, next: &Vector<T>) -> Vector<T> {
        let pieces = self.chunks.iter().chain(&next.chunks).cloned();
        Vector::from_parts(&self.tracer, rechunk(pieces, self.lanes), self.lanes)
    }

    /// The elements in reverse order.
    #[track_caller]
    pub fn reverse(&self) -> Vector<T> {
        let pieces = self.chunks.iter().rev().map(Value::lane_reverse);
        Vector::from_parts(&self.tracer, rechunk(pieces, self.lanes), self.lanes)
    }

    /// Combines all elements with an associative and commutative `function`, halving the number
    /// of lanes; `None` if there are no elements.
    #[track_caller]
    pub fn reduce(&self, function: impl Fn(&T, &T) -> T) -> Option<T> {
        let wrap = |value: &Value| T::from_value_unchecked(value.clone());
        let mut rest = self.chunks.iter();
        let mut full: Option<Value> = None;
        let mut tail: Option<Value> = None;
        for chunk in rest.by_ref() {
            if chunk.lanes() < self.lanes {
                tail = Some(chunk.clone());
                continue;
            }
            full = Some(match full {
                Some(all) => function(&wrap(&all), &wrap(chunk)).value().clone(),
                None => chunk.clone(),
            });
        }
        let parts = [full, tail].into_iter().flatten();
        let one_lane = parts
            .map(|value| fold_lanes(value, &|a, b| function(&wrap(a), &wrap(b)).value().clone()));
        one_lane
            .reduce(|a, b| function(&wrap(&a), &wrap(&b)).value().clone())
            .map(T::from_value_unchecked)
    }
}

/// `elements` as the lanes of one value.
#[track_caller]
fn public_lanes(tracer: &Tracer, elements: &[Value]) -> Value {
    let first = &elements[0];
    let (width, lanes) = (usize::from(first.width()), elements.len());
    let mut public = Vec::with_capacity(lanes);
    for element in elements {
        match element.public() {
            Some(lane) => public.push(lane),
            None => return Value::poisoned(tracer, first.element(), lanes as u32),
        }
    }
    if public.iter().all(|&lane| lane == public[0]) {
        return first.tile(lanes as u32);
    }
    let mut bits = Lane::ZERO;
    for (lane, value) in public.iter().enumerate() {
        for bit in 0..width {
            bits.set_bit(bit * lanes + lane, value.bit(bit));
        }
    }
    let wires = (width * lanes) as u16;
    Value::known(tracer, ElementType::unsigned(wires), 1, bits)
        .reshape(first.width())
        .with_sign(first.element().is_signed())
}

/// The lanes of each chunk of `length` elements.
fn chunk_lanes(length: u64, lanes: u32) -> impl Iterator<Item = u32> {
    let full = length / u64::from(lanes);
    let rest = (length % u64::from(lanes)) as u32;
    (0..full).map(move |_| lanes).chain((rest > 0).then_some(rest))
}

/// The parts of `chunks` that hold `length` elements from `start` on.
#[track_caller]
pub(crate) fn slice_pieces(chunks: &[Value], lanes: u32, start: u64, length: u64) -> Vec<Value> {
    let mut pieces = Vec::new();
    let (mut at, end) = (start, start + length);
    while at < end {
        let chunk = &chunks[(at / u64::from(lanes)) as usize];
        let first = (at % u64::from(lanes)) as u32;
        let take = u64::from(chunk.lanes() - first).min(end - at) as u32;
        pieces.push(chunk.lane_slice(first, take));
        at += u64::from(take);
    }
    pieces
}

/// Combines the lanes of a value: halves, and an odd lane at the end.
#[track_caller]
fn fold_lanes(mut value: Value, function: &impl Fn(&Value, &Value) -> Value) -> Value {
    let mut odd: Option<Value> = None;
    while value.lanes() > 1 {
        let half = value.lanes() / 2;
        if !value.lanes().is_multiple_of(2) {
            let last = value.lane_slice(2 * half, 1);
            odd = Some(match odd {
                Some(before) => function(&before, &last),
                None => last,
            });
        }
        value = function(&value.lane_slice(0, half), &value.lane_slice(half, half));
    }
    match odd {
        Some(odd) => function(&value, &odd),
        None => value,
    }
}

macro_rules! sums {
    ($($type:ident),+) => {$(
        impl<const W: u16> Vector<$type<W>> {
            /// The sum of all elements, wrapping in `R` bits; of none, 0.
            #[track_caller]
            pub fn sum<const R: u16>(&self) -> $type<R> {
                let element = $type::<R>::TYPE;
                // No closure: errors name the caller's line.
                let mut sums = Vec::with_capacity(self.chunks.len());
                for chunk in &self.chunks {
                    sums.push(chunk.lane_sum(element));
                }
                let sum = Value::sum_of(sums);
                let zero = || Value::known(&self.tracer, element, 1, Lane::ZERO);
                $type::from_value_unchecked(sum.unwrap_or_else(zero))
            }

            /// The sum of the products of elements of equal index, wrapping in `R` bits.
            #[track_caller]
            pub fn dot<const R: u16>(&self, other: &Self) -> $type<R> {
                let (a, b) = (self.to::<$type<R>>(), other.to::<$type<R>>());
                (&a * &b).sum()
            }
        }
    )+};
}

sums!(UInt, Int);

impl Vector<Bit> {
    /// How many elements are 1, in `R` bits.
    #[track_caller]
    pub fn count<const R: u16>(&self) -> UInt<R> {
        let element = UInt::<R>::TYPE;
        let mut sums = Vec::with_capacity(self.chunks.len());
        for chunk in &self.chunks {
            sums.push(chunk.lane_sum(element));
        }
        let sum = Value::sum_of(sums);
        let zero = || Value::known(&self.tracer, element, 1, Lane::ZERO);
        UInt::from_value_unchecked(sum.unwrap_or_else(zero))
    }

    /// Where an element is 1 that of the first vector, else that of the second.
    #[track_caller]
    pub fn select<T: Element>(&self, when_one: &Vector<T>, when_zero: &Vector<T>) -> Vector<T> {
        let lanes = when_one.lanes.min(when_zero.lanes).min(self.lanes);
        let (pairs, _) = when_one.rechunked(lanes).paired(&when_zero.rechunked(lanes), lanes);
        let mut chunks = Vec::with_capacity(pairs.len());
        for (bit, (a, b)) in self.rechunked(lanes).chunks.iter().zip(pairs) {
            chunks.push(bit.select(a.value(), b.value()));
        }
        Vector::from_parts(&self.tracer, chunks, lanes)
    }
}

macro_rules! elementwise {
    ($($trait:ident::$method:ident),+) => {$(
        impl<T: Element> $trait<&Vector<T>> for &Vector<T>
        where
            for<'a> &'a T: $trait<&'a T, Output = T>,
        {
            type Output = Vector<T>;

            #[track_caller]
            fn $method(self, other: &Vector<T>) -> Vector<T> {
                let (pairs, lanes) = self.paired(other, self.lanes);
                let mut chunks = Vec::with_capacity(pairs.len());
                for (a, b) in &pairs {
                    chunks.push($trait::$method(a, b).value().clone());
                }
                Vector::from_parts(&self.tracer, chunks, lanes)
            }
        }

        impl<T: Element> $trait<Vector<T>> for Vector<T>
        where
            for<'a> &'a T: $trait<&'a T, Output = T>,
        {
            type Output = Vector<T>;

            #[track_caller]
            fn $method(self, other: Vector<T>) -> Vector<T> {
                $trait::$method(&self, &other)
            }
        }

        impl<T: Element> $trait<&Vector<T>> for Vector<T>
        where
            for<'a> &'a T: $trait<&'a T, Output = T>,
        {
            type Output = Vector<T>;

            #[track_caller]
            fn $method(self, other: &Vector<T>) -> Vector<T> {
                $trait::$method(&self, other)
            }
        }

        impl<T: Element> $trait<Vector<T>> for &Vector<T>
        where
            for<'a> &'a T: $trait<&'a T, Output = T>,
        {
            type Output = Vector<T>;

            #[track_caller]
            fn $method(self, other: Vector<T>) -> Vector<T> {
                $trait::$method(self, &other)
            }
        }

        impl<T: Element> $trait<&T> for &Vector<T>
        where
            for<'a> &'a T: $trait<&'a T, Output = T>,
        {
            type Output = Vector<T>;

            /// With one value beside each element.
            #[track_caller]
            fn $method(self, other: &T) -> Vector<T> {
                let mut chunks = Vec::with_capacity(self.chunks.len());
                for chunk in &self.chunks {
                    let chunk = T::from_value_unchecked(chunk.clone());
                    chunks.push($trait::$method(&chunk, other).value().clone());
                }
                Vector::from_parts(&self.tracer, chunks, self.lanes)
            }
        }
    )+};
}

elementwise!(
    Add::add,
    Sub::sub,
    Mul::mul,
    Div::div,
    Rem::rem,
    BitAnd::bitand,
    BitOr::bitor,
    BitXor::bitxor
);

macro_rules! elementwise_unary {
    ($($trait:ident::$method:ident),+) => {$(
        impl<T: Element> $trait for &Vector<T>
        where
            for<'a> &'a T: $trait<Output = T>,
        {
            type Output = Vector<T>;

            #[track_caller]
            fn $method(self) -> Vector<T> {
                let mut chunks = Vec::with_capacity(self.chunks.len());
                for chunk in &self.chunks {
                    let chunk = T::from_value_unchecked(chunk.clone());
                    chunks.push($trait::$method(&chunk).value().clone());
                }
                Vector::from_parts(&self.tracer, chunks, self.lanes)
            }
        }
    )+};
}

elementwise_unary!(Not::not, Neg::neg);
