//! Collector pressure: Lua does not see the memory of storages, so its collector is called when much of it may be garbage.

use super::context::{Context, Shared};
use super::state::State;
use crate::storage::{OVERHEAD, Released};

/// Less than this is never worth a collection.
const FLOOR: usize = 64 << 20;

/// Collects if more has been allocated since the last time than was live then, than 64 MiB, and than four times Lua's own heap.
/// Called before arguments are read: finalizers run here and may change any storage.
///
/// # Safety
/// Runs Lua code: nothing droppable is alive, no storage is borrowed.
pub unsafe fn relieve(state: State) {
    let shared = Context::of(state).shared();
    if shared.live.get() > shared.limit.get() && shared.tracking.get() {
        // SAFETY: as the caller says.
        unsafe { collect(state) };
    }
}

/// A full collection, unless one of ours is running.
///
/// # Safety
/// As [`relieve`].
pub unsafe fn collect(state: State) -> bool {
    let shared = Context::of(state).shared();
    if shared.collecting.replace(true) {
        return false;
    }
    state.collect();
    shared.collecting.set(false);
    set_limit(state, shared);
    true
}

/// The next collection is due when as much again is live.
pub fn set_limit(state: State, shared: &Shared) {
    let live = shared.live.get();
    let growth = FLOOR.max(live).max(state.heap_bytes().saturating_mul(4));
    shared.limit.set(live.saturating_add(growth));
}

/// A storage of this state holds `bytes` of the heap.
pub fn made(state: State, bytes: usize) {
    let shared = Context::of(state).shared();
    shared.live.set(shared.live.get().saturating_add(bytes + OVERHEAD));
}

/// A storage of this state holds `after` bytes of the heap instead of `before`.
pub fn changed(state: State, before: usize, after: usize) {
    let shared = Context::of(state).shared();
    shared.live.set(shared.live.get().saturating_add(after).saturating_sub(before));
}

/// A reference of this state has ended.
pub fn released(state: State, released: Released) {
    let shared = Context::of(state).shared();
    shared.live.set(shared.live.get().saturating_sub(released.bytes + OVERHEAD));
    if let Some(anchor) = released.anchor {
        // Of another state's value nothing can be said here; its state frees it.
        if anchor.home == state.home() {
            state.unreference(anchor.reference);
        }
    }
}
