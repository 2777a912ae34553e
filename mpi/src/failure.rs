//! A [`Failure`] says why a function fails, before it is raised as a Lua error.

use std::ffi::{CStr, c_int};
use std::fmt::{self, Write};

use crate::table::Wants;

/// Why a function fails.
#[derive(Clone, Debug)]
pub struct Failure {
    pub text: String,
    /// What the failure is about, if it is an argument.
    pub about: About,
}

/// What a failure is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum About {
    /// The call.
    Call,
    /// Argument `n`, where `self` is argument 1.
    Argument(c_int),
    /// Argument `n` does not have the elements that were wanted. The function `check` of the table has the words for it.
    Elements(c_int, Wants),
}

/// Whether something worked.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), about: About::Call }
    }

    pub fn argument(n: c_int, text: impl Into<String>) -> Self {
        Self { text: text.into(), about: About::Argument(n) }
    }

    pub fn elements(n: c_int, wants: Wants) -> Self {
        Self { text: "other elements expected".to_owned(), about: About::Elements(n, wants) }
    }
}

/// A text in a buffer on the Rust stack, so that nothing with a destructor is alive when it is raised.
#[derive(Clone, Copy)]
pub struct Message {
    bytes: [u8; Self::ROOM],
    length: usize,
}

impl Message {
    const ROOM: usize = 1536;

    pub fn new(text: &str) -> Self {
        let mut message = Self { bytes: [0; Self::ROOM], length: 0 };
        // Writing to a message does not fail.
        let _ = message.write_str(text);
        message
    }

    pub fn text(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"an error")
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
