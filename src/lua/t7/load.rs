//! Loading: Lua values from an open file.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::{Block, CONTAINER, Engine, FILE, Frame, KEY, OBJECTS, ORDER, Open, TableFrame, VALUES, values};
use super::{ascend, call_outside, descend, expect_tables, guard, guarded, keep_pace, lay_out, message, path, step};
use crate::convert::Number;
use crate::element::DType;
use crate::error::Error;
use crate::lua::args::Call;
use crate::lua::entry::{self, attempt};
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::{State, lua_State};
use crate::lua::steps::changed;
use crate::lua::userdata;
use crate::storage::Storage;
use crate::t7::{Head, Kind, Problem};

/// [`Head`], with the strings where they are in the reader's buffer: it keeps them until it is called again.
#[derive(Clone, Copy)]
enum Next {
    Nil,
    Boolean(bool),
    Number(f64),
    String(*const [u8]),
    Known(c_int),
    Table {
        index: c_int,
        count: usize,
        room: c_int,
        is_array: bool,
    },
    Storage {
        index: c_int,
        dtype: DType,
        count: usize,
    },
    Object {
        index: c_int,
        class: *const [u8],
        version: Option<*const [u8]>,
    },
    Function {
        tag: c_int,
        index: Option<c_int>,
        code: *const [u8],
    },
    /// Pairs of the table in hand, but not its last.
    Pairs(*const [(c_int, f64)]),
}

/// `core.t7load(file)`: the next object, for the Lua side.
pub unsafe extern "C-unwind" fn load(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { guard(state, inner, 1, true) }
}

/// `file:readObject()`: the next object, for `read` of a class.
pub unsafe extern "C-unwind" fn read_object(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { guard(state, inner, 1, false) }
}

unsafe extern "C-unwind" fn inner(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive, here and below: what is kept on the Rust side is in the file's block.
    let block = unsafe { entry::run(call, guarded) };
    let prepare = |open: &mut Open| {
        open.reader()?;
        lay_out(call)?;
        Ok(open.frames.len())
    };
    // SAFETY: see above.
    let base = unsafe { step(call, block, prepare) };
    loop {
        // SAFETY: see above.
        let is_whole = unsafe { begin(call, block) };
        // SAFETY: see above.
        if is_whole && unsafe { deliver(call, block, base) } {
            return 1;
        }
        // SAFETY: see above.
        unsafe { keep_pace(call, block) };
    }
}

/// Reads the beginning of a value. True if that is all of it: the value is on the top.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive.
unsafe fn begin(call: Call, block: &Block) -> bool {
    let lua = call.state();
    // SAFETY: as the caller says, here and below.
    match unsafe { step(call, block, |open| next(call, open)) } {
        Next::Nil => lua.push_nil(),
        Next::Boolean(value) => lua.push_boolean(value),
        Next::Number(number) => lua.push_number(number),
        Next::Pairs(pairs) => {
            // SAFETY: see above.
            unsafe { expect_tables(call, block, false) };
            // SAFETY: they are in the open file, which stays, for it is busy.
            for &(key, value) in unsafe { &*pairs } {
                lua.push_number(value);
                // SAFETY: see above; `CONTAINER` is the table in hand.
                unsafe { lua.raw_set(CONTAINER, key) };
            }
            return false;
        }
        // SAFETY: see above; the bytes stay, for the file is busy.
        Next::String(bytes) => unsafe { lua.push_bytes(bytes) },
        Next::Known(index) => {
            lua.raw_get(OBJECTS, index);
            if lua.kind(-1) == ffi::LUA_TNIL {
                // SAFETY: see above.
                unsafe { step(call, block, |open| wrong_object::<()>(call, open, Problem::Unfinished { index })) };
            }
        }
        Next::Table { index, count, room, is_array } => {
            let (array, others) = if is_array { (room, 0) } else { (0, room) };
            // SAFETY: see above.
            unsafe { lua.push_table_for(array, others) };
            // SAFETY: see above.
            unsafe { remember(lua, index) };
            if count > 0 {
                let table =
                    |ordered| TableFrame { left: count, seen: 0, integer: None, has_key: false, ordered, has_list: false };
                // SAFETY: see above.
                unsafe { enter(call, block, |ordered| Frame::Table(table(ordered))) };
                lua.replace(CONTAINER);
                return false;
            }
        }
        Next::Storage { index, dtype, count } => {
            // SAFETY: see above.
            let remember = |lua| unsafe { remember(lua, index) };
            // SAFETY: see above.
            unsafe { push_storage(call, block, dtype, count, remember) };
        }
        // SAFETY: see above.
        Next::Object { index, class, version } => return unsafe { meet(call, block, Ok(class), version, Some(index)) },
        // SAFETY: see above.
        Next::Function { tag, index, code } => return unsafe { meet(call, block, Err(tag), Some(code), index) },
    }
    true
}

/// The beginning of the next value.
fn next(call: Call, open: &mut Open) -> Result<Next, Fault> {
    if let Some(pairs) = next_pairs(open)? {
        return Ok(Next::Pairs(pairs));
    }
    let (room, own_ways) = (open.room, open.own_ways);
    let reader = open.reader()?;
    let read = || {
        Ok(match reader.head()? {
            Head::Nil => Next::Nil,
            Head::Boolean(value) => Next::Boolean(value),
            Head::Number(number) => Next::Number(number),
            Head::String(bytes) => Next::String(bytes),
            Head::Known(index) => Next::Known(index),
            Head::Function { tag, index, code } => Next::Function { tag, index, code },
            Head::Table { index, count } => {
                // An honest file has room for all its pairs: what others announce is made when it comes.
                let room = c_int::try_from(count.min(room)).unwrap_or(c_int::MAX);
                Next::Table { index, count, room, is_array: count > 0 && reader.is_number_next()? }
            }
            Head::Object { index, class, version } => match Kind::of(class) {
                Kind::Storage(dtype) if own_ways & (1 << dtype.number()) == 0 => {
                    Next::Storage { index, dtype, count: reader.size(dtype)? }
                }
                _ => Next::Object { index, class, version: version.map(std::ptr::from_ref) },
            },
        })
    };
    match { read }() {
        Ok(next) => {
            if let Next::Table { room, .. } = next {
                open.room -= usize::try_from(room).unwrap_or(0);
            }
            Ok(next)
        }
        Err(error) => Err(located(call, open, error)),
    }
}

/// Pairs of numbers, which most large tables have, many at once.
fn next_pairs(open: &mut Open) -> Result<Option<*const [(c_int, f64)]>, Fault> {
    let (Some(Frame::Table(frame)), Engine::Reading(reader)) = (open.frames.last_mut(), &mut open.engine) else {
        return Ok(None);
    };
    // Of an ordered table only while it is a sequence.
    if frame.has_key || frame.left < 2 || frame.has_list {
        return Ok(None);
    }
    let room = open.pairs.len().min(frame.left - 1);
    let next = frame.ordered.then(|| frame.seen.saturating_add(1));
    let count = reader.number_pairs(&mut open.pairs[..room], next)?;
    if count == 0 {
        return Ok(None);
    }
    frame.left -= count;
    frame.seen = frame.seen.saturating_add(c_int::try_from(count).unwrap_or(0));
    Ok(Some(std::ptr::from_ref(&open.pairs[..count])))
}

/// Adds a frame, which is told whether it is to remember the order of keys; the slots are its own then.
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn enter(call: Call, block: &Block, frame: impl FnOnce(bool) -> Frame) {
    let add = |open: &mut Open| {
        let depth = open.frames.len();
        let ordered = match open.frames.last() {
            Some(Frame::Finish) => true,
            Some(Frame::Table(table)) => table.ordered,
            Some(Frame::Outside) | None => open.keep_order,
        };
        open.push_frame(frame(ordered))?;
        Ok(depth)
    };
    // SAFETY: as the caller says.
    let depth = unsafe { step(call, block, add) };
    // SAFETY: as the caller says.
    unsafe { descend(call.state(), depth) };
}

/// The value on the top is object number `index` from now on.
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn remember(lua: State, index: c_int) {
    lua.push_value(-1);
    // SAFETY: `OBJECTS` is a table; as the caller says.
    unsafe { lua.raw_set(OBJECTS, index) };
}

/// An error at the place where the reader is.
fn wrong<R>(call: Call, open: &mut Open, problem: Problem) -> Result<R, Fault> {
    let error = open.reader()?.malformed(problem);
    Err(located(call, open, error))
}

/// An error at the object that was met last.
fn wrong_object<R>(call: Call, open: &mut Open, problem: Problem) -> Result<R, Fault> {
    let error = open.reader()?.malformed_object(problem);
    Err(located(call, open, error))
}

/// An error of the engine, with the way to the value in hand.
pub(super) fn located(call: Call, open: &Open, error: Error) -> Fault {
    match error {
        Error::Malformed(malformed) => {
            let path = path(call, open);
            let path = if path.is_empty() { path } else { format!(" ({path})") };
            Fault::new(format!("at byte {}{path}: {malformed}", malformed.offset))
        }
        error => error.into(),
    }
}

/// Pushes a storage and reads its elements. `and` comes before they are read.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive. The reader has expected `count` elements.
pub(super) unsafe fn push_storage(call: Call, block: &Block, dtype: DType, count: usize, and: impl FnOnce(State)) {
    let lua = call.state();
    // SAFETY: as the caller says, here and below.
    unsafe { pressure::relieve(lua) };
    // SAFETY: see above.
    unsafe { userdata::push_dead(lua, dtype) };
    let place = lua.top();
    let make = |_: Call| {
        block.with(|open| Ok(open.reader()?.mapped(dtype, count)?)).and_then(|part| match part {
            Some(part) => Ok((part, true)),
            None => Ok((Storage::zeroed(dtype, count)?, false)),
        })
    };
    // SAFETY: see above.
    let made = unsafe { attempt(call.with_frame(place), &make) };
    let adopt = |_: &mut Open| {
        let (storage, is_read) = made?;
        // Looked up again: what was freed for the second try had finalizers.
        let payload =
            userdata::payload(lua, place).filter(|(payload, class)| *class == dtype && userdata::storage(payload).is_none());
        userdata::adopt(payload.ok_or_else(changed)?.0, storage);
        Ok(is_read)
    };
    // SAFETY: what was made is moved.
    let is_read = unsafe { step(call, block, adopt) };
    and(lua);
    if !is_read {
        // SAFETY: see above.
        unsafe { fill(call, block, place, dtype, count) };
    }
}

/// Reads `count` elements into the storage of class `dtype` and that size at a stack index, a piece after the other.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive. The reader has expected `count` elements.
pub(super) unsafe fn fill(call: Call, block: &Block, place: c_int, dtype: DType, count: usize) {
    /// Bytes of a piece.
    const PIECE: usize = 16 << 20;
    let (lua, width) = (call.state(), dtype.width());
    let mut done = 0;
    while done < count {
        let read = |open: &mut Open| {
            // Looked up each time: between two pieces Lua code may run.
            let payload = userdata::payload(lua, place).filter(|(_, class)| *class == dtype).ok_or_else(changed)?.0;
            let storage = userdata::storage(payload).filter(|storage| storage.size() == count).ok_or_else(changed)?;
            if storage.is_read_only() {
                return Err(Error::ReadOnly { kind: storage.kind() }.into());
            }
            let now = (PIECE / width).min(count - done);
            let target = storage.data().wrapping_add(done * width);
            // SAFETY: they are inside the storage, whose memory is alive and can be written.
            match unsafe { open.reader()?.elements(dtype, target, now) } {
                Ok(()) => Ok(now),
                Err(error) => Err(located(call, open, error)),
            }
        };
        // SAFETY: as the caller says.
        done += unsafe { step(call, block, read) };
        if done < count {
            // SAFETY: as the caller says.
            unsafe { keep_pace(call, block) };
        }
    }
    // SAFETY: as the caller says.
    unsafe { step(call, block, |open| open.reader()?.end_of_elements(count).map_err(Fault::from)) };
}

/// Asks the Lua side about an object of a class (its name, version and index) or a function (its tag, code and index). True if the
/// object is whole: it is on the top.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive. The bytes are the reader's.
unsafe fn meet(
    call: Call,
    block: &Block,
    class: Result<*const [u8], c_int>,
    text: Option<*const [u8]>,
    index: Option<c_int>,
) -> bool {
    let lua = call.state();
    lua.raw_get(VALUES, values::CLASSES);
    match class {
        // SAFETY: as the caller says, here and below; the bytes stay, for the file is busy.
        Ok(class) => unsafe { lua.push_bytes(class) },
        Err(tag) => lua.push_number(f64::from(tag)),
    }
    match text {
        // SAFETY: see above.
        Some(text) => unsafe { lua.push_bytes(text) },
        None => lua.push_nil(),
    }
    match index {
        Some(index) => lua.push_number(f64::from(index)),
        None => lua.push_nil(),
    }
    lua.push_value(FILE);
    lua.push_value(OBJECTS);
    // SAFETY: see above.
    unsafe { call_outside(call, block, 5, 3) };
    // The object, what to give the next value to, and that value's name; or nil and what is wrong.
    if lua.kind(-3) == ffi::LUA_TNIL {
        lua.set_top(lua.top() - 1);
        // SAFETY: see above.
        unsafe { refuse(call, block) };
        let nothing = |open: &mut Open| wrong::<()>(call, open, Problem::Refused { why: "its class makes no object".to_owned() });
        // SAFETY: see above.
        unsafe { step(call, block, nothing) };
    }
    if lua.kind(-2) != ffi::LUA_TFUNCTION {
        lua.set_top(lua.top() - 2);
        return true;
    }
    // SAFETY: see above.
    unsafe { enter(call, block, |_| Frame::Finish) };
    lua.replace(ORDER);
    lua.replace(KEY);
    lua.replace(CONTAINER);
    false
}

/// What the Lua side finds wrong with an object is a string on the top.
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn refuse(call: Call, block: &Block) {
    let lua = call.state();
    if lua.kind(-1) == ffi::LUA_TSTRING {
        let refusal = |open: &mut Open| {
            let why = message(lua.string(-1).unwrap_or_default());
            wrong::<()>(call, open, Problem::Refused { why })
        };
        // SAFETY: as the caller says.
        unsafe { step(call, block, refusal) };
    }
}

/// Gives the value on the top to the frame that waits for it, and what becomes whole by that to the next, and so on. True if what
/// was asked for is whole: it is on the top.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive.
unsafe fn deliver(call: Call, block: &Block, base: usize) -> bool {
    let lua = call.state();
    loop {
        // SAFETY: as the caller says, here and below.
        let (depth, frame) = unsafe { step(call, block, |open| Ok((open.frames.len(), open.frames.last().copied()))) };
        match frame.filter(|_| depth > base) {
            None | Some(Frame::Outside) => return true,
            Some(Frame::Table(frame)) if !frame.has_key => {
                // SAFETY: see above.
                unsafe { take_key(call, block, frame) };
                return false;
            }
            Some(Frame::Table(frame)) => {
                // SAFETY: see above.
                if !unsafe { take_value(call, block, frame) } {
                    return false;
                }
            }
            Some(Frame::Finish) => {
                lua.push_value(KEY);
                lua.push_value(CONTAINER);
                lua.push_value(-3);
                // SAFETY: see above.
                unsafe { call_outside(call, block, 2, 1) };
                // SAFETY: see above.
                unsafe { refuse(call, block) };
            }
        }
        lua.set_top(ORDER);
        lua.push_value(CONTAINER);
        ascend(lua, depth - 1);
        // SAFETY: see above.
        unsafe { step(call, block, |open| open.leave_frames(depth - 1)) };
    }
}

/// The value on the top becomes the key of the table in hand.
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn take_key(call: Call, block: &Block, frame: TableFrame) {
    let lua = call.state();
    let take = |open: &mut Open| {
        let number = match lua.kind(-1) {
            ffi::LUA_TNIL => return wrong_object(call, open, Problem::Key { what: "nil" }),
            ffi::LUA_TNUMBER => lua.raw_number(-1),
            _ => 0.0,
        };
        if number.is_nan() {
            return wrong_object(call, open, Problem::Key { what: "NaN" });
        }
        let whole = number.convert::<i32>();
        let integer = (whole > 0 && f64::from(whole) == number).then_some(whole);
        if let Some(Frame::Table(frame)) = open.frames.last_mut() {
            (frame.has_key, frame.integer) = (true, integer);
            frame.seen = frame.seen.saturating_add(1);
            frame.has_list |= frame.ordered && integer != Some(frame.seen);
        }
        Ok(integer)
    };
    // SAFETY: as the caller says, here and below.
    let integer = unsafe { step(call, block, take) };
    lua.replace(KEY);
    let place = frame.seen.saturating_add(1);
    let has_list = lua.kind(ORDER) == ffi::LUA_TTABLE;
    // The keys of a sequence need no list.
    if !frame.ordered || !has_list && integer == Some(place) {
        return;
    }
    if !has_list {
        // SAFETY: see above.
        unsafe { lua.push_table(0) };
        lua.replace(ORDER);
        for key in 1..place {
            lua.push_number(f64::from(key));
            // SAFETY: see above; `ORDER` is a table.
            unsafe { lua.raw_set(ORDER, key) };
        }
    }
    if !matches!(lua.kind(KEY), ffi::LUA_TSTRING | ffi::LUA_TNUMBER | ffi::LUA_TBOOLEAN) {
        lua.raw_get(VALUES, values::WEAK);
        if lua.kind(-1) == ffi::LUA_TTABLE {
            // SAFETY: the top and `ORDER` are tables.
            unsafe { lua.set_metatable(ORDER) };
        } else {
            lua.set_top(ORDER);
        }
    }
    lua.push_value(KEY);
    // SAFETY: see above; `ORDER` is a table.
    unsafe { lua.raw_set(ORDER, place) };
}

/// Whether the list has each key of a table once, and no others. Both are in their slots.
fn is_order(lua: State) -> bool {
    let mut left = lua.length(ORDER);
    lua.push_nil();
    while lua.next(CONTAINER) {
        lua.set_top(lua.top() - 1);
        let Some(fewer) = left.checked_sub(1) else {
            lua.set_top(ORDER);
            return false;
        };
        left = fewer;
    }
    left == 0
}

/// The value on the top goes to the table in hand. True if it was the last.
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn take_value(call: Call, block: &Block, frame: TableFrame) -> bool {
    let lua = call.state();
    // SAFETY: as the caller says, here and below.
    unsafe { expect_tables(call, block, false) };
    match frame.integer {
        // SAFETY: see above; `CONTAINER` is a table.
        Some(key) => unsafe { lua.raw_set(CONTAINER, key) },
        None => {
            lua.push_value(KEY);
            lua.push_value(-2);
            // SAFETY: see above; the key is neither nil nor NaN.
            unsafe { lua.raw_set_top(CONTAINER) };
            lua.set_top(ORDER);
        }
    }
    let take = |open: &mut Open| {
        let Some(Frame::Table(frame)) = open.frames.last_mut() else { return Ok(true) };
        (frame.has_key, frame.integer) = (false, None);
        frame.left -= 1;
        Ok(frame.left == 0)
    };
    // SAFETY: see above.
    if !unsafe { step(call, block, take) } {
        return false;
    }
    // A file may have a key twice, or with nil.
    if lua.kind(ORDER) == ffi::LUA_TTABLE && is_order(lua) {
        lua.raw_get(VALUES, values::ORDERS);
        if lua.kind(-1) == ffi::LUA_TTABLE {
            lua.push_value(CONTAINER);
            lua.push_value(ORDER);
            // SAFETY: see above.
            unsafe { lua.raw_set_top(-3) };
        }
    }
    true
}
