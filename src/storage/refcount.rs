//! Who holds a storage: live userdata, outstanding `retain()`s, tokens and publications. The only atomics of a storage, and the
//! process-wide lock on who holds it.
//!
//! A storage lives while somebody holds it: each userdata once, each `retain()` that no `free()` or `pushudata` has taken back,
//! each token, each publication. The header's `refcount` is the sum.
//!
//! References are of parties: Lua states. A storage that one party alone holds, by live references alone, is on no list, and one
//! live reference alone needs no lock: nobody else can come by it. All others have a record in the [`Register`], which says whose
//! the references are, and are changed under its lock. It is what makes an address given to `pushudata` trustworthy, and what
//! keeps a storage in its place while others use it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::exchange::Exchange;
use super::{Block, fork};
use crate::element::DType;
use crate::error::Error;

/// The `refcount` field of a header.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct RefCount(AtomicI32);

impl RefCount {
    pub(super) const fn none() -> Self {
        Self(AtomicI32::new(0))
    }

    pub(super) const fn one() -> Self {
        Self(AtomicI32::new(1))
    }

    /// Whether the caller, who holds one reference, is the only holder.
    ///
    /// Acquire: what a former holder did to the storage before it let go (Release, in [`leave`]) has happened before.
    pub(super) fn is_one(&self) -> bool {
        self.0.load(Ordering::Acquire) == 1
    }

    /// For showing.
    pub(super) fn get(&self) -> i32 {
        self.0.load(Ordering::Relaxed)
    }

    /// One more holder. Relaxed: the caller holds a reference itself, and the lock orders the changes.
    fn add(&self) -> Result<(), Error> {
        let more = self.get().checked_add(1).ok_or(Error::TooManyReferences)?;
        self.0.store(more, Ordering::Relaxed);
        Ok(())
    }

    /// One holder less; returns what is left. Release: see [`is_one`](Self::is_one).
    fn subtract(&self) -> i32 {
        self.0.fetch_sub(1, Ordering::Release) - 1
    }
}

/// Who uses storages from one thread at a time: a Lua state. References of different parties are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party(usize);

impl Party {
    /// The program itself, which has no number.
    pub const PROGRAM: Self = Self(0);

    /// The party of that number.
    #[must_use]
    pub const fn new(number: NonZeroUsize) -> Self {
        Self(number.get())
    }
}

/// Numbers of references, by party: few parties hold the same storage.
#[derive(Default)]
struct Counts(Vec<(Party, i32)>);

impl Counts {
    fn add(&mut self, party: Party) {
        match self.0.iter_mut().find(|(one, _)| *one == party) {
            Some((_, count)) => *count += 1,
            None => self.0.push((party, 1)),
        }
    }

    /// Takes one of `party`; false if there is none.
    fn take(&mut self, party: Party) -> bool {
        let Some(place) = self.0.iter().position(|(one, _)| *one == party) else { return false };
        self.0[place].1 -= 1;
        if self.0[place].1 == 0 {
            self.0.swap_remove(place);
        }
        true
    }

    fn has(&self, party: Party) -> bool {
        self.0.iter().any(|(one, _)| *one == party)
    }

    /// Whether all are of `party`.
    fn all_of(&self, party: Party) -> bool {
        self.0.iter().all(|(one, _)| *one == party)
    }
}

/// The references to one storage.
struct Record {
    block: Registered,
    live: Counts,
    retained: Counts,
    /// Tokens and publications: nobody's.
    parked: i32,
}

/// A storage in the register.
#[derive(Clone, Copy)]
pub(super) struct Registered(NonNull<Block>);

// SAFETY: a block's address may be known to every thread; what is done with it is done under the lock.
unsafe impl Send for Registered {}

impl Registered {
    /// What is in the register has references, so it is alive while the register is locked.
    pub(super) fn block(&self) -> &Block {
        // SAFETY: as above; its fields are cells and atomics, so a shared reference is right.
        unsafe { self.0.as_ref() }
    }

    pub(super) fn is(self, block: NonNull<Block>) -> bool {
        self.0 == block
    }
}

/// The storages that more than one party can come by, by address; and what waits for somebody to take it.
pub(super) struct Register {
    records: BTreeMap<usize, Record>,
    pub(super) exchange: Exchange,
}

static REGISTER: Mutex<Register> = Mutex::new(Register { records: BTreeMap::new(), exchange: Exchange::new() });

/// The lock, held.
pub(super) type Guard = MutexGuard<'static, Register>;

/// The process-wide lock. It is held across `fork` (`fork.rs`).
pub(super) fn lock() -> Guard {
    fork::protect_across_fork();
    guard()
}

/// The lock as it is: for the fork handlers.
pub(super) fn guard() -> Guard {
    REGISTER.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Register {
    /// The record of a storage to which `party` has a live reference. Without one, all its references are that party's.
    fn record(&mut self, block: NonNull<Block>, party: Party) -> &mut Record {
        self.records.entry(block.addr().get()).or_insert_with(|| {
            let block = Registered(block);
            let live = Counts(vec![(party, block.block().header.refcount.get())]);
            Record { block, live, retained: Counts::default(), parked: 0 }
        })
    }

    /// Removes the record of a storage that needs none.
    fn tidy(&mut self, block: NonNull<Block>) {
        let address = block.addr().get();
        let plain = |record: &Record| record.parked == 0 && record.retained.0.is_empty() && record.live.0.len() <= 1;
        if self.records.get(&address).is_some_and(plain) {
            self.records.remove(&address);
        }
    }

    /// Whether `party` alone holds the storage.
    pub(super) fn is_alone(&self, block: NonNull<Block>, party: Party) -> bool {
        self.records
            .get(&block.addr().get())
            .is_none_or(|record| record.parked == 0 && record.retained.all_of(party) && record.live.all_of(party))
    }

    /// One more reference, which is nobody's. The caller has one.
    pub(super) fn park(&mut self, block: NonNull<Block>, party: Party) -> Result<Registered, Error> {
        let record = self.record(block, party);
        let parked = record.block;
        let added = parked.block().header.refcount.add();
        record.parked += i32::from(added.is_ok());
        self.tidy(block);
        added.map(|()| parked)
    }

    /// Makes a parked reference one of `party`.
    pub(super) fn unpark(&mut self, parked: Registered, party: Party) -> NonNull<Block> {
        let record = self.record(parked.0, party);
        record.parked -= 1;
        record.live.add(party);
        self.tidy(parked.0);
        parked.0
    }

    /// One more reference, of `party`, to a storage that has a parked one.
    pub(super) fn join(&mut self, parked: Registered, party: Party) -> Result<NonNull<Block>, Error> {
        parked.block().header.refcount.add()?;
        self.record(parked.0, party).live.add(party);
        Ok(parked.0)
    }
}

/// One more outstanding `retain()`.
pub(super) fn retain(block: NonNull<Block>, party: Party) -> Result<(), Error> {
    let mut register = lock();
    let record = register.record(block, party);
    let added = record.block.block().header.refcount.add();
    if added.is_ok() {
        record.retained.add(party);
    }
    register.tidy(block);
    added
}

/// Gives back one outstanding `retain()` of the caller, if there is one.
pub(super) fn release_retained(block: NonNull<Block>, party: Party) -> bool {
    let mut register = lock();
    let Some(record) = register.records.get_mut(&block.addr().get()) else { return false };
    let taken = record.retained.take(party);
    if taken {
        record.block.block().header.refcount.subtract();
        register.tidy(block);
    }
    taken
}

/// Turns an outstanding `retain()` of the storage at `address` into a reference of the caller.
pub(super) fn adopt(address: usize, dtype: DType, party: Party) -> Result<NonNull<Block>, Error> {
    let mut register = lock();
    let retained = |record: &&mut Record| !record.retained.0.is_empty();
    let record = register.records.get_mut(&address).filter(retained).ok_or(Error::NotRetained { address })?;
    let block = record.block;
    block.block().admits(dtype, party)?;
    // The sum stays: a retain becomes a live reference. One of the caller's own, or the last one.
    let giver = if record.retained.has(party) { party } else { record.retained.0.last().map_or(party, |&(giver, _)| giver) };
    record.retained.take(giver);
    record.live.add(party);
    register.tidy(block.0);
    Ok(block.0)
}

/// The caller's reference ends. Returns true if it was the last: the block is then the caller's to destroy.
pub(super) fn leave(block: NonNull<Block>, party: Party) -> bool {
    // SAFETY: the caller holds a reference until this call, so the block is alive.
    let refcount = unsafe { &block.as_ref().header.refcount };
    if refcount.is_one() {
        return true;
    }
    let mut register = lock();
    if let Some(record) = register.records.get_mut(&block.addr().get()) {
        record.live.take(party);
    }
    // Acquire by the lock: the other holders left under it, or see `is_one`.
    let last = refcount.subtract() == 0;
    register.tidy(block);
    last
}
