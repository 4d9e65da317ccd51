//! Values of Arrow arrays as [`TableCell`]s.
//!
//! Points in time and times of day are no values of programs; beside results they are shown as text in
//! the form of ISO 8601.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrowPrimitiveType, temporal_conversions as time};
use arrow_schema::{DataType, TimeUnit};
use phineus_bytecode::Lane;

use crate::cell::{CellType, TableCell, WholeNumber};

/// Description of the values of a column of this type, if programs cannot compute on them.
pub(super) fn unsupported(data_type: &DataType) -> Option<String> {
    use DataType as T;
    let points = "write whole numbers of a unit that all parties agree on";
    match data_type {
        T::Null
        | T::Boolean
        | T::Int8
        | T::Int16
        | T::Int32
        | T::Int64
        | T::UInt8
        | T::UInt16
        | T::UInt32
        | T::UInt64
        | T::Float16
        | T::Float32
        | T::Float64
        | T::Utf8
        | T::LargeUtf8
        | T::Utf8View
        | T::Binary
        | T::LargeBinary
        | T::BinaryView
        | T::FixedSizeBinary(_)
        | T::Date32
        | T::Decimal32(..)
        | T::Decimal64(..)
        | T::Decimal128(..)
        | T::Decimal256(..) => None,
        T::Dictionary(_, values) => match **values {
            T::Dictionary(..) => Some("a dictionary of dictionaries".to_owned()),
            ref values => unsupported(values),
        },
        T::Timestamp(_, None) => Some(format!("points in time without a time zone: {points}")),
        T::Timestamp(_, Some(zone)) => Some(format!("points in time (time zone {zone}): {points}")),
        T::Date64 => Some(format!("points in time: {points}")),
        T::Time32(_) | T::Time64(_) => Some(format!("times of day: {points}")),
        T::Duration(_) | T::Interval(_) => Some(format!("lengths of time: {points}")),
        T::List(_)
        | T::LargeList(_)
        | T::ListView(_)
        | T::LargeListView(_)
        | T::FixedSizeList(..) => Some("lists: write a row or a column for each value".to_owned()),
        T::Struct(_) | T::Map(..) | T::Union(..) => {
            Some("values of several parts: write a column for each part".to_owned())
        }
        T::RunEndEncoded(..) => Some("runs of equal values: write each value".to_owned()),
    }
}

/// The type of the cells of a column, if they can be shown beside results.
pub(super) fn cell_type(data_type: &DataType) -> Option<CellType> {
    use DataType as T;
    let integer = |width, is_signed| Some(CellType::Integer { width, is_signed });
    match data_type {
        T::Boolean => Some(CellType::Boolean),
        T::Int8 => integer(8, true),
        T::Int16 => integer(16, true),
        T::Int32 => integer(32, true),
        T::Int64 => integer(64, true),
        T::UInt8 => integer(8, false),
        T::UInt16 => integer(16, false),
        T::UInt32 => integer(32, false),
        T::UInt64 => integer(64, false),
        T::Float16 | T::Float32 => Some(CellType::Single),
        T::Float64 => Some(CellType::Double),
        T::Null
        | T::Utf8
        | T::LargeUtf8
        | T::Utf8View
        | T::Timestamp(..)
        | T::Date64
        | T::Time32(_)
        | T::Time64(_) => Some(CellType::Text),
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => Some(CellType::Bytes),
        T::Date32 => Some(CellType::Date),
        &(T::Decimal32(digits, scale)
        | T::Decimal64(digits, scale)
        | T::Decimal128(digits, scale)
        | T::Decimal256(digits, scale)) => Some(CellType::Decimal { digits, scale }),
        T::Dictionary(_, values) => match **values {
            T::Dictionary(..) => None,
            ref values => cell_type(values),
        },
        T::Duration(_)
        | T::Interval(_)
        | T::List(_)
        | T::LargeList(_)
        | T::ListView(_)
        | T::LargeListView(_)
        | T::FixedSizeList(..)
        | T::Struct(_)
        | T::Map(..)
        | T::Union(..)
        | T::RunEndEncoded(..) => None,
    }
}

/// The value in `row` of `array`, whose type is supported or can be shown.
pub(super) fn cell(array: &dyn Array, row: usize) -> TableCell<'_> {
    use DataType as T;
    if array.is_null(row) {
        return TableCell::Null;
    }
    macro_rules! value {
        ($kind:ty) => {
            array.as_primitive::<$kind>().value(row)
        };
    }
    let integer = |value: i128| TableCell::Integer(WholeNumber::from(value));
    let decimal = |value: i128, scale: i8| TableCell::Decimal {
        number: WholeNumber::from(value),
        scale: scale.into(),
    };
    match array.data_type() {
        T::Boolean => TableCell::Boolean(array.as_boolean().value(row)),
        T::Int8 => integer(value!(Int8Type).into()),
        T::Int16 => integer(value!(Int16Type).into()),
        T::Int32 => integer(value!(Int32Type).into()),
        T::Int64 => integer(value!(Int64Type).into()),
        T::UInt8 => integer(value!(UInt8Type).into()),
        T::UInt16 => integer(value!(UInt16Type).into()),
        T::UInt32 => integer(value!(UInt32Type).into()),
        T::UInt64 => integer(value!(UInt64Type).into()),
        T::Float16 => TableCell::Half(value!(Float16Type).to_f32()),
        T::Float32 => TableCell::Single(value!(Float32Type)),
        T::Float64 => TableCell::Double(value!(Float64Type)),
        T::Utf8 => TableCell::Text(array.as_string::<i32>().value(row).into()),
        T::LargeUtf8 => TableCell::Text(array.as_string::<i64>().value(row).into()),
        T::Utf8View => TableCell::Text(array.as_string_view().value(row).into()),
        T::Binary => TableCell::Bytes(array.as_binary::<i32>().value(row)),
        T::LargeBinary => TableCell::Bytes(array.as_binary::<i64>().value(row)),
        T::BinaryView => TableCell::Bytes(array.as_binary_view().value(row)),
        T::FixedSizeBinary(_) => TableCell::Bytes(array.as_fixed_size_binary().value(row)),
        T::Date32 => TableCell::Date(value!(Date32Type)),
        T::Decimal32(_, scale) => decimal(value!(Decimal32Type).into(), *scale),
        T::Decimal64(_, scale) => decimal(value!(Decimal64Type).into(), *scale),
        T::Decimal128(_, scale) => decimal(value!(Decimal128Type), *scale),
        T::Decimal256(_, scale) => {
            let bits = Lane::from_le_bytes(value!(Decimal256Type).to_le_bytes());
            let is_negative = bits.bit(255);
            let magnitude = if is_negative { bits.wrapping_neg() } else { bits };
            let number = WholeNumber { is_negative, magnitude };
            TableCell::Decimal { number, scale: i32::from(*scale) }
        }
        T::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            match cell(dictionary.keys(), row) {
                TableCell::Integer(key) => {
                    cell(dictionary.values(), key.magnitude.as_limbs()[0] as usize)
                }
                _ => TableCell::Null,
            }
        }
        T::Timestamp(TimeUnit::Second, zone) => {
            point::<TimestampSecondType>(array, row, zone.is_some())
        }
        T::Timestamp(TimeUnit::Millisecond, zone) => {
            point::<TimestampMillisecondType>(array, row, zone.is_some())
        }
        T::Timestamp(TimeUnit::Microsecond, zone) => {
            point::<TimestampMicrosecondType>(array, row, zone.is_some())
        }
        T::Timestamp(TimeUnit::Nanosecond, zone) => {
            point::<TimestampNanosecondType>(array, row, zone.is_some())
        }
        T::Date64 => point::<Date64Type>(array, row, false),
        T::Time32(TimeUnit::Second) => time_of_day::<Time32SecondType>(array, row),
        T::Time32(_) => time_of_day::<Time32MillisecondType>(array, row),
        T::Time64(TimeUnit::Microsecond) => time_of_day::<Time64MicrosecondType>(array, row),
        T::Time64(_) => time_of_day::<Time64NanosecondType>(array, row),
        // A column of nulls, or one that is neither computed on nor shown.
        T::Null
        | T::Duration(_)
        | T::Interval(_)
        | T::List(_)
        | T::LargeList(_)
        | T::ListView(_)
        | T::LargeListView(_)
        | T::FixedSizeList(..)
        | T::Struct(_)
        | T::Map(..)
        | T::Union(..)
        | T::RunEndEncoded(..) => TableCell::Null,
    }
}

/// A point in time as `2024-01-31T12:00:00.5`, in UTC with a `Z` if the column has a time zone; the
/// number itself if it is outside of the calendar.
fn point<T: ArrowPrimitiveType<Native = i64>>(
    array: &dyn Array,
    row: usize,
    is_utc: bool,
) -> TableCell<'_> {
    let value = array.as_primitive::<T>().value(row);
    let text = match time::as_datetime::<T>(value) {
        Some(point) => format!("{point}{}", if is_utc { "Z" } else { "" }).replace(' ', "T"),
        None => value.to_string(),
    };
    TableCell::Text(text.into())
}

/// A time of day as `12:00:00.5`; the number itself if a day has no such time.
fn time_of_day<T: ArrowPrimitiveType<Native: Into<i64>>>(
    array: &dyn Array,
    row: usize,
) -> TableCell<'_> {
    let value: i64 = array.as_primitive::<T>().value(row).into();
    let text = time::as_time::<T>(value).map_or(value.to_string(), |time| time.to_string());
    TableCell::Text(text.into())
}
