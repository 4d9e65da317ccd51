//! Finds, by repeated tries, the values that a loop must carry from iteration to iteration.

use crate::access::MemoryModel;
use crate::carried::flow::PathEnd;
use crate::carried::form::Form;
use crate::carried::nature::{Carried, Carrier, Location, Nature, groups};
use crate::data::Data;
use crate::data::lanes::lane_of;
use crate::evaluate::report::Stop;

impl MemoryModel {
    /// Brings what a loop carries to its first iteration; returns what is known there as well.
    #[allow(clippy::type_complexity, reason = "two lists, used at once")]
    pub(crate) fn enter(
        &mut self,
        form: &Form,
        phis: &[Data],
    ) -> Result<(Vec<(Location, Data)>, Vec<Carried>), Stop> {
        let (mut known, mut carried) = (Vec::new(), Vec::new());
        for (place, (width, nature)) in &form.places {
            match nature {
                Nature::Known(data) => known.push((*place, data.clone())),
                Nature::Opened => {
                    let data = self.at(*place, phis)?;
                    let carrier = Carrier::Register(self.values.emit.bring_register(&data, None));
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
            let carrier = Carrier::Variable(self.values.emit.bring_variable(&cells, *width, None));
            carried.push(Carried { carrier, places: places.clone(), width: *width });
        }
        Ok((known, carried))
    }

    fn at(&mut self, place: Location, values: &[Data]) -> Result<Data, Stop> {
        match place {
            Location::Value(at) => Ok(values[at].clone()),
            place => self.look(place),
        }
    }

    /// Carries what an iteration leaves to the next one.
    pub(crate) fn go_round(&mut self, carried: &[Carried], path: PathEnd<'_>) -> Result<(), Stop> {
        self.values.emit.begin(path.block);
        self.memory.open_log();
        self.memory.apply(&path.log);
        let done = self.carry(carried, &path.values);
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
                    registers.push((*target, self.values.emit.bring_register(&cells[0], None)));
                }
                Carrier::Variable(_) => {
                    self.values.emit.bring_variable(&cells, one.width, Some(&one.carrier));
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
        registers
            .into_iter()
            .for_each(|(target, source)| self.values.emit.tracer.assign(target, source));
        Ok(())
    }

    /// Returns a wider form if the loop has to carry more.
    pub(crate) fn wider(
        &mut self,
        form: &Form,
        paths: &mut [PathEnd<'_>],
        header: u32,
        phis: &[Data],
        objects: u32,
    ) -> Result<Option<Form>, Stop> {
        let mut wider = form.clone();
        let mut changed = false;
        for path in paths.iter_mut() {
            self.values.emit.begin(path.block);
            self.memory.renew(&mut path.log);
            let code = &path.frame.function.blocks[header as usize];
            for (at, new) in path.values.iter().enumerate() {
                let width = code.phis[at].width;
                let new = self.lasting(new.clone(), objects)?;
                changed |= self.widen(&mut wider, Location::Value(at), width, &phis[at], &new)?;
            }
            // What is allocated in the loop is another object in every iteration.
            let mut stretches = self.stretches(&[&path.log, &Default::default()]);
            stretches.retain(|(object, ..)| *object < objects);
            for (object, offset, bytes) in stretches {
                let index = (offset / self.memory.object(object).granule) as u32;
                let logs = [&path.log, &Default::default()];
                let is_address = self.address_cells(&logs, object, index).is_some();
                let stretch = (offset, bytes, is_address);
                for (offset, bytes) in wider.fitting(object, stretch, &mut changed) {
                    let place = Location::Memory(object, offset, bytes);
                    let old = self.look(place)?;
                    let new = self.look_after(path, place)?;
                    let new = self.lasting(new, objects)?;
                    let width = u16::from(bytes) * 8;
                    changed |= self.widen(&mut wider, place, width, &old, &new)?;
                }
            }
            path.block = self.values.emit.tracer.block();
        }
        if !changed {
            return Ok(None);
        }
        let last = paths.last().expect("something changed");
        let secret =
            |(_, (_, nature)): &(&Location, &(u16, Nature))| matches!(nature, Nature::Secret);
        let places: Vec<(Location, u16)> = wider
            .places
            .iter()
            .filter(secret)
            .map(|(place, (width, _))| (*place, *width))
            .collect();
        let mut secrets = Vec::with_capacity(places.len());
        for (at, (place, width)) in places.iter().enumerate() {
            let data = match place {
                Location::Value(at) => last.values[*at].clone(),
                place => self.look_after(last, *place)?,
            };
            secrets.push((at, *width, lane_of(&data)));
        }
        let place_of = |members: Vec<usize>| members.iter().map(|at| places[*at].0).collect();
        let found = groups(&secrets).into_iter();
        wider.groups = found.map(|(members, width)| (place_of(members), width)).collect();
        Ok(Some(wider))
    }

    /// The value that an iteration hands on. A pointer to an object that is gone becomes undefined;
    /// a loop that keeps memory of its own for the next iteration is refused.
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

    /// Does the same for an address in this object.
    fn lasting_in(&mut self, object: u32, data: Data, objects: u32) -> Result<Data, Stop> {
        if !self.memory.object(object).is_alive {
            return Ok(Data::Undefined);
        }
        if object >= objects {
            return self.values.error(
                "memory is allocated in a loop whose end is opened when the program runs",
                "allocate it before the loop",
            );
        }
        Ok(data)
    }

    /// The value at a place in memory at the end of a path.
    fn look_after(&mut self, path: &PathEnd<'_>, place: Location) -> Result<Data, Stop> {
        self.memory.open_log();
        self.memory.apply(&path.log);
        let found = self.look(place);
        drop(self.memory.undo());
        found
    }

    /// Notes what a place is that holds `old` before an iteration and `new` after it; whether that
    /// says more than was known.
    fn widen(
        &mut self,
        form: &mut Form,
        place: Location,
        width: u16,
        old: &Data,
        new: &Data,
    ) -> Result<bool, Stop> {
        if old.is_same(new) || matches!(new, Data::Undefined) {
            return Ok(false);
        }
        // Iterations before it is set find 0.
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
            self.values.address_differs(&[old.clone(), new.clone()])?;
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
