//! Finds, by repeated tries, the values that a loop must carry from iteration to iteration.

use crate::access::MemoryModel;
use crate::carried::flow::PathEnd;
use crate::carried::form::{CarriedSet, MemoryStretch};
use crate::carried::nature::{CarriedForm, CarriedTogether, Location, ValueKind, groups};
use crate::data::CellValue;
use crate::data::lanes::lane_of;
use crate::evaluate::report::ExecutionStop;

impl MemoryModel {
    /// Brings what a loop carries to its first iteration; returns what is known there as well.
    #[allow(clippy::type_complexity, reason = "two lists, used at once")]
    pub(crate) fn enter(
        &mut self,
        form: &CarriedSet,
        phis: &[CellValue],
    ) -> Result<(Vec<(Location, CellValue)>, Vec<CarriedTogether>), ExecutionStop> {
        let (mut known, mut carried) = (Vec::new(), Vec::new());
        for (place, (width, nature)) in &form.places {
            match nature {
                ValueKind::Known(data) => known.push((*place, data.clone())),
                ValueKind::Opened => {
                    let data = self.at(*place, phis)?;
                    let carrier =
                        CarriedForm::Register(self.values.emit.bring_register(&data, None));
                    carried.push(CarriedTogether { carrier, places: vec![*place], width: *width });
                }
                ValueKind::Address(addresses, is_secret) => {
                    let data = self.at(*place, phis)?;
                    let carrier = self.bring_address(addresses, *is_secret, &data, None)?;
                    carried.push(CarriedTogether { carrier, places: vec![*place], width: *width });
                }
                ValueKind::Secret => {}
            }
        }
        for (places, width) in &form.groups {
            let cells = places.iter().map(|place| self.at(*place, phis));
            let cells: Vec<CellValue> = cells.collect::<Result<_, _>>()?;
            let carrier =
                CarriedForm::Variable(self.values.emit.bring_variable(&cells, *width, None));
            carried.push(CarriedTogether { carrier, places: places.clone(), width: *width });
        }
        Ok((known, carried))
    }

    fn at(&mut self, place: Location, values: &[CellValue]) -> Result<CellValue, ExecutionStop> {
        match place {
            Location::Value(at) => Ok(values[at].clone()),
            place => self.look(place),
        }
    }

    /// Carries what an iteration leaves to the next one.
    pub(crate) fn go_round(
        &mut self,
        carried: &[CarriedTogether],
        path: PathEnd<'_>,
    ) -> Result<(), ExecutionStop> {
        self.values.emit.begin(path.block);
        self.memory.open_log();
        self.memory.apply(&path.log);
        let done = self.carry(carried, &path.values);
        drop(self.memory.undo());
        done
    }

    fn carry(
        &mut self,
        carried: &[CarriedTogether],
        values: &[CellValue],
    ) -> Result<(), ExecutionStop> {
        // All is computed before any register changes: one may be the source of another.
        let mut registers = Vec::new();
        for one in carried {
            let cells = one.places.iter().map(|place| self.at(*place, values));
            let cells: Vec<CellValue> = cells.collect::<Result<_, _>>()?;
            match &one.carrier {
                CarriedForm::Register(target) => {
                    registers.push((*target, self.values.emit.bring_register(&cells[0], None)));
                }
                CarriedForm::Variable(_) => {
                    self.values.emit.bring_variable(&cells, one.width, Some(&one.carrier));
                }
                CarriedForm::Address(addresses, number) => match number.as_ref() {
                    CarriedForm::Register(target) => {
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
        form: &CarriedSet,
        paths: &mut [PathEnd<'_>],
        header: u32,
        phis: &[CellValue],
        objects: u32,
    ) -> Result<Option<CarriedSet>, ExecutionStop> {
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
                let stretch = MemoryStretch { offset, bytes, is_address };
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
            |(_, (_, nature)): &(&Location, &(u16, ValueKind))| matches!(nature, ValueKind::Secret);
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
    fn lasting(&mut self, data: CellValue, objects: u32) -> Result<CellValue, ExecutionStop> {
        match data {
            CellValue::Pointer(object, _) => self.lasting_in(object, data, objects),
            CellValue::Indexed(ref indexed) => {
                self.lasting_in(indexed.object, data.clone(), objects)
            }
            CellValue::Chosen(places) => {
                for (_, place) in places.iter() {
                    self.lasting(place.clone(), objects)?;
                }
                Ok(CellValue::Chosen(places))
            }
            data => Ok(data),
        }
    }

    /// Does the same for an address in this object.
    fn lasting_in(
        &mut self,
        object: u32,
        data: CellValue,
        objects: u32,
    ) -> Result<CellValue, ExecutionStop> {
        if !self.memory.object(object).is_alive {
            return Ok(CellValue::Undefined);
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
    fn look_after(
        &mut self,
        path: &PathEnd<'_>,
        place: Location,
    ) -> Result<CellValue, ExecutionStop> {
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
        form: &mut CarriedSet,
        place: Location,
        width: u16,
        old: &CellValue,
        new: &CellValue,
    ) -> Result<bool, ExecutionStop> {
        if old.is_same(new) || matches!(new, CellValue::Undefined) {
            return Ok(false);
        }
        // Iterations before it is set find 0.
        let zero = CellValue::Public(0);
        let is_unset = matches!((old, new), (CellValue::Undefined, CellValue::Public(_)));
        let old = if is_unset { &zero } else { old };
        let known = form.places.get(&place).map(|(_, nature)| nature.clone());
        let before = match &known {
            Some(known @ (ValueKind::Opened | ValueKind::Secret | ValueKind::Address(..))) => {
                known.clone()
            }
            _ => {
                let start = ValueKind::Known(CellValue::Undefined);
                let Some(before) = self.nature(&start, old, width) else { return Ok(false) };
                before
            }
        };
        let Some(nature) = self.nature(&before, new, width) else {
            self.values.address_differs(&[old.clone(), new.clone()])?;
            return Ok(false);
        };
        let is_new = match (&nature, &known) {
            (ValueKind::Secret, Some(ValueKind::Secret))
            | (ValueKind::Opened, Some(ValueKind::Opened)) => false,
            (ValueKind::Known(CellValue::Poison), _) => return Ok(false),
            (ValueKind::Address(all, secret), Some(ValueKind::Address(before, was_secret))) => {
                all.len() != before.len() || secret != was_secret
            }
            _ => true,
        };
        form.places.insert(place, (width, nature));
        Ok(is_new)
    }
}
