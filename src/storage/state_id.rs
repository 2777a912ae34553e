//! The number of a Lua state, which says who holds a reference or owns a value.

use std::num::NonZeroUsize;

/// The number of a Lua state. A Lua state runs in one thread at a time. The references of each state are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateId(usize);

impl StateId {
    /// The program itself, outside every Lua state.
    pub const PROGRAM: Self = Self(0);

    /// The state with this number.
    #[must_use]
    pub const fn new(number: NonZeroUsize) -> Self {
        Self(number.get())
    }
}
