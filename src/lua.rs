//! The part of the library that knows Lua: `require 'torch.core'`. Nothing outside of this folder calls Lua's C API.
//!
//! ```text
//! class              sets up a Lua state: metatables, constructor tables, the module's table
//! methods            what Lua can call, a file for each subject
//! entry              how Lua enters a function and leaves it; panics stop here
//! args, options      reads arguments, and tables of options
//! pressure           runs the collector when much of the memory of storages may be garbage
//! tensor             tensors: storages with a shape
//! picking            makes, joins and picks elements: zeros, cat, index, column and others
//! file               open files as userdata, and the functions that work on them, for the next two
//! t7                 open .t7 files: loads and saves Lua values
//! formats            loads and saves safetensors, npy and npz files; the cargo feature `formats`
//! budget             how many bytes the storages of a Lua state have, and how many the host program allows
//! guard, living      what is done when a Lua state is closed, and which objects of a restricted state are alive
//! restricted         Lua states whose scripts are not trusted: which functions they have
//! embedded           the Lua files of the library, inside of a program that embeds Lua; the cargo feature `embedded`
//! addresses          whether the programs of a Lua state get and give raw addresses
//! program             storages that go between Lua and the Rust program that embeds it
//! answers            sums, extremes and counts; the cargo feature `answers`
//! atomic             torch.atomic: elements that several threads and processes access at once
//! steps              runs long operations in steps, so that the host can interrupt them
//! fault              why a function fails, and raising it as a Lua error
//! userdata, context  a storage as a Lua value; the upvalues of our functions
//! complex            complex numbers as Lua values
//! objects            the class names of objects whose class Lua code has registered
//! c_api              the table of functions for modules in C: see include/torch_storage.h
//! direct             functions that LuaJIT's FFI calls without the C API
//! state              Lua's C API: `State` has what never raises, `Raising` what may
//! ```

mod addresses;
#[cfg(feature = "answers")]
mod answers;
mod args;
mod atomic;
mod budget;
mod c_api;
mod class;
mod complex;
mod context;
mod direct;
#[cfg(feature = "embedded")]
pub mod embedded;
mod entry;
mod fault;
mod file;
#[cfg(feature = "formats")]
mod formats;
mod guard;
mod living;
mod methods;
mod objects;
mod options;
mod picking;
mod pressure;
#[cfg(feature = "host")]
pub mod program;
mod restricted;
mod state;
mod steps;
mod t7;
mod tensor;
mod userdata;

use std::ffi::c_int;

use crate::storage::protect_across_fork;
#[cfg(feature = "host")]
pub use entry::raising;
#[cfg(not(feature = "host"))]
use entry::raising;
use state::{Raising, lua_State};

/// The entry point of `require 'torch.core'`: returns the module's table.
///
/// # Safety
/// `[state]`: Lua's package loader calls this with its state.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn luaopen_torch_core(state: *mut lua_State) -> c_int {
    // SAFETY: [state] Lua's package loader calls this with its state.
    unsafe { raising(open)(state) }
}

fn open(lua: Raising) -> c_int {
    lua.check_version();
    protect_across_fork();
    class::push_module_once(lua);
    1
}

/// The module's table if it was opened in this Lua state, otherwise nil.
#[cfg(feature = "host")]
pub fn opened_module(lua: Raising) -> c_int {
    if !class::push_module_if_open(lua.state()) {
        lua.push_nil();
    }
    1
}
