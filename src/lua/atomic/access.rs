//! The functions of `torch.atomic` that read and write an element, and those of `torch.atomic.exact`.

use std::ffi::c_int;

use super::argument::{class, element, value};
use crate::atomic::{Act, At, Atomic, Change, classes, supports, with_atomic};
use crate::convert::{Number, Scalar};
use crate::element::{DType, Element};
use crate::lua::args::Call;
use crate::lua::entry::{self, Answer, Method, function, raising};
use crate::lua::fault::Fault;
use crate::lua::methods::exact::push_exact;
use crate::lua::state::Raising;
use crate::lua::userdata;

/// The functions that return what `s[i]` gives.
pub const FUNCTIONS: [Method; 12] = list::<false>();

/// The functions that return what `s:exact(i)` gives.
pub const EXACT: [Method; 12] = list::<true>();

const fn list<const EXACT: bool>() -> [Method; 12] {
    [
        (c"atomic.add", raising(with_value::<Add, EXACT>)),
        (c"atomic.band", raising(with_value::<And, EXACT>)),
        (c"atomic.bor", raising(with_value::<Or, EXACT>)),
        (c"atomic.bxor", raising(with_value::<Xor, EXACT>)),
        (c"atomic.compareExchange", raising(compare_exchange::<EXACT>)),
        (c"atomic.exchange", raising(with_value::<Exchange, EXACT>)),
        (c"atomic.isLockFree", function(is_lock_free)),
        (c"atomic.load", raising(load::<EXACT>)),
        (c"atomic.max", raising(with_value::<Max, EXACT>)),
        (c"atomic.min", raising(with_value::<Min, EXACT>)),
        (c"atomic.store", raising(with_value::<Store, EXACT>)),
        (c"atomic.sub", raising(with_value::<Sub, EXACT>)),
    ]
}

/// What a function with one value does to an element.
pub trait Operation: Copy + 'static {
    const CHANGE: Option<Change> = None;
    /// Whether it returns the value, and not what the element was.
    const IS_STORE: bool = false;
    /// Does it, and returns what the function returns.
    fn carry_out<T: Atomic>(element: At<'_, T>, value: T) -> T;
    fn act(value: Scalar) -> Act;
}

#[derive(Clone, Copy)]
pub struct Store;
#[derive(Clone, Copy)]
pub struct Exchange;

impl Operation for Store {
    const IS_STORE: bool = true;
    #[inline(always)]
    fn carry_out<T: Atomic>(element: At<'_, T>, value: T) -> T {
        element.store(value);
        value
    }
    fn act(value: Scalar) -> Act {
        Act::Store(value)
    }
}

impl Operation for Exchange {
    #[inline(always)]
    fn carry_out<T: Atomic>(element: At<'_, T>, value: T) -> T {
        element.exchange(value)
    }
    fn act(value: Scalar) -> Act {
        Act::Exchange(value)
    }
}

macro_rules! changes {
    ($($change:ident),*) => {$(
        #[derive(Clone, Copy)]
        pub struct $change;

        impl Operation for $change {
            const CHANGE: Option<Change> = Some(Change::$change);
            #[inline(always)]
            fn carry_out<T: Atomic>(element: At<'_, T>, value: T) -> T {
                element.change(Change::$change, value)
            }
            fn act(value: Scalar) -> Act {
                Act::Change(Change::$change, value)
            }
        }
    )*};
}

changes!(Add, Sub, And, Or, Xor, Min, Max);

/// Whether an operation can be done to elements of a dtype that can be accessed atomically.
#[inline(always)]
pub const fn is_for<O: Operation>(dtype: DType) -> bool {
    match O::CHANGE {
        Some(change) => change.is_for(dtype),
        None => true,
    }
}

/// `load(s, i)`: the element.
fn load<const EXACT: bool>(lua: Raising) -> c_int {
    if let Some((dtype, found)) = quick_load(lua) {
        return push::<EXACT>(lua, dtype, found);
    }
    let (dtype, found) = any_load(lua);
    push::<EXACT>(lua, dtype, found)
}

/// `load` for any arguments.
#[inline(never)]
fn any_load(lua: Raising) -> (DType, Scalar) {
    entry::run(lua, Call::new(lua), |call| {
        let dtype = class(call, supports, classes(None))?;
        let (storage, index) = element(call, call.scalar(2)?)?;
        Ok((dtype, storage.act_atomically(index, Act::Load)?.0))
    })
}

/// The same if nothing has to be decided, converted or refused. `exact` shares it, so it is not inlined.
#[inline(never)]
fn quick_load(lua: Raising) -> Option<(DType, Scalar)> {
    // SAFETY: [live] argument 1 stays in its slot, and no Lua code runs before the header is used for the last time.
    let (header, dtype) = unsafe { userdata::header_of_any(lua.state(), 1) }?;
    let index = lua.quick_index(2, header.read_limit())?;
    with_atomic!(dtype, T => {
        // SAFETY: [atomic] [in-bounds] the index is below the size in the live header, and nothing is written.
        let element = unsafe { At::<T>::new(header.data(), index) }?;
        Some((dtype, element.load().to_scalar()))
    }, else None)
}

/// `store(s, i, v)`, `exchange(s, i, v)`, `add(s, i, v)` and so on: the operation `O` with one value.
fn with_value<O: Operation, const EXACT: bool>(lua: Raising) -> c_int {
    if let Some((dtype, found)) = quick_with_value::<O>(lua) {
        return push::<EXACT>(lua, dtype, found);
    }
    let (dtype, found) = any_with_value(lua, O::CHANGE, O::act);
    push::<EXACT>(lua, dtype, found)
}

/// The same for any arguments. All operations share it, and say by `act` what they do.
#[inline(never)]
fn any_with_value(lua: Raising, change: Option<Change>, act: fn(Scalar) -> Act) -> (DType, Scalar) {
    entry::run(lua, Call::new(lua), |call| {
        let is_for = |dtype| supports(dtype) && change.is_none_or(|change| change.is_for(dtype));
        let dtype = class(call, is_for, classes(change))?;
        let (key, value) = (call.scalar(2)?, value(call, dtype, 3)?);
        let (storage, index) = element(call, key)?;
        Ok((dtype, storage.act_atomically(index, act(value))?.0))
    })
}

/// The same if nothing has to be decided, converted or refused. `exact` shares it, so it is not inlined.
#[inline(never)]
fn quick_with_value<O: Operation>(lua: Raising) -> Option<(DType, Scalar)> {
    // SAFETY: [live] argument 1 stays in its slot, and no Lua code runs before the header is used for the last time.
    let (header, dtype) = unsafe { userdata::header_of_any(lua.state(), 1) }?;
    let index = lua.quick_index(2, header.write_limit())?;
    with_atomic!(dtype, T => {
        if !is_for::<O>(T::DTYPE) {
            return None;
        }
        // SAFETY: [atomic] [in-bounds] the index is below the size in the live header, and the memory is writable.
        let element = unsafe { At::<T>::new(header.data(), index) }?;
        let value = lua.quick_element::<T>(3)?;
        Some((dtype, O::carry_out(element, value).to_scalar()))
    }, else None)
}

/// `compareExchange(s, i, expected, v)`: the element before, and whether `v` was written.
fn compare_exchange<const EXACT: bool>(lua: Raising) -> c_int {
    if let Some((dtype, found, written)) = quick_compare_exchange(lua) {
        push::<EXACT>(lua, dtype, found);
        lua.push_boolean(written);
        return 2;
    }
    let (dtype, found, written) = any_compare_exchange(lua);
    push::<EXACT>(lua, dtype, found);
    lua.push_boolean(written);
    2
}

/// The same for any arguments.
#[inline(never)]
fn any_compare_exchange(lua: Raising) -> (DType, Scalar, bool) {
    entry::run(lua, Call::new(lua), |call| {
        let dtype = class(call, supports, classes(None))?;
        let (key, expected, new) = (call.scalar(2)?, value(call, dtype, 3)?, value(call, dtype, 4)?);
        let (storage, index) = element(call, key)?;
        let (found, written) = storage.act_atomically(index, Act::CompareExchange(expected, new))?;
        Ok((dtype, found, written))
    })
}

/// The same if nothing has to be decided, converted or refused. `exact` shares it, so it is not inlined.
#[inline(never)]
fn quick_compare_exchange(lua: Raising) -> Option<(DType, Scalar, bool)> {
    // SAFETY: [live] argument 1 stays in its slot, and no Lua code runs before the header is used for the last time.
    let (header, dtype) = unsafe { userdata::header_of_any(lua.state(), 1) }?;
    let index = lua.quick_index(2, header.write_limit())?;
    with_atomic!(dtype, T => {
        // SAFETY: [atomic] [in-bounds] the index is below the size in the live header, and the memory is writable.
        let element = unsafe { At::<T>::new(header.data(), index) }?;
        let (expected, new) = (lua.quick_element::<T>(3)?, lua.quick_element::<T>(4)?);
        let (found, written) = element.compare_exchange(expected, new);
        Some((dtype, found.to_scalar(), written))
    }, else None)
}

/// `isLockFree(class)`: whether elements of the class can be accessed atomically. The processor does it then.
fn is_lock_free(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Boolean(supports(call.class(1)?)))
}

/// Pushes an element as `s[i]` gives it, or as `s:exact(i)` does.
#[inline(always)]
fn push<const EXACT: bool>(lua: Raising, dtype: DType, element: Scalar) -> c_int {
    if EXACT {
        return push_exact(lua, dtype, element);
    }
    lua.push_scalar(element);
    1
}
