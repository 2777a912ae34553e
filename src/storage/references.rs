//! References that outlive a handle: outstanding `retain()`s, and who takes them over.

use super::register::Registered;
use super::state_id::StateId;
use super::{Storage, locks};
use crate::element::DType;
use crate::error::Error;

impl Storage {
    /// One more outstanding `retain()`: the storage lives until it is given back.
    ///
    /// # Errors
    /// [`Error::TooManyReferences`] at 2^31 - 1.
    pub fn retain(&self, state: StateId) -> Result<(), Error> {
        let owner = self.anchor().map(|anchor| anchor.state);
        locks::register().retain(self.registered(), owner, state)
    }

    /// Gives back an outstanding `retain()` of `state`; false if there is none.
    #[must_use]
    pub fn release_retained(&self, state: StateId) -> bool {
        locks::register().release_retained(self.registered(), state)
    }

    /// Takes over an outstanding `retain()` of the storage at `address`. The handle is given back by [`release`](Self::release) of
    /// the same state.
    ///
    /// # Errors
    /// [`Error::NotRetained`] if no storage with an outstanding retain is there, [`Error::OtherClass`] if it is of another,
    /// [`Error::Anchored`] if its memory belongs to another state.
    pub fn adopt(address: usize, dtype: DType, state: StateId) -> Result<Self, Error> {
        locks::register().adopt(address, dtype, state).map(Self::of_registered)
    }

    /// References: handles, outstanding retains, tokens and publications.
    #[must_use]
    pub fn references(&self) -> i32 {
        self.header().refcount.get()
    }

    /// This storage, for the register.
    pub(super) fn registered(&self) -> Registered {
        // SAFETY: [live] the handle holds the storage while the register works with it.
        unsafe { Registered::new(self.0.cast()) }
    }

    /// A reference that the register has given.
    pub(super) fn of_registered(storage: Registered) -> Self {
        Self(storage.pointer().cast())
    }
}
