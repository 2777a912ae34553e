//! The memory of LÖVE's `Data` objects for `frombuffer`: ByteData, ImageData, SoundData, FileData and so on.
//!
//! Lua code can replace the methods of these objects, give their metatable to another userdata, and free their memory at any time with
//! `release`. So this code asks LÖVE's own functions, which are in a metatable of the registry that no object has, and asks them only
//! about userdata that LÖVE lists as its own: they read any userdata as theirs. The storage holds a DataView of the object, which
//! LÖVE makes for it and which nobody else sees. The view keeps the memory when the object is released.

use std::ffi::{c_int, c_void};

use mlua_sys as ffi;

use crate::convert::{Scalar, truncate};
use crate::lua::fault::{Fault, raise};
use crate::lua::state::{Name, REGISTRY, Raising, Table};
use crate::system::library::are_in_one_file;

/// The types of LÖVE whose memory programs may write. LÖVE itself only reads the others: a font, for example, reads its FileData as
/// long as it is used. A DataView may show such memory.
const WRITABLE: [&str; 3] = ["ByteData", "ImageData", "SoundData"];

/// LÖVE 11.4 and later use the address without its four lowest bits, which are zero, as a light userdata.
const KEY_SHIFT: u32 = 4;

/// Addresses of a program are below this.
const ADDRESSES: usize = 1 << 48;

/// The memory of a `Data`.
pub struct Data {
    pub address: usize,
    /// The length in bytes.
    pub length: usize,
    pub read_only: bool,
    /// The stack index of the value that holds the memory.
    pub holder: c_int,
}

/// The memory of the userdata at argument 1, if it is a `Data`. Leaves what holds the memory on the stack.
pub fn find(lua: Raising) -> Option<Data> {
    let top = lua.top();
    if !lua.check_stack(ffi::LUA_MINSTACK) {
        raise(lua, Fault::new("stack overflow"));
    }
    let found = table(lua, c"_loveobjects").zip(table(lua, c"Data"));
    let found = found.filter(|&(objects, class)| {
        let is_listed = lists(lua, objects, 1);
        if !is_listed && is_released(lua, class) {
            raise(lua, Fault::argument(1, "the Data object was released"));
        }
        is_listed && is_a(lua, class, 1, "Data")
    });
    let Some((objects, class)) = found else {
        lua.set_top(top);
        return None;
    };
    let read_only = !WRITABLE.iter().any(|name| is_a(lua, class, 1, name));
    ask(lua, class, c"getSize", 1);
    let length = size(lua);
    if length == 0 {
        return Some(Data { address: 0, length, read_only, holder: 1 });
    }
    push_view(lua, objects, class);
    let view = lua.top();
    ask(lua, class, c"getPointer", view);
    let address = lua.light(-1).map_or(0, <*mut c_void>::addr);
    ask(lua, class, c"getSize", view);
    let length = size(lua);
    Some(Data { address, length, read_only, holder: view })
}

/// Pushes `registry[name]`, which is a table in LÖVE.
fn table(lua: Raising, name: Name) -> Option<Table> {
    lua.push_field(REGISTRY, name);
    lua.table(-1)
}

/// Whether the userdata at `index` is an object of LÖVE that was not released. `objects` has every object of this Lua state under a key
/// that is calculated from the address of the C++ object. Some versions calculate it in another way, so all objects are compared if this
/// key is not there.
fn lists(lua: Raising, objects: Table, index: c_int) -> bool {
    let Some(block) = lua.block(index, size_of::<[usize; 2]>()) else { return false };
    // SAFETY: [layout] the block has two words, and any bits are a number. [live] its userdata is on the stack.
    let [_, object] = unsafe { block.cast::<[usize; 2]>().read() };
    if object == 0 {
        return false;
    }
    let top = lua.top();
    let mut is_found = false;
    // LuaJIT raises an error if a light userdata is too large. A word that is not an address may be.
    if object < ADDRESSES {
        lua.push_light(std::ptr::without_provenance_mut(object >> KEY_SHIFT));
        lua.raw_get_top(objects);
        is_found = lua.raw_equal(-1, index);
        lua.set_top(top);
    }
    if !is_found {
        lua.push_nil();
        // SAFETY: [no-drop] the key is nil or comes from this loop, in which no Lua code runs.
        while !is_found && unsafe { lua.next(objects) } {
            is_found = lua.raw_equal(-1, index);
            lua.set_top(top + 1);
        }
        lua.set_top(top);
    }
    is_found
}

/// Whether argument 1, which is not in LÖVE's list, has the metatable of a LÖVE object.
fn is_released(lua: Raising, class: Table) -> bool {
    let Some(metatable) = lua.push_metatable_of(1) else { return false };
    let (own, its) = (function(lua, class, c"release"), function(lua, metatable, c"release"));
    own.is_some() && own == its
}

/// Whether the LÖVE object at `index` is of a type or of a subtype.
fn is_a(lua: Raising, class: Table, index: c_int, name: &'static str) -> bool {
    let top = lua.top();
    lua.push_field(class, c"typeOf");
    lua.push_value(index);
    lua.push_text(name);
    lua.call(2, 1);
    let is_so = lua.boolean(-1);
    lua.set_top(top);
    is_so
}

/// Calls a method of `Data` for the LÖVE object at `index`, and leaves its result on the top.
fn ask(lua: Raising, class: Table, method: Name, index: c_int) {
    lua.push_field(class, method);
    lua.push_value(index);
    lua.call(1, 1);
}

/// The size on the top.
fn size(lua: Raising) -> usize {
    truncate(Scalar::Float(lua.raw_number(-1))).and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0)
}

/// Pushes a new DataView of all bytes of argument 1.
///
/// Lua code can replace `love.data.newDataView`. A function of its own would see the view and could release it. So the function has to
/// be one of LÖVE's C functions, and its result a DataView. No other function of LÖVE makes one of a Data object.
fn push_view(lua: Raising, objects: Table, class: Table) {
    let length = lua.top();
    let find = || {
        let loaded = table(lua, c"_LOADED")?;
        lua.push_field(loaded, c"love.data");
        let module = lua.table(-1)?;
        let (own, found) = (function(lua, class, c"getSize")?, function(lua, module, c"newDataView")?);
        are_in_one_file(own, found).then_some(())
    };
    let found = find();
    if found.is_some() {
        lua.push_value(1);
        lua.push_number(0.0);
        lua.push_value(length);
        lua.call(3, 1);
    }
    let view = lua.top();
    if found.is_none()
        || lua.kind(view) != ffi::LUA_TUSERDATA
        || !lists(lua, objects, view)
        || !is_a(lua, class, view, "DataView")
    {
        raise(lua, Fault::argument(1, "a Data object needs LÖVE's own function love.data.newDataView, of LÖVE 11 or later"));
    }
    lua.set_top(view);
}

/// Pushes `table[name]`, and returns its address if it is a C function.
fn function(lua: Raising, table: Table, name: Name) -> Option<*const c_void> {
    lua.push_field(table, name);
    lua.c_function(-1)
}
