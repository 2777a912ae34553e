//! Functions for the records of tensors, which `lua/torch/records.lua` keeps.

use std::ffi::c_int;

use crate::bulk;
use crate::element::DType;
use crate::error::Error;
use crate::lua::args::Call;
use crate::lua::entry::{Answer, functions};
use crate::lua::fault::Fault;
use crate::t7;

functions! {
    /// `core.checktensor(sizes, strides, offset, available)`: raises an error unless a storage of `available` elements has all
    /// elements of such a tensor. `available` is nil if there is no storage. Sizes and strides are LongStorages.
    pub fn check_tensor(call) {
        let available = if call.is_absent(4) { None } else { Some(call.size(4)?) };
        let offset = call.whole(3)?;
        match t7::check_tensor(&longs(call, 1)?, &longs(call, 2)?, offset, available) {
            Ok(()) => Ok(Answer::Nothing),
            Err(why) => Err(Fault::new(why)),
        }
    }

    /// `core.gather(storage, sizes, strides, offset)`: the elements of a tensor over the storage, in row-major order, as a new
    /// storage of its class. Sizes and strides are LongStorages. The offset counts from 1.
    pub constructor(class_of_storage) fn gather(call) {
        let (sizes, strides, offset) = (longs(call, 2)?, longs(call, 3)?, call.whole(4)?);
        let storage = call.storage(1)?;
        t7::check_tensor(&sizes, &strides, offset, Some(storage.size())).map_err(Fault::new)?;
        let first = usize::try_from(offset.saturating_sub(1)).unwrap_or(0);
        let sizes = list(sizes.len(), sizes.iter().filter_map(|&size| usize::try_from(size).ok()))?;
        let strides = list(strides.len(), strides.iter().filter_map(|&stride| isize::try_from(stride).ok()))?;
        Ok(storage.gather(first, &sizes, &strides)?)
    }
}

fn class_of_storage(call: Call) -> Result<DType, Fault> {
    Ok(call.storage(1)?.dtype())
}

/// The elements of the LongStorage at argument `n`.
fn longs(call: Call, n: c_int) -> Result<Vec<i64>, Fault> {
    let storage = call.storage_of(n, DType::Long)?;
    // SAFETY: [live] [in-bounds] the index is below the size of the storage, whose dtype is Long.
    let longs = (0..storage.size()).map(|index| unsafe { bulk::get_as::<i64>(storage.data(), index) });
    Ok(list(storage.size(), longs)?)
}

/// At most `most` values as a list.
fn list<T>(most: usize, values: impl Iterator<Item = T>) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    list.try_reserve_exact(most).map_err(|_| Error::OutOfMemory { bytes: most.saturating_mul(size_of::<T>()) })?;
    list.extend(values.take(most));
    Ok(list)
}
