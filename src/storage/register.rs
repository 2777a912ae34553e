//! The register of storages that several Lua states can reach: which state holds which references; tokens and publications.
//!
//! Each reference belongs to one Lua state. A storage that only one state holds, by live references alone, has no record here,
//! and its only reference needs no lock, because nobody else can reach it. All other storages have a record, and their references
//! change under the register's lock (`locks.rs`). This is what makes an address given to `pushudata` trustworthy, and what keeps a
//! storage where it is while others use it.

use std::collections::BTreeMap;
use std::ptr::NonNull;

use super::header::StorageHeader;
use super::state_id::StateId;
use crate::element::DType;
use crate::error::Error;

/// Numbers of references, by state. Few states hold the same storage, so a list will do.
#[derive(Default)]
struct Counts(Vec<(StateId, i32)>);

impl Counts {
    fn add(&mut self, state: StateId) {
        match self.0.iter_mut().find(|(one, _)| *one == state) {
            Some((_, count)) => *count += 1,
            None => self.0.push((state, 1)),
        }
    }

    /// Takes one of `state`; false if there is none.
    fn take(&mut self, state: StateId) -> bool {
        let Some(index) = self.0.iter().position(|(one, _)| *one == state) else { return false };
        self.0[index].1 -= 1;
        if self.0[index].1 == 0 {
            self.0.swap_remove(index);
        }
        true
    }

    fn has(&self, state: StateId) -> bool {
        self.0.iter().any(|(one, _)| *one == state)
    }

    /// Whether all are of `state`.
    fn all_of(&self, state: StateId) -> bool {
        self.0.iter().all(|(one, _)| *one == state)
    }
}

/// The references to one storage.
struct Record {
    storage: Registered,
    /// The state that owns the storage's foreign memory, if one does: no other state may have a reference.
    owner: Option<StateId>,
    live: Counts,
    retained: Counts,
    /// Tokens and publications, which no state holds.
    parked: i32,
}

/// A storage that somebody holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Registered(NonNull<StorageHeader>);

// SAFETY: [live] every thread may know the address; the storage is used by a holder, or under the register's lock.
unsafe impl Send for Registered {}

impl Registered {
    /// # Safety
    /// Somebody holds the storage as long as the value and its copies are used.
    pub(super) unsafe fn new(header: NonNull<StorageHeader>) -> Self {
        Self(header)
    }

    pub(super) fn pointer(self) -> NonNull<StorageHeader> {
        self.0
    }

    fn address(self) -> usize {
        self.0.addr().get()
    }

    fn header(&self) -> &StorageHeader {
        // SAFETY: [live] a record has references, and `new` was given a storage that is held. [alias] its fields are cells and
        // atomics, so a shared reference is right.
        unsafe { self.0.as_ref() }
    }
}

/// The storages that more than one state can reach, by address, and what waits for somebody to take it.
pub(super) struct Register {
    records: BTreeMap<usize, Record>,
    tokens: BTreeMap<u64, Registered>,
    published: BTreeMap<Vec<u8>, Registered>,
    /// Tokens that there have been.
    token_count: u64,
}

/// References.
impl Register {
    pub(super) const fn new() -> Self {
        Self { records: BTreeMap::new(), tokens: BTreeMap::new(), published: BTreeMap::new(), token_count: 0 }
    }

    /// The record of a storage to which `state` has a live reference. Without one, all its references are that state's.
    fn record(&mut self, storage: Registered, state: StateId) -> &mut Record {
        self.records.entry(storage.address()).or_insert_with(|| {
            let live = Counts(vec![(state, storage.header().refcount.get())]);
            Record { storage, owner: None, live, retained: Counts::default(), parked: 0 }
        })
    }

    /// Removes the record of a storage that needs none.
    fn tidy(&mut self, storage: Registered) {
        let address = storage.address();
        let plain = |record: &Record| record.parked == 0 && record.retained.0.is_empty() && record.live.0.len() <= 1;
        if self.records.get(&address).is_some_and(plain) {
            self.records.remove(&address);
        }
    }

    /// Whether `state` alone holds the storage.
    pub(super) fn is_alone(&self, storage: Registered, state: StateId) -> bool {
        self.records
            .get(&storage.address())
            .is_none_or(|record| record.parked == 0 && record.retained.all_of(state) && record.live.all_of(state))
    }

    /// One more outstanding `retain()` of `state`, which holds the storage. `owner` is the state that owns its memory, if one does.
    pub(super) fn retain(&mut self, storage: Registered, owner: Option<StateId>, state: StateId) -> Result<(), Error> {
        let record = self.record(storage, state);
        let added = storage.header().refcount.add();
        if added.is_ok() {
            record.owner = owner;
            record.retained.add(state);
        }
        self.tidy(storage);
        added
    }

    /// Gives back one outstanding `retain()` of `state`, if there is one.
    pub(super) fn release_retained(&mut self, storage: Registered, state: StateId) -> bool {
        let Some(record) = self.records.get_mut(&storage.address()) else { return false };
        let taken = record.retained.take(state);
        if taken {
            storage.header().refcount.subtract();
            self.tidy(storage);
        }
        taken
    }

    /// Turns an outstanding `retain()` of the storage at `address` into a live reference of `state`.
    pub(super) fn adopt(&mut self, address: usize, dtype: DType, state: StateId) -> Result<Registered, Error> {
        let retained = |record: &&mut Record| !record.retained.0.is_empty();
        let record = self.records.get_mut(&address).filter(retained).ok_or(Error::NotRetained { address })?;
        let storage = record.storage;
        let got = storage.header().dtype;
        if got != dtype {
            return Err(Error::OtherClass { got, expected: dtype });
        }
        if record.owner.is_some_and(|owner| owner != state) {
            return Err(Error::Anchored);
        }
        // The sum stays. The retain is one of the caller's own if it has one, otherwise the last one.
        let giver = if record.retained.has(state) { state } else { record.retained.0.last().map_or(state, |&(giver, _)| giver) };
        record.retained.take(giver);
        record.live.add(state);
        self.tidy(storage);
        Ok(storage)
    }

    /// A live reference of `state` ends. Returns true if it was the last one: the storage is then the caller's to destroy.
    pub(super) fn leave(&mut self, storage: Registered, state: StateId) -> bool {
        if let Some(record) = self.records.get_mut(&storage.address()) {
            record.live.take(state);
        }
        // The lock orders this after what the other holders did before they left.
        let last = storage.header().refcount.subtract() == 0;
        self.tidy(storage);
        last
    }

    /// One more reference, which no state holds. The caller, `state`, has one.
    fn park(&mut self, storage: Registered, state: StateId) -> Result<(), Error> {
        let record = self.record(storage, state);
        let added = storage.header().refcount.add();
        record.parked += i32::from(added.is_ok());
        self.tidy(storage);
        added
    }

    /// Makes a parked reference one of `state`.
    fn unpark(&mut self, storage: Registered, state: StateId) -> Registered {
        let record = self.record(storage, state);
        record.parked -= 1;
        record.live.add(state);
        self.tidy(storage);
        storage
    }
}

/// Tokens and publications. A storage whose memory a Lua value owns has neither: the callers see to that.
impl Register {
    /// The number of a new token.
    pub(super) fn next_token(&mut self) -> u64 {
        self.token_count += 1;
        self.token_count
    }

    /// Parks a reference to a storage, which `state` holds, for the token.
    pub(super) fn park_for(&mut self, token: u64, storage: Registered, state: StateId) -> Result<(), Error> {
        self.park(storage, state)?;
        self.tokens.insert(token, storage);
        Ok(())
    }

    /// The class of the storage that waits for the token's holder.
    pub(super) fn parked_dtype(&self, token: u64) -> Option<DType> {
        self.tokens.get(&token).map(|storage| storage.header().dtype)
    }

    /// The storage that waits for the token's holder, as a reference of `state`.
    pub(super) fn take(&mut self, token: u64, state: StateId) -> Option<Registered> {
        let storage = self.tokens.remove(&token)?;
        Some(self.unpark(storage, state))
    }

    /// Publishes a storage, which `state` holds, unless it is published under that name already.
    pub(super) fn publish(&mut self, name: &[u8], storage: Registered, state: StateId) -> Result<(), Error> {
        match self.published.get(name) {
            Some(&other) if other == storage => return Ok(()),
            Some(_) => return Err(Error::Published { name: name.to_owned() }),
            None => {}
        }
        self.park(storage, state)?;
        self.published.insert(name.to_owned(), storage);
        Ok(())
    }

    /// The class of the storage that is published under a name.
    pub(super) fn published_dtype(&self, name: &[u8]) -> Option<DType> {
        self.published.get(name).map(|storage| storage.header().dtype)
    }

    /// The storage that is published under a name, as one more reference, of `state`.
    pub(super) fn lookup(&mut self, name: &[u8], state: StateId) -> Result<Option<Registered>, Error> {
        let Some(&storage) = self.published.get(name) else { return Ok(None) };
        storage.header().refcount.add()?;
        self.record(storage, state).live.add(state);
        Ok(Some(storage))
    }

    /// Ends a publication; its reference becomes one of `state`.
    pub(super) fn unpublish(&mut self, name: &[u8], state: StateId) -> Option<Registered> {
        let storage = self.published.remove(name)?;
        Some(self.unpark(storage, state))
    }
}
