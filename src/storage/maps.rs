//! Storages over mapped files: mapping a file, writing back, giving advice, and checking the length of the file. Also locking the memory
//! of any storage, so that it is not swapped out.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::memory::{Advice, MapOptions, Mapped, Memory, is_pinned, pin};
use super::{Storage, flag};
use crate::element::DType;
use crate::error::{Error, MemoryKind};

impl Storage {
    /// Maps a file from byte `options.offset` (from 0) on. The storage has `options.size` elements, or without a size as many
    /// whole elements as there are up to the end of the file.
    ///
    /// For a private map or a read-only map the file must be long enough. For a shared map that can be written, a file that is
    /// too short is extended, and a missing file is created (mode 0600) if a size is given. A file is never shortened, and its
    /// bytes are kept. After an error nothing is mapped, and a file that this call created is removed. A file that this call
    /// extended stays extended, because somebody else may have mapped it by then.
    ///
    /// The file must not get shorter while it is mapped. If somebody truncates it, a process that touches a page beyond the new
    /// end is killed by SIGBUS, as with every `mmap`. In the last page, the bytes beyond the new end read as zero.
    /// [`check`](Self::check) tells whether the file was truncated. Replacing the file by a rename is safe: the map keeps the old
    /// file.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::MissingFile`], [`Error::NotAFile`] and [`Error::NulInName`], with the name;
    /// [`Error::FileTooSmall`], [`Error::OffsetBeyondEnd`], [`Error::PastLargestFile`], [`Error::Lock`], [`Error::TooLarge`],
    /// [`Error::OutOfMemory`].
    pub fn map(dtype: DType, path: &Path, options: &MapOptions) -> Result<Self, Error> {
        Self::on_map(dtype, Mapped::open(path, dtype, options)?)
    }

    /// Does the same as [`map`](Self::map) for a file that is open already. `path` is its name, for errors and for
    /// [`check`](Self::check). The file must be open for writing if writes to the map go to the file.
    ///
    /// # Errors
    /// As [`map`](Self::map).
    pub fn map_open(dtype: DType, file: &File, path: &Path, options: &MapOptions) -> Result<Self, Error> {
        Self::on_map(dtype, Mapped::of_open(file, path, dtype, options)?)
    }

    fn on_map(dtype: DType, mapped: Mapped) -> Result<Self, Error> {
        let size = mapped.bytes() / dtype.width();
        Self::on_whole_memory(Memory::Mapped(mapped), dtype, flag::REFCOUNTED | flag::FREEMEM, size)
    }

    /// Whether the memory is a mapped file.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.with_memory(|memory| matches!(memory, Memory::Mapped(_)))
    }

    /// Whether the memory is read-only, as a read-only map and read-only foreign memory are. Views of such a storage are
    /// read-only too.
    ///
    /// A write then returns [`Error::ReadOnly`], and the write limit in the header is 0. A write to an empty storage is not an error,
    /// because it has no elements.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.with_memory(Memory::is_read_only)
    }

    /// The name of the mapped file as it was given, or `None` for other memory. The bytes of the name are valid as long as there
    /// is a storage over this memory.
    #[must_use]
    pub fn file_name(&self) -> Option<*const [u8]> {
        self.with_memory(|memory| match memory {
            Memory::Mapped(mapped) => Some(std::ptr::from_ref(mapped.path().as_os_str().as_bytes())),
            _ => None,
        })
    }

    /// Writes the pages of a shared map to the file. For a view these are the pages that contain its elements.
    ///
    /// With `wait`, the call returns when the pages are on the disk. Without it, the call only asks for that (`MS_ASYNC`). Linux
    /// ignores this request, because it writes the pages soon anyway.
    ///
    /// # Errors
    /// [`Error::NothingToFlush`] for a storage that is not a shared map; [`Error::File`] with an error of the system.
    pub fn flush(&self, wait: bool) -> Result<(), Error> {
        let refuse = |kind| Error::NothingToFlush { kind };
        self.with_map(refuse, |mapped, start| match mapped.kind() {
            MemoryKind::SharedMap => mapped.flush(start, self.nbytes(), wait),
            kind => Err(refuse(kind)),
        })
    }

    /// Tells the system how the pages of a map are going to be used. For a view these are the pages that contain its elements.
    ///
    /// # Errors
    /// [`Error::NotMapped`] for memory that is not a map, because other values may be in the same pages; [`Error::File`] with an
    /// error of the system.
    pub fn advise(&self, advice: Advice) -> Result<(), Error> {
        self.with_map(|kind| Error::NotMapped { kind }, |mapped, start| mapped.advise(advice, start, self.nbytes()))
    }

    /// Whether the file still contains all bytes of this storage. If not, reading the elements may kill the process.
    ///
    /// This holds only for the moment of the call. The file is looked up by the name that it was mapped by, because a map
    /// keeps no descriptor.
    ///
    /// # Errors
    /// [`Error::OtherFile`] if another file has the name now, and [`Error::File`] if no file has it. In both cases the length of
    /// the mapped file cannot be found out. [`Error::NotMapped`] for memory that is not a map.
    pub fn check(&self) -> Result<bool, Error> {
        self.with_map(|kind| Error::NotMapped { kind }, |mapped, start| mapped.covers(start, self.nbytes()))
    }

    /// Locks the pages of the elements in memory (`mlock`), until the memory ends or the storage is resized. The pages are then
    /// also locked for other storages over the same memory. A child made by `fork` inherits the memory, but not the lock.
    ///
    /// # Errors
    /// [`Error::Pin`], with the number of bytes that this process may lock; [`Error::OutOfMemory`].
    pub fn pin(&self) -> Result<(), Error> {
        // Pinning may take long, so it does not hold the register's lock. A reference to the memory keeps it where it is.
        let (memory, data, bytes) = self.with_access(|access| (access.share(), self.data(), self.nbytes()));
        pin(memory.identity(), data, bytes)
    }

    /// Whether all pages of the elements are locked, by [`pin`](Self::pin) or by a map with [`lock`](MapOptions::lock). An
    /// empty storage is always pinned, because it has no pages.
    #[must_use]
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
