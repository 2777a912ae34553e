//! Storages and tensors that go between Lua and the Rust program that embeds it.
//!
//! The program calls the functions below like any Lua function. The storage does not go through Lua as an address, but through a slot of
//! the thread, so that no Lua code can pass an address of its own.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

use super::args::Call;
use super::budget;
use super::entry::{self, Answer, Method, function, raising};
use super::fault::{Fault, raise};
use super::pressure;
use super::state::Raising;
use super::tensor::{self, Made, make_as};
use super::userdata;
use crate::element::DType;
use crate::error::Error;
use crate::program::Storage;
use crate::storage::{self, StateId};
use crate::tensor::Layout;

pub const FUNCTIONS: &[Method] = &[
    (c"fromprogram", raising(from_program)),
    (c"toprogram", function(to_program)),
    (c"memoryinuse", function(memory_in_use)),
    (c"setmemorylimit", raising(set_memory_limit)),
];

/// A storage, or a tensor if it has a layout. The handle belongs to the thread, which is the one that the call runs in.
pub struct Passed {
    pub storage: Storage,
    pub layout: Option<Layout>,
}

/// Why a Lua value cannot be handed to the program.
pub enum Refusal {
    /// It is neither a storage nor a tensor.
    OtherValue,
    /// It is one that was freed.
    Freed,
    /// The engine refuses it.
    Error(Error),
}

/// What a call passes, or what it got back.
pub type Slot = Option<Result<Passed, Refusal>>;

thread_local! {
    /// The slot of the running call, or null. It has no destructor, so it can be used until the thread has ended.
    static SLOT: Cell<*const Cell<Slot>> = const { Cell::new(ptr::null()) };
}

/// Runs `act`, which calls a function of this file, with a value in the slot. Returns what is in the slot afterwards. A hook or a
/// finalizer that runs in `act` may pass something itself, which has a slot of its own.
pub fn pass<R>(value: Slot, act: impl FnOnce() -> R) -> (R, Slot) {
    /// Restores the slot of the outer call, also if `act` panics.
    struct Restore(*const Cell<Slot>);
    impl Drop for Restore {
        fn drop(&mut self) {
            SLOT.set(self.0);
        }
    }
    let slot = Cell::new(value);
    let outer = Restore(SLOT.replace(&raw const slot));
    let result = act();
    drop(outer);
    (result, slot.take())
}

/// The slot of the running call, if the program has called.
fn slot<'call>(_: Call<'call>) -> Option<&'call Cell<Slot>> {
    // SAFETY: [live] the pointer is null, or `pass` keeps the slot until its call of a function of this file has ended.
    unsafe { SLOT.get().as_ref() }
}

/// Takes the passed value out of the slot.
fn take(call: Call) -> Result<Passed, Fault> {
    let nothing = || Fault::new("only the Rust program that embeds this Lua state calls this function");
    slot(call).and_then(Cell::take).and_then(Result::ok).ok_or_else(nothing)
}

/// The class of the passed value, and whether it is a tensor.
fn look(call: Call) -> Option<(DType, bool)> {
    let slot = slot(call)?;
    let value = slot.take();
    let class = match &value {
        Some(Ok(passed)) => Some((passed.storage.dtype(), passed.layout.is_some())),
        _ => None,
    };
    slot.set(value);
    class
}

/// Makes the passed handle one of this Lua state. No memory of a Lua value is passed, so it gets every handle. It is a fault if it is
/// not of class `dtype`, because a finalizer has passed another value in between.
fn received(call: Call, dtype: DType) -> Result<(storage::Storage, Option<Layout>), Fault> {
    let Passed { storage, layout } = take(call)?;
    if storage.dtype() != dtype {
        return Err(Fault::new("a finalizer has passed another value meanwhile"));
    }
    let handed = storage.into_engine().hand_over(StateId::of_this_thread(), call.state_id());
    Ok((handed.map_err(|(_, error)| error)?, layout))
}

/// `core.fromprogram()`: the passed storage or tensor as a Lua value.
fn from_program(lua: Raising) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    match look(call) {
        Some((dtype, false)) => entry::construct(lua, call, dtype, |call| received(call, dtype).map(|(storage, _)| storage)),
        Some((dtype, true)) if !dtype.is_untyped() => make_as(lua, call, dtype, |call| {
            let (storage, layout) = received(call, dtype)?;
            layout.map(|layout| Made::new(storage, layout)).ok_or_else(|| Fault::new("the passed value is not a tensor"))
        }),
        Some(_) => raise(lua, Fault::new("there are no tensors of bytes without a type: another dtype is needed")),
        None => raise(lua, Fault::new("no storage is passed")),
    }
}

/// `core.toprogram(v)`: passes a storage or tensor to the program, or the reason why it cannot have it. Does nothing if the program
/// has not called.
fn to_program(call: Call) -> Result<Answer, Fault> {
    if let Some(slot) = slot(call) {
        slot.set(Some(given(call)));
    }
    Ok(Answer::Nothing)
}

/// `core.memoryinuse()`: how many bytes the storages of this Lua state have.
fn memory_in_use(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Count(budget::in_use(call)))
}

/// `core.setmemorylimit([bytes])`: how many they may have, or without a number, that there is no limit. Returns whether they have no more
/// now.
fn set_memory_limit(lua: Raising) -> c_int {
    let bytes = entry::run(lua, Call::new(lua), |call| if call.count() > 0 { call.bytes(1).map(Some) } else { Ok(None) });
    let is_kept = budget::set_limit(lua, bytes);
    lua.push_boolean(is_kept);
    1
}

/// A handle to the storage or tensor at argument 1, which belongs to this thread.
fn given(call: Call) -> Result<Passed, Refusal> {
    let state = call.state();
    if call.count() == 0 {
        return Err(Refusal::OtherValue);
    }
    // SAFETY: [live] argument 1 stays in its slot, and no Lua code runs before the program has its handle.
    let (storage, layout) = if let Some((payload, _)) = unsafe { userdata::payload(state, 1) } {
        (userdata::storage(payload).ok_or(Refusal::Freed)?, None)
    // SAFETY: [live] argument 1 stays in its slot, and no Lua code runs before the program has its handle.
    } else if let Some((payload, _)) = unsafe { tensor::payload(state, 1) } {
        let (storage, layout) = payload.parts().ok_or(Refusal::Freed)?;
        (storage, Some(layout.try_clone().map_err(Refusal::Error)?))
    } else {
        return Err(Refusal::OtherValue);
    };
    let storage = storage.share_with(call.state_id(), StateId::of_this_thread()).map_err(Refusal::Error)?;
    Ok(Passed { storage: Storage::of(storage), layout })
}
