//! Programs that rely on sorted tables, on authenticated shares, with owners that lie about the order.
//!
//! The command line sorts each table when it reads it, and nobody noticed when an owner's process did not:
//! with `psi --param result=elements` and `join` it learned a bit of the other table for each such row.

use std::io::{Cursor, Read, Seek};
use std::thread;

use phineus_bytecode::{
    FileKind, InputPort, Lane, PortOrder, ProgramReader, ProgramWriter, RowOrder, Table,
};
use phineus_channels::memory_mesh;
use phineus_correlated::authenticated::{AuthenticatedRandomness, Dealer};
use phineus_crypto::field::{F61, F128, Field, FieldName};
use phineus_crypto::{Block, Prg};
use phineus_engine::{FrameMemory, Inputs, RunError, RunMemory, run};
use phineus_frontend::{Arguments, Program, arranged, reference, trace_to_file};
use phineus_ot::SessionId;
use phineus_plan::{
    Lookahead, OrderOptions, PlanOptions, check_order, lower_to_field, order, plan,
};
use phineus_protocols::ProtocolError;
use phineus_protocols::mixed::totals;
use phineus_protocols::spdz::{Opening, SpdzCosts, SpdzDriver, SpdzRounds};

use crate::find;

type Plan = Vec<u8>;

/// A program, its parameters, the rows of each owner.
type Case = (&'static str, &'static [(&'static str, &'static str)], &'static [(&'static str, u64)]);

/// Programs of two parties, and of three.
const CASES: [Case; 7] = [
    ("psi", &[], &[("site_a", 5), ("site_b", 6)]),
    ("psi", &[("result", "elements")], &[("site_a", 5), ("site_b", 4)]),
    (
        "psi",
        &[("result", "elements"), ("parties", "3")],
        &[("site_a", 3), ("site_b", 4), ("site_c", 3)],
    ),
    ("join", &[("key", "id:u32")], &[("site_a", 4), ("site_b", 5)]),
    (
        "join",
        &[("key", "name:u32,day:u16"), ("repeats", "2"), ("result", "count"), ("right", "")],
        &[("site_a", 4), ("site_b", 5)],
    ),
    ("password-reuse", &[], &[("site_a", 4), ("site_b", 3)]),
    ("merge", &[], &[("site_a", 4), ("site_b", 5)]),
];

fn read(bytes: &[u8]) -> ProgramReader<Cursor<Vec<u8>>> {
    ProgramReader::open(Cursor::new(bytes.to_vec())).expect("just written")
}

fn scratch() -> std::fs::File {
    tempfile::tempfile().expect("a temporary file")
}

/// Traces and plans a program; gives its inputs, in order, and the right outputs too.
fn planned<F: Field>(case: Case, field: FieldName) -> (Plan, Vec<Table>, Vec<Table>) {
    planned_with::<F>(case, field, true)
}

/// Returns the plan, with proven order of rows only if `is_proven`.
fn planned_with<F: Field>(
    case: Case,
    field: FieldName,
    is_proven: bool,
) -> (Plan, Vec<Table>, Vec<Table>) {
    let (name, given, rows) = case;
    let program: Box<dyn Program> = find(name).expect("it exists");
    let mut arguments =
        Arguments::new(program.as_ref(), given.iter().copied()).expect("the parameters exist");
    rows.iter().for_each(|(port, count)| arguments.set_rows(port, *count));
    let generated = program.generate(&arguments, 5).expect("it generates");
    let (mut file, traced) = trace_to_file(program.as_ref(), &arguments).expect("it traces");
    let ports = traced.description.inputs.iter().zip(&generated);
    let inputs = ports.map(|(port, table)| arranged(table, &port.order).expect("keys are unique"));
    let inputs: Vec<Table> = inputs.collect();
    let parties = traced.description.parties.len();
    let bounds = (F::BITS - 2, true);
    let reader = &mut ProgramReader::open(&mut file).expect("just written");
    let program = if is_proven { None } else { Some(without_order(reader)) };
    let lowered = match program {
        Some(program) => {
            lower_to_field(&mut read(&program), Vec::new(), scratch(), bounds, 64 << 20)
        }
        None => lower_to_field(reader, Vec::new(), scratch(), bounds, 64 << 20),
    };
    let lowered = lowered.expect("it can be lowered").0;
    let layout = phineus_protocols::spdz::layout(F::BYTES);
    let ordering = OrderOptions {
        layout,
        window_units: 1 << 20,
        window_instructions: 1 << 17,
        held_bytes: 64 << 20,
        planner_memory_bytes: 64 << 20,
    };
    let mut model = SpdzRounds::new(field, parties);
    let ordered = order(&mut read(&lowered), Vec::new(), scratch(), &ordering, &mut model);
    let ordered = ordered.expect("it can be ordered").0;
    let faults = check_order(&mut read(&lowered), &mut read(&ordered), &mut model);
    assert_eq!(faults.expect("it can be read"), Vec::<String>::new());
    let options = PlanOptions {
        protocol: "spdz".to_owned(),
        optimisation: Default::default(),
        port_order: PortOrder::Given,
        memory_limit_bytes: 0,
        region_frames: 0,
        frame_count: 1 << 10,
        computing: None,
        layout,
        page_wires: layout.units_max().next_power_of_two().max(4096),
        lookahead: Lookahead { time_ns: 100_000, frames: 4 },
        planner_memory_bytes: 64 << 20,
    };
    let mut costs = SpdzCosts::new(parties, field);
    let plan = plan(&mut read(&ordered), Vec::new(), scratch(), &options, &mut costs);
    let outputs = reference::run_file(file, &inputs).expect("it runs in the clear");
    (plan.expect("it can be planned").0, inputs, outputs)
}

/// Returns the program for rows in any order.
fn without_order<R: Read + Seek>(program: &mut ProgramReader<R>) -> Vec<u8> {
    let mut description = program.description().clone();
    description.inputs.iter_mut().for_each(|port| port.order = RowOrder::Given);
    let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program).expect("memory");
    program.for_each(|i| writer.push(i)).expect("just written");
    writer.finish(&description).expect("a valid description").0
}

/// Why each party stops, if it does, and what it has learned.
fn ends<F: Field>(plan: &Plan, field: FieldName, inputs: &[Table]) -> Vec<End> {
    let description = read(plan).description().clone();
    let count = description.parties.len();
    let party = |parties: phineus_channels::Parties<_>| {
        let (plan, description) = (plan.clone(), description.clone());
        let me = parties.me();
        let ports = description.inputs.iter().zip(inputs);
        let own = ports.map(|(port, table)| (usize::from(port.party) == me).then(|| table.clone()));
        let own: Vec<_> = own.collect();
        thread::spawn(move || {
            let inputs = Inputs::in_any_order(&description, own).expect("the right shapes");
            let dealer = Dealer::<F>::insecure(Block::from_bits(5), me, count);
            let prg = Prg::from_seed(Block::from_bits(7 + me as u128));
            let session = SessionId::new([3; 32]);
            let opening = Opening::new(me, count, dealer.delta(), &session, prg);
            let mut driver = SpdzDriver::new(parties, dealer, opening, &description, inputs, field);
            let stated = description.plan.as_ref().expect("it is planned");
            let page_bytes = stated.page_bytes() as u32;
            let frames = FrameMemory::new(stated.frame_count as u32, page_bytes).expect("memory");
            let memory = &mut RunMemory::new(frames, None);
            let ran = run(&mut read(&plan), &mut driver, memory, &mut |_| true);
            let rounds = driver.rounds();
            let (parties, outputs, _) = driver.into_parts();
            let sent: u64 = parties.traffic().iter().map(|one| one.sent_bytes).sum();
            let error = match ran {
                Ok(()) => None,
                Err(RunError::Driver(error)) => Some(error),
                Err(error) => panic!("{error}"),
            };
            if error.is_none() {
                assert_eq!(sent, stated.costs[&totals::online_bytes(me)], "bytes of party {me}");
                assert_eq!(rounds, stated.costs[totals::ROUNDS], "rounds");
            }
            (error, outputs.into_tables())
        })
    };
    let handles: Vec<_> = memory_mesh(count).into_iter().map(party).collect();
    handles.into_iter().map(|handle| handle.join().expect("no party panics")).collect()
}

type End = (Option<ProtocolError>, Vec<Option<Table>>);

/// Returns the same rows in another order.
fn unsorted(port: &InputPort, table: &Table) -> Option<Table> {
    let mut wrong = table.clone();
    let last = table.row_count() - 1;
    for column in 0..table.columns().len() {
        wrong.set_cell(0, column, table.cell(last, column));
        wrong.set_cell(last, column, table.cell(0, column));
    }
    port.out_of_order(&wrong).map(|_| wrong)
}

/// Rows in order, with the key of the first ones more often than the program allows.
fn repeated(port: &InputPort, table: &Table) -> Option<Table> {
    let RowOrder::Sorted { columns, unique, repeats_max, .. } = port.order else { return None };
    let most = if unique { 1 } else { u64::from(repeats_max?) };
    let mut wrong = table.clone();
    for row in 1..=most {
        for column in 0..usize::from(columns) {
            wrong.set_cell(row, column, table.cell(0, column));
        }
    }
    assert!(port.out_of_order(&wrong).is_some(), "a key is there too often");
    Some(wrong)
}

/// Honest parties get the right outputs; each lie of each owner ends the run for all, without outputs.
fn lies_are_found<F: Field>(field: FieldName) {
    let mut lies = [0; 2];
    for case in CASES {
        let (plan, inputs, outputs) = planned::<F>(case, field);
        let description = read(&plan).description().clone();
        for (error, learned) in ends::<F>(&plan, field, &inputs) {
            assert!(error.is_none(), "{case:?}: {error:?}");
            for (learned, expected) in learned.iter().zip(&outputs) {
                let Some(learned) = learned else { continue };
                let same = |row| learned.row(row) == expected.row(row);
                assert!((0..expected.row_count()).all(same), "{case:?}");
            }
        }
        for (place, port) in description.inputs.iter().enumerate() {
            let makers = [unsorted, repeated].map(|make| make(port, &inputs[place]));
            for (kind, wrong) in makers.into_iter().enumerate() {
                let Some(wrong) = wrong else { continue };
                lies[kind] += 1;
                let mut inputs = inputs.clone();
                inputs[place] = wrong;
                for (error, learned) in ends::<F>(&plan, field, &inputs) {
                    let owner = &description.parties[usize::from(port.party)];
                    assert!(
                        matches!(&error, Some(ProtocolError::Unsorted { input, party })
                            if *input == port.name && party == owner),
                        "{case:?} {}: {error:?}",
                        port.name
                    );
                    let is_empty = |table: &Table| {
                        let mut rows = (0..table.row_count()).map(|row| table.row(row));
                        rows.all(|row| row.iter().all(|&cell| cell == Lane::ZERO))
                    };
                    assert!(
                        learned.iter().flatten().all(is_empty),
                        "{case:?}: nothing is given out"
                    );
                }
            }
        }
    }
    assert_eq!(lies, [15, 13], "owners that lied");
}

#[test]
fn lies_about_order_are_found_modulo_2_61() {
    lies_are_found::<F61>(FieldName::F61);
}

#[test]
fn lies_about_order_are_found_modulo_2_128() {
    lies_are_found::<F128>(FieldName::F128);
}

/// A proof adds bits that are brought and openings to a program, but no triples and no rounds.
#[test]
fn a_proof_takes_no_triples() {
    let rows = 256;
    let case: Case = ("psi", &[], &[("site_a", 256), ("site_b", 256)]);
    let costs = |is_proven: bool| {
        let plan = planned_with::<F61>(case, FieldName::F61, is_proven).0;
        read(&plan).description().plan.clone().expect("it is planned").costs
    };
    let [given, proven] = [false, true].map(costs);
    for owner in 0..2 {
        let name = format!("bit_masks_{owner}");
        assert_eq!(proven[&name] - given[&name], 66 * (rows - 1));
    }
    assert_eq!(proven["opened_elements"] - given["opened_elements"], 2 * 3 * (rows - 1));
    assert_eq!(proven["triples"], given["triples"]);
    assert_eq!(proven["rounds"], given["rounds"]);
    assert_eq!(proven["check_rounds"], given["check_rounds"]);
}
