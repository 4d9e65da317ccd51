//! Traced programs: their files, and facts about them before planning.

use std::sync::Arc;

use phineus_bytecode::{BlockDirectory, Column, Description, FileKind, Flow, Hash, Table};
use phineus_frontend::SourceMap;
use phineus_plan::{ScratchFile, StateFacts};

use crate::failure::{Failure, codes};
use crate::program_file::ProgramFile;

/// Memory for a running block besides what its reader counts itself.
const BLOCK_BYTES: u64 = 8 << 10;

/// A traced program with what identifies it.
#[derive(Clone)]
pub struct TracedFile {
    pub file: ProgramFile,
    pub description: Description,
    pub hash: Hash,
    /// `Planned` if PROGRAM was a plan.
    pub kind: FileKind,
    /// How many of its parties compute, the first ones; the others are clients.
    pub computing: usize,
    /// The blocks, if there are several.
    pub blocks: Option<Arc<TracedBlocks>>,
    /// Source lines of the instructions, if they were noted.
    pub sources: Option<Arc<SourceMap>>,
    /// Of a block: what is known of what blocks hand on, if it was found.
    pub state: Option<Arc<StateFacts>>,
}

impl TracedFile {
    /// This program of one block, or block, as a stage of planning has written it to `file`.
    pub fn rewritten(&self, file: ScratchFile, hash: Hash) -> TracedFile {
        let file = ProgramFile::new_block(file, self.file.program());
        let (kind, blocks, sources) = (FileKind::Program, None, None);
        TracedFile { file, hash, kind, blocks, sources, ..self.clone() }
    }
}

/// The blocks of a traced program.
pub struct TracedBlocks {
    pub flow: Flow,
    pub parts: Vec<TracedFile>,
}

impl TracedBlocks {
    /// Returns these blocks as blocks of the program that `program` describes.
    pub fn of_program(&self, program: &Arc<Description>) -> TracedBlocks {
        let part = |part: &TracedFile| TracedFile {
            file: part.file.clone().of_program(program.clone()),
            description: Description::clone(program),
            ..part.clone()
        };
        TracedBlocks { flow: self.flow.clone(), parts: self.parts.iter().map(part).collect() }
    }

    /// Returns these blocks with what is known of what they hand on.
    pub fn with_state(&self, state: StateFacts) -> TracedBlocks {
        let state = Some(Arc::new(state));
        let part = |part: &TracedFile| TracedFile { state: state.clone(), ..part.clone() };
        TracedBlocks { flow: self.flow.clone(), parts: self.parts.iter().map(part).collect() }
    }
}

/// The blocks of `file`, and what they have in common; nothing if it is a program of one.
pub fn traced_blocks(
    file: &ProgramFile,
    computing: impl Fn(&Description) -> usize,
) -> Result<Option<TracedFile>, Failure> {
    let Some(blocks) = BlockDirectory::read(file.view())? else { return Ok(None) };
    let computing = computing(&blocks.description);
    let program = Arc::new(blocks.description.of_block());
    let garbling = garbling_places(file, &blocks)?;
    let part = |(number, &place): (usize, &Section)| {
        let mut file = file.section(place, &program);
        if let Some((garbling, places, program)) = &garbling {
            file = file.with_garbling(garbling, places[number], program);
        }
        let reader = file.reader()?;
        let (description, hash, kind) =
            (reader.description().clone(), reader.hash(), reader.kind());
        let (blocks, sources, state) = (None, None, None);
        Ok(TracedFile { file, description, hash, kind, computing, blocks, sources, state })
    };
    let parts = blocks.places.iter().enumerate().map(part).collect::<Result<_, Failure>>()?;
    Ok(Some(TracedFile {
        file: file.clone(),
        description: blocks.description,
        hash: blocks.hash,
        kind: blocks.kind,
        computing,
        blocks: Some(Arc::new(TracedBlocks { flow: blocks.flow, parts })),
        sources: None,
        state: None,
    }))
}

/// The offset and length of a block in its file.
type Section = (u64, u64);

/// The garbled parts beside the blocks of a plan: the file, the section of each
/// block, and their description.
type GarblingPlaces = (ProgramFile, Vec<Section>, Arc<Description>);

/// Finds the garbled parts beside the plan in `file`, which has these blocks.
fn garbling_places(
    file: &ProgramFile,
    planned: &BlockDirectory,
) -> Result<Option<GarblingPlaces>, Failure> {
    let Some(garbling) = file.garbling() else { return Ok(None) };
    match directory(&garbling)? {
        Some(blocks) if blocks.places.len() == planned.places.len() => {
            let mut description = blocks.description.of_block();
            if description.slots == planned.description.slots {
                // One list: each block compares them.
                description.slots = planned.description.slots.clone();
            }
            Ok(Some((garbling, blocks.places, Arc::new(description))))
        }
        _ => {
            let message = "what is garbled beside the plan has other blocks than it";
            Err(Failure::new(codes::OTHER_GARBLING, message).remedy("plan the program again"))
        }
    }
}

/// The directory of a file of several blocks, with a reader for each.
pub fn directory(file: &ProgramFile) -> Result<Option<BlockDirectory>, Failure> {
    Ok(BlockDirectory::read(file.view())?)
}

/// Without what is opened while the program runs: what it reveals at its end.
pub fn without_openings(description: &Description) -> Description {
    let outputs = description.outputs.iter().enumerate();
    let kept = outputs.filter(|(index, _)| !description.is_opened(*index));
    let outputs = kept.map(|(_, port)| port.clone()).collect();
    Description { outputs, opened: Vec::new().into(), ..description.clone() }
}

/// The tables of what the program reveals at its end.
pub fn results(description: &Description, tables: Vec<Option<Table>>) -> Vec<Option<Table>> {
    let tables = tables.into_iter().enumerate();
    tables.filter(|(index, _)| !description.is_opened(*index)).map(|(_, table)| table).collect()
}

/// Memory of the readers of these blocks.
pub fn readers_bytes<'a>(files: impl Iterator<Item = &'a ProgramFile>) -> Result<u64, Failure> {
    files.map(|file| Ok(file.reader()?.memory_bytes() + BLOCK_BYTES)).sum()
}

/// The largest tables of a client, if there are clients.
pub fn client_tables_bytes(traced: &TracedFile) -> Option<u64> {
    let clients = traced.computing as u16..traced.description.parties.len() as u16;
    clients.map(|party| table_bytes(&traced.description, party)).max()
}

/// The tables of the computing party that brings and learns the most.
pub fn largest_tables_bytes(traced: &TracedFile) -> u64 {
    let parties = 0..traced.computing as u16;
    parties.map(|party| table_bytes(&traced.description, party)).max().unwrap_or(0)
}

/// Bytes of the tables that `party` brings and learns.
pub fn table_bytes(description: &Description, party: u16) -> u64 {
    let row = |columns: &[Column]| -> u64 {
        columns.iter().map(|column| u64::from(column.element.width()).div_ceil(8)).sum()
    };
    let inputs = description.inputs.iter().filter(|port| port.party == party);
    let outputs = description.outputs.iter().filter(|port| port.parties.contains(&party));
    let sizes = inputs
        .map(|port| port.rows.saturating_mul(row(&port.columns)))
        .chain(outputs.map(|port| port.rows.saturating_mul(row(&port.columns))));
    sizes.fold(0, u64::saturating_add)
}

/// Bytes of the tables of all parties.
pub fn all_tables(description: &Description) -> u64 {
    let parties = 0..description.parties.len() as u16;
    parties.map(|party| table_bytes(description, party)).sum()
}
