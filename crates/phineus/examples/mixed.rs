//! The nearest of many rows to a sample: squares in arithmetic sharing, the minimum in GMW.
//!
//! `cargo run --example mixed -- run --protocol mixed --local --in client=a.csv --in server=b.csv`

use phineus::{U32, Vector, program};

fn main() -> std::process::ExitCode {
    let nearest = program("nearest").party("client").party("server").trace(|t, sizes| {
        let table = |party, rows| t.input(party, rows).number::<U32>("x").number::<U32>("y").read();
        let (sample, rows) = (table("client", 1).to_arith(), sizes.rows("server")?);
        let database = table("server", rows).to_arith();
        let squared = |axis| -> Vector<U32> {
            let (rows, sample) = (database.column::<U32>(axis), sample.column::<U32>(axis));
            let difference = &rows - &sample.get(0);
            &difference * &difference
        };
        let distances = &squared(0) + &squared(1);
        let least = distances.to_gmw().reduce(|a, b| a.min(b)).expect("the server has a row");
        t.output("nearest", &["client"]).number("squared_distance", &least).write();
        Ok(())
    });
    phineus::main(nearest)
}
