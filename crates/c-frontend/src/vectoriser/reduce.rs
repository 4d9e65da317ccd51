//! Reductions: lane by lane first, between lanes last.

use std::rc::Rc;

use phineus_bytecode::ElementType;
use phineus_frontend::untyped::Value;

use crate::data::{CellValue, fold};
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::ir::Binary;

impl OperationEvaluator {
    /// `data` in each of `lanes` lanes.
    pub(crate) fn in_all(&mut self, data: &CellValue, width: u16, lanes: u32) -> Rc<Value> {
        let value = self.emit.value(data, width);
        if value.lanes() == lanes { value } else { Rc::new(value.tile(lanes)) }
    }

    pub(super) fn reduce(
        &mut self,
        op: Binary,
        width: u16,
        start: CellValue,
        parts: Vec<(CellValue, u32)>,
    ) -> Result<CellValue, ExecutionStop> {
        let apply = |a, b| fold::binary(op, width, a, b).expect("it never divides");
        let mut result = start;
        let mut vectors: Vec<Rc<Value>> = Vec::new();
        for (data, lanes) in parts {
            let public = match &data {
                CellValue::Public(value) => (1..lanes).fold(*value, |all, _| apply(all, *value)),
                CellValue::Spread(values) => {
                    values.iter().copied().reduce(apply).unwrap_or_default()
                }
                secret => {
                    vectors.push(self.in_all(secret, width, lanes));
                    continue;
                }
            };
            result = self.binary(op, width, &result, &CellValue::Public(public))?;
        }
        // Pairs of vectors with equal lanes first: all lanes work.
        vectors.sort_by_key(|vector| vector.lanes());
        while let Some(vector) = vectors.pop() {
            let lanes = vector.lanes();
            let mut alike = vec![vector];
            while vectors.last().is_some_and(|next| next.lanes() == lanes) {
                alike.extend(vectors.pop());
            }
            while alike.len() > 1 {
                let mut half = Vec::with_capacity(alike.len().div_ceil(2));
                for pair in alike.chunks(2) {
                    half.push(match pair {
                        [a, b] => {
                            let (a, b) =
                                (CellValue::Secret(a.clone()), CellValue::Secret(b.clone()));
                            let both = self.binary(op, width, &a, &b)?;
                            self.in_all(&both, width, lanes)
                        }
                        _ => pair[0].clone(),
                    });
                }
                alike = half;
            }
            let one = self.reduce_lanes(op, width, &alike[0])?;
            result = self.binary(op, width, &result, &one)?;
        }
        Ok(result)
    }

    fn reduce_lanes(
        &mut self,
        op: Binary,
        width: u16,
        vector: &Rc<Value>,
    ) -> Result<CellValue, ExecutionStop> {
        let all = match op {
            Binary::Add | Binary::Sub => vector.lane_sum(ElementType::unsigned(width)),
            Binary::And => vector.lane_and(),
            Binary::Or => vector.lane_or(),
            Binary::Xor => vector.lane_xor(),
            _ => {
                let mut vector = vector.clone();
                let mut rest = CellValue::Public(fold::identity(op, width));
                while vector.lanes() > 1 {
                    let (half, odd) = (vector.lanes() / 2, vector.lanes() % 2);
                    if odd == 1 {
                        let last = self.emit.known(vector.lane_slice(2 * half, 1));
                        rest = self.binary(op, width, &rest, &last)?;
                    }
                    let low = CellValue::Secret(Rc::new(vector.lane_slice(0, half)));
                    let high = CellValue::Secret(Rc::new(vector.lane_slice(half, half)));
                    let both = self.binary(op, width, &low, &high)?;
                    vector = self.in_all(&both, width, half);
                }
                return self.binary(op, width, &CellValue::Secret(vector), &rest);
            }
        };
        Ok(self.emit.known(all))
    }
}
