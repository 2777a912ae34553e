//! `resize` and `reserve`, which change the size and the capacity of a storage.

use super::Method;
use crate::lua::args::Call;
use crate::lua::entry::{Answer, growing};
use crate::lua::fault::Fault;
use crate::storage::{StateId, Storage};

pub const METHODS: &[Method] = &[(c"resize", growing(resize)), (c"reserve", growing(reserve))];

/// `s:resize(n)`: changes the number of elements; returns s. New elements are 0. Differs from Torch7: a storage that has views
/// moves to new memory, and its views keep the old bytes.
fn resize(call: Call) -> Result<Answer, Fault> {
    change(call, Storage::resize)
}

/// `s:reserve(n)`: reserves capacity for at least `n` elements; returns s. Resizing within this capacity neither moves nor
/// copies the elements.
fn reserve(call: Call) -> Result<Answer, Fault> {
    change(call, Storage::reserve)
}

fn change(call: Call, act: impl Fn(&Storage, usize, StateId) -> Result<(), crate::Error>) -> Result<Answer, Fault> {
    // The number is read first, because reading an FFI value runs Lua code, which could free the storage.
    let size = call.size(2);
    let this = call.this()?;
    act(&this, size?, call.state_id()).map_err(Fault::from)?;
    Ok(Answer::Value(1))
}
