//! Files by their paths: opening, looking at, renaming and removing them. Nothing here ends the process if there is no memory, as the
//! functions of `std::fs` do for long paths: a path becomes a C string on the stack.

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use super::texts::of_bytes;
use super::{FileId, retry_interrupted, zero_or_error};
use crate::fallible::NoMemory;
use crate::system::{Access, Code};

/// The longest path in bytes, with the zero byte at its end. Systems refuse longer ones.
pub const LONGEST: usize = 4096;

/// Calls `act` with the path as a C string.
fn with_c_path<R>(path: &Path, act: impl FnOnce(&CStr) -> io::Result<R>) -> io::Result<R> {
    let bytes = path.as_os_str().as_bytes();
    let mut text = [MaybeUninit::<u8>::uninit(); LONGEST];
    let Some(room) = text.get_mut(..=bytes.len()) else { return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG)) };
    for (to, &byte) in room.iter_mut().zip(bytes.iter().chain(&[0])) {
        to.write(byte);
    }
    // SAFETY: [layout] the loop above has written all of these bytes.
    let text = unsafe { std::slice::from_raw_parts(room.as_ptr().cast::<u8>(), room.len()) };
    // Zero bytes were refused before, for a better error.
    CStr::from_bytes_with_nul(text).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL)).and_then(act)
}

/// Opens a file for reading. Like C's `fopen`, this waits until a pipe has a writer.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    open(path, libc::O_RDONLY | libc::O_NOCTTY, 0)
}

/// Opens a file. The call does not wait for the other end of a pipe, and does not take over a terminal.
pub fn open_at_once(path: &Path, access: Access) -> io::Result<File> {
    let flags = match access {
        Access::Read => libc::O_RDONLY,
        Access::ReadAndWrite => libc::O_RDWR,
        Access::Create => libc::O_RDWR | libc::O_CREAT | libc::O_EXCL,
    };
    open(path, flags | libc::O_NONBLOCK | libc::O_NOCTTY, 0o600)
}

/// Opens a file. It is closed when another program is executed. `mode` is for a file that is created.
pub fn open(path: &Path, flags: libc::c_int, mode: u32) -> io::Result<File> {
    with_c_path(path, |path| {
        let flags = flags | libc::O_CLOEXEC;
        // SAFETY: [system] the path is a C string that lives until the call returns.
        let open = || isize::try_from(unsafe { libc::open(path.as_ptr(), flags, mode) }).unwrap_or(-1);
        let descriptor = retry_interrupted(open)?;
        let descriptor = i32::try_from(descriptor).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))?;
        // SAFETY: [owned] the descriptor is new, so nobody else has it.
        Ok(File::from(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    })
}

/// What the system says about a file.
#[derive(Clone, Copy)]
pub struct Status {
    /// Its device and its inode.
    pub id: FileId,
    /// Its length in bytes.
    pub length: u64,
    /// Its type and its permissions.
    mode: libc::mode_t,
}

impl Status {
    fn new(found: &libc::stat) -> Self {
        #[allow(
            clippy::unnecessary_cast,
            clippy::cast_sign_loss,
            reason = "the types of these fields differ from system to system"
        )]
        let id = FileId(found.st_dev as u64, found.st_ino as u64);
        Self { id, length: u64::try_from(found.st_size).unwrap_or(0), mode: found.st_mode }
    }

    pub fn is_file(self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFREG
    }

    pub fn is_folder(self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFDIR
    }

    /// What it is, for a message about something that is not a regular file.
    pub fn kind(self) -> &'static str {
        match self.mode & libc::S_IFMT {
            libc::S_IFREG => "a regular file",
            libc::S_IFDIR => "a directory",
            libc::S_IFIFO => "a pipe",
            libc::S_IFSOCK => "a socket",
            _ => "a device",
        }
    }
}

/// Looks at an open file.
pub fn status_of(file: &File) -> io::Result<Status> {
    let mut found = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: [system] the descriptor is open, and the structure is a local variable.
    zero_or_error(unsafe { libc::fstat(file.as_raw_fd(), found.as_mut_ptr()) })?;
    // SAFETY: [layout] the call succeeded, so it has written the structure.
    Ok(Status::new(&unsafe { found.assume_init() }))
}

/// Looks at a file, or at the target of a symbolic link.
pub fn status(path: &Path) -> io::Result<Status> {
    status_at(path, 0)
}

/// Looks at a file. A symbolic link is not followed.
pub fn link_status(path: &Path) -> io::Result<Status> {
    status_at(path, libc::AT_SYMLINK_NOFOLLOW)
}

fn status_at(path: &Path, flags: libc::c_int) -> io::Result<Status> {
    let mut found = MaybeUninit::<libc::stat>::zeroed();
    with_c_path(path, |path| {
        // SAFETY: [system] the path is a C string that lives until the call returns, and the structure is a local variable.
        zero_or_error(unsafe { libc::fstatat(libc::AT_FDCWD, path.as_ptr(), found.as_mut_ptr(), flags) })
    })?;
    // SAFETY: [layout] the call succeeded, so it has written the structure.
    Ok(Status::new(&unsafe { found.assume_init() }))
}

/// Reads bytes from byte `offset` on, and returns how many. It is 0 only at the end, or if `into` is empty.
pub fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    FileExt::read_at(file, into, offset)
}

/// Writes bytes over those from byte `position` on.
pub fn write_all_at(file: &File, bytes: &[u8], position: u64) -> io::Result<()> {
    FileExt::write_all_at(file, bytes, position)
}

pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    with_c_path(from, |from| {
        with_c_path(to, |to| {
            // SAFETY: [system] both paths are C strings that live until the call returns.
            zero_or_error(unsafe { libc::rename(from.as_ptr(), to.as_ptr()) })
        })
    })
}

/// Removes the name of a file that is not a folder.
pub fn remove(path: &Path) -> io::Result<()> {
    // SAFETY: [system] the path is a C string that lives until the call returns.
    with_c_path(path, |path| zero_or_error(unsafe { libc::unlink(path.as_ptr()) }))
}

/// Gives an open file a name, as [`link`](super::link) does.
pub(super) fn link_at(folder: libc::c_int, from: &Path, to: &Path, flags: libc::c_int) -> io::Result<()> {
    with_c_path(from, |from| {
        with_c_path(to, |to| {
            // SAFETY: [system] both names are C strings that live until the call returns.
            zero_or_error(unsafe { libc::linkat(folder, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), flags) })
        })
    })
}

/// A folder whose names are read.
struct Names(NonNull<libc::DIR>);

impl Drop for Names {
    fn drop(&mut self) {
        // SAFETY: [owned] `for_each_name` has opened the folder, and nobody else closes it.
        unsafe { libc::closedir(self.0.as_ptr()) };
    }
}

/// Calls `act` with each name in a folder, also with `.` and `..`.
pub fn for_each_name<E: From<io::Error>>(folder: &Path, mut act: impl FnMut(&OsStr) -> Result<(), E>) -> Result<(), E> {
    let names = with_c_path(folder, |folder| {
        // SAFETY: [system] the path is a C string that lives until the call returns.
        let opened = unsafe { libc::opendir(folder.as_ptr()) };
        NonNull::new(opened).map(Names).ok_or_else(io::Error::last_os_error)
    })?;
    loop {
        // SAFETY: [system] the folder is open, and only this thread reads it.
        let Some(entry) = NonNull::new(unsafe { libc::readdir(names.0.as_ptr()) }) else { return Ok(()) };
        // SAFETY: [live] the entry stays until the next one is read. [layout] its name is a field, and only its address is taken.
        let name = unsafe { &raw const (*entry.as_ptr()).d_name };
        // SAFETY: [live] the name is a C string that stays until the next entry is read.
        act(OsStr::from_bytes(unsafe { CStr::from_ptr(name.cast()) }.to_bytes()))?;
    }
}

/// The target of a symbolic link, as the link has it.
pub fn read_link(path: &Path) -> io::Result<PathBuf> {
    let mut target = [0_u8; LONGEST];
    let length = with_c_path(path, |path| {
        // SAFETY: [system] the path is a C string, and the system writes at most as many bytes as the variable has.
        let length = unsafe { libc::readlink(path.as_ptr(), target.as_mut_ptr().cast(), target.len()) };
        usize::try_from(length).map_err(|_| io::Error::last_os_error())
    })?;
    // A target that fills the variable may be longer, and is refused.
    owned(of_bytes(&target[..length]))
}

/// The path of the file that is created when a missing file is opened: the path itself, or the target of a symbolic link.
pub fn created_by(path: &Path) -> io::Result<PathBuf> {
    match read_link(path) {
        Ok(link) => in_folder(path.parent().unwrap_or(Path::new("")), &link),
        Err(reason) if Code::NoMemory.is_of(&reason) => Err(reason),
        Err(_) => owned(path),
    }
}

/// The absolute path of a file or folder that exists, without symbolic links.
pub fn absolute(path: &Path) -> io::Result<PathBuf> {
    // `realpath` writes at most `PATH_MAX` bytes, which is not more on any system.
    let mut found = [0_u8; LONGEST];
    with_c_path(path, |path| {
        // SAFETY: [system] [in-bounds] the path is a C string, and the variable has room for the longest path.
        let result = unsafe { libc::realpath(path.as_ptr(), found.as_mut_ptr().cast()) };
        if result.is_null() { Err(io::Error::last_os_error()) } else { Ok(()) }
    })?;
    owned(of_bytes(CStr::from_bytes_until_nul(&found).unwrap_or(c"").to_bytes()))
}

/// A copy of a path. One that is longer than a system takes is refused before it is copied.
pub fn owned(path: &Path) -> io::Result<PathBuf> {
    joined(&[path.as_os_str().as_bytes()])
}

/// The path of a name in a folder. A name that begins with a slash is the path itself.
pub fn in_folder(folder: &Path, name: &Path) -> io::Result<PathBuf> {
    let (folder, name) = (folder.as_os_str().as_bytes(), name.as_os_str().as_bytes());
    let slash: &[u8] = if folder.is_empty() || folder.ends_with(b"/") { b"" } else { b"/" };
    if name.starts_with(b"/") { joined(&[name]) } else { joined(&[folder, slash, name]) }
}

/// The path that the pieces make up.
fn joined(pieces: &[&[u8]]) -> io::Result<PathBuf> {
    let length: usize = pieces.iter().map(|piece| piece.len()).sum();
    if length >= LONGEST {
        return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
    }
    let mut path = PathBuf::new();
    path.try_reserve_exact(length).map_err(|_| NoMemory { bytes: length })?;
    let mut path = path.into_os_string();
    for piece in pieces {
        path.push(OsStr::from_bytes(piece));
    }
    Ok(path.into())
}
