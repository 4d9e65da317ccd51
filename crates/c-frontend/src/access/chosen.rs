//! Addresses of which a secret chooses one: several places, each with a bit of whether it is meant.
//!
//! Of the bits exactly one is set. An address is moved and indexed by doing so with each place, a
//! read chooses between what lies at all of them, and a write keeps the old value at those that
//! are not meant. LLVM makes such addresses itself, of `c ? x[2] : z[3]`.
//!
//! Cost: of `n` places a read takes `n - 1` choices and a write `n`; an address that is itself a
//! choice between two, which have `m` places, takes `m` ANDs of a bit.
//!
//! Invariant: no place is there twice, so that `if (c) p++` in a loop has a place for each turn, not
//! two for each one before. A place that is not readable is never meant by a correct program.

use std::rc::Rc;

use crate::access::moved;
use crate::data::Data;
use crate::interpreter::{Machine, Stop};
use crate::ir::{Binary, Compare, Type, Unary};

/// Places that an address may mean.
const PLACES_MAX: usize = 1 << 12;

/// Each with its bit.
pub(crate) type Choices = Rc<[(Data, Data)]>;

pub(crate) fn is_address(data: &Data) -> bool {
    matches!(data, Data::Pointer(..) | Data::Indexed(_) | Data::Places(..) | Data::Chosen(_))
}

/// Whether it is known which object it is in, if any.
fn has_place(data: &Data) -> bool {
    matches!(data, Data::Pointer(..) | Data::Indexed(_) | Data::Places(..) | Data::Public(0))
}

impl Machine<'_> {
    /// One of two addresses by a secret.
    pub(crate) fn select_address(
        &mut self,
        condition: &Data,
        a: &Data,
        b: &Data,
    ) -> Result<Data, Stop> {
        let one = Data::bit(true);
        let not = self.binary(Binary::Xor, 1, condition, &one)?;
        let mut all: Vec<(Data, Data)> = Vec::new();
        for (condition, side) in [(condition, a), (&not, b)] {
            let places: Choices = match side {
                Data::Chosen(places) => places.clone(),
                other if is_address(other) || matches!(other, Data::Public(_)) => {
                    Rc::new([(one.clone(), other.clone())])
                }
                _ => {
                    let remedy =
                        "keep them in fields of their own, or set the pointer on both ways";
                    return self.error("a secret decides whether this is an address", remedy);
                }
            };
            for (bit, place) in places.iter() {
                let bit = self.binary(Binary::And, 1, condition, bit)?;
                match all.iter().position(|(_, known)| known.is_same(place)) {
                    Some(at) => {
                        all[at].0 = self.binary(Binary::Xor, 1, &all[at].0.clone(), &bit)?
                    }
                    None => all.push((bit, place.clone())),
                }
            }
        }
        if all.len() > PLACES_MAX {
            let what = "an address that a secret chooses can mean too many places";
            self.error(what, "use an index into one array")?;
            return Err(Stop::Fatal);
        }
        Ok(Data::Chosen(all.into()))
    }

    /// What the place that is meant gives, by a tree of choices.
    pub(crate) fn of_each(
        &mut self,
        choices: &Choices,
        width: u16,
        mut what: impl FnMut(&mut Self, &Data) -> Result<Data, Stop>,
    ) -> Result<Data, Stop> {
        let mut all = Vec::with_capacity(choices.len());
        for (bit, place) in choices.iter() {
            all.push((bit.clone(), what(self, place)?));
        }
        while all.len() > 1 {
            let mut half = Vec::with_capacity(all.len().div_ceil(2));
            let is_last = all.len() == 2;
            for pair in all.chunks(2) {
                half.push(match pair {
                    [(bit, a), (other, b)] => {
                        let chosen = self.select(bit, a, b, width)?;
                        let either = match is_last {
                            true => Data::bit(true),
                            false => self.binary(Binary::Xor, 1, bit, other)?,
                        };
                        (either, chosen)
                    }
                    _ => pair[0].clone(),
                });
            }
            all = half;
        }
        Ok(all.pop().expect("an address means a place").1)
    }

    /// The address with something done to each place.
    pub(crate) fn each_place(
        &mut self,
        choices: &Choices,
        mut with: impl FnMut(&mut Self, Data) -> Result<Data, Stop>,
    ) -> Result<Data, Stop> {
        let mut all = Vec::with_capacity(choices.len());
        for (bit, place) in choices.iter() {
            let place = match place {
                Data::Public(_) => place.clone(),
                place => with(self, place.clone())?,
            };
            all.push((bit.clone(), place));
        }
        Ok(Data::Chosen(all.into()))
    }

    /// Whether something can lie there: null, or beyond an array, is never meant.
    fn is_place(&self, place: &Data, bytes: u64) -> bool {
        let is_inside = |object: u32, at: &i64| self.memory.check(object, *at, bytes).is_ok();
        match place {
            Data::Pointer(object, at) => is_inside(*object, at),
            Data::Places(object, all) => all.iter().all(|at| is_inside(*object, at)),
            other => is_address(other),
        }
    }

    /// Whether some lanes are where something can lie and some are not: then each lane has to be
    /// looked at by itself.
    fn is_split(&self, choices: &Choices, bytes: u64) -> bool {
        let is_inside = |object: u32, at: &i64| self.memory.check(object, *at, bytes).is_ok();
        choices.iter().any(|(_, place)| match place {
            Data::Places(object, all) => {
                let inside = all.iter().filter(|at| is_inside(*object, at)).count();
                inside > 0 && inside < all.len()
            }
            _ => false,
        })
    }

    pub(crate) fn read_chosen(&mut self, choices: &Choices, bytes: u64) -> Result<Data, Stop> {
        if self.is_split(choices, bytes) {
            return Err(Stop::Abandon);
        }
        let readable = choices.iter().filter(|(_, place)| self.is_place(place, bytes));
        let readable: Choices = readable.cloned().collect();
        let count = readable.len();
        if count == 0 {
            return self.load(&Type::Integer(bytes as u16 * 8), choices[0].1.clone());
        }
        let remedy = format!("{} choices of {} bits", count - 1, bytes * 8);
        let what = format!("a read at an address that a secret chooses looks at {count} places");
        self.note(what, &remedy);
        self.of_each(&readable, bytes as u16 * 8, |machine, place| {
            machine.load_bytes(place.clone(), bytes)
        })
    }

    pub(crate) fn write_chosen(
        &mut self,
        choices: &Choices,
        bytes: u64,
        data: &Data,
    ) -> Result<(), Stop> {
        if self.is_split(choices, bytes) {
            return Err(Stop::Abandon);
        }
        let writable = choices.iter().filter(|(_, place)| self.is_place(place, bytes));
        let writable: Vec<(Data, Data)> = writable.cloned().collect();
        if writable.is_empty() {
            return self.store_bytes(data.clone(), choices[0].1.clone(), bytes);
        }
        let count = writable.len();
        let remedy = format!("{count} choices of {} bits", bytes * 8);
        let what = format!("a write at an address that a secret chooses touches {count} places");
        self.note(what, &remedy);
        for (bit, place) in writable {
            let old = self.load_bytes(place.clone(), bytes)?;
            let new = self.select(&bit, data, &old, bytes as u16 * 8)?;
            self.store_bytes(new, place, bytes)?;
        }
        Ok(())
    }

    /// A comparison of which one side is a chosen address.
    pub(crate) fn compare_chosen(
        &mut self,
        op: Compare,
        a: &Data,
        b: &Data,
    ) -> Option<Result<Data, Stop>> {
        Some(match (a, b) {
            (Data::Chosen(choices), b) => {
                self.of_each(choices, 1, |machine, place| machine.compare(op, 64, place, b))
            }
            (a, Data::Chosen(choices)) => {
                self.of_each(choices, 1, |machine, place| machine.compare(op, 64, a, place))
            }
            (Data::Indexed(_), _) | (_, Data::Indexed(_)) => match self.numbers(a, b) {
                Ok(Some((x, y))) => self.compare(op, 64, &x, &y),
                // Places in different objects, or no place.
                Ok(None) if has_place(a) && has_place(b) && op == Compare::Eq => {
                    Ok(Data::bit(false))
                }
                Ok(None) if has_place(a) && has_place(b) && op == Compare::Ne => {
                    Ok(Data::bit(true))
                }
                Ok(None) => return None,
                Err(stop) => Err(stop),
            },
            _ => return None,
        })
    }

    /// Where two addresses are, if that is in the same object.
    fn numbers(&mut self, a: &Data, b: &Data) -> Result<Option<(Data, Data)>, Stop> {
        Ok(match (self.number(a)?, self.number(b)?) {
            (Some((object, x)), Some((other, y))) if object == other => Some((x, y)),
            _ => None,
        })
    }

    /// The difference of addresses of which one is chosen, or such an address and an integer.
    pub(crate) fn binary_chosen(
        &mut self,
        op: Binary,
        width: u16,
        a: &Data,
        b: &Data,
    ) -> Option<Result<Data, Stop>> {
        Some(match (op, a, b) {
            (Binary::Add, Data::Chosen(choices), Data::Public(steps)) => {
                let steps = *steps as i64;
                self.each_place(choices, |_, place| Ok(moved(place, steps)))
            }
            (Binary::Sub, Data::Chosen(choices), b) if is_address(b) => {
                self.of_each(choices, width, |machine, place| machine.binary(op, width, place, b))
            }
            (Binary::Sub, a, Data::Chosen(choices)) if is_address(a) => {
                self.of_each(choices, width, |machine, place| machine.binary(op, width, a, place))
            }
            (Binary::Sub, a, b) if is_address(a) && is_address(b) => match self.numbers(a, b) {
                Ok(Some((x, y))) => {
                    let difference = self.binary(op, 64, &x, &y);
                    difference.and_then(|all| self.unary(Unary::Truncate, 64, width, &all))
                }
                Ok(None) => return None,
                Err(stop) => Err(stop),
            },
            _ => return None,
        })
    }

    /// Bytes that a value at one of these places surely has, as a power of two.
    pub(crate) fn granule_of(&self, place: &Data) -> u64 {
        match place {
            Data::Pointer(object, at) => 1 << self.granule_at(*object, *at),
            Data::Places(object, all) => {
                all.iter().map(|at| 1 << self.granule_at(*object, *at)).min().unwrap_or(1)
            }
            Data::Indexed(indexed) => {
                let steps = indexed.terms.iter().fold(indexed.offset, |all, t| all | t.stride);
                1 << self.granule_at(indexed.object, steps)
            }
            Data::Chosen(choices) => {
                choices.iter().map(|(_, place)| self.granule_of(place)).min().unwrap_or(1)
            }
            _ => 16,
        }
    }

    fn granule_at(&self, object: u32, at: i64) -> u32 {
        (self.memory.object(object).granule | at as u64).trailing_zeros().min(4)
    }
}
