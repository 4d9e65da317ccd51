//! Planned programs, what runs them, and a channel that records what is sent.

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom, Write};

use phineus_bytecode::{
    Description, FileKind, Instruction, Layout, PortOrder, ProgramReader, ProgramWriter, Table,
};
use phineus_channels::{Channel, ChannelError, Traffic};
use phineus_engine::{
    Driver, FrameMemory, Inputs, RunError, RunMemory, Storage, StorageBackend, StorageConfig, run,
};
use phineus_plan::{Lookahead, PlanOptions, plan};
use phineus_protocols::garbled::GarbledCosts;

/// A file that begins with `bytes`.
fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("space on the disk");
    file.seek(SeekFrom::Start(0)).expect("a file can be rewound");
    file
}

pub fn open(bytes: &[u8]) -> ProgramReader<BufReader<File>> {
    ProgramReader::open(BufReader::new(file(bytes))).expect("just written")
}

pub fn planned(instructions: &[Instruction], description: &Description) -> Vec<u8> {
    let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program).expect("memory");
    instructions.iter().for_each(|i| writer.push(i).expect("memory"));
    let program = writer.finish(description).expect("a valid description").0;
    let options = PlanOptions {
        protocol: "garbled".to_string(),
        optimisation: Default::default(),
        port_order: PortOrder::Near,
        memory_limit_bytes: 0,
        region_frames: 0,
        frame_count: 16,
        computing: None,
        layout: Layout::wires(16),
        page_wires: 4096,
        lookahead: Lookahead { time_ns: 100_000, frames: 4 },
        planner_memory_bytes: 64 << 20,
    };
    let scratch = tempfile::tempfile().expect("a temporary file");
    let mut costs = GarbledCosts::default();
    plan(&mut open(&program), Vec::new(), scratch, &options, &mut costs).expect("it fits").0
}

pub fn execute<D: Driver>(bytes: &[u8], driver: &mut D) -> Result<(), RunError<D::Error>> {
    let mut reader = open(bytes);
    let plan = reader.description().plan.clone().expect("planned");
    let page_bytes = plan.page_bytes() as u32;
    let frames = FrameMemory::new(plan.frame_count.max(1) as u32, page_bytes).expect("memory");
    let config = StorageConfig {
        directory: std::env::temp_dir(),
        page_bytes,
        slots: plan.spill_slot_count as u32,
        backend: StorageBackend::Auto,
        depth: 16,
    };
    let storage =
        (plan.spill_slot_count > 0).then(|| Storage::new(&config, &frames).expect("a swap file"));
    let mut memory = RunMemory::new(frames, storage);
    run(&mut reader, driver, &mut memory, &mut |_| true)
}

/// Records all that is sent.
pub struct Recorded<C> {
    pub inner: C,
    pub sent: Vec<u8>,
}

impl<C: Channel> Channel for Recorded<C> {
    fn send_with<R>(
        &mut self,
        len: usize,
        fill: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, ChannelError> {
        let sent = &mut self.sent;
        self.inner.send_with(len, |bytes| {
            let result = fill(bytes);
            sent.extend_from_slice(bytes);
            result
        })
    }

    fn recv_with<R>(
        &mut self,
        len: usize,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<R, ChannelError> {
        self.inner.recv_with(len, read)
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        self.inner.flush()
    }

    fn traffic(&self) -> Traffic {
        self.inner.traffic()
    }
}

pub fn own(description: &Description, tables: &[Table], party: u16) -> Inputs {
    let ports = description.inputs.iter().zip(tables);
    let mine = ports.map(|(port, table)| (port.party == party).then(|| table.clone()));
    Inputs::new(description, mine.collect()).expect("tables fit")
}
