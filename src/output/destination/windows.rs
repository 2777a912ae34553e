//! Replacing files on Windows: a new file beside the old one gets its name. Files that somebody maps cannot be replaced.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::check_room;
use crate::error::Error;
use crate::system::{failure, files, maps, texts};

/// Opens a file for writing like C's `fopen`, and does not shorten it yet. Also returns the number of bytes on the disk that an existing
/// regular file gives back then.
pub fn open_plainly(path: &Path) -> io::Result<(File, Option<u64>)> {
    let file = files::open_to_write(path)?;
    let old = files::status_of(&file).ok().filter(|status| status.is_file());
    Ok((file, old.map(|old| old.length)))
}

/// The error for a file that the system does not let this process shorten or replace. If a storage of this process maps it, the error
/// says so.
pub fn refused(action: &'static str, path: &Path, reason: io::Error) -> Error {
    match class_of(path) {
        Some(class) => Error::Mapped { action, path: path.into(), class },
        None => failure(action, path)(reason),
    }
}

/// The class of a storage of this process that maps the file, if there is one.
fn class_of(path: &Path) -> Option<&'static str> {
    files::status(path).ok().and_then(|status| maps::class_of(status.id))
}

/// The absolute path of the file that a new file would replace; that of the target if `path` is a symbolic link. It is absolute because
/// the process may change its directory. `None` is for files that cannot be replaced on other systems.
pub fn target_of(path: &Path) -> io::Result<Option<PathBuf>> {
    // A path that ends in a slash names no file.
    if matches!(path.as_os_str().as_encoded_bytes().last(), None | Some(b'/' | b'\\')) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let target = files::absolute(path)?;
    // An error for a missing folder is one about the file.
    target.parent().map_or(Ok(()), |folder| files::status(folder).map(|_| ()))?;
    Ok(Some(target))
}

/// Creates the new file for `bytes` bytes that will replace `target`. It has the permissions that files in this folder get.
pub fn begin(path: &Path, target: &Path, exists: bool, bytes: u64) -> Result<(File, Draft), Error> {
    if exists {
        // It is better to know this before the new file is written. A collection may free the storage.
        if let Some(class) = class_of(target) {
            return Err(Error::Mapped { action: "replace", path: path.into(), class });
        }
        // If the old file is read-only, its owner does not want it to change.
        drop(files::open_to_write(target).map_err(failure("open", path))?);
    }
    // The file is closed before the draft is dropped, because nobody can remove an open one.
    let (draft, file) = Draft::beside(target).map_err(failure("create a new file beside", path))?;
    check_room(&file, path, bytes, 0)?;
    Ok((file, draft))
}

/// Writes the new file to the disk, and replaces the old one by it.
pub fn finish(file: File, mut draft: Draft, path: &Path, target: &Path) -> Result<(), Error> {
    file.sync_all().map_err(failure("write", path))?;
    // Nobody can rename a file while it is open in the way that drafts are.
    drop(file);
    files::replace(&draft.path, target).map_err(|reason| refused("replace", path, reason))?;
    draft.is_renamed = true;
    Ok(())
}

/// A new file that has not replaced the old one yet. Dropping it removes the file.
///
/// Nobody else can remove the file while it is open. So a draft that can be removed is one that a killed process has left, and the next
/// draft of the same target removes it.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    is_renamed: bool,
}

impl Draft {
    /// Creates a file in the folder of `target`. Its name contains the name of `target` and a number. Removes the drafts of `target` that
    /// killed processes have left.
    fn beside(target: &Path) -> io::Result<(Self, File)> {
        let mut number = 0_u64;
        let (file, path) = loop {
            let path = draft_path(target, number)?;
            match files::create_own(&path) {
                // Somebody else writes this one, unless it can be removed.
                Err(reason) if reason.kind() == io::ErrorKind::AlreadyExists => {
                    if files::remove(&path).is_err() {
                        number += 1;
                    }
                }
                other => break (other?, path),
            }
        };
        let draft = Self { path, is_renamed: false };
        // Several processes may have been killed at the same time.
        loop {
            number += 1;
            let other = draft_path(target, number)?;
            if files::link_status(&other).is_err() {
                break;
            }
            // A file that cannot be removed stays, and there may be others behind it.
            let _ = files::remove(&other);
        }
        Ok((draft, file))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_renamed {
            // An error here cannot be reported. The one that came first was.
            let _ = files::remove(&self.path);
        }
    }
}

/// The path of a draft of `target`.
fn draft_path(target: &Path, number: u64) -> io::Result<PathBuf> {
    // The longest name that file systems allow, less the bytes that are added below.
    const KEPT: usize = 255 - 48;
    let name = target.file_name().and_then(|name| name.to_str()).filter(|name| name.len() <= KEPT).unwrap_or("long");
    let mut hidden = [0; 256];
    let mut rest = &mut hidden[..];
    write!(rest, ".{name}.{number}.new")?;
    let left = rest.len();
    let length = hidden.len() - left;
    files::in_folder(target.parent().unwrap_or(Path::new("")), texts::of_bytes(&hidden[..length]))
}
