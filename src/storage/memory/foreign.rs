//! Memory of the caller: a pointer that somebody vouched for, and what keeps it alive.

use std::sync::atomic::{AtomicU64, Ordering};

use super::usage::FOREIGN;
use crate::storage::state_id::StateId;

/// A value outside the engine that keeps foreign memory alive. The engine hands it back when the last storage over that memory
/// ends; what the numbers mean is known to whoever made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The Lua state whose value it is.
    pub state: StateId,
    /// Which value.
    pub reference: i32,
}

/// Somebody else's memory.
#[derive(Debug)]
pub struct Foreign {
    data: *mut u8,
    bytes: usize,
    anchor: Option<Anchor>,
    read_only: bool,
    number: u64,
}

/// How many there have been. Relaxed: the numbers have to differ, that is all.
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

    /// Tells it from other memory at the same address: never 0.
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
