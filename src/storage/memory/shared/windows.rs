//! Shared memory on Windows: sections with names. The system ends a section with its last handle, however a process ends, so nothing has
//! to be removed. A section keeps no exact length, so its first bytes have it, and it never grows.

use std::ffi::{OsStr, c_void};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr;

use windows_sys::Win32::Foundation::{
    ERROR_ALREADY_EXISTS, GetLastError, INVALID_HANDLE_VALUE, WAIT_ABANDONED, WAIT_OBJECT_0, WAIT_TIMEOUT,
};
use windows_sys::Win32::System::Memory::{
    CreateFileMappingW, FILE_MAP, FILE_MAP_READ, FILE_MAP_WRITE, MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFile, OpenFileMappingW,
    PAGE_READWRITE, UnmapViewOfFile,
};
use windows_sys::Win32::System::Threading::{CreateMutexW, ReleaseMutex, WaitForSingleObject};

use super::{SharedAccess, SharedObject, Wanted};
use crate::error::Error;
use crate::fallible::boxed;
use crate::storage::memory::usage::{MAPS, PRIVATE, SHARED};
use crate::system::{self, Code, files};

/// How long to wait for another process that makes the memory of a name, in milliseconds.
const PATIENCE: u32 = 60_000;

/// The names of this login session.
const SPACE: &str = "Local\\torch-storage.";

/// What names the lock of a name has in addition.
const LOCK: &str = "lock.";

/// The longest name, in UTF-16.
const LONGEST: usize = 200;

/// What a section begins with. The elements follow it, aligned to 64 bytes.
#[repr(C, align(64))]
struct Front {
    /// [`MARK`], if the section is one of this library.
    mark: u64,
    /// The number of bytes that follow.
    length: u64,
}

const MARK: u64 = u64::from_le_bytes(*b"TORCHSHM");
const FRONT: usize = size_of::<Front>();

/// Processes that fork have a list of what they hold. This system has no `fork`, and closes the handles of a process that ends.
pub struct Holders;

impl Holders {
    pub const fn new() -> Self {
        Self
    }

    pub fn before_fork(&mut self) {}

    pub fn after_fork_in_parent(&mut self) {}

    pub fn after_fork_in_child(&mut self) {}
}

/// Shared memory that this process maps.
#[derive(Debug)]
pub struct SharedMemory {
    view: View,
    _section: OwnedHandle,
    bytes: usize,
    /// The name is in a block of its own, because the block of every storage has room for this.
    name: Box<Box<OsStr>>,
    /// Whether this process created the memory, or attached to it.
    access: SharedAccess,
}

impl SharedMemory {
    /// Attaches to the bytes of the memory with this name. With [`SharedAccess::Create`], missing memory is created if the number of bytes
    /// is given.
    pub fn open(name: &OsStr, wanted: Wanted) -> Result<Self, Error> {
        let name = Name::new(name)?;
        let _lock = name.lock()?;
        match (name.open(rights(wanted.access)), wanted.bytes) {
            (Ok(section), _) => name.attach(section, wanted),
            (Err(reason), _) if reason.kind() != io::ErrorKind::NotFound => Err(name.failure("open")(reason)),
            (Err(_), Some(bytes)) if wanted.access == SharedAccess::Create => name.create(bytes, |_| ()),
            (Err(_), _) => Err(Error::MissingSharedMemory { name: name.bare.into() }),
        }
    }

    /// Creates memory of `bytes` bytes. `fill` writes them before anybody else can attach to it.
    pub fn create(name: &OsStr, bytes: usize, fill: impl Fn(*mut u8)) -> Result<Self, Error> {
        let name = Name::new(name)?;
        let _lock = name.lock()?;
        name.create(bytes, fill)
    }

    /// Memory without a name is for children that the process forks.
    pub fn unnamed(_bytes: usize) -> Result<Self, Error> {
        let why = "it is for forked children, and Windows has no fork; give a name";
        Err(Error::Lacking { what: "there is no shared memory without a name", why })
    }

    pub fn data(&self) -> *mut u8 {
        if self.bytes == 0 { ptr::null_mut() } else { self.view.0.cast::<u8>().wrapping_add(FRONT) }
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn is_read_only(&self) -> bool {
        self.access == SharedAccess::Read
    }

    /// The name without a leading slash.
    pub fn name(&self) -> Option<&OsStr> {
        Some(&self.name)
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        SHARED.subtract(self.bytes);
        MAPS.subtract(1);
        if self.access == SharedAccess::Create {
            PRIVATE.subtract(self.bytes);
        }
    }
}

/// Windows does not list names.
///
/// # Errors
/// Always [`Error::Lacking`].
pub fn shared_memory() -> Result<Vec<SharedObject>, Error> {
    let why = "Windows does not list it; a program has to know the names that it uses";
    Err(Error::Lacking { what: "there is no list of shared memory", why })
}

/// Returns false if nothing has the name.
///
/// # Errors
/// [`Error::SharedMemoryName`] if the name is not valid, [`Error::SharedMemoryUnusable`] if anything has the name: it ends by itself.
pub fn unlink_shared_memory(name: &OsStr) -> Result<bool, Error> {
    let name = Name::new(name)?;
    match name.open(FILE_MAP_READ) {
        Ok(_) => Err(name.unusable("remove", "on Windows it ends with the last storage over it")),
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(reason) => Err(name.failure("remove")(reason)),
    }
}

/// A valid name.
struct Name<'a> {
    /// The name without leading slashes.
    bare: &'a OsStr,
}

impl<'a> Name<'a> {
    /// The name may have leading slashes, as on other systems.
    fn new(name: &'a OsStr) -> Result<Self, Error> {
        let text = name.to_str().unwrap_or_default().trim_start_matches('/');
        let why = match text {
            "" if name.to_str().is_none() => "it is not valid Unicode",
            "" => "it is empty",
            "." | ".." => "it is a directory",
            _ if text.contains(['/', '\\']) => "there is a slash in it",
            _ if system::has_zero_byte(name) => "there is a zero byte in it",
            _ if text.encode_utf16().count() > LONGEST => "it has more than 200 characters",
            _ => return Ok(Self { bare: OsStr::new(text) }),
        };
        Err(Error::SharedMemoryName { name: name.into(), why })
    }

    /// The name of the section, or of its lock, as the system takes it.
    fn wide(&self, kind: &str) -> [u16; SPACE.len() + LOCK.len() + LONGEST + 1] {
        let mut wide = [0; _];
        let units = SPACE.encode_utf16().chain(kind.encode_utf16()).chain(self.bare.encode_wide());
        // The zip stops before the end, because the name has at most `LONGEST` units.
        wide.iter_mut().zip(units).for_each(|(to, unit)| *to = unit);
        wide
    }

    fn failure(&self, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |reason| Error::SharedMemory { action, name: self.bare.into(), reason }
    }

    fn unusable(&self, action: &'static str, why: &'static str) -> Error {
        Error::SharedMemoryUnusable { action, name: self.bare.into(), why }
    }

    /// Waits until no other thread or process makes memory of this name or attaches to it. A process that is killed gives the lock back,
    /// and a section that it has not completed ends with it, because nobody else opens a section without the lock.
    fn lock(&self) -> Result<Lock, Error> {
        // SAFETY: [system] the name ends with a zero and lives until the call returns.
        let mutex = owned(unsafe { CreateMutexW(ptr::null(), 0, self.wide(LOCK).as_ptr()) }).map_err(self.failure("lock"))?;
        // SAFETY: [system] the handle is open.
        match unsafe { WaitForSingleObject(mutex.as_raw_handle(), PATIENCE) } {
            WAIT_OBJECT_0 | WAIT_ABANDONED => Ok(Lock(mutex)),
            WAIT_TIMEOUT => Err(self.unusable("lock", "another process keeps it locked")),
            _ => Err(self.failure("lock")(io::Error::last_os_error())),
        }
    }

    fn open(&self, rights: FILE_MAP) -> io::Result<OwnedHandle> {
        // SAFETY: [system] the name ends with a zero and lives until the call returns.
        owned(unsafe { OpenFileMappingW(rights, 0, self.wide("").as_ptr()) })
    }

    /// Maps a section that exists.
    fn attach(&self, section: OwnedHandle, wanted: Wanted) -> Result<SharedMemory, Error> {
        let front = View::of(&section, FRONT, FILE_MAP_READ).map_err(self.failure("map"))?;
        // SAFETY: [layout] the view has this many bytes, for which all values are valid. [alias] nobody writes them without the lock.
        let Front { mark, length } = unsafe { front.0.cast::<Front>().read() };
        if mark != MARK {
            return Err(self.unusable("open", "it is not one of this library"));
        }
        let length = usize::try_from(length).map_err(|_| self.failure("map")(Code::FileTooLong.error()))?;
        let bytes = wanted.bytes_of(length);
        if bytes > length && wanted.access != SharedAccess::Create {
            let name = self.bare.into();
            return Err(Error::SharedMemoryTooSmall { name, bytes: length as u64, needed: bytes as u64 });
        }
        if bytes > length {
            return Err(self.unusable("extend", "it is shorter, and shared memory does not grow on Windows"));
        }
        self.map(section, bytes, wanted.access.to_existing())
    }

    /// Makes a section, which must not exist.
    fn create(&self, bytes: usize, fill: impl Fn(*mut u8)) -> Result<SharedMemory, Error> {
        let (low, high) = system::halves((bytes as u64).saturating_add(FRONT as u64));
        let name = self.wide("");
        // SAFETY: [system] the name ends with a zero and lives until the call returns. No file belongs to the section.
        let section = unsafe { CreateFileMappingW(INVALID_HANDLE_VALUE, ptr::null(), PAGE_READWRITE, high, low, name.as_ptr()) };
        // SAFETY: [system] the call only reads a number of this thread.
        let existed = unsafe { GetLastError() } == ERROR_ALREADY_EXISTS;
        let section = owned(section).map_err(self.failure("create"))?;
        if existed {
            return Err(Error::SharedMemoryExists { name: self.bare.into() });
        }
        let shared = self.map(section, bytes, SharedAccess::Create)?;
        fill(shared.data());
        let front = Front { mark: MARK, length: bytes as u64 };
        // SAFETY: [layout] the view begins with room for this. [alias] nobody reads it without the lock.
        unsafe { shared.view.0.cast::<Front>().write(front) };
        Ok(shared)
    }

    fn map(&self, section: OwnedHandle, bytes: usize, access: SharedAccess) -> Result<SharedMemory, Error> {
        let whole = bytes.checked_add(FRONT).ok_or(Error::OutOfMemory { bytes })?;
        let name = files::owned(self.bare.as_ref()).map_err(self.failure("open"))?;
        let name = boxed(name.into_os_string().into_boxed_os_str())?;
        let view = View::of(&section, whole, rights(access)).map_err(self.failure("map"))?;
        SHARED.add(bytes);
        MAPS.add(1);
        if access == SharedAccess::Create {
            PRIVATE.add(bytes);
        }
        Ok(SharedMemory { view, _section: section, bytes, name, access })
    }
}

fn rights(access: SharedAccess) -> FILE_MAP {
    if access == SharedAccess::Read { FILE_MAP_READ } else { FILE_MAP_READ | FILE_MAP_WRITE }
}

/// A handle that a call has returned, or the error that it has set.
fn owned(handle: *mut c_void) -> io::Result<OwnedHandle> {
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: [owned] the handle is new, so nobody else has it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// The lock of a name, which this thread has.
struct Lock(OwnedHandle);

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: [system] the handle is open, and this thread has the lock.
        unsafe { ReleaseMutex(self.0.as_raw_handle()) };
    }
}

/// Mapped bytes of a section.
#[derive(Debug)]
struct View(*mut c_void);

impl View {
    /// Maps the first `bytes` bytes.
    fn of(section: &OwnedHandle, bytes: usize, rights: FILE_MAP) -> io::Result<Self> {
        // SAFETY: [system] the system chooses the address, so no other memory changes. [alias] only raw pointers lead to the view.
        let view = unsafe { MapViewOfFile(section.as_raw_handle(), rights, 0, 0, bytes) };
        if view.Value.is_null() { Err(io::Error::last_os_error()) } else { Ok(Self(view.Value)) }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: [owned] this value owns the view, and no storage uses it any more.
        unsafe { UnmapViewOfFile(MEMORY_MAPPED_VIEW_ADDRESS { Value: self.0 }) };
    }
}
