//! The search for the cheapest sharings of classes: cuts that move classes together.
//!
//! Source: Boykov, Veksler, Zabih, "Fast approximate energy minimization via graph cuts", IEEE PAMI 23(11), 2001: moves
//! of any classes to one sharing at a time, each by a minimum cut. A value that goes to several classes is converted once
//! for all that have the same sharing: one more node of the network for each sharing. *Deviation*: a move may make the
//! conversions of a producer cheaper for consumers that stay, which no cut expresses. They are then priced as before the
//! move, so a move that is found is at least as good as the cut says; what is missed is looked for class by class.
//!
//! With two sharings one move from the first to the second is the optimum.

use super::cut::{Network, UNCUT};

/// The sharings that classes may have, as indices: arithmetic, Boolean, garbled.
pub(super) const SHARINGS: usize = 3;

/// The cost of a sharing that a class cannot have.
pub(super) const IMPOSSIBLE: u64 = 1 << 58;

/// At most so many rounds of moves; each round that finds none is the last.
const SWEEPS_MAX: usize = 16;

/// Costs of all classes and conversions, in a unit of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Energy {
    /// Of each class in each sharing.
    pub(super) classes: Vec<[u64; SHARINGS]>,
    /// Of values that go from one class to others.
    pub(super) groups: Vec<EnergyGroup>,
}

/// Values that come from one class and go to the same others.
#[derive(Clone, Debug)]
pub(super) struct EnergyGroup {
    /// `None` for what comes in from parties, in each sharing that is needed.
    pub(super) producer: Option<usize>,
    pub(super) consumers: Vec<usize>,
    /// Conversion from the first to the second sharing; of what comes in, bringing it in is the first row.
    pub(super) convert: [[u64; SHARINGS]; SHARINGS],
}

impl EnergyGroup {
    fn from(&self, sharing: Option<usize>) -> &[u64; SHARINGS] {
        &self.convert[sharing.unwrap_or(0)]
    }

    fn cost(&self, labels: &[usize]) -> u64 {
        let from = self.producer.map(|class| labels[class]);
        let is_needed = |to: usize| self.consumers.iter().any(|&class| labels[class] == to);
        let needed = (0..SHARINGS).filter(|&to| Some(to) != from && is_needed(to));
        needed.map(|to| self.from(from)[to]).sum()
    }
}

impl Energy {
    /// The cost of an assignment.
    pub(super) fn of(&self, labels: &[usize]) -> u64 {
        let classes = self.classes.iter().zip(labels).map(|(costs, &label)| costs[label]);
        let groups = self.groups.iter().map(|group| group.cost(labels));
        classes.chain(groups).fold(0, u64::saturating_add)
    }

    /// The assignment in which all classes have one sharing, where they can.
    pub(super) fn uniform(&self, sharing: usize, allowed: [bool; SHARINGS]) -> Vec<usize> {
        let first = |costs: &[u64; SHARINGS]| {
            let order = [sharing, 1, 2, 0].into_iter();
            let mut possible = order.filter(|&label| costs[label] < IMPOSSIBLE);
            let any = possible.clone().next().unwrap_or(1);
            possible.find(|&label| allowed[label]).unwrap_or(any)
        };
        self.classes.iter().map(first).collect()
    }

    /// The cheapest assignment that is found with these sharings; classes that can have none of them have another one.
    pub(super) fn cheapest(&self, allowed: [bool; SHARINGS]) -> Vec<usize> {
        let sharings = || (0..SHARINGS).filter(|&sharing| allowed[sharing]);
        let incident = self.incident();
        // First XOR shares: of equal assignments the one that is nearest to them stays.
        let starts = [1, 2, 0].into_iter().filter(|&sharing| allowed[sharing]);
        let found = starts.map(|start| {
            let mut labels = self.uniform(start, allowed);
            let mut cost = self.of(&labels);
            for _ in 0..SWEEPS_MAX {
                let before = cost;
                for sharing in sharings() {
                    let moved = self.moved(&labels, sharing);
                    let after = self.of(&moved);
                    if after < cost {
                        (labels, cost) = (moved, after);
                    }
                }
                self.improve(&mut labels, allowed, &incident);
                cost = self.of(&labels);
                if cost == before {
                    break;
                }
            }
            (cost, labels)
        });
        found.min_by_key(|(cost, _)| *cost).expect("a sharing is allowed").1
    }

    /// The groups of each class.
    fn incident(&self) -> Vec<Vec<u32>> {
        let mut incident = vec![Vec::new(); self.classes.len()];
        for (number, group) in (0..).zip(&self.groups) {
            for &class in group.producer.iter().chain(&group.consumers) {
                if incident[class].last() != Some(&number) {
                    incident[class].push(number);
                }
            }
        }
        incident
    }

    /// Moves single classes while that makes it cheaper.
    fn improve(&self, labels: &mut [usize], allowed: [bool; SHARINGS], incident: &[Vec<u32>]) {
        for _ in 0..SWEEPS_MAX {
            let mut is_better = false;
            for class in 0..labels.len() {
                let cost = |labels: &[usize]| {
                    let groups =
                        incident[class].iter().map(|&g| self.groups[g as usize].cost(labels));
                    self.classes[class][labels[class]] + groups.sum::<u64>()
                };
                let (before, mut best) = (labels[class], cost(labels));
                let mut label = before;
                for other in (0..SHARINGS).filter(|&other| allowed[other] && other != before) {
                    if self.classes[class][other] >= IMPOSSIBLE {
                        continue;
                    }
                    labels[class] = other;
                    let after = cost(labels);
                    if after < best {
                        (label, best) = (other, after);
                    }
                }
                labels[class] = label;
                is_better |= label != before;
            }
            if !is_better {
                return;
            }
        }
    }

    /// `labels` after the best move of any classes to `sharing`. On the side of the source are those that have it then.
    fn moved(&self, labels: &[usize], sharing: usize) -> Vec<usize> {
        let mut network = Network::new(labels.len());
        let node = |class: usize| class + 2;
        for (class, costs) in self.classes.iter().enumerate() {
            if labels[class] == sharing {
                network.add_edge(Network::SOURCE, node(class), UNCUT);
            } else if costs[sharing] >= IMPOSSIBLE {
                network.add_edge(node(class), Network::SINK, UNCUT);
            } else {
                network.add_edge(node(class), Network::SINK, costs[sharing]);
                network.add_edge(Network::SOURCE, node(class), costs[labels[class]]);
            }
        }
        for group in &self.groups {
            let from = group.producer.map(|class| labels[class]);
            if from != Some(sharing) && group.from(from)[sharing] > 0 {
                // On the source's side if any consumer is.
                let any = network.add_node();
                for &class in &group.consumers {
                    network.add_edge(node(class), any, UNCUT);
                }
                let end = group.producer.map_or(Network::SINK, node);
                network.add_edge(any, end, group.from(from)[sharing]);
            }
            for other in (0..SHARINGS).filter(|&other| other != sharing) {
                let stay = group.consumers.iter().filter(|&&class| labels[class] == other);
                let stay: Vec<usize> = stay.copied().collect();
                if stay.is_empty() {
                    continue;
                }
                let price = |from: Option<usize>| {
                    if from == Some(other) { 0 } else { group.from(from)[other] }
                };
                // On the source's side only if all of them are.
                let all = network.add_node();
                for class in stay {
                    network.add_edge(all, node(class), UNCUT);
                }
                network.add_edge(Network::SOURCE, all, price(from));
                if let Some(producer) = group.producer {
                    let more = price(Some(sharing)).saturating_sub(price(from));
                    network.add_edge(node(producer), all, more);
                }
            }
        }
        let sides = network.cut();
        let label =
            |(class, &label): (usize, &usize)| if sides[node(class)] { sharing } else { label };
        labels.iter().enumerate().map(label).collect()
    }
}

#[cfg(test)]
mod tests;
