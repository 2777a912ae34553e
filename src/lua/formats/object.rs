//! `torch.safetensors.open`, and the methods of its result: the tensors of a file one by one.

use std::ffi::c_int;

use super::load::{give_view, open_files, push_metadata, push_names};
use super::open::{Block, Open, Work, values, with_file};
use super::task::{Format, Task, check_path};
use crate::error::MAX_DIMENSIONS;
use crate::lua::args::Call;
use crate::lua::entry::{Answer, function, raising, run};
use crate::lua::fault::Fault;
use crate::lua::methods::Method;
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::lua::tensor::push_dead;

/// The methods and metamethods of an open safetensors file.
pub const METHODS: &[Method] = &[
    (c"keys", raising(keys)),
    (c"get", raising(get)),
    (c"info", raising(info)),
    (c"metadata", raising(metadata)),
    (c"close", function(close)),
    (c"__len", function(length)),
    (c"__tostring", raising(text)),
    (c"__gc", function(collect)),
    (c"__close", function(collect)),
];

/// `torch.safetensors.open(path)`: the tensors of a file, or of all files of an index, one by one. Reads only the headers.
pub fn open(lua: Raising) -> c_int {
    pressure::relieve(lua);
    run(lua, Call::new(lua), check_path);
    let (_, file) = with_file(lua, Task::new(Format::Safetensors), raising(open_inner), 0);
    lua.set_top(file);
    1
}

fn open_inner(lua: Raising) -> c_int {
    let work = &Work::begin(lua);
    let count = open_files(work);
    push_names(work, count, |open, number| &open.opened.members()[number].name);
    lua.raw_set(work.values, values::NAMES);
    push_metadata(work);
    lua.raw_set(work.values, values::METADATA);
    0
}

/// The block of argument 1 of a method.
fn this<'call>(call: Call<'call>) -> Result<&'call Block, Fault> {
    // SAFETY: [live] argument 1 stays in its slot during the call.
    unsafe { Block::find(call, 1) }
}

/// `file:keys()`: a new table with the names of the tensors, in the order of their bytes.
fn keys(lua: Raising) -> c_int {
    push_copy(lua, values::NAMES)
}

/// `file:metadata()`: a new table with the metadata.
fn metadata(lua: Raising) -> c_int {
    push_copy(lua, values::METADATA)
}

/// `file:get(name)`: a tensor over the map of the file.
fn get(lua: Raising) -> c_int {
    let call = Call::new(lua);
    let (member, dtype) = run(lua, call, |call| named(call, |open, member| Ok((member, open.opened.members()[member].dtype))));
    push_dead(lua, dtype);
    let slot = lua.top();
    run(lua, call.with_frame(slot), |call| give_view(call, this(call)?, member, slot));
    1
}

/// `file:info(name)`: what the file says about a tensor: `{dtype=, shape=, bytes=}`, and the `class` that `get` gives it.
fn info(lua: Raising) -> c_int {
    let info = run(lua, Call::new(lua), |call| {
        named(call, |open, member| {
            let member = &open.opened.members()[member];
            let (dtype, sizes) = member.in_file().ok_or_else(|| Fault::new("the file is closed"))?;
            let mut shape = [0; MAX_DIMENSIONS];
            shape[..sizes.len()].copy_from_slice(sizes);
            let class = member.dtype.tensor_class_name();
            Ok(Info { dtype: dtype.name(), class, shape, dimensions: sizes.len(), bytes: member.bytes() })
        })
    });
    let table = lua.push_table_for(0, 4);
    lua.push_text(info.dtype);
    lua.set_field(table, c"dtype");
    lua.push_text(info.class);
    lua.set_field(table, c"class");
    lua.push_count(usize::try_from(info.bytes).unwrap_or(usize::MAX));
    lua.set_field(table, c"bytes");
    let shape = lua.push_table(c_int::try_from(info.dimensions).unwrap_or(0));
    for (n, &size) in (1..).zip(&info.shape[..info.dimensions]) {
        lua.push_count(size);
        lua.raw_set(shape, n);
    }
    lua.set_field(table, c"shape");
    1
}

/// `file:close()`: closes the file. Tensors that `get` has given stay as they are. Does nothing if it is closed.
fn close(call: Call) -> Result<Answer, Fault> {
    this(call)?.close(call.state());
    Ok(Answer::Nothing)
}

/// `__gc`, and `__close` since Lua 5.4: closes the file. Does nothing with other values, which Lua code may pass.
fn collect(call: Call) -> Result<Answer, Fault> {
    if let Ok(block) = this(call) {
        block.close(call.state());
    }
    Ok(Answer::Nothing)
}

/// `#file`: the number of tensors.
fn length(call: Call) -> Result<Answer, Fault> {
    this(call)?.with(|open| Ok(Answer::Count(open.opened.members().len())))
}

/// `tostring(file)`: the path and the number of tensors.
fn text(lua: Raising) -> c_int {
    let call = Call::new(lua);
    let tensors = run(lua, call, |call| Ok(this(call)?.with(|open| Ok(open.opened.members().len())).ok()));
    lua.push_text("safetensors file");
    let Some(tensors) = tensors else {
        lua.push_text(" (closed)");
        lua.concat(2);
        return 1;
    };
    lua.push_text(" '");
    push_value(lua, values::SOURCE);
    lua.push_text("': ");
    lua.push_count(tensors);
    lua.push_text(if tensors == 1 { " tensor" } else { " tensors" });
    lua.concat(6);
    1
}

/// What `info` returns. Nothing in it has a destructor.
#[derive(Clone, Copy)]
struct Info {
    dtype: &'static str,
    class: &'static str,
    shape: [usize; MAX_DIMENSIONS],
    dimensions: usize,
    bytes: u64,
}

/// Calls `look` with the number of the tensor whose name is argument 2.
fn named<R>(call: Call, look: impl FnOnce(&Open, usize) -> Result<R, Fault>) -> Result<R, Fault> {
    let block = this(call)?;
    let name = call.string(2)?;
    block.with(|open| {
        let member = open.opened.find(name).map_err(|error| Fault::from(error).at(2))?;
        look(open, member)
    })
}

/// Pushes the value in a slot of [`values`] of the open file at argument 1. Raises if it is closed.
fn push_value(lua: Raising, slot: c_int) {
    let block = run(lua, Call::new(lua), |call| {
        let block = this(call)?;
        block.with(|_| Ok(block))
    });
    let index = lua.top() + 1;
    match block.push_values(lua.state()) {
        Some(values) => lua.raw_get(values, slot),
        None => lua.push_nil(),
    }
    lua.remove(index);
}

/// Pushes a copy of the table in a slot of [`values`].
fn push_copy(lua: Raising, slot: c_int) -> c_int {
    push_value(lua, slot);
    let original = lua.top();
    let array = if lua.table(original).is_some() { lua.length(original) } else { 0 };
    let copy = lua.push_table(c_int::try_from(array).unwrap_or(c_int::MAX)).index();
    lua.push_nil();
    // Making the table may have run a finalizer, which may have replaced the original.
    while lua.table(original).is_some_and(|original| lua.next_if_unchanged(original)) {
        let key = lua.top() - 1;
        lua.push_value(key);
        lua.push_value(key + 1);
        lua.raw_set_pair(copy);
        lua.set_top(key);
    }
    lua.set_top(copy);
    1
}
