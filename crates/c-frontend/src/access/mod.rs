//! Loads and stores at places that are known, all alike or one for each lane.
//!
//! An access that does not fit a value takes values apart or joins them; that costs nothing but
//! instructions.

pub(crate) mod chosen;
pub(crate) mod elements;
pub(crate) mod gather;
pub(crate) mod indexed;
pub(crate) mod tables;

use std::rc::Rc;

use crate::access::chosen::is_address;
use crate::data::{Data, Term};
use crate::interpreter::{Frame, Machine, Stop};
use crate::ir::{Binary, Index, Initial, Operand, Type, Unary};
use crate::memory::pages::{CELLS_MAX, Full};
use crate::memory::{AccessError, Found, Storage};

/// Choices that an address is made of, and their sides; with more the index is looked for as any
/// secret one is.
const CHOICES_MAX: u32 = 128;

impl<'m> Machine<'m> {
    /// The address with an offset and indices added.
    pub(crate) fn address(
        &mut self,
        frame: &Frame<'m>,
        base: Data,
        offset: i64,
        indices: &[Index],
    ) -> Result<Data, Stop> {
        let mut place = moved(base, offset);
        for index in indices {
            place = self.further(frame, place, index, index.operand)?;
        }
        Ok(place)
    }

    /// The address with one index added. Where that is a secret choice between public ones, as LLVM
    /// makes it of a choice between addresses, it is a choice between addresses again.
    fn further(
        &mut self,
        frame: &Frame<'m>,
        place: Data,
        index: &Index,
        operand: Operand,
    ) -> Result<Data, Stop> {
        let given = frame.get(operand);
        if let (Operand::Register(register), true) = (operand, given.is_secret())
            && let Some([condition, a, b]) = frame.function.choices.get(&register)
            && self.is_few(frame, operand, &mut { CHOICES_MAX })
        {
            let yes = self.further(frame, place.clone(), index, *a)?;
            let no = self.further(frame, place, index, *b)?;
            return self.select(&frame.get(*condition), &yes, &no, 64);
        }
        match place {
            Data::Chosen(choices) => self.each_place(&choices, |machine, place| {
                machine.stepped(place, given.clone(), index)
            }),
            place => self.stepped(place, given, index),
        }
    }

    /// Whether an index is public, or one of a few public ones. What is chosen between may have
    /// been chosen itself, and one choice may be a side of several: `left` counts down with each
    /// that is looked at.
    fn is_few(&self, frame: &Frame<'m>, operand: Operand, left: &mut u32) -> bool {
        let Some(rest) = left.checked_sub(1) else { return false };
        *left = rest;
        match (frame.get(operand), operand) {
            (Data::Public(_) | Data::Spread(_), _) => true,
            (given, Operand::Register(register)) if given.is_secret() => {
                let sides = frame.function.choices.get(&register);
                sides.is_some_and(|[_, a, b]| {
                    self.is_few(frame, *a, left) && self.is_few(frame, *b, left)
                })
            }
            _ => false,
        }
    }

    /// The address with one index added.
    fn stepped(&mut self, place: Data, given: Data, index: &Index) -> Result<Data, Stop> {
        let steps = |v: &u128| (super::data::signed(*v, index.width) as i64) * index.stride;
        Ok(match (place, given) {
            (Data::Poison, _) | (_, Data::Poison) => Data::Poison,
            (_, Data::Undefined) => return self.error("this index is not set", "set it first"),
            (place, Data::Public(value)) => {
                let steps = crate::data::signed(value, index.width) as i64;
                moved(place, steps.wrapping_mul(index.stride))
            }
            (Data::Pointer(object, at), Data::Spread(values)) => {
                Data::Places(object, values.iter().map(|v| at + steps(v)).collect())
            }
            (Data::Places(object, at), Data::Spread(values)) => {
                let both = at.iter().zip(values.iter());
                Data::Places(object, both.map(|(at, v)| at + steps(v)).collect())
            }
            (place, secret) if secret.is_secret() => {
                let Index { width, stride, bound, .. } = *index;
                self.indexed(place, Term { index: secret, width, stride, bound })?
            }
            _ => return self.error("this index is no integer", "use an integer"),
        })
    }

    pub(crate) fn load(&mut self, type_: &Type, place: Data) -> Result<Data, Stop> {
        match type_ {
            Type::Many(elements, _) => {
                let mut loaded = Vec::with_capacity(elements.len());
                for (element, offset) in elements {
                    loaded.push(self.load(element, moved(place.clone(), *offset as i64))?);
                }
                Ok(Data::Many(loaded.into()))
            }
            Type::Integer(width) => {
                let bytes = type_.size_bytes();
                let data = self.load_bytes(place, bytes)?;
                self.unary(Unary::Truncate, (bytes * 8) as u16, *width, &data)
            }
            Type::Pointer => self.load_bytes(place, 8),
            Type::Void | Type::Unsupported(_) => Ok(Data::Poison),
        }
    }

    /// Loads what is only stored again: values as they lie there, which are not joined.
    pub(crate) fn load_to_move(&mut self, type_: &Type, place: Data) -> Result<Data, Stop> {
        let (bytes, Data::Pointer(object, start)) = (type_.size_bytes(), &place) else {
            return self.load(type_, place);
        };
        if *type_ != Type::Integer(bytes as u16 * 8) {
            return self.load(type_, place);
        }
        if let Err(error) = self.memory.check(*object, *start, bytes) {
            return self.outside(*object, *start, error);
        }
        self.rehearse_read(*object, *start, bytes)?;
        let (mut parts, mut offset) = (Vec::new(), 0);
        while offset < bytes {
            let at = *start as u64 + offset;
            let (data, size) = self.next_value(*object, at, bytes - offset)?;
            parts.push((data, size));
            offset += u64::from(size);
        }
        match parts.pop() {
            Some((data, _)) if parts.is_empty() => Ok(data),
            last => Ok(Data::Parts(parts.into_iter().chain(last).collect())),
        }
    }

    pub(crate) fn load_bytes(&mut self, place: Data, bytes: u64) -> Result<Data, Stop> {
        match place {
            Data::Poison => Ok(Data::Poison),
            Data::Pointer(object, offset) => {
                if let Err(error) = self.memory.check(object, offset, bytes) {
                    return self.outside(object, offset, error);
                }
                self.rehearse_read(object, offset, bytes)?;
                let data = self.read(object, offset as u64, bytes as u8)?;
                if let (Some(rehearsal), Data::Hidden) = (&mut self.rehearsal, &data) {
                    return Ok(rehearsal.hidden(bytes as u16 * 8));
                }
                Ok(data)
            }
            Data::Indexed(indexed) => self.read_indexed(&indexed, bytes),
            Data::Chosen(choices) => self.read_chosen(&choices, bytes),
            Data::Places(object, places) => self.gather(object, &places, bytes),
            Data::Undefined => self.error("this address is not set", "set it first"),
            _ => self.error("this reads through a null pointer", "point it to an object"),
        }
    }

    pub(crate) fn outside(
        &mut self,
        object: u32,
        offset: i64,
        error: AccessError,
    ) -> Result<Data, Stop> {
        let name = self.memory.object(object).shown();
        match error {
            AccessError::Outside(size) => self.error(
                format!("byte {offset} of {name} is out of bounds: it has {size} bytes"),
                "keep the index within the array",
            ),
            AccessError::Dead => {
                self.error(format!("{name} does not exist any more"), "keep it until it is used")
            }
        }
    }

    /// What lies at a place that was checked.
    pub(crate) fn read(&mut self, object: u32, offset: u64, bytes: u8) -> Result<Data, Stop> {
        match self.memory.find(object, offset, bytes) {
            Found::Whole(data) => Ok(data),
            Found::Unread(..) if self.rehearsal.is_some() => Ok(Data::Hidden),
            Found::Unread(leaf, row) => {
                self.read_chunk(object, leaf, row);
                self.read(object, offset, bytes)
            }
            Found::Parts(parts) => self.join(parts, offset, bytes),
        }
    }

    /// The value that begins at `offset`, or the part of one, and its bytes: at most `most`.
    pub(crate) fn next_value(
        &mut self,
        object: u32,
        offset: u64,
        most: u64,
    ) -> Result<(Data, u8), Stop> {
        let size = match &self.memory.object(object).storage {
            Storage::Table(table) => {
                let within = offset % table.row_bytes;
                match table.leaf_at[within as usize] {
                    Some(leaf) => {
                        let leaf = &table.leaves[leaf as usize];
                        leaf.offset + leaf.bytes - within
                    }
                    None => 1,
                }
            }
            Storage::Cells(_) => self.memory.size_at(object, offset),
        };
        let size = size.min(most).min(16) as u8;
        Ok((self.read(object, offset, size)?, size))
    }

    /// Sets a global to its value.
    pub(crate) fn initialize(&mut self, object: u32, initial: &Initial) {
        let granule = self.memory.object(object).granule as u8;
        let element = self.memory.allocate("", initial.element_bytes, granule);
        for (at, bytes) in &initial.zeros {
            self.memory.refine(element, *at, u64::from(*bytes));
            self.memory.put(element, *at, *bytes, &Data::Public(0));
        }
        if initial.element_bytes > 0 {
            self.memory.repeat(object, element);
        }
        self.memory.release(element);
        for (at, bytes, constant) in &initial.scalars {
            let data = self.constant(constant);
            self.memory.refine(object, *at, u64::from(*bytes));
            self.memory.put(object, *at, *bytes, &data);
        }
    }

    /// The bytes from `offset` on out of values that overlap them; those that are not set are 0, as
    /// long as one is set.
    pub(crate) fn join(
        &mut self,
        parts: Vec<(Data, i64, u8)>,
        offset: u64,
        bytes: u8,
    ) -> Result<Data, Stop> {
        let all = u16::from(bytes) * 8;
        let mut joined: Option<Data> = None;
        for (data, begin, size) in parts {
            if matches!(data, Data::Undefined) {
                continue;
            }
            let width = u16::from(size) * 8;
            let shift = (offset as i64 - begin) * 8;
            if (shift, width) != (0, all)
                && (is_address(&data) || matches!(data, Data::Function(_)))
            {
                let remedy = "copy a pointer whole, with `=` or memcpy, and keep numbers elsewhere";
                return self.error("this takes an address apart", remedy);
            }
            let data = if shift > 0 {
                let amount = Data::Public(shift as u128);
                self.binary(Binary::LShr, width, &data, &amount)?
            } else {
                data
            };
            let resized = if width > all { Unary::Truncate } else { Unary::ZeroExtend };
            let data = self.unary(resized, width, all, &data)?;
            let data = match shift {
                0.. => data,
                _ => {
                    let amount = Data::Public((-shift) as u128);
                    self.binary(Binary::Shl, all, &data, &amount)?
                }
            };
            joined = Some(match joined {
                None => data,
                Some(low) => self.binary(Binary::Or, all, &low, &data)?,
            });
        }
        Ok(joined.unwrap_or(Data::Undefined))
    }

    pub(crate) fn store(&mut self, type_: &Type, data: Data, place: Data) -> Result<(), Stop> {
        match type_ {
            Type::Many(elements, _) => {
                for (index, (element, offset)) in elements.iter().enumerate() {
                    let part = match &data {
                        Data::Many(parts) => parts[index].clone(),
                        other => other.clone(),
                    };
                    self.store(element, part, moved(place.clone(), *offset as i64))?;
                }
                Ok(())
            }
            Type::Integer(_) if matches!(data, Data::Parts(_)) => {
                let Data::Parts(parts) = data else { unreachable!("it was just seen") };
                let mut offset = 0;
                for (part, size) in parts.iter() {
                    let to = moved(place.clone(), offset);
                    self.store_bytes(part.clone(), to, u64::from(*size))?;
                    offset += i64::from(*size);
                }
                Ok(())
            }
            Type::Integer(width) => {
                let bytes = type_.size_bytes();
                let data = self.unary(Unary::ZeroExtend, *width, (bytes * 8) as u16, &data)?;
                self.store_bytes(data, place, bytes)
            }
            Type::Pointer => self.store_bytes(data, place, 8),
            Type::Void | Type::Unsupported(_) => Ok(()),
        }
    }

    pub(crate) fn store_bytes(&mut self, data: Data, place: Data, bytes: u64) -> Result<(), Stop> {
        match place {
            Data::Poison => {}
            Data::Pointer(object, offset) => {
                if let Err(error) = self.memory.check(object, offset, bytes) {
                    self.outside(object, offset, error)?;
                    return Ok(());
                }
                if self.memory.object(object).is_constant {
                    self.error("this writes to a constant", "write to a copy")?;
                    return Ok(());
                }
                self.rehearse_write(object, offset, bytes)?;
                self.write(object, offset as u64, bytes as u8, &data)?;
            }
            Data::Indexed(indexed) => self.write_indexed(&indexed, bytes, &data)?,
            Data::Chosen(choices) => self.write_chosen(&choices, bytes, &data)?,
            Data::Places(object, places) => self.scatter(object, &places, bytes, &data)?,
            Data::Undefined => {
                self.error("this address is not set", "set it first")?;
            }
            _ => {
                self.error("this writes through a null pointer", "point it to an object")?;
            }
        }
        Ok(())
    }

    /// Writes at a place that was checked.
    pub(crate) fn write(
        &mut self,
        object: u32,
        offset: u64,
        bytes: u8,
        data: &Data,
    ) -> Result<(), Stop> {
        if self.rehearsal.as_ref().is_some_and(|rehearsal| rehearsal.keeps(object, data)) {
            return Err(Stop::Abandon);
        }
        if matches!(self.memory.object(object).storage, Storage::Table(_)) {
            self.table_to_cells(object)?;
        }
        self.memory.refine(object, offset, u64::from(bytes));
        for (begin, old, size) in self.memory.straddlers(object, offset, u64::from(bytes)) {
            let granule = self.memory.object(object).granule;
            for at in (begin..begin + u64::from(size)).step_by(granule as usize) {
                let part = self.join(vec![(old.clone(), begin as i64, size)], at, granule as u8)?;
                self.memory.put(object, at, granule as u8, &part);
            }
        }
        self.memory.put(object, offset, bytes, data);
        self.check_room()
    }

    /// Refuses a program whose objects hold more than there is room for.
    #[inline]
    pub(crate) fn check_room(&mut self) -> Result<(), Stop> {
        match self.memory.full() {
            None => Ok(()),
            Some(why) => self.no_room(why),
        }
    }

    #[cold]
    fn no_room(&mut self, why: Full) -> Result<(), Stop> {
        let what = match why {
            Full::Limit => format!(
                "the variables, arrays and heap memory of this program hold more than {CELLS_MAX} \
                 elements"
            ),
            Full::Computer => {
                "this computer has no memory left for the variables, arrays and heap \
                               memory of this program"
                    .to_owned()
            }
        };
        self.error(what, "use smaller sizes, or write to less of them; free what is done with")?;
        Err(Stop::Fatal)
    }
}

/// An address further on.
pub(crate) fn moved(place: Data, offset: i64) -> Data {
    match place {
        _ if offset == 0 => place,
        Data::Pointer(object, at) => Data::Pointer(object, at.wrapping_add(offset)),
        Data::Places(object, at) => {
            Data::Places(object, at.iter().map(|at| at.wrapping_add(offset)).collect())
        }
        Data::Indexed(indexed) => {
            let mut indexed = (*indexed).clone();
            indexed.offset += offset;
            Data::Indexed(Rc::new(indexed))
        }
        Data::Chosen(choices) => {
            let to = |(bit, place): &(Data, Data)| (bit.clone(), moved(place.clone(), offset));
            Data::Chosen(choices.iter().map(to).collect())
        }
        other => other,
    }
}
