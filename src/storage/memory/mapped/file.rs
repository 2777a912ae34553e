//! Opening, creating and extending files for maps. A file is never shortened, and a new file is removed if mapping it fails.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::system::files::Status;
use crate::system::{self, Access, Code, Resource, failure, files};

pub fn open_to_read(path: &Path) -> Result<File, Error> {
    files::open_at_once(path, Access::Read).map_err(failure("open", path))
}

/// Opens a file for reading and writing. With `create`, a missing file is created. If this call created the file, the result
/// contains its path, so that the file can be removed if anything fails later.
pub fn open_or_create(path: &Path, create: bool) -> Result<(File, Option<PathBuf>), Error> {
    let open = || files::open_at_once(path, Access::ReadAndWrite);
    let missing = |result: &io::Result<File>| matches!(result, Err(reason) if reason.kind() == io::ErrorKind::NotFound);
    let mut opened = open();
    if missing(&opened) && !create {
        return Err(Error::MissingFile { path: path.into() });
    }
    if missing(&opened) {
        let target = files::created_by(path).map_err(failure("open", path))?;
        match files::open_at_once(&target, Access::Create) {
            Ok(file) => return Ok((file, Some(target))),
            // Somebody else has created the file in between, so this call does not own it.
            Err(reason) if reason.kind() == io::ErrorKind::AlreadyExists => opened = open(),
            other => opened = other,
        }
    }
    opened.map(|file| (file, None)).map_err(failure("open", path))
}

/// What the system says about the file, or [`Error::NotAFile`] if it is not a regular file.
pub fn regular_file_status(file: &File, path: &Path) -> Result<Status, Error> {
    let status = files::status_of(file).map_err(failure("read the size of", path))?;
    if status.is_file() { Ok(status) } else { Err(Error::NotAFile { action: "map", path: path.into(), what: status.kind() }) }
}

/// The number of bytes in the whole units of `width` bytes among `length` bytes.
pub fn bytes_of_whole_units(length: u64, width: usize, path: &Path) -> Result<usize, Error> {
    let too_long = |_| failure("map", path)(Code::FileTooLong.error());
    Ok(usize::try_from(length).map_err(too_long)? / width * width)
}

/// Extends a file from `length` bytes to `end` bytes. If the file system can do it, space on the disk is reserved for the bytes
/// from
/// `offset` on, so that a full disk is an error here and not a SIGBUS later. The bytes between `length` and `offset` become a
/// hole.
pub fn extend(file: &File, length: u64, offset: u64, end: u64) -> io::Result<()> {
    // If the file grew beyond the limit of this process (`ulimit -f`), the system would kill the process with SIGXFSZ.
    if system::soft_limit(Resource::FileLength).is_some_and(|limit| end > limit) {
        return Err(Code::FileTooLong.error());
    }
    // If no bytes are mapped, the last byte before the offset is reserved, because the system cannot reserve 0 bytes.
    let from = offset.min(end - 1).max(length);
    match system::reserve(file, from, end - from) {
        Err(reason) if Code::Unsupported.is_of(&reason) => file.set_len(end),
        Err(reason) => {
            // Some file systems extend the file as much as they can before they fail.
            if file.metadata()?.len() > length {
                file.set_len(length)?;
            }
            Err(reason)
        }
        Ok(()) => Ok(()),
    }
}

/// Removes a file that was just created, unless somebody has put another file at its path.
pub fn remove_if_same(file: &File, path: &Path) {
    if system::is_at(file, path) {
        // The caller reports the error that made it call this function, so this one is ignored.
        let _ = files::remove(path);
    }
}
