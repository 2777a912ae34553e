//! Loading: Lua values from an open file.

mod storages;
mod tables;

use std::ffi::c_int;

use mlua_sys as ffi;

use super::block::{Block, Open, guard, guarded, keep_pace, step, values};
use super::frames::{
    CONTAINER, FILE, Frame, KEY, OBJECTS, ORDER, TableFrame, VALUES, ascend, call_outside, descend, expect_tables, lay_out,
    message, path,
};
use crate::element::DType;
use crate::error::Error;
use crate::lua::args::Call;
use crate::lua::entry::{self, functions};
use crate::lua::fault::Fault;
use crate::lua::state::Raising;
use crate::t7::{Head, Kind, Problem};
pub(super) use storages::{fill, push_storage};
use tables::{next_pairs, next_place, take_key, take_value};

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

functions! {
    /// `core.t7load(file)`: the next object, for the Lua side.
    pub raising fn load(lua) {
        guard(lua, inner, 1, true)
    }

    /// `file:readObject()`: the next object, for `read` of a class.
    pub raising fn read_object(lua) {
        guard(lua, inner, 1, false)
    }

    raising fn inner(lua) {
        let call = Call::new(lua);
        let block = entry::run(lua, call, guarded);
        let prepare = |open: &mut Open| {
            open.reader()?;
            lay_out(call)?;
            Ok(open.frames.len())
        };
        let base = step(lua, block, prepare);
        loop {
            let is_whole = begin(lua, call, block);
            if is_whole && deliver(lua, call, block, base) {
                return 1;
            }
            keep_pace(lua, call, block);
        }
    }
}

/// Reads the beginning of a value. True if that is all of it: the value is on the top.
fn begin(lua: Raising, call: Call, block: &Block) -> bool {
    match step(lua, block, |open| next(call, open)) {
        Next::Nil => lua.push_nil(),
        Next::Boolean(value) => lua.push_boolean(value),
        Next::Number(number) => lua.push_number(number),
        Next::Pairs(pairs) => {
            let container = expect_tables(lua, block);
            // SAFETY: [live] the pairs are in the open file, which stays because it is busy.
            for &(key, value) in unsafe { &*pairs } {
                lua.push_number(value);
                lua.raw_set(container, key);
            }
            return false;
        }
        // SAFETY: [live] the bytes are in the reader, which stays because the file is busy.
        Next::String(bytes) => unsafe { lua.push_bytes(bytes) },
        Next::Known(index) => {
            lua.raw_get(OBJECTS, index);
            if lua.kind(-1) == ffi::LUA_TNIL {
                step(lua, block, |open| wrong_object::<()>(call, open, Problem::Unfinished { index }));
            }
        }
        Next::Table { index, count, room, is_array } => {
            let (array, others) = if is_array { (room, 0) } else { (0, room) };
            lua.push_table_for(array, others);
            remember(lua, index);
            if count > 0 {
                let table =
                    |ordered| TableFrame { left: count, seen: 0, integer: None, has_key: false, ordered, has_list: false };
                enter(lua, block, |ordered| Frame::Table(table(ordered)));
                lua.replace(CONTAINER);
                return false;
            }
        }
        Next::Storage { index, dtype, count } => {
            let remember = |lua| remember(lua, index);
            push_storage(lua, call, block, dtype, count, remember);
        }
        Next::Object { index, class, version } => return meet(lua, call, block, Ok(class), version, Some(index)),
        Next::Function { tag, index, code } => return meet(lua, call, block, Err(tag), Some(code), index),
    }
    true
}

/// The beginning of the next value.
fn next(call: Call, open: &mut Open) -> Result<Next, Fault> {
    if let Some(pairs) = next_pairs(open)? {
        return Ok(Next::Pairs(pairs));
    }
    match next_place(open) {
        Ok(None) => {}
        Ok(Some(number)) => return Ok(Next::Number(number)),
        Err(error) => return Err(located(call, open, error)),
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

/// Adds a frame, which is told whether it is to remember the order of keys; the slots are its own then.
fn enter(lua: Raising, block: &Block, frame: impl FnOnce(bool) -> Frame) {
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
    let depth = step(lua, block, add);
    descend(lua, depth);
}

/// The value on the top is object number `index` from now on.
fn remember(lua: Raising, index: c_int) {
    lua.push_value(-1);
    lua.raw_set(OBJECTS, index);
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

/// Asks the Lua side about an object of a class (its name, version and index) or a function (its tag, code and index). True if the
/// object is whole: it is on the top.
fn meet(
    lua: Raising,
    call: Call,
    block: &Block,
    class: Result<*const [u8], c_int>,
    text: Option<*const [u8]>,
    index: Option<c_int>,
) -> bool {
    lua.raw_get(VALUES, values::CLASSES);
    match class {
        // SAFETY: [live] the bytes are in the reader, which stays because the file is busy.
        Ok(class) => unsafe { lua.push_bytes(class) },
        Err(tag) => lua.push_number(f64::from(tag)),
    }
    match text {
        // SAFETY: [live] the bytes are in the reader, which stays because the file is busy.
        Some(text) => unsafe { lua.push_bytes(text) },
        None => lua.push_nil(),
    }
    match index {
        Some(index) => lua.push_number(f64::from(index)),
        None => lua.push_nil(),
    }
    lua.push_value(FILE);
    lua.push_value(OBJECTS.index());
    call_outside(lua, block, 5, 3);
    // The object, what to give the next value to, and that value's name; or nil and what is wrong.
    if lua.kind(-3) == ffi::LUA_TNIL {
        lua.set_top(lua.top() - 1);
        refuse(lua, call, block);
        let nothing = |open: &mut Open| wrong::<()>(call, open, Problem::Refused { why: "its class makes no object".to_owned() });
        step(lua, block, nothing);
    }
    if lua.kind(-2) != ffi::LUA_TFUNCTION {
        lua.set_top(lua.top() - 2);
        return true;
    }
    enter(lua, block, |_| Frame::Finish);
    lua.replace(ORDER);
    lua.replace(KEY);
    lua.replace(CONTAINER);
    false
}

/// What the Lua side finds wrong with an object is a string on the top.
fn refuse(lua: Raising, call: Call, block: &Block) {
    if lua.kind(-1) == ffi::LUA_TSTRING {
        let refusal = |open: &mut Open| {
            let why = message(lua.string(-1).unwrap_or_default());
            wrong::<()>(call, open, Problem::Refused { why })
        };
        step(lua, block, refusal);
    }
}

/// Gives the value on the top to the frame that waits for it, and what becomes whole by that to the next, and so on. True if what
/// was asked for is whole: it is on the top.
fn deliver(lua: Raising, call: Call, block: &Block, base: usize) -> bool {
    loop {
        let (depth, frame) = step(lua, block, |open| Ok((open.frames.len(), open.frames.last().copied())));
        match frame.filter(|_| depth > base) {
            None | Some(Frame::Outside) => return true,
            Some(Frame::Table(frame)) if !frame.has_key => {
                take_key(lua, call, block, frame);
                return false;
            }
            Some(Frame::Table(frame)) => {
                if !take_value(lua, block, frame) {
                    return false;
                }
            }
            Some(Frame::Finish) => {
                lua.push_value(KEY);
                lua.push_value(CONTAINER);
                lua.push_value(-3);
                call_outside(lua, block, 2, 1);
                refuse(lua, call, block);
            }
        }
        lua.set_top(ORDER);
        lua.push_value(CONTAINER);
        ascend(*lua, depth - 1);
        step(lua, block, |open| open.leave_frames(depth - 1));
    }
}
