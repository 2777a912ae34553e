//! What a call has to do that loads or saves an object, by its mode and its options.

use std::ffi::c_int;

use mlua_sys as ffi;

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

/// What one call has to do.
#[derive(Clone, Copy)]
pub(super) struct Task {
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

impl Task {
    /// Reads argument `n`, which is a mode or a table of options, and the boolean argument `n + 1`, `referenced`. The values of
    /// the options stay on the stack.
    pub(super) fn read(call: Call, medium: Medium, n: c_int, names: &'static [&'static str]) -> Result<Self, Fault> {
        let options = Options::read(call, n, names)?;
        let progress = options.function("progress")?;
        let mode = match call.kind(n) {
            ffi::LUA_TTABLE => options.string("mode")?,
            // SAFETY: [live] an argument stays in its slot during the call.
            ffi::LUA_TSTRING => unsafe { call.state().string(n) },
            _ if call.is_absent(n) => None,
            _ => return Err(call.mismatch(n, "mode, 'binary', 'ascii', 'b32' or 'b64', or a table of options")),
        };
        let is_referenced = options.flag_or("referenced", true)?;
        Ok(Self {
            medium,
            encoding: mode.map(|mode| encoding(n, mode)).transpose()?,
            short_longs: false,
            is_referenced: if call.is_absent(n + 1) { is_referenced } else { call.boolean(n + 1)? },
            is_atomic: options.flag_or("atomic", true)?,
            maps: options.flag_or("mmap", false)?,
            tells_encoding: options.flag_or("info", false)?,
            keeps_order: options.flag_or("keeporder", false)?,
            progress,
            total: 0,
        })
    }

    /// The same task for a file that only counts its bytes.
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
