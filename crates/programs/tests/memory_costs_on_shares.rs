//! Bytes of an access on XOR shares by Square-Root ORAM, amortised with its part of a shuffle, and of a change by point
//! functions, with its part of hiding all rows anew.
//!
//! Counted are the instructions of a whole period that begins after some accesses, each in rounds of its own: so they are
//! what a plan states, but for bits that fill up bytes.

mod common;

use common::{expanded_for, shares};
use phineus_bytecode::{
    Column, CostModel, ElementType, Encoding, Instruction, Op, Permutation, PermutationKind, Phase,
    RoundModel, Sharing,
};
use phineus_frontend::{ClosureProgram, Value, column, program};
use phineus_oblivious::memory::{
    MemoryShape, MemoryTerms, MemoryUsage, RowSharing, accesses_of_a_turn,
};
use phineus_oblivious::{Memory, MemoryMethod};
use phineus_protocols::mixed::{MixedCosts, MixedRounds, totals};

/// Bits of a row.
const ROW: u64 = 128;
const CELL: ElementType = ElementType::unsigned(ROW as u16);

fn bits(rows: u64) -> u64 {
    u64::from(rows.next_power_of_two().trailing_zeros()).max(1)
}

fn switches(rows: u64) -> f64 {
    let (items, kind) = (rows as u32, PermutationKind::Random);
    Permutation { party: 0, items, kind }.switches() as f64
}

fn columns() -> Vec<Column> {
    vec![column("row", CELL, Encoding::Number)]
}

fn shape(rows: u64) -> MemoryShape {
    MemoryShape { name: String::new(), columns: vec![CELL], rows, method: None, is_linked: false }
}

fn period(rows: u64, terms: MemoryTerms) -> u64 {
    accesses_of_a_turn(&shape(rows), MemoryMethod::SquareRoot, terms)
}

/// Changes between two times that all rows are hidden.
fn hiding_period(rows: u64, terms: MemoryTerms) -> u64 {
    let usage = MemoryUsage { changes: 1, ..MemoryUsage::default() };
    usage.accesses_of_a_turn(&shape(rows), MemoryMethod::Dpf, terms)
}

/// Reads `accesses` rows of a memory at secret indices, or changes them.
fn accessing(rows: u64, accesses: u64, parties: usize, changes: bool) -> ClosureProgram {
    let names = ["a", "b", "c", "d"].iter().take(parties);
    let program = names.fold(program("reading"), |program, name| program.party(name));
    program.trace(move |t, _| {
        let input = t.input("rows", rows).by("a").column(columns().swap_remove(0));
        let mut memory = Memory::new(input.read(), None);
        let index = column("index", ElementType::unsigned(bits(rows) as u16), Encoding::Number);
        let indices = t.input("indices", 1).by("b").column(index).read();
        let index = &indices.chunks(0)[0];
        let mut sum: Option<Value> = None;
        for _ in 0..accesses {
            let row = match changes {
                true => memory.update(index, |row| vec![row[0].not()]).swap_remove(0),
                false => memory.read(index).swap_remove(0),
            };
            sum = Some(sum.map_or(row.clone(), |sum| sum.xor(&row)));
        }
        let mut output = t.output("sum", &["a"]).rows(&columns(), 1);
        output.push(&[&sum.expect("there is an access")]);
        output.finish();
        Ok(())
    })
}

/// Bytes that all parties send in the program: of reads by Square-Root ORAM, or of changes by point functions.
fn counted(rows: u64, accesses: u64, terms: MemoryTerms, method: MemoryMethod) -> u64 {
    let parties = usize::from(terms.parties);
    let accessing = accessing(rows, accesses, parties, method == MemoryMethod::Dpf);
    let assigned = shares::assigned(&mut expanded_for(&accessing, method, terms));
    let mut reader = shares::read(&assigned);
    let description = reader.description().clone();
    let is_silent = terms.rows == RowSharing::Shares { ot_bits: 1 };
    let mut costs = MixedCosts::new(parties).with_silent_ot(is_silent);
    let mut model = MixedRounds::new(parties);
    let round = Instruction::new(Op::Round, ElementType::BIT, 1);
    let read = reader.for_each::<phineus_bytecode::Error>(|instruction| {
        let is_whole = instruction.op.is_stateful() || instruction.op == Op::Output;
        let rounds = if is_whole { 0 } else { model.interaction(instruction).rounds };
        if rounds == 0 {
            costs.count(instruction, &description);
            return Ok(());
        }
        costs.count(&instruction.part(Phase::Issue), &description);
        (0..rounds).for_each(|_| costs.count(&round, &description));
        costs.count(&instruction.part(Phase::Finish), &description);
        Ok(())
    });
    read.expect("readable");
    costs.count(&round, &description);
    let totals = costs.totals(&description);
    (0..parties).map(|party| totals[&totals::sent_bytes(party)]).sum()
}

/// Bytes of an access by formula, without what each level of the position map costs besides its stash and its shuffle.
fn formula(rows: u64, terms: MemoryTerms) -> f64 {
    let RowSharing::Shares { ot_bits } = terms.rows else { panic!("it is on shares") };
    let (parties, ot) = (f64::from(terms.parties), f64::from(ot_bits));
    let period = period(rows, terms);
    let and = parties * (parties - 1.0) * (ot + 2.0);
    let known = |width: u64| (parties - 1.0) * (ot + 1.0 + width as f64);
    let half = (period - 1) as f64 / 2.0;
    let number = bits(rows);
    let inverse = |number: u64| 2.0 * (parties - 1.0) * known(number);
    let mut access = half * (number as f64 * and + parties * known(ROW));
    let mut shuffle = switches(rows) * (parties * (known(ROW) + known(number)) + inverse(number));
    let (mut items, mut place) = (rows, number);
    while items.div_ceil(8) >= period {
        items = items.div_ceil(8);
        let (row, number) = (8 * place, bits(items));
        access += half * ((number + 1) as f64 * and + parties * known(row));
        shuffle += switches(items) * (parties * (known(row) + known(number)) + inverse(number));
        place = number;
    }
    (access + shuffle / period as f64) / 8.0
}

fn silent(parties: u16) -> MemoryTerms {
    MemoryTerms { parties, rows: RowSharing::Shares { ot_bits: 1 }, outside: Sharing::Any }
}

/// Bytes of an access in a whole period.
fn of_an_access(rows: u64, terms: MemoryTerms) -> f64 {
    let period = period(rows, terms);
    let [few, many] =
        [3, 3 + period].map(|accesses| counted(rows, accesses, terms, MemoryMethod::SquareRoot));
    let bytes = (many - few) as f64 / period as f64;
    let formula = formula(rows, terms);
    let MemoryTerms { parties, rows: sharing, .. } = terms;
    println!(
        "{rows} rows, {parties} parties, {sharing:?}: {bytes:.0} bytes an access, by formula {formula:.0} and the scanned \
         map; period {period}"
    );
    bytes
}

#[test]
fn an_access_costs_what_the_formula_says() {
    for (rows, parties) in [(1 << 10, 2), (1 << 10, 3), (1 << 12, 2)] {
        let terms = shares::terms(parties);
        let (bytes, formula) = (of_an_access(rows, terms), formula(rows, terms));
        // The scanned map of the smallest store is the rest.
        assert!(
            (0.97..1.5).contains(&(bytes / formula)),
            "{rows} rows: {bytes}, by formula {formula}"
        );
    }
}

/// The digits of `docs/protocols/oram.md`, section 6.
#[test]
fn large_memories_cost_less_than_their_target() {
    let soft = of_an_access(1 << 16, shares::terms(2));
    assert!(soft < 0.6e6, "{soft} bytes");
    let quiet = of_an_access(1 << 16, silent(2));
    assert!(quiet < 0.2e6, "{quiet} bytes");
}

/// Bytes of a change by point functions with its part of hiding all rows, by the formula of `docs/protocols/oram.md`,
/// section 6.
fn changing_formula(rows: u64, terms: MemoryTerms) -> f64 {
    let RowSharing::Shares { ot_bits } = terms.rows else { panic!("it is on shares") };
    let (ot, number, period) = (f64::from(ot_bits), bits(rows) as f64, hiding_period(rows, terms));
    let and = 2.0 * (ot + 2.0);
    let stash_row = number * and + 2.0 * (ot + 1.0 + ROW as f64);
    // A function with a tree, or one of at most 7 bits of point, which are doubled in the leaf.
    let function = |bits: f64| match bits > 7.0 {
        true => 8.0 * (32.0 * (bits - 6.0) + 31.5) + 2.0 * (bits - 1.0) * ot,
        false => 2.0 * (2f64.powf(bits) - 2.0) + 2.0 * (bits - 1.0) * ot,
    };
    let look_up = 2.0 * number + function(number);
    let change = 2.0 * (number + ROW as f64) + function(number + 7.0);
    let hiding = 2.0 * (rows * ROW) as f64 + 2.0 * 1360.0 * and;
    let half = (period - 1) as f64 / 2.0;
    (half * stash_row + 10_880.0 * and + look_up + change + hiding / period as f64) / 8.0
}

/// Bytes of a change in a whole period.
fn of_a_change(rows: u64, terms: MemoryTerms) -> f64 {
    let period = hiding_period(rows, terms);
    let [few, many] =
        [1, 1 + period].map(|changes| counted(rows, changes, terms, MemoryMethod::Dpf));
    let bytes = (many - few) as f64 / period as f64;
    let formula = changing_formula(rows, terms);
    println!(
        "{rows} rows, {:?}: {bytes:.0} bytes a change, by formula {formula:.0}; period {period}",
        terms.rows
    );
    bytes
}

/// Whole periods, counted, are what the formula says; of large memories the formula keeps the targets.
#[test]
fn a_change_by_point_functions_costs_what_the_formula_says() {
    // Silent OTs come by the million, so a few periods say nothing of them.
    for rows in [1 << 6, 1 << 8, 1 << 10] {
        let terms = shares::terms(2);
        let (bytes, formula) = (of_a_change(rows, terms), changing_formula(rows, terms));
        assert!(
            (0.99..1.01).contains(&(bytes / formula)),
            "{rows} rows: {bytes}, by formula {formula}"
        );
    }
    for (bits, most) in [(16, 0.6e6), (20, 2.5e6)] {
        for terms in [shares::terms(2), silent(2)] {
            let (rows, formula) = (1 << bits, changing_formula(1 << bits, terms));
            println!("{rows} rows, {:?}: {formula:.0} bytes a change by formula", terms.rows);
            assert!(formula < most, "2^{bits} rows: {formula}");
        }
    }
}
