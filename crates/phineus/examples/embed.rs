//! How many numbers are on both lists? Both parties in this process, or one of them.
//!
//! `cargo run --release --example embed` runs both. `embed site_a` runs one of them, over TLS with the
//! parties of `cluster.toml` and the keys in `phineus-id` (`phineus id init` makes them).

use phineus::{
    Event, Failure, InputTable, MemoryLimit, MemoryTable, Progress, ProtocolChoice, Registry, Run,
    protocol,
};

fn main() -> Result<(), Failure> {
    // A process that handles secrets leaves no core file.
    phineus::forbid_core_dumps()?;
    let list = |name: &str, numbers: &[u64]| {
        let table = MemoryTable::new(format!("list of {name}"));
        InputTable::source(name, table.with("element", numbers.to_vec()))
    };
    let mut run = Run::of("psi");
    run.together.protocol = ProtocolChoice::This(protocol::GMW);
    run.resources.memory = MemoryLimit::Process(192 << 20);
    run.inputs = vec![list("site_a", &[3, 5, 8]), list("site_b", &[2, 3, 8, 9])];
    let registry = Registry::built_in();
    let notes = |event| {
        if let Event::Note { text } | Event::Warning { text } = event {
            println!("{text}");
        }
    };
    let progress = Progress::new(notes, Default::default());
    let one = match std::env::args().nth(1) {
        None => {
            let answer = phineus::run_all(&registry, &run, &progress)?;
            // Only here are the inputs of all: the answer must be the plaintext one.
            answer.verify(&registry, &run)?.check()?;
            answer.parties.into_iter().next().expect("there are two")
        }
        Some(name) => {
            run.inputs.retain(|list| list.input.as_ref() == Some(&name));
            run.together.as_party = Some(name);
            phineus::run(&registry, &run, &progress)?
        }
    };
    let common = one.output("result").expect("both parties learn it");
    println!("numbers on both lists: {}", common.cell(0, 0));
    one.report.summary().iter().for_each(|line| println!("{line}"));
    // A figure that differs from its prediction is an error.
    one.report.verdict()
}
