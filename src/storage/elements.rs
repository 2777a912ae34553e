//! Operations on the elements of a storage: reading, writing, filling, copying, comparing, reversing bytes.

use std::ops::Range;

use super::memory::Memory;
use super::{StateId, Storage};
use crate::bulk::{self, Readable, Writable};
use crate::convert::Scalar;
use crate::element::DType;
use crate::error::{Error, MemoryKind};

impl Storage {
    /// The elements, for reading. The caller uses the block before anything else is done with the storage, because resizing the
    /// storage may move the elements.
    pub(crate) fn readable(&self) -> Readable<'_> {
        // SAFETY: [live] the handle keeps the memory. Only its holder can move it, by `resize`, `reserve` or `share_memory`, and no
        // caller of this function does that, or calls foreign code, before its last use of the block. [in-bounds] the memory has as
        // many elements as the header says.
        unsafe { Readable::new(self.data(), self.dtype(), self.size()) }
    }

    /// The elements, for writing. The caller uses the block at once, as that of [`readable`](Self::readable).
    ///
    /// # Errors
    /// [`Error::ReadOnly`] if the memory is read-only. An empty storage gives no error, because it has no elements to write.
    pub(crate) fn writable(&self) -> Result<Writable<'_>, Error> {
        if self.write_limit() != self.read_limit() {
            return Err(Error::ReadOnly { kind: self.with_memory(Memory::kind) });
        }
        // SAFETY: [live] the handle keeps the memory. Only its holder can move it, and no caller of this function does so before its
        // last use of the block, as in `readable`. [in-bounds] the memory has as many elements as the header says, and the limits say
        // that it may be written.
        Ok(unsafe { Writable::new(self.data(), self.dtype(), self.size()) })
    }

    /// Whether nobody else can access the elements as long as the holder `state` does nothing else: it has all references to the storage,
    /// the memory has no other user, and it is not visible outside the storages.
    pub(crate) fn is_alone(&self, state: StateId) -> bool {
        self.is_alone_on(state, |memory| match memory {
            Memory::Heap(_) => true,
            Memory::Foreign(foreign) => foreign.is_only_of_storages(),
            Memory::Mapped(_) | Memory::Shared(_) => false,
        })
    }

    /// Whether no other thread or process can reach the elements as long as the holder `state` does nothing else. The pages of a private
    /// map that nobody has written yet may change with the file, but nobody can wake a thread through them.
    pub(crate) fn is_out_of_reach(&self, state: StateId) -> bool {
        self.is_alone_on(state, |memory| match memory {
            Memory::Heap(_) => true,
            Memory::Foreign(foreign) => foreign.is_only_of_storages(),
            Memory::Mapped(mapped) => mapped.kind() == MemoryKind::PrivateMap,
            Memory::Shared(_) => false,
        })
    }

    /// Whether the holder `state` has all references to the storage, the memory has no other user, and `is_private` returns true for it.
    fn is_alone_on(&self, state: StateId, is_private: impl FnOnce(&Memory) -> bool) -> bool {
        let register = self.lock_register_if_shared();
        register.as_ref().is_none_or(|register| register.is_only_holder(self.registered(), state))
            && self.act_with_access(&register, |access| access.memory_if_alone().is_some_and(|memory| is_private(memory)))
    }

    /// Whether nobody can ever write the elements: they belong to a Rust value that was given to be read.
    pub(crate) fn is_constant(&self) -> bool {
        self.with_memory(|memory| match memory {
            Memory::Foreign(foreign) => foreign.is_only_of_storages() && foreign.is_read_only(),
            Memory::Heap(_) | Memory::Mapped(_) | Memory::Shared(_) => false,
        })
    }

    /// Element `index` (from 0) as a Lua number, or `None` if the index is out of range. For a complex element this is its real
    /// part.
    pub fn get(&self, index: usize) -> Option<f64> {
        self.readable().get(index)
    }

    /// Element `index` (from 0) as a number of a kind that holds it exactly, or `None` if the index is out of range.
    pub fn get_scalar(&self, index: usize) -> Option<Scalar> {
        self.readable().get_scalar(index)
    }

    /// See [`crate::Storage::set`].
    pub fn set(&self, index: usize, value: Scalar) -> Result<bool, Error> {
        Ok(index < self.size() && self.writable()?.set(index, value))
    }

    /// See [`crate::Storage::fill`].
    pub fn fill(&self, value: Scalar) -> Result<(), Error> {
        bulk::fill(self.writable()?, value);
        Ok(())
    }

    /// Sets `count` elements from element `offset` (from 0) on to `value`, which is converted once.
    pub fn fill_range(&self, offset: usize, count: usize, value: Scalar) -> Result<(), Error> {
        let elements = self.writable()?;
        bulk::fill(elements.part(self.range(offset, count)?), value);
        Ok(())
    }

    /// Sets the elements from element `offset` (from 0) on to `numbers`, which are converted.
    pub fn write_numbers(&self, offset: usize, numbers: &[f64]) -> Result<(), Error> {
        let elements = self.writable()?;
        bulk::copy(elements.part(self.range(offset, numbers.len())?), Readable::of_numbers(numbers));
        Ok(())
    }

    /// See [`crate::Storage::copy_from`].
    pub fn copy_from(&self, source: &Self) -> Result<(), Error> {
        if self.copies_raw_bytes_from(source) {
            return self.copy_bytes(source);
        }
        let target = self.writable()?;
        let (expected, got) = (self.size(), source.size());
        if expected != got {
            return Err(Error::SizeMismatch { expected, got });
        }
        bulk::copy(target, source.readable());
        Ok(())
    }

    /// Whether [`copy_from`](Self::copy_from) copies bytes as they are.
    pub fn copies_raw_bytes_from(&self, source: &Self) -> bool {
        self.dtype().is_untyped() != source.dtype().is_untyped()
    }

    /// See [`crate::Storage::copy_range`].
    pub fn copy_range(&self, target_offset: usize, source: &Self, source_offset: usize, count: usize) -> Result<(), Error> {
        let target = self.writable()?.part(self.range(target_offset, count)?);
        bulk::copy(target, source.readable().part(source.range(source_offset, count)?));
        Ok(())
    }

    /// Whether the two storages have no byte in common.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        let (here, there) = (self.data().addr(), other.data().addr());
        here + self.nbytes() <= there || there + other.nbytes() <= here
    }

    /// Copies all bytes of `source` as they are, whatever the dtypes are. The two storages may overlap in any way.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::LengthMismatch`] if the two storages have different lengths in bytes.
    pub fn copy_bytes(&self, source: &Self) -> Result<(), Error> {
        self.writable()?;
        let (expected, got) = (self.nbytes(), source.nbytes());
        if expected != got {
            return Err(Error::LengthMismatch { expected, got });
        }
        self.copy_byte_range(source, 0, got)
    }

    /// Copies `bytes` bytes as they are, from byte `offset` (from 0) of `source` on, to the same offset of this storage.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::OutOfRange`], in bytes, if the bytes are not inside both storages.
    pub fn copy_byte_range(&self, source: &Self, offset: usize, bytes: usize) -> Result<(), Error> {
        let target = self.writable()?.bytes().part(self.byte_range(offset, bytes)?);
        bulk::copy(target, source.readable().bytes().part(source.byte_range(offset, bytes)?));
        Ok(())
    }

    /// See [`crate::Storage::byteswap`].
    pub fn byteswap(&self, width: Option<usize>) -> Result<(), Error> {
        self.byteswap_range(width, 0, self.nbytes())
    }

    /// Does the same as [`byteswap`](Self::byteswap) for the words in `bytes` bytes from byte `offset` (from 0) on.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::NoWords`] if the width is not 1, 2, 4 or 8, or does not divide the offset, `bytes` and the
    /// length of the storage; [`Error::OutOfRange`], in bytes, if the bytes are not all inside the storage.
    pub fn byteswap_range(&self, width: Option<usize>, offset: usize, bytes: usize) -> Result<(), Error> {
        let target = self.writable()?;
        let width = width.unwrap_or(self.dtype().part().width());
        let has_no_words = |bytes: &usize| !matches!(width, 1 | 2 | 4 | 8) || !bytes.is_multiple_of(width);
        if let Some(bytes) = [self.nbytes(), offset, bytes].into_iter().find(has_no_words) {
            return Err(Error::NoWords { width, bytes });
        }
        bulk::byteswap(target.bytes().part(self.byte_range(offset, bytes)?), width);
        Ok(())
    }

    /// The range of `bytes` bytes from byte `offset` on, or an error if it is not inside the storage.
    pub(crate) fn byte_range(&self, offset: usize, bytes: usize) -> Result<Range<usize>, Error> {
        range_in(self.nbytes(), offset, bytes)
    }

    /// The range of `count` elements from element `offset` on, or an error if it is not inside the storage.
    pub(crate) fn range(&self, offset: usize, count: usize) -> Result<Range<usize>, Error> {
        range_in(self.size(), offset, count)
    }

    /// Writes bytes to the beginning of the storage. Bytes that do not fit are left out.
    pub fn write_bytes(&self, bytes: &[u8]) -> Result<(), Error> {
        self.write_bytes_at(0, &bytes[..bytes.len().min(self.nbytes())])
    }

    /// Writes bytes from byte `offset` (from 0) on.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::OutOfRange`], in bytes, if the bytes do not all fit.
    pub fn write_bytes_at(&self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        let target = self.writable()?.bytes().part(self.byte_range(offset, bytes.len())?);
        bulk::copy(target, Readable::of(bytes, DType::Byte));
        Ok(())
    }

    /// Whether the two storages have the same dtype, the same size and equal values. NaN differs from itself, and -0 equals 0.
    pub fn equals(&self, other: &Self) -> bool {
        bulk::equal(self.readable(), other.readable())
    }

    /// Whether the two storages have the same dtype, and `count` elements from element `offset` (from 0) on that are equal in the
    /// sense of [`equals`](Self::equals). Returns false if the elements are not inside both storages.
    pub fn equals_range(&self, other: &Self, offset: usize, count: usize) -> bool {
        match (self.range(offset, count), other.range(offset, count)) {
            (Ok(here), Ok(there)) => bulk::equal(self.readable().part(here), other.readable().part(there)),
            _ => false,
        }
    }
}

/// The range of length `count` from `offset` on, or an error if it ends after `available`.
fn range_in(available: usize, offset: usize, count: usize) -> Result<Range<usize>, Error> {
    if offset > available || count > available - offset {
        return Err(Error::OutOfRange { offset, size: count, available });
    }
    Ok(offset..offset + count)
}
