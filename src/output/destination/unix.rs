//! Replacing files on Linux, macOS and the BSDs: a new file of another name gets the permissions of the old one, and its name.

use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use super::check_room;
use crate::error::Error;
use crate::system::{self, failure, file_system, files, texts};

/// The number of symbolic links that are followed. It is the limit of Linux.
const LINKS: usize = 40;

/// Opens a file for writing like C's `fopen`, and does not shorten it yet. Also returns the number of bytes on the disk that an existing
/// regular file gives back then.
pub fn open_plainly(path: &Path) -> io::Result<(File, Option<u64>)> {
    /// The unit of [`MetadataExt::blocks`].
    const BLOCK: u64 = 512;
    let file = files::open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_NOCTTY, 0o666)?;
    let old = file.metadata().ok().filter(Metadata::is_file);
    Ok((file, old.map(|old| old.blocks().saturating_mul(BLOCK))))
}

/// The error for a file that the system does not let this process shorten.
pub fn refused(action: &'static str, path: &Path, reason: io::Error) -> Error {
    failure(action, path)(reason)
}

/// Creates the new file for `bytes` bytes that will replace `target`, with the owner and the permissions of the old one if that exists.
pub fn begin(path: &Path, target: &Path, exists: bool, bytes: u64) -> Result<(File, Draft), Error> {
    let old = if exists { old_file(target).map_err(failure("open", path))? } else { None };
    // Nobody else may open the new file before it has the permissions of the old one.
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    let (file, new, draft) = Draft::beside(target, mode).map_err(failure("create a new file beside", path))?;
    check_room(&file, path, bytes, 0)?;
    if let Some(old) = old {
        take_after(&file, &new, &old).map_err(failure("set the permissions of", path))?;
    }
    Ok((file, draft))
}

/// Writes the new file to the disk, and replaces the old one by it.
pub fn finish(file: File, draft: Draft, path: &Path, target: &Path) -> Result<(), Error> {
    sync(&file).map_err(failure("write", path))?;
    draft.replace(target).map_err(failure("replace", path))?;
    sync_folder(target).map_err(failure("write the folder of", path))
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
fn take_after(file: &File, new: &Metadata, old: &Metadata) -> io::Result<()> {
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
/// is absolute because the process may change its directory. Returns `None` for a descriptor of this process
/// (`/dev/stdout`), because a new file of that name would not be the one that others read.
pub fn target_of(path: &Path) -> io::Result<Option<PathBuf>> {
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
        let full = files::in_folder(&folder, texts::of_bytes(name))?;
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
///
/// The file is locked while it is written, and the system gives the lock back when the process ends, however it ends. So a draft
/// without a lock is one that a killed process has left, and the next draft of the same target removes it. A lock tells this
/// across containers, too, where ids of processes do not. It is not relied on where other machines may use the file system.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    is_renamed: bool,
    /// The process that made the file. A forked child has a copy of this value, but must not remove the file.
    process: u32,
}

impl Draft {
    /// Creates a file in the folder of `target`, and locks it. Its name contains the name of `target` and a number. Removes the
    /// drafts of `target` that killed processes have left.
    fn beside(target: &Path, mode: u32) -> io::Result<(File, Metadata, Self)> {
        let mut number = 0_u64;
        let (file, new, path) = loop {
            let path = draft_path(target, number)?;
            match create_locked(&path, mode)? {
                Some((file, new)) => break (file, new, path),
                // Somebody else writes this one.
                None => number += 1,
            }
        };
        let draft = Self { path, is_renamed: false, process: std::process::id() };
        // Several processes may have been killed at the same time.
        loop {
            number += 1;
            let other = draft_path(target, number)?;
            // Looking at a file takes no descriptor.
            if files::link_status(&other).is_err() {
                break;
            }
            // A file that cannot be removed stays, and there may be others behind it.
            let _ = remove_left(&other);
        }
        Ok((file, new, draft))
    }

    /// Renames the file to `target`.
    fn replace(mut self, target: &Path) -> io::Result<()> {
        files::rename(&self.path, target)?;
        self.is_renamed = true;
        Ok(())
    }
}

/// The path of a draft of `target`.
fn draft_path(target: &Path, number: u64) -> io::Result<PathBuf> {
    // The longest name that file systems allow, less the bytes that are added below.
    const KEPT: usize = 255 - 48;
    let name = target.file_name().unwrap_or_default().as_bytes();
    let name = if name.len() <= KEPT { name } else { b"long" };
    let mut hidden = [0; 256];
    let mut rest = &mut hidden[..];
    rest.write_all(b".")?;
    rest.write_all(name)?;
    write!(rest, ".{number}.new")?;
    let left = rest.len();
    let length = hidden.len() - left;
    files::in_folder(target.parent().unwrap_or(Path::new("")), texts::of_bytes(&hidden[..length]))
}

/// Creates a file and locks it. Returns `None` if there is a file of that name that somebody uses.
fn create_locked(path: &Path, mode: u32) -> io::Result<Option<(File, Metadata)>> {
    loop {
        match files::open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, mode) {
            Ok(file) => match system::flock(&file, libc::LOCK_EX | libc::LOCK_NB) {
                // Another process takes the file for one that was left, because it was not locked yet, and removes it.
                Err(reason) if reason.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                // Where files have no locks, none are removed either.
                _ => {
                    let new = file.metadata()?;
                    if new.nlink() > 0 {
                        return Ok(Some((file, new)));
                    }
                }
            },
            Err(reason) if reason.kind() == io::ErrorKind::AlreadyExists => match remove_left(path) {
                Ok(false) => return Ok(None),
                Ok(true) => {}
                Err(reason) if reason.kind() == io::ErrorKind::NotFound => {}
                Err(_) => return Ok(None),
            },
            Err(reason) => return Err(reason),
        }
    }
}

/// Removes a draft if a killed process has left it, and returns whether it was removed. A draft that this process may not write to
/// is that of another user, and stays.
fn remove_left(path: &Path) -> io::Result<bool> {
    let file = files::open(path, libc::O_WRONLY | libc::O_NOCTTY | libc::O_NONBLOCK | libc::O_NOFOLLOW, 0)?;
    let is_left = file.metadata()?.is_file()
        && file_system::is_local(&file)
        && system::flock(&file, libc::LOCK_EX | libc::LOCK_NB).is_ok()
        // While this process has the lock, nobody else removes the file.
        && system::is_at(&file, path);
    if is_left {
        files::remove(path)?;
    }
    Ok(is_left)
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
