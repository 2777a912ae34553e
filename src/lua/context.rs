//! The upvalues of our C functions. The first has the class of the function, and the data that all functions of a Lua state
//! share. The second is the array of metatables and constructor tables.
//!
//! No `static` holds data of a Lua state, because several Lua states in several threads use the library at once.

use std::cell::Cell;
use std::ffi::c_int;

use mlua_sys as ffi;

use super::state::{Raising, State, Table};
use crate::element::DType;
use crate::storage::StateId;

/// The data that all functions of one Lua state share: when to run the collector, and the registry slots of the values that the Lua
/// files have set.
pub struct Shared {
    /// The number of this Lua state. No other state gets it, not even one at the same address later.
    pub id: StateId,
    /// The weight of all storages when `limit` was set.
    pub base: Cell<usize>,
    /// A collection is due when the weight of all storages exceeds this.
    pub limit: Cell<usize>,
    /// Whether making storages may run the collector. `torch.setheaptracking` sets this.
    pub tracking: Cell<bool>,
    /// Whether the library is running a collection. Finalizers that make storages meanwhile do not start another.
    pub collecting: Cell<bool>,
    /// The registry slot of the classifier of FFI values, if the Lua side has set one.
    pub classifier: Cell<Option<c_int>>,
    /// The registry slots that give the class names of objects: a table from metatable to name, and a function for FFI values.
    pub names: Cell<Option<(c_int, c_int)>>,
    /// The registry slots of the functions that make and read complex numbers.
    pub complex: Cell<Option<(c_int, c_int)>>,
    /// The registry slot of the function that reads the numbers of a table, if there is one that LuaJIT compiles.
    pub table_reader: Cell<Option<c_int>>,
    /// The registry slot of the function that makes 64-bit FFI integers.
    pub integers: Cell<Option<c_int>>,
    /// The registry slot of the table with the arguments of `core.setrecords`, which `.t7` files need.
    pub records: Cell<Option<c_int>>,
    /// Whether no function takes or gives an address: a Rust program can hide them from its scripts.
    pub hides_addresses: Cell<bool>,
    /// The bytes that `transfer::push_pending` is about to push.
    pub pending: Cell<Option<*const [u8]>>,
}

impl Shared {
    /// Makes the block that the functions of a Lua state share: a userdata that the registry holds until the Lua state is closed.
    pub fn push_new<'a>(lua: Raising) -> &'a Self {
        let block = lua.push_userdata(size_of::<Self>()).cast::<Self>();
        // SAFETY: [layout] the block has the size and alignment.
        unsafe { block.write(Self::new()) };
        lua.reference();
        // SAFETY: [live] the registry holds the block until the Lua state is closed, and no function of ours runs after that.
        unsafe { &*block }
    }

    fn new() -> Self {
        Self {
            id: StateId::of_new_state(),
            base: Cell::new(0),
            limit: Cell::new(0),
            tracking: Cell::new(true),
            collecting: Cell::new(false),
            classifier: Cell::new(None),
            names: Cell::new(None),
            complex: Cell::new(None),
            table_reader: Cell::new(None),
            integers: Cell::new(None),
            records: Cell::new(None),
            hides_addresses: Cell::new(false),
            pending: Cell::new(None),
        }
    }
}

/// The first upvalue of our functions. Its block is larger than a storage's payload, so it is never taken for one.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Context {
    shared: *const Shared,
    dtype: DType,
    name: &'static str,
}

/// The number of the upvalue with the context, and of the one with the array of metatables and constructor tables.
const CONTEXT: c_int = 1;
const CLASSES: c_int = 2;

/// How many upvalues [`Context::push_upvalues`] pushes.
pub const UPVALUES: c_int = 2;

impl Context {
    /// Pushes the upvalues of the function `name` of class `dtype`: its context, and the array `classes` of metatables and
    /// constructor tables.
    pub fn push_upvalues(lua: Raising, shared: &Shared, dtype: DType, name: &'static str, classes: Table) {
        let block = lua.push_userdata(size_of::<Self>()).cast::<Self>();
        // SAFETY: [layout] the block has the size and alignment of a context.
        unsafe { block.write(Self { shared, dtype, name }) };
        lua.push_value(classes.index());
    }

    /// Pushes the upvalues of the running function, for another function of the same class.
    pub fn push_own(state: State) {
        state.push_value(ffi::lua_upvalueindex(CONTEXT));
        state.push_value(ffi::lua_upvalueindex(CLASSES));
    }

    /// The context of the running function.
    #[inline]
    pub fn of<'a>(state: State) -> &'a Self {
        // SAFETY: [layout] all our functions are made with `push_upvalues`. [live] a function keeps its upvalues while it runs.
        unsafe { &*state.upvalue(CONTEXT).cast() }
    }

    /// The class that the running function belongs to. Functions of the module have a class too, but do not use it.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The name under which the running function was registered.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The data that the functions of this Lua state share.
    #[inline]
    pub fn shared(&self) -> &Shared {
        // SAFETY: [live] the registry holds the block until the Lua state is closed: `Shared::push_new` put it there.
        unsafe { &*self.shared }
    }

    /// Pushes the metatable of a class. Pushes nothing if the array has no table in its slot: Lua code can get the array by
    /// `debug.getupvalue`, and change it.
    #[inline]
    pub fn push_metatable(state: State, dtype: DType) -> Option<Table> {
        Self::push_from_array(state, Self::metatable_slot(dtype))
    }

    /// Gives the userdata on the top the metatable in a slot of the array, if there is a table in it.
    #[inline]
    pub fn set_metatable(state: State, slot: c_int) {
        // SAFETY: [state] all our functions are made with `push_upvalues`, so this upvalue is a table.
        let classes = unsafe { Table::upvalue(CLASSES) };
        state.raw_get(classes, slot);
        state.set_metatable_from_top(-2);
    }

    /// Does the same as [`push_metatable`](Self::push_metatable) for the metatable of open `.t7` files.
    pub fn push_file_metatable(state: State) -> Option<Table> {
        Self::push_from_array(state, Self::file_slot())
    }

    /// Does the same as [`push_metatable`](Self::push_metatable) for the metatable of open safetensors files.
    #[cfg(feature = "formats")]
    pub fn push_formats_metatable(state: State) -> Option<Table> {
        Self::push_from_array(state, Self::formats_slot())
    }

    /// Does the same as [`push_metatable`](Self::push_metatable) for the constructor table of a class.
    pub fn push_constructor(state: State, dtype: DType) -> Option<Table> {
        Self::push_from_array(state, Self::constructor_slot(dtype))
    }

    /// Does the same as [`push_metatable`](Self::push_metatable) for the metatable of a class of tensors.
    pub fn push_tensor_metatable(state: State, dtype: DType) -> Option<Table> {
        Self::push_from_array(state, Self::tensor_metatable_slot(dtype))
    }

    /// Does the same as [`push_metatable`](Self::push_metatable) for the constructor table of a class of tensors.
    pub fn push_tensor_constructor(state: State, dtype: DType) -> Option<Table> {
        Self::push_from_array(state, Self::tensor_constructor_slot(dtype))
    }

    /// The slot of a class's metatable in the array, from 1.
    pub const fn metatable_slot(dtype: DType) -> c_int {
        slot(dtype.number())
    }

    /// The slot of the metatable of open `.t7` files, which follows those of the classes.
    pub const fn file_slot() -> c_int {
        slot(DType::ALL.len())
    }

    /// The slot of a class's constructor table. The constructor tables follow the metatable of files.
    pub const fn constructor_slot(dtype: DType) -> c_int {
        slot(DType::ALL.len() + 1 + dtype.number())
    }

    /// The slot of the metatable of a class of tensors. They follow the constructor tables.
    pub const fn tensor_metatable_slot(dtype: DType) -> c_int {
        slot(2 * DType::ALL.len() + 1 + dtype.number())
    }

    /// The slot of the constructor table of a class of tensors. They follow the metatables of tensors.
    pub const fn tensor_constructor_slot(dtype: DType) -> c_int {
        slot(3 * DType::ALL.len() + 1 + dtype.number())
    }

    /// The slot of the metatable of open safetensors files, which comes last.
    #[cfg(feature = "formats")]
    pub const fn formats_slot() -> c_int {
        slot(4 * DType::ALL.len() + 1)
    }

    #[inline]
    fn push_from_array(state: State, slot: c_int) -> Option<Table> {
        // SAFETY: [state] all our functions are made with `push_upvalues`, so this upvalue is a table.
        let classes = unsafe { Table::upvalue(CLASSES) };
        state.raw_get(classes, slot);
        let pushed = state.table(-1);
        if pushed.is_none() {
            state.set_top(state.top() - 1);
        }
        pushed
    }
}

/// Turns the number of a slot, counted from 0, into the index in a Lua array, counted from 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "there are fewer than a hundred slots")]
const fn slot(number: usize) -> c_int {
    number as c_int + 1
}
