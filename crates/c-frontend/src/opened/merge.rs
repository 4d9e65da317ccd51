//! Joins of paths at run time: values that differ between the paths are carried from each.

use std::rc::Rc;

use crate::carried::flow::{PathEnd, PathTarget};
use crate::carried::nature::{CarriedForm, CarriedTogether, Location, PathValues, ValueKind};
use crate::data::CellValue;
use crate::evaluate::report::ExecutionStop;
use crate::interpreter::Interpreter;
use crate::memory::log::Log;

impl<'m> Interpreter<'m> {
    /// The state where paths meet that begin with the memory of now, in which recording goes on;
    /// returns the block's phis, or what is returned.
    pub(crate) fn merge_paths(
        &mut self,
        goal: PathTarget,
        mut paths: Vec<PathEnd<'m>>,
    ) -> Result<Vec<CellValue>, ExecutionStop> {
        paths.iter_mut().for_each(|path| self.access.memory.renew(&mut path.log));
        if paths.len() == 1 {
            let path = paths.pop().expect("there is one");
            self.access.values.emit.begin(path.block);
            self.access.memory.apply(&path.log);
            *self.opened.stack.last_mut().expect("paths are in a frame") = path.frame;
            return Ok(path.values);
        }
        let columns = self.columns(goal, &mut paths)?;
        let mut frame = paths[0].frame.clone();
        for path in &paths[1..] {
            let new =
                path.frame.objects.iter().filter(|object| !paths[0].frame.objects.contains(object));
            frame.objects.extend(new);
        }
        let mut values = paths[0].values.clone();
        let (known, carried) = self.access.sort_out(&columns)?;
        let next = self.access.values.emit.tracer.new_block();
        let mut carriers: Vec<CarriedTogether> = Vec::new();
        for (at, path) in paths.iter().enumerate() {
            self.access.values.emit.begin(path.block);
            for (index, (members, width, nature)) in carried.iter().enumerate() {
                let cells: Vec<CellValue> =
                    members.iter().map(|member| columns[*member].data[at].clone()).collect();
                let known = carriers.get(index).map(|carried| &carried.carrier);
                let carrier = match nature {
                    ValueKind::Address(addresses, is_secret) => {
                        self.access.bring_address(addresses, *is_secret, &cells[0], known)?
                    }
                    ValueKind::Opened => CarriedForm::Register(
                        self.access.values.emit.bring_register(&cells[0], known),
                    ),
                    _ => CarriedForm::Variable(
                        self.access.values.emit.bring_variable(&cells, *width, known),
                    ),
                };
                if at == 0 {
                    let places = members.iter().map(|member| columns[*member].place).collect();
                    carriers.push(CarriedTogether { carrier, places, width: *width });
                }
            }
            self.access.values.emit.tracer.jump(next);
        }
        self.access.values.emit.begin(next);
        *self.opened.stack.last_mut().expect("paths are in a frame") = frame;
        for (place, data) in known {
            self.put_at(place, &data, &mut values)?;
        }
        for carried in &carriers {
            self.receive(carried, &mut values)?;
        }
        Ok(values)
    }

    /// All that may differ, with what each path leaves there.
    fn columns(
        &mut self,
        goal: PathTarget,
        paths: &mut [PathEnd<'m>],
    ) -> Result<Vec<PathValues>, ExecutionStop> {
        let function = paths[0].frame.function;
        let mut columns = Vec::new();
        for at in 0..paths[0].values.len() {
            let width = match goal {
                PathTarget::Block(_, block) => function.blocks[block as usize].phis[at].width,
                PathTarget::Return(_) => function.result.width(),
            };
            let data = paths.iter().map(|path| path.values[at].clone()).collect();
            columns.push(PathValues { place: Location::Value(at), width, data });
        }
        if let PathTarget::Block(_, block) = goal {
            let live = self.live(paths[0].frame.index);
            let phis = &function.blocks[block as usize].phis;
            for register in 0..function.registers {
                let first = &paths[0].frame.registers[register as usize];
                let same =
                    |path: &PathEnd<'m>| path.frame.registers[register as usize].is_same(first);
                let is_needed = live[block as usize][register as usize]
                    && phis.iter().all(|phi| phi.result != register);
                if is_needed && !paths.iter().all(same) {
                    let data: Vec<CellValue> = paths
                        .iter()
                        .map(|path| path.frame.registers[register as usize].clone())
                        .collect();
                    let named =
                        |d: &&CellValue| matches!(d, CellValue::Secret(_) | CellValue::Lane(..));
                    let width =
                        data.iter().find(named).map_or(64, |d| self.access.values.width_of(d));
                    columns.push(PathValues { place: Location::Register(register), width, data });
                }
            }
        }
        let logs: Vec<&Log> = paths.iter().map(|path| &path.log).collect();
        let stretches = self.access.stretches(&logs);
        let first = columns.len();
        for (object, offset, bytes) in stretches {
            let place = Location::Memory(object, offset, bytes);
            columns.push(PathValues { place, width: u16::from(bytes) * 8, data: Vec::new() });
        }
        for path in paths.iter_mut() {
            self.access.values.emit.begin(path.block);
            self.access.memory.open_log();
            self.access.memory.apply(&path.log);
            let found: Result<(), ExecutionStop> = (first..columns.len()).try_for_each(|at| {
                let data = self.access.look(columns[at].place)?;
                columns[at].data.push(data);
                Ok(())
            });
            drop(self.access.memory.undo());
            found?;
            path.block = self.access.values.emit.tracer.block();
        }
        Ok(columns)
    }

    /// Takes what was carried here.
    pub(crate) fn receive(
        &mut self,
        carried: &CarriedTogether,
        values: &mut [CellValue],
    ) -> Result<(), ExecutionStop> {
        match &carried.carrier {
            CarriedForm::Register(register) => {
                self.put_at(carried.places[0], &CellValue::Opened(*register), values)
            }
            CarriedForm::Address(addresses, number) => {
                let data = self.access.address_among(addresses, number)?;
                self.put_at(carried.places[0], &data, values)
            }
            CarriedForm::Variable(variable) => {
                let value = Rc::new(self.access.values.emit.tracer.get(variable));
                for (place, lane) in carried.places.iter().zip(0..) {
                    let data = match value.lanes() {
                        1 => CellValue::Secret(value.clone()),
                        _ => CellValue::Lane(value.clone(), lane),
                    };
                    self.put_at(*place, &data, values)?;
                }
                Ok(())
            }
        }
    }

    pub(crate) fn put_at(
        &mut self,
        place: Location,
        data: &CellValue,
        values: &mut [CellValue],
    ) -> Result<(), ExecutionStop> {
        match place {
            Location::Value(at) => values[at] = data.clone(),
            Location::Register(register) => {
                let frame = self.opened.stack.last_mut().expect("paths are in a frame");
                frame.registers[register as usize] = data.clone();
            }
            Location::Memory(object, offset, bytes) => {
                self.access.write(object, offset, bytes, data)?
            }
        }
        Ok(())
    }
}
