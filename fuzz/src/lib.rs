//! What several targets do with a program, once its bytes are read.

use std::collections::BTreeMap;
use std::io::{Cursor, Error as IoError, Write};
use std::sync::{Arc, Mutex};

use phineus_bytecode::limits::FAULTS_MAX;
use phineus_bytecode::{
    CostModel, Description, FileKind, Instruction, Layout, PortOrder, ProgramReader, parse_text,
    verify, write_text,
};
use phineus_frontend::{Arguments, Program, ProgramError, trace_into};
use phineus_plan::{Error, Lookahead, PlanOptions, Scratch, check, page_units, plan};

/// The most instructions of a program that is planned: more show nothing else, only slower.
const PLANNED_MAX: u64 = 4096;

/// The most bytes of a program that is traced: a small circuit may state hours of work.
const TRACED_BYTES_MAX: usize = 1 << 16;

/// The most ports that a program is asked for.
const PORTS_MAX: usize = 16;

struct Free;

impl CostModel for Free {
    fn duration_ns(&mut self, _: &Instruction) -> u64 {
        1000
    }

    fn count(&mut self, _: &Instruction, _: &Description) {}

    fn totals(&self, _: &Description) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
}

/// Reads all of a program file. Verifying it, writing it as text and reading that agree about it, and
/// a program that is right can be planned, rightly.
pub fn read_program(bytes: &[u8]) -> Result<(), phineus_bytecode::Error> {
    let mut reader = ProgramReader::open(Cursor::new(bytes))?;
    let mut instructions = Vec::new();
    for frame in (0..reader.frame_count()).rev() {
        reader.read_frame(frame, &mut instructions)?;
    }
    reader.verify_hash()?;
    let violations = verify(&mut reader)?;
    assert!(violations.len() <= FAULTS_MAX);
    let mut text = Vec::new();
    write_text(&mut reader, &mut text)?;
    let parsed = parse_text(text.as_slice(), "fuzz.phi", Vec::new());
    assert_eq!(parsed.is_ok(), violations.is_empty(), "text and binary are held to the same");
    if violations.is_empty() && reader.kind() == FileKind::Program {
        plan_program(&mut reader);
    }
    Ok(())
}

fn plan_program(reader: &mut ProgramReader<Cursor<&[u8]>>) {
    if reader.instruction_count() > PLANNED_MAX {
        return;
    }
    let mut instructions = Vec::new();
    for frame in 0..reader.frame_count() {
        reader.read_frame(frame, &mut instructions).expect("it was read before");
        // Shares and rounds have layouts of their own.
        if instructions.iter().any(|i| i.element.sharing() as u8 != 0 || i.phase as u8 != 0) {
            return;
        }
    }
    let layout = Layout::wires(16);
    let page_wires = page_units(reader, layout, 4096).expect("it was read before");
    for port_order in [PortOrder::Near, PortOrder::Given] {
        let options = PlanOptions {
            region_frames: 0,
            protocol: "fuzz".to_owned(),
            optimisation: Default::default(),
            port_order,
            memory_limit_bytes: 0,
            frame_count: 9,
            computing: None,
            layout,
            page_wires,
            lookahead: Lookahead { time_ns: 100_000, frames: 2 },
            planner_memory_bytes: 64 << 20,
        };
        let scratch = Scratch::new(std::env::temp_dir(), 1 << 20).file();
        match plan(reader, Vec::new(), scratch, &options, &mut Free) {
            Ok((planned, ..)) => {
                let mut planned =
                    ProgramReader::open(Cursor::new(&planned[..])).expect("just written");
                assert_eq!(verify(&mut planned).expect("just written"), []);
                let faults = check(reader, &mut planned).expect("just written");
                assert!(faults.is_empty(), "{faults:?}");
            }
            Err(Error::PlannerMemory { .. }) => {}
            Err(error) => panic!("a right program is not planned: {error}"),
        }
    }
}

/// A file in memory that is full at [`TRACED_BYTES_MAX`].
#[derive(Clone, Default)]
struct Small(Arc<Mutex<Vec<u8>>>);

impl Write for Small {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut file = self.0.lock().expect("one thread");
        if file.len() + bytes.len() > TRACED_BYTES_MAX {
            return Err(IoError::other("full"));
        }
        file.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Traces a program with one row of everything; what comes out is right.
pub fn trace_program(program: &dyn Program) {
    let Ok(mut arguments) = Arguments::new(program, []) else { return };
    for _ in 0..PORTS_MAX {
        let file = Small::default();
        match trace_into(program, &arguments, file.clone()) {
            Ok(_) => {
                let bytes = std::mem::take(&mut *file.0.lock().expect("one thread"));
                let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("just traced");
                assert_eq!(verify(&mut reader).expect("just traced"), []);
                return;
            }
            Err(ProgramError::MissingRows { input }) => arguments.set_rows(&input, 1),
            Err(_) => return,
        }
    }
}
