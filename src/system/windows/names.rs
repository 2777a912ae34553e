//! Names of files as Lua programs have them: in the code page of the process, as C's `fopen` takes them. It is UTF-8 in a program whose
//! manifest asks for that, as Neovim's does.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::ptr;

use windows_sys::Win32::Globalization::{CP_ACP, CP_UTF8, GetACP, MultiByteToWideChar, WideCharToMultiByte};

use super::files::LONGEST;
use crate::error::Error;
use crate::fallible::NoMemory;
use crate::system::{Code, failure};

/// The name that a Lua program gives.
pub fn of_lua(name: &[u8]) -> Result<Cow<'_, Path>, Error> {
    if let Some(same) = same_in_both(name) {
        return Ok(Cow::Borrowed(Path::new(same)));
    }
    let (mut wide, mut text) = ([0_u16; LONGEST], [0_u8; LONGEST]);
    let Some(text) = unicode(name, &mut wide, &mut text) else {
        // The beginning shows which name it is.
        let beginning = unicode(&name[..name.len().min(LONGEST / 4)], &mut wide, &mut text).unwrap_or_default();
        return Err(failure("open", Path::new(beginning))(Code::NameTooLong.error()));
    };
    let mut path = PathBuf::new();
    path.try_reserve_exact(text.len()).map_err(|_| NoMemory { bytes: text.len() })?;
    path.push(text);
    Ok(Cow::Owned(path))
}

/// The name as text. Returns nothing if there is no room for it.
fn unicode<'a>(name: &[u8], wide: &mut [u16; LONGEST], room: &'a mut [u8; LONGEST]) -> Option<&'a str> {
    let length = widened(CP_ACP, name, wide)?;
    std::str::from_utf8(narrowed(CP_UTF8, &wide[..length], room)?).ok()
}

/// The encoded bytes of a name as a Lua program has them. Letters that the code page lacks become `?`.
pub fn for_lua<'a>(name: &'a [u8], room: &'a mut [u8; LONGEST]) -> &'a [u8] {
    if same_in_both(name).is_some() {
        return name;
    }
    let mut wide = [0_u16; LONGEST];
    let length = widened(CP_UTF8, name, &mut wide);
    length.and_then(|length| narrowed(CP_ACP, &wide[..length], room)).unwrap_or(name)
}

/// Wide characters as a Lua program has them.
pub(super) fn of_wide<'a>(wide: &[u16], room: &'a mut [u8; LONGEST]) -> Option<&'a [u8]> {
    narrowed(CP_ACP, wide, room)
}

/// The name, if its bytes are the same in UTF-8 and in the code page.
fn same_in_both(name: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(name).ok()?;
    // SAFETY: [system] the call returns a number and touches no memory of ours.
    (name.is_ascii() || unsafe { GetACP() } == CP_UTF8).then_some(text)
}

/// Converts bytes of a code page to wide characters. Returns how many, or nothing if there is no room for them.
fn widened(page: u32, bytes: &[u8], room: &mut [u16; LONGEST]) -> Option<usize> {
    let (size, most) = (i32::try_from(bytes.len()).ok()?, i32::try_from(room.len()).ok()?);
    // SAFETY: [system] [in-bounds] the system reads `size` bytes, and writes at most `most` units.
    let length = unsafe { MultiByteToWideChar(page, 0, bytes.as_ptr(), size, room.as_mut_ptr(), most) };
    usize::try_from(length).ok().filter(|&length| length > 0)
}

/// Converts wide characters to bytes of a code page. Returns nothing if there is no room for them.
fn narrowed<'a>(page: u32, wide: &[u16], room: &'a mut [u8; LONGEST]) -> Option<&'a [u8]> {
    let (size, most) = (i32::try_from(wide.len()).ok()?, i32::try_from(room.len()).ok()?);
    // SAFETY: [system] [in-bounds] the system reads `size` units, and writes at most `most` bytes.
    let length =
        unsafe { WideCharToMultiByte(page, 0, wide.as_ptr(), size, room.as_mut_ptr(), most, ptr::null(), ptr::null_mut()) };
    room.get(..usize::try_from(length).ok().filter(|&length| length > 0)?)
}
