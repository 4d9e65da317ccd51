//! One faulty program for each invariant, and programs without fault.

use std::io::Cursor;

use super::*;
use crate::binary::to_bytes;
use crate::description::PlanDescription;
use crate::instruction::{ElementType, Shape};
use crate::ops::OPS;
use crate::random::{RandomOptions, Seeds, plan_unbounded, random_program};
use crate::text::tests::{assert_faults, plan_lines};

fn violations(
    kind: FileKind,
    program: &[Instruction],
    description: &Description,
) -> Vec<Violation> {
    let bytes = to_bytes(kind, program, description).expect("in memory");
    let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("just written");
    let found = verify(&mut reader).expect("just written");
    let bounded = verify_within(&mut reader, 0).expect("just written");
    assert_eq!(found, bounded, "both methods to know the shapes find the same");
    found
}

#[test]
fn random_programs_and_plans_are_valid() {
    let mut seeds = Seeds::fresh();
    for _ in 0..50 {
        let (program, description) = random_program(seeds.draw(), &RandomOptions::default());
        assert_eq!(violations(FileKind::Program, &program, &description), []);
        let (planned, description) = plan_unbounded(&program, &description);
        assert_eq!(violations(FileKind::Planned, &planned, &description), []);
    }
}

fn constant(shape: Shape, value: u64) -> Instruction {
    let mut constant =
        Instruction::new(Op::Constant, ElementType::unsigned(shape.width), shape.lanes);
    constant.results[0] = value;
    constant
}

fn another(shape: Shape) -> Shape {
    let lanes = if shape.lanes == 1 { 2 } else { shape.lanes - 1 };
    if shape.width == 1 { Shape { lanes, ..shape } } else { Shape { width: 1, ..shape } }
}

/// For every operation: valid with operands of its roles' shapes, and not with any other operand.
#[test]
fn every_op_is_held_to_its_roles() {
    for info in OPS.iter().filter(|info| !info.op.is_directive() && info.op != Op::Output) {
        let ops = Some(vec![info.op]);
        let options = RandomOptions { ops, instruction_count: 40, ..RandomOptions::default() };
        let (program, description) = random_program(3, &options);
        for drawn in program.iter().filter(|i| i.op == info.op) {
            let count = info.operands.len();
            for wrong in 0..=count {
                let mut instruction = *drawn;
                let shape = |k| {
                    let right = drawn.operand_shape(k);
                    if k == wrong { another(right) } else { right }
                };
                let mut tested: Vec<_> = (0..count).map(|k| constant(shape(k), k as u64)).collect();
                (0..3).for_each(|k| instruction.operands[k] = if k < count { k as u64 } else { 0 });
                (0..info.results.len()).for_each(|k| instruction.results[k] = (count + k) as u64);
                tested.push(instruction);
                let mut description = description.clone();
                description.outputs.clear();
                let found = violations(FileKind::Program, &tested, &description);
                if wrong == count {
                    assert_eq!(found, []);
                } else {
                    let [violation] = &found[..] else { panic!("{found:?}") };
                    let what = format!("operand {} of {} must have", wrong + 1, info.name);
                    assert!(violation.what.starts_with(&what), "{violation}");
                    assert_eq!(violation.place.as_ref().map(|p| p.0), Some(count as u64));
                }
            }
        }
    }
}

const PROGRAM: &str = "phineus 5 program\nname \"n\"\nparty \"p\"\n\
    input_port \"i\" party=0 rows=10\n column \"a\" u8 number\n column \"b\" i8 number\n";

const OUTPUT: &str = "output_port \"o\" parties=0 rows=4\n column \"c\" u8 number\n";

fn faulty(header: &str, lines: &str) {
    assert_faults(&format!("{PROGRAM}{header}{lines}"));
}

#[test]
fn shapes_are_valid_and_rules_hold() {
    faulty(
        "",
        "%0 = input u8x513 port=0 column=0 row=0  #! u8x513 is no valid shape & has 10 rows\n\
         %1 = constant u8x0 value=0               #! u8x0 is no valid shape\n\
         %2 = constant u8x4294967295 value=0      #! no valid shape\n\
         %3 = constant u8x1 value=0x100           #! the constant is wider than its type\n\
         %4 = constant u8x3 value=0\n\
         %5 = constant u9x1 value=0\n\
         %6 = constant u4x3 value=0\n\
         %7 = mul_full u9x1 %5 %5                 #! a full product has an even width\n\
         %8 = bit_concat u8x3 %4 %4 low_width=8   #! operand 2 would have 0 bits\n\
         %9 = bit_slice u2x3 %4 start=7 from_width=8   #! the slice ends after\n\
         %10 = cast u9x3 %4 from_width=8 from_signed=2 #! from_signed is 0 or 1\n\
         %11 = cast u9x3 %4 from_width=0 from_signed=0 #! operand 1 would have 0 bits\n\
         %12 = reshape u3x8 %4 from_width=5            #! from_width must divide\n\
         %13 = lane_slice u8x2 %4 start=2 from_lanes=3 #! the slice ends after\n\
         %14 = lane_tile u8x4 %4 from_lanes=3          #! must be a multiple of from_lanes\n\
         %15 %16 = lane_deinterleave u8x3 %4 block=2   #! must be a multiple of block\n\
         %17 = lane_interleave u8x3 %4 %4 block=1      #! half the lanes\n\
         %18 = lane_sum u8x2 %4 from_width=8 from_lanes=3 #! a reduction has one lane\n\
         %19 = aes128 u8x3 %4 %4                       #! AES works on u128\n\
         %20 = sha256_compress u8x3 %4 %4 %4           #! SHA-256 works on u256\n\
         %21 = aes128_key_schedule u128x3 %4 from_lanes=1 #! takes 1 lane and gives 11\n\
         %22 = bit_concat u8x3 %6 %6 low_width=4\n",
    );
}

#[test]
fn sums_of_arithmetic_shares_keep_their_width() {
    faulty(
        "",
        "%0 = input u8@ax4 port=0 column=0 row=0\n\
         %1 = lane_sum u8@ax1 %0 from_width=8 from_lanes=4\n\
         %2 = lane_sum u16@ax1 %0 from_width=8 from_lanes=4  #! cannot widen\n",
    );
}

#[test]
fn cells_exist_and_have_the_column_type() {
    faulty(
        "",
        "%0 = input u8x10 port=0 column=0 row=0\n\
         %1 = input u8x10 port=0 column=0 row=0\n\
         %2 = input u8x1 port=1 column=0 row=0   #! there is no input port 1, only 1 in all\n\
         %3 = input u8x1 port=0 column=2 row=0   #! has no column 2, only 2 in all\n\
         %4 = input u8x1 port=0 column=1 row=0   #! has type i8, not u8\n\
         %5 = input u7x1 port=0 column=0 row=0   #! has type u8, not u7\n\
         %6 = input u8x3 port=0 column=0 row=8   #! has 10 rows, not 3 from row 8 on\n\
         %7 = input u8x1 port=0 column=0 row=18446744073709551615 #! has 10 rows\n\
         output u8x1 %0 port=0 column=0 row=0    #! there is no output port 0 & operand 1\n"
            .replace(
                "there is no output port 0 & operand 1",
                "operand 1 & there is no output port 0",
            )
            .as_str(),
    );
}

#[test]
fn every_output_cell_is_written_once() {
    faulty(
        OUTPUT,
        "%0 = input u8x2 port=0 column=0 row=0\n\
         output u8x2 %0 port=0 column=0 row=2\n\
         output u8x2 %0 port=0 column=0 row=1  #! row 2 of column 'c' of output 'o' is\n\
         output u8x2 %0 port=0 column=0 row=0  #! row 1 of column 'c'\n",
    );
    faulty(
        OUTPUT,
        "%0 = input u8x1 port=0 column=0 row=0\n\
         output u8x1 %0 port=0 column=0 row=0\n\
         output u8x1 %0 port=0 column=0 row=3  #! rows 1 to 2 of column 'c' of output 'o'\n",
    );
    faulty(OUTPUT, "%0 = input u8x1 port=0 column=0 row=0  #! rows 0 to 3\n");
}

#[test]
fn values_are_named_in_order_and_defined_before_use() {
    faulty(
        "",
        "%0 = input u8x1 port=0 column=0 row=0\n\
         %2 = add u8x1 %0 %0     #! the next is %1, not %2\n\
         %3 = add u8x1 %2 %1\n\
         %3 = add u8x1 %0 %3     #! the next is %4, not %3\n\
         %4 = add u8x1 %4 %3     #! %4 is used before it is defined\n\
         %5 = add u8x1 %18446744073709551615 %0 #! is used before it is defined\n\
         %900000000000 = add u8x1 %5 %0  #! the next is %6, not %900000000000\n",
    );
}

#[test]
fn operands_have_the_shape_of_their_role() {
    faulty(
        "",
        "%0 = input u8x4 port=0 column=0 row=0\n\
         %1 = input i8x4 port=0 column=1 row=0\n\
         %2 = add u8x4 %0 %1\n\
         %3 = lt i8x4 %1 %0\n\
         %4 = add u8x5 %0 %2   #! must have 8 bits x 5 lanes, but %0 has 8 bits x 4 & operand 2\n\
         %5 = mux u8x4 %0 %1 %2 #! operand 1 of mux must have 1 bits x 4 lanes\n\
         %6 %7 = cond_swap u8x4 %3 %1 %3 #! operand 3 of cond_swap\n",
    );
}

#[test]
fn programs_have_no_directives() {
    faulty("", "issue_swap_in frame=0 slot=0 #! belongs into planned programs only\n");
}

/// The lines before the instructions of a plan with 3 frames and 2 spill slots.
fn planned() -> String {
    let plan = PlanDescription {
        layout: crate::Layout::wires(16),
        page_wires: 4096,
        frame_count: 3,
        spill_slot_count: 2,
        ..PlanDescription::default()
    };
    format!("phineus 5 planned\nname \"n\"\nparty \"p\"\n{}", plan_lines(plan))
}

#[test]
fn planned_places_are_in_frames() {
    assert_faults(&format!(
        "{}@0 = constant u256x16 value=0\n\
         @12287 = constant u1x1 value=0\n\
         @12288 = constant u1x1 value=0      #! result 1 ends at @12288, the frames at @12288\n\
         @18446744073709551615 = constant u8x1 value=0 #! the frames at @12288\n\
         @4090 = constant u8x1 value=0       #! result 1 at @4090 lies in two pages\n\
         @0 = not u8x1 @4090                 #! operand 1 at @4090 lies in two pages\n",
        planned()
    ));
}

#[test]
fn planned_results_do_not_overlap() {
    assert_faults(&format!(
        "{}@8 = add u8x1 @0 @16\n\
         @8 = add u8x1 @0 @15            #! result 1 overlaps operand 2\n\
         @8 = add u8x1 @1 @16            #! result 1 overlaps operand 1\n\
         @32 @39 = div_rem u8x1 @0 @8    #! result 2 overlaps result 1\n\
         @32 @40 = div_rem u8x1 @0 @0\n\
         @8 = popcount u2x1 @0 from_width=9 #! result 1 overlaps operand 1\n",
        planned()
    ));
}

#[test]
fn planned_directives_name_frames_and_slots() {
    assert_faults(&format!(
        "{}issue_swap_in frame=2 slot=1\n\
         finish_swap_in frame=3 slot=1          #! frame 3 is none of the 3 frames\n\
         issue_swap_out frame=0 slot=2          #! slot 2 is none of the 2 slots\n\
         finish_swap_out u1x2 frame=0 slot=0    #! a directive has the type u1x1\n",
        planned()
    ));
}

#[test]
fn plans_have_figures() {
    assert_faults(
        "phineus 5 planned\nname \"n\"\nparty \"p\"\n\
         @0 = constant u1x1 value=0 #! needs the plan's figures\n",
    );
}

/// A value that is used in several wrong ways is reported for each, whatever its definition.
#[test]
fn every_misuse_is_reported() {
    let description = Description { parties: vec!["p".to_owned()], ..Description::default() };
    let not = |width, operand, result| {
        let mut not = Instruction::new(Op::Not, ElementType::unsigned(width), 1);
        (not.operands[0], not.results[0]) = (operand, result);
        not
    };
    let program = [
        constant(Shape::new(8, 1), 0),
        not(8, 0, 1),
        not(9, 0, 2),
        not(7, 0, 3),
        not(7, 0, 4),
        not(8, 0, 5),
        constant(Shape::new(8, 0), 6),
        not(9, 6, 7),
        not(9, 2, 8),
    ];
    let found = violations(FileKind::Program, &program, &description);
    let numbers: Vec<u64> = found.iter().flat_map(|v| v.place.as_ref()).map(|p| p.0).collect();
    assert_eq!(numbers, [2, 3, 4, 6]);
}

#[test]
fn violations_name_the_instruction() {
    let description = Description { parties: vec!["p".to_owned()], ..Description::default() };
    let wide = Shape::new(8, 2);
    let mut add = Instruction::new(Op::Add, ElementType::unsigned(9), 2);
    add.operands = [0, 1, 0];
    add.results[0] = 2;
    let program = [constant(wide, 0), constant(Shape::new(9, 2), 1), add];
    let found = violations(FileKind::Program, &program, &description);
    let [violation] = &found[..] else { panic!("{found:?}") };
    assert_eq!(
        violation.to_string(),
        "instruction 2, `%2 = add u9x2 %0 %1`: operand 1 of add must have 9 bits x 2 lanes, \
         but %0 has 8 bits x 2 lanes"
    );
    let many: Vec<_> = (0..2000).map(|_| Instruction::directive(Op::IssueSwapIn, 0, 0)).collect();
    assert_eq!(violations(FileKind::Program, &many, &description).len(), FAULTS_MAX);
}
