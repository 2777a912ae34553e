//! Functions of the table that make Lua values or references.
//!
//! They need the metatables and the number of the Lua state, which are in the upvalues of our functions. So the C module's call
//! leaves an [`Order`] for a Lua function of ours, and calls that function protected. It also keeps the memory of
//! `torch_storage_wrap` from being lost when Lua raises an error.

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::ptr;

use super::hold::{Hold, pins};
use super::view::{dtype_of, flag};
use super::{Free, TABLE};
use crate::element::DType;
use crate::error::MAX_DIMENSIONS;
use crate::lua::args::Call;
use crate::lua::context::UPVALUES;
use crate::lua::entry::{attempt, raising};
use crate::lua::fault::{Fault, raise_in_module};
use crate::lua::restricted::is_restricted;
use crate::lua::state::{REGISTRY, Raising};
use crate::lua::{budget, pressure, tensor, userdata};
use crate::storage::Storage;
use crate::tensor::Layout;

/// What a C module wants. Stack indices count from the bottom.
pub enum Order {
    /// A reference to the storage or tensor at `index`, which is written to `hold`.
    Retain { index: c_int, options: c_int, hold: *mut *mut Hold },
    /// A Lua value for the storage of a reference.
    Push { hold: *const Hold },
    /// A storage of zeros.
    Create { dtype: c_int, size: usize },
    /// A storage over memory of the module. `owner` gives the memory back, unless it `stays`.
    Wrap { data: *mut u8, size: usize, dtype: c_int, flags: c_int, owner: Cell<Option<Given>>, stays: bool },
    /// A tensor over the storage at the stack index `storage`.
    CreateTensor { storage: c_int, dimensions: c_int, sizes: *const usize },
    /// How many bytes the storages of this Lua state have, which is written to `bytes`.
    Memory { bytes: *const Cell<usize> },
    /// Another limit for them. Whether it is kept now is written to `fits`.
    Limit { bytes: usize, fits: *const Cell<bool> },
    /// Whether the scripts of this Lua state are restricted, which is written to `answer`.
    IsRestricted { answer: *const Cell<bool> },
}

/// An order, and why it could not be carried out.
struct Running {
    order: Order,
    fault: RefCell<Option<Fault>>,
    is_done: Cell<bool>,
}

thread_local! {
    /// The order that the next call of `serve` in this thread carries out.
    static CURRENT: Cell<*const Running> = const { Cell::new(ptr::null()) };
}

/// Memory of a C module. Dropping this gives the memory back, by `free(argument)`.
pub struct Given {
    free: Free,
    argument: *mut c_void,
}

// SAFETY: [vouched] the C module allows every thread to call the function.
unsafe impl Send for Given {}

impl Given {
    /// `None` for memory that stays for ever.
    pub fn new(free: Option<Free>, argument: *mut c_void) -> Option<Self> {
        free.map(|free| Self { free, argument })
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        // SAFETY: [owned] [vouched] the C module allows one call, in any thread, and this is the only one.
        unsafe { (self.free)(self.argument) }
    }
}

/// Puts the function that carries out orders into the registry. Its upvalues are on the top of the stack.
pub fn install(lua: Raising) {
    lua.push_function(raising(serve), UPVALUES);
    let function = lua.top();
    lua.push_light((&raw const TABLE).cast_mut().cast());
    lua.push_value(function);
    lua.raw_set_top(REGISTRY);
    lua.set_top(function - 1);
}

/// Carries out an order, in the function of a C module. Pushes the value that was made, unless it is a reference. Raises the
/// error if it fails.
pub fn carry_out(lua: Raising, order: Order) {
    let (value, results) = match &order {
        Order::Retain { index, .. } => (Some(*index), 0),
        Order::CreateTensor { storage, .. } => (Some(*storage), 1),
        Order::Push { .. } | Order::Create { .. } | Order::Wrap { .. } => (None, 1),
        Order::Memory { .. } | Order::Limit { .. } | Order::IsRestricted { .. } => (None, 0),
    };
    // An index beyond the top means no value, also when the function is on the top.
    let given = value.filter(|&index| index <= lua.top());
    let running = Running { order, fault: RefCell::new(None), is_done: Cell::new(false) };
    // An address in this copy of the library, so another copy has its own function.
    lua.push_light((&raw const TABLE).cast_mut().cast());
    lua.raw_get_top(REGISTRY);
    if let Some(index) = given {
        lua.push_value(index);
    }
    // A hook or a finalizer may run Lua code in the middle of this call, and so another order.
    let outer = CURRENT.replace(&raw const running);
    let returned = lua.protected_call(c_int::from(given.is_some()), results);
    CURRENT.set(outer);
    let Running { order, fault, is_done } = running;
    if let Order::Retain { hold, .. } = &order
        && !returned
    {
        // A hook raised an error after the reference was made.
        // SAFETY: [live] the pointer is to a variable of `retain`, which is running.
        let made = unsafe { hold.replace(ptr::null_mut()) };
        if !made.is_null() {
            // SAFETY: [owned] it came from `make`, and the C module has not seen it.
            unsafe { Hold::release(made) };
        }
    }
    // Gives the memory of an order that failed back.
    drop(order);
    match fault.into_inner() {
        Some(fault) => raise_for(lua, value, fault),
        None if !returned => lua.raise_top(),
        None if !is_done.get() => raise_in_module(lua, Fault::new("torch.core is not open in this Lua state")),
        None => {}
    }
}

/// Raises the fault of an order. Argument 1 of `serve` is the value at stack index `value` of the module's function.
#[cold]
fn raise_for(lua: Raising, value: Option<c_int>, mut fault: Fault) -> ! {
    let fault = match (fault.take_argument(), value) {
        (Some(_), Some(index)) => fault.at(index),
        _ => fault,
    };
    raise_in_module(lua, fault)
}

/// Carries out the current order of this thread, and returns what it has made. If that fails, leaves the fault in the order.
fn serve(lua: Raising) -> c_int {
    let current = CURRENT.replace(ptr::null());
    if current.is_null() {
        return 0;
    }
    // SAFETY: [live] `carry_out` keeps the order while it calls this function, and sets the pointer for this call only.
    let running = unsafe { &*current };
    pressure::relieve(lua);
    match make(lua, &running.order) {
        Ok(()) => running.is_done.set(true),
        Err(fault) => drop(running.fault.replace(Some(fault))),
    }
    1
}

/// Carries out an order. The value that was made is on the top afterwards.
fn make(lua: Raising, order: &Order) -> Result<(), Fault> {
    let call = Call::new(lua);
    match order {
        Order::Retain { options, hold, .. } => {
            let made = attempt(lua, call, &|call| Hold::new(call, pins(*options)?))?;
            // SAFETY: [live] the pointer is to a variable of `retain`, which is running.
            unsafe { hold.write(Box::into_raw(made)) };
            Ok(())
        }
        Order::Push { hold } => {
            // SAFETY: [live] [vouched] the C module has not released it.
            let (storage, holder) = unsafe { &**hold }.storage();
            push(lua, storage.dtype(), |call| Ok(storage.share_with(holder, call.state_id())?))
        }
        Order::Create { dtype, size } => {
            let dtype = dtype_of(*dtype)?;
            push(lua, dtype, |_| Ok(Storage::zeroed(dtype, *size)?))
        }
        Order::Wrap { data, size, dtype, flags, owner, stays } => {
            let dtype = dtype_of(*dtype)?;
            push(lua, dtype, |_| {
                let read_only = check_memory(dtype, *data, *size, *flags)?;
                if *stays {
                    // SAFETY: [vouched] the C module says that the memory stays.
                    return Ok(unsafe { Storage::from_raw_parts((), dtype, *data, *size, read_only) }?);
                }
                // There is no owner if this runs for the second time, after it was dropped by a failure.
                let owner = owner.take().ok_or(Fault::no_memory())?;
                // SAFETY: [vouched] the C module says that the memory stays until its owner is dropped.
                Ok(unsafe { Storage::from_raw_parts(owner, dtype, *data, *size, read_only) }?)
            })
        }
        Order::CreateTensor { dimensions, sizes, .. } => push_tensor(lua, call, *dimensions, *sizes),
        Order::Memory { bytes } => {
            // SAFETY: [live] the pointer is to a variable of `memory`, which is running.
            unsafe { &**bytes }.set(budget::in_use(call));
            Ok(())
        }
        Order::Limit { bytes, fits } => {
            let is_kept = budget::set_limit(lua, Some(*bytes).filter(|&bytes| bytes > 0));
            // SAFETY: [live] the pointer is to a variable of `limit`, which is running.
            unsafe { &**fits }.set(is_kept);
            Ok(())
        }
        Order::IsRestricted { answer } => {
            // SAFETY: [live] the pointer is to a variable of `restricted`, which is running.
            unsafe { &**answer }.set(is_restricted(call));
            Ok(())
        }
    }
}

/// Pushes the storage that `body` makes.
fn push(lua: Raising, dtype: DType, body: impl Fn(Call) -> Result<Storage, Fault>) -> Result<(), Fault> {
    let payload = userdata::push_dead(lua, dtype);
    userdata::give(payload, attempt(lua, Call::new(lua), &body)?);
    Ok(())
}

/// Whether memory of a C module is read-only. It is a fault if it cannot be that many elements.
fn check_memory(dtype: DType, data: *mut u8, size: usize, flags: c_int) -> Result<bool, Fault> {
    let end = size.checked_mul(dtype.width()).and_then(|bytes| data.addr().checked_add(bytes));
    if end.is_none_or(|end| isize::try_from(end).is_err()) || data.is_null() && size > 0 {
        let (address, width) = (data.addr(), dtype.width());
        return Err(Fault::new(format_args!(
            "{size} elements of {width} bytes at address {address} are not a valid range of memory"
        )));
    }
    match flags {
        flag::WRITABLE => Ok(false),
        0 => Ok(true),
        _ => Err(Fault::new(format_args!("TORCH_WRITABLE or 0 expected as flags, got {flags}"))),
    }
}

/// Pushes a contiguous tensor over the storage at argument 1.
fn push_tensor(lua: Raising, call: Call, dimensions: c_int, sizes: *const usize) -> Result<(), Fault> {
    let class = |call: Call| {
        let dtype = call.storage(1)?.dtype();
        if dtype.is_untyped() { Err(Fault::argument(1, "there are no tensors of bytes without a type")) } else { Ok(dtype) }
    };
    let dtype = attempt(lua, call, &class)?;
    let payload = tensor::push_dead(lua, dtype);
    let call = call.with_frame(lua.top());
    let body = |call: Call| {
        let count = usize::try_from(dimensions).ok().filter(|&count| count <= MAX_DIMENSIONS && (count == 0 || !sizes.is_null()));
        let count =
            count.ok_or_else(|| Fault::new(format_args!("{dimensions} is not a number of dimensions: 0 to {MAX_DIMENSIONS}")))?;
        let mut list = [0; MAX_DIMENSIONS];
        // SAFETY: [vouched] the C module gives one size for each dimension. [owned] the list has room for them.
        unsafe { ptr::copy_nonoverlapping(sizes, list.as_mut_ptr(), count) };
        let layout = Layout::contiguous(&list[..count])?;
        let storage = call.storage(1)?;
        layout.span_in(storage.size())?;
        Ok((storage.share(call.state_id())?, layout))
    };
    let (storage, layout) = attempt(lua, call, &body)?;
    tensor::promise(payload, layout);
    tensor::fulfil(payload, storage, true);
    Ok(())
}
