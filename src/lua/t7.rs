//! Open `.t7` files as Lua values: what `read` and `write` of a class get, and what loads and saves whole objects.
//!
//! Values are built and taken apart without recursion: the way down to the value in hand is an array of frames in Rust, next to
//! one of Lua values. Only `read` and `write` of a class in Lua, which load and save inside, make it go deeper.

mod block;
mod elements;
mod frames;
mod load;
mod open;
mod pace;
mod save;
mod writing;
use super::args::Call;
use super::entry::run;
use super::methods::Method;
use super::state::lua_State;
use crate::element::DType;
use block::{block, bytes_as_number, idle_block};
use std::ffi::c_int;
use std::ptr;

/// What a file in Lua's hands can do, apart from [`for_each_element_method`].
pub const METHODS: &[Method] = &[
    (c"readObject", load::read_object),
    (c"writeObject", save::write_object),
    (c"readString", elements::read_string),
    (c"writeString", elements::write_string),
    (c"position", position),
    (c"__gc", close),
];

/// What the Lua side calls.
pub const FUNCTIONS: &[Method] = &[
    (c"t7reader", open::reader),
    (c"t7writer", open::writer),
    (c"t7restart", open::restart),
    (c"t7load", load::load),
    (c"t7save", save::save),
    (c"t7finish", open::finish),
    (c"t7storage", open::storage),
    (c"t7atend", open::at_end),
    (c"t7elements", open::elements),
    (c"t7encoding", open::encoding_of),
    (c"t7total", open::total),
    (c"t7failed", failed),
    (c"t7index", save::index),
    (c"t7close", close),
    (c"checktensor", elements::check_tensor),
    (c"gather", elements::gather),
];

/// Calls `register` with what reads and writes elements of a class: `readByte`, `writeByte` ...
pub fn for_each_element_method(dtype: DType, register: impl FnMut(Method)) {
    elements::methods(dtype).into_iter().flatten().for_each(register);
}

/// `file:position()`: bytes read or written so far.
unsafe extern "C-unwind" fn position(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    let position = unsafe { run(call, |call| idle_block(call)?.with(|open| Ok(open.position()))) };
    call.state().push_number(bytes_as_number(position));
    1
}

/// `core.t7failed(file)`: whether the object that was loaded or saved last failed by a fault of the file's, whose message has no position.
unsafe extern "C-unwind" fn failed(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    let failed = unsafe { run(call, |call| Ok(block(call)?.failed.get())) };
    call.state().push_boolean(failed);
    1
}

/// `core.t7close(file)`, `__gc`: an unfinished file is given up, and nothing of it is left.
unsafe extern "C-unwind" fn close(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let body = |call: Call| {
        // What is no file of ours is not our business: `__gc` is called by Lua, and whoever else comes by it.
        let Ok(block) = block(call) else { return Ok(()) };
        // A function of ours is at work on it, and who has called that one is going to close it.
        if block.busy.get() {
            return Ok(());
        }
        let open = block.open.replace(ptr::null_mut());
        if !open.is_null() {
            // SAFETY: `open.rs` made it from a box, and the block has just given it up; nobody borrows it: see `Block::with`.
            drop(unsafe { Box::from_raw(open) });
        }
        for place in [&block.values, &block.source] {
            let place = place.replace(mlua_sys::LUA_NOREF);
            if place != mlua_sys::LUA_NOREF {
                call.state().unreference(place);
            }
        }
        Ok(())
    };
    // SAFETY: nothing droppable is alive.
    unsafe { run(call, body) };
    0
}
