//! How a function returns a new tensor.

use std::ffi::c_int;

use super::element::stored;
use super::payload::{give, push_dead};
use crate::element::DType;
use crate::lua::args::Call;
use crate::lua::entry::{self, Answer};
use crate::lua::fault::{Fault, raise};
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::storage::Storage;
use crate::tensor::Layout;

/// What a new tensor is made of.
pub struct Made {
    pub storage: Storage,
    pub layout: Layout,
    /// Whether the tensor has a storage to show.
    pub shows_storage: bool,
}

impl Made {
    /// A tensor with a new storage that has exactly its elements.
    pub fn new(storage: Storage, layout: Layout) -> Self {
        Self { storage, layout, shows_storage: true }
    }
}

/// Pushes a tensor that `body` makes, of class `dtype`.
///
/// The userdata is pushed first, without a storage, because pushing may raise.
pub fn make_as(lua: Raising, call: Call, dtype: DType, body: impl Fn(Call) -> Result<Made, Fault>) -> c_int {
    let payload = push_dead(lua, dtype);
    let call = call.with_frame(lua.top());
    match entry::attempt(lua, call, &body) {
        Ok(made) => {
            give(payload, made.storage, made.layout, made.shows_storage);
            lua.set_top(call.frame());
            1
        }
        Err(fault) => raise(lua, fault),
    }
}

/// Pushes two tensors of these classes that `body` makes, which may need much memory.
#[cfg(feature = "answers")]
pub fn make_two(lua: Raising, call: Call, dtypes: [DType; 2], body: impl Fn(Call) -> Result<(Made, Made), Fault>) -> c_int {
    pressure::relieve(lua);
    let payloads = dtypes.map(|dtype| push_dead(lua, dtype));
    let call = call.with_frame(lua.top());
    match entry::attempt(lua, call, &body) {
        Ok((first, second)) => {
            give(payloads[0], first.storage, first.layout, first.shows_storage);
            give(payloads[1], second.storage, second.layout, second.shows_storage);
            lua.set_top(call.frame());
            2
        }
        Err(fault) => raise(lua, fault),
    }
}

/// Pushes a tensor of the function's class that may need much memory.
pub fn make(lua: Raising, body: impl Fn(Call) -> Result<Made, Fault>) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    make_as(lua, call, call.dtype(), body)
}

/// Pushes a tensor over the storage of the tensor at argument 1, whose layout `body` makes. `body` reads the numbers among the
/// arguments first.
pub fn make_view(lua: Raising, body: impl Fn(Call) -> Result<Layout, Fault>) -> c_int {
    let call = Call::new(lua);
    make_as(lua, call, call.dtype(), |call| over_this(call, body(call)?))
}

/// Pushes the part of the tensor at argument 1 whose layout `part` makes: a view, the element if the layout has no dimension, or nil if
/// there is none. `part` reads the numbers among the arguments first.
pub fn push_part(lua: Raising, part: impl Fn(Call) -> Result<Option<Layout>, Fault>) -> c_int {
    let found = entry::run(lua, Call::new(lua), |call| {
        Ok(match part(call)? {
            None => Answer::Nil,
            Some(layout) if layout.dimensions() == 0 => Answer::Element(stored(&call.this_tensor()?, layout.offset())?),
            // It is made below, because pushing a userdata may raise.
            Some(_) => Answer::Nothing,
        })
    });
    match found {
        Answer::Nothing => make_view(lua, |call| part(call)?.ok_or_else(|| call.mismatch(2, "index"))),
        found => entry::push(lua, found),
    }
}

/// A tensor over the storage of the tensor at argument 1.
pub fn over_this(call: Call, layout: Layout) -> Result<Made, Fault> {
    let this = call.this_tensor()?;
    Ok(Made { storage: this.storage.share(call.state_id())?, layout, shows_storage: this.shows_storage })
}
