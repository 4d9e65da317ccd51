//! Sentences about who learnt what, at the beginning of a report.

use phineus_bytecode::{Description, OutputPort, RowOrder, Table};
use phineus_tables::format_value;
use phineus_tables::quantity;

use crate::own_rows::found_rows;
use crate::protocol::{Adversary, Protocol};
use crate::report::OutputReport;
use crate::settings::PreprocessingMode;

/// Said beside malicious security, of programs whose owners sort their tables themselves.
const ORDER_IS_PROVEN: &str =
    "Each owner proved that its table was sorted and without forbidden repetitions.";

/// Columns of an output that are named.
const COLUMNS_MAX: usize = 6;

/// Who learnt what, one sentence for each group of parties, and what that rests on.
///
/// `places` say which outputs went to files; values are shown only of outputs of one row that went
/// to stdout.
pub fn sentences(
    description: &Description,
    outputs: &[Option<Table>],
    places: &[OutputReport],
    basis: Assumption,
) -> Vec<String> {
    let mut lines = Vec::new();
    let file = |index: usize| places.get(index).and_then(|place| place.file.as_deref());
    for place in places {
        if let Some(file) = &place.file {
            lines.push(format!("'{}' is in {file} ({})", place.name, rows(place.rows)));
        }
    }
    // Outputs for the same parties share a sentence, in the order of the first of each.
    let mut groups: Vec<(&[u16], Vec<String>)> = Vec::new();
    for (index, port) in description.outputs.iter().enumerate() {
        let shown = outputs.get(index).and_then(Option::as_ref).filter(|_| file(index).is_none());
        let what = content(port, shown);
        match groups.iter_mut().find(|(parties, _)| *parties == port.parties) {
            Some((_, contents)) => contents.push(what),
            None => groups.push((&port.parties, vec![what])),
        }
    }
    let name = |party: &u16| description.parties[usize::from(*party)].as_str();
    for (parties, contents) in groups {
        let parties = list(&parties.iter().map(name).collect::<Vec<_>>());
        lines.push(format!("{parties} learnt: {}.", contents.join("; ")));
    }
    lines.push(basis.sentence().to_owned());
    if basis == Assumption::Malicious
        && description.inputs.iter().any(|port| port.order != RowOrder::Given)
    {
        lines.push(ORDER_IS_PROVEN.to_owned());
    }
    lines
}

/// Describes an output: its name and value, or its size.
fn content(port: &OutputPort, table: Option<&Table>) -> String {
    if port.rows_of.is_some() {
        return about_rows(port, table);
    }
    let names = port.columns.iter().map(|column| column.name.as_str());
    let is_short = port.columns.len() <= COLUMNS_MAX;
    let values = table.filter(|table| table.row_count() == 1 && is_short);
    if let Some(table) = values {
        let cells = port.columns.iter().enumerate().map(|(place, column)| {
            format!("{} ({})", column.name, format_value(table.cell(0, place), column))
        });
        return list(&cells.collect::<Vec<_>>());
    }
    let more = if is_short { "" } else { ", ..." };
    let names = names.take(COLUMNS_MAX).collect::<Vec<_>>().join(", ");
    format!("'{}', {} of {names}{more}", port.name, rows(port.rows))
}

/// Describes an output about its owner's rows.
fn about_rows(port: &OutputPort, table: Option<&Table>) -> String {
    let names: Vec<&str> = port.columns.iter().map(|column| column.name.as_str()).collect();
    let names = list(&names[..names.len().min(COLUMNS_MAX)]);
    let found = table.and_then(|table| found_rows(port, table));
    let found =
        found.map_or(String::new(), |count| format!(" ({} have it)", quantity::count(count)));
    format!("for each of its own {} the value of {names}{found}", rows(port.rows))
}

fn rows(count: u64) -> String {
    match count {
        1 => "1 row".to_owned(),
        _ => format!("{} rows", quantity::count(count)),
    }
}

/// `a`, `a and b`, `a, b and c`.
fn list<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [] => "nobody".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The assumption under which nobody learnt more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// No secrecy: it was computed in the clear.
    Clear,
    /// No secrecy: preprocessing came from a dealer.
    Dealt,
    /// All parties follow the protocol.
    SemiHonest,
    /// All parties follow the protocol, and no two of them compare what they saw.
    SemiHonestApart,
    /// One party is honest; a lie passes with a probability that does not matter.
    Malicious,
    /// One party is honest, but a lie passes with a probability that matters.
    Weak,
}

impl Assumption {
    /// Of a run under `protocol`.
    pub fn of(protocol: Protocol, preprocessing: &PreprocessingMode) -> Assumption {
        match protocol.adversary() {
            Adversary::Nobody => Assumption::Clear,
            _ if *preprocessing == PreprocessingMode::Fake => Assumption::Dealt,
            Adversary::SemiHonest => Assumption::SemiHonest,
            Adversary::SemiHonestApart => Assumption::SemiHonestApart,
            Adversary::Malicious => Assumption::Malicious,
            Adversary::MaliciousWeak => Assumption::Weak,
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Assumption::Clear => "Nothing was hidden: it was computed in the clear.",
            Assumption::Dealt => {
                "Nothing was hidden: with preprocessing by a dealer, every party could \
                 compute all secrets."
            }
            Assumption::SemiHonest => {
                "Nobody learnt anything else about the data but what `phineus explain` lists, if \
                 all parties followed the protocol."
            }
            Assumption::SemiHonestApart => {
                "Nobody learnt anything else about the data but what `phineus explain` lists, if \
                 all parties followed the protocol and no two of them compare what they saw."
            }
            Assumption::Malicious => {
                "Nobody learnt anything else about the data but what `phineus explain` lists, even \
                 if others cheated."
            }
            Assumption::Weak => {
                "Nobody learnt anything else about the data but what `phineus explain` lists, \
                 unless a lie passed the weak check of spdz-32."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Choice;
    use phineus_bytecode::{Column, ElementType, Encoding, Lane};

    fn port(name: &str, parties: &[u16], rows: u64, columns: &[&str]) -> OutputPort {
        OutputPort {
            name: name.to_owned(),
            parties: parties.to_vec(),
            rows,
            columns: columns
                .iter()
                .map(|name| Column {
                    name: (*name).to_owned(),
                    element: ElementType::signed(16),
                    encoding: Encoding::Number,
                })
                .collect(),
            rows_of: None,
        }
    }

    fn table(port: &OutputPort) -> Option<Table> {
        let mut table = Table::new(port.columns.clone());
        for row in 0..port.rows {
            table.push(&vec![Lane::from(row + 7); port.columns.len()]);
        }
        Some(table)
    }

    #[test]
    fn each_group_of_parties_has_a_sentence() {
        let ports = vec![
            port("sum", &[0, 1], 1, &["total"]),
            port("large", &[1], 2000, &["key", "value"]),
            port("nearest", &[0, 1], 1, &["distance", "row"]),
            port("none", &[0, 1, 2], 0, &["key"]),
        ];
        let mut outputs: Vec<Option<Table>> = ports.iter().map(table).collect();
        // This party does not learn it.
        outputs[1] = None;
        let parties = ["ann", "ben", "cid"].map(str::to_owned).to_vec();
        let description = Description { parties, outputs: ports.into(), ..Description::default() };
        let mut places = crate::report::outputs(&description);
        let said = |places: &[OutputReport]| {
            sentences(&description, &outputs, places, Assumption::SemiHonest)
        };
        let last = "Nobody learnt anything else about the data but what `phineus explain` lists, if \
                    all parties followed the protocol.";
        assert_eq!(
            said(&places),
            [
                "ann and ben learnt: total (7); distance (7) and row (7).",
                "ben learnt: 'large', 2,000 rows of key, value.",
                "ann, ben and cid learnt: 'none', 0 rows of key.",
                last
            ]
        );
        // What goes to a file is not shown.
        places[0].file = Some("sum.csv".to_owned());
        assert_eq!(
            said(&places)[..2],
            [
                "'sum' is in sum.csv (1 row)",
                "ann and ben learnt: 'sum', 1 row of total; distance (7) and row (7)."
            ]
        );
    }

    #[test]
    fn what_it_rests_on_follows_the_protocol() {
        let named = |name| Protocol::from_name(name).expect("it is one of the list");
        let of = |name| Assumption::of(named(name), &PreprocessingMode::Interleaved);
        assert_eq!(of("garbled"), Assumption::SemiHonest);
        assert_eq!(of("gmw"), Assumption::SemiHonest);
        assert_eq!(of("spdz"), Assumption::Malicious);
        assert_eq!(of("spdz-128"), Assumption::Malicious);
        assert_eq!(of("spdz-32"), Assumption::Weak);
        assert_eq!(of("clear"), Assumption::Clear);
        assert_eq!(Assumption::of(named("spdz"), &PreprocessingMode::Fake), Assumption::Dealt);
    }
}
