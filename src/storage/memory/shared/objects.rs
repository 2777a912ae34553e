//! Shared memory objects by their names: files of a file system in memory. Opened, created, extended, listed, removed.
//!
//! On Linux this directory is where `shm_open` has them too, of this and every other program.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::holders::try_lock;
use crate::error::Error;
use crate::storage::locks;
use crate::system::{self, Resource};

const DIRECTORY: &str = "/dev/shm";

/// The unit of `st_blocks`.
const BLOCK: u64 = 512;

/// The name of an object, which may exist or not.
pub struct Object {
    path: PathBuf,
}

/// A shared memory object of this machine, as [`shared_memory`] lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedObject {
    /// Its name, without a leading slash.
    pub name: OsString,
    /// Its length in bytes.
    pub bytes: u64,
    /// Whether a storage of some process holds it. What other programs have made is never held: they do not say so.
    pub held: bool,
}

/// All shared memory objects that this process may open, by name: those of storages and of other programs, which cannot be told
/// apart. One that is not [`held`](SharedObject::held) was left by a process that was killed, or is another program's.
///
/// # Errors
/// [`Error::SharedMemory`].
pub fn shared_memory() -> Result<Vec<SharedObject>, Error> {
    let failure = |reason| Error::SharedMemory { action: "list", name: OsString::new(), reason };
    // Not to be inherited by a child that another thread forks: the lock tried for here would stay.
    let _holders = locks::holders();
    let mut objects = Vec::new();
    for entry in fs::read_dir(DIRECTORY).map_err(failure)? {
        let object = Object { path: entry.map_err(failure)?.path() };
        // It may be gone by now, and it may be another user's.
        if let Ok(Some(file)) = object.open()
            && let Ok(metadata) = file.metadata()
            && let Ok(free) = try_lock(&file, libc::LOCK_EX)
            && metadata.nlink() > 0
        {
            objects.push(SharedObject { name: object.name().to_owned(), bytes: metadata.len(), held: !free });
        }
    }
    objects.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(objects)
}

/// Removes a name; false if there is no such one. Who maps the memory keeps it; the name is free for something new.
///
/// # Errors
/// [`Error::SharedMemoryName`], [`Error::SharedMemory`] if this process may not.
pub fn unlink_shared_memory(name: &OsStr) -> Result<bool, Error> {
    let object = Object::named(name)?;
    match fs::remove_file(&object.path) {
        Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true).map_err(object.failure("remove")),
    }
}

impl Object {
    /// Takes a name with leading slashes or without, as `shm_open` does.
    pub fn named(name: &OsStr) -> Result<Self, Error> {
        let bytes = name.as_bytes();
        let bare = &bytes[bytes.iter().take_while(|&&byte| byte == b'/').count()..];
        let why = match bare {
            b"" => "it is empty",
            b"." | b".." => "it is a directory",
            _ if bare.contains(&b'/') => "there is a slash in it",
            _ if system::has_zero_byte(name) => "there is a zero byte in it",
            _ => {
                let object = Self { path: Path::new(DIRECTORY).join(OsStr::from_bytes(bare)) };
                return if cfg!(target_os = "linux") {
                    Ok(object)
                } else {
                    Err(object.failure("open")(io::Error::other("on this system a file mapped shared has to do")))
                };
            }
        };
        Err(Error::SharedMemoryName { name: name.to_owned(), why })
    }

    /// Without the slash.
    pub fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn failure(&self, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |reason| Error::SharedMemory { action, name: self.name().to_owned(), reason }
    }

    /// Whether something has the name.
    pub fn exists(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }

    /// The object that has the name, if any.
    pub fn open(&self) -> Result<Option<File>, Error> {
        // Opening must not wait for the other end of a pipe, nor follow somebody's link out of the directory.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        match OpenOptions::new().read(true).write(true).custom_flags(flags).open(&self.path) {
            Ok(file) => match file.metadata() {
                Ok(metadata) if metadata.is_file() => Ok(Some(file)),
                Ok(_) => Err(self.failure("open")(io::Error::other("it is not a regular file"))),
                Err(reason) => Err(self.failure("open")(reason)),
            },
            Err(reason) if reason.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(reason) => Err(self.failure("open")(reason)),
        }
    }

    /// An empty object that has no name yet: it goes with its descriptor. Its owner alone may open it.
    pub fn create_unnamed(&self) -> Result<File, Error> {
        let mut options = OpenOptions::new();
        #[cfg(target_os = "linux")]
        options.custom_flags(libc::O_TMPFILE);
        options.read(true).write(true).mode(0o600).open(DIRECTORY).map_err(self.failure("create"))
    }

    /// Gives the name to such an object; false if something else has it.
    pub fn give_name(&self, file: &File) -> Result<bool, Error> {
        match system::link(file, &self.path) {
            Err(reason) if reason.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            other => other.map(|()| true).map_err(self.failure("create")),
        }
    }

    /// Makes the object at least `bytes` bytes long, with memory for all of them: a full file system is an error here and no
    /// SIGBUS later. Two who extend it at once do not shrink it.
    pub fn extend(&self, file: &File, bytes: usize) -> Result<(), Error> {
        let metadata = file.metadata().map_err(self.failure("read the size of"))?;
        let (length, allocated, bytes) = (metadata.len(), metadata.blocks() * BLOCK, bytes as u64);
        // Another program may have made it with holes.
        if length >= bytes && allocated >= length {
            return Ok(());
        }
        if length < bytes && system::soft_limit(Resource::FileLength).is_some_and(|limit| bytes > limit) {
            return Err(self.failure("extend")(io::Error::from_raw_os_error(libc::EFBIG)));
        }
        // To ask first spares others a file system that is full for a moment.
        let free = system::free_space(file).map_err(self.failure("extend"))?;
        if bytes.saturating_sub(allocated) > free {
            return Err(Error::SharedMemoryFull { name: self.name().to_owned(), bytes, free });
        }
        system::reserve(file, 0, bytes).map_err(|reason| match reason.raw_os_error() {
            Some(libc::ENOSPC) => Error::SharedMemoryFull { name: self.name().to_owned(), bytes, free },
            _ => self.failure("extend")(reason),
        })
    }
}
