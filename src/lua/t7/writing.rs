//! The state of an open file while Lua values are saved to it.

use crate::fallible::push;
use crate::lua::fault::Fault;
use crate::t7::{Writer, tag};

/// The largest depth of objects in each other without references. A greater depth counts as an object that contains itself.
pub(super) const DEEPEST: usize = 200_000;

/// Why a table or object cannot be saved without references: its file would have no end.
pub(super) const CONTAINS_ITSELF: &str = "it contains itself, which needs referenced = true";

/// A file that is open for writing.
pub(super) struct Writing {
    pub(super) writer: Writer,
    /// The tables that are not complete, the outermost first. `None` is a callback that writes values itself, for example the `write`
    /// method of a class.
    pub(super) levels: Vec<Option<SavedTable>>,
    /// Whether an object is written only once, and then by its index.
    pub(super) is_referenced: bool,
    /// The last index that was used.
    last_index: i32,
    /// The number of objects that were entered in each other without a table between them.
    pub(super) chain: usize,
}

/// A table that is being written.
#[derive(Clone, Copy)]
pub(super) struct SavedTable {
    /// The number of pairs that are not written yet.
    pub(super) left: usize,
    /// The number of keys that are written, for a table with a list of keys.
    pub(super) seen: i32,
    /// Whether the value of a key comes next, and not a key.
    pub(super) has_key: bool,
    /// Whether a list gives the order in which the keys are written.
    pub(super) is_ordered: bool,
}

impl Writing {
    pub(super) fn new(writer: Writer, is_referenced: bool) -> Self {
        Self { writer, levels: Vec::new(), is_referenced, last_index: 0, chain: 0 }
    }

    /// Gives an index to a new object.
    pub(super) fn next_index(&mut self) -> Result<i32, Fault> {
        self.last_index =
            self.last_index.checked_add(1).ok_or_else(|| Fault::new("cannot save more than 2^31-1 objects to one file"))?;
        Ok(self.last_index)
    }

    /// Writes the beginning of an object of a class. Only its index is written if it was written before.
    pub(super) fn begin_object(&mut self, index: i32, is_known: bool, class: &str) -> Result<(), Fault> {
        self.chain = 0;
        self.writer.int(tag::OBJECT)?;
        self.writer.int(index)?;
        if !is_known {
            self.writer.string(b"V 1")?;
            self.writer.string(class.as_bytes())?;
        }
        Ok(())
    }

    pub(super) fn enter(&mut self, level: Option<SavedTable>) -> Result<(), Fault> {
        Ok(push(&mut self.levels, level)?)
    }

    /// The table that is being written.
    pub(super) fn table(&mut self) -> Option<&mut SavedTable> {
        self.levels.last_mut()?.as_mut()
    }
}
