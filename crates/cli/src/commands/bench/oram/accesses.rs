//! Time and bytes of an access and of the first shuffle (SR, section V-B).
//!
//! Runs of the program `accesses` with no access, one, and one more than whole periods: the first difference is the
//! first shuffle with an access that finds an empty stash, the second is accesses in the steady state, each period
//! with its shuffle. As in SR there are at least 30 of them. Cells are secret, or all of them begin as public zeros as in
//! the benchmarks of the authors' code, where a first shuffle of zeros is cheaper than one of real rows.

use phineus_bytecode::ElementType;
use phineus_oblivious::memory::{MemoryShape, MemoryTerms, accesses_of_a_turn};
use phineus_session::failure::Failure;
use serde_json::json;

use super::model::costs;
use super::{
    BenchTable, Case, Figures, METHODS, MemoryMethod, OramBench, REFUSED, or_dash, time,
    unless_refused, volume,
};
use crate::commands::bench::measured::COLUMN_BITS;

/// Numbers of rows.
pub(super) const ROWS: [u64; 8] =
    [1 << 2, 1 << 4, 1 << 6, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16];

/// Widths of a row in bits: figures 9 and 10 have 16 and 32 bytes.
const ROW_BITS: [u64; 3] = [32, 128, 256];

/// The width of rows that begin as zeros.
const ZERO_ROW_BITS: u64 = 128;

/// The fewest accesses that are measured.
const ACCESSES_MIN: u64 = 30;

/// Predicted time that measured accesses take at least, as whole runs vary by some milliseconds.
const SECONDS_MIN: f64 = 0.2;

/// The most accesses for that.
const ACCESSES_MAX: u64 = 3000;

const HEADS: [&str; 12] = [
    "  rows",
    "          row",
    "     method",
    " access",
    "predicted",
    "sent by both",
    "SR, model",
    "SR's code",
    "first shuffle",
    "predicted",
    "sent by both",
    "SR, model",
];

/// Bytes that a party of the authors' code sends for an access in whole periods (Square-Root ORAM), in the steady state
/// (Circuit ORAM) or for a write (scan), at rows of 16 bytes: `jackdoerner/absentminded-crypto-kit` of 2017 with half gates and labels of 16 bytes,
/// run on one machine.
const AUTHORS_CODE: [(MemoryMethod, u64, f64); 4] = [
    (MemoryMethod::Scan, 1 << 10, 5.24e6),
    (MemoryMethod::SquareRoot, 1 << 10, 1.04e6),
    (MemoryMethod::SquareRoot, 1 << 12, 2.39e6),
    (MemoryMethod::Circuit, 1 << 10, 7.72e6),
];

/// Measures all sizes, or memories of `--n` rows.
pub(super) fn run(
    oram: &OramBench<'_>,
    table: &mut BenchTable<'_>,
) -> Result<Vec<Accesses>, Failure> {
    table.head(
        "One access in the steady state, and the first shuffle (SR, figures 9 and 10)",
        HEADS,
    )?;
    let rows = oram.bench.n.map_or(ROWS.to_vec(), |rows| vec![rows]);
    let secret = ROW_BITS.map(|row_bits| (row_bits, Contents::Secret));
    let mut all = Vec::new();
    for (row_bits, contents) in secret.into_iter().chain([(ZERO_ROW_BITS, Contents::Zeros)]) {
        for &rows in &rows {
            for method in METHODS {
                let one = AccessedMemory { rows, row_bits, method, contents };
                match unless_refused(Accesses::of(oram, one))? {
                    Ok(accesses) => {
                        accesses.show(table)?;
                        all.push(accesses);
                    }
                    Err(reason) => one.show_refused(table, &reason)?,
                }
            }
        }
    }
    Ok(all)
}

/// The rows before the first access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    Secret,
    Zeros,
}

impl Contents {
    /// As parameter `contents` of the program says it.
    fn name(self) -> &'static str {
        match self {
            Contents::Secret => "secret",
            Contents::Zeros => "zeros",
        }
    }
}

/// A memory that is accessed.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccessedMemory {
    pub(super) rows: u64,
    pub(super) row_bits: u64,
    pub(super) method: MemoryMethod,
    pub(super) contents: Contents,
}

impl AccessedMemory {
    fn case<'a>(self, oram: &OramBench<'a>, accesses: u64) -> Case<'a> {
        let sizes = [("rows", self.rows), ("width", self.row_bits), ("accesses", accesses)];
        let sizes = sizes.map(|(name, number)| (name, number.to_string()));
        let contents = [("contents", self.contents.name().to_owned())];
        let parameters: Vec<_> = sizes.into_iter().chain(contents).collect();
        oram.case("accesses", &parameters, self.method.name())
    }

    /// The row of a memory that is too large for its method.
    fn show_refused(self, table: &mut BenchTable<'_>, reason: &str) -> Result<(), Failure> {
        let mut json = self.json();
        json["refused"] = reason.into();
        let mut cells = HEADS.map(|_| "-".to_owned());
        let [rows, row, method, access, ..] = &mut cells;
        (*rows, *row) = (self.rows.to_string(), self.row_text());
        (*method, *access) = (self.method.name().to_owned(), REFUSED.to_owned());
        table.row(HEADS, cells, json)
    }

    /// The fields of this memory, which every JSON row has.
    fn json(self) -> serde_json::Value {
        json!({
            "table": "accesses",
            "rows": self.rows,
            "row_bits": self.row_bits,
            "contents": self.contents.name(),
            "method": self.method.name(),
        })
    }

    /// A row as the table names it.
    fn row_text(self) -> String {
        let bytes = self.row_bits / 8;
        match self.contents {
            Contents::Secret => format!("{bytes} B"),
            Contents::Zeros => format!("{bytes} B of zeros"),
        }
    }

    /// Accesses after which the method does the same again.
    fn period(self) -> u64 {
        let columns = (0..self.row_bits).step_by(usize::from(COLUMN_BITS));
        let width = |from: u64| (self.row_bits - from).min(COLUMN_BITS.into()) as u16;
        let shape = MemoryShape {
            name: String::new(),
            columns: columns.map(|from| ElementType::unsigned(width(from))).collect(),
            rows: self.rows,
            method: Some(self.method),
            is_linked: false,
        };
        accesses_of_a_turn(&shape, self.method, MemoryTerms::LABELS)
    }

    /// Plans of one access and of whole periods more, whose figures are exact.
    pub(super) fn planned<'a>(self, oram: &OramBench<'a>) -> Result<PlannedAccesses<'a>, Failure> {
        let one = self.case(oram, 1);
        let before = one.predicted()?;
        let fewest = self.period() * ACCESSES_MIN.div_ceil(self.period());
        let each = self.case(oram, 1 + fewest).predicted()?.each(before, fewest);
        let enough = ((SECONDS_MIN / each.seconds.max(1e-9)) as u64).min(ACCESSES_MAX);
        let count = fewest * enough.div_ceil(fewest).max(1);
        let many = self.case(oram, 1 + count);
        let after = many.predicted()?;
        Ok(PlannedAccesses { count, one: (one, before), many: (many, after) })
    }
}

/// Runs with one access, and with `count` more.
pub(super) struct PlannedAccesses<'a> {
    count: u64,
    one: (Case<'a>, Figures),
    many: (Case<'a>, Figures),
}

impl PlannedAccesses<'_> {
    pub(super) fn predicted(&self) -> Figures {
        self.many.1.each(self.one.1, self.count)
    }

    pub(super) fn measured(&self, oram: &OramBench<'_>) -> Result<Option<Figures>, Failure> {
        let [one, many] = [&self.one, &self.many].map(|(case, predicted)| (case, *predicted));
        let both = oram.measured([one, many])?;
        Ok(both.map(|[one, many]| many.each(one, self.count)))
    }
}

/// Predicted and measured figures of an access or of a shuffle.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) predicted: Figures,
    pub(super) measured: Option<Figures>,
    model_bytes: Option<f64>,
    authors_bytes: Option<f64>,
}

impl Part {
    fn json(&self) -> serde_json::Value {
        json!({
            "measured_seconds": self.measured.map(|measured| measured.seconds),
            "measured_sent_bytes": self.measured.map(|measured| measured.sent_bytes),
            "predicted_seconds": self.predicted.seconds,
            "predicted_sent_bytes": self.predicted.sent_bytes,
            "model_sent_bytes": self.model_bytes,
            "authors_code_sent_bytes": self.authors_bytes,
        })
    }

    /// Time measured and predicted, bytes of the run and of the model.
    fn cells(&self) -> [String; 4] {
        [
            // A difference of two noisy runs may be below 0, and then says nothing.
            or_dash(self.measured.map(|measured| measured.seconds).filter(|&s| s > 0.0), time),
            time(self.predicted.seconds),
            volume(self.predicted.sent_bytes),
            or_dash(self.model_bytes, volume),
        ]
    }
}

/// Figures of one memory.
pub(super) struct Accesses {
    pub(super) memory: AccessedMemory,
    count: u64,
    pub(super) access: Part,
    /// Nothing if the method has no shuffle.
    pub(super) shuffle: Option<Part>,
}

impl Accesses {
    fn of(oram: &OramBench<'_>, memory: AccessedMemory) -> Result<Accesses, Failure> {
        let none = memory.case(oram, 0);
        let before = none.predicted()?;
        let planned = memory.planned(oram)?;
        let (one, many) = (&planned.one, &planned.many);
        let measured = oram.measured([(&none, before), (&one.0, one.1), (&many.0, many.1)])?;
        let AccessedMemory { rows, row_bits, method, contents } = memory;
        let model = costs(method, rows, row_bits);
        let authors = AUTHORS_CODE.iter().find(|(of, size, _)| (*of, *size) == (method, rows));
        let authors = authors.filter(|_| row_bits == 128 && contents == Contents::Secret);
        let access = Part {
            predicted: planned.predicted(),
            measured: measured.map(|[_, one, many]| many.each(one, planned.count)),
            model_bytes: model.as_ref().map(|model| model.access_bytes),
            authors_bytes: authors.map(|(_, _, bytes)| *bytes),
        };
        let shuffle = Part {
            predicted: one.1.each(before, 1),
            measured: measured.map(|[none, one, _]| one.each(none, 1)),
            model_bytes: model.map(|model| model.shuffle_bytes),
            authors_bytes: None,
        };
        let shuffle = (method != MemoryMethod::Scan).then_some(shuffle);
        Ok(Accesses { memory, count: planned.count, access, shuffle })
    }

    fn show(&self, table: &mut BenchTable<'_>) -> Result<(), Failure> {
        let mut json = self.memory.json();
        json["accesses"] = self.count.into();
        json["access"] = self.access.json();
        json["first_shuffle"] = self.shuffle.as_ref().map(Part::json).into();
        let [access_time, access_predicted, access_sent, access_model] = self.access.cells();
        let none = || ["-"; 4].map(str::to_owned);
        let [first, second, third, fourth] = self.shuffle.as_ref().map_or_else(none, Part::cells);
        let cells = [
            self.memory.rows.to_string(),
            self.memory.row_text(),
            self.memory.method.name().to_owned(),
            access_time,
            access_predicted,
            access_sent,
            access_model,
            or_dash(self.access.authors_bytes, volume),
            first,
            second,
            third,
            fourth,
        ];
        table.row(HEADS, cells, json)
    }
}
