//! The header of a storage: the structure behind `ffi.cast('THIntStorage**', s)[0]`, with the limits that the fast paths check.

// It is a constant, which the atomics and cells of a model cannot be.
#[cfg(not(loom))]
mod dead;

#[cfg(not(loom))]
use std::mem::offset_of;
use std::sync::atomic::Ordering;

use super::refcount::RefCount;
use super::sync::{AtomicU8, Cell};
use crate::convert::count_to_f64;
use crate::element::DType;
#[cfg(not(loom))]
pub use dead::dead;

/// Torch7's flag bits.
pub mod flag {
    /// The storage counts its references. This bit is always set.
    pub const REFCOUNTED: u8 = 1;
    /// The size can change.
    pub const RESIZABLE: u8 = 2;
    /// The storage gives its memory back when it ends.
    pub const FREEMEM: u8 = 4;
    /// The storage is a view.
    pub const VIEW: u8 = 8;
}

/// The header of a storage. Its first four fields are at the same offsets as in Torch7's `TH*Storage`.
///
/// The numbers on the left are offsets in bytes.
///
/// ```text
///  0 data             pointer to the first element, or null if there is none
///  8 size             number of elements
/// 16 refcount         number of references
/// 20 flag             Torch7's flag bits
/// 21 dtype            number of the dtype
/// 24 read_limit       the size as a double: an index (from 0) that is read is below it; -1 if the storage was freed
/// 32 write_limit      an index that is written is below it: read_limit, or 0 if the storage is read-only
/// 40 int_read_limit   read_limit, but at most 2^31-1, as a 32-bit integer, which compiled code compares faster
/// 44 int_write_limit  write_limit in the same form
/// ```
///
/// Both integer limits are -2 in a view whose dtype differs from that of other storages over the same bytes, so that compiled
/// code takes its slow path. The parts of a mapped file that become tensors share no bytes, so they are not such views.
#[derive(Debug)]
#[repr(C)]
pub struct StorageHeader {
    pub(super) data: Cell<*mut u8>,
    pub(super) size: Cell<isize>,
    pub(super) refcount: RefCount,
    /// Atomic, because a thread may ask for it while another holder moves the storage to shared memory. Relaxed is enough: whoever acts on
    /// it looks at the memory afterwards, under a lock.
    flag: AtomicU8,
    pub(super) dtype: DType,
    pub(super) read_limit: Cell<f64>,
    pub(super) write_limit: Cell<f64>,
    pub(super) int_read_limit: Cell<i32>,
    pub(super) int_write_limit: Cell<i32>,
}

/// The fields after `data` as C declarations. The FFI declaration of the structure is made from this string.
pub const C_FIELDS: &str = "ptrdiff_t size; int refcount; unsigned char flag; unsigned char dtype; double read_limit; \
                            double write_limit; int int_read_limit; int int_write_limit;";

// The atomics and cells of a model are larger.
#[cfg(not(loom))]
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

/// The integer limits of a view whose dtype differs from that of other storages over the same bytes.
const RETYPED: i32 = -2;

/// A size in the forms in which the header stores it.
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
            flag: AtomicU8::new(flag),
            dtype,
            read_limit: Cell::new(bounds.double),
            write_limit: Cell::new(bounds.double),
            int_read_limit: Cell::new(bounds.int),
            int_write_limit: Cell::new(bounds.int),
        }
    }

    /// Whether a flag bit is set.
    #[inline]
    pub(super) fn has(&self, flag: u8) -> bool {
        self.flag.load(Ordering::Relaxed) & flag != 0
    }

    /// Records that the size cannot change any more. Only the holder of the storage calls this, or whoever has locked the register.
    pub(super) fn forbid_resizing(&self) {
        self.flag.store(self.flag.load(Ordering::Relaxed) & !flag::RESIZABLE, Ordering::Relaxed);
    }

    /// Points the storage at `size` elements that begin at `data`.
    pub(super) fn point_at(&self, data: *mut u8, size: usize) {
        let bounds = Bounds::of(size);
        self.data.set(data);
        self.size.set(bounds.size);
        self.read_limit.set(bounds.double);
        self.write_limit.set(bounds.double);
        self.int_read_limit.set(bounds.int);
        self.int_write_limit.set(bounds.int);
    }

    /// Sets the write limits to 0, so that no element can be written. Only for a storage that never moves to other memory.
    pub(super) fn forbid_writing(&self) {
        self.write_limit.set(0.0);
        self.int_write_limit.set(0);
    }

    /// Marks a view whose dtype differs from that of other storages over the same bytes. LuaJIT assumes that accesses of
    /// different types do not alias. The integer limits of -2 make compiled code take the slow path, which has a barrier.
    pub(super) fn mark_retyped(&self) {
        self.int_read_limit.set(RETYPED);
        if self.write_limit.get() > 0.0 {
            self.int_write_limit.set(RETYPED);
        }
    }

    /// Whether this is a view whose dtype differs from that of other storages over the same bytes.
    pub fn is_retyped(&self) -> bool {
        self.int_read_limit.get() == RETYPED
    }

    /// The address of the first element, or null for an empty storage.
    #[inline]
    pub fn data(&self) -> *mut u8 {
        self.data.get()
    }

    /// The number of elements; 0 for a storage that was freed.
    #[inline]
    pub fn size(&self) -> usize {
        self.size.get().unsigned_abs()
    }

    /// The number of elements as a double, or -1 for a storage that was freed. An index (from 0) that is read is below it.
    #[inline]
    pub fn read_limit(&self) -> f64 {
        self.read_limit.get()
    }

    /// The limit of writes: [`read_limit`](Self::read_limit), or 0 for a storage that is read-only.
    #[inline]
    pub fn write_limit(&self) -> f64 {
        self.write_limit.get()
    }

    /// Whether this is the dead header, which every userdata points to whose storage was freed.
    #[inline]
    pub fn is_dead(&self) -> bool {
        self.read_limit.get() < 0.0
    }
}
