//! Mapped files: a range of a file as memory, and what the system is told about it.

pub(super) mod file;

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use memmap2::MmapRaw;

use super::byte_size;
use super::page_locks::Identity;
use super::pin::pin;
use super::usage::{MAPPED, MAPS, PRIVATE};
use crate::element::DType;
use crate::error::{Error, Kind};
use crate::system::{self, FileId, failure};

/// Who sees what is written to a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Nobody else: written pages are copies (`MAP_PRIVATE`).
    #[default]
    Private,
    /// The file, and everybody who maps it (`MAP_SHARED`).
    Shared,
}

/// What a program is going to do with a map: the system reads ahead, or drops pages, accordingly. It changes no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Nothing particular: takes back what was advised before.
    Normal,
    /// Read from the front to the back (`MADV_SEQUENTIAL`): far ahead, and pages that were read may go soon.
    Sequential,
    /// Read here and there (`MADV_RANDOM`): nothing ahead.
    Random,
    /// Read all of it soon (`MADV_WILLNEED`): reading begins now, and nobody waits for it.
    WillNeed,
}

impl From<Advice> for memmap2::Advice {
    fn from(advice: Advice) -> Self {
        match advice {
            Advice::Normal => Self::Normal,
            Advice::Sequential => Self::Sequential,
            Advice::Random => Self::Random,
            Advice::WillNeed => Self::WillNeed,
        }
    }
}

/// How a file is mapped. The default is a private map of the whole file that can be written.
///
/// ```
/// use torch_storage::storage::{MapOptions, Sharing};
///
/// // Elements 0 to 99 stand behind a header of 7 bytes; what is written goes to the file.
/// let options = MapOptions { sharing: Sharing::Shared, offset: 7, size: Some(100), ..MapOptions::default() };
/// # assert!(!options.read_only && !options.lock);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapOptions {
    /// Who sees what is written. To one who only reads it makes no difference on Linux; POSIX leaves open whether a private map
    /// shows what others write to the file later.
    pub sharing: Sharing,
    /// The file is opened for reading only, and every write is refused. It is then neither created nor extended.
    pub read_only: bool,
    /// The byte of the file where the storage begins, from 0: any, aligned to neither page nor element.
    pub offset: u64,
    /// Elements; `None` is as many as are whole from the offset to the end of the file.
    pub size: Option<usize>,
    /// What the map is going to be used for.
    pub advice: Option<Advice>,
    /// All of it is read now and stays in memory (`mlock`) until it is unmapped. A private map that can be written becomes a copy
    /// in the process's own memory. A child made by `fork` has the map, but not the lock.
    pub lock: bool,
    /// Advises huge pages (`MADV_HUGEPAGE`), where the system has them for such a file. It is no error if it has not.
    pub huge_pages: bool,
}

impl MapOptions {
    /// Whether the file changes with the map, so that it may be created and extended for it.
    fn writes_back(&self) -> bool {
        self.sharing == Sharing::Shared && !self.read_only
    }
}

/// A map of a part of a file.
///
/// It keeps no descriptor: a process has some 1,000 of those and some 65,000 maps. What [`covers`](Self::covers) needs is asked
/// for by the file's name; that it still is the same file is told by device and inode, which a map keeps from being used anew.
#[derive(Debug)]
pub struct Mapped {
    /// None for no bytes: the system maps nothing smaller than a page.
    map: Option<MmapRaw>,
    /// Apart, for every storage has room for a map in its block, and few are one.
    origin: Box<Origin>,
}

/// What is mapped, and how.
#[derive(Debug)]
struct Origin {
    path: PathBuf,
    identity: FileId,
    /// The byte of the file where the map begins.
    offset: u64,
    sharing: Sharing,
    read_only: bool,
}

impl Origin {
    fn new(path: &Path, metadata: &Metadata, options: &MapOptions) -> Result<Box<Self>, Error> {
        // Boxes and paths cannot fail: see first that there is room for them.
        let bytes = size_of::<Self>() + path.as_os_str().len();
        Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| Error::OutOfMemory { bytes })?;
        let &MapOptions { offset, sharing, read_only, .. } = options;
        Ok(Box::new(Self { path: path.to_owned(), identity: FileId::of(metadata), offset, sharing, read_only }))
    }
}

impl Mapped {
    /// Maps the part of the file that the options say.
    pub fn open(path: &Path, dtype: DType, options: &MapOptions) -> Result<Self, Error> {
        let bytes = options.size.map(|size| byte_size(dtype, size)).transpose()?;
        system::check_name(path)?;
        let (file, created) =
            if options.writes_back() { file::open_or_create(path, bytes.is_some())? } else { (file::open_to_read(path)?, None) };
        let mapped = Self::of_file(&file, path, bytes, dtype.width(), options);
        if let (Err(_), Some(created)) = (&mapped, created) {
            file::remove_if_same(&file, &created);
        }
        mapped
    }

    /// Maps `bytes` bytes, or, given none, as many whole units of `width` bytes as there are.
    fn of_file(file: &File, path: &Path, bytes: Option<usize>, width: usize, options: &MapOptions) -> Result<Self, Error> {
        let metadata = file::regular_file_metadata(file, path)?;
        let (length, offset) = (metadata.len(), options.offset);
        let beyond = || Error::OffsetBeyondEnd { path: path.to_owned(), offset, bytes: length };
        let bytes = match bytes {
            Some(bytes) => bytes,
            None => file::bytes_of_whole_units(length.checked_sub(offset).ok_or_else(beyond)?, width, path)?,
        };
        let end = offset.checked_add(bytes as u64).filter(|&end| i64::try_from(end).is_ok());
        let end = end.ok_or_else(|| Error::PastLargestFile { path: path.to_owned(), offset, bytes })?;
        if end > length && options.writes_back() {
            file::extend(file, length, offset, end).map_err(failure("extend", path))?;
        } else if offset > length {
            return Err(beyond());
        } else if end > length {
            return Err(Error::FileTooSmall { path: path.to_owned(), bytes: length, offset, needed: end });
        }
        let origin = Origin::new(path, &metadata, options)?;
        let mapped = Self { map: map(file, bytes, options).map_err(failure("map", path))?, origin };
        MAPPED.add(mapped.bytes());
        MAPS.add(1);
        if mapped.is_copied_on_write() {
            PRIVATE.add(mapped.bytes());
        }
        mapped.prepare(options)?;
        Ok(mapped)
    }

    /// Tells the system about the use; the lock comes last, for it reads the pages, and who makes the memory of the map ends it.
    fn prepare(&self, options: &MapOptions) -> Result<(), Error> {
        let Some(map) = &self.map else { return Ok(()) };
        #[cfg(target_os = "linux")]
        if options.huge_pages {
            // A wish: a kernel without huge pages for such a file declines, and the map is as good as it was.
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        if let Some(advice) = options.advice {
            self.advise(advice, 0, self.bytes())?;
        }
        if options.lock {
            pin(Identity::new(map.as_mut_ptr(), 0), map.as_mut_ptr(), map.len()).map_err(|error| match error {
                Error::Pin { bytes, limit, reason } => Error::Lock { path: self.origin.path.clone(), bytes, limit, reason },
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

    pub fn kind(&self) -> Kind {
        match self.origin.sharing {
            _ if self.origin.read_only => Kind::ReadOnlyMap,
            Sharing::Private => Kind::PrivateMap,
            Sharing::Shared => Kind::SharedMap,
        }
    }

    /// Whether it shows what others write to the file.
    pub fn is_shared(&self) -> bool {
        self.origin.sharing == Sharing::Shared
    }

    /// Whether pages that are written become memory of this process.
    fn is_copied_on_write(&self) -> bool {
        self.kind() == Kind::PrivateMap
    }

    /// Writes the pages of `bytes` bytes from `start` to the file. Waits for it, or only begins.
    pub fn flush(&self, start: usize, bytes: usize, wait: bool) -> Result<(), Error> {
        match &self.map {
            Some(map) if bytes > 0 && wait => map.flush_range(start, bytes),
            Some(map) if bytes > 0 => map.flush_async_range(start, bytes),
            _ => Ok(()),
        }
        .map_err(failure("flush", &self.origin.path))
    }

    /// Says what the pages of `bytes` bytes from `start` are going to be used for.
    pub fn advise(&self, advice: Advice, start: usize, bytes: usize) -> Result<(), Error> {
        match &self.map {
            Some(map) if bytes > 0 => map.advise_range(advice.into(), start, bytes),
            _ => Ok(()),
        }
        .map_err(failure("give advice on", &self.origin.path))
    }

    /// Whether the file still has the `bytes` bytes from `start`.
    pub fn covers(&self, start: usize, bytes: usize) -> Result<bool, Error> {
        let there = std::fs::metadata(&self.origin.path).map_err(failure("check", &self.origin.path))?;
        if FileId::of(&there) != self.origin.identity {
            return Err(Error::OtherFile { path: self.origin.path.clone() });
        }
        // No overflow: the end of the map was checked when it was made.
        Ok(bytes == 0 || self.origin.offset + start as u64 + bytes as u64 <= there.len())
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        MAPPED.subtract(self.bytes());
        MAPS.subtract(1);
        if self.is_copied_on_write() {
            PRIVATE.subtract(self.bytes());
        }
    }
}

/// The system's part. Bytes need not begin where a page does: the map then begins with that page.
fn map(file: &File, bytes: usize, options: &MapOptions) -> io::Result<Option<MmapRaw>> {
    if bytes == 0 {
        return Ok(None);
    }
    let mut range = memmap2::MmapOptions::new();
    range.offset(options.offset).len(bytes);
    match (options.sharing, options.read_only) {
        // SAFETY: [alias] the map is used through raw pointers only, so others may change the file. A file that is cut below the
        // map raises SIGBUS on access, as with every map (documented).
        (Sharing::Private, false) => unsafe { range.no_reserve_swap().map_copy(file) }.map(MmapRaw::from),
        // SAFETY: [alias] the map is used through raw pointers only, so others may change the file.
        (Sharing::Private, true) => unsafe { range.map_copy_read_only(file) }.map(MmapRaw::from),
        (Sharing::Shared, false) => range.map_raw(file),
        (Sharing::Shared, true) => range.map_raw_read_only(file),
    }
    .map(Some)
}
