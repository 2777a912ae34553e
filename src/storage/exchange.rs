//! Storages on their way between Lua states: tokens, each taken once, and publications, found by name.
//!
//! A token is a text, so that every channel can carry it. It names this process, so that one that came to another is told apart
//! from one that was taken.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::process;
use std::str::FromStr;
use std::sync::OnceLock;

use super::state_id::StateId;
use super::{Storage, locks};
use crate::element::DType;
use crate::error::Error;

/// A reference to a storage that nobody has: who comes with the token gets it.
///
/// Its text is `torch-storage:PROCESS:RANDOM:NUMBER`, of letters, digits, `-` and `:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    process: u32,
    /// Process numbers come again.
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

/// The text of a token: plain data.
#[derive(Clone, Copy, Debug)]
pub struct TokenText {
    bytes: [u8; Self::ROOM],
    length: usize,
}

impl TokenText {
    /// The prefix, three numbers of at most 20 digits, and what is between them.
    const ROOM: usize = PREFIX.len() + 3 * 21;

    /// The bytes of the text.
    #[must_use]
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
    /// A token that no other is like. Nothing waits for it until [`park`](Storage::park).
    #[must_use]
    pub fn new() -> Self {
        Self::of(locks::register().next_token())
    }

    /// Its text, made without memory.
    #[must_use]
    pub fn text(self) -> TokenText {
        let mut text = TokenText { bytes: [0; TokenText::ROOM], length: 0 };
        // There is room for every one.
        let _ = fmt::Write::write_fmt(&mut text, format_args!("{self}"));
        text
    }

    fn of(number: u64) -> Self {
        static RANDOM: OnceLock<u64> = OnceLock::new();
        let random = *RANDOM.get_or_init(|| RandomState::new().hash_one(process::id()));
        Self { process: process::id(), random, number }
    }

    /// The number, if the token is of this process.
    fn here(self) -> Result<u64, Error> {
        let here = Self::of(self.number);
        if here == self { Ok(self.number) } else { Err(Error::ForeignToken { process: self.process, here: here.process }) }
    }

    /// The class of the storage that waits.
    ///
    /// # Errors
    /// [`Error::ForeignToken`], [`Error::SpentToken`].
    pub fn dtype(self) -> Result<DType, Error> {
        let number = self.here()?;
        locks::register().parked_dtype(number).ok_or(Error::SpentToken)
    }
}

impl Storage {
    /// Parks one reference, to be taken by who comes with the token: see [`park`](Self::park).
    ///
    /// # Errors
    /// As [`park`](Self::park).
    pub fn token(&self, state: StateId) -> Result<Token, Error> {
        let token = Token::new();
        self.park(token, state).map(|()| token)
    }

    /// Parks one reference for a new token, to be taken by [`from_token`](Self::from_token). Until then the storage lives, and
    /// nobody resizes it.
    ///
    /// # Errors
    /// [`Error::Anchored`] for memory that a Lua value owns, [`Error::TooManyReferences`]; [`Error::ForeignToken`].
    pub fn park(&self, token: Token, state: StateId) -> Result<(), Error> {
        let number = token.here()?;
        if self.anchor().is_some() {
            return Err(Error::Anchored);
        }
        locks::register().park_for(number, self.registered(), state)
    }

    /// Takes the reference that waits for the token. It is given back by [`release`](Self::release) of the same state.
    ///
    /// # Errors
    /// [`Error::ForeignToken`], [`Error::SpentToken`].
    pub fn from_token(token: Token, state: StateId) -> Result<Self, Error> {
        let number = token.here()?;
        locks::register().take(number, state).map(Self::of_registered).ok_or(Error::SpentToken)
    }

    /// Lets every Lua state of this process find the storage under a name, until [`unpublish`](Self::unpublish). Nobody resizes
    /// it meanwhile. What is published under that name already may be published again.
    ///
    /// # Errors
    /// [`Error::Published`] if another storage has the name, [`Error::Anchored`], [`Error::TooManyReferences`].
    pub fn publish(&self, name: &[u8], state: StateId) -> Result<(), Error> {
        if self.anchor().is_some() {
            return Err(Error::Anchored);
        }
        locks::register().publish(name, self.registered(), state)
    }

    /// The class of the storage that is published under a name.
    #[must_use]
    pub fn published(name: &[u8]) -> Option<DType> {
        locks::register().published_dtype(name)
    }

    /// The storage that is published under a name. It is given back by [`release`](Self::release) of the same state.
    ///
    /// # Errors
    /// [`Error::TooManyReferences`].
    pub fn lookup(name: &[u8], state: StateId) -> Result<Option<Self>, Error> {
        Ok(locks::register().lookup(name, state)?.map(Self::of_registered))
    }

    /// Ends a publication; the answer is its reference, and `None` if there is no such one.
    #[must_use]
    pub fn unpublish(name: &[u8], state: StateId) -> Option<Self> {
        locks::register().unpublish(name, state).map(Self::of_registered)
    }
}
