//! The entry and exit of all functions that Lua calls. Panics are caught here.
//!
//! Every function is declared by [`functions!`], which creates the [`Raising`] token. Then one of the functions below runs the
//! body under `catch_unwind`. A body is plain Rust that answers a `Result`. When it has returned, everything that it allocated is
//! dropped. Only then is the answer pushed or the error raised.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::args::Call;
use super::complex;
use super::fault::{Fault, raise};
use super::pressure;
use super::state::{Name, Quiet, Raising, lua_State};
use super::userdata::{self, Payload};
use crate::convert::Scalar;
use crate::element::DType;
use crate::storage::Storage;

/// A function that Lua calls.
pub type Function = unsafe extern "C-unwind" fn(*mut lua_State) -> c_int;

/// A function and the name by which Lua finds it.
pub type Method = (Name, Function);

/// The result of a function. Nothing in it has a destructor, so pushing it may raise.
#[derive(Clone, Copy)]
pub enum Answer {
    /// No value.
    Nothing,
    /// One nil.
    Nil,
    /// The value at a stack index.
    Value(c_int),
    /// A number of elements or bytes, or an address.
    Count(usize),
    /// A string.
    Text(&'static str),
    /// An element.
    Element(Scalar),
    /// Two values: an index and its element.
    IndexAnd(usize, Scalar),
    /// Two values: an element and a boolean.
    ElementAnd(Scalar, bool),
    /// A boolean.
    Boolean(bool),
    /// A light userdata.
    Light(*mut u8),
}

/// Runs `body`. A panic in it becomes a fault. If it fails because memory or another resource was exhausted, collects garbage,
/// drops what it left on the stack, and runs it once more.
pub fn attempt<'call, T>(
    lua: Raising<'call>,
    call: Call<'call>,
    body: &impl Fn(Call<'call>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    match once(call, body) {
        Err(fault) if fault.is_exhaustion() => {
            drop(fault);
            pressure::collect(lua);
            lua.set_top(call.frame());
            once(call, body)
        }
        result => result,
    }
}

/// Runs `body`. A panic in it becomes a fault.
#[inline(always)]
pub fn once<'call, T>(call: Call<'call>, body: impl FnOnce(Call<'call>) -> Result<T, Fault>) -> Result<T, Fault> {
    let mut result = None;
    // The closure stores its result in a variable. If it returned the result, that would be copied once more.
    let outer = Quiet::begin();
    let done = catch_unwind(AssertUnwindSafe(|| result = Some(body(call))));
    outer.restore();
    match done {
        Ok(()) => result.unwrap_or_else(|| Err(Fault::no_memory())),
        Err(payload) => Err(Fault::panic(&*payload)),
    }
}

/// Runs `body`, then pushes its answer or raises its fault.
pub fn enter(lua: Raising, body: impl Fn(Call) -> Result<Answer, Fault>) -> c_int {
    enter_with(lua, Call::new(lua), body)
}

/// [`enter`] for a `Call` that exists already.
pub fn enter_with(lua: Raising, call: Call, body: impl Fn(Call) -> Result<Answer, Fault>) -> c_int {
    match attempt(lua, call, &body) {
        Ok(answer) => push(lua, answer),
        Err(fault) => raise(lua, fault),
    }
}

/// [`enter`] for functions that may allocate much memory. Collects garbage first, if that is due. Finalizers may then change any
/// storage, so this happens before arguments are read.
pub fn grow(lua: Raising, body: impl Fn(Call) -> Result<Answer, Fault>) -> c_int {
    pressure::relieve(lua);
    enter(lua, body)
}

/// [`enter`] for functions that answer a new storage. The function `class` gives its class.
pub fn construct(
    lua: Raising,
    class: impl Fn(Call) -> Result<DType, Fault>,
    body: impl Fn(Call) -> Result<Storage, Fault>,
) -> c_int {
    let call = Call::new(lua);
    pressure::relieve_for(lua, call.shared());
    match attempt(lua, call, &class) {
        Ok(dtype) => construct_as(lua, call, dtype, body),
        Err(fault) => raise(lua, fault),
    }
}

/// The second half of [`construct`], for a class that is known.
///
/// The userdata is pushed first, without a storage, because pushing may raise. Then `body` makes the storage, which the userdata
/// gets.
pub fn construct_as(lua: Raising, call: Call, dtype: DType, body: impl Fn(Call) -> Result<Storage, Fault>) -> c_int {
    let payload = userdata::push_dead(lua, dtype);
    construct_in(lua, call, payload, body)
}

/// The last part of [`construct`]: gives a storage to the userdata that is on the top and has none yet.
pub fn construct_in(lua: Raising, call: Call, payload: &Payload, body: impl Fn(Call) -> Result<Storage, Fault>) -> c_int {
    let call = call.with_frame(lua.top());
    match attempt(lua, call, &body) {
        Ok(storage) => {
            userdata::give(payload, storage);
            lua.set_top(call.frame());
            1
        }
        Err(fault) => raise(lua, fault),
    }
}

/// Runs `body` and returns its value, for functions that push their results themselves. Raises its fault.
pub fn run<'call, T: Copy>(lua: Raising<'call>, call: Call<'call>, body: impl Fn(Call<'call>) -> Result<T, Fault>) -> T {
    match attempt(lua, call, &body) {
        Ok(value) => value,
        Err(fault) => raise(lua, fault),
    }
}

fn push(lua: Raising, answer: Answer) -> c_int {
    match answer {
        Answer::Nothing => return 0,
        Answer::Nil => lua.push_nil(),
        Answer::Value(index) => lua.push_value(index),
        Answer::Count(count) => lua.push_count(count),
        Answer::Text(text) => lua.push_text(text),
        Answer::Boolean(value) => lua.push_boolean(value),
        Answer::Element(element) => complex::push(lua, element),
        Answer::IndexAnd(index, element) => {
            lua.push_count(index);
            complex::push(lua, element);
            return 2;
        }
        Answer::ElementAnd(element, value) => {
            complex::push(lua, element);
            lua.push_boolean(value);
            return 2;
        }
        Answer::Light(pointer) => lua.push_light(pointer.cast()),
    }
    1
}

/// The class of the running function, for [`construct`].
pub fn own_class(call: Call) -> Result<DType, Fault> {
    Ok(call.dtype())
}

/// Declares the C functions that Lua calls. There are five kinds:
///
/// - `fn name(call) { ... }`: the body answers `Result<Answer, Fault>`; see [`enter`].
/// - `growing fn name(call) { ... }`: the same for functions that may allocate much memory; see [`grow`].
/// - `constructor fn name(call) { ... }`: the body answers `Result<Storage, Fault>`. The storage has the function's own class; see
///   [`construct`].
/// - `constructor(class) fn name(call) { ... }`: the same for the class that the function `class` answers.
/// - `raising fn name(lua) { ... }`: the body gets the [`Raising`] token, pushes its results itself and answers their number. It
///   has to keep the rule `[no-drop]`. So it reads arguments and calls the engine inside of [`run`] or another function of this
///   file.
///
/// The first four kinds of bodies run under `catch_unwind`. They get no token, so they cannot raise.
macro_rules! functions {
    () => {};
    ($(#[$doc:meta])* $visibility:vis fn $name:ident($call:ident) $body:block $($rest:tt)*) => {
        $crate::lua::entry::functions! {
            $(#[$doc])* $visibility raising fn $name(lua) { $crate::lua::entry::enter(lua, |$call| $body) }
            $($rest)*
        }
    };
    ($(#[$doc:meta])* $visibility:vis growing fn $name:ident($call:ident) $body:block $($rest:tt)*) => {
        $crate::lua::entry::functions! {
            $(#[$doc])* $visibility raising fn $name(lua) { $crate::lua::entry::grow(lua, |$call| $body) }
            $($rest)*
        }
    };
    ($(#[$doc:meta])* $visibility:vis constructor fn $name:ident($call:ident) $body:block $($rest:tt)*) => {
        $crate::lua::entry::functions! {
            $(#[$doc])* $visibility constructor($crate::lua::entry::own_class) fn $name($call) $body
            $($rest)*
        }
    };
    ($(#[$doc:meta])* $visibility:vis constructor($class:expr) fn $name:ident($call:ident) $body:block $($rest:tt)*) => {
        $crate::lua::entry::functions! {
            $(#[$doc])* $visibility raising fn $name(lua) { $crate::lua::entry::construct(lua, $class, |$call| $body) }
            $($rest)*
        }
    };
    ($(#[$doc:meta])* $visibility:vis raising fn $name:ident $(<$type:ident: $bound:path>)? ($lua:ident) $body:block $($rest:tt)*) => {
        $(#[$doc])*
        $visibility unsafe extern "C-unwind" fn $name $(<$type: $bound>)? (
            state: *mut $crate::lua::state::lua_State,
        ) -> std::ffi::c_int {
            // SAFETY: [state] [live] Lua calls this function with its state, and the body keeps the rules.
            let frame = unsafe { $crate::lua::state::Frame::new(state) };
            // SAFETY: [no-drop] either the body keeps the rule itself, or the function of `entry` that runs it does.
            let $lua = unsafe { frame.raising() };
            $body
        }
        $crate::lua::entry::functions! { $($rest)* }
    };
}

pub(crate) use functions;
