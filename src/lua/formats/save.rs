//! `torch.safetensors.save`, `torch.npy.save` and `torch.npz.save`.
//!
//! The file is written from views that no Lua code can reach. So a progress function, a hook or a finalizer may change, resize or free
//! the tensors while the file is written. The file gets the sizes that they had at the beginning.

use std::ffi::c_int;
use std::path::Path;

use mlua_sys as ffi;

use super::task::{Format, check_path};
use crate::error::{Error, shown};
use crate::fallible;
use crate::formats::{Item, Saving};
use crate::lua::args::Call;
use crate::lua::entry::{attempt, once};
use crate::lua::fault::{Fault, raise};
use crate::lua::file::Progress;
use crate::lua::methods::references::give_back_anchor;
use crate::lua::options::Options;
use crate::lua::state::{Raising, Table};
use crate::lua::steps::let_host_interrupt;
use crate::lua::{tensor, userdata};
use crate::storage::Storage;
use crate::system::names;
use crate::tensor::Layout;

/// The argument with the tensors.
const TENSORS: c_int = 2;

const OPTIONS: &[&str] = &["atomic", "progress"];

/// `torch.safetensors.save(path, tensors [, metadata [, options]])`: writes a table of tensors and storages by name, and a table
/// of texts by name.
pub fn safetensors(lua: Raising) -> c_int {
    save(lua, Format::Safetensors)
}

/// `torch.npy.save(path, tensor [, options])`: writes a tensor or a storage.
pub fn npy(lua: Raising) -> c_int {
    save(lua, Format::Npy)
}

/// `torch.npz.save(path, tensors [, options])`: writes a table of tensors and storages by name.
pub fn npz(lua: Raising) -> c_int {
    save(lua, Format::Npz)
}

/// A file that is being saved.
struct Job {
    saving: Saving,
    /// The stack index of the progress function, if there is one.
    progress: Option<c_int>,
}

fn save(lua: Raising, format: Format) -> c_int {
    let call = Call::new(lua);
    let is_done = match attempt(lua, call, &|call| begin(call, format)) {
        Ok(mut job) => {
            // A pipe may have got bytes already when something is exhausted, so there is no second attempt.
            let result = once(call, |call| write(call, &mut job));
            for item in job.saving.into_items() {
                // Lua code may have freed the other storages over this memory.
                give_back_anchor(lua.state(), item.storage.release(call.state_id()));
            }
            result
        }
        Err(fault) => Err(fault),
    };
    match is_done {
        Ok(true) => 0,
        Ok(false) => lua.raise_top(),
        Err(fault) => raise(lua, fault),
    }
}

/// Reads the arguments and opens the file.
fn begin(call: Call, format: Format) -> Result<Job, Fault> {
    check_path(call)?;
    let path = &*names::of_lua(call.string(1)?)?;
    let n = if format == Format::Safetensors { TENSORS + 2 } else { TENSORS + 1 };
    if !call.is_absent(n) && call.kind(n) != ffi::LUA_TTABLE {
        return Err(call.mismatch(n, "table of options"));
    }
    call.expect_end(n + 1)?;
    let options = Options::read(call, n, OPTIONS)?;
    let atomic = options.flag_or("atomic", true)?;
    let progress = options.function("progress")?;
    let saving = match format {
        Format::Safetensors => {
            let metadata = metadata(call, TENSORS + 1)?;
            Saving::safetensors(path, atomic, items(call)?, &metadata)
        }
        Format::Npy => match item(call, TENSORS, "")? {
            Some(item) if call.count() >= TENSORS => Saving::npy(path, atomic, item),
            _ => return Err(call.mismatch(TENSORS, "tensor or storage")),
        },
        Format::Npz => Saving::npz(path, atomic, items(call)?),
    };
    Ok(Job { saving: saving.map_err(|error| named(path, error))?, progress })
}

/// The fault for an error, which names the file.
fn named(path: &Path, error: Error) -> Fault {
    match error {
        Error::File { .. } | Error::NotAFile { .. } | Error::NulInName { .. } | Error::NoRoom { .. } => error.into(),
        // A try after a garbage collection may succeed.
        error if error.is_exhaustion() => error.into(),
        error => Fault::new(format_args!("cannot save '{}': {error}", shown(path.as_os_str().as_encoded_bytes()))),
    }
}

/// Writes the file. Returns false if the progress function has raised an error, which is on the top.
fn write(call: Call, job: &mut Job) -> Result<bool, Fault> {
    let saving = &mut job.saving;
    let total = saving.total();
    let mut progress = Progress::new(total);
    while saving.step()? {
        let position = saving.position();
        if !progress.is_due(position) {
            continue;
        }
        let_host_interrupt(call)?;
        if !report(call, job.progress, position, total) {
            return Ok(false);
        }
    }
    if !report(call, job.progress, total, total) {
        return Ok(false);
    }
    saving.finish()?;
    Ok(true)
}

/// Calls the progress function, if there is one, with the number of bytes so far and the number of all bytes. If it raises, the answer
/// is false and the error is on the top.
fn report(call: Call, progress: Option<c_int>, position: u64, total: u64) -> bool {
    let Some(progress) = progress else { return true };
    let lua = call.state();
    lua.push_value(progress);
    for bytes in [position, total] {
        lua.push_count(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
    lua.protected_call(2, 0)
}

/// The tensors and storages of the table by name.
fn items(call: Call) -> Result<Vec<Item>, Fault> {
    let mut items = Vec::new();
    for_each_pair(call, table(call, TENSORS, "tensors and storages by name")?, |index| {
        let name = name(call, TENSORS, index - 1)?;
        let item = item(call, index, name)?.ok_or_else(|| {
            let got = call.name_of(index);
            Fault::argument(TENSORS, format_args!("'{}': tensor or storage expected, got {got}", shown(name.as_bytes())))
        })?;
        Ok(fallible::push(&mut items, item)?)
    })?;
    Ok(items)
}

/// The names and texts of the table at argument `n`, if there is one. The table keeps them until Lua code runs.
fn metadata<'call>(call: Call<'call>, n: c_int) -> Result<Vec<(&'call str, &'call str)>, Fault> {
    let mut metadata = Vec::new();
    if call.is_absent(n) {
        return Ok(metadata);
    }
    for_each_pair(call, table(call, n, "metadata, texts by name")?, |index| {
        let name = name(call, n, index - 1)?;
        // SAFETY: [live] the value stays in its slot while the pair is read, and no Lua code runs.
        let Some(text) = (unsafe { call.state().string(index) }) else {
            return Err(Fault::argument(
                n,
                format_args!("metadata '{}': string expected, got {}", shown(name.as_bytes()), call.name_of(index)),
            ));
        };
        let Ok(text) = std::str::from_utf8(text) else {
            return Err(Fault::argument(n, format_args!("metadata '{}': the text is not UTF-8", shown(name.as_bytes()))));
        };
        Ok(fallible::push(&mut metadata, (name, text))?)
    })?;
    Ok(metadata)
}

/// Argument `n`, which has to be a table, and not a class.
fn table<'call>(call: Call<'call>, n: c_int, of: &str) -> Result<Table<'call>, Fault> {
    let is_class = || call.tensor_class_of_table(n).is_some() || call.class_of_table(n).is_some();
    let table = call.state().table(n).filter(|_| n <= call.count() && !is_class());
    table.ok_or_else(|| call.mismatch(n, format_args!("table of {of}")))
}

/// Calls `act` for each pair of a table, with the stack index of the value. The key is below it. `act` runs no Lua code.
fn for_each_pair(call: Call, table: Table, mut act: impl FnMut(c_int) -> Result<(), Fault>) -> Result<(), Fault> {
    let lua = call.state();
    let top = lua.top();
    lua.push_nil();
    // SAFETY: [no-drop] the key is nil or comes from this loop, in which no Lua code runs.
    while unsafe { lua.next(table) } {
        act(top + 2)?;
        lua.set_top(top + 1);
    }
    Ok(())
}

/// The key at a stack index, which has to be a name in UTF-8. It is a key of argument `n`.
fn name<'call>(call: Call<'call>, n: c_int, index: c_int) -> Result<&'call str, Fault> {
    // SAFETY: [live] the value stays in its slot while the pair is read, and no Lua code runs.
    let Some(bytes) = (unsafe { call.state().string(index) }) else {
        let kind = call.name_of(index);
        return Err(Fault::argument(n, format_args!("the names are strings, got a {kind} as a key")));
    };
    std::str::from_utf8(bytes).map_err(|_| Fault::argument(n, format_args!("the name '{}' is not UTF-8", bytes.escape_ascii())))
}

/// The tensor or storage at a stack index; `None` for any other value.
fn item(call: Call, index: c_int, name: &str) -> Result<Option<Item>, Fault> {
    let gone = |what| match name {
        "" => Fault::argument(TENSORS, what),
        name => Fault::argument(TENSORS, format_args!("'{}': {what}", shown(name.as_bytes()))),
    };
    let view = |storage: &Storage| storage.view(0, storage.size());
    let lua = call.state();
    // SAFETY: [live] no Lua code runs before the view is made, which holds the memory itself.
    let (storage, layout) = if let Some((payload, _)) = unsafe { tensor::payload(lua, index) } {
        let gone = || gone("the tensor has no storage: it was collected, or it is being loaded");
        let (storage, layout) = payload.parts().ok_or_else(gone)?;
        (view(&storage)?, layout.try_clone()?)
    // SAFETY: [live] no Lua code runs before the view is made, which holds the memory itself.
    } else if let Some((payload, _)) = unsafe { userdata::payload(lua, index) } {
        let storage = userdata::storage(payload).ok_or_else(|| gone("the storage was freed"))?;
        (view(&storage)?, Layout::contiguous(&[storage.size()])?)
    } else {
        return Ok(None);
    };
    Ok(Some(Item { name: fallible::text(name)?, storage, layout }))
}
