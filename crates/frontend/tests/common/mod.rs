//! Tracing a closure and running it in the clear.

use phineus_bytecode::{Lane, ProgramReader, Table, verify};
use phineus_frontend::{Arguments, ProgramError, Tracer, program, reference, trace_to_file};

/// A column of a table as integers.
#[allow(dead_code, reason = "not every test file uses every helper")]
pub fn column(table: &Table, index: usize) -> Vec<u64> {
    (0..table.row_count()).map(|row| table.cell(row, index).as_limbs()[0]).collect()
}

/// Traces `trace` for party `a`, verifies it, runs it on one column, and gives the outputs.
#[allow(dead_code, reason = "not every test file uses every helper")]
pub fn run_on(
    width: u16,
    rows: &[u64],
    trace: impl Fn(&Tracer) + Send + Sync + 'static,
) -> Vec<Table> {
    let program = program("test").party("a").party("b").trace(move |t, _| {
        trace(t);
        Ok(())
    });
    let arguments = Arguments::default();
    let (file, traced) = trace_to_file(&program, &arguments).expect("the program traces");
    let mut reader = ProgramReader::open(file).expect("it was written");
    let violations = verify(&mut reader).expect("it reads");
    assert!(violations.is_empty(), "{violations:?}");
    let mut tables = Vec::new();
    for port in &traced.description.inputs {
        assert!(port.columns.iter().all(|c| c.element.width() == width));
        let mut table = Table::new(port.columns.clone());
        for &row in rows {
            table.push(&vec![Lane::from(row); port.columns.len()]);
        }
        tables.push(table);
    }
    let (file, _) = trace_to_file(&program, &arguments).expect("it traces again");
    reference::run_file(file, &tables).expect("it runs")
}

/// The faults of a program.
#[allow(dead_code, reason = "not every test file uses every helper")]
pub fn faults(trace: impl Fn(&Tracer) + Send + Sync + 'static) -> Vec<String> {
    let program = program("test").party("a").party("b").trace(move |t, _| {
        trace(t);
        Ok(())
    });
    match trace_to_file(&program, &Arguments::default()) {
        Err(ProgramError::Faults(faults)) => faults.0.iter().map(|f| f.what.clone()).collect(),
        Err(other) => panic!("expected faults, got {other}"),
        Ok(_) => Vec::new(),
    }
}
