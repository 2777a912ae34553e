//! The constructors of tensors, and `s:view(sizes)` of storages.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::arguments::{Numbers, sizes, strides};
use super::making::{Made, make, make_as, over_this};
use super::payload::class;
use super::rows;
use crate::convert::Scalar;
use crate::element::DType;
use crate::fallible;
use crate::lua::args::{Call, show};
use crate::lua::entry::{Answer, raising};
use crate::lua::fault::Fault;
use crate::lua::methods::Method;
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::lua::userdata;
use crate::storage::Storage;
use crate::tensor::{Layout, Shape};

pub const METHODS: &[Method] = &[(c"new", raising(new)), (c"__factory", raising(factory))];

/// `torch.TYPETensor(...)`: makes a tensor. Lua passes the class itself as the first argument. Torch7.
pub fn call_class(lua: Raising) -> c_int {
    construct(lua, Call::new(lua).without_first())
}

/// `torch.TYPETensor.new(...)`, `x.new(...)`: makes a tensor of the class. Torch7.
pub fn new(lua: Raising) -> c_int {
    construct(lua, Call::new(lua))
}

/// `mt.__factory()`: an empty tensor, whatever the arguments. Torch7.
fn factory(lua: Raising) -> c_int {
    make(lua, |call| empty(call.dtype()))
}

/// `tostring(torch.TYPETensor)`: the name of the class.
pub fn class_text(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Text(call.dtype().tensor_class_name()))
}

/// A tensor of one dimension of size 0, without a storage to show.
fn empty(dtype: DType) -> Result<Made, Fault> {
    Ok(Made { storage: Storage::zeroed(dtype, 0)?, layout: Layout::contiguous(&[0])?, shows_storage: false })
}

/// Makes a tensor from any arguments that a constructor takes.
fn construct(lua: Raising, call: Call) -> c_int {
    pressure::relieve(lua);
    if call.kind(1) == ffi::LUA_TTABLE {
        rows::make_room(lua);
    }
    make_as(lua, call, call.dtype(), build)
}

/// The type of the first argument selects the constructor, as in Torch7.
fn build(call: Call) -> Result<Made, Fault> {
    let dtype = call.dtype();
    match call.kind(1) {
        ffi::LUA_TNONE => empty(dtype),
        ffi::LUA_TTABLE if call.class_of_table(1).or_else(|| call.tensor_class_of_table(1)).is_some() => {
            let class = dtype.tensor_class_name();
            Err(Fault::argument(1, format_args!("got a class: it is called with a point, as in {class}.new(...)")))
        }
        ffi::LUA_TTABLE => {
            call.expect_end(2)?;
            rows::from_rows(call)
        }
        ffi::LUA_TUSERDATA => over_or_sized(call),
        ffi::LUA_TSTRING => Err(call.mismatch(1, "sizes, a table, a storage or a tensor")),
        _ => of_sizes(call, &call.only_sizes(1)?),
    }
}

/// A tensor of zeros.
fn of_sizes(call: Call, sizes: &[usize]) -> Result<Made, Fault> {
    let layout = Layout::contiguous(sizes)?;
    let storage = Storage::zeroed(call.dtype(), layout.elements())?;
    Ok(Made { storage, layout, shows_storage: sizes != [0] })
}

/// The constructors whose first argument is a userdata: a tensor or storage of the class, or a LongStorage of sizes.
fn over_or_sized(call: Call) -> Result<Made, Fault> {
    let dtype = call.dtype();
    if let Some(class) = class(call.state(), 1) {
        if class != dtype {
            let (wanted, got, cast) = (dtype.tensor_class_name(), class.tensor_class_name(), dtype.cast_name().to_string_lossy());
            return Err(Fault::argument(1, format_args!("{wanted} expected, got {got}: x:{cast}() converts it")));
        }
        if !call.is_absent(2) {
            let got = call.type_name(2);
            return Err(Fault::argument(
                2,
                format_args!("nothing more expected after a tensor, got {got}; new is called with a point: x.new(...)"),
            ));
        }
        return over_this(call, call.this_tensor()?.layout.try_clone()?);
    }
    match userdata::class(call.state(), 1) {
        Some(class) if class == dtype => over_storage(call),
        Some(DType::Long) => with_sizes(call),
        Some(class) => {
            let (wanted, got, cast) = (dtype.class_name(), class.class_name(), dtype.cast_name().to_string_lossy());
            Err(Fault::argument(1, format_args!("{wanted} expected, got {got}: s:{cast}() converts it")))
        }
        None => Err(call.mismatch(1, "sizes, a table, a storage or a tensor")),
    }
}

/// `(sizes [, strides])`: a tensor of zeros with a new storage. Both are LongStorages, and the strides may be a table.
fn with_sizes(call: Call) -> Result<Made, Fault> {
    let sizes = sizes(&call.list(1)?)?;
    if call.is_absent(2) {
        call.expect_end(3)?;
        return of_sizes(call, &sizes);
    }
    if !call.is_list(2) {
        return Err(call.mismatch(2, "LongStorage or table of strides"));
    }
    let strides = strides(&call.list(2)?)?;
    call.expect_end(3)?;
    // The lowest element is the first of the storage.
    let negative = |(&size, &stride): (&usize, &isize)| {
        if stride < 0 { size.saturating_sub(1).saturating_mul(stride.unsigned_abs()) } else { 0 }
    };
    let before = sizes.iter().zip(&strides).map(negative).fold(0, usize::saturating_add);
    let layout = Layout::strided(if sizes.contains(&0) { 0 } else { before }, &sizes, &strides)?;
    Ok(Made::new(Storage::zeroed(call.dtype(), layout.span().end)?, layout))
}

/// `(storage [, offset [, sizes [, strides]]])` or `(storage, offset, size1, stride1, size2, stride2, ...)`: a tensor over a storage.
/// `offset` is the index of its first element, from 1. Without the last stride, the elements of the last dimension follow each other.
fn over_storage(call: Call) -> Result<Made, Fault> {
    let offset = call.number_or(2, 1)?;
    let offset = offset
        .checked_sub(1)
        .and_then(|offset| usize::try_from(offset).ok())
        .ok_or_else(|| Fault::argument(2, format_args!("an offset is 1 or more, got {}", show(Scalar::Signed(offset)))))?;
    let shape = read_shape(call)?;
    let storage = call.storage_of(1, call.dtype())?;
    let available = storage.size();
    let layout = match shape {
        Some((sizes, Some(strides))) => Layout::strided(offset, &sizes, &strides)?,
        Some((sizes, None)) => Layout::contiguous_at(offset, &Shape::new(&sizes)?)?,
        None if offset <= available => Layout::contiguous_at(offset, &Shape::new(&[available - offset])?)?,
        None => {
            let message = format_args!("offset {} is beyond the end of a storage of {available} elements", offset + 1);
            return Err(Fault::argument(2, message));
        }
    };
    layout.span_in(available)?;
    Ok(Made::new(storage.share(call.state_id())?, layout))
}

/// Sizes, and strides if they are given.
type SizesAndStrides = (Vec<usize>, Option<Vec<isize>>);

/// The sizes and strides from argument 3 on, in one of the two forms of [`over_storage`].
fn read_shape(call: Call) -> Result<Option<SizesAndStrides>, Fault> {
    if call.is_absent(3) {
        call.expect_end(4)?;
        return Ok(None);
    }
    if call.is_list(3) {
        let sizes = sizes(&call.list(3)?)?;
        if call.is_absent(4) {
            call.expect_end(5)?;
            return Ok(Some((sizes, None)));
        }
        if !call.is_list(4) {
            return Err(call.mismatch(4, "LongStorage or table of strides"));
        }
        let strides = strides(&call.list(4)?)?;
        call.expect_end(5)?;
        return Ok(Some((sizes, Some(strides))));
    }
    let Numbers { list, .. } = call.numbers(3)?;
    let (mut all, mut steps) = (Vec::new(), Vec::new());
    for pair in list.chunks(2) {
        fallible::push(&mut all, pair[0])?;
        // Only the last size can be without a stride.
        fallible::push(&mut steps, pair.get(1).copied().unwrap_or(1))?;
    }
    Ok(Some((sizes(&all)?, Some(strides(&steps)?))))
}

/// `s:view(sizes)`: a tensor over all elements of the storage at argument 1.
pub fn view_of_storage(lua: Raising, call: Call) -> c_int {
    make_as(lua, call, call.dtype(), |call| {
        if call.dtype().is_untyped() {
            call.this()?;
            return Err(Fault::new(
                "there are no tensors of bytes without a type: s:view('uint8'):view(...) makes one of its bytes",
            ));
        }
        let sizes = call.only_numbers(2)?;
        let storage = call.this()?;
        let layout = Layout::contiguous(&[storage.size()])?.view(&sizes)?;
        Ok(Made::new(storage.share(call.state_id())?, layout))
    })
}
