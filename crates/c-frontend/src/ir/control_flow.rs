//! The shape of a function's control flow: post-dominators and natural loops.
//!
//! Where a secret decides a branch, both arms are run up to the branch's immediate post-dominator.
//! Blocks from which no path leads to a return (`abort`, `__builtin_unreachable`) do not count.
//! The algorithm is Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", 2001, Figure 3.

use crate::ir::{IrBlock, Terminator};

/// A natural loop.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub(crate) header: u32,
    /// Blocks with a back edge to the header.
    pub(crate) latches: Vec<u32>,
    /// Whether each block of the function is in it.
    pub(crate) contains: Vec<bool>,
    /// Edges out of it.
    pub(crate) exits: Vec<(u32, u32)>,
    /// How many loops it is in.
    pub(crate) depth: u32,
    /// Whether there is a loop in it.
    pub(crate) has_inner: bool,
    /// How many loops the blocks in it are in, at most.
    pub(crate) deepest: u32,
}

/// Control flow of a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlFlowGraph {
    /// Where both arms of a branch in this block meet; `None` if only at the return.
    pub(crate) joins: Vec<Option<u32>>,
    /// Whether a return can be reached from the block.
    pub(crate) ends: Vec<bool>,
    /// Whether a block without a successor can be reached: from others a loop is never left.
    pub(crate) halts: Vec<bool>,
    pub(crate) loops: Vec<Loop>,
    /// The loop that each block is the header of.
    pub(crate) header_of: Vec<Option<u32>>,
    /// The innermost loop around each block.
    pub(crate) inner: Vec<Option<u32>>,
}

const NONE: u32 = u32::MAX;

/// Immediate dominators of a graph whose node 0 is the root.
fn dominators(successors: &[Vec<u32>]) -> Vec<u32> {
    let count = successors.len();
    let order = post_order(successors);
    let mut number = vec![NONE; count];
    order.iter().zip(0..).for_each(|(&node, at)| number[node as usize] = at);
    let mut predecessors = vec![Vec::new(); count];
    for (node, targets) in successors.iter().enumerate() {
        targets.iter().for_each(|&target| predecessors[target as usize].push(node as u32));
    }
    let mut parent = vec![NONE; count];
    parent[0] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for &node in order.iter().rev().filter(|&&node| node != 0) {
            let known = predecessors[node as usize]
                .iter()
                .copied()
                .filter(|&p| parent[p as usize] != NONE)
                .reduce(|a, b| common(&parent, &number, a, b));
            if let Some(new) = known
                && parent[node as usize] != new
            {
                parent[node as usize] = new;
                changed = true;
            }
        }
    }
    parent
}

/// The nearest dominator of both.
fn common(parent: &[u32], number: &[u32], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        while number[a as usize] < number[b as usize] {
            a = parent[a as usize];
        }
        while number[b as usize] < number[a as usize] {
            b = parent[b as usize];
        }
    }
    a
}

fn post_order(successors: &[Vec<u32>]) -> Vec<u32> {
    let mut seen = vec![false; successors.len()];
    let mut order = Vec::new();
    let mut stack = vec![(0u32, 0usize)];
    seen[0] = true;
    while let Some((node, at)) = stack.pop() {
        match successors[node as usize].get(at) {
            None => order.push(node),
            Some(&next) => {
                stack.push((node, at + 1));
                if !std::mem::replace(&mut seen[next as usize], true) {
                    stack.push((next, 0));
                }
            }
        }
    }
    order
}

impl ControlFlowGraph {
    /// The shape of these blocks.
    pub(crate) fn new(blocks: &[IrBlock]) -> ControlFlowGraph {
        let successors: Vec<Vec<u32>> =
            blocks.iter().map(|block| block.terminator.successors()).collect();
        let is_return = |block: &IrBlock| matches!(block.terminator, Terminator::Return(_));
        let ends = reaching(&successors, blocks.iter().map(is_return).collect());
        let halts = reaching(&successors, successors.iter().map(Vec::is_empty).collect());
        let joins = joins(blocks, &successors, &ends);
        let mut loops = loops(&successors);
        loops.sort_by_key(|l| std::cmp::Reverse(l.contains.iter().filter(|c| **c).count()));
        let mut inner = vec![None; blocks.len()];
        let mut header_of = vec![None; blocks.len()];
        for index in 0..loops.len() {
            let header = loops[index].header as usize;
            header_of[header] = Some(index as u32);
            let depth = loops[..index].iter().filter(|outer| outer.contains[header]).count();
            loops[index].depth = depth as u32;
            for outer in loops[..=index].iter_mut().filter(|outer| outer.contains[header]) {
                outer.has_inner |= outer.header as usize != header;
                outer.deepest = outer.deepest.max(depth as u32 + 1);
            }
            let members = loops[index].contains.iter().enumerate().filter(|(_, inside)| **inside);
            members.for_each(|(block, _)| inner[block] = Some(index as u32));
        }
        ControlFlowGraph { joins, ends, halts, loops, header_of, inner }
    }

    /// All blocks that may come after entering `first`, from which no path leads to a return.
    pub(crate) fn dead_end(&self, blocks: &[IrBlock], first: u32) -> Vec<u32> {
        let mut found = vec![first];
        let mut at = 0;
        while at < found.len() && !self.ends[first as usize] {
            for next in blocks[found[at] as usize].terminator.successors() {
                if !found.contains(&next) {
                    found.push(next);
                }
            }
            at += 1;
        }
        found
    }

    /// Headers of the loops around a block that a path to `join` leaves, the innermost first.
    pub(crate) fn left_before(
        &self,
        block: u32,
        join: Option<u32>,
    ) -> impl Iterator<Item = u32> + Clone + '_ {
        // Inner loops come behind those around them.
        let around = self.loops.iter().rev().filter(move |l| l.contains[block as usize]);
        around.filter(move |l| join.is_none_or(|join| !l.contains[join as usize])).map(|l| l.header)
    }
}

/// Whether each block can reach one of these.
fn reaching(successors: &[Vec<u32>], these: Vec<bool>) -> Vec<bool> {
    let mut ends = these;
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..successors.len()).rev() {
            if !ends[block] && successors[block].iter().any(|&next| ends[next as usize]) {
                ends[block] = true;
                changed = true;
            }
        }
    }
    ends
}

fn joins(blocks: &[IrBlock], successors: &[Vec<u32>], ends: &[bool]) -> Vec<Option<u32>> {
    // The reverse graph: node 0 is behind all returns, block b is node b + 1.
    let mut reverse = vec![Vec::new(); blocks.len() + 1];
    for (block, targets) in successors.iter().enumerate() {
        if targets.is_empty() && ends[block] {
            reverse[0].push(block as u32 + 1);
        }
        for &target in targets.iter().filter(|&&target| ends[target as usize]) {
            reverse[target as usize + 1].push(block as u32 + 1);
        }
    }
    let parents = dominators(&reverse);
    let join = |block: usize| match parents[block + 1] {
        0 | NONE => None,
        node => Some(node - 1),
    };
    (0..blocks.len()).map(join).collect()
}

fn loops(successors: &[Vec<u32>]) -> Vec<Loop> {
    let parents = dominators(successors);
    let dominates = |a: u32, mut b: u32| loop {
        if a == b {
            return true;
        }
        match parents[b as usize] {
            NONE => return false,
            next if next == b => return false,
            next => b = next,
        }
    };
    let mut found: Vec<Loop> = Vec::new();
    for (block, targets) in successors.iter().enumerate() {
        let block = block as u32;
        for &header in targets.iter().filter(|&&target| dominates(target, block)) {
            let at = found.iter().position(|l| l.header == header).unwrap_or_else(|| {
                let mut contains = vec![false; successors.len()];
                contains[header as usize] = true;
                let (latches, exits) = (Vec::new(), Vec::new());
                let l = Loop {
                    header,
                    latches,
                    contains,
                    exits,
                    depth: 0,
                    has_inner: false,
                    deepest: 0,
                };
                found.push(l);
                found.len() - 1
            });
            found[at].latches.push(block);
            add_body(&mut found[at].contains, successors, block);
        }
    }
    for l in &mut found {
        for (block, targets) in successors.iter().enumerate() {
            if l.contains[block] {
                let out = targets.iter().filter(|&&target| !l.contains[target as usize]);
                l.exits.extend(out.map(|&target| (block as u32, target)));
            }
        }
    }
    found
}

/// Adds all blocks from which `latch` is reached without passing blocks that are in.
fn add_body(contains: &mut [bool], successors: &[Vec<u32>], latch: u32) {
    let mut stack = vec![latch];
    while let Some(block) = stack.pop() {
        if std::mem::replace(&mut contains[block as usize], true) {
            continue;
        }
        let before = successors.iter().enumerate().filter(|(_, targets)| targets.contains(&block));
        stack.extend(before.map(|(source, _)| source as u32));
    }
}
