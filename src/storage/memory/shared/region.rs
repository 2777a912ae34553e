//! Pages that processes share: of an object, or of nobody but this process and the children that it will fork.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

/// A shared map; null for no bytes: the system maps nothing smaller than a page. (`memmap2` has none without a file.)
#[derive(Debug)]
pub struct Region {
    data: *mut u8,
    bytes: usize,
}

impl Region {
    /// Maps the first `bytes` bytes of the file, or as many zero bytes of no file.
    pub fn map(file: Option<&File>, bytes: usize) -> io::Result<Self> {
        if bytes == 0 {
            return Ok(Self { data: ptr::null_mut(), bytes });
        }
        let (flags, descriptor) = match file {
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::MAP_SHARED | libc::MAP_ANON, -1),
        };
        // SAFETY: [system] the system chooses the address, so no other memory changes. [alias] the map is used through raw pointers only.
        let data = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, descriptor, 0) };
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
            // SAFETY: [owned] the map is this value's own, and it ends here, when no storage has it any more.
            unsafe { libc::munmap(self.data.cast(), self.bytes) };
        }
    }
}
