//! Reading arguments that name a class, and the faults for a class or a tensor that stands where a storage or a string belongs.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::{Call, no_class};
use crate::element::DType;
use crate::lua::context::{Context, Place};
use crate::lua::fault::{Fault, written};
use crate::lua::{tensor, userdata};

impl<'call> Call<'call> {
    /// Argument `n` as a class: its name, PyTorch's name of the dtype, its constructor or its metatable.
    pub fn class(self, n: c_int) -> Result<DType, Fault> {
        if self.is_absent(n) {
            return Err(self.mismatch(n, CLASS));
        }
        self.class_at(n).map_err(|wrong| wrong.at(n))
    }

    /// The value at a stack index as a class, or what is wrong with it.
    pub fn class_at(self, index: c_int) -> Result<DType, Fault> {
        match self.state.kind(index) {
            ffi::LUA_TSTRING => {
                // SAFETY: [live] the name is used while the string is in its slot, and no Lua code runs.
                let name = unsafe { self.state.string(index) }.unwrap_or_default();
                let found = std::str::from_utf8(name).ok().and_then(DType::from_name);
                found.ok_or_else(|| no_class(name, DType::ALL.iter().copied(), DType::class_name))
            }
            ffi::LUA_TTABLE => {
                self.class_of_table(index).ok_or_else(|| Fault::new(format_args!("{CLASS} expected, got another table")))
            }
            _ => Err(Fault::new(format_args!("{CLASS} expected, got {}", self.name_of(index)))),
        }
    }

    /// The class whose constructor or metatable is the table at a stack index.
    pub fn class_of_table(self, index: c_int) -> Option<DType> {
        self.class_with_table(index, [Place::constructor, Place::metatable])
    }

    /// The class of tensors whose constructor or metatable is the table at a stack index.
    pub fn tensor_class_of_table(self, index: c_int) -> Option<DType> {
        self.class_with_table(index, [Place::tensor_constructor, Place::tensor_metatable])
    }

    /// The class that has the table at a stack index in one of its places.
    fn class_with_table(self, index: c_int, places: [fn(DType) -> Place; 2]) -> Option<DType> {
        // A list of numbers is told from a class by its length, because the comparisons take a microsecond.
        if self.state.length(index) > 0 {
            return None;
        }
        let (top, index) = (self.state.top(), self.state.absolute(index));
        DType::ALL.iter().copied().find(|&dtype| {
            places.iter().any(|place| {
                let found =
                    Context::push_table(self.state, place(dtype)).is_some_and(|table| self.state.raw_equal(index, table.index()));
                self.state.set_top(top);
                found
            })
        })
    }

    /// The fault for argument 1 of a method that is not a storage of the function's class: it is another value, the method was called
    /// with a point or on the class, or the storage was freed.
    #[cold]
    pub(super) fn not_this(self) -> Fault {
        let dtype = self.dtype();
        if userdata::class(self.state, 1).is_some() && self.count > 0 {
            return self.storage_of(1, dtype).err().unwrap_or_else(|| self.mismatch(1, dtype.class_name()));
        }
        let class = dtype.class_name();
        let is_tensor = tensor::class(self.state, 1).is_some();
        let why = written(|f| match self.kind(1) {
            ffi::LUA_TUSERDATA if is_tensor => f.write_str("x:storage() is its storage"),
            ffi::LUA_TTABLE if self.class_of_table(1).is_some() => write!(f, "this is a class; {class}(...) makes a storage"),
            _ => f.write_str("methods are called with a colon, as in s:size()"),
        });
        Fault::argument(1, format_args!("{class} expected, got {}: {why}", self.type_name(1)))
    }

    /// The fault for argument `n` that is not a storage of the class `expected`. For a tensor it says how to get the storage.
    pub(super) fn no_storage(self, n: c_int, expected: &str) -> Fault {
        match tensor::class(self.state, n) {
            Some(dtype) if n <= self.count => {
                let got = dtype.tensor_class_name();
                Fault::argument(n, format_args!("{expected} expected, got {got}: x:storage() is its storage"))
            }
            _ => self.mismatch(n, expected),
        }
    }

    /// Argument 1 as the string of a function that is called with a point, as in `torch.IntStorage.fromstring(text)`. `function` is its
    /// name, for the fault if a class or a storage is there instead, because the function was called with a colon.
    pub fn string_of_function(self, function: &str) -> Result<&'call [u8], Fault> {
        self.string(1).map_err(|fault| {
            let (class, got) = (self.dtype().class_name(), self.type_name(1));
            let is_class = self.kind(1) == ffi::LUA_TTABLE && self.class_of_table(1).is_some();
            if is_class || self.count > 0 && userdata::class(self.state, 1).is_some() {
                Fault::argument(
                    1,
                    format_args!("string expected, got {got}: it is called with a point, as in {class}.{function}(text)"),
                )
            } else {
                fault
            }
        })
    }
}

/// The values that stand for a class, for messages.
const CLASS: &str = "class (a name like 'torch.FloatStorage' or 'float32', or torch.FloatStorage itself)";
