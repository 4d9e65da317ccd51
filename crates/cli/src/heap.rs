//! Settings of the heap, so that freed memory goes back to the system and does not count against
//! the limit.

/// Sets the heap up; called once, before any thread exists.
pub(crate) fn configure() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // One arena for all threads: each further one keeps its own free memory.
        set(libc::M_ARENA_MAX, 1);
        // Large buffers come from the system and go back to it; setting this also stops the
        // threshold from growing by itself.
        set(libc::M_MMAP_THRESHOLD, 64 * 1024);
        // TLS seals a block as 17 records (276 KiB) that come and go; a threshold below that makes
        // the heap shrink and grow for each block, at 70 page faults a time (a third of the run).
        set(libc::M_TRIM_THRESHOLD, 2 * 1024 * 1024);
        set(libc::M_TOP_PAD, 64 * 1024);
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn set(parameter: libc::c_int, value: libc::c_int) {
    // SAFETY: changes a setting of the allocator and touches no memory of ours.
    unsafe { libc::mallopt(parameter, value) };
}
