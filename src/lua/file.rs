//! Files that are open in Lua, as the blocks of userdata: what `.t7` files and those of `formats` have in common.

use std::cell::Cell;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, needs_drop};
use std::ptr;
use std::sync::atomic::AtomicU8;

use super::context::Context;
use super::fault::Fault;
use super::state::{Raising, State, Table};
use super::userdata::Payload;
use crate::fallible::boxed;

/// A kind of files. `O` is an open file, and `N` is what a block has besides, whether its file is open or not.
pub struct Kind<O, N> {
    /// Only its address matters: it marks the blocks of this kind. It is not a constant, which the linker could merge with others.
    mark: AtomicU8,
    push_metatable: fn(State<'_>) -> Option<Table<'_>>,
    block: PhantomData<fn() -> Block<O, N>>,
}

/// The block of a file's userdata.
#[repr(C)]
pub struct Block<O, N> {
    /// The address of the mark of the block's [`Kind`].
    mark: *const AtomicU8,
    /// Null before the file is opened and after it is closed.
    open: Cell<*mut O>,
    /// The registry slot of the table with the Lua values of the file.
    pub values: Cell<c_int>,
    /// Whether one of our functions is using the file. Finalizers may run at any time, and must not close it then.
    pub busy: Cell<bool>,
    pub notes: N,
}

impl<O, N> Kind<O, N> {
    /// The size of a block. The blocks of contexts and storages have other sizes, so they are never mistaken for a file.
    const SIZE: usize = {
        let size = size_of::<Block<O, N>>();
        assert!(size > size_of::<Context>() && size > size_of::<Payload>());
        assert!(align_of::<Block<O, N>>() <= align_of::<u64>());
        assert!(!needs_drop::<N>(), "a block ends without its destructor");
        size
    };

    /// A kind whose userdata get the metatable that `push_metatable` pushes.
    pub const fn new(push_metatable: fn(State<'_>) -> Option<Table<'_>>) -> Self {
        Self { mark: AtomicU8::new(0), push_metatable, block: PhantomData }
    }

    /// The block at a stack index or upvalue; `None` for any other value.
    ///
    /// # Safety
    /// `[live]`: the block is used only while its userdata is there.
    pub unsafe fn find<'call>(&'static self, lua: State<'call>, index: c_int) -> Option<&'call Block<O, N>> {
        let block = lua.block(index, Self::SIZE)?;
        // SAFETY: [layout] the first word of any block can be read as an address. [live] the block stays while its userdata is there.
        let mark = unsafe { *block.cast::<*const AtomicU8>().as_ref() };
        // SAFETY: [layout] only `push` writes this mark, into a block that it has made a `Block<O, N>`. [live] the block stays while
        // its userdata is there.
        (mark == &raw const self.mark).then(|| unsafe { block.cast().as_ref() })
    }

    /// Pushes the userdata of a file that is not open. The block stays while the userdata is on the stack.
    pub fn push<'call>(&'static self, lua: Raising<'call>, notes: N) -> &'call Block<O, N> {
        let block = lua.push_userdata(Self::SIZE).cast::<MaybeUninit<Block<O, N>>>();
        // SAFETY: [layout] the block has the size and alignment. [live] it stays while its userdata is on the stack.
        let block = unsafe { &mut *block }.write(Block {
            mark: &raw const self.mark,
            open: Cell::new(ptr::null_mut()),
            values: Cell::new(mlua_sys::LUA_NOREF),
            busy: Cell::new(false),
            notes,
        });
        if (self.push_metatable)(lua.state()).is_some() {
            lua.set_metatable_from_top(-2);
        }
        block
    }
}

impl<O, N> Block<O, N> {
    /// Calls `act` with the open file. `act` runs no Lua code: the file counts as closed meanwhile.
    pub fn with<R>(&self, act: impl FnOnce(&mut O) -> Result<R, Fault>) -> Result<R, Fault> {
        /// Puts the file back, also if `act` panics.
        struct Taken<'a, O>(&'a Cell<*mut O>, *mut O);
        impl<O> Drop for Taken<'_, O> {
            fn drop(&mut self) {
                self.0.set(self.1);
            }
        }
        let taken = Taken(&self.open, self.open.replace(ptr::null_mut()));
        // SAFETY: [owned] the pointer is null, or `open` made it and `close` has not taken it. [alias] it is not in the block meanwhile,
        // so nothing else borrows the file.
        match unsafe { taken.1.as_mut() } {
            Some(open) => act(open),
            None => Err(Fault::new("the file is closed")),
        }
    }

    /// What `look` says about the file, if it is open. `look` runs no Lua code.
    pub fn look<R>(&self, look: impl FnOnce(&O) -> R) -> Option<R> {
        // SAFETY: [owned] the pointer is null, or `open` made it and `close` has not taken it. No Lua code runs in `look`, so nothing
        // changes the file.
        unsafe { self.open.get().as_ref() }.map(look)
    }

    /// Takes a file that was opened. The block has none yet.
    pub fn open(&self, open: O) -> Result<(), Fault> {
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
            // SAFETY: [owned] `open` made the pointer from a box, and it was just taken out of the block.
            drop(unsafe { Box::from_raw(open) });
        }
        let values = self.values.replace(mlua_sys::LUA_NOREF);
        if values != mlua_sys::LUA_NOREF {
            // SAFETY: [owned] the slot was just taken out of the block, which got it from `reference`.
            unsafe { lua.unreference(values) };
        }
    }
}
