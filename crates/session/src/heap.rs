//! Free memory of the heap goes back to the system, so that what is resident is what is used.

/// Gives all free memory back to the system.
pub(crate) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: releases pages that hold no allocation.
    unsafe {
        libc::malloc_trim(0);
    }
}
