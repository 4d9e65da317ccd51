//! Kinds of values that differ between paths, and how they are brought to where the paths meet.
//!
//! An integer that is known in all paths, to the planner or to the parties, becomes a register; a
//! secret a variable of the tracer's, together with its neighbours in one value. Of an address its
//! number among a few is carried (`address_set.rs`): memory is planned.

use std::rc::Rc;

use phineus_frontend::untyped::Value;
use phineus_frontend::{BlockVariable, Register};

use crate::access::MemoryModel;
use crate::data::CellValue;
use crate::data::lanes::lane_of;
use crate::emit::Emitter;
use crate::evaluate::report::ExecutionStop;

/// Places in objects, and the null pointer, each once.
pub(crate) type Addresses = Rc<[CellValue]>;

/// Wires of a value.
const WIRES: usize = phineus_bytecode::limits::VALUE_WIRES_MAX as usize;

/// Where something is that paths may leave different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Location {
    /// Of the block's phis, or what is returned.
    Value(usize),
    Register(u32),
    /// Object, offset, bytes.
    Memory(u32, u64, u8),
}

/// The kind of value that several paths leave at a place.
#[derive(Clone)]
pub(crate) enum ValueKind {
    /// A value that is equal on all paths.
    Known(CellValue),
    Opened,
    Secret,
    /// One of several addresses, and whether which one is a secret.
    Address(Addresses, bool),
}

/// How it is brought from one block to another.
pub(crate) enum CarriedForm {
    Register(Register),
    Variable(BlockVariable),
    /// Which of these addresses it is.
    Address(Addresses, Box<CarriedForm>),
}

impl CarriedForm {
    /// The register, also of the number of an address.
    pub(crate) fn register(&self) -> Option<Register> {
        match self {
            CarriedForm::Register(register) => Some(*register),
            CarriedForm::Variable(_) => None,
            CarriedForm::Address(_, number) => number.register(),
        }
    }
}

/// Places of one width that are carried together; more than one only in a variable.
pub(crate) struct CarriedTogether {
    pub(crate) carrier: CarriedForm,
    pub(crate) places: Vec<Location>,
    pub(crate) width: u16,
}

/// A place with what each path leaves there.
pub(crate) struct PathValues {
    pub(crate) place: Location,
    pub(crate) width: u16,
    pub(crate) data: Vec<CellValue>,
}

impl MemoryModel {
    /// The kind of a value that is `a` or `b`; `None` if one is an address and the other something else, or there are
    /// too many.
    pub(crate) fn nature(&self, a: &ValueKind, b: &CellValue, width: u16) -> Option<ValueKind> {
        let is_secret =
            |data: &CellValue| matches!(data, CellValue::Secret(_) | CellValue::Lane(..));
        let of = |data: &CellValue| match data {
            data if is_secret(data) => ValueKind::Secret,
            CellValue::Opened(_) => ValueKind::Opened,
            CellValue::Chosen(_) | CellValue::Indexed(_) => match self.addresses(data) {
                Some((addresses, is_secret)) => ValueKind::Address(addresses, is_secret),
                None => ValueKind::Known(data.clone()),
            },
            other => ValueKind::Known(other.clone()),
        };
        Some(match (a, of(b)) {
            (ValueKind::Known(CellValue::Poison), _) | (_, ValueKind::Known(CellValue::Poison)) => {
                ValueKind::Known(CellValue::Poison)
            }
            (ValueKind::Known(CellValue::Undefined), new) => new,
            (old, ValueKind::Known(CellValue::Undefined)) => old.clone(),
            (ValueKind::Known(a), ValueKind::Known(b)) if a.is_same(&b) => ValueKind::Known(b),
            (ValueKind::Known(CellValue::Public(_)), ValueKind::Known(CellValue::Public(_)))
                if width > 64 =>
            {
                ValueKind::Secret
            }
            (ValueKind::Known(CellValue::Public(_)), ValueKind::Known(CellValue::Public(_))) => {
                ValueKind::Opened
            }
            (
                ValueKind::Known(CellValue::Public(_)),
                new @ (ValueKind::Opened | ValueKind::Secret),
            ) => new,
            (
                old @ (ValueKind::Opened | ValueKind::Secret),
                ValueKind::Known(CellValue::Public(_)),
            ) => old.clone(),
            (ValueKind::Opened, ValueKind::Opened) => ValueKind::Opened,
            (ValueKind::Opened | ValueKind::Secret, ValueKind::Opened | ValueKind::Secret) => {
                ValueKind::Secret
            }
            (a, b) => return self.either_address(a, &b),
        })
    }

    /// Reads a place in memory.
    pub(crate) fn look(&mut self, place: Location) -> Result<CellValue, ExecutionStop> {
        let Location::Memory(object, offset, bytes) = place else {
            unreachable!("only memory is looked at")
        };
        self.read(object, offset, bytes)
    }

    /// Separates columns whose value is known from those that are carried, in groups.
    #[allow(clippy::type_complexity, reason = "two lists, used at once")]
    pub(crate) fn sort_out(
        &mut self,
        columns: &[PathValues],
    ) -> Result<(Vec<(Location, CellValue)>, Vec<(Vec<usize>, u16, ValueKind)>), ExecutionStop>
    {
        let (mut known, mut carried) = (Vec::new(), Vec::new());
        let mut secrets = Vec::new();
        for (at, column) in columns.iter().enumerate() {
            let first = &column.data[0];
            if column.data.iter().all(|data| data.is_same(first)) {
                known.push((column.place, first.clone()));
                continue;
            }
            let start = Some(ValueKind::Known(CellValue::Undefined));
            let nature = column.data.iter().fold(start, |nature, data| {
                nature.and_then(|nature| self.nature(&nature, data, column.width))
            });
            match nature {
                // On some paths it is not set, and 0.
                Some(ValueKind::Known(CellValue::Public(one)))
                    if one != 0 && column.width <= 64 =>
                {
                    carried.push((vec![at], column.width, ValueKind::Opened));
                }
                Some(ValueKind::Known(CellValue::Public(one))) if one != 0 => {
                    secrets.push((at, column.width, None));
                }
                Some(ValueKind::Known(data)) => known.push((column.place, data)),
                Some(nature @ (ValueKind::Opened | ValueKind::Address(..))) => {
                    carried.push((vec![at], column.width, nature));
                }
                Some(ValueKind::Secret) => {
                    let mut lanes = column.data.iter().filter_map(lane_of);
                    secrets.push((at, column.width, lanes.next()));
                }
                None => {
                    let data = self.values.address_differs(&column.data)?;
                    known.push((column.place, data));
                }
            }
        }
        let groups = groups(&secrets);
        let secret = |(members, width)| (members, width, ValueKind::Secret);
        carried.extend(groups.into_iter().map(secret));
        Ok((known, carried))
    }
}

impl Emitter {
    /// Gives a register, new or known, what one path leaves.
    pub(crate) fn bring_register(
        &mut self,
        data: &CellValue,
        known: Option<&CarriedForm>,
    ) -> Register {
        let source = match data {
            CellValue::Opened(register) => *register,
            CellValue::Public(value) => self.tracer.register(*value as u64),
            _ => self.tracer.register(0),
        };
        let target = match known {
            Some(CarriedForm::Register(register)) => *register,
            _ => self.tracer.register(0),
        };
        self.tracer.assign(target, source);
        target
    }

    /// Gives a variable, new or known, what one path leaves.
    pub(crate) fn bring_variable(
        &mut self,
        cells: &[CellValue],
        width: u16,
        known: Option<&CarriedForm>,
    ) -> BlockVariable {
        let value = self.carried_value(cells, width);
        match known {
            Some(CarriedForm::Variable(variable)) => {
                self.tracer.set(variable, &value);
                variable.clone()
            }
            _ => self.tracer.variable(&value),
        }
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
