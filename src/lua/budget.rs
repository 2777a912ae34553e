//! The budget of a Lua state: how many bytes its storages have, and how many the host program allows.

use super::args::Call;
use super::context::{Context, Shared};
use super::fault::{Fault, raise};
use super::guard;
use super::state::Raising;
use crate::budget::AccountId;

/// The number of bytes that the storages of this Lua state have. It is 0 if nobody has asked for a budget.
pub fn in_use(call: Call) -> usize {
    call.shared().account.get().used()
}

/// Sets how many bytes the storages of this Lua state may have; `None` is no limit. From the first call on their memory is counted.
/// Returns whether no more than that is in use. Otherwise nothing new is made until it is.
pub fn set_limit(lua: Raising, bytes: Option<usize>) -> bool {
    set_limit_of(lua, Context::of(lua.state()).shared(), bytes, || Context::push_own(lua.state()))
}

/// Does the same as [`set_limit`] where no function of ours runs. `push_upvalue` pushes the upvalue of such a function.
pub fn set_limit_of(lua: Raising, shared: &Shared, bytes: Option<usize>, push_upvalue: impl FnOnce()) -> bool {
    if shared.account.get() == AccountId::NONE {
        guard::install(lua, shared, push_upvalue);
        match AccountId::open() {
            Some(account) => shared.account.set(account),
            None => raise(lua, Fault::no_memory()),
        }
    }
    shared.account.get().set_limit(bytes.unwrap_or(usize::MAX))
}
