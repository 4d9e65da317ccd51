//! Resident memory of this process, its limit, and its exclusion from core dumps.

use std::io;
use std::time::Duration;

/// The largest resident set this process ever had; `None` if the system does not say.
///
/// `VmHWM` of /proc/self/status on Linux; the kernel's count may lag by a few dozen pages.
pub fn peak_resident_bytes() -> Option<u64> {
    status_bytes("VmHWM:").or_else(peak_from_usage)
}

/// The resident set of this process now; `None` if the system does not say.
pub fn resident_bytes() -> Option<u64> {
    status_bytes("VmRSS:")
}

/// Memory this process could take without swapping by the operating system: what the machine has
/// free, or what its control group leaves if that is less. `None` if the system does not say.
pub fn available_memory_bytes() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok();
    let machine = machine.and_then(|text| field_bytes(&text, "MemAvailable:"));
    match (machine, control_group_bytes()) {
        (Some(machine), Some(group)) => Some(machine.min(group)),
        (machine, group) => machine.or(group),
    }
}

/// Turns core dumps off for this process, and attaching a debugger as the same user with them.
///
/// Call it before the first secret is in memory.
///
/// # Errors
/// What the operating system answers.
pub fn forbid_core_dumps() -> io::Result<()> {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: setrlimit only reads the structure.
    if unsafe { libc::setrlimit(libc::RLIMIT_CORE, &none) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // The limit does not bind a dump into a pipe (core_pattern); this flag does.
    #[cfg(target_os = "linux")]
    // SAFETY: changes a flag of this process and touches no memory.
    if unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Lets go of the unmodified pages of the executable and of large libraries, which the system maps again
/// when something uses them. Returns how many bytes of mappings that were.
///
/// A library such as LLVM's is 50 MiB of a process's resident set from its start on, long after the
/// last call into it.
#[cfg(target_os = "linux")]
pub fn release_code() -> u64 {
    let Ok(mappings) = std::fs::read_to_string("/proc/self/smaps") else { return 0 };
    let executable = std::env::current_exe().unwrap_or_default();
    let released = unmodified_code(&mappings, &executable).filter(|range| {
        // SAFETY: a private file mapping that nobody can write and of which no page differs from
        // the file: dropping its pages changes no byte that anyone can read.
        let status = unsafe {
            let start = std::ptr::without_provenance_mut(range.start);
            libc::madvise(start, range.end - range.start, libc::MADV_DONTNEED)
        };
        status == 0
    });
    released.map(|range| (range.end - range.start) as u64).sum()
}

/// Elsewhere code stays.
#[cfg(not(target_os = "linux"))]
pub fn release_code() -> u64 {
    0
}

/// The parts of `executable` and of large shared libraries in the text of `smaps` that are as in their files.
#[cfg(target_os = "linux")]
fn unmodified_code(
    mappings: &str,
    executable: &std::path::Path,
) -> impl Iterator<Item = std::ops::Range<usize>> {
    /// The C library and its like are in use all the time and smaller than this.
    const LARGE_BYTES: usize = 4 << 20;
    let mut current = None;
    mappings.lines().filter_map(move |line| {
        let mut words = line.split_ascii_whitespace();
        let (first, second) = (words.next()?, words.next()?);
        if let Some((start, end)) = first.split_once('-') {
            let is_code = words.next_back().is_some_and(|path| {
                path.contains(".so") || std::path::Path::new(path) == executable
            });
            let is_fixed = matches!(second, "r--p" | "r-xp");
            let start = usize::from_str_radix(start, 16).ok()?;
            let end = usize::from_str_radix(end, 16).ok()?;
            current = (is_code && is_fixed && end - start >= LARGE_BYTES).then_some(start..end);
            return None;
        }
        match (first, second) {
            // Pages that differ from the file, also those that were swapped out. Dirty ones need not: the file itself
            // may be new and not on its disk yet.
            ("Anonymous:" | "Swap:", kib) if kib != "0" => {
                current = None;
                None
            }
            ("VmFlags:", _) => current.take(),
            _ => None,
        }
    })
}

fn status_bytes(field: &str) -> Option<u64> {
    field_bytes(&std::fs::read_to_string("/proc/self/status").ok()?, field)
}

/// The value of `field` in a text of lines such as `VmHWM:    1234 kB`.
fn field_bytes(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Time on processors of all processes that this one started and that have ended.
pub fn children_cpu_time() -> Option<Duration> {
    let usage = usage(libc::RUSAGE_CHILDREN)?;
    let time = |value: libc::timeval| {
        let seconds = u64::try_from(value.tv_sec).ok()?;
        let micros = u64::try_from(value.tv_usec).ok()?;
        Some(Duration::from_secs(seconds) + Duration::from_micros(micros))
    };
    Some(time(usage.ru_utime)? + time(usage.ru_stime)?)
}

fn usage(who: libc::c_int) -> Option<libc::rusage> {
    // SAFETY: all-zero is a valid rusage, and getrusage fills the structure it is given.
    let (status, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(who, &mut usage), usage)
    };
    (status == 0).then_some(usage)
}

fn peak_from_usage() -> Option<u64> {
    let usage = usage(libc::RUSAGE_SELF)?;
    // Apple counts bytes, everybody else KiB.
    let unit_bytes = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    let peak = u64::try_from(usage.ru_maxrss).ok()?;
    (peak > 0).then(|| peak * unit_bytes)
}

/// Memory that the tightest control group (version 2) above this process leaves.
fn control_group_bytes() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::/"))?.trim_end();
    let root = std::path::Path::new("/sys/fs/cgroup");
    let own = root.join(path);
    let read = |group: &std::path::Path, file: &str| -> Option<u64> {
        // "max" means no limit and does not parse.
        std::fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()
    };
    own.ancestors()
        .take_while(|group| group.starts_with(root))
        .filter_map(|group| {
            Some(read(group, "memory.max")?.saturating_sub(read(group, "memory.current")?))
        })
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::FrameMemory;

    #[test]
    fn touching_memory_shows() {
        const BYTES: u64 = 64 << 20;
        let mut frames = FrameMemory::new(1024, 64 << 10).expect("64 MiB are free");
        frames.as_mut_slice::<u8>().fill(1);
        let peak = peak_resident_bytes().expect("every test system says it");
        assert!(peak >= BYTES, "{peak}");
        if let Some(resident) = resident_bytes() {
            assert!(resident >= BYTES && resident <= peak + (8 << 20), "{resident} {peak}");
            drop(frames);
        }
    }

    #[test]
    fn fields_are_read_by_name() {
        let text = "VmHWM:\t    1234 kB\nVmRSS:\t     12 kB\nThreads:\t3\n";
        assert_eq!(field_bytes(text, "VmHWM:"), Some(1234 * 1024));
        assert_eq!(field_bytes(text, "VmRSS:"), Some(12 * 1024));
        assert_eq!(field_bytes(text, "Threads:"), None);
        assert_eq!(field_bytes(text, "VmSwap:"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn only_unmodified_parts_of_the_executable_and_large_libraries_are_let_go() {
        let part = |range: &str, mode: &str, path: &str, changed: &str| {
            let anonymous = if changed == "swapped" { "0" } else { changed };
            let swapped = if changed == "swapped" { "4" } else { "0" };
            format!(
                "{range} {mode} 00000000 fe:00 1 {path}\nRss: 9 kB\nPrivate_Dirty: 8 kB\n\
                 Anonymous: {anonymous} kB\nSwap: {swapped} kB\nVmFlags: rd mr\n"
            )
        };
        let text = [
            part("10000000-20000000", "r-xp", "/lib/libbig.so.1", "0"),
            part("20000000-30000000", "r--p", "/lib/libbig.so.1", "4"),
            part("30000000-40000000", "rw-p", "/lib/libbig.so.1", "0"),
            part("40000000-40001000", "r-xp", "/lib/libsmall.so", "0"),
            part("50000000-58000000", "r-xp", "/bin/phineus", "0"),
            part("58000000-60000000", "r-xp", "/bin/other", "0"),
            part("60000000-70000000", "r--p", "", "0"),
            part("70000000-80000000", "r--p", "/lib/libbig.so.1", "0"),
            part("80000000-90000000", "r--p", "/lib/libbig.so.1", "swapped"),
        ]
        .concat();
        let found: Vec<_> = unmodified_code(&text, std::path::Path::new("/bin/phineus")).collect();
        assert_eq!(
            found,
            [0x1000_0000..0x2000_0000, 0x5000_0000..0x5800_0000, 0x7000_0000..0x8000_0000]
        );
        // Whatever this process has mapped goes on working.
        release_code();
        assert!(resident_bytes().is_some());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn available_memory_is_part_of_the_machine() {
        let text = std::fs::read_to_string("/proc/meminfo").expect("Linux has it");
        let total = field_bytes(&text, "MemTotal:").expect("Linux says it");
        let available = available_memory_bytes().expect("Linux says it");
        assert!(available > 0 && available < total, "{available} of {total}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn core_dumps_are_off() {
        forbid_core_dumps().expect("lowering a limit is always allowed");
        let limits = std::fs::read_to_string("/proc/self/limits").expect("still readable");
        let line = limits.lines().find(|line| line.starts_with("Max core file size"));
        let values = line.expect("Linux lists it").split_whitespace().skip(4).take(2);
        assert_eq!(values.collect::<Vec<_>>(), ["0", "0"]);
        // SAFETY: asks for a flag of this process.
        assert_eq!(unsafe { libc::prctl(libc::PR_GET_DUMPABLE, 0, 0, 0, 0) }, 0);
        assert!(peak_resident_bytes().is_some());
    }
}
