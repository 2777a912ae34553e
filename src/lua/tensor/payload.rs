//! The Lua value of a tensor: a full userdata with the address of its storage's header, a magic word, and its layout.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;
use std::mem::offset_of;
use std::ptr;

use crate::convert::count_to_f64;
use crate::element::DType;
use crate::lua::context::{Context, Place};
use crate::lua::living;
use crate::lua::state::{Raising, State};
use crate::lua::userdata::{self, Borrowed};
use crate::storage::Storage;
use crate::storage::header::{StorageHeader, dead};
use crate::tensor::Layout;

/// How many dimensions compiled code knows. Tensors of more dimensions are accessed by C functions.
const COMPILED: usize = 4;

/// The layout as compiled code sees it.
#[derive(Clone, Copy)]
#[repr(C)]
struct Numbers<T> {
    /// The number of dimensions; -1 if compiled code cannot use these numbers.
    dimensions: T,
    /// The number of elements.
    elements: T,
    /// The greatest index in the storage, from 0, that an element has. If compiled code cannot use these numbers, no storage has it.
    last: T,
    /// The index in the storage, from 0, that an element with the indices 0 would have. The index of an element is this plus each of
    /// its indices, from 1, times the stride of the dimension.
    origin: T,
    sizes: [T; COMPILED],
    strides: [T; COMPILED],
}

/// The layout as integers, which are faster, and as doubles, for tensors with larger numbers.
#[derive(Clone, Copy)]
#[repr(C)]
struct Compiled {
    integers: Numbers<i32>,
    doubles: Numbers<f64>,
}

/// The names of the fields of [`Numbers`], for compiled code.
pub const FIELDS: &str = "dimensions, elements, last, origin, size1, size2, size3, size4, stride1, stride2, stride3, stride4";

impl<T: Copy + Default> Numbers<T> {
    fn none(dimensions: T, last: T) -> Self {
        let none = T::default();
        Self { dimensions, elements: none, last, origin: none, sizes: [none; COMPILED], strides: [none; COMPILED] }
    }

    /// The numbers of a layout, or `None` if there are too many, or if one does not fit.
    fn of(layout: &Layout, number: impl Fn(isize) -> Option<T>) -> Option<Self> {
        let count = |count: usize| number(isize::try_from(count).ok()?);
        let (sizes, strides) = (layout.sizes(), layout.strides());
        let mut origin = isize::try_from(layout.offset()).ok()?;
        let mut numbers = Self::none(count(layout.dimensions())?, count(layout.span().end.saturating_sub(1))?);
        numbers.elements = count(layout.elements())?;
        if layout.dimensions() > COMPILED {
            return None;
        }
        for (n, (&size, &stride)) in sizes.iter().zip(strides).enumerate() {
            numbers.sizes[n] = count(size)?;
            numbers.strides[n] = number(stride)?;
            origin = origin.checked_sub(stride)?;
        }
        numbers.origin = number(origin)?;
        Some(numbers)
    }
}

impl Compiled {
    fn none() -> Self {
        Self { doubles: Numbers::none(-1.0, f64::INFINITY), integers: Numbers::none(-1, i32::MAX) }
    }

    fn of(layout: &Layout) -> Self {
        // Sums and products of a few numbers up to here are exact.
        const EXACT: usize = 1 << 48;
        let exact = |number: isize| {
            let length = (number.unsigned_abs() <= EXACT).then(|| count_to_f64(number.unsigned_abs()))?;
            Some(if number < 0 { -length } else { length })
        };
        // Below the greatest integer, which no index of an element is.
        let small = |number: isize| i32::try_from(number).ok().filter(|&number| number < i32::MAX);
        let none = Self::none();
        Self {
            doubles: Numbers::of(layout, exact).unwrap_or(none.doubles),
            integers: Numbers::of(layout, small).unwrap_or(none.integers),
        }
    }
}

/// The block of a tensor's userdata. Its first two words are those of a storage's payload, with magic words of their own.
#[repr(C)]
pub struct Payload {
    /// The header of the storage, to which the tensor holds a reference; the dead header before [`give`] and after [`take`].
    header: Cell<*const StorageHeader>,
    magic: *const u8,
    compiled: Cell<Compiled>,
    layout: UnsafeCell<Option<Layout>>,
    /// Whether the tensor has a storage to show. One without elements that was made without a storage has none, as in Torch7.
    shows_storage: Cell<bool>,
}

// Compiled code reads these fields by the names in `FIELDS`. A storage's block has another size, so neither is taken for the
// other.
const _: () = {
    assert!(offset_of!(Payload, compiled) == 16);
    assert!(size_of::<Compiled>() == 48 + 96);
    assert!(size_of::<Payload>() > 160);
};

/// Only its addresses matter: no other block has a word that points into it. It is not zero, so that the linker does not merge it with
/// other constants.
static MAGIC: [u8; DType::ALL.len()] = [b'T'; DType::ALL.len()];

/// The magic word of a class of tensors.
pub fn magic(dtype: DType) -> *const u8 {
    &raw const MAGIC[dtype.number()]
}

/// The class of a tensor, whether it has a storage or not. `None` for any other value.
#[inline]
pub fn class(state: State, index: c_int) -> Option<DType> {
    // SAFETY: [live] no Lua code runs before the reference is dropped.
    unsafe { payload(state, index) }.map(|(_, dtype)| dtype)
}

/// The payload of a tensor of any class.
///
/// # Safety
/// `[live]`: the payload is used only while its userdata is on the stack, and its [parts](Payload::parts) only while no Lua code runs.
#[inline]
pub unsafe fn payload<'call>(state: State<'call>, index: c_int) -> Option<(&'call Payload, DType)> {
    let block = state.block(index, size_of::<Payload>())?;
    // SAFETY: [layout] the block has the size of a payload, and the first words of any block can be read as words. [live] the
    // caller uses it only while its userdata is on the stack.
    let magic = unsafe { block.cast::<[*const u8; 2]>().as_ref() }[1];
    let dtype = *DType::ALL.get(magic.addr().wrapping_sub((&raw const MAGIC).addr()))?;
    // SAFETY: [layout] only `push_dead` writes such a magic word, into a block that it has made a payload. [live] the caller
    // uses it only while its userdata is on the stack.
    Some((unsafe { block.cast().as_ref() }, dtype))
}

impl Payload {
    /// The storage, borrowed from the payload, and the layout; `None` if there is none. No Lua code may run while they are used.
    pub fn parts(&self) -> Option<(Borrowed<'_>, &Layout)> {
        let layout = self.layout()?;
        // SAFETY: [live] the payload holds the storage of its header until `take`, whose caller vouches that nothing is borrowed from it.
        Some((unsafe { Borrowed::of_header(self.header.get()) }?, layout))
    }

    /// The layout, if there is one. No Lua code may run while it is used.
    fn layout(&self) -> Option<&Layout> {
        // SAFETY: [alias] the layout is written only by `promise`, while there is none, and by `take`, whose caller vouches that nobody
        // uses a reference to it.
        unsafe { &*self.layout.get() }.as_ref()
    }

    /// The layout of a tensor that will get its storage by [`fulfil`]; `None` for any other tensor. No Lua code may run while it is
    /// used.
    pub fn promised(&self) -> Option<&Layout> {
        self.layout().filter(|_| self.header.get() == dead())
    }

    /// Whether the tensor has a storage to show.
    pub fn shows_storage(&self) -> bool {
        self.shows_storage.get()
    }
}

/// Pushes a userdata of class `dtype` that has no storage yet. It has its metatable already, so it is collected as a tensor whatever
/// happens next.
pub fn push_dead<'call>(lua: Raising<'call>, dtype: DType) -> &'call Payload {
    let block = lua.push_userdata(size_of::<Payload>()).cast::<Payload>();
    let payload = Payload {
        header: Cell::new(dead()),
        magic: magic(dtype),
        compiled: Cell::new(Compiled::none()),
        layout: UnsafeCell::new(None),
        shows_storage: Cell::new(false),
    };
    // SAFETY: [layout] the block has the size and alignment of a payload.
    unsafe { block.write(payload) };
    living::adopt(lua, Place::of_tensors(dtype));
    // SAFETY: [layout] just written. [live] the block stays while its userdata is on the stack.
    unsafe { &*block }
}

/// Gives a storage and a layout to a payload that has none. The opposite of [`take`].
pub fn give(payload: &Payload, storage: Storage, layout: Layout, shows_storage: bool) {
    promise(payload, layout);
    fulfil(payload, storage, shows_storage);
}

/// Gives a layout to a payload that has none. It gets the storage later, by [`fulfil`]. Does nothing if it has a layout.
pub fn promise(payload: &Payload, layout: Layout) {
    if payload.layout().is_none() {
        // SAFETY: [alias] there is no layout, so nobody has a reference to it, and none is dropped here.
        unsafe { payload.layout.get().write(Some(layout)) };
    }
}

/// Gives a storage to a payload that has a layout and no storage, for which the caller has checked it. Any other payload stays as it
/// is, and the storage is dropped.
pub fn fulfil(payload: &Payload, storage: Storage, shows_storage: bool) {
    if let Some(layout) = payload.promised() {
        payload.compiled.set(Compiled::of(layout));
        payload.shows_storage.set(shows_storage);
        payload.header.set(storage.into_raw());
    }
}

/// Takes the storage out of a payload, which is dead afterwards.
///
/// # Safety
/// `[live]`: nothing that was borrowed from the payload before is used afterwards, neither its storage nor its layout.
pub unsafe fn take(payload: &Payload) -> Option<Storage> {
    payload.compiled.set(Compiled::none());
    let header = payload.header.replace(dead());
    // SAFETY: [alias] [live] the caller vouches that nobody uses a reference to the layout.
    unsafe { ptr::replace(payload.layout.get(), None) };
    // SAFETY: [owned] a header that is not the dead one came from `Storage::into_raw`, and the payload has just given it up.
    (header != dead()).then(|| unsafe { Storage::from_raw(header) })
}

const _: () = assert!(size_of::<Payload>() != size_of::<Context>() && size_of::<Payload>() != size_of::<userdata::Payload>());
