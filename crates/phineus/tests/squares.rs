//! Products of a vector with itself under every protocol: only what is a square is never negative.
//!
//! Under spdz all entries of the outer product of a vector with itself were taken for squares. So
//! `min(c, 0)` was 0, and `c >= 2 ? record : 0` compared numbers outside its type and gave its receiver
//! parts of records that it must not see.

mod common;

use common::{Place, Result};
use phineus::bytecode::{ElementType, Encoding};
use phineus::{Arguments, Element, I8, U16, Value, column, program, trace_into};

const OUTER: &str = "\
phineus 5 program
name \"outer\"
party \"ann\"
party \"ben\"
input_port \"x\" party=0 rows=3
  column \"x\" i8 number
input_port \"record\" party=1 rows=9
  column \"record\" u16 number
output_port \"least\" parties=0,1 rows=9
  column \"least\" i20 number
output_port \"chosen\" parties=0 rows=9
  column \"chosen\" u16 number
%0 = input i8x3 port=0 column=0 row=0
%1 = input u16x9 port=1 column=0 row=0
%2 = cast i20x3 %0 from_width=8 from_signed=1
%3 = mat_mul i20x9 %2 %2 columns=1 vectors=3
%4 = constant i20x9 value=0x0
%5 = min i20x9 %3 %4
output i20x9 %5 port=0 column=0 row=0
%6 = constant i20x9 value=0x2
%7 = le i20x9 %6 %3
%8 = mask u16x9 %7 %1
output u16x9 %8 port=1 column=0 row=0
";

const PROTOCOLS: [&str; 8] = [
    "clear",
    "garbled",
    "gmw",
    "bmr",
    "arith",
    "spdz",
    "spdz --fake-preprocessing",
    "spdz-128 --fake-preprocessing",
];

/// The outer product of (-5, 1, 3) with itself: its negative entries, and the records of those that are
/// at least 2.
fn runs(program: &str, place: &Place) -> Result {
    place.write("x.csv", "x\n-5\n1\n3\n")?;
    place.write("record.csv", "record\n101\n102\n103\n104\n105\n106\n107\n108\n109\n")?;
    for protocol in PROTOCOLS {
        let run = format!("run {program} --local --in x=x.csv --in record=record.csv --verify");
        let outputs = "--out least=least.csv --out chosen=chosen.csv";
        place.run(&format!("{run} {outputs} --protocol {protocol}"))?.succeeded()?;
        let least = place.read("least.csv")?.replace('\n', " ");
        assert_eq!(least, "least 0 -5 -15 -5 0 0 -15 0 0 ", "{protocol}");
        let chosen = place.read("chosen.csv")?.replace('\n', " ");
        assert_eq!(chosen, "chosen 101 0 0 0 0 106 0 108 109 ", "{protocol}");
    }
    Ok(())
}

#[test]
fn an_outer_product_in_text_form() -> Result {
    let place = Place::new()?;
    place.write("outer.phi", OUTER)?;
    for protocol in ["spdz", "spdz-128"] {
        let line = format!("plan outer.phi --protocol {protocol} --out outer.plan");
        place.run(&line)?.succeeded()?;
        let checked = place.run("check outer.plan --program outer.phi")?.succeeded()?;
        checked.says("every number is in the range that the planner relies on")?;
    }
    runs("outer.phi", &place)
}

#[test]
fn an_outer_product_in_rust() -> Result {
    let number = ElementType::signed(20);
    let program = program("outer").party("ann").party("ben").trace(move |t, _| {
        let x = t.input("x", 3).by("ann").number::<I8>("x").vector::<I8>();
        let record = t.input("record", 9).by("ben").number::<U16>("record").vector::<U16>();
        let lanes = (0..3).map(|row| x.get(row).value().cast(number));
        let x: Value = lanes.reduce(|low, high| low.lane_concat(&high)).expect("there are three");
        let records = (0..9).map(|row| record.get(row).value().clone());
        let records = records.reduce(|low, high| low.lane_concat(&high)).expect("there are nine");
        let entries = x.mat_mul(&x, 3);
        let zero = entries.sub(&entries);
        let least = entries.min(&zero);
        let one = entries.eq(&entries).cast(number);
        let chosen = entries.le(&one).not().mask(&records);
        let both = ["ann", "ben"];
        let least_column = column("least", number, Encoding::Number);
        t.output("least", &both).chunks(least_column, vec![least]).write();
        let chosen_column = column("chosen", ElementType::unsigned(16), Encoding::Number);
        t.output("chosen", &["ann"]).chunks(chosen_column, vec![chosen]).write();
        Ok(())
    });
    let place = Place::new()?;
    let arguments = Arguments::new(&program, [])?;
    trace_into(&program, &arguments, std::fs::File::create(place.file("p.program"))?)?;
    runs("p.program", &place)
}
