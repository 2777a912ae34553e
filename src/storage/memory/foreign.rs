//! Foreign memory: memory that the engine did not allocate, and what keeps it alive.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

use super::owner::Owner;
use super::usage::{FOREIGN, OWNED};
use crate::storage::state_id::StateId;

/// A reference to a value outside the engine that keeps foreign memory alive. The engine hands the anchor back when the last
/// storage over that memory ends. Only the code that made the anchor knows what `reference` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The Lua state that the value belongs to.
    pub state: StateId,
    /// The number of the value, for example its slot in the registry of the Lua state.
    pub reference: i32,
}

/// What keeps foreign memory alive.
#[derive(Debug)]
pub enum Keeper {
    /// The caller, who vouched for the address.
    Caller,
    /// The value of an anchor, which the engine hands back.
    Anchor(Anchor),
    /// A value that is dropped together with the memory, and that is borrowed until then: nobody but the storages accesses the memory.
    Owner(Owner),
    /// A value that is dropped together with the memory. Others may access the memory, too.
    Lender(#[expect(dead_code, reason = "the value is only dropped")] Owner),
}

/// Memory that the engine did not allocate.
#[derive(Debug)]
pub struct Foreign {
    data: *mut u8,
    bytes: usize,
    keeper: Keeper,
    read_only: bool,
    number: u64,
}

/// The number of pieces of foreign memory that there have ever been. Relaxed: the numbers only have to differ.
static MADE: AtomicU64 = AtomicU64::new(0);

impl Keeper {
    pub fn of(anchor: Option<Anchor>) -> Self {
        anchor.map_or(Self::Caller, Self::Anchor)
    }
}

impl Foreign {
    pub fn new(data: *mut u8, bytes: usize, keeper: Keeper, read_only: bool) -> Self {
        FOREIGN.add(bytes);
        let number = MADE.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let foreign = Self { data, bytes, keeper, read_only, number };
        if foreign.has_owner() {
            OWNED.add(bytes);
        }
        foreign
    }

    pub fn data(&self) -> *mut u8 {
        self.data
    }

    /// A number that distinguishes this memory from other memory at the same address. It is never 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Whether the memory belongs to a value that is dropped together with it.
    pub fn has_owner(&self) -> bool {
        matches!(self.keeper, Keeper::Owner(_) | Keeper::Lender(_))
    }

    /// Whether only storages access the memory.
    pub fn is_only_of_storages(&self) -> bool {
        matches!(self.keeper, Keeper::Owner(_))
    }

    /// The length in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes the value that the memory belongs to, if it is of type `O` and only storages access the memory. Afterwards nothing keeps the
    /// memory, so the caller drops this without using it.
    pub fn take_owner<O: Send + 'static>(&mut self) -> Option<O> {
        match mem::replace(&mut self.keeper, Keeper::Caller) {
            Keeper::Owner(owner) => match owner.into_value() {
                Ok(value) => {
                    OWNED.subtract(self.bytes);
                    Some(value)
                }
                Err(owner) => {
                    self.keeper = Keeper::Owner(owner);
                    None
                }
            },
            other => {
                self.keeper = other;
                None
            }
        }
    }

    pub fn anchor(&self) -> Option<Anchor> {
        match self.keeper {
            Keeper::Anchor(anchor) => Some(anchor),
            Keeper::Caller | Keeper::Owner(_) | Keeper::Lender(_) => None,
        }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        FOREIGN.subtract(self.bytes);
        if self.has_owner() {
            OWNED.subtract(self.bytes);
        }
    }
}
