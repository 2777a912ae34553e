//! The block of a file's userdata, and the table of its Lua values.

use std::cell::Cell;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::AtomicU8;

use super::progress::Progress;
use crate::fallible::boxed;
use crate::lua::args::Call;
use crate::lua::context::{Context, Place};
use crate::lua::fault::{Fault, raise};
use crate::lua::living;
use crate::lua::state::{Raising, State, Table};
use crate::lua::userdata::Payload;

/// A kind of files. The type is that of an open file.
pub trait File: Sized {
    /// What the call that opens a file has to do.
    type Task: Copy;
    /// What messages call such a file.
    const NAME: &'static str;
    /// The place of the metatable of such files.
    const METATABLE: Place;

    fn mark() -> &'static Mark;

    /// The number of bytes that were read or written.
    fn position(&self) -> u64;

    fn progress(&mut self) -> &mut Progress;

    /// The number of levels: tables and objects that are not complete, and callbacks.
    fn depth(&self) -> usize {
        0
    }

    /// Leaves all levels except the outermost `depth`.
    fn leave_to(&mut self, _depth: usize) {}

    /// Enters the level of a callback, which may read or write values itself.
    fn enter_callback(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// The stack slots with the values of the current level, each with the index in the table of [`values`] at which its value is
    /// kept while level number `depth`, from 0, is the current one.
    fn kept(_depth: usize) -> impl Iterator<Item = (c_int, c_int)> {
        std::iter::empty()
    }
}

/// Marks the blocks of a kind of files by its address. It is not a constant, which the linker could merge with others.
pub type Mark = AtomicU8;

/// The slots of the table with the Lua values of a file.
pub mod values {
    use std::ffi::c_int;

    /// The path of the file, or what is read instead of a file.
    pub const SOURCE: c_int = 1;
    /// The progress function, or nil.
    pub const PROGRESS: c_int = 2;
    /// The error value of the last fault.
    pub const FAULT: c_int = 3;
    /// The first slot of those that a kind of files has besides. Functions that work on the file have its value as an upvalue.
    pub const OWN: c_int = 4;
}

/// The block of a file's userdata.
#[repr(C)]
pub struct Block<F: File> {
    mark: *const Mark,
    /// Null before the file is opened and after it is closed.
    open: Cell<*mut F>,
    /// The registry slot of the table of [`values`].
    values: Cell<c_int>,
    /// Whether one of our functions is using the file. Finalizers may run at any time, and must not close it then.
    pub busy: Cell<bool>,
    /// The number of the argument that the last fault is about.
    pub argument: Cell<Option<c_int>>,
    pub task: Cell<F::Task>,
}

impl<F: File> Block<F> {
    /// The size of a block. The blocks of contexts and storages have other sizes, so they are never mistaken for a file.
    const SIZE: usize = {
        let size = size_of::<Self>();
        assert!(size > size_of::<Context>() && size > size_of::<Payload>());
        assert!(align_of::<Self>() <= align_of::<u64>());
        size
    };

    /// The block of the file at a stack index or upvalue.
    ///
    /// # Safety
    /// `[live]`: the block is used only while its userdata is there.
    pub unsafe fn find<'call>(call: Call<'call>, index: c_int) -> Result<&'call Self, Fault> {
        let find = || {
            let block = call.state().block(index, Self::SIZE)?;
            // SAFETY: [layout] the first word of any block can be read as an address. [live] the block stays while its userdata is there.
            let mark = unsafe { *block.cast::<*const Mark>().as_ref() };
            // SAFETY: [layout] only `push` writes this mark, into a block that it has made a `Block<F>`. [live] the block stays while
            // its userdata is there.
            ptr::eq(mark, F::mark()).then(|| unsafe { block.cast().as_ref() })
        };
        find().ok_or_else(|| call.mismatch(1, F::NAME))
    }

    /// The same block, if none of our functions is using the file.
    ///
    /// # Safety
    /// `[live]`: as for [`find`](Self::find).
    pub unsafe fn find_idle<'call>(call: Call<'call>, index: c_int) -> Result<&'call Self, Fault> {
        // SAFETY: [live] the caller vouches for it.
        let block = unsafe { Self::find(call, index) }?;
        // If the file is busy, a finalizer or a hook has called this.
        if block.busy.get() { Err(Fault::new("the file is in use")) } else { Ok(block) }
    }

    /// Pushes the userdata of a file that is not open, and returns its stack index. `values` is the stack index of its table of
    /// [`values`], which gets `entries`: slots, each with the stack index of its value.
    pub fn push(lua: Raising, values: c_int, task: F::Task, entries: impl IntoIterator<Item = (c_int, c_int)>) -> c_int {
        let block = lua.push_userdata(Self::SIZE).cast::<MaybeUninit<Self>>();
        // SAFETY: [layout] the block has the size and alignment. [live] it stays while its userdata is on the stack.
        let block = unsafe { &mut *block }.write(Self {
            mark: F::mark(),
            open: Cell::new(ptr::null_mut()),
            values: Cell::new(mlua_sys::LUA_NOREF),
            busy: Cell::new(false),
            argument: Cell::new(None),
            task: Cell::new(task),
        });
        living::adopt(lua, F::METATABLE);
        let file = lua.top();
        // From here on nothing is allocated for which Lua collects garbage, so no finalizer can replace a stack slot.
        let Some(table) = lua.table(values) else { raise(lua, Fault::new("the file is closed")) };
        block.values.set(lua.reference_to(values));
        for (slot, index) in entries {
            lua.push_value(index);
            lua.raw_set(table, slot);
        }
        file
    }

    /// Pushes the table of [`values`]. The answer is `None` if the file is closed, and nil on the top.
    pub fn push_values<'call>(&self, lua: State<'call>) -> Option<Table<'call>> {
        lua.push_referenced(self.values.get());
        lua.table(-1)
    }

    /// Calls `act` with the open file, which counts as closed while `act` runs. So `act` runs no Lua code.
    pub fn with<R>(&self, act: impl FnOnce(&mut F) -> Result<R, Fault>) -> Result<R, Fault> {
        /// Puts the file back, also if `act` panics.
        struct Taken<'a, F>(&'a Cell<*mut F>, *mut F);
        impl<F> Drop for Taken<'_, F> {
            fn drop(&mut self) {
                self.0.set(self.1);
            }
        }
        let taken = Taken(&self.open, self.open.replace(ptr::null_mut()));
        // SAFETY: [owned] the pointer is null, or `set_open` made it and `close` has not taken it. [alias] it is not in the block while
        // `act` runs, so nothing else borrows the file.
        match unsafe { taken.1.as_mut() } {
            Some(open) => act(open),
            None => Err(Fault::new("the file is closed")),
        }
    }

    /// What `look` says about the file, if it is open. `look` runs no Lua code.
    pub fn look<R>(&self, look: impl FnOnce(&F) -> R) -> Option<R> {
        // SAFETY: [owned] the pointer is null, or `set_open` made it and `close` has not taken it. No Lua code runs in `look`, so nothing
        // changes the file.
        unsafe { self.open.get().as_ref() }.map(look)
    }

    /// Takes a file that was opened. The block has none yet.
    pub fn set_open(&self, open: F) -> Result<(), Fault> {
        let old = self.open.replace(Box::into_raw(boxed(open)?));
        debug_assert!(old.is_null(), "a block is opened once");
        Ok(())
    }

    /// Closes the file. Does nothing while one of our functions is using it, because the caller of that function closes it.
    pub fn close(&self, lua: State) {
        if self.busy.get() {
            return;
        }
        let open = self.open.replace(ptr::null_mut());
        if !open.is_null() {
            // SAFETY: [owned] `set_open` made the pointer from a box, and it was just taken out of the block.
            drop(unsafe { Box::from_raw(open) });
        }
        let values = self.values.replace(mlua_sys::LUA_NOREF);
        if values != mlua_sys::LUA_NOREF {
            // SAFETY: [owned] the slot was just taken out of the block, which got it from `reference_to`.
            unsafe { lua.unreference(values) };
        }
    }
}
