//! Methods about who holds a storage: retain, free, the collector's `__gc`, identity.

use std::cell::Cell;

use super::Method;
use crate::lua::args::Call;
use crate::lua::context::Context;
use crate::lua::entry::{Answer, function};
use crate::lua::fault::Fault;
use crate::lua::state::{HAS_CLOSE, State};
use crate::lua::userdata;
use crate::storage::Anchor;

pub const METHODS: &[Method] =
    &[(c"retain", function(retain)), (c"free", function(free)), (c"__gc", function(collected)), (c"__eq", function(same))];

/// The metamethod that Lua 5.4 and later call when a variable with the attribute `close` goes out of scope.
pub const CLOSE: Option<Method> = if HAS_CLOSE { Some((c"__close", function(collected))) } else { None };

/// `s:retain()`: takes one more reference, which `free()` gives back or `torch.pushudata` takes over. A storage has at most
/// 2^31-1 references. Torch7.
fn retain(call: Call) -> Result<Answer, Fault> {
    call.this()?.retain(call.state_id())?;
    Ok(Answer::Nothing)
}

/// `s:free()`: gives back a reference of `retain()` if this Lua state has one outstanding. Otherwise it gives back the
/// userdata's own reference, and the userdata is dead afterwards. Differs from Torch7, which then used freed memory.
fn free(call: Call) -> Result<Answer, Fault> {
    if !call.this()?.release_retained(call.state_id()) {
        give_back(call);
    }
    Ok(Answer::Nothing)
}

/// `__gc`: gives back the userdata's own reference. Does nothing for a storage that was freed, or for any other value.
fn collected(call: Call) -> Result<Answer, Fault> {
    give_back(call);
    Ok(Answer::Nothing)
}

/// `a == b`: whether two userdata have the same storage. Torch7.
fn same(call: Call) -> Result<Answer, Fault> {
    // SAFETY: [live] both userdata stay in their slots, and no Lua code runs.
    let identity = |n| unsafe { userdata::payload(call.state(), n) }.and_then(|(payload, _)| userdata::storage(payload));
    Ok(Answer::Boolean(match (identity(1), identity(2)) {
        (Some(a), Some(b)) => a.address() == b.address(),
        _ => false,
    }))
}

/// Frees the registry slot that kept the owner of foreign memory alive. Does nothing for an anchor of another Lua state, because
/// only that state can free its slot.
pub fn give_back_anchor(state: State, anchor: Option<Anchor>) {
    if let Some(anchor) = anchor.filter(|anchor| anchor.state == Context::of(state).shared().id) {
        // SAFETY: [owned] the last storage on that memory has ended and given its anchor, or none was made. So nobody else frees it.
        unsafe { state.unreference(anchor.reference) };
    }
}

/// Gives an anchor back after the body of [`entry::construct_in`](crate::lua::entry::construct_in) has failed to make the storage
/// for it. If the body fails for the first time because something was exhausted, it runs once more and needs the anchor, so
/// nothing is given back then. `tried` records that the body has failed before.
pub fn give_back_after(call: Call, anchor: Option<Anchor>, fault: &Fault, tried: &Cell<bool>) {
    if tried.replace(true) || !fault.is_exhaustion() {
        give_back_anchor(call.state(), anchor);
    }
}

/// Gives back the reference of the userdata at argument 1, if it has one.
fn give_back(call: Call) {
    // SAFETY: [live] argument 1 stays in its slot, and no Lua code runs here.
    let payload = unsafe { userdata::payload(call.state(), 1) };
    // SAFETY: [live] this function has borrowed nothing from the payload. A caller further up that has, and runs this as Lua code,
    // looks its storages up again.
    if let Some(storage) = payload.and_then(|(payload, _)| unsafe { userdata::take(payload) }) {
        give_back_anchor(call.state(), storage.release(call.state_id()));
    }
}
