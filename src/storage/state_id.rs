//! Which Lua state holds a reference, or owns a value.

use std::num::NonZeroUsize;

/// A Lua state, by a number of its own: whoever uses storages from one thread at a time. References of different states are counted
/// apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateId(usize);

impl StateId {
    /// The program itself, outside of every Lua state.
    pub const PROGRAM: Self = Self(0);

    /// The state of that number.
    #[must_use]
    pub const fn new(number: NonZeroUsize) -> Self {
        Self(number.get())
    }
}
