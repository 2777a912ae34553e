//! Lists and texts that grow only if there is memory for it, because what a file or a program says decides how long they become.
//! Those of the standard library end the process if there is none.

use crate::error::Error;

/// The error for a list that cannot have room for `count` values.
fn full<T>(count: usize) -> Error {
    Error::OutOfMemory { bytes: count.saturating_mul(size_of::<T>()) }
}

/// Makes a list with room for `count` values.
pub fn list<T>(count: usize) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| full::<T>(count))?;
    Ok(list)
}

/// Makes a list of some values.
pub fn list_of<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, Error> {
    let mut list = list(values.len())?;
    list.extend(values);
    Ok(list)
}

/// Appends a value to a list.
pub fn push<T>(list: &mut Vec<T>, value: T) -> Result<(), Error> {
    list.try_reserve(1).map_err(|_| full::<T>(list.len() + 1))?;
    list.push(value);
    Ok(())
}

/// Appends values to a list.
pub fn append<T: Copy>(list: &mut Vec<T>, values: &[T]) -> Result<(), Error> {
    list.try_reserve(values.len()).map_err(|_| full::<T>(list.len().saturating_add(values.len())))?;
    list.extend_from_slice(values);
    Ok(())
}

/// Appends a text to another.
pub fn append_text(text: &mut String, more: &str) -> Result<(), Error> {
    text.try_reserve(more.len()).map_err(|_| full::<u8>(text.len().saturating_add(more.len())))?;
    text.push_str(more);
    Ok(())
}

/// Copies a text.
pub fn text(text: &str) -> Result<String, Error> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).map_err(|_| full::<u8>(text.len()))?;
    copy.push_str(text);
    Ok(copy)
}
