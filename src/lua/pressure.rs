//! Collector pressure: Lua does not see the memory of storages, so its collector is called when much of it may be garbage.
//!
//! What is weighed is the whole process: no books are kept of which Lua state holds what, and none can go wrong. A state whose
//! limit is passed by the growth of another collects once, and its limit grows with it.

use super::context::{Context, Shared};
use super::state::State;
use crate::storage::weight;

/// Less than this is never worth a collection.
const FLOOR: usize = 64 << 20;

/// Collects if more has been allocated since the last time than there was then, than 64 MiB, and than four times Lua's own heap.
/// Called before arguments are read: finalizers run here and may change any storage.
///
/// # Safety
/// Runs Lua code: nothing droppable is alive, no storage is borrowed.
#[inline]
pub unsafe fn relieve(state: State) {
    let shared = Context::of(state).shared();
    if weight() > shared.limit.get() && shared.tracking.get() {
        // SAFETY: as the caller says.
        unsafe { collect(state) };
    }
}

/// A full collection, unless one of ours is running: finalizers that build storages start no other.
///
/// # Safety
/// As [`relieve`].
#[cold]
pub unsafe fn collect(state: State) {
    let shared = Context::of(state).shared();
    if !shared.collecting.replace(true) {
        state.collect();
        shared.collecting.set(false);
        set_limit(state, shared);
    }
}

/// The next collection is due when as much again has come on top of what there is.
pub fn set_limit(state: State, shared: &Shared) {
    let now = weight();
    let growth = FLOOR.max(now).max(state.heap_bytes().saturating_mul(4));
    shared.limit.set(now.saturating_add(growth));
}
