//! Runs Lua's collector when much of the memory of storages may be garbage. Lua does not count that memory itself.
//!
//! What counts is the weight of all storages of the process ([`weight`]), because nothing records how much of it each Lua state holds.
//! If one Lua state allocates much, another may run its collector once too early. That also sets its limit higher.

use super::context::{Context, Shared};
use super::state::{Raising, State};
use crate::storage::{usage, weight};

/// A collection is never worth it while the weight has grown by fewer bytes than this.
const FLOOR: usize = 64 << 20;

/// How often a collection is tried in all. A finalizer that raises ends it early, and then it is started again.
const TRIES: usize = 32;

/// Runs a full collection if the weight of all storages has passed the limit, unless `torch.setheaptracking` has turned that off. If
/// the weight has fallen much since the limit was set, sets a new limit. Called before arguments are read, because finalizers run here and
/// may change any storage.
#[inline]
pub fn relieve(lua: Raising) {
    relieve_for(lua, Context::of(lua.state()).shared());
}

/// Does the same as [`relieve`] for a function that has looked up `shared` already.
#[inline]
pub fn relieve_for(lua: Raising, shared: &Shared) {
    let now = weight();
    if now > shared.limit.get() {
        if shared.tracking.get() {
            collect(lua);
        }
    } else if now.saturating_add(FLOOR) < shared.base.get() {
        // The weight has fallen by more than 64 MiB since the limit was set, so the limit is too high now.
        set_limit(lua.state(), shared);
    }
}

/// Runs a full collection and sets a new limit. Does nothing if a finalizer calls this in the middle of such a collection.
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

/// Sets the limit that the weight has to pass before the next collection. From now on it may grow by the bytes that storages have on
/// the heap, by four times the size of Lua's own heap, or by 64 MiB, whichever is the most.
pub fn set_limit(state: State, shared: &Shared) {
    let now = weight();
    let growth = FLOOR.max(usage().heap).max(state.heap_bytes().saturating_mul(4));
    shared.base.set(now);
    shared.limit.set(now.saturating_add(growth));
}
