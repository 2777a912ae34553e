//! Budgets: how many bytes the storages of a Lua state have, and how many they may have.
//!
//! A Lua state whose host asks for it has an [`Account`]. The memory of its storages is charged to the account when it is allocated, and
//! leaves it when it is freed, in whatever thread that is. The engine does not know Lua, so it asks for the account of the call that
//! runs in this thread: [`run_for`] sets it while a function of the library runs.
//!
//! Heap memory keeps the number of its account, because a pointer would not fit into its block. Accounts stay where they are for ever,
//! and are used again when their state is closed and all that was charged to them is freed.

#![cfg_attr(not(any(feature = "lua", test)), allow(dead_code, reason = "only Lua states have accounts"))]

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// The bytes that are charged, and how many may be. All accesses are relaxed: no other data depends on these numbers.
#[derive(Debug)]
struct Account {
    used: AtomicUsize,
    limit: AtomicUsize,
    /// Whether a Lua state has this account.
    is_open: AtomicBool,
}

/// The number of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountId(u32);

/// A charge that would exceed the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverBudget {
    /// The number of bytes that were asked for.
    pub bytes: usize,
    /// The number of bytes that are charged already.
    pub used: usize,
    /// How many may be charged in all.
    pub limit: usize,
}

/// The account of a Lua state that is being closed: nothing can be charged to it.
static CLOSED: Account = Account::new(0);

/// The accounts, in lists that never move. List `n` has `FIRST << n` of them.
static LISTS: [OnceLock<Vec<Account>>; 26] = [const { OnceLock::new() }; 26];
const FIRST: usize = 64;

/// How many accounts have ever been asked for.
static MADE: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The account of the call that runs in this thread. It has no destructor, so it can be used until the thread has ended.
    static RUNNING: Cell<AccountId> = const { Cell::new(AccountId::NONE) };
}

impl Account {
    const fn new(limit: usize) -> Self {
        Self { used: AtomicUsize::new(0), limit: AtomicUsize::new(limit), is_open: AtomicBool::new(false) }
    }
}

impl AccountId {
    /// No account: nothing is counted.
    pub const NONE: Self = Self(0);
    /// The account to which nothing can be charged.
    pub const CLOSED: Self = Self(1);

    /// The number of the account at `index`.
    const fn at(index: u32) -> Self {
        Self(index + 2)
    }

    fn account(self) -> Option<&'static Account> {
        match self.0 {
            0 => None,
            1 => Some(&CLOSED),
            number => {
                let place = number as usize - 2 + FIRST;
                let list = place.ilog2() - FIRST.ilog2();
                LISTS.get(list as usize)?.get()?.get(place - (FIRST << list))
            }
        }
    }

    /// An account without a limit for a Lua state. Returns `None` if there is no memory for it.
    pub fn open() -> Option<Self> {
        let is_free = |account: &Account| {
            let is_empty = account.used.load(Ordering::Relaxed) == 0;
            is_empty && account.is_open.compare_exchange(false, true, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        let old = (0..MADE.load(Ordering::Relaxed)).map(Self::at).find(|id| id.account().is_some_and(is_free));
        let id = match old {
            Some(id) => id,
            None => {
                let index = MADE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |made| made.checked_add(1)).ok()?;
                make_list(index)?;
                let id = Self::at(index);
                // Another state may have found it first, and then has it.
                if !id.account().is_some_and(is_free) {
                    return Self::open();
                }
                id
            }
        };
        id.set_limit(usize::MAX);
        Some(id)
    }

    /// Ends the account of a Lua state. What is charged to it leaves it when it is freed.
    pub fn close(self) {
        if let Some(account) = self.account() {
            account.is_open.store(false, Ordering::Relaxed);
        }
    }

    /// The number of bytes that are charged, or 0 if this is no account.
    pub fn used(self) -> usize {
        self.account().map_or(0, |account| account.used.load(Ordering::Relaxed))
    }

    /// Changes the limit. Returns whether no more than that is charged now. Otherwise nothing can be charged until it is.
    pub fn set_limit(self, bytes: usize) -> bool {
        // The account of closed states is the same for all of them, and stays as it is.
        if let Some(account) = self.account().filter(|_| self != Self::CLOSED) {
            account.limit.store(bytes, Ordering::Relaxed);
        }
        self.used() <= bytes
    }

    /// Charges a number of bytes.
    #[inline]
    pub fn charge(self, bytes: usize) -> Result<(), OverBudget> {
        if self == Self::NONE { Ok(()) } else { self.charge_account(bytes) }
    }

    #[cold]
    fn charge_account(self, bytes: usize) -> Result<(), OverBudget> {
        let Some(account) = self.account() else { return Ok(()) };
        let limit = account.limit.load(Ordering::Relaxed);
        let added = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= limit || bytes == 0);
        let charged = account.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, added);
        charged.map(|_| ()).map_err(|used| OverBudget { bytes, used, limit })
    }

    /// Takes back a number of bytes that were charged.
    #[inline]
    pub fn discharge(self, bytes: usize) {
        if self != Self::NONE {
            self.discharge_account(bytes);
        }
    }

    #[cold]
    fn discharge_account(self, bytes: usize) {
        if let Some(account) = self.account() {
            account.used.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

/// Makes the list in which the account at `index` is, unless it is there. Returns `None` if there is no memory for it.
fn make_list(index: u32) -> Option<()> {
    let list = (index as usize + FIRST).ilog2() - FIRST.ilog2();
    let place = LISTS.get(list as usize)?;
    if place.get().is_none() {
        let mut accounts = Vec::new();
        accounts.try_reserve_exact(FIRST << list).ok()?;
        accounts.resize_with(FIRST << list, || Account::new(usize::MAX));
        // If another thread has made it meanwhile, that one is used.
        let _ = place.set(accounts);
    }
    Some(())
}

/// Whether any Lua state of the process has had an account.
#[inline]
pub fn are_counted() -> bool {
    MADE.load(Ordering::Relaxed) != 0
}

/// The account of the call that runs in this thread, to which its storages are charged.
#[inline]
pub fn running() -> AccountId {
    // Programs without budgets do not look at the variable of the thread.
    if are_counted() { RUNNING.get() } else { AccountId::NONE }
}

/// Restores the account of the call around this one when it is dropped.
pub struct Running(AccountId);

impl Drop for Running {
    #[inline]
    fn drop(&mut self) {
        RUNNING.set(self.0);
    }
}

/// Charges what this thread allocates to an account, as long as the result is alive.
#[inline]
pub fn run_for(account: AccountId) -> Running {
    Running(exchange(account))
}

/// Charges what this thread allocates to an account from now on. Returns the one before, which the caller puts back in the same way.
///
/// This is for functions that no panic leaves: a guard with a destructor would make the frames of all that is inlined around it larger.
/// It is not inlined into its thousands of callers, because reading a variable of the thread takes many instructions in a shared library.
#[inline(never)]
pub fn exchange(account: AccountId) -> AccountId {
    RUNNING.replace(account)
}

/// Whether the running call may use this many bytes for a short time. They are not charged.
#[inline]
pub fn has_room(bytes: usize) -> bool {
    /// What fits into a small part of any budget, and is not worth asking.
    const FEW: usize = 4096;
    bytes <= FEW || refusal(bytes).is_none()
}

/// Why the running call may not have this many bytes more, or `None` if it may.
pub fn refusal(bytes: usize) -> Option<OverBudget> {
    let account = running().account()?;
    let (used, limit) = (account.used.load(Ordering::Relaxed), account.limit.load(Ordering::Relaxed));
    (bytes > limit.saturating_sub(used)).then_some(OverBudget { bytes, used, limit })
}

/// Bytes that were charged for an allocation that may still fail. Dropping this takes them back.
#[derive(Debug)]
pub struct Charge {
    account: AccountId,
    bytes: usize,
}

impl Charge {
    /// Charges a number of bytes to the running call.
    #[inline]
    pub fn new(bytes: usize) -> Result<Self, OverBudget> {
        let account = running();
        account.charge(bytes)?;
        Ok(Self { account, bytes })
    }

    /// Leaves the bytes to the caller, who takes them back from the account that is returned.
    #[inline]
    pub fn keep(self) -> AccountId {
        std::mem::ManuallyDrop::new(self).account
    }
}

impl Drop for Charge {
    #[inline]
    fn drop(&mut self) {
        self.account.discharge(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::{AccountId, Charge, FIRST, OverBudget, has_room, run_for, running};

    fn open() -> AccountId {
        AccountId::open().unwrap_or_else(|| unreachable!())
    }

    #[test]
    fn a_charge_beyond_the_limit_is_refused_and_changes_nothing() {
        let account = open();
        assert!(account.set_limit(100));
        assert_eq!(account.charge(60), Ok(()));
        assert_eq!(account.charge(41), Err(OverBudget { bytes: 41, used: 60, limit: 100 }));
        assert_eq!(account.charge(usize::MAX), Err(OverBudget { bytes: usize::MAX, used: 60, limit: 100 }));
        assert_eq!(account.charge(40), Ok(()));
        assert!(!account.set_limit(99));
        assert!(account.charge(1).is_err() && account.charge(0).is_ok());
        account.discharge(100);
        assert_eq!(account.used(), 0);
        account.close();
    }

    #[test]
    fn the_running_account_is_that_of_the_innermost_call_of_this_thread() {
        let (outer, inner) = (open(), open());
        {
            let _outer = run_for(outer);
            assert_eq!(running(), outer);
            {
                let _inner = run_for(inner);
                assert_eq!(running(), inner);
                let elsewhere = std::thread::spawn(running).join();
                assert_eq!(elsewhere.ok(), Some(AccountId::NONE));
            }
            assert_eq!(running(), outer);
            outer.set_limit(10_000);
            assert!(has_room(10_000) && !has_room(10_001));
            let charge = Charge::new(5_000).unwrap_or_else(|_| unreachable!());
            assert!(Charge::new(5_001).is_err() && !has_room(5_001));
            drop(charge);
            assert_eq!(outer.used(), 0);
            let account = Charge::new(7).unwrap_or_else(|_| unreachable!()).keep();
            assert_eq!((account, outer.used()), (outer, 7));
            outer.discharge(7);
        }
        assert_eq!(running(), AccountId::NONE);
        outer.close();
        inner.close();
    }

    #[test]
    fn an_account_is_used_again_only_when_it_is_empty() {
        let accounts: Vec<_> = (0..3 * FIRST).map(|_| open()).collect();
        assert!(accounts.iter().enumerate().all(|(n, account)| !accounts[..n].contains(account)));
        let full = accounts[FIRST];
        assert!(full.charge(1).is_ok());
        accounts.iter().for_each(|account| account.close());
        let again: Vec<_> = (0..2 * FIRST).map(|_| open()).collect();
        assert!(!again.contains(&full));
        full.discharge(1);
        again.iter().for_each(|account| account.close());
    }

    #[test]
    fn threads_together_do_not_exceed_a_limit() {
        let account = open();
        account.set_limit(1000);
        let charged = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(move || (0..1000).filter(|_| account.charge(1).is_ok()).count())).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).sum::<usize>()
        });
        assert_eq!((charged, account.used()), (1000, 1000));
        account.discharge(1000);
        account.close();
    }

    #[test]
    fn nothing_is_charged_to_a_closed_state() {
        AccountId::CLOSED.set_limit(usize::MAX);
        assert!(AccountId::CLOSED.charge(1).is_err() && AccountId::CLOSED.charge(0).is_ok());
        assert_eq!(AccountId::NONE.charge(usize::MAX), Ok(()));
    }
}
