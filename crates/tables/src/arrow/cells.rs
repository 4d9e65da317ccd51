//! Values of Arrow arrays as [`TableCell`]s.
//!
//! Points in time and times of day are no values of programs; beside results they are shown as text in
//! the form of ISO 8601.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions as time;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_schema::{DataType, TimeUnit};
use phineus_bytecode::Lane;

use super::write::DIGITS_256;
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
        | T::Date64
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
        | T::Time32(_)
        | T::Time64(_) => Some(CellType::Text),
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => Some(CellType::Bytes),
        T::Date32 | T::Date64 => Some(CellType::Date),
        &(T::Decimal32(digits, scale)
        | T::Decimal64(digits, scale)
        | T::Decimal128(digits, scale)
        | T::Decimal256(digits, scale)) => match scale {
            0.. => Some(CellType::Decimal { digits, scale }),
            // Files of Parquet have no scales below 0.
            _ => {
                let digits =
                    digits.checked_add(scale.unsigned_abs()).filter(|all| *all <= DIGITS_256);
                digits.map(|digits| CellType::Decimal { digits, scale: 0 })
            }
        },
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
        T::Timestamp(unit, zone) => {
            let value = match unit {
                TimeUnit::Second => value!(TimestampSecondType),
                TimeUnit::Millisecond => value!(TimestampMillisecondType),
                TimeUnit::Microsecond => value!(TimestampMicrosecondType),
                TimeUnit::Nanosecond => value!(TimestampNanosecondType),
            };
            point(value, *unit, if zone.is_some() { "Z" } else { "" })
        }
        // Other values than whole days are no dates.
        T::Date64 => match (value!(Date64Type).div_euclid(DAY_MS), value!(Date64Type) % DAY_MS) {
            (days @ DAYS_MIN..=DAYS_MAX, 0) => TableCell::Date(days as i32),
            _ => point(value!(Date64Type), TimeUnit::Millisecond, ""),
        },
        T::Time32(TimeUnit::Second) => {
            time_of_day(value!(Time32SecondType).into(), TimeUnit::Second)
        }
        T::Time32(_) => time_of_day(value!(Time32MillisecondType).into(), TimeUnit::Millisecond),
        T::Time64(TimeUnit::Microsecond) => {
            time_of_day(value!(Time64MicrosecondType), TimeUnit::Microsecond)
        }
        T::Time64(_) => time_of_day(value!(Time64NanosecondType), TimeUnit::Nanosecond),
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

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

const DAYS_MIN: i64 = i32::MIN as i64;
const DAYS_MAX: i64 = i32::MAX as i64;

/// A value of a unit in whole seconds, and the rest as digits behind a point, as many as the unit has.
fn seconds(value: i64, unit: TimeUnit) -> (i64, String) {
    let (per_second, digits) = match unit {
        TimeUnit::Second => return (value, String::new()),
        TimeUnit::Millisecond => (1_000, 3),
        TimeUnit::Microsecond => (1_000_000, 6),
        TimeUnit::Nanosecond => (1_000_000_000, 9),
    };
    (value.div_euclid(per_second), format!(".{:0digits$}", value.rem_euclid(per_second)))
}

/// A point in time as `2024-01-31T12:00:00.500`, with the mark of its zone; the number itself if it is
/// outside of the calendar.
fn point(value: i64, unit: TimeUnit, zone: &str) -> TableCell<'static> {
    let (whole, rest) = seconds(value, unit);
    let text = match time::timestamp_s_to_datetime(whole) {
        Some(point) => format!("{point}{rest}{zone}").replace(' ', "T"),
        None => value.to_string(),
    };
    TableCell::Text(text.into())
}

/// A time of day as `12:00:00.500`; the number itself if a day has no such time.
fn time_of_day(value: i64, unit: TimeUnit) -> TableCell<'static> {
    let (whole, rest) = seconds(value, unit);
    let text = match i32::try_from(whole).ok().and_then(time::time32s_to_time) {
        Some(time) => format!("{time}{rest}"),
        None => value.to_string(),
    };
    TableCell::Text(text.into())
}
