//! How good the choice of a method is: over a grid of sizes and networks, the time of each method beside that of the
//! method that is chosen.
//!
//! A run chooses by the round trip that it measures, so on one machine it may choose otherwise than a prediction without
//! a network. The bytes that it sends tell which method it has. Its ratio is that of the two runs with stated methods:
//! the run that chooses repeats one of them, and on a loaded machine the same run varies more than methods differ.

use phineus_session::failure::Failure;
use serde_json::json;

use super::{BenchTable, Case, Figures, MemoryMethod, OramBench, or_dash, time};

const ROWS: [u64; 5] = [16, 64, 256, 1024, 4096];

/// Of these sizes, Circuit ORAM takes longer to insert the rows than others take for all accesses.
const METHODS: [MemoryMethod; 3] =
    [MemoryMethod::Scan, MemoryMethod::SquareRoot, MemoryMethod::SquareRootTable];

/// Bits of a row: 4 bytes, and 128.
const ROW_BITS: [u64; 2] = [32, 1024];

const ACCESSES: [u64; 3] = [1, 30, 300];

/// One machine, and a wide-area network.
const NETWORKS: [Option<&str>; 2] = [None, Some("rtt=40ms,bw=100mbit")];

/// The choice should take at most so many times the time of the best method.
const RATIO_TARGET: f64 = 1.1;

const HEADS: [&str; 14] = [
    "rows",
    "   row",
    "accesses",
    "            network",
    "predicted: scan",
    "square-root",
    "  by table",
    "           choice",
    "ratio",
    "measured: scan",
    "square-root",
    "  by table",
    "               choice",
    "ratio",
];

/// Predicts all cases, and measures those whose methods are quick enough.
pub(super) fn run(oram: &OramBench<'_>, table: &mut BenchTable<'_>) -> Result<(), Failure> {
    table.head("The choice of a method beside each method", HEADS)?;
    let rows = oram.bench.n.map_or(ROWS.to_vec(), |rows| vec![rows]);
    let mut ratios = [Vec::new(), Vec::new()];
    for network in NETWORKS {
        for &rows in &rows {
            for row_bits in ROW_BITS {
                for accesses in ACCESSES {
                    let sizes = GridCase { rows, row_bits, accesses, network };
                    for (all, ratio) in ratios.iter_mut().zip(sizes.compare(oram, table)?) {
                        all.extend(ratio);
                    }
                }
            }
        }
    }
    for (name, ratios) in ["predicted", "measured"].into_iter().zip(&ratios) {
        let above = ratios.iter().filter(|&&ratio| ratio > RATIO_TARGET).count();
        let most = ratios.iter().copied().fold(0.0, f64::max);
        table.console.say(&format!(
            "{name}: {} cases, the choice takes at most {most:.2} times the best; more than {RATIO_TARGET} in {above}",
            ratios.len()
        ));
    }
    Ok(())
}

/// One case of the grid.
struct GridCase {
    rows: u64,
    row_bits: u64,
    accesses: u64,
    network: Option<&'static str>,
}

impl GridCase {
    fn case<'a>(&self, oram: &OramBench<'a>, method: &str) -> Case<'a> {
        let sizes = [("rows", self.rows), ("width", self.row_bits), ("accesses", self.accesses)];
        let parameters = sizes.map(|(name, number)| (name, number.to_string()));
        Case { network: self.network, ..oram.case("accesses", &parameters, method) }
    }

    /// Adds a row; returns the ratios of the choice to the best method, predicted and measured.
    fn compare(
        &self,
        oram: &OramBench<'_>,
        table: &mut BenchTable<'_>,
    ) -> Result<[Option<f64>; 2], Failure> {
        let [scan, square_root, by_table] = &METHODS.map(|method| self.case(oram, method.name()));
        let choice = &self.case(oram, "auto");
        let planned = choice.planned()?;
        let chosen = planned.memories.first().expect("the program has a memory").method;
        let methods = [scan.predicted()?, square_root.predicted()?, by_table.predicted()?];
        let [first, second, third] = methods;
        let predicted = [first, second, third, choice.figures_of(&planned)];
        drop(planned);
        let cases = [scan, square_root, by_table, choice];
        let [first, second, third, last] = [0, 1, 2, 3].map(|at| (cases[at], predicted[at]));
        let measured = oram.measured([first, second, third, last])?;
        let taken = measured.and_then(|all| {
            let methods = METHODS.into_iter().zip(all);
            methods.into_iter().find(|(_, figures)| figures.sent_bytes == all[3].sent_bytes)
        });
        let measured_ratio = measured
            .zip(taken)
            .map(|([first, second, third, _], (_, choice))| ratio([first, second, third, choice]));
        let ratios = [Some(ratio(predicted)), measured_ratio];
        let seconds = |figures: [Figures; 4]| figures.map(|figures| figures.seconds);
        let json = json!({
            "table": "grid",
            "rows": self.rows,
            "row_bits": self.row_bits,
            "accesses": self.accesses,
            "network": self.network,
            "method": chosen.name(),
            "predicted_seconds": seconds(predicted),
            "predicted_ratio": ratios[0],
            "measured_seconds": measured.map(seconds),
            "measured_ratio": ratios[1],
            "measured_method": taken.map(|(method, _)| method.name()),
        });
        let cell = |index: usize| or_dash(measured.map(|all| all[index].seconds), time);
        let measured_choice = match taken {
            Some((method, _)) => format!("{} {}", method.name(), cell(3)),
            None => cell(3),
        };
        let cells = [
            self.rows.to_string(),
            format!("{} B", self.row_bits / 8),
            self.accesses.to_string(),
            self.network.unwrap_or("one machine").to_owned(),
            time(predicted[0].seconds),
            time(predicted[1].seconds),
            time(predicted[2].seconds),
            chosen.name().to_owned(),
            or_dash(ratios[0], |ratio| format!("{ratio:.2}")),
            cell(0),
            cell(1),
            cell(2),
            measured_choice,
            or_dash(ratios[1], |ratio| format!("{ratio:.2}")),
        ];
        table.row(HEADS, cells, json)?;
        Ok(ratios)
    }
}

/// Time of the choice, the last of these, over that of the best method.
fn ratio(all: [Figures; 4]) -> f64 {
    let [methods @ .., choice] = all;
    choice.seconds / methods.iter().map(|method| method.seconds).fold(f64::INFINITY, f64::min)
}
