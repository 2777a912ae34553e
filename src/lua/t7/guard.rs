//! The entry of every function that works on an open file. The file is marked as busy during the call, also if the call fails.

use std::ffi::c_int;

use super::block::{Block, Open, block_at, idle_block, values};
use crate::lua::args::Call;
use crate::lua::context::{Context, UPVALUES};
use crate::lua::entry::{Function, attempt, item, once, raising, run};
use crate::lua::fault::{self, Fault};
use crate::lua::state::{Raising, Table, lua_State};

/// The number of upvalues of the functions that [`protect`] calls.
const OWN_UPVALUES: c_int = UPVALUES + 4;

/// The upvalues of those functions, in addition to the usual ones. Lua code can replace stack slots by `debug.setlocal`, but not
/// these upvalues.
pub(super) const FILE: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 1);
const VALUES: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 2);
const OBJECTS: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 3);
const STACK: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 4);

/// The largest number of arguments of a method of a file, including the file.
const ARGUMENTS: c_int = 3;

/// The file and the tables that a function uses which [`protect`] calls.
pub(super) struct Work<'call> {
    pub(super) lua: Raising<'call>,
    pub(super) call: Call<'call>,
    pub(super) block: &'call Block,
    /// The tables of the file: see [`values`].
    pub(super) values: Table<'call>,
    pub(super) objects: Table<'call>,
    pub(super) stack: Table<'call>,
}

impl<'call> Work<'call> {
    /// Gets the file and the tables of the running function, which [`protect`] has called.
    pub(super) fn begin(lua: Raising<'call>) -> Self {
        let call = Call::new(lua);
        // SAFETY: [live] the running function keeps its upvalue.
        let block = run(lua, call, |call| unsafe { block_at(call, FILE) });
        match (lua.table(VALUES), lua.table(OBJECTS), lua.table(STACK)) {
            (Some(values), Some(objects), Some(stack)) => Self { lua, call, block, values, objects, stack },
            _ => fault::raise(lua, Fault::new("the file is closed")),
        }
    }

    /// Calls `act` with the open file. Raises if that fails.
    pub(super) fn step<R: Copy>(&self, act: impl FnOnce(&mut Open) -> Result<R, Fault>) -> R {
        match once(self.call, |_| self.block.with(act)) {
            Ok(value) => value,
            Err(fault) => self.fail(fault),
        }
    }

    /// Runs `body`, which may run Lua code. The file stays busy. Raises if `body` fails.
    pub(super) fn ask_lua<R: Copy>(&self, body: impl Fn(Call) -> Result<R, Fault>) -> R {
        match attempt(self.lua, self.call.with_frame(self.lua.top()), &body) {
            Ok(value) => value,
            Err(fault) => self.fail(fault),
        }
    }

    /// Raises a fault, and remembers the error as a fault of the file.
    #[cold]
    #[inline(never)]
    pub(super) fn fail(&self, mut fault: Fault) -> ! {
        self.block.notes.argument.set(fault.take_argument());
        fault::push(self.lua, fault);
        remember(self.lua, self.values);
        self.lua.raise_top()
    }
}

/// Remembers the error on the top as a fault of the file.
fn remember(lua: Raising, values: Table<'_>) {
    lua.push_value(-1);
    lua.raw_set(values, values::FAULT);
}

/// Whether the error on the top is a fault of the file, and not an error of a class or a hook.
pub(super) fn is_fault(lua: Raising, block: &Block) -> bool {
    let error = lua.top();
    lua.push_referenced(block.values.get());
    let is_fault = lua.table(-1).is_some_and(|values| {
        lua.raw_get(values, values::FAULT);
        lua.raw_equal(-1, error)
    });
    lua.set_top(error);
    is_fault
}

/// Calls `inner` with the first `arguments` values of the stack. The file at stack index `file` becomes its upvalue [`FILE`].
/// Answers the file, and whether `inner` succeeded: then its `results` are on the top, and otherwise its error. The block of the
/// file is valid until something is allocated.
pub(super) fn protect<'call>(
    lua: Raising<'call>,
    file: c_int,
    arguments: c_int,
    inner: unsafe extern "C-unwind" fn(*mut lua_State) -> c_int,
    results: c_int,
) -> (&'call Block, bool) {
    (0..OWN_UPVALUES).for_each(|_| lua.push_nil());
    lua.push_function(inner, OWN_UPVALUES);
    // Making the function may have run finalizers, which may have replaced the values below it. From here on nothing is
    // allocated.
    let function = lua.top();
    // SAFETY: [live] the callers use the block while its userdata is in its slot.
    let block = run(lua, Call::new(lua), |call| unsafe { idle_block(call, file) });
    Context::push_own(lua.state());
    lua.push_value(file);
    lua.push_referenced(block.values.get());
    let tables = lua.table(-1);
    for slot in [values::OBJECTS, values::STACK] {
        match tables {
            Some(values) => lua.raw_get(values, slot),
            None => lua.push_nil(),
        }
    }
    (1..=OWN_UPVALUES).rev().for_each(|n| lua.set_upvalue(function, n));
    (1..=arguments).for_each(|n| lua.push_value(n));
    let depth = || block.look(|open| open.depth()).unwrap_or(0);
    let before = depth();
    let callbacks = &Context::of(lua.state()).shared().callbacks;
    let outer = callbacks.get();
    block.busy.set(true);
    let done = lua.protected_call(arguments, results);
    block.busy.set(false);
    // An error leaves callbacks without coming back to `call_lua`.
    callbacks.set(outer);
    if !done && depth() > before {
        // The levels of values that are not complete would be wrong for the next value.
        let _ = block.with(|open| {
            open.leave_to(before);
            Ok(())
        });
    }
    (block, done)
}

/// Calls `inner` for a method of the file at argument 1. A fault gets the position of the method's caller.
pub(super) fn guard(lua: Raising, inner: unsafe extern "C-unwind" fn(*mut lua_State) -> c_int, results: c_int) -> c_int {
    // Lua gives every call 20 stack slots in addition to its arguments, which is enough here.
    let (block, done) = protect(lua, 1, lua.top().min(ARGUMENTS), inner, results);
    if done {
        return results;
    }
    if !is_fault(lua, block) {
        lua.raise_top();
    }
    let error = lua.top();
    if let Some(n) = block.notes.argument.take() {
        let fault = Fault::on_top(lua.state()).at(n);
        fault::raise(lua, fault);
    }
    lua.push_referenced(block.values.get());
    lua.push_position();
    lua.push_value(error);
    lua.concat(2);
    if let Some(values) = lua.table(error + 1) {
        remember(lua, values);
    }
    lua.raise_top()
}

/// A method of files, which pushes its results itself.
pub const fn file_method<const RESULTS: c_int, F: Fn(&Work) + Copy>(_: F) -> Function {
    fn outer<const RESULTS: c_int, F: Fn(&Work) + Copy>(lua: Raising) -> c_int {
        guard(lua, raising(inner::<RESULTS, F>), RESULTS)
    }
    fn inner<const RESULTS: c_int, F: Fn(&Work) + Copy>(lua: Raising) -> c_int {
        // SAFETY: [layout] `file_method` was given this value.
        let body = unsafe { item::<F>() };
        body(&Work::begin(lua));
        RESULTS
    }
    raising(outer::<RESULTS, F>)
}
