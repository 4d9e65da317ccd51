//! `mvmul` and `binfclayer`: the layers of a neural network, integers and single bits.
//!
//! As in Kumar et al., OSDI 2021, section 8.1. The matrix is a table, a row of it a row of the
//! matrix; many rows are lanes of one value, so no sums across lanes are needed.

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_frontend::{
    Arguments, Bit, Element, Parameter, Program, ProgramError, Tracer, U8, Value, column,
};

use super::random::random_table;
use super::sorting::{receivers, to_parameter};
use super::{SITES, sites};

/// A matrix of 8-bit integers times a vector, in 16 bits.
pub(super) struct MatrixVector;

/// A matrix of ±1 times a vector of ±1, and the signs of the results.
pub(super) struct BinaryLayer;

/// Rows of the matrix in one value: 256 products of 16 bits are the 4096 wires of a page.
const PRODUCT_LANES: u32 = 256;
/// Rows of the matrix in one value: 16 words of 256 bits are the 4096 wires of a page.
const WORD_LANES: u32 = 16;
const WORD_BITS: u64 = 256;
/// Enough bits to count `n` of them, for every `n` that can be run.
const COUNT_BITS: u16 = 32;
/// The most columns of the matrix: the description names each, and is limited to 4 MiB.
const COLUMNS_MAX: u64 = 32 * 1024;

fn parameters(meaning: &str) -> Vec<Parameter> {
    vec![Parameter::new("n", "256", meaning), to_parameter("both")]
}

pub(super) fn limited(columns: u64) -> Result<u64, ProgramError> {
    if columns > COLUMNS_MAX {
        return Err(ProgramError::Refused(format!(
            "{columns} columns are more than {COLUMNS_MAX}"
        )));
    }
    if columns == 0 {
        return Err(ProgramError::Rows(
            "input 'vector' has 0 rows: it needs one for each column of the matrix".to_owned(),
        ));
    }
    Ok(columns)
}

/// Columns `name` followed by their number.
pub(super) fn numbered(
    name: &str,
    count: u64,
    element: impl Fn(u64) -> ElementType,
) -> Vec<Column> {
    let encoding = if element(0).width() > 64 { Encoding::Hex } else { Encoding::Number };
    (0..count).map(|index| column(&format!("{name}{index}"), element(index), encoding)).collect()
}

fn product_column() -> Column {
    column("product", ElementType::unsigned(16), Encoding::Number)
}

fn matrix_columns(count: u64) -> Vec<Column> {
    numbered("c", count, |_| ElementType::unsigned(8))
}

impl MatrixVector {
    /// Rows and columns of the matrix.
    fn sizes(arguments: &Arguments) -> Result<(u64, u64), ProgramError> {
        Ok((arguments.rows("matrix")?, limited(arguments.rows("vector")?)?))
    }
}

impl Program for MatrixVector {
    fn name(&self) -> &str {
        "mvmul"
    }

    fn about(&self) -> &str {
        "site_a's matrix of 8-bit integers times site_b's vector, modulo 2^16"
    }

    fn parameters(&self) -> Vec<Parameter> {
        parameters("rows and columns of the matrix, where no file says")
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let (rows, columns) = MatrixVector::sizes(arguments)?;
        let mut matrix = tracer.input("matrix", rows).by(SITES[0]);
        for column in matrix_columns(columns) {
            matrix = matrix.column(column);
        }
        let matrix = matrix.lanes(PRODUCT_LANES).read();
        let vector =
            tracer.input("vector", columns).by(SITES[1]).number::<U8>("value").vector::<U8>();
        let mut products = Vec::new();
        for chunk in 0..matrix.chunk_count() {
            let terms = (0..columns).map(|column| {
                let cells = &matrix.chunks(column as usize)[chunk];
                cells.mul_full(vector.get(column).value())
            });
            products.extend(Value::sum_of(terms));
        }
        tracer.output("result", &receivers(arguments)?).chunks(product_column(), products).write();
        Ok(())
    }

    fn reference(
        &self,
        _: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let (matrix, vector) = (&inputs[0], &inputs[1]);
        let mut table = Table::new(vec![product_column()]);
        for row in 0..matrix.row_count() {
            let sum = (0..vector.row_count()).fold(0u16, |sum, column| {
                let cell = matrix.cell(row, column as usize).as_limbs()[0] as u16;
                let factor = vector.cell(column, 0).as_limbs()[0] as u16;
                sum.wrapping_add(cell * factor)
            });
            table.push(&[Lane::from(sum)]);
        }
        Some(Ok(vec![table]))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let (rows, columns) = MatrixVector::sizes(arguments).ok()?;
        let mut random = SeededRng::new(seed);
        let value = column("value", ElementType::unsigned(8), Encoding::Number);
        Some(vec![
            random_table(matrix_columns(columns), rows, &mut random),
            random_table(vec![value], columns, &mut random),
        ])
    }
}

fn sign_column() -> Column {
    column("sign", ElementType::BIT, Encoding::Number)
}

/// `n` bits as words of 256, the last of as many as are left.
fn word_columns(n: u64) -> Vec<Column> {
    numbered("w", n.div_ceil(WORD_BITS), |index| {
        ElementType::unsigned((n - index * WORD_BITS).min(WORD_BITS) as u16)
    })
}

/// Reads `rows` rows of `n` bits.
#[track_caller]
fn read_bits(tracer: &Tracer, name: &str, party: &str, rows: u64, n: u64) -> Vec<Vec<Value>> {
    let mut input = tracer.input(name, rows).by(party).lanes(WORD_LANES);
    for column in word_columns(n) {
        input = input.column(column);
    }
    input.read().into_columns()
}

impl BinaryLayer {
    /// Rows of the matrix, and bits of a row.
    fn sizes(arguments: &Arguments) -> Result<(u64, u64), ProgramError> {
        let n = arguments.count("n")?;
        limited(n.div_ceil(WORD_BITS))?;
        Ok((arguments.stated_rows("matrix").unwrap_or(n), n))
    }
}

impl Program for BinaryLayer {
    fn name(&self) -> &str {
        "binfclayer"
    }

    fn about(&self) -> &str {
        "site_a's matrix of bits against site_b's bits: whether at least half of a row's agree"
    }

    fn parameters(&self) -> Vec<Parameter> {
        parameters("bits of a row, and rows of the matrix where no file says")
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let (rows, n) = BinaryLayer::sizes(arguments)?;
        let matrix = read_bits(tracer, "matrix", SITES[0], rows, n);
        let vector = read_bits(tracer, "vector", SITES[1], 1, n);
        // Counts stay as narrow as the number of bits seen so far allows.
        let count_bits = |bits: u64| (64 - bits.leading_zeros()) as u16;
        let mut signs = Vec::new();
        for chunk in 0..matrix[0].len() {
            let mut count: Option<Value> = None;
            for (index, (words, word)) in matrix.iter().zip(&vector).enumerate() {
                let seen = ((index as u64 + 1) * WORD_BITS).min(n);
                let width = count_bits(seen).min(COUNT_BITS);
                let agree = words[chunk].xor(&word[0]).not();
                let ones = agree.popcount(count_bits(u64::from(agree.width())));
                let ones = ones.cast(ElementType::unsigned(width));
                count = Some(match count {
                    Some(sum) => sum.cast(ElementType::unsigned(width)).add(&ones),
                    None => ones,
                });
            }
            let count = count.expect("a row has a word");
            let half = tracer.constant(count.element(), Lane::from(n.div_ceil(2)));
            signs.push(half.le(&count));
        }
        let signs = signs.into_iter().map(Bit::from_value).collect::<Vec<_>>();
        let pieces = signs.iter().map(|bit| bit.value().clone()).collect();
        tracer.output("result", &receivers(arguments)?).chunks(sign_column(), pieces).write();
        Ok(())
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let n = match BinaryLayer::sizes(arguments) {
            Ok((_, n)) => n,
            Err(error) => return Some(Err(error)),
        };
        let (matrix, vector) = (&inputs[0], &inputs[1]);
        let mut table = Table::new(vec![sign_column()]);
        for row in 0..matrix.row_count() {
            let differ: u64 = (0..matrix.columns().len())
                .map(|column| (matrix.cell(row, column) ^ vector.cell(0, column)).count_ones())
                .map(|ones| ones as u64)
                .sum();
            table.push(&[Lane::from(u8::from(2 * (n - differ) >= n))]);
        }
        Some(Ok(vec![table]))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let (rows, n) = BinaryLayer::sizes(arguments).ok()?;
        let mut random = SeededRng::new(seed);
        Some(vec![
            random_table(word_columns(n), rows, &mut random),
            random_table(word_columns(n), 1, &mut random),
        ])
    }
}
