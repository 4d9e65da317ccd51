//! The terms of a sum that was put off, added at once or as the program has it.

use phineus_bytecode::{ElementType, Instruction, Op};

use super::super::{Narrowing, natural};
use super::{Node, PendingSum, Term};
use crate::error::Error;
use crate::narrow::NarrowClaim;
use crate::narrow::demand::Extent;
use crate::narrow::facts::{bit_length, mask};
use crate::narrow::views::View;

/// Terms of one width, that are added at once.
#[derive(Debug)]
struct TermGroup {
    width: u16,
    /// How many numbers of this width are added to each lane of the result.
    count: u64,
    /// Values whose lanes are the numbers, or whose bits, if the width is 1.
    terms: Vec<Term>,
}

/// A value, its width and the largest number that it may be.
type Bounded = (u64, u16, u128);

impl TermGroup {
    /// Splits terms into groups, from the narrowest to the widest; returns the sum of all constants too.
    fn of(node: &Node, lanes: u32) -> (Vec<TermGroup>, u128) {
        let (mut groups, mut constant) = (Vec::new(), 0);
        TermGroup::gather(node, (lanes, 1), &mut groups, &mut constant);
        groups.sort_by_key(|group| group.width);
        (groups, constant)
    }

    fn gather(
        node: &Node,
        (lanes, times): (u32, u128),
        groups: &mut Vec<TermGroup>,
        constant: &mut u128,
    ) {
        let (term, width, wires) = match node {
            Node::Constant(value) => {
                *constant = constant.wrapping_add(value.wrapping_mul(times));
                return;
            }
            Node::Lanes(node, from, _) => {
                let times = times.wrapping_mul((*from).into());
                return TermGroup::gather(node, (lanes, times), groups, constant);
            }
            Node::Sum(nodes, _) => {
                let gather = |node| TermGroup::gather(node, (lanes, times), groups, constant);
                return nodes.iter().for_each(gather);
            }
            Node::Value(term) => (term, term.width, u64::from(term.lanes)),
            Node::Count(term, _) => (term, 1, u64::from(term.width) * u64::from(term.lanes)),
        };
        // One lane is the sum of all; several are sums each.
        let count = wires / u64::from(lanes);
        // Numbers of one lane of several have no sum of their own, unless they are bits.
        let is_joined = lanes == 1 || width == 1;
        match groups.iter_mut().find(|group| is_joined && group.width == width) {
            Some(group) => {
                group.count += count;
                group.terms.push(*term);
            }
            None => groups.push(TermGroup { width, count, terms: vec![*term] }),
        }
    }

    /// What the sum of the numbers is at most.
    fn most(&self) -> u128 {
        mask(self.width).saturating_mul(self.count.into())
    }

    /// The instruction that adds the numbers, of which the result has `high` bits at most; nothing for a single number.
    fn instruction(&self, context: &Instruction, high: u16) -> Option<Instruction> {
        let width = high.min(bit_length(self.most()));
        let op = if context.lanes == 1 { Op::LaneSum } else { Op::Popcount };
        let mut i = Instruction::new(op, natural(context.element, width), context.lanes);
        i.immediates[..2].copy_from_slice(&match op {
            Op::LaneSum => [self.width.into(), self.count],
            _ => [self.count, 0],
        });
        (self.count > 1).then_some(i)
    }
}

impl<E, C> Narrowing<'_, E, C>
where
    E: FnMut(&Instruction) -> Result<(), Error>,
    C: FnMut(&NarrowClaim),
{
    /// Computes a sum, in the cheaper of the two forms.
    pub(super) fn computed(&mut self, sum: &PendingSum, e: Extent) -> Result<View, Error> {
        self.held_wires -= sum.wires;
        let context = &sum.context;
        let (groups, constant) = TermGroup::of(&sum.node, context.lanes);
        let is_joined = self.cost_of_groups(&groups, (constant, sum)) < sum.ands;
        let (name, width) = match is_joined {
            true => self.joined_groups(groups, (constant, sum))?,
            false => self.as_written(&sum.node, context)?,
        };
        self.is_narrower |= is_joined || sum.is_narrower;
        let name = self.of_width(context, (name, width), e.high)?;
        Ok(View::within(name, e.high, e))
    }

    /// ANDs of [`Narrowing::joined_groups`].
    fn cost_of_groups(&self, groups: &[TermGroup], (constant, sum): (u128, &PendingSum)) -> u64 {
        let (mut ands, mut most, lanes) = (0, 0u128, u64::from(sum.context.lanes));
        for group in groups {
            if let Some(i) = group.instruction(&sum.context, sum.high) {
                ands += (self.options.and_gates)(&Instruction { lanes: 1, ..i }) * lanes;
            }
            let is_first = most == 0;
            most = most.saturating_add(group.most());
            if !is_first {
                let width = sum.high.min(bit_length(most));
                ands += self.cost(Op::Add, ElementType::unsigned(width)) * lanes;
            }
        }
        if constant & mask(sum.high) != 0 {
            let width = sum.high.min(bit_length(most.saturating_add(constant)));
            ands += self.cost_of_constant(constant, width) * lanes;
        }
        ands
    }

    /// The numbers of each width at once, and then these sums.
    fn joined_groups(
        &mut self,
        groups: Vec<TermGroup>,
        (constant, sum): (u128, &PendingSum),
    ) -> Result<(u64, u16), Error> {
        let context = &sum.context;
        let mut all: Option<Bounded> = None;
        for group in groups {
            let most = group.most();
            let (name, width) = self.sum_of_group(&group, sum)?;
            all = Some(match all {
                None => (name, width, most),
                Some((before, before_width, before_most)) => {
                    let most = most.saturating_add(before_most);
                    let high = sum.high.min(bit_length(most));
                    let terms = [(before, before_width), (name, width)];
                    (self.sum_of_two(context, terms, high)?, high, most)
                }
            });
        }
        let (name, width, most) = all.expect("a sum has a term that is not constant");
        let constant = constant & mask(sum.high);
        if constant == 0 {
            return Ok((name, width));
        }
        let high = sum.high.min(bit_length(most.saturating_add(constant)));
        let name = self.of_width(context, (name, width), high)?;
        Ok((self.plus_constant(context, (name, high), constant, 0)?.0, high))
    }

    fn sum_of_group(&mut self, group: &TermGroup, sum: &PendingSum) -> Result<(u64, u16), Error> {
        let (lanes, element) = (sum.context.lanes, natural(sum.context.element, group.width));
        let mut parts = Vec::new();
        for &Term { name, width, lanes: from } in &group.terms {
            let wires = u32::from(width) * from;
            parts.push(match (width == group.width, lanes) {
                (true, 1) => (name, from),
                // The bits of all lanes, one a lane.
                (false, 1) => {
                    let shape = (element, wires);
                    (self.emitter.make(Op::Reshape, shape, &[name], &[width.into()])?, wires)
                }
                _ => (name, width.into()),
            });
        }
        // Two by two, so that no wire is copied often.
        while parts.len() > 1 {
            let mut joined = Vec::new();
            for pair in parts.chunks(2) {
                let &[(low, low_count), (high, high_count)] = pair else {
                    joined.push(pair[0]);
                    continue;
                };
                let count = low_count + high_count;
                let (op, shape) = match lanes {
                    1 => (Op::LaneConcat, (element, count)),
                    _ => (Op::BitConcat, (natural(element, count as u16), lanes)),
                };
                let name = self.emitter.make(op, shape, &[low, high], &[low_count.into()])?;
                joined.push((name, count));
            }
            parts = joined;
        }
        let name = parts[0].0;
        let Some(mut i) = group.instruction(&sum.context, sum.high) else {
            return Ok((name, group.width));
        };
        i.operands[0] = name;
        Ok((self.emitter.define(i)?.results[0], i.element.width()))
    }

    /// Computes a sum as the program has it; returns its name and width.
    fn as_written(&mut self, node: &Node, context: &Instruction) -> Result<(u64, u16), Error> {
        match node {
            Node::Constant(_) => unreachable!("a sum of constants is known"),
            Node::Value(term) => Ok((term.name, term.width)),
            Node::Count(term, high) => {
                let at = Instruction { lanes: term.lanes, ..*context };
                let immediates = [term.width.into()];
                let name = self.of_naturals(&at, Op::Popcount, *high, &[term.name], &immediates)?;
                Ok((name, *high))
            }
            Node::Lanes(node, from, high) => {
                let at = Instruction { lanes: *from, ..*context };
                let (name, width) = self.as_written(node, &at)?;
                let immediates = [width.into(), u64::from(*from)];
                let name = self.of_naturals(context, Op::LaneSum, *high, &[name], &immediates)?;
                Ok((name, *high))
            }
            Node::Sum(nodes, high) => {
                let name = match &**nodes {
                    [Node::Constant(constant), node] | [node, Node::Constant(constant)] => {
                        let value = self.as_written(node, context)?;
                        let name = self.of_width(context, value, *high)?;
                        self.plus_constant(context, (name, *high), *constant, 0)?.0
                    }
                    [a, b] => {
                        let terms = [self.as_written(a, context)?, self.as_written(b, context)?];
                        self.sum_of_two(context, terms, *high)?
                    }
                };
                Ok((name, *high))
            }
        }
    }

    fn sum_of_two(
        &mut self,
        context: &Instruction,
        [a, b]: [(u64, u16); 2],
        high: u16,
    ) -> Result<u64, Error> {
        let terms = [self.of_width(context, a, high)?, self.of_width(context, b, high)?];
        self.of_naturals(context, Op::Add, high, &terms, &[])
    }

    /// A value cut to `high` bits, or with zeros above.
    fn of_width(
        &mut self,
        context: &Instruction,
        (name, width): (u64, u16),
        high: u16,
    ) -> Result<u64, Error> {
        match width == high {
            true => Ok(name),
            false => self.of_naturals(context, Op::Cast, high, &[name], &[width.into(), 0]),
        }
    }
}
