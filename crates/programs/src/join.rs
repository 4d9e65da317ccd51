//! `join`: combines what two owners know about the same keys.
//!
//! Each owner brings rows with a key of one or several columns, sorted by it. The tables are merged
//! by key and partners exchange payloads ([`phineus_oblivious::Matching`]). Then either the merge is
//! undone, so that each owner learns something about each of its own rows in its own order, or only
//! totals leave: the number of matches, sums and means, by category if wanted.

mod columns;
mod plaintext;
mod plan;
mod totals;

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, Table};
use phineus_frontend::{
    Arguments, Bit, ColumnRange, Element, Parameter, Program, ProgramError, Records, Tracer, Value,
    column, same_rows, to_parameter,
};
use phineus_oblivious::Matching;

use super::{SITES, sites};
use plan::{JoinParameters, JoinResult};

/// Joins the tables of two owners by key.
pub(super) struct KeyedJoin;

impl Program for KeyedJoin {
    fn name(&self) -> &str {
        "join"
    }

    fn about(&self) -> &str {
        "joins two owners' tables by key: the other's columns beside one's own rows, or only totals"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("n", "1000", "rows of each owner, where no file says"),
            Parameter::new(
                "key",
                "id:u64",
                "columns that must be equal: NAME:TYPE,... (text, u32, ...)",
            ),
            Parameter::new(
                "left",
                "",
                "columns of site_a that site_b learns where keys match, or of totals",
            ),
            Parameter::new("right", "value:u32", "the same of site_b, for site_a"),
            Parameter::new(
                "how",
                "inner",
                "inner: only rows with a partner; left: all rows of one's own",
            ),
            Parameter::new("repeats", "1", "how many rows of site_b may have the same key"),
            Parameter::new("result", "rows", "rows, or totals: any of count,sum,mean"),
            Parameter::new("value", "", "the column of left or right that sum and mean are of"),
            Parameter::new(
                "by",
                "",
                "the column of left or right whose numbers, from 0 on, are categories",
            ),
            Parameter::new("categories", "1", "how many categories there are"),
            to_parameter("all"),
        ]
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn reveals(&self, arguments: &Arguments) -> Option<String> {
        JoinParameters::of(arguments).ok().map(|plan| plan.sentence())
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let plan = JoinParameters::of(arguments)?;
        let rows = [arguments.rows(SITES[0])?, arguments.rows(SITES[1])?];
        if rows[0].saturating_add(rows[1]) > u64::from(u32::MAX) {
            let what = "more than 2^32 rows would not fit the count";
            return Err(ProgramError::Refused(what.to_owned()));
        }
        let [first, second] = [0, 1].map(|site| read(tracer, &plan, site, rows[site]));
        let matching = (rows != [0, 0]).then(|| Matching::new(first, second, plan.repeats));
        match &plan.wanted {
            JoinResult::Rows { .. } => give_rows(tracer, &plan, matching.as_ref()),
            JoinResult::Totals(totals) => totals::give(tracer, &plan, totals, matching.as_ref()),
        }
        Ok(())
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        Some(JoinParameters::of(arguments).map(|plan| plaintext::outputs(&plan, inputs)))
    }

    fn agrees(&self, outputs: &[Table], expected: &[Table]) -> bool {
        // Rows without a partner have columns that mean nothing; totals have no such rows.
        let masked = |table: &Table| {
            let found = table.columns().iter().position(|column| column.name == plan::FOUND);
            match found {
                Some(found) => table.clone().zeroed_unless(found),
                None => table.clone(),
            }
        };
        outputs.len() == expected.len()
            && outputs.iter().zip(expected).all(|(o, expected)| same_rows(&masked(o), expected))
    }

    fn ranges(&self, arguments: &Arguments) -> Result<Vec<ColumnRange>, ProgramError> {
        Ok(JoinParameters::of(arguments)?.ranges())
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let plan = JoinParameters::of(arguments).ok()?;
        let rows = [arguments.rows(SITES[0]).ok()?, arguments.rows(SITES[1]).ok()?];
        Some(plaintext::generated(&plan, rows, &mut SeededRng::new(seed)))
    }
}

/// The rows of one owner: its key, and its payload where it stands among that of both.
#[track_caller]
fn read(tracer: &Tracer, plan: &JoinParameters, site: usize, rows: u64) -> Records {
    let mut input = tracer.input(SITES[site], rows);
    let brought = plan.brought(site);
    for column in &brought {
        input = input.column(column.clone());
    }
    let input = input.sorted(plan.key.len() as u16);
    let input = match (site, plan.repeats) {
        (0, _) | (_, 1) => input.unique(),
        (_, repeats) => input.repeats_max(repeats),
    };
    let wires = plan.compared_bits().max(plan.payload_bits());
    let records = input.lanes(phineus_frontend::lanes_for(wires)).read();
    let mut columns = [Vec::new(), Vec::new()];
    for chunk in 0..records.chunk_count() {
        let values = records.chunk(chunk);
        let (key, payload) = values.split_at(plan.key.len());
        // The first column of a key is the most significant.
        let key = joined(key.iter().rev());
        columns[0].extend(key);
        columns[1].push(plan.placed(tracer, site, joined(payload.iter()), values[0].lanes()));
    }
    let types = [plan.key_bits(), plan.payload_bits()].map(phineus_bytecode::ElementType::unsigned);
    Records::from_pieces(tracer, records.chunk_lanes(), &types, columns.into())
}

/// The bits of all values in one, the first lowest.
#[track_caller]
fn joined<'a>(values: impl Iterator<Item = &'a Value>) -> Option<Value> {
    let unsigned = values.map(|value| value.bit_slice(0, value.width()));
    unsigned.reduce(|low, high| low.bit_concat(&high))
}

/// Gives each receiver its partners' columns beside its own rows.
#[track_caller]
fn give_rows(tracer: &Tracer, plan: &JoinParameters, matching: Option<&Matching>) {
    let partners = matching.map(Matching::partners).map(|(first, second)| [first, second]);
    for site in plan.receivers() {
        let mut output = tracer.output(&plan::rows_name(site), &[SITES[site]]);
        let records = partners.as_ref().map(|partners| &partners[site]);
        for slot in 0..plan.slots(site) {
            let chunks = |column| records.map_or(Vec::new(), |r| r.chunks(column).to_vec());
            let (found, payload) = (chunks(2 * slot), chunks(2 * slot + 1));
            let described = plan.slot_columns(site, slot);
            output = output.chunks(described[0].clone(), found);
            let mut start = 0;
            for described in &described[1..] {
                let (from, width) = (start, described.element.width());
                let signed = described.element.is_signed();
                let cut = |value: &Value| value.bit_slice(from, width).with_sign(signed);
                output = output.chunks(described.clone(), payload.iter().map(cut).collect());
                start += width;
            }
        }
        let output = output.rows_of(SITES[site]).found_by(plan::FOUND, plan.keeps_all());
        output.in_groups(plan.slots(site) as u16).write();
    }
}

/// A column of one bit.
fn bit_column(name: &str) -> Column {
    column(name, Bit::TYPE, phineus_bytecode::Encoding::Number)
}
