//! What a C module sees of a storage or a tensor, and why a value does not fit.

use std::ffi::{c_char, c_int, c_void};
use std::fmt::Display;
use std::ptr;

use crate::element::{DType, for_each_element};
use crate::error::{Error, shown};
use crate::lua::args::Call;
use crate::lua::fault::{Fault, written};
use crate::lua::state::State;
use crate::lua::{tensor, userdata};
use crate::storage::Storage;
use crate::tensor::Layout;

/// The constants `TORCH_WRITABLE` and so on of the header.
pub mod flag {
    use std::ffi::c_int;

    pub const WRITABLE: c_int = 1;
    pub const ALIGNED: c_int = 2;
    pub const CONTIGUOUS: c_int = 4;
    pub const RESIZABLE: c_int = 8;
    pub const RETYPED: c_int = 16;
    /// All flags of a view.
    pub const ALL: c_int = 31;
    /// `torch_storage_check` takes contiguous tensors too.
    pub const TENSORS: c_int = 256;
    /// `torch_storage_retain` keeps the elements where they are.
    pub const PIN: c_int = 512;
}

/// The number of a dtype in the header. It never changes, unlike the number of a [`DType`] in this version of the library.
pub const fn number_of(dtype: DType) -> c_int {
    match dtype {
        DType::Byte => 1,
        DType::Char => 2,
        DType::Short => 3,
        DType::Int => 4,
        DType::Long => 5,
        DType::Half => 6,
        DType::Float => 7,
        DType::Double => 8,
        DType::UInt16 => 9,
        DType::UInt32 => 10,
        DType::UInt64 => 11,
        DType::BFloat16 => 12,
        DType::Bool => 13,
        DType::Float8_e4m3fn => 14,
        DType::Float8_e5m2 => 15,
        DType::Float8_e4m3fnuz => 16,
        DType::Float8_e5m2fnuz => 17,
        DType::ComplexFloat => 18,
        DType::ComplexDouble => 19,
        DType::Untyped => 20,
    }
}

/// The dtype with a number of the header.
pub fn dtype_of(number: c_int) -> Result<DType, Fault> {
    let found = DType::ALL.iter().copied().find(|&dtype| number_of(dtype) == number);
    found.ok_or_else(|| Fault::new(format_args!("{number} is not a dtype of torch_storage.h")))
}

macro_rules! define_names {
    (; $($(#[doc = $about:literal])+ $class:ident: $type:ty = $row:tt),*) => {
        /// The names of the class of storages and of the class of tensors, with a zero byte.
        const fn names(dtype: DType) -> (&'static str, &'static str) {
            match dtype {
                $(DType::$class => (
                    concat!("torch.", stringify!($class), "Storage\0"),
                    concat!("torch.", stringify!($class), "Tensor\0"),
                ),)*
            }
        }
    };
}

for_each_element! { [define_names] {} }

/// A name that ends with a zero byte, as C needs it.
fn c_text(name: &'static str) -> *const c_char {
    name.as_ptr().cast()
}

/// What a C module asks for.
#[derive(Clone, Copy)]
pub struct Wants {
    /// The number of a dtype, or 0 for any.
    pub dtype: c_int,
    pub flags: c_int,
}

impl Wants {
    /// Whether elements of the dtype with this number and with these flags fit. No elements have flags that do not exist.
    #[inline]
    fn fit(self, dtype: c_int, flags: c_int) -> bool {
        (self.dtype == 0 || self.dtype == dtype) && self.flags & !flag::TENSORS & !flags == 0
    }

    /// The dtype that is wanted, or `None` for any. Fails if there is no such dtype, or if a flag that is wanted does not exist.
    fn class(self) -> Result<Option<DType>, Fault> {
        if self.is_any(!(flag::ALL | flag::TENSORS)) {
            return Err(Fault::new(format_args!("flags such as TORCH_WRITABLE expected as wants, got {}", self.flags)));
        }
        if self.dtype == 0 { Ok(None) } else { dtype_of(self.dtype).map(Some) }
    }

    fn is_any(self, flag: c_int) -> bool {
        self.flags & flag != 0
    }
}

/// What a C module sees of a value.
pub trait View: Copy {
    /// The view of the value at a stack index, or `None` if it does not fit.
    fn of_value(state: State, index: c_int, wants: Wants) -> Option<Self>;

    /// Why the value at a stack index does not fit.
    fn why_not(call: Call, index: c_int, wants: Wants) -> Fault;

    /// Writes the view to the caller's view, which may be shorter or longer: the caller may have been compiled with another version of
    /// the header. Fields that this version does not have become 0. The first field, which says how long the caller's view is, stays.
    ///
    /// # Safety
    /// `[vouched]`: `target` is null, or points to as many bytes as its first field says.
    unsafe fn write_to(self, target: *mut Self) {
        const FIRST: usize = size_of::<usize>();
        if target.is_null() {
            return;
        }
        // SAFETY: [vouched] the first field is there.
        let room = unsafe { target.cast::<usize>().read() };
        let bytes = room.clamp(FIRST, size_of::<Self>()) - FIRST;
        let (from, to) = ((&raw const self).cast::<u8>().wrapping_add(FIRST), target.cast::<u8>().wrapping_add(FIRST));
        // SAFETY: [in-bounds] `bytes` is at most what follows the first field in both. [vouched] the target is the caller's own memory.
        unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
        if room > size_of::<Self>() {
            let rest = target.cast::<u8>().wrapping_add(size_of::<Self>());
            // SAFETY: [vouched] the caller's view has that many bytes.
            unsafe { ptr::write_bytes(rest, 0, room - size_of::<Self>()) };
        }
    }
}

/// `torch_storage_view` of the header.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct StorageView {
    struct_size: usize,
    data: *mut c_void,
    size: usize,
    width: usize,
    dtype: c_int,
    flags: c_int,
    class_name: *const c_char,
}

/// `torch_tensor_view` of the header, which begins with the same fields.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TensorView {
    elements: StorageView,
    dimensions: c_int,
    sizes: *const usize,
    strides: *const isize,
}

impl StorageView {
    /// The whole storage.
    #[inline]
    pub fn of(storage: &Storage) -> Self {
        let mut view = Self::of_range(storage, 0, storage.size());
        if storage.is_resizable() {
            view.flags |= flag::RESIZABLE;
        }
        view
    }

    /// A range of a storage. The caller has checked it.
    #[inline]
    pub fn of_range(storage: &Storage, first: usize, size: usize) -> Self {
        let dtype = storage.dtype();
        let data = storage.data().wrapping_add(first * dtype.width());
        // The width of an element, or of the parts of a complex number, is what its C type is aligned for.
        let alignment = dtype.part().width();
        let mut flags = flag::CONTIGUOUS;
        if storage.write_limit() > 0.0 || storage.size() == 0 {
            flags |= flag::WRITABLE;
        }
        if data.addr().is_multiple_of(alignment) {
            flags |= flag::ALIGNED;
        }
        if storage.is_retyped() {
            flags |= flag::RETYPED;
        }
        Self {
            struct_size: size_of::<Self>(),
            data: if size == 0 { ptr::null_mut() } else { data.cast() },
            size,
            width: dtype.width(),
            dtype: number_of(dtype),
            flags,
            class_name: c_text(names(dtype).0),
        }
    }

    /// The elements of the contiguous tensor at a stack index.
    fn of_tensor(state: State, index: c_int) -> Option<Self> {
        // SAFETY: [live] no Lua code runs before the view is made.
        let (payload, dtype) = unsafe { tensor::payload(state, index) }?;
        let (storage, layout) = payload.parts()?;
        let span = layout.span();
        if !layout.is_contiguous() || span.end > storage.size() {
            return None;
        }
        let view = Self::of_range(&storage, span.start, span.len());
        Some(Self { class_name: c_text(names(dtype).1), ..view })
    }
}

impl View for StorageView {
    #[inline]
    fn of_value(state: State, index: c_int, wants: Wants) -> Option<Self> {
        // SAFETY: [live] no Lua code runs before the view is made.
        let view = match unsafe { userdata::payload(state, index) } {
            Some((payload, _)) => Self::of(&*userdata::storage(payload)?),
            None if wants.is_any(flag::TENSORS) => Self::of_tensor(state, index)?,
            None => return None,
        };
        wants.fit(view.dtype, view.flags).then_some(view)
    }

    fn why_not(call: Call, index: c_int, wants: Wants) -> Fault {
        let reason = || {
            let wanted = wants.class()?;
            if wants.is_any(flag::TENSORS) && tensor::class(call.state(), index).is_some() {
                let this = call.tensor(index)?;
                this.elements().contiguous_range().map_err(|error| Fault::from(error).at(index))?;
                only_of_class(index, wanted, this.dtype(), true)?;
                return flags(index, wants, &this.storage, Self::of_tensor(call.state(), index).map_or(0, |view| view.flags));
            }
            if userdata::class(call.state(), index).is_none() {
                match wanted {
                    _ if wants.is_any(flag::TENSORS) => return Err(call.mismatch(index, storage_or_tensor(wanted))),
                    Some(dtype) => return call.storage_of(index, dtype).map(|_| ()),
                    None => {}
                }
            }
            let storage = call.storage(index)?;
            only_of_class(index, wanted, storage.dtype(), false)?;
            flags(index, wants, &storage, Self::of(&storage).flags)
        };
        reason().err().unwrap_or_else(|| Fault::argument(index, "a storage expected"))
    }
}

impl TensorView {
    fn of(storage: &Storage, layout: &Layout) -> Option<Self> {
        if layout.span().end > storage.size() {
            return None;
        }
        let size = layout.elements();
        let mut elements = StorageView::of_range(storage, if size == 0 { 0 } else { layout.offset() }, size);
        if !layout.is_contiguous() {
            elements.flags &= !flag::CONTIGUOUS;
        }
        (elements.struct_size, elements.class_name) = (size_of::<Self>(), c_text(names(storage.dtype()).1));
        Some(Self {
            elements,
            // There are at most `MAX_DIMENSIONS`.
            dimensions: c_int::try_from(layout.dimensions()).unwrap_or(c_int::MAX),
            sizes: layout.sizes().as_ptr(),
            strides: layout.strides().as_ptr(),
        })
    }
}

impl View for TensorView {
    fn of_value(state: State, index: c_int, wants: Wants) -> Option<Self> {
        // SAFETY: [live] no Lua code runs before the view is made.
        let (payload, _) = unsafe { tensor::payload(state, index) }?;
        let (storage, layout) = payload.parts()?;
        Self::of(&storage, layout).filter(|view| wants.fit(view.elements.dtype, view.elements.flags))
    }

    fn why_not(call: Call, index: c_int, wants: Wants) -> Fault {
        let reason = || {
            let wanted = wants.class()?;
            if tensor::class(call.state(), index).is_none()
                && userdata::class(call.state(), index).is_none()
                && let Some(dtype) = wanted
            {
                return Err(call.mismatch(index, dtype.tensor_class_name()));
            }
            let this = call.tensor(index)?;
            this.elements().check().map_err(|error| Fault::from(error).at(index))?;
            only_of_class(index, wanted, this.dtype(), true)?;
            if wants.is_any(flag::CONTIGUOUS) {
                this.elements().contiguous_range().map_err(|error| Fault::from(error).at(index))?;
            }
            flags(index, wants, &this.storage, Self::of(&this.storage, this.layout).map_or(0, |view| view.elements.flags))
        };
        reason().err().unwrap_or_else(|| Fault::argument(index, "a tensor expected"))
    }
}

/// What is expected if a contiguous tensor will do.
fn storage_or_tensor(wanted: Option<DType>) -> impl Display {
    let names = wanted.map_or(("torch.*Storage", "torch.*Tensor"), |dtype| (dtype.class_name(), dtype.tensor_class_name()));
    written(move |f| write!(f, "{} or contiguous {}", names.0, names.1))
}

/// Fails if the elements are of another dtype than the one that is wanted.
fn only_of_class(index: c_int, wanted: Option<DType>, got: DType, is_tensor: bool) -> Result<(), Fault> {
    let Some(wanted) = wanted.filter(|&wanted| wanted != got) else { return Ok(()) };
    let name = if is_tensor { DType::tensor_class_name } else { DType::class_name };
    let (object, cast) = (if is_tensor { 'x' } else { 's' }, shown(wanted.cast_name().to_bytes()));
    Err(Fault::argument(index, format_args!("{} expected, got {}: {object}:{cast}() converts it", name(wanted), name(got))))
}

/// Fails if a flag that is wanted is not among the flags of a view.
fn flags(index: c_int, wants: Wants, storage: &Storage, flags: c_int) -> Result<(), Fault> {
    let is_missing = |flag| wants.is_any(flag) && flags & flag == 0;
    let kind = storage.kind();
    Err(if is_missing(flag::WRITABLE) {
        Fault::from(Error::ReadOnly { kind }).at(index)
    } else if is_missing(flag::ALIGNED) {
        Fault::argument(index, "the elements are not aligned for their type: clone() returns a copy that is")
    } else if is_missing(flag::RESIZABLE) {
        Fault::from(Error::NotResizable { kind }).at(index)
    } else if is_missing(flag::RETYPED) {
        Fault::argument(index, "a view of another type expected")
    } else {
        return Ok(());
    })
}
