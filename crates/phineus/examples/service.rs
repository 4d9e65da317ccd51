//! A long-lived process that runs many sessions, some at once, under one memory limit.
//!
//! `cargo run --release --example service` reads requests, one a line:
//!
//! ```text
//! total 1000,2000 500     the total of two firms' salaries
//! cancel 1                ends the first session
//! ```
//!
//! and prints a line for each event, with the number of its session. It ends when its input does. Both
//! firms are threads of this process; a service of one firm differs in `together.connections`.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;

use phineus::{
    Cancel, Event, Failure, InputTable, MemoryLimit, MemoryPool, MemoryTable, Progress,
    ProtocolChoice, Registry, Run, U64, program, protocol, run_all,
};

/// The most memory that the process may have resident.
const TOTAL_BYTES: u64 = 256 << 20;
/// What it takes without sessions: measured, twice over.
const OWN_BYTES: u64 = 64 << 20;
/// The limit of each session: two fit at once, more wait.
const SESSION_BYTES: u64 = 104 << 20;

const FIRMS: [&str; 2] = ["firm_a", "firm_b"];

fn main() -> Result<(), Failure> {
    phineus::forbid_core_dumps()?;
    let registry = Arc::new(Registry::built_in().with(total()));
    let pool = MemoryPool::new(TOTAL_BYTES, OWN_BYTES)?;
    let mut cancels: BTreeMap<usize, Cancel> = BTreeMap::new();
    let mut sessions = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["total", a, b] => {
                let (number, cancel) = (sessions.len() + 1, Cancel::new());
                cancels.insert(number, cancel.clone());
                let (registry, pool) = (registry.clone(), pool.clone());
                let lists = [a, b].map(str::to_owned);
                sessions.push(std::thread::spawn(move || {
                    tell(number, session(number, &registry, &pool, lists, cancel));
                }));
            }
            ["cancel", number] => {
                let cancel = number.parse().ok().and_then(|number: usize| cancels.get(&number));
                cancel.into_iter().for_each(Cancel::cancel);
            }
            _ => println!("0: what is '{line}'?"),
        }
    }
    sessions.into_iter().for_each(|session| session.join().expect("a session does not panic"));
    Ok(())
}

/// Waits for memory, runs one session, and returns its result.
fn session(
    number: usize,
    registry: &Registry,
    pool: &MemoryPool,
    lists: [String; 2],
    cancel: Cancel,
) -> Result<String, Failure> {
    let share = pool.reserve_when_free(SESSION_BYTES, || cancel.is_requested())?;
    println!("{number}: has its share");
    let table = |(firm, list): (&str, String)| {
        let salaries: Vec<String> = list.split(',').map(str::to_owned).collect();
        InputTable::source(firm, MemoryTable::new(firm).with("salary", salaries))
    };
    let mut run = Run::of("total");
    run.inputs = FIRMS.into_iter().zip(lists).map(table).collect();
    run.together.protocol = ProtocolChoice::This(protocol::GMW);
    run.resources.memory = MemoryLimit::Reserved(share);
    let listener = move |event| {
        if let Event::Stage { text } = event {
            println!("{number}: {text}");
        }
    };
    let answer = run_all(registry, &run, &Progress::new(listener, cancel))?;
    answer.parties.iter().try_for_each(|party| party.report.verdict())?;
    Ok(answer.output("total").expect("both learn it").cell(0, 0).to_string())
}

/// Tells how a session has ended: errors have fields, from which each service makes its own words.
fn tell(number: usize, ended: Result<String, Failure>) {
    match ended {
        Ok(total) => println!("{number}: total {total}"),
        Err(failure) => {
            let class = failure.code.exit.meaning();
            println!("{number}: failed {} ({class})", failure.code);
            for fault in &failure.faults {
                let place = &fault.place;
                let (table, row) = (place.file.as_deref().unwrap_or("-"), place.row.unwrap_or(0));
                let column = place.column.as_deref().unwrap_or("-");
                println!("{number}: table {table}, row {row}, column {column}: {}", fault.what);
            }
            println!("{number}: {}", failure.revealed.as_deref().unwrap_or("nothing was sent"));
        }
    }
}

/// The program that all sessions run.
fn total() -> impl phineus::Program {
    program("total").party(FIRMS[0]).party(FIRMS[1]).trace(|t, sizes| {
        let [a, b] = FIRMS.map(|firm| -> Result<_, phineus::ProgramError> {
            let rows = sizes.rows(firm)?;
            Ok(t.input(firm, rows).number::<U64>("salary").vector::<U64>())
        });
        let total = a?.concat(&b?).sum::<64>();
        t.output("total", &FIRMS).number("total", &total).write();
        Ok(())
    })
}
