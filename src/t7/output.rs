//! Where the bytes of a .t7 file go: a file, memory, or nowhere, to be counted only.

mod destination;
#[cfg(test)]
mod tests;
mod write;

use std::path::Path;

use crate::bulk::{self, Readable, Writable};
use crate::element::DType;
use crate::error::Error;
use crate::storage::{StateId, Storage};
use destination::Destination;

/// Bytes gathered before a file gets them.
const BUFFER: usize = 1 << 20;

/// What is copied to the buffer rather than written from where it is.
const SMALL: usize = 64 << 10;

/// Takes bytes from the front to the back.
///
/// A file that is replaced stays as it is until [`finish`](Self::finish) has succeeded. After a failure to write, and when it is
/// dropped before, nothing of the new file is left.
pub struct Output {
    /// What no file, or storage, has got yet.
    buffer: Vec<u8>,
    /// Bytes that have left the buffer.
    gone: u64,
    target: Target,
}

enum Target {
    /// What has left the buffer, if it was too much for that. A storage grows without copying.
    Memory(Option<Storage>),
    Nowhere,
    File(Destination),
}

impl Output {
    /// Keeps the bytes: see [`memory`](Self::memory).
    #[must_use]
    pub fn to_memory() -> Self {
        Self { buffer: Vec::new(), gone: 0, target: Target::Memory(None) }
    }

    /// Keeps only their number: see [`position`](Self::position).
    #[must_use]
    pub fn counting() -> Self {
        Self { buffer: Vec::new(), gone: 0, target: Target::Nowhere }
    }

    /// Writes the file `path`.
    ///
    /// With `atomic`, the bytes go to a new file beside it, hidden, that takes its name in the end: anybody who opens `path` finds
    /// the old file or the new one, whole. The new one has the permissions of the old one, and its owner where that is allowed. A
    /// symbolic link stays, the file that it leads to is replaced; other hard links keep the old contents, and attributes
    /// beyond the permissions (an access list) are not taken over. A pipe, a device and a
    /// descriptor (`/dev/stdout`) have nothing to replace and are written to plainly.
    ///
    /// Without `atomic`, the file is emptied now and written to as it is: all its names have the new contents, or part of them.
    ///
    /// # Errors
    ///
    /// [`Error::NulInName`], [`Error::NotAFile`] for a directory, [`Error::File`]. The old file is as it was.
    pub fn to_file(path: &Path, atomic: bool) -> Result<Self, Error> {
        Ok(Self { buffer: Vec::new(), gone: 0, target: Target::File(Destination::open(path, atomic)?) })
    }

    /// Bytes taken.
    #[inline]
    #[must_use]
    pub fn position(&self) -> u64 {
        self.gone + count(self.buffer.len())
    }

    /// The bytes of a finished output to memory. Another output has none.
    #[must_use]
    pub fn memory(&self) -> &[u8] {
        match &self.target {
            // SAFETY: [live] [in-bounds] the storage has so many bytes. [alias] nobody else knows it.
            Target::Memory(Some(storage)) => unsafe { std::slice::from_raw_parts(storage.data(), storage.nbytes()) },
            Target::Memory(None) => &self.buffer,
            Target::Nowhere | Target::File(_) => &[],
        }
    }

    /// The bytes of an output to memory, as a storage; of another one, an empty one. There are none left here.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]: the bytes are still here.
    pub fn take_storage(&mut self) -> Result<Storage, Error> {
        self.finish()?;
        if let Target::Memory(storage) = &mut self.target
            && let Some(storage) = storage.take()
        {
            return Ok(storage);
        }
        let storage = Storage::from_bytes(DType::Char, &self.buffer)?;
        self.buffer = Vec::new();
        Ok(storage)
    }

    /// Takes `bytes`.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]: nothing was taken. [`Error::File`]: the file is given up, all later calls fail.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.buffer.capacity() - self.buffer.len() >= bytes.len() && !matches!(self.target, Target::Nowhere) {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.write(of_slice(bytes))
    }

    /// Takes what `write` appends to the `Vec` that it gets: `most` bytes at most, for which there is room. It leaves what is in
    /// there already alone.
    ///
    /// # Errors
    ///
    /// As [`put`](Self::put); `write` is not called then.
    #[inline]
    pub fn put_with(&mut self, most: usize, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Error> {
        if self.buffer.capacity() - self.buffer.len() < most {
            self.make_room(most)?;
        }
        let before = self.buffer.len();
        write(&mut self.buffer);
        debug_assert!(self.buffer.len() - before <= most, "{} bytes instead of {most}", self.buffer.len() - before);
        if matches!(self.target, Target::Nowhere) {
            self.gone += count(self.buffer.len());
            self.buffer.clear();
        }
        Ok(())
    }

    /// Takes bytes that are not the memory of this output. Many go to a file from where they are.
    ///
    /// # Errors
    ///
    /// As [`put`](Self::put).
    pub fn write(&mut self, elements: Readable<'_>) -> Result<(), Error> {
        let bytes = elements.bytes();
        match &mut self.target {
            Target::Nowhere => {
                self.gone += count(bytes.size());
                return Ok(());
            }
            Target::Memory(_) if self.buffer.len() + bytes.size() <= BUFFER => {}
            Target::Memory(storage) => {
                Self::store(storage, &mut self.buffer, &mut self.gone)?;
                return Self::append(storage, &mut self.gone, bytes);
            }
            Target::File(file) if bytes.size() >= SMALL => {
                Self::flush(&mut self.buffer, &mut self.gone, file)?;
                let written = file.write(bytes);
                if written.is_ok() {
                    self.gone += count(bytes.size());
                } else {
                    self.buffer = Vec::new();
                }
                return written;
            }
            Target::File(_) => {}
        }
        self.make_room(bytes.size())?;
        append_to(&mut self.buffer, bytes);
        Ok(())
    }

    /// Ends the output. A file gets the bytes that are left, they are on the disk when this returns, and the new file takes the
    /// place of the old one. Dropping the output does nothing any more, and nothing can be put into it.
    ///
    /// # Errors
    ///
    /// [`Error::File`]. The old file is as it was, and the new one is gone; but not if the failure is to write the folder to the
    /// disk: then the new file is in place already, and only a power cut would undo that.
    pub fn finish(&mut self) -> Result<(), Error> {
        match &mut self.target {
            Target::File(file) => {
                Self::flush(&mut self.buffer, &mut self.gone, file)?;
                self.buffer = Vec::new();
                file.finish()
            }
            Target::Memory(storage @ Some(_)) => Self::store(storage, &mut self.buffer, &mut self.gone),
            Target::Memory(None) | Target::Nowhere => Ok(()),
        }
    }

    /// Gives the buffer to the storage.
    fn store(storage: &mut Option<Storage>, buffer: &mut Vec<u8>, gone: &mut u64) -> Result<(), Error> {
        Self::append(storage, gone, of_slice(buffer))?;
        buffer.clear();
        Ok(())
    }

    /// Gives bytes to the storage, which is made if there is none.
    fn append(storage: &mut Option<Storage>, gone: &mut u64, bytes: Readable<'_>) -> Result<(), Error> {
        let storage = match storage {
            Some(storage) => storage,
            None => storage.insert(Storage::zeroed(DType::Char, 0)?),
        };
        let before = storage.nbytes();
        let after = before.checked_add(bytes.size()).ok_or(Error::OutOfMemory { bytes: bytes.size() })?;
        storage.resize(after, StateId::PROGRAM)?;
        // SAFETY: [in-bounds] the storage has just grown by so many bytes. [live] nobody else resizes it.
        let target = unsafe { Writable::new(storage.data().wrapping_add(before), DType::Byte, bytes.size()) };
        bulk::copy(target, bytes);
        *gone += count(bytes.size());
        Ok(())
    }

    /// Gives the buffer to the file.
    fn flush(buffer: &mut Vec<u8>, gone: &mut u64, file: &mut Destination) -> Result<(), Error> {
        if !buffer.is_empty() {
            if let Err(reason) = file.write(of_slice(buffer)) {
                // Without a buffer, whatever comes next has to ask the file, which says no.
                *buffer = Vec::new();
                return Err(reason);
            }
            *gone += count(buffer.len());
            buffer.clear();
        }
        Ok(())
    }

    /// Makes room for `bytes` bytes after those that are in the buffer, or in their place when they have gone to the file.
    #[cold]
    fn make_room(&mut self, bytes: usize) -> Result<(), Error> {
        if self.buffer.capacity() - self.buffer.len() >= bytes {
            return Ok(());
        }
        let most = match &mut self.target {
            Target::File(file) => {
                file.check()?;
                Self::flush(&mut self.buffer, &mut self.gone, file)?;
                bytes.max(BUFFER)
            }
            Target::Memory(storage) if self.buffer.len() + bytes > BUFFER => {
                Self::store(storage, &mut self.buffer, &mut self.gone)?;
                bytes.max(BUFFER)
            }
            Target::Memory(_) | Target::Nowhere => bytes,
        };
        self.buffer.try_reserve(most).map_err(|_| Error::OutOfMemory { bytes: self.buffer.len().saturating_add(most) })
    }
}

fn of_slice(bytes: &[u8]) -> Readable<'_> {
    Readable::of(bytes, DType::Byte)
}

/// Appends bytes to a vector that has room for them.
fn append_to(buffer: &mut Vec<u8>, bytes: Readable<'_>) {
    let (end, size) = (buffer.len(), bytes.size());
    assert!(buffer.capacity() - end >= size, "no room for {size} bytes");
    // SAFETY: [live] [in-bounds] the source is readable, and the vector, whose memory nobody else knows, has room for `size` bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.data(), buffer.as_mut_ptr().wrapping_add(end), size) };
    // SAFETY: [in-bounds] these bytes were written, and are within the capacity.
    unsafe { buffer.set_len(end + size) };
}

/// A number of bytes in memory as one of a file. This crate is for 64-bit systems only.
#[inline]
fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
