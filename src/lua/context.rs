//! The upvalue of our C functions: the class and the name of the function, and the data that all functions of a Lua state share.
//!
//! It is a light userdata, the address of a row in a block that the registry holds. There are 3,000 functions, and a userdata for each
//! would be as much work for the collector as the functions themselves.
//!
//! No `static` holds data of a Lua state, because several Lua states in several threads use the library at once.

use std::cell::Cell;
use std::ffi::c_int;

use mlua_sys as ffi;

use super::state::{Raising, State, Table};
use crate::budget::AccountId;
use crate::element::DType;
use crate::storage::StateId;

/// The data that all functions of one Lua state share: when to run the collector, and the registry slots of the classes and of the
/// values that the Lua files have set.
pub struct Shared {
    /// The number of this Lua state. No other state gets it, not even one at the same address later.
    pub id: StateId,
    /// The account that the memory of this state's storages is charged to, if its host asks for one.
    pub account: Cell<AccountId>,
    /// The weight of all storages when `limit` was set.
    pub base: Cell<usize>,
    /// A collection is due when the weight of all storages exceeds this.
    pub limit: Cell<usize>,
    /// Whether making storages may run the collector. `torch.setheaptracking` sets this.
    pub tracking: Cell<bool>,
    /// Whether the library is running a collection. Finalizers that make storages do not start another one then.
    pub collecting: Cell<bool>,
    /// The registry slot of the classifier of FFI values, if the Lua side has set one.
    pub classifier: Cell<Option<c_int>>,
    /// The registry slot of the table with the class names of objects, by their metatables.
    pub names: Cell<Option<c_int>>,
    /// The registry slot of the function that gives the class names of FFI values.
    pub namer: Cell<Option<c_int>>,
    /// The registry slots of the functions that make and read complex numbers.
    pub complex_maker: Cell<Option<c_int>>,
    pub complex_reader: Cell<Option<c_int>>,
    /// The registry slot of the function that reads the numbers of a table, if there is one that LuaJIT compiles.
    pub table_reader: Cell<Option<c_int>>,
    /// The registry slot of the function that makes 64-bit FFI integers.
    pub integers: Cell<Option<c_int>>,
    /// The registry slot of the table with the arguments of `core.setrecords`, which `.t7` files need.
    pub records: Cell<Option<c_int>>,
    /// Whether no function takes or gives an address: a host program can hide them from its scripts.
    pub hides_addresses: Cell<bool>,
    /// Whether the scripts have only the functions that `restricted.txt` allows.
    pub is_restricted: Cell<bool>,
    /// The registry slot of a table with the names of publications that restricted scripts may look up.
    pub publications: Cell<Option<c_int>>,
    /// The bytes that `transfer::push_pending` is about to push.
    pub pending: Cell<Option<*const [u8]>>,
    /// How many Lua functions are running that were called while a `.t7` file was read or written, each of them within the one before.
    pub callbacks: Cell<u32>,
    /// Whether a long operation is running the hook of the host program.
    pub is_in_hook: Cell<bool>,
    /// The class of tensors that `torch.zeros` and the like make.
    pub default_class: Cell<DType>,
    /// What is known of the objects of this Lua state that are alive.
    pub living: Cell<Living>,
    /// Whether there is a guard, which runs when the state is closed.
    pub is_guarded: Cell<bool>,
    /// The registry slots of metatables and constructor tables.
    tables: [Cell<c_int>; TABLES],
}

/// What is known of the storages, tensors and files of a Lua state that are alive.
#[derive(Clone, Copy)]
pub enum Living {
    /// Nothing: each is freed by its own finalizer.
    Unknown,
    /// They are the weak keys of the table in this slot of the registry.
    InTable(c_int),
    /// The Lua state is being closed, and no finalizer would free a new one.
    Ended,
}

/// A place in [`Shared::tables`].
#[derive(Clone, Copy)]
pub struct Place(usize);

const CLASSES: usize = DType::ALL.len();

/// The number of places: six for each class, the metatable of open `.t7` files, and that of open safetensors files.
const TABLES: usize = 6 * CLASSES + 2;

impl Shared {
    /// Makes the block that the functions of a Lua state share: a userdata that the registry holds until the Lua state is closed.
    pub fn push_new<'call>(lua: Raising<'call>) -> &'call Self {
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
            account: Cell::new(AccountId::NONE),
            base: Cell::new(0),
            limit: Cell::new(0),
            tracking: Cell::new(true),
            collecting: Cell::new(false),
            classifier: Cell::new(None),
            names: Cell::new(None),
            namer: Cell::new(None),
            complex_maker: Cell::new(None),
            complex_reader: Cell::new(None),
            table_reader: Cell::new(None),
            integers: Cell::new(None),
            records: Cell::new(None),
            hides_addresses: Cell::new(false),
            is_restricted: Cell::new(false),
            publications: Cell::new(None),
            pending: Cell::new(None),
            callbacks: Cell::new(0),
            is_in_hook: Cell::new(false),
            default_class: Cell::new(DType::Double),
            living: Cell::new(Living::Unknown),
            is_guarded: Cell::new(false),
            tables: [const { Cell::new(ffi::LUA_NOREF) }; TABLES],
        }
    }
}

/// What a function of ours knows of itself.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Context {
    shared: *const Shared,
    name: *const u8,
    length: u32,
    dtype: DType,
}

/// The number of the upvalue with the context.
const CONTEXT: c_int = 1;

/// How many upvalues [`Rows::push_upvalue`] pushes.
pub const UPVALUES: c_int = 1;

/// Where the contexts of new functions go: to a block of many, and then to the next block.
pub struct Rows<'a> {
    shared: &'a Shared,
    next: Cell<*mut Context>,
    left: Cell<usize>,
}

/// The number of contexts in a block.
const ROWS: usize = 256;

impl<'a> Rows<'a> {
    pub fn new(shared: &'a Shared) -> Self {
        Self { shared, next: Cell::new(std::ptr::null_mut()), left: Cell::new(0) }
    }

    /// Pushes the upvalue of the function `name` of class `dtype`.
    pub fn push_upvalue(&self, lua: Raising, dtype: DType, name: &'static str) {
        if self.left.get() == 0 {
            self.next.set(lua.push_userdata(size_of::<Context>() * ROWS).cast());
            // The registry holds the block until the Lua state is closed.
            lua.reference();
            self.left.set(ROWS);
        }
        let row = self.next.replace(self.next.get().wrapping_add(1));
        self.left.set(self.left.get() - 1);
        let length = u32::try_from(name.len()).unwrap_or(0);
        // SAFETY: [layout] a block is aligned for a context. [in-bounds] this row of the block was left.
        unsafe { row.write(Context { shared: self.shared, name: name.as_ptr(), length, dtype }) };
        lua.push_light(row.cast());
    }
}

impl Context {
    /// Pushes the upvalue of the running function, for another function of the same class.
    pub fn push_own(state: State) {
        state.push_value(ffi::lua_upvalueindex(CONTEXT));
    }

    /// The context of the running function.
    #[inline]
    pub fn of<'call>(state: State<'call>) -> &'call Self {
        state.assert_own_upvalues();
        // SAFETY: [layout] all our functions are made with `Rows::push_upvalue`. [live] the registry holds the row.
        unsafe { &*state.upvalue(CONTEXT).cast() }
    }

    /// The class that the running function belongs to. Functions of the module have a class too, but do not use it.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The name under which the running function was registered.
    pub fn name(&self) -> &'static str {
        // SAFETY: [in-bounds] the name has this length. [live] it is a constant.
        let bytes = unsafe { std::slice::from_raw_parts(self.name, self.length as usize) };
        // SAFETY: [layout] the bytes are those of a `str`.
        unsafe { std::str::from_utf8_unchecked(bytes) }
    }

    /// The data that the functions of this Lua state share.
    #[inline]
    pub fn shared(&self) -> &Shared {
        // SAFETY: [live] the registry holds the block until the Lua state is closed: only `Shared::push_new` makes one, and puts it
        // there.
        unsafe { &*self.shared }
    }

    /// Pushes the table in a place. Pushes nothing if there is none: Lua code can get the registry by `debug.getregistry`, and change it.
    #[inline]
    pub fn push_table<'call>(state: State<'call>, place: Place) -> Option<Table<'call>> {
        state.push_referenced(Self::of(state).shared().tables[place.0].get());
        let pushed = state.table(-1);
        if pushed.is_none() {
            state.set_top(state.top() - 1);
        }
        pushed
    }

    /// Pushes the method whose name is argument 2, of the class whose metatable is in a place. If there is none of that name, pushes
    /// nothing and returns false.
    #[inline]
    pub fn push_method(state: State, place: Place) -> bool {
        let Some(metatable) = Self::push_table(state, place) else { return false };
        state.push_value(2);
        state.raw_get_top(metatable);
        let found = state.kind(-1) != ffi::LUA_TNIL;
        if !found {
            state.set_top(metatable.index() - 1);
        }
        found
    }

    /// Gives the userdata on the top the metatable in a place, if there is a table in it.
    #[inline]
    pub fn set_metatable(&self, state: State, place: Place) {
        state.push_referenced(self.shared().tables[place.0].get());
        state.set_metatable_from_top(-2);
    }
}

impl Place {
    /// The metatable of open `.t7` files.
    pub const FILE: Self = Self(6 * CLASSES);
    /// The metatable of open safetensors files.
    #[cfg(feature = "formats")]
    pub const FORMATS: Self = Self(6 * CLASSES + 1);

    /// The metatable of a class of storages, as programs see it: it has the methods.
    pub const fn metatable(dtype: DType) -> Self {
        Self(dtype.number())
    }

    /// The constructor table of a class of storages.
    pub const fn constructor(dtype: DType) -> Self {
        Self(CLASSES + dtype.number())
    }

    /// The metatable of a class of tensors, as programs see it: it has the methods.
    pub const fn tensor_metatable(dtype: DType) -> Self {
        Self(2 * CLASSES + dtype.number())
    }

    /// The constructor table of a class of tensors.
    pub const fn tensor_constructor(dtype: DType) -> Self {
        Self(3 * CLASSES + dtype.number())
    }

    /// The metatable that storages of a class have. In a restricted state it is another table than the one that scripts see.
    pub const fn of_storages(dtype: DType) -> Self {
        Self(4 * CLASSES + dtype.number())
    }

    /// The metatable that tensors of a class have, likewise.
    pub const fn of_tensors(dtype: DType) -> Self {
        Self(5 * CLASSES + dtype.number())
    }
}

/// Puts the value at a stack index into a slot of the registry, and the slot into a cell of [`Shared`]. Frees the slot that was there.
pub fn keep(lua: Raising, index: c_int, cell: &Cell<Option<c_int>>) {
    if let Some(old) = cell.replace(Some(lua.reference_to(index))) {
        // SAFETY: [owned] the slot came from `reference_to` in an earlier call, and was just taken out of the cell.
        unsafe { lua.unreference(old) };
    }
}

impl Shared {
    /// Pops the table on the top into a place.
    pub fn keep_table(&self, lua: Raising, place: Place) {
        self.tables[place.0].set(lua.reference());
    }

    /// Puts the table that is in one place into another one, too.
    pub fn share_table(&self, from: Place, to: Place) {
        self.tables[to.0].set(self.tables[from.0].get());
    }
}
