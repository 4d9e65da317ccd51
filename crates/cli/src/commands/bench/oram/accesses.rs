//! Time and bytes of an access and of the first shuffle (SR, section V-B).
//!
//! Runs of the program `accesses` with no access, one, and one more than whole periods: the first difference is the
//! first shuffle with an access that finds an empty stash, the second is accesses in the steady state, each period
//! with its shuffle. As in SR there are at least 30 of them. All cells are secret. (The benchmarks of the authors'
//! code begin with public zeros, which makes their first shuffle cheaper than one of real rows.)

use phineus_bytecode::ElementType;
use phineus_oblivious::memory::{MemoryShape, MemoryTerms, accesses_of_a_turn};
use phineus_session::failure::Failure;
use serde_json::json;

use super::model::costs;
use super::{BenchTable, Figures, METHODS, MemoryMethod, OramBench, or_dash, time, volume};

/// Numbers of rows.
const ROWS: [u64; 7] = [1 << 4, 1 << 6, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16];

/// Widths of a row in bits.
const ROW_BITS: [u64; 2] = [32, 128];

/// The fewest accesses that are measured.
const ACCESSES_MIN: u64 = 30;

/// Predicted time that measured accesses take at least, as whole runs vary by some milliseconds.
const SECONDS_MIN: f64 = 0.2;

/// The most accesses for that.
const ACCESSES_MAX: u64 = 3000;

const HEADS: [&str; 12] = [
    "  rows",
    "row",
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

/// Bytes that a party of the authors' code sends for an access in whole periods (Square-Root ORAM) or a write
/// (scan), at rows of 16 bytes: `jackdoerner/absentminded-crypto-kit` of 2017 with half gates and labels of 16 bytes,
/// run on one machine.
const AUTHORS_CODE: [(MemoryMethod, u64, f64); 3] = [
    (MemoryMethod::Scan, 1 << 10, 5.24e6),
    (MemoryMethod::SquareRoot, 1 << 10, 1.04e6),
    (MemoryMethod::SquareRoot, 1 << 12, 2.39e6),
];

/// Measures all sizes, or memories of `--n` rows.
pub(super) fn run(oram: &OramBench<'_>, table: &mut BenchTable<'_>) -> Result<(), Failure> {
    table.head(
        "One access in the steady state, and the first shuffle (SR, figures 9 and 10)",
        HEADS,
    )?;
    let rows = oram.bench.n.map_or(ROWS.to_vec(), |rows| vec![rows]);
    for row_bits in ROW_BITS {
        for &rows in &rows {
            for method in METHODS {
                measure(oram, (rows, row_bits), method, table)?;
            }
        }
    }
    Ok(())
}

/// Predicted and measured figures of an access or of a shuffle.
struct Part {
    predicted: Figures,
    measured: Option<Figures>,
    model_bytes: f64,
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
            or_dash(self.measured.map(|measured| measured.seconds), time),
            time(self.predicted.seconds),
            volume(self.predicted.sent_bytes),
            volume(self.model_bytes),
        ]
    }
}

fn measure(
    oram: &OramBench<'_>,
    (rows, row_bits): (u64, u64),
    method: MemoryMethod,
    table: &mut BenchTable<'_>,
) -> Result<(), Failure> {
    let shape = MemoryShape {
        name: String::new(),
        columns: vec![ElementType::unsigned(row_bits as u16)],
        rows,
        method: Some(method),
        is_linked: false,
    };
    let turn = accesses_of_a_turn(&shape, method, MemoryTerms::LABELS);
    let case = |accesses: u64| {
        let sizes = [("rows", rows), ("width", row_bits), ("accesses", accesses)];
        let parameters = sizes.map(|(name, number)| (name, number.to_string()));
        oram.case("accesses", &parameters, method.name())
    };
    let [none, one] = &[case(0), case(1)];
    let before = [none.predicted()?, one.predicted()?];
    let fewest = turn * ACCESSES_MIN.div_ceil(turn);
    let each = case(1 + fewest).predicted()?.each(before[1], fewest);
    let enough = ((SECONDS_MIN / each.seconds.max(1e-9)) as u64).min(ACCESSES_MAX);
    let accesses = fewest * enough.div_ceil(fewest).max(1);
    let many = &case(1 + accesses);
    let predicted = [before[0], before[1], many.predicted()?];
    let measured =
        oram.measured([(none, predicted[0]), (one, predicted[1]), (many, predicted[2])])?;
    let model = costs(method, rows, row_bits);
    let authors = AUTHORS_CODE.iter().find(|(of, size, _)| (*of, *size) == (method, rows));
    let access = Part {
        predicted: predicted[2].each(predicted[1], accesses),
        measured: measured.map(|[_, one, many]| many.each(one, accesses)),
        model_bytes: model.access_bytes,
        authors_bytes: authors.filter(|_| row_bits == 128).map(|(_, _, bytes)| *bytes),
    };
    let shuffle = Part {
        predicted: predicted[1].each(predicted[0], 1),
        measured: measured.map(|[none, one, _]| one.each(none, 1)),
        model_bytes: model.shuffle_bytes,
        authors_bytes: None,
    };
    let shuffle = (method != MemoryMethod::Scan).then_some(shuffle);
    let json = json!({
        "table": "accesses",
        "rows": rows,
        "row_bits": row_bits,
        "method": method.name(),
        "accesses": accesses,
        "access": access.json(),
        "first_shuffle": shuffle.as_ref().map(Part::json),
    });
    let [access_time, access_predicted, access_sent, access_model] = access.cells();
    let none = || ["-"; 4].map(str::to_owned);
    let [first, second, third, fourth] = shuffle.as_ref().map_or_else(none, Part::cells);
    let cells = [
        rows.to_string(),
        format!("{} B", row_bits / 8),
        method.name().to_owned(),
        access_time,
        access_predicted,
        access_sent,
        access_model,
        or_dash(access.authors_bytes, volume),
        first,
        second,
        third,
        fourth,
    ];
    table.row(HEADS, cells, json)
}
