//! An open `.t7` file: its reader or writer, its Lua values, and the functions that work on it.

use std::ffi::c_int;

use super::task::Task;
use super::writing::Writing;
use crate::element::DType;
use crate::lua::context::Place;
use crate::lua::entry::{Function, item, raising};
use crate::lua::fault::Fault;
use crate::lua::file::{self, End, File, Mark, Progress, protect, raise_again};
use crate::lua::state::{Raising, Table};
use crate::t7::Reader;

pub(super) type Block = file::Block<Open>;

/// The slots of the table with the Lua values of a file.
pub(super) mod values {
    use std::ffi::c_int;

    pub use crate::lua::file::values::{PROGRESS, SOURCE};

    /// While reading, the objects by index. While writing, the indices by object.
    pub const OBJECTS: c_int = crate::lua::file::values::OWN;
    /// The object to save.
    pub const OBJECT: c_int = OBJECTS + 1;
    /// `records.load_record` or `records.save_record` of `lua/torch/records.lua`, for objects of classes and for functions.
    pub const RECORD: c_int = OBJECTS + 2;
    /// The Lua function that tells whether the program loads or saves the objects of a class itself.
    pub const OVERRIDDEN: c_int = OBJECTS + 3;
    /// The lists of keys, by table.
    pub const ORDERS: c_int = OBJECTS + 4;
    /// The metatable for lists with keys that are objects. It makes the list weak: otherwise a key could keep its own table
    /// alive.
    pub const WEAK: c_int = OBJECTS + 5;
    /// The first slot of the values of the levels around the current one: see `levels.rs`.
    pub const LEVELS: c_int = OBJECTS + 6;
}

/// The stack slots of a function that loads or saves. Those of the current level are in these slots, and those of the levels around
/// it in the table of [`values`].
pub(super) mod slots {
    use std::ffi::c_int;

    /// The current table or object.
    pub const CONTAINER: c_int = 3;
    /// A table's current key, unless that is a small whole number. For an object, the function that takes its value.
    pub const KEY: c_int = 4;
    /// The list of a table's keys, or nil. For an object, the name of its value.
    pub const ORDER: c_int = 5;
}

/// The reader or writer of an open file.
#[allow(clippy::large_enum_variant, reason = "each open file is in a box of its own")]
pub(super) enum Engine {
    Reading(Reader),
    Writing(Writing),
}

/// Objects of a class that Torch7 defines.
#[derive(Clone, Copy)]
pub(super) enum Objects {
    Storages,
    Tensors,
}

impl Objects {
    fn class_name(self, dtype: DType) -> &'static str {
        match self {
            Self::Storages => dtype.class_name(),
            Self::Tensors => dtype.tensor_class_name(),
        }
    }
}

/// The classes of storages and of tensors about which Lua was asked, because a file often has many objects of a class. Each number has
/// a bit for each dtype.
#[derive(Default)]
struct Overridden {
    asked: [u32; 2],
    overridden: [u32; 2],
}

impl Overridden {
    fn known(&self, objects: Objects, dtype: DType) -> Option<bool> {
        let (objects, bit) = (objects as usize, 1 << dtype.number());
        (self.asked[objects] & bit != 0).then_some(self.overridden[objects] & bit != 0)
    }

    fn learn(&mut self, objects: Objects, dtype: DType, is_overridden: bool) {
        self.asked[objects as usize] |= 1 << dtype.number();
        self.overridden[objects as usize] |= u32::from(is_overridden) << dtype.number();
    }
}

/// An open file, and all that is known of it.
pub(super) struct Open {
    pub(super) engine: Engine,
    pub(super) progress: Progress,
    overridden: Overridden,
}

impl Open {
    pub(super) fn new(engine: Engine, total: u64) -> Self {
        Self { engine, progress: Progress::new(total), overridden: Overridden::default() }
    }

    pub(super) fn reader(&mut self) -> Result<&mut Reader, Fault> {
        match &mut self.engine {
            Engine::Reading(reader) => Ok(reader),
            Engine::Writing(_) => Err(Fault::new("the file is open for writing, not for reading")),
        }
    }

    pub(super) fn writing(&mut self) -> Result<&mut Writing, Fault> {
        match &mut self.engine {
            Engine::Writing(writing) => Ok(writing),
            Engine::Reading(_) => Err(Fault::new("the file is open for reading, not for writing")),
        }
    }
}

impl File for Open {
    type Task = Task;
    const NAME: &'static str = ".t7 file";
    const METATABLE: Place = Place::FILE;

    fn mark() -> &'static Mark {
        static MARK: Mark = Mark::new(0);
        &MARK
    }

    fn position(&self) -> u64 {
        match &self.engine {
            Engine::Reading(reader) => reader.position(),
            Engine::Writing(writing) => writing.writer.position(),
        }
    }

    fn progress(&mut self) -> &mut Progress {
        &mut self.progress
    }

    fn depth(&self) -> usize {
        match &self.engine {
            Engine::Reading(reader) => reader.levels().len(),
            Engine::Writing(writing) => writing.levels.len(),
        }
    }

    fn leave_to(&mut self, depth: usize) {
        match &mut self.engine {
            Engine::Reading(reader) => reader.leave_to(depth),
            Engine::Writing(writing) => writing.levels.truncate(depth),
        }
    }

    fn enter_callback(&mut self) -> Result<(), Fault> {
        match &mut self.engine {
            Engine::Reading(reader) => Ok(reader.enter_callback()?),
            Engine::Writing(writing) => writing.enter(None),
        }
    }

    fn kept(depth: usize) -> impl Iterator<Item = (c_int, c_int)> {
        // The conversion does not fail: 2^29 levels would need more memory than there is.
        let first = c_int::try_from(depth).unwrap_or(0).saturating_mul(3).saturating_add(values::LEVELS);
        (slots::CONTAINER..=slots::ORDER).zip(first..)
    }
}

/// What a function that works on a file uses.
pub(super) type Work<'call> = file::Work<'call, Open>;

/// `path.rs` adds `read` and the methods that raise errors, whose messages have the path to the current value.
impl<'call> Work<'call> {
    /// The table in the slot [`values::OBJECTS`].
    pub(super) fn objects(&self) -> Table<'call> {
        self.own.unwrap_or_else(|| self.fail(Fault::new("the file is closed")))
    }

    /// Calls `act` with the file, which is open for writing. Raises if it is not, or if `act` fails.
    pub(super) fn write<R: Copy>(&self, act: impl FnOnce(&mut Writing) -> Result<R, Fault>) -> R {
        self.step(|open| act(open.writing()?))
    }

    /// Whether the program loads or saves the objects of a class itself. Asks `records.lua` for the first one. The file stays busy, so
    /// what was read last stays in its buffer.
    pub(super) fn is_overridden(&self, objects: Objects, dtype: DType) -> bool {
        let known = self.block.look(|open| open.overridden.known(objects, dtype));
        if let Some(Some(known)) = known {
            return known;
        }
        let lua = self.lua;
        lua.raw_get(self.values, values::OVERRIDDEN);
        lua.push_boolean(self.step(|open| Ok(matches!(open.engine, Engine::Reading(_)))));
        lua.push_text(objects.class_name(dtype));
        lua.call(2, 1);
        let is_overridden = lua.boolean(-1);
        lua.set_top(lua.top() - 1);
        self.step(|open| {
            open.overridden.learn(objects, dtype, is_overridden);
            Ok(())
        });
        is_overridden
    }
}

/// A method of files, which pushes its results itself. A fault gets the position of the method's caller.
pub const fn file_method<const RESULTS: c_int, F: Fn(&Work) + Copy>(_: F) -> Function {
    /// The largest number of arguments of such a method, including the file.
    const ARGUMENTS: c_int = 3;
    fn outer<const RESULTS: c_int, F: Fn(&Work) + Copy>(lua: Raising) -> c_int {
        // Lua gives every call 20 stack slots in addition to its arguments, which is enough here.
        match protect::<Open>(lua, 1, lua.top().min(ARGUMENTS), raising(inner::<RESULTS, F>), RESULTS) {
            (_, End::Done) => RESULTS,
            (block, end) => raise_again(lua, block, end),
        }
    }
    fn inner<const RESULTS: c_int, F: Fn(&Work) + Copy>(lua: Raising) -> c_int {
        // SAFETY: [layout] `file_method` was given this value.
        let body = unsafe { item::<F>() };
        body(&Work::begin(lua));
        RESULTS
    }
    raising(outer::<RESULTS, F>)
}
