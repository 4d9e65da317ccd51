//! Minimum cuts of small networks with whole capacities.
//!
//! Source: Dinitz, "Algorithm for solution of a problem of maximum flow in networks with power estimation", 1970:
//! blocking flows in networks of levels. The networks here have some ten thousand edges, and most paths have less than
//! six of them.

use std::collections::VecDeque;

/// A capacity that no cut of least capacity contains, if there is a cut without it.
pub(super) const UNCUT: u64 = 1 << 60;

/// An edge, followed by the one in the other direction.
struct Edge {
    target: u32,
    capacity: u64,
}

/// A network from [`Network::SOURCE`] to [`Network::SINK`].
pub(super) struct Network {
    edges: Vec<Edge>,
    /// Edges that leave each node.
    leaving: Vec<Vec<u32>>,
    levels: Vec<u32>,
    /// The next edge of each node that may carry more.
    next: Vec<u32>,
}

/// The level of a node that is not reached.
const UNREACHED: u32 = u32::MAX;

impl Network {
    /// Where flows begin.
    pub(super) const SOURCE: usize = 0;
    /// Where flows end.
    pub(super) const SINK: usize = 1;

    /// Of so many nodes besides source and sink, which are counted from 2 on.
    pub(super) fn new(nodes: usize) -> Network {
        let leaving = (0..nodes + 2).map(|_| Vec::new()).collect();
        Network { edges: Vec::new(), leaving, levels: Vec::new(), next: Vec::new() }
    }

    /// Adds a node.
    pub(super) fn add_node(&mut self) -> usize {
        self.leaving.push(Vec::new());
        self.leaving.len() - 1
    }

    /// Adds an edge that is cut if `source` is on the side of the source, and `target` is not.
    pub(super) fn add_edge(&mut self, source: usize, target: usize, capacity: u64) {
        if capacity == 0 || source == target {
            return;
        }
        for (from, to, capacity) in [(source, target, capacity), (target, source, 0)] {
            self.leaving[from].push(self.edges.len() as u32);
            self.edges.push(Edge { target: to as u32, capacity });
        }
    }

    /// Returns for each node whether it is on the side of the source in a cut of least capacity: in the one with the fewest
    /// nodes on that side.
    pub(super) fn cut(mut self) -> Vec<bool> {
        while self.find_levels() {
            self.next = vec![0; self.leaving.len()];
            while self.augment() {}
        }
        self.levels.iter().map(|&level| level != UNREACHED).collect()
    }

    /// Distances from the source over edges that may carry more; returns whether the sink is reached.
    fn find_levels(&mut self) -> bool {
        self.levels = vec![UNREACHED; self.leaving.len()];
        self.levels[Network::SOURCE] = 0;
        let mut reached = VecDeque::from([Network::SOURCE]);
        while let Some(node) = reached.pop_front() {
            for &edge in &self.leaving[node] {
                let Edge { target, capacity } = self.edges[edge as usize];
                if capacity > 0 && self.levels[target as usize] == UNREACHED {
                    self.levels[target as usize] = self.levels[node] + 1;
                    reached.push_back(target as usize);
                }
            }
        }
        self.levels[Network::SINK] != UNREACHED
    }

    /// Sends as much as a path takes; returns whether there was one.
    fn augment(&mut self) -> bool {
        let mut path: Vec<u32> = Vec::new();
        let mut node = Network::SOURCE;
        while node != Network::SINK {
            match self.forward(node) {
                Some(edge) => {
                    path.push(edge);
                    node = self.edges[edge as usize].target as usize;
                }
                None => {
                    // Nothing goes through this node any more.
                    let Some(edge) = path.pop() else { return false };
                    node = self.edges[edge as usize ^ 1].target as usize;
                    self.next[node] += 1;
                }
            }
        }
        let least = path.iter().map(|&edge| self.edges[edge as usize].capacity).min();
        let sent = least.expect("source and sink differ");
        for edge in path {
            self.edges[edge as usize].capacity -= sent;
            self.edges[edge as usize ^ 1].capacity += sent;
        }
        true
    }

    /// The next edge from `node` to the next level that may carry more.
    fn forward(&mut self, node: usize) -> Option<u32> {
        while let Some(&edge) = self.leaving[node].get(self.next[node] as usize) {
            let Edge { target, capacity } = self.edges[edge as usize];
            if capacity > 0 && self.levels[target as usize] == self.levels[node] + 1 {
                return Some(edge);
            }
            self.next[node] += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phineus_bytecode::random::{SeededRng, Seeds};

    /// The capacity of a cut.
    fn capacity(edges: &[(usize, usize, u64)], is_source: impl Fn(usize) -> bool) -> u64 {
        let cut = edges.iter().filter(|(from, to, _)| is_source(*from) && !is_source(*to));
        cut.map(|(_, _, capacity)| capacity).sum()
    }

    #[test]
    fn no_cut_is_less() {
        let mut seeds = Seeds::fresh();
        for _ in 0..500 {
            let random = &mut SeededRng::new(seeds.draw());
            let nodes = 1 + random.below(7) as usize;
            let edges: Vec<(usize, usize, u64)> = (0..random.below(30))
                .map(|_| {
                    let node = |random: &mut SeededRng| random.below(nodes as u64 + 2) as usize;
                    (node(random), node(random), random.below(20))
                })
                .collect();
            let mut network = Network::new(nodes);
            edges.iter().for_each(|&(from, to, capacity)| network.add_edge(from, to, capacity));
            let sides = network.cut();
            assert!(sides[Network::SOURCE] && !sides[Network::SINK]);
            let found = capacity(&edges, |node| sides[node]);
            let all = (0..1u32 << nodes).map(|set| {
                capacity(&edges, |node| match node {
                    Network::SOURCE => true,
                    Network::SINK => false,
                    node => set >> (node - 2) & 1 == 1,
                })
            });
            assert_eq!(Some(found), all.min());
        }
    }
}
