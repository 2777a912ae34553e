//! Whether the program loads or saves the objects of a class of storages or tensors itself, by methods `read` and `write`.

use super::block::{Engine, values};
use super::guard::Work;
use super::request::Objects;
use crate::element::DType;

/// Whether the program loads or saves such objects itself. Asks `records.lua` for the first object of a class. The file stays
/// busy, so what was read last stays in its buffer.
pub(super) fn is_overridden(work: &Work<'_>, objects: Objects, dtype: DType) -> bool {
    let answers = &work.block.notes.overridden;
    if let Some(known) = answers.get().of(objects, dtype) {
        return known;
    }
    let is_loading = work.step(|open| Ok(matches!(open.engine, Engine::Reading(_))));
    let lua = work.lua;
    lua.raw_get(work.values, values::OVERRIDDEN);
    lua.push_boolean(is_loading);
    lua.push_text(match objects {
        Objects::Storages => dtype.class_name(),
        Objects::Tensors => dtype.tensor_class_name(),
    });
    lua.call(2, 1);
    let is_overridden = lua.boolean(-1);
    lua.set_top(lua.top() - 1);
    answers.set(answers.get().with(objects, dtype, is_overridden));
    is_overridden
}
