//! [`Operation`]: what a cell does in one word with one of its units, and how it is written into a scratch file.
//!
//! Values have *slots*: the result of an operation is in a slot until the last operation that reads it, and then another
//! result may have the slot. So tables of the passes are as long as the most values that live at once.

use crate::OverlayError;
use crate::parameters::{AND_LATENCY, LOAD_LATENCY, MOVE_LATENCY, SPILL_LATENCY, XOR_LATENCY};
use crate::records::{Backwards, RecordFile};
use crate::sum::Sum;

/// The most values that an operation reads.
pub(crate) const OPERANDS_MAX: usize = 6;

/// No position, slot or number.
pub(crate) const NONE: u32 = u32::MAX;

/// The unit that computes an operation, or where its label comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Takes the label of an input from the host.
    #[default]
    Load,
    /// `a & b ^ post`, each of at most two values, as an AND gate.
    And,
    /// The sum of at most three values.
    Xor,
    /// Gives the label of a sum of at most three values to the host.
    Output,
    /// Gives the label of a value of another cell to the cell of this operation.
    Move,
    /// Gives the label of a value to the host, which stores it.
    Spill,
    /// Takes back the label that an earlier operation spilled.
    Fill,
    /// Lets go of the label of an input, which the host sends again. No unit does anything for it.
    Leave,
}

impl Kind {
    const ALL: [Kind; 8] = [
        Kind::Load,
        Kind::And,
        Kind::Xor,
        Kind::Output,
        Kind::Move,
        Kind::Spill,
        Kind::Fill,
        Kind::Leave,
    ];

    /// Cycles from the issue to the first issue that may depend on it.
    pub(crate) fn latency(self) -> u32 {
        match self {
            Kind::Load | Kind::Fill => LOAD_LATENCY,
            Kind::And => AND_LATENCY,
            Kind::Xor => XOR_LATENCY,
            Kind::Move => MOVE_LATENCY,
            Kind::Output | Kind::Spill => SPILL_LATENCY,
            Kind::Leave => 0,
        }
    }

    /// Whether it makes a label in the wire memory.
    pub(crate) fn has_result(self) -> bool {
        match self {
            Kind::Load | Kind::And | Kind::Xor | Kind::Move | Kind::Fill => true,
            Kind::Output | Kind::Spill | Kind::Leave => false,
        }
    }
}

/// One operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    /// The cell in which its result is.
    pub(crate) cell: u8,
    /// Values of `a`, `b` and `post` of an AND; of anything else all are in the first.
    pub(crate) lengths: [u8; 3],
    /// Complements of the three sums, from the lowest bit.
    pub(crate) nots: u8,
    /// Operands that nothing reads later, from the lowest bit.
    pub(crate) lasts: u8,
    pub(crate) result: u32,
    /// Number of the AND gate, the input or the output; of a move the cell that has the value.
    pub(crate) number: u32,
    pub(crate) operands: [u32; OPERANDS_MAX],
}

/// One operation, and what comes after it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KnownOperation {
    pub(crate) operation: Operation,
    /// Cycles from its issue to the end of the longest path.
    pub(crate) priority: u32,
    /// Position of the first operation that reads the result, or [`NONE`].
    pub(crate) first_use: u32,
    /// Positions of the next operations that read each operand, or [`NONE`].
    pub(crate) next_uses: [u32; OPERANDS_MAX],
}

impl Operation {
    /// An operation of one sum.
    pub(crate) fn of_sum(kind: Kind, sum: &Sum) -> Operation {
        let mut operation = Operation { kind, ..Operation::default() };
        operation.add(0, sum);
        operation
    }

    /// An AND.
    pub(crate) fn and(number: u32, [a, b, post]: [&Sum; 3]) -> Operation {
        let mut operation = Operation { kind: Kind::And, number, ..Operation::default() };
        operation.add(0, a);
        operation.add(1, b);
        operation.add(2, post);
        operation
    }

    #[inline]
    fn add(&mut self, place: usize, sum: &Sum) {
        let count = self.count();
        self.operands[count..count + sum.values().len()].copy_from_slice(sum.values());
        self.lengths[place] = sum.values().len() as u8;
        self.nots |= u8::from(sum.is_not()) << place;
    }

    /// Lets an AND add another sum to its result.
    pub(crate) fn set_post(&mut self, post: &Sum) {
        self.lengths[2] = 0;
        self.nots &= 3;
        self.add(2, post);
    }

    /// Operands.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.lengths.iter().map(|&length| usize::from(length)).sum()
    }

    /// Slots of the operands.
    #[inline]
    pub(crate) fn operands(&self) -> &[u32] {
        &self.operands[..self.count()]
    }

    /// One of the three sums.
    #[inline]
    pub(crate) fn sum(&self, place: usize) -> Sum {
        let begin: usize = self.lengths[..place].iter().map(|&length| usize::from(length)).sum();
        let values = &self.operands[begin..begin + usize::from(self.lengths[place])];
        Sum::of(values, self.nots >> place & 1 == 1)
    }

    fn head(&self) -> u32 {
        let [a, b, post] = self.lengths.map(u32::from);
        let [nots, lasts, cell] = [self.nots, self.lasts, self.cell].map(u32::from);
        self.kind as u32 | a << 3 | b << 5 | post << 7 | nots << 9 | lasts << 12 | cell << 18
    }

    #[inline]
    fn set_head(&mut self, head: u32) {
        self.kind = Kind::ALL[(head & 7) as usize];
        self.lengths = [3, 5, 7].map(|shift| (head >> shift & 3) as u8);
        self.nots = (head >> 9 & 7) as u8;
        self.lasts = (head >> 12 & 63) as u8;
        self.cell = (head >> 18 & 15) as u8;
    }

    /// Operands of the operation that a record is of.
    fn count_of(head: u32) -> usize {
        ((head >> 3 & 3) + (head >> 5 & 3) + (head >> 7 & 3)) as usize
    }

    #[inline]
    /// Writes what is known before the pass backwards: head, result, number, operands.
    pub(crate) fn write_found(&self, file: &mut RecordFile) -> Result<(), OverlayError> {
        let record = file.add(FOUND + self.count())?;
        [record[0], record[1], record[2]] = [self.head(), self.result, self.number];
        record[FOUND..].iter_mut().zip(&self.operands).for_each(|(to, &slot)| *to = slot);
        Ok(())
    }

    #[inline]
    fn read_found(&mut self, record: &[u32]) {
        self.set_head(record[0]);
        [self.result, self.number] = [record[1], record[2]];
        for (operand, &slot) in self.operands.iter_mut().zip(&record[FOUND..]) {
            *operand = slot;
        }
    }
}

impl KnownOperation {
    /// Writes everything: as [`Operation::write_found`], with priority and uses.
    #[inline]
    pub(crate) fn write(&self, file: &mut RecordFile) -> Result<(), OverlayError> {
        let operation = &self.operation;
        let count = operation.count();
        let record = file.add(KNOWN + 2 * count)?;
        [record[0], record[1], record[2]] = [operation.head(), operation.result, operation.number];
        [record[3], record[4]] = [self.priority, self.first_use];
        let (operands, next_uses) = record[KNOWN..].split_at_mut(count);
        operands.iter_mut().zip(&operation.operands).for_each(|(to, &slot)| *to = slot);
        next_uses.iter_mut().zip(&self.next_uses).for_each(|(to, &position)| *to = position);
        Ok(())
    }

    /// Takes the numbers of a record. Operands and uses beyond their count mean nothing.
    #[inline]
    fn read(&mut self, record: &[u32]) {
        self.operation.set_head(record[0]);
        [self.operation.result, self.operation.number] = [record[1], record[2]];
        [self.priority, self.first_use] = [record[3], record[4]];
        let (operands, next_uses) = record[KNOWN..].split_at((record.len() - KNOWN) / 2);
        for (operand, &slot) in self.operation.operands.iter_mut().zip(operands) {
            *operand = slot;
        }
        for (next, &position) in self.next_uses.iter_mut().zip(next_uses) {
            *next = position;
        }
    }
}

/// Numbers of a record before its operands.
const FOUND: usize = 3;
/// As [`FOUND`], after the pass backwards.
const KNOWN: usize = 5;

/// The fields that a file of operations has.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// Records of [`Operation::write_found`].
    Found,
    /// Records of [`KnownOperation::write`].
    Known,
}

/// Reads operations, from the last that was written to the first.
pub(crate) struct OperationReader {
    reader: Backwards,
    form: Form,
    block: Vec<u32>,
    /// Where the records of the block begin, of those that were not read.
    begins: Vec<u32>,
}

impl OperationReader {
    pub(crate) fn new(reader: Backwards, form: Form) -> OperationReader {
        OperationReader { reader, form, block: Vec::new(), begins: Vec::new() }
    }

    /// Reads the next record of [`Form::Found`]; returns whether there is one.
    #[inline]
    pub(crate) fn next(&mut self, operation: &mut Operation) -> Result<bool, OverlayError> {
        let Some(begin) = self.next_begin()? else { return Ok(false) };
        let record = &self.block[begin..];
        let count = Operation::count_of(record[0]);
        operation.read_found(&record[..FOUND + count]);
        Ok(true)
    }

    /// As [`OperationReader::next`], of [`Form::Known`].
    #[inline]
    pub(crate) fn next_known(&mut self, known: &mut KnownOperation) -> Result<bool, OverlayError> {
        let Some(begin) = self.next_begin()? else { return Ok(false) };
        let record = &self.block[begin..];
        let count = Operation::count_of(record[0]);
        known.read(&record[..KNOWN + 2 * count]);
        Ok(true)
    }

    #[inline]
    fn next_begin(&mut self) -> Result<Option<usize>, OverlayError> {
        if self.begins.is_empty() && !self.next_block()? {
            return Ok(None);
        }
        Ok(self.begins.pop().map(|begin| begin as usize))
    }

    /// Whether a block has been read to its end.
    pub(crate) fn is_at_block(&self) -> bool {
        self.begins.is_empty()
    }

    fn next_block(&mut self) -> Result<bool, OverlayError> {
        if !self.reader.next_block(&mut self.block)? {
            return Ok(false);
        }
        let (fixed, each) = match self.form {
            Form::Found => (FOUND, 1),
            Form::Known => (KNOWN, 2),
        };
        let mut begin = 0;
        while begin < self.block.len() {
            self.begins.push(begin as u32);
            begin += fixed + each * Operation::count_of(self.block[begin]);
        }
        Ok(true)
    }
}
