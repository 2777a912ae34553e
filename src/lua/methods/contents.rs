//! What acts on all elements: fill, zero, copy, equal.

use super::Method;
use crate::error::Error;
use crate::lua::entry::{Answer, functions};
use crate::lua::fault::Fault;

/// The methods of this file.
pub const METHODS: &[Method] = &[(c"fill", fill), (c"zero", zero), (c"copy", copy), (c"equal", equal)];

functions! {
    /// `s:fill(v)`: every element becomes `v`, converted once; returns s. Torch7.
    fn fill(call) {
        // The number first: reading an FFI value runs Lua code.
        let value = call.scalar(2);
        let this = call.this()?;
        this.fill(value?)?;
        Ok(Answer::Value(1))
    }

    /// `s:zero()`: every element becomes 0; returns s.
    fn zero(call) {
        call.this()?.zero()?;
        Ok(Answer::Value(1))
    }

    /// `s:copy(other)`: the elements of a storage of any class and the same size, converted; returns s. Differs from Torch7:
    /// the sizes are always compared, and overlapping parts are copied right.
    fn copy(call) {
        let this = call.this()?;
        let source = call.storage(2)?;
        this.copy_from(&source).map_err(|error| match error {
            error @ Error::SizeMismatch { .. } => Fault::from(error).at(2),
            error => Fault::from(error),
        })?;
        Ok(Answer::Value(1))
    }

    /// `s:equal(other)`: whether class, size and all values are the same; NaN differs from itself, -0 equals 0.
    fn equal(call) {
        let this = call.this()?;
        Ok(Answer::Boolean(this.equals(&*call.storage(2)?)))
    }
}
