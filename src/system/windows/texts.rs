//! What errors show: the words for an error, and names. This uses little of the library, because errors use it.

use std::io;
use std::path::Path;
use std::ptr;

use windows_sys::Win32::System::Diagnostics::Debug::{FORMAT_MESSAGE_FROM_SYSTEM, FORMAT_MESSAGE_IGNORE_INSERTS, FormatMessageW};

use crate::system::code::Code;

/// Writes what an error means into `text`. Returns nothing for an unknown error.
///
/// For the errors of files that C knows too, the words are those of C, so that they are the same as those of Lua's own functions.
pub fn message(code: i32, text: &mut [u8; 256]) -> Option<&[u8]> {
    match io::Error::from_raw_os_error(code).kind() {
        io::ErrorKind::NotFound => return Some(b"No such file or directory"),
        io::ErrorKind::PermissionDenied => return Some(b"Permission denied"),
        io::ErrorKind::AlreadyExists => return Some(b"File exists"),
        io::ErrorKind::StorageFull => return Some(b"No space left on device"),
        io::ErrorKind::NotADirectory => return Some(b"Not a directory"),
        _ if Code::NameTooLong.is_of(&io::Error::from_raw_os_error(code)) => return Some(b"File name too long"),
        _ if Code::FileTooLong.is_of(&io::Error::from_raw_os_error(code)) => return Some(b"File too large"),
        _ if Code::NoMemory.is_of(&io::Error::from_raw_os_error(code)) => return Some(b"Cannot allocate memory"),
        _ => {}
    }
    let mut wide = [0_u16; 128];
    let flags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
    // SAFETY: [system] [in-bounds] the system writes at most as many numbers as the variable has. Without inserts there are no arguments.
    let length = unsafe { FormatMessageW(flags, ptr::null(), code.cast_unsigned(), 0, wide.as_mut_ptr(), 128, ptr::null()) };
    let mut size = 0;
    for letter in char::decode_utf16(wide.get(..length as usize)?.iter().copied()).map(|letter| letter.unwrap_or('?')) {
        let Some(room) = text.get_mut(size..size + letter.len_utf8()) else { break };
        letter.encode_utf8(room);
        size += letter.len_utf8();
    }
    // The system ends the text with a dot and a new line.
    let text = text[..size].trim_ascii_end();
    let text = text.strip_suffix(b".").unwrap_or(text);
    (!text.is_empty()).then_some(text)
}

/// The path with these encoded bytes: the longest part of them that is text.
pub fn of_bytes(bytes: &[u8]) -> &Path {
    Path::new(bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid()))
}
