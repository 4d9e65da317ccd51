//! Constants of the IR as data.

use crate::data::CellValue;
use crate::ir::Constant;

/// The data that a constant is.
pub(crate) fn data_of(constant: &Constant) -> CellValue {
    match constant {
        Constant::Undefined => CellValue::Undefined,
        Constant::Integer(value) => CellValue::Public(*value),
        Constant::Null => CellValue::Public(0),
        Constant::Global(index, offset) => CellValue::Pointer(*index, *offset),
        Constant::Function(index) => CellValue::Function(*index),
        Constant::Many(elements) => CellValue::Many(elements.iter().map(data_of).collect()),
        Constant::UnsupportedFloat | Constant::Unsupported => CellValue::Poison,
    }
}
