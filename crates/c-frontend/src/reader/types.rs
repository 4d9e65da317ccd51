//! LLVM's types with their layouts.

use crate::ir::Type;
use crate::reader::ModuleReader;
use crate::reader::llvm::{LLVMTypeKind, TypeRef};

/// Name of floating-point types in messages that are not those of C's `float` and `double`.
pub(super) const OTHER_FLOAT: &str = "floating point of this format";

impl<'m> ModuleReader<'m> {
    /// The type with its layout.
    pub(crate) fn typ(&self, typ: TypeRef<'m>) -> Type {
        let elements = |element: TypeRef<'m>, count: u64| {
            let (type_, size) = (self.typ(element), self.layout.size(element));
            Type::Many((0..count).map(|i| (type_.clone(), i * size)).collect(), count * size)
        };
        match typ.kind() {
            LLVMTypeKind::LLVMVoidTypeKind => Type::Void,
            LLVMTypeKind::LLVMIntegerTypeKind if typ.width() <= 128 => {
                Type::Integer(typ.width() as u16)
            }
            LLVMTypeKind::LLVMIntegerTypeKind => {
                Type::Unsupported(format!("an integer of {} bits", typ.width()))
            }
            LLVMTypeKind::LLVMPointerTypeKind => Type::Pointer,
            LLVMTypeKind::LLVMArrayTypeKind => elements(typ.element(), typ.array_length()),
            LLVMTypeKind::LLVMVectorTypeKind => elements(typ.element(), typ.vector_length()),
            LLVMTypeKind::LLVMStructTypeKind => {
                let fields = typ.fields().into_iter().zip(0..);
                let fields = fields.map(|(f, at)| (self.typ(f), self.layout.offset(typ, at)));
                Type::Many(fields.collect(), self.layout.size(typ))
            }
            LLVMTypeKind::LLVMHalfTypeKind => Type::Integer(16),
            LLVMTypeKind::LLVMFloatTypeKind => Type::Integer(32),
            LLVMTypeKind::LLVMDoubleTypeKind => Type::Integer(64),
            LLVMTypeKind::LLVMBFloatTypeKind
            | LLVMTypeKind::LLVMX86_FP80TypeKind
            | LLVMTypeKind::LLVMFP128TypeKind => Type::Unsupported(OTHER_FLOAT.to_owned()),
            _ => Type::Unsupported("a type that is no integer".to_owned()),
        }
    }

    /// The largest power of two that divides all offsets and sizes of scalars in the type.
    pub(crate) fn granule(&self, typ: TypeRef<'m>) -> u8 {
        fn gcd(a: u64, b: u64) -> u64 {
            if b == 0 { a } else { gcd(b, a % b) }
        }
        let size = self.layout.size(typ).max(1);
        let inner = match typ.kind() {
            LLVMTypeKind::LLVMArrayTypeKind | LLVMTypeKind::LLVMVectorTypeKind => {
                u64::from(self.granule(typ.element()))
            }
            LLVMTypeKind::LLVMStructTypeKind => {
                typ.fields().into_iter().zip(0..).fold(0, |all, (field, at)| {
                    let own = gcd(self.layout.offset(typ, at), u64::from(self.granule(field)));
                    gcd(all, own)
                })
            }
            _ => size,
        };
        let granule = gcd(size, inner).max(1);
        (1u64 << granule.trailing_zeros()).min(16) as u8
    }
}
