//! Handing storages to other Lua states, by tokens, which can be taken once, and by publications, which are found by name.
//!
//! A token has the form of a string, so that every channel can carry it. It contains the number of its process, so that the error
//! for a token from another process differs from the error for a token that was already taken.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::process;
use std::str::FromStr;
use std::sync::OnceLock;

use super::state_id::StateId;
use super::{Storage, locks};
use crate::element::DType;
use crate::error::Error;

/// A name for a parked reference to a storage. Whoever presents the token first gets the reference.
///
/// The text of a token has the form `torch-storage:PROCESS:RANDOM:NUMBER`. It consists of letters, digits, `-` and `:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    process: u32,
    /// A random number of the process, because the system uses process numbers again.
    random: u64,
    number: u64,
}

const PREFIX: &str = "torch-storage";

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}:{}:{:x}:{}", self.process, self.random, self.number)
    }
}

impl FromStr for Token {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let mut parts = text.split(':');
        let mut next = || parts.next().filter(|part| !part.starts_with('+'));
        let token = (|| {
            next().filter(|&part| part == PREFIX)?;
            let process = next()?.parse().ok()?;
            let random = u64::from_str_radix(next()?, 16).ok()?;
            Some(Self { process, random, number: next()?.parse().ok()? })
        })();
        token.filter(|_| parts.next().is_none()).ok_or(Error::NotAToken)
    }
}

/// The text of a token, stored without an allocation.
#[derive(Clone, Copy, Debug)]
pub struct TokenText {
    bytes: [u8; Self::CAPACITY],
    length: usize,
}

impl TokenText {
    /// Enough for the prefix and three numbers, each with at most 20 digits and a `:` before it.
    const CAPACITY: usize = PREFIX.len() + 3 * 21;

    /// The bytes of the text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl fmt::Write for TokenText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

impl Default for Token {
    fn default() -> Self {
        Self::new()
    }
}

impl Token {
    /// Makes a token that differs from all others. It has no reference until [`park`](Storage::park) is called with it.
    pub fn new() -> Self {
        Self::of(locks::register().next_token())
    }

    /// The text of the token. Making it allocates no memory.
    pub fn text(self) -> TokenText {
        let mut text = TokenText { bytes: [0; TokenText::CAPACITY], length: 0 };
        // This cannot fail, because the capacity is enough for every token.
        let _ = fmt::Write::write_fmt(&mut text, format_args!("{self}"));
        text
    }

    fn of(number: u64) -> Self {
        static RANDOM: OnceLock<u64> = OnceLock::new();
        let random = *RANDOM.get_or_init(|| RandomState::new().hash_one(process::id()));
        Self { process: process::id(), random, number }
    }

    /// The number of the token, or an error if the token is from another process.
    fn here(self) -> Result<u64, Error> {
        let here = Self::of(self.number);
        if here == self { Ok(self.number) } else { Err(Error::ForeignToken { process: self.process, here: here.process }) }
    }

    /// The dtype of the storage that the token refers to, and the number of its elements, which cannot change until the token is
    /// taken.
    ///
    /// # Errors
    /// [`Error::ForeignToken`] if the token is from another process, [`Error::SpentToken`] if it was taken or never parked.
    pub fn parked(self) -> Result<(DType, usize), Error> {
        let number = self.here()?;
        locks::register().parked(number).ok_or(Error::SpentToken)
    }
}

impl Storage {
    /// Makes a token and parks a reference for it, as [`park`](Self::park) does.
    pub fn token(&self, state: StateId) -> Result<Token, Error> {
        let token = Token::new();
        self.park(token, state).map(|()| token)
    }

    /// Parks a reference for a new token. [`from_token`](Self::from_token) takes it. Until then the storage lives, and it cannot
    /// be resized. `state` is the state that holds this handle.
    ///
    /// # Errors
    /// [`Error::Anchored`] if a Lua value owns the memory, [`Error::TooManyReferences`], [`Error::ForeignToken`].
    pub fn park(&self, token: Token, state: StateId) -> Result<(), Error> {
        let number = token.here()?;
        if self.anchor().is_some() {
            return Err(Error::Anchored);
        }
        locks::register().park_for_token(number, self.registered(), state)
    }

    /// Takes the reference that is parked for the token. It then belongs to `state`, and is given back by
    /// [`release`](Self::release) with the same state.
    ///
    /// # Errors
    /// [`Error::ForeignToken`] if the token is from another process, [`Error::SpentToken`] if it was taken or never parked.
    pub fn from_token(token: Token, state: StateId) -> Result<Self, Error> {
        let number = token.here()?;
        locks::register().take(number, state)?.map(Self::from_registered).ok_or(Error::SpentToken)
    }

    /// See [`crate::Storage::publish`]. Also returns [`Error::Anchored`] if a Lua value owns the memory.
    pub fn publish(&self, name: &[u8], state: StateId) -> Result<(), Error> {
        if self.anchor().is_some() {
            return Err(Error::Anchored);
        }
        locks::register().publish(name, self.registered(), state)
    }

    /// The dtype of the storage that is published under a name, or `None` if there is none.
    pub fn published(name: &[u8]) -> Option<DType> {
        locks::register().published_dtype(name)
    }

    /// Returns the storage that is published under a name, or `None` if there is none. The new reference belongs to `state`, and
    /// is given back by [`release`](Self::release) with the same state.
    pub fn lookup(name: &[u8], state: StateId) -> Result<Option<Self>, Error> {
        Ok(locks::register().lookup(name, state)?.map(Self::from_registered))
    }

    /// Ends a publication and returns its reference, which then belongs to `state`. Returns `None` if nothing is published under
    /// the name.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]. The publication is as it was then.
    pub fn unpublish(name: &[u8], state: StateId) -> Result<Option<Self>, Error> {
        Ok(locks::register().unpublish(name, state)?.map(Self::from_registered))
    }
}
