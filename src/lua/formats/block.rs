//! Files that are open for loading, as the block of a userdata.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

use super::request::Request;
use crate::formats::Opened;
use crate::lua::args::Call;
use crate::lua::context::Context;
use crate::lua::fault::Fault;
use crate::lua::state::{Raising, State};
use crate::lua::userdata::Payload;

/// The block of the userdata. The result of `torch.safetensors.open` is one, and each call of a `load` uses one.
#[repr(C)]
pub(super) struct Block {
    /// The address of [`MAGIC`].
    magic: *const u8,
    /// Null before the files are opened and after they are closed.
    open: Cell<*mut Open>,
    /// The registry slot of the table of [`values`].
    pub(super) values: Cell<c_int>,
    pub(super) request: Cell<Request>,
    /// Whether a function that [`protect`](super::guard::protect) called is using the files. Finalizers may run at any time, and
    /// must not close them then.
    pub(super) busy: Cell<bool>,
    /// Whether the last error is ours, and not that of a hook or a callback.
    pub(super) is_fault: Cell<bool>,
}

// The blocks of contexts and storages have other sizes, so they are never mistaken for open files.
const _: () = assert!(size_of::<Block>() > size_of::<Context>() && size_of::<Block>() > size_of::<Payload>());

/// The address of this byte marks a block as ours. Its value is not used.
static MAGIC: u8 = b's';

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

/// The block at a stack index, or `None` for any other value. It stays while its userdata is on the stack.
pub(super) fn block_at<'a>(lua: State, index: c_int) -> Option<&'a Block> {
    let block = lua.block(index, size_of::<Block>())?;
    // SAFETY: [layout] the block has the size of a `Block`, and the first word of any block can be read. [live] it stays while its
    // userdata is on the stack.
    let magic = unsafe { *block.cast::<*const u8>().as_ref() };
    if magic != &raw const MAGIC {
        return None;
    }
    // SAFETY: [layout] only `push_block` writes this magic word, into a block that it has made a `Block`. [live] it stays while its
    // userdata is on the stack.
    Some(unsafe { block.cast().as_ref() })
}

/// The block of argument 1 of a method.
pub(super) fn this<'a>(call: Call) -> Result<&'a Block, Fault> {
    let found = if call.count() > 0 { block_at(call.state(), 1) } else { None };
    found.ok_or_else(|| call.mismatch(1, "open safetensors file"))
}

/// Pushes a userdata without open files.
pub(super) fn push_block<'a>(lua: Raising, request: Request) -> &'a Block {
    let block = lua.push_userdata(size_of::<Block>()).cast::<Block>();
    let closed = Block {
        magic: &raw const MAGIC,
        open: Cell::new(ptr::null_mut()),
        values: Cell::new(mlua_sys::LUA_NOREF),
        request: Cell::new(request),
        busy: Cell::new(false),
        is_fault: Cell::new(false),
    };
    // SAFETY: [layout] the block has the size of a `Block`. [live] its userdata is on the top.
    unsafe { block.write(closed) };
    if let Some(metatable) = Context::push_formats_metatable(lua.state()) {
        lua.set_metatable(-2, metatable);
    }
    // SAFETY: [layout] a `Block` was just written there. [live] its userdata is on the top.
    unsafe { &*block }
}

impl Block {
    /// Calls `act` with the open files. `act` runs no Lua code.
    pub(super) fn with<R>(&self, act: impl FnOnce(&mut Open) -> Result<R, Fault>) -> Result<R, Fault> {
        // SAFETY: [owned] the pointer is null, or `open` made it and `close` has not taken it. No Lua code runs in `act`, so
        // nothing else borrows the files.
        match unsafe { self.open.get().as_mut() } {
            Some(open) => act(open),
            None => Err(Fault::new("the file is closed")),
        }
    }

    /// Takes files that were opened. The block has none yet.
    pub(super) fn open(&self, open: Open) {
        let old = self.open.replace(Box::into_raw(Box::new(open)));
        debug_assert!(old.is_null(), "a block is opened once");
    }

    /// Closes the files. Does nothing while one of our functions is using them, because the caller of that function closes them.
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
