//! Mapped files and shared memory: constructors from a name or a table of options, and methods that only maps have.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::Method;
use super::transfer::push_name;
use crate::error::{Error, shown};
use crate::lua::args::{Call, show};
use crate::lua::entry::{Answer, constructor, function, raising};
use crate::lua::fault::Fault;
use crate::lua::options::Options;
use crate::lua::restricted::expect_free;
use crate::lua::state::{Raising, Table};
use crate::storage::{Advice, MapOptions, SharedAccess, Sharing, Storage};
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
    expect_free(call, "a storage over a file or over shared memory")?;
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

/// The options of mapped files and of shared memory.
static OPTIONS: [&str; 9] = ["filename", "offset", "size", "shared", "readonly", "advise", "lock", "hugepages", "create"];

/// The options that only mapped files have.
const OF_FILES: [&str; 4] = ["offset", "advise", "lock", "hugepages"];

/// `{filename=, offset=, size=, shared=, readonly=, advise=, lock=, hugepages=}`: a mapped file, with a boolean as `shared`.
/// `{shared=, size=, create=, readonly=}`: shared memory, with its name as `shared`. The offset is in bytes, from 0, and the size in
/// elements. `None` if argument 1 is a table of elements: it has an element 1, or it is empty, or it has nothing but `n = 0`, as
/// `table.pack()` makes it.
pub fn from_options(call: Call) -> Result<Option<Storage>, Fault> {
    let state = call.state();
    let top = state.top();
    let Some(options) = options(call)? else {
        state.set_top(top);
        return Ok(None);
    };
    expect_free(call, "a storage over a file or over shared memory")?;
    let storage = if options.is_absent("filename") { shared_memory(call, &options)? } else { mapped(call, &options)? };
    state.set_top(top);
    Ok(Some(storage))
}

/// A mapped file from its options.
fn mapped(call: Call, options: &Options) -> Result<Storage, Fault> {
    let name = options.string("filename")?.unwrap_or_default();
    if !options.is_absent("create") {
        return Err(options.wrong("create", "it is for shared memory; a shared map of a file creates it if it has a size"));
    }
    let is_shared = options.flag("shared").map_err(|wrong| match call.state().kind(options.index("shared")) {
        ffi::LUA_TSTRING => wrong.and("; shared memory has a name, and no 'filename'"),
        _ => wrong,
    })?;
    let offset = options.count("offset", "bytes")?.unwrap_or(0);
    let map = MapOptions {
        sharing: sharing(is_shared),
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
    Ok(Storage::map(call.dtype(), &names::of_lua(name)?, &map)?)
}

/// Shared memory from its options. Unlike the positional form, it creates and extends memory only if `create` is true, so a misspelt name
/// is an error.
fn shared_memory(call: Call, options: &Options) -> Result<Storage, Fault> {
    let name = names::of_lua(options.string("shared")?.unwrap_or_default())?;
    if let Some(option) = OF_FILES.iter().find(|option| !options.is_absent(option)) {
        return Err(options.wrong(option, "it is for files; the options of shared memory are shared, size, create, readonly"));
    }
    let size = options.count("size", "elements")?;
    let access = match (options.flag("create")?, options.flag("readonly")?) {
        (true, true) => return Err(options.wrong("create", "memory that is created is for writing, and 'readonly' is true")),
        (true, false) if size.is_none() => {
            return Err(options.wrong("create", "option 'size' is missing: the number of elements"));
        }
        (true, false) => SharedAccess::Create,
        (false, true) => SharedAccess::Read,
        (false, false) => SharedAccess::Attach,
    };
    Storage::shared_for(call.dtype(), name.as_os_str(), size, access).map_err(|error| match error {
        Error::MissingSharedMemory { name } => {
            Fault::new(format_args!("there is no shared memory '{name}' (create = true and a size create it)"))
        }
        Error::SharedMemoryTooSmall { .. } if cfg!(unix) => Fault::from(error).and(" (create = true extends it)"),
        error => error.into(),
    })
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
        return Err(unknown.and(format_args!(": the options are {names}; a table of elements begins at index 1")));
    }
    let shared = state.kind(options.index("shared"));
    if !options.is_absent("filename") || shared == ffi::LUA_TSTRING {
        return Ok(Some(options));
    }
    if OPTIONS.iter().all(|name| options.is_absent(name)) {
        return Ok(None);
    }
    if !matches!(shared, ffi::LUA_TNIL | ffi::LUA_TBOOLEAN) {
        return Err(options.expected("shared", "boolean, or the name of shared memory,"));
    }
    if !options.is_absent("create") {
        return Err(Fault::argument(1, "option 'shared' is missing: the name of the shared memory"));
    }
    let fault = Fault::argument(1, "option 'filename' is missing");
    Err(match options.scalar("size")?.map(show) {
        _ if shared == ffi::LUA_TBOOLEAN => fault.and("; shared memory has its name in option 'shared'"),
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
