//! [`Garbling`]: sets garbling up and runs it, beside the evaluation or before it.
//!
//! A program of several blocks is garbled beside its evaluation, block after block: the pass goes
//! through the same blocks, with carried values of its own, and waits for what is opened wherever
//! that decides which block comes next. Where nothing is opened between two blocks it goes ahead.

use std::collections::VecDeque;
use std::io::{Read, Seek};
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};

use phineus_bytecode::{Description, Flow, Lane, ProgramReader};
use phineus_channels::{Channel, Parties};
use phineus_correlated::StoreError;
use phineus_correlated::demand::BatchScale;
use phineus_correlated::stored::UnfinishedFile;
use phineus_crypto::{Block, Delta, Prg};
use phineus_engine::{
    BlockProgram, Carried, CarriedLayout, RunError, RunMemory, StorageError, run, run_blocks,
};
use phineus_ot::{FieldBits, SessionId};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::batch_sink::BatchSink;
use super::driver::GarblingDriver;
use super::garbler::TableGarbler;
use super::limits::FIELD_BITS_MIN;
use super::links::{self, PeerOts};
use super::stored::{TableFile, TableKey};
use super::tables::{GarbledTables, Producer, SetupKeys};
use crate::ProtocolError;

/// One party's side of garbling, set up.
///
/// Has no `Debug`: it holds the offset.
pub struct Garbling<C> {
    pub(super) parties: Parties<C>,
    pub(super) links: Vec<Option<PeerOts>>,
    pub(super) prg: Prg,
    pub(super) common: SetupKeys,
    scale: BatchScale,
}

/// The thread of a garbling that has been started.
pub struct GarblingThread<C>(JoinHandle<Option<FinishedGarbling<C>>>);

/// A garbling that is done.
pub struct FinishedGarbling<C> {
    /// Its channels.
    pub parties: Parties<C>,
    /// Correlated oblivious transfers that were made with each peer, both directions together.
    pub ots: u64,
}

/// A program of several blocks, as it is garbled.
pub struct GarblingBlocks<R> {
    /// The planned garbling program of each block.
    pub blocks: Vec<ProgramReader<R>>,
    /// How the program's blocks follow each other.
    pub flow: Flow,
    /// The description of the planned program that is garbled.
    pub description: Description,
    /// Where the garbling carries those values that are garbled.
    pub carried: CarriedLayout,
    /// How often a block may run.
    pub turns_max: u64,
}

impl<R: Read + Seek> GarblingBlocks<R> {
    fn walk<C: Channel>(
        mut self,
        driver: &mut GarblingDriver<C>,
        memory: &mut RunMemory,
    ) -> Result<(), RunError<ProtocolError>> {
        let mut carried = Carried::new(self.carried)?;
        let program = BlockProgram {
            blocks: &mut self.blocks,
            flow: &self.flow,
            description: &self.description,
        };
        let room = (memory, &mut carried);
        run_blocks(program, driver, room, self.turns_max, &mut |_| (), &mut |_| true)
    }
}

impl<C: Channel> Garbling<C> {
    /// Sets up oblivious transfer with all peers, in both directions, and the hashes.
    ///
    /// `parties` are channels that nobody else uses; `session` is the same at all parties and was
    /// never used before.
    ///
    /// # Errors
    /// When a channel fails or a peer sends what no honest peer sends.
    ///
    /// # Panics
    /// If the field has fewer than 2^4 elements: its messages would be too long for a batch.
    pub fn set_up(
        mut parties: Parties<C>,
        mut prg: Prg,
        session: &SessionId,
        field: FieldBits,
    ) -> Result<Garbling<C>, ProtocolError> {
        assert!(field.bits() >= FIELD_BITS_MIN, "a field of 2^4 elements or more");
        let offset = Delta::random(&mut prg);
        let links = links::set_up(&mut parties, &mut prg, session, field, &offset)?;
        Garbling::with_links(parties, prg, offset, links)
    }

    /// As [`Garbling::set_up`] with all oblivious transfers from a dealer, for measurements.
    ///
    /// # Security
    /// **None at all:** whoever knows `seed`, as all parties do, knows all keys.
    ///
    /// # Errors
    /// As for [`Garbling::set_up`].
    pub fn insecure(
        parties: Parties<C>,
        prg: Prg,
        session: &SessionId,
        seed: Block,
    ) -> Result<Garbling<C>, ProtocolError> {
        let offset = links::dealt_offset(seed, parties.me());
        let links = links::dealt((parties.me(), parties.count()), session, seed);
        Garbling::with_links(parties, prg, offset, links)
    }

    fn with_links(
        mut parties: Parties<C>,
        mut prg: Prg,
        offset: Delta,
        links: Vec<Option<PeerOts>>,
    ) -> Result<Garbling<C>, ProtocolError> {
        let mut starts = vec![Block::ZERO; parties.count()];
        starts[parties.me()] = prg.next_block();
        let own = starts[parties.me()];
        for peer in parties.peers() {
            parties.channel(peer).send(own.as_bytes())?;
        }
        parties.flush()?;
        for peer in parties.peers() {
            parties.channel(peer).recv(starts[peer].as_mut_bytes())?;
        }
        let fresh = Zeroizing::new(prg.next_block());
        let common = SetupKeys { offset, fresh, starts };
        Ok(Garbling { parties, links, prg, common, scale: BatchScale::FULL })
    }

    /// Sets the size of the batches of tables, the same at all parties.
    #[must_use]
    pub fn with_scale(self, scale: BatchScale) -> Garbling<C> {
        Garbling { scale, ..self }
    }

    /// Makes all tables of `planned` before any is used; keeps them in memory if they take at most
    /// `memory_bytes`, and else in a nameless encrypted file in `directory`.
    ///
    /// # Errors
    /// When a channel, a peer, the plan or the storage fails.
    pub fn run<R: Read + Seek>(
        mut self,
        planned: &mut ProgramReader<R>,
        memory: &mut RunMemory,
        memory_bytes: u64,
        directory: &Path,
    ) -> Result<(GarbledTables, Parties<C>), ProtocolError> {
        let file = TableFile::create(directory, &mut self.prg, self.parties.count())?;
        let sink = BatchSink::Store {
            batches: VecDeque::new(),
            bytes_left: memory_bytes,
            file: Box::new(file),
            spilled: false,
        };
        let common = self.common.clone();
        let walk = |driver: &mut _| run(planned, driver, memory, &mut |_| true);
        let (done, sink) = self.walk(sink, None, walk);
        let parties = done?.parties;
        let BatchSink::Store { batches, mut file, spilled, .. } = sink else {
            unreachable!("the sink is the one that was given")
        };
        file.rewind();
        let tables = match spilled {
            true => GarbledTables::in_file(common, file),
            false => GarbledTables::in_memory(common, batches),
        };
        Ok((tables, parties))
    }

    /// Makes all tables of `planned` and stores them in `unfinished`, under `key`.
    ///
    /// # Errors
    /// When a channel, a peer, the plan or the storage fails.
    pub fn store<R: Read + Seek>(
        self,
        planned: &mut ProgramReader<R>,
        memory: &mut RunMemory,
        unfinished: UnfinishedFile,
        key: &TableKey,
    ) -> Result<FinishedGarbling<C>, ProtocolError> {
        let file = Box::new(TableFile::stored(&unfinished, key, self.parties.count())?);
        // None of them stays in memory.
        let sink =
            BatchSink::Store { batches: VecDeque::new(), bytes_left: 0, file, spilled: true };
        let common = self.common.clone();
        let walk = |driver: &mut _| run(planned, driver, memory, &mut |_| true);
        let (done, sink) = self.walk(sink, None, walk);
        let made = done?;
        let BatchSink::Store { mut file, .. } = sink else {
            unreachable!("the sink is the one that was given")
        };
        file.seal(&common)?;
        unfinished.finish()?;
        Ok(made)
    }

    /// Garbles into `sink` what `walk` runs; of several blocks, what they open comes through
    /// `opened`.
    fn walk(
        self,
        sink: BatchSink,
        opened: Option<Receiver<Lane>>,
        walk: impl FnOnce(&mut GarblingDriver<C>) -> Result<(), RunError<ProtocolError>>,
    ) -> (Result<FinishedGarbling<C>, ProtocolError>, BatchSink) {
        let Garbling { parties, links, prg, common, scale } = self;
        let (me, count) = (parties.me(), parties.count());
        let SetupKeys { offset, fresh, starts } = common;
        let garbler = TableGarbler::new(parties, links, offset, (starts[me], scale), prg, sink);
        let mut driver = GarblingDriver::new(garbler, *fresh, (me, count), opened);
        let done = walk(&mut driver);
        let ots = driver.garbler.ots_made();
        let (parties, sink) = driver.garbler.into_parts();
        (done.map(|()| FinishedGarbling { parties, ots }).map_err(protocol_error), sink)
    }
}

impl<C: Channel + Send + 'static> Garbling<C> {
    /// Starts a thread that makes its `memory` and garbles `planned`, a planned garbling program;
    /// its error comes in place of tables. It ends when the tables are dropped.
    ///
    /// # Errors
    /// When the system has no thread to give.
    pub fn start<R: Read + Seek + Send + 'static>(
        self,
        mut planned: ProgramReader<R>,
        memory: impl FnOnce() -> Result<RunMemory, StorageError> + Send + 'static,
    ) -> std::io::Result<(GarbledTables, GarblingThread<C>)> {
        let (producer, tables) = GarbledTables::queue(self.common.clone(), self.scale);
        let thread = self.spawn(producer, None, move |driver| {
            run(&mut planned, driver, &mut memory()?, &mut |_| true)
        });
        Ok((tables, thread?))
    }

    /// Starts garbling for a program of several blocks; the run must tell it the values that they
    /// open (`GarbledTables::tell`).
    ///
    /// # Errors
    /// As for [`Garbling::start`].
    pub fn start_blocks<R: Read + Seek + Send + 'static>(
        self,
        blocks: GarblingBlocks<R>,
        memory: impl FnOnce() -> Result<RunMemory, StorageError> + Send + 'static,
    ) -> std::io::Result<(GarbledTables, GarblingThread<C>)> {
        let (producer, tables) = GarbledTables::queue(self.common.clone(), self.scale);
        let (tables, opened) = tables.of_blocks();
        let walk = move |driver: &mut _| blocks.walk(driver, &mut memory()?);
        let thread = self.spawn(producer, Some(opened), walk);
        Ok((tables, thread?))
    }

    fn spawn(
        self,
        producer: Producer,
        opened: Option<Receiver<Lane>>,
        walk: impl FnOnce(&mut GarblingDriver<C>) -> Result<(), RunError<ProtocolError>>
        + Send
        + 'static,
    ) -> std::io::Result<GarblingThread<C>> {
        let run = move || match self.walk(BatchSink::Queue(producer), opened, walk) {
            (Ok(made), _) => Some(made),
            (Err(error), sink) => {
                sink.fail(error);
                None
            }
        };
        thread::Builder::new().name("garbling".to_owned()).spawn(run).map(GarblingThread)
    }
}

impl<C> GarblingThread<C> {
    /// Waits for the end of the garbling.
    ///
    /// # Errors
    /// When it failed; why, the tables have said.
    pub fn join(self) -> Result<FinishedGarbling<C>, ProtocolError> {
        match self.0.join() {
            Ok(made) => made.ok_or(StoreError::Failed.into()),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn protocol_error(error: RunError<ProtocolError>) -> ProtocolError {
    match error {
        RunError::Program(error) => error.into(),
        RunError::Storage(error) => error.into(),
        RunError::Driver(error) => error,
        // The evaluation comes to the same end.
        RunError::TooManyTurns { .. } => StoreError::Failed.into(),
        _ => unreachable!("nothing else stops a garbling walk"),
    }
}
