//! Files that are open for loading.

use std::ffi::c_int;

use super::task::Task;
use crate::formats::Opened;
use crate::lua::context::Place;
use crate::lua::entry::Function;
use crate::lua::file::{self, End, File, Mark, Progress, protect, raise_again};
use crate::lua::state::Raising;

/// The result of `torch.safetensors.open` has such a block, and each call of a `load` uses one.
pub(super) type Block = file::Block<Open>;

pub(super) type Work<'call> = file::Work<'call, Open>;

/// The slots of the table with the Lua values of open files.
pub(super) mod values {
    use std::ffi::c_int;

    pub use crate::lua::file::values::{PROGRESS, SOURCE};

    /// An array of names: of the tensors that a `load` is asked for, if not of all, or of those that were opened, in the order of
    /// their bytes.
    pub const NAMES: c_int = crate::lua::file::values::OWN;
    /// The table of the metadata.
    pub const METADATA: c_int = NAMES + 1;
    /// The number of slots.
    pub const COUNT: c_int = METADATA;
}

/// Open files, and how far they are loaded.
pub(super) struct Open {
    pub(super) opened: Opened,
    /// The numbers of the tensors that are loaded, from 0.
    pub(super) wanted: Vec<usize>,
    /// The number of bytes that are loaded.
    pub(super) position: u64,
    pub(super) progress: Progress,
}

impl File for Open {
    type Task = Task;
    const NAME: &'static str = "open safetensors file";
    const METATABLE: Place = Place::FORMATS;

    fn mark() -> &'static Mark {
        static MARK: Mark = Mark::new(0);
        &MARK
    }

    fn position(&self) -> u64 {
        self.position
    }

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }
}

/// Pushes a file for a task, with argument 1 as its path, and calls `inner` with it. The results of `inner` are above the file
/// afterwards, whose stack index is returned. If `inner` fails, the file is closed and the error raised again.
pub(super) fn with_file<'call>(lua: Raising<'call>, task: Task, inner: Function, results: c_int) -> (&'call Block, c_int) {
    let table = lua.push_table(values::COUNT).index();
    let entries = [(values::SOURCE, Some(1)), (values::NAMES, task.names), (values::PROGRESS, task.progress)];
    let entries = entries.into_iter().filter_map(|(slot, index)| Some((slot, index?)));
    let file = Block::push(lua, table, task, entries);
    let (block, end) = protect(lua, file, 0, inner, results);
    if end != End::Done {
        block.close(lua.state());
        raise_again(lua, block, end);
    }
    (block, file)
}
