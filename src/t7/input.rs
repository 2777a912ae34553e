//! The source of a `.t7` file's bytes. A regular file is read in pieces. A pipe or device is read to its end at once. Bytes can
//! also be in memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::element::DType;
use crate::error::Error;
use crate::storage::Storage;
use crate::system::{self, failure, files, read_exactly};

/// Gives the bytes of a file or of memory in order.
///
/// ```text
///            position()                         total()
/// consumed ------v--- window ---v--- not read yet ---v
///                `next`, `ready` bytes
///                               `read`
/// ```
#[derive(Debug)]
pub struct Input {
    /// The address of the next bytes, in `buffer` or in the caller's memory. There are `ready` of them.
    next: *const u8,
    ready: usize,
    /// The offset of the end of the window.
    read: u64,
    total: u64,
    buffer: Vec<u8>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    /// A regular file. The buffer has some of its bytes.
    File { file: File, path: PathBuf },
    /// All bytes are in the buffer. They come from a pipe, a device or a file of unknown length, which has a path, or from
    /// memory, which has none.
    Buffer { path: Option<PathBuf> },
    /// All bytes are in a storage that only this input has.
    Copy { copy: Storage },
    /// All bytes are in memory of the caller, which begins at `front`.
    Memory { front: *const u8 },
}

impl From<Vec<u8>> for Input {
    fn from(bytes: Vec<u8>) -> Self {
        Self::of_buffer(bytes, None)
    }
}

impl Input {
    /// Number of bytes that are read ahead from a file.
    pub const AHEAD: usize = 256 << 10;

    /// Opens the file `path`. A regular file is read when its bytes are needed, and its length is the one that it has now. A pipe
    /// or a device is read into memory to its end. If it has no end, it is read until memory is used up.
    ///
    /// Like C's `fopen`, this waits until a pipe has a writer.
    ///
    /// # Errors
    ///
    /// [`Error::NulInName`], [`Error::NotAFile`] for a directory, [`Error::File`], [`Error::OutOfMemory`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        system::check_name(path)?;
        let file = files::open_to_read(path).map_err(failure("open", path))?;
        let status = files::status_of(&file).map_err(failure("read the size of", path))?;
        if status.is_folder() {
            return Err(Error::NotAFile { action: "load", path: path.into(), what: "a directory" });
        }
        let path = files::owned(path).map_err(failure("open", path))?;
        // Files in /proc have the size 0, but are not empty.
        if status.is_file() && status.length > 0 {
            let source = Source::File { file, path };
            return Ok(Self { next: dangling(), ready: 0, read: 0, total: status.length, buffer: Vec::new(), source });
        }
        let buffer = read_to_end(&file, &path)?;
        Ok(Self::of_buffer(buffer, Some(path)))
    }

    /// Gives bytes of memory.
    ///
    /// # Safety
    ///
    /// `bytes` stays readable and unchanged until the input is dropped.
    pub unsafe fn of_memory(bytes: *const [u8]) -> Self {
        let front = if bytes.is_empty() { dangling() } else { bytes.cast::<u8>() };
        let total = count(bytes.len());
        Self { next: front, ready: bytes.len(), read: total, total, buffer: Vec::new(), source: Source::Memory { front } }
    }

    /// Gives a copy of the bytes of a storage.
    pub fn copy_of(storage: &Storage) -> Result<Self, Error> {
        if storage.nbytes() == 0 {
            return Ok(Self::of_buffer(Vec::new(), None));
        }
        let copy = Storage::unset(DType::Byte, storage.nbytes())?;
        copy.copy_bytes(storage)?;
        let (next, ready) = (copy.data().cast_const(), copy.size());
        let total = count(ready);
        Ok(Self { next, ready, read: total, total, buffer: Vec::new(), source: Source::Copy { copy } })
    }

    fn of_buffer(buffer: Vec<u8>, path: Option<PathBuf>) -> Self {
        let (next, ready) = (buffer.as_ptr(), buffer.len());
        let total = count(ready);
        Self { next, ready, read: total, total, buffer, source: Source::Buffer { path } }
    }

    /// Number of bytes that were consumed.
    #[inline]
    pub fn position(&self) -> u64 {
        self.read - count(self.ready)
    }

    /// Number of all bytes.
    #[inline]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Number of bytes that are not consumed yet.
    #[inline]
    pub fn left(&self) -> u64 {
        self.total - self.position()
    }

    /// The file's name as the caller gave it. `None` for memory.
    pub fn path(&self) -> Option<&Path> {
        match &self.source {
            Source::File { path, .. } => Some(path),
            Source::Buffer { path } => path.as_deref(),
            Source::Copy { .. } | Source::Memory { .. } => None,
        }
    }

    /// The next bytes: at least `wanted`, or all that are left. Often there are more. Consumes nothing.
    ///
    /// # Errors
    ///
    /// [`Error::File`], of the kind `UnexpectedEof` if the file has become shorter; [`Error::OutOfMemory`].
    #[inline]
    pub fn window(&mut self, wanted: usize) -> Result<&[u8], Error> {
        if self.ready < wanted {
            self.fill(wanted)?;
        }
        // SAFETY: [live] [in-bounds] `ready` bytes follow `next`. The buffer changes only under `&mut self`, and other memory not
        // at all.
        Ok(unsafe { std::slice::from_raw_parts(self.next, self.ready) })
    }

    /// Consumes the first `bytes` bytes of the last window.
    #[inline]
    pub fn advance(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.ready, "{bytes} bytes of a window of {}", self.ready);
        let bytes = bytes.min(self.ready);
        self.next = self.next.wrapping_add(bytes);
        self.ready -= bytes;
    }

    /// Consumes `bytes` bytes and the `also` bytes after them. Gives the first `bytes` bytes, or fewer if fewer are left. They
    /// stay until the next call.
    #[inline]
    pub fn take(&mut self, bytes: usize, also: usize) -> Result<&[u8], Error> {
        let taken = bytes.min(self.window(bytes.saturating_add(also))?.len());
        let front = self.next;
        self.advance(bytes.saturating_add(also).min(self.ready));
        // SAFETY: [live] [in-bounds] the window has `taken` bytes from `front` on, and it stays until the next call.
        Ok(unsafe { std::slice::from_raw_parts(front, taken) })
    }

    /// Consumes exactly `bytes` bytes and writes them to `target`. Many bytes come directly from the file, without the buffer.
    ///
    /// # Errors
    ///
    /// As [`window`](Self::window). It is also an error if fewer bytes are left, so the caller checks [`left`](Self::left) first.
    /// After an error, the position and the contents of `target` are unspecified.
    ///
    /// # Safety
    ///
    /// `target` is valid for writes of `bytes` bytes, and is not part of the memory that is read.
    pub unsafe fn read_into(&mut self, target: *mut u8, bytes: usize) -> Result<(), Error> {
        let (mut target, mut bytes) = (target, bytes);
        loop {
            let front = bytes.min(self.ready);
            // SAFETY: [live] [in-bounds] `front` is at most `ready` and at most `bytes`, and the two blocks do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(self.next, target, front) };
            self.advance(front);
            target = target.wrapping_add(front);
            bytes -= front;
            match &self.source {
                _ if bytes == 0 => return Ok(()),
                Source::File { file, path } if bytes >= Self::AHEAD && count(bytes) <= self.total - self.read => {
                    // SAFETY: [live] [in-bounds] the rest of the target has room for `bytes` bytes.
                    unsafe { read_exactly(file, target, bytes, bytes, self.read) }.map_err(failure("read", path))?;
                    self.read += count(bytes);
                    return Ok(());
                }
                _ => self.fill(bytes.min(Self::AHEAD))?,
            }
            if self.ready == 0 {
                return Err(failure("read", self.path().unwrap_or(Path::new("")))(io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }

    /// Consumes `bytes` bytes without reading them. If the file has become shorter, a later read fails.
    ///
    /// # Errors
    ///
    /// [`Error::File`] of the kind `UnexpectedEof` if fewer bytes are left. Then nothing is consumed.
    pub fn skip(&mut self, bytes: u64) -> Result<(), Error> {
        if bytes > self.left() {
            return Err(failure("read", self.path().unwrap_or(Path::new("")))(io::ErrorKind::UnexpectedEof.into()));
        }
        match usize::try_from(bytes) {
            Ok(bytes) if bytes <= self.ready => self.advance(bytes),
            _ => self.go_to(self.position() + bytes),
        }
        Ok(())
    }

    /// Goes back to the first byte.
    pub fn rewind(&mut self) {
        match &self.source {
            Source::File { .. } => {
                let before = self.buffer.len();
                if self.read == count(before) {
                    (self.next, self.ready) = (self.buffer.as_ptr(), before);
                } else {
                    self.go_to(0);
                }
                return;
            }
            Source::Buffer { .. } => self.next = self.buffer.as_ptr(),
            Source::Copy { copy } => self.next = copy.data(),
            Source::Memory { front } => self.next = *front,
        }
        // The conversion succeeds: at first the window had this many bytes.
        self.ready = usize::try_from(self.total).unwrap_or(0);
    }

    /// Drops the window of a file. The next window begins at `offset`.
    fn go_to(&mut self, offset: u64) {
        self.buffer.clear();
        (self.next, self.ready) = (self.buffer.as_ptr(), 0);
        self.read = offset;
    }

    /// Reads until the window has `wanted` bytes, or all that are left.
    #[cold]
    fn fill(&mut self, wanted: usize) -> Result<(), Error> {
        let Source::File { file, path } = &self.source else { return Ok(()) };
        let ahead = usize::try_from(self.total - self.read).unwrap_or(usize::MAX);
        let least = wanted.saturating_sub(self.ready).min(ahead);
        if least == 0 {
            return Ok(());
        }

        // The window grows by doubling, but never past the end of the file.
        let needed = self.ready + least;
        let roomy = if needed <= Self::AHEAD {
            Self::AHEAD
        } else {
            self.buffer.capacity().saturating_mul(2).min(needed.saturating_mul(2))
        };
        let room = needed.max(roomy.min(self.ready.saturating_add(ahead)));
        // The offset of the window in the buffer.
        let consumed = self.buffer.len() - self.ready;
        if self.buffer.capacity() < needed || self.buffer.capacity() > 2 * room.max(Self::AHEAD) {
            let mut larger = Vec::new();
            larger.try_reserve_exact(room).map_err(|_| Error::OutOfMemory { bytes: room })?;
            larger.extend_from_slice(&self.buffer[consumed..]);
            self.buffer = larger;
        } else {
            self.buffer.drain(..consumed);
        }
        self.next = self.buffer.as_ptr();

        let spare = self.buffer.spare_capacity_mut();
        let most = spare.len().min(ahead);
        // SAFETY: [live] [in-bounds] the spare capacity has room for `most` bytes, and `least` is not more than that.
        let got =
            unsafe { read_exactly(file, spare.as_mut_ptr().cast(), least, most, self.read) }.map_err(failure("read", path))?;
        // SAFETY: [in-bounds] `got` bytes were written after the last one, within the capacity.
        unsafe { self.buffer.set_len(self.ready + got) };
        self.ready += got;
        self.read += count(got);
        Ok(())
    }
}

const fn dangling() -> *const u8 {
    std::ptr::NonNull::dangling().as_ptr()
}

/// Converts a number of bytes in memory to one in a file. It always fits, because this crate is for 64-bit systems only.
#[inline]
fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Reads all bytes of a file whose length is not known.
fn read_to_end(mut file: &File, path: &Path) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    match file.read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(reason) if reason.kind() == io::ErrorKind::OutOfMemory => {
            Err(Error::OutOfMemory { bytes: bytes.len().saturating_mul(2) })
        }
        Err(reason) => Err(failure("read", path)(reason)),
    }
}
