//! An open file as the block of a userdata.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

use super::request::Request;
use super::writing::{Level, Writing};
use crate::convert::count_to_f64;
use crate::lua::args::Call;
use crate::lua::context::Context;
use crate::lua::fault::Fault;
use crate::lua::state::{Raising, State};
use crate::lua::userdata::Payload;
use crate::t7::Reader;

/// The block of a file's userdata.
#[repr(C)]
pub(super) struct Block {
    /// The address of [`MAGIC`].
    magic: *const u8,
    /// Null before the file is opened, and when it is closed.
    open: Cell<*mut Open>,
    /// The registry slot of the table of [`values`].
    pub(super) values: Cell<c_int>,
    /// What the function that opens the file was asked for.
    pub(super) request: Cell<Request>,
    /// A function of ours is at work on it. Finalizers, which may run at any time, find the file in use.
    pub(super) busy: Cell<bool>,
    /// The argument that the last fault was about.
    pub(super) argument: Cell<Option<c_int>>,
    /// The message of the last fault names the file itself.
    pub(super) names_file: Cell<bool>,
}

// The blocks of contexts and of storages have other sizes, so they are never taken for a file.
const _: () = assert!(size_of::<Block>() > size_of::<Context>() && size_of::<Block>() > size_of::<Payload>());

/// Only its address matters.
static MAGIC: u8 = b'7';

/// Slots in the table of values of a file.
pub(super) mod values {
    use std::ffi::c_int;

    /// Reading: objects by index. Writing: indices by object.
    pub const OBJECTS: c_int = 1;
    /// The values that belong to the tables and objects around the one in hand: see `slots.rs`.
    pub const STACK: c_int = 2;
    /// The Lua function that knows classes.
    pub const CLASSES: c_int = 3;
    /// The progress function, or nothing.
    pub const PROGRESS: c_int = 4;
    /// Lists of keys by table.
    pub const ORDERS: c_int = 5;
    /// The metatable of lists with keys that are objects: it makes them weak, or a list would keep its own table.
    pub const WEAK: c_int = 6;
    /// The name of the file, or the string or storage that is read.
    pub const SOURCE: c_int = 7;
    /// The object that is saved.
    pub const OBJECT: c_int = 8;
    /// The error that the last fault was raised as.
    pub const FAULT: c_int = 9;
    /// How many slots there are.
    pub const COUNT: c_int = 9;
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
    /// Where in the file the progress function is called next.
    pub(super) report_at: u64,
    /// All bytes that are going to be read or written, as far as that is known.
    pub(super) total: u64,
    /// The registry slot of the table of [`values`].
    pub(super) values: c_int,
}

impl Open {
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

    /// A class reads or writes what it needs by itself from now on. Answers the depth to leave to afterwards.
    pub(super) fn step_aside(&mut self) -> Result<usize, Fault> {
        let depth = self.depth();
        match &mut self.engine {
            Engine::Reading(reader) => reader.read_apart()?,
            Engine::Writing(writing) => writing.enter(Level::Apart)?,
        }
        Ok(depth)
    }
}

/// The block of the file at a stack index or upvalue. It stays while its userdata is there.
pub(super) fn block_at<'a>(call: Call, index: c_int) -> Result<&'a Block, Fault> {
    let block = call.state().block(index, size_of::<Block>()).ok_or_else(|| call.mismatch(1, ".t7 file"))?;
    // SAFETY: [layout] the block has the size of ours, and Lua aligns it. [live] it stays while its userdata is on the stack or an upvalue.
    let block: &Block = unsafe { block.cast().as_ref() };
    if block.magic == &raw const MAGIC { Ok(block) } else { Err(call.mismatch(1, ".t7 file")) }
}

/// The block of the file at a stack index, if no function of ours is at work on it.
pub(super) fn idle_block<'a>(call: Call, index: c_int) -> Result<&'a Block, Fault> {
    let block = block_at(call, index)?;
    // A finalizer or a hook has come in between.
    if block.busy.get() { Err(Fault::new("the file is in use")) } else { Ok(block) }
}

/// Pushes the userdata of a file that is not open.
pub(super) fn push_block<'a>(lua: Raising, request: Request) -> &'a Block {
    let block = lua.push_userdata(size_of::<Block>()).cast::<Block>();
    let closed = Block {
        magic: &raw const MAGIC,
        open: Cell::new(ptr::null_mut()),
        values: Cell::new(mlua_sys::LUA_NOREF),
        request: Cell::new(request),
        busy: Cell::new(false),
        argument: Cell::new(None),
        names_file: Cell::new(false),
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
    /// Acts on the open file. No Lua code runs meanwhile.
    pub(super) fn with<R>(&self, act: impl FnOnce(&mut Open) -> Result<R, Fault>) -> Result<R, Fault> {
        // SAFETY: [owned] null, or made by `open` and not yet taken by `close`. [live] the borrow ends with `act`, which runs no Lua
        // code and does not come back here.
        match unsafe { self.open.get().as_mut() } {
            Some(open) => act(open),
            None => Err(Fault::new("the file is closed")),
        }
    }

    /// Opens a file that is not open.
    pub(super) fn open(&self, engine: Engine, total: u64) {
        let open = Open { engine, report_at: 0, total, values: self.values.get() };
        self.open.set(Box::into_raw(Box::new(open)));
    }

    /// Gives up a file that is not finished, and all that belongs to it. Does nothing while a function of ours is at work on it:
    /// whoever called that function closes the file.
    pub(super) fn close(&self, lua: State) {
        if self.busy.get() {
            return;
        }
        let open = self.open.replace(ptr::null_mut());
        if !open.is_null() {
            // SAFETY: [owned] `open` made it from a box, and the block has just given it up.
            drop(unsafe { Box::from_raw(open) });
        }
        let values = self.values.replace(mlua_sys::LUA_NOREF);
        if values != mlua_sys::LUA_NOREF {
            lua.unreference(values);
        }
    }
}

pub(super) fn bytes_as_number(bytes: u64) -> f64 {
    count_to_f64(usize::try_from(bytes).unwrap_or(usize::MAX))
}
