//! `psi`: which elements two or more parties have in common, or how many.
//!
//! Each party brings its elements sorted and without repetition. All are merged (a tree of bitonic
//! merges), and an element that `N` parties have stands `N` times in a row: it is common if the
//! row `N - 1` further on is equal. Huang, Evans, Katz, "Private Set Intersection: Are Garbled
//! Circuits Better than Custom Protocols?", NDSS 2012, for two parties; the count by comparison
//! of neighbours carries over to any number.
//!
//! With `result=elements` each receiver learns one bit for each of its own rows, in its own order:
//! the bits go back through the merges that they came from, at one AND a comparator, so that
//! nobody learns where a row stood among those of others.

use std::collections::HashMap;

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, Encoding, Lane, Table};
use phineus_frontend::{
    Arguments, Bit, Element, Parameter, Program, ProgramError, Records, Tracer, U32, U64, Vector,
    column, parties_parameter, party_names, receivers, to_parameter,
};
use phineus_oblivious::{MergeRecord, SortKey, merge_recorded};

use super::choices::choice;
use super::sites;

/// The intersection of the parties' sets.
pub(super) struct Intersection;

fn element_column() -> Column {
    column("element", U64::TYPE, Encoding::Text)
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

/// The merges of some parties' sets, as a tree with the parties in order.
enum Merges {
    Set,
    Merge(Box<Merges>, Box<Merges>, MergeRecord),
}

/// All records sorted, from sorted ones, and how.
#[track_caller]
fn merged(sets: Vec<Records>) -> (Records, Merges) {
    let key = SortKey::column(0);
    let mut sets: Vec<(Records, Merges)> =
        sets.into_iter().map(|records| (records, Merges::Set)).collect();
    while sets.len() > 1 {
        let mut pairs = Vec::new();
        let mut rest = sets.into_iter();
        while let Some((first, left)) = rest.next() {
            pairs.push(match rest.next() {
                Some((second, right)) => {
                    let (records, record) = merge_recorded(first, second, &key);
                    (records, Merges::Merge(Box::new(left), Box::new(right), record))
                }
                None => (first, left),
            });
        }
        sets = pairs;
    }
    sets.pop().expect("there are two parties or more")
}

impl Merges {
    fn parties(&self) -> usize {
        match self {
            Merges::Set => 1,
            Merges::Merge(left, right, _) => left.parties() + right.parties(),
        }
    }

    /// Takes `records` apart again, for those of the parties from `first` on that are `wanted`.
    #[track_caller]
    fn undo(
        &self,
        first: usize,
        wanted: &[bool],
        records: Records,
        found: &mut Vec<(usize, Records)>,
    ) {
        match self {
            Merges::Set => found.push((first, records)),
            Merges::Merge(left, right, record) => {
                let (of_left, of_right) = record.undo(records);
                let middle = first + left.parties();
                let parts = [
                    (left, first, middle, of_left),
                    (right, middle, first + self.parties(), of_right),
                ];
                for (part, first, end, records) in parts {
                    if wanted[first..end].contains(&true) {
                        part.undo(first, wanted, records, found);
                    }
                }
            }
        }
    }
}

/// For each row whether it is one of `parties` equal rows; rows are sorted.
#[track_caller]
fn common_rows(common: &Vector<Bit>, parties: u64) -> Vector<Bit> {
    let none = Vector::<Bit>::filled(common.tracer(), false, parties - 1);
    // `common` holds where such a run begins. Runs do not overlap, so XOR joins them.
    let begins = common.concat(&none);
    let shifted = (1..parties).map(|by| {
        let none = Vector::<Bit>::filled(common.tracer(), false, by);
        none.concat(&begins.slice(0, begins.len() - by))
    });
    let all: Vec<Vector<Bit>> = shifted.collect();
    all.iter().fold(begins.clone(), |sum, next| sum.zip(next, |a, b| a ^ b))
}

/// The output of the rows of `party`.
fn rows_name(party: &str) -> String {
    format!("common_{party}")
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
            Parameter::new(
                "result",
                "count",
                "what is given out: count, or elements: each receiver's own rows that all have",
            ),
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

    fn reveals(&self, arguments: &Arguments) -> Option<String> {
        let names = party_names(arguments).ok()?;
        let receivers = receivers(arguments, &names).ok()?;
        let (who, verb) = match receivers[..] {
            [one] => (one.to_owned(), "learns"),
            _ => (receivers.join(" and "), "each learn"),
        };
        let what = match gives_elements(arguments).ok()? {
            true => "which of its own elements all parties have",
            false => "how many elements all parties have",
        };
        Some(format!("{who} {verb} {what}; all learn how many rows each brings, and nothing else"))
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let names = party_names(arguments)?;
        let rows = rows(arguments, &names)?;
        let elements = gives_elements(arguments)?;
        let receivers = receivers(arguments, &names)?;
        let sets = names.iter().zip(&rows).map(|(name, &rows)| {
            tracer.input(name, rows).column(element_column()).sorted(1).unique().read()
        });
        let sets: Vec<Records> = sets.collect();
        let wanted: Vec<bool> = names.iter().map(|n| receivers.contains(&n.as_str())).collect();
        // With an empty set nothing is common, and nothing is computed.
        let has_all = !rows.contains(&0);
        let (sorted, merges) = if has_all {
            let (records, merges) = merged(sets);
            (records.column::<U64>(0), merges)
        } else {
            (Vector::filled(tracer, 0u64, 0), Merges::Set)
        };
        let further = names.len() as u64 - 1;
        let starts = sorted.len().saturating_sub(further);
        let further = further.min(sorted.len());
        let (first, last) = (sorted.slice(0, starts), sorted.slice(further, starts));
        let common = first.zip(&last, |a, b| a.eq(b));
        if !elements {
            let count = common.count::<32>();
            tracer.output("result", &receivers).number("common", &count).write();
            return Ok(());
        }
        let mut found = Vec::new();
        if has_all {
            let bits = Records::from_vector(common_rows(&common, names.len() as u64));
            merges.undo(0, &wanted, bits, &mut found);
        } else {
            let none =
                |&rows: &u64| Records::from_vector(Vector::<Bit>::filled(tracer, false, rows));
            found.extend(rows.iter().map(none).enumerate().filter(|(party, _)| wanted[*party]));
        }
        for (party, bits) in found {
            let name = names[party].as_str();
            let output = tracer.output(&rows_name(name), &[name]);
            output
                .vector("common", bits.column::<Bit>(0))
                .rows_of(name)
                .found_by("common", false)
                .write();
        }
        Ok(())
    }

    fn reference(
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
        let is_common = |element: Lane| parties.get(&element) == Some(&inputs.len());
        let answer = || -> Result<Vec<Table>, ProgramError> {
            if !gives_elements(arguments)? {
                let mut table = Table::new(vec![count_column()]);
                let common = parties.values().filter(|&&count| count == inputs.len()).count();
                table.push(&[Lane::from(common)]);
                return Ok(vec![table]);
            }
            let names = party_names(arguments)?;
            let receivers = receivers(arguments, &names)?;
            let learning =
                names.iter().zip(inputs).filter(|(n, _)| receivers.contains(&n.as_str()));
            Ok(learning
                .map(|(_, input)| {
                    let common = column("common", Bit::TYPE, Encoding::Number);
                    let mut table = Table::new(vec![common]);
                    let rows = 0..input.row_count();
                    rows.for_each(|row| table.push(&[Lane::from(is_common(input.cell(row, 0)))]));
                    table
                })
                .collect())
        };
        Some(answer())
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let names = party_names(arguments).ok()?;
        let rows = rows(arguments, &names).ok()?;
        let percent: u64 = arguments.parsed("overlap", "0 to 100").ok()?;
        let mut random = SeededRng::new(seed);
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
