//! The pass over a block that finds the costs of its classes and conversions.

use std::io::{Read, Seek};

use phineus_bytecode::limits::{OPERANDS_MAX, RING_WIDTH_MAX};
use phineus_bytecode::{
    ElementType, Instruction, Op, PortOrder, ProgramReader, Shape, Sharing, SharingCosts, StepCost,
};

use super::model::{Class, Group, SharingModel};
use super::moves::SHARINGS;
use super::narrowed::{LeftBits, narrowed};
use super::widths::{ValueWidths, WidthReader};
use super::{Ancestry, GROUPS_MAX, ORDER, classified};
use crate::annotate::{NextUses, annotate, for_each_frame};
use crate::assign::STATE_SHARING;
use crate::error::Error;
use crate::name_table::NameTable;
use crate::scratch::{Position, Scratch};

/// The most classes that a value is noted to go to; with more it counts as several values.
const CONSUMERS_MAX: usize = 6;

/// No class.
const NONE: u32 = u32::MAX;

/// The class that values come from, and those that they go to, ascending.
pub(super) type GroupEnds = (u32, [u32; CONSUMERS_MAX]);

/// Costs of a conversion from each sharing to each other one.
pub(super) type ConversionCosts = [[StepCost; SHARINGS]; SHARINGS];

/// An instruction as it is, and as it costs in bits, with its costs in each sharing.
pub(super) type StepCosts = (Instruction, Option<Instruction>, [StepCost; SHARINGS]);

/// A value that is alive.
struct LiveValue {
    /// The instruction that takes it from a party, if one does.
    source: Option<Instruction>,
    producer: u32,
    shape: Shape,
    bits: u16,
    level: u32,
    ancestry: Ancestry,
    consumers: [u32; CONSUMERS_MAX],
}

/// Returns whether an instruction can be computed on arithmetic shares.
pub(super) fn can_be_arithmetic(i: &Instruction) -> bool {
    let fits = |width: u16| width > 1 && width <= RING_WIDTH_MAX;
    let mut shapes = (0..i.operand_count()).map(|k| i.operand_shape(k));
    // Of shares modulo 2^w the carries out of w bits are not known.
    let is_sum_of_others = i.op == Op::LaneSum && i.immediates[0] != u64::from(i.element.width());
    i.op.is_arithmetic()
        && fits(i.element.width())
        && shapes.all(|shape| fits(shape.width))
        && !is_sum_of_others
}

/// Where a sharing stands in the order of the model.
pub(super) fn place(sharing: Sharing) -> usize {
    match sharing {
        Sharing::Arithmetic => 0,
        Sharing::Any | Sharing::Boolean => 1,
        Sharing::Garbled => 2,
    }
}

/// `i` in a sharing, with names that only say which operands are the same.
fn shared(i: &Instruction, sharing: Sharing) -> Instruction {
    let mut made = *i;
    made.element = i.element.shared(sharing);
    for k in 0..i.operand_count() {
        let same = i.operands[..k].iter().position(|operand| *operand == i.operands[k]);
        made.operands[k] = same.unwrap_or(k) as u64;
    }
    made.results = Default::default();
    made
}

pub(super) struct Pass<'a> {
    model: &'a mut SharingModel,
    costs: &'a mut dyn SharingCosts,
    widths: WidthReader,
    values: NameTable<LiveValue>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(
        model: &'a mut SharingModel,
        costs: &'a mut dyn SharingCosts,
        widths: ValueWidths,
    ) -> Result<Pass<'a>, Error> {
        Ok(Pass { model, costs, widths: widths.into_reader()?, values: NameTable::new() })
    }

    /// Reads the whole block.
    pub(super) fn run<R: Read + Seek + Send>(
        mut self,
        program: &mut ProgramReader<R>,
        scratch: &Scratch,
        memory: u64,
    ) -> Result<(), Error> {
        let mut tables = scratch.file().tables(memory);
        let mut notes = annotate(program, scratch.file(), memory, PortOrder::Given)?;
        let count = program.instruction_count();
        let mut index = 0;
        for_each_frame(program, &mut notes, |instructions, uses| {
            for (i, uses) in instructions.iter().zip(uses) {
                if i.operands().iter().any(|&operand| !self.values.contains(operand)) {
                    let what = "an operand is not defined";
                    return Err(Error::Invalid { instruction: index, what });
                }
                self.step(i, uses)?;
                index += 1;
                self.values.count(&mut tables, 0, Position { read: index, all: count })?;
            }
            Ok(())
        })
    }

    fn step(&mut self, i: &Instruction, uses: &NextUses) -> Result<(), Error> {
        let mut bits = LeftBits { operands: [0; OPERANDS_MAX], result: 0 };
        for (k, &operand) in i.operands().iter().enumerate() {
            bits.operands[k] = self.values[operand].bits;
        }
        let mut results = [0; 2];
        for (k, &result) in i.results().iter().enumerate() {
            results[k] = self.widths.bits(result)?;
            bits.result = bits.result.max(results[k]);
        }
        let is_input = matches!(i.op, Op::Input | Op::Constant);
        let (keys, ancestry) = classified(i, |k| self.values[i.operands[k]].ancestry);
        let start = i.operands().iter().map(|&name| self.values[name].level).max().unwrap_or(0);
        let (class, end) = match is_input {
            true => (NONE, 0),
            false => self.compute(i, keys, bits, start),
        };
        for (k, &operand) in i.operands().iter().enumerate() {
            if i.operands[..k].contains(&operand) {
                continue;
            }
            self.consume(operand, class);
            if uses.operands[k] == 0 {
                self.end(operand);
            }
        }
        for (k, &result) in i.results().iter().enumerate().filter(|&(k, _)| uses.results[k] != 0) {
            let shape = i.result_shape(k);
            let value = LiveValue {
                source: is_input.then_some(*i),
                producer: class,
                shape,
                bits: results[k].min(shape.width),
                level: end,
                ancestry,
                consumers: [NONE; CONSUMERS_MAX],
            };
            self.values.insert(result, value);
        }
        Ok(())
    }

    /// Adds an instruction to its class; returns that and the level on which the results come up.
    fn compute(
        &mut self,
        i: &Instruction,
        keys: super::ClassKeys,
        bits: LeftBits,
        start: u32,
    ) -> (u32, u32) {
        let stated = match i.op.is_about_state() {
            true => STATE_SHARING,
            false => i.element.sharing(),
        };
        if stated != Sharing::Any {
            let rounds = match i.op.is_about_state() || i.op.is_carrying() || i.op == Op::Output {
                true => 0,
                false => self.costs.cost(&shared(i, stated)).rounds,
            };
            return (place(stated) as u32, start + rounds);
        }
        let model = &mut *self.model;
        let next = model.classes.len() as u32;
        let number = model.numbers.find_or_add(keys, next);
        if number == next {
            model.classes.push(Class::new(i.op, i.element.width()));
        }
        let class = &mut model.classes[number as usize];
        class.instructions += 1;
        class.can[0] &= can_be_arithmetic(i);
        let is_free = i.op.is_carrying() || matches!(i.op, Op::Output | Op::Convert);
        if is_free {
            return (number, start);
        }
        let plain = shared(i, Sharing::Any);
        let costs = match &class.last {
            Some((last, left, costs)) if *last == plain && *left == narrowed(&plain, bits) => {
                *costs
            }
            Some(_) | None => {
                let left = narrowed(&plain, bits);
                let costs = step_costs(self.costs, &plain, left, class.can[0]);
                class.last = Some((plain, left, costs));
                costs
            }
        };
        for (k, cost) in costs.iter().enumerate() {
            class.work_ps[k] = class.work_ps[k].saturating_add(cost.work_ps);
            class.rounds[k] += u64::from(cost.rounds);
        }
        let end = start + costs[1].rounds;
        class.levels.add(start, end);
        (number, end)
    }

    /// Notes that a class takes a value.
    fn consume(&mut self, name: u64, class: u32) {
        let value = self.values.get_mut(name).expect("operands are defined");
        match value.consumers.iter().position(|&known| known == class || known == NONE) {
            Some(at) => value.consumers[at] = class,
            None => {
                let full = std::mem::replace(&mut value.consumers, [NONE; CONSUMERS_MAX]);
                value.consumers[0] = class;
                self.add_group(name, full);
            }
        }
    }

    /// Forgets a value after its last use.
    fn end(&mut self, name: u64) {
        let consumers = self.values[name].consumers;
        self.add_group(name, consumers);
        self.values.remove(name);
    }

    /// Adds a value to the group of those with the same ends.
    fn add_group(&mut self, name: u64, mut consumers: [u32; CONSUMERS_MAX]) {
        let value = &self.values[name];
        let producer = value.producer;
        if consumers.iter().all(|&class| class == producer || class == NONE) {
            return;
        }
        consumers.sort_unstable();
        let model = &*self.model;
        let is_known = model.by_ends.contains_key(&(producer, consumers));
        if is_known || model.groups.len() < GROUPS_MAX {
            return self.add_to_group(name, (producer, consumers));
        }
        for consumer in consumers.into_iter().filter(|&class| class != NONE) {
            let mut alone = [NONE; CONSUMERS_MAX];
            alone[0] = consumer;
            if model_has_space(self.model, &(producer, alone)) {
                self.add_to_group(name, (producer, alone));
            }
        }
    }

    fn add_to_group(&mut self, name: u64, ends: GroupEnds) {
        let value = &self.values[name];
        let (shape, level) = (value.shape, value.level);
        let costs = match value.source {
            Some(source) => {
                let brought = |to: usize| self.costs.cost(&brought(&source, value.bits, ORDER[to]));
                [std::array::from_fn(brought); SHARINGS]
            }
            None => {
                let key = (shape.width, value.bits, shape.lanes);
                let costs = &mut *self.costs;
                let known = self.model.conversions.entry(key);
                *known.or_insert_with(|| conversions(costs, shape, value.bits))
            }
        };
        let model = &mut *self.model;
        let next = model.groups.len();
        let number = *model.by_ends.entry(ends).or_insert(next);
        if number == next {
            let (producer, consumers) = ends;
            let consumers = consumers.into_iter().filter(|&class| class != NONE);
            model.groups.push(Group {
                producer: (producer != NONE).then_some(producer),
                consumers: consumers.collect(),
                ..Group::default()
            });
        }
        let group = &mut model.groups[number];
        for (from, row) in costs.iter().enumerate() {
            for (to, cost) in row.iter().enumerate() {
                let work = &mut group.work_ps[from][to];
                *work = work.saturating_add(cost.work_ps);
                let rounds = &mut group.rounds[from][to];
                *rounds = cost.rounds.max(*rounds);
            }
        }
        group.levels.add(level, level + 1);
    }
}

/// Returns whether a group is known, or there is space for it.
fn model_has_space(model: &SharingModel, ends: &GroupEnds) -> bool {
    model.by_ends.contains_key(ends) || model.groups.len() < 2 * GROUPS_MAX
}

/// What is_input an input or a constant in, in a sharing, in as many bits as are needed.
fn brought(source: &Instruction, bits: u16, sharing: Sharing) -> Instruction {
    let width = match sharing {
        Sharing::Arithmetic => source.element.width(),
        Sharing::Any | Sharing::Boolean | Sharing::Garbled => bits.max(1),
    };
    shared(&Instruction { element: ElementType::unsigned(width), ..*source }, sharing)
}

/// Costs of the conversions of a value. Bits become arithmetic whole, and arithmetic shares become bits whole.
fn conversions(costs: &mut dyn SharingCosts, shape: Shape, bits: u16) -> ConversionCosts {
    let mut all = ConversionCosts::default();
    for (from, row) in all.iter_mut().enumerate() {
        for (to, cost) in row.iter_mut().enumerate() {
            let is_arithmetic = from == 0 || to == 0;
            let is_possible = !is_arithmetic || (2..=RING_WIDTH_MAX).contains(&shape.width);
            if from == to || !is_possible {
                continue;
            }
            let width = if is_arithmetic { shape.width } else { bits.max(1) };
            let element = ElementType::unsigned(width).shared(ORDER[to]);
            let mut convert = Instruction::new(Op::Convert, element, shape.lanes);
            convert.immediates[0] = ORDER[from] as u64;
            *cost = costs.cost(&convert);
        }
    }
    all
}

/// Costs of an instruction in each sharing: as it is on arithmetic shares, and in fewer bits in the others.
fn step_costs(
    costs: &mut dyn SharingCosts,
    i: &Instruction,
    left: Option<Instruction>,
    can_be_arithmetic: bool,
) -> [StepCost; SHARINGS] {
    let arithmetic = match can_be_arithmetic && left.is_some() {
        true => costs.cost(&shared(&entries(i), Sharing::Arithmetic)),
        false => StepCost::default(),
    };
    let mut of_bits = |sharing: Sharing| match left {
        Some(left) => {
            // Products with several vectors are computed one beside the other.
            let vectors = if left.op == Op::MatMul { left.immediates[1].max(1) } else { 1 };
            let mut one = shared(&left, sharing);
            if vectors > 1 {
                one.lanes /= vectors as u32;
                one.immediates[1] = 1;
            }
            let StepCost { rounds, work_ps } = costs.cost(&one);
            StepCost { rounds, work_ps: work_ps.saturating_mul(vectors) }
        }
        None => StepCost::default(),
    };
    [arithmetic, of_bits(Sharing::Boolean), of_bits(Sharing::Garbled)]
}

/// The products of a product of matrices; any other instruction as it is.
fn entries(i: &Instruction) -> Instruction {
    if i.op != Op::MatMul {
        return *i;
    }
    let lanes = u64::from(i.lanes) * i.immediates[0];
    let mut products = Instruction::new(Op::Mul, i.element, lanes.min(u64::from(u32::MAX)) as u32);
    products.operands = [0, 1, 0];
    products
}
