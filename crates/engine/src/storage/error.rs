//! Errors of transfers between frames and disk, each one sentence.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::TransferDirection;

/// A failure of the memory mapping, of the swap file or of the device below it.
///
/// After any of the run-time variants the storage is stopped: every later call answers
/// [`StorageError::Stopped`], and the swapped pages can never be read again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The operating system refused the memory for the frames.
    #[error("cannot reserve {} of memory for frames: {source}", Quantity(*bytes))]
    Memory {
        /// How much was asked for.
        bytes: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The swap directory does not exist.
    #[error("the swap directory {} does not exist", directory.display())]
    DirectoryMissing {
        /// As the user wrote it.
        directory: PathBuf,
    },
    /// The swap directory is something else.
    #[error("{} is not a directory, so it cannot hold the swap file", directory.display())]
    NotADirectory {
        /// As the user wrote it.
        directory: PathBuf,
    },
    /// The swap directory exists, but this user may not create a file there.
    #[error("the swap directory {} is not writable: {source}", directory.display())]
    DirectoryNotWritable {
        /// As the user wrote it.
        directory: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The swap file could not be created for another reason.
    #[error("cannot create the swap file in {}: {source}", directory.display())]
    Create {
        /// As the user wrote it.
        directory: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Found before the run: the swap file does not fit on the disk.
    #[error(
        "swapping needs {} in {}, {} free",
        Quantity(*needed_bytes),
        directory.display(),
        Quantity(*free_bytes)
    )]
    NoSpace {
        /// As the user wrote it.
        directory: PathBuf,
        /// Length of the swap file.
        needed_bytes: u64,
        /// Free for this user when asked.
        free_bytes: u64,
    },
    /// Found before the run: the process may not write a file this long.
    #[error(
        "the swap file needs {}, but this process may only write files of {} (see `ulimit -f`)",
        Quantity(*needed_bytes),
        Quantity(*limit_bytes)
    )]
    FileSizeLimit {
        /// Length of the swap file.
        needed_bytes: u64,
        /// `RLIMIT_FSIZE`.
        limit_bytes: u64,
    },
    /// Found during the run: the disk or the quota is exhausted.
    #[error("the disk that holds the swap file in {} is full", directory.display())]
    DiskFull {
        /// As the user wrote it.
        directory: PathBuf,
    },
    /// The device refused a transfer.
    #[error("cannot {} spill slot {slot} of the swap file: {source}", direction.verb())]
    Device {
        /// Swap-in or swap-out.
        direction: TransferDirection,
        /// Which page of the swap file.
        slot: u32,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The kernel takes no transfers at all any more.
    #[error("the kernel does not take transfers to the swap file any more: {source}")]
    Ring {
        /// Error of the operating system.
        source: io::Error,
    },
    /// A page came back different from what was written.
    #[error("spill slot {slot} failed its check: the swap file was changed or the disk is failing")]
    Corrupted {
        /// Which page of the swap file.
        slot: u32,
    },
    /// The operating system has no random bytes for the key of the swap file.
    #[error("the operating system gives no random bytes for the key of the swap file")]
    NoRandomness,
    /// io_uring was demanded and is refused.
    #[error("io_uring was asked for and cannot be used: {reason}")]
    IoUringRefused {
        /// One clause.
        reason: String,
    },
    /// The I/O threads could not be started.
    #[error("cannot start the storage threads: {source}")]
    Threads {
        /// Error of the operating system.
        source: io::Error,
    },
    /// An earlier call failed.
    #[error("storage was stopped by an earlier failure")]
    Stopped,
}

impl StorageError {
    /// Converts a failed transfer to an error.
    pub(super) fn from_transfer(
        directory: &Path,
        direction: TransferDirection,
        slot: u32,
        source: io::Error,
    ) -> StorageError {
        match source.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => {
                StorageError::DiskFull { directory: directory.to_owned() }
            }
            _ => StorageError::Device { direction, slot, source },
        }
    }
}

/// A number of bytes as people read it: `3.2 GiB`, `512 bytes`.
pub(super) struct Quantity(pub(super) u64);

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        if self.0 < 1024 {
            return write!(f, "{} bytes", self.0);
        }
        let mut value = self.0 as f64 / 1024.0;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        write!(f, "{value:.1} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_well() {
        assert_eq!(Quantity(0).to_string(), "0 bytes");
        assert_eq!(Quantity(1023).to_string(), "1023 bytes");
        assert_eq!(Quantity(1536).to_string(), "1.5 KiB");
        assert_eq!(Quantity(3 << 30).to_string(), "3.0 GiB");
        assert_eq!(Quantity(u64::MAX).to_string(), "16384.0 PiB");
    }

    #[test]
    fn no_space_is_one_sentence() {
        let error = StorageError::NoSpace {
            directory: "/swap".into(),
            needed_bytes: 3 << 30,
            free_bytes: 1 << 29,
        };
        assert_eq!(error.to_string(), "swapping needs 3.0 GiB in /swap, 512.0 MiB free");
    }

    #[test]
    fn a_full_disk_is_told_apart_from_a_failing_one() {
        let of = |errno| {
            let source = io::Error::from_raw_os_error(errno);
            StorageError::from_transfer(Path::new("/swap"), TransferDirection::Out, 7, source)
        };
        assert!(matches!(of(libc::ENOSPC), StorageError::DiskFull { .. }));
        assert!(matches!(of(libc::EDQUOT), StorageError::DiskFull { .. }));
        assert!(of(libc::EIO).to_string().starts_with("cannot write spill slot 7"));
    }
}
