//! What every C function of ours is made with: its class, what it shares with the others of its Lua state, the metatables.
//!
//! Nothing of a Lua state is in a `static`: several states, in several threads, use the library at once.

use std::cell::Cell;
use std::ffi::c_int;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use mlua_sys as ffi;

use super::state::State;
use crate::element::DType;
use crate::storage::StateId;

/// One block a Lua state: the collector's bookkeeping, and the registry places of what the Lua files have given.
pub struct Shared {
    /// This Lua state's number: no other has it, not even one that is made where this one was.
    pub id: StateId,
    /// The weight of all storages when `limit` was set.
    pub base: Cell<usize>,
    /// A collection is due when the weight passes this.
    pub limit: Cell<usize>,
    /// `torch.setheaptracking`.
    pub tracking: Cell<bool>,
    /// A collection of ours is running: finalizers that build storages start no other.
    pub collecting: Cell<bool>,
    /// Registry place of the classifier, if the FFI side has given one.
    pub classifier: Cell<Option<c_int>>,
    /// Registry places of what names the objects of registered classes: the table from metatable to name, and the function for
    /// FFI values.
    pub names: Cell<Option<(c_int, c_int)>>,
    /// Registry places of the functions that make a complex number for Lua, and that read one.
    pub complex: Cell<Option<(c_int, c_int)>>,
    /// Bytes on their way to `transfer::push_pending`.
    pub pending: Cell<Option<*const [u8]>>,
}

impl Shared {
    /// For a Lua state that opens the library.
    pub fn new() -> Self {
        /// Relaxed: only that every number is given once.
        static STATES: AtomicUsize = AtomicUsize::new(1);
        Self {
            id: StateId::new(NonZeroUsize::new(STATES.fetch_add(1, Ordering::Relaxed)).unwrap_or(NonZeroUsize::MAX)),
            base: Cell::new(0),
            limit: Cell::new(0),
            tracking: Cell::new(true),
            collecting: Cell::new(false),
            classifier: Cell::new(None),
            names: Cell::new(None),
            complex: Cell::new(None),
            pending: Cell::new(None),
        }
    }
}

/// First upvalue of our functions. Its block is larger than a storage's payload, so it never passes for one.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Context {
    shared: *const Shared,
    dtype: DType,
    _larger: usize,
}

/// The upvalue with the context, and the one with the array of metatables.
const CONTEXT: c_int = 1;
const CLASSES: c_int = 2;

/// How many upvalues [`Context::push_upvalues`] pushes.
pub const UPVALUES: c_int = 2;

impl Context {
    /// Pushes the upvalues of a function of class `dtype`. The array of metatables is at `classes`.
    ///
    /// # Safety
    /// May raise: nothing droppable is alive. `shared` lives as long as the Lua state.
    pub unsafe fn push_upvalues(state: State, shared: *const Shared, dtype: DType, classes: c_int) {
        // SAFETY: the caller has nothing to lose to an error.
        let block = unsafe { state.push_userdata(size_of::<Self>()) }.cast::<Self>();
        // SAFETY: the block has the size and alignment of a context.
        unsafe { block.write(Self { shared, dtype, _larger: 0 }) };
        state.push_value(classes);
    }

    /// Pushes the upvalues of the running function, for another of the same class.
    pub fn push_own(state: State) {
        state.push_value(ffi::lua_upvalueindex(CONTEXT));
        state.push_value(ffi::lua_upvalueindex(CLASSES));
    }

    /// The context of the running function.
    #[inline]
    pub fn of<'a>(state: State) -> &'a Self {
        // SAFETY: all our functions are made with `push_upvalues`, and a function keeps its upvalues while it runs.
        unsafe { &*state.upvalue(CONTEXT).cast() }
    }

    /// The class whose function is running. Functions of the module have one too, and do not look at it.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// What the functions of this Lua state share.
    #[inline]
    pub fn shared(&self) -> &Shared {
        // SAFETY: `push_upvalues` was promised that it lives as long as the Lua state.
        unsafe { &*self.shared }
    }

    /// Pushes the metatable of a class. If Lua code has put something else in its place (`debug.getupvalue` shows it the array),
    /// pushes nothing and answers false.
    #[inline]
    pub fn push_metatable(state: State, dtype: DType) -> bool {
        Self::push_metatable_at(state, dtype.number())
    }

    /// Pushes the metatable of open `.t7` files, as [`push_metatable`](Self::push_metatable).
    pub fn push_file_metatable(state: State) -> bool {
        Self::push_metatable_at(state, DType::ALL.len())
    }

    /// Pushes the constructor table of a class, as [`push_metatable`](Self::push_metatable).
    pub fn push_constructor(state: State, dtype: DType) -> bool {
        Self::push_metatable_at(state, Self::constructor_place(dtype))
    }

    /// Where the constructor table of a class is in the array of metatables, from 0: behind those and that of files.
    pub const fn constructor_place(dtype: DType) -> usize {
        DType::ALL.len() + 1 + dtype.number()
    }

    #[inline]
    fn push_metatable_at(state: State, number: usize) -> bool {
        let place = c_int::try_from(number + 1).unwrap_or(0);
        state.raw_get(ffi::lua_upvalueindex(CLASSES), place);
        let is_table = state.kind(-1) == ffi::LUA_TTABLE;
        if !is_table {
            state.set_top(state.top() - 1);
        }
        is_table
    }
}
