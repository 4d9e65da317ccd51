//! How many users have the same password on two sites?
//!
//! Both sites bring their users sorted, are merged by user (`n log2(n) / 2` comparators), and a
//! reused password is a pair of neighbours with the same user and the same hash. It is the
//! application of Kumar et al., "MAGE: Nearly Zero-Cost Virtual Memory for Secure Computation",
//! OSDI 2021, section 8.8.

use std::collections::HashMap;

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_frontend::{
    Arguments, Bit, Element, Parameter, Program, ProgramError, Records, Tracer, U64, Vector, column,
};
use phineus_oblivious::{SortKey, adjacent, merge_bitonic};

use super::{SITES, sites};

/// Counts users with the same password hash on both sites.
pub(super) struct PasswordReuse;

fn columns() -> Vec<Column> {
    ["user", "password_hash"]
        .map(|name| column(name, ElementType::unsigned(64), Encoding::Text))
        .to_vec()
}

fn count_column() -> Column {
    column("reused_passwords", ElementType::unsigned(32), Encoding::Number)
}

impl Program for PasswordReuse {
    fn name(&self) -> &str {
        "password-reuse"
    }

    fn about(&self) -> &str {
        "how many users have the same password hash on two sites, for both"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("n", "1000", "users per site, where no file says"),
            Parameter::new("overlap", "10", "generated data: percent of users on both sites"),
        ]
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let [rows_a, rows_b] = [arguments.rows(SITES[0])?, arguments.rows(SITES[1])?];
        if rows_a.saturating_add(rows_b) > u64::from(u32::MAX) {
            return Err(ProgramError::Refused(
                "more than 2^32 users would not fit the count".to_string(),
            ));
        }
        let site = |name, rows| {
            tracer
                .input(name, rows)
                .text::<U64>("user")
                .text::<U64>("password_hash")
                .sorted(1)
                .unique()
        };
        let site_a = site(SITES[0], rows_a).descending().read();
        let lanes = u64::from(site_a.chunk_lanes());
        let lacking = (lanes - rows_a % lanes) % lanes;
        let (head, rest) = site(SITES[1], rows_b).read_split(lacking);
        let merged = merge_bitonic(site_a.concat(head).concat(rest), &SortKey::column(0));
        let reused = reused(&merged);
        tracer.output("result", &SITES).number("reused_passwords", &reused.count::<32>()).write();
        Ok(())
    }

    fn reference(
        &self,
        _: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let rows = |table: &Table| -> Vec<Vec<Lane>> {
            (0..table.row_count()).map(|row| table.row(row)).collect()
        };
        let users: HashMap<Lane, Lane> =
            rows(&inputs[0]).iter().map(|row| (row[0], row[1])).collect();
        let reused =
            rows(&inputs[1]).iter().filter(|row| users.get(&row[0]) == Some(&row[1])).count();
        let mut table = Table::new(vec![count_column()]);
        table.push(&[Lane::from(reused)]);
        Some(Ok(vec![table]))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let rows = [arguments.rows(SITES[0]).ok()?, arguments.rows(SITES[1]).ok()?];
        let percent: u64 = arguments.parsed("overlap", "0 to 100").ok()?;
        let mut random = SeededRng::new(seed);
        let shared = rows[0].min(rows[1]) * percent.min(100) / 100;
        let mut tables = [Table::new(columns()), Table::new(columns())];
        // Half of the shared users have the same password on both sites.
        for index in 0..shared {
            let (user, first) = (random.bits(64), random.bits(64));
            let second = if index % 2 == 0 { first } else { random.bits(64) };
            tables[0].push(&[user, first]);
            tables[1].push(&[user, second]);
        }
        for (table, rows) in tables.iter_mut().zip(rows) {
            while table.row_count() < rows {
                table.push(&[random.bits(64), random.bits(64)]);
            }
        }
        Some(tables.to_vec())
    }
}

/// Whether each record but the last equals the next, in every column.
fn reused(records: &Records) -> Vector<Bit> {
    let key = SortKey::column(0).then(SortKey::column(1));
    let equal = adjacent(records, |row, next| key.eq(row, next));
    Vector::from_pieces(records.tracer(), equal.into_iter().map(Bit::from_value))
}
