//! The files that this process maps. The system does not let anybody replace or shorten such a file, and does not say who maps it.

use std::sync::{Mutex, PoisonError};

use super::FileId;
use crate::fallible::{self, NoMemory};

/// A file for each map of it, and the class of the storage that maps it.
static MAPS: Mutex<Vec<(FileId, &'static str)>> = Mutex::new(Vec::new());

/// Records that a storage of this class maps the file.
pub fn add(file: FileId, class: &'static str) -> Result<(), NoMemory> {
    fallible::push(&mut *MAPS.lock().unwrap_or_else(PoisonError::into_inner), (file, class))
}

/// Records that a storage of this class does not map the file any more.
pub fn remove(file: FileId, class: &'static str) {
    let mut maps = MAPS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(index) = maps.iter().position(|&map| map == (file, class)) {
        maps.swap_remove(index);
    }
}

/// The class of a storage that maps the file, if this process has one.
pub fn class_of(file: FileId) -> Option<&'static str> {
    let maps = MAPS.lock().unwrap_or_else(PoisonError::into_inner);
    maps.iter().find(|map| map.0 == file).map(|map| map.1)
}
