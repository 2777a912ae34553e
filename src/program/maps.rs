//! Storages over mapped files, and pages that stay in memory.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::Storage;
use crate::element::DType;
use crate::error::Error;
use crate::storage::{self, Advice, MapOptions};

impl Storage {
    /// Maps a file from byte `options.offset` (from 0) on. The storage has `options.size` elements, or without a size as many
    /// whole elements as there are up to the end of the file.
    ///
    /// For a private map or a read-only map the file must be long enough. For a shared map that can be written, a file that is
    /// too short is extended, and a missing file is created (mode 0600) if a size is given. A file is never shortened, and its
    /// bytes are kept. After an error nothing is mapped, and a file that this call created is removed. A file that this call
    /// extended stays extended, because somebody else may have mapped it by then.
    ///
    /// The file must not get shorter while it is mapped. If somebody truncates it, the system ends a process that touches a page beyond
    /// the new end (SIGBUS), as with every `mmap`. In the last page, the bytes beyond the new end read as zero. [`check`](Self::check)
    /// tells whether the file was truncated. Replacing the file by a rename is safe: the map keeps the old file.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::MissingFile`], [`Error::NotAFile`] and [`Error::NulInName`], with the name;
    /// [`Error::FileTooSmall`], [`Error::OffsetBeyondEnd`], [`Error::PastLargestFile`], [`Error::Lock`], [`Error::TooLarge`],
    /// [`Error::OutOfMemory`].
    pub fn map(dtype: DType, path: &Path, options: &MapOptions) -> Result<Self, Error> {
        storage::Storage::map(dtype, path, options).map(Self::of)
    }

    /// Does the same as [`map`](Self::map) for a file that is open already. `path` is its name, for errors and for
    /// [`check`](Self::check). The file must be open for writing if writes to the map go to the file.
    ///
    /// # Errors
    /// As [`map`](Self::map).
    pub fn map_open(dtype: DType, file: &File, path: &Path, options: &MapOptions) -> Result<Self, Error> {
        storage::Storage::map_open(dtype, file, path, options).map(Self::of)
    }

    /// Whether the memory is a mapped file.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.inner.is_mapped()
    }

    /// The name of the mapped file as it was given, or `None` for other memory.
    #[must_use]
    pub fn file_name(&self) -> Option<PathBuf> {
        let name = self.inner.file_name()?;
        // SAFETY: [live] the name is a part of the memory, which this handle holds, and nobody changes it.
        let name = unsafe { &*name }.to_vec();
        // SAFETY: [layout] the bytes are all of those that encode the name.
        Some(unsafe { OsString::from_encoded_bytes_unchecked(name) }.into())
    }

    /// Writes the pages of a shared map to the file. For a view these are the pages that contain its elements.
    ///
    /// With `wait`, the call returns when the pages are on the disk. Without it, the call only asks for that (`MS_ASYNC`). Linux
    /// ignores this request, because it writes the pages soon anyway.
    ///
    /// # Errors
    /// [`Error::NothingToFlush`] for a storage that is not a shared map; [`Error::File`] with an error of the system.
    pub fn flush(&self, wait: bool) -> Result<(), Error> {
        self.inner.flush(wait)
    }

    /// Tells the system how the pages of a map are going to be used. For a view these are the pages that contain its elements.
    ///
    /// # Errors
    /// [`Error::NotMapped`] for memory that is not a map, because other values may be in the same pages; [`Error::File`] with an
    /// error of the system.
    pub fn advise(&self, advice: Advice) -> Result<(), Error> {
        self.inner.advise(advice)
    }

    /// Whether the file still contains all bytes of this storage. If not, the system may end the process when elements are read.
    ///
    /// The result holds only for the moment of the call. The file is looked up by the name that it was mapped by, because a map
    /// keeps no descriptor.
    ///
    /// # Errors
    /// [`Error::OtherFile`] if another file has the name now, and [`Error::File`] if no file has it. In both cases the length of
    /// the mapped file cannot be found out. [`Error::NotMapped`] for memory that is not a map.
    pub fn check(&self) -> Result<bool, Error> {
        self.inner.check()
    }

    /// Locks the pages of the elements in memory (`mlock`), until the memory ends or the storage is resized. The pages are then
    /// also locked for other storages over the same memory. A child made by `fork` inherits the memory, but not the lock.
    ///
    /// # Errors
    /// [`Error::Pin`], with the number of bytes that this process may lock; [`Error::OutOfMemory`].
    pub fn pin(&self) -> Result<(), Error> {
        self.inner.pin()
    }

    /// Whether all pages of the elements are locked, by [`pin`](Self::pin) or by a map with [`lock`](MapOptions::lock). An
    /// empty storage is always pinned, because it has no pages.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.inner.is_pinned()
    }
}
