//! Files that are open for loading, and their Lua values.

use std::cell::Cell;
use std::ffi::c_int;

use super::request::Request;
use crate::formats::Opened;
use crate::lua::args::Call;
use crate::lua::context::Context;
use crate::lua::fault::Fault;
use crate::lua::file::{self, Kind};
use crate::lua::state::{Raising, State};

/// The result of `torch.safetensors.open` is such a block, and each call of a `load` uses one.
pub(super) type Block = file::Block<Open, Notes>;

static KIND: Kind<Open, Notes> = Kind::new(Context::push_formats_metatable);

/// What a block has besides the open files.
pub(super) struct Notes {
    pub(super) request: Cell<Request>,
    /// Whether the last error is ours, and not that of a hook or a callback.
    pub(super) is_fault: Cell<bool>,
}

/// The slots of the table with the Lua values of open files.
pub(super) mod values {
    use std::ffi::c_int;

    /// The path, a string.
    pub const PATH: c_int = 1;
    /// An array with the names of the tensors, in the order of their bytes.
    pub const NAMES: c_int = 2;
    /// The table of the metadata.
    pub const METADATA: c_int = 3;
    /// The number of slots.
    pub const COUNT: c_int = 3;
}

/// Open files, and how far they are loaded.
pub(super) struct Open {
    pub(super) opened: Opened,
    /// The numbers of the tensors that are loaded, from 0.
    pub(super) wanted: Vec<usize>,
    /// The number of bytes that are loaded.
    pub(super) position: u64,
    /// The number of bytes that will be loaded.
    pub(super) total: u64,
    /// The position at which the progress function is called next.
    pub(super) report_at: u64,
}

/// The block at a stack index, or `None` for any other value.
///
/// # Safety
/// `[live]`: the block is used only while its userdata is there.
pub(super) unsafe fn block_at<'call>(lua: State<'call>, index: c_int) -> Option<&'call Block> {
    // SAFETY: [live] the caller vouches for it.
    unsafe { KIND.find(lua, index) }
}

/// The block of argument 1 of a method.
pub(super) fn this<'call>(call: Call<'call>) -> Result<&'call Block, Fault> {
    let found = if call.count() > 0 {
        // SAFETY: [live] argument 1 stays in its slot during the call.
        unsafe { block_at(call.state(), 1) }
    } else {
        None
    };
    found.ok_or_else(|| call.mismatch(1, "open safetensors file"))
}

/// Pushes a userdata without open files.
pub(super) fn push_block<'call>(lua: Raising<'call>, request: Request) -> &'call Block {
    KIND.push(lua, Notes { request: Cell::new(request), is_fault: Cell::new(false) })
}
