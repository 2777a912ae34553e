//! Foreign memory: an address that the caller vouched for, and the anchor that keeps this memory alive.

use std::sync::atomic::{AtomicU64, Ordering};

use super::usage::FOREIGN;
use crate::storage::state_id::StateId;

/// A reference to a value outside the engine that keeps foreign memory alive. The engine hands the anchor back when the last
/// storage over that memory ends. Only the code that made the anchor knows what `reference` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The Lua state to which the value belongs.
    pub state: StateId,
    /// The number of the value, for example its slot in the registry of the Lua state.
    pub reference: i32,
}

/// Memory that belongs to the caller.
#[derive(Debug)]
pub struct Foreign {
    data: *mut u8,
    bytes: usize,
    anchor: Option<Anchor>,
    read_only: bool,
    number: u64,
}

/// The number of pieces of foreign memory that there have ever been. Relaxed: the numbers only have to differ.
static MADE: AtomicU64 = AtomicU64::new(0);

impl Foreign {
    pub fn new(data: *mut u8, bytes: usize, anchor: Option<Anchor>, read_only: bool) -> Self {
        FOREIGN.add(bytes);
        let number = MADE.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        Self { data, bytes, anchor, read_only, number }
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

    pub fn anchor(&self) -> Option<Anchor> {
        self.anchor
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        FOREIGN.subtract(self.bytes);
    }
}
