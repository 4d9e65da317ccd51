//! Normalisation of text cells for comparison, and counts of changed and unusual ones.

use std::borrow::Cow;

use phineus_bytecode::{Column, Encoding};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::error::RowLocation;
use crate::quantity;

/// Words that many programs write for a value that is missing.
const MISSING: [&str; 9] = ["NULL", "null", "NaN", "nan", "NA", "N/A", "#N/A", "None", "none"];

/// Bytes of the longest of them.
const MISSING_BYTES_MAX: usize = 4;

/// The text of a cell as it is compared with others: without white space around it, in Unicode's
/// composed form (NFC). All parties compare this form.
pub(crate) fn normalized(field: &str) -> Cow<'_, str> {
    let text = field.trim();
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfc().collect())
}

/// Counts of unusual text cells of a file, column by column.
pub(crate) struct TextCounts<'a> {
    columns: &'a [Column],
    found: Vec<CellCounts>,
}

#[derive(Clone, Default)]
struct CellCounts {
    trimmed: u64,
    composed: u64,
    empty: u64,
    /// Values such as `NULL`: how many, and the first of them with its line.
    missing: u64,
    first_missing: Option<(&'static str, RowLocation)>,
}

impl<'a> TextCounts<'a> {
    pub(crate) fn new(columns: &'a [Column]) -> TextCounts<'a> {
        TextCounts { columns, found: vec![CellCounts::default(); columns.len()] }
    }

    /// Counts a cell of column number `column`.
    pub(crate) fn add(&mut self, column: usize, field: &str, place: RowLocation) {
        if self.columns[column].encoding != Encoding::Text {
            return;
        }
        let found = &mut self.found[column];
        let text = field.trim();
        found.trimmed += u64::from(text.len() != field.len());
        found.empty += u64::from(text.is_empty());
        if !text.is_ascii() {
            found.composed += u64::from(matches!(normalized(text), Cow::Owned(own) if own != text));
        }
        let is_short = (1..=MISSING_BYTES_MAX).contains(&text.len());
        if is_short && let Some(word) = MISSING.into_iter().find(|word| *word == text) {
            found.missing += 1;
            found.first_missing.get_or_insert((word, place));
        }
    }

    /// One sentence for each thing that the owner of `file` should know; `names` are the file's
    /// names of the columns.
    pub(crate) fn notes(&self, file: &str, names: &[&str]) -> Vec<String> {
        let mut notes = Vec::new();
        for (found, name) in self.found.iter().zip(names) {
            let mut note = |count: u64, singular: &str, plural: &str| match count {
                0 => {}
                1 => notes.push(format!("{file}: 1 value of column '{name}' {singular}")),
                _ => {
                    let count = quantity::count(count);
                    notes.push(format!("{file}: {count} values of column '{name}' {plural}"));
                }
            };
            note(
                found.trimmed,
                "had blanks around it, which were left out",
                "had blanks around them, which were left out",
            );
            note(
                found.composed,
                "was brought into Unicode's composed form (NFC)",
                "were brought into Unicode's composed form (NFC)",
            );
            let consequence = "empty values count as equal: leave out rows without a value";
            note(
                found.empty,
                &format!("is empty; {consequence}"),
                &format!("are empty; {consequence}"),
            );
            if let Some((word, place)) = found.first_missing {
                let place = match place {
                    RowLocation::Line(line) => format!("line {line}"),
                    RowLocation::Row(row) => format!("row {row}"),
                };
                let first = format!("such as '{word}' in {place}");
                let end = "compared like any other text: leave out rows without a value";
                note(
                    found.missing,
                    &format!("is a word for a missing value ('{word}' in {place}), {end}"),
                    &format!("are words for a missing value ({first}), {end}"),
                );
            }
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_compared_as_it_is_read() {
        for (field, expected) in [
            ("ann", "ann"),
            (" ann\t", "ann"),
            ("\u{a0}ann\u{2003}\r\n", "ann"),
            ("an n", "an n"),
            ("Ann", "Ann"),
            // e and an accent; the Ångström sign; Hangul letters; and a part that has no composed form.
            ("Rene\u{301}", "Ren\u{e9}"),
            ("\u{212b}", "\u{c5}"),
            ("\u{1112}\u{1161}\u{11ab}", "\u{d55c}"),
            ("x\u{301}", "x\u{301}"),
            // Not the same characters, only alike.
            ("\u{fb01}", "\u{fb01}"),
            ("  ", ""),
        ] {
            assert_eq!(normalized(field), expected, "{field:?}");
            assert_eq!(normalized(expected), expected, "{expected:?}");
        }
    }
}
