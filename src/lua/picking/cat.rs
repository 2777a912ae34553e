//! `torch.cat`: joins tensors along a dimension, or storages.

use std::ffi::c_int;

use mlua_sys as ffi;

use crate::convert::Scalar;
use crate::element::DType;
use crate::error::{Error, MAX_DIMENSIONS, ShapeError};
use crate::fallible::list;
use crate::lua::args::{Call, show};
use crate::lua::entry;
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::lua::steps::{changed, in_steps};
use crate::lua::tensor::{self, Made, make_as};
use crate::lua::userdata::{self, Borrowed};
use crate::storage::Storage;
use crate::tensor::{Layout, Tensor};

/// `torch.cat(a, b [, dim])`, `torch.cat(list [, dim])`, `a:cat(b [, dim])`: a new tensor with the elements of all tensors, one after the
/// other along a dimension, by default the last. Torch7. `torch.cat(s, t)`, `torch.cat(list)`, `s:cat(t)`: a new storage with the elements
/// of storages.
pub fn cat(lua: Raising) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    match entry::run(lua, call, family) {
        (dtype, Family::Tensors) => make_as(lua, call, dtype, |call| join_tensors(call, dtype)),
        (dtype, Family::Storages) => entry::construct(lua, call, dtype, |call| join_storages(call, dtype)),
    }
}

#[derive(Clone, Copy)]
enum Family {
    Tensors,
    Storages,
}

/// Of what class the first part is.
fn family(call: Call) -> Result<(DType, Family), Fault> {
    let parts = Parts { call };
    let top = call.state().top();
    parts.push(1)?;
    let tensor = tensor::class(call.state(), top + 1).map(|dtype| (dtype, Family::Tensors));
    let found = tensor.or_else(|| userdata::class(call.state(), top + 1).map(|dtype| (dtype, Family::Storages)));
    let found = found.ok_or_else(|| parts.wrong(1, "torch.*Tensor or torch.*Storage"));
    call.state().set_top(top);
    found
}

/// What is joined: the elements of the list at argument 1, or arguments 1 and 2.
#[derive(Clone, Copy)]
struct Parts<'call> {
    call: Call<'call>,
}

impl<'call> Parts<'call> {
    fn is_list(self) -> bool {
        self.call.kind(1) == ffi::LUA_TTABLE
    }

    fn count(self) -> usize {
        if self.is_list() { self.call.state().length(1) } else { 2 }
    }

    /// The number of the argument behind the parts.
    fn next(self) -> c_int {
        if self.is_list() { 2 } else { 3 }
    }

    /// Pushes part `k`, from 1.
    fn push(self, k: usize) -> Result<(), Fault> {
        let (state, slot) = (self.call.state(), c_int::try_from(k).unwrap_or(c_int::MAX));
        match state.table(1) {
            Some(table) if self.count() == 0 => {
                let is_class = self.call.class_of_table(1).is_some() || self.call.tensor_class_of_table(1).is_some();
                let _ = table;
                Err(Fault::argument(
                    1,
                    if is_class { "a list of tensors or storages expected, got a class" } else { "the list is empty" },
                ))
            }
            Some(table) => {
                state.raw_get(table, slot);
                Ok(())
            }
            None if slot > self.call.count() => Err(self.call.mismatch(slot, "torch.*Tensor or torch.*Storage")),
            None => {
                state.push_value(slot);
                Ok(())
            }
        }
    }

    /// The fault for part `k`, which is on the top and not what is expected.
    fn wrong(self, k: usize, expected: &str) -> Fault {
        let got = self.call.name_of(-1);
        self.fault(k, format_args!("{expected} expected, got {got}"))
    }

    /// A fault about part `k`.
    fn fault(self, k: usize, message: impl std::fmt::Display) -> Fault {
        match c_int::try_from(k) {
            Ok(n) if !self.is_list() => Fault::argument(n, message),
            _ => Fault::argument(1, format_args!("element {k} of the list: {message}")),
        }
    }

    /// The fault for part `k`, which is on the top, if its class is not that of the first part.
    fn other_class(self, k: usize, dtype: DType, wanted: fn(DType) -> &'static str, class: Option<DType>) -> Fault {
        match class.filter(|&class| class != dtype) {
            Some(class) => {
                let (wanted, got, cast) = (wanted(dtype), wanted(class), dtype.cast_name().to_string_lossy());
                self.fault(k, format_args!("{wanted} expected, got {got}: x:{cast}() converts it"))
            }
            None => self.wrong(k, wanted(dtype)),
        }
    }

    /// The tensor at the top, which is part `k`.
    fn tensor(self, k: usize, dtype: DType) -> Result<(Borrowed<'call>, &'call Layout), Fault> {
        let state = self.call.state();
        // SAFETY: [live] the value stays on the top while the tensor is used, and no Lua code runs.
        match unsafe { tensor::payload(state, state.top()) } {
            Some((payload, class)) if class == dtype => {
                payload.parts().ok_or_else(|| self.fault(k, "the tensor has no storage: it was collected, or it is being loaded"))
            }
            found => Err(self.other_class(k, dtype, DType::tensor_class_name, found.map(|(_, class)| class))),
        }
    }

    /// The storage at the top, which is part `k`.
    fn storage(self, k: usize, dtype: DType) -> Result<Borrowed<'call>, Fault> {
        let state = self.call.state();
        // SAFETY: [live] the value stays on the top while the storage is used, and no Lua code runs.
        match unsafe { userdata::payload(state, state.top()) } {
            Some((payload, class)) if class == dtype => {
                userdata::storage(payload).ok_or_else(|| self.fault(k, "storage was freed"))
            }
            found => Err(self.other_class(k, dtype, DType::class_name, found.map(|(_, class)| class))),
        }
    }

    /// Calls `act` with the number of each part, which is on the top then.
    fn for_each(self, mut act: impl FnMut(usize) -> Result<(), Fault>) -> Result<(), Fault> {
        let top = self.call.state().top();
        (1..=self.count()).try_for_each(|k| {
            self.push(k)?;
            act(k)?;
            self.call.state().set_top(top);
            Ok(())
        })
    }
}

/// Whether a tensor is left out, as in Torch7: it has one dimension of size 0.
fn is_left_out(layout: &Layout) -> bool {
    layout.sizes() == [0]
}

/// The size in a dimension. A tensor has size 1 in those that it does not have.
fn size_in(layout: &Layout, dimension: usize) -> usize {
    layout.sizes().get(dimension).copied().unwrap_or(1)
}

/// The dimension, from 0, along which tensors of at most `dimensions` dimensions are joined.
fn joined_along(dimensions: usize, number: Option<i64>, n: c_int) -> Result<usize, Fault> {
    let last = dimensions.max(1) - 1;
    let Some(number) = number else { return Ok(last) };
    let found = match number {
        1.. => usize::try_from(number - 1).ok().filter(|&dimension| dimension < MAX_DIMENSIONS),
        0 => None,
        _ => usize::try_from(number.unsigned_abs()).ok().and_then(|back| (last + 1).checked_sub(back)),
    };
    found.ok_or_else(|| {
        let (number, last) = (show(Scalar::Signed(number)), last + 1);
        Fault::argument(n, format_args!("dimension {number} is out of range: -{last} to -1, or 1 to {MAX_DIMENSIONS}"))
    })
}

fn join_tensors(call: Call, dtype: DType) -> Result<Made, Fault> {
    let parts = Parts { call };
    let n = parts.next();
    if !parts.is_list() && tensor::class(call.state(), n).is_some() && n <= call.count() {
        return Err(call.mismatch(n, "number").and(": torch.cat { a, b, c } joins more than two"));
    }
    let number = if call.is_absent(n) { None } else { Some(call.whole(n)?) };
    call.expect_end(n + 1)?;
    let mut dimensions = 0;
    parts.for_each(|k| {
        let layout = parts.tensor(k, dtype)?.1;
        dimensions = dimensions.max(if is_left_out(layout) { 0 } else { layout.dimensions() });
        Ok(())
    })?;
    let along = joined_along(dimensions, number, n)?;
    let layout = joined(parts, dtype, dimensions.max(along + 1), along)?;
    let target = Storage::unset(dtype, layout.elements())?;
    let mut place = 0;
    parts.for_each(|k| {
        let (part, elements) = {
            let source = parts.tensor(k, dtype)?.1;
            if is_left_out(source) {
                return Ok(());
            }
            let size = size_in(source, along);
            let part = layout.narrow(along, place, size).map_err(|_| changed())?;
            place += size;
            (part, source.elements())
        };
        in_steps(call, elements, dtype.width(), |done, now| {
            let (storage, source) = parts.tensor(k, dtype)?;
            if source.elements() != part.elements() {
                return Err(changed());
            }
            Ok(Tensor::new(&target, &part).copy_range(&Tensor::new(&storage, source), done..done + now)?)
        })
    })?;
    // Lua code that ran between two steps may have changed the list.
    if place != layout.sizes()[along] {
        return Err(changed());
    }
    let shows_storage = !is_left_out(&layout);
    Ok(Made { storage: target, layout, shows_storage })
}

/// The layout of the result, which has this many dimensions.
fn joined(parts: Parts, dtype: DType, dimensions: usize, along: usize) -> Result<Layout, Fault> {
    let mut sizes = list::<usize>(dimensions)?;
    parts.for_each(|k| {
        let (storage, layout) = parts.tensor(k, dtype)?;
        Tensor::new(&storage, layout).check()?;
        if is_left_out(layout) {
            return Ok(());
        }
        let own = |dimension| size_in(layout, dimension);
        if sizes.is_empty() {
            sizes.extend((0..dimensions).map(own));
            return Ok(());
        }
        if (0..dimensions).any(|dimension| dimension != along && own(dimension) != sizes[dimension]) {
            let shape = ShapeError::Join { first: (*sizes).into(), sizes: layout.sizes().into(), dimension: along + 1 };
            return Err(parts.fault(k, Error::from(shape)));
        }
        let total = sizes[along].checked_add(own(along));
        sizes[along] = total.ok_or_else(|| Error::from(ShapeError::TooManyElements { sizes: (*sizes).into() }))?;
        Ok(())
    })?;
    Ok(Layout::contiguous(if sizes.is_empty() { &[0] } else { &sizes })?)
}

fn join_storages(call: Call, dtype: DType) -> Result<Storage, Fault> {
    let parts = Parts { call };
    let n = parts.next();
    if !parts.is_list() && userdata::class(call.state(), n).is_some() && n <= call.count() {
        return Err(call.mismatch(n, "nothing more").and(": torch.cat { a, b, c } joins more than two"));
    }
    call.expect_end(n)?;
    let mut size = 0_usize;
    parts.for_each(|k| {
        size = size.saturating_add(parts.storage(k, dtype)?.size());
        Ok(())
    })?;
    let target = Storage::unset(dtype, size)?;
    let mut place = 0;
    parts.for_each(|k| {
        let count = parts.storage(k, dtype)?.size();
        target.range(place, count).map_err(|_| changed())?;
        in_steps(call, count, dtype.width(), |done, now| {
            let source = parts.storage(k, dtype)?;
            if source.size() != count {
                return Err(changed());
            }
            Ok(target.copy_range(place + done, &source, done, now)?)
        })?;
        place += count;
        Ok(())
    })?;
    if place == size { Ok(target) } else { Err(changed()) }
}
