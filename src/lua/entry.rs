//! The entry and exit of all functions that Lua calls. Panics are caught here.
//!
//! Functions of Lua are plain Rust functions. The lists of methods say which kind each is: [`function`], [`growing`], [`constructor`]
//! or [`raising`]. These make the C function that Lua calls. It creates the [`Raising`] token, and then runs the Rust function under
//! `catch_unwind`. When that has returned, everything that it allocated is dropped. Only then is the answer pushed or the error raised.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use super::args::Call;
use super::complex;
use super::context::Context;
use super::fault::{Fault, raise};
use super::pressure;
use super::state::{Frame, Name, Quiet, Raising, lua_State};
use super::userdata::{self, Payload};
use crate::budget::{AccountId, are_counted, exchange};
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
    Nothing,
    Nil,
    /// The value at a stack index.
    Value(c_int),
    /// A number of elements or bytes, or an address.
    Count(usize),
    Text(&'static str),
    Element(Scalar),
    /// Two values: an index and its element.
    IndexAnd(usize, Scalar),
    /// Two values: an element and a boolean.
    ElementAnd(Scalar, bool),
    Boolean(bool),
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

/// Runs `body`, and charges the memory that it allocates to the account of the Lua state. A panic in it becomes a fault.
#[inline(always)]
pub fn once<'call, T>(call: Call<'call>, body: impl FnOnce(Call<'call>) -> Result<T, Fault>) -> Result<T, Fault> {
    // Looking up the account of the state takes longer than to ask whether any state has one.
    let around = if are_counted() { exchange(call.shared().account.get()) } else { AccountId::NONE };
    let result = caught(call, body);
    if are_counted() {
        exchange(around);
    }
    result
}

/// Runs `body`, for a caller that has set the account before. A panic in it becomes a fault.
#[inline(always)]
pub fn caught<'call, T>(call: Call<'call>, body: impl FnOnce(Call<'call>) -> Result<T, Fault>) -> Result<T, Fault> {
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

/// Runs `body` and returns its value, for functions that push their results themselves. Raises its fault.
pub fn run<'call, T: Copy>(lua: Raising<'call>, call: Call<'call>, body: impl Fn(Call<'call>) -> Result<T, Fault>) -> T {
    match attempt(lua, call, &body) {
        Ok(value) => value,
        Err(fault) => raise(lua, fault),
    }
}

/// Runs `body` and pushes its answer, or raises its fault.
pub fn answer(lua: Raising, body: impl Fn(Call) -> Result<Answer, Fault>) -> c_int {
    push(lua, run(lua, Call::new(lua), body))
}

/// Pushes an answer. Returns how many values it has.
pub fn push(lua: Raising, answer: Answer) -> c_int {
    match answer {
        Answer::Nothing => return 0,
        Answer::Nil => lua.push_nil(),
        Answer::Value(index) => lua.push_value(index),
        Answer::Count(count) => lua.push_count(count),
        Answer::Text(text) => lua.push_text(text),
        Answer::Boolean(value) => lua.push_boolean(value),
        Answer::Element(element) => return complex::push(lua, element),
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

/// Pushes a storage of class `dtype` that `body` makes, or raises its fault.
///
/// The userdata is pushed first, without a storage, because pushing may raise. Then it gets the storage.
pub fn construct(lua: Raising, call: Call, dtype: DType, body: impl Fn(Call) -> Result<Storage, Fault>) -> c_int {
    let payload = userdata::push_dead(lua, dtype);
    construct_in(lua, call, payload, body)
}

/// [`construct`] for a userdata that is on the top and has no storage yet.
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

/// Pushes two storages of these classes that `body` makes, or raises its fault.
#[cfg(feature = "answers")]
pub fn construct_two(
    lua: Raising,
    call: Call,
    dtypes: [DType; 2],
    body: impl Fn(Call) -> Result<(Storage, Storage), Fault>,
) -> c_int {
    pressure::relieve(lua);
    let payloads = dtypes.map(|dtype| userdata::push_dead(lua, dtype));
    let call = call.with_frame(lua.top());
    match attempt(lua, call, &body) {
        Ok((first, second)) => {
            userdata::give(payloads[0], first);
            userdata::give(payloads[1], second);
            lua.set_top(call.frame());
            2
        }
        Err(fault) => raise(lua, fault),
    }
}

/// A function of Lua: `body` returns what it pushes. It runs under `catch_unwind`, and gets no [`Raising`], so it cannot raise.
pub const fn function<F: Fn(Call<'_>) -> Result<Answer, Fault> + Copy>(_: F) -> Function {
    /// What Lua calls.
    fn body<F: Fn(Call<'_>) -> Result<Answer, Fault> + Copy>(lua: Raising) -> c_int {
        // SAFETY: [layout] `function` was given this value.
        answer(lua, unsafe { item::<F>() })
    }
    raising(body::<F>)
}

/// A [`function`] that may allocate much memory. Collects garbage first, if that is due. Finalizers may then change any storage, so
/// this happens before arguments are read.
pub const fn growing<F: Fn(Call<'_>) -> Result<Answer, Fault> + Copy>(_: F) -> Function {
    fn body<F: Fn(Call<'_>) -> Result<Answer, Fault> + Copy>(lua: Raising) -> c_int {
        pressure::relieve(lua);
        // SAFETY: [layout] `growing` was given this value.
        answer(lua, unsafe { item::<F>() })
    }
    raising(body::<F>)
}

/// A [`growing`] function that returns a new storage of its own class, which `body` makes.
pub const fn constructor<F: Fn(Call<'_>) -> Result<Storage, Fault> + Copy>(_: F) -> Function {
    fn body<F: Fn(Call<'_>) -> Result<Storage, Fault> + Copy>(lua: Raising) -> c_int {
        let context = Context::of(lua.state());
        pressure::relieve_for(lua, context.shared());
        // SAFETY: [layout] `constructor` was given this value.
        construct(lua, Call::new(lua), context.dtype(), unsafe { item::<F>() })
    }
    raising(body::<F>)
}

/// A function of Lua that pushes its results itself, and returns their number. `body` has to keep the rule `[no-drop]`: it reads
/// arguments and calls the engine inside of [`run`] or another function of this file.
pub const fn raising<F: Fn(Raising<'_>) -> c_int + Copy>(_: F) -> Function {
    /// What Lua calls.
    ///
    /// # Safety
    /// `[state]`: Lua calls this with its state.
    unsafe extern "C-unwind" fn called<F: Fn(Raising<'_>) -> c_int + Copy>(state: *mut lua_State) -> c_int {
        // SAFETY: [state] [live] Lua calls this function with its state, and the body keeps the rules.
        let frame = unsafe { Frame::new(state) };
        // SAFETY: [layout] `raising` was given this value.
        let body = unsafe { item::<F>() };
        // SAFETY: [no-drop] either the body keeps the rule itself, or the function of this file that runs it does.
        body(unsafe { frame.raising() })
    }
    called::<F>
}

/// The value of a function's own type, which has no bytes.
///
/// # Safety
/// `[layout]`: there is a value of this type.
pub unsafe fn item<F: Copy>() -> F {
    const { assert!(size_of::<F>() == 0, "a function without variables") };
    // SAFETY: [layout] a value without bytes is read from any aligned address, and the caller vouches that there is one.
    unsafe { NonNull::dangling().read() }
}
