//! Finds a carried value that is loaded where some path has not stored it.
//!
//! Source: the construction of static single assignment form of Cytron, Ferrante, Rosen, Wegman,
//! Zadeck, "Efficiently Computing Static Single Assignment Form and the Control Dependence Graph"
//! (1991), with the dominators of Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm"
//! (2001): a *join* is placed where a stored value meets another one or none, and a load sees a
//! store, a join, or nothing. A join counts as a store if the value is stored on all its paths.
//!
//! Cost: linear in blocks, loads and stores for programs of branches that meet again and of loops.
//! Sets of what each block has stored would take the square of it.

use std::collections::{BTreeMap, BTreeSet};

use super::Flow;

/// No block.
const NONE: usize = usize::MAX;

/// State of a carried value where it is loaded.
#[derive(Clone, Copy)]
enum LoadState {
    Nothing,
    Stored,
    Join(usize),
}

/// A place where paths meet of which some have stored a value.
struct PathJoin {
    slot: u32,
    /// By path, the state of the value there.
    brought: Vec<LoadState>,
}

/// The blocks that can be reached, in reverse postorder, and who dominates whom.
struct Dominators {
    /// Blocks by their place in reverse postorder; all below are places in it.
    order: Vec<usize>,
    after: Vec<Vec<usize>>,
    children: Vec<Vec<usize>>,
    frontier: Vec<Vec<usize>>,
}

impl Dominators {
    fn of(flow: &Flow) -> Dominators {
        let order = reverse_postorder(flow);
        let mut place = vec![NONE; flow.blocks.len()];
        order.iter().enumerate().for_each(|(at, &block)| place[block] = at);
        let after: Vec<Vec<usize>> = order
            .iter()
            .map(|&block| flow.blocks[block].next.blocks().map(|next| place[next]).collect())
            .collect();
        let mut before = vec![Vec::new(); order.len()];
        for (at, after) in after.iter().enumerate() {
            after.iter().for_each(|&next| before[next].push(at));
        }
        let immediate = immediate(&before);
        let mut children = vec![Vec::new(); order.len()];
        let mut frontier: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
        for (at, &parent) in immediate.iter().enumerate().skip(1) {
            children[parent].push(at);
        }
        for (at, before) in before.iter().enumerate().filter(|(_, before)| before.len() > 1) {
            for &from in before {
                let mut runner = from;
                while runner != immediate[at] {
                    if frontier[runner].last() != Some(&at) {
                        frontier[runner].push(at);
                    }
                    runner = immediate[runner];
                }
            }
        }
        Dominators { order, after, children, frontier }
    }

    /// Where what these blocks store meets something else.
    fn joins(&self, storing: &[usize]) -> BTreeSet<usize> {
        let mut joins = BTreeSet::new();
        let mut waiting = storing.to_vec();
        while let Some(block) = waiting.pop() {
            let fresh = self.frontier[block].iter().filter(|&&at| joins.insert(at));
            waiting.extend(fresh.copied());
        }
        joins
    }
}

fn reverse_postorder(flow: &Flow) -> Vec<usize> {
    let mut is_seen = vec![false; flow.blocks.len()];
    let mut order = Vec::new();
    let after = |block: usize| flow.blocks[block].next.blocks().collect::<Vec<usize>>();
    let mut path = vec![(0, after(0))];
    is_seen[0] = true;
    while let Some((block, left)) = path.last_mut() {
        match left.pop() {
            Some(next) if std::mem::replace(&mut is_seen[next], true) => {}
            Some(next) => path.push((next, after(next))),
            None => {
                order.push(*block);
                path.pop();
            }
        }
    }
    order.reverse();
    order
}

/// The immediate dominator of each block; that of the first is itself.
fn immediate(before: &[Vec<usize>]) -> Vec<usize> {
    let mut immediate = vec![NONE; before.len()];
    immediate[0] = 0;
    let mut is_changed = true;
    while std::mem::take(&mut is_changed) {
        for at in 1..before.len() {
            let known = before[at].iter().copied().filter(|&from| immediate[from] != NONE);
            let found = known.reduce(|mut a, mut b| {
                while a != b {
                    while a > b {
                        a = immediate[a];
                    }
                    while b > a {
                        b = immediate[b];
                    }
                }
                a
            });
            let found = found.expect("in reverse postorder one of them comes before");
            is_changed |= std::mem::replace(&mut immediate[at], found) != found;
        }
    }
    immediate
}

/// The state of the pass over the dominator tree.
struct DominatorPass<'a> {
    blocks: &'a Dominators,
    joins: Vec<PathJoin>,
    /// The joins at each block.
    joins_at: Vec<Vec<usize>>,
    /// By slot, what is seen now, the nearest last.
    seen: BTreeMap<u32, Vec<LoadState>>,
    /// Loads with what they see: block, index of the load, that.
    loads: Vec<(usize, usize, LoadState)>,
}

impl DominatorPass<'_> {
    fn now(&self, slot: u32) -> LoadState {
        let seen = self.seen.get(&slot).and_then(|seen| seen.last());
        seen.copied().unwrap_or(LoadState::Nothing)
    }

    fn enter(&mut self, at: usize, loads: &[u32], stores: &[u32]) {
        for join in self.joins_at[at].clone() {
            self.seen.entry(self.joins[join].slot).or_default().push(LoadState::Join(join));
        }
        let block = self.blocks.order[at];
        for (index, &slot) in loads.iter().enumerate() {
            self.loads.push((block, index, self.now(slot)));
        }
        for &slot in stores {
            self.seen.entry(slot).or_default().push(LoadState::Stored);
        }
        for &next in &self.blocks.after[at] {
            for join in self.joins_at[next].clone() {
                let brought = self.now(self.joins[join].slot);
                self.joins[join].brought.push(brought);
            }
        }
    }

    fn leave(&mut self, at: usize, stores: &[u32]) {
        let joined = self.joins_at[at].iter().map(|&join| self.joins[join].slot);
        for slot in joined.chain(stores.iter().copied()) {
            self.seen.get_mut(&slot).expect("it was entered").pop();
        }
    }

    /// Of each join, whether all paths to it have stored the value.
    fn decided(&self) -> Vec<bool> {
        let mut is_stored = vec![true; self.joins.len()];
        let mut used_by = vec![Vec::new(); self.joins.len()];
        let mut waiting = Vec::new();
        for (at, join) in self.joins.iter().enumerate() {
            for brought in &join.brought {
                match *brought {
                    LoadState::Nothing => waiting.push(at),
                    LoadState::Stored => {}
                    LoadState::Join(other) => used_by[other].push(at),
                }
            }
        }
        while let Some(join) = waiting.pop() {
            if std::mem::replace(&mut is_stored[join], false) {
                waiting.extend(&used_by[join]);
            }
        }
        is_stored
    }
}

/// The first block that loads a value that some path to it has not stored, with the value.
pub(super) fn missing(
    flow: &Flow,
    loads: &[Vec<u32>],
    stores: &[Vec<u32>],
) -> Option<(usize, u32)> {
    let blocks = Dominators::of(flow);
    let mut storing: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, &block) in blocks.order.iter().enumerate() {
        stores[block].iter().for_each(|&slot| storing.entry(slot).or_default().push(at));
    }
    let mut pass = DominatorPass {
        blocks: &blocks,
        joins: Vec::new(),
        joins_at: vec![Vec::new(); blocks.order.len()],
        seen: BTreeMap::new(),
        loads: Vec::new(),
    };
    for (&slot, storing) in &storing {
        for at in blocks.joins(storing) {
            pass.joins_at[at].push(pass.joins.len());
            pass.joins.push(PathJoin { slot, brought: Vec::new() });
        }
    }
    let mut path = vec![(0, 0)];
    pass.enter(0, &loads[blocks.order[0]], &stores[blocks.order[0]]);
    while let Some((at, child)) = path.last_mut() {
        let at = *at;
        if let Some(&next) = blocks.children[at].get(*child) {
            *child += 1;
            pass.enter(next, &loads[blocks.order[next]], &stores[blocks.order[next]]);
            path.push((next, 0));
        } else {
            pass.leave(at, &stores[blocks.order[at]]);
            path.pop();
        }
    }
    let is_stored = pass.decided();
    let is_missing = |seen: &LoadState| match *seen {
        LoadState::Nothing => true,
        LoadState::Stored => false,
        LoadState::Join(join) => !is_stored[join],
    };
    let found = pass.loads.iter().filter(|(.., seen)| is_missing(seen));
    let first = found.map(|&(block, index, _)| (block, index)).min();
    first.map(|(block, index)| (block, loads[block][index]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{BlockEnd, Successor};
    use crate::random::SeededRng;

    /// Computes the same from the set of values that all paths to each block have stored.
    fn by_sets(flow: &Flow, loads: &[Vec<u32>], stores: &[Vec<u32>]) -> Option<(usize, u32)> {
        let mut stored: Vec<Option<BTreeSet<u32>>> = vec![None; flow.blocks.len()];
        stored[0] = Some(BTreeSet::new());
        let mut waiting = vec![0];
        while let Some(block) = waiting.pop() {
            let mut after = stored[block].clone().expect("only what is reached waits");
            after.extend(&stores[block]);
            for next in flow.blocks[block].next.blocks() {
                let fewer = match &stored[next] {
                    None => after.clone(),
                    Some(before) => before.intersection(&after).copied().collect(),
                };
                if stored[next].as_ref() != Some(&fewer) {
                    stored[next] = Some(fewer);
                    waiting.push(next);
                }
            }
        }
        loads.iter().zip(&stored).enumerate().find_map(|(block, (loads, stored))| {
            let stored = stored.as_ref()?;
            loads.iter().find(|slot| !stored.contains(slot)).map(|&slot| (block, slot))
        })
    }

    #[test]
    fn it_is_what_sets_say() {
        let seed = std::env::var("PHINEUS_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or_else(|| {
            std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(1, |time| time.as_nanos() as u64)
        });
        println!("PHINEUS_TEST_SEED={seed}");
        let mut random = SeededRng::new(seed);
        let (mut right, mut wrong) = (0, 0);
        for case in 0..20_000 {
            let count = 1 + random.below(9);
            let block = |random: &mut SeededRng| 1 + random.below(count - 1) as u32;
            let next = |random: &mut SeededRng| match random.below(if count == 1 { 1 } else { 7 }) {
                0 => Successor::End,
                1 | 2 => Successor::Jump { block: block(random) },
                _ => Successor::Branch { register: 0, nonzero: block(random), zero: block(random) },
            };
            let end = |random: &mut SeededRng| BlockEnd { steps: Vec::new(), next: next(random) };
            let blocks = (0..count).map(|_| end(&mut random)).collect();
            let flow = Flow { registers: 1, blocks };
            // Few loads, so that some programs are right.
            let mut slots = |most: u64| -> Vec<Vec<u32>> {
                let mut some = || (0..random.below(most)).map(|_| random.below(4) as u32).collect();
                (0..count).map(|_| some()).collect()
            };
            let (loads, mut stores) = (slots(2), slots(4));
            // A block stores a value once.
            stores.iter_mut().for_each(|stores| {
                stores.sort_unstable();
                stores.dedup();
            });
            let expected = by_sets(&flow, &loads, &stores);
            assert_eq!(
                missing(&flow, &loads, &stores),
                expected,
                "seed {seed}, case {case}: {flow:?} {loads:?} {stores:?}"
            );
            *if expected.is_none() { &mut right } else { &mut wrong } += 1;
        }
        assert!(right > 2000 && wrong > 2000, "{right} right, {wrong} wrong");
    }

    /// Of `N` branches, each of whose arms stores a value that the end loads, each is joined once.
    #[test]
    fn branches_one_after_another_have_a_join_each() {
        let count = 2000;
        let (mut blocks, mut stores) = (Vec::new(), Vec::new());
        for at in 0..count {
            let (yes, no, after) = (3 * at + 1, 3 * at + 2, 3 * at + 3);
            let nexts = [
                Successor::Branch { register: 0, nonzero: yes, zero: no },
                Successor::Jump { block: after },
                Successor::Jump { block: after },
            ];
            blocks.extend(nexts.map(|next| BlockEnd { steps: Vec::new(), next }));
            stores.extend([vec![], vec![at], vec![at]]);
        }
        blocks.push(BlockEnd { steps: Vec::new(), next: Successor::End });
        stores.push(Vec::new());
        let flow = Flow { registers: 1, blocks };
        let mut loads = vec![Vec::new(); stores.len()];
        loads[stores.len() - 1] = (0..count).collect();
        assert_eq!(missing(&flow, &loads, &stores), None);
        stores[4].clear();
        assert_eq!(missing(&flow, &loads, &stores), Some((stores.len() - 1, 1)));
        let dominators = Dominators::of(&flow);
        let frontier: usize = dominators.frontier.iter().map(Vec::len).sum();
        assert_eq!(frontier, 2 * count as usize, "each arm has its join in its frontier");
    }
}
