//! An open file as the block of a userdata, and the way into every function that works on one.

use std::cell::Cell;
use std::ffi::c_int;
use std::hash::{DefaultHasher, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::frames::{FILE, Frame, VALUES, call_outside};
use crate::convert::count_to_f64;
use crate::error::Error;
use crate::lua::args::Call;
use crate::lua::context::{Context, UPVALUES};
use crate::lua::entry::{attempt, run};
use crate::lua::fault::{Fault, raise};
use crate::lua::state::{Raising, State, lua_State};
use crate::lua::steps::let_host_interrupt;
use crate::lua::userdata::Payload;
use crate::t7::{Reader, Writer};

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
    /// What belongs to the frames below the current: see [`super::Frame`].
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
pub(super) enum Engine {
    Reading(Reader),
    Writing(Writer),
}

/// An open file.
pub(super) struct Open {
    pub(super) engine: Engine,
    pub(super) frames: Vec<Frame>,
    /// Classes of storages that Lua code has given its own `read` or `write`, a bit each.
    pub(super) own_ways: u32,
    /// Tables keep the order of their keys, even outside of records.
    pub(super) keep_order: bool,
    /// Pairs that tables may still be given room for in advance.
    pub(super) room: usize,
    /// Objects are written once, and after that by their index.
    pub(super) referenced: bool,
    /// The index that was given out last.
    pub(super) last_index: i32,
    /// Where in the file the progress function is called next, and how much later the next time.
    pub(super) report_at: u64,
    /// All bytes that are going to be read or written, as far as that is known.
    pub(super) total: u64,
    /// Registry place of the table of [`values`].
    pub(super) values: c_int,
    /// Pairs of a table that are read at once.
    pub(super) pairs: [(c_int, f64); 64],
    /// Writing unreferenced: objects that were entered one in the other without a table between.
    pub(super) chain: u32,
}

/// All upvalues of such a function.
pub(super) const OWN_UPVALUES: c_int = UPVALUES + 4;

/// The most arguments that a function of ours looks at, the file included.
pub(super) const ARGUMENTS: c_int = 3;

/// Bytes between two looks at the host's hook and the progress function.
pub(super) const PACE: u64 = 16 << 20;

impl Open {
    pub(super) fn new(engine: Engine) -> Self {
        Self {
            engine,
            frames: Vec::new(),
            own_ways: 0,
            keep_order: false,
            room: 0,
            referenced: true,
            last_index: 0,
            report_at: 0,
            total: 0,
            values: mlua_sys::LUA_NOREF,
            pairs: [(0, 0.0); 64],
            chain: 0,
        }
    }

    pub(super) fn reader(&mut self) -> Result<&mut Reader, Fault> {
        match &mut self.engine {
            Engine::Reading(reader) => Ok(reader),
            Engine::Writing(_) => Err(Fault::new("the file is open for writing, not for reading")),
        }
    }

    pub(super) fn writer(&mut self) -> Result<&mut Writer, Fault> {
        match &mut self.engine {
            Engine::Writing(writer) => Ok(writer),
            Engine::Reading(_) => Err(Fault::new("the file is open for reading, not for writing")),
        }
    }

    pub(super) fn position(&self) -> u64 {
        match &self.engine {
            Engine::Reading(reader) => reader.position(),
            Engine::Writing(writer) => writer.position(),
        }
    }

    /// Forgets all frames but the first `depth`.
    pub(super) fn leave_frames(&mut self, depth: usize) -> Result<(), Fault> {
        self.frames.truncate(depth);
        Ok(())
    }

    pub(super) fn push_frame(&mut self, frame: Frame) -> Result<(), Fault> {
        let bytes = size_of::<Frame>();
        self.frames.try_reserve(1).map_err(|_| Error::OutOfMemory { bytes })?;
        self.frames.push(frame);
        Ok(())
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
    // SAFETY: [layout] the block has the size of ours, and Lua aligns it. [live] it stays while its userdata is on the stack or an upvalue.
    let block: &Block = unsafe { block.cast().as_ref() };
    if block.magic == &raw const MAGIC { Ok(block) } else { Err(call.mismatch(1, ".t7 file")) }
}

/// Pushes the userdata of a closed file.
pub(super) fn push_block<'a>(lua: Raising) -> &'a Block {
    let block = lua.push_userdata(size_of::<Block>()).cast::<Block>();
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
    // SAFETY: [layout] the block has the size and alignment.
    unsafe { block.write(closed) };
    if let Some(metatable) = Context::push_file_metatable(lua.state()) {
        lua.set_metatable(-2, metatable);
    }
    // SAFETY: [layout] just written. [live] the block stays while its userdata is on the stack.
    unsafe { &*block }
}

impl Block {
    pub(super) fn forget_fault(&self) {
        self.raised.set(None);
        self.fault.set(None);
    }

    /// Acts on the open file. No Lua code runs meanwhile.
    pub(super) fn with<R>(&self, act: impl FnOnce(&mut Open) -> Result<R, Fault>) -> Result<R, Fault> {
        // SAFETY: [owned] null, or made by `open.rs` and not yet taken by `close`. [live] the borrow ends with `act`, which runs no Lua
        // code and does not come back here.
        match unsafe { self.open.get().as_mut() } {
            Some(open) => act(open),
            None => Err(Fault::new("the file is closed")),
        }
    }
}

/// Runs a step of the engine; raises if it fails.
pub(super) fn step<R: Copy>(lua: Raising, block: &Block, body: impl FnOnce(&mut Open) -> Result<R, Fault>) -> R {
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
    raise(lua, fault)
}

/// Runs `body`, which may run Lua code, while the file is in use; raises as [`step`] does.
pub(super) fn ask_lua<R: Copy>(lua: Raising, call: Call, block: &Block, body: impl Fn(Call) -> Result<R, Fault>) -> R {
    match attempt(lua, call.with_frame(call.state().top()), &body) {
        Ok(value) => value,
        Err(fault) => step(lua, block, |_| Err(fault)),
    }
}

/// Runs `inner`, a function of ours that works on the file at argument 1, so that the file is idle again whatever happens. `whole`: it
/// loads or saves what was asked for as a whole, and its faults get their position from the Lua side.
///
/// `inner` gets the first [`ARGUMENTS`] arguments, and has [`FILE`] and the other upvalues.
pub(super) fn guard(
    lua: Raising,
    inner: unsafe extern "C-unwind" fn(*mut lua_State) -> c_int,
    results: c_int,
    whole: bool,
) -> c_int {
    let call = Call::new(lua);
    // A call has room for 20 values on top of its arguments.
    let count = call.count().min(ARGUMENTS);
    (0..OWN_UPVALUES).for_each(|_| lua.push_nil());
    lua.push_function(inner, OWN_UPVALUES);
    // Making the function may have run finalizers, which may have replaced what is below it. From here on nothing is made.
    let function = lua.top();
    let block = run(lua, call.with_frame(function), idle_block);
    let table = |lua: State, place| {
        lua.push_referenced(block.values.get());
        if let Some(values) = lua.table(-1) {
            lua.raw_get(values, place);
            lua.remove(-2);
        }
    };
    let state = lua.state();
    Context::push_own(state);
    lua.push_value(1);
    lua.push_referenced(block.values.get());
    table(state, values::OBJECTS);
    table(state, values::STACK);
    (1..=OWN_UPVALUES).rev().for_each(|n| lua.set_upvalue(function, n));
    (1..=count).for_each(|n| lua.push_value(n));
    let depth = || block.with(|open| Ok(open.frames.len())).unwrap_or(0);
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
        let _ = block.with(|open| open.leave_frames(before));
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
            raise(lua, if argument > 0 { fault.at(argument) } else { fault })
        }
        _ => lua.raise_top(),
    }
}

pub(super) fn hash(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text);
    hasher.finish()
}

/// Lets the host interrupt and calls the progress function, if it is time. Lua code may do anything to the file meanwhile but use it.
pub(super) fn keep_pace(lua: Raising, call: Call, block: &Block) {
    let due = |open: &mut Open| {
        let position = open.position();
        if position < open.report_at {
            return Ok(None);
        }
        open.report_at = position + if open.total == 0 { PACE } else { PACE.min((open.total / 64).max(1)) };
        Ok(Some((position, open.total)))
    };
    let Some((position, total)) = step(lua, block, due) else { return };
    ask_lua(lua, call, block, let_host_interrupt);
    lua.raw_get(VALUES, values::PROGRESS);
    if lua.kind(-1) != mlua_sys::LUA_TFUNCTION {
        lua.set_top(lua.top() - 1);
        return;
    }
    lua.push_number(bytes_as_number(position.min(total)));
    lua.push_number(bytes_as_number(total));
    call_outside(lua, block, 2, 0);
}

pub(super) fn bytes_as_number(bytes: u64) -> f64 {
    count_to_f64(usize::try_from(bytes).unwrap_or(usize::MAX))
}
