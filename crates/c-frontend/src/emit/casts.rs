//! Products that may become part of a product of matrices. A vector stays one value, however often
//! iterations change its width, so that such products are recognised.
//!
//! Where loops lie three deep, a vector times what is the same in all lanes waits for others with
//! its vector (`crate::delayed`). What is remembered must not depend on where values lie in memory:
//! all parties make the same program.

use std::rc::Rc;

use phineus_bytecode::ElementType;
use phineus_frontend::untyped::Value;

use crate::data::CellValue;
use crate::emit::Emitter;
use crate::ir::Unary;

/// Vectors whose width was changed and are remembered.
const CASTS_KEPT: usize = 4096;

const WIRES: u32 = phineus_bytecode::limits::VALUE_WIRES_MAX;

impl Emitter {
    /// A vector times what is the same in all lanes, if that may be part of a product of matrices.
    pub(crate) fn delayed_product(&mut self, a: &CellValue, b: &CellValue) -> Option<CellValue> {
        if !self.delays_products {
            return None;
        }
        let lane = |data: &CellValue| match data {
            CellValue::Lane(value, lane) => Some((value.clone(), *lane)),
            CellValue::Secret(value) if value.lanes() == 1 => Some((value.clone(), 0)),
            _ => None,
        };
        let (vector, (factor, lane)) = match (a, b) {
            (CellValue::Secret(vector), factor) if vector.lanes() > 1 => (vector, lane(factor)?),
            (factor, CellValue::Secret(vector)) if vector.lanes() > 1 => (vector, lane(factor)?),
            _ => return None,
        };
        Some(CellValue::Secret(Rc::new(vector.delayed_product(&factor, lane))))
    }

    /// A vector in another width, or a lane of one, which is then a lane of the vector in that
    /// width: where iterations run together others will ask for its other lanes.
    pub(crate) fn cast_once(&mut self, op: Unary, to: u16, data: &CellValue) -> Option<CellValue> {
        let is_cast = matches!(op, Unary::Truncate | Unary::ZeroExtend | Unary::SignExtend);
        if !is_cast || !self.delays_products {
            return None;
        }
        match data {
            CellValue::Secret(value) if value.lanes() > 1 => {
                let cast = self.cast_part(op, to, value, 0, value.lanes());
                Some(CellValue::Secret(cast))
            }
            CellValue::Lane(value, lane) => {
                let most = (WIRES / u32::from(to)).min(value.lanes());
                let first = lane / most * most;
                let lanes = most.min(value.lanes() - first);
                let cast = self.cast_part(op, to, value, first, lanes);
                Some(match lanes {
                    1 => CellValue::Secret(cast),
                    _ => CellValue::Lane(cast, lane - first),
                })
            }
            _ => None,
        }
    }

    fn cast_part(
        &mut self,
        op: Unary,
        to: u16,
        value: &Rc<Value>,
        first: u32,
        lanes: u32,
    ) -> Rc<Value> {
        let key = (Rc::as_ptr(value), op, to, first);
        if let Some((_, known)) = self.cache.casts.get(&key) {
            return known.clone();
        }
        if self.cache.casts.len() >= CASTS_KEPT {
            self.cache.casts.clear();
        }
        let made = Rc::new(cast(op, to, &value.lane_slice(first, lanes)));
        self.cache.casts.insert(key, (value.clone(), made.clone()));
        made
    }
}

/// The value in another width.
pub(crate) fn cast(op: Unary, to: u16, value: &Value) -> Value {
    match op {
        Unary::Truncate => value.bit_slice(0, to),
        Unary::SignExtend => value.with_sign(true).cast(ElementType::signed(to)).with_sign(false),
        _ => value.cast(ElementType::unsigned(to)),
    }
}
