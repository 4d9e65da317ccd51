//! File system and device of a file, as the operating system reports them.

use std::fs::File;
use std::os::fd::AsRawFd;

/// `RLIMIT_FSIZE`: the longest file this process may write; `None` if unlimited.
pub(super) fn file_size_limit_bytes() -> Option<u64> {
    limit_bytes(libc::RLIMIT_FSIZE)
}

/// `RLIMIT_MEMLOCK`: how much memory io_uring may pin for this process; `None` if unlimited.
pub fn memlock_limit_bytes() -> Option<u64> {
    limit_bytes(libc::RLIMIT_MEMLOCK)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
type Resource = libc::c_int;

fn limit_bytes(resource: Resource) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: getrlimit fills the structure it is given.
    let status = unsafe { libc::getrlimit(resource, &mut limit) };
    (status == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Bytes this user may still write on the file system of `file`; `None` if the system does not say.
#[allow(clippy::unnecessary_cast)] // the fields of statvfs are 32 bits wide on some systems
pub fn free_bytes(file: &File) -> Option<u64> {
    // SAFETY: all-zero is a valid statvfs, and fstatvfs fills the structure it is given.
    let (status, figures) = unsafe {
        let mut figures: libc::statvfs = std::mem::zeroed();
        (libc::fstatvfs(file.as_raw_fd(), &mut figures), figures)
    };
    (status == 0).then(|| (figures.f_bavail as u64).saturating_mul(figures.f_frsize as u64))
}

#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_cast)] // f_type has another width on some systems
pub(super) fn is_memory_backed(file: &File) -> bool {
    /// RAMFS_MAGIC of linux/magic.h, which libc does not list.
    const RAMFS_MAGIC: u64 = 0x8584_58f6;
    // SAFETY: all-zero is a valid statfs, and fstatfs fills the structure it is given.
    let (status, figures) = unsafe {
        let mut figures: libc::statfs = std::mem::zeroed();
        (libc::fstatfs(file.as_raw_fd(), &mut figures), figures)
    };
    status == 0 && [libc::TMPFS_MAGIC as u64, RAMFS_MAGIC].contains(&(figures.f_type as u64))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_memory_backed(_file: &File) -> bool {
    false
}
