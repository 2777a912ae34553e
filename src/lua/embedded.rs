//! The Lua files of the library, inside of a program that embeds Lua: opens the library without any file. Rust programs do it by `mlua`
//! (`src/host.rs`), and programs in C and C++ by [`torch_storage_require`].

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

#[cfg(feature = "luajit")]
use mlua_sys::luaopen_ffi;

use super::class;
use super::entry::raising;
use super::fault::{Fault, raise_in_module};
use super::restricted;
use super::state::{Frame, REGISTRY, Raising, lua_State};

/// Where the registry has the options of the host until the library is opened.
#[cfg(feature = "host")]
pub const OPTIONS: &str = "torch_storage.options";

/// The Lua files of the library, by the names of their modules.
const FILES: &[(&str, &str)] = &[
    ("torch", include_str!("../../lua/torch/init.lua")),
    ("torch.accessor_kinds", include_str!("../../lua/torch/accessor_kinds.lua")),
    ("torch.accessor_source", include_str!("../../lua/torch/accessor_source.lua")),
    ("torch.accessors", include_str!("../../lua/torch/accessors.lua")),
    ("torch.atomic", include_str!("../../lua/torch/atomic.lua")),
    ("torch.class", include_str!("../../lua/torch/class.lua")),
    ("torch.complex", include_str!("../../lua/torch/complex.lua")),
    ("torch.define", include_str!("../../lua/torch/define.lua")),
    ("torch.format", include_str!("../../lua/torch/format.lua")),
    ("torch.formats", include_str!("../../lua/torch/formats.lua")),
    ("torch.from_table", include_str!("../../lua/torch/from_table.lua")),
    ("torch.iterate", include_str!("../../lua/torch/iterate.lua")),
    ("torch.objects", include_str!("../../lua/torch/objects.lua")),
    ("torch.pointers", include_str!("../../lua/torch/pointers.lua")),
    ("torch.readable", include_str!("../../lua/torch/readable.lua")),
    ("torch.records", include_str!("../../lua/torch/records.lua")),
    ("torch.restricted", include_str!("../../lua/torch/restricted.lua")),
    ("torch.serialization", include_str!("../../lua/torch/serialization.lua")),
    ("torch.storage", include_str!("../../lua/torch/storage.lua")),
    ("torch.tensor_accessor_source", include_str!("../../lua/torch/tensor_accessor_source.lua")),
    ("torch.tensor_format", include_str!("../../lua/torch/tensor_format.lua")),
    ("torch.unloadable", include_str!("../../lua/torch/unloadable.lua")),
    ("torch.versions", include_str!("../../lua/torch/versions.lua")),
];

/// Pushes what `require 'torch.storage'` gives. Opens the library if it is not open yet, by the options in the registry.
pub fn open(lua: Raising) -> c_int {
    class::push_module_for_host(lua);
    let Some(core) = lua.table(-1) else { return 0 };
    lua.push_field(core, c"torch");
    if lua.table(-1).is_some() {
        return 1;
    }
    lua.set_top(core.index());
    lua.load_text(include_str!("embedded.lua"), c"@torch/embedded.lua");
    lua.push_value(core.index());
    let files = lua.push_table_for(0, 32);
    for &(name, text) in FILES {
        lua.push_text(name);
        lua.push_text(text);
        lua.raw_set_top(files);
    }
    push_ffi(lua, core.index());
    lua.push_field(core, c"getmetatable");
    lua.call(4, 1);
    lua.push_value(-1);
    lua.set_field(core, c"torch");
    1
}

/// Pushes LuaJIT's FFI library, which scripts do not get to see by this. It is opened once, because opening it again would invalidate all
/// FFI types of the state.
#[cfg(feature = "luajit")]
fn push_ffi(lua: Raising, core: c_int) {
    let Some(core) = lua.table(core) else { return lua.push_nil() };
    lua.push_field(core, c"ffi");
    if lua.kind(-1) != mlua_sys::LUA_TNIL {
        return;
    }
    let top = lua.top() - 1;
    lua.set_top(top);
    lua.push_field(REGISTRY, c"_LOADED");
    let Some(loaded) = lua.table(-1) else { return };
    lua.push_field(loaded, c"ffi");
    if lua.table(-1).is_none() {
        // If memory runs out below, it is never tried again: LuaJIT would lose the memory of the first time.
        lua.push_boolean(false);
        lua.set_field(core, c"ffi");
        lua.set_top(loaded.index());
        lua.push_function(luaopen_ffi, 0);
        lua.call(0, 1);
        // The library has put itself there.
        lua.push_nil();
        lua.set_field(loaded, c"ffi");
    }
    lua.push_value(-1);
    lua.set_field(core, c"ffi");
    lua.replace(loaded.index());
    lua.set_top(loaded.index());
}

/// Only LuaJIT has the library.
#[cfg(not(feature = "luajit"))]
fn push_ffi(lua: Raising, _: c_int) {
    lua.push_nil();
}

/// `torch_storage_options` of `include/torch_storage.h`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Options {
    /// The size of the struct in bytes. A program that was compiled with an older header has fewer fields.
    size: usize,
    restricted: c_int,
    memory: usize,
    threads: c_int,
    /// Names, which a null pointer ends, or null.
    publications: *const *const c_char,
}

/// `torch_storage_require` of `include/torch_storage.h`, for programs that are linked with the static library.
///
/// # Safety
/// `[vouched]`: the program gives a Lua state with 10 free slots, and options as the header describes them, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn torch_storage_require(state: *mut lua_State, options: *const Options) -> c_int {
    // SAFETY: [vouched] the program gives a Lua state that it may use now. [state] [live] upvalues are used only in functions of ours.
    let frame = unsafe { Frame::of_module(state) };
    // SAFETY: [no-drop] nothing with a destructor is alive here, and what is called below keeps the rule.
    let lua = unsafe { frame.raising() };
    if !options.is_null() {
        // SAFETY: [vouched] the options have at least their size.
        let size = unsafe { ptr::read(options.cast::<usize>()) };
        push_options(lua, options, size);
        lua.set_field(REGISTRY, restricted::OPTIONS);
    }
    lua.push_function(raising(open), 0);
    lua.call(0, 1);
    1
}

/// Pushes the options as the table that [`restricted::Options`] reads.
fn push_options(lua: Raising, options: *const Options, size: usize) {
    if size != size_of::<Options>() {
        let expected = size_of::<Options>();
        let fault = Fault::new(format_args!(
            "the field 'size' of torch_storage_options is {size}: sizeof(torch_storage_options) is {expected}"
        ));
        raise_in_module(lua, fault);
    }
    // SAFETY: [vouched] the options have this size.
    let Options { restricted, memory, threads, publications, .. } = unsafe { *options };
    let table = lua.push_table(0);
    lua.push_boolean(restricted != 0);
    lua.set_field(table, c"restricted");
    lua.push_count(memory);
    lua.set_field(table, c"memory");
    lua.push_count(usize::try_from(threads).unwrap_or(0));
    lua.set_field(table, c"threads");
    if !publications.is_null() {
        lua.push_table(0);
        push_names(lua, publications);
        lua.set_field(table, c"publications");
    }
}

/// Adds names to the set on the top.
fn push_names(lua: Raising, mut names: *const *const c_char) {
    let Some(set) = lua.table(-1) else { return };
    loop {
        // SAFETY: [vouched] a null pointer ends the names.
        let name = unsafe { *names };
        if name.is_null() {
            return;
        }
        // SAFETY: [vouched] each name ends with a zero byte.
        let bytes = unsafe { CStr::from_ptr(name) }.to_bytes();
        // SAFETY: [vouched] [live] the program keeps its name during this call.
        unsafe { lua.push_bytes(bytes) };
        lua.push_boolean(true);
        lua.raw_set_top(set);
        names = names.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_lua_file_is_in_the_crate() {
        let mut files: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/lua/torch"))
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.path().file_stem()?.to_str().map(str::to_owned))
            // These are for editors, and no program loads them.
            .filter(|name| !name.starts_with("meta"))
            .map(|name| if name == "init" { "torch".to_owned() } else { format!("torch.{name}") })
            .collect();
        files.sort();
        assert_eq!(files, super::FILES.iter().map(|&(name, _)| name.to_owned()).collect::<Vec<_>>());
    }
}
