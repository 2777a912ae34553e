//! When the host may interrupt, and the progress function is called, while a file is read or written.

/// How far a file is read or written.
pub struct Progress {
    /// The number of all bytes, or 0 if it is not known.
    pub total: u64,
    /// The position at which the host and the program hear of the file again.
    pub due: u64,
}

impl Progress {
    /// The largest number of bytes between two reports.
    const MOST: u64 = 16 << 20;

    pub const fn new(total: u64) -> Self {
        Self { total, due: 0 }
    }

    /// Whether a report is due at a position. Then the next one is due some bytes later.
    pub fn is_due(&mut self, position: u64) -> bool {
        let is_due = position >= self.due;
        if is_due {
            self.due = position + if self.total == 0 { Self::MOST } else { Self::MOST.min((self.total / 64).max(1)) };
        }
        is_due
    }
}
