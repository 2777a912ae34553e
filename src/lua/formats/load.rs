//! `torch.safetensors.load`, `torch.npy.load` and `torch.npz.load`.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::open::{Block, Open, Work, with_file};
use super::task::{Format, Task};
use crate::fallible::{collected, push};
use crate::formats::Opened;
use crate::lua::args::Call;
use crate::lua::entry::{Function, raising, run};
use crate::lua::fault::Fault;
use crate::lua::file::Progress;
use crate::lua::pressure;
use crate::lua::state::{Raising, State};
use crate::lua::steps::changed;
use crate::lua::tensor::{fulfil, payload, promise, push_dead};
use crate::storage::Storage;

/// `torch.safetensors.load(path [, options])`: a table with all tensors of a file by name, and a table with its metadata.
pub fn safetensors(lua: Raising) -> c_int {
    load(lua, Format::Safetensors, raising(all_inner), 2)
}

/// `torch.npz.load(path [, options])`: a table with all tensors of a file by name, and a table with the names of the entries that
/// are not arrays, if there are some.
pub fn npz(lua: Raising) -> c_int {
    load(lua, Format::Npz, raising(all_inner), ffi::LUA_MULTRET)
}

/// `torch.npy.load(path [, options])`: the tensor of a file.
pub fn npy(lua: Raising) -> c_int {
    load(lua, Format::Npy, raising(one_inner), 1)
}

fn all_inner(lua: Raising) -> c_int {
    let work = &Work::begin(lua);
    let count = open_files(work);
    let tensors = push_table(work, count);
    for number in 0..count {
        let member = work.step(|open| Ok(open.wanted[number]));
        work.push_bytes(|open| Ok(&open.opened.members()[member].name));
        push_tensor(work, member);
        lua.raw_set_pair(tensors);
    }
    work.report_end();
    if work.block.task.get().format == Format::Safetensors {
        push_metadata(work);
        return 2;
    }
    let others = work.step(|open| Ok(open.opened.others().len()));
    if others == 0 {
        return 1;
    }
    push_names(work, others, |open, number| &open.opened.others()[number]);
    2
}

fn one_inner(lua: Raising) -> c_int {
    let work = &Work::begin(lua);
    open_files(work);
    push_tensor(work, 0);
    work.report_end();
    1
}

/// Reads the arguments, and calls `inner` with a file. Closes it afterwards.
fn load(lua: Raising, format: Format, inner: Function, results: c_int) -> c_int {
    pressure::relieve(lua);
    let task = run(lua, Call::new(lua), |call| Task::read(call, format));
    let (block, file) = with_file(lua, task, inner, results);
    block.close(lua.state());
    lua.top() - file
}

/// Opens the files. Returns how many tensors are wanted.
pub(super) fn open_files(work: &Work<'_>) -> usize {
    work.attempt(|_| {
        let path = &*work.path()?;
        let Task { format, maps, dtype, .. } = work.block.task.get();
        let opened = match format {
            Format::Safetensors => Opened::safetensors(path, maps),
            Format::Npy => Opened::npy(path, dtype, maps),
            Format::Npz => Opened::npz(path, dtype, maps),
        }?;
        let wanted = wanted(work, &opened)?;
        let total = wanted.iter().map(|&member| opened.members()[member].bytes()).sum();
        let count = wanted.len();
        work.block.set_open(Open { opened, wanted, position: 0, progress: Progress::new(total) })?;
        Ok(count)
    })
}

/// The numbers of the tensors with the names of the list, or of all tensors if there is no list.
fn wanted(work: &Work<'_>, opened: &Opened) -> Result<Vec<usize>, Fault> {
    let lua = work.lua.state();
    // The values of such a file begin with the list of names.
    let Some(names) = work.own else { return collected((0..opened.members().len()).map(Ok)) };
    let mut wanted = Vec::new();
    for number in 1.. {
        lua.raw_get(names, number);
        // SAFETY: [live] the name is used while it is on the top.
        let name = unsafe { lua.string(-1) };
        if let Some(name) = name {
            push(&mut wanted, opened.find(name)?)?;
        }
        lua.set_top(lua.top() - 1);
        if name.is_none() {
            break;
        }
    }
    Ok(wanted)
}

/// Pushes a tensor: over a map if there is one, and otherwise a copy.
fn push_tensor(work: &Work<'_>, member: usize) {
    let lua = work.lua;
    let (dtype, bytes) = work.step(|open| Ok((open.opened.members()[member].dtype, open.opened.members()[member].bytes())));
    push_dead(lua, dtype);
    let slot = lua.top();
    if work.attempt(|call| give_view(call, work.block, member, slot)) {
        advance(work, bytes);
        return;
    }
    pressure::relieve(lua);
    work.attempt(|_| work.block.with(|open| Ok(open.opened.begin_copy(member)?)));
    while let Some(bytes) = work.step(|open| Ok(open.opened.copy_piece()?)) {
        advance(work, bytes as u64);
    }
    work.step(|open| {
        let storage = open.opened.take_copy().ok_or_else(changed)?;
        give(lua.state(), &open.opened, member, slot, storage)
    });
}

/// Adds to the bytes that are loaded.
fn advance(work: &Work<'_>, bytes: u64) {
    work.step(|open| {
        open.position += bytes;
        Ok(())
    });
    work.pause_if_due();
}

/// Pushes a table with room for `pairs` pairs. Returns its stack index.
fn push_table(work: &Work<'_>, pairs: usize) -> c_int {
    work.lua.push_table_for(0, c_int::try_from(pairs).unwrap_or(c_int::MAX)).index()
}

/// Pushes an array of `count` names of the open files.
pub(super) fn push_names(work: &Work<'_>, count: usize, name: impl Fn(&Open, usize) -> &[u8]) {
    let lua = work.lua;
    let list = lua.push_table(c_int::try_from(count).unwrap_or(c_int::MAX)).index();
    for number in 0..count {
        work.push_bytes(|open| Ok(name(open, number)));
        if let Some(list) = lua.table(list) {
            lua.raw_set(list, c_int::try_from(number + 1).unwrap_or(c_int::MAX));
        }
    }
}

/// Pushes a table with the metadata.
pub(super) fn push_metadata(work: &Work<'_>) {
    let lua = work.lua;
    let count = work.step(|open| Ok(open.opened.metadata().len()));
    let table = push_table(work, count);
    for number in 0..count {
        work.push_bytes(|open| Ok(open.opened.metadata()[number].0.as_bytes()));
        work.push_bytes(|open| Ok(open.opened.metadata()[number].1.as_bytes()));
        lua.raw_set_pair(table);
    }
}

/// Gives the tensor at a stack index a view of the map. Returns false if there is no map, or if the elements must be copied.
pub(super) fn give_view(call: Call, block: &Block, member: usize, slot: c_int) -> Result<bool, Fault> {
    block.with(|open| {
        let Some(storage) = open.opened.view(member)? else { return Ok(false) };
        give(call.state(), &open.opened, member, slot, storage)?;
        Ok(true)
    })
}

/// Gives the tensor at a stack index, which has no storage yet, its layout and its storage.
fn give(lua: State, opened: &Opened, member: usize, slot: c_int, storage: Storage) -> Result<(), Fault> {
    let member = &opened.members()[member];
    // The tensor is looked up again, because a finalizer may have replaced it.
    // SAFETY: [live] the tensor is in its slot, and no Lua code runs in this function.
    let (tensor, _) = unsafe { payload(lua, slot) }.filter(|&(_, dtype)| dtype == storage.dtype()).ok_or_else(changed)?;
    promise(tensor, member.layout.try_clone()?);
    tensor.promised().ok_or_else(changed)?.span_in(storage.size())?;
    fulfil(tensor, storage, true);
    Ok(())
}
