//! How input files are read: `--column` and `--repeat-keys`.

use std::collections::BTreeMap;

use phineus_bytecode::{Description, InputPort};
use phineus_tables::Names;

use crate::failure::{Failure, Remedy, RunField, codes};
use crate::ports::{candidates, named};
use crate::settings::{Choice, Reading, RepeatKeys};

/// Names that are listed where one is unknown.
const NAMES_MAX: usize = 20;

impl Reading {
    /// The options that say the same to a process that has only the inputs `ports`.
    pub fn typed(&self, names: &BTreeMap<String, Names>, ports: &[&str]) -> Vec<String> {
        let mut typed = Vec::new();
        for port in ports {
            for (wanted, found) in names.get(*port).into_iter().flatten() {
                typed.extend(["--column".to_owned(), format!("{port}.{wanted}={found}")]);
            }
        }
        if self.repeat_keys != RepeatKeys::default() {
            typed.extend(["--repeat-keys".to_owned(), self.repeat_keys.name().to_owned()]);
        }
        typed
    }

    /// The names of columns in the files of each input; `aliases` and `party` as for
    /// [`crate::binding::assign`]. A party that brings nothing may be given the command line of those who
    /// bring something: its options are checked against all inputs, and none applies.
    ///
    /// # Errors
    /// An input or a column that does not exist, with those that do; a column that is given twice.
    pub fn names(
        &self,
        description: &Description,
        (aliases, party): (&[String], Option<u16>),
    ) -> Result<BTreeMap<String, Names>, Failure> {
        let own = candidates(description, party);
        let has_no_inputs = own.is_empty();
        let ports = if has_no_inputs { candidates(description, None) } else { own };
        let mut names: BTreeMap<String, Names> = BTreeMap::new();
        for argument in &self.columns {
            let (left, found) = argument
                .split_once('=')
                .filter(|(left, found)| !left.is_empty() && !found.is_empty())
                .ok_or_else(|| {
                    Failure::usage(format!(
                        "column '{argument}' is not of the form [INPUT.]WANTED=FOUND"
                    ))
                })?;
            let (targets, wanted) = targets(description, &ports, aliases, left)?;
            for port in targets {
                let known = names.entry(port.name.clone()).or_default();
                if let Some(first) = known.insert(wanted.to_owned(), found.trim().to_owned()) {
                    let message = format!(
                        "it is said twice where column '{wanted}' of '{}' is: {first} and {found}",
                        port.name
                    );
                    return Err(Failure::usage(message));
                }
            }
        }
        if has_no_inputs {
            names.clear();
        }
        Ok(names)
    }
}

/// The inputs that `[INPUT.]WANTED` is about, and the column that they want. Both may have points.
fn targets<'a, 'b>(
    description: &Description,
    ports: &[&'a InputPort],
    aliases: &[String],
    left: &'b str,
) -> Result<(Vec<&'a InputPort>, &'b str), Failure> {
    let all: Vec<&InputPort> = ports.iter().copied().filter(|port| may_want(port, left)).collect();
    if !all.is_empty() {
        return Ok((all, left));
    }
    let mut refused = None;
    for (place, _) in left.match_indices('.') {
        let (input, wanted) = (&left[..place], &left[place + 1..]);
        match named(description, ports, aliases, input) {
            Ok(port) if may_want(port, wanted) => return Ok((vec![port], wanted)),
            Ok(port) => refused = Some(unknown_column(wanted, &[port])),
            Err(failure) => refused = refused.or(Some(failure)),
        }
    }
    Err(refused.unwrap_or_else(|| unknown_column(left, ports)))
}

/// Returns whether an input has a column of this name, or may have one: the number of numbered columns
/// may depend on sizes that are not known yet.
fn may_want(port: &InputPort, wanted: &str) -> bool {
    let stem = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let numbered = |name: &str| stem(name) < name.len();
    port.columns.iter().any(|column| {
        let name = &column.name;
        let is_like = numbered(name) && numbered(wanted);
        name == wanted || (is_like && name[..stem(name)] == wanted[..stem(wanted)])
    })
}

/// The failure of a column that none of `ports` wants.
pub fn unknown_column(wanted: &str, ports: &[&InputPort]) -> Failure {
    let list = |port: &&InputPort| {
        let names: Vec<&str> =
            port.columns.iter().map(|column| column.name.as_str()).take(NAMES_MAX).collect();
        let more = if port.columns.len() > NAMES_MAX { ", ..." } else { "" };
        format!("'{}' has {}{more}", port.name, names.join(", "))
    };
    let known = match ports {
        [] => "there is no input here".to_owned(),
        ports => ports.iter().map(list).collect::<Vec<_>>().join("; "),
    };
    let message = format!("no input wants a column '{wanted}'; {known}");
    Failure::new(codes::NO_SUCH_COLUMN, message).remedy(
        Remedy::new("write ")
            .field(RunField::Columns)
            .and(" WANTED=FOUND, with the name in your file on the right"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use phineus_bytecode::{Column, ElementType, Encoding};

    fn description() -> Description {
        let port = |name: &str, party, columns: &[&str]| InputPort {
            name: name.to_owned(),
            party,
            rows: 1,
            columns: columns
                .iter()
                .map(|name| Column {
                    name: (*name).to_owned(),
                    element: ElementType::unsigned(8),
                    encoding: Encoding::Number,
                })
                .collect(),
            order: Default::default(),
        };
        Description {
            parties: vec!["a".to_owned(), "b".to_owned()],
            inputs: vec![
                port("a", 0, &["user", "p.hash"]),
                port("b", 1, &["user"]),
                port("b.m", 1, &["c0"]),
            ]
            .into(),
            ..Description::default()
        }
    }

    fn names(columns: &[&str], party: Option<u16>) -> Result<String, String> {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        let reading = Reading { columns, ..Reading::default() };
        let aliases = ["left".to_owned(), "right".to_owned()];
        let names = reading.names(&description(), (&aliases, party)).map_err(|f| f.message())?;
        Ok(reading.typed(&names, &["a", "b", "b.m"]).join(" "))
    }

    #[test]
    fn columns_find_their_inputs() {
        for (columns, party, expected) in [
            (&["user=id"][..], None, "--column a.user=id --column b.user=id"),
            (&["user=id"], Some(0), "--column a.user=id"),
            (&["a.user=id", "b.user=x=y"], None, "--column a.user=id --column b.user=x=y"),
            (&["left.user=id"], None, "--column a.user=id"),
            (&["p.hash=h"], None, "--column a.p.hash=h"),
            (&["a.p.hash=h"], None, "--column a.p.hash=h"),
            (&["b.m.c7=x"], None, "--column b.m.c7=x"),
            (&["c1= x "], None, "--column b.m.c1=x"),
            // Party 2 brings nothing: it may be told what the others are.
            (&["user=id", "a.p.hash=h", "b.m.c1=x"], Some(2), ""),
        ] {
            assert_eq!(names(columns, party).as_deref(), Ok(expected), "{columns:?}");
        }
    }

    #[test]
    fn mistakes_are_explained() {
        for (columns, party, part) in [
            (&["usr=id"][..], None, "no input wants a column 'usr'; 'a' has user, p.hash; 'b' has"),
            (&["b.p.hash=id"], None, "no input wants a column 'p.hash'; 'b' has user"),
            (&["c.user=id"], None, "there is no input 'c' here; there are: a, b, b.m"),
            (&["b.user=id"], Some(0), "there is no input 'b' here; there are: a"),
            (&["usr=id"], Some(2), "no input wants a column 'usr'; 'a' has user, p.hash; 'b' has"),
            (&["c.user=id"], Some(2), "there is no input 'c' here; there are: a, b, b.m"),
            (&["user=id", "a.user=x"], None, "said twice where column 'user' of 'a' is: id and x"),
            (&["user"], None, "column 'user' is not of the form [INPUT.]WANTED=FOUND"),
            (&["user="], None, "is not of the form [INPUT.]WANTED=FOUND"),
        ] {
            let message = names(columns, party).expect_err("a mistake");
            assert!(message.contains(part), "{message}");
        }
    }
}
