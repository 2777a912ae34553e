//! Runs Lua's collector when much of the memory of storages may be garbage, because Lua does not see that memory.
//!
//! The memory of the whole process counts: nobody records which Lua state holds which storage. If one Lua state allocates much, another
//! may collect once too early; its limit then grows.

use super::context::{Context, Shared};
use super::state::{Raising, State};
use crate::storage::{usage, weight};

/// Growth by fewer bytes than this is never worth a collection.
const FLOOR: usize = 64 << 20;

/// A finalizer that raises ends a collection early. It is started again at most this often.
const TRIES: usize = 32;

/// Collects if more bytes have been allocated since the last collection than storages held on the heap then, more than 64 MiB, and
/// more than four times Lua's own heap. Called before arguments are read, because finalizers run here and may change any storage.
#[inline]
pub fn relieve(lua: Raising) {
    let state = lua.state();
    let shared = Context::of(state).shared();
    let now = weight();
    if now > shared.limit.get() {
        if shared.tracking.get() {
            collect(lua);
        }
    } else if now.saturating_add(FLOOR) < shared.base.get() {
        // Much has been freed since the limit was set, so the limit is too high now.
        set_limit(state, shared);
    }
}

/// Runs a full collection, unless this is called by a finalizer in the middle of one.
#[cold]
pub fn collect(lua: Raising) {
    let state = lua.state();
    let shared = Context::of(state).shared();
    if !shared.collecting.replace(true) {
        let _ = (0..TRIES).any(|_| state.collect());
        shared.collecting.set(false);
        set_limit(state, shared);
    }
}

/// Sets the limit at which the next collection is due: when the bytes on the heap have doubled.
pub fn set_limit(state: State, shared: &Shared) {
    let now = weight();
    let growth = FLOOR.max(usage().heap).max(state.heap_bytes().saturating_mul(4));
    shared.base.set(now);
    shared.limit.set(now.saturating_add(growth));
}
