//! `merge` and `sort`: records of 128 bits with a 32-bit key, as in Kumar et al., "MAGE: Nearly
//! Zero-Cost Virtual Memory for Secure Computation", OSDI 2021, section 8.1: all inputs are
//! brought in, then sorted, then given out.
//!
//! A record is one value of 128 bits, the key in the low 32, so that 32 records fill a page.

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_frontend::{
    Arguments, Parameter, Program, ProgramError, Records, Tracer, U32, UInt, column,
};
use phineus_oblivious::{SortKey, merge_bitonic, sort};

use super::{SITES, sites};

const KEY_BITS: u16 = 32;
const PAYLOAD_BITS: u16 = 96;
/// Records in a chunk: 32 of 128 bits are the 4096 wires of a page.
const LANES: u32 = 32;

/// Merges two sites' sorted records.
pub(super) struct Merge;

/// Sorts two sites' records.
pub(super) struct Sort;

pub(super) fn record_columns() -> Vec<Column> {
    vec![
        column("key", ElementType::unsigned(KEY_BITS), Encoding::Number),
        column("payload", ElementType::unsigned(PAYLOAD_BITS), Encoding::Hex),
    ]
}

pub(super) fn record_parameters() -> Vec<Parameter> {
    vec![Parameter::new("n", "1000", "records per site, where no file says"), to_parameter("both")]
}

pub(super) fn to_parameter(default: &str) -> Parameter {
    Parameter::new("to", default, "who learns the result: site_a, site_b or both")
}

/// The parties that parameter `to` names.
pub(super) fn receivers(arguments: &Arguments) -> Result<Vec<&'static str>, ProgramError> {
    let to: String = arguments.parsed("to", "site_a, site_b or both")?;
    match SITES.into_iter().find(|site| *site == to) {
        Some(site) => Ok(vec![site]),
        None if to == "both" => Ok(SITES.to_vec()),
        None => Err(ProgramError::BadParameter {
            name: "to".to_string(),
            value: to,
            expected: "site_a, site_b or both".to_string(),
        }),
    }
}

/// A site's packed records; the first `head` apart.
#[track_caller]
fn site(
    tracer: &Tracer,
    name: &str,
    rows: u64,
    sorted: Option<bool>,
    head: u64,
) -> (Records, Records) {
    let mut input = tracer
        .input(name, rows)
        .number::<U32>("key")
        .hex::<UInt<PAYLOAD_BITS>>("payload")
        .lanes(LANES)
        .packed();
    if let Some(descending) = sorted {
        input = input.sorted(1);
        if descending {
            input = input.descending();
        }
    }
    input.read_split(head)
}

/// Both sites' records one after the other, without moving lanes.
#[track_caller]
fn both(arguments: &Arguments, tracer: &Tracer, sorted: bool) -> Result<Records, ProgramError> {
    let [rows_a, rows_b] = [arguments.rows(SITES[0])?, arguments.rows(SITES[1])?];
    let lanes = u64::from(LANES);
    let lacking = (lanes - rows_a % lanes) % lanes;
    let (_, first) = site(tracer, SITES[0], rows_a, sorted.then_some(true), 0);
    let (head, rest) = site(tracer, SITES[1], rows_b, sorted.then_some(false), lacking);
    Ok(first.concat(head).concat(rest))
}

#[track_caller]
fn give_out(arguments: &Arguments, tracer: &Tracer, records: Records) -> Result<(), ProgramError> {
    tracer.output("records", &receivers(arguments)?).packed(&record_columns(), records).write();
    Ok(())
}

fn sorted_reference(inputs: &[Table]) -> Vec<Table> {
    let mut rows: Vec<Vec<Lane>> =
        inputs.iter().flat_map(|table| (0..table.row_count()).map(|row| table.row(row))).collect();
    rows.sort_by_key(|row| row[0]);
    let mut table = Table::new(record_columns());
    rows.iter().for_each(|row| table.push(row));
    vec![table]
}

/// Rows with equal keys may come in any order.
fn agrees(outputs: &[Table], expected: &[Table]) -> bool {
    let [output, expected] = [outputs, expected].map(|tables| {
        tables.first().map_or(Vec::new(), |table| {
            (0..table.row_count()).map(|row| table.row(row)).collect::<Vec<_>>()
        })
    });
    let ascending = output.windows(2).all(|pair| pair[0][0] <= pair[1][0]);
    let canonical = |mut rows: Vec<Vec<Lane>>| {
        rows.sort();
        rows
    };
    ascending && canonical(output) == canonical(expected)
}

pub(super) fn random_records(rows: u64, random: &mut SeededRng) -> Table {
    let mut table = Table::new(record_columns());
    for _ in 0..rows {
        table.push(&[random.bits(KEY_BITS), random.bits(PAYLOAD_BITS)]);
    }
    table
}

pub(super) fn generated_records(arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
    let mut random = SeededRng::new(seed);
    let mut tables = Vec::new();
    for site in SITES {
        tables.push(random_records(arguments.rows(site).ok()?, &mut random));
    }
    Some(tables)
}

macro_rules! sorting_program {
    ($type:ident, $name:literal, $about:literal, $sorted:literal, $algorithm:ident) => {
        impl Program for $type {
            fn name(&self) -> &str {
                $name
            }

            fn about(&self) -> &str {
                $about
            }

            fn parameters(&self) -> Vec<Parameter> {
                record_parameters()
            }

            fn parties(&self) -> Vec<String> {
                sites()
            }

            fn trace(
                &self,
                arguments: &Arguments,
                tracer: &mut Tracer,
            ) -> Result<(), ProgramError> {
                let records = both(arguments, tracer, $sorted)?;
                let records = $algorithm(records, &SortKey::bits(0, 0, KEY_BITS));
                give_out(arguments, tracer, records)
            }

            fn reference(
                &self,
                _: &Arguments,
                inputs: &[Table],
            ) -> Option<Result<Vec<Table>, ProgramError>> {
                Some(Ok(sorted_reference(inputs)))
            }

            fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
                generated_records(arguments, seed)
            }

            fn agrees(&self, outputs: &[Table], expected: &[Table]) -> bool {
                agrees(outputs, expected)
            }
        }
    };
}

sorting_program!(
    Merge,
    "merge",
    "two sites' records, sorted by each, merged by their 32-bit key",
    true,
    merge_bitonic
);
sorting_program!(Sort, "sort", "two sites' records sorted by their 32-bit key", false, sort);
