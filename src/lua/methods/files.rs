//! Mapped files: from a name or a table of options; what only they have.

use std::ffi::{OsStr, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use mlua_sys as ffi;

use super::Method;
use super::transfer::push_pinned;
use crate::convert::Scalar;
use crate::lua::args::{Call, show};
use crate::lua::entry::{Answer, functions};
use crate::lua::fault::Fault;
use crate::lua::state::lua_State;
use crate::storage::{Advice, MapOptions, Sharing, Storage};

/// The methods of this file.
pub const METHODS: &[Method] = &[
    (c"isMapped", is_mapped),
    (c"isReadOnly", is_read_only),
    (c"filename", file_name),
    (c"flush", flush),
    (c"advise", advise),
    (c"check", check),
];

functions! {
    /// `s:isMapped()`: whether the memory is a mapped file; of a view too.
    fn is_mapped(call) {
        Ok(Answer::Boolean(call.this()?.is_mapped()))
    }

    /// `s:isReadOnly()`: whether writing is an error; of a view too.
    fn is_read_only(call) {
        Ok(Answer::Boolean(call.this()?.is_read_only()))
    }

    /// `s:flush([async])`: writes a shared map's pages to the file, and waits unless `async` is true; returns s. An error for every
    /// other storage.
    fn flush(call) {
        let wait = !call.flag(2)?;
        call.this()?.flush(wait)?;
        Ok(Answer::Value(1))
    }

    /// `s:advise(advice)`: how a mapped file is going to be read: 'normal', 'sequential', 'random' or 'willneed'; returns s.
    fn advise(call) {
        let this = call.this()?;
        let name = call.string(2)?;
        let got = || Fault::argument(2, format!("{ADVICE} expected, got '{}'", String::from_utf8_lossy(name)));
        this.advise(advice(name).ok_or_else(got)?)?;
        Ok(Answer::Value(1))
    }

    /// `s:check()`: whether the file still has all the bytes that are mapped. Touching one that it has not ends the process.
    fn check(call) {
        Ok(Answer::Boolean(call.this()?.check()?))
    }
}

/// `s:filename()`: the name of the mapped file, as it was given, or of the shared memory, without a leading slash; of a view too.
/// Nil for other storages.
unsafe extern "C-unwind" fn file_name(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    unsafe { push_pinned(call, |storage| Ok(storage.file_name().or_else(|| storage.shared_memory_name()))) }
}

/// `(filename [, shared [, size [, sharedmemory]]])`: a mapped file, or with both flags shared memory of that name. Size in
/// elements; nil or 0 is all of it, as in Torch7.
pub fn from_name(call: Call) -> Result<Storage, Fault> {
    let name = OsStr::from_bytes(call.string(1)?);
    let shared = call.flag(2)?;
    let size = if call.is_absent(3) { None } else { Some(call.size(3)?).filter(|&size| size > 0) };
    if shared && call.flag(4)? {
        return Ok(Storage::shared(call.dtype(), name, size)?);
    }
    let options = MapOptions { sharing: sharing(shared), size, ..MapOptions::default() };
    Ok(Storage::map(call.dtype(), Path::new(name), &options)?)
}

fn sharing(shared: bool) -> Sharing {
    if shared { Sharing::Shared } else { Sharing::Private }
}

/// What a table of options may have.
const OPTIONS: [&str; 8] = ["filename", "offset", "size", "shared", "readonly", "advise", "lock", "hugepages"];

/// The stack indices of the options' values: an option that is not there is nil.
struct Options {
    call: Call,
    first: c_int,
}

impl Options {
    fn index(&self, name: &str) -> c_int {
        OPTIONS.iter().zip(self.first..).find(|(option, _)| **option == name).map_or(0, |(_, index)| index)
    }

    fn expected(&self, name: &str, what: &str) -> Fault {
        Fault::argument(1, format!("option '{name}': {what} expected, got {}", self.call.name_of(self.index(name))))
    }

    fn expected_advice(&self, got: &[u8]) -> Fault {
        Fault::argument(1, format!("option 'advise': {ADVICE} expected, got '{}'", String::from_utf8_lossy(got)))
    }

    fn is_absent(&self, name: &str) -> bool {
        self.call.state().kind(self.index(name)) == ffi::LUA_TNIL
    }

    fn string(&self, name: &str) -> Result<Option<&'static [u8]>, Fault> {
        if self.is_absent(name) {
            return Ok(None);
        }
        self.call.state().string(self.index(name)).map(Some).ok_or_else(|| self.expected(name, "string"))
    }

    fn flag(&self, name: &str) -> Result<bool, Fault> {
        match self.call.state().kind(self.index(name)) {
            ffi::LUA_TNIL => Ok(false),
            ffi::LUA_TBOOLEAN => Ok(self.call.state().boolean(self.index(name))),
            _ => Err(self.expected(name, "boolean")),
        }
    }

    fn count(&self, name: &str, unit: &str) -> Result<Option<usize>, Fault> {
        if self.is_absent(name) {
            return Ok(None);
        }
        let scalar = self.call.scalar_at(self.index(name))?.ok_or_else(|| self.expected(name, "number"))?;
        self.call.count_of(scalar).map(Some).ok_or_else(|| {
            let got = show(scalar);
            Fault::argument(1, format!("option '{name}': a whole number of {unit} from 0 to 2^63-1 expected, got {got}"))
        })
    }
}

/// `{filename=, offset=, size=, shared=, readonly=, advise=, lock=, hugepages=}`: a mapped file. Offset in bytes from 0, size in
/// elements. `None` if the table is none of options: it has an element 1, or no string at `filename`.
pub fn from_options(call: Call) -> Result<Option<Storage>, Fault> {
    let state = call.state();
    let top = state.top();
    let Some(options) = options(call)? else {
        state.set_top(top);
        return Ok(None);
    };
    let name = options.string("filename")?.unwrap_or_default();
    let offset = options.count("offset", "bytes")?.unwrap_or(0);
    let map = MapOptions {
        sharing: sharing(options.flag("shared")?),
        read_only: options.flag("readonly")?,
        offset: u64::try_from(offset).unwrap_or(u64::MAX),
        size: options.count("size", "elements")?,
        advice: match options.string("advise")? {
            Some(name) => Some(advice(name).ok_or_else(|| options.expected_advice(name))?),
            None => None,
        },
        lock: options.flag("lock")?,
        huge_pages: options.flag("hugepages")?,
    };
    let storage = Storage::map(call.dtype(), Path::new(OsStr::from_bytes(name)), &map)?;
    state.set_top(top);
    Ok(Some(storage))
}

/// Puts the options' values on the stack, before any of them is read: reading an FFI value runs Lua code, which could change the
/// table.
fn options(call: Call) -> Result<Option<Options>, Fault> {
    let state = call.state();
    state.raw_get(1, 1);
    if state.kind(-1) != ffi::LUA_TNIL {
        return Ok(None);
    }
    let options = Options { call, first: state.top() + 1 };
    OPTIONS.iter().for_each(|_| state.push_nil());
    let mut unknown = None;
    state.push_nil();
    // Nothing happens to the table meanwhile, so this does not raise.
    while state.next(1) {
        let name = state.string(-2).and_then(|name| std::str::from_utf8(name).ok());
        match name.filter(|name| OPTIONS.contains(name)) {
            Some(name) => state.replace(options.index(name)),
            None => {
                unknown = unknown.or_else(|| {
                    let text = state.string(-2).map(|name| format!("'{}'", String::from_utf8_lossy(name)));
                    let number = || (state.kind(-2) == ffi::LUA_TNUMBER).then(|| show(Scalar::Float(state.raw_number(-2))));
                    Some(text.or_else(number).unwrap_or_else(|| call.name_of(-2).to_owned()))
                });
                state.set_top(state.top() - 1);
            }
        }
    }
    match (state.kind(options.index("filename")), unknown) {
        (ffi::LUA_TSTRING, None) => Ok(Some(options)),
        (ffi::LUA_TSTRING, Some(key)) => {
            Err(Fault::argument(1, format!("no option {key}: {} are the options of a file", OPTIONS.join(", "))))
        }
        _ => Ok(None),
    }
}

/// What there is, for messages.
const ADVICE: &str = "'normal', 'sequential', 'random' or 'willneed'";

fn advice(name: &[u8]) -> Option<Advice> {
    Some(match name {
        b"normal" => Advice::Normal,
        b"sequential" => Advice::Sequential,
        b"random" => Advice::Random,
        b"willneed" => Advice::WillNeed,
        _ => return None,
    })
}
