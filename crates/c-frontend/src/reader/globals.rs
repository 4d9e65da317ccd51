//! Initial values of global variables: only those that are not zero, one for each element.
//!
//! Cost: 48 bytes a scalar that is not zero.

use crate::ir::module::{Global, Initial};
use crate::ir::{Constant, Type};
use crate::reader::ModuleReader;
use crate::reader::llvm::{LLVMTypeKind, TypeRef, ValueRef};

/// Scalars of one element of which zeros are kept as they are; of a larger structure they are
/// granules.
const SCALARS_MAX: usize = 4096;

impl<'m> ModuleReader<'m> {
    pub(crate) fn global(&mut self, global: ValueRef<'m>) -> Global {
        let typ = global.function_type();
        let name = global.name();
        let place = self.place(global, Default::default());
        // What LLVM keeps for itself has no place in memory.
        if name.starts_with("llvm.") {
            return Global { name, size: 0, granule: 1, initial: None, is_constant: true, place };
        }
        let initial = global.initializer().filter(|value| !value.is_undefined());
        Global {
            size: self.layout.size(typ),
            granule: self.granule(typ),
            initial: initial.map(|value| self.initial(typ, value)),
            is_constant: global.is_global_constant(),
            place,
            name,
        }
    }

    fn initial(&self, typ: TypeRef<'m>, value: ValueRef<'m>) -> Initial {
        let mut element = typ;
        while element.kind() == LLVMTypeKind::LLVMArrayTypeKind {
            element = element.element();
        }
        let (mut zeros, mut scalars) = (Vec::new(), Vec::new());
        let mut element_bytes = self.layout.size(element);
        if !self.scalars(element, 0, &mut zeros) {
            let granule = self.granule(element);
            (zeros, element_bytes) = (vec![(0, granule)], u64::from(granule));
        }
        self.set(typ, value, 0, &mut scalars);
        Initial { zeros, element_bytes, scalars }
    }

    /// Where the scalars of a type lie, and their bytes; `false` if there are too many.
    fn scalars(&self, typ: TypeRef<'m>, at: u64, found: &mut Vec<(u64, u8)>) -> bool {
        match typ.kind() {
            LLVMTypeKind::LLVMArrayTypeKind | LLVMTypeKind::LLVMVectorTypeKind => {
                let (inner, count) = elements(typ);
                let size = self.layout.size(inner);
                count <= SCALARS_MAX as u64
                    && (0..count).all(|index| self.scalars(inner, at + index * size, found))
            }
            LLVMTypeKind::LLVMStructTypeKind => {
                typ.fields().into_iter().zip(0..).all(|(field, index)| {
                    self.scalars(field, at + self.layout.offset(typ, index), found)
                })
            }
            _ => {
                let bytes = scalar_bytes(&self.typ(typ));
                found.extend(bytes.map(|bytes| (at, bytes)));
                found.len() <= SCALARS_MAX
            }
        }
    }

    /// The scalars of a value that are not zero.
    fn set(
        &self,
        typ: TypeRef<'m>,
        value: ValueRef<'m>,
        at: u64,
        found: &mut Vec<(u64, u8, Constant)>,
    ) {
        if value.is_null() {
            return;
        }
        let mut part = |typ: TypeRef<'m>, index: u64, at: u64| {
            if let Some(value) = value.aggregate_element(index as u32) {
                self.set(typ, value, at, found);
            }
        };
        match typ.kind() {
            LLVMTypeKind::LLVMArrayTypeKind | LLVMTypeKind::LLVMVectorTypeKind => {
                let (inner, count) = elements(typ);
                let size = self.layout.size(inner);
                (0..count).for_each(|index| part(inner, index, at + index * size));
            }
            LLVMTypeKind::LLVMStructTypeKind => {
                for (field, index) in typ.fields().into_iter().zip(0..) {
                    part(field, u64::from(index), at + self.layout.offset(typ, index));
                }
            }
            _ => {
                if let Some(bytes) = scalar_bytes(&self.typ(typ)) {
                    found.push((at, bytes, self.constant(value)));
                }
            }
        }
    }
}

/// The type of the elements of an array or vector, and their number.
pub(super) fn elements(typ: TypeRef<'_>) -> (TypeRef<'_>, u64) {
    let count = match typ.kind() {
        LLVMTypeKind::LLVMArrayTypeKind => typ.array_length(),
        _ => typ.vector_length(),
    };
    (typ.element(), count)
}

/// Bytes of a scalar that memory can hold.
fn scalar_bytes(typ: &Type) -> Option<u8> {
    Some(typ.size_bytes() as u8).filter(|bytes| *bytes > 0)
}
