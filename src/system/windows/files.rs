//! Files by their paths: opening, looking at, renaming and removing them. A path becomes wide characters on the stack, so
//! that these functions do not end the process if there is no memory, as those of `std::fs` do.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::FileExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::{Path, PathBuf};
use std::ptr;

use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, CREATE_NEW, CreateFileW, DeleteFileW, FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_NORMAL,
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_NAME_NORMALIZED, FILE_READ_ATTRIBUTES, FILE_SHARE_DELETE,
    FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_TYPE_DISK, FILE_TYPE_PIPE, GetFileInformationByHandle, GetFileType,
    GetFinalPathNameByHandleW, GetFullPathNameW, MOVEFILE_REPLACE_EXISTING, MOVEFILE_WRITE_THROUGH, MoveFileExW, OPEN_ALWAYS,
    OPEN_EXISTING,
};

use super::{FileId, done_or_error, read_piece};
use crate::fallible::NoMemory;
use crate::system::{Access, Code};

/// The longest path in bytes, with a zero at its end. Programs that do not ask for long paths get 260 characters from the system.
pub const LONGEST: usize = 4096;

/// Calls `act` with the path in wide characters that end with a zero.
pub(super) fn with_wide_path<R>(path: &Path, act: impl FnOnce(*const u16) -> io::Result<R>) -> io::Result<R> {
    let mut wide = [0_u16; LONGEST];
    for (index, unit) in path.as_os_str().encode_wide().enumerate() {
        // The last one stays zero.
        if index + 1 == LONGEST {
            return Err(Code::NameTooLong.error());
        }
        wide[index] = unit;
    }
    act(wide.as_ptr())
}

/// Others may read, write, rename and remove a file while it is open here.
const SHARED: u32 = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

fn open(path: &Path, access: u32, share: u32, how: u32, flags: u32) -> io::Result<File> {
    with_wide_path(path, |path| {
        // SAFETY: [system] the path ends with a zero and lives until the call returns.
        let handle = unsafe { CreateFileW(path, access, share, ptr::null(), how, flags, ptr::null_mut()) };
        if handle == INVALID_HANDLE_VALUE {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: [owned] the handle is new, so nobody else has it.
        Ok(File::from(unsafe { OwnedHandle::from_raw_handle(handle) }))
    })
}

/// Opens a file for reading. A folder is opened too, so that an error can say that it is one.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    open(path, GENERIC_READ, SHARED, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL | FILE_FLAG_BACKUP_SEMANTICS)
}

/// Opens a file for writing, as C's `fopen` does, and does not shorten it.
pub fn open_to_write(path: &Path) -> io::Result<File> {
    open(path, GENERIC_WRITE, SHARED, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL)
}

/// Creates a file for writing that nobody else can remove, rename or write to while it is open.
pub fn create_own(path: &Path) -> io::Result<File> {
    open(path, GENERIC_WRITE, FILE_SHARE_READ, CREATE_NEW, FILE_ATTRIBUTE_NORMAL)
}

/// Opens a file. The call does not wait for the other end of a pipe.
pub fn open_at_once(path: &Path, access: Access) -> io::Result<File> {
    match access {
        Access::Read => open_to_read(path),
        Access::ReadAndWrite => open(path, GENERIC_READ | GENERIC_WRITE, SHARED, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL),
        Access::Create => open(path, GENERIC_READ | GENERIC_WRITE, SHARED, CREATE_NEW, FILE_ATTRIBUTE_NORMAL),
    }
}

/// What the system says about a file.
#[derive(Clone, Copy)]
pub struct Status {
    /// Its volume and its number there; zeros for something other than a file or a folder.
    pub id: FileId,
    /// Its length in bytes.
    pub length: u64,
    kind: &'static str,
}

const FILE: &str = "a regular file";
const FOLDER: &str = "a directory";

impl Status {
    pub fn is_file(self) -> bool {
        self.kind == FILE
    }

    pub fn is_folder(self) -> bool {
        self.kind == FOLDER
    }

    /// What it is, for a message about something that is not a regular file.
    pub fn kind(self) -> &'static str {
        self.kind
    }
}

/// Looks at an open file.
pub fn status_of(file: &File) -> io::Result<Status> {
    // SAFETY: [system] the handle is open.
    let kind = unsafe { GetFileType(file.as_raw_handle()) };
    if kind != FILE_TYPE_DISK {
        let kind = if kind == FILE_TYPE_PIPE { "a pipe" } else { "a device" };
        return Ok(Status { id: FileId(0, 0), length: 0, kind });
    }
    let mut found = MaybeUninit::<BY_HANDLE_FILE_INFORMATION>::zeroed();
    // SAFETY: [system] the handle is open, and the structure is a local variable.
    done_or_error(unsafe { GetFileInformationByHandle(file.as_raw_handle(), found.as_mut_ptr()) })?;
    // SAFETY: [layout] the call succeeded, so it has written the structure.
    let found = unsafe { found.assume_init() };
    let wide = |high: u32, low: u32| (u64::from(high) << 32) | u64::from(low);
    Ok(Status {
        id: FileId(found.dwVolumeSerialNumber.into(), wide(found.nFileIndexHigh, found.nFileIndexLow)),
        length: wide(found.nFileSizeHigh, found.nFileSizeLow),
        kind: if found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY == 0 { FILE } else { FOLDER },
    })
}

/// Looks at a file, or at the target of a symbolic link.
pub fn status(path: &Path) -> io::Result<Status> {
    status_of(&to_look_at(path, 0)?)
}

/// Looks at a file. A symbolic link is not followed.
pub fn link_status(path: &Path) -> io::Result<Status> {
    status_of(&to_look_at(path, FILE_FLAG_OPEN_REPARSE_POINT)?)
}

fn to_look_at(path: &Path, flags: u32) -> io::Result<File> {
    open(path, FILE_READ_ATTRIBUTES, SHARED, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | flags)
}

/// Reads bytes from byte `offset` on, and returns how many. It is 0 only at the end, or if `into` is empty.
pub fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    // SAFETY: [live] [in-bounds] the slice has that many bytes.
    unsafe { read_piece(file, into.as_mut_ptr(), into.len(), offset) }
}

/// Writes bytes over those from byte `position` on. The next bytes are written at the end of the file.
pub fn write_all_at(mut file: &File, bytes: &[u8], position: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match file.seek_write(&bytes[done..], position + done as u64)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            moved => done += moved,
        }
    }
    // Writing at a position has moved the one at which the next bytes are written.
    io::Seek::seek(&mut file, io::SeekFrom::End(0)).map(|_| ())
}

/// Moves a file to another name, and replaces the file that has it. Returns when that is on the disk.
pub fn replace(from: &Path, to: &Path) -> io::Result<()> {
    with_wide_path(from, |from| {
        with_wide_path(to, |to| {
            // SAFETY: [system] both paths end with zeros and live until the call returns.
            done_or_error(unsafe { MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) })
        })
    })
}

/// Removes a file that is not a folder.
pub fn remove(path: &Path) -> io::Result<()> {
    // SAFETY: [system] the path ends with a zero and lives until the call returns.
    with_wide_path(path, |path| done_or_error(unsafe { DeleteFileW(path) }))
}

/// The path of the file that is created when a missing file is opened. The system follows a symbolic link by itself.
pub fn created_by(path: &Path) -> io::Result<PathBuf> {
    owned(path)
}

/// The absolute path of an open file or folder, without symbolic links.
pub(super) fn final_path(file: &File) -> io::Result<PathBuf> {
    let mut found = [0_u16; LONGEST];
    // SAFETY: [system] [in-bounds] the handle is open, and the system writes at most as many units as the variable has.
    let length =
        unsafe { GetFinalPathNameByHandleW(file.as_raw_handle(), found.as_mut_ptr(), units(&found), FILE_NAME_NORMALIZED) };
    of_units(&found, length)
}

/// The absolute path of a file: without symbolic links if it exists.
pub fn absolute(path: &Path) -> io::Result<PathBuf> {
    match to_look_at(path, 0) {
        Ok(file) => final_path(&file),
        Err(_) => with_wide_path(path, |path| {
            let mut found = [0_u16; LONGEST];
            // SAFETY: [system] [in-bounds] the path ends with a zero, and the system writes at most as many units as the variable has.
            let length = unsafe { GetFullPathNameW(path, units(&found), found.as_mut_ptr(), ptr::null_mut()) };
            of_units(&found, length)
        }),
    }
}

/// The number of units, as the system takes it.
fn units(room: &[u16; LONGEST]) -> u32 {
    u32::try_from(room.len()).unwrap_or(0)
}

/// The path that a call has written. `length` is 0 if it failed, and more than there is room for if the path is too long.
fn of_units(found: &[u16; LONGEST], length: u32) -> io::Result<PathBuf> {
    match found.get(..length as usize) {
        Some([]) => Err(io::Error::last_os_error()),
        Some(path) => of_wide(path),
        None => Err(Code::NameTooLong.error()),
    }
}

/// The path in these wide characters. One that is not Unicode is refused.
fn of_wide(wide: &[u16]) -> io::Result<PathBuf> {
    // UTF-8 has at most three bytes for each of them.
    let bytes = 3 * wide.len();
    let mut path = String::new();
    path.try_reserve_exact(bytes).map_err(|_| NoMemory { bytes })?;
    for letter in char::decode_utf16(wide.iter().copied()) {
        path.push(letter.map_err(|_| Code::Unsupported.error())?);
    }
    Ok(path.into())
}

/// A copy of a path. One that is longer than a system takes is refused before it is copied.
pub fn owned(path: &Path) -> io::Result<PathBuf> {
    joined(&[path])
}

/// The path of a name in a folder. An absolute name is the path itself. The separator is the one that the path of the folder has.
pub fn in_folder(folder: &Path, name: &Path) -> io::Result<PathBuf> {
    let bytes = folder.as_os_str().as_encoded_bytes();
    let separator = match bytes.last() {
        None | Some(b'/' | b'\\' | b':') => "",
        _ if bytes.contains(&b'\\') => "\\",
        _ => "/",
    };
    // A path without a drive may still begin at the root.
    if name.has_root() || name.is_absolute() { joined(&[name]) } else { joined(&[folder, Path::new(separator), name]) }
}

/// The path that the pieces make up.
fn joined(pieces: &[&Path]) -> io::Result<PathBuf> {
    let length: usize = pieces.iter().map(|piece| piece.as_os_str().len()).sum();
    if length >= LONGEST {
        return Err(Code::NameTooLong.error());
    }
    let mut path = PathBuf::new();
    path.try_reserve_exact(length).map_err(|_| NoMemory { bytes: length })?;
    let mut path = path.into_os_string();
    for piece in pieces {
        path.push(piece);
    }
    Ok(path.into())
}
