//! The cores of the processor.

/// A core of the processor. There are no values, because the scheduler places new threads well by itself.
#[derive(Clone, Copy, PartialEq)]
pub enum Core {}

impl Core {
    /// Always `None`.
    pub fn current() -> Option<Self> {
        None
    }

    pub fn leave(self) {
        match self {}
    }
}

/// The number of cores that this process may use.
#[cold]
#[inline(never)]
pub fn available() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
