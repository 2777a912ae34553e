//! The functions of `include/torch_storage.h`, through which this library reaches storages and tensors.
//!
//! The structures are those of the header. `spec/header.c` has the same numbers as the assertions at the end of this file, and
//! `make test-mpi` compiles it with the header.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::offset_of;
use std::ptr;

use mlua_sys::lua_State;

use crate::lua::{Name, Raising, State};

/// The types of elements, by their numbers in the header.
pub mod dtype {
    use std::ffi::c_int;

    pub const ANY: c_int = 0;
    pub const BYTE: c_int = 1;
    pub const CHAR: c_int = 2;
    pub const SHORT: c_int = 3;
    pub const INT: c_int = 4;
    pub const LONG: c_int = 5;
    pub const FLOAT: c_int = 7;
    pub const DOUBLE: c_int = 8;
    pub const UINT16: c_int = 9;
    pub const UINT32: c_int = 10;
    pub const UINT64: c_int = 11;
    pub const BOOL: c_int = 13;
    pub const COMPLEX_FLOAT: c_int = 18;
    pub const COMPLEX_DOUBLE: c_int = 19;
    pub const UNTYPED: c_int = 20;

    /// The names of the types, by their numbers.
    const NAMES: [&str; 21] = [
        "no type",
        "Byte",
        "Char",
        "Short",
        "Int",
        "Long",
        "Half",
        "Float",
        "Double",
        "UInt16",
        "UInt32",
        "UInt64",
        "BFloat16",
        "Bool",
        "Float8_e4m3fn",
        "Float8_e5m2",
        "Float8_e4m3fnuz",
        "Float8_e5m2fnuz",
        "ComplexFloat",
        "ComplexDouble",
        "Untyped",
    ];

    /// The name of a type, as in the names of its classes.
    pub fn name(number: i64) -> &'static str {
        usize::try_from(number).ok().and_then(|number| NAMES.get(number)).copied().unwrap_or("another type")
    }
}

pub const WRITABLE: c_int = 1;
pub const ALIGNED: c_int = 2;
const TENSORS: c_int = 256;
const PIN: c_int = 512;

pub const KEY: Name = c"torch_storage.1";
pub const MAJOR: u32 = 1;
pub const MINOR: u32 = 0;
const MAGIC: u64 = u64::from_le_bytes(*b"TORCHAPI");

/// `torch_storage_view`: elements of a storage or of a contiguous tensor.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct View {
    struct_size: usize,
    pub data: *mut c_void,
    pub size: usize,
    pub width: usize,
    pub dtype: c_int,
    pub flags: c_int,
    class_name: *const c_char,
}

impl View {
    const EMPTY: Self = Self {
        struct_size: size_of::<Self>(),
        data: ptr::null_mut(),
        size: 0,
        width: 0,
        dtype: 0,
        flags: 0,
        class_name: ptr::null(),
    };

    /// Bytes of ours.
    pub fn over(bytes: &mut [u8]) -> Self {
        let (data, size) = (bytes.as_mut_ptr().cast(), bytes.len());
        Self { data, size, width: 1, dtype: dtype::UNTYPED, ..Self::EMPTY }
    }

    /// Bytes that are only read.
    pub fn of_bytes(bytes: *const [u8]) -> Self {
        let (data, size) = (bytes.cast::<c_void>().cast_mut(), bytes.len());
        Self { data, size, width: 1, dtype: dtype::UNTYPED, ..Self::EMPTY }
    }

    /// The name of the class, `"torch.FloatStorage"` for example.
    pub fn class(&self) -> &'static str {
        if self.class_name.is_null() {
            return "a storage";
        }
        // SAFETY: [live] the header says that it is a constant.
        unsafe { CStr::from_ptr(self.class_name) }.to_str().unwrap_or("a storage")
    }

    pub fn bytes(&self) -> usize {
        self.size * self.width
    }

    /// Elements `first` to `first + size` of the view, which the caller has checked.
    pub fn part(&self, first: usize, size: usize) -> Self {
        Self { data: self.data.wrapping_byte_add(first * self.width), size, ..*self }
    }

    /// Whether both have some of the same bytes.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (a, b) = (self.data.addr(), other.data.addr());
        self.bytes() > 0 && other.bytes() > 0 && a < b + other.bytes() && b < a + self.bytes()
    }
}

/// `torch_storage_hold`.
pub enum RawHold {}

/// `torch_storage_api`.
#[repr(C)]
struct Table {
    magic: u64,
    major: u32,
    minor: u32,
    size: usize,
    library: *const c_char,
    test: unsafe extern "C-unwind" fn(*mut lua_State, c_int, c_int, c_int, *mut View) -> c_int,
    check: unsafe extern "C-unwind" fn(*mut lua_State, c_int, c_int, c_int, *mut View),
    test_tensor: *const c_void,
    check_tensor: *const c_void,
    retain: unsafe extern "C-unwind" fn(*mut lua_State, c_int, c_int) -> *mut RawHold,
    release: unsafe extern "C" fn(*mut RawHold),
    held: unsafe extern "C" fn(*const RawHold, *mut View),
    push: *const c_void,
    create: *const c_void,
    wrap: *const c_void,
    create_tensor: *const c_void,
}

/// `torch_storage_box`: what the registry has under [`KEY`].
#[repr(C)]
struct TableBox {
    magic: u64,
    table: *const Table,
}

/// The table of functions.
#[derive(Clone, Copy)]
pub struct Torch(&'static Table);

/// What is wanted of an argument: a storage or a contiguous tensor with these flags, of this type or of any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wants {
    pub dtype: c_int,
    pub flags: c_int,
}

impl Torch {
    /// The table in the userdata at `index`, or `None` if another value is there or its version does not fit.
    pub fn at(state: State, index: c_int) -> Option<Self> {
        let block = state.block(index, size_of::<TableBox>())?.cast::<TableBox>();
        // SAFETY: [layout] the block has the size of a box, and Lua aligns blocks for it.
        let found = unsafe { block.read() };
        if found.magic != MAGIC {
            return None;
        }
        // SAFETY: [live] the magic number says that torch-storage made the box. Its table is a constant of a library that stays
        // loaded.
        let table = unsafe { &*found.table };
        let version_fits = table.major == MAJOR && (MINOR..).contains(&table.minor);
        let fits = table.magic == MAGIC && version_fits && table.size >= size_of::<Table>();
        fits.then_some(Self(table))
    }

    /// The elements of the value at a stack index, or `None` if it does not fit.
    pub fn view(self, state: State, index: c_int, wants: Wants) -> Option<View> {
        let mut view = View::EMPTY;
        // SAFETY: [state] the function does not raise. [layout] the view says its size.
        let fits = unsafe { (self.0.test)(state.raw(), index, wants.dtype, wants.flags | TENSORS, &raw mut view) };
        (fits != 0).then_some(view)
    }

    /// Raises the error for a value that does not fit.
    pub fn refuse(self, lua: Raising, index: c_int, wants: Wants) {
        let mut view = View::EMPTY;
        // SAFETY: [state] [no-drop] [layout] the view says its size.
        unsafe { (self.0.check)(lua.raw(), index, wants.dtype, wants.flags | TENSORS, &raw mut view) };
    }

    /// A reference to the storage or tensor at a stack index, whose elements stay where they are. Raises if there is none.
    pub fn retain(self, lua: Raising, index: c_int) -> *mut RawHold {
        // SAFETY: [state] the token belongs to the function that is running. [no-drop] whoever has it keeps the rule.
        unsafe { (self.0.retain)(lua.raw(), index, PIN) }
    }

    /// Takes what [`retain`](Self::retain) gave.
    ///
    /// # Safety
    /// `[owned]`: it came from `retain` of this table, and nobody else gives it back.
    pub const unsafe fn hold(self, raw: *mut RawHold) -> Hold {
        Hold { torch: self, raw }
    }
}

/// A reference to the elements of a storage, which stay where they are while it exists.
pub struct Hold {
    torch: Torch,
    raw: *mut RawHold,
}

impl Hold {
    pub fn view(&self) -> View {
        let mut view = View::EMPTY;
        // SAFETY: [owned] the reference was not given back. [layout] the view says its size.
        unsafe { (self.torch.0.held)(self.raw, &raw mut view) };
        view
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // SAFETY: [owned] it is given back once.
        unsafe { (self.torch.0.release)(self.raw) };
    }
}

const _: () = {
    assert!(size_of::<View>() == 48 && size_of::<TableBox>() == 16 && size_of::<Table>() == 120);
    assert!(offset_of!(View, data) == 8 && offset_of!(View, size) == 16 && offset_of!(View, width) == 24);
    assert!(offset_of!(View, dtype) == 32 && offset_of!(View, flags) == 36 && offset_of!(View, class_name) == 40);
    assert!(offset_of!(Table, major) == 8 && offset_of!(Table, minor) == 12 && offset_of!(Table, size) == 16);
    assert!(offset_of!(Table, library) == 24 && offset_of!(Table, test) == 32 && offset_of!(Table, check) == 40);
    assert!(offset_of!(Table, retain) == 64 && offset_of!(Table, release) == 72 && offset_of!(Table, held) == 80);
    assert!(offset_of!(TableBox, table) == 8);
};
