//! Methods that tell about a tensor: sizes, strides, storage, class, identity.

use std::ffi::c_int;

use super::payload::{class, payload, take};
use crate::convert::{Scalar, count_to_f64};
use crate::element::DType;
use crate::fallible;
use crate::lua::args::Call;
use crate::lua::entry::{self, Answer, function, raising};
use crate::lua::fault::Fault;
use crate::lua::methods::Method;
use crate::lua::methods::inspect::element_size;
use crate::lua::methods::references::give_back_anchor;
use crate::lua::state::{HAS_CLOSE, Raising};
use crate::storage::Storage;

pub const METHODS: &[Method] = &[
    (c"__gc", function(collected)),
    (c"__len", raising(all_sizes)),
    (c"__len__", raising(all_sizes)),
    (c"dim", function(dimensions)),
    (c"elementSize", function(element_size)),
    (c"isContiguous", function(is_contiguous)),
    (c"isSameSizeAs", function(is_same_size_as)),
    (c"isSetTo", function(is_set_to)),
    (c"isSize", function(is_size)),
    (c"nDimension", function(dimensions)),
    (c"nElement", function(elements)),
    (c"nbytes", function(nbytes)),
    (c"numel", function(elements)),
    (c"size", raising(size)),
    (c"storage", raising(storage)),
    (c"storageOffset", function(storage_offset)),
    (c"stride", raising(stride)),
];

/// The metamethod that Lua 5.4 and later call when a variable with the attribute `close` goes out of scope.
pub const CLOSE: Option<Method> = if HAS_CLOSE { Some((c"__close", function(collected))) } else { None };

/// `torch.isTensor(v)`: whether a value is a tensor. Torch7.
pub fn is_tensor(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Boolean(class(call.state(), 1).is_some()))
}

/// `__gc`: gives back the reference to the storage. Does nothing for any other value.
fn collected(call: Call) -> Result<Answer, Fault> {
    // SAFETY: [live] argument 1 stays in its slot, and no Lua code runs here.
    let payload = unsafe { payload(call.state(), 1) };
    // SAFETY: [live] this function has borrowed nothing from the payload. A caller further up that has, and runs this as Lua code,
    // looks its tensors up again.
    if let Some(storage) = payload.and_then(|(payload, _)| unsafe { take(payload) }) {
        give_back_anchor(call.state(), storage.release(call.state_id()));
    }
    Ok(Answer::Nothing)
}

/// `x:dim()`, `x:nDimension()`: the number of dimensions. Torch7.
fn dimensions(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Count(call.this_tensor()?.layout.dimensions()))
}

/// `x:nElement()`, `x:numel()`: the number of elements. Torch7, PyTorch.
fn elements(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Count(call.this_tensor()?.layout.elements()))
}

/// `x:nbytes()`: the bytes that the elements take when they lie side by side, as in a copy. PyTorch.
fn nbytes(call: Call) -> Result<Answer, Fault> {
    let this = call.this_tensor()?;
    let (elements, width) = (this.layout.elements(), this.dtype().width());
    // A tensor that was expanded can show more bytes than an integer can count.
    let bytes = elements.checked_mul(width).and_then(|bytes| i64::try_from(bytes).ok());
    let rounded = || Scalar::Float(count_to_f64(elements) * count_to_f64(width));
    Ok(Answer::Element(bytes.map_or_else(rounded, Scalar::Signed)))
}

/// `x:isContiguous()`: whether the elements lie side by side in the storage, in row-major order. The strides of dimensions of
/// size 1 do not matter. Torch7.
fn is_contiguous(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Boolean(call.this_tensor()?.layout.is_contiguous()))
}

/// `x:isSize(sizes)`: whether these are the sizes of all dimensions: a LongStorage, a table or numbers. Torch7, with a
/// LongStorage.
fn is_size(call: Call) -> Result<Answer, Fault> {
    let wanted = call.only_numbers(2)?;
    let this = call.this_tensor()?;
    let sizes = this.layout.sizes();
    let is_same =
        sizes.len() == wanted.len() && sizes.iter().zip(&wanted).all(|(&size, &wanted)| usize::try_from(wanted) == Ok(size));
    Ok(Answer::Boolean(is_same))
}

/// `x:isSameSizeAs(y)`: whether a tensor of any class has the same sizes. Torch7, for tensors of the same class.
fn is_same_size_as(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Boolean(call.this_tensor()?.layout.sizes() == call.tensor(2)?.layout.sizes()))
}

/// `x:isSetTo(y)`: whether both show the same elements of the same storage with the same sizes and strides. Torch7.
fn is_set_to(call: Call) -> Result<Answer, Fault> {
    let (this, other) = (call.this_tensor()?, call.tensor(2)?);
    Ok(Answer::Boolean(this.storage.address() == other.storage.address() && this.layout == other.layout))
}

/// `x:storageOffset()`: the index in the storage of the first element, from 1. Torch7.
fn storage_offset(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Count(call.this_tensor()?.layout.offset() + 1))
}

/// `x:size()`: the sizes of all dimensions as a LongStorage. `x:size(d)`: that of dimension `d`; -1 is the last one. Torch7.
fn size(lua: Raising) -> c_int {
    let size = |call: Call, dimension: usize| Ok(call.this_tensor()?.layout.sizes()[dimension].cast_signed());
    one_or_all(lua, size, push_sizes)
}

/// `#x`: the sizes of all dimensions as a LongStorage. Torch7.
fn all_sizes(lua: Raising) -> c_int {
    push_sizes(lua, Call::new(lua))
}

/// `x:stride()`: the strides of all dimensions as a LongStorage, in elements. `x:stride(d)`: that of dimension `d`; -1 is the last
/// one. Torch7.
fn stride(lua: Raising) -> c_int {
    let stride = |call: Call, dimension: usize| Ok(call.this_tensor()?.layout.strides()[dimension]);
    let all = |lua: Raising, call: Call| {
        push_longs(lua, call, |call| {
            fallible::collected(call.this_tensor()?.layout.strides().iter().map(|&stride| Ok(stride.cast_unsigned())))
        })
    };
    one_or_all(lua, stride, all)
}

/// `x:storage()`: the storage. It is the same object for all tensors on it. Nil for a tensor without elements that was made
/// without a storage. Torch7.
fn storage(lua: Raising) -> c_int {
    let call = Call::new(lua);
    if !entry::run(lua, call, |call| Ok(call.this_tensor()?.shows_storage)) {
        lua.push_nil();
        return 1;
    }
    entry::construct(lua, call, call.dtype(), |call| Ok(call.this_tensor()?.storage.share(call.state_id())?))
}

/// Returns what `one` tells about the dimension at argument 2, or calls `all` if there is none.
fn one_or_all(lua: Raising, one: impl Fn(Call, usize) -> Result<isize, Fault>, all: impl Fn(Raising, Call) -> c_int) -> c_int {
    let call = Call::new(lua);
    if call.is_absent(2) {
        return all(lua, call);
    }
    let number = entry::run(lua, call, |call| {
        let number = call.whole(2)?;
        let dimension = call.this_tensor()?.layout.dimension(number)?;
        one(call, dimension)
    });
    lua.push_scalar(Scalar::Signed(number as i64));
    1
}

fn push_sizes(lua: Raising, call: Call) -> c_int {
    push_longs(lua, call, |call| Ok(fallible::copied(call.this_tensor()?.layout.sizes())?))
}

/// Pushes a LongStorage of 64-bit integers.
fn push_longs(lua: Raising, call: Call, read: impl Fn(Call) -> Result<Vec<usize>, Fault>) -> c_int {
    entry::construct(lua, call, DType::Long, |call| {
        let numbers = read(call)?;
        let bytes = fallible::collected::<_, Fault>(numbers.into_iter().flat_map(usize::to_ne_bytes).map(Ok))?;
        Ok(Storage::from_bytes(DType::Long, &bytes)?)
    })
}
