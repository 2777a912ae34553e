//! Allocations that return an error if there is no memory. The standard library's `Box::new`, `to_vec` and `push` end the process instead.
//! Lists that do not fit into the budget of the running call are refused, too.

use crate::budget::has_room;

/// There is no memory. It becomes an [`Error`](crate::Error), or a fault of a Lua function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory {
    /// Number of bytes that were requested.
    pub bytes: usize,
}

/// Makes room for `more` values in a list.
#[inline]
pub fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<(), NoMemory> {
    let bytes = more.saturating_mul(size_of::<T>());
    if more > list.capacity() - list.len() && !has_room(bytes.max(list.capacity() * size_of::<T>())) {
        return Err(NoMemory { bytes });
    }
    list.try_reserve(more).map_err(|_| NoMemory { bytes })
}

/// Appends a value to a list.
#[inline]
pub fn push<T>(list: &mut Vec<T>, value: T) -> Result<(), NoMemory> {
    reserve(list, 1)?;
    list.push(value);
    Ok(())
}

/// Makes a list with room for `count` values.
pub fn list<T>(count: usize) -> Result<Vec<T>, NoMemory> {
    let bytes = count.saturating_mul(size_of::<T>());
    let mut list = Vec::new();
    if !has_room(bytes) || list.try_reserve_exact(count).is_err() {
        return Err(NoMemory { bytes });
    }
    Ok(list)
}

/// Makes a list of some values.
pub fn list_of<T>(values: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, NoMemory> {
    let mut list = list(values.len())?;
    list.extend(values);
    Ok(list)
}

/// Appends values to a list.
pub fn append<T: Copy>(list: &mut Vec<T>, values: &[T]) -> Result<(), NoMemory> {
    reserve(list, values.len())?;
    list.extend_from_slice(values);
    Ok(())
}

/// Appends a text to another.
pub fn append_text(text: &mut String, more: &str) -> Result<(), NoMemory> {
    text.try_reserve(more.len()).map_err(|_| NoMemory { bytes: more.len() })?;
    text.push_str(more);
    Ok(())
}

/// A copy of a text.
pub fn text(text: &str) -> Result<String, NoMemory> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).map_err(|_| NoMemory { bytes: text.len() })?;
    copy.push_str(text);
    Ok(copy)
}

/// A copy of a list, without spare room.
pub fn copied<T: Copy>(list: &[T]) -> Result<Vec<T>, NoMemory> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(list.len()).map_err(|_| NoMemory { bytes: size_of_val(list) })?;
    copy.extend_from_slice(list);
    Ok(copy)
}

/// The values of an iterator up to the first error, which is the result then.
pub fn collected<T, E: From<NoMemory>>(values: impl Iterator<Item = Result<T, E>>) -> Result<Vec<T>, E> {
    let mut list = Vec::new();
    reserve(&mut list, values.size_hint().0)?;
    for value in values {
        push(&mut list, value?)?;
    }
    Ok(list)
}

/// A value in a block of its own.
pub fn boxed<T>(value: T) -> Result<Box<T>, NoMemory> {
    let mut one = Vec::new();
    one.try_reserve_exact(1).map_err(|_| NoMemory { bytes: size_of::<T>() })?;
    one.push(value);
    // There is no spare room, so this allocates nothing.
    let block: *mut [T] = Box::into_raw(one.into_boxed_slice());
    // SAFETY: [owned] nobody else has the block. [layout] a list of one value has the layout of the value.
    Ok(unsafe { Box::from_raw(block.cast::<T>()) })
}
