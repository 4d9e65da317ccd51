//! Carries by parallel prefix, at the least AND depth.
//!
//! An *element* takes a carry in and gives a carry out: `G ^ (P & carry)`. A column of two bits
//! is one, with its majority for one AND; neighbours join to one element of generate and
//! propagate bit. The networks come from [`BestNetworks`].

use super::plan::{BestNetworks, PrefixGoal, PrefixProblem, PrefixStrategy, carry_depth};
use crate::record::{Recorder, Wire};

/// An element of a prefix sum, which maps a carry in to a carry out.
#[derive(Clone, Copy)]
pub(super) enum PrefixElement {
    /// Two bits of the same weight.
    Bits(Wire, Wire),
    /// Generate and propagate bit of a group of columns; never both 1.
    Group(Wire, Wire),
}

impl PrefixElement {
    fn generate(self, r: &mut Recorder) -> Wire {
        match self {
            PrefixElement::Bits(a, b) => r.and2(a, b),
            PrefixElement::Group(generate, _) => generate,
        }
    }

    fn propagate(self, r: &mut Recorder) -> Wire {
        match self {
            PrefixElement::Bits(a, b) => r.xor2(a, b),
            PrefixElement::Group(_, propagate) => propagate,
        }
    }

    /// The carry out.
    fn carry(self, r: &mut Recorder, carry: Wire) -> Wire {
        match self {
            PrefixElement::Bits(a, b) if carry == Wire::ZERO => r.and2(a, b),
            PrefixElement::Bits(a, b) if carry == Wire::ONE => r.or2(a, b),
            PrefixElement::Bits(a, b) => r.majority(a, b, carry),
            PrefixElement::Group(generate, propagate) => {
                let passed = r.and2(propagate, carry);
                r.xor2(generate, passed)
            }
        }
    }

    /// `self` above `lower`, as one element.
    fn above(self, r: &mut Recorder, lower: PrefixElement) -> PrefixElement {
        let generate = lower.generate(r);
        let generate = self.carry(r, generate);
        let (high, low) = (self.propagate(r), lower.propagate(r));
        PrefixElement::Group(generate, r.and2(high, low))
    }
}

/// Columns of two values, lowest first.
pub(super) fn columns(a: &[Wire], b: &[Wire]) -> Vec<PrefixElement> {
    a.iter().zip(b).map(|(&a, &b)| PrefixElement::Bits(a, b)).collect()
}

/// The carries out of every element.
pub(super) fn carries(
    r: &mut Recorder,
    plans: &mut BestNetworks,
    elements: &[PrefixElement],
    carry: Wire,
) -> Vec<Wire> {
    solve_carries(r, plans, elements, carry, problem(PrefixGoal::Carries, elements))
}

/// The carry out of the last element.
pub(super) fn carry_out(
    r: &mut Recorder,
    plans: &mut BestNetworks,
    elements: &[PrefixElement],
    carry: Wire,
) -> Wire {
    solve_carry(r, plans, elements, carry, problem(PrefixGoal::Carry, elements))
}

fn problem(goal: PrefixGoal, elements: &[PrefixElement]) -> PrefixProblem {
    let leaves = elements.iter().any(|element| matches!(element, PrefixElement::Bits(..)));
    let n = elements.len();
    PrefixProblem { goal, n, depth: carry_depth(n), last_early: false, leaves }
}

fn solve_carries(
    r: &mut Recorder,
    plans: &mut BestNetworks,
    elements: &[PrefixElement],
    carry: Wire,
    problem: PrefixProblem,
) -> Vec<Wire> {
    match plans.strategy(problem) {
        PrefixStrategy::Direct => elements.iter().map(|element| element.carry(r, carry)).collect(),
        PrefixStrategy::Tighter => solve_carries(r, plans, elements, carry, problem.tighter()),
        PrefixStrategy::Pair => {
            let inner = problem.paired().expect("a strategy that was chosen can be gone");
            let (first, rest) = elements.split_at(elements.len() % 2);
            let mut out: Vec<Wire> = first.iter().map(|element| element.carry(r, carry)).collect();
            let mut below = out.first().copied().unwrap_or(carry);
            let pairs = join_neighbours(r, rest);
            let ends = solve_carries(r, plans, &pairs, below, inner);
            for (pair, end) in rest.chunks_exact(2).zip(ends) {
                out.extend([pair[0].carry(r, below), end]);
                below = end;
            }
            out
        }
        PrefixStrategy::Split(low) => {
            let (lower, upper) = problem.split(low);
            let mut out = solve_carries(r, plans, &elements[..low], carry, lower);
            let middle = out[low - 1];
            // The lowest upper element takes the carry itself: by majority if it is a leaf.
            out.push(elements[low].carry(r, middle));
            let groups = solve_groups(r, plans, &elements[low..], upper);
            out.extend(groups[1..].iter().map(|group| group.carry(r, middle)));
            out
        }
    }
}

fn solve_groups(
    r: &mut Recorder,
    plans: &mut BestNetworks,
    elements: &[PrefixElement],
    problem: PrefixProblem,
) -> Vec<PrefixElement> {
    match plans.strategy(problem) {
        PrefixStrategy::Direct => elements.to_vec(),
        PrefixStrategy::Tighter => solve_groups(r, plans, elements, problem.tighter()),
        PrefixStrategy::Pair => {
            let inner = problem.paired().expect("a strategy that was chosen can be gone");
            let (first, rest) = elements.split_at(elements.len() % 2);
            let mut halves = first.to_vec();
            halves.extend(join_neighbours(r, rest));
            let ends = solve_groups(r, plans, &halves, inner);
            let mut out = ends[..first.len()].to_vec();
            for (pair, &end) in rest.chunks_exact(2).zip(&ends[first.len()..]) {
                let below = out.last().copied();
                out.push(below.map_or(pair[0], |below| pair[0].above(r, below)));
                out.push(end);
            }
            out
        }
        PrefixStrategy::Split(low) => {
            let (lower, upper) = problem.split(low);
            let mut out = solve_groups(r, plans, &elements[..low], lower);
            let middle = out[low - 1];
            let groups = solve_groups(r, plans, &elements[low..], upper);
            out.extend(groups.iter().map(|group| group.above(r, middle)));
            out
        }
    }
}

fn join_neighbours(r: &mut Recorder, elements: &[PrefixElement]) -> Vec<PrefixElement> {
    elements.chunks_exact(2).map(|pair| pair[1].above(r, pair[0])).collect()
}

fn solve_carry(
    r: &mut Recorder,
    plans: &mut BestNetworks,
    elements: &[PrefixElement],
    carry: Wire,
    problem: PrefixProblem,
) -> Wire {
    match plans.strategy(problem) {
        PrefixStrategy::Split(low) => {
            let (lower, upper) = problem.split(low);
            let middle = solve_carry(r, plans, &elements[..low], carry, lower);
            solve_group(r, plans, &elements[low..], upper).carry(r, middle)
        }
        _ => elements.iter().fold(carry, |carry, element| element.carry(r, carry)),
    }
}

fn solve_group(
    r: &mut Recorder,
    plans: &mut BestNetworks,
    elements: &[PrefixElement],
    problem: PrefixProblem,
) -> PrefixElement {
    match plans.strategy(problem) {
        PrefixStrategy::Split(low) => {
            let (lower, upper) = problem.split(low);
            let lower = solve_group(r, plans, &elements[..low], lower);
            solve_group(r, plans, &elements[low..], upper).above(r, lower)
        }
        _ => elements[0],
    }
}
