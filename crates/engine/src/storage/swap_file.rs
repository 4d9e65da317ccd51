//! [`SwapFile`]: a file without a name, as long as the run will need, past the page cache.
//!
//! It has no name from the start (`O_TMPFILE`) or loses it at once, so the kernel frees its space
//! when the process ends, however it ends. The space is reserved before the run. What is written
//! to it is encrypted by the caller; mode 0600 is only the second lock.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::file_system::{file_size_limit_bytes, free_bytes, is_memory_backed};
use super::frames::PAGE_BYTES_MIN;
use super::mapping::Mapping;
use super::{StorageError, TransferDirection};

/// An open swap file.
pub(super) struct SwapFile {
    file: File,
    directory: PathBuf,
    length_bytes: u64,
    /// Transfers go past the page cache (O_DIRECT).
    direct: bool,
    /// The file system is memory itself (tmpfs): swapping there saves none.
    memory_backed: bool,
}

/// How to get a file nobody else can open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CreationMethod {
    /// `O_TMPFILE`: never has a name.
    Unnamed,
    /// Created under a fresh name and unlinked at once; a kill between the two system calls
    /// leaves an empty file.
    Unlinked,
}

impl SwapFile {
    /// Creates a swap file of `length_bytes` in `directory` and reserves its space.
    ///
    /// # Errors
    /// One variant each for a directory that is missing, none, or not writable, for too little
    /// space, and for a limit on the size of files.
    pub(super) fn create(directory: &Path, length_bytes: u64) -> Result<SwapFile, StorageError> {
        check_file_size_limit(length_bytes)?;
        let (file, direct) = open(directory, &[CreationMethod::Unnamed, CreationMethod::Unlinked])?;
        let mut swap_file = SwapFile {
            memory_backed: is_memory_backed(&file),
            file,
            directory: directory.to_owned(),
            length_bytes,
            direct,
        };
        swap_file.reserve()?;
        swap_file.try_direct()?;
        Ok(swap_file)
    }

    /// The open file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Where it lies, for messages.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether transfers go past the page cache.
    pub(super) fn is_direct(&self) -> bool {
        self.direct
    }

    /// Whether the file system keeps its files in memory.
    pub(super) fn is_memory_backed(&self) -> bool {
        self.memory_backed
    }

    /// After a transfer on a file system without O_DIRECT: asks the kernel not to keep a copy.
    ///
    /// Only pages already written back are dropped, so a slot's copy may live until it is read.
    #[cfg(target_os = "linux")]
    pub(super) fn forget_cached(&self, offset_bytes: u64, length_bytes: u32) {
        if !self.direct {
            let (fd, offset) = (self.file.as_raw_fd(), offset_bytes as i64);
            let length = i64::from(length_bytes);
            // SAFETY: advice about a file we own; touches no memory of this process.
            unsafe { libc::posix_fadvise(fd, offset, length, libc::POSIX_FADV_DONTNEED) };
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn forget_cached(&self, _offset_bytes: u64, _length_bytes: u32) {}

    /// Makes the file as long as it will be, with its space reserved where the file system can.
    fn reserve(&self) -> Result<(), StorageError> {
        // Asked first: filling a disk to find that it is too small would hurt everybody on it.
        let free_bytes = free_bytes(&self.file);
        if free_bytes.is_some_and(|free_bytes| free_bytes < self.length_bytes) {
            return Err(self.no_space(free_bytes));
        }
        match self.allocate() {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT)) => {
                Err(self.no_space(free_bytes))
            }
            // Above the largest file of this file system.
            Err(error) if error.raw_os_error() == Some(libc::EFBIG) => {
                Err(self.no_space(free_bytes))
            }
            Err(source) => Err(StorageError::Create { directory: self.directory.clone(), source }),
            Ok(()) => Ok(()),
        }
    }

    fn no_space(&self, free_bytes: Option<u64>) -> StorageError {
        StorageError::NoSpace {
            directory: self.directory.clone(),
            needed_bytes: self.length_bytes,
            free_bytes: free_bytes.unwrap_or(0),
        }
    }

    #[cfg(target_os = "linux")]
    fn allocate(&self) -> io::Result<()> {
        let too_long = |_| io::Error::from_raw_os_error(libc::EFBIG);
        let length = i64::try_from(self.length_bytes).map_err(too_long)?;
        loop {
            // SAFETY: works on a file we own; touches no memory of this process.
            if unsafe { libc::fallocate(self.file.as_raw_fd(), 0, 0, length) } == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The file system cannot reserve: a full disk will show during the run.
                Some(libc::EOPNOTSUPP | libc::ENOSYS) => {
                    return self.file.set_len(self.length_bytes);
                }
                _ => return Err(error),
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn allocate(&self) -> io::Result<()> {
        self.file.set_len(self.length_bytes)
    }

    /// Writes once: some file systems take O_DIRECT when opening and refuse it when writing.
    fn try_direct(&mut self) -> Result<(), StorageError> {
        if !self.direct || self.length_bytes < u64::from(PAGE_BYTES_MIN) {
            return Ok(());
        }
        let trial_bytes = PAGE_BYTES_MIN as usize;
        let directory = self.directory.clone();
        let failed =
            |source| StorageError::from_transfer(&directory, TransferDirection::Out, 0, source);
        let zeros = Mapping::new(trial_bytes).map_err(failed)?;
        // SAFETY: the mapping is that long, zero, ours alone, and outlives the slice.
        let page = unsafe { std::slice::from_raw_parts(zeros.base(), trial_bytes) };
        match self.file.write_all_at(page, 0) {
            Ok(()) => Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                self.use_page_cache().map_err(failed)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Goes through the page cache from now on.
    pub(super) fn use_page_cache(&mut self) -> io::Result<()> {
        // SAFETY: F_GETFL and F_SETFL change flags of a file we own.
        let status = unsafe {
            let flags = libc::fcntl(self.file.as_raw_fd(), libc::F_GETFL);
            libc::fcntl(self.file.as_raw_fd(), libc::F_SETFL, flags & !O_DIRECT)
        };
        if status != 0 {
            return Err(io::Error::last_os_error());
        }
        self.direct = false;
        Ok(())
    }
}

/// The flag, or nothing where there is none.
#[cfg(target_os = "linux")]
const O_DIRECT: i32 = libc::O_DIRECT;
#[cfg(not(target_os = "linux"))]
const O_DIRECT: i32 = 0;

/// Opens a nameless file by the first of `births` the file system knows, past the page cache if it
/// can; says whether it can.
fn open(directory: &Path, births: &[CreationMethod]) -> Result<(File, bool), StorageError> {
    let owned = || directory.to_owned();
    match fs::metadata(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(StorageError::DirectoryMissing { directory: owned() });
        }
        Ok(metadata) if !metadata.is_dir() => {
            return Err(StorageError::NotADirectory { directory: owned() });
        }
        // Any other fault shows again, with its own error, when the file is made.
        _ => {}
    }
    let mut refusal = io::Error::from(io::ErrorKind::Unsupported);
    for &birth in births {
        for flags in [O_DIRECT, 0] {
            match open_as(directory, birth, flags) {
                Ok(file) => return Ok((file, flags != 0)),
                Err(error) => refusal = error,
            }
        }
    }
    Err(match refusal.raw_os_error() {
        Some(libc::EACCES | libc::EPERM | libc::EROFS) => {
            StorageError::DirectoryNotWritable { directory: owned(), source: refusal }
        }
        Some(libc::ENOSPC | libc::EDQUOT) => StorageError::DiskFull { directory: owned() },
        _ => StorageError::Create { directory: owned(), source: refusal },
    })
}

fn open_as(directory: &Path, birth: CreationMethod, flags: i32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    match birth {
        #[cfg(target_os = "linux")]
        // O_EXCL here means that nobody can give the file a name later.
        CreationMethod::Unnamed => {
            options.custom_flags(libc::O_TMPFILE | libc::O_EXCL | flags).open(directory)
        }
        #[cfg(not(target_os = "linux"))]
        CreationMethod::Unnamed => Err(io::Error::from(io::ErrorKind::Unsupported)),
        CreationMethod::Unlinked => {
            options.create_new(true).custom_flags(libc::O_NOFOLLOW | flags);
            open_unlinked(directory, &options)
        }
    }
}

/// Creates a file under a name nobody uses and takes the name away.
fn open_unlinked(directory: &Path, options: &OpenOptions) -> io::Result<File> {
    /// Names are process id and nanoseconds: a second try is rare, a sixteenth means trouble.
    const TRIES_MAX: u32 = 16;
    let mut refusal = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..TRIES_MAX {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanoseconds = now.map(|since| since.as_nanos()).unwrap_or(0);
        let name = format!(".phineus-{}-{nanoseconds:x}.swap", std::process::id());
        let path = directory.join(name);
        match options.open(&path) {
            Ok(file) => {
                fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) => {
                // Some file systems create the file, then refuse O_DIRECT on it.
                if error.raw_os_error() == Some(libc::EINVAL) {
                    let _ = fs::remove_file(&path);
                }
                if error.kind() != io::ErrorKind::AlreadyExists {
                    return Err(error);
                }
                refusal = error;
            }
        }
    }
    Err(refusal)
}

/// Refuses a length above `RLIMIT_FSIZE`: the kernel would answer with a deadly signal.
fn check_file_size_limit(needed_bytes: u64) -> Result<(), StorageError> {
    match file_size_limit_bytes() {
        Some(limit_bytes) if limit_bytes < needed_bytes => {
            Err(StorageError::FileSizeLimit { needed_bytes, limit_bytes })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn directory() -> tempfile::TempDir {
        tempfile::tempdir().expect("the temporary directory is writable")
    }

    #[test]
    fn has_no_name_and_belongs_to_its_owner_only() {
        let directory = directory();
        for births in
            [&[CreationMethod::Unnamed, CreationMethod::Unlinked][..], &[CreationMethod::Unlinked]]
        {
            let (file, _) = open(directory.path(), births).expect("one way works");
            let metadata = file.metadata().expect("an open file has metadata");
            assert_eq!((metadata.nlink(), metadata.mode() & 0o777), (0, 0o600));
            assert_eq!(fs::read_dir(directory.path()).expect("readable").count(), 0);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn space_is_reserved_before_the_run() {
        let directory = directory();
        let swap_file = SwapFile::create(directory.path(), 3 << 20).expect("3 MiB are free");
        let metadata = swap_file.file().metadata().expect("an open file has metadata");
        assert_eq!(metadata.len(), 3 << 20);
        // st_blocks counts 512 bytes each.
        assert!(metadata.blocks() * 512 >= 3 << 20, "{} blocks", metadata.blocks());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_swap_file_in_memory_is_recognised() {
        let Ok(swap_file) = SwapFile::create(Path::new("/dev/shm"), 1 << 20) else {
            eprintln!("skipped: no /dev/shm here");
            return;
        };
        assert!(swap_file.is_memory_backed());
    }

    #[test]
    fn wrong_directories_are_told_apart() {
        let directory = directory();
        let missing = SwapFile::create(&directory.path().join("none"), 4096);
        assert!(matches!(missing, Err(StorageError::DirectoryMissing { .. })));
        let file = directory.path().join("file");
        fs::write(&file, "x").expect("the temporary directory is writable");
        let none = SwapFile::create(&file, 4096);
        assert!(matches!(none, Err(StorageError::NotADirectory { .. })));
        // Not even root may create files here.
        let forbidden = SwapFile::create(Path::new("/proc/self/fd"), 4096);
        assert!(forbidden.is_err());
    }

    #[test]
    fn more_than_the_disk_has_is_refused_with_both_figures() {
        let directory = directory();
        for length_bytes in [1 << 55, u64::MAX] {
            match SwapFile::create(directory.path(), length_bytes) {
                Err(StorageError::NoSpace { needed_bytes, free_bytes, .. }) => {
                    assert_eq!(needed_bytes, length_bytes);
                    assert!(free_bytes > 0 && free_bytes < length_bytes);
                }
                other => panic!("{:?}", other.err()),
            }
        }
    }
}
