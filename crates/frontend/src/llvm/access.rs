//! Loads and stores: at public places, and at places that a secret chooses.
//!
//! A read at a secret index is a tree of choices between all elements that the index can mean, by
//! the bits of the index: `n - 1` choices. A write compares the index with each of them and
//! chooses between the old and the new value: `n` comparisons and choices. Both are noted.

use std::rc::Rc;

use phineus_bytecode::ElementType;

use super::data::{Data, Indexed, Term};
use super::ir::{Binary, Compare, Index, Type, Unary};
use super::machine::{Frame, Machine, Stop};
use super::memory::{AccessError, Found, Storage};
use crate::value::Value;

/// Elements that one secret index may choose between.
const SCAN_MAX: u64 = 1 << 20;

impl<'m> Machine<'m> {
    /// The address with an offset and indices added.
    pub(super) fn address(
        &mut self,
        frame: &Frame<'m>,
        base: Data,
        offset: i64,
        indices: &[Index],
    ) -> Result<Data, Stop> {
        let mut place = moved(base, offset);
        for index in indices {
            let given = frame.get(index.operand);
            place = match (place, given) {
                (Data::Poison, _) | (_, Data::Poison) => return Ok(Data::Poison),
                (_, Data::Undefined) => {
                    return self.error("this index is not set", "set it first");
                }
                (place, Data::Public(value)) => {
                    let steps = super::data::signed(value, index.width) as i64;
                    moved(place, steps.wrapping_mul(index.stride))
                }
                (Data::Pointer(object, at), Data::Spread(values)) => {
                    let to = |v: &u128| {
                        at + (super::data::signed(*v, index.width) as i64) * index.stride
                    };
                    Data::Places(object, values.iter().map(to).collect())
                }
                (Data::Places(object, at), Data::Spread(values)) => {
                    let to = |(at, v): (&i64, &u128)| {
                        at + (super::data::signed(*v, index.width) as i64) * index.stride
                    };
                    Data::Places(object, at.iter().zip(values.iter()).map(to).collect())
                }
                (place, secret) if secret.is_secret() => {
                    let term = Term {
                        index: secret,
                        width: index.width,
                        stride: index.stride,
                        bound: index.bound,
                    };
                    self.indexed(place, term)?
                }
                _ => return self.error("this index is no integer", "use an integer"),
            };
        }
        Ok(place)
    }

    fn indexed(&mut self, place: Data, term: Term) -> Result<Data, Stop> {
        let indexed = match place {
            Data::Pointer(object, offset) => Indexed { object, offset, terms: vec![term] },
            Data::Indexed(indexed) => {
                let mut indexed = (*indexed).clone();
                indexed.terms.push(term);
                indexed
            }
            Data::Places(..) => return Err(Stop::Abandon),
            _ => return self.error("this indexes something that is no array", "use an array"),
        };
        Ok(Data::Indexed(Rc::new(indexed)))
    }

    /// One of two addresses by a secret.
    pub(super) fn select_address(
        &mut self,
        condition: &Data,
        a: &Data,
        b: &Data,
    ) -> Result<Data, Stop> {
        if let (Data::Pointer(object, x), Data::Pointer(other, y)) = (a, b)
            && object == other
        {
            let term =
                Term { index: condition.clone(), width: 1, stride: x - y, bound: Some(2) };
            return self.indexed(b.clone(), term);
        }
        self.error(
            "which address this is depends on a secret",
            "choose between the values there, not between their addresses",
        )
    }

    pub(super) fn load(&mut self, type_: &Type, place: Data) -> Result<Data, Stop> {
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

    fn load_bytes(&mut self, place: Data, bytes: u64) -> Result<Data, Stop> {
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
            Data::Places(object, places) => self.gather(object, &places, bytes),
            Data::Undefined => self.error("this address is not set", "set it first"),
            _ => self.error("this reads through a null pointer", "point it to an object"),
        }
    }

    pub(super) fn outside(
        &mut self,
        object: u32,
        offset: i64,
        error: AccessError,
    ) -> Result<Data, Stop> {
        let name = match self.memory.object(object).name.as_str() {
            "" => "an object".to_owned(),
            name => format!("'{name}'"),
        };
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
    pub(super) fn read(&mut self, object: u32, offset: u64, bytes: u8) -> Result<Data, Stop> {
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
    pub(super) fn next_value(
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
    pub(super) fn initialize(&mut self, object: u32, offset: u64, type_: &Type, data: &Data) {
        match (type_, data) {
            (Type::Many(elements, _), Data::Many(parts)) => {
                for ((element, at), part) in elements.iter().zip(parts.iter()) {
                    self.initialize(object, offset + at, element, part);
                }
            }
            _ => {
                let bytes = type_.size_bytes();
                self.memory.refine(object, offset, bytes);
                if bytes > 0 {
                    self.memory.put(object, offset, bytes as u8, data);
                }
            }
        }
    }

    /// Brings in the chunk of an input table in which a row lies.
    pub(super) fn read_chunk(&mut self, object: u32, leaf: u32, row: u64) {
        let Storage::Table(table) = &self.memory.object(object).storage else {
            unreachable!("only tables have unread cells");
        };
        let column = &table.leaves[leaf as usize];
        let most = u64::from(table.lanes[leaf as usize]);
        let (chunk, first) = (row / most, row / most * most);
        let lanes = (table.rows - first).min(most) as u32;
        let (element, bits) = (column.element, column.bytes as u16 * 8);
        let immediates = [table.port, table.first_column + u64::from(leaf), first, 0];
        let value = match self.tracer.add_cells(element, lanes, immediates) {
            Some(cells) => Value::input(&self.tracer, cells),
            None => Value::poisoned(&self.tracer, element, lanes),
        };
        let wide = ElementType::integer(bits, element.is_signed());
        let value = Rc::new(value.cast(wide).with_sign(false));
        if let Storage::Table(table) = &mut self.memory.object_mut(object).storage {
            table.chunks[leaf as usize][chunk as usize] = Some(value);
        }
    }

    /// The bytes from `offset` on out of values that overlap them.
    fn join(&mut self, parts: Vec<(Data, i64, u8)>, offset: u64, bytes: u8) -> Result<Data, Stop> {
        let all = u16::from(bytes) * 8;
        let mut joined: Option<Data> = None;
        for (data, begin, size) in parts {
            if matches!(data, Data::Undefined) {
                return Ok(Data::Undefined);
            }
            let width = u16::from(size) * 8;
            let shift = (offset as i64 - begin) * 8;
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

    pub(super) fn store(&mut self, type_: &Type, data: Data, place: Data) -> Result<(), Stop> {
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
            Type::Integer(width) => {
                let bytes = type_.size_bytes();
                let data = self.unary(Unary::ZeroExtend, *width, (bytes * 8) as u16, &data)?;
                self.store_bytes(data, place, bytes)
            }
            Type::Pointer => self.store_bytes(data, place, 8),
            Type::Void | Type::Unsupported(_) => Ok(()),
        }
    }

    fn store_bytes(&mut self, data: Data, place: Data, bytes: u64) -> Result<(), Stop> {
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
    pub(super) fn write(
        &mut self,
        object: u32,
        offset: u64,
        bytes: u8,
        data: &Data,
    ) -> Result<(), Stop> {
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
        Ok(())
    }

    /// Reads a whole input, which is going to be written over.
    fn table_to_cells(&mut self, object: u32) -> Result<(), Stop> {
        if self.rehearsal.is_some() {
            return Err(Stop::Abandon);
        }
        let Storage::Table(table) = &self.memory.object(object).storage else { return Ok(()) };
        let (rows, row_bytes) = (table.rows, table.row_bytes);
        let leaves: Vec<(u64, u8)> =
            table.leaves.iter().map(|leaf| (leaf.offset, leaf.bytes as u8)).collect();
        let granule = self.memory.object(object).granule as u8;
        let size = self.memory.object(object).size;
        let copy = self.memory.allocate("", size, granule);
        for row in 0..rows {
            for (offset, bytes) in &leaves {
                let at = row * row_bytes + offset;
                let data = self.read(object, at, *bytes)?;
                self.memory.refine(copy, at, u64::from(*bytes));
                self.memory.put(copy, at, *bytes, &data);
            }
        }
        let granule = self.memory.object(copy).granule;
        let cells = std::mem::replace(
            &mut self.memory.object_mut(copy).storage,
            Storage::Cells(Vec::new()),
        );
        let written = self.memory.object_mut(object);
        (written.storage, written.granule) = (cells, granule);
        self.memory.release(copy);
        Ok(())
    }

    /// How many elements each secret index can mean, and all offsets, the last index fastest.
    fn candidates(&mut self, indexed: &Indexed, bytes: u64) -> Result<Vec<(u64, Term)>, Stop> {
        let object = self.memory.object(indexed.object);
        let (size, name) = (object.size as i64, object.name.clone());
        let mut counts = Vec::new();
        for term in &indexed.terms {
            let room = match term.stride.signum() {
                1 => (size - indexed.offset - bytes as i64).max(-1) / term.stride.abs() + 1,
                -1 => indexed.offset / term.stride.abs() + 1,
                _ => 1,
            };
            let reach = if term.width >= 63 { u64::MAX } else { 1 << term.width };
            let own = term.bound.unwrap_or(u64::MAX).min(reach);
            counts.push((own.min(room.max(0) as u64), term.clone()));
        }
        let product = counts.iter().try_fold(1u64, |all, (count, _)| all.checked_mul(*count));
        match product {
            Some(1..=SCAN_MAX) => Ok(counts),
            Some(0) => {
                self.error("no value of this index is within the array", "check the bounds")?;
                Err(Stop::Fatal)
            }
            _ => {
                let what = format!("a secret index into '{name}' can mean too many elements");
                self.error(what, "index a smaller array")?;
                Err(Stop::Fatal)
            }
        }
    }

    fn read_indexed(&mut self, indexed: &Indexed, bytes: u64) -> Result<Data, Stop> {
        let counts = self.candidates(indexed, bytes)?;
        let all: u64 = counts.iter().map(|(count, _)| count).product();
        if all > 1 {
            let what = format!("a read at a secret index looks at {all} elements");
            self.note(what, &format!("{} choices of {} bits", all - 1, bytes * 8));
        }
        let mut found = Vec::with_capacity(all as usize);
        for offset in offsets(indexed.offset, &counts) {
            found.push(match self.memory.check(indexed.object, offset, bytes) {
                Ok(()) => {
                    self.rehearse_read(indexed.object, offset, bytes)?;
                    self.read(indexed.object, offset as u64, bytes as u8)?
                }
                // Only an index out of bounds chooses it.
                Err(_) => Data::Undefined,
            });
        }
        for (count, term) in counts.iter().rev() {
            let rows: Vec<Data> = found;
            found = Vec::with_capacity(rows.len() / *count as usize);
            for row in rows.chunks(*count as usize) {
                found.push(self.pick(row.to_vec(), &term.index, term.width, bytes as u16 * 8)?);
            }
        }
        Ok(found.pop().expect("there is a candidate"))
    }

    /// The element that a secret index says, by a tree of choices.
    fn pick(
        &mut self,
        mut row: Vec<Data>,
        index: &Data,
        width: u16,
        own: u16,
    ) -> Result<Data, Stop> {
        let mut bit = 0;
        while row.len() > 1 {
            let moved = self.binary(Binary::LShr, width, index, &Data::Public(bit))?;
            let odd = self.unary(Unary::Truncate, width, 1, &moved)?;
            let mut half = Vec::with_capacity(row.len().div_ceil(2));
            for pair in row.chunks(2) {
                half.push(match pair {
                    [even, high] => self.select(&odd, high, even, own)?,
                    _ => pair[0].clone(),
                });
            }
            row = half;
            bit += 1;
        }
        Ok(row.pop().expect("there is one left"))
    }

    fn write_indexed(&mut self, indexed: &Indexed, bytes: u64, data: &Data) -> Result<(), Stop> {
        let counts = self.candidates(indexed, bytes)?;
        let all: u64 = counts.iter().map(|(count, _)| count).product();
        if all > 1 {
            let what = format!("a write at a secret index touches {all} elements");
            self.note(what, &format!("{all} comparisons and choices of {} bits", bytes * 8));
        }
        if self.memory.object(indexed.object).is_constant {
            self.error("this writes to a constant", "write to a copy")?;
            return Ok(());
        }
        let mut digits = vec![0u64; counts.len()];
        for offset in offsets(indexed.offset, &counts) {
            if self.memory.check(indexed.object, offset, bytes).is_ok() {
                let mut hit = Data::bit(true);
                for (digit, (count, term)) in digits.iter().zip(&counts) {
                    // Within bounds the low bits tell the elements apart.
                    let bits = (64 - (count - 1).leading_zeros()).clamp(1, 64) as u16;
                    let bits = bits.min(term.width);
                    let low = self.unary(Unary::Truncate, term.width, bits, &term.index)?;
                    let digit = Data::Public(u128::from(*digit));
                    let is_it = self.compare(Compare::Eq, bits, &low, &digit)?;
                    hit = self.binary(Binary::And, 1, &hit, &is_it)?;
                }
                self.rehearse_write(indexed.object, offset, bytes)?;
                let old = self.read(indexed.object, offset as u64, bytes as u8)?;
                let new = self.select(&hit, data, &old, bytes as u16 * 8)?;
                self.write(indexed.object, offset as u64, bytes as u8, &new)?;
            }
            for (digit, (count, _)) in digits.iter_mut().zip(&counts).rev() {
                *digit += 1;
                if *digit < *count {
                    break;
                }
                *digit = 0;
            }
        }
        Ok(())
    }
}

/// All offsets that the terms give, the last term fastest.
fn offsets(base: i64, counts: &[(u64, Term)]) -> Vec<i64> {
    let mut all = vec![base];
    for (count, term) in counts {
        let step = |at: &i64| {
            let (at, stride) = (*at, term.stride);
            (0..*count as i64).map(move |k| at + k * stride)
        };
        all = all.iter().flat_map(step).collect();
    }
    all
}

/// An address further on.
pub(super) fn moved(place: Data, offset: i64) -> Data {
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
        other => other,
    }
}
