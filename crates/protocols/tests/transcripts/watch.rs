//! How runs are watched: what is sent is recorded, and programs are stored ones.

use std::cell::RefCell;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use phineus_bytecode::random::{RandomOptions, random_program};
use phineus_bytecode::{
    Description, FileKind, Instruction, ProgramReader, ProgramWriter, parse_text, write_text,
};
use sha2::{Digest, Sha256};

/// What went from one party to another.
#[derive(Default)]
struct Stream {
    byte_count: u64,
    hash: Sha256,
}

impl Stream {
    fn push(&mut self, bytes: &[u8]) {
        self.byte_count += bytes.len() as u64;
        self.hash.update(bytes);
    }

    fn line(&self, name: &str) -> String {
        let digest = self.hash.clone().finalize();
        let hex = digest[..16].iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("memory");
            hex
        });
        format!("{name}: {} bytes {hex}", self.byte_count)
    }
}

/// A recording of the test on this thread, whose cases make all channels and plans on it.
struct Recording {
    seed: u64,
    streams: Vec<(String, Arc<Mutex<Stream>>)>,
}

thread_local! {
    static RECORDING: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

fn add(name: String) -> Arc<Mutex<Stream>> {
    let stream: Arc<Mutex<Stream>> = Arc::default();
    RECORDING.with_borrow_mut(|recording| {
        let recording = recording.as_mut().expect("a case makes its channels on its own thread");
        recording.streams.push((name, stream.clone()));
    });
    stream
}

/// Runs a case; a line for each plan and for each direction of a channel, in the order in which they
/// were made.
pub fn record(seed: u64, run: fn()) -> String {
    RECORDING.set(Some(Recording { seed, streams: Vec::new() }));
    run();
    let streams = RECORDING.take().expect("just set").streams;
    let line = |(name, stream): &(String, Arc<Mutex<Stream>>)| {
        stream.lock().expect("no party panics").line(name)
    };
    streams.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The messages of one party to another.
pub struct Log(Arc<Mutex<Stream>>);

impl Log {
    pub fn new(from: usize, to: usize) -> Log {
        Log(add(format!("{from} to {to}")))
    }

    pub fn sent(&mut self, bytes: &[u8]) {
        self.0.lock().expect("no party panics").push(bytes);
    }
}

/// The seed of the recording.
pub fn seed(_case: &str) -> u64 {
    RECORDING.with_borrow(|recording| recording.as_ref().expect("a case is recorded").seed)
}

/// Takes note of a plan.
pub fn planned(plan: &[u8]) {
    add("plan".to_owned()).lock().expect("no party panics").push(plan);
}

/// Returns whether transcripts are written, not compared.
pub fn is_blessed() -> bool {
    std::env::var_os("PHINEUS_BLESS").is_some()
}

/// Where transcripts are.
pub fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts")
}

/// The stored program that was drawn with `seed` and `options`.
pub fn program(seed: u64, options: &RandomOptions) -> (Vec<Instruction>, Description) {
    let RandomOptions { instruction_count, party_count, width_max, wires_max, .. } = options;
    let name = format!("{party_count}-{instruction_count}-{width_max}-{wires_max}-seed-{seed}.phi");
    let path = directory().join("programs").join(name);
    if is_blessed() && !path.exists() {
        let (instructions, description) = random_program(seed, options);
        std::fs::write(&path, text(&instructions, &description)).expect("it can be written");
    }
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; PHINEUS_BLESS=1 draws it", path.display()));
    let bytes = parse_text(text.as_bytes(), "program", Vec::new()).expect("a valid program").0;
    let mut reader = ProgramReader::open(std::io::Cursor::new(bytes)).expect("just written");
    let description = reader.description().clone();
    let mut instructions = Vec::new();
    reader
        .for_each::<phineus_bytecode::Error>(|instruction| {
            instructions.push(*instruction);
            Ok(())
        })
        .expect("just written");
    (instructions, description)
}

fn text(instructions: &[Instruction], description: &Description) -> Vec<u8> {
    let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program).expect("memory");
    instructions.iter().for_each(|instruction| writer.push(instruction).expect("memory"));
    let bytes = writer.finish(description).expect("a valid description").0;
    let mut text = Vec::new();
    let mut reader = ProgramReader::open(std::io::Cursor::new(bytes)).expect("just written");
    write_text(&mut reader, &mut text).expect("memory");
    text
}
