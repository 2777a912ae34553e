//! The file that is written: a new file that replaces the old one at the end, or the file itself.

use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::write;
use crate::bulk::Readable;
use crate::error::Error;
use crate::system::{self, failure, files};

/// The number of symbolic links that are followed. It is the limit of Linux.
const LINKS: usize = 40;

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
    New { file: File, draft: Draft, target: PathBuf },
    /// A file, pipe or device that is written to directly.
    Plain { file: File, regular: bool },
}

impl Destination {
    pub fn open(path: &Path, atomic: bool) -> Result<Self, Error> {
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
            _ => target_of(path).map_err(failure("open", path))?,
        };
        let kept = files::owned(path).map_err(failure("open", path))?;
        let open = match replaced {
            Some(target) => Open::replacing(path, target, old.is_some())?,
            None => Open::plainly(path)?,
        };
        Ok(Self { path: kept, open: Some(open) })
    }

    /// Fails if the file is finished or closed.
    pub fn check(&self) -> Result<(), Error> {
        if self.open.is_some() { Ok(()) } else { Err(self.closed()) }
    }

    fn closed(&self) -> Error {
        failure("write", &self.path)(io::Error::from_raw_os_error(libc::EBADF))
    }

    /// Writes bytes. After an error the file is closed.
    pub fn write(&mut self, bytes: Readable<'_>) -> Result<(), Error> {
        let Some(Open::New { file, .. } | Open::Plain { file, .. }) = &self.open else { return Err(self.closed()) };
        let written = write::write_all(file, bytes);
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
        let refused = || Err(io::Error::from_raw_os_error(libc::ESPIPE));
        let written = if self.is_regular() { file.write_all_at(bytes, position) } else { refused() };
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
            Some(Open::New { file, draft, target }) => {
                sync(&file).map_err(failure("write", &self.path))?;
                draft.replace(&target).map_err(failure("replace", &self.path))?;
                sync_folder(&target).map_err(failure("write the folder of", &self.path))
            }
        }
    }
}

impl Open {
    /// Opens a file for writing like C's `fopen`.
    fn plainly(path: &Path) -> Result<Self, Error> {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_NOCTTY;
        let file = files::open(path, flags, 0o666).map_err(failure("open", path))?;
        let regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
        Ok(Self::Plain { file, regular })
    }

    fn replacing(path: &Path, target: PathBuf, exists: bool) -> Result<Self, Error> {
        let old = if exists { old_file(&target).map_err(failure("open", path))? } else { None };
        // Nobody else may open the new file before it has the permissions of the old one.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let (file, draft) = Draft::beside(&target, mode).map_err(failure("create a new file beside", path))?;
        if let Some(old) = old {
            take_after(&file, &old).map_err(failure("set the permissions of", path))?;
        }
        Ok(Self::New { file, draft, target })
    }
}

/// The metadata of the old file, or `None` if it does not exist any more. Fails if the old file is not writable: the system would
/// allow to replace it, but its owner does not want it to change.
fn old_file(target: &Path) -> io::Result<Option<Metadata>> {
    match files::open(target, libc::O_WRONLY | libc::O_NOCTTY | libc::O_NONBLOCK, 0) {
        Ok(file) => file.metadata().map(Some),
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(reason) => Err(reason),
    }
}

/// Gives a new file the owner, the group and the permissions of the old one. The system may refuse the owner or the group. Then
/// the new file gets neither the set-user-id nor the set-group-id bit, and a different group gets only the permissions of all
/// others. (Writing to a file clears these two bits too, except for root.)
fn take_after(file: &File, old: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    let group = new.gid() == old.gid() || fchown(file, None, Some(old.gid())).is_ok();
    let owner = new.uid() == old.uid() || fchown(file, Some(old.uid()), None).is_ok();
    let mut mode = old.mode() & 0o7777;
    if !(owner && group) {
        mode &= 0o777;
    }
    if !group {
        mode = (mode & 0o707) | ((mode & 0o007) << 3);
    }
    file.set_permissions(Permissions::from_mode(mode))
}

/// The absolute path of the file that a new file would replace: `path` or, if it is a symbolic link, the target of the link. It
/// is absolute because the process may change its directory. The answer is `None` for a descriptor of this process
/// (`/dev/stdout`), because a new file of that name would not be the one that others read.
fn target_of(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut path = files::owned(path)?;
    for _ in 0..=LINKS {
        let bytes = path.as_os_str().as_bytes();
        let split = bytes.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let (folder, name) = bytes.split_at(split);
        if matches!(name, b"" | b"." | b"..") {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        let folder = if folder.is_empty() { Path::new(".") } else { Path::new(OsStr::from_bytes(folder)) };
        let folder = files::absolute(folder)?;
        if is_of_descriptors(&folder) {
            return Ok(None);
        }
        let full = files::in_folder(&folder, files::of_bytes(name))?;
        match files::read_link(&full) {
            Ok(link) => path = files::in_folder(&folder, &link)?,
            // It is not a link, or does not exist.
            Err(reason) if matches!(reason.raw_os_error(), Some(libc::EINVAL | libc::ENOENT)) => return Ok(Some(full)),
            Err(reason) => return Err(reason),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

fn is_of_descriptors(folder: &Path) -> bool {
    folder == Path::new("/dev/fd") || (folder.starts_with("/proc") && folder.file_name() == Some(OsStr::new("fd")))
}

/// A new file that has not replaced the old one yet. Dropping it removes the file.
#[derive(Debug)]
struct Draft {
    path: PathBuf,
    is_renamed: bool,
    /// The process that made the file. A forked child has a copy of this value, but must not remove the file.
    process: u32,
}

impl Draft {
    /// Creates a file in the folder of `target`. Its name contains the name of `target`.
    fn beside(target: &Path, mode: u32) -> io::Result<(File, Self)> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        // The longest name that file systems allow, less the bytes that are added below.
        const KEPT: usize = 255 - 48;
        let process = std::process::id();
        let name = target.file_name().unwrap_or_default().as_bytes();
        let name = if name.len() <= KEPT { name } else { b"long" };
        loop {
            // Relaxed: only the number itself matters.
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let mut hidden = [0; 256];
            let mut rest = &mut hidden[..];
            rest.write_all(b".")?;
            rest.write_all(name)?;
            write!(rest, ".{process}-{number}.new")?;
            let left = rest.len();
            let length = hidden.len() - left;
            let path = files::in_folder(target.parent().unwrap_or(Path::new("")), files::of_bytes(&hidden[..length]))?;
            match files::open(&path, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, mode) {
                Ok(file) => return Ok((file, Self { path, is_renamed: false, process })),
                // A process with the same id was killed and left this file.
                Err(reason) if reason.kind() == io::ErrorKind::AlreadyExists => {}
                Err(reason) => return Err(reason),
            }
        }
    }

    /// Renames the file to `target`.
    fn replace(mut self, target: &Path) -> io::Result<()> {
        files::rename(&self.path, target)?;
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_renamed && self.process == std::process::id() {
            // An error here cannot be reported. The one that came first was.
            let _ = files::remove(&self.path);
        }
    }
}

/// Writes the folder of a file to the disk, and with it the file's new name. A folder that cannot be opened is skipped: a process
/// may be allowed to write to it and not to read it.
fn sync_folder(target: &Path) -> io::Result<()> {
    match target.parent().map(|folder| files::open(folder, libc::O_RDONLY, 0)) {
        Some(Ok(folder)) => sync(&folder),
        _ => Ok(()),
    }
}

/// Writes a file to the disk, if its file system can do that.
fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(reason) if matches!(reason.raw_os_error(), Some(libc::EINVAL | libc::ENOTSUP)) => Ok(()),
        other => other,
    }
}
