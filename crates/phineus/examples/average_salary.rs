//! The average salary of two firms, neither of which shows its own to the other: a program of
//! one's own, with the whole command line.
//!
//! `cargo run --example average_salary -- run --local --in firm_a=a.csv --in firm_b=b.csv`

use phineus::{U32, program};

fn main() -> std::process::ExitCode {
    let firms = ["firm_a", "firm_b"];
    let average =
        program("average_salary").party(firms[0]).party(firms[1]).trace(move |t, sizes| {
            let rows = [sizes.rows(firms[0])?, sizes.rows(firms[1])?];
            let salaries = |firm: usize| {
                t.input(firms[firm], rows[firm]).number::<U32>("salary").vector::<U32>()
            };
            let total = salaries(0).concat(&salaries(1)).sum::<64>();
            let average = total / (rows[0] + rows[1]);
            t.output("result", &firms).number("average", &average).write();
            Ok(())
        });
    phineus::main(average)
}
