//! Open `.t7` files as Lua values: what `read` and `write` of a class get, and what loads and saves whole objects.
//!
//! Values are built and taken apart without recursion: the way down to the value in hand is an array of frames in Rust, next to
//! one of Lua values. Only `read` and `write` of a class in Lua, which load and save inside, make it go deeper.

mod elements;
mod load;
mod open;
mod save;

use std::cell::Cell;
use std::ffi::c_int;
use std::hash::{DefaultHasher, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::args::Call;
use super::context::{Context, UPVALUES};
use super::fault::{Fault, raise};
use super::methods::Method;
use super::state::{State, lua_State};
use super::steps::let_host_interrupt;
use super::userdata::Payload;
use crate::convert::count_to_f64;
use crate::element::DType;
use crate::error::Error;
use crate::t7::{Reader, Writer};

/// What a file in Lua's hands can do, apart from [`for_each_element_method`].
pub const METHODS: &[Method] = &[
    (c"readObject", load::read_object),
    (c"writeObject", save::write_object),
    (c"readString", elements::read_string),
    (c"writeString", elements::write_string),
    (c"position", position),
    (c"__gc", close),
];

/// What the Lua side calls.
pub const FUNCTIONS: &[Method] = &[
    (c"t7reader", open::reader),
    (c"t7writer", open::writer),
    (c"t7restart", open::restart),
    (c"t7load", load::load),
    (c"t7save", save::save),
    (c"t7finish", open::finish),
    (c"t7storage", open::storage),
    (c"t7atend", open::at_end),
    (c"t7elements", open::elements),
    (c"t7encoding", open::encoding_of),
    (c"t7total", open::total),
    (c"t7failed", failed),
    (c"t7index", save::index),
    (c"t7close", close),
    (c"checktensor", elements::check_tensor),
    (c"gather", elements::gather),
];

/// Calls `register` with what reads and writes elements of a class: `readByte`, `writeByte` ...
pub fn for_each_element_method(dtype: DType, register: impl FnMut(Method)) {
    elements::methods(dtype).into_iter().for_each(register);
}

/// The block of a file's userdata.
#[repr(C)]
struct Block {
    /// The address of [`MAGIC`].
    magic: *const u8,
    /// Null when it is closed.
    open: Cell<*mut Open>,
    /// Registry places of the table of [`values`] and of the string that is read.
    values: Cell<c_int>,
    source: Cell<c_int>,
    /// A function of ours is at work on it: its pointers into the file's buffers stay until it is done, or calls Lua code itself.
    /// Finalizers, which may run at any time, find the file in use.
    busy: Cell<bool>,
    /// A fault of ours is on its way to [`guard`], with the number of the argument that it is about, or 0.
    raised: Cell<Option<c_int>>,
    /// Length and hash of the message of the fault that left a function of ours last: with it the error of a `read` or `write` ends that
    /// has passed the fault on.
    fault: Cell<Option<(usize, u64)>>,
    /// The whole object that was loaded or saved last failed by a fault of ours.
    failed: Cell<bool>,
}

// What our functions carry, and storages, never pass for a file.
const _: () = assert!(size_of::<Block>() > size_of::<Context>() && size_of::<Block>() > size_of::<Payload>());

/// Only its address matters.
static MAGIC: u8 = b'7';

/// Places in the table of values of a file.
mod values {
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
enum Engine {
    Reading(Reader),
    Writing(Writer),
}

/// An open file.
struct Open {
    engine: Engine,
    frames: Vec<Frame>,
    /// Classes of storages that Lua code has given its own `read` or `write`, a bit each.
    own_ways: u32,
    /// Tables keep the order of their keys, even outside of records.
    keep_order: bool,
    /// Pairs that tables may still be given room for in advance.
    room: usize,
    /// Objects are written once, and after that by their index.
    referenced: bool,
    /// The index that was given out last.
    last_index: i32,
    /// Where in the file the progress function is called next, and how much later the next time.
    report_at: u64,
    /// All bytes that are going to be read or written, as far as that is known.
    total: u64,
    /// Registry place of the table of [`values`].
    values: c_int,
    /// Pairs of a table that are read at once.
    pairs: [(c_int, f64); 64],
    /// Writing unreferenced: objects that were entered one in the other without a table between.
    chain: u32,
}

/// A value that is being read or written, and is not whole. With each belong three Lua values, in the slots [`CONTAINER`], [`KEY`] and
/// [`ORDER`] of the function that works on it; those of the frames below are in the array `STACK`, three after the other.
#[derive(Clone, Copy)]
enum Frame {
    /// A table: container, current key unless it is in `integer`, list of keys or nil.
    Table(TableFrame),
    /// Reading: an object (container) waits for a value, to be given to a function (key); the third is the value's name.
    Finish,
    /// A Lua function of a class is at work.
    Outside,
}

/// See [`Frame::Table`].
#[derive(Clone, Copy)]
struct TableFrame {
    /// Pairs that are left.
    left: usize,
    /// Keys so far.
    seen: c_int,
    /// The current key, if it is a small whole number: then it is not in the slot.
    integer: Option<c_int>,
    /// A value comes next, not a key.
    has_key: bool,
    /// Reading: the order of the keys is to be remembered. Writing: it is remembered.
    ordered: bool,
    /// The third slot has the list of the keys; a sequence needs none.
    has_list: bool,
}

/// What the functions that [`guard`] calls have besides our usual upvalues. Stack slots can be replaced by whoever is called
/// (`debug.setlocal`), a function's upvalues cannot: these are what `guard` made them.
const FILE: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 1);
const VALUES: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 2);
const OBJECTS: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 3);
const STACK: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 4);

/// All upvalues of such a function.
const OWN_UPVALUES: c_int = UPVALUES + 4;

/// Stack slots of the functions that load and save; the first two are arguments. After Lua code has run they may hold anything.
const CONTAINER: c_int = 3;
const KEY: c_int = 4;
const ORDER: c_int = 5;

/// The most arguments that a function of ours looks at, the file included.
const ARGUMENTS: c_int = 3;

/// Bytes between two looks at the host's hook and the progress function.
const PACE: u64 = 16 << 20;

impl Open {
    fn new(engine: Engine) -> Self {
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

    fn reader(&mut self) -> Result<&mut Reader, Fault> {
        match &mut self.engine {
            Engine::Reading(reader) => Ok(reader),
            Engine::Writing(_) => Err(Fault::new("the file is open for writing, not for reading")),
        }
    }

    fn writer(&mut self) -> Result<&mut Writer, Fault> {
        match &mut self.engine {
            Engine::Writing(writer) => Ok(writer),
            Engine::Reading(_) => Err(Fault::new("the file is open for reading, not for writing")),
        }
    }

    fn position(&self) -> u64 {
        match &self.engine {
            Engine::Reading(reader) => reader.position(),
            Engine::Writing(writer) => writer.position(),
        }
    }

    /// Forgets all frames but the first `depth`.
    fn leave_frames(&mut self, depth: usize) -> Result<(), Fault> {
        self.frames.truncate(depth);
        Ok(())
    }

    fn push_frame(&mut self, frame: Frame) -> Result<(), Fault> {
        let bytes = size_of::<Frame>();
        self.frames.try_reserve(1).map_err(|_| Error::OutOfMemory { bytes })?;
        self.frames.push(frame);
        Ok(())
    }
}

/// The block of argument 1, if it is a file of ours.
fn block<'a>(call: Call) -> Result<&'a Block, Fault> {
    block_at(call, 1)
}

/// The block of argument 1, if it is a file of ours that no function of ours is at work on.
fn idle_block<'a>(call: Call) -> Result<&'a Block, Fault> {
    let block = block(call)?;
    // A finalizer or a hook has come in between.
    if block.busy.get() { Err(Fault::new("the file is in use")) } else { Ok(block) }
}

/// The block of the file for which [`guard`] has called the running function: as long as that runs.
fn guarded<'a>(call: Call) -> Result<&'a Block, Fault> {
    block_at(call, FILE)
}

fn block_at<'a>(call: Call, index: c_int) -> Result<&'a Block, Fault> {
    let block = call.state().block(index, size_of::<Block>()).ok_or_else(|| call.mismatch(1, ".t7 file"))?;
    // SAFETY: the block has the size of ours, and Lua aligns blocks for it. It stays while its userdata is on the stack, or an upvalue.
    let block: &Block = unsafe { block.cast().as_ref() };
    if block.magic == &raw const MAGIC { Ok(block) } else { Err(call.mismatch(1, ".t7 file")) }
}

/// Pushes the userdata of a closed file.
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn push_block<'a>(lua: State) -> &'a Block {
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
    fn forget_fault(&self) {
        self.raised.set(None);
        self.fault.set(None);
    }

    /// Acts on the open file. No Lua code runs meanwhile.
    fn with<R>(&self, act: impl FnOnce(&mut Open) -> Result<R, Fault>) -> Result<R, Fault> {
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
unsafe fn step<R: Copy>(call: Call, block: &Block, body: impl FnOnce(&mut Open) -> Result<R, Fault>) -> R {
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
unsafe fn ask_lua<R: Copy>(call: Call, block: &Block, body: impl Fn(Call) -> Result<R, Fault>) -> R {
    // SAFETY: as the caller says.
    match unsafe { super::entry::attempt(call.with_frame(call.state().top()), &body) } {
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
unsafe fn guard(
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
    let block = unsafe { super::entry::run(call.with_frame(function), idle_block) };
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
            // SAFETY: nothing droppable is alive but the fault, which is moved.
            unsafe { raise(lua, if argument > 0 { fault.at(argument) } else { fault }) }
        }
        // SAFETY: nothing droppable is alive.
        _ => unsafe { lua.raise_top() },
    }
}

fn hash(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text);
    hasher.finish()
}

/// Calls a function of the Lua side, or of a class, that may use the file itself. The current frame's values are kept below
/// meanwhile, so that the way to what it reads or writes is known.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive, no storage is borrowed.
unsafe fn call_outside(call: Call, block: &Block, arguments: c_int, results: c_int) {
    // SAFETY: as the caller says.
    let depth = unsafe { step(call, block, |open| open.push_frame(Frame::Outside).map(|()| open.frames.len() - 1)) };
    let lua = call.state();
    for (slot, place) in slots(depth) {
        lua.push_value(slot);
        // SAFETY: `STACK` is a table; nothing droppable is alive.
        unsafe { lua.raw_set(STACK, place) };
    }
    block.busy.set(false);
    // SAFETY: as the caller says.
    unsafe { lua.call(arguments, results) };
    block.busy.set(true);
    // What failed in there, and was caught there, may have left frames.
    // SAFETY: as the caller says.
    unsafe { step(call, block, |open| open.leave_frames(depth)) };
    block.forget_fault();
}

/// Fills the slots of a function that loads or saves: see [`CONTAINER`] and those after it.
fn lay_out(call: Call) -> Result<(), Fault> {
    let lua = call.state();
    if [VALUES, OBJECTS, STACK].into_iter().any(|table| lua.kind(table) != mlua_sys::LUA_TTABLE) {
        return Err(Fault::new("the file is closed"));
    }
    lua.set_top(CONTAINER - 1);
    while lua.top() < ORDER {
        lua.push_nil();
    }
    Ok(())
}

/// The table in hand is a table still, and so is the list of its keys if it is needed.
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn expect_tables(call: Call, block: &Block, with_list: bool) {
    let is_table = |slot| call.state().kind(slot) == mlua_sys::LUA_TTABLE;
    if !is_table(CONTAINER) || with_list && !is_table(ORDER) {
        // SAFETY: as the caller says.
        unsafe { step::<()>(call, block, |_| Err(Fault::new("the table in hand was replaced, by debug.setlocal"))) }
    }
}

/// Puts the current frame's values below those of a new one, which is number `depth` from 0. The new one's slots are empty then.
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn descend(lua: State, depth: usize) {
    for (slot, place) in slots(depth) {
        lua.push_value(slot);
        // SAFETY: `STACK` is a table; nothing droppable is alive.
        unsafe { lua.raw_set(STACK, place) };
        lua.push_nil();
        lua.replace(slot);
    }
}

/// Takes the values of the frame below number `depth` back.
fn ascend(lua: State, depth: usize) {
    for (slot, place) in slots(depth) {
        lua.raw_get(STACK, place);
        lua.replace(slot);
    }
}

/// The slots, and where in `STACK` their values are while frame number `depth` is the current one.
fn slots(depth: usize) -> impl Iterator<Item = (c_int, c_int)> {
    // More than 2^29 frames are not reached: they take memory.
    let first = c_int::try_from(depth).unwrap_or(0).saturating_mul(3).saturating_add(1);
    (CONTAINER..=ORDER).zip(first..)
}

/// The way from the whole to the value in hand, for messages: `layers.3.weight`. The slots are those of the function that works on the
/// last frame, unless that is [`Frame::Outside`].
fn path(call: Call, open: &Open) -> String {
    /// Bytes of a path in a message.
    const MOST: usize = 400;
    let lua = call.state();
    let top = lua.top();
    lua.push_referenced(open.values);
    if lua.kind(-1) == mlua_sys::LUA_TTABLE {
        lua.raw_get(-1, values::STACK);
    }
    let mut path = String::new();
    let stack = lua.top();
    let is_writing = matches!(open.engine, Engine::Writing(_));
    for (number, frame) in open.frames.iter().enumerate().filter(|_| lua.kind(stack) == mlua_sys::LUA_TTABLE) {
        let slot = match frame {
            Frame::Table(table) if table.has_key || is_writing => KEY,
            Frame::Finish => ORDER,
            Frame::Table(_) | Frame::Outside => continue,
        };
        if number + 1 == open.frames.len() {
            lua.push_value(slot);
        } else {
            let place = slots(number + 1).find(|(own, _)| *own == slot).map_or(0, |(_, place)| place);
            lua.raw_get(stack, place);
        }
        let name = name(lua);
        lua.set_top(stack);
        if name.is_empty() {
            continue;
        }
        if path.len() + name.len() > MOST {
            path.push_str(" ...");
            break;
        }
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(&name);
    }
    lua.set_top(top);
    path
}

/// What the Lua side says is wrong. Nobody reads more of it.
fn message(text: &[u8]) -> String {
    const SHOWN: usize = 1024;
    String::from_utf8_lossy(&text[..text.len().min(SHOWN)]).into_owned()
}

/// The value on the top as a part of a path.
fn name(lua: State) -> String {
    const SHOWN: usize = 80;
    match lua.kind(-1) {
        mlua_sys::LUA_TSTRING => {
            let bytes = lua.string(-1).unwrap_or_default();
            String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]).replace(char::is_control, "?")
        }
        mlua_sys::LUA_TNUMBER => super::args::show(crate::convert::Scalar::Float(lua.raw_number(-1))),
        mlua_sys::LUA_TBOOLEAN => lua.boolean(-1).to_string(),
        mlua_sys::LUA_TNIL => String::new(),
        _ => format!("[{}]", lua.kind_name(-1)),
    }
}

/// Lets the host interrupt and calls the progress function, if it is time. Lua code may do anything to the file meanwhile but use it.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive, no storage is borrowed.
unsafe fn keep_pace(call: Call, block: &Block) {
    let due = |open: &mut Open| {
        let position = open.position();
        if position < open.report_at {
            return Ok(None);
        }
        open.report_at = position + if open.total == 0 { PACE } else { PACE.min((open.total / 64).max(1)) };
        Ok(Some((position, open.total)))
    };
    // SAFETY: as the caller says.
    let Some((position, total)) = (unsafe { step(call, block, due) }) else { return };
    // SAFETY: as the caller says.
    unsafe { ask_lua(call, block, let_host_interrupt) };
    let lua = call.state();
    lua.raw_get(VALUES, values::PROGRESS);
    if lua.kind(-1) != mlua_sys::LUA_TFUNCTION {
        lua.set_top(lua.top() - 1);
        return;
    }
    lua.push_number(bytes_as_number(position.min(total)));
    lua.push_number(bytes_as_number(total));
    // SAFETY: as the caller says.
    unsafe { call_outside(call, block, 2, 0) };
}

fn bytes_as_number(bytes: u64) -> f64 {
    count_to_f64(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// `file:position()`: bytes read or written so far.
unsafe extern "C-unwind" fn position(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    let position = unsafe { super::entry::run(call, |call| idle_block(call)?.with(|open| Ok(open.position()))) };
    call.state().push_number(bytes_as_number(position));
    1
}

/// `core.t7failed(file)`: whether the object that was loaded or saved last failed by a fault of the file's, whose message has no position.
unsafe extern "C-unwind" fn failed(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    let failed = unsafe { super::entry::run(call, |call| Ok(block(call)?.failed.get())) };
    call.state().push_boolean(failed);
    1
}

/// `core.t7close(file)`, `__gc`: an unfinished file is given up, and nothing of it is left.
unsafe extern "C-unwind" fn close(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let body = |call: Call| {
        // What is no file of ours is not our business: `__gc` is called by Lua, and whoever else comes by it.
        let Ok(block) = block(call) else { return Ok(()) };
        // A function of ours is at work on it, and who has called that one is going to close it.
        if block.busy.get() {
            return Ok(());
        }
        let open = block.open.replace(ptr::null_mut());
        if !open.is_null() {
            // SAFETY: `open.rs` made it from a box, and the block has just given it up; nobody borrows it: see `Block::with`.
            drop(unsafe { Box::from_raw(open) });
        }
        for place in [&block.values, &block.source] {
            let place = place.replace(mlua_sys::LUA_NOREF);
            if place != mlua_sys::LUA_NOREF {
                call.state().unreference(place);
            }
        }
        Ok(())
    };
    // SAFETY: nothing droppable is alive.
    unsafe { super::entry::run(call, body) };
    0
}
