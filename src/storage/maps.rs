//! Methods of storages over mapped files: mapping, writing back, advice, and whether the file is still there.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::memory::{Advice, MapOptions, Mapped, Memory};
use super::{Hold, Storage, flag};
use crate::element::DType;
use crate::error::{Error, Kind};

impl Storage {
    /// A file, mapped from the byte `options.offset` on: `options.size` elements, or as many as are whole up to its end.
    ///
    /// A private map, or one that is only read, needs a file that is long enough. A shared one that can be written is created
    /// (mode 0600) if it is missing and a size is given, and extended if it is short; it is never shrunk, and its bytes stay. A
    /// failure leaves nothing mapped and no file behind; a file that was there and has been extended stays so, for somebody else
    /// may have mapped it meanwhile.
    ///
    /// The file must not get shorter while it is mapped. If somebody cuts it, the process that touches a page beyond the new end
    /// is ended by SIGBUS, as with every `mmap`; in the page of the new end the bytes behind it read as zero.
    /// [`check`](Self::check) tells whether that has happened. Replacing a file (a rename over its name) is safe: the map
    /// stays with the old one.
    ///
    /// # Errors
    /// Those of files, with the name and the system's reason; [`Error::FileTooSmall`], [`Error::OffsetBeyondEnd`],
    /// [`Error::PastLargestFile`], [`Error::Lock`], [`Error::TooLarge`].
    pub fn map(dtype: DType, path: &Path, options: &MapOptions) -> Result<Self, Error> {
        let mapped = Mapped::open(path, dtype, options)?;
        let size = mapped.bytes() / dtype.width();
        Self::whole(Memory::Mapped(mapped), dtype, flag::REFCOUNTED | flag::FREEMEM, size)
    }

    /// Whether the memory is a mapped file.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.with_memory(|memory| matches!(memory, Memory::Mapped(_)))
    }

    /// Whether elements can only be read: of a file that was mapped so, and of its views.
    ///
    /// Writing is then [`Error::ReadOnly`], and the header's bound of writes is 0. An empty storage has nothing to refuse.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.with_memory(Memory::is_read_only)
    }

    /// The name of the mapped file, as it was given. The bytes stay where they are while the storage, or another on the same
    /// memory, lives.
    #[must_use]
    pub fn file_name(&self) -> Option<*const [u8]> {
        self.with_memory(|memory| match memory {
            Memory::Mapped(mapped) => Some(std::ptr::from_ref(mapped.path().as_os_str().as_bytes())),
            _ => None,
        })
    }

    /// Writes a shared map's pages to the file; of a view, those that it touches. With `wait`, returns when they are on the disk.
    /// Without, asks for it only (`MS_ASYNC`): Linux then does nothing that it would not do by itself, soon.
    ///
    /// # Errors
    /// [`Error::NothingToFlush`] for every other storage; the system's.
    pub fn flush(&self, wait: bool) -> Result<(), Error> {
        let refuse = |kind| Error::NothingToFlush { kind };
        self.with_map(refuse, |mapped, start| match mapped.kind() {
            Kind::SharedMap => mapped.flush(start, self.nbytes(), wait),
            kind => Err(refuse(kind)),
        })
    }

    /// Tells the system how a map is going to be used; of a view, the pages that it touches.
    ///
    /// # Errors
    /// [`Error::NotMapped`] for memory that is no map: its pages are shared with other values. The system's.
    pub fn advise(&self, advice: Advice) -> Result<(), Error> {
        self.with_map(|kind| Error::NotMapped { kind }, |mapped, start| mapped.advise(advice, start, self.nbytes()))
    }

    /// Whether the file still has all of a map's bytes; of a view, of the view's. False: reading them may end the process.
    ///
    /// It is true of the moment only. The file is looked up by the name that it was mapped by: a map keeps no descriptor.
    ///
    /// # Errors
    /// [`Error::OtherFile`] if the name leads to another file now, and [`Error::File`] if it leads to none: whether the mapped
    /// one has been cut cannot be told then. [`Error::NotMapped`] for memory that is no map.
    pub fn check(&self) -> Result<bool, Error> {
        self.with_map(|kind| Error::NotMapped { kind }, |mapped, start| mapped.covers(start, self.nbytes()))
    }

    /// Acts on the map and the offset in it, in bytes, where this storage begins. A reference to the memory is enough, for a map does
    /// not move: so what takes its time does not hold the register's lock.
    fn with_map<R>(
        &self,
        refuse: impl FnOnce(Kind) -> Error,
        act: impl FnOnce(&Mapped, usize) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let memory = self.with_hold(Hold::share)?;
        match &*memory {
            Memory::Mapped(mapped) => act(mapped, self.data().addr() - mapped.data().addr()),
            other => Err(refuse(other.kind())),
        }
    }
}
