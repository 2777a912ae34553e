//! From `Result` to Lua errors: the only place that raises, and where panics stop.
//!
//! The trampoline: read arguments and run pure Rust under `catch_unwind` to a `Result`; drop everything; then push or raise.

use std::any::Any;
use std::ffi::{c_char, c_int};
use std::fmt::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::args::Call;
use super::context::Context;
use super::pressure;
use super::state::{State, lua_State};
use super::userdata;
use crate::element::DType;
use crate::error::Error;
use crate::storage::Storage;

/// Why a function fails: its message, and the argument at fault if it is one.
#[derive(Debug)]
pub struct Fault {
    argument: Option<c_int>,
    message: String,
    /// Worth a collection and another try.
    exhausted: bool,
}

impl Fault {
    /// A fault of no argument.
    pub fn new(message: impl Into<String>) -> Self {
        Self { argument: None, message: message.into(), exhausted: false }
    }

    /// A fault of argument `n` (self included).
    pub fn argument(n: c_int, message: impl Into<String>) -> Self {
        Self { argument: Some(n), message: message.into(), exhausted: false }
    }

    /// The same fault, as one of argument `n`.
    pub fn at(self, n: c_int) -> Self {
        Self { argument: Some(n), ..self }
    }

    fn panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self::new(format!("internal error of torch-storage, please report it: {}", text.unwrap_or("no message")))
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self { argument: None, message: error.to_string(), exhausted: error.is_exhaustion() }
    }
}

/// What a function answers. Nothing in it needs dropping, so pushing it may raise.
#[derive(Clone, Copy)]
pub enum Answer {
    /// No value.
    Nothing,
    /// One nil.
    Nil,
    /// The value at a stack index.
    Value(c_int),
    /// The two values on the top.
    TopTwo,
    /// A number.
    Number(f64),
    /// A boolean.
    Boolean(bool),
    /// A string.
    Text(&'static str),
    /// Two values: the one on the top and a boolean.
    TopAnd(bool),
    /// A light userdata.
    Light(*mut u8),
}

/// Runs `body` to its end or its panic, and once more after a collection if something was exhausted.
///
/// # Safety
/// May run Lua code between two tries: nothing droppable is alive, no storage is borrowed.
unsafe fn attempt<T>(call: Call, body: &impl Fn(Call) -> Result<T, Fault>) -> Result<T, Fault> {
    let once = || catch_unwind(AssertUnwindSafe(|| body(call))).unwrap_or_else(|payload| Err(Fault::panic(&*payload)));
    match once() {
        Err(fault) if fault.exhausted => {
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
    let state = call.state();
    // SAFETY: nothing droppable is alive.
    let payload = unsafe { userdata::push_dead(state, dtype) };
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
        Answer::TopTwo => return 2,
        Answer::Number(number) => state.push_number(number),
        Answer::Boolean(value) => state.push_boolean(value),
        // SAFETY: constants stay; the caller has nothing to lose to an error.
        Answer::Text(text) => unsafe { state.push_bytes(text.as_bytes()) },
        Answer::TopAnd(value) => {
            state.push_boolean(value);
            return 2;
        }
        Answer::Light(pointer) => state.push_light(pointer.cast()),
    }
    1
}

/// A message on the stack, ended by a zero byte: what is left of a fault when it has been dropped.
struct Message {
    bytes: [u8; Self::ROOM],
    length: usize,
}

impl Message {
    const ROOM: usize = 1536;

    fn pointer(&self) -> *const c_char {
        self.bytes.as_ptr().cast()
    }
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            // Zero bytes would end the message early; a message that is too long is cut.
            let character = if character == '\0' { '?' } else { character };
            let end = self.length + character.len_utf8();
            if end >= Self::ROOM {
                break;
            }
            character.encode_utf8(&mut self.bytes[self.length..end]);
            self.length = end;
        }
        Ok(())
    }
}

/// Raises the fault: a string with position.
///
/// # Safety
/// Nothing droppable is alive but the fault itself.
pub unsafe fn raise(state: State, fault: Fault) -> ! {
    let mut message = Message { bytes: [0; Message::ROOM], length: 0 };
    // Writing to a message does not fail.
    let _ = message.write_str(&fault.message);
    let argument = fault.argument;
    drop(fault);
    match argument {
        // SAFETY: nothing droppable is alive any more.
        Some(n) => unsafe { state.raise_argument(n, message.pointer()) },
        // SAFETY: nothing droppable is alive any more.
        None => unsafe { state.raise(message.pointer()) },
    }
}

/// The class of the running function: for [`construct`].
pub fn own_class(call: Call) -> Result<DType, Fault> {
    Ok(Context::of(call.state()).dtype())
}

/// Declares C functions: `name(call) { body -> Result<Answer, Fault> }`.
macro_rules! functions {
    ($($(#[$doc:meta])* $visibility:vis fn $name:ident($call:ident) $body:block)*) => {$(
        $(#[$doc])*
        $visibility unsafe extern "C-unwind" fn $name(state: *mut $crate::lua::state::lua_State) -> std::ffi::c_int {
            // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
            unsafe { $crate::lua::fault::enter(state, |$call| $body) }
        }
    )*};
}

pub(crate) use functions;
