//! Data as values of the tracer: constants, lanes that are cut out, integers for each lane.

pub(crate) mod casts;
pub(crate) mod opened;
pub(crate) mod pack;
pub(crate) mod zeros;

use std::rc::Rc;

use phineus_bytecode::{ElementType, Lane};

use crate::data::{Data, mask};
use crate::interpreter::Machine;
use phineus_frontend::untyped::Value;

/// Constants that differ between lanes and are remembered.
const SPREADS_KEPT: usize = 256;
/// Lanes that were cut out and are remembered.
const SLICES_KEPT: usize = 4096;

impl Machine<'_> {
    /// The result of an operation as data: known values are public.
    pub(crate) fn known(&self, value: Value) -> Data {
        match value.public() {
            Some(lane) => Data::Public(low_bits(lane)),
            None => Data::Secret(Rc::new(value)),
        }
    }

    pub(crate) fn constant_value(&self, width: u16, value: u128) -> Value {
        self.tracer.constant(ElementType::unsigned(width), Lane::from(value & mask(width)))
    }

    /// An integer as a value of `width` bits, its lanes cut out if they were not.
    pub(crate) fn value(&mut self, data: &Data, width: u16) -> Rc<Value> {
        match data {
            Data::Public(value) => Rc::new(self.constant_value(width, *value)),
            Data::Secret(value) => value.clone(),
            Data::Lane(value, lane) => self.slice(value, *lane),
            Data::Spread(values) => self.spread(width, values),
            Data::Opened(register) => Rc::new(self.published(*register, width)),
            _ => unreachable!("only integers become values"),
        }
    }

    /// A constant that differs between lanes, recorded once.
    pub(crate) fn spread(&mut self, width: u16, values: &Rc<[u128]>) -> Rc<Value> {
        let key = (width, values.clone());
        if let Some(known) = self.spreads.get(&key) {
            return known.clone();
        }
        if self.spreads.len() >= SPREADS_KEPT {
            self.spreads.clear();
        }
        let made = self.spread_anew(width, values);
        self.spreads.insert(key, made.clone());
        made
    }

    /// Counting numbers have their low bits from a constant that all strips share; anything else is
    /// joined from its runs.
    fn spread_anew(&mut self, width: u16, values: &Rc<[u128]>) -> Rc<Value> {
        let lanes = values.len() as u128;
        let first = values[0];
        let low_bits = (128 - (lanes - 1).leading_zeros()) as u16;
        let counts = values.iter().zip(first..).all(|(value, expected)| *value == expected);
        let is_aligned = first & mask(low_bits) == 0;
        if counts && is_aligned && low_bits > 0 && low_bits < width {
            let low: Rc<[u128]> = (0..lanes).collect();
            let low = self.spread(low_bits, &low);
            let high = self.constant_value(width - low_bits, first >> low_bits);
            return Rc::new(low.bit_concat(&high.tile(lanes as u32)));
        }
        let cells: Vec<Data> = values.iter().map(|value| Data::Public(*value)).collect();
        self.pack(&cells, width)
    }

    /// One lane, which is cut out once while it is remembered. What is remembered must not depend on
    /// where values lie in memory: all parties make the same program.
    fn slice(&mut self, value: &Rc<Value>, lane: u32) -> Rc<Value> {
        let key = (Rc::as_ptr(value), lane);
        if let Some((_, cut)) = self.slices.get(&key) {
            return cut.clone();
        }
        if self.slices.len() >= SLICES_KEPT {
            self.slices.clear();
        }
        let cut = Rc::new(value.lane_slice(lane, 1));
        self.slices.insert(key, (value.clone(), cut.clone()));
        cut
    }
}

/// The low 128 bits of a lane.
fn low_bits(lane: Lane) -> u128 {
    let limbs = lane.as_limbs();
    u128::from(limbs[0]) | u128::from(limbs[1]) << 64
}
