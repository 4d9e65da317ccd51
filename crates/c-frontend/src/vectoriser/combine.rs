//! What iterations that ran together contribute to what their loop carries.
//!
//! Reductions add up lane by lane first and between lanes last; a contest is a tournament between
//! neighbours, so that of equals the one wins that would in order.

use std::rc::Rc;

use phineus_bytecode::ElementType;

use crate::data::Data;
use crate::data::fold;
use crate::evaluate::arithmetic::compared;
use crate::interpreter::{Frame, Machine, Stop};
use crate::ir::Binary;
use crate::vectoriser::pattern::{Carried, Contest, Pattern};
use phineus_frontend::untyped::Value;

/// Contributions of strips, with how many iterations were in each.
pub(crate) struct Parts {
    /// By phi.
    pub(crate) reductions: Vec<Vec<(Data, u32)>>,
    /// By contest: the challengers of its members.
    pub(crate) contests: Vec<Vec<(Vec<Data>, u32)>>,
}

impl Parts {
    pub(crate) fn new(pattern: &Pattern) -> Parts {
        Parts {
            reductions: vec![Vec::new(); pattern.carried.len()],
            contests: vec![Vec::new(); pattern.contests.len()],
        }
    }
}

impl<'m> Machine<'m> {
    /// The carried values with all contributions.
    pub(crate) fn combine(
        &mut self,
        frame: &Frame<'m>,
        pattern: &Pattern,
        state: &[Data],
        parts: Parts,
    ) -> Result<Vec<Data>, Stop> {
        let mut next = state.to_vec();
        for (at, parts) in parts.reductions.into_iter().enumerate() {
            if let Carried::Reduction(op, width) = pattern.carried[at] {
                next[at] = self.reduce(op, width, state[at].clone(), parts)?;
            }
        }
        let phis = &frame.function.blocks[pattern.header as usize].phis;
        for (contest, parts) in pattern.contests.iter().zip(parts.contests) {
            let widths: Vec<u16> =
                contest.members.iter().map(|(member, _)| phis[*member].width).collect();
            let best: Vec<Data> =
                contest.members.iter().map(|(member, _)| state[*member].clone()).collect();
            let winners = self.decide(contest, &widths, best, parts)?;
            for ((member, _), winner) in contest.members.iter().zip(winners) {
                next[*member] = winner;
            }
        }
        Ok(next)
    }

    /// `data` in each of `lanes` lanes.
    pub(crate) fn in_all(&mut self, data: &Data, width: u16, lanes: u32) -> Rc<Value> {
        let value = self.value(data, width);
        if value.lanes() == lanes { value } else { Rc::new(value.tile(lanes)) }
    }

    fn reduce(
        &mut self,
        op: Binary,
        width: u16,
        start: Data,
        parts: Vec<(Data, u32)>,
    ) -> Result<Data, Stop> {
        let apply = |a, b| fold::binary(op, width, a, b).expect("it never divides");
        let mut result = start;
        let mut vectors: Vec<Rc<Value>> = Vec::new();
        for (data, lanes) in parts {
            let public = match &data {
                Data::Public(value) => (1..lanes).fold(*value, |all, _| apply(all, *value)),
                Data::Spread(values) => values.iter().copied().reduce(apply).unwrap_or_default(),
                secret => {
                    vectors.push(self.in_all(secret, width, lanes));
                    continue;
                }
            };
            result = self.binary(op, width, &result, &Data::Public(public))?;
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
                            let (a, b) = (Data::Secret(a.clone()), Data::Secret(b.clone()));
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

    fn reduce_lanes(&mut self, op: Binary, width: u16, vector: &Rc<Value>) -> Result<Data, Stop> {
        let all = match op {
            Binary::Add | Binary::Sub => vector.lane_sum(ElementType::unsigned(width)),
            Binary::And => vector.lane_and(),
            Binary::Or => vector.lane_or(),
            Binary::Xor => vector.lane_xor(),
            _ => {
                let mut vector = vector.clone();
                let mut rest = Data::Public(fold::identity(op, width));
                while vector.lanes() > 1 {
                    let (half, odd) = (vector.lanes() / 2, vector.lanes() % 2);
                    if odd == 1 {
                        let last = self.known(vector.lane_slice(2 * half, 1));
                        rest = self.binary(op, width, &rest, &last)?;
                    }
                    let low = Data::Secret(Rc::new(vector.lane_slice(0, half)));
                    let high = Data::Secret(Rc::new(vector.lane_slice(half, half)));
                    let both = self.binary(op, width, &low, &high)?;
                    vector = self.in_all(&both, width, half);
                }
                return self.binary(op, width, &Data::Secret(vector), &rest);
            }
        };
        Ok(self.known(all))
    }

    /// The winners of a contest, all members of it.
    fn decide(
        &mut self,
        contest: &Contest,
        widths: &[u16],
        best: Vec<Data>,
        parts: Vec<(Vec<Data>, u32)>,
    ) -> Result<Vec<Data>, Stop> {
        let mut winners: Vec<Vec<Data>> = vec![Vec::new(); widths.len()];
        for (challengers, lanes) in parts {
            let vectors: Vec<Rc<Value>> = challengers
                .iter()
                .zip(widths)
                .map(|(data, width)| self.in_all(data, *width, lanes))
                .collect();
            let found = self.tournament(contest, vectors)?;
            winners.iter_mut().zip(found).for_each(|(all, one)| all.push(Data::Secret(one)));
        }
        let mut rounds: Vec<Vec<Data>> = winners;
        let found = loop {
            let most = 4096 / usize::from(*widths.iter().max().expect("it has members"));
            let count = rounds[0].len();
            let mut next: Vec<Vec<Data>> = vec![Vec::new(); widths.len()];
            for first in (0..count).step_by(most) {
                let end = (first + most).min(count);
                let vectors: Vec<Rc<Value>> = rounds
                    .iter()
                    .zip(widths)
                    .map(|(all, width)| self.pack(&all[first..end], *width))
                    .collect();
                let found = self.tournament(contest, vectors)?;
                next.iter_mut().zip(found).for_each(|(all, one)| all.push(Data::Secret(one)));
            }
            rounds = next;
            if rounds[0].len() == 1 {
                break rounds.iter().map(|all| all[0].clone()).collect::<Vec<Data>>();
            }
        };
        let (key, width) = self.key(contest, widths);
        let wins = self.compare(contest.compare, width, &found[key], &best[key])?;
        let mut all = Vec::with_capacity(found.len());
        for ((new, old), width) in found.iter().zip(&best).zip(widths) {
            all.push(self.select(&wins, new, old, *width)?);
        }
        Ok(all)
    }

    fn key(&self, contest: &Contest, widths: &[u16]) -> (usize, u16) {
        let key = contest.members.iter().position(|(member, _)| *member == contest.key);
        let key = key.expect("the key is a member");
        debug_assert_eq!(widths[key], contest.width, "what is compared is the key");
        (key, contest.width)
    }

    /// One lane of each vector: of the lanes that win, neighbours against each other.
    fn tournament(
        &mut self,
        contest: &Contest,
        mut vectors: Vec<Rc<Value>>,
    ) -> Result<Vec<Rc<Value>>, Stop> {
        let at = contest.members.iter().position(|(member, _)| *member == contest.key);
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
            let wins = compared(contest.compare, &second[at], &first[at]);
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
