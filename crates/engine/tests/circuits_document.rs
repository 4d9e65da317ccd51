//! The figures of `docs/circuits.md` are those of the circuits (`PHINEUS_BLESS=1` rewrites them).

use std::fmt::Write;
use std::path::PathBuf;

use phineus_bytecode::{ElementType, Instruction, Op, ProgramReader};
use phineus_engine::bits::{Family, record};
use phineus_frontend::untyped::Value;
use phineus_frontend::{Arguments, Rounding, program, trace_to_file};

const WRITE: &str = "writing to a string cannot fail";

/// Widths of the table.
const WIDTHS: [u16; 5] = [8, 16, 32, 64, 128];

/// A row: a title, an operation, whether it is signed, and whether its operands are one value.
struct Row {
    title: &'static str,
    op: Op,
    is_signed: bool,
    is_square: bool,
}

const fn unsigned(title: &'static str, op: Op) -> Row {
    Row { title, op, is_signed: false, is_square: false }
}

const fn signed(title: &'static str, op: Op) -> Row {
    Row { is_signed: true, ..unsigned(title, op) }
}

const fn square(title: &'static str, op: Op) -> Row {
    Row { is_square: true, ..unsigned(title, op) }
}

const ROWS: &[Row] = &[
    unsigned("`and`, `or`", Op::And),
    unsigned("`add`", Op::Add),
    unsigned("`sub`", Op::Sub),
    unsigned("`neg`", Op::Neg),
    signed("`abs`", Op::Abs),
    unsigned("`mul`, low half", Op::Mul),
    square("`mul`, a square", Op::Mul),
    unsigned("`mul_full` of such operands", Op::MulFull),
    signed("`mul_full`, signed", Op::MulFull),
    square("`mul_full`, a square", Op::MulFull),
    unsigned("`div`", Op::Div),
    signed("`div`, signed", Op::Div),
    unsigned("`rem`", Op::Rem),
    unsigned("`div_rem`", Op::DivRem),
    signed("`div_rem`, signed", Op::DivRem),
    unsigned("`eq`, `ne`", Op::Eq),
    unsigned("`lt`, `le`", Op::Lt),
    unsigned("`min`, `max`", Op::Min),
    unsigned("`mux`, `cond_swap`", Op::Mux),
    unsigned("`mask`", Op::Mask),
    unsigned("`shift_left_by` so many bits", Op::ShiftLeftBy),
    signed("`shift_right_by`, signed", Op::ShiftRightBy),
    unsigned("`rotate_left_by`", Op::RotateLeftBy),
    unsigned("`popcount`", Op::Popcount),
    unsigned("`leading_zeros`", Op::LeadingZeros),
    unsigned("`all_bits`, `any_bit`", Op::AllBits),
];

/// The instruction of a row whose operands have `width` bits.
fn instruction(row: &Row, width: u16) -> Instruction {
    let wide = if row.op == Op::MulFull { 2 * width } else { width };
    let mut made = Instruction::new(row.op, ElementType::integer(wide, row.is_signed), 1);
    if !row.is_square {
        made.operands = [0, 1, 2];
    }
    made.immediates[0] = match row.op {
        // The bits of an amount below the width.
        Op::ShiftLeftBy | Op::ShiftRightBy | Op::RotateLeftBy => u64::from(width.ilog2()),
        Op::Popcount | Op::LeadingZeros => width.into(),
        _ => 0,
    };
    made
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn table(family: Family) -> String {
    let mut out = String::new();
    let head = WIDTHS.map(|width| format!(" {width} |")).concat();
    writeln!(out, "| operation |{head}\n|---|{}", "---|".repeat(WIDTHS.len())).expect(WRITE);
    // Circuits of least depth multiply a value by itself as they multiply two.
    let squares = family == Family::FewestAnds;
    for row in ROWS.iter().filter(|row| squares || !row.is_square) {
        write!(out, "| {} |", row.title).expect(WRITE);
        for width in WIDTHS {
            let template = record(&instruction(row, width), family);
            let ands = thousands(template.and_count());
            match family {
                Family::FewestAnds => write!(out, " {ands} |"),
                Family::LeastDepth | Family::LeastDepthApart => {
                    write!(out, " {ands} at {} |", template.depth())
                }
            }
            .expect(WRITE);
        }
        out.push('\n');
    }
    out
}

/// Formats of floating-point numbers, by their bits.
const FLOATS: [u16; 3] = [16, 32, 64];

/// An operation on two numbers, of which it may need only one.
type FloatRow = (&'static str, fn(&Value, &Value) -> Value);

const FLOAT_ROWS: &[FloatRow] = &[
    ("sum, difference", |a, b| a.float_add(b)),
    ("product", |a, b| a.float_mul(b)),
    ("square", |a, _| a.float_mul(a)),
    ("quotient", |a, b| a.float_div(b)),
    ("square root", |a, _| a.float_sqrt()),
    ("`==`", |a, b| a.float_eq(b)),
    ("`<`, `<=`", |a, b| a.float_lt(b)),
    ("minimum, maximum", |a, b| a.float_min(b)),
    ("`floor`, `ceil`", |a, _| a.float_integral(Rounding::Down)),
    ("`rint`", |a, _| a.float_integral(Rounding::TiesToEven)),
    ("from `int32_t`", |a, _| {
        let integer = match a.width() {
            16 => a.bit_concat(a),
            _ => a.bit_slice(0, 32),
        };
        integer.with_sign(true).float_from_integer(a.width())
    }),
    ("to `int32_t`", |a, _| a.float_to_integer(ElementType::signed(32))),
    ("from `int64_t`", |a, _| {
        let mut integer = a.clone();
        while integer.width() < 64 {
            integer = integer.bit_concat(&integer);
        }
        integer.with_sign(true).float_from_integer(a.width())
    }),
    ("to `int64_t`", |a, _| a.float_to_integer(ElementType::signed(64))),
    ("to the next wider format", |a, _| a.float_to_width((2 * a.width()).min(64))),
    ("to the next narrower format", |a, _| a.float_to_width((a.width() / 2).max(16))),
];

/// The instructions of an operation on numbers of so many bits, as it is recorded.
fn float_instructions(row: &FloatRow, width: u16) -> Vec<Instruction> {
    let operation = row.1;
    let traced = program("float").party("a").party("b").trace(move |t, _| {
        let table = t.input("a", 1).column(phineus_frontend::column(
            "x",
            ElementType::unsigned(width),
            Default::default(),
        ));
        let table = table.column(phineus_frontend::column(
            "y",
            ElementType::unsigned(width),
            Default::default(),
        ));
        let columns = table.read().into_columns();
        let result = operation(&columns[0][0], &columns[1][0]);
        let column = phineus_frontend::column("z", result.integer(), Default::default());
        t.output("z", &["a"]).chunks(column, vec![result]).write();
        Ok(())
    });
    let (file, _) = trace_to_file(&traced, &Arguments::default()).expect("it traces");
    let mut reader = ProgramReader::open(file).expect("just written");
    let mut all = Vec::new();
    let read = reader.for_each(|instruction| -> Result<(), phineus_bytecode::Error> {
        all.push(*instruction);
        Ok(())
    });
    read.expect("just written");
    all
}

/// ANDs of an operation, and the levels in which they are if each instruction waits for its operands.
fn float_cost(row: &FloatRow, width: u16, family: Family) -> (usize, usize) {
    let (mut ands, mut levels) = (0, 0);
    let mut level_of = std::collections::HashMap::new();
    let mut named = 0;
    for instruction in float_instructions(row, width) {
        let operands = instruction.operands().iter();
        let before = operands.map(|name| level_of.get(name).copied().unwrap_or(0)).max();
        let own = match instruction.op.info().meaning {
            Some(_) => {
                let template = record(&instruction, family);
                ands += template.and_count();
                template.depth()
            }
            None => 0,
        };
        let level = before.unwrap_or(0) + own;
        levels = levels.max(level);
        for _ in instruction.op.info().results {
            level_of.insert(named, level);
            named += 1;
        }
    }
    (ands, levels)
}

fn float_table(family: Family) -> String {
    let mut out = String::new();
    let head = FLOATS.map(|width| format!(" {width} |")).concat();
    writeln!(out, "| operation |{head}\n|---|{}", "---|".repeat(FLOATS.len())).expect(WRITE);
    for row in FLOAT_ROWS {
        write!(out, "| {} |", row.0).expect(WRITE);
        for width in FLOATS {
            let (ands, levels) = float_cost(row, width, family);
            match (ands, family) {
                (0, _) => write!(out, " - |"),
                (_, Family::FewestAnds) => write!(out, " {} |", thousands(ands)),
                (_, Family::LeastDepth | Family::LeastDepthApart) => {
                    write!(out, " {} at {levels} |", thousands(ands))
                }
            }
            .expect(WRITE);
        }
        out.push('\n');
    }
    out
}

#[test]
fn the_document_is_not_stale() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/circuits.md");
    let text = std::fs::read_to_string(&path).expect("the document is part of the repository");
    let begin = "<!-- circuits: written by the test, do not edit -->\n";
    let end = "<!-- end of circuits -->";
    let (before, rest) = text.split_once(begin).expect("the document has the mark");
    let (_, after) = rest.split_once(end).expect("the document has the mark");
    let tables = format!(
        "ANDs of the circuits with the fewest ANDs, by width of the operands:\n\n{}\n\
         ANDs, and the levels that they are in, of the circuits with the fewest levels:\n\n{}\n\
         Floating-point numbers, by their bits: ANDs of the circuits with the fewest ANDs.\n\n{}\n\
         ANDs and levels of the circuits with the fewest levels:\n\n{}\n",
        table(Family::FewestAnds),
        table(Family::LeastDepth),
        float_table(Family::FewestAnds),
        float_table(Family::LeastDepth)
    );
    let fresh = format!("{before}{begin}{tables}{end}{after}");
    if std::env::var_os("PHINEUS_BLESS").is_some() {
        std::fs::write(&path, &fresh).expect("the document can be written");
    } else {
        assert!(fresh == text, "docs/circuits.md is stale: run this test with PHINEUS_BLESS=1");
    }
}
