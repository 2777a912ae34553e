//! The classes in a Lua state: metatables, constructor tables, and the functions of the module.

use std::ffi::c_int;

use super::context::{Context, Shared, UPVALUES};
use super::direct;
use super::fields::{self, Field};
use super::methods::{self, Method, buffer, construct, module, sharing};
use super::pressure;
use super::state::State;
use super::t7;
use super::userdata;
use crate::element::DType;
use crate::storage::header::C_FIELDS;

/// Pushes the module's table: its functions, and `classes`, an array of entries with the
/// metatable, the constructor and the [`fields`] of each class.
///
/// # Safety
/// May raise: nothing droppable is alive.
pub unsafe fn push_module(state: State) {
    // SAFETY: nothing droppable is alive.
    let shared = unsafe { new_shared(state) };
    pressure::set_limit(state, shared);
    // SAFETY: nothing droppable is alive.
    unsafe { state.push_table(0) };
    let metatables = state.top();
    // SAFETY: nothing droppable is alive.
    unsafe { state.push_table(0) };
    let module = state.top();
    // SAFETY: nothing droppable is alive.
    unsafe { state.push_table(0) };
    let classes = state.top();
    for &dtype in DType::ALL {
        let place = c_int::try_from(dtype.number() + 1).unwrap_or(c_int::MAX);
        // SAFETY: nothing droppable is alive; `shared` is anchored in the registry.
        unsafe { push_class(state, shared, dtype, metatables, place) };
        // SAFETY: nothing droppable is alive.
        unsafe { state.raw_set(classes, place) };
    }
    // SAFETY: nothing droppable is alive.
    unsafe { state.set_field(module, c"classes") };
    // SAFETY: nothing droppable is alive; `shared` is anchored in the registry.
    unsafe { push_file_class(state, shared, metatables) };
    // SAFETY: nothing droppable is alive.
    unsafe { state.set_field(module, c"t7methods") };
    for &function in module::FUNCTIONS.iter().chain(buffer::FUNCTIONS).chain(sharing::FUNCTIONS).chain(t7::FUNCTIONS) {
        // SAFETY: nothing droppable is alive. The module's functions do not look at their class.
        unsafe { register(state, shared, DType::Byte, metatables, module, function) };
    }
    // SAFETY: nothing droppable is alive.
    unsafe { set_text(state, module, c"fields", C_FIELDS) };
    // A light userdata: whoever gives these a metatable gives it to all.
    state.push_light(userdata::magic(DType::Byte).cast_mut().cast());
    // SAFETY: nothing droppable is alive.
    unsafe { state.set_field(module, c"light") };
    // SAFETY: nothing droppable is alive.
    unsafe { push_direct(state) };
    // SAFETY: nothing droppable is alive.
    unsafe { state.set_field(module, c"direct") };
}

/// Pushes an array of `{ name, C type, address }`: the functions that the FFI calls.
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn push_direct(state: State) {
    // SAFETY: nothing droppable is alive, in this call and those below.
    unsafe { state.push_table(0) };
    let list = state.top();
    for (n, &(name, signature, address)) in (1..).zip(&direct::functions()) {
        // SAFETY: see above.
        unsafe { state.push_table(0) };
        let entry = state.top();
        // SAFETY: see above.
        unsafe { set_text(state, entry, c"name", name) };
        // SAFETY: see above.
        unsafe { set_text(state, entry, c"ctype", signature) };
        state.push_number(address);
        // SAFETY: see above.
        unsafe { state.set_field(entry, c"address") };
        // SAFETY: see above.
        unsafe { state.raw_set(list, n) };
    }
}

/// The block that the functions of this Lua state share: a userdata that the registry holds until the state is closed.
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn new_shared<'a>(state: State) -> &'a Shared {
    // A place given back once: from now on giving back anchors allocates nothing, so it cannot raise.
    state.push_boolean(true);
    // SAFETY: nothing droppable is alive.
    let place = unsafe { state.reference() };
    state.unreference(place);
    // SAFETY: nothing droppable is alive.
    let block = unsafe { state.push_userdata(size_of::<Shared>()) }.cast::<Shared>();
    // SAFETY: the block has the size and alignment.
    unsafe { block.write(Shared::new()) };
    // SAFETY: nothing droppable is alive.
    unsafe { state.reference() };
    // SAFETY: the registry holds the block until the state is closed, and no function of ours runs after that.
    unsafe { &*block }
}

/// Pushes the entry of one class, and puts its metatable in its place among `metatables`.
///
/// # Safety
/// May raise: nothing droppable is alive. `shared` lives as long as the Lua state.
unsafe fn push_class(state: State, shared: *const Shared, dtype: DType, metatables: c_int, place: c_int) {
    // SAFETY: nothing droppable is alive, in this call and those below.
    unsafe { state.push_table(0) };
    let entry = state.top();
    // SAFETY: see above.
    unsafe { state.push_table(0) };
    let metatable = state.top();
    state.push_value(metatable);
    // SAFETY: see above.
    unsafe { state.raw_set(metatables, place) };
    methods::for_each(dtype, |method| {
        // SAFETY: see above; the closure holds references and numbers only.
        unsafe { register(state, shared, dtype, metatables, metatable, method) };
    });
    // SAFETY: see above.
    unsafe { set_text(state, metatable, c"__typename", dtype.class_name()) };
    state.push_number(1.0);
    // SAFETY: see above.
    unsafe { state.set_field(metatable, c"__version") };
    state.push_value(metatable);
    // SAFETY: see above.
    unsafe { state.set_field(metatable, c"__metatable") };
    // SAFETY: see above.
    unsafe { push_constructor(state, shared, dtype, metatables, metatable) };
    state.push_value(-1);
    let behind = c_int::try_from(Context::constructor_place(dtype) + 1).unwrap_or(c_int::MAX);
    // SAFETY: see above.
    unsafe { state.raw_set(metatables, behind) };
    state.push_value(-1);
    // SAFETY: see above.
    unsafe { state.set_field(metatable, c"__constructor") };
    // SAFETY: see above.
    unsafe { state.set_field(entry, c"constructor") };
    // SAFETY: see above.
    unsafe { state.set_field(entry, c"metatable") };
    for &(name, field) in &fields::of(dtype) {
        match field {
            Field::Absent => continue,
            // SAFETY: see above; constants stay.
            Field::Text(text) => unsafe { state.push_bytes(text.as_bytes()) },
            Field::Number(number) => state.push_number(number),
            Field::Boolean(value) => state.push_boolean(value),
        }
        // SAFETY: see above.
        unsafe { state.set_field(entry, name) };
    }
}

/// Pushes the methods of open `.t7` files, and puts their metatable behind those of the classes.
///
/// # Safety
/// As [`push_class`].
unsafe fn push_file_class(state: State, shared: *const Shared, metatables: c_int) {
    // SAFETY: nothing droppable is alive, in this call and those below.
    unsafe { state.push_table(0) };
    let methods = state.top();
    for &dtype in DType::ALL {
        t7::for_each_element_method(dtype, |method| {
            // SAFETY: see above; the closure holds references and numbers only.
            unsafe { register(state, shared, dtype, metatables, methods, method) };
        });
    }
    // SAFETY: see above.
    unsafe { state.push_table(0) };
    let metatable = state.top();
    for &(name, function) in t7::METHODS {
        let table = if name == c"__gc" { metatable } else { methods };
        // SAFETY: see above.
        unsafe { register(state, shared, DType::Byte, metatables, table, (name, function)) };
    }
    state.push_value(methods);
    // SAFETY: see above.
    unsafe { state.set_field(metatable, c"__index") };
    state.push_boolean(false);
    // SAFETY: see above.
    unsafe { state.set_field(metatable, c"__metatable") };
    let place = c_int::try_from(DType::ALL.len() + 1).unwrap_or(c_int::MAX);
    // SAFETY: see above.
    unsafe { state.raw_set(metatables, place) };
}

/// Pushes the table that is called to make storages: empty, so that reading finds the methods and writing adds one.
///
/// # Safety
/// As [`push_class`].
unsafe fn push_constructor(state: State, shared: *const Shared, dtype: DType, metatables: c_int, metatable: c_int) {
    // SAFETY: nothing droppable is alive, in this call and those below.
    unsafe { state.push_table(0) };
    let constructor = state.top();
    // SAFETY: see above.
    unsafe { state.push_table(0) };
    let own = state.top();
    // SAFETY: see above.
    unsafe { register(state, shared, dtype, metatables, own, (c"__call", construct::call_class)) };
    // SAFETY: see above.
    unsafe { register(state, shared, dtype, metatables, own, (c"__new", construct::new)) };
    for name in [c"__index", c"__newindex", c"__metatable"] {
        state.push_value(metatable);
        // SAFETY: see above.
        unsafe { state.set_field(own, name) };
    }
    // SAFETY: both values are tables.
    unsafe { state.set_metatable(constructor) };
}

/// # Safety
/// May raise: nothing droppable is alive. `table` is a table without metatable; `shared` lives as long as the Lua state.
unsafe fn register(state: State, shared: *const Shared, dtype: DType, metatables: c_int, table: c_int, method: Method) {
    let (name, function) = method;
    // SAFETY: nothing droppable is alive; `shared` lives as long as the Lua state.
    unsafe { Context::push_upvalues(state, shared, dtype, metatables) };
    // SAFETY: nothing droppable is alive; the upvalues are on the top.
    unsafe { state.push_function(function, UPVALUES) };
    // SAFETY: nothing droppable is alive.
    unsafe { state.set_field(table, name) };
}

/// # Safety
/// May raise: nothing droppable is alive. `table` is a table without metatable.
unsafe fn set_text(state: State, table: c_int, name: super::state::Name, text: &'static str) {
    // SAFETY: constants stay; nothing droppable is alive.
    unsafe { state.push_bytes(text.as_bytes()) };
    // SAFETY: nothing droppable is alive.
    unsafe { state.set_field(table, name) };
}

/// Pushes the module, the same one however often the library is opened in a state.
///
/// # Safety
/// May raise: nothing droppable is alive.
pub unsafe fn push_module_once(state: State) {
    // The key is an address of this copy of the library: another copy has another module.
    let key = userdata::magic(DType::ALL[0]).cast_mut();
    state.push_light(key.cast());
    state.raw_get_top(mlua_sys::LUA_REGISTRYINDEX);
    if state.kind(-1) == mlua_sys::LUA_TTABLE {
        return;
    }
    state.set_top(state.top() - 1);
    // SAFETY: nothing droppable is alive.
    unsafe { push_module(state) };
    let module = state.top();
    state.push_light(key.cast());
    state.push_value(module);
    // SAFETY: nothing droppable is alive; the key and the value are on the top.
    unsafe { state.raw_set_top(mlua_sys::LUA_REGISTRYINDEX) };
}
