//! Single elements that several threads and processes read and write at once, and waiting until one changes: `docs/atomic.md`.
//!
//! ```text
//! element      the types of elements, and the address of one
//! machine      the instructions of the processor
//! wait         sleeping until somebody else wakes the thread
//! ```

mod element;
mod machine;
mod wait;

use std::time::Duration;

pub(crate) use element::with_atomic;
pub use element::{At, Atomic, Change, can_be_awaited, supports};
pub use wait::{HOUR, Slept, Waited, in_turns, sleep as sleep_for, wake};

use crate::convert::Scalar;
use crate::element::DType;
use crate::error::Error;
use crate::storage::Storage;

/// What is done to an element at once.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    Load,
    Store(Scalar),
    Exchange(Scalar),
    /// Writes the second number if the element is the first one.
    CompareExchange(Scalar, Scalar),
    Change(Change, Scalar),
}

impl Act {
    /// Whether it can be done to elements of a dtype.
    #[must_use]
    pub const fn is_for(self, dtype: DType) -> bool {
        supports(dtype)
            && match self {
                Self::Change(change, _) => change.is_for(dtype),
                _ => true,
            }
    }
}

/// The classes of elements that can be changed like this, for messages; without a change, those that can be accessed atomically.
#[must_use]
pub const fn classes(change: Option<Change>) -> &'static str {
    match change {
        None => "Byte, Char, Short, Int, Long, UInt16, UInt32, UInt64, Bool, Float or Double",
        Some(Change::And | Change::Or | Change::Xor) => "Byte, Char, Short, Int, Long, UInt16, UInt32, UInt64 or Bool",
        Some(_) => "Byte, Char, Short, Int, Long, UInt16, UInt32, UInt64, Float or Double",
    }
}

/// The classes of elements that a thread can wait for, for messages.
pub const AWAITED: &str = "Int, UInt32, Long or UInt64";

impl Storage {
    /// Does something to element `index` (from 0) at once. Returns the element as it was, or for [`Act::Store`] as it was stored, and
    /// whether anything was written by [`Act::CompareExchange`].
    ///
    /// # Errors
    /// [`Error::NotAtomic`], [`Error::OutOfRange`], [`Error::Unaligned`]; except for [`Act::Load`] also [`Error::ReadOnly`].
    pub fn act_atomically(&self, index: usize, act: Act) -> Result<(Scalar, bool), Error> {
        let change = if let Act::Change(change, _) = act { Some(change) } else { None };
        if !act.is_for(self.dtype()) {
            return Err(Error::NotAtomic { dtype: self.dtype(), classes: classes(change) });
        }
        self.range(index, 1)?;
        if !matches!(act, Act::Load) {
            self.writable()?;
        }
        with_atomic!(self.dtype(), T => Ok(carry_out(self.atomic_element::<T>(index)?, act)), else Err(self.not_atomic()))
    }

    /// Sleeps while element `index` (from 0) is `expected`, until [`wake`](Self::wake) is called for it, or for `time`.
    ///
    /// # Errors
    /// [`Error::NotAtomic`], [`Error::OutOfRange`], [`Error::Unaligned`].
    pub fn sleep(&self, index: usize, expected: Scalar, time: Duration) -> Result<Slept, Error> {
        self.check_awaited(index)?;
        with_atomic!(self.dtype(), T => {
            use crate::convert::Number;
            let element = self.atomic_element::<T>(index)?;
            Ok(sleep_for(element, T::from_scalar(expected), time))
        }, else Err(self.not_atomic()))
    }

    /// Wakes up to `count` threads, of all processes, that sleep for a change of element `index` (from 0). Returns how many.
    ///
    /// # Errors
    /// [`Error::NotAtomic`], [`Error::OutOfRange`], [`Error::Unaligned`].
    pub fn wake(&self, index: usize, count: Option<usize>) -> Result<usize, Error> {
        self.check_awaited(index)?;
        with_atomic!(self.dtype(), T => Ok(wake(self.atomic_element::<T>(index)?, count)), else Err(self.not_atomic()))
    }

    fn check_awaited(&self, index: usize) -> Result<(), Error> {
        if !can_be_awaited(self.dtype()) {
            return Err(Error::NotAtomic { dtype: self.dtype(), classes: AWAITED });
        }
        self.range(index, 1).map(|_| ())
    }

    fn not_atomic(&self) -> Error {
        Error::NotAtomic { dtype: self.dtype(), classes: classes(None) }
    }

    /// Element `index` (from 0) of a storage of `T`.
    fn atomic_element<T: Atomic>(&self, index: usize) -> Result<At<'_, T>, Error> {
        assert!(self.dtype() == T::DTYPE && index < self.size(), "the element is in the storage");
        // SAFETY: [atomic] the index is below the size, the handle keeps the memory, and callers write only what is writable.
        let element = unsafe { At::<T>::new(self.data(), index) };
        element.ok_or(Error::Unaligned { dtype: self.dtype(), address: self.data().addr() })
    }
}

/// Carries out an act on an element of a dtype that [it is for](Act::is_for).
fn carry_out<T: Atomic>(element: At<'_, T>, act: Act) -> (Scalar, bool) {
    match act {
        Act::Load => (element.load().to_scalar(), false),
        Act::Store(value) => {
            let value = T::from_scalar(value);
            element.store(value);
            (value.to_scalar(), true)
        }
        Act::Exchange(value) => (element.exchange(T::from_scalar(value)).to_scalar(), true),
        Act::CompareExchange(expected, new) => {
            let (old, written) = element.compare_exchange(T::from_scalar(expected), T::from_scalar(new));
            (old.to_scalar(), written)
        }
        Act::Change(change, value) => (element.change(change, T::from_scalar(value)).to_scalar(), true),
    }
}
