//! [`Shapes`]: the shapes of a program's values, all of them or only those that are misused.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{Read, Seek};

use crate::binary::ProgramReader;
use crate::error::Error;
use crate::instruction::{Instruction, Shape, Sharing};
use crate::limits::{FAULTS_MAX, LARGE_VALUE_WIRES_MAX, WIDTH_MAX};

/// How many missing values are taken for lines that were taken out.
const VALUE_GAP_MAX: u64 = 64;

/// A valid shape, or 0: 9 bits of width, 21 bits of lanes, 2 bits of sharing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct PackedShape(u32);

const _: () = assert!(WIDTH_MAX < 1 << 9 && LARGE_VALUE_WIRES_MAX < 1 << 21);

impl PackedShape {
    /// Of a value whose definition is itself at fault.
    pub(super) const UNKNOWN: PackedShape = PackedShape(0);

    /// `shape`, or unknown if it is not valid.
    pub(super) fn of(shape: Shape) -> PackedShape {
        if shape.is_valid_within(LARGE_VALUE_WIRES_MAX) {
            PackedShape(u32::from(shape.width) | shape.lanes << 9 | (shape.sharing as u32) << 30)
        } else {
            PackedShape::UNKNOWN
        }
    }

    pub(super) fn shape(self) -> Shape {
        let sharing = Sharing::ALL[(self.0 >> 30) as usize];
        Shape { width: (self.0 & 0x1ff) as u16, lanes: self.0 >> 9 & 0x1f_ffff, sharing }
    }
}

/// Shapes of the values defined so far.
pub(super) enum Shapes {
    /// All shapes, 4 bytes each: for programs that are not too long, and for texts.
    All(Vec<PackedShape>),
    /// How many values there are, and the shapes of those that some instruction misuses.
    Misused(u64, ByValue),
}

type ByValue = HashMap<u64, PackedShape, BuildHasherDefault<ValueHasher>>;

impl Shapes {
    /// The shape of a value, unknown if it is not at fault; `None` if it is not defined.
    pub(super) fn get(&self, value: u64) -> Option<PackedShape> {
        match self {
            Shapes::All(shapes) => shapes.get(usize::try_from(value).ok()?).copied(),
            Shapes::Misused(count, misused) => {
                let found = misused.get(&value).copied().unwrap_or(PackedShape::UNKNOWN);
                (value < *count).then_some(found)
            }
        }
    }

    /// Defines a value; the error is the value that was expected.
    ///
    /// After a small gap or a repetition it goes on from there, so that one line that was taken
    /// out or doubled is one fault.
    pub(super) fn define(&mut self, value: u64, shape: PackedShape) -> Result<(), u64> {
        let next = match self {
            Shapes::All(shapes) => shapes.len() as u64,
            Shapes::Misused(count, _) => *count,
        };
        let gap = Some(value.saturating_sub(next)).filter(|&gap| gap <= VALUE_GAP_MAX).unwrap_or(0);
        if value >= next {
            match self {
                Shapes::All(shapes) => {
                    shapes.resize(shapes.len() + gap as usize, PackedShape::UNKNOWN);
                    shapes.push(shape);
                }
                Shapes::Misused(count, _) => *count += gap + 1,
            }
        }
        if value == next { Ok(()) } else { Err(next) }
    }

    /// Finds the misused values of a program by reading it backwards, from uses to definitions:
    /// memory for the values that live at any time, and for at most [`FAULTS_MAX`] others.
    pub(super) fn misused<R: Read + Seek>(reader: &mut ProgramReader<R>) -> Result<Shapes, Error> {
        let mut used = ByValue::default();
        let mut misused = ByValue::default();
        let mut instructions: Vec<Instruction> = Vec::new();
        for frame in (0..reader.frame_count()).rev() {
            reader.read_frame(frame, &mut instructions)?;
            for i in instructions.iter().rev() {
                for (k, &result) in i.results().iter().enumerate() {
                    let defined = PackedShape::of(i.result_shape(k));
                    let as_used = used.remove(&result).unwrap_or(defined);
                    if as_used != defined && misused.len() < FAULTS_MAX {
                        misused.insert(result, defined);
                    }
                }
                for (k, &operand) in i.operands().iter().enumerate() {
                    let wanted = PackedShape::of(i.operand_shape(k));
                    let other = *used.entry(operand).or_insert(wanted);
                    if other != wanted {
                        used.insert(operand, PackedShape::UNKNOWN);
                    }
                }
            }
        }
        Ok(Shapes::Misused(0, misused))
    }
}

/// Fibonacci hashing: values are numbered in order, so that nothing better is needed.
#[derive(Default)]
pub(super) struct ValueHasher(u64);

impl Hasher for ValueHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
