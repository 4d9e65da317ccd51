//! Correlated randomness of any sort in files: made earlier and used once ([`StoredFile`]), or all
//! made before it is used ([`SequentialSource`]).
//!
//! ```text
//! offset 0   magic, 8 │ version, 4 │ state, 4: 0 unused, 1 used │ salt, 32
//!       48   program, 32 │ pairing, 32 │ protocol, 16 │ family, 8 │ party, 4 │ parties, 4 │
//!            pages, 8 │ kinds, 4
//!      156   for each kind: kind, 3 x 4 │ count, 8
//!            key check, 16
//!            pages, as in `pages`
//! ```
//!
//! Numbers are little-endian. The cipher's seed is half of SHA-256("phineus stored preprocessing
//! 2" ‖ key ‖ salt ‖ everything from offset 48 to the key check), so every change of the header
//! changes all tags; the key check is the tag of an empty page. `pairing` is a hash of what all
//! parties drew when the files were made.
//!
//! Used once: before the first byte is given out, the pairing is noted in the ledgers of the key;
//! then the state is set to 1 and the salt, without which the file cannot be decrypted, is
//! overwritten, in one write that is on the device before anything else happens. A crash at any
//! point leaves correlated randomness that is unused or unusable, and a copy of the file is
//! refused. Not protected: a copy of file, key and ledgers made before the use; devices that keep
//! old blocks.

mod header;
mod key;
mod ledger;
mod pages;
mod sequential;
mod unfinished;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use phineus_channels::{Channel, Parties};
use phineus_crypto::PageCipher;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::buffered::BatchSource;
use crate::demand::{Demand, Schedule};
use crate::generator::{BatchGenerator, RandomnessBatch};
use crate::{CorrelatedError, StoreError};

pub use key::StoredKey;
pub use sequential::SequentialSource;
pub use sequential::nameless;
pub use unfinished::UnfinishedFile;

use header::{
    BOUND_OFFSET, FileHeader, MAGIC, PROTOCOL_BYTES, SALT_BYTES, STATE_OFFSET, TAG_BYTES, VERSION,
    bound_part,
};
use ledger::{Ledger, record};
use pages::{BatchReader, BatchWriter, HEADER_BYTES, pages_bytes};

/// Bytes that are encrypted and authenticated together in a file.
pub const PAGE_BYTES: usize = 64 * 1024;

/// The nonce of the key check; pages count from 0.
const KEY_CHECK_NONCE: u64 = u64::MAX;

/// A batch as it lies in a file.
pub trait StoredBatch: RandomnessBatch {
    /// Which kinds there are and what their elements are.
    const FAMILY: [u8; 8];
    /// Bytes of what goes with all batches, such as a share of a key.
    const SECRET_BYTES: usize;

    /// A kind as numbers.
    fn code(kind: Self::Kind) -> [u32; 3];

    /// The inverse of [`StoredBatch::code`].
    fn kind_of(code: [u32; 3]) -> Option<Self::Kind>;

    /// Bytes that party `me` has of `count` of a kind.
    fn bytes(kind: Self::Kind, count: usize, me: usize) -> u64;

    /// Makes it `count` zeros of `kind`, with all that party `me` has of it.
    fn reset(&mut self, kind: Self::Kind, count: usize, me: usize);

    /// The columns.
    fn columns(&self) -> impl Iterator<Item = &[u8]>;

    /// The columns, to read into.
    fn columns_mut(&mut self) -> impl Iterator<Item = &mut [u8]>;
}

/// Binding of stored preprocessing: a file of another party, protocol or program is refused.
#[derive(Clone, Debug)]
pub struct Binding<K> {
    /// The name of the protocol.
    pub protocol: String,
    /// The hash of the planned program.
    pub program: [u8; 32],
    /// Amounts that the run needs.
    pub demand: Demand<K>,
}

impl<K> Binding<K> {
    fn protocol_bytes(&self) -> [u8; PROTOCOL_BYTES] {
        let mut bytes = [0; PROTOCOL_BYTES];
        bytes[..self.protocol.len()].copy_from_slice(self.protocol.as_bytes());
        bytes
    }
}

type KindOf<G> = <<G as BatchGenerator>::Batch as RandomnessBatch>::Kind;

/// Makes all that is demanded, in the order of its use, and writes it to `unfinished`, after a
/// `secret` that goes with it. All parties do so together; a file is of no use,
/// and must not be used, unless all have theirs.
///
/// # Errors
/// When a channel, a peer or the storage fails.
pub(crate) fn store<G: BatchGenerator<Batch: StoredBatch>>(
    unfinished: UnfinishedFile,
    key: &StoredKey,
    generator: &mut G,
    secret: &[u8],
    binding: &Binding<KindOf<G>>,
    order: impl Iterator<Item = Result<(KindOf<G>, usize), CorrelatedError>>,
) -> Result<(), CorrelatedError> {
    assert_eq!(secret.len(), G::Batch::SECRET_BYTES, "a secret has its length");
    let pairing = agree_pairing(generator)?;
    let (me, parties) = (generator.parties().me(), generator.parties().count());
    let mut salt = Zeroizing::new([0; SALT_BYTES]);
    generator.prg().fill_bytes(&mut *salt);

    let partial = unfinished.partial();
    let file = unfinished.file.try_clone().map_err(io(partial, "opening"))?;
    // The number of pages follows from the demand: it is bound before the pages are written.
    let pages = pages_of::<G::Batch>(&binding.demand, me);
    let bound = bound_part::<G::Batch>(binding, &pairing, me, parties, pages);
    let cipher = key.cipher(&*salt, &bound);
    let check = cipher.seal(KEY_CHECK_NONCE, &mut []).to_bytes();
    let header = [&MAGIC[..], &VERSION.to_le_bytes(), &[0; 4], &*salt, &bound, &check].concat();
    let header = Zeroizing::new(header);
    file.write_all_at(&header, 0).map_err(io(partial, "writing"))?;
    let mut writer = BatchWriter::new(file, partial, header.len() as u64, cipher);
    writer.put(secret)?;
    let mut batch = G::Batch::empty();
    for need in Schedule::new(binding.demand.clone(), order) {
        let (kind, count) = need?;
        generator.make(kind, count, &mut batch)?;
        writer.write(&batch)?;
    }
    let (_, _, written) = writer.finish()?;
    assert_eq!(written, pages, "a demand says how many pages it takes");
    Ok(unfinished.finish()?)
}

/// A file of correlated randomness that fits the program, not used yet.
///
/// Has no `Debug`: it holds the secret.
pub struct StoredFile {
    file: File,
    path: PathBuf,
    reader: BatchReader,
    secret: Zeroizing<Vec<u8>>,
    ledgers: Vec<Ledger>,
    pairing: [u8; 32],
    items: u64,
    me: usize,
    family: [u8; 8],
}

/// The file while it is used; locked until it is dropped.
pub struct StoredSource {
    reader: BatchReader,
    /// Of all kinds, in batches of whatever size.
    items_left: u64,
}

impl StoredFile {
    /// Checks what can be checked before it is known what the program needs: that the file is one
    /// of this key and has not been used.
    ///
    /// # Errors
    /// When it is not.
    pub fn check_unused(path: &Path, key: &StoredKey) -> Result<(), StoreError> {
        unused(path, key).map(drop)
    }

    /// Opens a file and checks everything that can be checked alone. Nothing is used up.
    ///
    /// # Errors
    /// When it is not an unused file for this party, protocol, program and demand under this key.
    pub(crate) fn open<B: StoredBatch>(
        path: &Path,
        key: &StoredKey,
        binding: &Binding<B::Kind>,
        me: usize,
        parties: usize,
    ) -> Result<StoredFile, StoreError> {
        let owned = || path.to_owned();
        let (file, header, cipher) = unused(path, key)?;
        fits(&header, path, binding, B::FAMILY, (me, parties))?;
        let demand = header.demand::<B>().ok_or_else(|| StoreError::Damaged { path: owned() })?;
        for (kind, needed) in binding.demand.kinds() {
            let stored = demand.count(kind);
            if stored < needed {
                let kind = format!("{kind:?}");
                return Err(StoreError::TooShort { path: owned(), kind, stored, needed });
            }
        }
        let header_bytes = (BOUND_OFFSET + header.bound.len() + TAG_BYTES) as u64;
        let expected =
            pages_bytes(header.pages()).and_then(|bytes| bytes.checked_add(header_bytes));
        let expected = expected.ok_or_else(|| StoreError::Damaged { path: owned() })?;
        let bytes = file.metadata().map_err(io(path, "opening"))?.len();
        if bytes < expected {
            return Err(StoreError::Truncated { path: owned(), bytes, expected });
        }
        let items = demand.kinds().map(|(_, count)| count as u64).sum();
        let pairing = header.pairing();
        let (family, ledgers) = (B::FAMILY, key.ledgers.clone());
        let shared = file.try_clone().map_err(io(path, "opening"))?;
        let mut reader = BatchReader::new(shared, path, header_bytes, cipher, me);
        let mut secret = Zeroizing::new(vec![0; B::SECRET_BYTES]);
        reader.get(&mut secret)?;
        let path = owned();
        Ok(StoredFile { file, path, reader, secret, ledgers, pairing, items, me, family })
    }

    /// Secret that belongs to the file, for callers that store further data beside it. It must not
    /// be used before the file is marked as used.
    pub fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// Identifier that files have in common if and only if they were made together; it reveals
    /// nothing of their contents.
    pub fn pairing(&self) -> &[u8; 32] {
        &self.pairing
    }

    /// Makes sure that all parties have files made together, marks this one as used, and gives
    /// the secret and what is in it.
    ///
    /// # Errors
    /// When a peer's file is from another run, or a channel or the storage fails.
    ///
    /// # Panics
    /// If it was opened as other correlated randomness.
    pub(crate) fn begin<B: StoredBatch, C: Channel>(
        self,
        parties: &mut Parties<C>,
    ) -> Result<(Zeroizing<Vec<u8>>, StoredSource), CorrelatedError> {
        assert_eq!(self.family, B::FAMILY, "it is used as what it was opened as");
        let count = parties.count();
        let mut theirs = vec![[0; 32]; count];
        let outgoing = vec![&self.pairing[..]; count];
        let mut incoming: Vec<&mut [u8]> = theirs.iter_mut().map(|id| &mut id[..]).collect();
        parties.exchange(&outgoing, &mut incoming)?;
        for party in parties.peers() {
            if theirs[party] != self.pairing {
                return Err(StoreError::OtherRun { path: self.path, party }.into());
            }
        }
        for ledger in &self.ledgers {
            if !ledger.note(&record(&self.pairing, self.me))? {
                return Err(StoreError::AlreadyUsed { path: self.path }.into());
            }
        }
        let mut used = [0; 4 + SALT_BYTES];
        used[..4].copy_from_slice(&1u32.to_le_bytes());
        let marked = self.file.write_all_at(&used, STATE_OFFSET);
        marked.and_then(|()| self.file.sync_all()).map_err(io(&self.path, "marking as used"))?;
        Ok((self.secret, StoredSource { reader: self.reader, items_left: self.items }))
    }
}

/// A file of this key that is neither used nor in use, locked until it is dropped; its header is
/// what was written.
fn unused(path: &Path, key: &StoredKey) -> Result<(File, FileHeader, PageCipher), StoreError> {
    let used = || StoreError::AlreadyUsed { path: path.to_owned() };
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(io(path, "opening"))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => return Err(used()),
        Err(fs::TryLockError::Error(source)) => return Err(io(path, "locking")(source)),
    }
    let header = FileHeader::read(&file, path)?;
    if header.used {
        return Err(used());
    }
    let cipher = key.cipher(&*header.salt, &header.bound);
    if cipher.open(KEY_CHECK_NONCE, &mut [], header.check).is_err() {
        return Err(StoreError::Damaged { path: path.to_owned() });
    }
    let (party, _) = header.party();
    for ledger in &key.ledgers {
        if ledger.contains(&record(&header.pairing(), party))? {
            return Err(used());
        }
    }
    Ok((file, header, cipher))
}

impl StoredSource {
    /// That the file is not what was written.
    pub(crate) fn damaged(&self) -> StoreError {
        self.reader.damaged()
    }
}

impl<B: StoredBatch> BatchSource<B> for StoredSource {
    fn next(&mut self, _: B::Kind, _: usize, used: Option<B>) -> Result<B, CorrelatedError> {
        assert!(self.items_left > 0, "no more is used than was demanded");
        let mut batch = used.unwrap_or_else(B::empty);
        self.reader.read(&mut batch)?;
        // What is authentic was written by us.
        let left = self.items_left.checked_sub(batch.count() as u64);
        self.items_left = left.ok_or_else(|| self.damaged())?;
        Ok(batch)
    }
}

/// Refuses what was made for something else.
fn fits<K>(
    header: &FileHeader,
    path: &Path,
    binding: &Binding<K>,
    family: [u8; 8],
    (me, count): (usize, usize),
) -> Result<(), StoreError> {
    let path = path.to_owned();
    let (party, parties) = header.party();
    if (party, parties) != (me, count) {
        return Err(StoreError::OtherParty { path, party, parties, me, count });
    }
    let stored = header.protocol();
    if stored != binding.protocol_bytes() || header.family() != family {
        let stored = String::from_utf8_lossy(&stored).trim_end_matches('\0').to_owned();
        return Err(StoreError::OtherProtocol { path, stored, needed: binding.protocol.clone() });
    }
    if header.program() != binding.program {
        return Err(StoreError::OtherProgram { path });
    }
    Ok(())
}

/// A hash of what all parties draw: the same at all of them, and of no other run.
fn agree_pairing<G: BatchGenerator>(generator: &mut G) -> Result<[u8; 32], CorrelatedError> {
    let mut mine = [0; 32];
    generator.prg().fill_bytes(&mut mine);
    let parties = generator.parties();
    let (me, count) = (parties.me(), parties.count());
    let mut drawn = vec![[0; 32]; count];
    let outgoing = vec![&mine[..]; count];
    let mut incoming: Vec<&mut [u8]> = drawn.iter_mut().map(|bytes| &mut bytes[..]).collect();
    parties.exchange(&outgoing, &mut incoming)?;
    drawn[me] = mine;
    let hash = Sha256::new().chain_update(b"phineus preprocessing pairing 1");
    Ok(hash.chain_update(drawn.as_flattened()).finalize().into())
}

/// Bytes that all batches of a demand are at party `me`.
fn batches_bytes<B: StoredBatch>(demand: &Demand<B::Kind>, me: usize) -> u64 {
    demand.batches().map(|(kind, count)| B::bytes(kind, count, me)).sum()
}

/// Pages that a demand takes.
fn pages_of<B: StoredBatch>(demand: &Demand<B::Kind>, me: usize) -> u64 {
    let headers = demand.batches().count() as u64 * HEADER_BYTES as u64;
    let bytes = B::SECRET_BYTES as u64 + headers + batches_bytes::<B>(demand, me);
    bytes.div_ceil(PAGE_BYTES as u64)
}

fn sync_directory(path: &Path) -> Result<(), StoreError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(io(directory, "writing the directory"))
}

fn io(path: &Path, during: &'static str) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { path, during, source }
}
