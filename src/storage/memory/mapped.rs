//! Mapped files: opened with care, extended if asked, never shrunk, nothing left behind by a failure.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use memmap2::{MmapOptions, MmapRaw};

use super::{MAPPED, MAPS, PRIVATE};
use crate::error::Error;

/// Who sees what is written to a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Nobody else: written pages are copies (`MAP_PRIVATE`).
    Private,
    /// The file, and everybody who maps it (`MAP_SHARED`).
    Shared,
}

/// A map of a file from its first byte.
#[derive(Debug)]
pub struct Mapped {
    /// None for no bytes: the system maps nothing smaller than a page.
    map: Option<MmapRaw>,
    path: PathBuf,
    sharing: Sharing,
}

impl Mapped {
    /// Maps `bytes` bytes of the file, or, given none, as many whole units of `width` bytes as it has.
    pub fn open(path: &Path, sharing: Sharing, bytes: Option<usize>, width: usize) -> Result<Self, Error> {
        if path.as_os_str().as_bytes().contains(&0) {
            return Err(Error::NulInName { path: path.to_owned() });
        }
        match sharing {
            Sharing::Private => Self::open_private(path, bytes, width),
            Sharing::Shared => Self::open_shared(path, bytes, width),
        }
    }

    fn open_private(path: &Path, bytes: Option<usize>, width: usize) -> Result<Self, Error> {
        let file = options().read(true).open(path).map_err(failure("open", path))?;
        let length = regular(&file, path)?.len();
        let bytes = bytes.map_or_else(|| whole(length, width, path), Ok)?;
        if length < bytes as u64 {
            return Err(Error::FileTooSmall { path: path.to_owned(), bytes: length, needed: bytes });
        }
        Self::map(&file, path, Sharing::Private, bytes)
    }

    fn open_shared(path: &Path, bytes: Option<usize>, width: usize) -> Result<Self, Error> {
        let (file, created) = open_or_create(path, bytes.is_some())?;
        let mapped = Self::extend_and_map(&file, path, bytes, width);
        if let (Err(_), Some(created)) = (&mapped, created) {
            remove_if_same(&file, &created);
        }
        mapped
    }

    fn extend_and_map(file: &File, path: &Path, bytes: Option<usize>, width: usize) -> Result<Self, Error> {
        let length = regular(file, path)?.len();
        let bytes = bytes.map_or_else(|| whole(length, width, path), Ok)?;
        if length < bytes as u64 {
            extend(file, length, bytes as u64).map_err(failure("extend", path))?;
        }
        Self::map(file, path, Sharing::Shared, bytes)
    }

    fn map(file: &File, path: &Path, sharing: Sharing, bytes: usize) -> Result<Self, Error> {
        let map = if bytes == 0 {
            None
        } else {
            let mut options = MmapOptions::new();
            options.len(bytes);
            let map = match sharing {
                // SAFETY: the map is used through raw pointers only, so that others change the file breaks no rule of references;
                // a file that is cut below the map raises SIGBUS on access, as with every map (documented).
                Sharing::Private => unsafe { options.no_reserve_swap().map_copy(file) }.map(MmapRaw::from),
                Sharing::Shared => options.map_raw(file),
            };
            Some(map.map_err(failure("map", path))?)
        };
        MAPPED.add(bytes);
        MAPS.add(1);
        if sharing == Sharing::Private {
            PRIVATE.add(bytes);
        }
        Ok(Self { map, path: path.to_owned(), sharing })
    }

    pub fn data(&self) -> *mut u8 {
        self.map.as_ref().map_or(std::ptr::null_mut(), MmapRaw::as_mut_ptr)
    }

    pub fn bytes(&self) -> usize {
        self.map.as_ref().map_or(0, MmapRaw::len)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn is_shared(&self) -> bool {
        self.sharing == Sharing::Shared
    }

    /// Writes the pages of `bytes` bytes from `offset` to the file and waits for it.
    pub fn flush(&self, offset: usize, bytes: usize) -> Result<(), Error> {
        match &self.map {
            Some(map) if bytes > 0 => map.flush_range(offset, bytes).map_err(failure("flush", &self.path)),
            _ => Ok(()),
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        MAPPED.subtract(self.bytes());
        MAPS.subtract(1);
        if !self.is_shared() {
            PRIVATE.subtract(self.bytes());
        }
    }
}

/// Opening must not wait for the other end of a pipe nor take over a terminal.
fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    options
}

/// Opens a file for reading and writing. With `create`, a missing one is made, exclusively, so that it is known whose file it is
/// if anything fails later: its path is then in the answer.
fn open_or_create(path: &Path, create: bool) -> Result<(File, Option<PathBuf>), Error> {
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

fn failure(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |reason| Error::File { action, path: path.to_owned(), reason }
}

/// The file's metadata, if it is one that can be mapped.
fn regular(file: &File, path: &Path) -> Result<Metadata, Error> {
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
    Err(Error::NotAFile { path: path.to_owned(), what })
}

/// The bytes of the whole units in a file of `length` bytes.
fn whole(length: u64, width: usize, path: &Path) -> Result<usize, Error> {
    let too_long = |_| failure("map", path)(io::Error::from_raw_os_error(libc::EFBIG));
    Ok(usize::try_from(length).map_err(too_long)? / width * width)
}

/// Makes the file `wanted` bytes long, with room on the disk reserved where the file system can, so that a full disk is an
/// error here and no SIGBUS later.
fn extend(file: &File, length: u64, wanted: u64) -> io::Result<()> {
    if wanted > size_limit() {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    match reserve(file, length, wanted) {
        Err(reason) if matches!(reason.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS)) => file.set_len(wanted),
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

/// The size that this process may give a file (`ulimit -f`). Passing it would end the process with SIGXFSZ.
fn size_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is ours to write to.
    if unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0 { limit.rlim_cur } else { u64::MAX }
}

#[cfg(target_os = "linux")]
fn reserve(file: &File, length: u64, wanted: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let too_big = |_| io::Error::from_raw_os_error(libc::EFBIG);
    let from = libc::off_t::try_from(length).map_err(too_big)?;
    let more = libc::off_t::try_from(wanted - length).map_err(too_big)?;
    loop {
        // SAFETY: the descriptor is open; the call touches no memory of ours.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, from, more) } == 0 {
            return Ok(());
        }
        let reason = io::Error::last_os_error();
        if reason.kind() != io::ErrorKind::Interrupted {
            return Err(reason);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(_file: &File, _length: u64, _wanted: u64) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// Takes back a file that this call made, unless somebody has put another in its place.
fn remove_if_same(file: &File, path: &Path) {
    if let (Ok(ours), Ok(there)) = (file.metadata(), path.symlink_metadata())
        && (ours.dev(), ours.ino()) == (there.dev(), there.ino())
    {
        // The first error is the one to report; this one has nobody to go to.
        let _ = std::fs::remove_file(path);
    }
}
