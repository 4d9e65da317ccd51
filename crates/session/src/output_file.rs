//! Files that appear whole or not at all, and space for them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use phineus_tables::quantity;

use crate::failure::{Failure, codes};
use crate::leftovers::Leftovers;

/// Writes a file beside its place and moves it there when it is whole; until then it is one of
/// `leftovers`.
///
/// # Errors
/// Names the file.
pub fn write_atomically(
    path: &Path,
    leftovers: &Leftovers,
    write: impl FnOnce(&mut BufWriter<&mut File>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::file(path, &error);
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // A pipe or a device (such as /dev/null) cannot be replaced: write into it.
    let is_special = path.metadata().is_ok_and(|data| !data.is_file());
    if is_special {
        let mut file = File::options().write(true).open(path).map_err(failed)?;
        let mut buffer = BufWriter::new(&mut file);
        write(&mut buffer).map_err(|failure| failure.in_file(path))?;
        return buffer.flush().map_err(failed);
    }
    let mut temporary = tempfile::Builder::new()
        .prefix(".phineus-")
        .suffix(".partial")
        .tempfile_in(directory)
        .map_err(failed)?;
    let _held = leftovers.hold(temporary.path());
    let mut buffer = BufWriter::new(temporary.as_file_mut());
    let written = write(&mut buffer).map_err(|failure| failure.in_file(path));
    let written = written.and_then(|()| buffer.flush().map_err(failed));
    drop(buffer);
    let written = written.and_then(|()| temporary.as_file().sync_all().map_err(failed));
    written.and_then(|()| {
        let persisted = temporary.persist(path);
        persisted.map(drop).map_err(|error| failed(error.error))
    })
}

/// Checks early that a file can be written later.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    check_room(path, 0)
}

/// Checks early that a file of at most so many bytes can be written later: what a run computes is
/// not lost for want of a place.
pub fn check_room(path: &Path, bytes: u64) -> Result<(), Failure> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if path.is_dir() {
        let message = format!("{}: is a directory, not a file", path.display());
        return Err(Failure::usage(message));
    }
    if !directory.is_dir() {
        let what = match directory.exists() {
            true => "is not a directory",
            false => "does not exist",
        };
        let (shown, file) = (directory.display(), path.display());
        let message = format!("{file} cannot be written: the directory {shown} {what}");
        return Err(Failure::usage(message)
            .remedy(format!("make it with `mkdir -p {shown}`, or name another file")));
    }
    if path.exists() && !path.is_file() {
        return Ok(());
    }
    match tempfile::Builder::new().prefix(".phineus-").tempfile_in(directory) {
        Ok(file) => match phineus_engine::free_bytes(file.as_file()) {
            Some(free) if free < bytes => {
                let (free, needed) = (quantity::bytes(free), quantity::bytes(bytes));
                let message =
                    format!("{} may need {needed}, {free} are free there", path.display());
                Err(Failure::new(codes::NO_ROOM_FOR_RESULTS, message)
                    .remedy("free some space, or name another file"))
            }
            _ => Ok(()),
        },
        Err(error) => Err(Failure::usage(format!("{} cannot be written: {error}", path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    #[test]
    fn a_full_disk_is_noticed_before_a_run() {
        let directory = tempfile::tempdir().expect("a place for tests");
        let path = directory.path().join("out.csv");
        check_room(&path, 1).expect("a byte is free");
        let failure = check_room(&path, u64::MAX).expect_err("more than any disk has");
        assert_eq!(failure.code.exit, Exit::DoesNotFit);
        assert_eq!(std::fs::read_dir(directory.path()).expect("still there").count(), 0);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().expect("writable");
        let path = directory.path().join("x.csv");
        let leftovers = Leftovers::default();
        write_atomically(&path, &leftovers, |file| Ok(file.write_all(b"old")?)).expect("writable");
        let failed = write_atomically(&path, &leftovers, |file| {
            file.write_all(b"new")?;
            Err(Failure::new(codes::SYSTEM, "no"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read(&path).expect("it is there"), b"old");
        let files = std::fs::read_dir(directory.path()).expect("readable").count();
        assert_eq!(files, 1);
    }
}
