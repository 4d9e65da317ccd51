//! [`SharingModel`]: costs of classes and conversions.

use std::collections::HashMap;
use std::io::{Read, Seek};

use phineus_bytecode::{Op, ProgramReader, Sharing, SharingCosts, SharingRule, Weights};

use super::levels::{Levels, PLACES, shares};
use super::moves::{Energy, EnergyGroup, IMPOSSIBLE, SHARINGS};
use super::pass::{ConversionCosts, GroupEnds, Pass, StepCosts, place};
use super::widths::ValueWidths;
use super::{ChosenSharings, ClassNumbers, ClassSharings, ORDER};
use crate::error::Error;
use crate::scratch::Scratch;

/// The sum of all costs of a program in the unit of cuts, at the most: no sum of costs overflows.
const ENERGY_BITS: u32 = 50;

/// A class of instructions, or what stands for a sharing that a program states.
#[derive(Clone, Debug)]
pub(super) struct Class {
    op: Op,
    width: u16,
    pub(super) instructions: u64,
    is_stated: bool,
    pub(super) can: [bool; SHARINGS],
    pub(super) work_ps: [u64; SHARINGS],
    /// Rounds of all instructions, one after the other.
    pub(super) rounds: [u64; SHARINGS],
    /// Levels of this block on which it computes.
    pub(super) levels: Levels,
    /// Its share in the rounds of a run if everything is in Boolean sharing, with [`PLACES`] binary places.
    share: u64,
    /// Costs of its last instruction, which the next one often has, too.
    pub(super) last: Option<StepCosts>,
}

impl Class {
    pub(super) fn new(op: Op, width: u16) -> Class {
        Class {
            op,
            width,
            instructions: 0,
            is_stated: false,
            can: [true; SHARINGS],
            work_ps: [0; SHARINGS],
            rounds: [0; SHARINGS],
            levels: Levels::default(),
            share: 0,
            last: None,
        }
    }
}

/// Values that come from one class and go to the same others.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub(super) producer: Option<u32>,
    pub(super) consumers: Vec<u32>,
    pub(super) work_ps: [[u64; SHARINGS]; SHARINGS],
    pub(super) rounds: [[u32; SHARINGS]; SHARINGS],
    /// Levels of this block on which such values come up.
    pub(super) levels: Levels,
    /// The same of a run.
    pub(super) level_count: u64,
    /// Its share of the levels of a run on which groups are converted, if the groups of a level share it equally; with
    /// [`PLACES`] binary places.
    pub(super) level_share: u64,
}

/// Costs of classes of instructions in each sharing, and of the conversions between them.
pub struct SharingModel {
    pub(super) numbers: ClassNumbers,
    pub(super) classes: Vec<Class>,
    pub(super) groups: Vec<Group>,
    pub(super) by_ends: HashMap<GroupEnds, usize>,
    pub(super) conversions: HashMap<(u16, u16, u32), ConversionCosts>,
    round_ps: u64,
}

/// A block of a program, or all of it.
pub struct ProgramPart<'a, R> {
    /// The program, which is neither narrowed nor assigned.
    pub program: &'a mut ProgramReader<R>,
    /// The bits that narrowing leaves of its values.
    pub widths: ValueWidths,
    /// How often it runs.
    pub times: u64,
}

impl Default for SharingModel {
    fn default() -> SharingModel {
        SharingModel::new()
    }
}

impl SharingModel {
    /// Without any instructions.
    pub fn new() -> SharingModel {
        let stated = |sharing: usize| {
            let mut class = Class::new(Op::Convert, 0);
            (class.is_stated, class.can) = (true, [false; SHARINGS]);
            class.can[sharing] = true;
            class
        };
        SharingModel {
            numbers: ClassNumbers::default(),
            classes: (0..SHARINGS).map(stated).collect(),
            groups: Vec::new(),
            by_ends: HashMap::new(),
            conversions: HashMap::new(),
            round_ps: 0,
        }
    }

    /// Adds a block.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not one that the verifier accepts.
    pub fn collect<R: Read + Seek + Send>(
        &mut self,
        ProgramPart { program, widths, times }: ProgramPart<'_, R>,
        scratch: &Scratch,
        costs: &mut dyn SharingCosts,
        planner_memory_bytes: u64,
    ) -> Result<(), Error> {
        self.round_ps = costs.round_ps();
        Pass::new(self, costs, widths)?.run(program, scratch, planner_memory_bytes)?;
        self.end_block(times);
        Ok(())
    }

    /// Turns levels of a block into rounds of a run.
    fn end_block(&mut self, times: u64) {
        let levels: Vec<&Levels> = self.classes.iter().map(|class| &class.levels).collect();
        let of_classes = shares(&levels);
        for (class, share) in self.classes.iter_mut().zip(of_classes) {
            class.share = class.share.saturating_add(share.saturating_mul(times));
            class.levels = Levels::default();
        }
        // What is converted without rounds has no part in them.
        let none = Levels::default();
        let waits = |group: &Group| group.rounds.iter().flatten().any(|&rounds| rounds > 0);
        let levels =
            self.groups.iter().map(|group| if waits(group) { &group.levels } else { &none });
        let parts = shares(&levels.collect::<Vec<&Levels>>());
        for (group, share) in self.groups.iter_mut().zip(parts) {
            group.level_share = group.level_share.saturating_add(share.saturating_mul(times));
            let count = group.levels.count().saturating_mul(times);
            group.level_count = group.level_count.saturating_add(count);
            group.levels = Levels::default();
        }
    }

    /// Returns whether any instruction that costs something may get one of several sharings.
    pub fn has_choices(&self) -> bool {
        let costs = |class: &&Class| class.rounds.iter().any(|&rounds| rounds > 0);
        let open =
            |class: &&Class| !class.is_stated && class.can.iter().filter(|can| **can).count() > 1;
        self.classes.iter().filter(open).any(|class| costs(&class))
    }

    /// The sharings that a rule gives.
    pub fn chosen(&self, rule: SharingRule) -> ChosenSharings {
        match rule {
            SharingRule::Boolean => ChosenSharings::One(Sharing::Boolean),
            SharingRule::Garbled => ChosenSharings::One(Sharing::Garbled),
            SharingRule::Arithmetic => ChosenSharings::Arithmetic,
            SharingRule::Cheapest(sharings, weights) => {
                let labels = self.energy(weights).cheapest(sharings.allowed());
                let sharings = labels.into_iter().map(|label| ORDER[label]).collect();
                let numbers = self.numbers.clone();
                ChosenSharings::Classes(ClassSharings { numbers, sharings })
            }
        }
    }

    /// Costs of assignments with rounds and work added up, in one unit.
    pub fn estimates(&self, all: &[ChosenSharings]) -> Vec<u64> {
        let energy = self.energy(Weights::Sum);
        let uniform = |sharing: usize| energy.of(&energy.uniform(sharing, [true; SHARINGS]));
        let estimate = |chosen: &ChosenSharings| match chosen {
            ChosenSharings::One(sharing) => uniform(place(*sharing)),
            ChosenSharings::Arithmetic => uniform(place(Sharing::Arithmetic)),
            ChosenSharings::Classes(classes) => {
                let labels: Vec<usize> = classes.sharings.iter().map(|&s| place(s)).collect();
                energy.of(&labels)
            }
        };
        all.iter().map(estimate).collect()
    }

    /// Whether an assignment gives everything that is open one sharing, Boolean or garbled.
    pub fn is_uniform(&self, chosen: &ClassSharings) -> bool {
        let is_all = |sharing: Sharing| {
            let mut all = self.classes.iter().zip(&chosen.sharings);
            all.all(|(class, &own)| class.is_stated || own == sharing)
        };
        is_all(Sharing::Boolean) || is_all(Sharing::Garbled)
    }

    /// Operation, width, number of instructions and sharing of all that costs something and is not stated, most instructions
    /// first; equal ones are joined.
    pub fn described(&self, chosen: &ClassSharings) -> Vec<(Op, u16, u64, Sharing)> {
        let mut found: Vec<(Op, u16, u64, Sharing)> = Vec::new();
        for (class, &sharing) in self.classes.iter().zip(&chosen.sharings) {
            if class.is_stated || class.rounds.iter().all(|&rounds| rounds == 0) {
                continue;
            }
            let is_same = |one: &&mut (Op, u16, u64, Sharing)| {
                (one.0, one.1, one.3) == (class.op, class.width, sharing)
            };
            match found.iter_mut().find(is_same) {
                Some(one) => one.2 += class.instructions,
                None => found.push((class.op, class.width, class.instructions, sharing)),
            }
        }
        found.sort_by_key(|one| (std::cmp::Reverse(one.2), one.0, one.1));
        found
    }

    /// All costs in one unit, small enough to be added.
    pub(super) fn energy(&self, weights: Weights) -> Energy {
        let (work, rounds) = weights.eighths();
        let cost = |work_ps: u64, fixed_rounds: u128| {
            let waited = (fixed_rounds * u128::from(self.round_ps)) >> PLACES;
            u128::from(work_ps) * u128::from(work) + waited * u128::from(rounds)
        };
        let class_cost = |class: &Class, sharing: usize| {
            let level_rounds = class.rounds[1].max(1);
            let share = u128::from(class.share) * u128::from(class.rounds[sharing]);
            cost(class.work_ps[sharing], share / u128::from(level_rounds))
        };
        let group_cost = |group: &Group, from: usize, to: usize| {
            let levels = match weights {
                Weights::JointRounds => u128::from(group.level_share),
                Weights::Sum | Weights::Rounds | Weights::Work => {
                    u128::from(group.level_count) << PLACES
                }
            };
            cost(group.work_ps[from][to], levels * u128::from(group.rounds[from][to]))
        };
        let square = || (0..SHARINGS).flat_map(|from| (0..SHARINGS).map(move |to| (from, to)));
        let of_classes = self.classes.iter().flat_map(|class| {
            (0..SHARINGS).filter(|&k| class.can[k]).map(move |k| class_cost(class, k))
        });
        let of_groups = self
            .groups
            .iter()
            .flat_map(|group| square().map(move |(from, to)| group_cost(group, from, to)));
        let sum: u128 = of_classes.chain(of_groups).sum();
        let shift = (u128::BITS - sum.leading_zeros()).saturating_sub(ENERGY_BITS);
        let classes = self.classes.iter().map(|class| {
            std::array::from_fn(|k| match class.can[k] {
                true => (class_cost(class, k) >> shift) as u64,
                false => IMPOSSIBLE,
            })
        });
        let groups = self.groups.iter().map(|group| EnergyGroup {
            producer: group.producer.map(|class| class as usize),
            consumers: group.consumers.iter().map(|&class| class as usize).collect(),
            convert: std::array::from_fn(|from| {
                std::array::from_fn(|to| (group_cost(group, from, to) >> shift) as u64)
            }),
        });
        Energy { classes: classes.collect(), groups: groups.collect() }
    }
}
