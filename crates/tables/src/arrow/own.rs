//! Cells of the owner's columns as arrays.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Decimal256Builder,
    Float32Builder, Float64Builder, StringBuilder,
};
use arrow_schema::DataType;
use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::{Column, ElementType, Encoding, Lane};

use super::write::{ColumnBuilder, DIGITS_128, i128_of, i256_of, type_of};
use crate::cell::{CellType, TableCell, WholeNumber};
use crate::decimal::power;

/// The type that holds the owner's cells.
pub(super) fn type_of_own(cell_type: CellType) -> DataType {
    match cell_type {
        CellType::Boolean => DataType::Boolean,
        CellType::Integer { width, is_signed } => {
            type_of(&integer_column(width, is_signed)).expect("there are integers of 64 bits")
        }
        CellType::Decimal { digits: digits @ ..=DIGITS_128, scale } => {
            DataType::Decimal128(digits, scale)
        }
        CellType::Decimal { digits, scale } => DataType::Decimal256(digits, scale),
        CellType::Single => DataType::Float32,
        CellType::Double => DataType::Float64,
        CellType::Text => DataType::Utf8,
        CellType::Bytes => DataType::Binary,
        CellType::Date => DataType::Date32,
    }
}

/// A column of integers of so many bits.
fn integer_column(width: u16, is_signed: bool) -> Column {
    let element = ElementType::integer(width, is_signed);
    Column { name: String::new(), element, encoding: Encoding::Number }
}

/// Cells of an owner's column on their way into an array.
pub(super) enum OwnBuilder {
    Boolean(BooleanBuilder),
    Integer(ColumnBuilder, Column),
    Decimal128(Decimal128Builder, i8),
    Decimal256(Decimal256Builder, i8),
    Single(Float32Builder),
    Double(Float64Builder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Date(Date32Builder),
}

impl OwnBuilder {
    pub(super) fn new(cell_type: CellType) -> OwnBuilder {
        let data_type = type_of_own(cell_type);
        match cell_type {
            CellType::Boolean => OwnBuilder::Boolean(BooleanBuilder::new()),
            CellType::Integer { width, is_signed } => {
                let column = integer_column(width, is_signed);
                OwnBuilder::Integer(ColumnBuilder::new(&column, &data_type), column)
            }
            CellType::Decimal { digits: ..=DIGITS_128, scale } => {
                OwnBuilder::Decimal128(Decimal128Builder::new().with_data_type(data_type), scale)
            }
            CellType::Decimal { scale, .. } => {
                OwnBuilder::Decimal256(Decimal256Builder::new().with_data_type(data_type), scale)
            }
            CellType::Single => OwnBuilder::Single(Float32Builder::new()),
            CellType::Double => OwnBuilder::Double(Float64Builder::new()),
            CellType::Text => OwnBuilder::Text(StringBuilder::new()),
            CellType::Bytes => OwnBuilder::Bytes(BinaryBuilder::new()),
            CellType::Date => OwnBuilder::Date(Date32Builder::new()),
        }
    }

    /// Whether the cell is of the column's type, and was taken.
    pub(super) fn push(&mut self, cell: &TableCell<'_>) -> bool {
        match (self, cell) {
            (OwnBuilder::Boolean(builder), TableCell::Null) => builder.append_null(),
            (OwnBuilder::Integer(builder, column), TableCell::Null) => builder.push(None, column),
            (OwnBuilder::Decimal128(builder, _), TableCell::Null) => builder.append_null(),
            (OwnBuilder::Decimal256(builder, _), TableCell::Null) => builder.append_null(),
            (OwnBuilder::Single(builder), TableCell::Null) => builder.append_null(),
            (OwnBuilder::Double(builder), TableCell::Null) => builder.append_null(),
            (OwnBuilder::Text(builder), TableCell::Null) => builder.append_null(),
            (OwnBuilder::Bytes(builder), TableCell::Null) => builder.append_null(),
            (OwnBuilder::Date(builder), TableCell::Null) => builder.append_null(),
            (OwnBuilder::Boolean(builder), TableCell::Boolean(bit)) => builder.append_value(*bit),
            (OwnBuilder::Integer(builder, column), TableCell::Integer(number)) => {
                let value = number.bits() & mask_of(column.element.width());
                builder.push(Some(value), column);
            }
            (OwnBuilder::Decimal128(builder, to), TableCell::Decimal { number, scale }) => {
                let Some(value) = scaled(number, *scale, *to) else { return false };
                builder.append_value(i128_of(value));
            }
            (OwnBuilder::Decimal256(builder, to), TableCell::Decimal { number, scale }) => {
                let Some(value) = scaled(number, *scale, *to) else { return false };
                builder.append_value(i256_of(value));
            }
            (OwnBuilder::Single(builder), TableCell::Half(number) | TableCell::Single(number)) => {
                builder.append_value(*number)
            }
            (OwnBuilder::Double(builder), TableCell::Double(number)) => {
                builder.append_value(*number);
            }
            (OwnBuilder::Text(builder), TableCell::Text(text)) => builder.append_value(text),
            (OwnBuilder::Bytes(builder), TableCell::Bytes(bytes)) => builder.append_value(bytes),
            (OwnBuilder::Date(builder), TableCell::Date(days)) => builder.append_value(*days),
            _ => return false,
        }
        true
    }

    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            OwnBuilder::Boolean(builder) => Arc::new(builder.finish()),
            OwnBuilder::Integer(builder, _) => builder.finish(),
            OwnBuilder::Decimal128(builder, _) => Arc::new(builder.finish()),
            OwnBuilder::Decimal256(builder, _) => Arc::new(builder.finish()),
            OwnBuilder::Single(builder) => Arc::new(builder.finish()),
            OwnBuilder::Double(builder) => Arc::new(builder.finish()),
            OwnBuilder::Text(builder) => Arc::new(builder.finish()),
            OwnBuilder::Bytes(builder) => Arc::new(builder.finish()),
            OwnBuilder::Date(builder) => Arc::new(builder.finish()),
        }
    }
}

/// A decimal of another scale, which must not be smaller.
fn scaled(number: &WholeNumber, from: i32, to: i8) -> Option<Lane> {
    let digits = u32::try_from(i32::from(to) - from).ok()?;
    Some(number.bits().wrapping_mul(power(10, digits)))
}
