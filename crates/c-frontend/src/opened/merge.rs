//! Where ways of the run time meet: what differs between them is carried from each.
//!
//! An integer that is known in all ways, to the planner or to the parties, becomes a register; a
//! secret a variable of the tracer's, together with its neighbours in one value. Of an address its
//! number among a few is carried (`addresses.rs`): memory is planned.

use std::rc::Rc;

use crate::data::Data;
use crate::interpreter::{Machine, Stop};
use crate::memory::Log;
use crate::opened::address_set::Addresses;
use crate::opened::{Goal, Way};
use phineus_frontend::untyped::Value;
use phineus_frontend::{Register, Variable};

/// Wires of a value.
const WIRES: usize = phineus_bytecode::limits::VALUE_WIRES_MAX as usize;

/// Where something is that ways may leave different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Of the block's phis, or what is returned.
    Value(usize),
    Register(u32),
    /// Object, offset, bytes.
    Memory(u32, u64, u8),
}

/// What something is that several ways leave.
#[derive(Clone)]
pub(crate) enum Nature {
    /// The same in all.
    Known(Data),
    Opened,
    Secret,
    /// One of several addresses, and whether which one is a secret.
    Address(Addresses, bool),
}

/// How it is brought from one block to another.
pub(crate) enum Carrier {
    Register(Register),
    Variable(Variable),
    /// Which of these addresses it is.
    Address(Addresses, Box<Carrier>),
}

impl Carrier {
    /// The register, also of the number of an address.
    pub(crate) fn register(&self) -> Option<Register> {
        match self {
            Carrier::Register(register) => Some(*register),
            Carrier::Variable(_) => None,
            Carrier::Address(_, number) => number.register(),
        }
    }
}

/// What is carried together: places of one width, more than one only in a variable.
pub(crate) struct Carried {
    pub(crate) carrier: Carrier,
    pub(crate) places: Vec<Place>,
    pub(crate) width: u16,
}

impl<'m> Machine<'m> {
    /// What `a` or `b` is; `None` if one is an address and the other something else, or there are
    /// too many.
    pub(crate) fn nature(&self, a: &Nature, b: &Data, width: u16) -> Option<Nature> {
        let is_secret = |data: &Data| matches!(data, Data::Secret(_) | Data::Lane(..));
        let of = |data: &Data| match data {
            data if is_secret(data) => Nature::Secret,
            Data::Opened(_) => Nature::Opened,
            Data::Chosen(_) | Data::Indexed(_) => match self.addresses(data) {
                Some((addresses, is_secret)) => Nature::Address(addresses, is_secret),
                None => Nature::Known(data.clone()),
            },
            other => Nature::Known(other.clone()),
        };
        Some(match (a, of(b)) {
            (Nature::Known(Data::Poison), _) | (_, Nature::Known(Data::Poison)) => {
                Nature::Known(Data::Poison)
            }
            (Nature::Known(Data::Undefined), new) => new,
            (old, Nature::Known(Data::Undefined)) => old.clone(),
            (Nature::Known(a), Nature::Known(b)) if a.is_same(&b) => Nature::Known(b),
            (Nature::Known(Data::Public(_)), Nature::Known(Data::Public(_))) if width > 64 => {
                Nature::Secret
            }
            (Nature::Known(Data::Public(_)), Nature::Known(Data::Public(_))) => Nature::Opened,
            (Nature::Known(Data::Public(_)), new @ (Nature::Opened | Nature::Secret)) => new,
            (old @ (Nature::Opened | Nature::Secret), Nature::Known(Data::Public(_))) => {
                old.clone()
            }
            (Nature::Opened, Nature::Opened) => Nature::Opened,
            (Nature::Opened | Nature::Secret, Nature::Opened | Nature::Secret) => Nature::Secret,
            (a, b) => return self.either_address(a, &b),
        })
    }

    /// The stretches of memory that one of the logs changes.
    pub(crate) fn stretches(&self, logs: &[&Log]) -> Vec<(u32, u64, u8)> {
        let mut keys: Vec<(u32, u32)> =
            logs.iter().flat_map(|log| log.cells.keys().copied()).collect();
        keys.sort_unstable();
        keys.dedup();
        let (mut found, mut done) = (Vec::new(), (u32::MAX, 0));
        for (object, index) in keys {
            if !self.memory.object(object).is_alive || (object == done.0 && index < done.1) {
                continue;
            }
            let granule = self.memory.object(object).granule;
            let entries = logs.iter().map(|log| self.memory.entry(log, object, index));
            let sizes = entries.map(|entry| match entry {
                Some((Data::Undefined, _)) => Some(0),
                entry => entry.map(|(_, cells)| cells),
            });
            let cells = sizes
                .reduce(|a, b| match (a, b) {
                    (Some(0), other) | (other, Some(0)) => other,
                    (Some(a), Some(b)) if a == b => Some(a),
                    _ => None,
                })
                .flatten();
            let cells = self.address_cells(logs, object, index).or(cells);
            let cells = cells.unwrap_or(1).max(1);
            let bytes = (u64::from(cells) * granule) as u8;
            found.push((object, u64::from(index) * granule, bytes));
            done = (object, index + cells);
        }
        found
    }

    /// What is at a place in memory as a log leaves it.
    pub(crate) fn look(&mut self, place: Place) -> Result<Data, Stop> {
        let Place::Memory(object, offset, bytes) = place else {
            unreachable!("only memory is looked at")
        };
        self.read(object, offset, bytes)
    }

    /// The state where ways meet that begin with the memory of now, in which recording goes on;
    /// returns the block's phis, or what is returned.
    pub(crate) fn merge_ways(
        &mut self,
        goal: Goal,
        mut ways: Vec<Way<'m>>,
    ) -> Result<Vec<Data>, Stop> {
        ways.iter_mut().for_each(|way| self.memory.renew(&mut way.log));
        if ways.len() == 1 {
            let way = ways.pop().expect("there is one");
            self.begin(way.block);
            self.memory.apply(&way.log);
            *self.stack.last_mut().expect("ways are in a frame") = way.frame;
            return Ok(way.values);
        }
        let columns = self.columns(goal, &mut ways)?;
        let mut frame = ways[0].frame.clone();
        for way in &ways[1..] {
            let new =
                way.frame.objects.iter().filter(|object| !ways[0].frame.objects.contains(object));
            frame.objects.extend(new);
        }
        let mut values = ways[0].values.clone();
        let (known, carried) = self.sort_out(&columns)?;
        let next = self.tracer.new_block();
        let mut carriers: Vec<Carried> = Vec::new();
        for (at, way) in ways.iter().enumerate() {
            self.begin(way.block);
            for (index, (members, width, nature)) in carried.iter().enumerate() {
                let cells: Vec<Data> =
                    members.iter().map(|member| columns[*member].data[at].clone()).collect();
                let known = carriers.get(index).map(|carried| &carried.carrier);
                let carrier = match nature {
                    Nature::Address(addresses, is_secret) => {
                        self.bring_address(addresses, *is_secret, &cells[0], known)?
                    }
                    Nature::Opened => Carrier::Register(self.bring_register(&cells[0], known)),
                    _ => Carrier::Variable(self.bring_variable(&cells, *width, known)),
                };
                if at == 0 {
                    let places = members.iter().map(|member| columns[*member].place).collect();
                    carriers.push(Carried { carrier, places, width: *width });
                }
            }
            self.tracer.jump(next);
        }
        self.begin(next);
        *self.stack.last_mut().expect("ways are in a frame") = frame;
        for (place, data) in known {
            self.put_at(place, &data, &mut values)?;
        }
        for carried in &carriers {
            self.receive(carried, &mut values)?;
        }
        Ok(values)
    }

    /// All that may differ, with what each way leaves there.
    fn columns(&mut self, goal: Goal, ways: &mut [Way<'m>]) -> Result<Vec<Column>, Stop> {
        let function = ways[0].frame.function;
        let mut columns = Vec::new();
        for at in 0..ways[0].values.len() {
            let width = match goal {
                Goal::Block(_, block) => function.blocks[block as usize].phis[at].width,
                Goal::Return(_) => function.result.width(),
            };
            let data = ways.iter().map(|way| way.values[at].clone()).collect();
            columns.push(Column { place: Place::Value(at), width, data });
        }
        if let Goal::Block(_, block) = goal {
            let live = self.live(ways[0].frame.index);
            let phis = &function.blocks[block as usize].phis;
            for register in 0..function.registers {
                let first = &ways[0].frame.registers[register as usize];
                let same = |way: &Way<'m>| way.frame.registers[register as usize].is_same(first);
                let is_needed = live[block as usize][register as usize]
                    && phis.iter().all(|phi| phi.result != register);
                if is_needed && !ways.iter().all(same) {
                    let data: Vec<Data> = ways
                        .iter()
                        .map(|way| way.frame.registers[register as usize].clone())
                        .collect();
                    let named = |d: &&Data| matches!(d, Data::Secret(_) | Data::Lane(..));
                    let width = data.iter().find(named).map_or(64, |d| self.width_of(d));
                    columns.push(Column { place: Place::Register(register), width, data });
                }
            }
        }
        let logs: Vec<&Log> = ways.iter().map(|way| &way.log).collect();
        let stretches = self.stretches(&logs);
        let first = columns.len();
        for (object, offset, bytes) in stretches {
            let place = Place::Memory(object, offset, bytes);
            columns.push(Column { place, width: u16::from(bytes) * 8, data: Vec::new() });
        }
        for way in ways.iter_mut() {
            self.begin(way.block);
            self.memory.open_log();
            self.memory.apply(&way.log);
            let found: Result<(), Stop> = (first..columns.len()).try_for_each(|at| {
                let data = self.look(columns[at].place)?;
                columns[at].data.push(data);
                Ok(())
            });
            drop(self.memory.undo());
            found?;
            way.block = self.tracer.block();
        }
        Ok(columns)
    }

    /// What is known of each column, and which are carried together, as what.
    #[allow(clippy::type_complexity, reason = "two lists, used at once")]
    fn sort_out(
        &mut self,
        columns: &[Column],
    ) -> Result<(Vec<(Place, Data)>, Vec<(Vec<usize>, u16, Nature)>), Stop> {
        let (mut known, mut carried) = (Vec::new(), Vec::new());
        let mut secrets = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            let first = &column.data[0];
            if column.data.iter().all(|data| data.is_same(first)) {
                known.push((column.place, first.clone()));
                continue;
            }
            let start = Some(Nature::Known(Data::Undefined));
            let nature = column.data.iter().fold(start, |nature, data| {
                nature.and_then(|nature| self.nature(&nature, data, column.width))
            });
            match nature {
                // On some ways it is not set, and 0.
                Some(Nature::Known(Data::Public(one))) if one != 0 && column.width <= 64 => {
                    carried.push((vec![at], column.width, Nature::Opened));
                }
                Some(Nature::Known(Data::Public(one))) if one != 0 => {
                    secrets.push((at, column.width, None));
                }
                Some(Nature::Known(data)) => known.push((column.place, data)),
                Some(nature @ (Nature::Opened | Nature::Address(..))) => {
                    carried.push((vec![at], column.width, nature));
                }
                Some(Nature::Secret) => {
                    let mut lanes = column.data.iter().filter_map(lane_of);
                    secrets.push((at, column.width, lanes.next()));
                }
                None => {
                    let data = self.address_differs(&column.data)?;
                    known.push((column.place, data));
                }
            }
        }
        let groups = groups(&secrets);
        let secret = |(members, width)| (members, width, Nature::Secret);
        carried.extend(groups.into_iter().map(secret));
        Ok((known, carried))
    }

    /// Gives a register, new or known, what one way leaves.
    pub(crate) fn bring_register(&mut self, data: &Data, known: Option<&Carrier>) -> Register {
        let source = match data {
            Data::Opened(register) => *register,
            Data::Public(value) => self.tracer.register(*value as u64),
            _ => self.tracer.register(0),
        };
        let target = match known {
            Some(Carrier::Register(register)) => *register,
            _ => self.tracer.register(0),
        };
        self.tracer.assign(target, source);
        target
    }

    /// Gives a variable, new or known, what one way leaves.
    pub(crate) fn bring_variable(
        &mut self,
        cells: &[Data],
        width: u16,
        known: Option<&Carrier>,
    ) -> Variable {
        let value = self.carried_value(cells, width);
        match known {
            Some(Carrier::Variable(variable)) => {
                self.tracer.set(variable, &value);
                variable.clone()
            }
            _ => self.tracer.variable(&value),
        }
    }

    /// Cells as one value; what is not set is 0.
    pub(crate) fn carried_value(&mut self, cells: &[Data], width: u16) -> Value {
        let set = |data: &Data| match data {
            data if data.is_secret() || matches!(data, Data::Public(_)) => data.clone(),
            _ => Data::Public(0),
        };
        let cells: Vec<Data> = cells.iter().map(set).collect();
        self.pack(&cells, width).with_sign(false)
    }

    /// Takes what was carried here.
    pub(crate) fn receive(&mut self, carried: &Carried, values: &mut [Data]) -> Result<(), Stop> {
        match &carried.carrier {
            Carrier::Register(register) => {
                self.put_at(carried.places[0], &Data::Opened(*register), values)
            }
            Carrier::Address(addresses, number) => {
                let data = self.address_among(addresses, number)?;
                self.put_at(carried.places[0], &data, values)
            }
            Carrier::Variable(variable) => {
                let value = Rc::new(self.tracer.get(variable));
                for (place, lane) in carried.places.iter().zip(0..) {
                    let data = match value.lanes() {
                        1 => Data::Secret(value.clone()),
                        _ => Data::Lane(value.clone(), lane),
                    };
                    self.put_at(*place, &data, values)?;
                }
                Ok(())
            }
        }
    }

    pub(crate) fn put_at(
        &mut self,
        place: Place,
        data: &Data,
        values: &mut [Data],
    ) -> Result<(), Stop> {
        match place {
            Place::Value(at) => values[at] = data.clone(),
            Place::Register(register) => {
                let frame = self.stack.last_mut().expect("ways are in a frame");
                frame.registers[register as usize] = data.clone();
            }
            Place::Memory(object, offset, bytes) => self.write(object, offset, bytes, data)?,
        }
        Ok(())
    }
}

/// A place with what each way leaves there.
struct Column {
    place: Place,
    width: u16,
    data: Vec<Data>,
}

/// The value of several lanes that a secret belongs to.
pub(crate) fn lane_of(data: &Data) -> Option<Rc<Value>> {
    match data {
        Data::Lane(value, _) => Some(value.clone()),
        _ => None,
    }
}

/// Secrets that are lanes of the same value go together: numbers of secrets, and their width.
pub(crate) fn groups(secrets: &[(usize, u16, Option<Rc<Value>>)]) -> Vec<(Vec<usize>, u16)> {
    let mut found: Vec<(Vec<usize>, u16)> = Vec::new();
    let mut open: std::collections::HashMap<(*const Value, u16), usize> = Default::default();
    for (at, width, value) in secrets {
        let key = value.as_ref().map(|value| (Rc::as_ptr(value), *width));
        let known = key.and_then(|key| open.get(&key)).copied();
        let known = known.filter(|known| {
            let lanes = found[*known].0.len() + 1;
            lanes * usize::from(*width) <= WIRES
        });
        match known {
            Some(known) => found[known].0.push(*at),
            None => {
                found.push((vec![*at], *width));
                if let Some(key) = key {
                    open.insert(key, found.len() - 1);
                }
            }
        }
    }
    found
}
