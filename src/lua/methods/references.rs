//! Who holds a storage: retain, free, the collector, identity.

use std::cell::Cell;

use super::Method;
use crate::lua::args::Call;
use crate::lua::context::Context;
use crate::lua::entry::{Answer, functions};
use crate::lua::fault::Fault;
use crate::lua::state::State;
use crate::lua::userdata;
use crate::storage::Anchor;

/// The methods of this file.
pub const METHODS: &[Method] = &[(c"retain", retain), (c"free", free), (c"__gc", collected), (c"__eq", same)];

functions! {
    /// `s:retain()`: one more reference, given back by `free()` or taken over by `torch.pushudata`. Torch7; 2^31-1 at most.
    fn retain(call) {
        call.this()?.retain(call.state_id())?;
        Ok(Answer::Nothing)
    }

    /// `s:free()`: gives back a `retain()` of this Lua state if one is outstanding; otherwise this userdata's own reference, and it is then dead.
    /// Differs from Torch7, where that was a use after free.
    fn free(call) {
        if !call.this()?.release_retained(call.state_id()) {
            give_back(call);
        }
        Ok(Answer::Nothing)
    }

    /// `__gc`: gives back this userdata's own reference. Of what is no storage, or was freed, nothing.
    fn collected(call) {
        give_back(call);
        Ok(Answer::Nothing)
    }

    /// `a == b`: whether the two userdata are of one storage. Torch7.
    fn same(call) {
        let identity = |n| userdata::payload(call.state(), n).and_then(|(payload, _)| userdata::storage(payload));
        Ok(Answer::Boolean(match (identity(1), identity(2)) {
            (Some(a), Some(b)) => a.address() == b.address(),
            _ => false,
        }))
    }
}

/// What kept foreign memory alive is not needed any more. A value of another Lua state is that state's business.
pub fn give_back_anchor(state: State, anchor: Option<Anchor>) {
    if let Some(anchor) = anchor.filter(|anchor| anchor.state == Context::of(state).shared().id) {
        state.unreference(anchor.reference);
    }
}

/// Gives an anchor back that the storage for it has not got, for bodies of [`entry::construct_in`](crate::lua::entry::construct_in):
/// they are run once more if something was exhausted, and need it then. `tried` is whether the body has failed before.
pub fn give_back_after(call: Call, anchor: Option<Anchor>, fault: &Fault, tried: &Cell<bool>) {
    if tried.replace(true) || !fault.is_exhaustion() {
        give_back_anchor(call.state(), anchor);
    }
}

/// The reference of the userdata at argument 1 ends, if it has one.
fn give_back(call: Call) {
    let payload = userdata::payload(call.state(), 1);
    if let Some(storage) = payload.and_then(|(payload, _)| userdata::take(payload)) {
        give_back_anchor(call.state(), storage.release(call.state_id()));
    }
}
