//! Mapped files: constructors from a name or a table of options, and methods that only maps have.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::Method;
use super::transfer::push_name;
use crate::error::{Error, shown};
use crate::lua::args::{Call, show};
use crate::lua::entry::{Answer, constructor, function, raising};
use crate::lua::fault::Fault;
use crate::lua::options::Options;
use crate::lua::state::{Raising, Table};
use crate::storage::{Advice, MapOptions, Sharing, Storage};
use crate::system::names;

pub const METHODS: &[Method] = &[
    (c"isMapped", function(is_mapped)),
    (c"isReadOnly", function(is_read_only)),
    (c"filename", raising(file_name)),
    (c"flush", function(flush)),
    (c"advise", function(advise)),
    (c"check", function(check)),
    (c"fromfile", constructor(from_file)),
];

/// `s:isMapped()`: whether the memory is a mapped file. A view of a map is mapped too.
fn is_mapped(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Boolean(call.this()?.is_mapped()))
}

/// `s:isReadOnly()`: whether writing is an error. A view of a read-only storage is read-only too.
fn is_read_only(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Boolean(call.this()?.is_read_only()))
}

/// `s:flush([async])`: writes the pages of a shared map to the file, and waits for that unless `async` is true; returns s. It
/// is an error for every other storage.
fn flush(call: Call) -> Result<Answer, Fault> {
    let wait = !call.flag(2)?;
    call.this()?.flush(wait)?;
    Ok(Answer::Value(1))
}

/// `s:advise(advice)`: tells the system how a mapped file is going to be read: 'normal', 'sequential', 'random' or
/// 'willneed'; returns s.
fn advise(call: Call) -> Result<Answer, Fault> {
    let this = call.this()?;
    let name = call.string(2)?;
    this.advise(advice(name).map_err(|wrong| wrong.at(2))?)?;
    Ok(Answer::Value(1))
}

/// `s:check()`: whether the mapped file still has all bytes of the storage. If it does not, reading a byte that the file has
/// lost may end the process.
fn check(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Boolean(call.this()?.check()?))
}

/// `s:filename()`: the name of the mapped file as it was given, or the name of the shared memory without a leading slash. A
/// view has the name of its memory too. Nil for other storages.
fn file_name(lua: Raising) -> c_int {
    push_name(lua, Call::new(lua), |storage| Ok(storage.file_name().or_else(|| storage.shared_memory_name())))
}

/// `torch.TYPEStorage.fromfile(filename [, shared [, size]])`: a mapped file, as the constructor makes it. PyTorch's
/// `from_file`, whose default size is 0.
fn from_file(call: Call) -> Result<Storage, Fault> {
    call.string_of_function("fromfile")?;
    from_name(call)
}

/// `(filename [, shared [, size [, sharedmemory]]])`: a mapped file, or shared memory of that name if both flags are true. The
/// size is in elements. Nil means the whole file or the whole shared memory. In Torch7 0 means
/// that, too.
pub fn from_name(call: Call) -> Result<Storage, Fault> {
    let name = &*names::of_lua(call.string(1)?)?;
    let shared = flag(call, 2)?;
    let size = if call.is_absent(3) { None } else { Some(call.size(3)?) };
    if flag(call, 4)? {
        if !shared {
            return Err(Fault::argument(4, format_args!("shared memory is always shared: {ARGUMENTS}, with true for both")));
        }
        return Ok(Storage::shared(call.dtype(), name.as_os_str(), size)?);
    }
    let options = MapOptions { sharing: sharing(shared), size, ..MapOptions::default() };
    Storage::map(call.dtype(), name, &options).map_err(|error| meant_size(call, error))
}

/// The arguments of [`from_name`], for messages.
const ARGUMENTS: &str = "the arguments are (filename, shared, size, sharedmemory)";

fn flag(call: Call, n: c_int) -> Result<bool, Fault> {
    match call.kind(n) {
        ffi::LUA_TBOOLEAN => Ok(call.state().boolean(n)),
        _ if call.is_absent(n) => Ok(false),
        _ => Err(Fault::argument(n, format_args!("boolean expected, got {}: {ARGUMENTS}", call.type_name(n)))),
    }
}

/// The error for a file that cannot be opened. If its name is a number, the caller may have meant a size.
fn meant_size(call: Call, error: Error) -> Fault {
    let is_number = call.count() == 1 && call.state().number(1).is_some();
    match error {
        Error::File { .. } if is_number => {
            // SAFETY: [live] the string stays in its slot while it is copied.
            let size = shown(unsafe { call.state().string(1) }.unwrap_or_default().trim_ascii());
            let class = call.dtype().class_name();
            Fault::new(format_args!("{error}; a string is the name of a file, and a size is a number: {class}({size})"))
        }
        error => error.into(),
    }
}

fn sharing(shared: bool) -> Sharing {
    if shared { Sharing::Shared } else { Sharing::Private }
}

/// The options of a mapped file.
static OPTIONS: [&str; 8] = ["filename", "offset", "size", "shared", "readonly", "advise", "lock", "hugepages"];

/// `{filename=, offset=, size=, shared=, readonly=, advise=, lock=, hugepages=}`: a mapped file. The offset is in bytes, from 0,
/// and the size in elements. `None` if argument 1 is a table of elements: it has an element 1, or it is empty,
/// or it has nothing but `n = 0`, as `table.pack()` makes it.
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
            Some(name) => Some(advice(name).map_err(|wrong| options.wrong("advise", wrong))?),
            None => None,
        },
        lock: options.flag("lock")?,
        huge_pages: options.flag("hugepages")?,
    };
    let storage = Storage::map(call.dtype(), &names::of_lua(name)?, &map)?;
    state.set_top(top);
    Ok(Some(storage))
}

/// The options in the table at argument 1. `None` if it is a table of elements, or empty.
fn options(call: Call) -> Result<Option<Options>, Fault> {
    let state = call.state();
    let Some(table) = state.table(1) else { return Ok(None) };
    state.raw_get(table, 1);
    if state.kind(-1) != ffi::LUA_TNIL {
        return Ok(None);
    }
    let class = call.dtype().class_name();
    if state.has_metatable(1) && call.class_of_table(1).is_some() {
        return Err(Fault::argument(1, format_args!("got a class instead of elements: write {class}(...) or {class}.new(...)")));
    }
    // A complex number is not a table of options, and a table whose elements begin with nil has a wrong element.
    if state.length(1) > 0 || is_packed_nothing(call, table) || call.element_at(1)?.is_some() {
        return Ok(None);
    }
    let (options, unknown) = Options::push(call, 1, &OPTIONS);
    if let Some(unknown) = unknown {
        let names = options.names();
        return Err(unknown.and(format_args!(": {names} are the options of a file; a table of elements begins at index 1")));
    }
    if !options.is_absent("filename") {
        return Ok(Some(options));
    }
    if OPTIONS.iter().all(|name| options.is_absent(name)) {
        return Ok(None);
    }
    let fault = Fault::argument(1, "option 'filename' is missing");
    Err(match options.scalar("size")?.map(show) {
        Some(size) => fault.and(format_args!("; a storage of {size} elements is {class}({size})")),
        None => fault,
    })
}

/// Whether the table at argument 1 has nothing but `n = 0`.
fn is_packed_nothing(call: Call, table: Table) -> bool {
    let state = call.state();
    let top = state.top();
    state.push_nil();
    // SAFETY: [no-drop] the key is nil.
    let has_pair = unsafe { state.next(table) };
    // SAFETY: [live] the key is compared while it is on the stack.
    let is_n = has_pair && unsafe { state.string(-2) } == Some(b"n");
    let is_packed = is_n && state.kind(-1) == ffi::LUA_TNUMBER && state.raw_number(-1) == 0.0;
    let has_more = is_packed && {
        state.set_top(top + 1);
        // SAFETY: [no-drop] the table gave the key, and no Lua code has run since.
        unsafe { state.next(table) }
    };
    state.set_top(top);
    is_packed && !has_more
}

/// The advice with this name, or what is wrong with the name.
fn advice(name: &[u8]) -> Result<Advice, Fault> {
    match name {
        b"normal" => Ok(Advice::Normal),
        b"sequential" => Ok(Advice::Sequential),
        b"random" => Ok(Advice::Random),
        b"willneed" => Ok(Advice::WillNeed),
        _ => Err(Fault::new(format_args!("'normal', 'sequential', 'random' or 'willneed' expected, got '{}'", shown(name)))),
    }
}
