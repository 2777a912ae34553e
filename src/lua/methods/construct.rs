//! The constructors: from a size, a pointer, a table, a storage, a file; copies and conversions.

use std::cell::Cell;
use std::ffi::c_int;

use mlua_sys as ffi;

use super::Method;
use super::files;
use super::from_table::from_table;
use super::references::give_back_after;
use super::transfer::elements_in;
use crate::convert::Scalar;
use crate::element::DType;
use crate::error::shown;
use crate::lua::addresses::{HIDDEN, are_hidden, expect_shown};
use crate::lua::args::{Call, Cdata, show, whole};
use crate::lua::context::Context;
use crate::lua::entry::{self, constructor, raising};
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::{CDATA, Raising};
use crate::lua::steps::{changed, in_steps};
use crate::lua::userdata;
use crate::storage::{Anchor, Storage};

pub const METHODS: &[Method] = &[
    (c"new", raising(new)),
    (c"__factory", constructor(factory)),
    (c"clone", constructor(clone)),
    (c"sub", constructor(sub)),
    (c"fromstring", constructor(from_string)),
];

/// A number below this is not a valid address, because the system maps nothing there.
pub const LOWEST_ADDRESS: usize = 65_536;

/// `torch.TYPEStorage(...)`: makes a storage. Lua passes the class itself as the first argument. Torch7.
pub fn call_class(lua: Raising) -> c_int {
    make(lua, Call::new(lua).without_first())
}

/// `torch.TYPEStorage.new(...)`: makes a storage. Torch7.
pub fn new(lua: Raising) -> c_int {
    make(lua, Call::new(lua))
}

/// `mt.__factory()`: an empty storage, whatever the arguments. Torch7.
fn factory(call: Call) -> Result<Storage, Fault> {
    Ok(Storage::zeroed(call.dtype(), 0)?)
}

/// `s:clone()`: a heap storage of the same class with the same elements.
fn clone(call: Call) -> Result<Storage, Fault> {
    converted(call, call.dtype())
}

/// `s:sub(i [, j])`: a view of the elements from `i` to `j`, by the rules of Lua's `string.sub`: a negative index counts from the
/// end, and indices outside the storage are cut off.
fn sub(call: Call) -> Result<Storage, Fault> {
    call.this()?;
    if call.is_absent(2) {
        return Err(call.mismatch(2, "number"));
    }
    let range = call.range(2)?;
    let this = call.this()?;
    let (first, count) = range.sub(this.size());
    Ok(this.view(first, count)?)
}

/// `torch.TYPEStorage.fromstring(str)`: a heap storage with the bytes of the string. The length of the string is a multiple
/// of the width.
fn from_string(call: Call) -> Result<Storage, Fault> {
    let bytes = call.string_of_function("fromstring")?;
    let dtype = call.dtype();
    elements_in(bytes, dtype).map_err(|fault| fault.at(1))?;
    Ok(Storage::from_bytes(dtype, bytes)?)
}

/// A heap storage of class `dtype` with the converted elements of the storage at argument 1. If `dtype` is untyped, it has the
/// bytes of the elements as they are.
pub fn converted(call: Call, dtype: DType) -> Result<Storage, Fault> {
    let size = call.this()?.size();
    if dtype.is_untyped() && !call.dtype().is_untyped() {
        return Ok(call.this()?.cast(dtype)?);
    }
    let target = Storage::unset(dtype, size)?;
    in_steps(call, size, dtype.width().max(call.dtype().width()), |done, now| {
        let this = call.this()?;
        if this.size() == size { Ok(target.copy_range(done, &this, done, now)?) } else { Err(changed()) }
    })?;
    Ok(target)
}

/// Makes a storage from any arguments that a constructor takes.
fn make(lua: Raising, call: Call) -> c_int {
    let context = Context::of(lua.state());
    pressure::relieve_for(lua, context.shared());
    if call.kind(2) == CDATA && !matches!(call.kind(1), ffi::LUA_TSTRING | ffi::LUA_TTABLE | ffi::LUA_TUSERDATA) {
        return make_at_cdata(lua, call);
    }
    entry::construct(lua, call, context.dtype(), build)
}

/// `(size, ptr)` for an FFI value. The registry keeps a pointer or array alive while a storage uses its memory.
fn make_at_cdata(lua: Raising, call: Call) -> c_int {
    let kind = entry::run(lua, call, |call| {
        expect_shown(call).map_err(|fault| fault.at(2))?;
        call.cdata(2)
    });
    let payload = userdata::push_dead(lua, call.dtype());
    // Once the anchor is made, nothing raises until the storage has it. Otherwise nobody would free the registry slot.
    let anchor = matches!(kind, Cdata::Pointer { .. } | Cdata::Array { .. })
        .then(|| Anchor { state: Context::of(lua.state()).shared().id, reference: lua.reference_to(2) });
    // If the body fails, it gives the anchor back before the fault is raised.
    let tried = Cell::new(false);
    let body = |call: Call| foreign(call, anchor).inspect_err(|fault| give_back_after(call, anchor, fault, &tried));
    entry::construct_in(lua, call, payload, body)
}

/// The constructors that need no anchor. The type of the first argument selects one, as in Torch7.
fn build(call: Call) -> Result<Storage, Fault> {
    match call.kind(1) {
        // For UntypedStorage a single string gives the bytes. With one more argument, even nil, it is the name of a file.
        ffi::LUA_TSTRING if call.dtype().is_untyped() && call.count() == 1 => {
            Ok(Storage::from_bytes(call.dtype(), call.string(1)?)?)
        }
        ffi::LUA_TSTRING => files::from_name(call),
        ffi::LUA_TTABLE => files::from_options(call)?.map_or_else(|| from_table(call), Ok),
        ffi::LUA_TUSERDATA => view(call),
        ffi::LUA_TNUMBER if call.is_absent(2) => Ok(Storage::zeroed(call.dtype(), call.size_of(1, call.state().raw_scalar(1))?)?),
        _ if call.is_absent(2) => Ok(Storage::zeroed(call.dtype(), size(call)?)?),
        _ => foreign(call, None),
    }
}

/// Argument 1 as a size. Nil means 0.
fn size(call: Call) -> Result<usize, Fault> {
    if call.is_absent(1) { Ok(0) } else { call.size(1) }
}

/// `(size, ptr)`: a storage over memory of the caller. Differs from Torch7: a number that cannot be an address is an error.
fn foreign(call: Call, anchor: Option<Anchor>) -> Result<Storage, Fault> {
    let (state, dtype) = (call.state(), call.dtype());
    let size = size(call)?;
    if are_hidden(call) {
        return Err(no_addresses(call));
    }
    let mut room = None;
    let address = match call.kind(2) {
        ffi::LUA_TNUMBER => address(call, state.raw_scalar(2), size)?,
        ffi::LUA_TLIGHTUSERDATA => state.light(2).map_or(0, <*mut _>::addr),
        CDATA => match call.cdata(2)? {
            Cdata::Signed(number) => address(call, Scalar::Signed(number), size)?,
            Cdata::Unsigned(number) => address(call, Scalar::Unsigned(number), size)?,
            Cdata::Pointer { address, .. } => address,
            Cdata::Array { address, bytes, .. } => {
                room = Some(bytes);
                address
            }
            Cdata::Other => return Err(call.mismatch(2, "pointer, array or int64 address")),
        },
        kind => {
            let (class, got) = (dtype.class_name(), call.type_name(2));
            let what = "pointer expected (a number, a light userdata or an FFI pointer, array or int64)";
            let fault = Fault::argument(2, format_args!("{what}, got {got}"));
            return Err(match kind {
                ffi::LUA_TTABLE => fault.and(format_args!("; {class}(t) alone has the elements of a table t")),
                _ => fault,
            });
        }
    };
    if size > 0 {
        // If the product overflows, this check passes, and the engine refuses the size.
        let beyond = |bytes| address.checked_add(bytes).is_none_or(|end| isize::try_from(end).is_err());
        if address < LOWEST_ADDRESS || size.checked_mul(dtype.width()).is_some_and(beyond) {
            return Err(Fault::argument(2, format_args!("{address} is not a valid memory address")));
        }
        let width = dtype.part().width();
        if address % width != 0 {
            let what = if dtype.is_complex() { "element's parts of" } else { "element's" };
            return Err(Fault::argument(2, format_args!("address {address} is not aligned to the {what} {width} bytes")));
        }
        if let Some(bytes) = room.filter(|bytes| bytes / dtype.width() < size) {
            return Err(Fault::argument(
                2,
                format_args!("the array has {bytes} bytes, {size} elements of {} bytes need more", dtype.width()),
            ));
        }
    }
    let data = if size == 0 { std::ptr::null_mut() } else { std::ptr::with_exposed_provenance_mut(address) };
    // SAFETY: [vouched] the Lua program vouches that the address has `size` elements of this type. The anchor keeps their owner
    // alive.
    unsafe { Storage::foreign(dtype, data, size, anchor) }.map_err(|error| Fault::from(error).at(1))
}

/// The fault for an address although addresses are hidden. With a number the program may have meant elements.
fn no_addresses(call: Call) -> Fault {
    let fault = match (call.state().number(1), call.state().number(2)) {
        (Some(first), Some(second)) => {
            let (class, first, second) = (call.dtype().class_name(), show(Scalar::Float(first)), show(Scalar::Float(second)));
            Fault::new(format_args!("{HIDDEN}; for a storage of elements write {class}{{{first}, {second}}}"))
        }
        _ => Fault::new(HIDDEN),
    };
    fault.at(2)
}

/// A number as an address. With a size of 0 it may be 0.
fn address(call: Call, value: Scalar, size: usize) -> Result<usize, Fault> {
    whole(value).filter(|&address| address >= LOWEST_ADDRESS || address == 0 && size == 0).ok_or_else(|| {
        let (class, number) = (call.dtype().class_name(), show(value));
        let first = call.state().scalar(1).map_or_else(|| show(Scalar::Unsigned(size as u64)), show);
        let (these, more) = if call.count() > 2 { ("these", ", ...") } else { ("these two", "") };
        Fault::argument(
            2,
            format_args!(
                "{number} is not an address; for a storage of {these} elements write {class}{{{first}, {number}{more}}}"
            ),
        )
    })
}

/// The fault for argument 1 of a view that is not a storage of the same class.
#[cold]
fn no_source(call: Call) -> Fault {
    let dtype = call.dtype();
    if let Some(other) = userdata::class(call.state(), 1).filter(|other| *other != dtype) {
        let (class, got) = (dtype.class_name(), other.class_name());
        let (cast, name) = (shown(dtype.cast_name().to_bytes()), dtype.dtype_name());
        let fault = Fault::argument(1, format_args!("{class} expected, got {got}; "));
        return match dtype {
            _ if dtype.is_untyped() => fault.and("s:untyped() shows its bytes"),
            _ => fault.and(format_args!("s:{cast}() converts it, and s:view('{name}') shows its bytes")),
        };
    }
    call.storage_of(1, dtype).err().unwrap_or_else(|| call.mismatch(1, dtype.class_name()))
}

/// `(storage [, offset [, size]])`: a view. `offset` is Torch7's name for the index of its first element, counted from 1. The
/// size is in elements.
fn view(call: Call) -> Result<Storage, Fault> {
    let (payload, _) =
        // SAFETY: [live] argument 1 stays in its slot; its storage is looked up again after Lua code ran.
        unsafe { userdata::payload(call.state(), 1) }.filter(|&(_, dtype)| dtype == call.dtype()).ok_or_else(|| no_source(call))?;
    // The storage is looked up before and after the numbers are read, because reading an FFI value runs Lua code.
    let source = || userdata::storage(payload).ok_or_else(|| no_source(call));
    let size = source()?.size();
    let offset = call.index(2, "offset", size + 1, 0)?;
    let rest = size - offset;
    let wanted = if call.is_absent(3) {
        rest
    } else {
        let wanted = call.size(3)?;
        if wanted > rest {
            return Err(Fault::argument(
                3,
                format_args!("size out of bounds: {wanted} elements from {} on, the storage has {size}", offset + 1),
            ));
        }
        wanted
    };
    Ok(source()?.view(offset, wanted)?)
}
