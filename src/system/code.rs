//! The failures that the library tells apart, and the numbers that each system has for them.

use std::io;

/// A failure of the system that this library looks for, or reports itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    NoMemory,
    TooManyFiles,
    TooManyLockedPages,
    NameTooLong,
    FileTooLong,
    NotOpen,
    NotChangeable,
    Unsupported,
}

impl Code {
    /// An error of the system with this code.
    pub fn error(self) -> io::Error {
        io::Error::from_raw_os_error(self.numbers()[0])
    }

    /// Whether the system has reported this failure.
    pub fn is_of(self, reason: &io::Error) -> bool {
        reason.raw_os_error().is_some_and(|number| self.numbers().contains(&number))
    }

    /// The numbers that the system has for this failure. The first one is that of an error that this library makes.
    #[cfg(unix)]
    const fn numbers(self) -> &'static [i32] {
        match self {
            Self::NoMemory => &[libc::ENOMEM],
            Self::TooManyFiles => &[libc::EMFILE, libc::ENFILE],
            Self::TooManyLockedPages => &[libc::EAGAIN],
            Self::NameTooLong => &[libc::ENAMETOOLONG],
            Self::FileTooLong => &[libc::EFBIG],
            Self::NotOpen => &[libc::EBADF],
            Self::NotChangeable => &[libc::ESPIPE],
            Self::Unsupported => &[libc::EOPNOTSUPP, libc::ENOSYS],
        }
    }

    /// The same for Windows.
    #[cfg(windows)]
    const fn numbers(self) -> &'static [i32] {
        use windows_sys::Win32::Foundation as win;

        /// The numbers are small, and the system's type for them has no sign.
        const fn signed<const COUNT: usize>(numbers: [u32; COUNT]) -> [i32; COUNT] {
            let mut result = [0; COUNT];
            let mut index = 0;
            while index < COUNT {
                result[index] = numbers[index].cast_signed();
                index += 1;
            }
            result
        }

        match self {
            Self::NoMemory => {
                const {
                    &signed([
                        win::ERROR_NOT_ENOUGH_MEMORY,
                        win::ERROR_OUTOFMEMORY,
                        win::ERROR_NO_SYSTEM_RESOURCES,
                        win::ERROR_COMMITMENT_LIMIT,
                    ])
                }
            }
            Self::TooManyFiles => const { &signed([win::ERROR_TOO_MANY_OPEN_FILES]) },
            Self::TooManyLockedPages => const { &signed([win::ERROR_WORKING_SET_QUOTA]) },
            Self::NameTooLong => const { &signed([win::ERROR_FILENAME_EXCED_RANGE]) },
            Self::FileTooLong => const { &signed([win::ERROR_FILE_TOO_LARGE]) },
            Self::NotOpen => const { &signed([win::ERROR_INVALID_HANDLE]) },
            Self::NotChangeable => const { &signed([win::ERROR_SEEK_ON_DEVICE]) },
            Self::Unsupported => const { &signed([win::ERROR_NOT_SUPPORTED]) },
        }
    }
}
