//! Elements in their order: sort, argsort, topk.

use std::cell::RefCell;
use std::ffi::c_int;

use mlua_sys as ffi;

use super::folded::Lines;
use crate::answers::{Direction, First, Found, List, Ordered, with_ordered};
use crate::element::DType;
use crate::fallible;
use crate::lua::args::Call;
use crate::lua::entry::{self, Answer, Method, growing, raising};
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::lua::steps::{changed, in_steps, let_host_interrupt};
use crate::lua::tensor::{Made, make_two};
use crate::storage::Storage;
use crate::tensor::{Elements, Layout, Tensor};

pub const OF_STORAGES: &[Method] =
    &[(c"argsort", raising(arg_sort)), (c"sort", growing(sort_storage)), (c"topk", raising(top_of_storage))];

pub const OF_TENSORS: &[Method] = &[(c"sort", raising(sort_tensor)), (c"topk", raising(top_of_tensor))];

/// From this number of elements on, a line is a copy of its own, and hooks run while it is sorted.
const LONG: usize = 1 << 20;

/// Fails if the elements are complex numbers.
pub fn refuse_complex(call: Call) -> Result<(), Fault> {
    if call.dtype().is_complex() {
        return Err(Fault::new("complex numbers have no order"));
    }
    Ok(())
}

/// The order that a flag asks for, which is true for descending order.
fn direction(is_descending: bool) -> Direction {
    if is_descending { Direction::Descending } else { Direction::Ascending }
}

/// Argument `n`, the last one, as the order that it asks for.
fn last_direction(call: Call, n: c_int) -> Result<Direction, Fault> {
    let is_descending = call.flag(n)?;
    call.expect_end(n + 1)?;
    refuse_complex(call)?;
    Ok(direction(is_descending))
}

/// `s:sort([descending])`: sorts the elements in place; returns s.
fn sort_storage(call: Call) -> Result<Answer, Fault> {
    let direction = last_direction(call, 2)?;
    with_ordered!(call.dtype(), T => sort_this::<T>(call, direction))?;
    Ok(Answer::Value(1))
}

fn sort_this<T: Ordered>(call: Call, direction: Direction) -> Result<(), Fault> {
    let this = call.this()?;
    this.writable()?;
    let size = this.size();
    let list = RefCell::new(List::<T>::with_room(size)?);
    in_steps(call, size, size_of::<T>(), |done, now| {
        let this = call.this()?;
        if this.size() != size {
            return Err(changed());
        }
        list.borrow_mut().add(this.readable().part(done..done + now));
        Ok(())
    })?;
    let sorted = list.into_inner().sort(direction, &mut || let_host_interrupt(call))?;
    let this = call.this()?;
    if this.size() != size {
        return Err(changed());
    }
    sorted.put(this.writable()?);
    Ok(())
}

/// `s:argsort([descending])`: a LongStorage of the indices of the elements in their order.
fn arg_sort(lua: Raising) -> c_int {
    let call = Call::new(lua);
    let direction = entry::run(lua, call, |call| last_direction(call, 2));
    pressure::relieve(lua);
    entry::construct(lua, call, DType::Long, |call| {
        let size = call.this()?.size();
        Ok(first_of_storage(call, size, First { wanted: size, direction }, false)?.1)
    })
}

/// `s:topk([k [, largest]])`: storages of the first elements in their order, and of their indices.
fn top_of_storage(lua: Raising) -> c_int {
    let call = Call::new(lua);
    let (k, direction) = entry::run(lua, call, |call| {
        let n = 2 + c_int::from(call.kind(2) != ffi::LUA_TBOOLEAN);
        Ok((number_wanted(call)?, last_direction(call, n)?))
    });
    entry::construct_two(lua, call, [call.dtype(), DType::Long], |call| {
        let size = call.this()?.size();
        let wanted = checked(k, size)?;
        let (values, indices) = first_of_storage(call, size, First { wanted, direction }, true)?;
        Ok((values.ok_or_else(Fault::no_memory)?, indices))
    })
}

/// `x:sort([dim] [, descending])`: tensors of the elements in their order along a dimension, and of their indices in it. Torch7.
fn sort_tensor(lua: Raising) -> c_int {
    let call = Call::new(lua);
    let (number, direction) = entry::run(lua, call, |call| {
        let (number, n) = optional_dimension(call, 2)?;
        Ok((number, last_direction(call, n)?))
    });
    make_two(lua, call, [call.dtype(), DType::Long], |call| first_along(call, number, None, direction))
}

/// `x:topk([k] [, dim] [, dir] [, sort])`: tensors of the first elements in their order along a dimension, and of their indices in it. They
/// are sorted, whatever `sort` says. Torch7.
fn top_of_tensor(lua: Raising) -> c_int {
    let call = Call::new(lua);
    let (k, number, direction) = entry::run(lua, call, |call| {
        let k = number_wanted(call)?;
        let (number, n) = optional_dimension(call, 2 + c_int::from(call.kind(2) != ffi::LUA_TBOOLEAN))?;
        let is_descending = call.flag(n)?;
        call.flag(n + 1)?;
        call.expect_end(n + 2)?;
        refuse_complex(call)?;
        Ok((k, number, direction(is_descending)))
    });
    make_two(lua, call, [call.dtype(), DType::Long], |call| first_along(call, number, Some(k), direction))
}

/// Argument `n` as the number of a dimension, if it is there and no flag, and the number of the argument behind it.
fn optional_dimension(call: Call, n: c_int) -> Result<(Option<i64>, c_int), Fault> {
    if call.kind(n) == ffi::LUA_TBOOLEAN {
        return Ok((None, n));
    }
    let number = if call.is_absent(n) { None } else { Some(call.whole(n)?) };
    Ok((number, n + 1))
}

/// Argument 2 as the number of elements that are wanted. It is 1 if the argument is missing, or a flag.
fn number_wanted(call: Call) -> Result<i64, Fault> {
    if call.is_absent(2) || call.kind(2) == ffi::LUA_TBOOLEAN { Ok(1) } else { call.whole(2) }
}

/// The number of elements that are wanted of `size`.
fn checked(k: i64, size: usize) -> Result<usize, Fault> {
    usize::try_from(k).ok().filter(|k| (1..=size).contains(k)).ok_or_else(|| match size {
        0 => Fault::new(format_args!("there are no elements, so there are no first {k} of them")),
        _ => Fault::argument(2, format_args!("a number of elements from 1 to {size} is expected, got {k}")),
    })
}

/// The first elements of a storage in their order, if they are wanted, and their indices.
fn first_of_storage(call: Call, size: usize, first: First, has_values: bool) -> Result<(Option<Storage>, Storage), Fault> {
    let layout = Layout::contiguous(&[size])?;
    find(call, (1, size), first, has_values, &|act| {
        let this = call.this()?;
        if this.size() != size {
            return Err(changed());
        }
        act(Tensor::new(&this, &layout).elements()?)
    })
}

/// The first `k` elements of a tensor along a dimension in their order, or all of them, and their indices. Without a number it is the last
/// dimension.
fn first_along(call: Call, number: Option<i64>, k: Option<i64>, direction: Direction) -> Result<(Made, Made), Fault> {
    if call.this_tensor()?.layout.dimensions() == 0 && number.is_none() {
        return first_of_scalar(call, k);
    }
    let number = number.unwrap_or(-1);
    let dimension = call.this_tensor()?.layout.dimension(number)?;
    let lines = Lines::along(call, number)?;
    let wanted = k.map_or(Ok(lines.length), |k| checked(k, lines.length))?;
    let (values, indices) = find(call, (lines.count, lines.length), First { wanted, direction }, true, &|act| {
        lines.with(call, |tensor| act(tensor.elements()?))
    })?;
    let made = |storage| in_order(storage, &lines, dimension, wanted);
    Ok((made(values.ok_or_else(Fault::no_memory)?)?, made(indices)?))
}

/// The element of a tensor without dimensions, and its index.
fn first_of_scalar(call: Call, k: Option<i64>) -> Result<(Made, Made), Fault> {
    checked(k.unwrap_or(1), 1)?;
    let values = call.this_tensor()?.elements().to_storage(call.dtype())?;
    let indices = Storage::unset(DType::Long, 1)?;
    indices.fill(crate::convert::Scalar::Signed(1))?;
    Ok((Made::new(values, Layout::contiguous(&[])?), Made::new(indices, Layout::contiguous(&[])?)))
}

/// A tensor of the results of lines, `wanted` for each. The storage has those of a line beside each other, and the tensor has them along
/// dimension `dimension`.
fn in_order(storage: Storage, lines: &Lines, dimension: usize, wanted: usize) -> Result<Made, Fault> {
    let mut sizes = fallible::copied(lines.result.sizes())?;
    sizes[dimension] = wanted;
    let result = Layout::contiguous(&sizes)?;
    let last = sizes.len() - 1;
    if dimension == last || storage.size() == 0 {
        return Ok(Made::new(storage, result));
    }
    sizes.remove(dimension);
    fallible::push(&mut sizes, wanted)?;
    let place = |d: usize| if d == dimension { last } else { d - usize::from(d > dimension) };
    let order = fallible::list_of((0..sizes.len()).map(place))?;
    let turned = Layout::contiguous(&sizes)?.permute(&order)?;
    Ok(Made::new(Tensor::new(&storage, &turned).to_storage(storage.dtype())?, result))
}

/// Calls a function with the elements of the lines. No Lua code runs in it.
type With<'a> = &'a dyn Fn(&mut dyn FnMut(Elements<'_>) -> Result<(), Fault>) -> Result<(), Fault>;

/// Finds the first elements of lines, of which there are `count` with `length` elements each. The results are storages of the elements, if
/// they are wanted, and of their indices, those of a line beside each other.
fn find(
    call: Call,
    (count, length): (usize, usize),
    first: First,
    has_values: bool,
    with: With<'_>,
) -> Result<(Option<Storage>, Storage), Fault> {
    let dtype = call.dtype();
    let size = count.saturating_mul(first.wanted);
    let values = if has_values { Some(Storage::unset(dtype, size)?) } else { None };
    let indices = Storage::unset(DType::Long, size)?;
    let found = || -> Result<Found<'_>, Fault> {
        let values = values.as_ref().map(Storage::writable).transpose()?;
        Ok(Found { values, indices: indices.writable()? })
    };
    // There may be very many lines without elements.
    if size == 0 {
        return Ok((values, indices));
    }
    if length < LONG {
        in_steps(call, count, length * STEP_WEIGHT, |done, now| {
            with(&mut |all| Ok(first.of_lines(all, done..done + now, found()?)?))
        })?;
        return Ok((values, indices));
    }
    let copy = Storage::unset(dtype, length)?;
    for line in 0..count {
        let begin = line * length;
        in_steps(call, length, dtype.width(), |done, now| {
            with(&mut |all| Ok(all.copy_to(copy.writable()?.part(done..done + now), begin + done..begin + done + now)?))
        })?;
        first.of_line(copy.readable(), line, found()?, &mut || let_host_interrupt(call))?;
    }
    Ok((values, indices))
}

/// How many bytes of a step an element takes, so that a step takes as long as one of a copy.
const STEP_WEIGHT: usize = 64;
