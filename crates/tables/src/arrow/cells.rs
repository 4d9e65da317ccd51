//! Values of Arrow arrays as [`TableCell`]s.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_schema::DataType;
use phineus_bytecode::Lane;

use crate::cell::{TableCell, WholeNumber};

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

/// The value in `row` of `array`, whose type is supported.
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
        T::Float16 => TableCell::Single(value!(Float16Type).to_f32()),
        T::Float32 => TableCell::Single(value!(Float32Type)),
        T::Float64 => TableCell::Double(value!(Float64Type)),
        T::Utf8 => TableCell::Text(array.as_string::<i32>().value(row).into()),
        T::LargeUtf8 => TableCell::Text(array.as_string::<i64>().value(row).into()),
        T::Utf8View => TableCell::Text(array.as_string_view().value(row).into()),
        T::Binary => TableCell::Bytes(array.as_binary::<i32>().value(row)),
        T::LargeBinary => TableCell::Bytes(array.as_binary::<i64>().value(row)),
        T::BinaryView => TableCell::Bytes(array.as_binary_view().value(row)),
        T::FixedSizeBinary(_) => TableCell::Bytes(array.as_fixed_size_binary().value(row)),
        T::Date32 => TableCell::Date(date(value!(Date32Type).into())),
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
        // A column of nulls, or one that is refused before it is read.
        T::Null
        | T::Timestamp(..)
        | T::Date64
        | T::Time32(_)
        | T::Time64(_)
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

/// The date that is so many days after 1970-01-01.
///
/// Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`: years begin in
/// March, and 400 of them are 146,097 days.
fn date(days: i64) -> String {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}
