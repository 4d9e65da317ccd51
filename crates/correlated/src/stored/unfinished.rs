//! [`UnfinishedFile`]: a file that has no name of its own before it is whole.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{io, sync_directory};
use crate::StoreError;

/// A file while it is being made, under a name of its own; removed when dropped.
pub struct UnfinishedFile {
    pub(super) file: File,
    path: PathBuf,
    partial: PathBuf,
    is_finished: bool,
}

impl UnfinishedFile {
    /// Of the file that will be at `path`; only one run at a time makes it.
    ///
    /// # Errors
    /// When something of that name is there, or cannot be made.
    pub fn create(path: &Path) -> Result<UnfinishedFile, StoreError> {
        let partial = partial_path(path);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(&partial).map_err(io(&partial, "creating"))?;
        Ok(UnfinishedFile { file, path: path.to_owned(), partial, is_finished: false })
    }

    /// Where it is.
    pub fn partial(&self) -> &Path {
        &self.partial
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its name, which nothing may have.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.file.sync_all().map_err(io(&self.partial, "writing"))?;
        fs::hard_link(&self.partial, &self.path).map_err(io(&self.path, "creating"))?;
        self.is_finished = true;
        fs::remove_file(&self.partial).map_err(io(&self.partial, "renaming"))?;
        sync_directory(&self.path)
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if !self.is_finished {
            fs::remove_file(&self.partial).ok();
        }
    }
}

fn partial_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}
