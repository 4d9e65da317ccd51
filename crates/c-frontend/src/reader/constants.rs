//! Constants, and addresses whose offsets are constant.

use phineus_bytecode::float::bits_of;

use crate::ir::{Constant, Index, IrOperand, Type};
use crate::reader::ModuleReader;
use crate::reader::llvm::{LLVMOpcode, LLVMTypeKind, TypeRef, ValueRef};
use crate::reader::types::OTHER_FLOAT;

impl<'m> ModuleReader<'m> {
    /// A constant that is known before the program runs.
    pub(crate) fn constant(&self, value: ValueRef<'m>) -> Constant {
        if value.is_undefined() {
            return Constant::Undefined;
        }
        if let Some(&index) = self.functions.get(&value) {
            return Constant::Function(index);
        }
        if let Some(&index) = self.globals.get(&value) {
            return Constant::Global(index, 0);
        }
        if value.is_integer() {
            return Constant::Integer(integer(value));
        }
        if let (Type::Integer(width), Some(number)) = (self.typ(value.typ()), value.float()) {
            return Constant::Integer(bits_of(number, width).into());
        }
        match self.typ(value.typ()) {
            Type::Pointer if value.is_null() => Constant::Null,
            Type::Unsupported(what) if what == OTHER_FLOAT => Constant::UnsupportedFloat,
            Type::Many(elements, _) => {
                let element = |(index, (type_, _)): (usize, &(Type, u64))| match value
                    .aggregate_element(index as u32)
                {
                    Some(element) => self.constant(element),
                    None => zero(type_),
                };
                Constant::Many(elements.iter().enumerate().map(element).collect())
            }
            _ => self.expression(value),
        }
    }

    fn expression(&self, value: ValueRef<'m>) -> Constant {
        if value.expression() == Some(LLVMOpcode::LLVMGetElementPtr) {
            let operands = value.operands();
            if let Constant::Global(global, base) = self.constant(operands[0])
                && let Some(offset) = self.constant_offset(value, &operands[1..])
            {
                return Constant::Global(global, base + offset);
            }
        }
        Constant::Unsupported
    }

    fn constant_offset(&self, address: ValueRef<'m>, indices: &[ValueRef<'m>]) -> Option<i64> {
        let (offset, rest) = self.address(address.source_element(), indices, &mut |_| None)?;
        rest.is_empty().then_some(offset)
    }

    /// Constant offset and open indices of an address computation.
    pub(crate) fn address(
        &self,
        source: TypeRef<'m>,
        indices: &[ValueRef<'m>],
        open: &mut dyn FnMut(ValueRef<'m>) -> Option<IrOperand>,
    ) -> Option<(i64, Vec<Index>)> {
        let (mut offset, mut found) = (0i64, Vec::new());
        let mut typ = source;
        for (level, &index) in indices.iter().enumerate() {
            let mut bound = None;
            if level > 0 {
                if typ.kind() == LLVMTypeKind::LLVMStructTypeKind {
                    let field = index.low() as u32;
                    offset += self.layout.offset(typ, field) as i64;
                    typ = typ.fields()[field as usize];
                    continue;
                }
                bound = (typ.kind() == LLVMTypeKind::LLVMArrayTypeKind)
                    .then(|| typ.array_length())
                    .filter(|&length| length > 0);
                typ = typ.element();
            }
            let stride = self.layout.size(typ) as i64;
            if index.is_integer() {
                let width = index.typ().width();
                let signed =
                    (integer(index) as i64) << (64 - width.min(64)) >> (64 - width.min(64));
                offset += signed * stride;
            } else {
                let width = match index.typ().kind() {
                    LLVMTypeKind::LLVMIntegerTypeKind => index.typ().width() as u16,
                    _ => return None,
                };
                let operand = open(index)?;
                found.push(Index { operand, width, stride, bound, multiple: None });
            }
        }
        Some((offset, found))
    }
}

/// A constant integer's bits.
pub(super) fn integer(value: ValueRef<'_>) -> u128 {
    let width = value.typ().width();
    if width <= 64 {
        return u128::from(value.low());
    }
    let printed = value.printed();
    let number = printed.rsplit(' ').next().unwrap_or_default();
    let bits = match number.parse::<i128>() {
        Ok(number) => number as u128,
        Err(_) => number.parse().unwrap_or_default(),
    };
    if width < 128 { bits & ((1 << width) - 1) } else { bits }
}

fn zero(type_: &Type) -> Constant {
    match type_ {
        Type::Pointer => Constant::Null,
        Type::Many(elements, _) => {
            Constant::Many(elements.iter().map(|(element, _)| zero(element)).collect())
        }
        _ => Constant::Integer(0),
    }
}
