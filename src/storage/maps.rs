//! Storages over mapped files: mapping a file, writing back, giving advice, and checking the length of the file. Also locking the memory
//! of any storage, so that it is not swapped out.

use std::fs::File;
use std::path::Path;

use super::memory::{Advice, MapOptions, Mapped, Memory, is_pinned, pin};
use super::{Storage, flag};
use crate::element::DType;
use crate::error::{Error, MemoryKind};

impl Storage {
    /// See [`crate::Storage::map`].
    pub fn map(dtype: DType, path: &Path, options: &MapOptions) -> Result<Self, Error> {
        Self::on_map(dtype, Mapped::open(path, dtype, options)?)
    }

    /// See [`crate::Storage::map_open`].
    pub fn map_open(dtype: DType, file: &File, path: &Path, options: &MapOptions) -> Result<Self, Error> {
        Self::on_map(dtype, Mapped::of_open(file, path, dtype, options)?)
    }

    fn on_map(dtype: DType, mapped: Mapped) -> Result<Self, Error> {
        let size = mapped.bytes() / dtype.width();
        Self::on_whole_memory(Memory::Mapped(mapped), dtype, flag::REFCOUNTED | flag::FREEMEM, size)
    }

    /// Whether the memory is a mapped file.
    pub fn is_mapped(&self) -> bool {
        self.with_memory(|memory| matches!(memory, Memory::Mapped(_)))
    }

    /// Whether the memory is read-only, as a read-only map and read-only foreign memory are. Views of such a storage are
    /// read-only too.
    ///
    /// A write then returns [`Error::ReadOnly`], and the write limit in the header is 0. A write to an empty storage is not an error,
    /// because it has no elements.
    pub fn is_read_only(&self) -> bool {
        self.with_memory(Memory::is_read_only)
    }

    /// The name of the mapped file as it was given, or `None` for other memory. The bytes of the name are valid as long as there
    /// is a storage over this memory.
    pub fn file_name(&self) -> Option<*const [u8]> {
        self.with_memory(|memory| match memory {
            Memory::Mapped(mapped) => Some(std::ptr::from_ref(mapped.path().as_os_str().as_encoded_bytes())),
            _ => None,
        })
    }

    /// See [`crate::Storage::flush`].
    pub fn flush(&self, wait: bool) -> Result<(), Error> {
        let refuse = |kind| Error::NothingToFlush { kind };
        self.with_map(refuse, |mapped, start| match mapped.kind() {
            MemoryKind::SharedMap => mapped.flush(start, self.nbytes(), wait),
            kind => Err(refuse(kind)),
        })
    }

    /// See [`crate::Storage::advise`].
    pub fn advise(&self, advice: Advice) -> Result<(), Error> {
        self.with_map(|kind| Error::NotMapped { kind }, |mapped, start| mapped.advise(advice, start, self.nbytes()))
    }

    /// See [`crate::Storage::check`].
    pub fn check(&self) -> Result<bool, Error> {
        self.with_map(|kind| Error::NotMapped { kind }, |mapped, start| mapped.covers(start, self.nbytes()))
    }

    /// See [`crate::Storage::pin`].
    pub fn pin(&self) -> Result<(), Error> {
        // Pinning may take long, so it does not hold the register's lock. A reference to the memory keeps it where it is.
        let (memory, data, bytes) = self.with_access(|access| (access.share(), self.data(), self.nbytes()));
        pin(memory.identity(), data, bytes)
    }

    /// Whether all pages of the elements are locked, by [`pin`](Self::pin) or by a map with [`lock`](MapOptions::lock). An
    /// empty storage is always pinned, because it has no pages.
    pub fn is_pinned(&self) -> bool {
        self.with_memory(|memory| is_pinned(memory.identity(), self.data(), self.nbytes()))
    }

    /// Calls `act` with the map and the offset in bytes at which this storage begins in it. For other memory it returns the
    /// error that `refuse` makes.
    ///
    /// `act` runs without the register's lock, because it may take long. Being a user of the memory is enough, because a map never
    /// moves.
    fn with_map<R>(
        &self,
        refuse: impl FnOnce(MemoryKind) -> Error,
        act: impl FnOnce(&Mapped, usize) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let memory = self.with_access(|access| access.share());
        match &*memory {
            Memory::Mapped(mapped) => act(mapped, self.data().addr() - mapped.data().addr()),
            other => Err(refuse(other.kind())),
        }
    }
}
