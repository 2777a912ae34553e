//! References that outlive a handle: outstanding `retain()`s, and taking them over.

use super::register::Registered;
use super::state_id::StateId;
use super::{Storage, locks};
use crate::element::DType;
use crate::error::Error;

impl Storage {
    /// Adds an outstanding `retain()` of `state`. The storage lives until it is given back or taken over.
    ///
    /// # Errors
    /// [`Error::TooManyReferences`] if there are 2^31 - 1 references already.
    pub fn retain(&self, state: StateId) -> Result<(), Error> {
        let owner = self.anchor().map(|anchor| anchor.state);
        locks::register().retain(self.registered(), owner, state)
    }

    /// One more handle to the same storage. Both handles belong to `state`, and each is given back by [`release`](Self::release) with
    /// this state.
    ///
    /// # Errors
    /// [`Error::TooManyReferences`] if there are 2^31 - 1 references already.
    pub fn share(&self, state: StateId) -> Result<Self, Error> {
        locks::register().share(self.registered(), state)?;
        Ok(Self::from_registered(self.registered()))
    }

    /// One more handle to the same storage, which belongs to `other`. This handle belongs to `holder`.
    ///
    /// # Errors
    /// [`Error::Anchored`] if the memory belongs to a value of a Lua state, [`Error::TooManyReferences`].
    pub fn share_with(&self, holder: StateId, other: StateId) -> Result<Self, Error> {
        if holder != other && self.anchor().is_some() {
            return Err(Error::Anchored);
        }
        locks::register().share_with(self.registered(), holder, other)?;
        Ok(Self::from_registered(self.registered()))
    }

    /// Makes a handle of `from` a handle of `to`, which is given back by [`release`](Self::release) with that state.
    ///
    /// # Errors
    /// [`Error::Anchored`], with the handle, if the memory belongs to a value of a Lua state.
    pub fn hand_over(self, from: StateId, to: StateId) -> Result<Self, (Self, Error)> {
        if from != to {
            if self.anchor().is_some() {
                return Err((self, Error::Anchored));
            }
            if let Err(no_memory) = locks::register().hand_over(self.registered(), from, to) {
                return Err((self, no_memory.into()));
            }
        }
        Ok(self)
    }

    /// Gives back an outstanding `retain()` of `state`. Returns false if there is none.
    #[must_use]
    pub fn release_retained(&self, state: StateId) -> bool {
        locks::register().release_retained(self.registered(), state)
    }

    /// Turns an outstanding `retain()` of the storage at `address` into a handle that belongs to `state`. The handle is given
    /// back by [`release`](Self::release) with the same state.
    ///
    /// # Errors
    /// [`Error::NotRetained`] if no storage with an outstanding `retain()` is at that address, [`Error::OtherClass`] if it has
    /// another dtype, [`Error::Anchored`] if its memory belongs to another state.
    pub fn adopt(address: usize, dtype: DType, state: StateId) -> Result<Self, Error> {
        locks::register().adopt(address, dtype, state).map(Self::from_registered)
    }

    /// The number of references: handles, outstanding `retain()`s, tokens and publications.
    pub fn references(&self) -> i32 {
        self.header().refcount.get()
    }

    /// This storage, in the form that the register works with.
    pub(super) fn registered(&self) -> Registered {
        // SAFETY: [live] the handle holds the storage while the register works with it.
        unsafe { Registered::new(self.0.cast()) }
    }

    /// A handle for a reference that the register has given.
    pub(super) fn from_registered(storage: Registered) -> Self {
        Self(storage.pointer().cast())
    }
}
