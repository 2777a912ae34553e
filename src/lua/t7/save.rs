//! Saving: Lua values to an open file.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::{Block, CONTAINER, Engine, FILE, Frame, KEY, OBJECTS, ORDER, Open, TableFrame, VALUES, values};
use super::{ascend, call_outside, descend, expect_tables, guard, guarded, keep_pace, lay_out, message, path, step};
use crate::convert::Scalar;
use crate::element::DType;
use crate::error::Error;
use crate::lua::args::Call;
use crate::lua::entry;
use crate::lua::fault::Fault;
use crate::lua::state::{CDATA, State, lua_State};
use crate::lua::steps::changed;
use crate::lua::userdata;
use crate::t7::{Writer, tag};

/// Objects inside each other, written without references, before it is taken for a circle.
const DEEPEST: usize = 200_000;

/// `core.t7save(file, object)`: for the Lua side.
pub unsafe extern "C-unwind" fn save(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { guard(state, inner, 1, true) }
}

/// `file:writeObject(object)`: for `write` of a class.
pub unsafe extern "C-unwind" fn write_object(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { guard(state, inner, 1, false) }
}

unsafe extern "C-unwind" fn inner(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let lua = call.state();
    // SAFETY: nothing droppable is alive, here and below: what is kept on the Rust side is in the file's block.
    let block = unsafe { entry::run(call, guarded) };
    let prepare = |open: &mut Open| {
        open.writer()?;
        lay_out(call)?;
        Ok(open.frames.len())
    };
    // SAFETY: see above.
    let base = unsafe { step(call, block, prepare) };
    lua.push_value(2);
    loop {
        // SAFETY: see above.
        unsafe { write(call, block) };
        // SAFETY: see above.
        if !unsafe { advance(call, block, base) } {
            lua.push_nil();
            return 1;
        }
        // SAFETY: see above.
        unsafe { keep_pace(call, block) };
    }
}

/// Writes nil, a boolean, a number or a string; false if the value at a stack index is something else.
fn write_leaf(lua: State, writer: &mut Writer, index: c_int) -> Result<bool, Error> {
    match lua.kind(index) {
        ffi::LUA_TNIL => writer.nil_object()?,
        ffi::LUA_TBOOLEAN => writer.boolean_object(lua.boolean(index))?,
        ffi::LUA_TNUMBER => writer.number_object(lua.raw_number(index))?,
        ffi::LUA_TSTRING => writer.string_object(lua.string(index).unwrap_or_default())?,
        _ => return Ok(false),
    }
    Ok(true)
}

/// Writes the value on the top, and pops it; of a table the beginning, the rest is its frame's business.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive.
unsafe fn write(call: Call, block: &Block) {
    let lua = call.state();
    loop {
        let leaf = |open: &mut Open| {
            let is_leaf = write_leaf(lua, open.writer()?, -1);
            match is_leaf {
                Ok(is_leaf) => Ok(is_leaf),
                Err(error) => Err(at_path(call, open, error)),
            }
        };
        // SAFETY: as the caller says, here and below.
        if unsafe { step(call, block, leaf) } {
            return lua.set_top(ORDER);
        }
        let kind = lua.kind(-1);
        let storage = userdata::payload(lua, -1).map(|(_, dtype)| dtype);
        // SAFETY: see above.
        let own_ways = unsafe { step(call, block, |open| Ok(open.own_ways)) };
        if let Some(dtype) = storage.filter(|dtype| own_ways & (1 << dtype.number()) == 0) {
            // SAFETY: see above.
            return unsafe { write_storage(call, block, dtype) };
        }
        let asks = match kind {
            ffi::LUA_TTABLE => lua.has_metatable(-1),
            ffi::LUA_TUSERDATA | CDATA => true,
            _ => false,
        };
        // SAFETY: see above.
        match if asks { unsafe { ask(call, block) } } else { Asked::Nothing } {
            Asked::Done => return lua.set_top(ORDER),
            // What is left of it is on the top.
            Asked::Rest => {}
            // SAFETY: see above.
            Asked::Nothing if kind == ffi::LUA_TTABLE => return unsafe { begin_table(call, block) },
            Asked::Nothing => {
                // SAFETY: see above.
                unsafe { step(call, block, |open| refuse::<()>(call, open, &format!("<{}>", call.name_of(-1)))) };
            }
        }
    }
}

/// Goes to the next value that is to be written, and pushes it; false if all are.
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn advance(call: Call, block: &Block, base: usize) -> bool {
    let lua = call.state();
    loop {
        // SAFETY: as the caller says, here and below.
        let (depth, frame) = unsafe { step(call, block, |open| Ok((open.frames.len(), open.frames.last().copied()))) };
        let Some(Frame::Table(frame)) = frame.filter(|_| depth > base) else { return false };
        // SAFETY: see above.
        unsafe { expect_tables(call, block, frame.ordered) };
        if frame.has_key {
            lua.push_value(KEY);
            lua.raw_get_top(CONTAINER);
            // SAFETY: see above.
            unsafe { step(call, block, |open| turn(open, |frame| frame.has_key = false)) };
            return true;
        }
        // SAFETY: see above.
        if frame.ordered && unsafe { push_listed(call, block, frame) } {
            return true;
        }
        if !frame.ordered {
            lua.push_value(KEY);
            // SAFETY: see above.
            match unsafe { write_leaves(call, block) } {
                Pairs::Rest => return true,
                Pairs::Paused => {
                    // SAFETY: see above.
                    unsafe { keep_pace(call, block) };
                    continue;
                }
                Pairs::Done => {}
            }
        }
        // SAFETY: see above.
        let is_referenced = unsafe {
            step(call, block, |open| {
                open.frames.truncate(depth - 1);
                Ok(open.referenced)
            })
        };
        if !is_referenced {
            lua.push_value(CONTAINER);
            lua.push_nil();
            // SAFETY: see above.
            unsafe { lua.raw_set_top(OBJECTS) };
        }
        ascend(lua, depth - 1);
    }
}

/// Changes the frame in hand.
fn turn(open: &mut Open, change: impl FnOnce(&mut TableFrame)) -> Result<(), Fault> {
    if let Some(Frame::Table(frame)) = open.frames.last_mut() {
        change(frame);
    }
    Ok(())
}

/// How far [`write_leaves`] came.
#[derive(Clone, Copy)]
enum Pairs {
    /// All are written.
    Done,
    /// The key or the value on the top is left to others, and its key is in the slot.
    Rest,
    /// It is time to look up: the last key is in the slot.
    Paused,
}

/// Writes the pairs of the table in hand after the key on the top, as long as key and value are leaves.
///
/// # Safety
/// May raise: nothing droppable is alive. `CONTAINER` is a table.
unsafe fn write_leaves(call: Call, block: &Block) -> Pairs {
    /// What is on the top now.
    #[derive(Clone, Copy)]
    enum Top {
        Written,
        WrittenAndDue,
        Key,
        Value,
    }
    let lua = call.state();
    loop {
        // SAFETY: as the caller says, here and below; `CONTAINER` is a table, and no Lua code runs meanwhile.
        let found = unsafe { lua.next_if_unchanged(CONTAINER) };
        let pair = |open: &mut Open| {
            let is_due = open.position() >= open.report_at;
            let (Some(Frame::Table(frame)), Engine::Writing(writer)) = (open.frames.last_mut(), &mut open.engine) else {
                return Err(Fault::no_memory());
            };
            // What was counted at the beginning, or less, or more.
            if found != (frame.left > 0) {
                return refuse(call, open, "a table that changes meanwhile,");
            }
            if !found {
                return Ok(Top::Written);
            }
            frame.left -= 1;
            let leaves = write_leaf(lua, writer, -2).and_then(|key| Ok((key, key && write_leaf(lua, writer, -1)?)));
            match leaves {
                Ok((false, _)) => {
                    frame.has_key = true;
                    Ok(Top::Key)
                }
                Ok((true, false)) => Ok(Top::Value),
                Ok((true, true)) => Ok(if is_due { Top::WrittenAndDue } else { Top::Written }),
                Err(error) => {
                    lua.push_value(-2);
                    lua.replace(KEY);
                    Err(at_path(call, open, error))
                }
            }
        };
        // SAFETY: see above.
        match unsafe { step(call, block, pair) } {
            Top::Written if !found => return Pairs::Done,
            Top::Written => lua.set_top(lua.top() - 1),
            Top::WrittenAndDue => {
                lua.set_top(lua.top() - 1);
                lua.replace(KEY);
                return Pairs::Paused;
            }
            Top::Key => {
                lua.set_top(lua.top() - 1);
                lua.push_value(-1);
                lua.replace(KEY);
                return Pairs::Rest;
            }
            Top::Value => {
                lua.push_value(-2);
                lua.replace(KEY);
                lua.remove(-2);
                return Pairs::Rest;
            }
        }
    }
}

/// The next pair of the table in hand by its list: writes the key and pushes the value, or pushes a key that is no leaf. False if
/// there is none.
///
/// # Safety
/// May raise: nothing droppable is alive. `CONTAINER` and `ORDER` are tables.
unsafe fn push_listed(call: Call, block: &Block, frame: TableFrame) -> bool {
    let lua = call.state();
    if frame.left == 0 {
        return false;
    }
    lua.raw_get(ORDER, frame.seen.saturating_add(1));
    lua.replace(KEY);
    lua.push_value(KEY);
    lua.raw_get_top(CONTAINER);
    let pair = |open: &mut Open| {
        if lua.kind(-1) == ffi::LUA_TNIL {
            return refuse(call, open, "a table that changes meanwhile,");
        }
        let is_leaf = write_leaf(lua, open.writer()?, KEY);
        let has_key = !is_leaf.map_err(|error| at_path(call, open, error))?;
        turn(open, |frame| {
            frame.left -= 1;
            frame.seen = frame.seen.saturating_add(1);
            frame.has_key = has_key;
        })?;
        Ok(has_key)
    };
    // SAFETY: as the caller says.
    if unsafe { step(call, block, pair) } {
        // A key that is a value of its own: its value comes when it is written.
        lua.set_top(ORDER);
        lua.push_value(KEY);
    }
    true
}

/// What cannot be saved, with the way to it.
fn refuse<R>(call: Call, open: &Open, what: &str) -> Result<R, Fault> {
    let path = path(call, open);
    let place = if path.is_empty() { String::new() } else { format!(" at {path}") };
    Err(Fault::new(format!("cannot save {what}{place}")))
}

/// What goes wrong with the value in hand: those of files say enough.
fn at_path(call: Call, open: &Open, error: Error) -> Fault {
    match error {
        error @ Error::StringTooLong { .. } => {
            refuse::<()>(call, open, &error.to_string()).err().unwrap_or_else(Fault::no_memory)
        }
        error => error.into(),
    }
}

/// The index that the identity on the top has, or gets, in [`OBJECTS`]; pops it. Whether it had one.
///
/// # Safety
/// May raise: nothing droppable is alive. [`lay_out`] has been called.
unsafe fn index_of(call: Call, block: &Block) -> (c_int, bool) {
    let lua = call.state();
    // SAFETY: as the caller says, here and below.
    let is_referenced = unsafe { step(call, block, |open| Ok(open.referenced)) };
    lua.push_value(-1);
    lua.raw_get_top(OBJECTS);
    let found = lua.kind(-1) == ffi::LUA_TNUMBER;
    let index = crate::convert::Number::convert::<i32>(if found { lua.raw_number(-1) } else { 0.0 });
    lua.set_top(lua.top() - 1);
    let found = found && lua.light(-1).is_none_or(|identity| is_storage_at(lua, index, identity.addr()));
    if found && is_referenced {
        lua.set_top(lua.top() - 1);
        return (index, true);
    }
    let new = |open: &mut Open| {
        open.last_index = open.last_index.checked_add(1).ok_or_else(|| Fault::new("more than 2^31-1 objects in a file"))?;
        Ok(open.last_index)
    };
    // SAFETY: see above.
    let index = unsafe { step(call, block, new) };
    lua.push_number(f64::from(index));
    // SAFETY: see above.
    unsafe { lua.raw_set_top(OBJECTS) };
    (index, false)
}

/// Whether the storage that was written as number `index` is the one of this identity: it may have been freed, and another one made
/// where it was.
fn is_storage_at(lua: State, index: c_int, identity: usize) -> bool {
    lua.raw_get(OBJECTS, index);
    let storage = userdata::payload(lua, -1).and_then(|(payload, _)| userdata::storage(payload));
    let is_same = storage.is_some_and(|storage| storage.address() == identity & !GUISE);
    lua.set_top(lua.top() - 1);
    is_same
}

/// The low bits of a storage's identity, which are 0 in addresses of storages: as what it stands in the file. One storage may be there
/// as itself and, in records, as a storage of CUDA.
const GUISE: usize = 7;

/// Begins the table on the top: tag, index, number of pairs; adds its frame. Pops it.
///
/// # Safety
/// May raise: nothing droppable is alive.
unsafe fn begin_table(call: Call, block: &Block) {
    let lua = call.state();
    let table = lua.top();
    lua.push_value(table);
    lua.raw_get_top(OBJECTS);
    let is_inside_itself = lua.kind(-1) != ffi::LUA_TNIL;
    lua.set_top(table);
    let check = |open: &mut Open| {
        if lua.kind(table) != ffi::LUA_TTABLE {
            return refuse(call, open, "what was replaced, by debug.setlocal,");
        }
        let is_circle = !open.referenced && (is_inside_itself || open.frames.len() > DEEPEST);
        if is_circle { refuse(call, open, "a table that contains itself, without references,") } else { Ok(()) }
    };
    // SAFETY: as the caller says, here and below.
    unsafe { step(call, block, check) };
    lua.push_value(table);
    // SAFETY: see above.
    let (index, is_known) = unsafe { index_of(call, block) };
    let mut count: usize = 0;
    let mut is_ordered = false;
    if !is_known {
        lua.push_nil();
        while lua.next(table) {
            lua.set_top(lua.top() - 1);
            count += 1;
        }
        is_ordered = push_order(lua, table, count);
    }
    let begin = |open: &mut Open| {
        let writer = open.writer()?;
        writer.int(tag::TABLE)?;
        writer.int(index)?;
        if !is_known {
            let pairs = i32::try_from(count).map_err(|_| Fault::new(format!("cannot save a table of {count} pairs")))?;
            writer.int(pairs)?;
        }
        let depth = open.frames.len();
        open.chain = 0;
        if count > 0 {
            let frame =
                TableFrame { left: count, seen: 0, integer: None, has_key: false, ordered: is_ordered, has_list: is_ordered };
            open.push_frame(Frame::Table(frame))?;
        }
        Ok((depth, open.referenced))
    };
    // SAFETY: see above.
    let (depth, is_referenced) = unsafe { step(call, block, begin) };
    if count > 0 {
        // SAFETY: see above.
        unsafe { descend(lua, depth) };
        lua.push_value(table);
        lua.replace(CONTAINER);
        if is_ordered {
            lua.push_value(table + 1);
            lua.replace(ORDER);
        }
    } else if !is_referenced {
        lua.push_value(table);
        lua.push_nil();
        // SAFETY: see above.
        unsafe { lua.raw_set_top(OBJECTS) };
    }
    lua.set_top(ORDER);
}

/// Pushes the list of the keys of a table in the order in which they were loaded, if it still has these `count` keys and no others.
fn push_order(lua: State, table: c_int, count: usize) -> bool {
    lua.raw_get(VALUES, values::ORDERS);
    if lua.kind(-1) != ffi::LUA_TTABLE {
        lua.set_top(table);
        return false;
    }
    lua.push_value(table);
    lua.raw_get_top(-2);
    lua.remove(-2);
    if lua.kind(-1) != ffi::LUA_TTABLE || lua.length(-1) != count {
        lua.set_top(table);
        return false;
    }
    let list = lua.top();
    for place in (1..).take(count) {
        lua.raw_get(list, place);
        if lua.kind(-1) == ffi::LUA_TNIL {
            lua.set_top(table);
            return false;
        }
        lua.raw_get_top(table);
        let is_there = lua.kind(-1) != ffi::LUA_TNIL;
        lua.set_top(list);
        if !is_there {
            lua.set_top(table);
            return false;
        }
    }
    true
}

/// Writes the storage on the top, and pops it.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive.
unsafe fn write_storage(call: Call, block: &Block, dtype: DType) {
    let lua = call.state();
    // SAFETY: as the caller says, here and below.
    unsafe { step(call, block, |open| push_identity(call, open, -1, 0)) };
    // SAFETY: see above.
    let (index, is_known) = unsafe { index_of(call, block) };
    let storage = lua.top();
    // For `is_storage_at`.
    lua.push_value(storage);
    // SAFETY: see above.
    unsafe { lua.raw_set(OBJECTS, index) };
    let begin = |open: &mut Open| {
        let size = userdata::payload(lua, storage).and_then(|(payload, _)| userdata::storage(payload)).map(|own| own.size());
        let Some(size) = size else { return refuse(call, open, "a storage that was freed,") };
        let writer = open.writer()?;
        writer.int(tag::OBJECT)?;
        writer.int(index)?;
        if !is_known {
            writer.string(b"V 1")?;
            writer.string(dtype.class_name().as_bytes())?;
            writer.long(i64::try_from(size).unwrap_or(i64::MAX))?;
        }
        open.chain = 0;
        Ok(size)
    };
    // SAFETY: see above.
    let size = unsafe { step(call, block, begin) };
    if !is_known {
        // SAFETY: see above.
        unsafe { write_elements(call, block, storage, size) };
    }
    lua.set_top(ORDER);
}

/// Pushes what stands for the value at a stack index: of a storage its address, as a light userdata, with the guise in its low bits;
/// otherwise the value.
fn push_identity(call: Call, open: &Open, index: c_int, guise: usize) -> Result<(), Fault> {
    let lua = call.state();
    match userdata::payload(lua, index).map(|(payload, _)| userdata::storage(payload)) {
        Some(Some(storage)) => lua.push_light(std::ptr::without_provenance_mut(storage.address() | guise & GUISE)),
        Some(None) => return refuse(call, open, "a storage that was freed,"),
        None => lua.push_value(index),
    }
    Ok(())
}

/// Writes all elements of the storage at a stack index, a piece after the other.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive.
pub(super) unsafe fn write_elements(call: Call, block: &Block, storage: c_int, size: usize) {
    /// Bytes of a piece.
    const PIECE: usize = 16 << 20;
    let lua = call.state();
    let mut done = 0;
    while done < size {
        let write = |open: &mut Open| {
            // Looked up each time: between two pieces Lua code may run.
            let found = userdata::payload(lua, storage).and_then(|(payload, _)| userdata::storage(payload));
            let found = found.filter(|found| found.size() == size).ok_or_else(changed)?;
            let width = found.dtype().width();
            let now = (PIECE / width).min(size - done);
            let source = found.data().wrapping_add(done * width);
            // SAFETY: they are inside the storage, whose memory is alive.
            unsafe { open.writer()?.elements(found.dtype(), source, now) }?;
            Ok(now)
        };
        // SAFETY: as the caller says.
        done += unsafe { step(call, block, write) };
        if done < size {
            // SAFETY: as the caller says.
            unsafe { keep_pace(call, block) };
        }
    }
    // SAFETY: as the caller says.
    unsafe { step(call, block, |open| Ok(open.writer()?.end_of_elements()?)) };
}

/// What the Lua side does with a value.
enum Asked {
    /// It knows nothing of it.
    Nothing,
    /// It has written it.
    Done,
    /// It has written its beginning; the rest, a value, is on the top in its place.
    Rest,
}

/// Asks the Lua side to write the value on the top.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive.
unsafe fn ask(call: Call, block: &Block) -> Asked {
    let lua = call.state();
    let value = lua.top();
    lua.raw_get(VALUES, values::CLASSES);
    lua.push_value(value);
    lua.push_value(FILE);
    // SAFETY: as the caller says, here and below.
    unsafe { call_outside(call, block, 2, 3) };
    // Whether it is written; whether something is left, or what is wrong; what is left.
    match (lua.kind(-3), lua.kind(-2)) {
        (ffi::LUA_TBOOLEAN, ffi::LUA_TBOOLEAN) if lua.boolean(-2) => {
            lua.replace(value);
            lua.set_top(value);
            let further = |open: &mut Open| {
                open.chain += 1;
                let is_circle = !open.referenced && open.chain as usize > DEEPEST;
                if is_circle { refuse(call, open, "an object that contains itself, without references,") } else { Ok(()) }
            };
            // SAFETY: see above.
            unsafe { step(call, block, further) };
            Asked::Rest
        }
        (ffi::LUA_TBOOLEAN, _) if lua.boolean(-3) => Asked::Done,
        (_, ffi::LUA_TSTRING) => {
            let refusal = |open: &mut Open| {
                let why = message(lua.string(-2).unwrap_or_default());
                refuse::<()>(call, open, &why)
            };
            // SAFETY: see above.
            unsafe { step(call, block, refusal) };
            Asked::Done
        }
        _ => {
            lua.set_top(value);
            Asked::Nothing
        }
    }
}

/// `core.t7index(file, object, guise)`: the index of an object, and whether it was written before; it is from now on. For a storage, as
/// what it is written: 0 or nothing as itself. For the Lua side.
pub unsafe extern "C-unwind" fn index(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { guard(state, index_inner, 2, false) }
}

unsafe extern "C-unwind" fn index_inner(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let lua = call.state();
    // SAFETY: nothing droppable is alive, here and below.
    let block = unsafe { entry::run(call, guarded) };
    let prepare = |open: &mut Open| {
        open.writer()?;
        let guise = lua.number(3).and_then(|guise| call.count_of(Scalar::Float(guise))).unwrap_or(0);
        lay_out(call)?;
        push_identity(call, open, 2, guise)
    };
    // SAFETY: see above.
    unsafe { step(call, block, prepare) };
    // SAFETY: see above.
    let (index, is_known) = unsafe { index_of(call, block) };
    if userdata::payload(lua, 2).is_some() {
        // For `is_storage_at`.
        lua.push_value(2);
        // SAFETY: see above.
        unsafe { lua.raw_set(OBJECTS, index) };
    }
    lua.push_number(f64::from(index));
    lua.push_boolean(is_known);
    2
}
