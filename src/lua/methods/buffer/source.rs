//! Finds the memory for `frombuffer`, and the value that keeps it alive.
//!
//! A value offers its memory by the function `__buffer` in its metatable. `__buffer(value)` gives the beginning of the memory (a light
//! userdata, an FFI pointer or array, or a number), its length in bytes, and true if nobody may write to it. The memory must stay
//! where it is as long as the value lives. Storages offer their memory in the same way. If `__buffer(value)` gives a string instead,
//! the storage has the bytes of that string.

use std::ffi::c_int;
use std::fmt::Display;

use mlua_sys as ffi;

use super::love;
use crate::lua::addresses::{HIDDEN, are_hidden};
use crate::lua::args::{Call, Cdata, show, whole};
use crate::lua::context::Context;
use crate::lua::entry;
use crate::lua::fault::{Fault, raise, written};
use crate::lua::state::{CDATA, Raising};
use crate::lua::{tensor, userdata};
use crate::storage::Anchor;

/// Where the memory comes from. It has no destructor.
#[derive(Clone, Copy)]
pub enum Source {
    /// The storage or tensor at argument 1.
    Storage,
    /// Memory of another value.
    Memory(Memory),
}

/// A range of memory that its owner keeps, or that the caller or a `__buffer` vouches for.
#[derive(Clone, Copy)]
pub struct Memory {
    pub address: usize,
    /// The length in bytes, or `None` for a pointer, which does not tell it.
    pub length: Option<usize>,
    pub read_only: bool,
    pub owner: Owner,
}

/// The values that must live as long as a storage uses the memory.
#[derive(Clone, Copy, PartialEq)]
pub enum Owner {
    /// No Lua value.
    Nobody,
    /// Argument 1.
    Object,
    /// Argument 1, and the FFI value at a stack index.
    ObjectAnd(c_int),
    /// The value at a stack index.
    Value(c_int),
}

/// The second result of a `__buffer`, for messages.
const LENGTH: &str = "the length in bytes, which is a whole number from 0";

/// The values that can be a buffer, for messages.
pub const OBJECT: &str = "storage, string, FFI array or pointer, or object with __buffer";

/// Finds the memory of argument 1. If the object offers its memory by `__buffer`, calls this function and leaves its three
/// results on the stack. If it is a `Data` object of LÖVE, leaves what holds its memory on the stack.
pub fn find_source(lua: Raising, call: Call) -> Source {
    let look = |call: Call| {
        Ok(Some(match call.kind(1) {
            ffi::LUA_TUSERDATA if userdata::class(call.state(), 1).is_some() || tensor::class(call.state(), 1).is_some() => {
                Source::Storage
            }
            ffi::LUA_TSTRING => {
                let bytes = call.string(1)?;
                memory(bytes.as_ptr().expose_provenance(), Some(bytes.len()), true, Owner::Object)
            }
            ffi::LUA_TLIGHTUSERDATA | CDATA if are_hidden(call) => return Err(Fault::argument(1, HIDDEN)),
            ffi::LUA_TLIGHTUSERDATA => memory(call.state().light(1).map_or(0, <*mut _>::addr), None, false, Owner::Nobody),
            CDATA => match call.cdata(1)? {
                Cdata::Pointer { address, constant } => memory(address, None, constant, Owner::Object),
                Cdata::Array { address, bytes, constant } => memory(address, Some(bytes), constant, Owner::Object),
                _ => return Err(call.mismatch(1, "FFI array or pointer")),
            },
            _ => return Ok(None),
        }))
    };
    if let Some(source) = entry::run(lua, call, look) {
        return source;
    }
    if call.kind(1) == ffi::LUA_TUSERDATA
        && let Some(data) = love::find(lua)
    {
        return memory(data.address, Some(data.length), data.read_only, Owner::Value(data.holder));
    }
    let has_one = lua.push_metatable_of(1).is_some_and(|metatable| {
        lua.push_field(metatable, c"__buffer");
        lua.kind(-1) != ffi::LUA_TNIL
    });
    if !has_one {
        raise(lua, call.mismatch(1, OBJECT));
    }
    if are_hidden(call) {
        raise(lua, Fault::argument(1, HIDDEN));
    }
    if lua.kind(-1) != ffi::LUA_TFUNCTION {
        raise(lua, no_function(call));
    }
    let results = lua.top();
    lua.push_value(1);
    lua.call(1, 3);
    let call = call.with_frame(lua.top());
    Source::Memory(entry::run(lua, call, |call| offered(call, results)))
}

const fn memory(address: usize, length: Option<usize>, read_only: bool, owner: Owner) -> Source {
    Source::Memory(Memory { address, length, read_only, owner })
}

/// The fault for the `__buffer` on the top, which is not a function.
fn no_function(call: Call) -> Fault {
    let got = call.name_of(-1);
    Fault::argument(
        1,
        format_args!(
            "its __buffer is a {got}: a function expected that returns a pointer, the length in bytes, and true if read-only"
        ),
    )
}

/// Reads the three results of `__buffer`, which are on the stack from index `first` on.
fn offered(call: Call, first: c_int) -> Result<Memory, Fault> {
    let lua = call.state();
    let wrong = |what: &str, got: &dyn Display| Fault::argument(1, format_args!("its __buffer gave {got} as {what}"));
    let name = |index| call.name_of(index);
    // SAFETY: [live] only the address and the length are kept, and the owner is the string in this slot.
    if let Some(bytes) = unsafe { lua.string(first) }.filter(|_| lua.kind(first + 1) == ffi::LUA_TNIL) {
        let address = bytes.as_ptr().expose_provenance();
        return Ok(Memory { address, length: Some(bytes.len()), read_only: true, owner: Owner::Value(first) });
    }
    let mut owner = Owner::Object;
    let mut constant = false;
    let address = match lua.kind(first) {
        ffi::LUA_TLIGHTUSERDATA => lua.light(first).map(<*mut _>::addr),
        ffi::LUA_TNUMBER => whole(lua.raw_scalar(first)),
        CDATA => match call.cdata(first)? {
            Cdata::Signed(number) => usize::try_from(number).ok(),
            Cdata::Unsigned(number) => usize::try_from(number).ok(),
            Cdata::Pointer { address, constant: is } | Cdata::Array { address, constant: is, .. } => {
                (owner, constant) = (Owner::ObjectAnd(first), is);
                Some(address)
            }
            Cdata::Other => None,
        },
        _ => None,
    };
    let address = address.ok_or_else(|| {
        let got = written(|f| match lua.kind(first) {
            ffi::LUA_TNUMBER => write!(f, "{}", show(lua.raw_scalar(first))),
            _ => f.write_str(name(first)),
        });
        wrong("the pointer, which is a light userdata, an FFI pointer or array, or an address", &got)
    })?;
    let length = match call.scalar_at(first + 1)? {
        Some(length) => whole(length).ok_or_else(|| wrong(LENGTH, &show(length)))?,
        None => return Err(wrong(LENGTH, &name(first + 1))),
    };
    let read_only = match lua.kind(first + 2) {
        ffi::LUA_TNIL => false,
        ffi::LUA_TBOOLEAN => lua.boolean(first + 2),
        _ => return Err(wrong("whether it is read-only, which is a boolean or nil", &name(first + 2))),
    };
    Ok(Memory { address, length: Some(length), read_only: read_only || constant, owner })
}

/// Puts the owner of the memory into a slot of the registry.
pub fn anchor(lua: Raising, owner: Owner) -> Option<Anchor> {
    match owner {
        Owner::Nobody => return None,
        Owner::Object => lua.push_value(1),
        Owner::Value(index) => lua.push_value(index),
        Owner::ObjectAnd(index) => {
            let table = lua.push_table(2);
            for (n, value) in [(1, 1), (2, index)] {
                lua.push_value(value);
                lua.raw_set(table, n);
            }
        }
    }
    Some(Anchor { state: Context::of(lua.state()).shared().id, reference: lua.reference() })
}
