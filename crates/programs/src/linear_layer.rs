//! `linear-layer`: a matrix times a vector plus a bias, all of them private.
//!
//! The matrix is a table, a row of it a row of the matrix. A column of many rows times one entry
//! of the vector is one instruction, so that protocols that open operands open each entry of the
//! matrix once.

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_frontend::{
    Arguments, Element, I8, Parameter, Program, ProgramError, Tracer, Value, column,
};

use super::layers::{limited, numbered};
use super::random::random_table;
use super::sorting::{receivers, to_parameter};
use super::{SITES, sites};

/// A layer of 8-bit weights and activations with 32-bit sums.
pub(super) struct LinearLayer;

/// Rows in one value: 128 sums of 32 bits are the 4096 wires of a page.
const LANES: u32 = 128;
const SUM: ElementType = ElementType::signed(32);
/// Narrower than sums, so that these fit into small fields.
const BIAS: ElementType = ElementType::signed(24);

fn weights(count: u64) -> Vec<Column> {
    numbered("w", count, |_| ElementType::signed(8))
}

fn number(name: &str, element: ElementType) -> Column {
    column(name, element, Encoding::Number)
}

impl LinearLayer {
    /// Rows and columns of the matrix.
    fn sizes(arguments: &Arguments) -> Result<(u64, u64), ProgramError> {
        Ok((arguments.rows("matrix")?, limited(arguments.rows("vector")?)?))
    }
}

impl Program for LinearLayer {
    fn name(&self) -> &str {
        "linear-layer"
    }

    fn about(&self) -> &str {
        "site_a's matrix of signed 8-bit integers times site_b's vector, plus site_a's bias, in 32 bits"
    }

    fn parameters(&self) -> Vec<Parameter> {
        let meaning = "rows and columns of the matrix, where no file says";
        vec![Parameter::new("n", "256", meaning), to_parameter("both")]
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let (rows, columns) = LinearLayer::sizes(arguments)?;
        let mut matrix = tracer.input("matrix", rows).by(SITES[0]);
        for column in weights(columns) {
            matrix = matrix.column(column);
        }
        let matrix = matrix.lanes(LANES).read();
        let bias = tracer.input("bias", rows).by(SITES[0]).column(number("bias", BIAS));
        let bias = bias.lanes(LANES).read();
        let vector =
            tracer.input("vector", columns).by(SITES[1]).number::<I8>("value").vector::<I8>();
        let factors: Vec<Value> =
            (0..columns).map(|column| vector.get(column).value().cast(SUM)).collect();
        let mut sums = Vec::new();
        for chunk in 0..matrix.chunk_count() {
            let mut sum = bias.chunks(0)[chunk].cast(SUM);
            for (column, factor) in factors.iter().enumerate() {
                let weights = matrix.chunks(column)[chunk].cast(SUM);
                sum = sum.add(&weights.mat_vec(factor));
            }
            sums.push(sum);
        }
        tracer.output("result", &receivers(arguments)?).chunks(number("sum", SUM), sums).write();
        Ok(())
    }

    fn reference(
        &self,
        _: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let [matrix, bias, vector] = inputs else { unreachable!("three inputs") };
        let small = |lane: Lane| i32::from(lane.as_limbs()[0] as u8 as i8);
        let factors: Vec<i32> =
            (0..vector.row_count()).map(|row| small(vector.cell(row, 0))).collect();
        let mut table = Table::new(vec![number("sum", SUM)]);
        for row in 0..matrix.row_count() {
            let start = (bias.cell(row, 0).as_limbs()[0] as i32) << 8 >> 8;
            let sum = factors.iter().enumerate().fold(start, |sum, (column, factor)| {
                sum.wrapping_add(small(matrix.cell(row, column)).wrapping_mul(*factor))
            });
            table.push(&[Lane::from(sum as u32)]);
        }
        Some(Ok(vec![table]))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let (rows, columns) = LinearLayer::sizes(arguments).ok()?;
        let mut random = SeededRng::new(seed);
        let mut bias = Table::new(vec![number("bias", BIAS)]);
        for _ in 0..rows {
            bias.push(&[random.bits(24)]);
        }
        Some(vec![
            random_table(weights(columns), rows, &mut random),
            bias,
            random_table(vec![number("value", ElementType::signed(8))], columns, &mut random),
        ])
    }
}
