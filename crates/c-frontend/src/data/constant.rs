//! Constants of the IR as data.

use crate::data::Data;
use crate::ir::Constant;

/// The data that a constant is.
pub(crate) fn data_of(constant: &Constant) -> Data {
    match constant {
        Constant::Undefined => Data::Undefined,
        Constant::Integer(value) => Data::Public(*value),
        Constant::Null => Data::Public(0),
        Constant::Global(index, offset) => Data::Pointer(*index, *offset),
        Constant::Function(index) => Data::Function(*index),
        Constant::Many(elements) => Data::Many(elements.iter().map(data_of).collect()),
        Constant::Float | Constant::Unsupported => Data::Poison,
    }
}
