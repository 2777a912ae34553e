//! Files for maps: opened with care, extended if asked, never shrunk, nothing left behind by a failure.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::system::{self, Resource, failure};

/// Opening must not wait for the other end of a pipe nor take over a terminal.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    options
}

pub fn open_to_read(path: &Path) -> Result<File, Error> {
    options().read(true).open(path).map_err(failure("open", path))
}

/// Opens a file for reading and writing. With `create`, a missing one is made, exclusively, so that it is known whose file it is
/// if anything fails later: its path is then in the answer.
pub fn open_or_create(path: &Path, create: bool) -> Result<(File, Option<PathBuf>), Error> {
    let mut open = options();
    open.read(true).write(true);
    let missing = |result: &io::Result<File>| matches!(result, Err(reason) if reason.kind() == io::ErrorKind::NotFound);
    let mut opened = open.open(path);
    if missing(&opened) && !create {
        return Err(Error::MissingFile { path: path.to_owned() });
    }
    if missing(&opened) {
        // The file itself, or the one that a link without a target names.
        let target = std::fs::read_link(path)
            .map(|link| path.parent().map_or_else(|| link.clone(), |folder| folder.join(&link)))
            .unwrap_or_else(|_| path.to_owned());
        match open.clone().create_new(true).mode(0o600).open(&target) {
            Ok(file) => return Ok((file, Some(target))),
            // Somebody has made it meanwhile: it is theirs.
            Err(reason) if reason.kind() == io::ErrorKind::AlreadyExists => opened = open.open(path),
            other => opened = other,
        }
    }
    opened.map(|file| (file, None)).map_err(failure("open", path))
}

/// The file's metadata, if it is one that can be mapped.
pub fn regular_file_metadata(file: &File, path: &Path) -> Result<Metadata, Error> {
    let metadata = file.metadata().map_err(failure("read the size of", path))?;
    let kind = metadata.file_type();
    if kind.is_file() {
        return Ok(metadata);
    }
    let what = if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(Error::NotAFile { action: "map", path: path.to_owned(), what })
}

/// The bytes of the whole units in a file of `length` bytes.
pub fn bytes_of_whole_units(length: u64, width: usize, path: &Path) -> Result<usize, Error> {
    let too_long = |_| failure("map", path)(io::Error::from_raw_os_error(libc::EFBIG));
    Ok(usize::try_from(length).map_err(too_long)? / width * width)
}

/// Makes a file of `length` bytes `end` bytes long. Where the file system can, room on the disk is reserved for the bytes from
/// `offset` on, so that a full disk is an error here and no SIGBUS later; what is skipped before them is left a hole.
pub fn extend(file: &File, length: u64, offset: u64, end: u64) -> io::Result<()> {
    // Passing the size that this process may give a file (`ulimit -f`) would end it with SIGXFSZ.
    if system::soft_limit(Resource::FileLength).is_some_and(|limit| end > limit) {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    // With no bytes to map, the last one that is skipped: nothing cannot be reserved.
    let from = offset.min(end - 1).max(length);
    match system::reserve(file, from, end - from) {
        Err(reason) if matches!(reason.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS)) => file.set_len(end),
        Err(reason) => {
            // Some file systems have extended as far as they could.
            if file.metadata()?.len() > length {
                file.set_len(length)?;
            }
            Err(reason)
        }
        Ok(()) => Ok(()),
    }
}

/// Removes a file that this call made, unless somebody has put another one there.
pub fn remove_if_same(file: &File, path: &Path) {
    if system::is_at(file, path) {
        // The first error is the one to report; this one has nobody to go to.
        let _ = std::fs::remove_file(path);
    }
}
