//! Bytes that are going to be written: a slice, or memory that others may change meanwhile.

use std::marker::PhantomData;

use crate::bulk::Readable;
use crate::element::DType;

/// Readable bytes. Memory of storages may be changed by anybody, so no slice of it can be made; this is what can.
#[derive(Clone, Copy)]
pub struct Bytes<'a> {
    start: *const u8,
    count: usize,
    _readable: PhantomData<&'a [u8]>,
}

impl<'a> From<&'a [u8]> for Bytes<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self { start: bytes.as_ptr(), count: bytes.len(), _readable: PhantomData }
    }
}

impl Bytes<'_> {
    /// The `count` bytes from `start` on.
    ///
    /// # Safety
    /// `[live]` `[in-bounds]`: they are readable as long as this is used.
    pub unsafe fn of_memory(start: *const u8, count: usize) -> Self {
        Self { start, count, _readable: PhantomData }
    }

    /// Where they begin: readable for [`count`](Self::count) bytes.
    pub fn start(self) -> *const u8 {
        self.start
    }

    /// How many there are.
    pub fn count(self) -> usize {
        self.count
    }

    /// The same bytes for the kernels.
    pub fn readable(&self) -> Readable<'_> {
        // SAFETY: [live] [in-bounds] whoever made this vouches for them.
        unsafe { Readable::new(self.start, DType::Byte, self.count) }
    }

    /// Appends them to a vector, which has room for them.
    pub fn append_to(self, buffer: &mut Vec<u8>) {
        let end = buffer.len();
        assert!(buffer.capacity() - end >= self.count, "no room for {} bytes", self.count);
        // SAFETY: [live] [in-bounds] the source is readable, the vector has room, and nobody else knows its memory.
        unsafe { std::ptr::copy_nonoverlapping(self.start, buffer.as_mut_ptr().wrapping_add(end), self.count) };
        // SAFETY: [in-bounds] these bytes were written, within the capacity.
        unsafe { buffer.set_len(end + self.count) };
    }
}
