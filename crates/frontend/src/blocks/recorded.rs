//! [`RecordedBlock`]: a block while it is being recorded, and the end of a program of several.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Seek, SeekFrom, Write};
use std::rc::Rc;

use phineus_bytecode::binary::finish_blocks;
use phineus_bytecode::{
    BlockEnd, FileKind, FileSummary, Flow, Instruction, Op, ProgramWriter, RegisterStep, Successor,
};

use crate::error::ProgramError;
use crate::tracer::TraceState;

use tempfile::SpooledTempFile;

/// Bytes of a block that are held in memory; a longer one goes to a file. Most blocks have a few
/// instructions, which take some hundred bytes, and a program may have thousands of them: to make and
/// remove a file takes 0.1 ms to several, and the front end for C does it for each try. All blocks
/// together hold 32 MiB at most.
const BLOCK_KEPT_BYTES: usize = 2 << 10;
const _: () = assert!(phineus_bytecode::limits::BLOCKS_MAX * BLOCK_KEPT_BYTES <= 32 << 20);

/// Bits of a name that number the values of a block; the block's number is above them, so that
/// names in programs of one block are as they are in their files.
const LOCAL_BITS: u32 = 44;

/// The block that defines a value.
pub(crate) fn block_of(name: u64) -> usize {
    (name >> LOCAL_BITS) as usize
}

/// The name of a value in its own block's file.
pub(crate) fn local(name: u64) -> u64 {
    name & ((1 << LOCAL_BITS) - 1)
}

/// The name of a value of a block in the whole program.
pub(crate) fn name_of_block(block: usize, local: u64) -> u64 {
    (block as u64) << LOCAL_BITS | local
}

/// Buffer of a block's writer, read when the block is complete.
#[derive(Clone)]
struct Spool(Rc<RefCell<SpooledTempFile>>);

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.borrow_mut().flush()
    }
}

/// A block.
pub(crate) struct RecordedBlock {
    pub(crate) writer: Option<ProgramWriter<Box<dyn Write>>>,
    /// Where it is written until the first block is complete; nothing for the first.
    file: Option<Spool>,
    pub(crate) next_value: u64,
    /// By carried value, its name once it was loaded, and the name of what it becomes.
    pub(crate) loads: BTreeMap<u32, u64>,
    pub(crate) stores: BTreeMap<u32, u64>,
    pub(crate) steps: Vec<RegisterStep>,
    pub(crate) next: Option<Successor>,
}

impl RecordedBlock {
    pub(crate) fn new(writer: ProgramWriter<Box<dyn Write>>) -> RecordedBlock {
        RecordedBlock { writer: Some(writer), ..RecordedBlock::unwritten() }
    }

    /// A block without a file, as after a failure.
    pub(crate) fn unwritten() -> RecordedBlock {
        RecordedBlock {
            writer: None,
            file: None,
            next_value: 0,
            loads: BTreeMap::new(),
            stores: BTreeMap::new(),
            steps: Vec::new(),
            next: None,
        }
    }

    /// A block in memory, or in a temporary file if it gets long.
    pub(crate) fn temporary() -> Result<RecordedBlock, phineus_bytecode::Error> {
        let file = Spool(Rc::new(RefCell::new(SpooledTempFile::new(BLOCK_KEPT_BYTES))));
        let output: Box<dyn Write> = Box::new(file.clone());
        let recorded = RecordedBlock::new(ProgramWriter::new(output, FileKind::Program)?);
        Ok(RecordedBlock { file: Some(file), ..recorded })
    }

    pub(crate) fn instruction_count(&self) -> u64 {
        self.writer.as_ref().map_or(0, ProgramWriter::instruction_count)
    }

    /// Returns whether it gives the register its value.
    pub(crate) fn writes(&self, register: u32) -> bool {
        self.steps.iter().any(|step| step.writes() == Some(register))
    }

    /// Returns whether it opens the output port.
    pub(crate) fn opens(&self, port: u32) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step, RegisterStep::Open { port: opened, .. } if *opened == port))
    }
}

impl TraceState {
    pub(crate) fn current(&self) -> &RecordedBlock {
        &self.blocks[self.current]
    }

    pub(crate) fn current_mut(&mut self) -> &mut RecordedBlock {
        &mut self.blocks[self.current]
    }

    /// Records at the end of each block what it carries on; says what is wrong with the flow.
    pub(crate) fn complete_flow(&mut self) -> Option<String> {
        let parties: Vec<u16> = (0..self.description.parties.len() as u16).collect();
        for &port in &self.description.opened.clone() {
            self.description.outputs[port as usize].parties.clone_from(&parties);
        }
        if self.blocks.len() == 1 && self.blocks[0].steps.is_empty() {
            // Variables of a program of one block are carried nowhere.
            self.description.slots.clear();
            return None;
        }
        self.publish_registers();
        for block in 0..self.blocks.len() {
            for (slot, name) in self.blocks[block].stores.clone() {
                let stated = self.description.slots[slot as usize];
                let mut store = Instruction::new(Op::Store, stated.element, stated.lanes);
                store.immediates[0] = u64::from(slot);
                store.operands[0] = name;
                self.push_in(block, &mut store);
            }
        }
        self.flow_fault()
    }

    /// Adds to each block that writes a register the steps that publish it.
    fn publish_registers(&mut self) {
        let mut slots: HashMap<u32, Vec<u32>> = HashMap::new();
        for (&(register, ..), &slot) in &self.published {
            slots.entry(register).or_default().push(slot);
        }
        // The order of a map's entries is another one each time.
        slots.values_mut().for_each(|slots| slots.sort_unstable());
        for block in &mut self.blocks {
            let written: BTreeSet<u32> =
                block.steps.iter().filter_map(RegisterStep::writes).collect();
            let mut steps: Vec<(u32, u32)> = Vec::new();
            for register in written {
                let slots = slots.get(&register).into_iter().flatten();
                steps.extend(slots.map(|&slot| (slot, register)));
            }
            steps.sort_unstable();
            let publish = |(slot, register)| RegisterStep::Publish { slot, register };
            block.steps.extend(steps.into_iter().map(publish));
        }
    }

    fn flow_fault(&self) -> Option<String> {
        let open = self.blocks.iter().filter(|block| block.next.is_none()).count();
        if open != 1 || self.current().next.is_some() {
            return Some("every block but the last one leads to others".to_string());
        }
        let published = |block: &RecordedBlock| {
            let slot = |step: &RegisterStep| match step {
                RegisterStep::Publish { slot, .. } => Some(*slot),
                _ => None,
            };
            block.steps.iter().filter_map(slot).collect::<Vec<u32>>()
        };
        let loads: Vec<Vec<u32>> =
            self.blocks.iter().map(|block| block.loads.keys().copied().collect()).collect();
        let stores: Vec<Vec<u32>> = self
            .blocks
            .iter()
            .map(|block| block.stores.keys().copied().chain(published(block)).collect())
            .collect();
        let flow = self.flow();
        if let Some(fault) = flow.faults(&self.description).into_iter().next() {
            return Some(fault);
        }
        flow.missing(&loads, &stores).map(|_| {
            "a value is used where the block that computes it may not have run: make it a variable \
             or part of the state"
                .to_string()
        })
    }

    fn flow(&self) -> Flow {
        let end = |block: &RecordedBlock| BlockEnd {
            steps: block.steps.clone(),
            next: block.next.unwrap_or(Successor::End),
        };
        Flow { registers: self.registers, blocks: self.blocks.iter().map(end).collect() }
    }

    /// Completes the file.
    pub(crate) fn finish_blocks(&mut self) -> Result<FileSummary, ProgramError> {
        let finished = || ProgramError::Refused("the program was finished before".to_string());
        let flow = self.flow();
        let writer = self.blocks[0].writer.take().ok_or_else(finished)?;
        if self.blocks.len() == 1 && self.description.opened.is_empty() {
            return Ok(writer.finish(&self.description)?.1);
        }
        let of_block = self.description.of_block();
        let (mut output, first) = writer.finish(&of_block)?;
        let mut written = vec![first];
        for block in &mut self.blocks[1..] {
            let writer = block.writer.take().ok_or_else(finished)?;
            written.push(writer.finish(&of_block)?.1);
            let file = block.file.take().ok_or_else(finished)?;
            let mut file = file.0.borrow_mut();
            file.seek(SeekFrom::Start(0)).map_err(phineus_bytecode::Error::from)?;
            io::copy(&mut *file, &mut output).map_err(phineus_bytecode::Error::from)?;
        }
        let (_, whole) = finish_blocks(output, &written, &self.description, &flow)?;
        Ok(whole)
    }
}
