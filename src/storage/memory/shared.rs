//! Shared memory: attached by a name, created with it, or without one for forked children.

mod holders;
mod objects;
mod region;

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Once;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub use holders::Holders;
pub use objects::{SharedObject, shared_memory, unlink_shared_memory};

use super::usage::{MAPS, PRIVATE, SHARED};
use crate::error::Error;
use crate::storage::locks;
use holders::{Ticket, leave, open_again, try_lock};
use objects::Object;
use region::Region;

/// How long another process may have an object for itself: while it extends one that it has found abandoned, or by a program
/// that is not ours.
const PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 60_000 });

/// Shared memory that this process maps.
#[derive(Debug)]
pub struct SharedMemory {
    region: Region,
    named: Option<Named>,
    /// Whether this process has made it: there was none before.
    created: bool,
}

#[derive(Debug)]
struct Named {
    name: OsString,
    ticket: Ticket,
}

impl Drop for Named {
    fn drop(&mut self) {
        locks::holders().leave(&self.ticket);
    }
}

impl SharedMemory {
    /// Attaches to `bytes` bytes of the object of that name, or, given none, to as many whole units of `width` bytes as it has.
    /// One that is short is extended; one that is missing is created.
    pub fn open(name: &OsStr, bytes: Option<usize>, width: usize) -> Result<Self, Error> {
        let object = Object::named(name)?;
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(shared) = try_open(&object, bytes, width)? {
                return Ok(shared);
            }
            if Instant::now() > end {
                return Err(object.failure("lock")(io::Error::other("another process does not unlock it")));
            }
            sleep(Duration::from_millis(1));
        }
    }

    /// Creates an object of `bytes` bytes, which `fill` gets to write before anybody can attach to it.
    pub fn create(name: &OsStr, bytes: usize, fill: impl FnOnce(*mut u8)) -> Result<Self, Error> {
        let object = Object::named(name)?;
        // Told early, because `fill` may have much to do; the link tells for certain.
        let created = if object.exists() { None } else { create(&mut holders(), &object, bytes, fill)? };
        created.ok_or_else(|| Error::SharedMemoryExists { name: object.name().to_owned() })
    }

    /// `bytes` zero bytes that this process shares with the children that it will fork.
    pub fn unnamed(bytes: usize) -> Result<Self, Error> {
        let region = Region::map(None, bytes).map_err(|_| Error::OutOfMemory { bytes })?;
        Ok(Self::new(region, None, true))
    }

    fn new(region: Region, named: Option<Named>, created: bool) -> Self {
        SHARED.add(region.bytes());
        MAPS.add(1);
        if created {
            PRIVATE.add(region.bytes());
        }
        Self { region, named, created }
    }

    pub fn data(&self) -> *mut u8 {
        self.region.data()
    }

    pub fn bytes(&self) -> usize {
        self.region.bytes()
    }

    /// The name, without a leading slash.
    pub fn name(&self) -> Option<&OsStr> {
        self.named.as_ref().map(|named| named.name.as_os_str())
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        SHARED.subtract(self.bytes());
        MAPS.subtract(1);
        if self.created {
            PRIVATE.subtract(self.bytes());
        }
    }
}

/// The holders of this process, who leave when it ends.
fn holders() -> locks::Guard<Holders> {
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| {
        // A failure (no memory) is as if the process were killed: the names stay, and can be removed.
        // SAFETY: [system] the handler is a function of this library, which is linked never to be unloaded.
        let _ = unsafe { libc::atexit(leave_all) };
    });
    locks::holders()
}

/// The process ends, perhaps with storages alive. Their memory stays mapped: other threads may still use it.
extern "C" fn leave_all() {
    locks::holders().leave_all();
}

/// Attaches or creates. None if another process is in the middle of something: it is to be tried again.
fn try_open(object: &Object, bytes: Option<usize>, width: usize) -> Result<Option<SharedMemory>, Error> {
    // From opening to joining, so that no other thread forks in between.
    let mut holders = holders();
    match (object.open()?, bytes) {
        (Some(file), _) => attach(&mut holders, object, file, bytes, width),
        (None, Some(bytes)) => create(&mut holders, object, bytes, |_| ()),
        (None, None) => Err(Error::MissingSharedMemory { name: object.name().to_owned() }),
    }
}

fn attach(
    holders: &mut Holders,
    object: &Object,
    file: File,
    bytes: Option<usize>,
    width: usize,
) -> Result<Option<SharedMemory>, Error> {
    holders.make_room()?;
    let try_lock = |kind| try_lock(&file, kind).map_err(object.failure("lock"));
    // The last holder was killed, or it is another program's. It must survive our failure, and nobody comes in meanwhile.
    let abandoned = try_lock(libc::LOCK_EX)?;
    if !abandoned && !try_lock(libc::LOCK_SH)? {
        return Ok(None);
    }
    match map_existing(object, &file, bytes, width) {
        Ok(Some(region)) if !abandoned || try_lock(libc::LOCK_SH)? => Ok(Some(join(holders, object, file, region, false))),
        Ok(_) => Ok(None),
        Err(reason) => {
            // The other holders may have left meanwhile, and left the name to us.
            if !abandoned {
                leave(&file, object.path());
            }
            Err(reason)
        }
    }
}

/// None if the last holder has removed the name since the object was opened.
fn map_existing(object: &Object, file: &File, bytes: Option<usize>, width: usize) -> Result<Option<Region>, Error> {
    let metadata = file.metadata().map_err(object.failure("read the size of"))?;
    if metadata.nlink() == 0 {
        return Ok(None);
    }
    let too_long = |_| object.failure("map")(io::Error::from_raw_os_error(libc::EFBIG));
    let bytes =
        bytes.map_or_else(|| usize::try_from(metadata.len()).map(|length| length / width * width), Ok).map_err(too_long)?;
    extend_and_map(object, file, bytes).map(Some)
}

fn extend_and_map(object: &Object, file: &File, bytes: usize) -> Result<Region, Error> {
    object.extend(file, bytes)?;
    // What is mapped is not what is locked: a map keeps its opening, and would keep the lock, in every child that inherits it.
    let mapped = open_again(file, OpenOptions::new().read(true).write(true));
    mapped.and_then(|mapped| Region::map(Some(&mapped), bytes)).map_err(object.failure("map"))
}

/// The object gets its name when it is ready, so that others find all of it or nothing, and a failure leaves nothing. None if
/// something else has the name.
fn create(
    holders: &mut Holders,
    object: &Object,
    bytes: usize,
    fill: impl FnOnce(*mut u8),
) -> Result<Option<SharedMemory>, Error> {
    holders.make_room()?;
    let file = object.create_unnamed()?;
    try_lock(&file, libc::LOCK_SH).map_err(object.failure("lock"))?;
    let region = extend_and_map(object, &file, bytes)?;
    fill(region.data());
    Ok(object.give_name(&file)?.then(|| join(holders, object, file, region, true)))
}

fn join(holders: &mut Holders, object: &Object, file: File, region: Region, created: bool) -> SharedMemory {
    let named = Named { name: object.name().to_owned(), ticket: holders.join(file, object.path().to_owned()) };
    SharedMemory::new(region, Some(named), created)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::error::Error as AnyError;
    use std::ffi::{OsStr, OsString};
    use std::fs::{self, File};
    use std::process;
    use std::thread::{self, sleep};

    use super::{Object, PATIENCE, SharedMemory, try_lock};
    use crate::error::Error;
    use crate::storage::memory::usage::{SHARED, weight};

    /// The other test, which may run at the same time, has no bytes.
    #[test]
    fn what_is_held_is_counted_until_it_is_left() -> Result<(), Error> {
        let name = OsString::from(format!("torch-storage-tally-{}", process::id()));
        let one = SharedMemory::open(&name, Some(1000), 1)?;
        let two = SharedMemory::open(&name, None, 8)?;
        let three = SharedMemory::unnamed(50)?;
        assert_eq!(SHARED.get(), 2050);
        assert!(weight() >= 2050);
        assert!(SharedMemory::open(&name, Some(1 << 50), 1).is_err() && SharedMemory::create(&name, 1, |_| ()).is_err());
        assert_eq!(SHARED.get(), 2050);
        drop((one, two, three));
        assert_eq!(SHARED.get(), 0);
        Ok(())
    }

    /// Of a program that locks and does not let go.
    #[test]
    fn what_is_locked_is_waited_for_and_not_for_ever() -> Result<(), Box<dyn AnyError>> {
        let object = Object::named(OsStr::new(&format!("torch-storage-locked-{}", process::id())))?;
        let file = File::create_new(object.path())?;
        let removed = || fs::remove_file(object.path());
        assert!(try_lock(&file, libc::LOCK_EX)?);
        let locked = SharedMemory::open(object.name(), Some(0), 1).err().ok_or("it is locked");
        let waiting = thread::spawn({
            let name = object.name().to_owned();
            move || SharedMemory::open(&name, Some(0), 1).map(|shared| shared.bytes())
        });
        sleep(PATIENCE / 4);
        drop(file);
        let bytes = waiting.join().map_err(|_| "the thread failed");
        // The one who came last has removed it.
        let left = removed().is_ok();
        assert!(locked?.to_string().ends_with("another process does not unlock it"));
        assert_eq!((bytes??, left), (0, false));
        Ok(())
    }
}
