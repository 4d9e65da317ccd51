//! Who is richer, and by how much? Only the first party learns the difference.
//!
//! `cargo run --example richest -- run --local --in alice=a.csv --in bob=b.csv`

use phineus::{U64, program, select};

fn main() -> std::process::ExitCode {
    let parties = ["alice", "bob"];
    let richest = program("richest").party("alice").party("bob").trace(move |t, _| {
        let [alice, bob] =
            parties.map(|party| t.input(party, 1).number::<U64>("wealth").vector::<U64>().get(0));
        let is_alice = alice.gt(&bob);
        // A secret has no `if`: both sides are computed and one is selected.
        let difference = select(&is_alice, &alice - &bob, &bob - &alice);
        t.output("who", &parties).number("alice_is_richer", &is_alice).write();
        t.output("difference", &["alice"]).number("by", &difference).write();
        Ok(())
    });
    phineus::main(richest)
}
