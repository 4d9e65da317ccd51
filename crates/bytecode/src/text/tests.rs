//! The text form against the binary form, and errors of faulty texts.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::binary::to_bytes;
use crate::description::{Description, PlanDescription};
use crate::ops::{OPS, Op};
use crate::random::{RandomOptions, plan_unbounded, random_program};
use crate::settings::Settings;

pub(crate) fn text_of(bytes: &[u8]) -> String {
    let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("just written");
    let mut text = Vec::new();
    write_text(&mut reader, &mut text).expect("a valid program has a text");
    String::from_utf8(text).expect("the text is UTF-8")
}

pub(crate) fn assert_round_trip(
    kind: FileKind,
    program: &[Instruction],
    description: &Description,
) {
    let bytes = to_bytes(kind, program, description).expect("in memory");
    let mut reader = ProgramReader::open(Cursor::new(&bytes)).expect("just written");
    assert_eq!(reader.description(), description);
    let mut read = Vec::new();
    reader
        .for_each(|instruction| {
            read.push(*instruction);
            Ok::<(), Error>(())
        })
        .expect("just written");
    assert_eq!(read, program);
    let text = text_of(&bytes);
    let (parsed, written) = parse_text(text.as_bytes(), "a.phi", Vec::new()).expect("valid");
    assert_eq!(parsed, bytes);
    assert_eq!(written.hash, reader.hash());
}

/// Whether the text form leaves its type out.
fn untyped(op: Op) -> bool {
    op.is_directive() || op == Op::Round
}

/// A planned program with each directive somewhere in it.
fn with_directives(planned: &mut Vec<Instruction>) {
    for info in OPS.iter().filter(|info| untyped(info.op)) {
        let at = planned.len() / 2;
        planned.insert(at, Instruction::directive(info.op, 0, 0));
    }
}

#[test]
fn every_op_round_trips() {
    let alone = |op: Op| {
        let needs_others = op.is_carrying() || op.is_about_state();
        !untyped(op) && !needs_others && op != Op::RequireZero
    };
    for info in OPS.iter().filter(|info| alone(info.op)) {
        let ops = Some(vec![info.op]);
        let options = RandomOptions { ops, instruction_count: 20, ..RandomOptions::default() };
        let (program, description) = random_program(1, &options);
        assert!(program.iter().any(|i| i.op == info.op), "{} is missing", info.name);
        assert_round_trip(FileKind::Program, &program, &description);
        let (mut planned, description) = plan_unbounded(&program, &description);
        with_directives(&mut planned);
        assert_round_trip(FileKind::Planned, &planned, &description);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn random_programs_round_trip(
        seed: u64,
        instruction_count in 0..400usize,
        live_max in 1..99usize,
    ) {
        let options = RandomOptions { instruction_count, live_max, ..RandomOptions::default() };
        let (program, description) = random_program(seed, &options);
        assert_round_trip(FileKind::Program, &program, &description);
        let (mut planned, description) = plan_unbounded(&program, &description);
        with_directives(&mut planned);
        assert_round_trip(FileKind::Planned, &planned, &description);
    }
}

#[test]
fn a_rich_description_round_trips() {
    let ports = concat!(
        "phineus 5 planned\n",
        "name \"a \\\"name\\\" # not a comment\\n\"\n",
        "party \"ä\"\n",
        "party \"\"\n",
        "value_wires_max 4097\n",
        "parameter \"k\" \"v = 1\"\n",
        "input_port \"in\" party=1 rows=18446744073709551615",
        " sort_columns=1 descending=1 unique=0\n",
        "  column \"a\" u64 text\n",
        "  column \"b\" i7 number\n",
        "input_port \"none\" party=0 rows=0\n",
        "  column \"c\" u128 hex\n",
        "output_port \"out\" parties=0,1 rows=0\n",
        "  column \"d\" u1 number\n",
    );
    let code = concat!(
        "issue_swap_in frame=2 slot=17\n",
        "finish_swap_in frame=2 slot=17\n",
        "@4096 = constant u256x1 value=0xff0000000000000000000000000000000000000000000001\n",
        "@0 @8192 = div_rem i4x9 @4096 @4160\n",
    );
    let plan = PlanDescription {
        layout: crate::Layout::wires(16),
        page_wires: 4096,
        frame_count: 3,
        spill_slot_count: 18,
        protocol: "garbled".to_owned(),
        settings: Settings::of(&serde_json::json!({ "a word": "wo\"rd", "number": u64::MAX })),
        costs: [("and gates".to_owned(), u64::MAX)].into(),
        ..PlanDescription::default()
    };
    let text = format!("{ports}{}{code}", plan_lines(plan));
    let (bytes, _) = parse_text(text.as_bytes(), "a.phi", Vec::new()).expect("valid");
    assert_eq!(text_of(&bytes), text);
}

/// The lines of a plan's figures.
pub(crate) fn plan_lines(plan: PlanDescription) -> String {
    let description = Description { plan: Some(plan), ..Description::default() };
    let mut text = String::new();
    header::write(&mut text, &description);
    text.split_once('\n').expect("a name comes first").1.to_owned()
}

#[test]
fn texts_may_be_laid_out_freely() {
    let tight = "phineus 5 program\nname \"n\"\nparty \"p\"\n%0 = constant u8x2 value=0x10\n\
                 %1 = bit_slice u2x2 %0 start=3 from_width=8\n";
    let loose = "# a\n\n \t phineus 5   program # b\nname\"n\"#c\r\n  party   \"p\"\n#\n\
                 %0=constant u8x2 value = 16\r\n%1 = bit_slice u2x2 %0 from_width =0x8 start= 3#d";
    let parse = |text: &str| parse_text(text.as_bytes(), "a.phi", Vec::new()).expect("valid").0;
    assert_eq!(parse(tight), parse(loose));
}

/// Asserts that the faults of `text` are where it says `#! ` and contain what follows that.
#[track_caller]
pub(crate) fn assert_faults(text: &str) {
    let error = parse_text(text.as_bytes(), "p.phi", Vec::new()).err();
    let Some(Error::Text(found)) = error else { panic!("no fault in:\n{text}") };
    let marked = text.lines().zip(1..).filter_map(|(line, number)| {
        let (_, messages) = line.split_once("#! ")?;
        Some(messages.split(" & ").map(move |message| (number, message)))
    });
    let wanted: Vec<(u64, &str)> = marked.flatten().collect();
    let matches = wanted.len() == found.faults.len()
        && wanted
            .iter()
            .zip(&found.faults)
            .all(|((line, message), fault)| *line == fault.line && fault.what.contains(message));
    assert!(matches, "wanted {wanted:#?}\nfound\n{found}");
}

#[test]
fn faulty_lines_are_all_reported() {
    assert_faults(
        "phineus 5 program\n\
         name \"n\"\n\
         party \"p\"\n\
         %0 = constant u8x1 value=1\n\
         %1 = ad u8x1 %0 %0              #! did you mean 'add'\n\
         %2 = add u8x1 %0   #! needs 2 operands, got 1; write: %r0 = add TYPExLANES %a %b\n\
         add u8x1 %0 %0                  #! add needs 1 result, got 0\n\
         %3 %4 = add u8x1 %0 %0          #! add needs 1 result, got 2\n\
         %5 = add %0 %0                  #! '%0' is not a type and lanes\n\
         %6 = add u8 %0 %0               #! 'u8' is not a type and lanes: write for example u32x1\n\
         %7 = add u257x1 %0 %0           #! 'u257' is not a type: write u1 to u256\n\
         %8 = add u8x-1 %0 %0            #! '-1' is not a number of lanes\n\
         %9 = add u8x1 %0 %0 %0 %0       #! no operation has more than 3 operands\n\
         %10 = add u8x1 %0 @0            #! places in a program file begin with '%', not '@'\n\
         %11 = add u8x1 %0 %zero         #! 'zero' is not a place\n\
         %12 = add u8x1 %0 %0 amount=1   #! add has not an immediate 'amount'\n\
         %13 = shift_left u8x1 %0   #! needs amount=; write: %r0 = shift_left TYPExLANES %a a\n\
         %14 = shift_left u8x1 %0 amount=1 amount=1  #! not a second immediate 'amount'\n\
         %15 = shift_left u8x1 %0 amount=18446744073709551616  #! amount is not below 2^64\n\
         %16 = shift_left u8x1 %0 amount 1           #! expected '=' after amount\n\
         %17 = shift_left u8x1 %0 amount=1_0         #! '1_0' is not amount\n\
         %18 add u8x1 %0 %0              #! expected '=' after the results\n\
         %19 =                           #! an operation is missing at the end\n\
         %20 = add u8x1 %0 %0 0          #! add has not an immediate '0'\n\
         name \"n\"                      #! the description stands before the first instruction\n\
         %21 = add u8x1 %0 %20\n",
    );
}

#[test]
fn faulty_headers_are_all_reported() {
    assert_faults(
        "phineus 5 program\n\
         column \"c\" u8 number          #! below an input_port or an output_port\n\
         name \"n\"\n\
         name \"n\"                      #! one name\n\
         party p                         #! put it between quotation marks\n\
         party \"p                       #! not a string as JSON writes it\n\
         party \"p\" 7                   #! '7' is one too many here\n\
         parameter \"a\" \"1\"\n\
         parameter \"a\" \"1\"           #! stands twice\n\
         input_port \"i\" rows=2         #! expected party=\n\
         input_port \"i\" party=65536 rows=2  #! party is not below 65536\n\
         input_port \"i\" party=0 rows=2 sort_columns=1 descending=2 unique=0 #! is 0 or 1\n\
         output_port \"o\" parties=0, rows=1  #! 'rows' is not a party\n\
         output_port \"o\" parties=0 rows=1\n\
         column \"c\" u0 number          #! 'u0' is not a type\n\
         column \"c\" u8 octal           #! 'octal' is not an encoding\n\
         cost \"c\" 1\n\
         plan frame_count 1\n\
         plan frame_count 1              #! stands twice\n\
         plan frame_count -1             #! '-1' is not the figure\n",
    );
    assert_faults("phineus 5 program\nparty \"p\"   #! the program has no name\n");
    assert_faults("phineus 5 program\nname \"n\"    #! 1 to 64 parties\n");
    assert_faults("phineus 5 planned\nname \"n\"\nparty \"p\"\nplan frames 3 #! unknown field\n");
    assert_faults(
        "phineus 5 planned\nname \"n\"\nparty \"p\"\ncost \"a\" 3  #! costs and settings belong to a plan\n",
    );
    let planned = "phineus 5 planned\nname \"n\"\nparty \"p\"\n";
    assert_faults(&format!("{planned}setting \"a\" 3  #! costs and settings belong to a plan\n"));
    assert_faults(&format!(
        "{planned}setting \"a\" 3\nsetting \"a\" 4 #! setting 'a' stands twice\n"
    ));
    assert_faults(&format!("{planned}setting \"a\" -3 #! the figure\n"));
    assert_faults(&format!("{planned}value_wires_max 4096 #! value_wires_max is more than 4096\n"));
    assert_faults(&format!("{planned}value_wires_max 1048577 #! at most 1048576\n"));
    assert_faults(&format!("{planned}value_wires_max 5000\nvalue_wires_max 5000 #! stated once\n"));
    assert_faults("phineus 1 program #! format version 1, this reads 5\n");
    assert_faults("phineus 5 plan    #! begins with the line: phineus 5 program\n");
    assert_faults("fineus 1 program  #! begins with the line: phineus 5 program\n");
}

#[test]
fn faults_name_file_line_and_column() {
    let text = "phineus 5 program\nname \"n\"\nparty \"p\"\n\n%0 = constant u8x1 valeur=ä";
    let error = parse_text(text.as_bytes(), "sum.phi", Vec::new()).map(|_| ()).expect_err("faulty");
    let message = error.to_string();
    assert!(
        message.starts_with("sum.phi:5:20: constant has not an immediate 'valeur'"),
        "{message}"
    );
    let many = format!("phineus 5 program\nname \"n\"\nparty \"p\"\n{}", "bad\n".repeat(1000));
    let Err(Error::Text(found)) = parse_text(many.as_bytes(), "p.phi", Vec::new()) else {
        panic!("faulty")
    };
    assert_eq!(found.faults.len(), crate::limits::FAULTS_MAX);
    for garbage in [&b""[..], b"\xff\xfe", b"PHINEUS\0\0\0\0"] {
        assert!(matches!(parse_text(garbage, "p.phi", Vec::new()), Err(Error::Text(_))));
    }
}

#[test]
fn directives_may_have_a_type_only_to_show_a_wrong_one() {
    let mut directive = Instruction::directive(Op::IssueSwapIn, 3, 17);
    assert_eq!(line_of(FileKind::Planned, &directive), "issue_swap_in frame=3 slot=17");
    directive.lanes = 2;
    assert_eq!(line_of(FileKind::Planned, &directive), "issue_swap_in u1x2 frame=3 slot=17");
}
