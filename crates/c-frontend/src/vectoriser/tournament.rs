//! Arg-min and arg-max by a tournament between neighbours. Among equal values it gives the one that
//! execution in order would give.

use std::rc::Rc;

use phineus_frontend::untyped::Value;

use crate::data::CellValue;
use crate::emit::record::compared;
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::patterns::pattern::ArgMinMax;

impl OperationEvaluator {
    /// The winners of an arg-min or arg-max, all members of it.
    pub(super) fn decide(
        &mut self,
        arg_min_max: &ArgMinMax,
        widths: &[u16],
        best: Vec<CellValue>,
        parts: Vec<(Vec<CellValue>, u32)>,
    ) -> Result<Vec<CellValue>, ExecutionStop> {
        let mut winners: Vec<Vec<CellValue>> = vec![Vec::new(); widths.len()];
        for (challengers, lanes) in parts {
            let vectors: Vec<Rc<Value>> = challengers
                .iter()
                .zip(widths)
                .map(|(data, width)| self.in_all(data, *width, lanes))
                .collect();
            let found = self.tournament(arg_min_max, vectors)?;
            winners.iter_mut().zip(found).for_each(|(all, one)| all.push(CellValue::Secret(one)));
        }
        let mut rounds: Vec<Vec<CellValue>> = winners;
        let found = loop {
            let most = 4096 / usize::from(*widths.iter().max().expect("it has members"));
            let count = rounds[0].len();
            let mut next: Vec<Vec<CellValue>> = vec![Vec::new(); widths.len()];
            for first in (0..count).step_by(most) {
                let end = (first + most).min(count);
                let vectors: Vec<Rc<Value>> = rounds
                    .iter()
                    .zip(widths)
                    .map(|(all, width)| self.emit.pack(&all[first..end], *width))
                    .collect();
                let found = self.tournament(arg_min_max, vectors)?;
                next.iter_mut().zip(found).for_each(|(all, one)| all.push(CellValue::Secret(one)));
            }
            rounds = next;
            if rounds[0].len() == 1 {
                break rounds.iter().map(|all| all[0].clone()).collect::<Vec<CellValue>>();
            }
        };
        let (key, width) = self.key(arg_min_max, widths);
        let wins = self.compare(arg_min_max.compare, width, &found[key], &best[key])?;
        let mut all = Vec::with_capacity(found.len());
        for ((new, old), width) in found.iter().zip(&best).zip(widths) {
            all.push(self.select(&wins, new, old, *width)?);
        }
        Ok(all)
    }

    fn key(&self, arg_min_max: &ArgMinMax, widths: &[u16]) -> (usize, u16) {
        let key = arg_min_max.members.iter().position(|(member, _)| *member == arg_min_max.key);
        let key = key.expect("the key is a member");
        debug_assert_eq!(widths[key], arg_min_max.width, "what is compared is the key");
        (key, arg_min_max.width)
    }

    /// One lane of each vector: of the lanes that win, neighbours against each other.
    fn tournament(
        &mut self,
        arg_min_max: &ArgMinMax,
        mut vectors: Vec<Rc<Value>>,
    ) -> Result<Vec<Rc<Value>>, ExecutionStop> {
        let at = arg_min_max.members.iter().position(|(member, _)| *member == arg_min_max.key);
        let at = at.expect("the key is a member");
        while vectors[0].lanes() > 1 {
            let lanes = vectors[0].lanes();
            let (pairs, odd) = (lanes / 2, lanes % 2);
            let mut first = Vec::with_capacity(vectors.len());
            let mut second = Vec::with_capacity(vectors.len());
            for vector in &vectors {
                let (even, odd) = vector.lane_slice(0, 2 * pairs).deinterleave(1);
                first.push(even);
                second.push(odd);
            }
            let wins = compared(arg_min_max.compare, &second[at], &first[at]);
            for (k, vector) in vectors.iter_mut().enumerate() {
                let winner = wins.select(&second[k], &first[k]);
                *vector = Rc::new(match odd {
                    1 => winner.lane_concat(&vector.lane_slice(lanes - 1, 1)),
                    _ => winner,
                });
            }
        }
        Ok(vectors)
    }
}
