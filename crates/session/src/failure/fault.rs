//! [`Fault`]: a fault and its [`Place`].

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where something is wrong. Whatever is not known is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// A file, or the name of a table of the caller's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// A line of a text file, from 1 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// A row of a table that has no lines, from 1 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
    /// The table's own name of a column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The party at which, or through which, it happened. The sentence names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub party: Option<String>,
}

/// A fault in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Where.
    #[serde(default)]
    pub place: Place,
    /// A sentence without its place.
    pub what: String,
}

impl Fault {
    /// A fault whose place is not known, or part of the sentence.
    pub fn new(what: impl Into<String>) -> Fault {
        Fault { place: Place::default(), what: what.into() }
    }
}

impl From<phineus_tables::TableFault> for Fault {
    fn from(fault: phineus_tables::TableFault) -> Fault {
        use phineus_tables::RowLocation as In;
        let (line, row) = match fault.place {
            Some(In::Line(line)) => (Some(line), None),
            Some(In::Row(row)) => (None, Some(row)),
            None => (None, None),
        };
        let place = Place { file: Some(fault.table), line, row, column: fault.column, party: None };
        Fault { place, what: fault.what }
    }
}

/// The place as editors read it, then what is wrong.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, line, row, column, party: _ } = &self.place;
        let within = [
            row.map(|row| format!("row {row}")),
            column.as_ref().map(|column| format!("column '{column}'")),
        ];
        let within = within.into_iter().flatten().collect::<Vec<_>>().join(", ");
        if let Some(file) = file {
            write!(f, "{file}")?;
            if let Some(line) = line {
                write!(f, ":{line}")?;
            }
            write!(f, ": ")?;
        }
        if !within.is_empty() {
            write!(f, "{within}: ")?;
        }
        f.write_str(&self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_as_editors_expect_them() {
        let place = |file: Option<&str>, line, row, column: Option<&str>| Place {
            file: file.map(str::to_owned),
            line,
            row,
            column: column.map(str::to_owned),
            party: Some("bob".to_owned()),
        };
        for (place, expected) in [
            (Place::default(), "is odd"),
            (place(Some("a.csv"), None, None, None), "a.csv: is odd"),
            (place(Some("a.csv"), Some(3), None, None), "a.csv:3: is odd"),
            (place(Some("a.csv"), Some(3), None, Some("x")), "a.csv:3: column 'x': is odd"),
            (place(Some("a.npy"), None, Some(2), Some("x")), "a.npy: row 2, column 'x': is odd"),
            (place(None, None, None, Some("x")), "column 'x': is odd"),
        ] {
            let fault = Fault { place, what: "is odd".to_owned() };
            assert_eq!(fault.to_string(), expected);
            let text = serde_json::to_string(&fault).expect("text and numbers");
            assert_eq!(serde_json::from_str::<Fault>(&text).ok(), Some(fault));
        }
    }
}
