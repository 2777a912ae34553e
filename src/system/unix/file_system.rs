//! What is known about the file system of a file: whether it belongs to this machine alone, and how many bytes it has room for.

use std::fs::File;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use unknown as system;

/// Whether only this machine uses the file system of a file, so that a lock of the file is known to all who use it. It is false
/// where that is unknown, as it is for network file systems.
pub fn is_local(file: &File) -> bool {
    system::is_local(file)
}

/// The number of bytes that the file system of a file has room for, at most, and the number that it offers to this user. `None` if
/// that is unknown: a file system that compresses has room for more bytes than are free, and the numbers of a network file system
/// may be made up.
pub fn room(file: &File) -> Option<(u64, u64)> {
    system::room(file)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::mem::MaybeUninit;
    use std::os::fd::AsRawFd;

    /// File systems that <linux/magic.h> does not list: exFAT, ZFS and bcachefs.
    const EXFAT: u32 = 0x2011_bab0;
    const ZFS: u32 = 0x2fc1_2fc1;
    const BCACHEFS: u32 = 0xca45_1a4e;

    /// The kind of the file system of an open file, and the rest of what the system says about it.
    fn of(file: &File) -> Option<(u32, libc::statfs)> {
        let mut found = MaybeUninit::<libc::statfs>::zeroed();
        // SAFETY: [system] the descriptor is open, and the structure is a local variable.
        if unsafe { libc::fstatfs(file.as_raw_fd(), found.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: [layout] the call succeeded, so it has written the structure.
        let found = unsafe { found.assume_init() };
        // The kind has 32 bits. Some systems give it with a sign.
        let [a, b, c, d, ..] = i128::from(found.f_type).to_le_bytes();
        Some((u32::from_le_bytes([a, b, c, d]), found))
    }

    /// Whether files take about as many bytes as they have. Behind an overlay there is usually such a file system.
    fn is_plain(kind: u32) -> bool {
        is_one_of(kind, &[libc::EXT4_SUPER_MAGIC, libc::XFS_SUPER_MAGIC, libc::TMPFS_MAGIC, libc::OVERLAYFS_SUPER_MAGIC])
            || is_one_of(kind, &[libc::MSDOS_SUPER_MAGIC])
            || kind == EXFAT
    }

    fn is_one_of<T: Copy + Into<i128>>(kind: u32, kinds: &[T]) -> bool {
        kinds.iter().any(|&one| one.into() == i128::from(kind))
    }

    pub fn is_local(file: &File) -> bool {
        of(file).is_some_and(|(kind, _)| {
            is_plain(kind)
                || is_one_of(kind, &[libc::BTRFS_SUPER_MAGIC, libc::F2FS_SUPER_MAGIC])
                || matches!(kind, ZFS | BCACHEFS)
        })
    }

    pub fn room(file: &File) -> Option<(u64, u64)> {
        let (kind, found) = of(file)?;
        // A file system in memory that has no limit reports 0 blocks.
        if !is_plain(kind) || found.f_blocks == 0 {
            return None;
        }
        let block = u64::try_from(found.f_frsize).ok()?;
        Some((found.f_bfree.saturating_mul(block), found.f_bavail.saturating_mul(block)))
    }
}

#[cfg(not(target_os = "linux"))]
mod unknown {
    use std::fs::File;

    pub fn is_local(_file: &File) -> bool {
        false
    }

    pub fn room(_file: &File) -> Option<(u64, u64)> {
        None
    }
}
