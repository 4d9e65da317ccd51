//! Circuit files: both dialects, everything that can be wrong with them, and our own exports.

use std::io::Write;
use std::path::Path;

use phineus_bytecode::{Instruction, Lane, ProgramReader, Table, verify};
use phineus_frontend::bristol::{Circuit, Expansion, ExportedWire, GateWriter, export};
use phineus_frontend::{
    Arguments, Element, I32, Program, U8, U16, U64, U128, program, reference, trace_to_file,
};

/// A half adder, old format: one bit each, sum and carry.
const HALF_ADDER: &str = "2 4\n1 1 2\n\n2 1 0 1 2 XOR\n2 1 0 1 3 AND\n";

/// Fashion: all gates. Inputs of 2, 1 and 2 bits; outputs of 2 and 4 bits.
const ALL_GATES: &str = "9 15
3 2 1 2
2 2 4

2 1 0 1 5 XOR
1 1 1 6 EQ
1 1 5 7 EQW
4 2 0 1 3 4 8 9 MAND
2 1 8 9 10 AND
1 1 2 11 INV
1 1 7 12 NOT
2 1 6 12 13 XOR
1 1 0 14 EQ
";

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::Builder::new().suffix(".txt").tempfile().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("it is written");
    file
}

/// Runs a circuit on generated inputs, compares with its plaintext reference, and returns both
/// tables.
fn agree(path: &Path, given: &[(&str, &str)], seed: u64) -> (Vec<Table>, Vec<Table>) {
    let circuit = Circuit::open(path).expect("the header is right");
    let arguments = Arguments::new(&circuit, given.iter().copied()).expect("they exist");
    let inputs = circuit.generate(&arguments, seed).expect("it generates");
    let (file, _) = trace_to_file(&circuit, &arguments).expect("the gates are right");
    let mut reader = ProgramReader::open(file).expect("it was written");
    assert!(verify(&mut reader).expect("it reads").is_empty());
    let outputs = reference::run(&circuit, &arguments, &inputs).expect("it runs");
    let expected = circuit
        .reference(&arguments, &inputs)
        .expect("it has a reference")
        .expect("the reference runs");
    assert!(circuit.agrees(&outputs, &expected), "seed {seed}");
    (inputs, outputs)
}

#[test]
fn the_old_format_is_read() {
    let file = file(HALF_ADDER);
    let (inputs, outputs) = agree(file.path(), &[("batch", "300")], 1);
    assert_eq!(inputs.len(), 2);
    for row in 0..300 {
        let [a, b] = [0, 1].map(|party: usize| inputs[party].cell(row, 0));
        assert_eq!(outputs[0].cell(row, 0), a + b);
    }
}

#[test]
fn fashion_is_read_with_all_its_gates() {
    let file = file(ALL_GATES);
    for (batch, owners) in [("1", "auto"), ("2", "1,0,0"), ("17", "0,0,0"), ("600", "1,1,1")] {
        agree(file.path(), &[("batch", batch), ("owners", owners)], 2);
    }
    for (parties, owners) in [("3", "2,0,1"), ("4", "3,3,1"), ("16", "15,0,7")] {
        agree(file.path(), &[("parties", parties), ("batch", "20"), ("owners", owners)], 4);
    }
    let (inputs, outputs) = agree(file.path(), &[("batch", "50")], 3);
    let bit = |lane: Lane, index: usize| u64::from(lane.bit(index));
    for row in 0..50 {
        let (x, y, z) = (inputs[0].cell(row, 0), inputs[1].cell(row, 0), inputs[1].cell(row, 1));
        let (w8, w9) = (bit(x, 0) & bit(z, 0), bit(x, 1) & bit(z, 1));
        let w5 = bit(x, 0) ^ bit(x, 1);
        let low = w9 | (w8 & w9) << 1;
        let high = (1 - bit(y, 0)) | (1 - w5) << 1 | w5 << 2;
        assert_eq!(outputs[0].cell(row, 0), Lane::from(low));
        assert_eq!(outputs[0].cell(row, 1), Lane::from(high));
    }
}

/// Bits of an input or output beyond 256 become several columns.
#[test]
fn wide_values_are_cut_into_columns() {
    let width = 300;
    let mut text = format!("{width} {}\n1 {width}\n1 {width}\n\n", 2 * width);
    for bit in 0..width {
        text += &format!("1 1 {bit} {} INV\n", 2 * width - 1 - bit);
    }
    let file = file(&text);
    let (inputs, outputs) = agree(file.path(), &[("batch", "40")], 4);
    assert_eq!(inputs[0].columns().len(), 2);
    for row in 0..40 {
        let bits = |table: &Table, bit: usize| table.cell(row, bit / 256).bit(bit % 256);
        for bit in 0..width {
            assert_ne!(bits(&inputs[0], bit), bits(&outputs[0], width - 1 - bit));
        }
    }
}

/// Traces a circuit that is wrong and returns what is said about it, without the file's name.
fn error_of(text: &str) -> String {
    let file = file(text);
    let error = Circuit::open(file.path()).and_then(|circuit| {
        let arguments = Arguments::new(&circuit, []).expect("it has defaults");
        trace_to_file(&circuit, &arguments)
    });
    let error = error.expect_err("the circuit is wrong").to_string();
    let (_, rest) = error.split_once(".txt:").expect("the file is named");
    rest.to_string()
}

#[test]
fn every_mistake_is_reported_with_its_line() {
    let replaced = |from: &str, to: &str| error_of(&HALF_ADDER.replace(from, to));
    assert_eq!(
        replaced("XOR", "NAND"),
        "4: gate 'NAND' is unknown; known are AND, XOR, INV, NOT, EQ, EQW and MAND"
    );
    assert_eq!(replaced("0 1 2 XOR", "0 4 2 XOR"), "4: there is no wire 4; the header states 4");
    assert_eq!(replaced("0 1 2 XOR", "0 3 2 XOR"), "4: wire 3 is used before it is defined");
    assert_eq!(replaced("0 1 3 AND", "0 1 2 AND"), "5: wire 2 is defined twice");
    assert_eq!(
        replaced("2 1 0 1 3 AND", "3 1 0 1 3 AND"),
        "5: the gate states 4 operands and results and has 3"
    );
    assert_eq!(
        replaced("2 1 0 1 3 AND", "1 1 0 3 AND"),
        "5: AND has 2 operands and 1 result, got 1 and 1"
    );
    assert_eq!(replaced("AND", ""), "5: the gate has no name");
    assert_eq!(replaced("AND", "AND 7"), "5: '7' stands after the gate's name AND");
    assert_eq!(replaced("2 4", "3 4"), "6: the header states 3 gates, the file has 2");
    assert_eq!(replaced("2 4", "1 4"), "5: the header states 1 gates, here is one more");
    assert_eq!(replaced("2 4", "2 5"), "6: the output wire 4 is never defined");
    assert_eq!(
        replaced("2 4", "2 4000"),
        "2: the header states 4000 wires, more than the file can define"
    );
    assert_eq!(
        replaced("2 4", "2 99999999999999999999"),
        "1: expected the number of gates and of wires, as whole numbers"
    );
    assert_eq!(
        replaced("1 1 2", "1 1"),
        "2: expected the bits of both inputs and of the output, found 2 numbers"
    );
    assert_eq!(
        replaced("1 1 2", "1 1 99999999999"),
        "2: the inputs or outputs have 99999999999 bits; the most is 16777216"
    );
    assert_eq!(replaced("1 1 2", "1 1 0"), "2: the circuit has no outputs");
    assert_eq!(
        error_of("1 2 3\n"),
        "1: expected the number of gates and of wires, found 3 numbers"
    );
    assert_eq!(error_of(""), "1: the file ends before the number of gates and of wires");
    assert_eq!(error_of("1 3\n2 1 1\n"), "4: the header states 1 gates, the file has 0");
    let fashion = |from: &str, to: &str| error_of(&ALL_GATES.replacen(from, to, 1));
    assert_eq!(
        fashion("3 2 1 2", "2 2 1 2"),
        "2: the line states 2 inputs and has the widths of 3"
    );
    assert_eq!(fashion("1 1 1 6 EQ", "1 1 2 6 EQ"), "6: EQ takes the constant 0 or 1, got 2");
    assert_eq!(
        fashion("4 2 0 1 3 4 8 9 MAND", "3 2 0 1 3 8 9 MAND"),
        "8: MAND has twice as many operands as results, got 3 and 2"
    );
}

#[test]
fn owners_and_batches_are_checked() {
    let file = file(ALL_GATES);
    let circuit = Circuit::open(file.path()).expect("the header is right");
    let trace = |given: (&str, &str), rows: &[(&str, u64)]| {
        let mut arguments = Arguments::new(&circuit, [given]).expect("it exists");
        for (port, rows) in rows {
            arguments.set_rows(port, *rows);
        }
        trace_to_file(&circuit, &arguments).err().map(|e| e.to_string())
    };
    let owners = "expected auto, or 3 of 0 to 1 with commas between";
    for bad in ["0,1", "0,1,2", "x"] {
        let found = trace(("owners", bad), &[]);
        assert_eq!(found, Some(format!("owners={bad}: {owners}")));
    }
    let unequal = "input 'site_a' has 3 rows and 'site_b' has 4: they are computed on row by row, \
                   so both need the same number";
    let found = trace(("batch", "1"), &[("site_a", 3), ("site_b", 4)]);
    assert_eq!(found.as_deref(), Some(unequal));
    assert_eq!(trace(("batch", "1"), &[("site_a", 3), ("site_b", 3)]), None);
}

/// Any bytes are read or refused, never more.
#[test]
fn damaged_files_only_give_errors() {
    let mut state = 7u64;
    let cases = std::env::var("PHINEUS_FUZZ_CASES").map_or(2000, |n| n.parse().expect("a number"));
    for case in 0..cases {
        let mut bytes = [HALF_ADDER, ALL_GATES][case % 2].as_bytes().to_vec();
        for _ in 0..1 + case % 4 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at = (state >> 33) as usize % bytes.len();
            match state >> 30 & 3 {
                0 => bytes[at] = (state >> 40) as u8,
                1 => bytes[at] = b"0123456789 \nXANDEQINV"[(state >> 40) as usize % 20],
                2 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, b'9'),
            }
        }
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(&bytes).expect("it is written");
        let Ok(circuit) = Circuit::open(file.path()) else {
            continue;
        };
        let arguments = Arguments::new(&circuit, []).expect("it has defaults");
        // Ports of many bits are right but slow; the point here is the gates.
        if circuit.header().input_bits() + circuit.header().output_bits() < 5000 {
            let _ = trace_to_file(&circuit, &arguments);
        }
    }
}

/// The engine's interpreter over bits.
struct Engine;

impl Expansion for Engine {
    fn scratch_wires(&self, instruction: &Instruction) -> usize {
        phineus_engine::bits::scratch_wires(instruction)
    }

    fn execute(
        &self,
        recorder: &mut GateWriter,
        instruction: &Instruction,
        results: &mut [&mut [ExportedWire]],
        operands: &[&[ExportedWire]],
        scratch: &mut [ExportedWire],
    ) {
        phineus_engine::bits::execute(recorder, instruction, results, operands, scratch);
    }
}

/// Exports a program to a file.
fn exported(program: &dyn Program) -> tempfile::NamedTempFile {
    let arguments = Arguments::new(program, []).expect("it has defaults");
    let (traced, _) = trace_to_file(program, &arguments).expect("it traces");
    let mut reader = ProgramReader::open(traced).expect("it was written");
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    export(&mut reader, &Engine, file.as_file()).expect("it is exported");
    file
}

fn gate_count(path: &Path, name: &str) -> usize {
    let text = std::fs::read_to_string(path).expect("it is text");
    text.lines().filter(|line| line.ends_with(name)).count()
}

#[test]
fn an_exported_adder_is_read_back_and_adds() {
    let adder = program("adder").party("site_a").party("site_b").trace(|t, _| {
        let [a, b] = ["site_a", "site_b"].map(|p| t.input(p, 1).number::<U64>("x").vector::<U64>());
        let sum = a.get(0) + b.get(0);
        t.output("sum", &["site_a"]).number("sum", &sum).write();
        Ok(())
    });
    let file = exported(&adder);
    assert_eq!(gate_count(file.path(), " AND"), 63);
    let (inputs, outputs) = agree(file.path(), &[("batch", "100")], 5);
    for row in 0..100 {
        let [a, b] = [0, 1].map(|party: usize| inputs[party].cell(row, 0).as_limbs()[0]);
        assert_eq!(outputs[0].cell(row, 0), Lane::from(a.wrapping_add(b)));
    }
}

/// A program with many operations and lanes gives the same through its circuit.
#[test]
fn an_exported_program_computes_the_same() {
    let mixed = program("mixed").party("site_a").party("site_b").trace(|t, _| {
        let a = t.input("site_a", 5).number::<U16>("x").vector::<U16>();
        let a = U16::from_value(a.chunks()[0].clone());
        let b: U128 = t.input("site_b", 1).hex::<U128>("y").vector().get(0);
        let byte: U8 = b.bits(16);
        let (div, rem) = a.div_rem(byte.to::<U16>() | 1);
        let signed: I32 = a.to::<I32>() - b.bits::<16>(40).to::<I32>();
        let chosen = signed.is_negative().select(&div, a.reverse() * 10);
        t.output("lanes", &["site_b"])
            .number("div", &div)
            .number("rem", &rem)
            .number("abs", &signed.abs())
            .number("chosen", &chosen)
            .write();
        t.output("one", &["site_a"])
            .number("sum", &a.sum::<32>())
            .number("public", &U8::constant(t, 0b1010_0110))
            .number("bits", &b.popcount::<8>())
            .write();
        Ok(())
    });
    let file = exported(&mixed);
    let circuit = Circuit::open(file.path()).expect("it is right");
    assert_eq!(circuit.header().inputs, [80, 128]);
    assert_eq!(circuit.header().outputs, [80, 80, 160, 80, 32, 8, 8]);
    let (inputs, outputs) = agree(file.path(), &[("batch", "1")], 6);
    // The same inputs as rows of the program itself.
    let (traced, description) = trace_to_file(&mixed, &Arguments::default()).expect("it traces");
    let ports = &description.description.inputs;
    let mut tables: Vec<Table> = ports.iter().map(|p| Table::new(p.columns.clone())).collect();
    let packed = inputs[0].cell(0, 0);
    for row in 0..5 {
        tables[0].push(&[packed >> (16 * row) & Lane::from(0xffff)]);
    }
    tables[1].push(&[inputs[1].cell(0, 0)]);
    let direct = reference::run_file(traced, &tables).expect("it runs");
    let mut column = 0;
    for table in &direct {
        for (index, described) in table.columns().iter().enumerate() {
            let width = usize::from(described.element.width());
            let packed = (0..table.row_count()).fold(Lane::ZERO, |all, row| {
                all | table.cell(row, index) << (width * row as usize)
            });
            assert_eq!(outputs[0].cell(0, column), packed, "{}", described.name);
            column += 1;
        }
    }
    assert_eq!(circuit.header().output_bits(), 448);
}
