//! For Rust programs that embed Lua with [`mlua`]: they hand arrays to their scripts and take them back, without a copy.
//!
//! ```
//! use mlua::Lua;
//! use torch_storage::Storage;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let lua = Lua::new();
//! torch_storage::host::open(&lua)?;
//!
//! let samples = Storage::from_vec(vec![0.0f32; 1 << 20]); // the vector's own memory
//! lua.globals().set("samples", &samples)?;
//! lua.load("for i = 1, #samples do samples[i] = i / 2 end").exec()?;
//! assert_eq!(samples.get(9), Some(5.0));
//!
//! let part: Storage = lua.load("samples:sub(1, 3)").eval()?; // a view of the same memory
//! assert_eq!(part.to_vec::<f32>()?, [0.5, 1.0, 1.5]);
//! # Ok(())
//! # }
//! ```
//!
//! # Which Lua
//!
//! Cargo features choose it, the same of `mlua` and of this crate: one of `lua51` to `lua55`, or `luajit`.
//!
//! ```toml
//! mlua = { version = "0.12", features = ["luajit", "vendored"] }
//! torch-storage = { version = "0.2", features = ["host", "luajit"] }
//! ```
//!
//! With `luajit`, element access in scripts is compiled, and takes about a nanosecond. The other Luas call a C function for each element.
//!
//! # Values
//!
//! [`Storage`] and [`Tensor`] can be arguments, results and fields like other values of `mlua`, by value or by reference. Each gives Lua
//! one more reference to the same storage. A storage lives as long as the program or a Lua state holds it; Lua states and handles may end
//! in any order. While the program has a handle to a storage that a script also has, the script cannot resize it.
//!
//! A script's storage over memory of a Lua value, such as `torch.frombuffer('text')`, is not handed to the program, because that memory
//! ends with the Lua state. `s:clone()` has memory of its own.
//!
//! ```
//! # use mlua::Lua;
//! # use torch_storage::{DType, Storage};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let lua = Lua::new();
//! let torch = torch_storage::host::open(&lua)?;
//! lua.globals().set("torch", torch)?;
//! lua.globals().set("mean", lua.create_function(|_, numbers: Storage| {
//!     let numbers = numbers.cast(DType::Double).map_err(mlua::Error::external)?;
//!     let sum: f64 = (0..numbers.size()).filter_map(|index| numbers.get(index)).sum();
//!     Ok(sum / numbers.size() as f64)
//! })?)?;
//! assert_eq!(lua.load("mean(torch.IntStorage{1, 2, 6})").eval::<f64>()?, 3.0);
//! let wrong = lua.load("mean{1, 2, 6}").eval::<f64>().unwrap_err().to_string();
//! assert!(wrong.contains("error converting Lua table to Storage"), "{wrong}");
//! # Ok(())
//! # }
//! ```
//!
//! # What scripts can do
//!
//! [`open`] works with `Lua::new()` and with states that have fewer libraries: it needs `string`, `table` and `math`, and for compiled
//! access `jit` and `bit`. Scripts do not see the FFI library, which the library uses for itself. They get no raw addresses and cannot give
//! any: that is what [`open_with_addresses`] adds. Call either of them before scripts run.
//!
//! Scripts can map, load and save files by their names, and can use much memory: a memory limit of Lua does not count the memory of
//! storages, and [`set_memory_limit`] does. [`open_restricted`] is for scripts that are not trusted. Lua itself has ways to break a
//! process that this does not close, such as `load` with a compiled chunk, and on LuaJIT `jit.attach`.

use mlua::{FromLua, Function, IntoLua, Lua, Result, Table, Value};

use crate::error::Error;
use crate::lua::embedded::{self, OPTIONS};
use crate::lua::program::{self, Passed, Refusal, Slot};
use crate::lua::{opened_module, raising};
use crate::program::Storage;
use crate::tensor;
pub use crate::tensor::Layout;

/// Opens the library in a Lua state, and returns what `require 'torch'` gives. Scripts that write `require 'torch'` get the same table.
/// Opening it again returns the same table, too.
///
/// Scripts get no raw addresses: `(size, address)`, `torch.pushudata`, `s:data()` and the like are errors, and `torch.frombuffer` takes
/// only strings, storages and tensors.
///
/// # Errors
/// If the state lacks a library that is needed, if memory runs out, or if the library was opened by [`open_with_addresses`].
pub fn open(lua: &Lua) -> Result<Table> {
    open_in(lua, Kind::Hidden, |_| Ok(()))
}

/// Opens the library with the functions that take or give raw addresses.
///
/// # Errors
/// Those of [`open`]; if the library was opened by [`open`].
///
/// # Safety
/// Scripts can make storages over any address, and so read and write all memory of the process. Whoever runs them vouches for the
/// addresses that they use.
pub unsafe fn open_with_addresses(lua: &Lua) -> Result<Table> {
    open_in(lua, Kind::WithAddresses, |_| Ok(()))
}

/// What [`open_restricted`] allows scripts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Restrictions<'a> {
    /// How many bytes the storages of the Lua state may have. `None` is no limit. [`set_memory_limit`] changes it.
    pub memory: Option<usize>,
    /// The number of threads that large operations of the process use. `None` leaves it as it is: one for each core at first.
    pub threads: Option<usize>,
    /// The names of publications ([`Storage::publish`](crate::Storage::publish)) that scripts may look up.
    pub publications: &'a [&'a str],
}

/// Opens the library for scripts that are not trusted. They work with memory of their Lua state, and with what the program hands to
/// them. Every function that reads or writes files, uses names of shared memory, takes or gives addresses, or reaches other states of the
/// process is an error. `docs/restricted.md` lists all functions, and says what the program itself must withhold.
///
/// Nothing in Lua undoes this. A second call returns the same table, and does not change the restrictions.
///
/// ```
/// use mlua::Lua;
/// use torch_storage::host::{self, Restrictions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let lua = Lua::new();
/// let torch = host::open_restricted(&lua, &Restrictions { memory: Some(8 << 20), ..Restrictions::default() })?;
/// lua.globals().set("torch", torch)?;
/// lua.load("s = torch.FloatStorage(1000):fill(0.5)").exec()?;
/// assert_eq!(host::memory_in_use(&lua)?, 4000);
/// let refused = lua.load("torch.FloatStorage(1e9)").exec().unwrap_err().to_string();
/// assert!(refused.contains("4000000000 bytes were requested, and the host program allows 8388608"), "{refused}");
/// assert!(lua.load("torch.load 'secrets.t7'").exec().is_err());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Those of [`open`]; if the library was opened in another way.
pub fn open_restricted(lua: &Lua, restrictions: &Restrictions<'_>) -> Result<Table> {
    let is_open = module(lua)?.is_some();
    let torch = open_in(lua, Kind::Restricted, |options| {
        options.raw_set("memory", restrictions.memory.unwrap_or(0))?;
        options.raw_set("threads", restrictions.threads)?;
        options.raw_set("publications", lua.create_table_from(restrictions.publications.iter().map(|&name| (name, true)))?)
    })?;
    if !is_open && restrictions.memory == Some(0) {
        // In the options, 0 is no limit.
        set_memory_limit(lua, Some(0))?;
    }
    Ok(torch)
}

/// How many bytes of memory the storages of a Lua state have. It counts heap memory that scripts have allocated: not what the program
/// handed to them, and not files and shared memory. It is 0 if nobody has set a limit yet.
///
/// # Errors
/// If the library is not open in this Lua state.
pub fn memory_in_use(lua: &Lua) -> Result<usize> {
    function(lua, "memoryinuse")?.call(())
}

/// Sets how many bytes the storages of a Lua state may have; `None` is no limit. A memory limit of Lua does not count them. From the first
/// call on, memory that scripts allocate is counted, and what would exceed the limit is an error in Lua, after garbage was collected.
///
/// Returns whether no more than that is in use. Otherwise nothing new is made until it is.
///
/// # Errors
/// If the library is not open in this Lua state, or if memory runs out.
pub fn set_memory_limit(lua: &Lua, bytes: Option<usize>) -> Result<bool> {
    let set = function(lua, "setmemorylimit")?;
    bytes.map_or_else(|| set.call(()), |bytes| set.call(bytes))
}

/// Opens the library with options, or returns its table if it is open with the same.
fn open_in(lua: &Lua, kind: Kind, set: impl FnOnce(&Table) -> Result<()>) -> Result<Table> {
    if let Some(core) = module(lua)? {
        let open = if core.raw_get::<bool>("restricted")? {
            Kind::Restricted
        } else if core.raw_get::<bool>("hides_addresses")? {
            Kind::Hidden
        } else {
            Kind::WithAddresses
        };
        if open != kind {
            let (open, kind) = (open.text(), kind.text());
            return Err(mlua::Error::runtime(format!("torch is open in this Lua state {open}, and cannot be opened {kind}")));
        }
    } else {
        let options = lua.create_table()?;
        options.raw_set("hides_addresses", kind != Kind::WithAddresses)?;
        options.raw_set("restricted", kind == Kind::Restricted)?;
        set(&options)?;
        lua.set_named_registry_value(OPTIONS, options)?;
    }
    // SAFETY: [state] `mlua` calls the function with its state.
    unsafe { lua.create_c_function(raising(embedded::open)) }?.call(())
}

/// What scripts get of the library.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    WithAddresses,
    Hidden,
    Restricted,
}

impl Kind {
    fn text(self) -> &'static str {
        match self {
            Self::WithAddresses => "with addresses",
            Self::Hidden => "without addresses",
            Self::Restricted => "restricted",
        }
    }
}

/// The library's module in this Lua state, if it is open.
fn module(lua: &Lua) -> Result<Option<Table>> {
    // SAFETY: [state] `mlua` calls the function with its state.
    unsafe { lua.create_c_function(raising(opened_module)) }?.call(())
}

/// The function `name` of the library's module in this Lua state.
fn function(lua: &Lua, name: &str) -> Result<Function> {
    let closed = || mlua::Error::runtime("torch is not open in this Lua state: call torch_storage::host::open first");
    module(lua)?.ok_or_else(closed)?.raw_get(name)
}

/// Makes a Lua value of a storage or tensor.
fn give(lua: &Lua, passed: Passed) -> Result<Value> {
    let from_program = function(lua, "fromprogram")?;
    program::pass(Some(Ok(passed)), || from_program.call(())).0
}

/// The storage or tensor that a Lua value is. `to` is the Rust type that is wanted, and `hint` says what to do with the other one.
fn receive(lua: &Lua, value: &Value, to: &str, wants_tensor: bool) -> Result<Passed> {
    let refuse =
        |message: Option<String>| mlua::Error::FromLuaConversionError { from: value.type_name(), to: to.to_owned(), message };
    if !matches!(value, Value::UserData(_)) {
        return Err(refuse(None));
    }
    let to_program = function(lua, "toprogram")?;
    let (called, slot): (Result<()>, Slot) = program::pass(None, || to_program.call(value));
    called?;
    match slot {
        Some(Ok(passed)) if passed.layout.is_some() == wants_tensor => Ok(passed),
        Some(Ok(passed)) => {
            let dtype = passed.storage.dtype();
            Err(refuse(Some(if wants_tensor {
                format!("it is a {}; s:view(-1) is a tensor of its elements", dtype.class_name())
            } else {
                format!("it is a {}; x:storage() is its storage", dtype.tensor_class_name())
            })))
        }
        Some(Err(Refusal::Freed)) => Err(refuse(Some("the storage was freed".to_owned()))),
        Some(Err(Refusal::Error(Error::Anchored))) => {
            Err(refuse(Some("its memory belongs to a Lua value; clone() returns a copy with memory of its own".to_owned())))
        }
        Some(Err(Refusal::Error(error))) => Err(refuse(Some(error.to_string()))),
        Some(Err(Refusal::OtherValue)) | None => Err(refuse(None)),
    }
}

impl IntoLua for Storage {
    fn into_lua(self, lua: &Lua) -> Result<Value> {
        give(lua, Passed { storage: self, layout: None })
    }
}

impl IntoLua for &Storage {
    fn into_lua(self, lua: &Lua) -> Result<Value> {
        self.clone().into_lua(lua)
    }
}

impl FromLua for Storage {
    fn from_lua(value: Value, lua: &Lua) -> Result<Self> {
        receive(lua, &value, "Storage", false).map(|passed| passed.storage)
    }
}

/// Why a Rust function that scripts call fails: the error becomes a Lua error with its message.
impl From<Error> for mlua::Error {
    fn from(error: Error) -> Self {
        Self::external(error)
    }
}

/// A tensor: a storage, and a layout of its elements in several dimensions.
///
/// ```
/// use mlua::Lua;
/// use torch_storage::Storage;
/// use torch_storage::host::{self, Layout, Tensor};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let lua = Lua::new();
/// host::open(&lua)?;
/// let image = Tensor::new(Storage::from_vec(vec![0u8; 6]), Layout::contiguous(&[2, 3])?)?;
/// lua.globals().set("image", &image)?;
/// let row: Tensor = lua.load("image[2][3] = 7; return image[2]").eval()?;
/// assert_eq!((row.layout().sizes(), row.layout().offset()), (&[3][..], 3));
/// assert_eq!(image.storage().to_vec::<u8>()?, [0, 0, 0, 0, 0, 7]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Tensor {
    storage: Storage,
    layout: Layout,
}

impl Tensor {
    /// A tensor over a storage.
    ///
    /// # Errors
    /// A [`ShapeError`](crate::error::ShapeError) if the storage does not have all its elements.
    pub fn new(storage: Storage, layout: Layout) -> std::result::Result<Self, Error> {
        tensor::Tensor::new(storage.engine(), &layout).check()?;
        Ok(Self { storage, layout })
    }

    /// The storage with the elements.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Where the elements are in the storage.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl IntoLua for Tensor {
    fn into_lua(self, lua: &Lua) -> Result<Value> {
        give(lua, Passed { storage: self.storage, layout: Some(self.layout) })
    }
}

impl IntoLua for &Tensor {
    fn into_lua(self, lua: &Lua) -> Result<Value> {
        self.clone().into_lua(lua)
    }
}

impl FromLua for Tensor {
    fn from_lua(value: Value, lua: &Lua) -> Result<Self> {
        let Passed { storage, layout } = receive(lua, &value, "Tensor", true)?;
        Ok(Self { storage, layout: layout.unwrap_or(Layout::contiguous(&[0])?) })
    }
}
