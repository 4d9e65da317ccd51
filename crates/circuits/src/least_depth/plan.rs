//! Finds the prefix network that computes carries with the fewest ANDs at a given depth.
//!
//! Dynamic programming over two methods to build a network (Ladner, Fischer, "Parallel prefix
//! computation", Journal of the ACM 27, 1980, figures 1 and 2): *split* solves two halves and
//! sends the lower half's last result to all of the upper half; *pair* joins neighbours, solves
//! half as many and fills in every second result. The recursion of the paper fixes the choice;
//! here every `n`, depth and method is weighed by its ANDs, a group's generate and propagate bit
//! counting one each.
//!
//! Depths are relative to the propagate bits of the elements: generate bits come one level later,
//! the carry in at 0. A carry over `n` elements then takes depth `ceil(log2(n + 1))`, the least
//! possible: as a polynomial it has degree `n + 1` in the bits of the operands.

use std::collections::HashMap;

/// Circuit to build for `n` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PrefixGoal {
    /// The carries out of every element, at `depth`.
    Carries,
    /// The groups from the first to every element: generate at `depth`, propagate one earlier.
    Groups,
    /// The carry out of the last element, at `depth`.
    Carry,
    /// The group of all elements: generate at `depth`, propagate at that of the goal.
    Group { propagate_depth: u32 },
}

/// A goal and what it has to work with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PrefixProblem {
    pub(super) goal: PrefixGoal,
    pub(super) n: usize,
    pub(super) depth: u32,
    /// Whether the last of several results is due one level before `depth`.
    pub(super) last_early: bool,
    /// Whether the elements are pairs of bits, whose carry is a majority, or groups.
    pub(super) leaves: bool,
}

/// How to solve a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrefixStrategy {
    /// Nothing or one element: directly.
    Direct,
    /// All results one level earlier.
    Tighter,
    /// Neighbours first.
    Pair,
    /// This many lower elements, then the others.
    Split(usize),
}

/// The best strategies found so far.
#[derive(Default)]
pub(super) struct BestNetworks {
    known: HashMap<PrefixProblem, Option<(usize, PrefixStrategy)>>,
}

/// The least depth of a carry over `n` elements.
pub(super) fn carry_depth(n: usize) -> u32 {
    (n + 1).next_power_of_two().ilog2()
}

impl BestNetworks {
    /// The strategy with the fewest ANDs.
    ///
    /// # Panics
    /// If the depth is too small for the problem.
    pub(super) fn strategy(&mut self, problem: PrefixProblem) -> PrefixStrategy {
        self.best(problem).expect("the depth suffices").1
    }

    fn cost(&mut self, problem: PrefixProblem) -> Option<usize> {
        self.best(problem).map(|(cost, _)| cost)
    }

    fn best(&mut self, problem: PrefixProblem) -> Option<(usize, PrefixStrategy)> {
        if let Some(&known) = self.known.get(&problem) {
            return known;
        }
        let best = if is_feasible(problem) { self.search(problem) } else { None };
        self.known.insert(problem, best);
        best
    }

    fn search(&mut self, problem: PrefixProblem) -> Option<(usize, PrefixStrategy)> {
        let PrefixProblem { goal, n, .. } = problem;
        if n <= 1 {
            let generates = usize::from(problem.leaves);
            let cost =
                if matches!(goal, PrefixGoal::Carries | PrefixGoal::Carry) { 1 } else { generates };
            return Some((cost * n, PrefixStrategy::Direct));
        }
        let mut best: Option<(usize, PrefixStrategy)> = None;
        let mut offer = |cost: Option<usize>, strategy: PrefixStrategy| {
            if let Some(cost) = cost
                && best.is_none_or(|(least, _)| cost < least)
            {
                best = Some((cost, strategy));
            }
        };
        if problem.last_early {
            offer(self.cost(problem.tighter()), PrefixStrategy::Tighter);
        }
        if matches!(goal, PrefixGoal::Carries | PrefixGoal::Groups) {
            offer(self.pair_cost(problem), PrefixStrategy::Pair);
        }
        if !problem.last_early {
            for low in split_points(n) {
                offer(self.split_cost(problem, low), PrefixStrategy::Split(low));
            }
        }
        best
    }

    fn pair_cost(&mut self, problem: PrefixProblem) -> Option<usize> {
        let inner = self.cost(problem.paired()?)?;
        let (pairs, odd) = (problem.n / 2, problem.n % 2);
        let joins = pairs * (2 + usize::from(problem.leaves));
        let fills = match problem.goal {
            PrefixGoal::Carries => problem.n - pairs,
            _ => 2 * (pairs - 1 + odd) + odd * usize::from(problem.leaves),
        };
        Some(joins + inner + fills)
    }

    fn split_cost(&mut self, problem: PrefixProblem, low: usize) -> Option<usize> {
        let (lower, upper) = problem.split(low);
        let lower_cost = self.cost(lower)?;
        let upper_cost = self.cost(upper)?;
        // A single leaf on top takes the carry in by its majority: its generate bit is not needed.
        let fused = usize::from(problem.leaves && upper.n == 1);
        let joins = match problem.goal {
            PrefixGoal::Carries => upper.n,
            PrefixGoal::Groups => 2 * upper.n,
            PrefixGoal::Carry => 1,
            PrefixGoal::Group { .. } => 2,
        };
        Some(lower_cost + upper_cost + joins - fused)
    }
}

/// Whether the depth admits any network at all.
fn is_feasible(problem: PrefixProblem) -> bool {
    let depth = if problem.last_early { problem.depth.saturating_sub(1) } else { problem.depth };
    let carry = problem.n == 0 || carry_depth(problem.n) <= depth;
    match problem.goal {
        PrefixGoal::Carries | PrefixGoal::Carry => carry,
        PrefixGoal::Groups => carry && depth > 0 && problem.n <= 1 << (depth - 1),
        PrefixGoal::Group { propagate_depth } => carry && problem.n <= 1 << propagate_depth,
    }
}

/// Where a split may be: all places where that is quick, else those next to powers of two.
fn split_points(n: usize) -> Vec<usize> {
    if n <= 40 {
        return (1..n).collect();
    }
    let powers = (0..9).map(|k| 1usize << k);
    let mut points: Vec<usize> =
        powers.flat_map(|power| [power - 1, power, n.saturating_sub(power)]).collect();
    points.extend([n / 2, n.div_ceil(2), n - 3]);
    points.retain(|&low| low > 0 && low < n);
    points.sort_unstable();
    points.dedup();
    points
}

impl PrefixProblem {
    pub(super) fn tighter(self) -> PrefixProblem {
        PrefixProblem { depth: self.depth - 1, last_early: false, ..self }
    }

    /// The problem on pairs of neighbours, counted from the top, one level down. Where an element
    /// is left at the bottom, a carry goes through it first, and a group stands as it is.
    pub(super) fn paired(self) -> Option<PrefixProblem> {
        let n = if self.goal == PrefixGoal::Groups { self.n.div_ceil(2) } else { self.n / 2 };
        let depth = self.depth.checked_sub(2)?;
        Some(PrefixProblem { n, depth, last_early: false, leaves: false, ..self })
    }

    /// The lower and the upper part of a split.
    pub(super) fn split(self, low: usize) -> (PrefixProblem, PrefixProblem) {
        let PrefixProblem { goal, n, depth, leaves, .. } = self;
        let part =
            |goal, n, depth, last_early| PrefixProblem { goal, n, depth, last_early, leaves };
        match goal {
            PrefixGoal::Carries => {
                let lower = part(PrefixGoal::Carries, low, depth, true);
                (lower, part(PrefixGoal::Groups, n - low, depth, false))
            }
            // The upper propagate bits must meet the lower ones two levels before the end.
            PrefixGoal::Groups => {
                let lower = part(PrefixGoal::Groups, low, depth, true);
                (lower, part(PrefixGoal::Groups, n - low, depth.saturating_sub(1), false))
            }
            PrefixGoal::Carry => {
                let below = depth.saturating_sub(1);
                let upper = PrefixGoal::Group { propagate_depth: below };
                (part(PrefixGoal::Carry, low, below, false), part(upper, n - low, depth, false))
            }
            PrefixGoal::Group { propagate_depth } => {
                let below = depth.saturating_sub(1);
                let early = propagate_depth.saturating_sub(1);
                let lower = PrefixGoal::Group { propagate_depth: early };
                let upper = PrefixGoal::Group { propagate_depth: early.min(below) };
                (part(lower, low, below, false), part(upper, n - low, depth, false))
            }
        }
    }
}
