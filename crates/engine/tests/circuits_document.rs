//! The figures of `docs/circuits.md` are those of the circuits (`PHINEUS_BLESS=1` rewrites them).

use std::fmt::Write;
use std::path::PathBuf;

use phineus_bytecode::{ElementType, Instruction, Op};
use phineus_engine::bits::{Family, record};

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
         ANDs, and the levels that they are in, of the circuits with the fewest levels:\n\n{}\n",
        table(Family::FewestAnds),
        table(Family::LeastDepth)
    );
    let fresh = format!("{before}{begin}{tables}{end}{after}");
    if std::env::var_os("PHINEUS_BLESS").is_some() {
        std::fs::write(&path, &fresh).expect("the document can be written");
    } else {
        assert!(fresh == text, "docs/circuits.md is stale: run this test with PHINEUS_BLESS=1");
    }
}
