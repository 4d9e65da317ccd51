//! Loops whose end is opened when the program runs: the body is executed once for all turns.
//!
//! What is different when the body comes back to its header is carried from turn to turn: secrets in
//! variables, public integers in registers. At first nothing is; whenever the body leaves something
//! different, that is noted and the whole program is tried anew, until nothing new is found (a fix
//! point, as each try carries more). What is not carried is known to be the same in every turn.
//!
//! Cost: a try for each change of what a loop carries, of which there are few.

use std::collections::{BTreeMap, HashMap};

use crate::data::Data;
use crate::interpreter::{Frame, Machine, Next, Stop};
use crate::opened::merge::{Carried, Carrier, Nature, Place, groups, lane_of};
use crate::opened::{Goal, Way};

/// Loops whose end is opened: by the calls around them, function and loop.
pub(crate) type Plan = HashMap<(u64, u32, u32), Form>;

/// What a loop carries.
#[derive(Clone, Default)]
pub(crate) struct Form {
    places: BTreeMap<Place, (u16, Nature)>,
    /// Secrets that are lanes of one value, and their width.
    groups: Vec<(Vec<Place>, u16)>,
}

impl<'m> Machine<'m> {
    /// Runs a loop of the last frame, whose header is entered with these phis: all ways out of it,
    /// and where they meet.
    pub(crate) fn turns(
        &mut self,
        header: u32,
        mut phis: Vec<Data>,
        goals: &[Goal],
    ) -> Result<(Goal, Vec<Way<'m>>), Stop> {
        let depth = self.stack.len();
        let frame = self.stack.last().expect("the loop is in a function");
        let shape = &frame.function.shape;
        let index = shape.header_of[header as usize].expect("it is a header");
        let around = &shape.loops[index as usize];
        let key = (frame.path, frame.index, index);
        let mut exit = shape.joins[header as usize];
        while let Some(block) = exit.filter(|block| around.contains[*block as usize]) {
            exit = shape.joins[block as usize];
        }
        let next = |header| Goal::Block(depth, header);
        let back = next(header);
        let is_new = |goal: &Goal| *goal != back && !goals.contains(goal);
        let around: Vec<Goal> = shape.left_before(header, exit).map(next).filter(is_new).collect();
        let exit = exit.map_or(Goal::Return(depth), next);
        let form = self.plan.get(&key).cloned().unwrap_or_default();
        let place = frame.function.blocks[header as usize].place;
        let base = self.stack.clone();
        let objects = self.memory.object_count();
        let (known, carried) = self.enter(&form, &phis)?;
        let id = self.tracer.new_block();
        self.tracer.jump(id);
        self.begin(id);
        for (place, data) in known {
            self.put_at(place, &data, &mut phis)?;
        }
        for carried in &carried {
            self.receive(carried, &mut phis)?;
        }
        let frame = self.stack.last_mut().expect("the loop is in a function");
        crate::interpreter::set_phis(frame, header, phis.clone());
        let all: Vec<Goal> = [goals, &around, &[back, exit]].concat();
        let ways = self.relative(|machine| machine.follow(Next::Inside(header, 0), &all))?;
        let (mut returning, out): (Vec<Way<'m>>, Vec<Way<'m>>) =
            ways.into_iter().partition(|way| way.goal == back);
        self.place = place;
        if let Some(wider) = self.wider(&form, &mut returning, header, &phis, objects)? {
            self.plan.insert(key, wider);
            return Err(Stop::Restart);
        }
        for way in returning {
            self.go_round(&carried, way)?;
            self.tracer.jump(id);
        }
        let out = self.go_on_around(&around, &[goals, &[exit]].concat(), &base, out)?;
        (self.stack, self.place) = (base, place);
        Ok((exit, out))
    }

    /// Of the ways that left a loop, those that come to the next turn of a loop around it go on to
    /// one of the goals. Only now: as they go on, they may come to the loop anew, which is no turn
    /// of it. The innermost loop is the first.
    fn go_on_around(
        &mut self,
        around: &[Goal],
        goals: &[Goal],
        base: &[Frame<'m>],
        mut ways: Vec<Way<'m>>,
    ) -> Result<Vec<Way<'m>>, Stop> {
        for (at, goal) in around.iter().enumerate() {
            let (here, others): (Vec<_>, _) = ways.into_iter().partition(|way| way.goal == *goal);
            ways = others;
            if here.is_empty() {
                continue;
            }
            self.stack = base.to_vec();
            let all = [goals, &around[at + 1..]].concat();
            let further = self.relative(|machine| {
                let next = machine.meet(*goal, here)?;
                machine.follow(next, &all)
            });
            ways.extend(further?);
        }
        Ok(ways)
    }

    /// Brings what a loop carries to its first turn; returns what is known there as well.
    #[allow(clippy::type_complexity, reason = "two lists, used at once")]
    fn enter(
        &mut self,
        form: &Form,
        phis: &[Data],
    ) -> Result<(Vec<(Place, Data)>, Vec<Carried>), Stop> {
        let (mut known, mut carried) = (Vec::new(), Vec::new());
        for (place, (width, nature)) in &form.places {
            match nature {
                Nature::Known(data) => known.push((*place, data.clone())),
                Nature::Opened => {
                    let data = self.at(*place, phis)?;
                    let carrier = Carrier::Register(self.bring_register(&data, None));
                    carried.push(Carried { carrier, places: vec![*place], width: *width });
                }
                Nature::Address(addresses, is_secret) => {
                    let data = self.at(*place, phis)?;
                    let carrier = self.bring_address(addresses, *is_secret, &data, None)?;
                    carried.push(Carried { carrier, places: vec![*place], width: *width });
                }
                Nature::Secret => {}
            }
        }
        for (places, width) in &form.groups {
            let cells = places.iter().map(|place| self.at(*place, phis));
            let cells: Vec<Data> = cells.collect::<Result<_, _>>()?;
            let carrier = Carrier::Variable(self.bring_variable(&cells, *width, None));
            carried.push(Carried { carrier, places: places.clone(), width: *width });
        }
        Ok((known, carried))
    }

    fn at(&mut self, place: Place, values: &[Data]) -> Result<Data, Stop> {
        match place {
            Place::Value(at) => Ok(values[at].clone()),
            place => self.look(place),
        }
    }

    /// Carries what a turn leaves to the next one.
    fn go_round(&mut self, carried: &[Carried], way: Way<'m>) -> Result<(), Stop> {
        self.begin(way.block);
        self.memory.open_log();
        self.memory.apply(&way.log);
        let done = self.carry(carried, &way.values);
        drop(self.memory.undo());
        done
    }

    fn carry(&mut self, carried: &[Carried], values: &[Data]) -> Result<(), Stop> {
        // All is computed before any register changes: one may be the source of another.
        let mut registers = Vec::new();
        for one in carried {
            let cells = one.places.iter().map(|place| self.at(*place, values));
            let cells: Vec<Data> = cells.collect::<Result<_, _>>()?;
            match &one.carrier {
                Carrier::Register(target) => {
                    registers.push((*target, self.bring_register(&cells[0], None)));
                }
                Carrier::Variable(_) => {
                    self.bring_variable(&cells, one.width, Some(&one.carrier));
                }
                Carrier::Address(addresses, number) => match number.as_ref() {
                    Carrier::Register(target) => {
                        let found = self.bring_address(addresses, false, &cells[0], None)?;
                        registers.extend(found.register().map(|source| (*target, source)));
                    }
                    _ => {
                        self.bring_address(addresses, true, &cells[0], Some(&one.carrier))?;
                    }
                },
            }
        }
        registers.into_iter().for_each(|(target, source)| self.tracer.assign(target, source));
        Ok(())
    }

    /// What the loop has to carry besides, if anything.
    fn wider(
        &mut self,
        form: &Form,
        ways: &mut [Way<'m>],
        header: u32,
        phis: &[Data],
        objects: u32,
    ) -> Result<Option<Form>, Stop> {
        let mut wider = form.clone();
        let mut changed = false;
        for way in ways.iter_mut() {
            self.begin(way.block);
            self.memory.renew(&mut way.log);
            let code = &way.frame.function.blocks[header as usize];
            for (at, new) in way.values.iter().enumerate() {
                let width = code.phis[at].width;
                let new = self.lasting(new.clone(), objects)?;
                changed |= self.widen(&mut wider, Place::Value(at), width, &phis[at], &new)?;
            }
            // What is allocated in the loop is another object in every turn.
            let mut stretches = self.stretches(&[&way.log, &Default::default()]);
            stretches.retain(|(object, ..)| *object < objects);
            for (object, offset, bytes) in stretches {
                let index = (offset / self.memory.object(object).granule) as u32;
                let logs = [&way.log, &Default::default()];
                let is_address = self.address_cells(&logs, object, index).is_some();
                let stretch = (offset, bytes, is_address);
                for (offset, bytes) in wider.fitting(object, stretch, &mut changed) {
                    let place = Place::Memory(object, offset, bytes);
                    let old = self.look(place)?;
                    let new = self.look_after(way, place)?;
                    let new = self.lasting(new, objects)?;
                    let width = u16::from(bytes) * 8;
                    changed |= self.widen(&mut wider, place, width, &old, &new)?;
                }
            }
            way.block = self.tracer.block();
        }
        if !changed {
            return Ok(None);
        }
        let last = ways.last().expect("something changed");
        let secret = |(_, (_, nature)): &(&Place, &(u16, Nature))| matches!(nature, Nature::Secret);
        let places: Vec<(Place, u16)> = wider
            .places
            .iter()
            .filter(secret)
            .map(|(place, (width, _))| (*place, *width))
            .collect();
        let mut secrets = Vec::with_capacity(places.len());
        for (at, (place, width)) in places.iter().enumerate() {
            let data = match place {
                Place::Value(at) => last.values[*at].clone(),
                place => self.look_after(last, *place)?,
            };
            secrets.push((at, *width, lane_of(&data)));
        }
        let place_of = |members: Vec<usize>| members.iter().map(|at| places[*at].0).collect();
        let found = groups(&secrets).into_iter();
        wider.groups = found.map(|(members, width)| (place_of(members), width)).collect();
        Ok(Some(wider))
    }

    /// What a turn leaves, unless it points to what is gone; a loop that keeps memory of its own for
    /// the next turn is refused.
    fn lasting(&mut self, data: Data, objects: u32) -> Result<Data, Stop> {
        match data {
            Data::Pointer(object, _) => self.lasting_in(object, data, objects),
            Data::Indexed(ref indexed) => self.lasting_in(indexed.object, data.clone(), objects),
            Data::Chosen(places) => {
                for (_, place) in places.iter() {
                    self.lasting(place.clone(), objects)?;
                }
                Ok(Data::Chosen(places))
            }
            data => Ok(data),
        }
    }

    /// The same for an address in this object.
    fn lasting_in(&mut self, object: u32, data: Data, objects: u32) -> Result<Data, Stop> {
        if !self.memory.object(object).is_alive {
            return Ok(Data::Undefined);
        }
        if object >= objects {
            return self.error(
                "memory is allocated in a loop whose end is opened when the program runs",
                "allocate it before the loop",
            );
        }
        Ok(data)
    }

    /// What a way leaves at a place in memory.
    fn look_after(&mut self, way: &Way<'m>, place: Place) -> Result<Data, Stop> {
        self.memory.open_log();
        self.memory.apply(&way.log);
        let found = self.look(place);
        drop(self.memory.undo());
        found
    }

    /// Notes what a place is that holds `old` before a turn and `new` after it; whether that says
    /// more than was known.
    fn widen(
        &mut self,
        form: &mut Form,
        place: Place,
        width: u16,
        old: &Data,
        new: &Data,
    ) -> Result<bool, Stop> {
        if old.is_same(new) || matches!(new, Data::Undefined) {
            return Ok(false);
        }
        // Turns before it is set find 0.
        let zero = Data::Public(0);
        let is_unset = matches!((old, new), (Data::Undefined, Data::Public(_)));
        let old = if is_unset { &zero } else { old };
        let known = form.places.get(&place).map(|(_, nature)| nature.clone());
        let before = match &known {
            Some(known @ (Nature::Opened | Nature::Secret | Nature::Address(..))) => known.clone(),
            _ => {
                let start = Nature::Known(Data::Undefined);
                let Some(before) = self.nature(&start, old, width) else { return Ok(false) };
                before
            }
        };
        let Some(nature) = self.nature(&before, new, width) else {
            self.address_differs(&[old.clone(), new.clone()])?;
            return Ok(false);
        };
        let is_new = match (&nature, &known) {
            (Nature::Secret, Some(Nature::Secret)) | (Nature::Opened, Some(Nature::Opened)) => {
                false
            }
            (Nature::Known(Data::Poison), _) => return Ok(false),
            (Nature::Address(all, secret), Some(Nature::Address(before, was_secret))) => {
                all.len() != before.len() || secret != was_secret
            }
            _ => true,
        };
        form.places.insert(place, (width, nature));
        Ok(is_new)
    }
}

impl Form {
    /// A stretch of memory in the parts that are carried, which are made smaller where they do not
    /// fit. An address stays whole.
    fn fitting(
        &mut self,
        object: u32,
        (offset, bytes, is_address): (u64, u8, bool),
        changed: &mut bool,
    ) -> Vec<(u64, u8)> {
        let end = offset + u64::from(bytes);
        // No part has more than 16 bytes.
        let from = Place::Memory(object, offset.saturating_sub(16), 0);
        let near = self.places.range(from..Place::Memory(object, end, 0));
        let parts: Vec<(u64, u8)> = near
            .filter_map(|(place, _)| match place {
                Place::Memory(_, at, size) => Some((*at, *size)),
                _ => None,
            })
            .filter(|(at, size)| offset < at + u64::from(*size))
            .collect();
        if parts.is_empty() || parts == [(offset, bytes)] {
            return vec![(offset, bytes)];
        }
        // Whole parts that are there already cover it, or all are cut to the smallest.
        let covered: u64 = parts.iter().map(|(_, size)| u64::from(*size)).sum();
        let first = parts.iter().map(|(at, _)| *at).min().unwrap_or(offset);
        let last = parts.iter().map(|(at, size)| at + u64::from(*size)).max().unwrap_or(end);
        let is_within = first <= offset && end <= last;
        if is_address && (offset, end) == (first, last) {
            parts.iter().for_each(|(at, size)| {
                self.places.remove(&Place::Memory(object, *at, *size));
            });
            *changed = true;
            return vec![(offset, bytes)];
        }
        if covered == last - first && is_within {
            return parts;
        }
        let smallest = parts.iter().map(|(_, size)| *size).chain([bytes]).min().unwrap_or(1);
        for (at, size) in parts {
            self.places.remove(&Place::Memory(object, at, size));
        }
        *changed = true;
        let (first, last) = (first.min(offset), last.max(end));
        (first..last).step_by(usize::from(smallest)).map(|at| (at, smallest)).collect()
    }
}
