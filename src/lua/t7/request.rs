//! What a function that loads or saves an object is asked for: its mode and its options.

use std::ffi::c_int;

use mlua_sys as ffi;

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
    /// Nowhere: they are counted only.
    Nowhere,
}

/// What one call is asked for.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) medium: Medium,
    /// `None` if the file says it itself, or for the native one.
    pub(super) encoding: Option<Encoding>,
    /// Whether longs of 4 bytes are tried, because those of 8 did not fit.
    pub(super) short_longs: bool,
    pub(super) is_referenced: bool,
    pub(super) is_atomic: bool,
    pub(super) maps: bool,
    pub(super) tells_encoding: bool,
    pub(super) keeps_order: bool,
    /// The stack index of the progress function, if there is one.
    pub(super) progress: Option<c_int>,
    /// A bit for each class of storages that Lua code has given its own `read`, `write` or `__factory`.
    pub(super) own_ways: u32,
    /// The bytes that are going to be written, if that is known.
    pub(super) total: u64,
}

impl Request {
    /// Reads argument `n`, a mode or a table of options, and argument `n + 1`, whether objects are referenced. The values of the
    /// options stay on the stack.
    pub(super) fn read(call: Call, medium: Medium, n: c_int, names: &'static [&'static str]) -> Result<Self, Fault> {
        let lua = call.state();
        let (options, unknown) = Options::push(call, n, names);
        if let Some(unknown) = unknown {
            return Err(Fault::argument(n, format!("no option {unknown}: {}", names.join(", "))));
        }
        let is_given = |name| names.contains(&name) && !options.is_absent(name);
        let flag = |name, default| if is_given(name) { options.flag(name) } else { Ok(default) };
        let progress = if is_given("progress") { Some(options.index("progress")) } else { None };
        if progress.is_some_and(|index| lua.kind(index) != ffi::LUA_TFUNCTION) {
            return Err(options.expected("progress", "function"));
        }
        let mode = match call.kind(n) {
            ffi::LUA_TTABLE => options.string("mode")?,
            ffi::LUA_TSTRING => lua.string(n),
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
            own_ways: 0,
            total: 0,
        })
    }

    /// The same, to find out how many bytes are going to be written.
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
            let mode = String::from_utf8_lossy(mode);
            Err(Fault::argument(n, format!("'binary', 'ascii', 'b32' or 'b64' expected as mode, got '{mode}'")))
        }
    }
}
