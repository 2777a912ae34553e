//! Handing storages to other threads and to Lua states: by tokens, which can be taken once, and by names.

use std::fmt;
use std::str::FromStr;

use super::Storage;
use crate::error::Error;
use crate::storage::{self, StateId};

/// A name for a reference to a storage. Whoever presents it first, in any thread or Lua state of this process, gets the reference.
///
/// Its text is that of `s:token()` in Lua: letters, digits, `-` and `:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(storage::Token);

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Token {
    type Err = Error;

    /// Reads the text of a token, or returns [`Error::NotAToken`].
    fn from_str(text: &str) -> Result<Self, Error> {
        text.parse().map(Self)
    }
}

impl Storage {
    /// Makes a token for one more reference to this storage. [`from_token`](Self::from_token) takes it, or `torch.fromToken` in Lua. Until
    /// then the storage lives, and it cannot be resized.
    ///
    /// # Errors
    /// [`Error::TooManyReferences`].
    pub fn token(&self) -> Result<Token, Error> {
        self.inner.token(StateId::of_this_thread()).map(Token)
    }

    /// Takes the reference of a token, as a handle of this thread.
    ///
    /// # Errors
    /// [`Error::ForeignToken`] if the token is from another process, [`Error::SpentToken`] if it was taken.
    pub fn from_token(token: Token) -> Result<Self, Error> {
        storage::Storage::from_token(token.0, StateId::of_this_thread()).map(Self::of)
    }

    /// Publishes the storage, so that every thread and every Lua state of this process can find it by its name until
    /// [`unpublish`](Self::unpublish). Until then it cannot be resized. Publishing the same storage under the same name again
    /// changes nothing.
    ///
    /// # Errors
    /// [`Error::Published`] if another storage has the name, [`Error::TooManyReferences`].
    pub fn publish(&self, name: &[u8]) -> Result<(), Error> {
        self.inner.publish(name, StateId::of_this_thread())
    }

    /// Returns the storage that is published under a name, or `None` if there is none.
    ///
    /// # Errors
    /// [`Error::TooManyReferences`].
    pub fn lookup(name: &[u8]) -> Result<Option<Self>, Error> {
        Ok(storage::Storage::lookup(name, StateId::of_this_thread())?.map(Self::of))
    }

    /// Ends a publication and returns its storage, or `None` if nothing is published under the name.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn unpublish(name: &[u8]) -> Result<Option<Self>, Error> {
        Ok(storage::Storage::unpublish(name, StateId::of_this_thread())?.map(Self::of))
    }
}
