//! Pages that processes share: the pages of a shared memory object, or new pages that forked children inherit.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

/// A shared map. It is null if there are no bytes, because the system does not map 0 bytes. (`memmap2` cannot make a shared map
/// without a file.)
#[derive(Debug)]
pub struct Region {
    data: *mut u8,
    bytes: usize,
}

impl Region {
    /// Maps the first `bytes` bytes of the file, or `bytes` new zero bytes if there is no file. A write to a read-only map would end the
    /// process.
    pub fn map(file: Option<&File>, bytes: usize, read_only: bool) -> io::Result<Self> {
        if bytes == 0 {
            return Ok(Self { data: ptr::null_mut(), bytes });
        }
        let (flags, descriptor) = match file {
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::MAP_SHARED | libc::MAP_ANON, -1),
        };
        let protection = if read_only { libc::PROT_READ } else { libc::PROT_READ | libc::PROT_WRITE };
        // SAFETY: [system] the system chooses the address, so no other memory changes. [alias] only raw pointers lead to the map.
        let data = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, descriptor, 0) };
        if data == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self { data: data.cast(), bytes }) }
    }

    pub fn data(&self) -> *mut u8 {
        self.data
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: [owned] this value owns the map, and no storage holds it any more.
            unsafe { libc::munmap(self.data.cast(), self.bytes) };
        }
    }
}
