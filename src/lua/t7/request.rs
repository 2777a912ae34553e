//! The mode and the options of a call that loads or saves an object.

use std::ffi::c_int;

use mlua_sys as ffi;

use crate::element::DType;
use crate::error::shown;
use crate::lua::args::Call;
use crate::lua::fault::Fault;
use crate::lua::options::Options;
use crate::t7::Encoding;

/// Where the bytes come from or go to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Medium {
    File,
    String,
    Storage,
    /// The bytes are only counted.
    Nowhere,
}

/// Objects of a class that Torch7 defines.
#[derive(Clone, Copy)]
pub(super) enum Objects {
    Storages,
    Tensors,
}

/// Of which classes of storages and of tensors the program loads or saves the objects itself, as far as Lua was asked. A file often
/// has many objects of a class.
#[derive(Clone, Copy, Default)]
pub(super) struct Overridden([Answers; 2]);

/// A bit for each dtype.
#[derive(Clone, Copy, Default)]
struct Answers {
    known: u32,
    overridden: u32,
}

impl Overridden {
    pub(super) fn of(self, objects: Objects, dtype: DType) -> Option<bool> {
        let Answers { known, overridden } = self.0[objects as usize];
        let bit = 1 << dtype.number();
        (known & bit != 0).then_some(overridden & bit != 0)
    }

    pub(super) fn with(mut self, objects: Objects, dtype: DType, is_overridden: bool) -> Self {
        let answers = &mut self.0[objects as usize];
        answers.known |= 1 << dtype.number();
        answers.overridden |= u32::from(is_overridden) << dtype.number();
        self
    }
}

/// The mode and the options of one call.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) medium: Medium,
    /// `None` if the file decides it while reading, and for the native encoding while writing.
    pub(super) encoding: Option<Encoding>,
    /// Whether the file is read with longs of 4 bytes because longs of 8 bytes have failed.
    pub(super) short_longs: bool,
    pub(super) is_referenced: bool,
    pub(super) is_atomic: bool,
    pub(super) maps: bool,
    pub(super) tells_encoding: bool,
    pub(super) keeps_order: bool,
    /// The stack index of the progress function, if there is one.
    pub(super) progress: Option<c_int>,
    /// The number of bytes that will be written, or 0 if it is not known.
    pub(super) total: u64,
}

impl Request {
    /// Reads argument `n`, which is a mode or a table of options, and the boolean argument `n + 1`, `referenced`. The values of
    /// the options stay on the stack.
    pub(super) fn read(call: Call, medium: Medium, n: c_int, names: &'static [&'static str]) -> Result<Self, Fault> {
        let lua = call.state();
        let (options, unknown) = Options::push(call, n, names);
        if let Some(unknown) = unknown {
            return Err(unknown.and(format_args!(": the options are {}", options.names())));
        }
        let is_given = |name| names.contains(&name) && !options.is_absent(name);
        let flag = |name, default| if is_given(name) { options.flag(name) } else { Ok(default) };
        let progress = if is_given("progress") { Some(options.index("progress")) } else { None };
        if progress.is_some_and(|index| lua.kind(index) != ffi::LUA_TFUNCTION) {
            return Err(options.expected("progress", "function"));
        }
        let mode = match call.kind(n) {
            ffi::LUA_TTABLE => options.string("mode")?,
            // SAFETY: [live] an argument stays in its slot during the call.
            ffi::LUA_TSTRING => unsafe { lua.string(n) },
            _ if call.is_absent(n) => None,
            _ => return Err(call.mismatch(n, "mode, 'binary', 'ascii', 'b32' or 'b64', or a table of options")),
        };
        let is_referenced = flag("referenced", true)?;
        Ok(Self {
            medium,
            encoding: mode.map(|mode| encoding(n, mode)).transpose()?,
            short_longs: false,
            is_referenced: if call.is_absent(n + 1) { is_referenced } else { call.boolean(n + 1)? },
            is_atomic: flag("atomic", true)?,
            maps: flag("mmap", false)?,
            tells_encoding: flag("info", false)?,
            keeps_order: flag("keeporder", false)?,
            progress,
            total: 0,
        })
    }

    /// The same request for a file that only counts its bytes.
    pub(super) fn counting(self) -> Self {
        Self { medium: Medium::Nowhere, progress: None, ..self }
    }
}

/// The encoding that a mode stands for.
fn encoding(n: c_int, mode: &[u8]) -> Result<Encoding, Fault> {
    match mode {
        b"ascii" => Ok(Encoding::Ascii),
        b"binary" | b"b64" => Ok(Encoding::NATIVE),
        b"b32" => Ok(Encoding::Binary { long: 4, swapped: false }),
        mode => {
            let mode = shown(mode);
            Err(Fault::argument(n, format_args!("mode 'binary', 'ascii', 'b32' or 'b64' expected, got '{mode}'")))
        }
    }
}
