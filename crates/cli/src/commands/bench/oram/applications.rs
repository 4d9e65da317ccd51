//! The applications of SR, table I: whole runs, inputs and first shuffles included.

use phineus_session::failure::Failure;
use serde_json::json;

use super::{
    BenchTable, Case, Figures, METHODS, MemoryMethod, OramBench, REFUSED, time, unless_refused,
    volume,
};

/// One program of one size.
struct Application {
    program: &'static str,
    /// Rows, vertices or pairs, by which `--n` selects it.
    n: u64,
    parameters: &'static [(&'static str, u64)],
    /// Seconds by scan and by Square-Root ORAM in table I, on two machines of 2016 in a network of 1 Gbit/s; nothing
    /// where it has none, or where the columns of our copy of the table cannot be told apart.
    published: [Option<&'static str>; 3],
}

const fn application(
    program: &'static str,
    n: u64,
    parameters: &'static [(&'static str, u64)],
    published: [Option<&'static str>; 3],
) -> Application {
    Application { program, n, parameters, published }
}

const NONE: [Option<&str>; 3] = [None; 3];

const APPLICATIONS: [Application; 16] = [
    application("binary-search", 1024, &[("n", 1024), ("searches", 1)], NONE),
    application("binary-search", 1024, &[("n", 1024), ("searches", 32)], NONE),
    application("binary-search", 1024, &[("n", 1024), ("searches", 1024)], NONE),
    application(
        "binary-search",
        32768,
        &[("n", 32768), ("searches", 1)],
        [Some("1.00 s"), Some("10.41 s"), Some("3228.69 s")],
    ),
    application(
        "binary-search",
        32768,
        &[("n", 32768), ("searches", 32)],
        [Some("31.87 s"), Some("26.25 s"), Some("3282.40 s")],
    ),
    application(
        "binary-search",
        32768,
        &[("n", 32768), ("searches", 1024)],
        [Some("1019.77 s"), Some("824.81 s"), Some("5040.82 s")],
    ),
    application(
        "bfs",
        4,
        &[("vertices", 4), ("edges", 16)],
        [Some("0.09 s"), Some("0.34 s"), Some("4.28 s")],
    ),
    application(
        "bfs",
        32,
        &[("vertices", 32), ("edges", 128)],
        [Some("4.77 s"), Some("4.08 s"), Some("42.66 s")],
    ),
    application(
        "bfs",
        1024,
        &[("vertices", 1024), ("edges", 4096)],
        [Some("4569.31 s"), Some("679.63 s"), Some("3750.57 s")],
    ),
    application("gale-shapley", 8, &[("n", 8)], [None, Some("0.51 s"), Some("6.57 s")]),
    application("gale-shapley", 64, &[("n", 64)], NONE),
    application("gale-shapley", 512, &[("n", 512)], [None, Some("1919.92 s"), Some("119405 s")]),
    application("scrypt", 32, &[("n", 32), ("r", 8)], [Some("4.11 s"), None, None]),
    application(
        "scrypt",
        1024,
        &[("n", 1024), ("r", 1), ("dklen", 32)],
        [Some("210.92 s"), None, None],
    ),
    application("scrypt", 1024, &[("n", 1024), ("r", 8)], [Some("1678.16 s"), None, None]),
    application(
        "scrypt",
        16384,
        &[("n", 16384), ("r", 8)],
        [Some("about 7 days"), Some("2846.51 s"), Some("188972 s")],
    ),
];

const HEADS: [&str; 7] = [
    "      program",
    "              parameters",
    "     method",
    "              measured",
    "predicted",
    "sent by both",
    " SR, table I",
];

/// Measures all applications, or those that the user wants.
pub(super) fn run(
    oram: &OramBench<'_>,
    wants: &dyn Fn(&str) -> bool,
    table: &mut BenchTable<'_>,
) -> Result<(), Failure> {
    let is_wanted =
        |one: &&Application| wants(one.program) && oram.bench.n.is_none_or(|n| n == one.n);
    let wanted: Vec<&Application> = APPLICATIONS.iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        if wants("accesses") {
            return Ok(());
        }
        let mut sizes: Vec<u64> =
            APPLICATIONS.iter().filter(|one| wants(one.program)).map(|one| one.n).collect();
        sizes.dedup();
        let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
        let message = "nothing of this size is measured here";
        return Err(Failure::usage(message).remedy(format!("--n is one of {}", sizes.join(", "))));
    }
    table.head(
        "Applications (SR, table I); extrapolated: the predicted time of the plan, whose figures are exact",
        HEADS,
    )?;
    for one in wanted {
        for method in METHODS {
            let published = match method {
                MemoryMethod::Scan => one.published[0],
                MemoryMethod::SquareRoot
                | MemoryMethod::SquareRootTable
                | MemoryMethod::Dpf
                | MemoryMethod::GarbledTable
                | MemoryMethod::Linked => one.published[1],
                MemoryMethod::Circuit => one.published[2],
            };
            measure(oram, one, (method, published), table)?;
        }
    }
    Ok(())
}

impl Application {
    fn case<'a>(&self, oram: &OramBench<'a>, method: MemoryMethod) -> Case<'a> {
        let parameters: Vec<(&str, String)> =
            self.parameters.iter().map(|&(name, number)| (name, number.to_string())).collect();
        oram.case(self.program, &parameters, method.name())
    }

    /// How often the program does the same if it scans, and the parameter that says so.
    fn scans(&self) -> Option<(&'static str, u64)> {
        self.parameters.iter().copied().find(|(name, _)| *name == "searches")
    }
}

/// Figures of the plan of a case.
///
/// A search that scans costs the same each time, so two plans of few searches have the figures of many, whose plan
/// would have some hundred million instructions.
fn predicted(case: &Case<'_>, scans: Option<(&str, u64)>) -> Result<Figures, Failure> {
    let Some((name, count)) = scans.filter(|&(_, count)| count > SCANS_PLANNED_MAX) else {
        return case.predicted();
    };
    let few = |count: u64| {
        let mut parameters = case.parameters.clone();
        let searches = parameters.iter_mut().find(|(other, _)| other == name);
        searches.expect("the case has it").1 = count.to_string();
        Case { parameters, ..*case }.predicted()
    };
    let (one, two) = (few(SCANS_PLANNED_MAX / 2)?, few(SCANS_PLANNED_MAX)?);
    let each = two.each(one, SCANS_PLANNED_MAX / 2);
    let more = (count - SCANS_PLANNED_MAX) as f64;
    Ok(Figures {
        seconds: two.seconds + more * each.seconds,
        sent_bytes: two.sent_bytes + more * each.sent_bytes,
    })
}

/// Searches of the larger of two plans.
const SCANS_PLANNED_MAX: u64 = 4;

fn measure(
    oram: &OramBench<'_>,
    one: &Application,
    (method, published): (MemoryMethod, Option<&str>),
    table: &mut BenchTable<'_>,
) -> Result<(), Failure> {
    let case = one.case(oram, method);
    let parameters: Vec<String> =
        one.parameters.iter().map(|(name, number)| format!("{name}={number}")).collect();
    let parameters = parameters.join(" ");
    let published_text = published.unwrap_or("-").to_owned();
    let scans = one.scans().filter(|_| method == MemoryMethod::Scan);
    let mut json = json!({
        "table": "applications",
        "program": one.program,
        "parameters": parameters,
        "method": method.name(),
        "published": published,
    });
    let cells = |measured: String, predicted: String, sent: String| {
        let (program, method) = (one.program.to_owned(), method.name().to_owned());
        [program, parameters.clone(), method, measured, predicted, sent, published_text.clone()]
    };
    let predicted = match unless_refused(predicted(&case, scans))? {
        Ok(predicted) => predicted,
        Err(reason) => {
            json["refused"] = reason.into();
            let none = || "-".to_owned();
            return table.row(HEADS, cells(REFUSED.to_owned(), none(), none()), json);
        }
    };
    let measured = oram.measured([(&case, predicted)])?.map(|[measured]| measured);
    json["predicted_seconds"] = predicted.seconds.into();
    json["predicted_sent_bytes"] = predicted.sent_bytes.into();
    json["measured_seconds"] = measured.map(|measured| measured.seconds).into();
    json["measured_sent_bytes"] = measured.map(|measured| measured.sent_bytes).into();
    json["is_extrapolated"] = measured.is_none().into();
    let extrapolated = || format!("extrapolated: {}", time(predicted.seconds));
    let taken = measured.map_or_else(extrapolated, |measured| time(measured.seconds));
    table.row(HEADS, cells(taken, time(predicted.seconds), volume(predicted.sent_bytes)), json)
}
