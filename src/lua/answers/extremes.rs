//! The least and the greatest element, and where it is: min, max, argmin, argmax.

use std::ffi::c_int;

use super::folded::{Lines, fold_all};
use super::subject::Subject;
use super::sums::Asked;
use crate::answers::{Best, Extreme, Extremes};
use crate::convert::{Scalar, count_to_f64};
use crate::element::DType;
use crate::lua::args::Call;
use crate::lua::complex::push;
use crate::lua::entry::{self, Method, raising};
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::lua::tensor::{Made, make_as, make_two};
use crate::storage::Storage;
use crate::tensor::Layout;

pub const fn methods<S: Subject>() -> &'static [Method] {
    const {
        &[
            (c"argmax", raising(arg_max::<S>)),
            (c"argmin", raising(arg_min::<S>)),
            (c"max", raising(max::<S>)),
            (c"min", raising(min::<S>)),
        ]
    }
}

/// `x:min([dim])`: the least element, or tensors of the least along a dimension and of their indices. Torch7.
fn min<S: Subject>(lua: Raising) -> c_int {
    value::<S>(lua, Extreme::Least)
}

/// `x:max([dim])`: as `min`, the greatest element. Torch7.
fn max<S: Subject>(lua: Raising) -> c_int {
    value::<S>(lua, Extreme::Greatest)
}

/// `x:argmin([dim])`: the indices of the first of the least elements, one a dimension; with `dim` a tensor of the indices in it.
fn arg_min<S: Subject>(lua: Raising) -> c_int {
    place::<S>(lua, Extreme::Least)
}

/// `x:argmax([dim])`: as `argmin`, of the greatest elements.
fn arg_max<S: Subject>(lua: Raising) -> c_int {
    place::<S>(lua, Extreme::Greatest)
}

/// The number of a dimension at argument 2, or `None` for all elements. Complex numbers are refused.
fn dimension<S: Subject>(call: Call, which: Extreme) -> Result<Option<i64>, Fault> {
    if call.dtype().is_complex() {
        return Err(Fault::new(format_args!("complex numbers have no order, so none is the {}", name(which))));
    }
    super::sums::dimension::<S>(call, 2)
}

fn name(which: Extreme) -> &'static str {
    match which {
        Extreme::Least => "least",
        Extreme::Greatest => "greatest",
    }
}

fn empty(which: Extreme) -> Fault {
    Fault::new(format_args!("there are no elements, so none is the {}", name(which)))
}

/// The element that is looked for among all.
fn find<S: Subject>(call: Call, which: Extreme) -> Result<Best, Fault> {
    fold_all::<S, _, _>(call, &Extremes(which), |best| *best)?.ok_or_else(|| empty(which))
}

fn value<S: Subject>(lua: Raising, which: Extreme) -> c_int {
    let call = Call::new(lua);
    let asked = entry::run(lua, call, |call| match dimension::<S>(call, which)? {
        Some(number) => Ok(Asked::Along(number)),
        None => find::<S>(call, which).map(Asked::OfAll),
    });
    match asked {
        Asked::OfAll(best) => push(lua, best.value),
        Asked::Along(number) => make_two(lua, call, [call.dtype(), DType::Long], |call| along(call, number, which)),
    }
}

fn place<S: Subject>(lua: Raising, which: Extreme) -> c_int {
    let call = Call::new(lua);
    match entry::run(lua, call, |call| dimension::<S>(call, which)) {
        Some(number) => {
            pressure::relieve(lua);
            make_as(lua, call, DType::Long, |call| Ok(along(call, number, which)?.1))
        }
        None => {
            let (indices, count) = entry::run(lua, call, |call| {
                let best = find::<S>(call, which)?;
                S::with(call, |_, layout| Ok(indices_of(layout, best.number)))
            });
            for &index in &indices[..count] {
                lua.push_count(index);
            }
            c_int::try_from(count).unwrap_or(0)
        }
    }
}

/// How many indices are returned at most.
const FEW: usize = 16;

/// The indices, from 1, of an element by its number in row-major order, and how many they are. Lua has room on its stack for the indices of
/// as many dimensions as there may be; of more than 16, only the number of the element is given.
fn indices_of(layout: &Layout, number: usize) -> ([usize; FEW], usize) {
    let mut indices = [0; FEW];
    let sizes = layout.sizes();
    if sizes.len() > FEW {
        indices[0] = number + 1;
        return (indices, 1);
    }
    let mut rest = number;
    for (index, &size) in indices[..sizes.len()].iter_mut().zip(sizes).rev() {
        *index = rest % size.max(1) + 1;
        rest /= size.max(1);
    }
    (indices, sizes.len())
}

/// The least or greatest elements along a dimension, and their indices in it.
fn along(call: Call, number: i64, which: Extreme) -> Result<(Made, Made), Fault> {
    let lines = Lines::along(call, number)?;
    if lines.length == 0 && lines.count > 0 {
        return Err(empty(which));
    }
    let (values, indices) = (Storage::unset(call.dtype(), lines.count)?, Storage::unset(DType::Long, lines.count)?);
    {
        let (value, index) = (values.writable()?, indices.writable()?);
        lines.fold(call, &Extremes(which), &|line, best: &Option<Best>| {
            let Some(best) = best else { return };
            let place = best.number - line * lines.length + 1;
            let are_there = value.set(line, best.value) && index.set(line, Scalar::Float(count_to_f64(place)));
            debug_assert!(are_there, "there is an element for each line");
        })?;
    }
    let made = |storage| Ok::<_, Fault>(Made::new(storage, Layout::contiguous(lines.result.sizes())?));
    Ok((made(values)?, made(indices)?))
}
