//! An open `.t7` file as the block of a userdata.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

use super::request::Request;
use super::writing::{Level, Writing};
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
    /// Null before the file is opened and after it is closed.
    open: Cell<*mut Open>,
    /// The registry slot of the table of [`values`].
    pub(super) values: Cell<c_int>,
    /// The options of the call that opens the file.
    pub(super) request: Cell<Request>,
    /// Whether one of our functions is using the file. Finalizers may run at any time, and get an error then.
    pub(super) busy: Cell<bool>,
    /// The number of the argument that the last fault is about.
    pub(super) argument: Cell<Option<c_int>>,
    /// Whether the message of the last fault contains the file's name already.
    pub(super) names_file: Cell<bool>,
}

// The blocks of contexts and storages have other sizes, so they are never mistaken for a file.
const _: () = assert!(size_of::<Block>() > size_of::<Context>() && size_of::<Block>() > size_of::<Payload>());

/// The address of this byte marks a block as a file. Its value is not used.
static MAGIC: u8 = b'7';

/// The slots of the table with the Lua values of a file.
pub(super) mod values {
    use std::ffi::c_int;

    /// While reading, the objects by index. While writing, the indices by object.
    pub const OBJECTS: c_int = 1;
    /// The values of the tables and objects around the current one: see `slots.rs`.
    pub const STACK: c_int = 2;
    /// The Lua function that loads or saves objects of classes.
    pub const CLASSES: c_int = 3;
    /// The progress function, or nil.
    pub const PROGRESS: c_int = 4;
    /// The lists of keys, by table.
    pub const ORDERS: c_int = 5;
    /// The metatable for lists with keys that are objects. It makes the list weak: otherwise a key could keep its own table
    /// alive.
    pub const WEAK: c_int = 6;
    /// The name of the file, or the string or storage to read from.
    pub const SOURCE: c_int = 7;
    /// The object to save.
    pub const OBJECT: c_int = 8;
    /// The error value of the last fault.
    pub const FAULT: c_int = 9;
    /// The number of slots.
    pub const COUNT: c_int = 9;
}

/// The reader or writer of an open file.
#[allow(clippy::large_enum_variant, reason = "each open file is in a box of its own")]
pub(super) enum Engine {
    Reading(Reader),
    Writing(Writing),
}

/// An open file.
pub(super) struct Open {
    pub(super) engine: Engine,
    /// The position at which the progress function is called next.
    pub(super) report_at: u64,
    /// The number of bytes that will be read or written, or 0 if it is not known.
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

    /// The number of tables and objects that are not complete.
    pub(super) fn depth(&self) -> usize {
        match &self.engine {
            Engine::Reading(reader) => reader.levels().len(),
            Engine::Writing(writing) => writing.levels.len(),
        }
    }

    /// Leaves all tables and objects except the outermost `depth`.
    pub(super) fn leave_to(&mut self, depth: usize) {
        match &mut self.engine {
            Engine::Reading(reader) => reader.leave_to(depth),
            Engine::Writing(writing) => writing.levels.truncate(depth),
        }
    }

    /// Enters a callback, which may read or write values itself. Answers the depth to return to afterwards.
    pub(super) fn enter_callback(&mut self) -> Result<usize, Fault> {
        let depth = self.depth();
        match &mut self.engine {
            Engine::Reading(reader) => reader.enter_callback()?,
            Engine::Writing(writing) => writing.enter(Level::Callback)?,
        }
        Ok(depth)
    }
}

/// The block of the file at a stack index or upvalue. It is valid while its userdata is there.
pub(super) fn block_at<'a>(call: Call, index: c_int) -> Result<&'a Block, Fault> {
    let block = call.state().block(index, size_of::<Block>()).ok_or_else(|| call.mismatch(1, ".t7 file"))?;
    // SAFETY: [layout] the block has the size of a `Block`. [live] its userdata is on the stack or an upvalue.
    let block: &Block = unsafe { block.cast().as_ref() };
    if block.magic == &raw const MAGIC { Ok(block) } else { Err(call.mismatch(1, ".t7 file")) }
}

/// The block of the file at a stack index, if none of our functions is using it.
pub(super) fn idle_block<'a>(call: Call, index: c_int) -> Result<&'a Block, Fault> {
    let block = block_at(call, index)?;
    // If the file is busy, a finalizer or a hook has called this.
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
    // SAFETY: [layout] the block has the size of a `Block`. [live] its userdata is on the top.
    unsafe { block.write(closed) };
    if let Some(metatable) = Context::push_file_metatable(lua.state()) {
        lua.set_metatable(-2, metatable);
    }
    // SAFETY: [layout] a `Block` was just written there. [live] its userdata is on the top.
    unsafe { &*block }
}

impl Block {
    /// Calls `act` with the open file. `act` runs no Lua code.
    pub(super) fn with<R>(&self, act: impl FnOnce(&mut Open) -> Result<R, Fault>) -> Result<R, Fault> {
        // SAFETY: [owned] the pointer is null, or `open` made it and `close` has not taken it. No Lua code runs in `act`, so
        // nothing else borrows the file.
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

    /// Closes the file. If it was being written and is not finished, it is removed. Does nothing while one of our functions is
    /// using it, because the caller of that function closes it.
    pub(super) fn close(&self, lua: State) {
        if self.busy.get() {
            return;
        }
        let open = self.open.replace(ptr::null_mut());
        if !open.is_null() {
            // SAFETY: [owned] `open` made the pointer from a box, and it was just taken out of the block.
            drop(unsafe { Box::from_raw(open) });
        }
        let values = self.values.replace(mlua_sys::LUA_NOREF);
        if values != mlua_sys::LUA_NOREF {
            lua.unreference(values);
        }
    }
}

pub(super) fn bytes_as_count(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
