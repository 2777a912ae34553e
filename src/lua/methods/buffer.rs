//! `frombuffer`, which makes storages over the memory of other values, and the protocol by which such values offer it.

mod love;
mod source;

use std::cell::Cell;
use std::ffi::c_int;
use std::ops::Range;

use mlua_sys as ffi;

use super::Method;
use super::construct::LOWEST_ADDRESS;
use super::references::{give_back_after, give_back_anchor};
use crate::convert::truncate;
use crate::element::DType;
use crate::error::Error;
use crate::lua::addresses::expect_shown;
use crate::lua::args::{Call, show};
use crate::lua::entry::{self, raising};
use crate::lua::fault::{Fault, written};
use crate::lua::options::Options;
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::lua::tensor::bytes_of_tensor;
use crate::lua::userdata::{self, Borrowed};
use crate::storage::{Anchor, Storage};
use source::{Memory, OBJECT, Source, anchor, find_source};

pub const METHODS: &[Method] = &[(c"frombuffer", raising(of_class)), (c"__buffer", raising(own_buffer))];

pub const FUNCTIONS: &[Method] = &[(c"frombuffer", raising(of_any_class)), (c"buffer", raising(buffer))];

static OPTIONS: [&str; 6] = ["dtype", "count", "offset", "byteorder", "size", "requires_grad"];

/// The options of `frombuffer`.
#[derive(Clone, Copy)]
struct Request {
    dtype: DType,
    /// The number of elements, or `None` for all elements from the offset on.
    count: Option<u64>,
    /// The offset of the first element in bytes.
    offset: usize,
    /// Whether the byte order of the elements is not that of this machine. Then they are copied.
    swapped: bool,
    /// The length of the memory in bytes, for pointers, which do not tell it.
    length: Option<usize>,
}

/// `torch.frombuffer(object [, {dtype=, count=, offset=, byteorder=, size=}])`: a storage over the memory of another value. PyTorch,
/// whose option `requires_grad` may be false.
fn of_any_class(lua: Raising) -> c_int {
    from_buffer(lua, None)
}

/// `torch.TYPEStorage.frombuffer(object [, {count=, offset=, byteorder=, size=}])`: the same for one class.
fn of_class(lua: Raising) -> c_int {
    from_buffer(lua, Some(Call::new(lua).dtype()))
}

/// `torch.buffer(s)`: where the bytes of a storage or contiguous tensor begin, how many there are, and whether they are read-only.
/// The result does not keep them alive. On LuaJIT `lua/torch/pointers.lua` replaces this function by one that gives an FFI
/// pointer.
fn buffer(lua: Raising) -> c_int {
    push_memory(lua, bytes)
}

/// `mt.__buffer(s)`: the same for a storage of the class.
fn own_buffer(lua: Raising) -> c_int {
    push_memory(lua, |call| call.this().map(whole))
}

fn from_buffer(lua: Raising, class: Option<DType>) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    // The options are read before the object is asked for its memory. Reading an FFI value runs Lua code, which could move the
    // memory.
    let request = entry::run(lua, call, |call| read_request(call, class));
    let call = call.with_frame(lua.top());
    let source = find_source(lua, call);
    let call = call.with_frame(lua.top());
    let payload = userdata::push_dead(lua, request.dtype);
    // Once the anchor is made, nothing raises until the storage has it. Otherwise nobody would free the registry slot.
    let anchor = match source {
        Source::Memory(memory) if !request.swapped => anchor(lua, memory.owner),
        _ => None,
    };
    let tried = Cell::new(false);
    let body = |call: Call| {
        let made = match source {
            Source::Storage => over_storage(call, &request),
            Source::Memory(memory) => over_memory(memory, &request, anchor),
        };
        // If the body fails, it gives the anchor back before the fault is raised.
        made.inspect_err(|fault| give_back_after(call, anchor, fault, &tried))
    };
    entry::construct_in(lua, call, payload, body)
}

fn read_request(call: Call, class: Option<DType>) -> Result<Request, Fault> {
    if call.is_absent(1) {
        return Err(call.mismatch(1, OBJECT));
    }
    if call.kind(1) == ffi::LUA_TTABLE
        && let Some(dtype) = call.class_of_table(1)
    {
        let class = dtype.class_name();
        return Err(Fault::argument(1, format_args!("got a class: write {class}.frombuffer(object), with a point")));
    }
    if !call.is_absent(2) && call.kind(2) != ffi::LUA_TTABLE {
        return Err(call.mismatch(2, "table of options, such as {dtype = 'float32', count = 10},"));
    }
    let (options, unknown) = Options::push(call, 2, &OPTIONS);
    if let Some(unknown) = unknown {
        return Err(unknown.and(format_args!(": {} are the options of a buffer", options.names())));
    }
    if options.flag("requires_grad")? {
        return Err(options.wrong("requires_grad", "a storage has no gradient, so only false is accepted"));
    }
    let dtype = match class {
        Some(class) if options.is_absent("dtype") => class,
        Some(class) => {
            return Err(
                options.wrong("dtype", format_args!("the class is {} here; torch.frombuffer takes one", class.class_name()))
            );
        }
        // PyTorch has no default dtype. Here the default is bytes without a type, because any other class would be a guess.
        None if options.is_absent("dtype") => DType::Untyped,
        None => call.class_at(options.index("dtype")).map_err(|wrong| options.wrong("dtype", wrong))?,
    };
    let count = match options.scalar("count")? {
        None => None,
        Some(scalar) => {
            let whole = truncate(scalar).ok_or_else(|| {
                options.wrong("count", format_args!("a whole number of elements is needed, got {}", show(scalar)))
            })?;
            u64::try_from(whole).ok()
        }
    };
    let swapped = options.reverses_bytes("byteorder")?;
    Ok(Request {
        dtype,
        count,
        offset: options.count("offset", "bytes")?.unwrap_or(0),
        swapped: swapped && dtype.width() > 1,
        length: options.count("size", "bytes")?,
    })
}

/// The number of elements that the request asks for in a buffer of `length` bytes.
fn elements(request: &Request, length: usize) -> Result<usize, Fault> {
    let (dtype, offset) = (request.dtype, request.offset);
    let (width, name) = (dtype.width(), dtype.class_name());
    if length == 0 || request.count == Some(0) {
        let wanted = written(|f| match request.count {
            Some(count) => write!(f, "{count}"),
            None => f.write_str("all"),
        });
        return Err(Fault::argument(
            1,
            format_args!("nothing to share: the buffer has {length} bytes, {wanted} elements are wanted"),
        ));
    }
    let Some(rest) = length.checked_sub(offset).filter(|&rest| rest > 0) else {
        return Err(Fault::argument(
            2,
            format_args!("offset {offset} is not inside a buffer of {length} bytes: 0 to {}", length - 1),
        ));
    };
    let from = written(|f| write!(f, "from offset {offset} on"));
    let Some(wanted) = request.count else {
        return if rest.is_multiple_of(width) {
            Ok(rest / width)
        } else {
            Err(Fault::argument(
                1,
                format_args!(
                    "{rest} bytes {from} is not a multiple of the {width}-byte element size ({name}): the buffer has {length} bytes"
                ),
            ))
        };
    };
    let needed = u128::from(wanted) * width as u128;
    match usize::try_from(wanted) {
        Ok(size) if needed <= rest as u128 => Ok(size),
        _ => Err(Fault::argument(
            2,
            format_args!(
                "{wanted} elements of {width} bytes ({name}) {from} need {needed} bytes, {rest} of the buffer's {length} are left"
            ),
        )),
    }
}

/// A view of the storage or contiguous tensor at argument 1, or a copy if the byte order differs.
fn over_storage(call: Call, request: &Request) -> Result<Storage, Fault> {
    let (this, range) = bytes(call)?;
    only_of_pointers(request)?;
    let size = elements(request, range.len())?;
    let view = this.reinterpret(request.dtype, range.start + request.offset, size)?;
    if !request.swapped {
        return Ok(view);
    }
    let copy = swapped(&view);
    give_back_anchor(call.state(), view.release(call.state_id()));
    copy
}

/// The storage at argument 1, or that of the contiguous tensor there, and the range of its bytes that are meant.
fn bytes(call: Call) -> Result<(Borrowed, Range<usize>), Fault> {
    match bytes_of_tensor(call, 1)? {
        Some(bytes) => Ok(bytes),
        None => call.storage(1).map(whole),
    }
}

/// A storage with the range of all its bytes.
fn whole(storage: Borrowed<'_>) -> (Borrowed<'_>, Range<usize>) {
    let bytes = storage.nbytes();
    (storage, 0..bytes)
}

/// Refuses the option `size` for a buffer whose length is known.
fn only_of_pointers(request: &Request) -> Result<(), Fault> {
    match request.length {
        Some(_) => Err(Fault::argument(2, "option 'size': only of a pointer, other buffers say how long they are")),
        None => Ok(()),
    }
}

/// A storage over the memory of another value.
fn over_memory(memory: Memory, request: &Request, anchor: Option<Anchor>) -> Result<Storage, Fault> {
    let width = request.dtype.width();
    let length = if let Some(length) = memory.length {
        only_of_pointers(request)?;
        length
    } else {
        let missing = "a pointer does not say how long its memory is: give its bytes as 'size', or a 'count' of elements";
        let counted = |count: u64| {
            let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(width)?.checked_add(request.offset));
            bytes.ok_or_else(|| {
                let (name, offset) = (request.dtype.class_name(), request.offset);
                let elements = written(|f| write!(f, "{count} elements of {width} bytes ({name})"));
                Fault::argument(2, format_args!("{elements} from offset {offset} on are more than any memory has"))
            })
        };
        let length = request.length.map(Ok).or_else(|| request.count.map(counted));
        length.unwrap_or_else(|| Err(Fault::argument(2, missing)))?
    };
    let size = elements(request, length)?;
    let address = memory.address;
    let ends = address.checked_add(length).is_some_and(|end| isize::try_from(end).is_ok());
    if address < LOWEST_ADDRESS || !ends {
        return Err(Fault::argument(1, format_args!("{length} bytes at {address} are not a valid range of memory")));
    }
    let data = std::ptr::with_exposed_provenance_mut::<u8>(address).wrapping_add(request.offset);
    if request.swapped {
        // SAFETY: [vouched] by the caller of the Lua function, or by the `__buffer` of the object.
        let view = unsafe { Storage::foreign_read_only(request.dtype, data, size, None) }?;
        return swapped(&view);
    }
    Ok(if memory.read_only {
        // SAFETY: [vouched] by the caller of the Lua function, or by the `__buffer` of the object.
        unsafe { Storage::foreign_read_only(request.dtype, data, size, anchor) }?
    } else {
        // SAFETY: [vouched] by the caller of the Lua function, or by the `__buffer` of the object.
        unsafe { Storage::foreign(request.dtype, data, size, anchor) }?
    })
}

/// A heap storage with the same elements in the reverse byte order.
fn swapped(view: &Storage) -> Result<Storage, Fault> {
    let copy = Storage::unset(view.dtype(), view.size())?;
    let done = copy.copy_bytes(view).and_then(|()| copy.byteswap(None));
    done.map(|()| copy).map_err(|error: Error| error.into())
}

fn push_memory(lua: Raising, bytes: impl Fn(Call) -> Result<(Borrowed, Range<usize>), Fault>) -> c_int {
    let look = |call: Call| {
        expect_shown(call)?;
        let (storage, range) = bytes(call)?;
        Ok((storage.data().wrapping_add(range.start), range.len(), storage.is_read_only()))
    };
    let (data, bytes, read_only) = entry::run(lua, Call::new(lua), look);
    lua.push_light(data.cast());
    lua.push_count(bytes);
    lua.push_boolean(read_only);
    3
}
