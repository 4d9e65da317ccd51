//! Prints what the known attacks on silent OT's learning parity with noise cost: `lpn_attacks` for
//! the sizes in use, `lpn_attacks TREES LOG_K DEPTH` for any other.

mod attacks;

use std::process::ExitCode;

use attacks::{Estimate, Instance, local};
use phineus_ot::LpnParameters;

fn main() -> ExitCode {
    let arguments: Result<Vec<usize>, _> = std::env::args().skip(1).map(|a| a.parse()).collect();
    let instances = match arguments.as_deref() {
        Ok([]) => LpnParameters::ALL
            .map(|size| Instance::new(size.length(), size.secret_length(), size.trees()))
            .to_vec(),
        Ok(&[trees, secret_bits, depth]) if trees > 0 && secret_bits < 32 && depth < 32 => {
            vec![Instance::new(trees << depth, 1 << secret_bits, trees)]
        }
        _ => {
            eprintln!("usage: lpn_attacks [TREES LOG_K DEPTH]");
            return ExitCode::from(2);
        }
    };
    let columns: Vec<Vec<Estimate>> =
        instances.iter().map(|&i| attacks::all(i, LpnParameters::ROW_ENTRIES)).collect();
    print(&instances, &columns);
    ExitCode::SUCCESS
}

/// A table in Markdown: a row an attack, a column an instance.
fn print(instances: &[Instance], columns: &[Vec<Estimate>]) {
    let line = |cells: &mut dyn Iterator<Item = String>| {
        println!("| {} |", cells.collect::<Vec<_>>().join(" | "));
    };
    let sizes = instances.iter().map(|i| format!("n = {}, k = {}, t = {}", i.n, i.k, i.t));
    line(&mut ["attack".to_string(), "source".into()].into_iter().chain(sizes));
    line(&mut std::iter::repeat_n("---".to_string(), 2 + instances.len()));
    for row in 0..columns[0].len() {
        let name = [columns[0][row].attack.to_string(), columns[0][row].source.into()];
        let bits = columns.iter().map(|column| format!("{:.1}", column[row].bits));
        line(&mut name.into_iter().chain(bits));
    }
    let least = columns.iter().map(|column| format!("{:.1}", attacks::least(column).bits));
    line(&mut ["least".to_string(), String::new()].into_iter().chain(least));
    for &instance in instances {
        let (entries, check) = (
            LpnParameters::ROW_ENTRIES,
            local::lightest_check(instance, LpnParameters::ROW_ENTRIES),
        );
        println!(
            "k = {}: columns for a part: {:.3} at random, {:.3} at best; lightest parity check: {} \
             rows, bias 2^{:.1}, found after 2^{:.0} information sets",
            instance.k,
            local::random_fraction(instance, entries),
            local::best_fraction(instance, entries),
            check.rows,
            check.bias,
            check.finding,
        );
    }
}
