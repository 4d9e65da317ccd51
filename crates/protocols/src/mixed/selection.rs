//! [`SelectionFlight`]: rows that bits select or exchange.
//!
//! A bit that one party knows is one factor of [`KnownProducts`]. A bit that is shared is the sum of as many factors as
//! there are parties, each of which knows its own share.
//!
//! Cost: those of the products, one for each lane, or as many as there are parties; all in one round.

use std::ops::Range;

use phineus_bytecode::{Instruction, Op};
use phineus_correlated::semi_honest::CorrelatedRandomness;
use phineus_engine::packed;

use super::flight::FlightContext;
use super::known::{Factors, KnownProducts};
use super::openings::Openings;
use crate::ProtocolError;
use crate::shares::values::{Words, blank};
use crate::shares::words::words;

/// Returns whether an instruction on XOR shares is done this way.
pub(super) fn is_selection(instruction: &Instruction) -> bool {
    match instruction.op {
        Op::SwapKnown => true,
        // A single bit takes as much as an AND.
        Op::Mask | Op::Mux | Op::CondSwap => instruction.element.width() > 1,
        _ => false,
    }
}

/// The parties whose bits are factors.
pub(super) fn owners(instruction: &Instruction, parties: usize) -> Range<usize> {
    let owner = instruction.immediates[0] as usize;
    match instruction.op {
        Op::SwapKnown => owner..owner + 1,
        _ => 0..parties,
    }
}

/// An instruction whose factors are on their way.
pub(super) struct SelectionFlight {
    factors: Factors,
    products: Vec<KnownProducts>,
    /// What the products are added to.
    results: Vec<Words>,
}

impl SelectionFlight {
    pub(super) fn issue<P: CorrelatedRandomness>(
        context: &mut FlightContext<'_, P>,
        instruction: &Instruction,
        operands: &[&[u8]],
    ) -> Result<SelectionFlight, ProtocolError> {
        let (width, lanes) = (instruction.element.width(), instruction.lanes as usize);
        let load = |k: usize, strings: u16| {
            let mut rows = blank(usize::from(strings) * words(lanes));
            packed::rows_to_words(&mut rows, operands[k], lanes);
            rows
        };
        let (bits, mut rows) = (load(0, 1), load(1, width));
        let mut results = Vec::new();
        if instruction.op == Op::Mask {
            results.push(blank(rows.len()));
        } else {
            let second = load(2, width);
            if matches!(instruction.op, Op::CondSwap | Op::SwapKnown) {
                results.push(rows.clone());
            }
            rows.iter_mut().zip(&*second).for_each(|(word, second)| *word ^= second);
            results.push(second);
        }
        let factors = Factors { lanes, bits, rows };
        let owners = owners(instruction, context.openings.private.len());
        let products = owners.map(|owner| KnownProducts::issue(context, owner, &factors));
        let products = products.collect::<Result<_, _>>()?;
        Ok(SelectionFlight { factors, products, results })
    }

    /// Takes what the others told.
    pub(super) fn take(&mut self, openings: &Openings, me: usize) {
        let mut sums = blank(self.factors.rows.len());
        for product in self.products.drain(..) {
            product.take(openings, me, &self.factors, &mut sums);
        }
        for result in &mut self.results {
            result.iter_mut().zip(&*sums).for_each(|(word, product)| *word ^= product);
        }
    }

    /// Writes the results.
    pub(super) fn write(&self, results: &mut [&mut [u8]]) {
        for (result, rows) in results.iter_mut().zip(&self.results) {
            packed::words_to_rows(result, rows, self.factors.lanes);
        }
    }
}
