//! Whether the program loads or saves the objects of a class of storages or tensors itself, by methods `read` and `write`.

use super::block::{Engine, values};
use super::guard::Work;
use crate::element::DType;

/// Which objects of a dtype are meant.
#[derive(Clone, Copy)]
pub(super) enum Objects {
    Storages,
    Tensors,
}

/// The answers of Lua for storages and for tensors. A file often has many objects of a class.
#[derive(Clone, Copy, Default)]
pub(super) struct Overridden([Answers; 2]);

/// A bit for each dtype.
#[derive(Clone, Copy, Default)]
struct Answers {
    known: u32,
    overridden: u32,
}

/// Whether the program loads or saves such objects itself. Asks `records.lua` for the first object of a class. The file stays
/// busy, so what was read last stays in its buffer.
pub(super) fn is_overridden(work: &Work<'_>, objects: Objects, dtype: DType) -> bool {
    let (notes, bit) = (&work.block.notes, 1 << dtype.number());
    let mut answers = notes.overridden.get();
    let of_objects = &mut answers.0[objects as usize];
    if of_objects.known & bit == 0 {
        let is_loading = work.step(|open| Ok(matches!(open.engine, Engine::Reading(_))));
        let lua = work.lua;
        lua.raw_get(work.values, values::OVERRIDDEN);
        lua.push_boolean(is_loading);
        lua.push_text(match objects {
            Objects::Storages => dtype.class_name(),
            Objects::Tensors => dtype.tensor_class_name(),
        });
        lua.call(2, 1);
        of_objects.known |= bit;
        if lua.boolean(-1) {
            of_objects.overridden |= bit;
        }
        lua.set_top(lua.top() - 1);
    }
    let is_overridden = of_objects.overridden & bit != 0;
    notes.overridden.set(answers);
    is_overridden
}
