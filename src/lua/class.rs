//! Fills a Lua state: the metatables and constructor tables of the classes, and the table of the module.

use std::ffi::{CStr, c_void};

use super::atomic;
use super::budget;
use super::c_api;
use super::context::{Place, Rows, Shared, UPVALUES};
use super::direct;
use super::fault::{Fault, raise};
#[cfg(feature = "formats")]
use super::formats;
use super::guard;
use super::living;
use super::methods::{self, Method, buffer, construct, inspect, module, sharing};
use super::picking;
use super::pressure;
use super::restricted::{self, OPTIONS, Options, REFUSED, allows};
use super::state::{HAS_INTEGERS, Name, REGISTRY, Raising, State, Table};
use super::{t7, tensor, userdata};
use crate::bulk;
use crate::convert::count_to_f64;
use crate::element::DType;
use crate::error::shown;
use crate::lua::entry::{function, raising};
use crate::storage::header::C_FIELDS;
use crate::system::{files, library};

/// Pushes the module's table. Opening the library again in the same Lua state gives the same table.
pub fn push_module_once(lua: Raising) {
    if push_module_if_open(lua.state()) {
        refuse_other_options(lua);
        refuse_restricted(lua);
        return;
    }
    open_module(lua);
}

/// Does the same as [`push_module_once`] for the host, which also gets the module when the scripts are restricted.
#[cfg(feature = "embedded")]
pub fn push_module_for_host(lua: Raising) {
    if push_module_if_open(lua.state()) {
        return refuse_other_options(lua);
    }
    open_module(lua);
}

/// Pushes the module's table, which is new.
fn open_module(lua: Raising) {
    refuse_second_core(lua);
    let options = Options::read(lua);
    let module = push_module(lua, &options);
    lua.push_light(key());
    lua.push_value(module.index());
    lua.raw_set_top(REGISTRY);
    set_open(lua);
    // If this failed before, because memory ran out, the next attempt finds the options again. A script must not open the library
    // without them.
    Options::forget(lua);
}

/// Raises an error if the host wants options when the library is open already.
fn refuse_other_options(lua: Raising) {
    lua.push_field(REGISTRY, OPTIONS);
    let has_options = lua.table(-1).is_some();
    lua.set_top(lua.top() - 1);
    if has_options {
        Options::forget(lua);
        raise(lua, Fault::new("torch is open in this Lua state already, so it cannot be opened with other options"));
    }
}

/// Raises an error if scripts of a restricted state want the module, which is on the top. The Lua files have got it when it was opened,
/// and do not ask again.
fn refuse_restricted(lua: Raising) {
    let module = lua.top();
    if let Some(table) = lua.table(module) {
        lua.push_field(table, c"restricted");
        let is_restricted = lua.boolean(-1);
        lua.set_top(module);
        if is_restricted {
            raise(lua, Fault::new("torch.core is not available: the host program restricts this Lua state"));
        }
    }
}

/// Where the registry has the version and the file of the library that is open.
const OPEN: Name = c"torch.core";

/// Raises an error if another copy of this library is open in this Lua state. C modules would find the functions of one copy and get
/// storages of the other.
fn refuse_second_core(lua: Raising) {
    lua.push_field(REGISTRY, OPEN);
    // SAFETY: [live] the string stays on the top while it is copied.
    if let Some(other) = unsafe { lua.string(-1) } {
        let fault = second_core(other);
        raise(lua, fault);
    }
    lua.set_top(lua.top() - 1);
}

/// The fault for a second copy. `other` says which copy is open.
fn second_core(other: &[u8]) -> Fault {
    let other = shown(other);
    Fault::new(format_args!("another torch.core is open in this Lua state: {other}. A Lua state can have only one"))
}

/// Records that this copy of the library is open.
fn set_open(lua: Raising) {
    // When a Lua state is closed, the package library unloads its libraries first, and the finalizer of an object that was made before
    // `require` may use a storage after that.
    library::keep_loaded(refuse_second_core as *const c_void);
    lua.push_text(concat!("version ", env!("CARGO_PKG_VERSION"), " in "));
    match library::path_of(refuse_second_core as *const c_void, &mut [0; files::LONGEST]) {
        // SAFETY: [live] the path stays until the end of the call.
        Some(path) => unsafe { lua.push_bytes(path) },
        None => lua.push_text("this program"),
    }
    lua.concat(2);
    lua.set_field(REGISTRY, OPEN);
}

/// Pushes the module's table if the library is open in this Lua state. Otherwise pushes nothing and returns false.
pub fn push_module_if_open(lua: State) -> bool {
    lua.push_light(key());
    lua.raw_get_top(REGISTRY);
    let is_open = lua.table(-1).is_some();
    if !is_open {
        lua.set_top(lua.top() - 1);
    }
    is_open
}

/// The key of the module's table in the registry. It is an address in this copy of the library, so another copy of the library has its
/// own module.
fn key() -> *mut c_void {
    userdata::magic(DType::ALL[0]).cast_mut().cast()
}

/// The values that are needed to make the functions.
#[derive(Clone, Copy)]
struct Maker<'call> {
    lua: Raising<'call>,
    shared: &'call Shared,
    rows: &'call Rows<'call>,
    /// Whether functions that `restricted.txt` does not allow are registered as ones that raise an error.
    is_restricted: bool,
}

/// Pushes the module's table: its functions, and `classes`, an array of entries with the metatable, the constructor and the
/// [fields](fields_of) of each class, and `tensors`, the same for the classes of tensors.
fn push_module<'call>(lua: Raising<'call>, options: &Options) -> Table<'call> {
    // From now on freeing a slot of the registry allocates nothing, so it cannot raise.
    lua.push_boolean(true);
    let slot = lua.reference();
    // SAFETY: [owned] the slot was got just above, and is given back once.
    unsafe { lua.unreference(slot) };
    let shared = Shared::push_new(lua);
    pressure::set_limit(lua.state(), shared);
    shared.is_restricted.set(options.is_restricted);
    shared.hides_addresses.set(options.hides_addresses);
    shared.publications.set(options.publications);
    let rows = Rows::new(shared);
    let push_upvalue = || rows.push_upvalue(lua, DType::Byte, "close");
    if options.is_restricted {
        guard::install(lua, shared, push_upvalue);
        living::know_objects(lua, shared);
    }
    if let Some(bytes) = options.memory {
        budget::set_limit_of(lua, shared, Some(bytes).filter(|&bytes| bytes > 0), push_upvalue);
    }
    if let Some(threads) = options.threads {
        bulk::set_threads(threads);
    }
    let maker = Maker { lua, shared, rows: &rows, is_restricted: options.is_restricted };
    let module = lua.push_table(0);
    let classes = lua.push_table(0);
    for (n, &dtype) in (1..).zip(DType::ALL) {
        maker.push_class(dtype);
        lua.raw_set(classes, n);
    }
    lua.set_field(module, c"classes");
    let tensors = lua.push_table(0);
    for (n, dtype) in (1..).zip(tensor::dtypes()) {
        maker.push_tensor_class(dtype);
        lua.raw_set(tensors, n);
    }
    lua.set_field(module, c"tensors");
    let methods = maker.push_file_class("File:", t7::METHODS, Place::FILE);
    for &dtype in DType::ALL {
        t7::for_each_element_method(dtype, |method| maker.register("File:", dtype, methods, method));
    }
    lua.set_field(module, c"t7methods");
    maker.register_all(
        module,
        &[
            module::FUNCTIONS,
            restricted::FUNCTIONS,
            buffer::FUNCTIONS,
            sharing::FUNCTIONS,
            tensor::FUNCTIONS,
            picking::FUNCTIONS,
            t7::FUNCTIONS,
        ],
    );
    maker.push_tables(module, &atomic::TABLES);
    #[cfg(feature = "answers")]
    maker.register_all(module, &[super::answers::FUNCTIONS]);
    maker.push_tables(module, &picking::TABLES);
    #[cfg(feature = "formats")]
    maker.push_formats(module);
    #[cfg(feature = "host")]
    maker.register_all(module, &[super::program::FUNCTIONS]);
    lua.push_boolean(options.is_restricted);
    lua.set_field(module, c"restricted");
    lua.push_boolean(options.hides_addresses);
    lua.set_field(module, c"hides_addresses");
    set_text(lua, module, c"fields", C_FIELDS);
    set_text(lua, module, c"tensorfields", tensor::FIELDS);
    set_text(lua, module, c"version", env!("CARGO_PKG_VERSION"));
    // A light userdata for the accessors. All light userdata share one metatable, so this one shows whether a program has set it.
    lua.push_light(userdata::magic(DType::Byte).cast_mut().cast());
    lua.set_field(module, c"light");
    push_direct(lua);
    lua.set_field(module, c"direct");
    c_api::install(lua, |lua| rows.push_upvalue(lua, DType::Byte, "serve"));
    module
}

/// Pushes an array with an entry `{ name, ctype, address }` for each function that the FFI calls. It is empty for a Lua that has no FFI, so
/// that its library does not contain them.
fn push_direct(lua: Raising) {
    let list = lua.push_table(0);
    if !cfg!(any(feature = "lua51", feature = "luajit")) {
        return;
    }
    for (n, &(name, signature, address)) in (1..).zip(direct::functions().iter().chain(&atomic::direct())) {
        let entry = lua.push_table(0);
        set_text(lua, entry, c"name", name);
        set_text(lua, entry, c"ctype", signature);
        lua.push_whole(address);
        lua.set_field(entry, c"address");
        lua.raw_set(list, n);
    }
}

impl<'call> Maker<'call> {
    /// Pushes the entry of a class of storages for the module.
    fn push_class(self, dtype: DType) {
        let lua = self.lua;
        let functions = [
            (c"__call", raising(construct::call_class)),
            (c"__new", raising(construct::new)),
            (c"__tostring", function(inspect::class_text)),
        ];
        let places = [Place::metatable(dtype), Place::of_storages(dtype), Place::constructor(dtype)];
        let entry = self.push_entry(dtype, dtype.class_name(), places, &functions, |metatable| {
            methods::for_each(dtype, |method| self.register("Storage:", dtype, metatable, method));
        });
        for &(name, field) in &fields_of(dtype) {
            match field {
                Field::Absent => continue,
                Field::Text(text) => lua.push_text(text),
                Field::Number(number) => lua.push_whole(number),
                Field::Boolean(value) => lua.push_boolean(value),
            }
            lua.set_field(entry, name);
        }
    }

    /// Pushes the entry of a class of tensors, with its name and its magic word.
    fn push_tensor_class(self, dtype: DType) {
        let lua = self.lua;
        let functions = [
            (c"__call", raising(tensor::call_class)),
            (c"__new", raising(tensor::new)),
            (c"__tostring", function(tensor::class_text)),
        ];
        let places = [Place::tensor_metatable(dtype), Place::of_tensors(dtype), Place::tensor_constructor(dtype)];
        let entry = self.push_entry(dtype, dtype.tensor_class_name(), places, &functions, |metatable| {
            tensor::for_each(dtype, |method| self.register("Tensor:", dtype, metatable, method));
        });
        set_text(lua, entry, c"name", dtype.tensor_class_name());
        lua.push_count(tensor::magic(dtype).expose_provenance());
        lua.set_field(entry, c"magic");
        // The number of the dtype's entry in `classes`, from 1.
        lua.push_count(dtype.number() + 1);
        lua.set_field(entry, c"number");
    }

    /// Pushes the entry of a class with its metatable and its constructor table, and keeps these, and the metatable of its objects, in
    /// their places. `register` adds the methods to the metatable, and `functions` are those of the constructor table.
    fn push_entry(
        self,
        dtype: DType,
        name: &'static str,
        [metatable_place, objects_place, constructor_place]: [Place; 3],
        functions: &[Method],
        register: impl FnOnce(Table),
    ) -> Table<'call> {
        let lua = self.lua;
        let entry = lua.push_table(0);
        let metatable = lua.push_table(0);
        lua.push_value(metatable.index());
        self.shared.keep_table(lua, metatable_place);
        register(metatable);
        self.complete(metatable, name);
        if self.is_restricted {
            restricted::push_metatable_of_objects(lua, metatable);
            self.shared.keep_table(lua, objects_place);
        } else {
            self.shared.share_table(metatable_place, objects_place);
        }
        let constructor = self.push_constructor(dtype, name, metatable, functions);
        lua.push_value(constructor.index());
        self.shared.keep_table(lua, constructor_place);
        lua.set_field(entry, c"constructor");
        lua.set_field(entry, c"metatable");
        entry
    }

    /// Sets the fields that the metatables of all classes have.
    fn complete(self, metatable: Table, name: &'static str) {
        let lua = self.lua;
        set_text(lua, metatable, c"__typename", name);
        if HAS_INTEGERS {
            // The name of the type in messages of Lua 5.3 and later.
            set_text(lua, metatable, c"__name", name);
        }
        lua.push_count(1);
        lua.set_field(metatable, c"__version");
        lua.push_value(metatable.index());
        lua.set_field(metatable, c"__metatable");
    }

    /// Pushes the table that is called to make objects of a class, and stores it in the metatable. It is empty, so reading a field
    /// gives a method of the class, and writing a field adds a method.
    fn push_constructor(self, dtype: DType, class: &'static str, metatable: Table<'_>, functions: &[Method]) -> Table<'call> {
        let lua = self.lua;
        let constructor = lua.push_table(0);
        let own = lua.push_table(0);
        for &method in functions {
            // A program calls these functions by the name of the class.
            self.register_as(true, class.trim_start_matches("torch."), dtype, own, method);
        }
        for name in [c"__index", c"__newindex", c"__metatable"] {
            lua.push_value(metatable.index());
            lua.set_field(own, name);
        }
        lua.set_metatable_from_top(constructor.index());
        lua.push_value(constructor.index());
        lua.set_field(metatable, c"__constructor");
        constructor
    }

    /// Pushes a table with the methods of open files, and keeps their metatable, which has the metamethods, in a place.
    fn push_file_class(self, before: &str, functions: &[Method], place: Place) -> Table<'call> {
        let lua = self.lua;
        let methods = lua.push_table(0);
        let metatable = lua.push_table(0);
        for &(name, function) in functions {
            let table = if name.to_bytes().starts_with(b"__") { metatable } else { methods };
            self.register(before, DType::Byte, table, (name, function));
        }
        lua.push_value(methods.index());
        lua.set_field(metatable, c"__index");
        lua.push_boolean(false);
        lua.set_field(metatable, c"__metatable");
        self.shared.keep_table(lua, place);
        methods
    }

    /// Adds tables of functions to the module. What stands before a point in the name of a function is not in its field.
    fn push_tables(self, module: Table, tables: &[(Name, &[Method])]) {
        for &(name, functions) in tables {
            let table = self.lua.push_table(0);
            for &(full, function) in functions {
                let field = full.to_bytes_with_nul().rsplit(|&byte| byte == b'.').next().unwrap_or_default();
                let field = CStr::from_bytes_with_nul(field).unwrap_or(full);
                let shown = full.to_str().unwrap_or("?");
                let is_allowed = !self.is_restricted || allows("torch.", shown) || allows("", shown);
                self.register_as(is_allowed, shown, DType::Byte, table, (field, function));
            }
            self.lua.set_field(module, name);
        }
    }

    /// Adds the tables of functions for safetensors, npy and npz files to the module. Makes the class of open files.
    #[cfg(feature = "formats")]
    fn push_formats(self, module: Table) {
        let lua = self.lua;
        self.push_tables(module, &formats::TABLES);
        self.push_file_class("SafetensorsFile:", formats::METHODS, Place::FORMATS);
        lua.set_field(module, c"safetensorsmethods");
    }

    /// Puts functions of the module, which do not use their class, into a table. Programs or the Lua files call them.
    fn register_all(self, table: Table, lists: &[&[Method]]) {
        for &(name, function) in lists.iter().copied().flatten() {
            let shown = name.to_str().unwrap_or("?");
            let is_allowed = !self.is_restricted || allows("torch.", shown) || allows("core.", shown);
            self.register_as(is_allowed, shown, DType::Byte, table, (name, function));
        }
    }

    /// Puts a function of class `dtype` into a table. `before` is what stands before its name in `restricted.txt`.
    fn register(self, before: &str, dtype: DType, table: Table, method: Method) {
        let shown = method.0.to_str().unwrap_or("?");
        self.register_as(!self.is_restricted || allows(before, shown), shown, dtype, table, method);
    }

    /// Puts a function that messages call `shown` into a table, or one that raises an error in its place.
    fn register_as(self, is_allowed: bool, shown: &'static str, dtype: DType, table: Table, (name, function): Method) {
        self.rows.push_upvalue(self.lua, dtype, shown);
        self.lua.push_function(if is_allowed { function } else { REFUSED }, UPVALUES);
        self.lua.set_field(table, name);
    }
}

fn set_text(lua: Raising, table: Table, name: Name, text: &'static str) {
    lua.push_text(text);
    lua.set_field(table, name);
}

/// The fields that describe a dtype in an entry of `core.classes`. A small float also has its format, and the address of the function
/// that converts a number to its bits.
fn fields_of(dtype: DType) -> [(Name, Field); 15] {
    use Field::{Absent, Boolean, Number, Text};
    let small = dtype.small_float();
    let format = small.map(|float| float.format);
    let number = |number: Option<u32>| number.map_or(Absent, |number| Number(number.into()));
    [
        (c"name", Text(dtype.class_name())),
        (c"element", Text(dtype.element_name())),
        (c"ctype", Text(dtype.c_type())),
        (c"kind", Text(dtype.kind().name())),
        (c"width", Number(count_to_f64(dtype.width()))),
        (c"cast", Text(dtype.cast_name().to_str().unwrap_or(""))),
        (c"other_names", Text(dtype.other_names())),
        (c"about", Text(dtype.about())),
        (c"in_torch7", Boolean(dtype.is_in_torch7())),
        (c"magic", Number(count_to_f64(userdata::magic(dtype).expose_provenance()))),
        (c"bits", direct::bits(dtype).map_or(Absent, Number)),
        (c"mantissa", number(format.map(|format| format.mantissa))),
        (c"bias", number(format.map(|format| format.bias))),
        (c"overflow", number(format.map(|format| format.overflow))),
        (c"one_zero", format.map_or(Absent, |format| Boolean(format.one_zero))),
    ]
}

/// The value of such a field. It has no destructor, so it may be alive while Lua raises an error.
#[derive(Clone, Copy)]
enum Field {
    /// This dtype does not have the field.
    Absent,
    Text(&'static str),
    Number(f64),
    Boolean(bool),
}
