//! Programs that read constant rows at secret indices, by distributed point functions, from the command line.

mod common;

use std::fmt::Write;

use common::{Place, Result};
use phineus_bytecode::{ElementType, Encoding, Lane, MemoryMethod};
use phineus_frontend::{Program, column, program as traced_program};
use phineus_oblivious::Memory;

/// Rows of 24 and 200 bits, which take two tables; some are zeros.
fn row(number: u64) -> (u64, String) {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    if number % 7 == 3 {
        return (0, "0".to_owned());
    }
    (mixed & 0xff_ffff, format!("0x{:x}{mixed:016x}{:016x}", mixed & 0xffff, !mixed))
}

/// Reads two rows of a memory at indices of both parties, one of them beyond the last row perhaps, and a third at the
/// sum of what was found.
fn program(rows: u64, method: &str) -> String {
    let mut text = "phineus 5 program\nname \"rows\"\nparty \"ann\"\nparty \"ben\"\n".to_owned();
    let mut line = |line: String| writeln!(text, "{line}").expect("a string grows");
    line(format!("memory \"constants\" {method} rows={rows} u24 u200"));
    for party in 0..2 {
        line(format!(
            "input_port \"index{party}\" party={party} rows=1\n  column \"i\" u16 number"
        ));
    }
    for output in 0..3 {
        line(format!("output_port \"row{output}\" parties=0,1 rows=1"));
        line("  column \"a\" u24 hex\n  column \"b\" u200 hex".to_owned());
    }
    let mut next = 0;
    for number in 0..rows {
        let (small, large) = row(number);
        line(format!("%{next} = constant u24x1 value={small}"));
        line(format!("memory_set u24x1 %{next} memory=0 column=0 row={number} stride=0"));
        line(format!("%{} = constant u200x1 value={large}", next + 1));
        line(format!("memory_set u200x1 %{} memory=0 column=1 row={number} stride=0", next + 1));
        next += 2;
    }
    let mut found = Vec::new();
    for access in 0..3 {
        let index = match access {
            2 => {
                line(format!("%{next} = xor u24x1 %{} %{}", found[0], found[1]));
                line(format!("%{} = cast u16x1 %{next} from_width=24 from_signed=0", next + 1));
                next + 1
            }
            party => {
                line(format!("%{next} = input u16x1 port={party} column=0 row=0"));
                next
            }
        };
        next = index + 1;
        line(format!("memory_open u16x1 %{index} memory=0"));
        line(format!("%{next} = memory_cell u24x1 memory=0 column=0"));
        line(format!("%{} = memory_cell u200x1 memory=0 column=1", next + 1));
        line(format!("output u24x1 %{next} port={access} column=0 row=0"));
        line(format!("output u200x1 %{} port={access} column=1 row=0", next + 1));
        found.push(next);
        next += 2;
    }
    text
}

const RUN: &str = "run rows.phi --local --verify --in index0=a.csv --in index1=b.csv";

fn place(rows: u64, method: &str, indices: [u64; 2]) -> Result<Place> {
    let place = Place::new()?;
    place.write("rows.phi", program(rows, method))?;
    for (name, index) in ["a.csv", "b.csv"].iter().zip(indices) {
        place.write(name, format!("i\n{index}\n"))?;
    }
    Ok(place)
}

/// Checks that each party has all the costs that its plan states.
fn agrees(place: &Place) -> Result {
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    for party in report["parties"].as_array().ok_or("parties")? {
        assert_eq!(party["deviations"].as_array().map(Vec::len), Some(0), "{party}");
        assert_eq!(party["predicted"], party["measured"], "{party}");
    }
    Ok(())
}

#[test]
fn lookups_equal_the_plaintext_at_the_stated_cost() -> Result {
    for (rows, indices) in [(1, [0, 1]), (7, [6, 7]), (300, [299, 44]), (512, [511, 40_000])] {
        let place = place(rows, "dpf", indices)?;
        for choice in [
            "clear",
            "gmw",
            "arith",
            "mixed",
            "bmr",
            "gmw --ot silent",
            "gmw --preprocessing sequential",
            "gmw --broadcast star",
            "gmw --fake-preprocessing",
        ] {
            let done = place.run(&format!("{RUN} --protocol {choice}"))?.succeeded()?;
            done.says("equals the answer computed in the clear: yes")?;
            if choice != "clear" {
                agrees(&place)?;
            }
        }
    }
    Ok(())
}

#[test]
fn lookups_use_stored_functions() -> Result {
    let place = place(300, "dpf", [5, 299])?;
    let make = "preprocess rows.phi --local --protocol gmw --out kept";
    place.run(make)?.succeeded()?.says("point functions")?;
    let done = place.run(&format!("{RUN} --protocol gmw --preprocessing stored=kept"))?;
    done.succeeded()?.says("equals the answer computed in the clear: yes")?;
    agrees(&place)
}

/// Constants are looked up by point functions where that costs least, and by other methods where it cannot be.
#[test]
fn the_method_is_chosen_by_cost() -> Result {
    let place = place(3000, "any", [5, 6])?;
    let chosen = |line: &str| -> Result<String> {
        let done = place.run(&format!("explain rows.phi --json {line}"))?.succeeded()?;
        let explained: serde_json::Value = serde_json::from_str(&done.stdout)?;
        Ok(explained["memories"][0]["method"].as_str().ok_or("a method")?.to_owned())
    };
    for protocol in ["gmw", "mixed"] {
        assert_eq!(chosen(&format!("--protocol {protocol} --net rtt=1ms,bw=100mbit"))?, "dpf");
    }
    assert_eq!(chosen("--protocol garbled")?, "garbled-table");
    Ok(())
}

/// Constants that change: what an access does to a row, the next ones find there.
#[test]
fn constants_may_change() -> Result {
    let place = place(7, "dpf", [1, 1])?;
    let changed = program(7, "dpf")
        .replace("output u24x1 %15", "memory_change u24x1 %0 memory=0 column=0\noutput u24x1 %15");
    place.write("rows.phi", changed)?;
    for choice in ["gmw", "mixed", "bmr", "gmw --ot silent", "gmw --memory 32MiB"] {
        let done = place.run(&format!("{RUN} --protocol {choice}"))?.succeeded()?;
        done.says("equals the answer computed in the clear: yes")?;
        agrees(&place)?;
    }
    Ok(())
}

#[test]
fn what_cannot_be_looked_up_is_refused() -> Result {
    let place = place(7, "dpf", [1, 2])?;
    for protocol in ["garbled", "spdz --fake-preprocessing"] {
        let done = place.run(&format!("{RUN} --protocol {protocol}"))?.failed_with(3)?;
        done.says("E3149")?.says("2 parties cannot use it")?;
    }
    place.write("rows.phi", brought(7, "garbled-table", 1)?)?;
    let done = place.run("explain rows.phi --protocol garbled")?.failed_with(3)?;
    done.says("not all of its rows are constants of the program, or inputs of the first party")?;
    place.write("rows.phi", program(7, "garbled-table"))?;
    place.run("explain rows.phi --protocol gmw")?.failed_with(3)?.says("E3149")?;
    Ok(())
}

/// The program, of which a party brings the first cell.
fn brought(rows: u64, method: &str, party: u64) -> Result<String> {
    let port = format!(
        "input_port \"cell\" party={party} rows=1\n  column \"c\" u24 number\noutput_port \"row0\""
    );
    let brought = program(rows, method).replace("output_port \"row0\"", &port);
    let (before, after) = brought.split_once("%0 = constant").ok_or("a constant")?;
    let (_, after) = after.split_once('\n').ok_or("a line")?;
    Ok(format!("{before}%0 = input u24x1 port=2 column=0 row=0\n{after}"))
}

#[test]
fn garbled_tables_equal_the_plaintext_at_the_stated_cost() -> Result {
    for (rows, indices) in [(1, [0, 1]), (7, [6, 7]), (300, [299, 44]), (5000, [4999, 40_000])] {
        let place = place(rows, "garbled-table", indices)?;
        for protocol in ["clear", "garbled"] {
            let done = place.run(&format!("{RUN} --protocol {protocol}"))?.succeeded()?;
            done.says("equals the answer computed in the clear: yes")?;
        }
        agrees(&place)?;
        let plan = "plan rows.phi --protocol garbled --out p.phn";
        place.run(plan)?.succeeded()?;
        place.run("check p.phn --program rows.phi")?.succeeded()?.says("right")?;
    }
    // The first party is told the rows, of which it brought one cell: in one value, and in several.
    for rows in [40, 7] {
        let place = place(rows, "garbled-table", [0, rows - 1])?;
        place.write("rows.phi", brought(rows, "garbled-table", 0)?)?;
        place.write("c.csv", "c\n77\n")?;
        let line = format!("{RUN} --in cell=c.csv --protocol garbled");
        let done = place.run(&line)?.succeeded()?;
        done.says("equals the answer computed in the clear: yes")?;
        agrees(&place)?;
    }
    let place = place(7, "garbled-table", [0, 6])?;
    place.write("rows.phi", brought(7, "garbled-table", 0)?)?;
    let explained = place.run("explain rows.phi --protocol garbled")?.succeeded()?;
    assert!(explained.stdout.contains("rows of tables that follow from its inputs"));
    // A plan whose method would tell the first party what the second one brings is not right.
    place.run("plan rows.phi --protocol garbled --out p.phn")?.succeeded()?;
    place.write("rows.phi", brought(7, "any", 1)?)?;
    let done = place.run("check p.phn --program rows.phi")?.failed_with(3)?;
    done.says("not all of its rows are constants of the program, or inputs of the first party")?;
    Ok(())
}

/// A party brings one of the cells: rows are hidden by pads of the first party, if it is that, or of both.
///
/// Columns of more than 128 bits were once put into values of too many lanes, so that programs with 17 such rows were
/// refused unless they asked for another method.
#[test]
fn rows_that_are_brought_are_hidden() -> Result {
    for (party, rows) in [(0, 7), (1, 40)] {
        let place = place(rows, "dpf", [0, 5])?;
        place.write("rows.phi", brought(rows, "dpf", party)?)?;
        place.write("c.csv", "c\n12345\n")?;
        for protocol in ["gmw", "arith", "bmr"] {
            let done = place.run(&format!("{RUN} --in cell=c.csv --protocol {protocol}"))?;
            done.succeeded()?.says("equals the answer computed in the clear: yes")?;
            agrees(&place)?;
        }
    }
    Ok(())
}

/// Of rows with a column that is wider than a piece, in several chunks, all methods are compared.
#[test]
fn wide_rows_that_are_brought_are_planned() -> Result {
    let place = place(40, "any", [0, 39])?;
    for party in [0, 1] {
        place.write("rows.phi", brought(40, "any", party)?)?;
        place.write("c.csv", "c\n12345\n")?;
        for protocol in ["gmw", "bmr", "garbled"] {
            let done = place.run(&format!("{RUN} --in cell=c.csv --protocol {protocol}"))?;
            done.succeeded()?.says("equals the answer computed in the clear: yes")?;
            agrees(&place)?;
        }
    }
    Ok(())
}

/// Memories whose rows would take more tables than a program has are accessed otherwise.
#[test]
fn tables_are_limited() -> Result {
    let place = Place::new()?;
    let mut text = "phineus 5 program\nname \"wide\"\nparty \"ann\"\nparty \"ben\"\n".to_owned();
    for number in 0..3 {
        writeln!(text, "memory \"m{number}\" any rows=300{}", " u256".repeat(1000))?;
    }
    text.push_str("input_port \"i\" party=1 rows=1\n  column \"i\" u9 number\n");
    text.push_str("output_port \"o\" parties=0,1 rows=3\n  column \"o\" u256 hex\n");
    text.push_str("%0 = input u9x1 port=0 column=0 row=0\n");
    for number in 0..3 {
        writeln!(text, "memory_open u9x1 %0 memory={number}")?;
        writeln!(text, "%{} = memory_cell u256x1 memory={number} column=7", number + 1)?;
        writeln!(text, "output u256x1 %{} port=0 column=0 row={number}", number + 1)?;
    }
    place.write("wide.phi", text)?;
    for (protocol, tables) in [("gmw", "dpf"), ("garbled", "garbled-table")] {
        let line = format!("explain wide.phi --protocol {protocol} --json");
        let explained: serde_json::Value =
            serde_json::from_str(&place.run(&line)?.succeeded()?.stdout)?;
        let memories = explained["memories"].as_array().ok_or("memories")?;
        let methods: Vec<&str> = memories.iter().filter_map(|it| it["method"].as_str()).collect();
        assert_eq!(methods[..2], [tables; 2], "{protocol}: {methods:?}");
        assert!(methods.len() == 3 && methods[2] != tables, "{protocol}: {methods:?}");
    }
    Ok(())
}

/// Opens all that a party brings, as rows of a table, and reads one.
const OPENING: &str = "phineus 5 program
name \"opening\"
party \"ann\"
party \"ben\"
table u8 rows=4
input_port \"rows\" party=0 rows=4
  column \"r\" u8 number
input_port \"index\" party=1 rows=1
  column \"i\" u2 number
output_port \"found\" parties=1 rows=1
  column \"f\" u8 number
%0 = input u8x4 port=0 column=0 row=0
table_open u8x4 %0 table=0 row=0
%1 = input u2x1 port=1 column=0 row=0
%2 = table_look_up u8x1 %1 table=0 index_width=2
output u8x1 %2 port=0 column=0 row=0
";

/// Whoever reads a program before they give data to it sees that it opens rows of tables, of a program file as of a plan.
#[test]
fn rows_that_are_opened_are_explained() -> Result {
    let place = Place::new()?;
    let opens = "opens     rows of tables to all";
    place.write("rows.phi", OPENING)?;
    place.run("plan rows.phi --protocol gmw --out p.phn")?.succeeded()?;
    for program in ["rows.phi", "p.phn"] {
        let explained = place.run(&format!("explain {program} --protocol gmw"))?.succeeded()?;
        assert!(explained.stdout.contains(opens), "{}", explained.stdout);
        assert!(
            explained.stdout.contains("to ann: nothing but the sizes above and what is opened"),
            "{}",
            explained.stdout
        );
        let done = place.run(&format!("explain {program} --protocol gmw --json"))?.succeeded()?;
        let document: serde_json::Value = serde_json::from_str(&done.stdout)?;
        assert_eq!(document["openings"].as_array().map(Vec::len), Some(1), "{document}");
    }
    // Of a memory, the method decides.
    for (text, opened) in [(brought(7, "dpf", 1)?, true), (program(7, "dpf"), false)] {
        place.write("rows.phi", text)?;
        let explained = place.run("explain rows.phi --protocol gmw")?.succeeded()?;
        assert_eq!(explained.stdout.contains(opens), opened, "{}", explained.stdout);
    }
    Ok(())
}

/// A garbler has no tables that are opened, and no key of a party.
#[test]
fn protocols_without_keys_say_so() -> Result {
    let place = Place::new()?;
    place.write("rows.phi", OPENING)?;
    let done = place.run("explain rows.phi --protocol garbled")?.failed_with(3)?;
    done.says("E3149")?.says("table_open, which 2 parties under garbled do not")?;
    let key = OPENING.replace("table_open u8x4 %0 table=0 row=0\n", "");
    let key =
        key.replace("%1 = input u2x1", "%1 = party_key u128x1 party=0 key=0\n%2 = input u2x1");
    let key = key.replace("%2 = table_look_up u8x1 %1", "%3 = table_look_up u8x1 %2");
    place.write("rows.phi", key.replace("u8x1 %2 port", "u8x1 %3 port"))?;
    place.run("explain rows.phi --protocol gmw")?.succeeded()?;
    place.run("explain rows.phi --protocol garbled")?.failed_with(3)?.says("party_key")?;
    Ok(())
}

/// Rows of several columns, at indices that depend on rows before.
#[test]
fn secret_rows_are_searched() -> Result {
    for (rows, searches) in [(1, 1), (7, 2), (60, 2)] {
        let place = Place::new()?;
        let sizes = format!("--param n={rows} --param searches={searches}");
        place.run(&format!("data binary-search {sizes}"))?.succeeded()?;
        for choice in ["gmw", "mixed", "bmr", "gmw --ot silent --preprocessing sequential"] {
            let done = place.run(&format!(
                "run binary-search --local --verify --in table=table.csv --in keys=keys.csv \
                 --param memory=dpf --out o.csv --protocol {choice}"
            ))?;
            done.succeeded()?.says("equals the plaintext answer: yes")?;
            agrees(&place)?;
        }
    }
    Ok(())
}

/// A loop that stays one, around lookups of constants and of rows of the first party at what the last iteration found.
fn looping(iterations: u64, method: MemoryMethod) -> impl Program {
    let element = ElementType::unsigned(24);
    let cell = column("cell", element, Encoding::Number);
    traced_program("loops").party("ann").party("ben").trace(move |t, _| {
        let own = t.input("own", 40).by("ann").column(cell.clone()).read();
        let own = Memory::named("own", own, method);
        let constants = Memory::zeros(t, "constants", &[element], 300, method);
        for row in 0..290 {
            let value = t.constant(element, Lane::from(row * 57_777 + 5));
            constants.set_each_iteration(row, 0, &[value]);
        }
        let start = t.input("start", 1).by("ben").column(cell.clone()).read();
        let mut memories = (own, constants);
        let start = start.chunks(0)[0].clone();
        let last = t.repeat(iterations, start, |value| {
            let own = memories.0.read(&value.bit_slice(3, 6)).swap_remove(0);
            let sum = value.rotate_left(7).xor(&own);
            let found = memories.1.read(&sum.bit_slice(0, 9)).swap_remove(0);
            // Gates are few, and instructions many, so that the loop is not unrolled.
            (0..400).fold(sum.xor(&found), |value, _| value.rotate_left(5).xor(&sum))
        });
        let mut output = t.output("last", &["ann", "ben"]).rows(std::slice::from_ref(&cell), 1);
        output.push(&[&last]);
        output.finish();
        Ok(())
    })
}

#[test]
fn rows_are_looked_up_in_loops() -> Result {
    let place = Place::new()?;
    let own: String = (0..40u64).map(|row| format!("{}\n", row * row * 9973 % (1 << 24))).collect();
    place.write("own.csv", format!("cell\n{own}"))?;
    place.write("start.csv", "cell\n123456\n")?;
    for (method, protocol) in [
        (MemoryMethod::GarbledTable, "garbled"),
        (MemoryMethod::Dpf, "gmw"),
        (MemoryMethod::Dpf, "bmr"),
    ] {
        place.write_program("loops.phn", &looping(350, method))?;
        let line = "run loops.phn --local --verify --in own=own.csv --in start=start.csv";
        let done = place.run(&format!("{line} --protocol {protocol}"))?.succeeded()?;
        done.says("equals the answer computed in the clear: yes")?;
        agrees(&place)?;
        place.run(&format!("plan loops.phn --protocol {protocol} --out plan.phn"))?.succeeded()?;
        place.run("check plan.phn --program loops.phn")?.succeeded()?.says("right")?;
        let explained = place.run("explain plan.phn")?.succeeded()?.stdout;
        assert!(explained.contains(" times"), "the loop was unrolled: {explained}");
    }
    Ok(())
}
