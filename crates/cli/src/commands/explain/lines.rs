//! `explain --why`: the source lines that cost the most.

use std::collections::BTreeSet;

use phineus_session::failure::Failure;
use phineus_session::source_costs::{LineCost, OperationCost};
use phineus_tables::quantity;
use serde_json::json;

use crate::output::Console;

/// Lines that are listed; the rest is one line.
const LINES_MAX: usize = 12;

/// Operations of a line that are listed.
const OPERATIONS_MAX: usize = 3;

/// Prints the costliest lines, and what usually makes their operations cheaper.
pub(super) fn print(lines: &[LineCost], console: &Console) -> Result<(), Failure> {
    let all: u64 = lines.iter().map(|line| line.ands).sum();
    let total = quantity::count(all);
    let head = match lines.is_empty() {
        true => "no line takes an AND".to_owned(),
        false => {
            let s = if lines.len() == 1 { "" } else { "s" };
            format!("{total} ANDs in {} line{s}; of the program as it is narrowed", lines.len())
        }
    };
    console.print(&format!("{:<9} {head}", "lines"))?;
    for line in lines.iter().take(LINES_MAX) {
        let share = share_of(line.ands, all);
        let ands = quantity::count(line.ands);
        let operations: Vec<String> =
            line.operations.iter().take(OPERATIONS_MAX).map(named).collect();
        let rest = match line.operations.len().saturating_sub(OPERATIONS_MAX) {
            0 => String::new(),
            more => format!(", {more} more"),
        };
        let operations = operations.join(", ");
        console.print(&format!(
            "{:<9} {share} {ands:>15}  {}: {operations}{rest}",
            "",
            place(line)
        ))?;
    }
    let rest: u64 = lines.iter().skip(LINES_MAX).map(|line| line.ands).sum();
    if rest > 0 {
        let (share, ands) = (share_of(rest, all), quantity::count(rest));
        let more = lines.len() - LINES_MAX;
        console.print(&format!("{:<9} {share} {ands:>15}  {more} more lines", ""))?;
    }
    let mut told = BTreeSet::new();
    // Of what makes up a line: a sum of floating-point numbers has shifts in it, but nobody wrote one.
    let main = |line: &LineCost| {
        line.operations.first().filter(|cost| 2 * cost.ands >= line.ands).cloned()
    };
    let costliest: Vec<OperationCost> = lines.iter().take(LINES_MAX).filter_map(main).collect();
    for remedy in costliest.iter().filter_map(OperationCost::remedy) {
        if told.insert(remedy) {
            let name = if told.len() == 1 { "cheaper" } else { "" };
            console.print(&format!("{name:<9} {remedy}"))?;
        }
    }
    Ok(())
}

fn share_of(part: u64, all: u64) -> String {
    format!("{:>5.1} %", 100.0 * part as f64 / all.max(1) as f64)
}

fn place(line: &LineCost) -> String {
    match line.source.file.is_empty() {
        true => "elsewhere".to_owned(),
        false => format!("{}:{}", line.source.file, line.source.line),
    }
}

fn named(cost: &OperationCost) -> String {
    let (name, count) = (cost.op.info().name, quantity::count(cost.count));
    format!("{count} {name} of {} bits ({})", cost.element.width(), quantity::count(cost.ands))
}

pub(super) fn to_json(lines: &[LineCost]) -> serde_json::Value {
    let operation = |cost: &OperationCost| {
        json!({
            "operation": cost.op.info().name,
            "width": cost.element.width(),
            "count": cost.count,
            "and_gates": cost.ands,
            "cheaper": cost.remedy(),
        })
    };
    let line = |line: &LineCost| {
        json!({
            "file": line.source.file,
            "line": line.source.line,
            "and_gates": line.ands,
            "operations": line.operations.iter().map(operation).collect::<Vec<_>>(),
        })
    };
    lines.iter().map(line).collect()
}
