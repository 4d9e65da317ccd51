//! Results as record batches, with the types that hold each column exactly.

use std::io::Write;
use std::mem;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Decimal128Builder, Decimal256Builder, Float64Builder, PrimitiveBuilder,
    StringBuilder,
};
use arrow_array::types::{
    Float32Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::i256;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use phineus_bytecode::float::number_of;
use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::{Column, ElementType, Encoding, Lane};

use super::own::{OwnBuilder, type_of_own};
use crate::cell::{TableCell, format_value};
use crate::decimal::power;
use crate::error::{Error, RefusalKind};
use crate::sink::{OwnColumn, ResultHeader, TableSink};

/// Rows of a record batch.
const BATCH_ROWS: usize = 4096;

/// Digits of the widest whole numbers: `2^126 < 10^38`, `2^252 < 10^76`.
pub(super) const DIGITS_128: u8 = 38;
pub(super) const DIGITS_256: u8 = 76;

/// The type that holds the values of a column exactly.
///
/// # Errors
/// If there is none.
pub(crate) fn type_of(column: &Column) -> Result<DataType, String> {
    let ElementType::Bits { width, .. } = column.element else {
        unreachable!("tables hold bits only");
    };
    let signed = column.element.is_signed();
    Ok(match (column.encoding, width) {
        (Encoding::Hex | Encoding::Text, _) => DataType::Utf8,
        (Encoding::Number, 1) if !signed => DataType::Boolean,
        (Encoding::Number, ..=8) => {
            if signed {
                DataType::Int8
            } else {
                DataType::UInt8
            }
        }
        (Encoding::Number, ..=16) => {
            if signed {
                DataType::Int16
            } else {
                DataType::UInt16
            }
        }
        (Encoding::Number, ..=32) => {
            if signed {
                DataType::Int32
            } else {
                DataType::UInt32
            }
        }
        (Encoding::Number, ..=64) => {
            if signed {
                DataType::Int64
            } else {
                DataType::UInt64
            }
        }
        (Encoding::Number, ..=126) => DataType::Decimal128(DIGITS_128, 0),
        (Encoding::Number, ..=252) => DataType::Decimal256(DIGITS_256, 0),
        (Encoding::Float, ..=32) => DataType::Float32,
        (Encoding::Float, _) => DataType::Float64,
        // A float of 64 bits holds 53 bits and any exponent that a fraction has.
        (Encoding::Fixed(_), ..=53) => DataType::Float64,
        // A multiple of 2^-f is one of 10^-f: 5^f times as many of those.
        (Encoding::Fixed(fraction), width) if is_read_back(width, fraction) => {
            match fixed_digits(width, fraction) {
                ..=DIGITS_128 => DataType::Decimal128(DIGITS_128, fraction as i8),
                _ => DataType::Decimal256(DIGITS_256, fraction as i8),
            }
        }
        (Encoding::Number | Encoding::Fixed(_), width) => {
            return Err(format!(
                "column '{}' has {width} bits, which no type of Arrow holds exactly",
                column.name
            ));
        }
    })
}

/// Returns whether the decimals of such fractions are few enough digits to be read again
/// ([`crate::decimal`]).
fn is_read_back(width: u16, fraction: u8) -> bool {
    f64::from(width) + f64::from(fraction) * 10f64.log2() < 255.0
}

/// Decimal digits of `2^width 5^fraction`, or a digit more.
fn fixed_digits(width: u16, fraction: u8) -> u8 {
    let digits = f64::from(width) * 2f64.log10() + f64::from(fraction) * 5f64.log10();
    digits.ceil() as u8
}

/// Bytes of the longest file that such a result can give, compression left out: a value, four bytes for
/// where a text ends, a bit for each value that is missing; and headers.
pub(crate) fn longest_bytes(columns: &[Column], rows: u64) -> u64 {
    let value = |column: &Column| match type_of(column) {
        Ok(DataType::Utf8) => 5 + u64::from(column.element.width()).div_ceil(4),
        Ok(data_type) => 1 + data_type.primitive_width().unwrap_or(1) as u64,
        Err(_) => 0,
    };
    let row: u64 = columns.iter().map(value).sum();
    let batches = rows.div_ceil(BATCH_ROWS as u64);
    let headers = (columns.len() as u64 + 1).saturating_mul(256).saturating_mul(batches + 2);
    row.saturating_mul(rows).saturating_add(headers)
}

/// The columns of a result: the owner's with their types, then those of the result, which may have no value.
pub(crate) fn schema_of(head: &ResultHeader<'_>) -> Result<SchemaRef, String> {
    let own = head.own.iter().map(|own| Ok(type_of_own(own.cell_type)));
    let types = own.chain(head.columns.iter().map(type_of));
    let fields = head.names().into_iter().zip(types);
    let fields = fields.map(|(name, data_type)| Ok(Field::new(name, data_type?, true)));
    Ok(Arc::new(Schema::new(fields.collect::<Result<Vec<_>, String>>()?)))
}

/// The refusal of columns that the format cannot hold.
pub(crate) fn refused(what: String) -> Error {
    Error::refused(RefusalKind::NotWritable, "the result", what).remedy("write it as .csv")
}

/// Values of a column on their way into an array.
pub(super) enum ColumnBuilder {
    Boolean(BooleanBuilder),
    Int8(PrimitiveBuilder<Int8Type>),
    Int16(PrimitiveBuilder<Int16Type>),
    Int32(PrimitiveBuilder<Int32Type>),
    Int64(PrimitiveBuilder<Int64Type>),
    UInt8(PrimitiveBuilder<UInt8Type>),
    UInt16(PrimitiveBuilder<UInt16Type>),
    UInt32(PrimitiveBuilder<UInt32Type>),
    UInt64(PrimitiveBuilder<UInt64Type>),
    /// What a value of the column is multiplied by.
    Decimal128(Decimal128Builder, Lane),
    Decimal256(Decimal256Builder, Lane),
    Double(Float64Builder, f64),
    /// Floating-point numbers of at most 32 bits, and of 64.
    SingleBits(PrimitiveBuilder<Float32Type>),
    DoubleBits(Float64Builder),
    Text(StringBuilder),
}

impl ColumnBuilder {
    pub(super) fn new(column: &Column, data_type: &DataType) -> ColumnBuilder {
        match (data_type, column.encoding) {
            (DataType::Boolean, _) => ColumnBuilder::Boolean(BooleanBuilder::new()),
            (DataType::Int8, _) => ColumnBuilder::Int8(PrimitiveBuilder::new()),
            (DataType::Int16, _) => ColumnBuilder::Int16(PrimitiveBuilder::new()),
            (DataType::Int32, _) => ColumnBuilder::Int32(PrimitiveBuilder::new()),
            (DataType::Int64, _) => ColumnBuilder::Int64(PrimitiveBuilder::new()),
            (DataType::UInt8, _) => ColumnBuilder::UInt8(PrimitiveBuilder::new()),
            (DataType::UInt16, _) => ColumnBuilder::UInt16(PrimitiveBuilder::new()),
            (DataType::UInt32, _) => ColumnBuilder::UInt32(PrimitiveBuilder::new()),
            (DataType::UInt64, _) => ColumnBuilder::UInt64(PrimitiveBuilder::new()),
            (DataType::Decimal128(_, scale), _) => ColumnBuilder::Decimal128(
                Decimal128Builder::new().with_data_type(data_type.clone()),
                power(5, scale.unsigned_abs().into()),
            ),
            (DataType::Decimal256(_, scale), _) => ColumnBuilder::Decimal256(
                Decimal256Builder::new().with_data_type(data_type.clone()),
                power(5, scale.unsigned_abs().into()),
            ),
            (DataType::Float32, _) => ColumnBuilder::SingleBits(PrimitiveBuilder::new()),
            (DataType::Float64, Encoding::Float) => {
                ColumnBuilder::DoubleBits(Float64Builder::new())
            }
            (DataType::Float64, Encoding::Fixed(fraction)) => {
                ColumnBuilder::Double(Float64Builder::new(), 2f64.powi(-i32::from(fraction)))
            }
            _ => ColumnBuilder::Text(StringBuilder::new()),
        }
    }

    pub(super) fn push(&mut self, value: Option<Lane>, column: &Column) {
        // The value with its sign in all 256 bits.
        let extended = value.map(|value| {
            let width = column.element.width();
            let is_negative = column.element.is_signed() && value.bit(usize::from(width) - 1);
            if is_negative { value | !mask_of(width) } else { value }
        });
        let low = extended.map(|value| value.as_limbs()[0]);
        match self {
            ColumnBuilder::Boolean(builder) => builder.append_option(low.map(|bits| bits == 1)),
            ColumnBuilder::Int8(builder) => builder.append_option(low.map(|bits| bits as i8)),
            ColumnBuilder::Int16(builder) => builder.append_option(low.map(|bits| bits as i16)),
            ColumnBuilder::Int32(builder) => builder.append_option(low.map(|bits| bits as i32)),
            ColumnBuilder::Int64(builder) => builder.append_option(low.map(|bits| bits as i64)),
            ColumnBuilder::UInt8(builder) => builder.append_option(low.map(|bits| bits as u8)),
            ColumnBuilder::UInt16(builder) => builder.append_option(low.map(|bits| bits as u16)),
            ColumnBuilder::UInt32(builder) => builder.append_option(low.map(|bits| bits as u32)),
            ColumnBuilder::UInt64(builder) => builder.append_option(low),
            // Modulo 2^256, in which all decimals are.
            ColumnBuilder::Decimal128(builder, factor) => {
                builder.append_option(extended.map(|value| i128_of(value.wrapping_mul(*factor))));
            }
            ColumnBuilder::Decimal256(builder, factor) => {
                builder.append_option(extended.map(|value| i256_of(value.wrapping_mul(*factor))));
            }
            ColumnBuilder::Double(builder, unit) => {
                builder.append_option(low.map(|bits| match column.element.is_signed() {
                    true => bits as i64 as f64 * *unit,
                    false => bits as f64 * *unit,
                }));
            }
            ColumnBuilder::SingleBits(builder) => {
                let width = column.element.width();
                builder.append_option(low.map(|bits| number_of(bits, width) as f32));
            }
            ColumnBuilder::DoubleBits(builder) => {
                builder.append_option(low.map(f64::from_bits));
            }
            ColumnBuilder::Text(builder) => {
                builder.append_option(value.map(|value| format_value(value, column)));
            }
        }
    }

    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            ColumnBuilder::Boolean(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Int8(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Int16(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Int32(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Int64(builder) => Arc::new(builder.finish()),
            ColumnBuilder::UInt8(builder) => Arc::new(builder.finish()),
            ColumnBuilder::UInt16(builder) => Arc::new(builder.finish()),
            ColumnBuilder::UInt32(builder) => Arc::new(builder.finish()),
            ColumnBuilder::UInt64(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Decimal128(builder, _) => Arc::new(builder.finish()),
            ColumnBuilder::Decimal256(builder, _) => Arc::new(builder.finish()),
            ColumnBuilder::Double(builder, _) | ColumnBuilder::DoubleBits(builder) => {
                Arc::new(builder.finish())
            }
            ColumnBuilder::SingleBits(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Text(builder) => Arc::new(builder.finish()),
        }
    }
}

pub(super) fn i256_of(value: Lane) -> i256 {
    i256::from_le_bytes(value.to_le_bytes())
}

/// The lowest 128 bits.
pub(super) fn i128_of(value: Lane) -> i128 {
    let limbs = value.as_limbs();
    (u128::from(limbs[0]) | u128::from(limbs[1]) << 64) as i128
}

/// Rows of a result on their way into record batches.
pub(crate) struct BatchBuilder {
    schema: SchemaRef,
    columns: Vec<Column>,
    own: Vec<(OwnColumn, OwnBuilder)>,
    values: Vec<ColumnBuilder>,
    rows: usize,
}

impl BatchBuilder {
    /// # Errors
    /// Columns that no type of Arrow holds exactly.
    pub(crate) fn new(head: &ResultHeader<'_>) -> Result<BatchBuilder, Error> {
        let schema = schema_of(head).map_err(refused)?;
        let types = schema.fields().iter().skip(head.own.len());
        let values = head.columns.iter().zip(types);
        Ok(BatchBuilder {
            own: (head.own.iter())
                .map(|own| (own.clone(), OwnBuilder::new(own.cell_type)))
                .collect(),
            values: values
                .map(|(column, field)| ColumnBuilder::new(column, field.data_type()))
                .collect(),
            columns: head.columns.to_vec(),
            rows: 0,
            schema,
        })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Takes a row; gives a batch when there are enough.
    pub(crate) fn push(
        &mut self,
        own: &[TableCell<'_>],
        values: &[Option<Lane>],
    ) -> Result<Option<RecordBatch>, Error> {
        for (cell, (column, builder)) in own.iter().zip(&mut self.own) {
            if !builder.push(cell) {
                let (name, cell_type) = (&column.name, column.cell_type);
                return Err(refused(format!(
                    "column '{name}' has a value that is not {cell_type:?}"
                )));
            }
        }
        let builders = self.values.iter_mut().zip(&self.columns);
        values.iter().zip(builders).for_each(|(value, (builder, column))| {
            builder.push(*value, column);
        });
        self.rows += 1;
        if self.rows < BATCH_ROWS { Ok(None) } else { self.take() }
    }

    /// The rows that no batch has yet.
    pub(crate) fn take(&mut self) -> Result<Option<RecordBatch>, Error> {
        if mem::take(&mut self.rows) == 0 {
            return Ok(None);
        }
        let own = self.own.iter_mut().map(|(_, builder)| builder.finish());
        let arrays = own.chain(self.values.iter_mut().map(ColumnBuilder::finish)).collect();
        let batch = RecordBatch::try_new(self.schema(), arrays);
        Ok(Some(batch.expect("the arrays are those of the schema")))
    }
}

/// An error of the library, of which only writing is left.
pub(crate) fn failed(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => Error::Io(error),
        error => Error::Io(std::io::Error::other(error)),
    }
}

/// The form of the messages.
enum MessageFraming<W: Write> {
    File(FileWriter<W>),
    Stream(StreamWriter<W>),
}

/// Writes record batches, as a file or as a stream.
pub(crate) struct ArrowSink<W: Write> {
    output: Option<W>,
    is_stream: bool,
    begun: Option<(BatchBuilder, MessageFraming<W>)>,
}

impl<W: Write> ArrowSink<W> {
    pub(crate) fn new(output: W, is_stream: bool) -> ArrowSink<W> {
        ArrowSink { output: Some(output), is_stream, begun: None }
    }
}

impl<W: Write> MessageFraming<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        match self {
            MessageFraming::File(writer) => writer.write(batch),
            MessageFraming::Stream(writer) => writer.write(batch),
        }
        .map_err(failed)
    }
}

impl<W: Write> TableSink for ArrowSink<W> {
    fn begin(&mut self, head: &ResultHeader<'_>) -> Result<(), Error> {
        let builder = BatchBuilder::new(head)?;
        let (schema, output) = (builder.schema(), self.output.take());
        let output = output.expect("a sink begins once");
        let messages = match self.is_stream {
            true => StreamWriter::try_new(output, &schema).map(MessageFraming::Stream),
            false => FileWriter::try_new(output, &schema).map(MessageFraming::File),
        };
        self.begun = Some((builder, messages.map_err(failed)?));
        Ok(())
    }

    fn row(&mut self, own: &[TableCell<'_>], values: &[Option<Lane>]) -> Result<(), Error> {
        let (builder, messages) = self.begun.as_mut().expect("it has begun");
        builder.push(own, values)?.map_or(Ok(()), |batch| messages.write(&batch))
    }

    fn end(&mut self) -> Result<(), Error> {
        let (builder, messages) = self.begun.as_mut().expect("it has begun");
        if let Some(batch) = builder.take()? {
            messages.write(&batch)?;
        }
        match messages {
            MessageFraming::File(writer) => writer.finish(),
            MessageFraming::Stream(writer) => writer.finish(),
        }
        .map_err(failed)
    }
}
