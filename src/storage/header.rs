//! The part of a storage that C and the FFI see: the structure behind `ffi.cast('THIntStorage**', s)[0]`, and the limits of indices.

use std::cell::Cell;
use std::mem::offset_of;

use super::refcount::RefCount;
use crate::convert::count_to_f64;
use crate::element::DType;

/// Torch7's flag bits.
pub mod flag {
    /// The storage counts its references: always.
    pub const REFCOUNTED: u8 = 1;
    /// The size can change.
    pub const RESIZABLE: u8 = 2;
    /// The storage gives its memory back at its end.
    pub const FREEMEM: u8 = 4;
    /// The storage is a part of another.
    pub const VIEW: u8 = 8;
}

/// The head of every storage. The first four fields stand where Torch7's `TH*Storage` has them.
///
/// ```text
///  0 data             pointer to the first element, null if there is none
///  8 size             elements
/// 16 refcount         live userdata plus outstanding retains
/// 20 flag             Torch7's bits
/// 21 dtype            number of the dtype
/// 24 read_limit       size as a double: reads are below it; -1 for a storage that was freed
/// 32 write_limit      writes are below it: read_limit, or 0 for a storage that is only read
/// 40 int_read_limit   read_limit, or the largest number here if it is less: compiled code compares whole numbers faster
/// 44 int_write_limit  write_limit likewise; both are -2 if others look at the bytes as elements of another class
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct StorageHeader {
    pub(super) data: Cell<*mut u8>,
    pub(super) size: Cell<isize>,
    pub(super) refcount: RefCount,
    pub(super) flag: Cell<u8>,
    pub(super) dtype: DType,
    pub(super) read_limit: Cell<f64>,
    pub(super) write_limit: Cell<f64>,
    pub(super) int_read_limit: Cell<i32>,
    pub(super) int_write_limit: Cell<i32>,
}

/// The fields after `data`, as C declares them: the one source of the FFI's declaration.
pub const C_FIELDS: &str = "ptrdiff_t size; int refcount; unsigned char flag; unsigned char dtype; double read_limit; \
                            double write_limit; int int_read_limit; int int_write_limit;";

const _: () = {
    assert!(offset_of!(StorageHeader, data) == 0);
    assert!(offset_of!(StorageHeader, size) == 8);
    assert!(offset_of!(StorageHeader, refcount) == 16);
    assert!(offset_of!(StorageHeader, flag) == 20);
    assert!(offset_of!(StorageHeader, dtype) == 21);
    assert!(offset_of!(StorageHeader, read_limit) == 24);
    assert!(offset_of!(StorageHeader, write_limit) == 32);
    assert!(offset_of!(StorageHeader, int_read_limit) == 40);
    assert!(offset_of!(StorageHeader, int_write_limit) == 44);
    assert!(size_of::<StorageHeader>() == 48);
};

/// The whole-number limits of a view of another class than the memory's.
const RETYPED: i32 = -2;

/// A size as the header has it.
struct Bounds {
    size: isize,
    double: f64,
    int: i32,
}

impl Bounds {
    #[inline]
    fn of(size: usize) -> Self {
        Self {
            // Every size has passed `memory::byte_size`, which keeps it below `isize::MAX`.
            size: isize::try_from(size).unwrap_or(isize::MAX),
            double: count_to_f64(size),
            int: i32::try_from(size).unwrap_or(i32::MAX),
        }
    }
}

impl StorageHeader {
    #[inline]
    pub(super) fn new(dtype: DType, flag: u8, data: *mut u8, size: usize) -> Self {
        let bounds = Bounds::of(size);
        Self {
            data: Cell::new(data),
            size: Cell::new(bounds.size),
            refcount: RefCount::one(),
            flag: Cell::new(flag),
            dtype,
            read_limit: Cell::new(bounds.double),
            write_limit: Cell::new(bounds.double),
            int_read_limit: Cell::new(bounds.int),
            int_write_limit: Cell::new(bounds.int),
        }
    }

    /// Points the storage at `size` elements from `data`.
    pub(super) fn point_at(&self, data: *mut u8, size: usize) {
        let bounds = Bounds::of(size);
        self.data.set(data);
        self.size.set(bounds.size);
        self.read_limit.set(bounds.double);
        self.write_limit.set(bounds.double);
        self.int_read_limit.set(bounds.int);
        self.int_write_limit.set(bounds.int);
    }

    /// Lets no element be written from now on: for storages that keep their memory.
    pub(super) fn forbid_writing(&self) {
        self.write_limit.set(0.0);
        self.int_write_limit.set(0);
    }

    /// Says that others look at the same bytes as elements of another class: compiled code, which takes it that memory of one type is
    /// not that of another, then goes the way that has a barrier.
    pub(super) fn mark_retyped(&self) {
        self.int_read_limit.set(RETYPED);
        if self.write_limit.get() > 0.0 {
            self.int_write_limit.set(RETYPED);
        }
    }

    pub(super) fn is_retyped(&self) -> bool {
        self.int_read_limit.get() == RETYPED
    }

    /// The first element; null for an empty storage.
    #[inline]
    #[must_use]
    pub fn data(&self) -> *mut u8 {
        self.data.get()
    }

    /// The number of elements as a double, the bound of reads: -1 for a storage that was freed.
    #[inline]
    #[must_use]
    pub fn read_limit(&self) -> f64 {
        self.read_limit.get()
    }

    /// The bound of writes: [`read_limit`](Self::read_limit), or less where writing is not allowed.
    #[inline]
    #[must_use]
    pub fn write_limit(&self) -> f64 {
        self.write_limit.get()
    }

    /// Whether this is the header of storages that were freed.
    #[inline]
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.read_limit.get() < 0.0
    }
}

/// Wraps the one header that threads share without an owner.
struct DeadHeader(StorageHeader);

// SAFETY: [in-bounds] nothing writes to the dead header or through it: its limits are -1, and no index is below them. Only `Storage`
// changes headers, and none has this one.
unsafe impl Sync for DeadHeader {}

static DEAD: DeadHeader = DeadHeader(StorageHeader {
    data: Cell::new(std::ptr::null_mut()),
    size: Cell::new(0),
    refcount: RefCount::none(),
    flag: Cell::new(0),
    dtype: DType::Byte,
    read_limit: Cell::new(-1.0),
    write_limit: Cell::new(-1.0),
    int_read_limit: Cell::new(-1),
    int_write_limit: Cell::new(-1),
});

/// The header that every freed or finalised userdata points at: no index is within its bounds.
#[must_use]
pub fn dead() -> *const StorageHeader {
    &raw const DEAD.0
}
