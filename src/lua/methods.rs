//! The functions that Lua can call, one file a subject. `entry::functions!` declares them.

pub mod buffer;
pub mod casts;
pub mod construct;
pub mod contents;
pub mod element;
pub mod files;
pub mod inspect;
pub mod module;
pub mod references;
pub mod resize;
pub mod sharing;
pub mod transfer;

use super::state::{Name, lua_State};
use crate::element::DType;

/// A function and the name by which Lua finds it.
pub type Method = (Name, unsafe extern "C-unwind" fn(*mut lua_State) -> std::ffi::c_int);

/// Calls `register` with every method and metamethod of a class.
pub fn for_each(dtype: DType, mut register: impl FnMut(Method)) {
    let shared = [
        buffer::METHODS,
        casts::METHODS,
        casts::CASTS,
        construct::METHODS,
        contents::METHODS,
        files::METHODS,
        inspect::METHODS,
        references::METHODS,
        resize::METHODS,
        sharing::METHODS,
        transfer::METHODS,
    ];
    shared.into_iter().flatten().copied().chain(element::methods(dtype)).for_each(&mut register);
}
