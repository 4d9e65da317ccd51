//! [`Flight`]: an instruction between its issue and its finish.
//!
//! Sources: AND and multiplication with triples: Beaver, "Efficient multiparty protocols using
//! circuit randomization", CRYPTO 1991; as in Braun et al., "MOTION" (ePrint 2020/1137), sections
//! 6.1 and 6.2. Squares with square pairs: section 6.1 there. Boolean to arithmetic with shared
//! bits: section 7.1 there. Arithmetic to Boolean by adding the parties' shares: section 7.5.
//!
//! Cost: an AND opens 2 bits, a product 2 elements, a square 1 element, a converted bit 1 bit.
//! Each party sends what is opened to each other party.

use std::sync::Arc;

use phineus_bytecode::Instruction;
use phineus_circuits::record::CircuitTemplate;
use phineus_correlated::semi_honest::CorrelatedRandomness;

use super::garbled::EnteringWires;
use super::half_gates::EnteringLabels;
use super::look_up::{LookUpFlight, OpenedRows, PublicTables};
use super::openings::Openings;
use super::rows::{gather, run, scatter};
use super::selection::SelectionFlight;
use super::shared_rows::AddFlight;
use crate::ProtocolError;
use crate::shares::ring::mask_of;
use crate::shares::values::{Words, blank};
use crate::shares::words::words;

/// State of the driver that a flight needs.
pub(super) struct FlightContext<'a, P> {
    pub(super) openings: &'a mut Openings,
    pub(super) correlated: &'a mut P,
    /// Whether this is the party that adds public values.
    pub(super) first: bool,
    /// This party.
    pub(super) me: usize,
    pub(super) tables: &'a mut PublicTables,
}

/// A multiplication whose operands were masked with a triple and are being opened.
#[derive(Default)]
struct MaskedProduct {
    a: Words,
    b: Words,
    c: Words,
    d_at: usize,
    e_at: usize,
}

/// A circuit that runs level by level.
pub(super) struct CircuitFlight {
    pub(super) template: Arc<CircuitTemplate>,
    pub(super) lanes: usize,
    /// All slots of the template.
    pub(super) rows: Words,
    level: usize,
    masked: MaskedProduct,
}

impl CircuitFlight {
    pub(super) fn new(template: Arc<CircuitTemplate>, lanes: usize, rows: Words) -> CircuitFlight {
        CircuitFlight { template, lanes, rows, level: 0, masked: MaskedProduct::default() }
    }

    /// Does what the next level can do alone, and issues its ANDs; whether there were any.
    pub(super) fn issue<P: CorrelatedRandomness>(
        &mut self,
        context: &mut FlightContext<'_, P>,
    ) -> Result<bool, ProtocolError> {
        let level = &self.template.levels[self.level];
        run(&mut self.rows, &level.local, self.lanes, context.first);
        let count = level.ands.len() * self.lanes;
        if count == 0 {
            return Ok(false);
        }
        let size = words(count);
        let masked = &mut self.masked;
        for buffer in [&mut masked.a, &mut masked.b, &mut masked.c] {
            buffer.resize(size, 0);
        }
        context.correlated.bit_triples(count, &mut masked.a, &mut masked.b, &mut masked.c)?;
        let mut difference = blank(size);
        gather(&mut difference, &self.rows, &level.ands, self.lanes, |and| and.a);
        difference.iter_mut().zip(&*masked.a).for_each(|(x, a)| *x ^= a);
        masked.d_at = context.openings.push_bits(&difference, count);
        gather(&mut difference, &self.rows, &level.ands, self.lanes, |and| and.b);
        difference.iter_mut().zip(&*masked.b).for_each(|(y, b)| *y ^= b);
        masked.e_at = context.openings.push_bits(&difference, count);
        Ok(true)
    }

    /// Takes what was opened: `z = c ^ d b ^ e a ^ d e`.
    fn take(&mut self, openings: &Openings, first: bool) {
        let ands = &self.template.levels[self.level].ands;
        let count = ands.len() * self.lanes;
        let MaskedProduct { a, b, c, d_at, e_at } = &mut self.masked;
        let (mut d, mut e) = (blank(c.len()), blank(c.len()));
        openings.bits(*d_at, &mut d, count);
        openings.bits(*e_at, &mut e, count);
        let public = if first { u64::MAX } else { 0 };
        for (k, z) in c.iter_mut().enumerate() {
            *z ^= d[k] & b[k] ^ e[k] & a[k] ^ d[k] & e[k] & public;
        }
        scatter(&mut self.rows, c, ands, self.lanes);
        self.level += 1;
    }
}

/// An instruction between its issue and its finish.
pub(super) enum Flight {
    /// On XOR shares.
    Circuit(Box<CircuitFlight>),
    /// `x y` or `x^2` in `Z_2^w`.
    Product(Box<ProductFlight>),
    /// XOR shares to additive ones.
    Conversion(Box<ConversionFlight>),
    /// Wires that become garbled.
    Entry(Box<EnteringWires>),
    /// Wires that get labels.
    Labels(Box<EnteringLabels>),
    /// Rows that bits select or exchange.
    Selection(Box<SelectionFlight>),
    /// Rows of a table that all parties know.
    LookUp(Box<LookUpFlight>),
    /// Rows that become those of such a table.
    TableOpening(OpenedRows),
    /// A change of a row at a secret index.
    Add(AddFlight),
}

impl Flight {
    /// Goes on after a round; whether it is done.
    pub(super) fn step<P: CorrelatedRandomness>(
        &mut self,
        context: &mut FlightContext<'_, P>,
    ) -> Result<bool, ProtocolError> {
        match self {
            Flight::Circuit(circuit) => {
                circuit.take(context.openings, context.first);
                Ok(!circuit.issue(context)?)
            }
            Flight::Product(product) => {
                product.take(context.openings, context.first);
                Ok(true)
            }
            Flight::Conversion(conversion) => {
                conversion.take(context.openings, context.first);
                Ok(true)
            }
            Flight::Entry(entry) => Ok(entry.step(context.openings)),
            // The round has brought them.
            Flight::Labels(_) => Ok(true),
            Flight::Selection(selection) => {
                selection.take(context.openings, context.me);
                Ok(true)
            }
            Flight::LookUp(lookup) => {
                lookup.take(context.openings, context.tables);
                Ok(true)
            }
            Flight::TableOpening(rows) => {
                rows.take(context.openings, context.tables);
                Ok(true)
            }
            Flight::Add(change) => {
                change.take(context.openings, context.tables);
                Ok(true)
            }
        }
    }
}

/// A product in flight; its result is there after one round.
pub(super) struct ProductFlight {
    width: u16,
    is_square: bool,
    masked: MaskedProduct,
}

impl ProductFlight {
    /// Issues `x * y`, or `x * x` if there is no `y`.
    pub(super) fn issue<P: CorrelatedRandomness>(
        context: &mut FlightContext<'_, P>,
        instruction: &Instruction,
        x: &[u64],
        y: Option<&[u64]>,
    ) -> Result<ProductFlight, ProtocolError> {
        let width = instruction.element.width();
        let mask = mask_of(width);
        let mut masked =
            MaskedProduct { a: blank(x.len()), c: blank(x.len()), ..MaskedProduct::default() };
        let mut difference = blank(x.len());
        let mut open = |values: &[u64], masks: &[u64]| {
            let values = values.iter().zip(masks);
            let differences = values.map(|(value, share)| value.wrapping_sub(*share) & mask);
            difference.iter_mut().zip(differences).for_each(|(word, value)| *word = value);
            context.openings.push_ring(width, &difference)
        };
        match y {
            None => {
                context.correlated.square_pairs(width, &mut masked.a, &mut masked.c)?;
                masked.d_at = open(x, &masked.a);
            }
            Some(y) => {
                masked.b = blank(y.len());
                let MaskedProduct { a, b, c, .. } = &mut masked;
                context.correlated.ring_triples(width, a, b, c)?;
                masked.d_at = open(x, &masked.a);
                masked.e_at = open(y, &masked.b);
            }
        }
        Ok(ProductFlight { width, is_square: y.is_none(), masked })
    }

    /// Takes what was opened: `z = c + d b + e a + d e`, or `z = c + 2 d a + d^2`.
    fn take(&mut self, openings: &Openings, first: bool) {
        let MaskedProduct { a, b, c, d_at, e_at } = &mut self.masked;
        let (mut d, mut e) = (blank(c.len()), blank(c.len()));
        openings.ring(*d_at, self.width, &mut d);
        let public = u64::from(first);
        if self.is_square {
            for (k, z) in c.iter_mut().enumerate() {
                let cross = d[k].wrapping_mul(a[k]).wrapping_mul(2);
                let square = d[k].wrapping_mul(d[k]).wrapping_mul(public);
                *z = z.wrapping_add(cross).wrapping_add(square);
            }
            return;
        }
        openings.ring(*e_at, self.width, &mut e);
        for (k, z) in c.iter_mut().enumerate() {
            let left = d[k].wrapping_mul(b[k]);
            let right = e[k].wrapping_mul(a[k]);
            let both = d[k].wrapping_mul(e[k]).wrapping_mul(public);
            *z = z.wrapping_add(left).wrapping_add(right).wrapping_add(both);
        }
    }

    /// The shares of the products, not reduced.
    pub(super) fn shares(&self) -> &[u64] {
        &self.masked.c
    }
}

/// A conversion from XOR shares to additive ones in flight; done after one round.
pub(super) struct ConversionFlight {
    width: u16,
    lanes: usize,
    /// Additive shares of the random bits, bit-major.
    ring: Words,
    at: usize,
    result: Words,
}

impl ConversionFlight {
    /// Issues it for `bits`, packed and bit-major without gaps.
    pub(super) fn issue<P: CorrelatedRandomness>(
        context: &mut FlightContext<'_, P>,
        instruction: &Instruction,
        bits: &[u64],
    ) -> Result<ConversionFlight, ProtocolError> {
        let (width, lanes) = (instruction.element.width(), instruction.lanes as usize);
        let count = usize::from(width) * lanes;
        let (mut ring, mut masked) = (blank(count), blank(words(count)));
        context.correlated.shared_bits(width, &mut masked, &mut ring)?;
        masked.iter_mut().zip(bits).for_each(|(mask, bit)| *mask ^= bit);
        let at = context.openings.push_bits(&masked, count);
        Ok(ConversionFlight { width, lanes, ring, at, result: blank(lanes) })
    }

    /// Takes what was opened: bit `i` is `t + r - 2 t r`, and counts `2^i`.
    fn take(&mut self, openings: &Openings, first: bool) {
        let count = usize::from(self.width) * self.lanes;
        let mut opened = blank(words(count));
        openings.bits(self.at, &mut opened, count);
        for (k, &r) in self.ring.iter().enumerate() {
            let t = opened[k / 64] >> (k % 64) & 1;
            // 1 - r or r, without a branch on t; t itself is the first party's to add.
            let share = (r ^ t.wrapping_neg()).wrapping_add(t);
            let share = share.wrapping_add(t & u64::from(first));
            let (bit, lane) = (k / self.lanes, k % self.lanes);
            self.result[lane] = self.result[lane].wrapping_add(share << bit);
        }
    }

    /// The additive shares, not reduced.
    pub(super) fn shares(&self) -> &[u64] {
        &self.result
    }
}
