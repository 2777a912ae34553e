//! The file that is written: a new one beside the one that it replaces, or the one itself.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::write;
use crate::bulk::Readable;
use crate::error::Error;
use crate::system::{self, failure};

/// Symbolic links that are followed; Linux follows as many.
const LINKS: usize = 40;

/// An open file, under the name that the caller gave it.
#[derive(Debug)]
pub struct Destination {
    path: PathBuf,
    /// `None` once it is finished, or given up after a failure.
    open: Option<Open>,
}

#[derive(Debug)]
enum Open {
    /// A file that takes the place of another one.
    New { file: File, draft: Draft, target: PathBuf },
    /// What is written to as it is.
    Plain { file: File, regular: bool },
}

impl Destination {
    pub fn open(path: &Path, atomic: bool) -> Result<Self, Error> {
        system::check_name(path)?;
        let old = match path.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                return Err(Error::NotAFile { action: "save to", path: path.to_owned(), what: "a directory" });
            }
            Ok(metadata) => Some(metadata),
            Err(reason) if reason.kind() == io::ErrorKind::NotFound => None,
            Err(reason) => return Err(failure("open", path)(reason)),
        };
        let replaced = match &old {
            Some(metadata) if !metadata.is_file() => None,
            _ if !atomic => None,
            _ => target_of(path).map_err(failure("open", path))?,
        };
        let open = match replaced {
            Some(target) => Open::replacing(path, target, old.is_some())?,
            None => Open::plainly(path)?,
        };
        Ok(Self { path: path.to_owned(), open: Some(open) })
    }

    /// An error if it is finished or given up.
    pub fn check(&self) -> Result<(), Error> {
        if self.open.is_some() { Ok(()) } else { Err(self.closed()) }
    }

    fn closed(&self) -> Error {
        failure("write", &self.path)(io::Error::from_raw_os_error(libc::EBADF))
    }

    /// Writes bytes. After an error the file is given up.
    pub fn write(&mut self, bytes: Readable<'_>) -> Result<(), Error> {
        let Some(Open::New { file, .. } | Open::Plain { file, .. }) = &self.open else { return Err(self.closed()) };
        let written = write::write_all(file, bytes);
        written.map_err(|reason| {
            self.open = None;
            failure("write", &self.path)(reason)
        })
    }

    /// Brings the bytes to the disk, and the new file to its place.
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
                draft.take_place_of(&target).map_err(failure("replace", &self.path))?;
                sync_folder(&target).map_err(failure("write the folder of", &self.path))
            }
        }
    }
}

impl Open {
    /// As C's `fopen` does it.
    fn plainly(path: &Path) -> Result<Self, Error> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o666).custom_flags(libc::O_NOCTTY);
        let file = options.open(path).map_err(failure("open", path))?;
        let regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
        Ok(Self::Plain { file, regular })
    }

    fn replacing(path: &Path, target: PathBuf, exists: bool) -> Result<Self, Error> {
        let old = if exists { old_file(&target).map_err(failure("open", path))? } else { None };
        // Nobody else may look into it before it has the permissions of the old one.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let (file, draft) = Draft::beside(&target, mode).map_err(failure("create a new file beside", path))?;
        if let Some(old) = old {
            take_after(&file, &old).map_err(failure("set the permissions of", path))?;
        }
        Ok(Self::New { file, draft, target })
    }
}

/// What is known of the old file, which has to be one that may be written to: replacing it needs no such permission, but its
/// owner has said no. `None` if it has gone meanwhile.
fn old_file(target: &Path) -> io::Result<Option<Metadata>> {
    match OpenOptions::new().write(true).custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK).open(target) {
        Ok(file) => file.metadata().map(Some),
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(reason) => Err(reason),
    }
}

/// Gives a new file the owner, the group and the permissions of the old one. Not everybody may give a file away: then it stays
/// with whoever writes it. It lends nobody's rights then, and the rights of a group that it lost are not another group's.
/// (Writing takes the right to lend away too, except from root, as it does from a file that is written to in its place.)
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

/// The file that a new one would replace: `path`, or what it leads to as a symbolic link; absolute, so that it stays the same
/// file when the process changes its directory. `None` for one of this process's descriptors (`/dev/stdout`): whoever reads it
/// would not see a file of the same name.
fn target_of(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut path = path.to_owned();
    for _ in 0..=LINKS {
        let bytes = path.as_os_str().as_bytes();
        let split = bytes.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let (folder, name) = bytes.split_at(split);
        if matches!(name, b"" | b"." | b"..") {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        let folder = if folder.is_empty() { Path::new(".") } else { Path::new(OsStr::from_bytes(folder)) };
        let folder = folder.canonicalize()?;
        if is_of_descriptors(&folder) {
            return Ok(None);
        }
        let full = folder.join(OsStr::from_bytes(name));
        match full.read_link() {
            Ok(link) => path = folder.join(link),
            // It is no link, or is not there.
            Err(reason) if matches!(reason.raw_os_error(), Some(libc::EINVAL | libc::ENOENT)) => return Ok(Some(full)),
            Err(reason) => return Err(reason),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

fn is_of_descriptors(folder: &Path) -> bool {
    folder == Path::new("/dev/fd") || (folder.starts_with("/proc") && folder.file_name() == Some(OsStr::new("fd")))
}

/// A new file that is not in its place yet: dropping it removes it.
#[derive(Debug)]
struct Draft {
    path: PathBuf,
    in_place: bool,
    /// A child of this process has a copy of this value, and no right to the file.
    process: u32,
}

impl Draft {
    /// Creates a file in the folder of `target`, with a name that is made of its name.
    fn beside(target: &Path, mode: u32) -> io::Result<(File, Self)> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        // What a file system lets a name have, less what is put around it here.
        const KEPT: usize = 255 - 48;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(mode);
        let process = std::process::id();
        let name = target.file_name().unwrap_or_default().as_bytes();
        let name = if name.len() <= KEPT { name } else { b"long" };
        loop {
            // Relaxed: only the number itself matters.
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let mut hidden = b".".to_vec();
            hidden.extend_from_slice(name);
            hidden.extend_from_slice(format!(".{process}-{number}.new").as_bytes());
            let path = target.with_file_name(OsString::from_vec(hidden));
            match options.open(&path) {
                Ok(file) => return Ok((file, Self { path, in_place: false, process })),
                // Left behind by a process of the same number, which did not end well.
                Err(reason) if reason.kind() == io::ErrorKind::AlreadyExists => {}
                Err(reason) => return Err(reason),
            }
        }
    }

    /// Gives it the name that it was made for.
    fn take_place_of(mut self, target: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, target)?;
        self.in_place = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.in_place && self.process == std::process::id() {
            // The first error is the one to report; this one has nobody to go to.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Makes sure that a folder remembers the new name of a file. Not everybody who may write to a folder may open it.
fn sync_folder(target: &Path) -> io::Result<()> {
    match target.parent().map(File::open) {
        Some(Ok(folder)) => sync(&folder),
        _ => Ok(()),
    }
}

/// Brings a file to the disk, where its file system has such a thing.
fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(reason) if matches!(reason.raw_os_error(), Some(libc::EINVAL | libc::ENOTSUP)) => Ok(()),
        other => other,
    }
}
