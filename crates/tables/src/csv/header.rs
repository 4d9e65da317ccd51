//! The header of a CSV file.

use std::collections::HashSet;

use csv::StringRecord;

use crate::error::{RowLocation, TableFaults};

/// Where the header stands.
const LINE_1: Option<RowLocation> = Some(RowLocation::Line(1));

/// Remedy for fields that are not separated by commas.
const COMMAS: &str = "save it with commas between the fields (and points in numbers), in Python: \
                      pandas.read_csv(f, sep=None, engine='python').to_csv(g, index=False)";

/// The names of the columns; none if the header is no header, which is reported. Columns without a
/// name (an index, a comma at the end of each line) are no fault: nobody can ask for them.
pub(super) fn check_header(header: &StringRecord, faults: &mut TableFaults) -> Vec<String> {
    let names: Vec<String> = header.iter().map(clean).collect();
    if names.iter().all(String::is_empty) {
        faults.add(None, "is empty; a table names its columns at least");
        return Vec::new();
    }
    if let [name] = &names[..]
        && let Some(separator) = separator(name)
    {
        let what = format!("the fields are separated by {separator}, not by commas: '{name}'");
        faults.add(LINE_1, what);
        faults.advise(COMMAS);
        return Vec::new();
    }
    let mut known = HashSet::with_capacity(names.len());
    for name in names.iter().filter(|name| !name.is_empty()) {
        if !known.insert(name) {
            faults.add(LINE_1, format!("two columns are called '{name}'"));
            faults.advise("give each column a name of its own, or remove one, and run again");
        }
    }
    names
}

/// A column's name without the mark that some programs put before a UTF-8 file, and spaces.
pub(super) fn clean(name: &str) -> String {
    name.trim_start_matches('\u{feff}').trim().to_owned()
}

/// Characters other than commas that separate fields in many files, and their names.
const SEPARATORS: [(char, &str); 3] = [(';', "';'"), ('\t', "tabs"), ('|', "'|'")];

/// The separator of a file whose header, read as one field, is `header`.
fn separator(header: &str) -> Option<&'static str> {
    let of = |(separator, name): (char, &'static str)| {
        let mut names = header.split(separator);
        (names.clone().count() > 1 && names.any(|name| !name.trim().is_empty())).then_some(name)
    };
    SEPARATORS.into_iter().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_recognized() {
        assert_eq!(separator("a;b"), Some("';'"));
        assert_eq!(separator("a\tb"), Some("tabs"));
        assert_eq!(separator("element"), None);
        assert_eq!(separator(";"), None);
    }
}
