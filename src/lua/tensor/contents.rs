//! Methods that act on all elements of a tensor: fill, zero, copy, clone, equal, conversion to other classes.

use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::c_int;

use super::making::{Made, make, make_as};
use crate::convert::Scalar;
use crate::element::{DType, Element, with_element};
use crate::error::{Error, ShapeError};
use crate::lua::args::Call;
use crate::lua::entry::{self, Answer, function, raising};
use crate::lua::fault::Fault;
use crate::lua::methods::{Method, casts as of_storages};
use crate::lua::state::Raising;
use crate::lua::steps::{STEP, changed, in_steps};
use crate::storage::Storage;
use crate::tensor::{Layout, Tensor};

/// The methods of this file, without those of [`casts`].
pub const METHODS: &[Method] = &[
    (c"clone", raising(clone)),
    (c"copy", function(copy)),
    (c"equal", function(equal)),
    (c"fill", function(fill_all)),
    (c"type", raising(type_or_cast)),
    (c"typeAs", raising(type_as)),
    (c"zero", function(zero)),
];

/// `x:float()` and so on: a method for each class.
pub fn casts() -> impl Iterator<Item = Method> {
    DType::ALL.iter().map(|&dtype| (dtype.cast_name(), with_element!(dtype, T => raising(cast::<T>))))
}

/// `x:fill(v)`: sets every element to `v`, which is converted once; returns x. A Bool takes booleans too, and a complex class
/// complex numbers. Torch7.
fn fill_all(call: Call) -> Result<Answer, Fault> {
    // The number is read first, because reading an FFI value runs Lua code, which could change the storage.
    let value = call.element(2);
    let all = call.this_tensor()?.layout.try_clone()?;
    call.expect_end(3)?;
    fill(call, &all, value?)
}

/// `x:zero()`: sets every element to 0; returns x. Torch7.
fn zero(call: Call) -> Result<Answer, Fault> {
    let all = call.this_tensor()?.layout.try_clone()?;
    call.expect_end(2)?;
    fill(call, &all, Scalar::Signed(0))
}

/// `x:copy(y)`: copies and converts the elements of a tensor of any class that has as many, in row-major order of both; returns
/// x. Torch7. Differs from Torch7: tensors that overlap are copied as if all elements were read before the first is written.
fn copy(call: Call) -> Result<Answer, Fault> {
    let all = call.this_tensor()?.layout.try_clone()?;
    call.tensor(2)?;
    call.expect_end(3)?;
    copy_into(call, &all, 2)
}

/// `x:equal(y)`: whether class, sizes and all elements are the same. NaN differs from itself, and -0 equals 0. Torch7, for
/// tensors of the same class.
fn equal(call: Call) -> Result<Answer, Fault> {
    let width = call.dtype().width();
    let (once, elements) = {
        let (this, other) = (call.this_tensor()?, call.tensor(2)?);
        call.expect_end(3)?;
        if this.dtype() != other.dtype() || this.layout.sizes() != other.layout.sizes() {
            return Ok(Answer::Boolean(false));
        }
        let at_once = || Ok(Answer::Boolean(this.elements().equals(&other.elements())?));
        if this.layout.elements().saturating_mul(width) <= STEP {
            return at_once();
        }
        let once = this.layout.compared_once(other.layout);
        let elements = either(&once, this.layout, other.layout).0.elements();
        if elements.saturating_mul(width) <= STEP {
            return at_once();
        }
        (once, elements)
    };
    let same = Cell::new(true);
    let done = in_steps(call, elements, width, |done, now| {
        let (this, other) = (call.this_tensor()?, call.tensor(2)?);
        let (here, there) = either(&once, this.layout, other.layout);
        let (here, there) = (Tensor::new(&this.storage, here), Tensor::new(&other.storage, there));
        same.set(here.equals_range(&there, done..done + now)?);
        // The first difference ends the comparison. Expanded tensors can have more steps than a loop could ever go through.
        if same.get() { Ok(()) } else { Err(Fault::new("the tensors differ")) }
    });
    if same.get() { done.map(|()| Answer::Boolean(true)) } else { Ok(Answer::Boolean(false)) }
}

/// `x:clone()`: a contiguous tensor of the same class and sizes with the same elements, on a storage of its own. Torch7.
fn clone(lua: Raising) -> c_int {
    make(lua, |call| {
        call.this_tensor()?;
        call.expect_end(2)?;
        converted(call, call.dtype())
    })
}

/// `x:TYPE()`: a contiguous tensor of that class with the elements converted, or x itself if it is of that class. Torch7.
/// `x:untyped()`: the bytes of the storage, as a storage on the same memory.
fn cast<T: Element>(lua: Raising) -> c_int {
    if T::DTYPE.is_untyped() {
        let body = |call: Call| {
            let storage = call.this_tensor()?.storage;
            Ok(storage.reinterpret(T::DTYPE, 0, storage.nbytes())?)
        };
        return entry::construct(lua, Call::new(lua), T::DTYPE, body);
    }
    cast_to(lua, |_| Ok(Some(T::DTYPE)))
}

/// `x:type()`: the name of the class. `x:type(class)`: a contiguous tensor of that class with the elements converted, or x
/// itself if it is of that class. Torch7.
fn type_or_cast(lua: Raising) -> c_int {
    cast_to(lua, |call| if call.is_absent(2) { Ok(None) } else { call.tensor_class(2).map(Some) })
}

/// `x:typeAs(y)`: `x:type(y:type())` for a tensor y of any class. Torch7.
fn type_as(lua: Raising) -> c_int {
    cast_to(lua, |call| Ok(Some(call.tensor(2)?.dtype())))
}

/// Sets the elements of a part of the tensor at argument 1 to a value, and returns the tensor.
pub fn fill(call: Call, part: &Layout, value: Scalar) -> Result<Answer, Fault> {
    let part = &*without_repetitions(part)?;
    in_steps(call, part.elements(), call.dtype().width(), |done, now| {
        let this = call.this_tensor()?;
        Ok(Tensor::new(&this.storage, part).fill_range(done..done + now, value)?)
    })?;
    // For a part without elements the closure above is never called, so the check for a read-only storage is made here too.
    if part.elements() == 0 {
        Tensor::new(&call.this_tensor()?.storage, part).fill(value)?;
    }
    Ok(Answer::Value(1))
}

/// The layout with size 1 for dimensions of stride 0. It has the same elements of the storage, and each of them once where the layout
/// comes from `expand`, which can make more indices than a loop could ever go through.
fn without_repetitions(layout: &Layout) -> Result<Cow<'_, Layout>, Fault> {
    let repeated = |&dimension: &usize| layout.strides()[dimension] == 0 && layout.sizes()[dimension] > 1;
    let narrow = |all: Cow<'_, Layout>, dimension| all.narrow(dimension, 0, 1).map(Cow::Owned);
    Ok((0..layout.dimensions()).filter(repeated).try_fold(Cow::Borrowed(layout), narrow)?)
}

/// The layouts that are gone through: those that leave repetitions out, if there are any, or those of the two tensors.
fn either<'a>(once: &'a Option<(Layout, Layout)>, target: &'a Layout, source: &'a Layout) -> (&'a Layout, &'a Layout) {
    once.as_ref().map_or((target, source), |(target, source)| (target, source))
}

/// Copies the elements of the tensor at argument `n` into a part of the tensor at argument 1, and returns that tensor.
pub fn copy_into(call: Call, part: &Layout, n: c_int) -> Result<Answer, Fault> {
    let at_source = |error: Error| match error {
        Error::Shape(shape) if n == 2 && matches!(*shape, ShapeError::CopySize { .. }) => Fault::from(Error::Shape(shape)).at(n),
        error => Fault::from(error),
    };
    let (once, elements, width) = {
        let (this, source) = (call.this_tensor()?, call.tensor(n)?);
        let width = this.dtype().width().max(source.dtype().width());
        let at_once = || {
            Tensor::new(&this.storage, part).copy_from(&source.elements()).map_err(at_source)?;
            Ok(Answer::Value(1))
        };
        if part.elements().saturating_mul(width) <= STEP {
            return at_once();
        }
        let once = part.copied_once(source.layout);
        let (to, from) = either(&once, part, source.layout);
        // Tensors that overlap are copied at once, because a step must not change elements that a later step reads.
        let is_disjoint = || Tensor::new(&this.storage, to).is_disjoint(&Tensor::new(&source.storage, from));
        if to.elements().saturating_mul(width) <= STEP || !is_disjoint() {
            return at_once();
        }
        let elements = to.elements();
        (once, elements, width)
    };
    in_steps(call, elements, width, |done, now| {
        let (this, source) = (call.this_tensor()?, call.tensor(n)?);
        let (to, from) = either(&once, part, source.layout);
        let (to, from) = (Tensor::new(&this.storage, to), Tensor::new(&source.storage, from));
        to.copy_range(&from, done..done + now).map_err(at_source)
    })?;
    Ok(Answer::Value(1))
}

/// A contiguous tensor of class `dtype` with the converted elements of the tensor at argument 1.
pub fn converted(call: Call, dtype: DType) -> Result<Made, Fault> {
    let layout = {
        let this = call.this_tensor()?;
        this.elements().check()?;
        Layout::contiguous(this.layout.sizes())?
    };
    let target = Storage::unset(dtype, layout.elements())?;
    in_steps(call, layout.elements(), dtype.width().max(call.dtype().width()), |done, now| {
        let this = call.this_tensor()?;
        if this.layout.sizes() != layout.sizes() {
            return Err(changed());
        }
        Ok(Tensor::new(&target, &layout).copy_range(&this.elements(), done..done + now)?)
    })?;
    // A copy of a tensor that Torch7 knows as one without dimensions has no storage to show, as in Torch7.
    let shows_storage = layout.sizes() != [0];
    Ok(Made { storage: target, layout, shows_storage })
}

/// Converts the tensor at argument 1 to the class that the function `class` returns: see [`of_storages::cast`].
fn cast_to(lua: Raising, class: impl Fn(Call) -> Result<Option<DType>, Fault>) -> c_int {
    let convert = |call: Call, dtype| make_as(lua, call, dtype, |call| converted(call, dtype));
    of_storages::cast(lua, DType::tensor_class_name, |call| call.this_tensor().and_then(|_| class(call)), convert)
}
