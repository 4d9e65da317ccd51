//! Returns free memory of the heap to the system, so that resident memory is used memory.

/// Gives all free memory back to the system.
pub(crate) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: releases pages that hold no allocation.
    unsafe {
        libc::malloc_trim(0);
    }
}
