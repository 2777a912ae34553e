//! An open `.t7` file: its reader or writer, and its Lua values.

use std::cell::Cell;
use std::ffi::c_int;

use super::request::{Overridden, Request};
use super::writing::{Level, Writing};
use crate::lua::args::Call;
use crate::lua::context::Context;
use crate::lua::fault::Fault;
use crate::lua::file::{self, Kind};
use crate::lua::state::Raising;
use crate::t7::Reader;

pub(super) type Block = file::Block<Open, Notes>;

static KIND: Kind<Open, Notes> = Kind::new(Context::push_file_metatable);

/// What a block has besides the open file.
pub(super) struct Notes {
    /// The options of the call that opens the file.
    pub(super) request: Cell<Request>,
    /// The classes about which Lua was asked whether the program loads or saves their objects itself.
    pub(super) overridden: Cell<Overridden>,
    /// The number of the argument that the last fault is about.
    pub(super) argument: Cell<Option<c_int>>,
    /// Whether the message of the last fault contains the file's name already.
    pub(super) names_file: Cell<bool>,
}

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
    /// The Lua function that answers whether the program loads or saves the objects of a class itself.
    pub const OVERRIDDEN: c_int = 10;
    /// The number of slots.
    pub const COUNT: c_int = 10;
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

/// The block of the file at a stack index or upvalue.
///
/// # Safety
/// `[live]`: the block is used only while its userdata is there.
pub(super) unsafe fn block_at<'call>(call: Call<'call>, index: c_int) -> Result<&'call Block, Fault> {
    // SAFETY: [live] the caller vouches for it.
    unsafe { KIND.find(call.state(), index) }.ok_or_else(|| call.mismatch(1, ".t7 file"))
}

/// The block of the file at a stack index, if none of our functions is using it.
///
/// # Safety
/// `[live]`: as for [`block_at`].
pub(super) unsafe fn idle_block<'call>(call: Call<'call>, index: c_int) -> Result<&'call Block, Fault> {
    // SAFETY: [live] the caller vouches for it.
    let block = unsafe { block_at(call, index) }?;
    // If the file is busy, a finalizer or a hook has called this.
    if block.busy.get() { Err(Fault::new("the file is in use")) } else { Ok(block) }
}

/// Pushes the userdata of a file that is not open.
pub(super) fn push_block<'call>(lua: Raising<'call>, request: Request) -> &'call Block {
    let (request, overridden) = (Cell::new(request), Cell::default());
    KIND.push(lua, Notes { request, overridden, argument: Cell::new(None), names_file: Cell::new(false) })
}

pub(super) fn bytes_as_count(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
