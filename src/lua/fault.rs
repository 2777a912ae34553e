//! Faults: what goes wrong in a function, and raising it as a Lua error. The only place that raises.

use std::any::Any;
use std::borrow::Cow;
use std::ffi::{c_char, c_int};
use std::fmt::{self, Write};

use super::state::State;
use crate::error::Error;

/// Why a function fails. One word: results that carry it stay in registers.
#[derive(Debug)]
pub struct Fault(Option<Box<Report>>);

/// What there is to say; none if there is not even memory for small things.
#[derive(Debug)]
struct Report {
    message: Cow<'static, str>,
    /// The argument at fault, if it is one.
    argument: Option<c_int>,
    /// Worth a collection and another try.
    exhausted: bool,
}

impl Fault {
    /// A fault of no argument.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self(Some(Box::new(Report { message: message.into(), argument: None, exhausted: false })))
    }

    /// A fault of argument `n` (self included).
    pub fn argument(n: c_int, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(message).at(n)
    }

    /// The error that a helper which looked at a value has left on the top: out of memory, or what a hook raises.
    pub fn on_top(lua: State) -> Self {
        let message = lua.string(-1).map(|message| String::from_utf8_lossy(message).into_owned());
        Self::new(message.unwrap_or_else(|| "an error while a value was looked at".to_owned()))
    }

    /// There is not even memory for small things. Made without any.
    pub const fn no_memory() -> Self {
        Self(None)
    }

    /// The same fault, as one of argument `n`.
    pub fn at(mut self, n: c_int) -> Self {
        if let Some(report) = &mut self.0 {
            report.argument = Some(n);
        }
        self
    }

    /// The argument at fault; the fault is one of none from now on.
    pub fn take_argument(&mut self) -> Option<c_int> {
        self.0.as_mut().and_then(|report| report.argument.take())
    }

    /// Whether a collection and another try may help.
    pub fn is_exhaustion(&self) -> bool {
        self.0.as_ref().is_none_or(|report| report.exhausted)
    }

    /// A panic of ours, which stops here.
    pub fn panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Self::new(format!("internal error of torch-storage, please report it: {}", text.unwrap_or("no message")))
    }
}

impl From<Error> for Fault {
    #[cold]
    fn from(error: Error) -> Self {
        /// Where less than this cannot be had, a message may not fit either.
        const SMALL: usize = 1 << 16;
        if matches!(error, Error::OutOfMemory { bytes } if bytes < SMALL) {
            return Self::no_memory();
        }
        let exhausted = error.is_exhaustion();
        Self(Some(Box::new(Report { message: error.to_string().into(), argument: None, exhausted })))
    }
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
    let _ = message.write_str(fault.0.as_ref().map_or("not enough memory", |report| &report.message));
    let argument = fault.0.as_ref().and_then(|report| report.argument);
    drop(fault);
    match argument {
        // SAFETY: nothing droppable is alive any more.
        Some(n) => unsafe { state.raise_argument(n, message.pointer()) },
        // SAFETY: nothing droppable is alive any more.
        None => unsafe { state.raise(message.pointer()) },
    }
}
