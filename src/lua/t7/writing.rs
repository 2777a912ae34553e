//! What an open file knows while Lua values are saved to it.

use crate::error::Error;
use crate::lua::fault::Fault;
use crate::t7::Writer;

/// Objects inside each other, written without references, before the file is taken for a circle.
pub(super) const DEEPEST: usize = 200_000;

/// A file that is open for writing.
pub(super) struct Writing {
    pub(super) writer: Writer,
    /// The tables that are being written, from the outermost on.
    pub(super) levels: Vec<Level>,
    /// Objects are written once, and after that by their index.
    pub(super) is_referenced: bool,
    /// The index that was given out last.
    last_index: i32,
    /// Unreferenced: objects that were entered one in the other without a table between.
    pub(super) chain: usize,
}

/// What is being written, and is not whole.
#[derive(Clone, Copy)]
pub(super) enum Level {
    /// A table.
    Table(SavedTable),
    /// An object whose class writes what it needs by itself.
    Apart,
}

/// See [`Level::Table`].
#[derive(Clone, Copy)]
pub(super) struct SavedTable {
    /// Pairs that are left.
    pub(super) left: usize,
    /// Keys so far, of a table with a list of keys.
    pub(super) seen: i32,
    /// A value comes next, not a key.
    pub(super) has_key: bool,
    /// There is a list of the keys, in the order in which they are written.
    pub(super) is_ordered: bool,
}

impl Writing {
    pub(super) fn new(writer: Writer, is_referenced: bool) -> Self {
        Self { writer, levels: Vec::new(), is_referenced, last_index: 0, chain: 0 }
    }

    /// The index of a new object.
    pub(super) fn next_index(&mut self) -> Result<i32, Fault> {
        self.last_index = self.last_index.checked_add(1).ok_or_else(|| Fault::new("more than 2^31-1 objects in a file"))?;
        Ok(self.last_index)
    }

    pub(super) fn enter(&mut self, level: Level) -> Result<(), Fault> {
        let bytes = size_of::<Level>();
        self.levels.try_reserve(1).map_err(|_| Error::OutOfMemory { bytes })?;
        self.levels.push(level);
        Ok(())
    }

    /// The table that is being written.
    pub(super) fn table(&self) -> Option<SavedTable> {
        match self.levels.last() {
            Some(Level::Table(table)) => Some(*table),
            Some(Level::Apart) | None => None,
        }
    }

    /// The table that is being written, to change what is known of it.
    pub(super) fn table_mut(&mut self) -> Option<&mut SavedTable> {
        match self.levels.last_mut() {
            Some(Level::Table(table)) => Some(table),
            Some(Level::Apart) | None => None,
        }
    }
}
