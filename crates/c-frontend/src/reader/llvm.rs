//! LLVM's C interface as far as the reader needs it, safe to call on a module that is alive.
//!
//! inkwell's own types are for building: most of what a reader asks (source element types of
//! addresses, masks, indices, places) it has not, or only through matches on every type.

use std::ffi::{CStr, c_char};
use std::marker::PhantomData;
use std::path::PathBuf;

use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMTypeRef, LLVMValueRef};
use inkwell::llvm_sys::target::{
    LLVMABISizeOfType, LLVMGetModuleDataLayout, LLVMOffsetOfElement, LLVMTargetDataRef,
};
pub(crate) use inkwell::llvm_sys::{LLVMIntPredicate, LLVMOpcode, LLVMRealPredicate, LLVMTypeKind};
use inkwell::module::Module;

macro_rules! llvm {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: all references were given by LLVM for a module that `'m` borrows and that is not
        // changed meanwhile; each is used only as the kind of thing that it was asked to be.
        unsafe { $function($($argument),*) }
    };
}

/// A value of the module: an instruction, constant, argument, function or block.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ValueRef<'m>(LLVMValueRef, PhantomData<&'m ()>);

/// A type.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TypeRef<'m>(LLVMTypeRef, PhantomData<&'m ()>);

/// A basic block.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct BlockRef<'m>(LLVMBasicBlockRef, PhantomData<&'m ()>);

/// Sizes and offsets on the target.
#[derive(Clone, Copy)]
pub(crate) struct TargetLayout<'m>(LLVMTargetDataRef, PhantomData<&'m ()>);

fn some<'m>(value: LLVMValueRef) -> Option<ValueRef<'m>> {
    (!value.is_null()).then_some(ValueRef(value, PhantomData))
}

fn text(start: *const c_char, length: usize) -> String {
    if start.is_null() || length == 0 {
        return String::new();
    }
    // SAFETY: LLVM gives `length` bytes at `start`, which live as long as the module.
    let bytes = unsafe { std::slice::from_raw_parts(start.cast::<u8>(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn layout<'m>(module: &'m Module<'_>) -> TargetLayout<'m> {
    TargetLayout(llvm!(LLVMGetModuleDataLayout(module.as_mut_ptr())), PhantomData)
}

pub(crate) fn functions<'m>(module: &'m Module<'_>) -> Vec<ValueRef<'m>> {
    let first = some(llvm!(LLVMGetFirstFunction(module.as_mut_ptr())));
    std::iter::successors(first, |v| some(llvm!(LLVMGetNextFunction(v.0)))).collect()
}

pub(crate) fn globals<'m>(module: &'m Module<'_>) -> Vec<ValueRef<'m>> {
    let first = some(llvm!(LLVMGetFirstGlobal(module.as_mut_ptr())));
    std::iter::successors(first, |v| some(llvm!(LLVMGetNextGlobal(v.0)))).collect()
}

impl<'m> TargetLayout<'m> {
    pub(crate) fn size(self, typ: TypeRef<'m>) -> u64 {
        llvm!(LLVMABISizeOfType(self.0, typ.0))
    }

    pub(crate) fn offset(self, typ: TypeRef<'m>, field: u32) -> u64 {
        llvm!(LLVMOffsetOfElement(self.0, typ.0, field))
    }
}

impl<'m> TypeRef<'m> {
    pub(crate) fn kind(self) -> LLVMTypeKind {
        llvm!(LLVMGetTypeKind(self.0))
    }

    pub(crate) fn width(self) -> u32 {
        llvm!(LLVMGetIntTypeWidth(self.0))
    }

    pub(crate) fn element(self) -> TypeRef<'m> {
        TypeRef(llvm!(LLVMGetElementType(self.0)), PhantomData)
    }

    pub(crate) fn array_length(self) -> u64 {
        llvm!(LLVMGetArrayLength2(self.0))
    }

    pub(crate) fn vector_length(self) -> u64 {
        u64::from(llvm!(LLVMGetVectorSize(self.0)))
    }

    pub(crate) fn fields(self) -> Vec<TypeRef<'m>> {
        let count = llvm!(LLVMCountStructElementTypes(self.0));
        let field = |index| TypeRef(llvm!(LLVMStructGetTypeAtIndex(self.0, index)), PhantomData);
        (0..count).map(field).collect()
    }

    pub(crate) fn result(self) -> TypeRef<'m> {
        TypeRef(llvm!(LLVMGetReturnType(self.0)), PhantomData)
    }
}

impl<'m> BlockRef<'m> {
    pub(crate) fn instructions(self) -> Vec<ValueRef<'m>> {
        let first = some(llvm!(LLVMGetFirstInstruction(self.0)));
        std::iter::successors(first, |v| some(llvm!(LLVMGetNextInstruction(v.0)))).collect()
    }
}

impl<'m> ValueRef<'m> {
    pub(crate) fn name(self) -> String {
        let mut length = 0;
        let start = llvm!(LLVMGetValueName2(self.0, &mut length));
        text(start, length)
    }

    pub(crate) fn typ(self) -> TypeRef<'m> {
        TypeRef(llvm!(LLVMTypeOf(self.0)), PhantomData)
    }

    pub(crate) fn printed(self) -> String {
        let message = llvm!(LLVMPrintValueToString(self.0));
        // SAFETY: LLVM gives a string that ends with 0, and that we give back below.
        let printed = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
        llvm!(LLVMDisposeMessage(message));
        printed
    }

    pub(crate) fn blocks(self) -> Vec<BlockRef<'m>> {
        let count = llvm!(LLVMCountBasicBlocks(self.0)) as usize;
        let mut blocks = vec![std::ptr::null_mut(); count];
        llvm!(LLVMGetBasicBlocks(self.0, blocks.as_mut_ptr()));
        blocks.into_iter().map(|block| BlockRef(block, PhantomData)).collect()
    }

    pub(crate) fn parameters(self) -> Vec<ValueRef<'m>> {
        let count = llvm!(LLVMCountParams(self.0));
        (0..count).map(|index| ValueRef(llvm!(LLVMGetParam(self.0, index)), PhantomData)).collect()
    }

    /// The type of what a parameter of a function points to, if that is passed by value.
    pub(crate) fn by_value(self, parameter: u32) -> Option<TypeRef<'m>> {
        const NAME: &[u8] = b"byval";
        let kind = llvm!(LLVMGetEnumAttributeKindForName(NAME.as_ptr().cast(), NAME.len()));
        // Parameters are counted from 1, 0 being the result.
        let found = llvm!(LLVMGetEnumAttributeAtIndex(self.0, parameter + 1, kind));
        (!found.is_null()).then(|| TypeRef(llvm!(LLVMGetTypeAttributeValue(found)), PhantomData))
    }

    pub(crate) fn function_type(self) -> TypeRef<'m> {
        TypeRef(llvm!(LLVMGlobalGetValueType(self.0)), PhantomData)
    }

    pub(crate) fn initializer(self) -> Option<ValueRef<'m>> {
        some(llvm!(LLVMGetInitializer(self.0)))
    }

    pub(crate) fn is_global_constant(self) -> bool {
        llvm!(LLVMIsGlobalConstant(self.0)) != 0
    }

    pub(crate) fn opcode(self) -> LLVMOpcode {
        llvm!(LLVMGetInstructionOpcode(self.0))
    }

    pub(crate) fn operands(self) -> Vec<ValueRef<'m>> {
        let count = llvm!(LLVMGetNumOperands(self.0)).max(0) as u32;
        (0..count).filter_map(|index| some(llvm!(LLVMGetOperand(self.0, index)))).collect()
    }

    /// The value of a floating-point constant; what a double has no room for is rounded.
    pub(crate) fn float(self) -> Option<f64> {
        let mut is_rounded = 0;
        let is_float = !llvm!(LLVMIsAConstantFP(self.0)).is_null();
        is_float.then(|| llvm!(LLVMConstRealGetDouble(self.0, &mut is_rounded)))
    }

    pub(crate) fn float_predicate(self) -> LLVMRealPredicate {
        llvm!(LLVMGetFCmpPredicate(self.0))
    }

    pub(crate) fn predicate(self) -> LLVMIntPredicate {
        llvm!(LLVMGetICmpPredicate(self.0))
    }

    pub(crate) fn incoming(self) -> Vec<(BlockRef<'m>, ValueRef<'m>)> {
        let edge = |index| {
            let block = llvm!(LLVMGetIncomingBlock(self.0, index));
            (
                BlockRef(block, PhantomData),
                ValueRef(llvm!(LLVMGetIncomingValue(self.0, index)), PhantomData),
            )
        };
        (0..llvm!(LLVMCountIncoming(self.0))).map(edge).collect()
    }

    pub(crate) fn successors(self) -> Vec<BlockRef<'m>> {
        let count = llvm!(LLVMGetNumSuccessors(self.0));
        (0..count)
            .map(|index| BlockRef(llvm!(LLVMGetSuccessor(self.0, index)), PhantomData))
            .collect()
    }

    pub(crate) fn source_element(self) -> TypeRef<'m> {
        TypeRef(llvm!(LLVMGetGEPSourceElementType(self.0)), PhantomData)
    }

    pub(crate) fn allocated(self) -> TypeRef<'m> {
        TypeRef(llvm!(LLVMGetAllocatedType(self.0)), PhantomData)
    }

    pub(crate) fn called(self) -> Option<ValueRef<'m>> {
        some(llvm!(LLVMGetCalledValue(self.0)))
    }

    /// Returns whether it calls the function of this name.
    pub(crate) fn is_call_of(self, name: &str) -> bool {
        self.opcode() == LLVMOpcode::LLVMCall && self.called().is_some_and(|f| f.name() == name)
    }

    pub(crate) fn argument_count(self) -> usize {
        llvm!(LLVMGetNumArgOperands(self.0)) as usize
    }

    pub(crate) fn indices(self) -> Vec<u32> {
        let count = llvm!(LLVMGetNumIndices(self.0)) as usize;
        let start = llvm!(LLVMGetIndices(self.0));
        if count == 0 {
            Vec::new()
        } else {
            // SAFETY: LLVM has `count` indices at `start` as long as the instruction lives.
            unsafe { std::slice::from_raw_parts(start, count) }.to_vec()
        }
    }

    pub(crate) fn mask(self) -> Vec<i32> {
        let count = llvm!(LLVMGetNumMaskElements(self.0));
        (0..count).map(|index| llvm!(LLVMGetMaskValue(self.0, index))).collect()
    }

    /// File, line and column, if it is known. Of a file that shares some of its path with the
    /// current directory, clang has the rest of the path alone, and apart from it that part.
    pub(crate) fn place(self) -> Option<(String, u32, u32)> {
        let line = llvm!(LLVMGetDebugLocLine(self.0));
        // Global variables without debug information have -1.
        if line == 0 || line == u32::MAX {
            return None;
        }
        let mut length = 0;
        let file = llvm!(LLVMGetDebugLocFilename(self.0, &mut length));
        let mut file = text(file, length as usize);
        let directory = llvm!(LLVMGetDebugLocDirectory(self.0, &mut length));
        let directory = PathBuf::from(text(directory, length as usize));
        if std::env::current_dir().is_ok_and(|current| current != directory) {
            file = directory.join(file).to_string_lossy().into_owned();
        }
        Some((file, line, llvm!(LLVMGetDebugLocColumn(self.0))))
    }

    /// Whether C says that the signed integer does not wrap, or is the same as before.
    pub(crate) fn is_exact(self) -> bool {
        match self.opcode() {
            LLVMOpcode::LLVMMul | LLVMOpcode::LLVMShl => llvm!(LLVMGetNSW(self.0)) != 0,
            LLVMOpcode::LLVMSExt => true,
            LLVMOpcode::LLVMZExt => llvm!(LLVMGetNNeg(self.0)) != 0,
            _ => false,
        }
    }

    pub(crate) fn is_constant(self) -> bool {
        llvm!(LLVMIsConstant(self.0)) != 0
    }

    pub(crate) fn is_undefined(self) -> bool {
        llvm!(LLVMIsUndef(self.0)) != 0
    }

    pub(crate) fn is_integer(self) -> bool {
        !llvm!(LLVMIsAConstantInt(self.0)).is_null()
    }

    pub(crate) fn is_null(self) -> bool {
        llvm!(LLVMIsNull(self.0)) != 0
    }

    pub(crate) fn is_assembly(self) -> bool {
        !llvm!(LLVMIsAInlineAsm(self.0)).is_null()
    }

    /// The opcode of a constant expression.
    pub(crate) fn expression(self) -> Option<LLVMOpcode> {
        let is_expression = !llvm!(LLVMIsAConstantExpr(self.0)).is_null();
        is_expression.then(|| llvm!(LLVMGetConstOpcode(self.0)))
    }

    /// An element of a constant array, vector or structure.
    pub(crate) fn aggregate_element(self, index: u32) -> Option<ValueRef<'m>> {
        some(llvm!(LLVMGetAggregateElement(self.0, index)))
    }

    /// The low 64 bits of a constant integer.
    pub(crate) fn low(self) -> u64 {
        llvm!(LLVMConstIntGetZExtValue(self.0))
    }
}
