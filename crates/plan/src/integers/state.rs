//! Instructions on regions, registers and permutations, and the exchange of rows.
//!
//! Rows of regions are elements in the range of their type, or bits where the field does not hold it. Rows are exchanged as
//! elements: one product for a whole row.

use phineus_bytecode::{ElementType, Instruction, Op, Sharing};

use super::claims::LoweringOutput;
use super::operations::{Done, arithmetic};
use super::range::Range;
use super::{Lowering, stored_in_field};
use crate::error::Error;

impl<S: LoweringOutput> Lowering<S> {
    pub(super) fn state(&mut self, i: &Instruction) -> Done {
        match i.op {
            Op::Switches => {
                let mut made = *i;
                made.element = arithmetic(ElementType::BIT);
                let bits = self.define_integer(made, Range::BIT)?;
                self.set_integer(i.results[0], i.shape(), bits);
            }
            Op::SwapKnown => self.swap(i)?,
            Op::Reveal => {
                let (width, operand) = (i.element.width(), i.operands[0]);
                let Some(value) = self.canonical(operand, false)? else {
                    return Err(self.too_small(i, Range::of_type(width, false)));
                };
                let mut made = *i;
                made.element = arithmetic(ElementType::unsigned(width));
                made.operands[0] = value.name();
                self.sink.emit(&made)?;
            }
            Op::RegionLoad | Op::RegionLoadAt => self.load_rows(i)?,
            Op::RegionStore | Op::RegionStoreAt => self.store_rows(i)?,
            _ => {
                let what = "the protocol tells nobody a permutation, and locates nothing";
                return Err(Error::Invalid { instruction: self.index, what });
            }
        }
        Ok(true)
    }

    /// Exchanges rows by bits that one party knows, as by any.
    fn swap(&mut self, i: &Instruction) -> Result<(), Error> {
        let mut made = Instruction { op: Op::CondSwap, immediates: [0; 4], ..*i };
        let [selector, x, y] = i.operands;
        let (Some(a), Some(b)) = (self.integer(x)?, self.integer(y)?) else {
            return self.circuit(&made);
        };
        let bit = self.canonical(selector, false)?.expect("a bit is an element");
        let range = a.range().union(b.range());
        if !self.fits(range.sub(range)) {
            return self.circuit(&made);
        }
        made.element = arithmetic(i.element);
        made.operands = [bit.name(), a.name(), b.name()];
        self.emit_integers(i, made, range)
    }

    fn load_rows(&mut self, i: &Instruction) -> Result<(), Error> {
        let mut made = *i;
        made.element = stored_in_field(i.element, self.magnitude_bits);
        let name = self.define(made)?;
        match made.element.sharing() {
            Sharing::Arithmetic => {
                let range = Range::of_type(i.element.width(), i.element.is_signed());
                let rows = self.claim(name, range);
                self.set_integer(i.results[0], i.shape(), rows);
            }
            Sharing::Any | Sharing::Boolean | Sharing::Garbled => {
                self.set_bits(i.results[0], i.shape(), name);
            }
        }
        Ok(())
    }

    fn store_rows(&mut self, i: &Instruction) -> Result<(), Error> {
        let mut made = *i;
        made.element = stored_in_field(i.element, self.magnitude_bits);
        made.operands[0] = match made.element.sharing() {
            Sharing::Arithmetic => {
                let rows = self.canonical(i.operands[0], i.element.is_signed())?;
                rows.expect("the field holds the type").name()
            }
            Sharing::Any | Sharing::Boolean | Sharing::Garbled => self.bits(i.operands[0])?,
        };
        self.sink.emit(&made)
    }
}
