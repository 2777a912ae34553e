//! Storages in Rust programs that embed Lua with `mlua`.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod addresses;
mod attacks;
mod budget;
#[path = "../counting/mod.rs"]
mod counting;
mod exhausted;
// The same for every Lua, so it runs for one of them.
#[cfg(feature = "lua54")]
mod features;
mod opening;
mod owners;
mod restricted;
mod scripts;
mod thread_locals;
mod values;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mlua::Lua;
use torch_storage::Storage;
use torch_storage::host;

/// A vector that counts how often it is dropped.
struct Counted(Vec<f32>, Arc<AtomicUsize>);

impl Counted {
    fn storage(elements: Vec<f32>) -> (Storage, impl Fn() -> usize) {
        let drops = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&drops);
        (Storage::from_owner_mut(Self(elements, drops)), move || count.load(Ordering::SeqCst))
    }
}

impl AsMut<[f32]> for Counted {
    fn as_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

/// A state that shows scripts neither the FFI library nor `debug`, with the global variable `torch`.
fn safe() -> Lua {
    let lua = Lua::new();
    lua.globals().set("torch", host::open(&lua).unwrap()).unwrap();
    lua
}

/// A state with all libraries, and with addresses.
fn with_addresses() -> Lua {
    // SAFETY: [vouched] the scripts of these tests load no libraries in C and no compiled chunks.
    let lua = unsafe { Lua::unsafe_new() };
    // SAFETY: [vouched] the scripts of these tests make storages only over memory that is alive.
    lua.globals().set("torch", unsafe { host::open_with_addresses(&lua) }.unwrap()).unwrap();
    lua
}

/// The first line of the error that a script raises.
fn error_of(lua: &Lua, script: &str) -> String {
    let error = lua.load(script).set_name("=script").exec().expect_err(script).to_string();
    error.lines().next().unwrap().to_owned()
}
