//! What changes a storage's size or capacity, and what writes a map back.

use std::ffi::c_int;

use super::Method;
use crate::lua::args::Call;
use crate::lua::entry::{self, Answer};
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::lua_State;
use crate::storage::{StateId, Storage};

/// The methods of this file.
pub const METHODS: &[Method] = &[(c"resize", resize), (c"reserve", reserve)];

/// `s:resize(n)`: changes the number of elements; returns s. New elements are 0. Differs from Torch7: a storage that views look
/// at moves, and they keep the old bytes.
unsafe extern "C-unwind" fn resize(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { change(state, Storage::resize) }
}

/// `s:reserve(n)`: room for at least `n` elements from now on, within which resizing neither moves nor copies; returns s.
unsafe extern "C-unwind" fn reserve(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { change(state, Storage::reserve) }
}

/// # Safety
/// As [`entry::enter`].
unsafe fn change(state: *mut lua_State, act: impl Fn(&Storage, usize, StateId) -> Result<(), crate::Error>) -> c_int {
    // SAFETY: as the caller says.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive, and no argument has been read.
    unsafe { pressure::relieve(call.state()) };
    let body = |call: Call| {
        // The number first: reading an FFI value runs Lua code.
        let size = call.size(2);
        let this = call.this()?;
        act(&this, size?, call.state_id()).map_err(Fault::from)?;
        Ok(Answer::Value(1))
    };
    // SAFETY: as the caller says.
    unsafe { entry::enter(state, body) }
}
