//! An open file as the block of a userdata, and the way into every function that works on one.

use std::cell::Cell;
use std::ffi::c_int;
use std::hash::{DefaultHasher, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::writing::{Level, Writing};
use crate::convert::count_to_f64;
use crate::lua::args::Call;
use crate::lua::context::{Context, UPVALUES};
use crate::lua::entry::{attempt, run};
use crate::lua::fault::{Fault, raise};
use crate::lua::state::{State, lua_State};
use crate::lua::userdata::Payload;
use crate::t7::Reader;

/// The block of a file's userdata.
#[repr(C)]
pub(super) struct Block {
    /// The address of [`MAGIC`].
    pub(super) magic: *const u8,
    /// Null when it is closed.
    pub(super) open: Cell<*mut Open>,
    /// Registry places of the table of [`values`] and of the string that is read.
    pub(super) values: Cell<c_int>,
    pub(super) source: Cell<c_int>,
    /// A function of ours is at work on it: its pointers into the file's buffers stay until it is done, or calls Lua code itself.
    /// Finalizers, which may run at any time, find the file in use.
    pub(super) busy: Cell<bool>,
    /// A fault of ours is on its way to [`guard`], with the number of the argument that it is about, or 0.
    pub(super) raised: Cell<Option<c_int>>,
    /// Length and hash of the message of the fault that left a function of ours last: with it the error of a `read` or `write` ends that
    /// has passed the fault on.
    pub(super) fault: Cell<Option<(usize, u64)>>,
    /// The whole object that was loaded or saved last failed by a fault of ours.
    pub(super) failed: Cell<bool>,
}

// What our functions carry, and storages, never pass for a file.
const _: () = assert!(size_of::<Block>() > size_of::<Context>() && size_of::<Block>() > size_of::<Payload>());

/// Only its address matters.
pub(super) static MAGIC: u8 = b'7';

/// Places in the table of values of a file.
pub(super) mod values {
    use std::ffi::c_int;

    /// Reading: objects by index. Writing: indices by object.
    pub const OBJECTS: c_int = 1;
    /// What belongs to the tables and objects around the one in hand: see `slots.rs`.
    pub const STACK: c_int = 2;
    /// The Lua function that knows classes.
    pub const CLASSES: c_int = 3;
    /// The progress function, or nothing.
    pub const PROGRESS: c_int = 4;
    /// Lists of keys by table.
    pub const ORDERS: c_int = 5;
    /// The metatable of lists with keys that are objects: it makes them weak, or a list would keep its own table.
    pub const WEAK: c_int = 6;
}

/// What an open file is.
#[allow(clippy::large_enum_variant, reason = "an open file stands in a box of its own")]
pub(super) enum Engine {
    Reading(Reader),
    Writing(Writing),
}

/// An open file.
pub(super) struct Open {
    pub(super) engine: Engine,
    /// Classes of storages that Lua code has given its own `read` or `write`, a bit each.
    pub(super) own_ways: u32,
    /// Where in the file the progress function is called next.
    pub(super) report_at: u64,
    /// All bytes that are going to be read or written, as far as that is known.
    pub(super) total: u64,
    /// Registry slot of the table of [`values`].
    pub(super) values: c_int,
}

/// All upvalues of such a function.
pub(super) const OWN_UPVALUES: c_int = UPVALUES + 4;

/// What the functions that [`guard`] calls have besides our usual upvalues. Stack slots can be replaced by whoever is called
/// (`debug.setlocal`), a function's upvalues cannot: these are what `guard` made them.
pub(super) const FILE: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 1);
pub(super) const VALUES: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 2);
pub(super) const OBJECTS: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 3);
pub(super) const STACK: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 4);

/// The most arguments that a function of ours looks at, the file included.
pub(super) const ARGUMENTS: c_int = 3;

impl Open {
    pub(super) fn new(engine: Engine) -> Self {
        Self { engine, own_ways: 0, report_at: 0, total: 0, values: mlua_sys::LUA_NOREF }
    }

    pub(super) fn reader(&mut self) -> Result<&mut Reader, Fault> {
        match &mut self.engine {
            Engine::Reading(reader) => Ok(reader),
            Engine::Writing(_) => Err(Fault::new("the file is open for writing, not for reading")),
        }
    }

    pub(super) fn writing(&mut self) -> Result<&mut Writing, Fault> {
        match &mut self.engine {
            Engine::Writing(writing) => Ok(writing),
            Engine::Reading(_) => Err(Fault::new("the file is open for reading, not for writing")),
        }
    }

    pub(super) fn position(&self) -> u64 {
        match &self.engine {
            Engine::Reading(reader) => reader.position(),
            Engine::Writing(writing) => writing.writer.position(),
        }
    }

    /// How many tables and objects are not whole.
    pub(super) fn depth(&self) -> usize {
        match &self.engine {
            Engine::Reading(reader) => reader.levels().len(),
            Engine::Writing(writing) => writing.levels.len(),
        }
    }

    /// Leaves all tables and objects but the first `depth`.
    pub(super) fn leave_to(&mut self, depth: usize) {
        match &mut self.engine {
            Engine::Reading(reader) => reader.leave_to(depth),
            Engine::Writing(writing) => writing.levels.truncate(depth),
        }
    }

    /// A class reads or writes what it needs by itself from now on. Gives the depth to leave to after that.
    pub(super) fn step_aside(&mut self) -> Result<usize, Fault> {
        let depth = self.depth();
        match &mut self.engine {
            Engine::Reading(reader) => reader.read_apart()?,
            Engine::Writing(writing) => writing.enter(Level::Apart)?,
        }
        Ok(depth)
    }
}

/// The block of argument 1, if it is a file of ours.
pub(super) fn block<'a>(call: Call) -> Result<&'a Block, Fault> {
    block_at(call, 1)
}

/// The block of argument 1, if it is a file of ours that no function of ours is at work on.
pub(super) fn idle_block<'a>(call: Call) -> Result<&'a Block, Fault> {
    let block = block(call)?;
    // A finalizer or a hook has come in between.
    if block.busy.get() { Err(Fault::new("the file is in use")) } else { Ok(block) }
}

/// The block of the file for which [`guard`] has called the running function: as long as that runs.
pub(super) fn guarded<'a>(call: Call) -> Result<&'a Block, Fault> {
    block_at(call, FILE)
}

pub(super) fn block_at<'a>(call: Call, index: c_int) -> Result<&'a Block, Fault> {
    let block = call.state().block(index, size_of::<Block>()).ok_or_else(|| call.mismatch(1, ".t7 file"))?;
    // SAFETY: the block has the size of ours, and Lua aligns blocks for it. It stays while its userdata is on the stack, or an upvalue.
    let block: &Block = unsafe { block.cast().as_ref() };
    if block.magic == &raw const MAGIC { Ok(block) } else { Err(call.mismatch(1, ".t7 file")) }
}

/// Pushes the userdata of a closed file.
///
/// # Safety
/// May raise: nothing droppable is alive.
pub(super) unsafe fn push_block<'a>(lua: State) -> &'a Block {
    // SAFETY: the caller has nothing to lose to an error.
    let block = unsafe { lua.push_userdata(size_of::<Block>()) }.cast::<Block>();
    let closed = Block {
        magic: &raw const MAGIC,
        open: Cell::new(ptr::null_mut()),
        values: Cell::new(mlua_sys::LUA_NOREF),
        source: Cell::new(mlua_sys::LUA_NOREF),
        busy: Cell::new(false),
        raised: Cell::new(None),
        fault: Cell::new(None),
        failed: Cell::new(false),
    };
    // SAFETY: the block has the size and alignment.
    unsafe { block.write(closed) };
    if Context::push_file_metatable(lua) {
        // SAFETY: the top is a table, and the value below is the userdata just made.
        unsafe { lua.set_metatable(-2) };
    }
    // SAFETY: just written; it stays while its userdata is on the stack.
    unsafe { &*block }
}

impl Block {
    pub(super) fn forget_fault(&self) {
        self.raised.set(None);
        self.fault.set(None);
    }

    /// Acts on the open file. No Lua code runs meanwhile.
    pub(super) fn with<R>(&self, act: impl FnOnce(&mut Open) -> Result<R, Fault>) -> Result<R, Fault> {
        // SAFETY: null or what `open.rs` made a pointer of, and `close` has not taken; it is borrowed here only, for no Lua code runs
        // while `act` does, and `act` does not come here.
        match unsafe { self.open.get().as_mut() } {
            Some(open) => act(open),
            None => Err(Fault::new("the file is closed")),
        }
    }
}

/// Runs a step of the engine; raises if it fails.
///
/// # Safety
/// Nothing droppable is alive: may raise.
pub(super) unsafe fn step<R: Copy>(call: Call, block: &Block, body: impl FnOnce(&mut Open) -> Result<R, Fault>) -> R {
    let mut result = None;
    let fault = match catch_unwind(AssertUnwindSafe(|| result = Some(block.with(body)))) {
        Ok(()) => match result {
            Some(Ok(value)) => return value,
            Some(Err(fault)) => fault,
            None => Fault::no_memory(),
        },
        Err(payload) => Fault::panic(&*payload),
    };
    let mut fault = fault;
    block.raised.set(Some(fault.take_argument().unwrap_or(0)));
    // SAFETY: as the caller says; the fault is moved.
    unsafe { raise(call.state(), fault) }
}

/// Runs `body`, which may run Lua code, while the file is in use; raises as [`step`] does.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive, no storage is borrowed.
pub(super) unsafe fn ask_lua<R: Copy>(call: Call, block: &Block, body: impl Fn(Call) -> Result<R, Fault>) -> R {
    // SAFETY: as the caller says.
    match unsafe { attempt(call.with_frame(call.state().top()), &body) } {
        Ok(value) => value,
        // SAFETY: the fault is moved, and nothing else is droppable.
        Err(fault) => unsafe { step(call, block, |_| Err(fault)) },
    }
}

/// Runs `inner`, a function of ours that works on the file at argument 1, so that the file is idle again whatever happens. `whole`: it
/// loads or saves what was asked for as a whole, and its faults get their position from the Lua side.
///
/// `inner` gets the first [`ARGUMENTS`] arguments, and has [`FILE`] and the other upvalues.
///
/// # Safety
/// Lua calls the function that calls this with `state`, and that function is pushed with our upvalues. `inner` gives `results` values.
pub(super) unsafe fn guard(
    state: *mut lua_State,
    inner: unsafe extern "C-unwind" fn(*mut lua_State) -> c_int,
    results: c_int,
    whole: bool,
) -> c_int {
    // SAFETY: as the caller says.
    let call = unsafe { Call::new(state) };
    let lua = call.state();
    // A call has room for 20 values on top of its arguments.
    let count = call.count().min(ARGUMENTS);
    (0..OWN_UPVALUES).for_each(|_| lua.push_nil());
    // SAFETY: nothing droppable is alive.
    unsafe { lua.push_function(inner, OWN_UPVALUES) };
    // Making the function may have run finalizers, which may have replaced what is below it. From here on nothing is made.
    let function = lua.top();
    // SAFETY: nothing droppable is alive.
    let block = unsafe { run(call.with_frame(function), idle_block) };
    let table = |lua: State, place| {
        lua.push_referenced(block.values.get());
        if lua.kind(-1) == mlua_sys::LUA_TTABLE {
            lua.raw_get(-1, place);
            lua.remove(-2);
        }
    };
    Context::push_own(lua);
    lua.push_value(1);
    lua.push_referenced(block.values.get());
    table(lua, values::OBJECTS);
    table(lua, values::STACK);
    // SAFETY: the function was made with so many upvalues.
    (1..=OWN_UPVALUES).rev().for_each(|n| unsafe { lua.set_upvalue(function, n) });
    (1..=count).for_each(|n| lua.push_value(n));
    let depth = || block.with(|open| Ok(open.depth())).unwrap_or(0);
    let before = depth();
    block.busy.set(true);
    block.forget_fault();
    let done = lua.protected_call(count, results);
    block.busy.set(false);
    if done {
        return results;
    }
    if depth() > before {
        // What is left of values that were not finished would be in the way to what comes next.
        let _ = block.with(|open| {
            open.leave_to(before);
            Ok(())
        });
    }
    let raised = block.raised.take();
    let text = lua.string(-1).unwrap_or_default();
    if raised.is_some() {
        block.fault.set(Some((text.len(), hash(text))));
    }
    let ends = |(length, own): (usize, u64)| text.len().checked_sub(length).is_some_and(|start| hash(&text[start..]) == own);
    block.failed.set(block.fault.get().is_some_and(ends));
    match raised {
        Some(argument) if !whole => {
            let fault = Fault::new(String::from_utf8_lossy(text).into_owned());
            // SAFETY: nothing droppable is alive but the fault, which is moved.
            unsafe { raise(lua, if argument > 0 { fault.at(argument) } else { fault }) }
        }
        // SAFETY: nothing droppable is alive.
        _ => unsafe { lua.raise_top() },
    }
}

pub(super) fn hash(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text);
    hasher.finish()
}

pub(super) fn bytes_as_number(bytes: u64) -> f64 {
    count_to_f64(usize::try_from(bytes).unwrap_or(usize::MAX))
}
