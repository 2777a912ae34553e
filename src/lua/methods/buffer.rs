//! Memory of other values: `frombuffer`, and the protocol by which they offer it.

mod source;

use std::cell::Cell;
use std::ffi::c_int;

use mlua_sys as ffi;

use super::Method;
use super::construct::LOWEST_ADDRESS;
use super::references::{give_back_after, give_back_anchor};
use crate::convert::truncate;
use crate::element::DType;
use crate::error::Error;
use crate::lua::args::{Call, count, show};
use crate::lua::entry;
use crate::lua::fault::Fault;
use crate::lua::options::Options;
use crate::lua::pressure;
use crate::lua::state::lua_State;
use crate::lua::userdata;
use crate::storage::{Anchor, Borrowed, Storage};
use source::{Memory, OBJECT, Source, anchor, find_source};

/// The methods of this file.
pub const METHODS: &[Method] = &[(c"frombuffer", of_class), (c"__buffer", own_buffer)];

/// Functions of the module.
pub const FUNCTIONS: &[Method] = &[(c"frombuffer", of_any_class), (c"buffer", buffer)];

static OPTIONS: [&str; 5] = ["dtype", "count", "offset", "byteorder", "size"];

/// What is wanted of a buffer.
#[derive(Clone, Copy)]
struct Request {
    dtype: DType,
    /// Elements; without a number all of the rest.
    count: Option<u64>,
    /// Bytes from the beginning.
    offset: usize,
    /// Whether the bytes of the elements stand in the order that is not this machine's: then they are copied.
    swapped: bool,
    /// Bytes that there are: of what does not say itself.
    length: Option<usize>,
}

/// `torch.frombuffer(object [, {dtype=, count=, offset=, byteorder=, size=}])`: a storage over the memory of another value. PyTorch.
unsafe extern "C-unwind" fn of_any_class(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    unsafe { from_buffer(call, None) }
}

/// `torch.TYPEStorage.frombuffer(object [, {count=, offset=, byteorder=, size=}])`: the same for one class.
unsafe extern "C-unwind" fn of_class(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    unsafe { from_buffer(call, Some(call.dtype())) }
}

/// # Safety
/// As [`entry::construct`], with the call of that function; nothing droppable is alive.
unsafe fn from_buffer(call: Call, class: Option<DType>) -> c_int {
    let lua = call.state();
    // SAFETY: nothing droppable is alive, here and below, and no argument has been read.
    unsafe { pressure::relieve(lua) };
    // The object comes last: what its `__buffer` says holds until other code runs.
    // SAFETY: see above; a request is plain data.
    let request = unsafe { entry::run(call, |call| read_request(call, class)) };
    let call = call.with_frame(lua.top());
    // SAFETY: see above.
    let source = unsafe { find_source(call) };
    let call = call.with_frame(lua.top());
    // SAFETY: see above.
    let payload = unsafe { userdata::push_dead(lua, request.dtype) };
    let anchor = match source {
        // SAFETY: see above. It is the last that can raise before the storage has the anchor.
        Source::Memory(memory) if !request.swapped => unsafe { anchor(lua, memory.owner) },
        _ => None,
    };
    let tried = Cell::new(false);
    let body = |call: Call| {
        let made = match source {
            Source::Storage => over_storage(call, &request),
            Source::Memory(memory) => over_memory(memory, &request, anchor),
        };
        // In case of a fault the reference is given back before raising.
        made.inspect_err(|fault| give_back_after(call, anchor, fault, &tried))
    };
    // SAFETY: see above; what the body holds is plain data.
    unsafe { entry::construct_in(call, payload, body) }
}

fn read_request(call: Call, class: Option<DType>) -> Result<Request, Fault> {
    if call.is_absent(1) {
        return Err(call.mismatch(1, OBJECT));
    }
    if !call.is_absent(2) && call.kind(2) != ffi::LUA_TTABLE {
        return Err(call.mismatch(2, "table of options"));
    }
    let (options, unknown) = Options::push(call, 2, &OPTIONS);
    if let Some(key) = unknown {
        return Err(options.no_option(&key, "a buffer"));
    }
    let dtype = match class {
        Some(class) if options.is_absent("dtype") => class,
        Some(class) => {
            return Err(options.wrong("dtype", &format!("the class is {} here; torch.frombuffer takes one", class.class_name())));
        }
        // PyTorch has no default: nothing is guessed here either.
        None if options.is_absent("dtype") => DType::Untyped,
        None => call.class_at(options.index("dtype")).map_err(|wrong| options.wrong("dtype", &wrong))?,
    };
    let count = match options.scalar("count")? {
        None => None,
        Some(scalar) => {
            let whole = truncate(scalar)
                .ok_or_else(|| options.wrong("count", &format!("a whole number of elements is needed, got {}", show(scalar))))?;
            u64::try_from(whole).ok()
        }
    };
    let native = if cfg!(target_endian = "little") { b"little".as_slice() } else { b"big" };
    let swapped = match options.string("byteorder")? {
        None | Some(b"native") => false,
        Some(order @ (b"little" | b"big")) => order != native,
        Some(other) => {
            let other = String::from_utf8_lossy(other);
            return Err(options.wrong("byteorder", &format!("'native', 'little' or 'big' expected, got '{other}'")));
        }
    };
    Ok(Request {
        dtype,
        count,
        offset: options.count("offset", "bytes")?.unwrap_or(0),
        swapped: swapped && dtype.width() > 1,
        length: options.count("size", "bytes")?,
    })
}

/// How many elements of the request are in a buffer of `length` bytes.
fn elements(request: &Request, length: usize) -> Result<usize, Fault> {
    let (dtype, offset) = (request.dtype, request.offset);
    let (width, name) = (dtype.width(), dtype.class_name());
    if length == 0 || request.count == Some(0) {
        let wanted = request.count.map_or("all".to_owned(), |count| count.to_string());
        return Err(Fault::argument(1, format!("nothing to share: the buffer has {length} bytes, {wanted} elements are wanted")));
    }
    let Some(rest) = length.checked_sub(offset).filter(|&rest| rest > 0) else {
        return Err(Fault::argument(2, format!("offset {offset} is not inside a buffer of {length} bytes: 0 to {}", length - 1)));
    };
    let from = format!("from offset {offset} on");
    let Some(wanted) = request.count else {
        return if rest.is_multiple_of(width) {
            Ok(rest / width)
        } else {
            Err(Fault::argument(
                1,
                format!(
                    "{rest} bytes {from} are no whole number of elements of {width} bytes ({name}): the buffer has {length} bytes"
                ),
            ))
        };
    };
    let needed = u128::from(wanted) * width as u128;
    match usize::try_from(wanted) {
        Ok(size) if needed <= rest as u128 => Ok(size),
        _ => Err(Fault::argument(
            2,
            format!(
                "{wanted} elements of {width} bytes ({name}) {from} need {needed} bytes, {rest} of the buffer's {length} are left"
            ),
        )),
    }
}

/// The storage at argument 1 as one more.
fn over_storage(call: Call, request: &Request) -> Result<Storage, Fault> {
    let this = call.storage(1)?;
    only_of_pointers(request)?;
    let size = elements(request, this.nbytes())?;
    let view = this.reinterpret(request.dtype, request.offset, size)?;
    if !request.swapped {
        return Ok(view);
    }
    let copy = swapped(&view);
    give_back_anchor(call.state(), view.release(call.state_id()));
    copy
}

fn only_of_pointers(request: &Request) -> Result<(), Fault> {
    match request.length {
        Some(_) => Err(Fault::argument(2, "option 'size': only of a pointer, other buffers say how long they are")),
        None => Ok(()),
    }
}

/// Other memory as a storage.
fn over_memory(memory: Memory, request: &Request, anchor: Option<Anchor>) -> Result<Storage, Fault> {
    let width = request.dtype.width();
    let length = if let Some(length) = memory.length {
        only_of_pointers(request)?;
        length
    } else {
        // What is beyond all memory is for the check of the address to say.
        let counted = || {
            let bytes = usize::try_from(request.count?).ok()?.checked_mul(width)?;
            bytes.checked_add(request.offset)
        };
        request.length.or_else(counted).ok_or_else(|| {
            Fault::argument(
                2,
                "a pointer does not say how long its memory is: give its bytes as 'size', or a 'count' of elements",
            )
        })?
    };
    let size = elements(request, length)?;
    let address = memory.address;
    let ends = address.checked_add(length).is_some_and(|end| isize::try_from(end).is_ok());
    if address < LOWEST_ADDRESS || !ends {
        return Err(Fault::argument(1, format!("{length} bytes at address {address} are not memory")));
    }
    let data = std::ptr::with_exposed_provenance_mut::<u8>(address).wrapping_add(request.offset);
    if request.swapped {
        // SAFETY: the caller of the Lua function, or the value's `__buffer`, vouches for the memory: see the documentation.
        let view = unsafe { Storage::foreign_read_only(request.dtype, data, size, None) }?;
        return swapped(&view);
    }
    Ok(if memory.read_only {
        // SAFETY: as above; the anchor keeps its owner alive.
        unsafe { Storage::foreign_read_only(request.dtype, data, size, anchor) }?
    } else {
        // SAFETY: as above.
        unsafe { Storage::foreign(request.dtype, data, size, anchor) }?
    })
}

/// A heap storage of the elements with their bytes turned round.
fn swapped(view: &Storage) -> Result<Storage, Fault> {
    let copy = Storage::zeroed(view.dtype(), view.size())?;
    let done = copy.copy_bytes(view).and_then(|()| copy.byteswap(None));
    done.map(|()| copy).map_err(|error: Error| error.into())
}

/// `torch.buffer(s)`: where the storage's bytes begin, how many there are, and whether they are only to be read.
/// Nothing keeps the storage alive for it. On LuaJIT the FFI side puts a function in its place that gives an FFI pointer.
unsafe extern "C-unwind" fn buffer(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    unsafe { push_memory(call, |call| call.storage(1)) }
}

/// `mt.__buffer(s)`: the same, for a storage of the class.
unsafe extern "C-unwind" fn own_buffer(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    unsafe { push_memory(call, Call::this) }
}

/// # Safety
/// As [`entry::run`], with the call of that function.
unsafe fn push_memory(call: Call, storage: impl Fn(Call) -> Result<Borrowed, Fault>) -> c_int {
    let look = |call: Call| storage(call).map(|this| (this.data(), this.nbytes(), this.is_read_only()));
    // SAFETY: nothing droppable is alive.
    let (data, bytes, read_only) = unsafe { entry::run(call, look) };
    call.state().push_light(data.cast());
    call.state().push_number(count(bytes));
    call.state().push_boolean(read_only);
    3
}
