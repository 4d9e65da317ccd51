//! The order of sorted inputs, proven to all parties before anything is given out (decision 0039).
//!
//! Who brings a table whose rows are not in the order that the program states makes it compute another
//! function, and may learn bits of other tables that the program does not give. So the owner also brings the
//! *steps* of the keys: by how much the key of a row exceeds the one before (`phineus_bytecode::StepDigit`), in
//! bits, so that none is negative. What is left is linear: for each digit,
//!
//! `upper - lower - borrowed - step = 0`, where `borrowed` is the sign of the step's digit below.
//!
//! These differences are opened ([`Op::RequireZero`]). They are 0 for all owners whose rows are in order, so
//! that opening them reveals nothing.
//!
//! Cost for each row: as many bits brought as its key has, one more for each digit but the highest, and an
//! opened element for each digit. No products, and no rounds but that of the opening, beside others.
//!
//! Invariants: the steps of rows follow their inputs at once, and the proof of all rows that were read so far
//! stands before the next output; ordering keeps it there. Every row up to the last one that is read, of
//! whatever column, is proven; the columns of its key are brought for that where the program does not read
//! them. No key is read twice: the second reading could differ from the one that was proven.
//!
//! Memory: for each sorted input, an entry for each piece of a key that the next rows are compared with, or
//! that was read before the program reads it.

use std::collections::{BTreeMap, HashMap};

use phineus_bytecode::limits::VALUE_WIRES_MAX;
use phineus_bytecode::{
    ElementType, InputPort, Instruction, Lane, Op, STEP_DIGIT_BITS, Sharing, StepDigit,
};

use super::Lowering;
use super::claims::{LoweringOutput, RangedElement};
use super::operations::arithmetic;
use super::range::Range;
use crate::error::Error;

/// The width of the instructions that compute differences of digits.
const DIFFERENCE_BITS: u16 = 32;
const _: () = assert!(STEP_DIGIT_BITS + 2 < DIFFERENCE_BITS);

/// The most rows that are compared at once.
const ROWS_MAX: u64 = (VALUE_WIRES_MAX / DIFFERENCE_BITS as u32) as u64;

/// Rows of a sorted input that have been read.
pub(super) struct KeyRows {
    port: InputPort,
    index: u64,
    digits: Vec<StepDigit>,
    /// The columns of the key.
    columns: Vec<KeyColumn>,
    /// Of the rows before this one, the program has read some.
    touched: u64,
    /// The rows before this one are in order.
    proven: u64,
}

/// Rows of an input that lie next to each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct RowRange {
    first: u64,
    count: u32,
}

impl RowRange {
    /// The row behind the last one.
    fn end(self) -> u64 {
        self.first + u64::from(self.count)
    }
}

/// Rows of a column as one value of bits.
#[derive(Clone, Copy)]
struct RowSegment {
    /// The value.
    name: u64,
    /// Rows in it, each a lane.
    lanes: u32,
}

#[derive(Default)]
struct KeyColumn {
    /// Pieces that have been read, by the first row.
    pieces: BTreeMap<u64, RowSegment>,
    /// All rows before this one were read.
    known: u64,
    /// Those pieces that the program has not read. If it does later, this is what it reads.
    read_ahead: BTreeMap<u64, RowSegment>,
}

impl KeyColumn {
    /// Takes the rows of `piece`, from `row` on; returns whether none of them was read before.
    fn add(&mut self, row: u64, piece: RowSegment) -> bool {
        let end = row + u64::from(piece.lanes);
        let before = self.pieces.range(..end).next_back();
        let overlaps = before.is_some_and(|(&start, before)| start + u64::from(before.lanes) > row);
        if row < self.known || overlaps {
            return false;
        }
        self.pieces.insert(row, piece);
        while let Some(piece) = self.pieces.get(&self.known) {
            self.known += u64::from(piece.lanes);
        }
        true
    }

    /// Forgets the rows before `row`.
    fn forget(&mut self, row: u64) {
        while let Some(first) = self.pieces.first_entry()
            && first.key() + u64::from(first.get().lanes) <= row
        {
            first.remove();
        }
    }
}

impl KeyRows {
    /// Of an input whose order must be proven.
    pub(super) fn of(index: usize, port: &InputPort) -> Option<KeyRows> {
        let digits = port.step_digits();
        let columns = digits.iter().map(|digit| digit.column + 1).max()?;
        Some(KeyRows {
            port: port.clone(),
            index: index as u64,
            digits,
            columns: (0..columns).map(|_| KeyColumn::default()).collect(),
            touched: 0,
            proven: 0,
        })
    }

    fn stride_max(&self) -> u64 {
        self.digits.iter().map(StepDigit::stride).max().unwrap_or(1)
    }

    /// How many rows are compared at once: those that one value of each column holds.
    fn rows_at_once(&self) -> u64 {
        let columns = self.port.columns[..self.columns.len()].iter();
        let widest = columns.map(|column| u64::from(column.element.width())).max().unwrap_or(1);
        ROWS_MAX.min(u64::from(VALUE_WIRES_MAX) / widest)
    }
}

/// Bits of a key that are compared, by column and rows.
type Assembled = HashMap<(usize, RowRange), u64>;

impl<S: LoweringOutput> Lowering<S> {
    /// Reads what an input reads, as bits, and proves the order of the rows of a sorted one.
    pub(super) fn read_rows(&mut self, i: &Instruction) -> Result<u64, Error> {
        let [port, column, row, _] = i.immediates;
        let read = Instruction { element: i.element.shared(Sharing::Boolean), ..*i };
        let Some(mut keys) = self.keys.get_mut(port as usize).and_then(Option::take) else {
            return self.define(read);
        };
        keys.touched = keys.touched.max(row + u64::from(i.lanes));
        let name = match (column as usize) < keys.columns.len() {
            true => self.read_keys(&mut keys, &read)?,
            false => self.define(read)?,
        };
        self.prove_known_rows(&mut keys)?;
        self.keys[port as usize] = Some(keys);
        Ok(name)
    }

    /// Reads rows of a column of the key, but for those that were read only because they were to be proven.
    fn read_keys(&mut self, keys: &mut KeyRows, i: &Instruction) -> Result<u64, Error> {
        let [port, column, row, _] = i.immediates;
        let key = &mut keys.columns[column as usize];
        let (end, width) = (row + u64::from(i.lanes), i.element.width());
        let (mut at, mut joined) = (row, None);
        while at < end {
            let before = key.read_ahead.range(..=at).next_back();
            let part = match before.filter(|&(&start, piece)| at < start + u64::from(piece.lanes)) {
                Some((&start, &piece)) => {
                    let count = (start + u64::from(piece.lanes)).min(end) - at;
                    self.lanes(piece, width, RowRange { first: at - start, count: count as u32 })?
                }
                None => {
                    let next = key.read_ahead.range(at..).next().map_or(end, |(&row, _)| row);
                    let lanes = (next.min(end) - at) as u32;
                    let immediates = [port, column, at, 0];
                    let name = self.define(Instruction { immediates, lanes, ..*i })?;
                    if !key.add(at, RowSegment { name, lanes }) {
                        return Err(Error::KeyReadAgain {
                            instruction: self.index,
                            input: keys.port.name.clone(),
                            column: keys.port.columns[column as usize].name.clone(),
                        });
                    }
                    RowSegment { name, lanes }
                }
            };
            at += u64::from(part.lanes);
            joined = Some(self.joined(joined, part, width)?);
        }
        Ok(joined.expect("an input has a row").name)
    }

    /// Proves the order of all rows that were read, as it must be before anything is given out.
    pub(super) fn prove_orders(&mut self) -> Result<(), Error> {
        for port in 0..self.keys.len() {
            let Some(mut keys) = self.keys[port].take() else { continue };
            if keys.proven < keys.touched {
                self.read_missing_keys(&mut keys)?;
                self.prove_known_rows(&mut keys)?;
            }
            self.keys[port] = Some(keys);
        }
        Ok(())
    }

    /// Reads what the program has not read of the keys of rows that it has read.
    fn read_missing_keys(&mut self, keys: &mut KeyRows) -> Result<(), Error> {
        for (column, key) in keys.columns.iter_mut().enumerate() {
            let element = keys.port.columns[column].element.shared(Sharing::Boolean);
            let lanes_max = u64::from(VALUE_WIRES_MAX / u32::from(element.width()));
            while key.known < keys.touched {
                let next =
                    key.pieces.range(key.known..).next().map_or(keys.touched, |(&row, _)| row);
                let lanes = (next.min(keys.touched) - key.known).min(lanes_max) as u32;
                let mut input = Instruction::new(Op::Input, element, lanes);
                input.immediates = [keys.index, column as u64, key.known, 0];
                let name = self.define(input)?;
                let piece = RowSegment { name, lanes };
                key.read_ahead.insert(key.known, piece);
                let is_new = key.add(key.known, piece);
                assert!(is_new, "what is missing was not read");
            }
        }
        Ok(())
    }

    /// Proves the order of the rows whose whole keys are known.
    fn prove_known_rows(&mut self, keys: &mut KeyRows) -> Result<(), Error> {
        let known = keys.columns.iter().map(|column| column.known).min().unwrap_or(0);
        while keys.proven < known {
            let end = known.min(keys.proven + keys.rows_at_once());
            self.prove_rows(keys, end)?;
            keys.proven = end;
        }
        let kept = known.saturating_sub(keys.stride_max());
        keys.columns.iter_mut().for_each(|column| column.forget(kept));
        Ok(())
    }

    /// Proves that the rows up to `end` that are not yet proven are in order with those before them.
    fn prove_rows(&mut self, keys: &KeyRows, end: u64) -> Result<(), Error> {
        let mut bits = Assembled::new();
        let mut borrowed = None;
        for (k, digit) in keys.digits.iter().enumerate() {
            // The step of a row is about the one that is a stride behind it.
            let row = keys.proven.saturating_sub(digit.stride());
            let Some(lanes) = end.checked_sub(row + digit.stride()).filter(|&lanes| lanes > 0)
            else {
                continue;
            };
            let lanes = lanes as u32;
            if digit.is_lowest {
                let one = (Lane::from(1u64), Range { low: 1, high: 1 });
                borrowed = match digit.is_strict {
                    true => Some(self.constant(one, 1, lanes, false)?),
                    false => None,
                };
            }
            let range = |first| RowRange { first, count: lanes };
            let [lower, upper] =
                digit.rows.map(|at| self.key_digit(keys, digit, range(row + at), &mut bits));
            let (step, borrows) = self.brought_step(keys, k, range(row))?;
            let mut difference = self.difference(upper?, lower?, lanes)?;
            if let Some(borrowed) = borrowed.take() {
                difference = self.difference(difference, borrowed, lanes)?;
            }
            difference = self.difference(difference, step, lanes)?;
            borrowed = borrows;
            assert!(self.fits(difference.range()), "digits are narrow");
            let element = arithmetic(ElementType::signed(DIFFERENCE_BITS));
            let mut zero = Instruction::new(Op::RequireZero, element, lanes);
            (zero.immediates[0], zero.operands[0]) = (keys.index, difference.name());
            self.sink.emit(&zero)?;
        }
        Ok(())
    }

    fn difference(
        &mut self,
        a: RangedElement,
        b: RangedElement,
        lanes: u32,
    ) -> Result<RangedElement, Error> {
        let range = a.range().sub(b.range());
        self.one(Op::Sub, (DIFFERENCE_BITS, lanes), &[a, b], 0, range)
    }

    /// Digit `k` of steps as its owner brings it, and whether it borrows from the next one.
    fn brought_step(
        &mut self,
        keys: &KeyRows,
        k: usize,
        rows: RowRange,
    ) -> Result<(RangedElement, Option<RangedElement>), Error> {
        let (row, lanes) = (rows.first, rows.count);
        let digit = &keys.digits[k];
        let element = digit.element();
        let mut input = Instruction::new(Op::Input, element.shared(Sharing::Boolean), lanes);
        input.immediates = [keys.index, (keys.port.columns.len() + k) as u64, row, 0];
        let bits = self.define(input)?;
        let mut convert = Instruction::new(Op::Convert, arithmetic(element), lanes);
        (convert.immediates[0], convert.operands[0]) = (Sharing::Boolean as u64, bits);
        let range = Range::of_type(element.width(), element.is_signed());
        let step = self.define_integer(convert, range)?;
        if digit.is_highest {
            return Ok((step, None));
        }
        let sign = self.slice(bits, element.width(), (digit.width, 1), lanes)?;
        Ok((step, Some(self.elements_of(sign, 1, lanes)?)))
    }

    /// A digit of the keys of `rows`.
    fn key_digit(
        &mut self,
        keys: &KeyRows,
        digit: &StepDigit,
        rows: RowRange,
        assembled: &mut Assembled,
    ) -> Result<RangedElement, Error> {
        let width = keys.port.columns[digit.column].element.width();
        let bits = match assembled.get(&(digit.column, rows)) {
            Some(&bits) => bits,
            None => self.key_bits(&keys.columns[digit.column], width, rows)?,
        };
        assembled.insert((digit.column, rows), bits);
        let bits = self.slice(bits, width, (digit.start, digit.width), rows.count)?;
        self.elements_of(bits, digit.width, rows.count)
    }

    /// The bits of a column in `rows`.
    fn key_bits(&mut self, column: &KeyColumn, width: u16, rows: RowRange) -> Result<u64, Error> {
        let (mut at, end, mut joined) = (rows.first, rows.end(), None);
        while at < end {
            let piece = column.pieces.range(..=at).next_back();
            let (&start, &piece) = piece.expect("rows are kept until they are proven");
            let count = (start + u64::from(piece.lanes)).min(end) - at;
            let within = RowRange { first: at - start, count: count as u32 };
            let part = self.lanes(piece, width, within)?;
            joined = Some(self.joined(joined, part, width)?);
            at += count;
        }
        Ok(joined.expect("some rows are compared").name)
    }

    /// The rows of `piece` that `within` names, counted from its first.
    fn lanes(
        &mut self,
        piece: RowSegment,
        width: u16,
        within: RowRange,
    ) -> Result<RowSegment, Error> {
        let lanes = within.count;
        if lanes == piece.lanes {
            return Ok(piece);
        }
        let from = [within.first, u64::from(piece.lanes)];
        let name = self.on_bits(Op::LaneSlice, (width, lanes), [piece.name, 0], from)?;
        Ok(RowSegment { name, lanes })
    }

    /// The rows of `low`, if there are any, and those of `high` behind them.
    fn joined(
        &mut self,
        low: Option<RowSegment>,
        high: RowSegment,
        width: u16,
    ) -> Result<RowSegment, Error> {
        let Some(low) = low else { return Ok(high) };
        let lanes = low.lanes + high.lanes;
        let at = [u64::from(low.lanes), 0];
        let name = self.on_bits(Op::LaneConcat, (width, lanes), [low.name, high.name], at)?;
        Ok(RowSegment { name, lanes })
    }
}
