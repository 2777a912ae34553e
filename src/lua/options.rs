//! Reading tables of options. All values are pushed before the first is read, because reading an FFI value runs Lua code, which could
//! change the table.

use std::ffi::c_int;
use std::fmt::Display;

use mlua_sys as ffi;

use super::args::{Call, show};
use super::fault::{Fault, written};
use crate::convert::Scalar;
use crate::error::shown;

/// The values of the options, which are on the stack. The value of an option that was not given is nil.
#[derive(Clone, Copy)]
pub struct Options<'call> {
    call: Call<'call>,
    /// The argument that is the table.
    argument: c_int,
    names: &'static [&'static str],
    first: c_int,
}

impl<'call> Options<'call> {
    /// Pushes the values of the options `names` from the table that is argument `n`. Without a table all values are nil. The second
    /// result is the fault for the first key that is not among `names`: `no option KEY`.
    pub fn push(call: Call<'call>, n: c_int, names: &'static [&'static str]) -> (Self, Option<Fault>) {
        let state = call.state();
        let options = Self { call, argument: n, names, first: state.top() + 1 };
        names.iter().for_each(|_| state.push_nil());
        let mut unknown = None;
        let Some(table) = state.table(n).filter(|_| !call.is_absent(n)) else { return (options, unknown) };
        state.push_nil();
        // SAFETY: [no-drop] the key is nil or comes from this loop, in which no Lua code runs, so the table does not change.
        while unsafe { state.next(table) } {
            // SAFETY: [live] the key is on the stack while its name is used.
            let name = unsafe { state.string(-2) }.and_then(|name| std::str::from_utf8(name).ok());
            match name.filter(|name| names.contains(name)) {
                Some(name) => state.replace(options.index(name)),
                None => {
                    unknown = unknown.or_else(|| {
                        // SAFETY: [live] the key is on the stack while it is copied.
                        Some(match unsafe { state.string(-2) } {
                            Some(name) => Fault::argument(n, format_args!("no option '{}'", shown(name))),
                            None if state.kind(-2) == ffi::LUA_TNUMBER => {
                                Fault::argument(n, format_args!("no option {}", show(state.raw_scalar(-2))))
                            }
                            None => Fault::argument(n, format_args!("no option {}", call.name_of(-2))),
                        })
                    });
                    state.set_top(state.top() - 1);
                }
            }
        }
        (options, unknown)
    }

    /// Does the same as [`push`](Self::push), but fails for a key that is not among `names`, and lists them.
    pub fn read(call: Call<'call>, n: c_int, names: &'static [&'static str]) -> Result<Self, Fault> {
        match Self::push(call, n, names) {
            (options, None) => Ok(options),
            (options, Some(unknown)) => Err(unknown.and(format_args!(": the options are {}", options.names()))),
        }
    }

    /// All names, with commas between them, for messages.
    pub fn names(&self) -> impl Display {
        let names = self.names;
        written(move |f| {
            let mut names = names.iter();
            names.next().map_or(Ok(()), |first| f.write_str(first))?;
            names.try_for_each(|name| write!(f, ", {name}"))
        })
    }

    /// The stack index of an option's value.
    pub fn index(&self, name: &str) -> c_int {
        self.names.iter().zip(self.first..).find(|(option, _)| **option == name).map_or(0, |(_, index)| index)
    }

    /// The fault with the message `option 'NAME': WRONG`.
    pub fn wrong(&self, name: &str, wrong: impl Display) -> Fault {
        Fault::argument(self.argument, format_args!("option '{name}': {wrong}"))
    }

    pub fn expected(&self, name: &str, what: &str) -> Fault {
        self.wrong(name, format_args!("{what} expected, got {}", self.call.name_of(self.index(name))))
    }

    pub fn is_absent(&self, name: &str) -> bool {
        self.call.state().kind(self.index(name)) == ffi::LUA_TNIL
    }

    /// The stack index of an option that is a function, if it was given. It need not be among the names.
    pub fn function(&self, name: &str) -> Result<Option<c_int>, Fault> {
        let index = self.given(name);
        match index.filter(|&index| self.call.state().kind(index) != ffi::LUA_TFUNCTION) {
            Some(_) => Err(self.expected(name, "function")),
            None => Ok(index),
        }
    }

    /// The stack index of an option that was given. It need not be among the names.
    pub fn given(&self, name: &str) -> Option<c_int> {
        (self.names.contains(&name) && !self.is_absent(name)).then(|| self.index(name))
    }

    pub fn string(&self, name: &str) -> Result<Option<&'call [u8]>, Fault> {
        if self.is_absent(name) {
            return Ok(None);
        }
        // SAFETY: [live] the values of the options stay on the stack during the call.
        unsafe { self.call.state().string(self.index(name)) }.map(Some).ok_or_else(|| self.expected(name, "string"))
    }

    /// Whether an option that is `'native'`, `'little'` or `'big'` asks for the other byte order than this machine's.
    pub fn reverses_bytes(&self, name: &str) -> Result<bool, Fault> {
        let native = if cfg!(target_endian = "little") { b"little".as_slice() } else { b"big" };
        match self.string(name)? {
            None | Some(b"native") => Ok(false),
            Some(order @ (b"little" | b"big")) => Ok(order != native),
            Some(other) => {
                let other = shown(other);
                Err(self.wrong(name, format_args!("'native', 'little' or 'big' expected, got '{other}'")))
            }
        }
    }

    pub fn flag(&self, name: &str) -> Result<bool, Fault> {
        match self.call.state().kind(self.index(name)) {
            ffi::LUA_TNIL => Ok(false),
            ffi::LUA_TBOOLEAN => Ok(self.call.state().boolean(self.index(name))),
            _ => Err(self.expected(name, "boolean")),
        }
    }

    /// The same, or `default` if the option was not given. It need not be among the names.
    pub fn flag_or(&self, name: &str, default: bool) -> Result<bool, Fault> {
        if self.given(name).is_some() { self.flag(name) } else { Ok(default) }
    }

    pub fn scalar(&self, name: &str) -> Result<Option<Scalar>, Fault> {
        if self.is_absent(name) {
            return Ok(None);
        }
        self.call.scalar_at(self.index(name))?.map(Some).ok_or_else(|| self.expected(name, "number"))
    }

    pub fn count(&self, name: &str, unit: &str) -> Result<Option<usize>, Fault> {
        let Some(scalar) = self.scalar(name)? else { return Ok(None) };
        self.call.count_of(scalar).map(Some).ok_or_else(|| {
            let got = show(scalar);
            self.wrong(name, format_args!("a whole number of {unit} from 0 to 2^63-1 expected, got {got}"))
        })
    }
}
