//! Creating a shared memory object. Others must not see a part of it, and a failure leaves nothing behind. There are two ways:
//!
//! - *Without a name first.* The object gets its name when it is complete. This is the way on Linux. It needs a file system that
//!   has `O_TMPFILE`, and before Linux 6.10 also `/proc`.
//! - *With its name*, as `shm_open` creates it, where the first way is not possible. Its permissions have a mark until it is
//!   complete, and its creator has the exclusive lock. Whoever attaches waits for the creator. If the creator is killed, the name
//!   stays, and whoever uses the name next removes it.

use std::fs::File;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::holders::{Holders, remove_name, try_lock};
use super::objects::{Extent, Kept, Object};
use super::region::Region;
use super::{PATIENCE, SharedMemory, extend_and_map, join};
use crate::error::Error;
use crate::storage::memory::shared::SharedAccess;

/// Creates an object of `bytes` bytes, which `fill` writes. Returns `None` if something else has the name.
pub fn create(
    holders: &mut Holders,
    object: &Object,
    bytes: usize,
    fill: impl Fn(*mut u8),
) -> Result<Option<SharedMemory>, Error> {
    let kept = object.kept(holders)?;
    let Some(file) = object.create_unnamed()? else {
        return create_with_name(holders, object, kept, bytes, fill);
    };
    try_lock(&file, libc::LOCK_SH).map_err(object.failure("lock"))?;
    let region = extend_and_map(object, &file, Extent::default(), bytes)?;
    fill(region.data());
    match object.give_name(&file) {
        Ok(given) => Ok(given.then(|| join(holders, kept, file, region, SharedAccess::Create))),
        // Asking beforehand whether this will work would cost every creation a system call. The memory is given back before it is
        // needed a second time.
        Err(_) => {
            drop((region, file));
            create_with_name(holders, object, kept, bytes, fill)
        }
    }
}

fn create_with_name(
    holders: &mut Holders,
    object: &Object,
    kept: Kept,
    bytes: usize,
    fill: impl Fn(*mut u8),
) -> Result<Option<SharedMemory>, Error> {
    let file = loop {
        let Some(file) = object.create_incomplete()? else { return Ok(None) };
        // Another process may lock it first, take it for the object of a killed creator, and remove the name.
        let locked = wait_for_lock(object, &file, libc::LOCK_EX).and_then(|()| object.has_name(&file));
        if locked.or_else(|reason| give_up(object, &file, reason))? {
            break file;
        }
    };
    match complete(object, &file, bytes, fill) {
        Ok(region) => Ok(Some(join(holders, kept, file, region, SharedAccess::Create))),
        Err(reason) => give_up(object, &file, reason),
    }
}

fn give_up<T>(object: &Object, file: &File, reason: Error) -> Result<T, Error> {
    remove_name(file, object.path());
    Err(reason)
}

fn complete(object: &Object, file: &File, bytes: usize, fill: impl Fn(*mut u8)) -> Result<Region, Error> {
    let region = extend_and_map(object, file, Extent::default(), bytes)?;
    fill(region.data());
    object.complete(file)?;
    wait_for_lock(object, file, libc::LOCK_SH)?;
    Ok(region)
}

/// Takes a lock of an object that nobody else holds. Others lock it for a moment to look at it.
fn wait_for_lock(object: &Object, file: &File, kind: libc::c_int) -> Result<(), Error> {
    let end = Instant::now() + PATIENCE;
    while !try_lock(file, kind).map_err(object.failure("lock"))? {
        if Instant::now() > end {
            return Err(object.unusable("lock", "another process keeps it locked"));
        }
        sleep(Duration::from_millis(1));
    }
    Ok(())
}
