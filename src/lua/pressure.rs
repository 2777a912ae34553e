//! Collector pressure: Lua does not see the memory of storages, so its collector is called when much of it may be garbage.
//!
//! What is weighed is the whole process: no books are kept of which Lua state holds what, and none can go wrong. A state whose
//! limit is passed by the growth of another collects once, and its limit grows with it.

use super::context::{Context, Shared};
use super::state::{Raising, State};
use crate::storage::{held, weight};

/// Less than this is never worth a collection.
const FLOOR: usize = 64 << 20;

/// A finalizer that raises ends a collection early: it is begun again this often.
const TRIES: usize = 32;

/// Collects if more has been allocated since the last time than the heap held then, than 64 MiB, and than four times Lua's own
/// heap. Called before arguments are read, because finalizers run here and may change any storage.
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
        // Much has been freed since: what was allowed on top of it is too much now.
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

/// The next collection is due when as much again has come on top of what the heap holds.
pub fn set_limit(state: State, shared: &Shared) {
    let now = weight();
    let growth = FLOOR.max(held().heap).max(state.heap_bytes().saturating_mul(4));
    shared.base.set(now);
    shared.limit.set(now.saturating_add(growth));
}
