//! What the system says, as an error with the file and what was tried.

use std::io;
use std::path::Path;

use crate::error::Error;

pub(super) fn failure(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |reason| Error::File { action, path: path.to_owned(), reason }
}
