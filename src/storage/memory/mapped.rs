//! Mapped files: mapping a range of a file, writing it back, and giving the system advice about it.

pub(super) mod file;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use memmap2::MmapRaw;

use super::byte_size;
use super::page_locks::Identity;
use super::pin::pin;
use super::usage::{MAPPED, MAPS, PRIVATE};
use crate::element::DType;
use crate::error::{Error, MemoryKind};
use crate::fallible::boxed;
pub use crate::system::Advice;
use crate::system::files::Status;
use crate::system::{self, Code, FileId, failure, files, maps};

/// Who sees the writes to a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Nobody else. The first write to a page makes a copy of it (`MAP_PRIVATE`). Windows sets memory aside for the whole map when it is
    /// made; if it has too little, the map can only be read.
    #[default]
    Private,
    /// Everybody who reads or maps the file (`MAP_SHARED`). Writes go to the file.
    Shared,
}

/// How a file is mapped. The default is a private map of the whole file that can be written.
///
/// ```
/// use torch_storage::{MapOptions, Sharing};
///
/// // Maps 100 elements that follow a header of 7 bytes. Writes go to the file.
/// let options = MapOptions { sharing: Sharing::Shared, offset: 7, size: Some(100), ..MapOptions::default() };
/// # assert!(!options.read_only && !options.lock);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapOptions {
    /// Who sees the writes to the map. For a read-only map it makes no difference on Linux. POSIX does not say whether a private
    /// map shows what others write to the file later.
    pub sharing: Sharing,
    /// The file is opened for reading only, and every write is refused. It is then neither created nor extended.
    pub read_only: bool,
    /// The byte of the file at which the storage begins, from 0. It need not be aligned to pages or elements.
    pub offset: u64,
    /// The number of elements. `None` means as many whole elements as there are from the offset to the end of the file.
    pub size: Option<usize>,
    /// How the map is going to be used.
    pub advice: Option<Advice>,
    /// The whole map is read now, and stays in memory (`mlock`) until it is unmapped. A private map that can be written is copied
    /// to the process's own memory. A child made by `fork` inherits the map, but not the lock.
    pub lock: bool,
    /// Advises the system to use huge pages (`MADV_HUGEPAGE`). It is not an error if the system has none for such a file.
    pub huge_pages: bool,
}

impl MapOptions {
    /// Whether writes to the map change the file. Only then the file may be created or extended.
    fn writes_back(&self) -> bool {
        self.sharing == Sharing::Shared && !self.read_only
    }
}

/// A map of a part of a file.
///
/// It keeps no descriptor, because a process can have about 65,000 maps but only about 1,000 descriptors.
/// [`covers`](Self::covers) looks the file up by its name, and recognises it by its device and inode. The map keeps the inode in
/// use, so no other file gets its number.
#[derive(Debug)]
pub struct Mapped {
    /// It is `None` if there are no bytes, because the system does not map 0 bytes.
    map: Option<MmapRaw>,
    /// This is in a box, because the block of every storage has room for a `Mapped`, and few storages are maps.
    origin: Box<Origin>,
}

/// The file that is mapped, and how it is mapped.
#[derive(Debug)]
struct Origin {
    path: PathBuf,
    identity: FileId,
    /// The byte of the file at which the map begins, from 0.
    offset: u64,
    sharing: Sharing,
    read_only: bool,
    /// The class of the storage that was made with the map.
    class: &'static str,
}

impl Origin {
    fn new(path: &Path, status: Status, dtype: DType, options: &MapOptions) -> Result<Box<Self>, Error> {
        let &MapOptions { offset, sharing, read_only, .. } = options;
        let path = files::owned(path).map_err(failure("open", path))?;
        Ok(boxed(Self { path, identity: status.id, offset, sharing, read_only, class: dtype.class_name() })?)
    }

    /// Whether a write to a page makes a copy that belongs to this process.
    fn is_private(&self) -> bool {
        self.sharing == Sharing::Private && !self.read_only
    }
}

impl Mapped {
    /// Maps the part of the file that the options describe.
    pub fn open(path: &Path, dtype: DType, options: &MapOptions) -> Result<Self, Error> {
        let bytes = options.size.map(|size| byte_size(dtype, size)).transpose()?;
        system::check_name(path)?;
        let (file, created) =
            if options.writes_back() { file::open_or_create(path, bytes.is_some())? } else { (file::open_to_read(path)?, None) };
        let mapped = Self::of_file(&file, path, bytes, dtype, options);
        if let (Err(_), Some(created)) = (&mapped, created) {
            file::remove_if_same(&file, &created);
        }
        mapped
    }

    /// Maps the part of an open file that the options describe.
    pub fn of_open(file: &File, path: &Path, dtype: DType, options: &MapOptions) -> Result<Self, Error> {
        let bytes = options.size.map(|size| byte_size(dtype, size)).transpose()?;
        Self::of_file(file, path, bytes, dtype, options)
    }

    /// Maps `bytes` bytes of an open file, or as many whole elements as there are if `bytes` is `None`.
    fn of_file(file: &File, path: &Path, bytes: Option<usize>, dtype: DType, options: &MapOptions) -> Result<Self, Error> {
        let status = file::regular_file_status(file, path)?;
        let (length, offset) = (status.length, options.offset);
        let beyond = || Error::OffsetBeyondEnd { path: path.into(), offset, bytes: length };
        let bytes = match bytes {
            Some(bytes) => bytes,
            None => file::bytes_of_whole_units(length.checked_sub(offset).ok_or_else(beyond)?, dtype.width(), path)?,
        };
        let end = offset.checked_add(bytes as u64).filter(|&end| i64::try_from(end).is_ok());
        let end = end.ok_or_else(|| Error::PastLargestFile { path: path.into(), offset, bytes })?;
        if end > length && options.writes_back() {
            file::extend(file, length, offset, end).map_err(failure("extend", path))?;
        } else if offset > length {
            return Err(beyond());
        } else if end > length {
            return Err(Error::FileTooSmall { path: path.into(), bytes: length, offset, needed: end });
        }
        let mut origin = Origin::new(path, status, dtype, options)?;
        let map = map(file, bytes, options).or_else(|reason| {
            if !(system::COUNTS_PRIVATE_MAPS && origin.is_private() && Code::NoMemory.is_of(&reason)) {
                return Err(reason);
            }
            // Such a file can be read at least. A write is an error that says what to do.
            origin.read_only = true;
            map(file, bytes, &MapOptions { read_only: true, ..*options })
        });
        let map = map.map_err(failure("map", path))?;
        maps::add(origin.identity, origin.class)?;
        let mapped = Self { map, origin };
        MAPPED.add(mapped.bytes());
        MAPS.add(1);
        if mapped.is_copied_on_write() {
            PRIVATE.add(mapped.bytes());
        }
        mapped.prepare(options)?;
        Ok(mapped)
    }

    /// Gives the system the advice of the options, and locks the map. The lock comes last, because it reads the pages. It ends
    /// with the [`Memory`](super::Memory) that the caller makes from this map.
    fn prepare(&self, options: &MapOptions) -> Result<(), Error> {
        let Some(map) = &self.map else { return Ok(()) };
        if options.huge_pages {
            // It begins with a page, wherever the storage begins.
            let before = map.as_mut_ptr().addr() % system::page_size();
            system::advise_huge_pages(map.as_mut_ptr().wrapping_sub(before), before + map.len());
        }
        if let Some(advice) = options.advice {
            self.advise(advice, 0, self.bytes())?;
        }
        if options.lock {
            pin(Identity::new(map.as_mut_ptr(), 0), map.as_mut_ptr(), map.len()).map_err(|error| match error {
                Error::Pin { bytes, limit, reason } => {
                    Error::Lock { path: self.origin.path.as_path().into(), bytes, limit, reason }
                }
                other => other,
            })?;
        }
        Ok(())
    }

    pub fn data(&self) -> *mut u8 {
        self.map.as_ref().map_or(std::ptr::null_mut(), MmapRaw::as_mut_ptr)
    }

    pub fn bytes(&self) -> usize {
        self.map.as_ref().map_or(0, MmapRaw::len)
    }

    pub fn path(&self) -> &Path {
        &self.origin.path
    }

    pub fn is_read_only(&self) -> bool {
        self.origin.read_only
    }

    pub fn kind(&self) -> MemoryKind {
        match self.origin.sharing {
            _ if self.origin.read_only => MemoryKind::ReadOnlyMap,
            Sharing::Private => MemoryKind::PrivateMap,
            Sharing::Shared => MemoryKind::SharedMap,
        }
    }

    /// Whether the map shares its pages with the file and with others who map the file.
    pub fn is_shared(&self) -> bool {
        self.origin.sharing == Sharing::Shared
    }

    /// Whether a write to a page makes a copy that belongs to this process.
    fn is_copied_on_write(&self) -> bool {
        self.origin.is_private()
    }

    /// Writes the pages that contain `bytes` bytes from byte `start` on to the file. With `wait`, returns when they are on the
    /// disk.
    pub fn flush(&self, start: usize, bytes: usize, wait: bool) -> Result<(), Error> {
        match &self.map {
            Some(map) if bytes > 0 && wait => map.flush_range(start, bytes),
            Some(map) if bytes > 0 => map.flush_async_range(start, bytes),
            _ => Ok(()),
        }
        .map_err(failure("flush", &self.origin.path))
    }

    /// Tells the system how the pages that contain `bytes` bytes from byte `start` on are going to be used.
    pub fn advise(&self, advice: Advice, start: usize, bytes: usize) -> Result<(), Error> {
        match &self.map {
            Some(map) if bytes > 0 => system::advise(map, advice, start, bytes),
            _ => Ok(()),
        }
        .map_err(failure("give advice on", &self.origin.path))
    }

    /// Whether the file still contains the `bytes` bytes from byte `start` of the map on.
    pub fn covers(&self, start: usize, bytes: usize) -> Result<bool, Error> {
        let there = files::status(&self.origin.path).map_err(failure("check", &self.origin.path))?;
        if there.id != self.origin.identity {
            return Err(Error::OtherFile { path: self.origin.path.as_path().into() });
        }
        // This cannot overflow, because the end of the map was checked when it was made.
        Ok(bytes == 0 || self.origin.offset + start as u64 + bytes as u64 <= there.length)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        maps::remove(self.origin.identity, self.origin.class);
        MAPPED.subtract(self.bytes());
        MAPS.subtract(1);
        if self.is_copied_on_write() {
            PRIVATE.subtract(self.bytes());
        }
    }
}

/// Maps bytes of an open file. The offset need not be a multiple of the page size: `memmap2` then maps from the beginning of the
/// page on.
fn map(file: &File, bytes: usize, options: &MapOptions) -> io::Result<Option<MmapRaw>> {
    if bytes == 0 {
        return Ok(None);
    }
    let mut range = memmap2::MmapOptions::new();
    range.offset(options.offset).len(bytes);
    match (options.sharing, options.read_only) {
        // SAFETY: [alias] only raw pointers lead to the map. `Storage::map` documents the SIGBUS of a truncated file.
        (Sharing::Private, false) => unsafe { range.no_reserve_swap().map_copy(file) }.map(MmapRaw::from),
        (Sharing::Private, true) if system::COUNTS_PRIVATE_MAPS => range.map_raw_read_only(file),
        // SAFETY: [alias] only raw pointers lead to the map. `Storage::map` documents the SIGBUS of a truncated file.
        (Sharing::Private, true) => unsafe { range.map_copy_read_only(file) }.map(MmapRaw::from),
        (Sharing::Shared, false) => range.map_raw(file),
        (Sharing::Shared, true) => range.map_raw_read_only(file),
    }
    .map(Some)
}
