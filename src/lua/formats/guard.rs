//! Runs a function that opens and reads files, so that they are closed on every way out.

use std::ffi::c_int;

use super::block::{Block, Open, block_at};
use crate::lua::args::Call;
use crate::lua::context::{Context, UPVALUES};
use crate::lua::entry::{attempt, once, run};
use crate::lua::fault::{self, Fault};
use crate::lua::state::{Raising, lua_State};
use crate::lua::steps::{changed, let_host_interrupt, next_report};

/// The upvalues of the functions that [`protect`] calls, in addition to the usual ones. Lua code can replace stack slots by
/// `debug.setlocal`, but not these upvalues.
const FILE: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 1);
pub(super) const PATH: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 2);
pub(super) const NAMES: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 3);
const PROGRESS: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 4);
const OWN_UPVALUES: c_int = UPVALUES + 4;

/// What a function uses that [`protect`] calls.
pub(super) struct Work<'call> {
    pub(super) lua: Raising<'call>,
    pub(super) call: Call<'call>,
    pub(super) block: &'call Block,
}

impl<'call> Work<'call> {
    /// The files of the running function, which [`protect`] has called.
    pub(super) fn begin(lua: Raising<'call>) -> Self {
        let call = Call::new(lua);
        // SAFETY: [live] the running function keeps its upvalue.
        let block = run(lua, call, |call| unsafe { block_at(call.state(), FILE) }.ok_or_else(changed));
        Self { lua, call, block }
    }

    /// Calls `act` with the open files. Raises if that fails.
    pub(super) fn step<R: Copy>(&self, act: impl FnOnce(&mut Open) -> Result<R, Fault>) -> R {
        match once(self.call, |_| self.block.with(act)) {
            Ok(value) => value,
            Err(fault) => self.fail(fault),
        }
    }

    /// Runs `body`, once more after a garbage collection if something was exhausted. Raises if it fails.
    pub(super) fn ask<R: Copy>(&self, body: impl Fn(Call) -> Result<R, Fault>) -> R {
        match attempt(self.lua, self.call.with_frame(self.lua.top()), &body) {
            Ok(value) => value,
            Err(fault) => self.fail(fault),
        }
    }

    /// Raises a fault. [`protect`] adds the position.
    fn fail(&self, fault: Fault) -> ! {
        fault::push(self.lua, fault);
        self.block.notes.is_fault.set(true);
        self.lua.raise_top()
    }

    /// Adds to the bytes that are loaded. Lets the host interrupt and calls the progress function, if it is time.
    pub(super) fn advance(&self, bytes: u64) {
        let due = self.step(|open| {
            open.position += bytes;
            if open.position < open.report_at {
                return Ok(None);
            }
            open.report_at = next_report(open.position, open.total);
            Ok(Some((open.position, open.total)))
        });
        let Some((position, total)) = due else { return };
        self.ask(let_host_interrupt);
        // The last call comes from the end of the function.
        if position < total {
            self.report(position, total);
        }
    }

    /// Calls the progress function, if there is one, with the number of bytes so far and the number of all bytes.
    pub(super) fn report(&self, position: u64, total: u64) {
        let lua = self.lua;
        if lua.kind(PROGRESS) == mlua_sys::LUA_TFUNCTION {
            let number = |bytes: u64| lua.push_count(usize::try_from(bytes).unwrap_or(usize::MAX));
            lua.push_value(PROGRESS);
            number(position);
            number(total);
            lua.call(2, 0);
        }
    }
}

/// Calls `inner` with the files at stack index `file`, whose path is argument 1. Its `results` results are on the top afterwards.
/// If it raises, the files are closed, and the error is raised again. One of ours gets the position of the caller.
///
/// The answered block is valid until something is allocated.
pub(super) fn protect<'call>(
    lua: Raising<'call>,
    file: c_int,
    inner: unsafe extern "C-unwind" fn(*mut lua_State) -> c_int,
    results: c_int,
) -> &'call Block {
    (0..OWN_UPVALUES).for_each(|_| lua.push_nil());
    lua.push_function(inner, OWN_UPVALUES);
    // Making the function may have run finalizers, which may have replaced the values below it. From here on nothing is
    // allocated until the function runs.
    let function = lua.top();
    // SAFETY: [live] the callers use the block while its userdata is in its slot.
    let block = run(lua, Call::new(lua), |call| unsafe { block_at(call.state(), file) }.ok_or_else(changed));
    let request = block.notes.request.get();
    Context::push_own(lua.state());
    for index in [Some(file), Some(1), request.names, request.progress] {
        match index {
            Some(index) => lua.push_value(index),
            None => lua.push_nil(),
        }
    }
    (1..=OWN_UPVALUES).rev().for_each(|n| lua.set_upvalue(function, n));
    block.busy.set(true);
    let done = lua.protected_call(0, results);
    block.busy.set(false);
    if !done {
        let is_fault = block.notes.is_fault.get();
        block.close(lua.state());
        if is_fault {
            let error = lua.top();
            lua.push_position();
            lua.push_value(error);
            lua.concat(2);
        }
        lua.raise_top();
    }
    block
}
