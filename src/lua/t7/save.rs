//! Saving: Lua values to an open file.

mod tables;

use std::ffi::c_int;

use mlua_sys as ffi;

use super::block::{Block, FILE, OBJECTS, Open, VALUES, guard, guarded, step, values};
use super::frames::{ORDER, call_outside, lay_out, message, path};
use super::pace::keep_pace;
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
use tables::{advance, begin_table};

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
        open.writing()?;
        lay_out(call)
    };
    // SAFETY: see above.
    unsafe { step(call, block, prepare) };
    lua.push_value(2);
    loop {
        // SAFETY: see above.
        unsafe { write(call, block) };
        // SAFETY: see above.
        if !unsafe { advance(call, block) } {
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
            let is_leaf = write_leaf(lua, &mut open.writing()?.writer, -1);
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

/// Where the value in hand is: nothing, or ` at ` and the way to it.
fn place(call: Call, open: &Open) -> String {
    let path = path(call, open);
    if path.is_empty() { path } else { format!(" at {path}") }
}

/// What cannot be saved, with the way to it.
fn refuse<R>(call: Call, open: &Open, what: &str) -> Result<R, Fault> {
    Err(Fault::new(format!("cannot save {what}{}", place(call, open))))
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
    let is_referenced = unsafe { step(call, block, |open| Ok(open.writing()?.is_referenced)) };
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
    // SAFETY: see above.
    let index = unsafe { step(call, block, |open| open.writing()?.next_index()) };
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

/// Writes the storage on the top, and pops it.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive.
unsafe fn write_storage(call: Call, block: &Block, dtype: DType) {
    let lua = call.state();
    let identify = |open: &mut Open| {
        if !dtype.is_in_torch7() {
            let (class, place) = (dtype.class_name(), place(call, open));
            return Err(Fault::new(format!("cannot save a {class}{place}: Torch7 has no such class")));
        }
        push_identity(call, open, -1, 0)
    };
    // SAFETY: as the caller says, here and below.
    unsafe { step(call, block, identify) };
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
        let writing = open.writing()?;
        let writer = &mut writing.writer;
        writer.int(tag::OBJECT)?;
        writer.int(index)?;
        if !is_known {
            writer.string(b"V 1")?;
            writer.string(dtype.class_name().as_bytes())?;
            writer.long(i64::try_from(size).unwrap_or(i64::MAX))?;
        }
        writing.chain = 0;
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
            unsafe { open.writing()?.writer.elements(found.dtype(), source, now) }?;
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
    unsafe { step(call, block, |open| Ok(open.writing()?.writer.end_of_elements()?)) };
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
                let writing = open.writing()?;
                writing.chain += 1;
                let is_circle = !writing.is_referenced && writing.chain > DEEPEST;
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
        open.writing()?;
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
