//! Elements of a Rust program that several threads, processes and scripts access at once: rule `[atomic]` of `docs/architecture.md`.

use std::time::Duration;

use super::Storage;
use crate::atomic::{Act, Change, HOUR, Waited, in_turns};
use crate::convert::Scalar;
use crate::error::Error;
use crate::storage::StateId;

/// An element that is read, written and changed in one step, which no other thread, process or script can come into:
/// [`Storage::atomic`] makes one. It has the functions of `torch.atomic` in Lua, which `docs/atomic.md` explains.
///
/// ```
/// use std::thread;
/// use torch_storage::convert::Scalar;
/// use torch_storage::{DType, Storage};
///
/// let counts = Storage::zeroed(DType::Long, 8)?;
/// let token = counts.token()?;
/// let count = |counts: &Storage| (0..1000).try_for_each(|_| counts.atomic(3).add(Scalar::Signed(2)).map(drop));
/// let thread = thread::spawn(move || Storage::from_token(token).and_then(|counts| count(&counts)));
/// count(&counts)?;
/// assert!(matches!(thread.join(), Ok(Ok(()))));
/// assert_eq!(counts.atomic(3).load()?, Scalar::Signed(4000));
/// # Ok::<(), torch_storage::Error>(())
/// ```
///
/// All accesses of this kind are sequentially consistent. What a thread wrote before one of them, by [`Storage::set`] for example, is seen
/// by whoever then reads this element in this way.
///
/// # Errors
/// Each access checks the element again, because the storage may have been resized. [`Error::OutOfRange`]; [`Error::NotAtomic`] if this
/// cannot be done to elements of the dtype; [`Error::Unaligned`]; [`Error::ReadOnly`], except for [`load`](Self::load),
/// [`wait`](Self::wait) and [`notify`](Self::notify). Nothing has changed then.
#[derive(Clone, Copy, Debug)]
pub struct AtomicElement<'a> {
    storage: &'a Storage,
    index: usize,
}

impl Storage {
    /// Element `index` (from 0), to access it atomically. Nothing is checked before it is used.
    ///
    /// It exists on x86-64 and ARM64.
    #[must_use]
    pub fn atomic(&self, index: usize) -> AtomicElement<'_> {
        AtomicElement { storage: self, index }
    }
}

#[expect(clippy::missing_errors_doc, reason = "the type lists the errors, which are the same for all")]
impl AtomicElement<'_> {
    /// The element, as a number of a kind that holds it exactly.
    pub fn load(&self) -> Result<Scalar, Error> {
        self.act(Act::Load)
    }

    /// Writes the element. Returns the value as it was stored.
    pub fn store(&self, value: Scalar) -> Result<Scalar, Error> {
        self.act(Act::Store(value))
    }

    /// Writes the element. Returns what it was.
    pub fn exchange(&self, value: Scalar) -> Result<Scalar, Error> {
        self.act(Act::Exchange(value))
    }

    /// Writes `value` if the element has the bits of `expected`. Returns what the element was, and whether `value` was written. Both
    /// numbers are converted before they are compared.
    pub fn compare_exchange(&self, expected: Scalar, value: Scalar) -> Result<(Scalar, bool), Error> {
        self.storage.inner.act_atomically(self.index, Act::CompareExchange(expected, value))
    }

    /// Adds to the element; to an integer, modulo 2 to the power of its bits. Returns what it was. Not for Bool.
    pub fn add(&self, value: Scalar) -> Result<Scalar, Error> {
        self.act(Act::Change(Change::Add, value))
    }

    /// Subtracts from the element, as [`add`](Self::add) adds.
    pub fn sub(&self, value: Scalar) -> Result<Scalar, Error> {
        self.act(Act::Change(Change::Sub, value))
    }

    /// Keeps the bits that `value` has. Returns what the element was. Not for Float and Double.
    pub fn and(&self, value: Scalar) -> Result<Scalar, Error> {
        self.act(Act::Change(Change::And, value))
    }

    /// Sets the bits that `value` has. Returns what the element was. Not for Float and Double.
    pub fn or(&self, value: Scalar) -> Result<Scalar, Error> {
        self.act(Act::Change(Change::Or, value))
    }

    /// Turns over the bits that `value` has. Returns what the element was. Not for Float and Double.
    pub fn xor(&self, value: Scalar) -> Result<Scalar, Error> {
        self.act(Act::Change(Change::Xor, value))
    }

    /// Writes `value` if it is smaller than the element. Returns what the element was. Not for Bool.
    pub fn min(&self, value: Scalar) -> Result<Scalar, Error> {
        self.act(Act::Change(Change::Min, value))
    }

    /// Writes `value` if it is larger than the element. Returns what the element was. Not for Bool.
    pub fn max(&self, value: Scalar) -> Result<Scalar, Error> {
        self.act(Act::Change(Change::Max, value))
    }

    /// Sleeps while the element is `expected`, until [`notify`](Self::notify) is called for it in any thread, process or script, or for
    /// `limit`. For Int, UInt32, Long and UInt64. Without a limit, also [`Error::OutOfReach`] if nobody else can reach the memory.
    pub fn wait(&self, expected: Scalar, limit: Option<Duration>) -> Result<Waited, Error> {
        if limit.is_none() && self.storage.inner.is_out_of_reach(StateId::of_this_thread()) {
            return Err(Error::OutOfReach);
        }
        in_turns(limit, HOUR, |time| self.storage.inner.sleep(self.index, expected, time))
    }

    /// Wakes up to `count` threads, of all processes, that wait for the element; without a count, all of them. Returns how many. For Int,
    /// UInt32, Long and UInt64.
    pub fn notify(&self, count: Option<usize>) -> Result<usize, Error> {
        self.storage.inner.wake(self.index, count)
    }

    fn act(&self, act: Act) -> Result<Scalar, Error> {
        self.storage.inner.act_atomically(self.index, act).map(|(element, _)| element)
    }
}
