//! The functions of the module itself: identity of values, addresses, bookkeeping, and what the Lua files need.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::Method;
use crate::bulk;
use crate::convert::{Scalar, truncate};
use crate::element::DType;
use crate::lua::args::{Call, Cdata, count, show};
use crate::lua::context::Context;
use crate::lua::entry::{self, Answer, functions};
use crate::lua::fault::Fault;
use crate::lua::objects;
use crate::lua::state::{CDATA, lua_State};
use crate::lua::userdata;
use crate::storage::{Storage, usage};

/// The functions of this file.
pub const FUNCTIONS: &[Method] = &[
    (c"typename", typename),
    (c"isStorage", is_storage),
    (c"isequal", is_equal),
    (c"pointer", pointer),
    (c"pushudata", push_udata),
    (c"setheaptracking", set_heap_tracking),
    (c"setnumthreads", set_threads),
    (c"getnumthreads", threads),
    (c"memory", memory),
    (c"look", look),
    (c"classname", class_name),
    (c"setclassifier", set_classifier),
    (c"setnames", set_names),
    (c"setcomplex", set_complex),
];

functions! {
    /// `torch.isStorage(v)`: whether it is a storage. Differs from Torch7, which went by the name.
    fn is_storage(call) {
        Ok(Answer::Boolean(userdata::payload(call.state(), 1).is_some()))
    }

    /// `torch.isequal(a, b)`: whether the two are the same object; two userdata of one storage are. Torch7.
    fn is_equal(call) {
        let identity = |n| match userdata::payload(call.state(), n) {
            Some((payload, _)) => Ok(userdata::storage(payload).map(|storage| storage.address())),
            None if call.kind(n) == ffi::LUA_TUSERDATA && !objects::push_class_name(call, n)? => {
                Err(call.mismatch(n, "Torch object"))
            }
            None => Ok(None),
        };
        Ok(Answer::Boolean(match (identity(1)?, identity(2)?) {
            (Some(a), Some(b)) => a == b,
            _ => call.count() >= 2 && call.state().raw_equal(1, 2),
        }))
    }

    /// `torch.setheaptracking(on)`: whether storages call the collector when much of their memory may be garbage (on by default).
    /// Such a collection restarts a collector that was stopped by hand. Torch7.
    fn set_heap_tracking(call) {
        Context::of(call.state()).shared().tracking.set(call.boolean(1)?);
        Ok(Answer::Nothing)
    }

    /// `torch.setnumthreads(n)`: how many threads large operations of this process run in; 0: as many as it may use cores. Torch7.
    fn set_threads(call) {
        bulk::set_threads(call.size(1)?);
        Ok(Answer::Nothing)
    }

    /// `torch.getnumthreads()`: that number. Torch7.
    fn threads(call) {
        let _ = call;
        Ok(Answer::Number(count(bulk::threads())))
    }

}

/// `torch.typename(v)`: the class name of a storage or of an object of a registered class, nothing for other values. Torch7.
///
/// What programs ask for all the time is answered first: nothing there fails, so nothing has to be caught.
unsafe extern "C-unwind" fn typename(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    if let Some((_, dtype)) = userdata::payload(call.state(), 1) {
        // SAFETY: constants stay; nothing droppable is alive.
        unsafe { call.state().push_bytes(dtype.class_name().as_bytes()) };
        return 1;
    }
    if !matches!(call.kind(1), ffi::LUA_TNONE | CDATA) {
        return c_int::from(objects::push_name_by_metatable(call, 1));
    }
    let body = |call: Call| {
        if call.count() == 0 {
            return Err(Fault::argument(1, "value expected"));
        }
        Ok(if objects::push_class_name(call, 1)? { Answer::Value(-1) } else { Answer::Nothing })
    };
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { entry::enter(state, body) }
}

/// `core.setclassifier(f)`: `f(cdata)` gives kind (1 int64, 2 uint64, 3 pointer, 4 array), high word, low word, bytes of
/// arrays, and whether what it points to is constant.
unsafe extern "C-unwind" fn set_classifier(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let is_function = |call: Call| {
        if call.kind(1) == ffi::LUA_TFUNCTION { Ok(()) } else { Err(call.mismatch(1, "function")) }
    };
    // SAFETY: nothing droppable is alive.
    unsafe { entry::run(call, is_function) };
    // SAFETY: nothing droppable is alive.
    let place = unsafe { call.state().reference_to(1) };
    if let Some(old) = Context::of(call.state()).shared().classifier.replace(Some(place)) {
        call.state().unreference(old);
    }
    0
}

/// `core.setnames(names, cdataname)`: the class names of what is no storage: a table from metatable to name, and a function that
/// gives that of an FFI value, or nil. The table is read at every call, so it may grow.
unsafe extern "C-unwind" fn set_names(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let check = |call: Call| match (call.kind(1), call.kind(2)) {
        (ffi::LUA_TTABLE, ffi::LUA_TFUNCTION) => Ok(()),
        (ffi::LUA_TTABLE, _) => Err(call.mismatch(2, "function")),
        _ => Err(call.mismatch(1, "table")),
    };
    // SAFETY: nothing droppable is alive.
    unsafe { entry::run(call, check) };
    // SAFETY: nothing droppable is alive.
    let [names, function] = [1, 2].map(|n| unsafe { call.state().reference_to(n) });
    if let Some((names, function)) = Context::of(call.state()).shared().names.replace(Some((names, function))) {
        call.state().unreference(names);
        call.state().unreference(function);
    }
    0
}

/// `core.setcomplex(make, read)`: `make(re, im)` gives a complex number; `read(value)` gives the parts of one, nothing for another
/// value.
unsafe extern "C-unwind" fn set_complex(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let are_functions = |call: Call| match (1..=2).find(|&n| call.kind(n) != ffi::LUA_TFUNCTION) {
        Some(n) => Err(call.mismatch(n, "function")),
        None => Ok(()),
    };
    // SAFETY: nothing droppable is alive.
    unsafe { entry::run(call, are_functions) };
    // SAFETY: nothing droppable is alive.
    let [make, read] = [1, 2].map(|n| unsafe { call.state().reference_to(n) });
    if let Some((make, read)) = Context::of(call.state()).shared().complex.replace(Some((make, read))) {
        call.state().unreference(make);
        call.state().unreference(read);
    }
    0
}

/// `torch.pointer(v)`: a number that stands for the object: of a storage, its header's address, the same for all of its userdata;
/// of a table, function, thread, string or FFI value, its own. Torch7.
unsafe extern "C-unwind" fn pointer(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    if call.kind(1) == ffi::LUA_TNUMBER {
        // SAFETY: nothing droppable is alive.
        unsafe { call.state().number_to_string(1) };
    }
    let body = |call: Call| {
        let lua = call.state();
        let address = match call.kind(1) {
            ffi::LUA_TUSERDATA if userdata::payload(lua, 1).is_some() => call.storage(1)?.address(),
            ffi::LUA_TUSERDATA if objects::push_class_name(call, 1)? => lua.address(1).addr(),
            ffi::LUA_TUSERDATA => return Err(call.mismatch(1, "Torch object")),
            ffi::LUA_TSTRING => lua.string(1).map_or(0, |bytes| bytes.as_ptr().addr()),
            CDATA => match call.cdata(1)? {
                Cdata::Pointer { address, .. } | Cdata::Array { address, .. } => address,
                _ => lua.address(1).addr(),
            },
            ffi::LUA_TTABLE | ffi::LUA_TFUNCTION | ffi::LUA_TTHREAD => lua.address(1).addr(),
            _ => return Err(call.mismatch(1, "Torch object, table, thread, string, cdata or function")),
        };
        Ok(Answer::Number(count(address)))
    };
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { entry::enter(state, body) }
}

/// `torch.pushudata(address, class)`: a new userdata for the storage at that address, which takes over one outstanding `retain()`.
/// Address 0 gives nil. Differs from Torch7: an address without an outstanding retain, or of another class, is an error.
unsafe extern "C-unwind" fn push_udata(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let target = |call: Call| {
        let address = match call.kind(1) {
            ffi::LUA_TNUMBER => truncate(Scalar::Float(call.state().raw_number(1))).and_then(|n| usize::try_from(n).ok()),
            CDATA => match call.cdata(1)? {
                Cdata::Pointer { address, .. } => Some(address),
                Cdata::Signed(number) => usize::try_from(number).ok(),
                Cdata::Unsigned(number) => usize::try_from(number).ok(),
                _ => None,
            },
            _ => return Err(call.mismatch(1, "number or cdata")),
        };
        let address = address.ok_or_else(|| {
            let got = call.scalar_at(1).ok().flatten().map_or_else(|| call.type_name(1).to_owned(), show);
            Fault::argument(1, format!("an address is expected, got {got}"))
        })?;
        Ok((address, call.class(2)?))
    };
    // SAFETY: nothing droppable is alive.
    let (address, dtype) = unsafe { entry::run(call, target) };
    if address == 0 {
        call.state().push_nil();
        return 1;
    }
    let body = |call: Call| Storage::adopt(address, dtype, call.state_id()).map_err(|error| Fault::from(error).at(1));
    // SAFETY: nothing droppable is alive.
    unsafe { entry::construct_as(call, dtype, body) }
}

/// `core.classname(v)`: the name of the storage class that is meant by a name, PyTorch's name of a dtype, a constructor or a
/// metatable; nothing for anything else.
unsafe extern "C-unwind" fn class_name(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    match unsafe { entry::run(call, |call| Ok(call.class(1).ok())) } {
        // SAFETY: constants stay; nothing droppable is alive.
        Some(dtype) => unsafe { call.state().push_bytes(dtype.class_name().as_bytes()) },
        None => return 0,
    }
    1
}

/// `core.memory()`: bytes used by this process's storages: heap, mapped, shared, foreign.
unsafe extern "C-unwind" fn memory(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let usage = usage();
    [usage.heap, usage.mapped, usage.shared, usage.foreign].into_iter().for_each(|bytes| call.state().push_number(count(bytes)));
    4
}

/// `core.look(v [, class])`: the addresses of the storage's first element and of its header, as numbers, and the place of its
/// class. Nil and a message if `v` is no live storage (of that class): the FFI side raises it with its caller's position.
unsafe extern "C-unwind" fn look(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let lua = call.state();
    let wanted = lua.number(2).and_then(|n| truncate(Scalar::Float(n))).and_then(|n| usize::try_from(n).ok());
    let wanted = wanted.and_then(|place| DType::ALL.get(place.wrapping_sub(1)).copied());
    let message = match userdata::payload(lua, 1) {
        Some((payload, dtype)) if wanted.is_none_or(|wanted| wanted == dtype) => match userdata::storage(payload) {
            Some(storage) => {
                lua.push_number(count(storage.data().expose_provenance()));
                lua.push_number(count(storage.address()));
                lua.push_number(count(dtype.number() + 1));
                return 3;
            }
            None => "storage was freed",
        },
        _ => "",
    };
    lua.push_nil();
    if message.is_empty() {
        let got = call.type_name(1);
        // SAFETY: constants stay; nothing droppable is alive.
        unsafe { lua.push_bytes(wanted.map_or("torch.*Storage", DType::class_name).as_bytes()) };
        // SAFETY: as above.
        unsafe { lua.push_bytes(got.as_bytes()) };
        return 3;
    }
    // SAFETY: as above.
    unsafe { lua.push_bytes(message.as_bytes()) };
    2
}
