//! A [`Fault`] says why a function fails; [`raise`] turns it into a Lua error.

use std::any::Any;
use std::ffi::{CStr, c_int};
use std::fmt::{self, Display, Write};

use mlua_sys as ffi;

use super::context::Context;
use super::state::{Raising, State};
use crate::error::{Error, shown};
use crate::fallible::{NoMemory, boxed};

/// Why a function fails. It is one word, so that results that carry it stay in registers.
#[derive(Debug)]
pub struct Fault(Option<Box<Report>>);

/// The contents of a fault, in a single block. A text that is too long for a message is cut. A fault has no contents if there is not
/// even memory for them.
#[derive(Debug)]
struct Report {
    message: Message,
    /// The number of the argument that is wrong, if the fault is about one.
    argument: Option<c_int>,
    /// Something was exhausted, so that a collection and another try may help.
    exhausted: bool,
}

impl Fault {
    /// A fault that is not about an argument. The message is written directly into the fault, so callers use `format_args!`, and show
    /// strings of a program by [`shown`].
    #[cold]
    pub fn new(message: impl Display) -> Self {
        Self::report(&message, None, false)
    }

    /// A fault about argument `n`, where `self` is argument 1.
    #[cold]
    pub fn argument(n: c_int, message: impl Display) -> Self {
        Self::report(&message, Some(n), false)
    }

    // Not inlined, so that recursive functions do not have room for a message on their part of the stack.
    #[cold]
    #[inline(never)]
    fn report(message: &dyn Display, argument: Option<c_int>, exhausted: bool) -> Self {
        Self(boxed(Report { message: Message::of(message), argument, exhausted }).ok())
    }

    /// The error that a protected call left on the top of the stack.
    pub fn on_top(lua: State) -> Self {
        // SAFETY: [live] the string stays on the top while it is copied.
        Self::new(unsafe { lua.string(-1) }.map_or(shown(b"an error while a value was looked at"), shown))
    }

    /// The fault for exhausted memory. Making it needs no memory.
    pub const fn no_memory() -> Self {
        Self(None)
    }

    /// The same fault with more text at the end of its message.
    pub fn and(mut self, more: impl Display) -> Self {
        if let Some(report) = &mut self.0 {
            // Writing to a message does not fail.
            let _ = write!(report.message, "{more}");
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
        let text = text.unwrap_or("no message");
        Self::new(format_args!("internal error of torch-storage, please report it: {text}"))
    }

    fn message(&self) -> Message {
        self.0.as_ref().map_or_else(|| Message::of(&"not enough memory"), |report| report.message)
    }
}

impl From<NoMemory> for Fault {
    #[cold]
    fn from(error: NoMemory) -> Self {
        Error::from(error).into()
    }
}

impl From<Error> for Fault {
    #[cold]
    fn from(error: Error) -> Self {
        Self::report(&error, None, error.is_exhaustion())
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message().text().to_str().unwrap_or("?"))
    }
}

/// A text that a function writes where it is shown, so that a message with several forms needs no string.
#[derive(Clone, Copy)]
pub struct Written<F>(F);

/// Makes such a text.
pub fn written<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result>(write: F) -> Written<F> {
    Written(write)
}

impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> Display for Written<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)(f)
    }
}

/// The text of a fault in a buffer of its own, so that it can be on the Rust stack while an error is raised.
#[derive(Clone, Copy)]
struct Message {
    bytes: [u8; Self::ROOM],
    length: usize,
}

impl Message {
    const ROOM: usize = 1536;

    fn of(text: &dyn Display) -> Self {
        let mut message = Self { bytes: [0; Self::ROOM], length: 0 };
        // Writing to a message does not fail.
        let _ = write!(message, "{text}");
        message
    }

    /// The message about argument `n` of the function `name`.
    fn about(n: c_int, name: &str, problem: &Self) -> Self {
        let problem = problem.text().to_str().unwrap_or("?");
        Self::of(&format_args!("bad argument #{n} to '{name}' ({problem})"))
    }

    fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"not enough memory")
    }

    /// Appends a piece. If it does not fit, appends the characters that do, and nothing more fits afterwards.
    fn append(&mut self, piece: &str) {
        // The last byte stays zero.
        let room = Self::ROOM - 1 - self.length;
        let fits = piece.len() <= room;
        let end = if fits { piece.len() } else { (0..=room).rev().find(|&end| piece.is_char_boundary(end)).unwrap_or(0) };
        self.bytes[self.length..self.length + end].copy_from_slice(&piece.as_bytes()[..end]);
        self.length = if fits { self.length + end } else { Self::ROOM - 1 };
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.text(), f)
    }
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // A zero byte would end the message early.
        for (n, piece) in text.split('\0').enumerate() {
            if n > 0 {
                self.append("\\0");
            }
            self.append(piece);
        }
        Ok(())
    }
}

/// Pushes the text of the fault as a string. The caller hands over the fault, and holds nothing else with a destructor.
#[cold]
#[inline(never)]
pub fn push(lua: Raising, fault: Fault) {
    let message = fault.message();
    drop(fault);
    // SAFETY: [live] the text is in our own frame.
    unsafe { lua.push_bytes(message.text().to_bytes()) }
}

/// Raises the fault of one of our functions as a string with position. The caller hands over the fault, and holds nothing else
/// with a destructor.
#[cold]
#[inline(never)]
pub fn raise(lua: Raising, mut fault: Fault) -> ! {
    if !lua.knows_name()
        && let Some(n) = fault.take_argument()
    {
        let problem = fault.message();
        drop(fault);
        let name = Context::of(lua.state()).name();
        let n = n - c_int::from(is_method_of_first(lua, name));
        // A function that is no method may have the name of one: `atomic.sub`.
        let name = name.rsplit_once('.').map_or(name, |(_, name)| name);
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
#[cold]
#[inline(never)]
pub fn raise_in_module(lua: Raising, fault: Fault) -> ! {
    let message = fault.message();
    let argument = fault.0.as_ref().and_then(|report| report.argument);
    drop(fault);
    match argument {
        Some(n) => lua.raise_argument(n, message.text()),
        None => lua.raise(message.text()),
    }
}
