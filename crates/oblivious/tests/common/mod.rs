//! Tracing an algorithm on a table and running it in the clear.

use std::fs::File;
use std::io::{Seek, SeekFrom};

use phineus_bytecode::{Column, ElementType, Encoding, Lane, Op, ProgramReader, Table, verify};
use phineus_frontend::{Arguments, Records, Tracer, column, program, reference, trace_to_file};

/// An algorithm on one table, traced for some number of rows.
pub struct Traced {
    file: File,
    columns: Vec<Column>,
}

/// Columns of 16 bits.
pub fn columns(count: usize) -> Vec<Column> {
    (0..count)
        .map(|index| column(&format!("c{index}"), ElementType::unsigned(16), Encoding::Number))
        .collect()
}

impl Traced {
    /// Traces `algorithm` on `rows` rows of `column_count` columns in chunks of `lanes`.
    pub fn new(
        rows: u64,
        column_count: usize,
        lanes: u32,
        algorithm: impl Fn(&Tracer, Records) -> Vec<Records> + Send + Sync + 'static,
    ) -> Traced {
        Traced::in_order(false, (rows, column_count, lanes), algorithm)
    }

    /// As [`Traced::new`], networks level by level or depth first.
    pub fn in_order(
        by_levels: bool,
        (rows, column_count, lanes): (u64, usize, u32),
        algorithm: impl Fn(&Tracer, Records) -> Vec<Records> + Send + Sync + 'static,
    ) -> Traced {
        let mut arguments = Arguments::default();
        if by_levels {
            arguments.go_by_levels();
        }
        let given = columns(column_count);
        let program = program("test").party("a").trace(move |t: &mut Tracer, _| {
            let mut input = t.input("a", rows).lanes(lanes);
            for column in &given {
                input = input.column(column.clone());
            }
            for (index, records) in algorithm(t, input.read()).into_iter().enumerate() {
                let described: Vec<Column> = records
                    .elements()
                    .iter()
                    .enumerate()
                    .map(|(c, &element)| column(&format!("c{c}"), element, Encoding::Number))
                    .collect();
                t.output(&format!("o{index}"), &["a"]).records(&described, records).write();
            }
            Ok(())
        });
        let (file, _) = trace_to_file(&program, &arguments).expect("it traces");
        let mut traced = Traced { file, columns: columns(column_count) };
        let violations = verify(&mut traced.reader()).expect("it reads");
        assert!(violations.is_empty(), "{violations:?}");
        traced
    }

    fn reader(&mut self) -> ProgramReader<File> {
        self.file.seek(SeekFrom::Start(0)).expect("it seeks");
        let file = self.file.try_clone().expect("it is open");
        ProgramReader::open(file).expect("it was written")
    }

    /// Runs it on rows; gives the rows of each output.
    pub fn run(&mut self, rows: &[Vec<u64>]) -> Vec<Vec<Vec<u64>>> {
        let mut table = Table::new(self.columns.clone());
        for row in rows {
            let row: Vec<Lane> = row.iter().map(|&x| Lane::from(x)).collect();
            table.push(&row);
        }
        self.file.seek(SeekFrom::Start(0)).expect("it seeks");
        let file = self.file.try_clone().expect("it is open");
        let outputs = reference::run_file(file, &[table]).expect("it runs");
        let words = |row: Vec<Lane>| row.iter().map(|lane| lane.as_limbs()[0]).collect();
        outputs
            .iter()
            .map(|table| (0..table.row_count()).map(|r| words(table.row(r))).collect())
            .collect()
    }

    /// How many lanes of results `op` has in all.
    #[allow(dead_code, reason = "not every test file counts")]
    pub fn lanes_of(&mut self, op: Op) -> u64 {
        let mut lanes = 0;
        self.reader()
            .for_each::<phineus_bytecode::Error>(|instruction| {
                if instruction.op == op {
                    lanes += u64::from(instruction.lanes);
                }
                Ok(())
            })
            .expect("it reads");
        lanes
    }
}

/// Small numbers that repeat, from a seed.
#[allow(dead_code, reason = "not every test file needs them")]
pub fn numbers(count: u64, below: u64, seed: u64) -> Vec<u64> {
    let mut state = seed.wrapping_mul(2) + 1;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        })
        .collect()
}
