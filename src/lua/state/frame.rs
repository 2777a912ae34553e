//! The running call of a C function. What a function gets from Lua borrows its [`Frame`], so nothing outlives the call. Builds with
//! debug assertions know how many stack slots the call has.

#[cfg(debug_assertions)]
use std::cell::Cell;
use std::ffi::c_int;
#[cfg(not(debug_assertions))]
use std::marker::PhantomData;

use mlua_sys as ffi;
use mlua_sys::lua_State;

use super::{Quiet, Raising, State};

/// How many stack slots a module in C leaves free when it calls a function of `include/torch_storage.h`.
const FREE_IN_MODULES: c_int = 5;

/// A call of a C function that is running.
pub struct Frame {
    raw: *mut lua_State,
    #[cfg(debug_assertions)]
    checks: Checks,
}

/// What only builds with debug assertions know of a call.
#[cfg(debug_assertions)]
struct Checks {
    /// The last stack index that the call may use.
    last: Cell<c_int>,
    /// Whether the running function is one of ours, and not of a module in C.
    is_ours: bool,
}

/// What a [`State`] keeps of its frame.
#[cfg(debug_assertions)]
pub(super) type Link<'call> = &'call Frame;
#[cfg(not(debug_assertions))]
pub(super) type Link<'call> = PhantomData<&'call Frame>;

impl Frame {
    /// The call of one of our functions that has just begun.
    ///
    /// # Safety
    /// `[state]`: `state` is the live Lua state that Lua gave to the C function of ours that is running, and has given nothing else
    /// yet. The frame ends before that function does. The code that gets a [`State`] of this frame keeps the rule: it uses at most
    /// `LUA_MINSTACK` stack slots above the arguments, unless it asks for more by [`Raising::check_stack`]; it pops only what it
    /// pushed, and uses a `Table` only while it is in its slot. `[live]`: it does not use what it has borrowed from a Lua value after
    /// Lua code may have run.
    #[inline]
    pub unsafe fn new(state: *mut lua_State) -> Self {
        // SAFETY: [state] the caller vouches for it. Lua has given the function `LUA_MINSTACK` free slots.
        unsafe { Self::with_room(state, ffi::LUA_MINSTACK, true) }
    }

    /// The call of a function of a module in C.
    ///
    /// # Safety
    /// `[state]` and `[live]`, as for [`new`](Self::new), but with the 5 free slots that `include/torch_storage.h` demands; and the
    /// code that gets a [`State`] of this frame does not use the upvalues of the running function, which are not ours.
    #[inline]
    pub unsafe fn of_module(state: *mut lua_State) -> Self {
        // SAFETY: [state] the caller vouches for it.
        unsafe { Self::with_room(state, FREE_IN_MODULES, false) }
    }

    /// # Safety
    /// `[state]`: the state is live, and has `free` free stack slots.
    #[inline(always)]
    unsafe fn with_room(state: *mut lua_State, free: c_int, is_ours: bool) -> Self {
        let _ = (free, is_ours);
        Self {
            raw: state,
            #[cfg(debug_assertions)]
            // SAFETY: [state] the state is live, and asking changes nothing.
            checks: Checks { last: Cell::new(unsafe { ffi::lua_gettop(state) } + free), is_ours },
        }
    }

    /// The Lua state without the permission to raise.
    #[inline]
    pub const fn quiet(&self) -> State<'_> {
        State::of(self)
    }

    /// The permission to raise.
    ///
    /// # Safety
    /// `[no-drop]`: whenever a method of the token runs, no value with a destructor is alive in the frames of the running C function
    /// above this one, and no `catch_unwind` of it is open.
    #[inline]
    pub unsafe fn raising(&self) -> Raising<'_> {
        // A body may run a value's destructor of the host program, which may call Lua, and Lua this function. Its errors end in Lua.
        Quiet::pause();
        Raising(self.quiet())
    }

    #[inline]
    pub(super) const fn state(&self) -> *mut lua_State {
        self.raw
    }

    #[cfg(debug_assertions)]
    pub(super) const fn link(&self) -> Link<'_> {
        self
    }

    #[cfg(not(debug_assertions))]
    #[inline]
    pub(super) const fn link(&self) -> Link<'_> {
        PhantomData
    }
}

#[cfg(debug_assertions)]
impl Frame {
    /// Panics if `count` values do not fit above `top`.
    pub(super) fn assert_room(&self, top: c_int, count: c_int) {
        let last = self.checks.last.get();
        assert!(
            top + count <= last,
            "{count} values are pushed on {top}, but the call has {last} stack slots: see the rule [state]"
        );
    }

    /// Lua has given the call `more` slots above `top`.
    pub(super) fn has_room(&self, top: c_int, more: c_int) {
        self.checks.last.set(self.checks.last.get().max(top + more));
    }

    /// Panics if the running function is that of a module in C.
    pub(super) fn assert_ours(&self) {
        assert!(self.checks.is_ours, "the upvalues of a module in C are not ours: see the rule [state]");
    }
}

#[cfg(all(test, debug_assertions, feature = "host"))]
mod tests {
    use std::ffi::c_int;

    use mlua_sys::LUA_MINSTACK;

    use crate::lua::args::Call;
    use crate::lua::entry::{Answer, Function, function, raising};
    use crate::lua::fault::{Fault, raise};
    use crate::lua::state::{Age, Raising};

    fn all_slots(call: Call) -> Result<Answer, Fault> {
        (0..LUA_MINSTACK).for_each(|_| call.state().push_nil());
        Ok(Answer::Nothing)
    }

    fn one_slot_too_many(call: Call) -> Result<Answer, Fault> {
        (0..=LUA_MINSTACK).for_each(|_| call.state().push_nil());
        Ok(Answer::Nothing)
    }

    fn slots_that_were_asked_for(lua: Raising) -> c_int {
        if !lua.check_stack(3 * LUA_MINSTACK) {
            raise(lua, Fault::new("there is no room"));
        }
        (0..3 * LUA_MINSTACK).for_each(|_| lua.push_nil());
        0
    }

    fn table_without_its_slot(call: Call) -> Result<Answer, Fault> {
        if let Some(table) = call.state().table(1) {
            call.state().push_nil();
            call.state().replace(1);
            call.state().raw_get(table, 1);
        }
        Ok(Answer::Nothing)
    }

    fn slot_below_the_stack(call: Call) -> Result<Answer, Fault> {
        call.state().push_nil();
        call.state().replace(call.count() + 2);
        Ok(Answer::Nothing)
    }

    fn borrowed_in_the_same_age(call: Call) -> Result<Answer, Fault> {
        let age = Age::now();
        call.state().push_nil();
        age.assert_now();
        Ok(Answer::Nothing)
    }

    fn borrowed_before_lua_code_ran(call: Call) -> Result<Answer, Fault> {
        let age = Age::now();
        call.state().call_hook();
        age.assert_now();
        Ok(Answer::Nothing)
    }

    /// The error of a function that gets an empty table, or nothing.
    fn error_of(function: Function) -> String {
        let lua = mlua::Lua::new();
        // SAFETY: [state] this is a function that Lua calls.
        let function = unsafe { lua.create_c_function(function) };
        let result = function.and_then(|function| function.call::<()>(lua.create_table()?));
        result.map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn a_call_keeps_to_its_stack_slots() {
        assert_eq!(error_of(function(all_slots)), "");
        assert_eq!(error_of(raising(slots_that_were_asked_for)), "");
        let error = error_of(function(one_slot_too_many));
        assert!(error.contains("1 values are pushed on 21, but the call has 21 stack slots"), "{error}");
    }

    #[test]
    fn a_table_is_used_only_in_its_slot() {
        let error = error_of(function(table_without_its_slot));
        assert!(error.contains("slot 1 has no table any more"), "{error}");
        let error = error_of(function(slot_below_the_stack));
        assert!(error.contains("the call has no slot 3"), "{error}");
    }

    #[test]
    fn what_was_borrowed_is_not_used_after_lua_code_ran() {
        assert_eq!(error_of(function(borrowed_in_the_same_age)), "");
        let error = error_of(function(borrowed_before_lua_code_ran));
        assert!(error.contains("a borrowed storage is used although Lua code may have run"), "{error}");
    }
}
