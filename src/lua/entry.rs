//! The way into every function and out of it, and where panics stop.
//!
//! The trampoline: read arguments and run pure Rust under `catch_unwind` to a `Result`; drop everything; then push or raise.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::args::Call;
use super::complex;
use super::fault::{Fault, raise};
use super::pressure;
use super::state::{State, lua_State};
use super::userdata::{self, Payload};
use crate::convert::Scalar;
use crate::element::DType;
use crate::storage::Storage;

/// What a function answers. Nothing in it needs dropping, so pushing it may raise.
#[derive(Clone, Copy)]
pub enum Answer {
    /// No value.
    Nothing,
    /// One nil.
    Nil,
    /// The value at a stack index.
    Value(c_int),
    /// A number.
    Number(f64),
    /// An element.
    Element(Scalar),
    /// Two values: an index and its element.
    IndexAnd(f64, Scalar),
    /// Two values: an element and a boolean.
    ElementAnd(Scalar, bool),
    /// A boolean.
    Boolean(bool),
    /// A light userdata.
    Light(*mut u8),
}

/// Runs `body` to its end or its panic, and once more after a collection if something was exhausted.
///
/// # Safety
/// May run Lua code between two tries: nothing droppable is alive, no storage is borrowed.
pub unsafe fn attempt<T>(call: Call, body: &impl Fn(Call) -> Result<T, Fault>) -> Result<T, Fault> {
    let once = || {
        let mut result = None;
        // Not the value of the closure, which would be copied once more.
        match catch_unwind(AssertUnwindSafe(|| result = Some(body(call)))) {
            Ok(()) => result.unwrap_or_else(|| Err(Fault::no_memory())),
            Err(payload) => Err(Fault::panic(&*payload)),
        }
    };
    match once() {
        Err(fault) if fault.is_exhaustion() => {
            drop(fault);
            // SAFETY: as the caller says, and the first try's values are dropped.
            unsafe { pressure::collect(call.state()) };
            call.state().set_top(call.frame());
            once()
        }
        result => result,
    }
}

/// The way into every function: runs `body`, then answers or raises.
///
/// # Safety
/// `state` is the live state that Lua has given to the C function which calls this, with our upvalues.
pub unsafe fn enter(state: *mut lua_State, body: impl Fn(Call) -> Result<Answer, Fault>) -> c_int {
    // SAFETY: as the caller says.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive: a call and a function's body are plain data.
    match unsafe { attempt(call, &body) } {
        // SAFETY: answers are plain data.
        Ok(answer) => unsafe { push(call.state(), answer) },
        // SAFETY: the fault is moved, and nothing else is droppable.
        Err(fault) => unsafe { raise(call.state(), fault) },
    }
}

/// [`enter`] for functions that answer a new storage, of the class that `class` says.
///
/// The userdata comes first, holding nothing: making it may raise. Then the engine runs, then the pointer is stored.
///
/// # Safety
/// As [`enter`].
pub unsafe fn construct(
    state: *mut lua_State,
    class: impl Fn(Call) -> Result<DType, Fault>,
    body: impl Fn(Call) -> Result<Storage, Fault>,
) -> c_int {
    // SAFETY: as the caller says.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive, and no argument has been read.
    unsafe { pressure::relieve(call.state()) };
    // SAFETY: nothing droppable is alive.
    match unsafe { attempt(call, &class) } {
        // SAFETY: nothing droppable is alive.
        Ok(dtype) => unsafe { construct_as(call, dtype, body) },
        // SAFETY: the fault is moved, and nothing else is droppable.
        Err(fault) => unsafe { raise(call.state(), fault) },
    }
}

/// The second half of [`construct`]: for a class that is known.
///
/// # Safety
/// As [`enter`], with the call of that function.
pub unsafe fn construct_as(call: Call, dtype: DType, body: impl Fn(Call) -> Result<Storage, Fault>) -> c_int {
    // SAFETY: nothing droppable is alive.
    let payload = unsafe { userdata::push_dead(call.state(), dtype) };
    // SAFETY: as the caller says.
    unsafe { construct_in(call, payload, body) }
}

/// The last part of [`construct`]: for a userdata that is on the top and holds nothing yet.
///
/// # Safety
/// As [`enter`], with the call of that function.
pub unsafe fn construct_in(call: Call, payload: &Payload, body: impl Fn(Call) -> Result<Storage, Fault>) -> c_int {
    let state = call.state();
    let call = call.with_frame(state.top());
    // SAFETY: nothing droppable is alive.
    match unsafe { attempt(call, &body) } {
        Ok(storage) => {
            userdata::adopt(payload, storage);
            state.set_top(call.frame());
            1
        }
        // SAFETY: the fault is moved, and nothing else is droppable.
        Err(fault) => unsafe { raise(state, fault) },
    }
}

/// Runs `body` for a function that pushes its results itself. Raises on failure.
///
/// # Safety
/// As [`enter`]; nothing droppable is alive.
pub unsafe fn run<T: Copy>(call: Call, body: impl Fn(Call) -> Result<T, Fault>) -> T {
    // SAFETY: as the caller says.
    match unsafe { attempt(call, &body) } {
        Ok(value) => value,
        // SAFETY: the fault is moved, and as the caller says nothing else is droppable.
        Err(fault) => unsafe { raise(call.state(), fault) },
    }
}

/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn push(state: State, answer: Answer) -> c_int {
    match answer {
        Answer::Nothing => return 0,
        Answer::Nil => state.push_nil(),
        Answer::Value(index) => state.push_value(index),
        Answer::Number(number) => state.push_number(number),
        Answer::Boolean(value) => state.push_boolean(value),
        // SAFETY: as the caller says.
        Answer::Element(element) => unsafe { complex::push(state, element) },
        Answer::IndexAnd(index, element) => {
            state.push_number(index);
            // SAFETY: as the caller says.
            unsafe { complex::push(state, element) };
            return 2;
        }
        Answer::ElementAnd(element, value) => {
            // SAFETY: as the caller says.
            unsafe { complex::push(state, element) };
            state.push_boolean(value);
            return 2;
        }
        Answer::Light(pointer) => state.push_light(pointer.cast()),
    }
    1
}

/// The class of the running function: for [`construct`].
pub fn own_class(call: Call) -> Result<DType, Fault> {
    Ok(call.dtype())
}

/// Declares C functions: `name(call) { body -> Result<Answer, Fault> }`.
macro_rules! functions {
    ($($(#[$doc:meta])* $visibility:vis fn $name:ident($call:ident) $body:block)*) => {$(
        $(#[$doc])*
        $visibility unsafe extern "C-unwind" fn $name(state: *mut $crate::lua::state::lua_State) -> std::ffi::c_int {
            // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
            unsafe { $crate::lua::entry::enter(state, |$call| $body) }
        }
    )*};
}

pub(crate) use functions;
