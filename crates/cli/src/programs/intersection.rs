//! `psi`: which elements two or more parties have in common, or how many.
//!
//! Each party brings its elements sorted and without repetition. All are merged (a tree of bitonic
//! merges), and an element that `N` parties have stands `N` times in a row: it is common if the
//! row `N - 1` further on is equal. Huang, Evans, Katz, "Private Set Intersection: Are Garbled
//! Circuits Better than Custom Protocols?", NDSS 2012, for two parties; the count by comparison
//! of neighbours carries over to any number.
//!
//! The elements are given out in an order of their own, the common ones first and 0 for all others,
//! in as many rows as the smallest set has; so nobody sees where they stood.

use std::collections::HashMap;

use phineus_bytecode::{Column, Encoding, Lane, Table};
use phineus_frontend::{
    Arguments, Bit, Element, Parameter, Program, ProgramError, Records, Tracer, U32, U64, Vector,
    column, parties_parameter, party_names, receivers, to_parameter,
};
use phineus_oblivious::{Key, compact, merge};

use super::choices::choice;
use super::random::Random;
use super::sites;

/// The intersection of the parties' sets.
pub(super) struct Intersection;

fn element_column() -> Column {
    column("element", U64::TYPE, Encoding::Text)
}

/// As the elements are given out: hashes where the input is text.
fn result_columns() -> Vec<Column> {
    vec![column("common", Bit::TYPE, Encoding::Number), column("element", U64::TYPE, Encoding::Hex)]
}

fn count_column() -> Column {
    column("common", U32::TYPE, Encoding::Number)
}

/// Rows of each party.
fn rows(arguments: &Arguments, names: &[String]) -> Result<Vec<u64>, ProgramError> {
    let rows: Vec<u64> = names.iter().map(|name| arguments.rows(name)).collect::<Result<_, _>>()?;
    let total = rows.iter().fold(0u64, |sum, &rows| sum.saturating_add(rows));
    if total > u64::from(u32::MAX) {
        let what = "more than 2^32 elements would not fit the count";
        return Err(ProgramError::Refused(what.to_owned()));
    }
    Ok(rows)
}

fn gives_elements(arguments: &Arguments) -> Result<bool, ProgramError> {
    Ok(choice(arguments, "result", &["count", "elements"])? == "elements")
}

/// All records sorted, from sorted ones.
#[track_caller]
fn merged(mut sets: Vec<Records>) -> Records {
    let key = Key::column(0);
    while sets.len() > 1 {
        let mut pairs = Vec::new();
        let mut rest = sets.into_iter();
        while let Some(first) = rest.next() {
            pairs.push(match rest.next() {
                Some(second) => merge(first, second, &key),
                None => first,
            });
        }
        sets = pairs;
    }
    sets.pop().expect("there are two parties or more")
}

impl Program for Intersection {
    fn name(&self) -> &str {
        "psi"
    }

    fn about(&self) -> &str {
        "the elements that all parties have, or how many there are"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("n", "1000", "elements of each party, where no file says"),
            Parameter::new("result", "count", "what is given out: count or elements"),
            Parameter::new("overlap", "10", "generated data: percent of common elements"),
            parties_parameter("2"),
            to_parameter("all"),
        ]
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn parties_for(&self, arguments: &Arguments) -> Result<Vec<String>, ProgramError> {
        party_names(arguments)
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let names = party_names(arguments)?;
        let rows = rows(arguments, &names)?;
        let elements = gives_elements(arguments)?;
        let receivers = receivers(arguments, &names)?;
        let sets = names.iter().zip(&rows).map(|(name, &rows)| {
            tracer.input(name, rows).column(element_column()).sorted(1).unique().read()
        });
        let sorted = merged(sets.collect()).column::<U64>(0);
        let further = names.len() as u64 - 1;
        let starts = sorted.len() - further;
        let (first, last) = (sorted.slice(0, starts), sorted.slice(further, starts));
        let common = first.zip(&last, |a, b| a.eq(b));
        if !elements {
            let count = common.count::<32>();
            tracer.output("result", &receivers).number("common", &count).write();
            return Ok(());
        }
        let masked: Vector<U64> = common.zip(&first, |bit, element| bit.mask(element));
        let found = Records::from_vector(masked).with_column(&common);
        let keep = found.column::<Bit>(1);
        let (found, _) = compact(found, &keep);
        let least = rows.iter().copied().min().expect("there are parties");
        let found = found.slice(0, least.min(starts));
        let [bits, elements] = [1, 0].map(|index| found.chunks(index).to_vec());
        let mut output = tracer.output("result", &receivers);
        for (column, chunks) in result_columns().into_iter().zip([bits, elements]) {
            output = output.chunks(column, chunks);
        }
        output.write();
        Ok(())
    }

    fn twin(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let mut parties: HashMap<Lane, usize> = HashMap::new();
        for table in inputs {
            for row in 0..table.row_count() {
                *parties.entry(table.cell(row, 0)).or_default() += 1;
            }
        }
        let common: Vec<Lane> = parties
            .into_iter()
            .filter(|&(_, count)| count == inputs.len())
            .map(|(element, _)| element)
            .collect();
        Some(gives_elements(arguments).map(|elements| {
            if !elements {
                let mut table = Table::new(vec![count_column()]);
                table.push(&[Lane::from(common.len())]);
                return vec![table];
            }
            let least = inputs.iter().map(Table::row_count).min().unwrap_or(0);
            let mut table = Table::new(result_columns());
            common.iter().for_each(|&element| table.push(&[Lane::ONE, element]));
            while table.row_count() < least {
                table.push(&[Lane::ZERO; 2]);
            }
            vec![table]
        }))
    }

    /// The elements may come in any order.
    fn agrees(&self, outputs: &[Table], expected: &[Table]) -> bool {
        let sorted = |tables: &[Table]| {
            let table = tables.first()?;
            let mut rows: Vec<Vec<Lane>> = (0..table.row_count()).map(|r| table.row(r)).collect();
            rows.sort();
            Some((table.columns().to_vec(), rows))
        };
        sorted(outputs) == sorted(expected)
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let names = party_names(arguments).ok()?;
        let rows = rows(arguments, &names).ok()?;
        let percent: u64 = arguments.parsed("overlap", "0 to 100").ok()?;
        let mut random = Random::new(seed);
        let least = rows.iter().copied().min()?;
        let common: Vec<Lane> =
            (0..least * percent.min(100) / 100).map(|_| random.bits(64)).collect();
        // Some elements are of neighbours only, which must not count.
        let mut before: Vec<Lane> = Vec::new();
        let mut tables = Vec::new();
        for rows in rows {
            let mut set = common.clone();
            let open = rows - set.len() as u64;
            set.extend(before.iter().take(open as usize / 3).copied());
            before.clear();
            while (set.len() as u64) < rows {
                before.push(random.bits(64));
                set.extend(before.last());
            }
            let mut table = Table::new(vec![element_column()]);
            set.iter().for_each(|&element| table.push(&[element]));
            tables.push(table);
        }
        Some(tables)
    }
}
