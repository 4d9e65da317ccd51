//! Values far larger than 4096 wires, whose cells take megabytes as ciphertexts do: verified, planned,
//! checked and swapped by few frames, beside the clear driver.

use std::convert::Infallible;
use std::io::Cursor;

use phineus_bytecode::binary::to_bytes;
use phineus_bytecode::random::{RandomOptions, Seeds, random_inputs, random_program};
use phineus_bytecode::{
    CostModel, Description, Domain, FileKind, Instruction, Lane, Lanes, Layout, PlanDescription,
    PortOrder, ProgramReader, Table, ValueSize, verify,
};
use phineus_engine::{
    ClearDriver, Driver, FrameMemory, Inputs, Outputs, RunMemory, Storage, StorageBackend,
    StorageConfig, run,
};
use phineus_plan::{Error, Lookahead, PlanOptions, check, page_units, plan};

/// Bytes of a unit of the test driver.
const UNIT_BYTES: u16 = 16;

/// The most wires of a value of the test programs.
const WIRES_MAX: u32 = 1 << 16;

/// A driver whose values fill their cells: unit `i` is lane `i mod n`, hidden under a constant that
/// depends on `i`, so that no byte of a cell can get lost or go astray without notice.
struct Filling {
    inputs: Inputs,
    outputs: Vec<Outputs>,
}

fn filler(index: usize) -> u128 {
    (index as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
}

fn fill(cell: &mut [u128], lanes: impl Iterator<Item = Lane>) {
    let lanes: Vec<u64> = lanes.map(|lane| lane.as_limbs()[0]).collect();
    assert!(lanes.len() <= cell.len(), "{} lanes in {} units", lanes.len(), cell.len());
    for (index, unit) in cell.iter_mut().enumerate() {
        *unit = u128::from(lanes[index % lanes.len()]) ^ filler(index);
    }
}

fn lanes_of(cell: &[u128], count: usize) -> Lanes {
    let lane = |index: usize| cell[index] ^ filler(index);
    for index in 0..cell.len() {
        assert_eq!(lane(index), lane(index % count), "unit {index} of {}", cell.len());
    }
    (0..count).map(|index| Lane::from(lane(index))).collect()
}

impl Driver for Filling {
    type Wire = u128;
    type Error = Infallible;

    fn input(&mut self, instruction: &Instruction, cell: &mut [u128]) -> Result<(), Infallible> {
        fill(cell, self.inputs.lanes(instruction));
        Ok(())
    }

    fn output(&mut self, instruction: &Instruction, cell: &[u128]) -> Result<(), Infallible> {
        let lanes = lanes_of(cell, instruction.lanes as usize);
        for outputs in &mut self.outputs {
            outputs.write(instruction, lanes.iter().copied());
        }
        Ok(())
    }

    fn compute(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [u128]],
        operands: &[&[u128]],
    ) -> Result<(), Infallible> {
        let meaning = instruction.op.info().meaning.expect("a computation has a meaning");
        let operands: Vec<Lanes> = (0..operands.len())
            .map(|k| lanes_of(operands[k], instruction.operand_shape(k).lanes as usize))
            .collect();
        for (cell, lanes) in results.iter_mut().zip(meaning(instruction, &operands)) {
            fill(cell, lanes.into_iter());
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

struct Free;

impl CostModel for Free {
    fn duration_ns(&mut self, _: &Instruction) -> u64 {
        100
    }

    fn count(&mut self, _: &Instruction, _: &Description) {}

    fn totals(&self, _: &Description) -> std::collections::BTreeMap<String, u64> {
        Default::default()
    }
}

fn layout(size: ValueSize) -> Layout {
    Layout {
        unit_bytes: UNIT_BYTES,
        domain: Domain::Ring,
        arithmetic: size,
        boolean: size,
        garbled: size,
    }
}

fn options(layout: Layout, page_wires: u64, frame_count: u64) -> PlanOptions {
    PlanOptions {
        protocol: "test".to_owned(),
        optimisation: Default::default(),
        port_order: PortOrder::Near,
        memory_limit_bytes: 0,
        region_frames: 0,
        frame_count,
        computing: None,
        layout,
        page_wires,
        lookahead: Lookahead { time_ns: 2000, frames: 2 },
        planner_memory_bytes: 1 << 30,
    }
}

fn read(bytes: &[u8]) -> ProgramReader<Cursor<Vec<u8>>> {
    ProgramReader::open(Cursor::new(bytes.to_vec())).expect("just written")
}

/// A plan for so many frames, which verifier and checker find no fault in.
fn planned(program: &[u8], layout: Layout, frame_count: u64) -> (Vec<u8>, PlanDescription) {
    let page_wires = page_units(&mut read(program), layout, 4096).expect("just written");
    let scratch = tempfile::tempfile().expect("a temporary file");
    let options = options(layout, page_wires, frame_count);
    let (bytes, figures, _) =
        plan(&mut read(program), Vec::new(), scratch, &options, &mut Free).expect("it fits");
    assert_eq!(verify(&mut read(&bytes)).expect("just written"), []);
    let faults = check(&mut read(program), &mut read(&bytes)).expect("just written");
    assert_eq!(faults, Vec::<String>::new());
    (bytes, figures)
}

/// Programs here have no permutations.
fn in_the_clear(inputs: Inputs, outputs: Vec<Outputs>) -> ClearDriver {
    ClearDriver::new(&Description::default(), inputs, outputs)
}

/// Runs a plan with the driver that `new` makes of inputs and outputs.
fn execute<D: Driver<Error = Infallible>>(
    planned: &[u8],
    inputs: &[Table],
    new: impl Fn(Inputs, Vec<Outputs>) -> D,
    outputs_of: impl Fn(D) -> Vec<Outputs>,
) -> Vec<Table> {
    let mut reader = read(planned);
    let description = reader.description().clone();
    let plan = description.plan.as_ref().expect("it is planned");
    let page_bytes = u32::try_from(plan.page_bytes()).expect("a page is smaller than 4 GiB");
    let frames = FrameMemory::new(plan.frame_count.max(1) as u32, page_bytes).expect("memory");
    let config = StorageConfig {
        directory: std::env::temp_dir(),
        page_bytes,
        slots: plan.spill_slot_count as u32,
        backend: StorageBackend::Auto,
        depth: 4,
    };
    let storage = (config.slots > 0).then(|| Storage::new(&config, &frames).expect("a swap file"));
    let tables = inputs.iter().cloned().map(Some).collect();
    let inputs = Inputs::new(&description, tables).expect("the tables fit");
    let parties = 0..description.parties.len() as u16;
    let mut driver = new(inputs, parties.map(|party| Outputs::new(&description, party)).collect());
    let mut memory = RunMemory::new(frames, storage);
    run(&mut reader, &mut driver, &mut memory, &mut |_| true).expect("the run succeeds");
    let mut merged: Vec<Option<Table>> = vec![None; description.outputs.len()];
    for outputs in outputs_of(driver) {
        for (merged, table) in merged.iter_mut().zip(outputs.into_tables()) {
            *merged = merged.take().or(table);
        }
    }
    merged.into_iter().map(|table| table.expect("someone learns it")).collect()
}

fn is_large(instruction: &Instruction) -> bool {
    (0..instruction.result_count()).any(|k| !instruction.result_shape(k).is_valid())
}

/// A random program with values of up to [`WIRES_MAX`] wires, some of more than 4096, and its inputs.
fn random(seed: u64) -> (Vec<Instruction>, Description, Vec<u8>, Vec<Table>) {
    let random = RandomOptions {
        instruction_count: 120,
        width_max: 64,
        wires_max: WIRES_MAX,
        live_max: 24,
        ..RandomOptions::default()
    };
    let mut drawn = (0..1000).map(|more| random_program(seed.wrapping_add(more), &random));
    let has_large = |(instructions, _): &(Vec<Instruction>, _)| instructions.iter().any(is_large);
    let (instructions, description) =
        drawn.find(has_large).expect("large values are not that rare");
    let bytes = to_bytes(FileKind::Program, &instructions, &description).expect("a valid program");
    let inputs = random_inputs(seed, &description);
    (instructions, description, bytes, inputs)
}

#[test]
fn cells_of_many_sizes_swap_as_in_the_clear() {
    let mut seeds = Seeds::fresh();
    let (mut swapped, mut largest_bytes) = (0, 0);
    for (round, units) in [1 << 16, 1 << 17, (1 << 17) - 5].into_iter().enumerate() {
        let seed = seeds.draw();
        println!("seed {seed}");
        let (instructions, description, program, inputs) = random(seed);
        assert_eq!(verify(&mut read(&program)).expect("just written"), []);
        let frame_count = 8 + round as u64;
        let (clear, _) = planned(&program, Layout::wires(1), frame_count);
        let expected = execute(&clear, &inputs, in_the_clear, ClearDriver::into_outputs);
        let sizes = [
            ValueSize::Fixed { units },
            ValueSize::LaneElements { bytes: 16, copies: 1 },
            ValueSize::WireElements { bytes: 16, copies: 1 },
        ];
        for size in sizes {
            let (bytes, figures) = planned(&program, layout(size), frame_count);
            let new = |inputs, outputs| Filling { inputs, outputs };
            let found = execute(&bytes, &inputs, new, |driver| driver.outputs);
            for (port, (found, expected)) in found.iter().zip(&expected).enumerate() {
                for row in 0..expected.row_count() {
                    assert_eq!(found.row(row), expected.row(row), "{size}, port {port}, row {row}");
                }
            }
            assert!(figures.frame_count <= frame_count);
            swapped += figures.swap_in_count;
            largest_bytes = largest_bytes.max(figures.page_bytes());
        }
        assert_eq!(description.value_wires_max, Some(WIRES_MAX));
        assert!(instructions.iter().any(is_large), "some value has more than 4096 wires");
    }
    assert!(swapped > 0, "pages of large values are swapped");
    assert_eq!(largest_bytes, 2 << 20, "a cell of 1 MiB and more takes a page of 2 MiB");
}

#[test]
fn a_value_that_does_not_fit_is_refused() {
    let (_, description, program, _) = random(7);
    let size = ValueSize::Fixed { units: 5000 };
    let scratch = tempfile::tempfile().expect("a temporary file");
    let options = options(layout(size), 4096, 8);
    let refused = plan(&mut read(&program), Vec::new(), scratch, &options, &mut Free).map(drop);
    assert!(
        matches!(refused, Err(Error::PageTooSmall { page_units: 4096, needed: 5000 })),
        "{refused:?}"
    );
    assert_eq!(page_units(&mut read(&program), layout(size), 4096).expect("just written"), 8192);
    assert_eq!(description.faults(), Vec::<String>::new());
}

#[test]
fn a_program_states_that_its_values_are_large() {
    let (instructions, description, _, _) = random(8);
    let silent = Description { value_wires_max: None, ..description };
    let bytes = to_bytes(FileKind::Program, &instructions, &silent).expect("it can be written");
    let violations = verify(&mut read(&bytes)).expect("just written");
    assert!(violations.iter().any(|violation| violation.what.contains("at most 4096")));
}
