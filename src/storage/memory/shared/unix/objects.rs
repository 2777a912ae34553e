//! Shared memory objects, which are files in a file system in memory: opening, creating, extending, listing and removing them.

use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::holders::{Holders, names_only, try_lock};
use crate::error::Error;
use crate::fallible::{self, boxed};
use crate::storage::locks;
use crate::storage::memory::shared::SharedObject;
use crate::system::{self, Code, Resource, files, texts};

/// The directory of the objects. On Linux it is the one that `shm_open` uses, so the objects of all programs are there.
const DIRECTORY: &str = "/dev/shm";

/// The unit of `st_blocks` in bytes.
const BLOCK: u64 = 512;

/// The permissions of an object that is being created under its name: those of a complete one, and the sticky bit as a mark. The
/// bit has no other meaning for a regular file.
const INCOMPLETE: u32 = 0o1600;

/// Whether the creator of an object has not completed it.
pub fn is_incomplete(metadata: &Metadata) -> bool {
    metadata.mode() & 0o7177 == INCOMPLETE & 0o7177
}

/// An object, which may exist or not.
pub struct Object {
    /// [`DIRECTORY`], a slash, and the name.
    path: PathBuf,
}

/// What a storage in an object and its holder keep: the path of the object, each its own.
pub struct Kept {
    pub of_memory: Box<PathBuf>,
    pub of_holder: PathBuf,
}

/// The name of the object with this path, without a leading slash.
pub fn name_of(path: &Path) -> &OsStr {
    OsStr::from_bytes(&path.as_os_str().as_bytes()[DIRECTORY.len() + 1..])
}

/// How long an object is, and how much memory it has, in bytes. A new object has neither.
#[derive(Clone, Copy, Default)]
pub struct Extent {
    length: u64,
    allocated: u64,
}

impl Extent {
    pub fn of(metadata: &Metadata) -> Self {
        Self { length: metadata.len(), allocated: metadata.blocks() * BLOCK }
    }

    /// Whether the object has memory for its first `bytes` bytes. An object of another program may have holes, so the allocated blocks
    /// are checked, too.
    pub fn is_reserved(self, bytes: usize) -> bool {
        self.length >= bytes as u64 && self.allocated >= self.length
    }
}

/// Lists the shared memory objects that this process may open, sorted by name. Linux only.
///
/// The list contains the objects of other programs too, because nothing tells them from those of storages. An object that is not
/// [`held`](SharedObject::held) was left by a process that was killed, or belongs to another program. An object that a process is
/// creating is left out.
///
/// # Errors
/// [`Error::SharedMemory`] if the directory cannot be read.
pub fn shared_memory() -> Result<Vec<SharedObject>, Error> {
    let failure = |reason| Error::SharedMemory { action: "list", name: "".into(), reason };
    // No other thread may fork before this is done. Its child would inherit the descriptors opened here, and keep the locks tried here.
    let _holders = locks::holders();
    let mut objects = Vec::new();
    files::for_each_name(Path::new(DIRECTORY), |name| {
        let path = files::in_folder(Path::new(DIRECTORY), Path::new(name))?;
        let object = Object { path };
        // An object that was removed in between, or that belongs to another user, is left out.
        if let Ok(Some(file)) = object.open(libc::O_RDWR)
            && let Ok(metadata) = file.metadata()
            && let Ok(free) = try_lock(&file, libc::LOCK_EX)
            && metadata.nlink() > 0
            && (free || !is_incomplete(&metadata))
        {
            let name = files::owned(Path::new(name))?.into_os_string();
            fallible::push(&mut objects, SharedObject { name, bytes: metadata.len(), held: !free })?;
        }
        Ok(())
    })
    .map_err(failure)?;
    objects.sort_unstable_by(|one: &SharedObject, other| one.name.cmp(&other.name));
    Ok(objects)
}

/// Removes the name of a shared memory object. Returns false if nothing has the name. Storages over this memory keep it, and the
/// name can be used for a new object.
///
/// # Errors
/// [`Error::SharedMemoryName`] if the name is not valid, [`Error::SharedMemory`] if this process may not remove it.
pub fn unlink_shared_memory(name: &OsStr) -> Result<bool, Error> {
    let object = Object::named(name)?;
    match files::remove(&object.path) {
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true).map_err(object.failure("remove")),
    }
}

impl Object {
    /// The object with this name. The name may have leading slashes, as for `shm_open`.
    pub fn named(name: &OsStr) -> Result<Self, Error> {
        let bytes = name.as_bytes();
        let bare = &bytes[bytes.iter().take_while(|&&byte| byte == b'/').count()..];
        let why = match bare {
            b"" => "it is empty",
            b"." | b".." => "it is a directory",
            _ if bare.contains(&b'/') => "there is a slash in it",
            _ if system::has_zero_byte(name) => "there is a zero byte in it",
            _ => {
                let failed = |reason| Error::SharedMemory { action: "open", name: bare.into(), reason };
                let object = Self { path: files::in_folder(Path::new(DIRECTORY), texts::of_bytes(bare)).map_err(failed)? };
                return if cfg!(target_os = "linux") {
                    Ok(object)
                } else {
                    Err(object.unusable("open", "this system has no named shared memory; use a shared map of a file"))
                };
            }
        };
        Err(Error::SharedMemoryName { name: name.into(), why })
    }

    /// The name of the object, without a leading slash.
    pub fn name(&self) -> &OsStr {
        name_of(&self.path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Allocates what a storage in this object needs, and makes room for its holder. So nothing can fail when the object has been
    /// made or attached to.
    pub fn kept(&self, holders: &mut Holders) -> Result<Kept, Error> {
        holders.make_room()?;
        let path = || files::owned(&self.path).map_err(self.failure("open"));
        Ok(Kept { of_memory: boxed(path()?)?, of_holder: path()? })
    }

    /// Turns an error of the system into an [`Error`] about this object. `action` is a verb that says what failed.
    pub fn failure(&self, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |reason| Error::SharedMemory { action, name: self.name().into(), reason }
    }

    /// An error about this object that is none of the system's.
    pub fn unusable(&self, action: &'static str, why: &'static str) -> Error {
        Error::SharedMemoryUnusable { action, name: self.name().into(), why }
    }

    /// Whether anything has the name.
    pub fn exists(&self) -> bool {
        files::link_status(&self.path).is_ok()
    }

    /// Opens the object, with `O_RDWR` or `O_RDONLY`. Returns `None` if nothing has the name.
    pub fn open(&self, access: libc::c_int) -> Result<Option<File>, Error> {
        // The call must not wait for the other end of a pipe, and must not follow a link out of the directory.
        let flags = access | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        match files::open(&self.path, flags, 0) {
            Ok(file) => match file.metadata() {
                Ok(metadata) if metadata.is_file() => Ok(Some(file)),
                Ok(_) => Err(self.unusable("open", "it is not a regular file")),
                Err(reason) => Err(self.failure("open")(reason)),
            },
            Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(reason) => Err(self.failure("open")(reason)),
        }
    }

    /// Creates an empty object without a name (mode 0600). It ends with its descriptor, unless it gets a name. Returns `None` if
    /// this is not possible here, because the file system or the kernel cannot do it.
    pub fn create_unnamed(&self) -> Result<Option<File>, Error> {
        if names_only() {
            return Ok(None);
        }
        #[cfg(target_os = "linux")]
        let flags = libc::O_RDWR | libc::O_TMPFILE;
        #[cfg(not(target_os = "linux"))]
        let flags = libc::O_RDWR;
        match files::open(Path::new(DIRECTORY), flags, 0o600) {
            Ok(file) => Ok(Some(file)),
            // A kernel that does not know the flag opens a directory.
            Err(reason) if matches!(reason.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR)) => Ok(None),
            Err(reason) => Err(self.failure("create")(reason)),
        }
    }

    /// Creates an empty object with its name, as `shm_open` does. It is marked as incomplete until [`complete`](Self::complete) is
    /// called. Returns `None` if something else has the name.
    pub fn create_incomplete(&self) -> Result<Option<File>, Error> {
        match files::open(&self.path, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, INCOMPLETE) {
            Err(reason) if reason.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            other => other.map(Some).map_err(self.failure("create")),
        }
    }

    /// Takes the mark from an object that [`create_incomplete`](Self::create_incomplete) has created.
    pub fn complete(&self, file: &File) -> Result<(), Error> {
        let complete = |metadata: Metadata| file.set_permissions(Permissions::from_mode(metadata.mode() & 0o777));
        file.metadata().and_then(complete).map_err(self.failure("create"))
    }

    /// Gives the name to an object that was created without one. Returns false if something else has the name. An error means
    /// that this is not possible here. For example, kernels before 6.10 need `/proc` for it.
    pub fn give_name(&self, file: &File) -> io::Result<bool> {
        match system::link(file, &self.path) {
            Err(reason) if reason.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// Whether an open object still has a name.
    pub fn has_name(&self, file: &File) -> Result<bool, Error> {
        file.metadata().map(|metadata| metadata.nlink() > 0).map_err(self.failure("read the size of"))
    }

    /// Makes the object at least `bytes` bytes long, and reserves memory for all of them. So a full file system is an error here
    /// and not a SIGBUS later. `extent` is what the object has. If another process extends the object at the same time, it does not
    /// become shorter.
    pub fn extend(&self, file: &File, extent: Extent, bytes: usize) -> Result<(), Error> {
        if extent.is_reserved(bytes) {
            return Ok(());
        }
        let (Extent { length, allocated }, bytes) = (extent, bytes as u64);
        if length < bytes && system::soft_limit(Resource::FileLength).is_some_and(|limit| bytes > limit) {
            return Err(self.failure("extend")(Code::FileTooLong.error()));
        }
        let full = |free| Error::SharedMemoryFull { name: self.name().into(), bytes, free };
        // If there is too little space, the last call below would fill the file system for a moment. So the free space is checked
        // first. A single page is there or not, so it needs no check.
        let missing = bytes.saturating_sub(allocated);
        if missing > system::page_size() as u64 {
            let free = system::free_space(file).map_err(self.failure("extend"))?;
            if missing > free {
                return Err(full(free));
            }
        }
        system::reserve(file, 0, bytes).map_err(|reason| match reason.raw_os_error() {
            Some(libc::ENOSPC) => full(system::free_space(file).unwrap_or(0)),
            _ => self.failure("extend")(reason),
        })
    }
}
