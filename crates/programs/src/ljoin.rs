//! `ljoin`: all pairs of two sites' records with a smaller key on the first site.
//!
//! As in Kumar et al., OSDI 2021, section 8.1: the n^2 pairs of 128-bit records, a valid bit and
//! the two records, zero where not valid. There, all are computed before any is given out; here each is
//! when it is there. Cost per pair: 32 ANDs to compare and 256 to mask.

use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_frontend::{
    Arguments, Parameter, Program, ProgramError, Records, Tracer, U32, UInt, column,
};
use phineus_oblivious::{SortKey, loop_join};

use super::sorting::{generated_records, receivers, record_parameters};
use super::{SITES, sites};

/// Joins two tables on key_a < key_b.
pub(super) struct LoopJoin;

fn joined_columns() -> Vec<Column> {
    vec![
        column("valid", ElementType::BIT, Encoding::Number),
        column("record_a", ElementType::unsigned(128), Encoding::Hex),
        column("record_b", ElementType::unsigned(128), Encoding::Hex),
    ]
}

#[track_caller]
fn read(tracer: &Tracer, name: &str, rows: u64) -> Records {
    let input = tracer.input(name, rows).number::<U32>("key").hex::<UInt<96>>("payload");
    input.lanes(32).packed().read()
}

impl Program for LoopJoin {
    fn name(&self) -> &str {
        "ljoin"
    }

    fn about(&self) -> &str {
        "all pairs of two sites' records, those with key_a < key_b marked valid and the others zero"
    }

    fn parameters(&self) -> Vec<Parameter> {
        record_parameters()
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let receivers = receivers(arguments)?;
        let [rows_a, rows_b] = [arguments.rows(SITES[0])?, arguments.rows(SITES[1])?];
        let (a, b) = (read(tracer, SITES[0], rows_a), read(tracer, SITES[1], rows_b));
        let key = SortKey::bits(0, 0, 32);
        let output = tracer.output("pairs", &receivers);
        let mut output = output.rows(&joined_columns(), rows_a.saturating_mul(rows_b));
        loop_join(&a, &b, |record_a, record_b| {
            let valid = key.lt(&record_a, &record_b);
            let [record_a, record_b] = [record_a, record_b].map(|record| valid.mask(&record[0]));
            output.push(&[&valid, &record_a, &record_b]);
        });
        output.finish();
        Ok(())
    }

    fn reference(
        &self,
        _: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let mut table = Table::new(joined_columns());
        let record = |row: &[Lane]| row[0] | (row[1] << 32);
        for i in 0..inputs[0].row_count() {
            for j in 0..inputs[1].row_count() {
                let (a, b) = (inputs[0].row(i), inputs[1].row(j));
                if a[0] < b[0] {
                    table.push(&[Lane::ONE, record(&a), record(&b)]);
                } else {
                    table.push(&[Lane::ZERO; 3]);
                }
            }
        }
        Some(Ok(vec![table]))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        generated_records(arguments, seed)
    }
}
