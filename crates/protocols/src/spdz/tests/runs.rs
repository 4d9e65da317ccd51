//! Runs on authenticated shares against the meanings of the op table.

mod comparisons;
mod products;

use std::thread;

use phineus_bytecode::random::{RandomOptions, Seeds, random_inputs, random_program};
use phineus_bytecode::{
    Column, Description, ElementType, Encoding, InputPort, Instruction, Op, OutputPort, Table,
};
use phineus_channels::memory_mesh;
use phineus_correlated::authenticated::{AuthenticatedRandomness, Dealer, Share};
use phineus_crypto::field::{F32, F61, F128, Field, FieldName};
use phineus_crypto::{Block, Prg};
use phineus_engine::run;
use phineus_ot::SessionId;
use phineus_plan::{Claims, Error, check_ranges, lower_with_claims};

use super::altered::{Alteration, Altered, TestedRandomness};
use crate::harness::{
    self, assert_learned, expected, memory, options, own, read, scratch, sent_bytes, write,
};
use crate::mixed::totals;
use crate::spdz::{Opening, SpdzCosts, SpdzDriver, SpdzRounds};

/// Lowers, orders and plans `program`, whose inputs are proven; all checkers agree.
fn planned<F: Field>(
    program: &[u8],
    parties: usize,
    field: FieldName,
    frame_count: u64,
) -> Result<Vec<u8>, Error> {
    planned_with::<F>(program, parties, field, (frame_count, true))
}

/// Plans a program whose inputs are proven to be in the range of their types, or not.
pub(super) fn planned_with<F: Field>(
    program: &[u8],
    parties: usize,
    field: FieldName,
    (frame_count, prove_inputs): (u64, bool),
) -> Result<Vec<u8>, Error> {
    let lowering = (F::BITS - 2, prove_inputs);
    let mut claims = Claims::default();
    let note = |claim| claims.note(claim);
    let program = &mut read(program);
    let lowered = lower_with_claims(program, Vec::new(), scratch(), lowering, 64 << 20, note)?.0;
    let faults = check_ranges(&mut read(&lowered), &claims, F::BITS - 2)?;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let layout = crate::spdz::layout(F::BYTES);
    let mut model = SpdzRounds::new(field, parties);
    let ordered = harness::ordered(&lowered, layout, &mut model)?;
    let mut costs = SpdzCosts::new(parties, field);
    let page_wires = layout.units_max().next_power_of_two().max(4096);
    let options = options("spdz", layout, page_wires, frame_count);
    harness::planned(&ordered, &options, &mut costs)
}

/// Runs all parties in threads; each learns what it should, and sends what the plan states. Once more
/// with masks of zero, where what hides behind few bits shows whether it has no more.
fn run_all<F: Field>(
    bytes: &[u8],
    count: usize,
    field: FieldName,
    inputs: &[Table],
    expected: &[Table],
) {
    run_with::<F>(bytes, count, field, (inputs, expected), false);
    run_with::<F>(bytes, count, field, (inputs, expected), true);
}

fn run_with<F: Field>(
    bytes: &[u8],
    count: usize,
    field: FieldName,
    (inputs, expected): (&[Table], &[Table]),
    is_bare: bool,
) {
    let description = read(bytes).description().clone();
    let costs = description.plan.as_ref().expect("it is planned").costs.clone();
    let handles: Vec<_> = memory_mesh(count)
        .into_iter()
        .map(|parties| {
            let me = parties.me();
            let inputs = own(&description, inputs, me);
            let (bytes, description) = (bytes.to_vec(), description.clone());
            thread::spawn(move || {
                let dealer = Dealer::<F>::insecure(Block::from_bits(5), me, count);
                let prg = Prg::from_seed(Block::from_bits(7 + me as u128));
                let session = SessionId::new([3; 32]);
                let opening = Opening::new(me, count, dealer.delta(), &session, prg);
                let alteration = if is_bare { Masks::Zero } else { Masks::Dealt };
                let correlated = Altered { correlated: dealer, alteration };
                let mut driver =
                    SpdzDriver::new(parties, correlated, opening, &description, inputs, field);
                let mut memory = memory(&description);
                run(&mut read(&bytes), &mut driver, &mut memory, &mut |_| true).expect("it runs");
                let rounds = driver.rounds();
                let (parties, outputs, _) = driver.into_parts();
                (outputs.into_tables(), parties.traffic(), rounds)
            })
        })
        .collect();
    for (me, handle) in handles.into_iter().enumerate() {
        let (outputs, traffic, rounds) = handle.join().expect("no party panics");
        assert_eq!(rounds, costs[totals::ROUNDS], "rounds");
        assert_eq!(sent_bytes(&traffic), costs[&totals::online_bytes(me)], "bytes of party {me}");
        assert_learned(&description, me, outputs, expected);
    }
}

/// How many of the programs the field is large enough for.
fn random_programs<F: Field>(
    field: FieldName,
    options: &RandomOptions,
    count: usize,
    frame_count: u64,
) -> usize {
    let (mut runs, mut seeds) = (0, Seeds::fresh());
    for _ in 0..count {
        let seed = seeds.draw();
        let (program, description) = random_program(seed, options);
        let program = write(&program, &description);
        let parties = usize::from(options.party_count);
        let bytes = match planned::<F>(&program, parties, field, frame_count) {
            Err(Error::FieldTooSmall { .. }) => continue,
            planned => planned.expect("it can be planned"),
        };
        let inputs = random_inputs(seed, &description);
        run_all::<F>(&bytes, parties, field, &inputs, &expected(&program, &inputs));
        runs += 1;
    }
    runs
}

fn small(party_count: u16) -> RandomOptions {
    RandomOptions {
        instruction_count: 60,
        width_max: 20,
        wires_max: 160,
        party_count,
        ..RandomOptions::default()
    }
}

#[test]
fn random_programs_of_all_operations() {
    assert_eq!(random_programs::<F61>(FieldName::F61, &small(2), 12, 1 << 12), 12);
    assert_eq!(random_programs::<F128>(FieldName::F128, &small(3), 5, 1 << 12), 5);
    assert_eq!(random_programs::<F61>(FieldName::F61, &small(5), 2, 1 << 12), 2);
}

#[test]
fn integers_of_all_widths() {
    let ops = [
        Op::Constant,
        Op::Add,
        Op::Sub,
        Op::Neg,
        Op::Lt,
        Op::Eq,
        Op::Mux,
        Op::Min,
        Op::Abs,
        Op::Cast,
        Op::ShiftLeft,
        Op::ShiftRight,
        Op::BitSlice,
        Op::BitConcat,
        Op::LaneSum,
        Op::LaneConcat,
        Op::Mul,
        Op::MulFull,
        Op::MatMul,
        Op::And,
        Op::Not,
    ];
    let options = RandomOptions {
        instruction_count: 60,
        width_max: 80,
        wires_max: 400,
        ops: Some(ops.to_vec()),
        ..RandomOptions::default()
    };
    assert_eq!(random_programs::<F61>(FieldName::F61, &options, 20, 1 << 12), 20);
    assert_eq!(random_programs::<F128>(FieldName::F128, &options, 5, 1 << 12), 5);
    let narrow = RandomOptions { width_max: 30, ..options };
    assert_eq!(random_programs::<F32>(FieldName::F32, &narrow, 10, 1 << 12), 10);
}

#[test]
fn swapping_changes_nothing() {
    let options =
        RandomOptions { instruction_count: 150, live_max: 150, wires_max: 2048, ..small(2) };
    assert!(random_programs::<F61>(FieldName::F61, &options, 3, 12) >= 1);
}

/// A column of integers, as products need it.
fn number(name: &str, element: ElementType) -> Column {
    Column { name: name.to_string(), element, encoding: Encoding::Number }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Masks {
    Dealt,
    /// Of what scripts open.
    Zero,
    /// A party tells what is no bit where it brings one.
    NoBit,
}

impl Alteration for Masks {
    fn shares<F: Field>(&mut self, of: TestedRandomness, columns: &mut [&mut [Share<F>]]) {
        let is_mask = matches!(of, TestedRandomness::Bits | TestedRandomness::Bounded);
        if is_mask && *self == Masks::Zero {
            columns.iter_mut().for_each(|column| column.fill(Share::ZERO));
        }
    }

    fn values<F: Field>(&mut self, of: TestedRandomness, values: &mut [F]) {
        let is_of_bits = matches!(of, TestedRandomness::BitMasks { .. });
        if is_of_bits && *self == Masks::NoBit {
            values[0] = values[0].add(F::new(3));
        }
    }

    fn opened_narrowly<F: Field>(&self, opened: &[F], hidden_bits: u32) {
        for value in opened.iter().filter(|_| *self == Masks::Zero) {
            let value = value.value();
            assert!(value >> hidden_bits == 0, "{value} has more than {hidden_bits} bits");
        }
    }
}

#[test]
fn who_brings_what_is_no_bit_is_caught() {
    let element = ElementType::unsigned(64);
    let column = Column { name: "x".to_string(), element, encoding: Encoding::Number };
    let description = Description {
        name: "wide".to_string(),
        parties: vec!["a".to_string(), "b".to_string()],
        inputs: vec![InputPort {
            name: "x".to_string(),
            party: 1,
            rows: 2,
            columns: vec![column.clone()],
            order: Default::default(),
        }]
        .into(),
        outputs: vec![OutputPort {
            name: "y".to_string(),
            parties: vec![0, 1],
            rows: 2,
            columns: vec![column],
            rows_of: None,
        }]
        .into(),
        ..Description::default()
    };
    let program =
        [Instruction::new(Op::Input, element, 2), Instruction::new(Op::Output, element, 2)];
    let program = write(&program, &description);
    let bytes = planned::<F61>(&program, 2, FieldName::F61, 64).expect("it can be planned");
    let inputs = random_inputs(3, &description);
    run_all::<F61>(&bytes, 2, FieldName::F61, &inputs, &expected(&program, &inputs));
    let handles: Vec<_> = memory_mesh(2)
        .into_iter()
        .map(|parties| {
            let me = parties.me();
            let description = read(&bytes).description().clone();
            let inputs = own(&description, &inputs, me);
            let bytes = bytes.clone();
            thread::spawn(move || {
                let dealer = Dealer::<F61>::insecure(Block::from_bits(5), me, 2);
                let prg = Prg::from_seed(Block::from_bits(7 + me as u128));
                let session = SessionId::new([3; 32]);
                let opening = Opening::new(me, 2, dealer.delta(), &session, prg);
                let field = FieldName::F61;
                let mut memory = memory(&description);
                let alteration = if me == 1 { Masks::NoBit } else { Masks::Dealt };
                let correlated = Altered { correlated: dealer, alteration };
                let mut driver =
                    SpdzDriver::new(parties, correlated, opening, &description, inputs, field);
                run(&mut read(&bytes), &mut driver, &mut memory, &mut |_| true).map(|_| ())
            })
        })
        .collect();
    let ends: Vec<_> =
        handles.into_iter().map(|handle| handle.join().expect("no party panics")).collect();
    let honest = ends[0].as_ref().expect_err("a party lied");
    assert!(honest.to_string().contains("an input is made of bits"), "{honest}");
}
