//! An anonymous mapping: zero when made, wiped when dropped, never in a core dump or a child
//! process.

use std::io;
use std::ptr::{self, NonNull};

/// Mappings from this length on are aligned to huge pages and ask for them.
///
/// 2 MiB is the huge page of x86-64 and of aarch64 with 4 KiB pages. Half gates touch about 48
/// bytes a wire in random order over the frames: with 4 KiB pages the TLB (about 2048 entries,
/// 8 MiB) misses from 8 MiB of frames on, with 2 MiB pages from 4 GiB on.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Huge pages that are touched to see what they cost here, and what they may.
///
/// Zeroing one takes 0.1 ms; as 512 small pages it takes 0.5 ms. Where memory is fragmented the
/// kernel moves pages about for each huge one, and a virtual machine that has given its free memory
/// back asks its host for each: 5 to 15 ms. There small pages are the better choice.
#[cfg(target_os = "linux")]
const HUGE_PAGES_TRIED: usize = 2;
#[cfg(target_os = "linux")]
const HUGE_PAGE_COST_MAX: std::time::Duration = std::time::Duration::from_millis(1);

/// An owned, page-aligned, private mapping. Hands out only its address.
pub(super) struct Mapping {
    base: NonNull<u8>,
    length_bytes: usize,
}

// SAFETY: the mapping is plain memory that belongs to this value alone; no thread is special to it.
unsafe impl Send for Mapping {}
// SAFETY: `&Mapping` gives out an address and a length, never a reference to the bytes.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps at least `length_bytes` zero bytes.
    ///
    /// # Errors
    /// What `mmap` answers, mostly that memory is short.
    pub(super) fn new(length_bytes: usize) -> io::Result<Mapping> {
        assert!(length_bytes > 0, "a mapping has at least one byte");
        let system_page_bytes = system_page_bytes();
        let too_long = || io::Error::from_raw_os_error(libc::ENOMEM);
        let length_bytes =
            length_bytes.checked_next_multiple_of(system_page_bytes).ok_or_else(too_long)?;
        let huge = length_bytes >= HUGE_PAGE_BYTES && system_page_bytes < HUGE_PAGE_BYTES;
        // A huge mapping is made too long by one huge page, then cut at both ends to be aligned.
        let slack_bytes = if huge { HUGE_PAGE_BYTES } else { 0 };
        let mapped_bytes = length_bytes.checked_add(slack_bytes).ok_or_else(too_long)?;
        let start = map_anonymous(mapped_bytes)?;
        let skipped_bytes = if huge { start.as_ptr().align_offset(HUGE_PAGE_BYTES) } else { 0 };
        let tail_bytes = slack_bytes - skipped_bytes;
        // SAFETY: skipped_bytes <= slack_bytes, so base and what follows lie in the mapping just
        // made; head and tail are whole system pages outside base..base + length_bytes, and
        // nothing refers to them.
        let base = unsafe {
            let base = start.add(skipped_bytes);
            unmap(start, skipped_bytes);
            unmap(base.add(length_bytes), tail_bytes);
            base
        };
        let mapping = Mapping { base, length_bytes };
        mapping.advise(huge);
        Ok(mapping)
    }

    /// Address of the first byte; valid for reads and writes as long as `self` lives.
    pub(super) fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Length, a multiple of the system's page.
    #[cfg(any(target_os = "linux", test))]
    pub(super) fn length_bytes(&self) -> usize {
        self.length_bytes
    }

    /// Advice only: a kernel that knows some of it less still gives correct memory.
    #[cfg(target_os = "linux")]
    fn advise(&self, huge: bool) {
        // DONTFORK also keeps a child's copy-on-write from moving a page away under a transfer.
        let huge = if huge { Some(libc::MADV_HUGEPAGE) } else { None };
        for advice in [libc::MADV_DONTDUMP, libc::MADV_DONTFORK].into_iter().chain(huge) {
            // SAFETY: the range is this mapping; none of the three changes its contents here.
            unsafe { libc::madvise(self.base().cast(), self.length_bytes, advice) };
        }
        if huge.is_some() && self.huge_pages_are_dear() {
            // SAFETY: as above. Pages that are huge already stay so.
            unsafe { libc::madvise(self.base().cast(), self.length_bytes, libc::MADV_NOHUGEPAGE) };
        }
    }

    /// Touches the first huge pages and says whether that took longer than it is worth.
    #[cfg(target_os = "linux")]
    fn huge_pages_are_dear(&self) -> bool {
        let tried = HUGE_PAGES_TRIED.min(self.length_bytes / HUGE_PAGE_BYTES);
        let start = std::time::Instant::now();
        for page in 0..tried {
            // SAFETY: the byte lies in this mapping, which nothing else refers to yet.
            unsafe { self.base().add(page * HUGE_PAGE_BYTES).write_volatile(0) };
        }
        start.elapsed() > HUGE_PAGE_COST_MAX * tried as u32
    }

    #[cfg(not(target_os = "linux"))]
    fn advise(&self, _huge: bool) {}
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the owner is gone, so nothing refers to the bytes. The compiler must keep the
        // wipe: the pointer escapes into munmap, which for all it knows reads the bytes.
        unsafe {
            ptr::write_bytes(self.base(), 0, self.length_bytes);
            unmap(self.base, self.length_bytes);
        }
    }
}

fn map_anonymous(length_bytes: usize) -> io::Result<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new anonymous mapping at an address of the kernel's choice disturbs nothing.
    let start = unsafe { libc::mmap(ptr::null_mut(), length_bytes, protection, flags, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(NonNull::new(start.cast()).expect("mmap never answers 0 unless asked for address 0"))
}

/// # Safety
/// Nothing may use `length_bytes` bytes from `start` on any more; both are whole system pages.
unsafe fn unmap(start: NonNull<u8>, length_bytes: usize) {
    if length_bytes > 0 {
        // SAFETY: promised by the caller.
        let status = unsafe { libc::munmap(start.as_ptr().cast(), length_bytes) };
        assert_eq!(status, 0, "munmap of a range that was mapped");
    }
}

/// The operating system's page: 4 KiB on x86-64, up to 64 KiB elsewhere.
fn system_page_bytes() -> usize {
    // SAFETY: sysconf only reads.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).expect("every system has a page size")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_zero_aligned_and_writable_at_both_ends() {
        for length_bytes in [1, 4096, 65536, HUGE_PAGE_BYTES - 1, 5 * HUGE_PAGE_BYTES + 4096] {
            let mapping = Mapping::new(length_bytes).expect("a few MiB are free");
            assert!(mapping.length_bytes() >= length_bytes);
            assert!(mapping.base().cast::<[u8; 4096]>().align_offset(4096) == 0);
            if length_bytes >= HUGE_PAGE_BYTES {
                assert_eq!(mapping.base().align_offset(HUGE_PAGE_BYTES), 0);
            }
            // SAFETY: the only reference to a mapping that lives past it.
            let bytes =
                unsafe { std::slice::from_raw_parts_mut(mapping.base(), mapping.length_bytes()) };
            assert!(bytes.iter().all(|&byte| byte == 0));
            bytes.fill(0xa5);
        }
    }

    #[test]
    fn impossible_lengths_are_errors() {
        assert!(Mapping::new(usize::MAX).is_err());
        assert!(Mapping::new(usize::MAX - HUGE_PAGE_BYTES - 4096).is_err());
        assert!(Mapping::new(1 << 60).is_err());
    }
}
