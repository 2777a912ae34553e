//! The destination of a file's bytes: a file, memory, or nowhere if they are only counted. A new file takes the place of the old one
//! when it is complete.

mod destination;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::bulk::{self, Readable, Writable};
use crate::element::DType;
use crate::error::Error;
use crate::storage::{StateId, Storage};
use destination::Destination;

/// Number of bytes that are collected before they are written to a file.
const BUFFER: usize = 1 << 20;

/// Fewer bytes than this are copied to the buffer. More are written directly from their memory.
const SMALL: usize = 64 << 10;

/// Takes the bytes of a file in order.
///
/// A file that is replaced stays as it is until [`finish`](Self::finish) has succeeded. If a write fails, or if the output is
/// dropped before it is finished, the new file is removed.
pub struct Output {
    /// The bytes that the file or storage has not got yet.
    buffer: Vec<u8>,
    /// Number of bytes that have left the buffer.
    gone: u64,
    target: Target,
}

enum Target {
    /// The storage with the bytes that have left the buffer. There is none while all bytes fit into the buffer. A storage can
    /// grow without copying.
    Memory(Option<Storage>),
    Nowhere,
    File(Destination),
}

impl Output {
    /// Makes an output that keeps the bytes: see [`memory`](Self::memory).
    #[must_use]
    pub fn to_memory() -> Self {
        Self { buffer: Vec::new(), gone: 0, target: Target::Memory(None) }
    }

    /// Makes an output that only counts the bytes: see [`position`](Self::position).
    #[must_use]
    pub fn counting() -> Self {
        Self { buffer: Vec::new(), gone: 0, target: Target::Nowhere }
    }

    /// Makes an output that writes the file `path`.
    ///
    /// With `atomic`, the bytes go to a new hidden file in the same folder, which is renamed at the end. If the process is killed before,
    /// the hidden file stays; the next output to `path` removes it. So anybody who opens `path` gets the complete old file or the complete
    /// new one. The new file gets the permissions of the old one, and its owner if the system allows that. If `path` is a symbolic link,
    /// the link stays and its target is replaced. Other hard links keep the old contents. Attributes other than the permissions, for
    /// example an access list, are lost. A pipe, a device or a descriptor (`/dev/stdout`) cannot be replaced, so it is written to directly.
    ///
    /// Without `atomic`, the file is emptied now and written to directly. A failure leaves a part of the new contents in it.
    ///
    /// The file will have `bytes` bytes, or any number of them if this is 0. A disk that has no room for them is an error now. Where
    /// that is not sure, as on a file system that compresses, as much of the file as possible is written.
    ///
    /// # Errors
    ///
    /// [`Error::NulInName`], [`Error::NotAFile`] for a directory, [`Error::File`], [`Error::NoRoom`]. The old file is unchanged.
    pub fn to_file(path: &Path, atomic: bool, bytes: u64) -> Result<Self, Error> {
        Ok(Self { buffer: Vec::new(), gone: 0, target: Target::File(Destination::open(path, atomic, bytes)?) })
    }

    /// Number of bytes that were taken.
    #[inline]
    #[must_use]
    pub fn position(&self) -> u64 {
        self.gone + count(self.buffer.len())
    }

    /// The bytes of a finished output to memory. Any other output gives none.
    #[must_use]
    pub fn memory(&self) -> &[u8] {
        match &self.target {
            // SAFETY: [live] [in-bounds] the storage has `nbytes()` bytes. [alias] only this output has it, so nobody changes
            // them.
            Target::Memory(Some(storage)) => unsafe { std::slice::from_raw_parts(storage.data(), storage.nbytes()) },
            Target::Memory(None) => &self.buffer,
            Target::Nowhere | Target::File(_) => &[],
        }
    }

    /// Takes the bytes of an output to memory, as a storage. Any other output gives an empty storage.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]: the output keeps the bytes.
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
    /// [`Error::OutOfMemory`]: nothing was taken. [`Error::File`]: the file is closed, and all later calls fail.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.buffer.capacity() - self.buffer.len() >= bytes.len() && !matches!(self.target, Target::Nowhere) {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.write(of_slice(bytes))
    }

    /// Takes the bytes that `write` appends to the `Vec` that it gets. There is room for `most` bytes, and `write` appends no
    /// more. It does not change the bytes that are there already.
    ///
    /// # Errors
    ///
    /// As [`put`](Self::put). Then `write` was not called.
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

    /// Takes the bytes of elements, which are not memory of this output. Many bytes are written to a file directly from their
    /// memory.
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

    /// Whether bytes can be [replaced](Self::replace). Those of a pipe or a device cannot.
    #[must_use]
    pub fn is_changeable(&self) -> bool {
        match &self.target {
            Target::File(file) => file.is_regular(),
            Target::Memory(_) | Target::Nowhere => true,
        }
    }

    /// Replaces bytes that were taken, from byte `position` on.
    ///
    /// # Errors
    ///
    /// [`Error::File`], also for a pipe or a device: then the file is closed, and all later calls fail.
    ///
    /// # Panics
    ///
    /// If not all of the bytes were taken.
    pub fn replace(&mut self, position: u64, bytes: &[u8]) -> Result<(), Error> {
        let end = position.saturating_add(count(bytes.len()));
        assert!(end <= self.position(), "{} bytes at {position} of {}", bytes.len(), self.position());
        let in_memory = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        // The first of these bytes have left the buffer, and the others are in it.
        let (gone, kept) = bytes.split_at(in_memory(self.gone.saturating_sub(position)).min(bytes.len()));
        if !gone.is_empty() {
            match &mut self.target {
                Target::File(file) => file.write_at(gone, position)?,
                Target::Memory(Some(storage)) => storage.write_bytes_at(in_memory(position), gone)?,
                Target::Memory(None) | Target::Nowhere => {}
            }
        }
        if !kept.is_empty() {
            let at = in_memory(end - self.gone) - kept.len();
            self.buffer[at..at + kept.len()].copy_from_slice(kept);
        }
        Ok(())
    }

    /// Ends the output. The rest of the bytes is written to the file and to the disk, and the new file replaces the old one.
    /// After that dropping the output does nothing, and nothing can be put into it.
    ///
    /// # Errors
    ///
    /// [`Error::File`]. The old file is unchanged, and the new one is removed. There is one exception: if only writing the folder
    /// to the disk fails, the new file has replaced the old one already, and a power cut could undo that.
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

    /// Moves the bytes of the buffer to the storage.
    fn store(storage: &mut Option<Storage>, buffer: &mut Vec<u8>, gone: &mut u64) -> Result<(), Error> {
        Self::append(storage, gone, of_slice(buffer))?;
        buffer.clear();
        Ok(())
    }

    /// Appends bytes to the storage. Makes one if there is none.
    fn append(storage: &mut Option<Storage>, gone: &mut u64, bytes: Readable<'_>) -> Result<(), Error> {
        let storage = match storage {
            Some(storage) => storage,
            None => storage.insert(Storage::zeroed(DType::Char, 0)?),
        };
        let before = storage.nbytes();
        let after = before.checked_add(bytes.size()).ok_or(Error::OutOfMemory { bytes: bytes.size() })?;
        storage.resize(after, StateId::of_this_thread())?;
        // SAFETY: [live] [in-bounds] the storage has just grown by this many bytes, and nobody else resizes it.
        let target = unsafe { Writable::new(storage.data().wrapping_add(before), DType::Byte, bytes.size()) };
        bulk::copy(target, bytes);
        *gone += count(bytes.size());
        Ok(())
    }

    /// Writes the buffer to the file.
    fn flush(buffer: &mut Vec<u8>, gone: &mut u64, file: &mut Destination) -> Result<(), Error> {
        if !buffer.is_empty() {
            if let Err(reason) = file.write(of_slice(buffer)) {
                // Without a buffer, every later call needs the file, and fails because it is closed.
                *buffer = Vec::new();
                return Err(reason);
            }
            *gone += count(buffer.len());
            buffer.clear();
        }
        Ok(())
    }

    /// Makes room for `bytes` bytes in the buffer. Writes the bytes in it to the file or storage first, if necessary.
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
    // SAFETY: [live] [in-bounds] the source is readable, and the vector, whose memory nobody else knows, has room for `size`
    // bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.data(), buffer.as_mut_ptr().wrapping_add(end), size) };
    // SAFETY: [in-bounds] these bytes were written, and are within the capacity.
    unsafe { buffer.set_len(end + size) };
}

/// Converts a number of bytes in memory to one in a file. It always fits, because this crate is for 64-bit systems only.
#[inline]
fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
