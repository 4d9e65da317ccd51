//! [`Stored`]: preprocessed material from a file that was made earlier, used once.
//!
//! ```text
//! offset 0   magic, 8 │ version, 4 │ state, 4: 0 unused, 1 used │ salt, 32
//!       48   program, 32 │ pairing, 32 │ party, 4 │ parties, 4 │ pages, 8 │ kinds, 4
//!      132   for each kind: code, 2 │ width, 2 │ count, 8
//!            key check, 16
//!            pages, as in `file`
//! ```
//!
//! Numbers are little-endian. The cipher's seed is half of SHA-256("phineus stored preprocessing
//! 1" ‖ key ‖ salt ‖ everything from offset 48 to the key check), so every change of the header
//! changes all tags; the key check is the tag of an empty page. `pairing` is a hash of what all
//! parties drew when the files were made.
//!
//! Used once: before the first word is given out, the state is set to 1 and the salt, without
//! which the file cannot be decrypted, is overwritten, in one write that is on the device before
//! anything else happens. A crash at any point leaves material that is unused or unusable.
//! Not protected: a copy of file and key made before the use; and devices that keep old blocks.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use phineus_channels::Channel;
use phineus_crypto::{Block, PageCipher, Prg, Tag};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::file::{BatchReader, BatchWriter, code, kind, pages_bytes};
use super::supply::{Source, Supply};
use super::{Batch, Demand, Generator, Kind, Schedule, StoreError};
use crate::{Parties, ProtocolError};

const MAGIC: [u8; 8] = *b"PHINPREP";
const VERSION: u32 = 1;
const SALT_BYTES: usize = 32;
/// Where state and salt lie: what is overwritten when the file is used.
const STATE_OFFSET: u64 = 12;
/// Where the part begins that is bound to the key.
const BOUND_OFFSET: usize = 48;
/// Where the kinds begin.
const KINDS_OFFSET: usize = 132;
const KIND_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
/// More kinds than there are: every width of every kind.
const KINDS_MAX: usize = 4 * 64;
/// The nonce of the key check; pages count from 0.
const KEY_CHECK_NONCE: u64 = u64::MAX;

/// A key for stored preprocessing, from a file that only its owner can read. Wiped on drop.
pub struct StoredKey(Zeroizing<[u8; 32]>);

impl StoredKey {
    /// Writes a new key to a file that does not exist yet.
    ///
    /// # Errors
    /// When the file exists or cannot be written.
    pub fn create(path: &Path, prg: &mut Prg) -> Result<StoredKey, StoreError> {
        let mut key = Zeroizing::new([0; 32]);
        prg.fill_bytes(&mut *key);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(path);
        let file = file.map_err(io(path, "creating the key"))?;
        file.write_all_at(&*key, 0).map_err(io(path, "writing the key"))?;
        file.sync_all().map_err(io(path, "writing the key"))?;
        Ok(StoredKey(key))
    }

    /// Reads a key.
    ///
    /// # Errors
    /// When the file cannot be read, or others than its owner could read it.
    pub fn open(path: &Path) -> Result<StoredKey, StoreError> {
        let file = File::open(path).map_err(io(path, "opening the key"))?;
        let metadata = file.metadata().map_err(io(path, "opening the key"))?;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(StoreError::Exposed { path: path.to_owned() });
        }
        let mut key = Zeroizing::new([0; 32]);
        file.read_exact_at(&mut *key, 0).map_err(io(path, "reading the key"))?;
        Ok(StoredKey(key))
    }

    fn cipher(&self, salt: &[u8], bound: &[u8]) -> PageCipher {
        let digest = Sha256::new()
            .chain_update(b"phineus stored preprocessing 1")
            .chain_update(*self.0)
            .chain_update(salt)
            .chain_update(bound)
            .finalize();
        let (seed, _) = digest.split_first_chunk::<16>().expect("a digest has 32 bytes");
        PageCipher::from_seed(Block::from_bits(u128::from_le_bytes(*seed)))
    }
}

/// What stored preprocessing is for: the file of another party or program is refused.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The hash of the planned program.
    pub program: [u8; 32],
    /// What it needs.
    pub demand: Demand,
}

/// Preprocessed material from a file; see [`Stored::make`] and [`StoredFile`].
pub type Stored = Supply<StoredSource>;

/// The file while it is used; locked until it is dropped.
pub struct StoredSource {
    reader: BatchReader,
    batches_left: u64,
}

impl Stored {
    /// Makes all that is demanded, in the order of its use, and writes it to a file that does not
    /// exist yet. All parties do so together.
    ///
    /// # Errors
    /// When a channel, a peer or the storage fails.
    pub fn make<C: Channel>(
        path: &Path,
        key: &StoredKey,
        generator: &mut Generator<C>,
        binding: &Binding,
        order: impl Iterator<Item = (Kind, usize)>,
    ) -> Result<(), ProtocolError> {
        let pairing = agree_pairing(generator)?;
        let (me, parties) = (generator.parties.me(), generator.parties.count());
        let mut salt = Zeroizing::new([0; SALT_BYTES]);
        generator.prg.fill_bytes(&mut *salt);

        let partial = partial_path(path);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(&partial).map_err(io(&partial, "creating"))?;
        // The number of pages follows from the demand: it is bound before the pages are written.
        let pages = pages_of(&binding.demand);
        let bound = bound_part(binding, &pairing, me, parties, pages);
        let cipher = key.cipher(&*salt, &bound);
        let check = cipher.seal(KEY_CHECK_NONCE, &mut []).to_bytes();
        let header = [&MAGIC[..], &VERSION.to_le_bytes(), &[0; 4], &*salt, &bound, &check].concat();
        file.write_all_at(&header, 0).map_err(io(&partial, "writing"))?;
        let mut writer = BatchWriter::new(file, &partial, header.len() as u64, cipher);
        let mut batch = Batch::empty();
        for (kind, count) in Schedule::new(binding.demand.clone(), order) {
            generator.make(kind, count, &mut batch)?;
            writer.write(&batch)?;
        }
        let (file, _, written) = writer.finish()?;
        assert_eq!(written, pages, "a demand says how many pages it takes");
        file.sync_all().map_err(io(&partial, "writing"))?;
        fs::hard_link(&partial, path).map_err(io(path, "creating"))?;
        fs::remove_file(&partial).map_err(io(&partial, "renaming"))?;
        Ok(sync_directory(path)?)
    }
}

/// A file of preprocessed material that fits the program, not used yet.
pub struct StoredFile {
    file: File,
    path: PathBuf,
    cipher: PageCipher,
    pairing: [u8; 32],
    header_bytes: u64,
    batches: u64,
}

impl StoredFile {
    /// Opens a file and checks everything that can be checked alone. Nothing is used up.
    ///
    /// # Errors
    /// When it is not an unused file for this party, program and demand under this key.
    pub fn open(
        path: &Path,
        key: &StoredKey,
        binding: &Binding,
        me: usize,
        parties: usize,
    ) -> Result<StoredFile, StoreError> {
        let owned = || path.to_owned();
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.map_err(io(path, "opening"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(StoreError::AlreadyUsed { path: owned() });
            }
            Err(fs::TryLockError::Error(source)) => return Err(io(path, "locking")(source)),
        }
        let header = Header::read(&file, path)?;
        if header.used {
            return Err(StoreError::AlreadyUsed { path: owned() });
        }
        let cipher = key.cipher(&*header.salt, &header.bound);
        if cipher.open(KEY_CHECK_NONCE, &mut [], header.check).is_err() {
            return Err(StoreError::Damaged { path: owned() });
        }
        // From here on the header is what was written.
        let (party, stored_parties) = (header.number(64) as usize, header.number(68) as usize);
        if (party, stored_parties) != (me, parties) {
            let (parties, count) = (stored_parties, parties);
            return Err(StoreError::OtherParty { path: owned(), party, parties, me, count });
        }
        if header.bound[..32] != binding.program {
            return Err(StoreError::OtherProgram { path: owned() });
        }
        let demand = header.demand().ok_or_else(|| StoreError::Damaged { path: owned() })?;
        for (kind, needed) in binding.demand.kinds() {
            let stored = demand.count(kind);
            if stored < needed {
                return Err(StoreError::TooShort { path: owned(), kind, stored, needed });
            }
        }
        let header_bytes = (BOUND_OFFSET + header.bound.len() + TAG_BYTES) as u64;
        let pages = u64::from_le_bytes(header.bytes(72));
        let expected = pages_bytes(pages).and_then(|bytes| bytes.checked_add(header_bytes));
        let expected = expected.ok_or_else(|| StoreError::Damaged { path: owned() })?;
        let bytes = file.metadata().map_err(io(path, "opening"))?.len();
        if bytes < expected {
            return Err(StoreError::Truncated { path: owned(), bytes, expected });
        }
        let pairing = header.bytes(32);
        let batches = batch_count(&demand);
        Ok(StoredFile { file, path: owned(), cipher, pairing, header_bytes, batches })
    }

    /// What files that were made together have in common, and no others; it says nothing of what
    /// is in them.
    pub fn pairing(&self) -> &[u8; 32] {
        &self.pairing
    }

    /// Makes sure that all parties have files made together, marks this one as used, and gives
    /// what is in it.
    ///
    /// # Errors
    /// When a peer's file is from another run, or a channel or the storage fails.
    pub fn consume<C: Channel>(self, parties: &mut Parties<C>) -> Result<Stored, ProtocolError> {
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
        let mut used = [0; 4 + SALT_BYTES];
        used[..4].copy_from_slice(&1u32.to_le_bytes());
        let marked = self.file.write_all_at(&used, STATE_OFFSET);
        marked.and_then(|()| self.file.sync_all()).map_err(io(&self.path, "marking as used"))?;
        let reader = BatchReader::new(self.file, &self.path, self.header_bytes, self.cipher);
        Ok(Supply::new(StoredSource { reader, batches_left: self.batches }))
    }
}

impl Source for StoredSource {
    fn next(&mut self, used: Option<Batch>) -> Result<Batch, ProtocolError> {
        let left = self.batches_left.checked_sub(1);
        self.batches_left = left.expect("no more is used than was demanded");
        let mut batch = used.unwrap_or_else(Batch::empty);
        self.reader.read(&mut batch)?;
        Ok(batch)
    }
}

/// What stands before the pages.
struct Header {
    used: bool,
    salt: Zeroizing<[u8; SALT_BYTES]>,
    bound: Vec<u8>,
    check: Tag,
}

impl Header {
    fn read(file: &File, path: &Path) -> Result<Header, StoreError> {
        let unknown = || StoreError::Unknown { path: path.to_owned(), version: VERSION };
        let mut fixed = Zeroizing::new([0; KINDS_OFFSET]);
        read_at(file, path, &mut *fixed, 0)?;
        if fixed[..8] != MAGIC || fixed[8..12] != VERSION.to_le_bytes() {
            return Err(unknown());
        }
        let used = fixed[12..16] != [0; 4];
        let mut salt = Zeroizing::new([0; SALT_BYTES]);
        salt.copy_from_slice(&fixed[16..BOUND_OFFSET]);
        let kinds = fixed[KINDS_OFFSET - 4..].try_into().expect("a number has 4 bytes");
        let kinds = u32::from_le_bytes(kinds) as usize;
        if kinds > KINDS_MAX {
            return Err(unknown());
        }
        let mut rest = vec![0; kinds * KIND_BYTES + TAG_BYTES];
        read_at(file, path, &mut rest, KINDS_OFFSET as u64)?;
        let (kinds, check) = rest.split_at(kinds * KIND_BYTES);
        let check = Tag::from_bytes(check.try_into().expect("a tag has 16 bytes"));
        let bound = [&fixed[BOUND_OFFSET..], kinds].concat();
        Ok(Header { used, salt, bound, check })
    }

    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        self.bound[at..at + N].try_into().expect("the header is long enough")
    }

    fn number(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }

    fn demand(&self) -> Option<Demand> {
        let mut demand = Demand::default();
        for entry in self.bound[KINDS_OFFSET - BOUND_OFFSET..].chunks_exact(KIND_BYTES) {
            let number = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
            let count = u64::from_le_bytes(entry[4..].try_into().ok()?);
            demand.add(kind(number(0).try_into().ok()?, number(2))?, count.try_into().ok()?);
        }
        Some(demand)
    }
}

/// The part of the header that is bound to the key.
fn bound_part(
    binding: &Binding,
    pairing: &[u8; 32],
    me: usize,
    parties: usize,
    pages: u64,
) -> Vec<u8> {
    let mut bound = [&binding.program[..], pairing].concat();
    bound.extend((me as u32).to_le_bytes());
    bound.extend((parties as u32).to_le_bytes());
    bound.extend(pages.to_le_bytes());
    bound.extend((binding.demand.kinds().count() as u32).to_le_bytes());
    for (kind, count) in binding.demand.kinds() {
        let (code, width) = code(kind);
        bound.extend(u16::from(code).to_le_bytes());
        bound.extend(width.to_le_bytes());
        bound.extend((count as u64).to_le_bytes());
    }
    bound
}

/// A hash of what all parties draw: the same at all of them, and of no other run.
fn agree_pairing<C: Channel>(generator: &mut Generator<C>) -> Result<[u8; 32], ProtocolError> {
    let parties = &mut generator.parties;
    let (me, count) = (parties.me(), parties.count());
    let mut drawn = vec![[0; 32]; count];
    let mut mine = [0; 32];
    generator.prg.fill_bytes(&mut mine);
    let outgoing = vec![&mine[..]; count];
    let mut incoming: Vec<&mut [u8]> = drawn.iter_mut().map(|bytes| &mut bytes[..]).collect();
    parties.exchange(&outgoing, &mut incoming)?;
    drawn[me] = mine;
    let hash = Sha256::new().chain_update(b"phineus preprocessing pairing 1");
    Ok(hash.chain_update(drawn.as_flattened()).finalize().into())
}

/// Batches of a demand.
fn batch_count(demand: &Demand) -> u64 {
    demand.kinds().map(|(kind, count)| count.div_ceil(kind.batch_elements()) as u64).sum()
}

/// Pages that a demand takes.
fn pages_of(demand: &Demand) -> u64 {
    let bytes = demand.bytes() + batch_count(demand) * super::file::HEADER_BYTES as u64;
    bytes.div_ceil(super::limits::PAGE_BYTES as u64)
}

fn partial_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

fn sync_directory(path: &Path) -> Result<(), StoreError> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(io(directory, "writing the directory"))
}

/// Reads exactly; a file that ends before is cut off.
fn read_at(file: &File, path: &Path, bytes: &mut [u8], at: u64) -> Result<(), StoreError> {
    file.read_exact_at(bytes, at).map_err(|source| match source.kind() {
        io::ErrorKind::UnexpectedEof => {
            let found = file.metadata().map(|metadata| metadata.len()).unwrap_or(0);
            let expected = at + bytes.len() as u64;
            StoreError::Truncated { path: path.to_owned(), bytes: found, expected }
        }
        _ => io(path, "reading")(source),
    })
}

fn io(path: &Path, during: &'static str) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { path, during, source }
}
