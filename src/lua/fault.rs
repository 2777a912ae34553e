//! A [`Fault`] is the reason why a function fails; [`raise`] turns it into a Lua error.

use std::any::Any;
use std::borrow::Cow;
use std::ffi::{CStr, c_int};
use std::fmt::{self, Write};

use mlua_sys as ffi;

use super::context::Context;
use super::state::{Raising, State};
use crate::error::Error;

/// More bytes than a call allocates in small blocks.
const RESERVE: usize = 1 << 16;

/// Why a function fails. It is one word, so that results that carry it stay in registers.
#[derive(Debug)]
pub struct Fault(Option<Box<Report>>);

/// The contents of a fault. A fault has none if there is not even memory for that.
#[derive(Debug)]
struct Report {
    message: Cow<'static, str>,
    /// The number of the argument that is wrong, if the fault is about one.
    argument: Option<c_int>,
    /// Something was exhausted, so that a collection and another try may help.
    exhausted: bool,
}

impl Fault {
    /// A fault that is not about an argument.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self(Some(Box::new(Report { message: message.into(), argument: None, exhausted: false })))
    }

    /// A fault about argument `n`, where `self` is argument 1.
    pub fn argument(n: c_int, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(message).at(n)
    }

    /// The error that a protected call left on the top of the stack.
    pub fn on_top(lua: State) -> Self {
        // SAFETY: [live] the string stays on the top while it is copied.
        let message = unsafe { lua.string(-1) }.map(|message| String::from_utf8_lossy(message).into_owned());
        Self::new(message.unwrap_or_else(|| "an error while a value was looked at".to_owned()))
    }

    /// Memory is exhausted. Making this fault needs none.
    pub const fn no_memory() -> Self {
        Self(None)
    }

    /// A fault if not even a small block of memory can be had.
    ///
    /// The lists and trees of the standard library end the process if they cannot allocate. So this is asked before a program can
    /// make them grow again and again: by references that are parked, and by tensors with many dimensions.
    pub fn unless_memory() -> Result<(), Self> {
        Vec::<u8>::new().try_reserve_exact(RESERVE).map_err(|_| Self::no_memory())
    }

    /// The same fault with more text at the end of its message.
    pub fn and(mut self, more: &str) -> Self {
        if let Some(report) = &mut self.0 {
            report.message.to_mut().push_str(more);
        }
        self
    }

    /// The same fault, about argument `n`.
    pub fn at(mut self, n: c_int) -> Self {
        if let Some(report) = &mut self.0 {
            report.argument = Some(n);
        }
        self
    }

    /// Takes out the number of the argument: the fault is about none afterwards.
    pub fn take_argument(&mut self) -> Option<c_int> {
        self.0.as_mut().and_then(|report| report.argument.take())
    }

    /// Whether a collection and another try may help.
    pub fn is_exhaustion(&self) -> bool {
        self.0.as_ref().is_none_or(|report| report.exhausted)
    }

    /// A panic in our code, which must not reach Lua.
    pub fn panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self::new(format!("internal error of torch-storage, please report it: {}", text.unwrap_or("no message")))
    }
}

impl From<Error> for Fault {
    #[cold]
    fn from(error: Error) -> Self {
        /// If fewer bytes than this cannot be allocated, a message may not fit either.
        const SMALL: usize = 1 << 16;
        if matches!(error, Error::OutOfMemory { bytes } if bytes < SMALL) {
            return Self::no_memory();
        }
        let exhausted = error.is_exhaustion();
        Self(Some(Box::new(Report { message: error.to_string().into(), argument: None, exhausted })))
    }
}

/// The text of a fault in a buffer on the Rust stack, so that it outlives the fault, which has a destructor.
struct Message {
    bytes: [u8; Self::ROOM],
    length: usize,
}

impl Message {
    const ROOM: usize = 1536;

    fn of(fault: &Fault) -> Self {
        let mut message = Self { bytes: [0; Self::ROOM], length: 0 };
        // Writing to a message does not fail.
        let _ = message.write_str(fault.0.as_ref().map_or("not enough memory", |report| &report.message));
        message
    }

    /// The message about argument `n` of the function `name`.
    fn about(n: c_int, name: &str, problem: &Self) -> Self {
        let mut message = Self { bytes: [0; Self::ROOM], length: 0 };
        let problem = problem.text().to_str().unwrap_or("?");
        // Writing to a message does not fail.
        let _ = write!(message, "bad argument #{n} to '{name}' ({problem})");
        message
    }

    fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"not enough memory")
    }
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            // A zero byte would end the message early. A message that is too long is cut; the last byte stays zero.
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

/// Pushes the text of the fault as a string. The caller hands over the fault, and holds nothing else with a destructor.
pub fn push(lua: Raising, fault: Fault) {
    let message = Message::of(&fault);
    drop(fault);
    // SAFETY: [live] the text is in our own frame.
    unsafe { lua.push_bytes(message.text().to_bytes()) }
}

/// Raises the fault of one of our functions as a string with position. The caller hands over the fault, and holds nothing else
/// with a destructor.
pub fn raise(lua: Raising, mut fault: Fault) -> ! {
    if !lua.knows_name()
        && let Some(n) = fault.take_argument()
    {
        let problem = Message::of(&fault);
        drop(fault);
        let name = Context::of(lua.state()).name();
        let n = n - c_int::from(is_method_of_first(lua, name));
        lua.raise(Message::about(n, name, &problem).text());
    }
    raise_in_module(lua, fault)
}

/// Whether the first argument is an object that has a method `name`. Then the object does not count as an argument.
fn is_method_of_first(lua: Raising, name: &'static str) -> bool {
    let top = lua.top();
    let is_one = lua.push_metatable_of(1).is_some_and(|metatable| {
        lua.push_text(name);
        lua.raw_get_top(metatable);
        lua.kind(lua.top()) == ffi::LUA_TFUNCTION
    });
    lua.set_top(top);
    is_one
}

/// Does the same as [`raise`] in a function that is not ours, but of a C module.
pub fn raise_in_module(lua: Raising, fault: Fault) -> ! {
    let message = Message::of(&fault);
    let argument = fault.0.as_ref().and_then(|report| report.argument);
    drop(fault);
    match argument {
        Some(n) => lua.raise_argument(n, message.text()),
        None => lua.raise(message.text()),
    }
}
