//! The format of an input file, known by its first bytes.

use std::io::Read;
use std::sync::Arc;

use crate::content::Content;
use crate::csv::CsvFile;
use crate::error::{Error, RefusalKind};
use crate::npy::{self, NumpyFile};
use crate::source::TableSource;

/// Bytes that are looked at.
const BEGINNING_BYTES: usize = 512;

/// The table in a file: CSV, or another format that its first bytes show.
///
/// # Errors
/// If it cannot be read, or has a format that is not read.
pub fn open(content: Content) -> Result<Arc<dyn TableSource>, Error> {
    let mut beginning = Vec::with_capacity(BEGINNING_BYTES);
    content.reader()?.take(BEGINNING_BYTES as u64).read_to_end(&mut beginning)?;
    if beginning.starts_with(&npy::MAGIC) {
        return Ok(Arc::new(NumpyFile::new(content)));
    }
    if let Some(source) = columnar(&content, &beginning)? {
        return Ok(source);
    }
    let Some(Other { is, remedy }) = other(&beginning) else {
        return Ok(Arc::new(CsvFile::new(content)));
    };
    let what = format!("is {is}, and an input is {INPUTS}");
    Err(Error::refused(RefusalKind::OtherFormat, content.name(), what).remedy(remedy))
}

/// The formats of inputs.
#[cfg(feature = "arrow")]
const INPUTS: &str = "CSV (or .npy, .parquet, .arrow)";
#[cfg(not(feature = "arrow"))]
const INPUTS: &str = "CSV (or .npy)";

/// A file in one of Arrow's formats.
#[cfg(feature = "arrow")]
fn columnar(content: &Content, beginning: &[u8]) -> Result<Option<Arc<dyn TableSource>>, Error> {
    use crate::{arrow, parquet};
    let is_stream = beginning.starts_with(&arrow::CONTINUATION);
    let is_arrow = is_stream || beginning.starts_with(&arrow::MAGIC);
    Ok(match beginning.starts_with(&parquet::MAGIC) && beginning.contains(&0) {
        true => Some(Arc::new(parquet::ParquetFile::new(content.clone()))),
        // Text may begin with the same letters, but the file is filled with zeros.
        false if is_arrow && beginning.contains(&0) => {
            Some(Arc::new(arrow::ArrowFile::new(content.clone(), is_stream)))
        }
        false => None,
    })
}

#[cfg(not(feature = "arrow"))]
fn columnar(_: &Content, _: &[u8]) -> Result<Option<Arc<dyn TableSource>>, Error> {
    Ok(None)
}

/// A format that is refused, and the remedy.
struct Other {
    is: &'static str,
    remedy: &'static str,
}

const SPREADSHEET: &str = "save the sheet as CSV (UTF-8, separated by commas) and give that file; in \
                           Python: pandas.read_excel(f).to_csv(g, index=False)";
const UNPACK: &str = "unpack it and give the CSV file";
const TABLE: &str = "install Phineus with `--features parquet`, or write the table as CSV, in Python: pandas.read_parquet(f).to_csv(g, \
                     index=False), or its integers with numpy.save";
const UTF_16: &str = "save it as UTF-8, for example with `iconv -f UTF-16 -t UTF-8 OLD > NEW`";
const TEXT: &str = "write the table as CSV: a line with the names of the columns, then a line for \
                    each row";

/// Kinds that begin with fixed bytes.
const BEGINNINGS: [(&[u8], Other); 15] = [
    (
        b"PK\x03\x04",
        Other { is: "a spreadsheet (.xlsx, .ods) or another zip file", remedy: SPREADSHEET },
    ),
    (b"\xd0\xcf\x11\xe0", Other { is: "an Excel workbook (.xls)", remedy: SPREADSHEET }),
    (b"PARE", Other { is: "an encrypted Parquet file", remedy: "write it without encryption" }),
    (b"\xff\xfe", Other { is: "text in UTF-16", remedy: UTF_16 }),
    (b"\xfe\xff", Other { is: "text in UTF-16", remedy: UTF_16 }),
    (b"\x1f\x8b", Other { is: "compressed with gzip", remedy: UNPACK }),
    (b"BZh91AY&SY", Other { is: "compressed with bzip2", remedy: UNPACK }),
    (b"\xfd7zXZ", Other { is: "compressed with xz", remedy: UNPACK }),
    (b"\x28\xb5\x2f\xfd", Other { is: "compressed with zstd", remedy: UNPACK }),
    (b"SQLite format 3", Other { is: "an SQLite database", remedy: TEXT }),
    (b"\x89HDF", Other { is: "an HDF5 file", remedy: TEXT }),
    (b"%PDF", Other { is: "a PDF document", remedy: TEXT }),
    (b"<?xml", Other { is: "XML", remedy: TEXT }),
    (b"<!DOCTYPE", Other { is: "HTML", remedy: TEXT }),
    (b"<html", Other { is: "HTML", remedy: TEXT }),
];

fn other(beginning: &[u8]) -> Option<Other> {
    let known = BEGINNINGS.into_iter().find(|(bytes, _)| beginning.starts_with(bytes));
    if let Some((_, other)) = known {
        return Some(other);
    }
    // Every other byte of Latin text in UTF-16 is 0, and no text in UTF-8 has one.
    if beginning.contains(&0) {
        if let Some(name) = [&b"PAR1"[..], b"ARROW1"].into_iter().find(|n| beginning.starts_with(n))
        {
            let is = if name == b"PAR1" { "a Parquet file" } else { "an Arrow file" };
            return Some(Other { is, remedy: TABLE });
        }
        let zeros = |first: usize| beginning.iter().skip(first).step_by(2).filter(|b| **b == 0);
        let (even, odd) = (zeros(0).count(), zeros(1).count());
        let (least, most) = (even.min(odd), even.max(odd));
        let is_text = beginning.iter().all(|&byte| match byte {
            0 | b'\t' | b'\r' | b'\n' => true,
            _ => !byte.is_ascii_control(),
        });
        return Some(match is_text && most * 4 > beginning.len() && least * 8 <= most {
            true => Other { is: "text in UTF-16 (without a mark)", remedy: UTF_16_UNMARKED },
            false => Other { is: "binary (it has NUL bytes)", remedy: TEXT },
        });
    }
    let mut letters = beginning.iter().filter(|byte| !byte.is_ascii_whitespace());
    match (letters.next(), letters.next()) {
        (Some(b'{'), Some(b'"' | b'}')) | (Some(b'['), Some(b'{' | b'[')) => {
            Some(Other { is: "JSON", remedy: TEXT })
        }
        _ => None,
    }
}

const UTF_16_UNMARKED: &str =
    "save it as UTF-8, for example with `iconv -f UTF-16LE -t UTF-8 OLD > NEW`";

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
            assert_eq!(other(bytes).map(|other| other.is), expected, "{bytes:?}");
        }
    }
}
