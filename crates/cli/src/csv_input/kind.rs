//! Files that are not CSV, told by their first bytes.

use std::io::Read;

use super::Source;
use crate::failure::{Failure, codes};

/// Bytes that are looked at.
const BEGINNING_BYTES: usize = 512;

/// A kind of file that is refused, and the remedy.
struct Kind {
    is: &'static str,
    remedy: &'static str,
}

const SPREADSHEET: &str = "save the sheet as CSV (UTF-8, separated by commas) and give that file; in \
                           Python: pandas.read_excel(f).to_csv(g, index=False)";
const UNPACK: &str = "unpack it and give the CSV file";
const TABLE: &str = "write the table as CSV, in Python: pandas.read_parquet(f).to_csv(g, \
                     index=False), or its integers with numpy.save";
const UTF_16: &str = "save it as UTF-8, for example with `iconv -f UTF-16 -t UTF-8 OLD > NEW`";
const TEXT: &str = "write the table as CSV: a line with the names of the columns, then a line for \
                    each row";

/// Kinds that begin with fixed bytes.
const BEGINNINGS: [(&[u8], Kind); 14] = [
    (
        b"PK\x03\x04",
        Kind { is: "a spreadsheet (.xlsx, .ods) or another zip file", remedy: SPREADSHEET },
    ),
    (b"\xd0\xcf\x11\xe0", Kind { is: "an Excel workbook (.xls)", remedy: SPREADSHEET }),
    (b"\xff\xfe", Kind { is: "text in UTF-16", remedy: UTF_16 }),
    (b"\xfe\xff", Kind { is: "text in UTF-16", remedy: UTF_16 }),
    (b"\x1f\x8b", Kind { is: "compressed with gzip", remedy: UNPACK }),
    (b"BZh91AY&SY", Kind { is: "compressed with bzip2", remedy: UNPACK }),
    (b"\xfd7zXZ", Kind { is: "compressed with xz", remedy: UNPACK }),
    (b"\x28\xb5\x2f\xfd", Kind { is: "compressed with zstd", remedy: UNPACK }),
    (b"SQLite format 3", Kind { is: "an SQLite database", remedy: TEXT }),
    (b"\x89HDF", Kind { is: "an HDF5 file", remedy: TEXT }),
    (b"%PDF", Kind { is: "a PDF document", remedy: TEXT }),
    (b"<?xml", Kind { is: "XML", remedy: TEXT }),
    (b"<!DOCTYPE", Kind { is: "HTML", remedy: TEXT }),
    (b"<html", Kind { is: "HTML", remedy: TEXT }),
];

/// Refuses what is certainly no CSV.
pub(super) fn refuse_others(source: &Source) -> Result<(), Failure> {
    let mut beginning = Vec::with_capacity(BEGINNING_BYTES);
    source.reader()?.take(BEGINNING_BYTES as u64).read_to_end(&mut beginning)?;
    let Some(Kind { is, remedy }) = kind(&beginning) else { return Ok(()) };
    let message = format!("{}: is {is}, and an input is CSV (or .npy)", source.name());
    Err(Failure::new(codes::OTHER_FORMAT, message).remedy(remedy))
}

fn kind(beginning: &[u8]) -> Option<Kind> {
    let known = BEGINNINGS.into_iter().find(|(bytes, _)| beginning.starts_with(bytes));
    if let Some((_, kind)) = known {
        return Some(kind);
    }
    // Every other byte of Latin text in UTF-16 is 0, and no text in UTF-8 has one.
    if beginning.contains(&0) {
        if let Some(name) = [&b"PAR1"[..], b"ARROW1"].into_iter().find(|n| beginning.starts_with(n))
        {
            let is = if name == b"PAR1" { "a Parquet file" } else { "an Arrow file" };
            return Some(Kind { is, remedy: TABLE });
        }
        let zeros = |first: usize| beginning.iter().skip(first).step_by(2).filter(|b| **b == 0);
        let most = zeros(0).count().max(zeros(1).count());
        return Some(match most * 4 > beginning.len() {
            true => Kind { is: "text in UTF-16 (without a mark)", remedy: UTF_16_UNMARKED },
            false => Kind { is: "binary (it has NUL bytes)", remedy: TEXT },
        });
    }
    let mut letters = beginning.iter().filter(|byte| !byte.is_ascii_whitespace());
    match (letters.next(), letters.next()) {
        (Some(b'{'), Some(b'"' | b'}')) | (Some(b'['), Some(b'{' | b'[')) => {
            Some(Kind { is: "JSON", remedy: TEXT })
        }
        _ => None,
    }
}

const UTF_16_UNMARKED: &str =
    "save it as UTF-8, for example with `iconv -f UTF-16LE -t UTF-8 OLD > NEW`";

/// Characters other than commas that separate fields in many files, and their names.
const SEPARATORS: [(char, &str); 3] = [(';', "';'"), ('\t', "tabs"), ('|', "'|'")];

/// The separator of a file whose header, read as one field, is `header`.
pub(super) fn separator(header: &str) -> Option<&'static str> {
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
    fn files_are_known_by_their_first_bytes() {
        for (bytes, expected) in [
            (&b"PK\x03\x04\x14\x00"[..], Some("a spreadsheet (.xlsx, .ods) or another zip file")),
            (b"\xff\xfea\x00", Some("text in UTF-16")),
            (b"a\x00b\x00,\x00", Some("text in UTF-16 (without a mark)")),
            (b"a,b\n1,\x00\n2,3\n4,5\n", Some("binary (it has NUL bytes)")),
            (b"[ {\"a\": 1}]", Some("JSON")),
            (b"{\"a\": 1}", Some("JSON")),
            (b"[a],{b}\n1,2\n", None),
            (b"\xef\xbb\xbfa,b\n", None),
            (b"", None),
            (b"PAR1,K\n", None),
            (b"PAR1\x15\x04\x15\x00", Some("a Parquet file")),
        ] {
            assert_eq!(kind(bytes).map(|kind| kind.is), expected, "{bytes:?}");
        }
    }

    #[test]
    fn separators_are_recognized() {
        assert_eq!(separator("a;b"), Some("';'"));
        assert_eq!(separator("a\tb"), Some("tabs"));
        assert_eq!(separator("element"), None);
        assert_eq!(separator(";"), None);
    }
}
