//! Loads and stores of a type, by the kind of their address.

use crate::access::MemoryModel;
use crate::data::{CellValue, moved};
use crate::evaluate::report::ExecutionStop;
use crate::ir::{Type, Unary};

impl MemoryModel {
    pub(crate) fn load(
        &mut self,
        type_: &Type,
        place: CellValue,
    ) -> Result<CellValue, ExecutionStop> {
        match type_ {
            Type::Many(elements, _) => {
                let mut loaded = Vec::with_capacity(elements.len());
                for (element, offset) in elements {
                    loaded.push(self.load(element, moved(place.clone(), *offset as i64))?);
                }
                Ok(CellValue::Many(loaded.into()))
            }
            Type::Integer(width) => {
                let bytes = type_.size_bytes();
                let data = self.load_bytes(place, bytes)?;
                self.values.unary(Unary::Truncate, (bytes * 8) as u16, *width, &data)
            }
            Type::Pointer => self.load_bytes(place, 8),
            Type::Void | Type::Unsupported(_) => Ok(CellValue::Poison),
        }
    }

    /// Loads what is only stored again: values as they lie there, which are not joined.
    pub(crate) fn load_to_move(
        &mut self,
        type_: &Type,
        place: CellValue,
    ) -> Result<CellValue, ExecutionStop> {
        let (bytes, CellValue::Pointer(object, start)) = (type_.size_bytes(), &place) else {
            return self.load(type_, place);
        };
        if *type_ != Type::Integer(bytes as u16 * 8) {
            return self.load(type_, place);
        }
        if let Err(error) = self.memory.check(*object, *start, bytes) {
            return self.outside(*object, *start, error);
        }
        self.note_read(*object, *start, bytes)?;
        let (mut parts, mut offset) = (Vec::new(), 0);
        while offset < bytes {
            let at = *start as u64 + offset;
            let (data, size) = self.next_value(*object, at, bytes - offset)?;
            parts.push((data, size));
            offset += u64::from(size);
        }
        match parts.pop() {
            Some((data, _)) if parts.is_empty() => Ok(data),
            last => Ok(CellValue::Parts(parts.into_iter().chain(last).collect())),
        }
    }

    pub(crate) fn load_bytes(
        &mut self,
        place: CellValue,
        bytes: u64,
    ) -> Result<CellValue, ExecutionStop> {
        match place {
            CellValue::Poison => Ok(CellValue::Poison),
            CellValue::Pointer(object, offset) => {
                if let Err(error) = self.memory.check(object, offset, bytes) {
                    return self.outside(object, offset, error);
                }
                self.note_read(object, offset, bytes)?;
                let data = self.read(object, offset as u64, bytes as u8)?;
                if let (Some(dry_run), CellValue::Hidden) = (&mut self.values.scope.dry_run, &data)
                {
                    return Ok(dry_run.hidden(bytes as u16 * 8));
                }
                Ok(data)
            }
            CellValue::Indexed(indexed) => self.read_indexed(&indexed, bytes),
            CellValue::Chosen(choices) => self.read_chosen(&choices, bytes),
            CellValue::Places(object, places) => self.gather(object, &places, bytes),
            CellValue::Undefined => self.values.error("this address is not set", "set it first"),
            _ => self.values.error("this reads through a null pointer", "point it to an object"),
        }
    }

    pub(crate) fn store(
        &mut self,
        type_: &Type,
        data: CellValue,
        place: CellValue,
    ) -> Result<(), ExecutionStop> {
        match type_ {
            Type::Many(elements, _) => {
                for (index, (element, offset)) in elements.iter().enumerate() {
                    let part = match &data {
                        CellValue::Many(parts) => parts[index].clone(),
                        other => other.clone(),
                    };
                    self.store(element, part, moved(place.clone(), *offset as i64))?;
                }
                Ok(())
            }
            Type::Integer(_) if matches!(data, CellValue::Parts(_)) => {
                let CellValue::Parts(parts) = data else { unreachable!("it was just seen") };
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
                let data =
                    self.values.unary(Unary::ZeroExtend, *width, (bytes * 8) as u16, &data)?;
                self.store_bytes(data, place, bytes)
            }
            Type::Pointer => self.store_bytes(data, place, 8),
            Type::Void | Type::Unsupported(_) => Ok(()),
        }
    }

    pub(crate) fn store_bytes(
        &mut self,
        data: CellValue,
        place: CellValue,
        bytes: u64,
    ) -> Result<(), ExecutionStop> {
        match place {
            CellValue::Poison => {}
            CellValue::Pointer(object, offset) => {
                if let Err(error) = self.memory.check(object, offset, bytes) {
                    self.outside(object, offset, error)?;
                    return Ok(());
                }
                if self.memory.object(object).is_constant {
                    self.values.error("this writes to a constant", "write to a copy")?;
                    return Ok(());
                }
                self.note_write(object, offset, bytes)?;
                self.write(object, offset as u64, bytes as u8, &data)?;
            }
            CellValue::Indexed(indexed) => self.write_indexed(&indexed, bytes, &data)?,
            CellValue::Chosen(choices) => self.write_chosen(&choices, bytes, &data)?,
            CellValue::Places(object, places) => self.scatter(object, &places, bytes, &data)?,
            CellValue::Undefined => {
                self.values.error("this address is not set", "set it first")?;
            }
            _ => {
                self.values.error("this writes through a null pointer", "point it to an object")?;
            }
        }
        Ok(())
    }
}
