//! Owners whose rows are not in the order that they claim.
//!
//! An owner could bring rows that are not sorted, or a key too often, and nobody noticed: the program then
//! computed another function, which could reveal bits of other tables to that owner.

use std::thread;

use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_bytecode::{
    Column, Description, ElementType, Encoding, InputPort, Instruction, Lane, Op, OutputPort,
    RowOrder, Table,
};
use phineus_channels::memory_mesh;
use phineus_correlated::authenticated::{AuthenticatedRandomness, Dealer};
use phineus_crypto::field::{F32, F61, F128, Field, FieldName};
use phineus_crypto::{Block, Prg};
use phineus_engine::run;
use phineus_ot::SessionId;

use super::runs::planned_with;
use crate::ProtocolError;
use crate::harness::{expected, memory, own_in_any_order, read, write};
use crate::mixed::totals;
use crate::spdz::{Opening, SpdzDriver};

fn column(name: &str, width: u16) -> Column {
    let element = ElementType::unsigned(width);
    Column { name: name.to_owned(), element, encoding: Encoding::Number }
}

/// Columns, first rows and numbers of rows of what a program reads at a time.
type Pieces = Vec<(usize, u64, u32)>;

/// A program that reads a sorted input of party 0 in `pieces`, in this order, and gives all cells to all: each
/// piece before it reads the next if `gives_early`, or all of them at the end.
fn program(
    parties: u16,
    (widths, order, rows): (&[u16], &RowOrder, u64),
    pieces: &Pieces,
    gives_early: bool,
) -> (Vec<Instruction>, Description) {
    let columns: Vec<Column> = widths.iter().map(|&width| column("key", width)).collect();
    let description = Description {
        name: "sorted".to_owned(),
        parties: (0..parties).map(|party| format!("party {party}")).collect(),
        inputs: vec![InputPort {
            name: "x".to_owned(),
            party: 0,
            rows,
            columns: columns.clone(),
            order: order.clone(),
        }]
        .into(),
        outputs: vec![OutputPort {
            name: "y".to_owned(),
            parties: (0..parties).collect(),
            rows,
            columns,
            rows_of: None,
        }]
        .into(),
        ..Description::default()
    };
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for (k, &(column, row, lanes)) in pieces.iter().enumerate() {
        let element = ElementType::unsigned(widths[column]);
        let cells = [0, column as u64, row, 0];
        let mut input = Instruction::new(Op::Input, element, lanes);
        (input.immediates, input.results[0]) = (cells, k as u64);
        let mut output = Instruction::new(Op::Output, element, lanes);
        (output.immediates, output.operands[0]) = (cells, k as u64);
        inputs.push(input);
        outputs.push(output);
    }
    let all = match gives_early {
        true => inputs.into_iter().zip(outputs).flat_map(|(i, o)| [i, o]).collect(),
        false => inputs.into_iter().chain(outputs).collect(),
    };
    (all, description)
}

/// Runs all parties and returns their results; the bytes and rounds of successful runs are those of
/// the plan.
fn ends<F: Field>(bytes: &[u8], count: usize, field: FieldName, inputs: &[Table]) -> Vec<End> {
    let description = read(bytes).description().clone();
    let costs = description.plan.as_ref().expect("it is planned").costs.clone();
    let handles: Vec<_> = memory_mesh(count)
        .into_iter()
        .map(|parties| {
            let me = parties.me();
            let (bytes, description) = (bytes.to_vec(), description.clone());
            let (inputs, costs) = (own_in_any_order(&description, inputs, me), costs.clone());
            thread::spawn(move || {
                let dealer = Dealer::<F>::insecure(Block::from_bits(5), me, count);
                let prg = Prg::from_seed(Block::from_bits(7 + me as u128));
                let session = SessionId::new([3; 32]);
                let opening = Opening::new(me, count, dealer.delta(), &session, prg);
                let mut driver =
                    SpdzDriver::new(parties, dealer, opening, &description, inputs, field);
                let mut memory = memory(&description);
                let ran = run(&mut read(&bytes), &mut driver, &mut memory, &mut |_| true);
                let rounds = driver.rounds();
                let (parties, outputs, _) = driver.into_parts();
                let outputs: Vec<Table> = outputs.into_tables().into_iter().flatten().collect();
                if ran.is_ok() {
                    let sent: u64 = parties.traffic().iter().map(|one| one.sent_bytes).sum();
                    assert_eq!(sent, costs[&totals::online_bytes(me)], "bytes of party {me}");
                    assert_eq!(rounds, costs[totals::ROUNDS], "rounds");
                }
                match ran {
                    Ok(()) => (None, outputs),
                    Err(phineus_engine::RunError::Driver(error)) => (Some(error), outputs),
                    Err(error) => panic!("{error}"),
                }
            })
        })
        .collect();
    handles.into_iter().map(|handle| handle.join().expect("no party panics")).collect()
}

/// Why a party stopped, if it did, and what it has learned.
type End = (Option<ProtocolError>, Vec<Table>);

/// A table for a port, which may be in order.
fn table(port: &InputPort, random: &mut SeededRng) -> Table {
    let mut rows: Vec<Vec<Lane>> = Vec::new();
    for _ in 0..port.rows {
        let drawn: Vec<Lane> =
            port.columns.iter().map(|column| random.lane(column.element.width())).collect();
        rows.push(match rows.last() {
            Some(last) if random.one_in(4) => last.clone(),
            _ => drawn,
        });
    }
    let RowOrder::Sorted { descending, .. } = port.order else { panic!("it is sorted") };
    rows.sort();
    if descending {
        rows.reverse();
    }
    if port.rows > 1 && random.one_in(2) {
        let [a, b] = [(); 2].map(|()| random.below(port.rows) as usize);
        rows.swap(a, b);
    }
    let mut table = Table::new(port.columns.clone());
    rows.iter().for_each(|row| table.push(row));
    table
}

/// Pieces of all columns, or of those but `left_out`, in any order.
fn pieces(widths: &[u16], rows: u64, left_out: Option<usize>, random: &mut SeededRng) -> Pieces {
    let mut pieces = Pieces::new();
    for column in (0..widths.len()).filter(|&column| Some(column) != left_out) {
        let mut row = 0;
        while row < rows {
            let lanes = (1 + random.below(9)).min(rows - row);
            pieces.push((column, row, lanes as u32));
            row += lanes;
        }
    }
    for k in 0..pieces.len() {
        let other = random.below(pieces.len() as u64) as usize;
        if random.one_in(3) {
            pieces.swap(k, other);
        }
    }
    pieces
}

/// Runs random orders, pieces and tables; returns how many were not in order, and how many were.
fn runs<F: Field>(field: FieldName, count: usize, seeds: &mut Seeds) -> [usize; 2] {
    let mut found = [0; 2];
    for _ in 0..count {
        let random = &mut SeededRng::new(seeds.draw());
        let widths = [*random.pick(&[1, 3, 8, 28, 29, 64]), *random.pick(&[2, 31, 100])];
        let widths = &widths[..1 + random.below(2) as usize];
        let order = RowOrder::Sorted {
            columns: 1 + random.below(widths.len() as u64) as u16,
            descending: random.one_in(2),
            unique: random.one_in(3),
            repeats_max: random.one_in(3).then(|| 1 + random.below(3) as u32),
        };
        let rows = 1 + random.below(12);
        let parties = 2 + random.below(2) as u16;
        let pieces = pieces(widths, rows, None, random);
        let (program, description) =
            program(parties, (widths, &order, rows), &pieces, random.one_in(2));
        let program = write(&program, &description);
        let bytes = planned_with::<F>(&program, parties.into(), field, (1 << 10, true));
        let bytes = bytes.expect("it can be planned");
        let port = &description.inputs[0];
        let inputs = [table(port, random)];
        let is_right = port.out_of_order(&inputs[0]).is_none();
        for (error, learned) in ends::<F>(&bytes, parties.into(), field, &inputs) {
            match error {
                None => {
                    assert!(is_right, "{order:?} {widths:?}: a lie passes");
                    let given = expected(&program, &inputs);
                    let same = |row| learned[0].row(row) == given[0].row(row);
                    assert!((0..rows).all(same), "{order:?} {widths:?}");
                }
                Some(ProtocolError::Unsorted { input, party }) => {
                    assert!(!is_right, "{order:?} {widths:?}: the truth is refused");
                    assert_eq!((input.as_str(), party.as_str()), ("x", "party 0"));
                }
                Some(error) => panic!("{order:?} {widths:?}: {error}"),
            }
        }
        found[usize::from(is_right)] += 1;
    }
    found
}

#[test]
fn who_lies_about_the_order_of_rows_is_found_and_nobody_else() {
    let mut seeds = Seeds::fresh();
    let found = [
        runs::<F61>(FieldName::F61, 60, &mut seeds),
        runs::<F128>(FieldName::F128, 30, &mut seeds),
        runs::<F32>(FieldName::F32, 30, &mut seeds),
    ];
    for [wrong, right] in found {
        assert!(wrong > 3 && right > 3, "{found:?}");
    }
}

/// Rows whose keys a program does not read are not in order, and it gives their other column out.
#[test]
fn keys_that_are_not_read_are_proven() {
    let order = RowOrder::Sorted { columns: 1, descending: false, unique: true, repeats_max: None };
    let (widths, rows) = ([16, 8], 20);
    let mut seeds = Seeds::fresh();
    let random = &mut SeededRng::new(seeds.draw());
    let pieces = pieces(&widths, rows, Some(0), random);
    let (mut program, mut description) = program(2, (&widths, &order, rows), &pieces, false);
    description.outputs[0].columns.remove(0);
    program.iter_mut().filter(|i| i.op == Op::Output).for_each(|i| i.immediates[1] = 0);
    let bytes = write(&program, &description);
    let bytes = planned_with::<F61>(&bytes, 2, FieldName::F61, (1 << 10, true));
    let bytes = bytes.expect("it can be planned");
    let mut table = Table::new(description.inputs[0].columns.clone());
    (0..rows).for_each(|row| table.push(&[Lane::from(7 * row), random.lane(8)]));
    let all_end = |table: &Table, well: bool| {
        let ends = ends::<F61>(&bytes, 2, FieldName::F61, std::slice::from_ref(table));
        assert!(ends.iter().all(|(error, _)| error.is_none() == well));
        ends
    };
    all_end(&table, true);
    table.set_cell(13, 0, Lane::from(7u64 * 12));
    for (error, learned) in all_end(&table, false) {
        assert!(matches!(error, Some(ProtocolError::Unsorted { .. })), "{error:?}");
        let is_empty = |row| learned[0].row(row).iter().all(|&cell| cell == Lane::ZERO);
        assert!((0..rows).all(is_empty), "nothing was given out before");
    }
}

/// A key that is read twice could be another one the second time.
#[test]
fn keys_are_read_once() {
    let order = RowOrder::Sorted { columns: 1, descending: false, unique: true, repeats_max: None };
    let pieces = vec![(0, 0, 4), (0, 4, 2), (0, 3, 3)];
    let (program, mut description) = program(2, (&[16], &order, 6), &pieces, false);
    let planned = |description: &Description, proves: bool| {
        let program: Vec<_> = program.iter().filter(|i| i.op == Op::Input).copied().collect();
        let program = write(&program, description);
        planned_with::<F61>(&program, 2, FieldName::F61, (1 << 10, proves))
    };
    let error = planned(&description, true).expect_err("row 3 is read twice");
    assert_eq!(
        error.to_string(),
        "instruction 2 reads keys in 'key' of input 'x' that were read before; this protocol proves the \
         order of a sorted input, so its keys are read once"
    );
    planned(&description, false).expect("without proofs there is nothing to be proven");
    description.inputs[0].order = RowOrder::Given;
    planned(&description, true).expect("rows that have no order may be read again");
}

/// A proof costs a bit for each bit of a key, one for each borrow, and an opening for each digit.
#[test]
fn a_proof_costs_what_is_stated() {
    // So few that the window of tests holds all of it.
    let rows = 10;
    let costs = |order: &RowOrder| {
        let pieces = vec![(0, 0, 6), (0, 6, 4)];
        let (program, description) = program(2, (&[64], order, rows), &pieces, false);
        let program = write(&program, &description);
        let bytes = planned_with::<F61>(&program, 2, FieldName::F61, (1 << 10, true));
        let bytes = bytes.expect("it can be planned");
        read(&bytes).description().plan.clone().expect("it is planned").costs
    };
    let unique =
        RowOrder::Sorted { columns: 1, descending: false, unique: true, repeats_max: None };
    let [given, proven] = [RowOrder::Given, unique].map(|order| costs(&order));
    // 64 bits in three digits.
    assert_eq!(proven["bit_masks_0"] - given["bit_masks_0"], 66 * (rows - 1));
    assert_eq!(proven["opened_elements"] - given["opened_elements"], 3 * (rows - 1));
    assert_eq!(proven["rounds"] - given["rounds"], 1);
    assert_eq!(proven.get("triples"), given.get("triples"));
}
