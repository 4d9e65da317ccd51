//! C programs: those in `c/ok` give what their plaintext references give, those in `c/leaks` are refused
//! at the line and with the words that they say themselves. `PHINEUS_C_ONLY=WORD` takes those with
//! the word in their path.
#![cfg(feature = "llvm")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use phineus_bytecode::random::Seeds;
use phineus_bytecode::{BlockDirectory, Op, ProgramReader, Table, verify, verify_blocks};
use phineus_c_frontend::CProgram;
use phineus_frontend::{Arguments, Program, same_rows, trace_to_file};

#[path = "c/accesses.rs"]
mod accesses;
#[path = "c/random.rs"]
mod random;
#[path = "c/traces.rs"]
mod traces;

/// Programs that are tested at the same time.
const WORKERS: usize = 4;

fn programs(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(folder);
    let files = std::fs::read_dir(&folder).expect("the folder is there");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    if let Ok(only) = std::env::var("PHINEUS_C_ONLY") {
        files.retain(|file| file.to_string_lossy().contains(&only));
    }
    files.sort();
    files
}

/// Runs a program on random inputs and compares with its plaintext reference; returns its instructions.
fn agrees(path: &Path, seeds: std::ops::Range<u64>) -> Result<u64, String> {
    fn shown(error: impl std::fmt::Display) -> String {
        error.to_string()
    }
    let program = CProgram::open(path).map_err(shown)?;
    let arguments = Arguments::new(&program, []).map_err(shown)?;
    let (mut file, traced) = trace_to_file(&program, &arguments).map_err(shown)?;
    let violations = match BlockDirectory::read(&mut file).map_err(shown)? {
        Some(blocks) => {
            let reader = |block: usize| blocks.open(file.try_clone()?, block);
            verify_blocks(&blocks, reader).map_err(shown)?
        }
        None => {
            let mut reader = ProgramReader::open(file).map_err(shown)?;
            verify(&mut reader).map_err(shown)?
        }
    };
    if !violations.is_empty() {
        return Err(format!("{violations:?}"));
    }
    for seed in seeds {
        let inputs = program.generate(&arguments, seed).ok_or("no inputs")?;
        let (file, again) = trace_to_file(&program, &arguments).map_err(shown)?;
        if again.written.hash != traced.written.hash {
            return Err("it is another program the second time, and parties must agree".into());
        }
        let outputs = phineus_frontend::reference::run_file(file, &inputs).map_err(shown)?;
        let expected = program
            .reference(&arguments, &inputs)
            .ok_or("no plaintext reference")?
            .map_err(shown)?;
        let equal = outputs.len() == expected.len()
            && outputs.iter().zip(&expected).all(|(a, b)| same_rows(a, b));
        if !equal {
            return Err(format!("seed {seed}: {}", differences(&outputs, &expected)));
        }
    }
    Ok(traced.written.instruction_count)
}

/// Where outputs differ from those of the plaintext reference.
fn differences(outputs: &[Table], expected: &[Table]) -> String {
    let mut found = Vec::new();
    for (a, b) in outputs.iter().zip(expected) {
        let rows = (0..a.row_count().min(b.row_count())).filter(|row| a.row(*row) != b.row(*row));
        let name = &a.columns()[0].name;
        found.extend(rows.take(9).map(|row| {
            format!("row {row} of {name}: {:?}, in plain C {:?}", a.row(row), b.row(row))
        }));
    }
    found.join("; ")
}

/// `// instructions: N` in a program: the most that it may become.
fn most_instructions(text: &str) -> u64 {
    let stated = text.lines().find_map(|line| line.strip_prefix("// instructions: "));
    stated.map_or(u64::MAX, |count| count.trim().parse().expect("it is a number"))
}

#[test]
fn programs_give_what_plain_c_gives() {
    on_all("ok", |name, text, path| {
        let most = most_instructions(text);
        match agrees(path, 1..3) {
            Ok(count) if count <= most => {
                println!("{name}: {count} instructions");
                Vec::new()
            }
            Ok(count) => vec![format!("{name}: {count} instructions, at most {most}")],
            Err(what) => vec![format!("{name}: {what}")],
        }
    });
}

/// The rows of a file give the first dimension also where each of its elements has several.
#[test]
fn sizes_are_those_of_the_rows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/ok/signature.c");
    let program = CProgram::open(&path).expect("it is one");
    let mut arguments = Arguments::new(&program, []).expect("defaults are arguments");
    arguments.set_rows("x", 10);
    let inputs = program.generate(&arguments, 1).expect("it has inputs");
    assert_eq!(inputs[0].row_count(), 10);
    let (file, _) = trace_to_file(&program, &arguments).expect("it is traced");
    let outputs = phineus_frontend::reference::run_file(file, &inputs).expect("it runs");
    let expected = program
        .reference(&arguments, &inputs)
        .expect("it has a plaintext reference")
        .expect("it runs");
    assert_eq!(outputs[0].row_count(), 5 * 4);
    assert!(outputs.iter().zip(&expected).all(|(a, b)| same_rows(a, b)));
    arguments.set_rows("x", 11);
    let refused = trace_to_file(&program, &arguments).map(drop).expect_err("of an odd count");
    let refused = refused.to_string();
    assert!(refused.contains("'x' has 11 rows, the program wants 2 for each"), "{refused}");
}

/// The products of matrices of a program: rows, columns and vectors of each.
fn products(name: &str, parameters: &[(&str, &str)]) -> Vec<[u64; 3]> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/ok").join(name);
    let program = CProgram::open(&path).expect("it compiles");
    let arguments =
        Arguments::new(&program, parameters.iter().copied()).expect("it has these parameters");
    let (file, _) = trace_to_file(&program, &arguments).expect("it can be traced");
    let mut found = Vec::new();
    let mut reader = ProgramReader::open(file).expect("it was just written");
    let read = reader.for_each(|instruction| {
        if instruction.op == Op::MatMul {
            let [columns, vectors, ..] = instruction.immediates;
            found.push([u64::from(instruction.lanes) / vectors, columns, vectors]);
        }
        assert!(instruction.op != Op::Mul, "{name}: a product for itself");
        Ok::<_, phineus_bytecode::Error>(())
    });
    read.expect("it was just written");
    found
}

/// What opens operands opens those of a tile once.
#[test]
fn products_of_matrices_are_tiles() {
    let whole = [("N", "8"), ("K", "8"), ("M", "8")];
    assert_eq!(products("matrix.c", &whole), [[8; 3]]);
    assert_eq!(products("matrix.c", &[]), [[9, 5, 7]]);
    assert_eq!(products("matrix_ikj.c", &[]), [[10, 7, 8], [10, 7, 5]]);
    assert_eq!(products("matrix_kij.c", &[]), [[16, 8, 8]; 4]);
    let count = |name, parameters: &[_]| {
        let tiles = products(name, parameters);
        let of = |sides: fn(&[u64; 3]) -> u64| tiles.iter().map(sides).sum::<u64>();
        (tiles.len(), of(|[m, k, n]| m * k * n), of(|[m, k, n]| m * k + k * n))
    };
    let cube = [("N", "64"), ("K", "64"), ("M", "64")];
    let opened = 64 * 64 * (64 / 16 + 64 / 8);
    for name in ["matrix.c", "matrix_ikj.c", "matrix_kij.c", "matrix_transposed.c"] {
        assert_eq!(count(name, &cube), (256, 64 * 64 * 64, opened), "{name}");
    }
    // What is held for itself, in between or as a product, is not computed again.
    assert_eq!(count("partial_sums.c", &[]).1, 16 * 16 + 16 * 16 * 16);
    assert_eq!(count("sums_of_sums.c", &[]).1, 2 * 8 * 4 * 8);
    // A vector: nothing is shared, and two columns fit a value.
    let row = [("N", "64"), ("K", "5"), ("M", "1")];
    assert_eq!(count("matrix.c", &row), (3, 64 * 5, 65 * 5));
}

/// What `test` finds wrong with each program of a folder, given its name, text and path.
fn on_all(folder: &str, test: impl Fn(&str, &str, &Path) -> Vec<String> + Sync) {
    let wrong = in_parallel(&programs(folder), |path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        test(&name, &std::fs::read_to_string(path).expect("readable"), path)
    })
    .concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The result of `work` on each item, in no order.
fn in_parallel<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        while let Some(item) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push(work(item));
        }
        done
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(run)).collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no panic")).collect()
    })
}

/// Random programs that are tested, without `PHINEUS_C_CASES`.
const CASES: u64 = 10;

/// Other programs in each run; `PHINEUS_C_CASES=300 PHINEUS_C_FIRST=1000` takes 300 from this seed on. One
/// that is wrong is kept in the folder for temporary files, under a name with its seed.
#[test]
fn random_programs_give_what_plain_c_gives() {
    random_programs(random::program);
}

/// As above, with large arrays that are read and written at secret indices.
#[test]
fn random_accesses_give_what_plain_c_gives() {
    random_programs(accesses::program);
}

fn random_programs(program: impl Fn(u64) -> String + Sync) {
    let number = |name, otherwise| {
        std::env::var(name).map_or(otherwise, |text| text.parse().expect("it is a number"))
    };
    let fresh = Seeds::fresh().draw() % (1 << 40);
    let (count, first) = (number("PHINEUS_C_CASES", CASES), number("PHINEUS_C_FIRST", fresh));
    // A folder of its own: the same test may run twice on a machine.
    let folder = tempfile::tempdir().expect("writable");
    let seeds: Vec<u64> = (first..first + count).collect();
    let wrong = in_parallel(&seeds, |seed| {
        let name = format!("phineus-random-{seed}.c");
        let path = folder.path().join(&name);
        std::fs::write(&path, program(*seed)).expect("writable");
        let what = agrees(&path, 1..3).err()?;
        let kept = std::env::temp_dir().join(name);
        std::fs::copy(&path, &kept).expect("writable");
        Some(format!("{}: {what}", kept.display()))
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A program outside the current directory that shares some of its path, as clang names it by the
/// rest alone.
#[test]
fn files_are_named_so_that_they_are_found() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("writable");
    let path = folder.path().join("division_by_zero.c");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/leaks/division_by_zero.c");
    std::fs::copy(from, &path).expect("writable");
    let program = CProgram::open(&path).expect("it compiles");
    let arguments = Arguments::new(&program, []).expect("defaults are arguments");
    let found = program.check(&arguments).expect("it can be looked at");
    assert!(!found.is_empty());
    for diagnostic in found {
        let file = Path::new(&diagnostic.spot.file);
        assert!(file.exists(), "{} is no file", file.display());
    }
}

/// `// leak: WORDS` at the end of lines of a program: each line with the words.
fn expected(text: &str) -> Vec<(u32, &str)> {
    text.lines()
        .zip(1..)
        .filter_map(|(text, line)| Some((line, text.split_once("// leak: ")?.1.trim())))
        .collect()
}

#[test]
fn programs_that_leak_are_refused_at_their_lines() {
    on_all("leaks", |name, text, path| {
        let expected = expected(text);
        assert!(!expected.is_empty(), "{name} expects nothing");
        let found = errors(name, path, &expected);
        let mut wrong = Vec::new();
        for (line, words) in &expected {
            if !found.iter().any(|(at, what)| at == line && what.contains(words)) {
                wrong.push(format!("{name}:{line}: no '{words}' in {found:?}"));
            }
        }
        for (line, what) in &found {
            if !expected.iter().any(|(at, _)| at == line) {
                wrong.push(format!("{name}:{line}: unexpected: {what}"));
            }
        }
        wrong
    });
}

/// The errors of a program by line; of one that is refused before it runs (by clang, or for its
/// annotations) those at the expected lines.
fn errors(name: &str, path: &Path, expected: &[(u32, &str)]) -> Vec<(u32, String)> {
    let program = match CProgram::open(path) {
        Ok(program) => program,
        Err(error) => {
            let error = error.to_string();
            let is_there = |line: &u32| error.contains(&format!("{name}:{line}"));
            let lines = expected.iter().map(|(line, _)| *line).filter(is_there);
            let found: Vec<_> = lines.map(|line| (line, error.clone())).collect();
            // An error about no line is unexpected, and shown.
            return if found.is_empty() { vec![(0, error)] } else { found };
        }
    };
    let arguments = Arguments::new(&program, []).expect("defaults are arguments");
    let found = program.check(&arguments).expect("it can be looked at");
    let errors = found.into_iter().filter(|diagnostic| diagnostic.is_error);
    errors.map(|d| (d.spot.line, format!("{} = {}", d.message, d.remedy))).collect()
}
