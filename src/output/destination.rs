//! The file that is written: a new file that replaces the old one at the end, or the file itself.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::bulk::Readable;
use crate::error::Error;
use crate::system::{self, Code, failure, file_system, files};
#[cfg(unix)]
use unix as host;
#[cfg(windows)]
use windows as host;

/// An open file and the name that the caller gave for it.
#[derive(Debug)]
pub struct Destination {
    path: PathBuf,
    /// `None` after the file was finished, or closed because of a failure.
    open: Option<Open>,
}

#[derive(Debug)]
enum Open {
    /// A new file that replaces `target` at the end.
    New { file: File, draft: host::Draft, target: PathBuf },
    /// A file, pipe or device that is written to directly.
    Plain { file: File, regular: bool },
}

impl Destination {
    /// Opens the destination of `bytes` bytes, or of any number if this is 0.
    pub fn open(path: &Path, atomic: bool, bytes: u64) -> Result<Self, Error> {
        system::check_name(path)?;
        let old = match files::status(path) {
            Ok(status) if status.is_folder() => {
                return Err(Error::NotAFile { action: "save to", path: path.into(), what: "a directory" });
            }
            Ok(status) => Some(status),
            Err(reason) if reason.kind() == io::ErrorKind::NotFound => None,
            Err(reason) => return Err(failure("open", path)(reason)),
        };
        let replaced = match &old {
            Some(status) if !status.is_file() => None,
            _ if !atomic => None,
            _ => host::target_of(path).map_err(failure("open", path))?,
        };
        let kept = files::owned(path).map_err(failure("open", path))?;
        let open = match replaced {
            Some(target) => {
                let (file, draft) = host::begin(path, &target, old.is_some(), bytes)?;
                Open::New { file, draft, target }
            }
            None => Open::plainly(path, old.is_some(), bytes)?,
        };
        Ok(Self { path: kept, open: Some(open) })
    }

    /// Fails if the file is finished or closed.
    pub fn check(&self) -> Result<(), Error> {
        if self.open.is_some() { Ok(()) } else { Err(self.closed()) }
    }

    fn closed(&self) -> Error {
        failure("write", &self.path)(Code::NotOpen.error())
    }

    /// Writes bytes. After an error the file is closed.
    pub fn write(&mut self, bytes: Readable<'_>) -> Result<(), Error> {
        let Some(Open::New { file, .. } | Open::Plain { file, .. }) = &self.open else { return Err(self.closed()) };
        let bytes = bytes.bytes();
        // SAFETY: [live] [in-bounds] the bytes are readable.
        let written = unsafe { system::write_all(file, bytes.data(), bytes.size()) };
        self.after(written)
    }

    /// Closes the file if a write has failed.
    fn after(&mut self, written: io::Result<()>) -> Result<(), Error> {
        written.map_err(|reason| {
            self.open = None;
            failure("write", &self.path)(reason)
        })
    }

    /// Whether bytes that were written can be replaced.
    pub fn is_regular(&self) -> bool {
        matches!(self.open, Some(Open::New { .. } | Open::Plain { regular: true, .. }))
    }

    /// Replaces bytes that were written. After an error the file is closed.
    pub fn write_at(&mut self, bytes: &[u8], position: u64) -> Result<(), Error> {
        let Some(Open::New { file, .. } | Open::Plain { file, .. }) = &self.open else { return Err(self.closed()) };
        // A device may accept it, and do something else.
        let refused = || Err(Code::NotChangeable.error());
        let written = if self.is_regular() { files::write_all_at(file, bytes, position) } else { refused() };
        self.after(written)
    }

    /// Writes the bytes to the disk, and replaces the old file by the new one.
    pub fn finish(&mut self) -> Result<(), Error> {
        match self.open.take() {
            None => Err(self.closed()),
            Some(Open::Plain { file, regular }) => {
                if regular {
                    file.sync_all().map_err(failure("write", &self.path))
                } else {
                    Ok(())
                }
            }
            Some(Open::New { file, draft, target }) => host::finish(file, draft, &self.path, &target),
        }
    }
}

impl Open {
    /// Opens a file for writing like C's `fopen`.
    fn plainly(path: &Path, exists: bool, bytes: u64) -> Result<Self, Error> {
        let (file, old) = host::open_plainly(path).map_err(failure("open", path))?;
        let regular = old.is_some();
        if let Some(allocated) = old {
            check_room(&file, path, bytes, allocated).inspect_err(|_| {
                if !exists {
                    // An error here cannot be reported besides the other one.
                    let _ = files::remove(path);
                }
            })?;
            file.set_len(0).map_err(|reason| host::refused("open", path, reason))?;
        }
        Ok(Self::Plain { file, regular })
    }
}

/// Fails if the file system of `file` clearly has no room for `bytes` bytes, after it gets `back` bytes back.
fn check_room(file: &File, path: &Path, bytes: u64, back: u64) -> Result<(), Error> {
    /// Fewer bytes are written soon, so that a full disk is noticed soon, too.
    const LARGE: u64 = 16 << 20;
    if bytes < LARGE {
        return Ok(());
    }
    match file_system::room(file) {
        Some((most, free)) if most.saturating_add(back) < bytes => {
            Err(Error::NoRoom { path: path.into(), bytes, free: free.saturating_add(back) })
        }
        _ => Ok(()),
    }
}
