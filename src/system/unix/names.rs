//! Names of files as Lua programs have them. A name is any bytes here, in Lua and in the system.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::files::LONGEST;
use crate::error::Error;

/// The name that a Lua program gives. It fails on systems that write names in another way than Lua programs.
pub fn of_lua(name: &[u8]) -> Result<Cow<'_, Path>, Error> {
    Ok(Cow::Borrowed(Path::new(OsStr::from_bytes(name))))
}

/// The encoded bytes of a name as a Lua program has them. The room is for systems where they differ.
pub fn for_lua<'a>(name: &'a [u8], _room: &'a mut [u8; LONGEST]) -> &'a [u8] {
    name
}
