//! Shared memory: attaching to an object by its name, creating an object, and unnamed memory for forked children.

mod creation;
mod holders;
mod objects;
mod region;

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Once;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub use holders::Holders;
pub use objects::{shared_memory, unlink_shared_memory};

use crate::error::Error;
use crate::storage::locks;
use crate::storage::memory::shared::{SharedAccess, Wanted};
use crate::storage::memory::usage::{MAPS, PRIVATE, SHARED};
use crate::system::{self, Code};
use creation::create;
use holders::{Ticket, leave, remove_name, try_lock};
use objects::{Extent, Kept, Object};
use region::Region;

/// How long to wait while another process has the exclusive lock of an object. A process has it while it extends an object that
/// nobody else holds. A program that does not use this library may have it for any time.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 60_000 });

/// Shared memory that this process maps.
#[derive(Debug)]
pub struct SharedMemory {
    region: Region,
    named: Option<Named>,
    /// Whether this process created the memory, or attached to an object that was there.
    access: SharedAccess,
}

#[derive(Debug)]
struct Named {
    /// The path is in a block of its own, because the block of every storage has room for this.
    path: Box<PathBuf>,
    ticket: Ticket,
}

impl Drop for Named {
    fn drop(&mut self) {
        locks::holders().leave(&self.ticket);
    }
}

impl SharedMemory {
    /// Attaches to the bytes of the object with this name. With [`SharedAccess::Create`], an object that is too short is extended, and a
    /// missing object is created if the number of bytes is given.
    pub fn open(name: &OsStr, wanted: Wanted) -> Result<Self, Error> {
        let object = Object::named(name)?;
        let mut end = None;
        loop {
            if let Some(shared) = try_open(&object, wanted)? {
                return Ok(shared);
            }
            let now = Instant::now();
            if now > *end.get_or_insert(now + PATIENCE) {
                return Err(object.unusable("lock", "another process keeps it locked"));
            }
            sleep(Duration::from_millis(1));
        }
    }

    /// Creates an object of `bytes` bytes. `fill` writes them before anybody else can attach to the object.
    pub fn create(name: &OsStr, bytes: usize, fill: impl Fn(*mut u8)) -> Result<Self, Error> {
        let object = Object::named(name)?;
        // This check avoids the work of `fill` in the usual case. Giving the name checks it again, reliably.
        let created = if object.exists() { None } else { create(&mut holders(), &object, bytes, fill)? };
        created.ok_or_else(|| Error::SharedMemoryExists { name: object.name().into() })
    }

    /// Makes `bytes` zero bytes that this process shares with the children that it forks afterwards.
    pub fn unnamed(bytes: usize) -> Result<Self, Error> {
        let region = Region::map(None, bytes, false).map_err(|_| Error::OutOfMemory { bytes })?;
        Ok(Self::new(region, None, SharedAccess::Create))
    }

    fn new(region: Region, named: Option<Named>, access: SharedAccess) -> Self {
        SHARED.add(region.bytes());
        MAPS.add(1);
        if access == SharedAccess::Create {
            PRIVATE.add(region.bytes());
        }
        Self { region, named, access }
    }

    pub fn data(&self) -> *mut u8 {
        self.region.data()
    }

    pub fn bytes(&self) -> usize {
        self.region.bytes()
    }

    pub fn is_read_only(&self) -> bool {
        self.access == SharedAccess::Read
    }

    /// The name without a leading slash, if the memory has one.
    pub fn name(&self) -> Option<&OsStr> {
        self.named.as_ref().map(|named| objects::name_of(&named.path))
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        SHARED.subtract(self.bytes());
        MAPS.subtract(1);
        if self.access == SharedAccess::Create {
            PRIVATE.subtract(self.bytes());
        }
    }
}

/// Locks the holders of this process. The first call arranges that they leave when the process ends.
fn holders() -> locks::Guard<Holders> {
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| {
        // The call fails only without memory. The names then stay at the end of the process, as if it had been killed.
        // SAFETY: [system] the handler is a function of this library, which is never unloaded.
        let _ = unsafe { libc::atexit(leave_all) };
    });
    locks::holders()
}

/// Ends the holders when the process ends. Storages that are still alive stay mapped, because other threads may use them.
extern "C" fn leave_all() {
    locks::holders_at_exit().leave_all();
}

/// Attaches to an object or creates it. Returns `None` if another process is changing it just now. The caller then tries again.
fn try_open(object: &Object, wanted: Wanted) -> Result<Option<SharedMemory>, Error> {
    // The lock is held from opening the object to adding the holder, so that no other thread forks in between.
    let mut holders = holders();
    let access = if wanted.access == SharedAccess::Read { libc::O_RDONLY } else { libc::O_RDWR };
    match (object.open(access)?, wanted.bytes) {
        (Some(file), _) => attach(&mut holders, object, file, wanted),
        (None, Some(bytes)) if wanted.access == SharedAccess::Create => create(&mut holders, object, bytes, |_| ()),
        (None, _) => Err(Error::MissingSharedMemory { name: object.name().into() }),
    }
}

/// Attaches to an object that exists. Returns `None` if another process is changing it just now, or has removed its name.
fn attach(holders: &mut Holders, object: &Object, file: File, wanted: Wanted) -> Result<Option<SharedMemory>, Error> {
    let kept = object.kept(holders)?;
    let try_lock = |kind| try_lock(&file, kind).map_err(object.failure("lock"));
    // If the exclusive lock is free, the last holder was killed, or the object belongs to another program. Then the object must
    // not be removed if this call fails. The exclusive lock keeps others out until this call is done.
    let abandoned = try_lock(libc::LOCK_EX)?;
    if !abandoned && !try_lock(libc::LOCK_SH)? {
        return Ok(None);
    }
    let metadata = file.metadata().map_err(object.failure("read the size of"))?;
    if objects::is_incomplete(&metadata) {
        // Nobody else has the lock, so its creator was killed, or has not locked it yet. In that case it creates another one.
        if abandoned {
            remove_name(&file, object.path());
        }
        return Ok(None);
    }
    match map_existing(object, &file, &metadata, wanted) {
        Ok(Some(region)) if !abandoned || try_lock(libc::LOCK_SH)? => {
            Ok(Some(join(holders, kept, file, region, wanted.access.to_existing())))
        }
        Ok(_) => Ok(None),
        Err(reason) => {
            // The other holders may have left by now. Then this call was the last holder and has to remove the name.
            if !abandoned {
                leave(&file, object.path());
            }
            Err(reason)
        }
    }
}

/// Maps an object that exists. Returns `None` if the last holder has removed its name since it was opened.
fn map_existing(object: &Object, file: &File, metadata: &Metadata, wanted: Wanted) -> Result<Option<Region>, Error> {
    if metadata.nlink() == 0 {
        return Ok(None);
    }
    let length = usize::try_from(metadata.len()).map_err(|_| object.failure("map")(Code::FileTooLong.error()))?;
    let bytes = wanted.bytes_of(length);
    if bytes > length && wanted.access != SharedAccess::Create {
        let name = object.name().into();
        return Err(Error::SharedMemoryTooSmall { name, bytes: metadata.len(), needed: bytes as u64 });
    }
    let extent = Extent::of(metadata);
    if wanted.access != SharedAccess::Read {
        return extend_and_map(object, file, extent, bytes).map(Some);
    }
    // Memory is reserved for the holes of another program's object here, too. That takes a descriptor that can write.
    if !extent.is_reserved(bytes) {
        match object.open(libc::O_RDWR)? {
            Some(writable) if system::is_same(file, &writable) => object.extend(&writable, extent, bytes)?,
            _ => return Ok(None),
        }
    }
    Region::map(Some(file), bytes, true).map(Some).map_err(object.failure("map"))
}

fn extend_and_map(object: &Object, file: &File, extent: Extent, bytes: usize) -> Result<Region, Error> {
    object.extend(file, extent, bytes)?;
    Region::map(Some(file), bytes, false).map_err(object.failure("map"))
}

/// Adds a holder of an object, for which [`Object::kept`] has allocated everything.
fn join(holders: &mut Holders, kept: Kept, file: File, region: Region, access: SharedAccess) -> SharedMemory {
    let named = Named { path: kept.of_memory, ticket: holders.join(file, kept.of_holder) };
    SharedMemory::new(region, Some(named), access)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::error::Error as AnyError;
    use std::ffi::{OsStr, OsString};
    use std::fs::{self, File};
    use std::process;
    use std::thread::{self, sleep};

    use super::{Object, PATIENCE, SharedAccess, SharedMemory, Wanted, try_lock};
    use crate::error::Error;
    use crate::storage::memory::usage::{SHARED, weight};

    fn create(bytes: usize) -> Wanted {
        Wanted { bytes: Some(bytes), width: 1, access: SharedAccess::Create }
    }

    /// The other test may run at the same time, but its shared memory has 0 bytes.
    #[test]
    fn shared_memory_is_counted_until_it_is_dropped() -> Result<(), Error> {
        let name = OsString::from(format!("torch-storage-tally-{}", process::id()));
        let one = SharedMemory::open(&name, create(1000))?;
        let two = SharedMemory::open(&name, Wanted { bytes: None, width: 8, access: SharedAccess::Read })?;
        let three = SharedMemory::unnamed(50)?;
        assert_eq!(SHARED.get(), 2050);
        assert!(weight() >= 2050);
        assert!(SharedMemory::open(&name, create(1 << 50)).is_err() && SharedMemory::create(&name, 1, |_| ()).is_err());
        assert_eq!(SHARED.get(), 2050);
        drop((one, two, three));
        assert_eq!(SHARED.get(), 0);
        Ok(())
    }

    /// The test itself has the lock, like a program that does not use this library.
    #[test]
    fn a_locked_object_is_waited_for_but_not_for_ever() -> Result<(), Box<dyn AnyError>> {
        let object = Object::named(OsStr::new(&format!("torch-storage-locked-{}", process::id())))?;
        let file = File::create_new(object.path())?;
        let removed = || fs::remove_file(object.path());
        assert!(try_lock(&file, libc::LOCK_EX)?);
        let locked =
            SharedMemory::open(object.name(), create(0)).err().ok_or("attaching succeeded although the object is locked");
        let waiting = thread::spawn({
            let name = object.name().to_owned();
            move || SharedMemory::open(&name, create(0)).map(|shared| shared.bytes())
        });
        sleep(PATIENCE / 4);
        drop(file);
        let bytes = waiting.join().map_err(|_| "the thread failed");
        // The last holder, which is the thread, has removed the name.
        let left = removed().is_ok();
        assert!(locked?.to_string().ends_with("another process keeps it locked"));
        assert_eq!((bytes??, left), (0, false));
        Ok(())
    }
}
