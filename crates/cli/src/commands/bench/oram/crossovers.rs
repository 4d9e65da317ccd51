//! From how many rows on one method is quicker than another (SR, figure 8), by row width.
//!
//! SR drew its lines from accesses of 4 to 1024 rows of 4 to 1024 bytes, without the first shuffle. Ours are between the
//! last power of two of rows at which the first method is quicker and the next one, where the logarithms of their times
//! meet.

use std::collections::HashMap;

use phineus_session::failure::Failure;
use serde_json::json;

use super::accesses::{AccessedMemory, Contents, PlannedAccesses};
use super::{BenchTable, METHODS, MemoryMethod, OramBench, unless_refused};

/// Exponents of the numbers of rows that are compared.
const ROW_EXPONENTS: std::ops::RangeInclusive<u32> = 1..=16;

/// Bytes of a row.
const ROW_BYTES: [u64; 9] = [4, 8, 16, 32, 64, 128, 256, 512, 1024];

const HEADS: [&str; 5] =
    ["  row", "            first", "            second", "  predicted rows", "   measured rows"];

/// Where a method becomes quicker than another, at one width.
pub(super) struct Crossover {
    pub(super) row_bytes: u64,
    pub(super) first: MemoryMethod,
    pub(super) second: MemoryMethod,
    pub(super) predicted: Crossing,
    pub(super) measured: Crossing,
}

/// Where the second of two methods becomes quicker than the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Crossing {
    /// At all sizes.
    Below,
    /// From so many rows on.
    At(f64),
    /// At no size that is compared.
    Beyond,
    /// One of the runs that would show it takes too long, or is refused.
    Unknown,
}

impl Crossing {
    fn text(self) -> String {
        let [least, most] = [ROW_EXPONENTS.start(), ROW_EXPONENTS.end()].map(|at| 1_u64 << at);
        match self {
            Crossing::Below => format!("below {least}"),
            Crossing::At(rows) => format!("{rows:.0}"),
            Crossing::Beyond => format!("beyond {most}"),
            Crossing::Unknown => "-".to_owned(),
        }
    }

    pub(super) fn rows(self) -> Option<f64> {
        match self {
            Crossing::At(rows) => Some(rows),
            Crossing::Below | Crossing::Beyond | Crossing::Unknown => None,
        }
    }
}

/// All pairs of methods at all widths.
pub(super) fn run(
    oram: &OramBench<'_>,
    table: &mut BenchTable<'_>,
) -> Result<Vec<Crossover>, Failure> {
    table.head("Rows from which the second method is quicker (SR, figure 8)", HEADS)?;
    let mut all = Vec::new();
    for row_bytes in ROW_BYTES {
        let mut times = Times { oram, row_bytes, planned: HashMap::new() };
        for (index, &first) in METHODS.iter().enumerate() {
            for &second in &METHODS[index + 1..] {
                let crossover = times.crossover(first, second)?;
                crossover.show(table)?;
                all.push(crossover);
            }
        }
    }
    Ok(all)
}

impl Crossover {
    fn show(&self, table: &mut BenchTable<'_>) -> Result<(), Failure> {
        let Crossover { row_bytes, first, second, predicted, measured } = self;
        let json = json!({
            "table": "crossovers",
            "row_bytes": row_bytes,
            "first": first.name(),
            "second": second.name(),
            "predicted_rows": predicted.rows(),
            "predicted": predicted.text(),
            "measured_rows": measured.rows(),
            "measured": measured.text(),
        });
        let [first, second] = [first, second].map(|method| method.name().to_owned());
        let cells = [format!("{row_bytes} B"), first, second, predicted.text(), measured.text()];
        table.row(HEADS, cells, json)
    }
}

/// Predicted and measured times of an access at one width, each of which is looked up once.
struct Times<'a> {
    oram: &'a OramBench<'a>,
    row_bytes: u64,
    /// Nothing where the method is refused.
    planned: HashMap<(MemoryMethod, u32), Option<TimedAccesses<'a>>>,
}

/// Accesses that are planned, and their time if it was asked for.
struct TimedAccesses<'a> {
    planned: PlannedAccesses<'a>,
    measured: Option<MeasuredTime>,
}

/// Seconds of an access; nothing if the run takes too long.
type MeasuredTime = Option<f64>;

impl Times<'_> {
    fn crossover(
        &mut self,
        first: MemoryMethod,
        second: MemoryMethod,
    ) -> Result<Crossover, Failure> {
        let middle = (ROW_EXPONENTS.start() + ROW_EXPONENTS.end()) / 2;
        let predicted = crossing(middle, |exponent| {
            let [first, second] = [first, second].map(|method| self.predicted(method, exponent));
            Ok(first?.zip(second?).map(|(first, second)| (first / second).ln()))
        })?;
        // Measured sizes begin where the prediction says, as larger ones take long.
        let start = match predicted {
            Crossing::At(rows) => rows.log2() as u32,
            Crossing::Below => *ROW_EXPONENTS.start(),
            Crossing::Beyond | Crossing::Unknown => *ROW_EXPONENTS.end(),
        };
        let measured = crossing(start, |exponent| {
            let [first, second] = [first, second].map(|method| self.measured(method, exponent));
            Ok(first?.zip(second?).map(|(first, second)| (first / second).ln()))
        })?;
        Ok(Crossover { row_bytes: self.row_bytes, first, second, predicted, measured })
    }

    fn plan(&mut self, method: MemoryMethod, exponent: u32) -> Result<(), Failure> {
        if !self.planned.contains_key(&(method, exponent)) {
            let (rows, row_bits, contents) = (1 << exponent, 8 * self.row_bytes, Contents::Secret);
            let memory = AccessedMemory { rows, row_bits, method, contents };
            let planned = unless_refused(memory.planned(self.oram))?.ok();
            let accesses = planned.map(|planned| TimedAccesses { planned, measured: None });
            self.planned.insert((method, exponent), accesses);
        }
        Ok(())
    }

    fn predicted(&mut self, method: MemoryMethod, exponent: u32) -> Result<Option<f64>, Failure> {
        self.plan(method, exponent)?;
        let accesses = self.planned[&(method, exponent)].as_ref();
        Ok(accesses.map(|accesses| accesses.planned.predicted().seconds))
    }

    fn measured(&mut self, method: MemoryMethod, exponent: u32) -> Result<MeasuredTime, Failure> {
        self.plan(method, exponent)?;
        let accesses = self.planned.get_mut(&(method, exponent)).expect("it is planned");
        let Some(TimedAccesses { planned, measured }) = accesses else { return Ok(None) };
        if measured.is_none() {
            // A difference of two noisy runs may be below 0, and then says nothing.
            let seconds = planned.measured(self.oram)?.map(|figures| figures.seconds);
            *measured = Some(seconds.filter(|&seconds| seconds > 0.0));
        }
        Ok(measured.flatten())
    }
}

/// Looks for two neighbouring exponents between which `gain` becomes positive, from `start` on; it is the logarithm
/// of how many times quicker the second method is, or nothing if that is not known.
fn crossing(
    start: u32,
    mut gain: impl FnMut(u32) -> Result<Option<f64>, Failure>,
) -> Result<Crossing, Failure> {
    let mut at = start;
    let Some(mut here) = gain(at)? else { return Ok(Crossing::Unknown) };
    let upwards = here <= 0.0;
    loop {
        let next = if upwards { at + 1 } else { at - 1 };
        if !ROW_EXPONENTS.contains(&next) {
            return Ok(if upwards { Crossing::Beyond } else { Crossing::Below });
        }
        let Some(there) = gain(next)? else { return Ok(Crossing::Unknown) };
        if (there > 0.0) == upwards {
            let part = here / (here - there);
            let exponent = f64::from(at) + part * (f64::from(next) - f64::from(at));
            return Ok(Crossing::At(exponent.exp2()));
        }
        (at, here) = (next, there);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of lines that cross at a known size, from any start; what lies beyond the sizes is not looked at.
    #[test]
    fn lines_cross_where_they_are_equal() {
        for start in ROW_EXPONENTS {
            for (rows, slope) in [(5.0_f64, 0.3), (64.0, 1.0), (1000.0, 0.01)] {
                let at = |exponent: u32| slope * (f64::from(exponent) - rows.log2());
                let found = crossing(start, |exponent| Ok(Some(at(exponent)))).ok();
                let found = found.and_then(Crossing::rows).expect("they cross");
                assert!((found / rows - 1.0).abs() < 1e-9, "{found} instead of {rows}");
            }
        }
    }

    #[test]
    fn some_lines_do_not_cross() {
        for start in ROW_EXPONENTS {
            assert_eq!(crossing(start, |_| Ok(Some(1.0))).ok(), Some(Crossing::Below));
            assert_eq!(crossing(start, |_| Ok(Some(-1.0))).ok(), Some(Crossing::Beyond));
            assert_eq!(crossing(start, |_| Ok(None)).ok(), Some(Crossing::Unknown));
        }
        let late = |exponent| Ok((exponent < 9).then_some(-1.0));
        assert_eq!(crossing(5, late).ok(), Some(Crossing::Unknown));
    }
}
