//! The register of references: which Lua state holds how many references to a storage, and which references are parked.
//!
//! Each live or retained reference belongs to one Lua state, or to one thread of a Rust program, which counts as a state here. A
//! storage that only one state holds, without retained and parked references, has no record here. If it has only one reference, that
//! reference needs no lock, because nobody else can reach the storage. All other storages have a record, and their references change
//! under the register's lock (`locks.rs`). The records tell whether an address given to `pushudata` is that of a storage, and whether
//! a storage may move.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::ptr::NonNull;

use super::header::StorageHeader;
use super::numbered::Numbered;
use super::state_id::StateId;
use crate::element::DType;
use crate::error::Error;
use crate::fallible::{self, NoMemory};

/// Numbers of references by state. A list is enough, because few states hold the same storage.
#[derive(Default)]
struct Counts(Vec<(StateId, i32)>);

impl Counts {
    /// Makes sure that [`add`](Self::add) needs no memory for `state`.
    fn make_room(&mut self, state: StateId) -> Result<(), NoMemory> {
        if self.has(state) { Ok(()) } else { fallible::reserve(&mut self.0, 1) }
    }

    /// Adds a reference of `state`, for which there is room.
    fn add(&mut self, state: StateId) {
        match self.0.iter_mut().find(|(one, _)| *one == state) {
            Some((_, count)) => *count += 1,
            None => self.0.push((state, 1)),
        }
    }

    /// Removes one reference of `state`. Returns false if there is none.
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

    /// Whether all references belong to `state`.
    fn all_of(&self, state: StateId) -> bool {
        self.0.iter().all(|(one, _)| *one == state)
    }
}

/// The references to one storage.
struct Record {
    storage: Registered,
    /// The state that the storage's foreign memory belongs to, if there is one. No other state may hold the storage.
    owner: Option<StateId>,
    /// The references of handles and userdata.
    live: Counts,
    /// The outstanding `retain()`s.
    retained: Counts,
    /// The number of tokens and publications. Their references belong to no state.
    parked: i32,
}

/// The address of a storage that somebody holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Registered(NonNull<StorageHeader>);

// SAFETY: [live] the storage is only used by a holder, or under the register's lock while the register holds a reference.
unsafe impl Send for Registered {}

impl Registered {
    /// # Safety
    /// Somebody holds the storage as long as this value or a copy of it is used.
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
        // SAFETY: [live] the caller of `new` vouches that the storage is held. [alias] its fields that change are cells and
        // atomics.
        unsafe { self.0.as_ref() }
    }
}

/// The records of storages, by address, and the storages that have tokens or are published.
pub(super) struct Register {
    records: Numbered<usize, Record>,
    tokens: Numbered<u64, Registered>,
    published: HashMap<Vec<u8>, Registered, BuildHasherDefault<DefaultHasher>>,
    /// The number of tokens that were ever made.
    token_count: u64,
}

/// Live and retained references.
impl Register {
    pub(super) const fn new() -> Self {
        Self {
            records: Numbered::new(),
            tokens: Numbered::new(),
            published: HashMap::with_hasher(BuildHasherDefault::new()),
            token_count: 0,
        }
    }

    /// The record of a storage that `state` has a live reference to. If there is no record yet, all references belong to
    /// `state`.
    fn record(&mut self, storage: Registered, state: StateId) -> Result<&mut Record, NoMemory> {
        self.records.get_or_insert(storage.address(), || {
            let mut live = Counts::default();
            fallible::push(&mut live.0, (state, storage.header().refcount.get()))?;
            Ok(Record { storage, owner: None, live, retained: Counts::default(), parked: 0 })
        })
    }

    /// Removes the record of a storage that needs none: only one state holds it, and no reference is retained or parked.
    fn remove_unneeded_record(&mut self, storage: Registered) {
        let address = storage.address();
        let plain = |record: &Record| record.parked == 0 && record.retained.0.is_empty() && record.live.0.len() <= 1;
        if self.records.get(address).is_some_and(plain) {
            self.records.remove(address);
        }
    }

    /// Whether all references to the storage belong to `state`.
    pub(super) fn is_only_holder(&self, storage: Registered, state: StateId) -> bool {
        self.records
            .get(storage.address())
            .is_none_or(|record| record.parked == 0 && record.retained.all_of(state) && record.live.all_of(state))
    }

    /// Whether the program has a live reference to a storage that several holders have: a thread of it, or a module in C.
    pub(super) fn is_held_by_program(&self, storage: Registered) -> bool {
        self.records.get(storage.address()).is_some_and(|record| record.live.0.iter().any(|(one, _)| one.is_of_program()))
    }

    /// Adds an outstanding `retain()` of `state`, which holds the storage. `owner` is the state that its memory belongs to, if
    /// there is one.
    pub(super) fn retain(&mut self, storage: Registered, owner: Option<StateId>, state: StateId) -> Result<(), Error> {
        let record = self.record(storage, state)?;
        let added = record.retained.make_room(state).map_err(Error::from).and_then(|()| storage.header().refcount.add());
        if added.is_ok() {
            record.owner = owner;
            record.retained.add(state);
        }
        self.remove_unneeded_record(storage);
        added
    }

    /// Adds a live reference of `state`, which holds the storage already.
    pub(super) fn share(&mut self, storage: Registered, state: StateId) -> Result<(), Error> {
        // Without a record all references belong to `state`.
        let Some(record) = self.records.get_mut(storage.address()) else { return storage.header().refcount.add() };
        record.live.make_room(state)?;
        storage.header().refcount.add()?;
        record.live.add(state);
        Ok(())
    }

    /// Adds a live reference of `other`. `holder` holds the storage.
    pub(super) fn share_with(&mut self, storage: Registered, holder: StateId, other: StateId) -> Result<(), Error> {
        let record = self.record(storage, holder)?;
        let added = record.live.make_room(other).map_err(Error::from).and_then(|()| storage.header().refcount.add());
        if added.is_ok() {
            record.live.add(other);
        }
        self.remove_unneeded_record(storage);
        added
    }

    /// Turns a live reference of `from` into one of `to`.
    pub(super) fn hand_over(&mut self, storage: Registered, from: StateId, to: StateId) -> Result<(), NoMemory> {
        let record = self.record(storage, from)?;
        let has_room = record.live.make_room(to);
        if has_room.is_ok() {
            let taken = record.live.take(from);
            debug_assert!(taken, "{from:?} hands over a reference that it has");
            record.live.add(to);
        }
        self.remove_unneeded_record(storage);
        has_room
    }

    /// Gives back one outstanding `retain()` of `state`. Returns false if there is none.
    pub(super) fn release_retained(&mut self, storage: Registered, state: StateId) -> bool {
        let Some(record) = self.records.get_mut(storage.address()) else { return false };
        let taken = record.retained.take(state);
        if taken {
            storage.header().refcount.subtract();
            self.remove_unneeded_record(storage);
        }
        taken
    }

    /// Turns an outstanding `retain()` of the storage at `address` into a live reference of `state`.
    pub(super) fn adopt(&mut self, address: usize, dtype: DType, state: StateId) -> Result<Registered, Error> {
        let retained = |record: &&mut Record| !record.retained.0.is_empty();
        let record = self.records.get_mut(address).filter(retained).ok_or(Error::NotRetained { address })?;
        let storage = record.storage;
        let got = storage.header().dtype;
        if got != dtype {
            return Err(Error::OtherClass { got, expected: dtype });
        }
        if record.owner.is_some_and(|owner| owner != state) {
            return Err(Error::Anchored);
        }
        // The number of references does not change. A `retain()` of the caller is used up if it has one, otherwise the last one
        // in the list.
        let giver = if record.retained.has(state) { state } else { record.retained.0.last().map_or(state, |&(giver, _)| giver) };
        record.live.make_room(state)?;
        record.retained.take(giver);
        record.live.add(state);
        self.remove_unneeded_record(storage);
        Ok(storage)
    }

    /// Ends a live reference of `state`. Returns true if it was the last reference. The caller then destroys the storage.
    pub(super) fn end_reference(&mut self, storage: Registered, state: StateId) -> bool {
        if let Some(record) = self.records.get_mut(storage.address()) {
            let taken = record.live.take(state);
            debug_assert!(taken, "{state:?} gives back a reference that it has");
        }
        // The lock orders this after everything that the former holders did to the storage.
        let last = storage.header().refcount.subtract() == 0;
        self.remove_unneeded_record(storage);
        last
    }

    /// Adds a parked reference, which belongs to no state. `state` holds the storage.
    fn park(&mut self, storage: Registered, state: StateId) -> Result<(), Error> {
        let record = self.record(storage, state)?;
        let added = storage.header().refcount.add();
        record.parked += i32::from(added.is_ok());
        self.remove_unneeded_record(storage);
        added
    }

    /// Makes sure that [`unpark`](Self::unpark) needs no memory for a parked storage and `state`.
    fn make_room_to_unpark(&mut self, storage: Registered, state: StateId) -> Result<(), NoMemory> {
        // A parked storage has a record.
        self.records.get_mut(storage.address()).map_or(Ok(()), |record| record.live.make_room(state))
    }

    /// Turns a parked reference into a live reference of `state`, for which there is room.
    fn unpark(&mut self, storage: Registered, state: StateId) -> Registered {
        if let Some(record) = self.records.get_mut(storage.address()) {
            record.parked -= 1;
            record.live.add(state);
        }
        self.remove_unneeded_record(storage);
        storage
    }
}

/// Tokens and publications. The callers refuse storages whose memory belongs to a Lua value.
impl Register {
    /// The number of a new token.
    pub(super) fn next_token(&mut self) -> u64 {
        self.token_count += 1;
        self.token_count
    }

    /// Parks a reference to a storage for a token. `state` holds the storage.
    pub(super) fn park_for_token(&mut self, token: u64, storage: Registered, state: StateId) -> Result<(), Error> {
        self.tokens.make_room()?;
        self.park(storage, state)?;
        self.tokens.insert(token, storage);
        Ok(())
    }

    /// The dtype and the size of the storage that is parked for a token, or `None` if there is none.
    pub(super) fn parked(&self, token: u64) -> Option<(DType, usize)> {
        let header = self.tokens.get(token)?.header();
        Some((header.dtype, header.size.get().unsigned_abs()))
    }

    /// Takes the reference that is parked for a token, which then belongs to `state`. Returns `None` if there is none.
    pub(super) fn take(&mut self, token: u64, state: StateId) -> Result<Option<Registered>, NoMemory> {
        let Some(&storage) = self.tokens.get(token) else { return Ok(None) };
        self.make_room_to_unpark(storage, state)?;
        self.tokens.remove(token);
        Ok(Some(self.unpark(storage, state)))
    }

    /// Publishes a storage under a name. `state` holds the storage. Nothing changes if it is published under that name already.
    pub(super) fn publish(&mut self, name: &[u8], storage: Registered, state: StateId) -> Result<(), Error> {
        match self.published.get(name) {
            Some(&other) if other == storage => return Ok(()),
            Some(_) => return Err(Error::Published { name: name.into() }),
            None => {}
        }
        let name = fallible::copied(name)?;
        self.published.try_reserve(1).map_err(|_| NoMemory { bytes: size_of::<(Vec<u8>, Registered)>() })?;
        self.park(storage, state)?;
        self.published.insert(name, storage);
        Ok(())
    }

    /// The dtype of the storage that is published under a name, or `None` if there is none.
    pub(super) fn published_dtype(&self, name: &[u8]) -> Option<DType> {
        self.published.get(name).map(|storage| storage.header().dtype)
    }

    /// Adds a live reference of `state` to the storage that is published under a name. Returns `None` if there is none.
    pub(super) fn lookup(&mut self, name: &[u8], state: StateId) -> Result<Option<Registered>, Error> {
        let Some(&storage) = self.published.get(name) else { return Ok(None) };
        // A published storage has a record.
        if let Some(record) = self.records.get_mut(storage.address()) {
            record.live.make_room(state)?;
            storage.header().refcount.add()?;
            record.live.add(state);
        }
        Ok(Some(storage))
    }

    /// Ends a publication. Its reference becomes a live reference of `state`. Returns `None` if nothing has the name.
    pub(super) fn unpublish(&mut self, name: &[u8], state: StateId) -> Result<Option<Registered>, NoMemory> {
        let Some(&storage) = self.published.get(name) else { return Ok(None) };
        self.make_room_to_unpark(storage, state)?;
        self.published.remove(name);
        Ok(Some(self.unpark(storage, state)))
    }
}
