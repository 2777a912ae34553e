//! A function that works on a file. It runs in a protected call, during which the file is busy.

use std::borrow::Cow;
use std::ffi::c_int;
use std::path::Path;
use std::ptr;

use super::block::{Block, File, values};
use crate::budget::{AccountId, are_counted, exchange};
use crate::lua::args::Call;
use crate::lua::context::{Context, UPVALUES};
use crate::lua::entry::{Function, attempt, caught, run};
use crate::lua::fault::{self, Fault};
use crate::lua::state::{Raising, Table};
use crate::lua::steps::let_host_interrupt;
use crate::system::names;

/// The upvalues of the function, in addition to the usual ones: the file, its table of [`values`], and the value in the slot
/// [`values::OWN`]. Lua code can replace stack slots by `debug.setlocal`, but not these upvalues.
const FILE: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 1);
const VALUES: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 2);
const OWN: c_int = mlua_sys::lua_upvalueindex(UPVALUES + 3);
const ALL_UPVALUES: c_int = UPVALUES + 3;

/// How many callbacks may run within each other. Each level takes 2 KB of the C stack, and a thread may have only 1 MB of that. PUC Lua
/// allows 200 nested calls of C functions, and LuaJIT as many as fit on its own stack.
const MOST_CALLBACKS: u32 = 200;

/// What a function that works on a file uses.
pub struct Work<'call, F: File> {
    pub lua: Raising<'call>,
    pub call: Call<'call>,
    pub block: &'call Block<F>,
    /// The table of [`values`].
    pub values: Table<'call>,
    /// The value in the slot [`values::OWN`] if it is a table.
    pub own: Option<Table<'call>>,
}

impl<'call, F: File> Work<'call, F> {
    /// Gets the file of the running function, which [`protect`] has called. From here on what this thread allocates is charged to the Lua
    /// state, except in callbacks, until the protected call ends.
    pub fn begin(lua: Raising<'call>) -> Self {
        let call = Call::new(lua);
        charge_to(call);
        // SAFETY: [live] the running function keeps its upvalue.
        let block = run(lua, call, |call| unsafe { Block::find(call, FILE) });
        match lua.table(VALUES) {
            Some(values) => Self { lua, call, block, values, own: lua.table(OWN) },
            None => fault::raise(lua, Fault::new("the file is closed")),
        }
    }

    pub fn push_file(&self) {
        self.lua.push_value(FILE);
    }

    /// The path of the file, or the bytes that are read instead of a file. The table of [`values`] keeps them until the file is closed.
    pub fn source(&self) -> &'call [u8] {
        let lua = self.lua.state();
        lua.raw_get(self.values, values::SOURCE);
        // SAFETY: [live] the function has the table, which keeps the string, as an upvalue.
        let bytes = unsafe { lua.string(-1) };
        lua.set_top(lua.top() - 1);
        bytes.unwrap_or_default()
    }

    pub fn path(&self) -> Result<Cow<'call, Path>, Fault> {
        Ok(names::of_lua(self.source())?)
    }

    /// Pushes the bytes of the open file that `find` finds as a string.
    pub fn push_bytes(&self, find: impl FnOnce(&mut F) -> Result<&[u8], Fault>) {
        let bytes = self.step(|open| find(open).map(ptr::from_ref));
        // SAFETY: [live] the bytes are in the open file, which stays as it is while it is busy.
        unsafe { self.lua.push_bytes(bytes) }
    }

    /// Calls `act` with the open file. Raises if that fails.
    pub fn step<R: Copy>(&self, act: impl FnOnce(&mut F) -> Result<R, Fault>) -> R {
        match caught(self.call, |_| self.block.with(act)) {
            Ok(value) => value,
            Err(fault) => self.fail(fault),
        }
    }

    /// Runs `body`, which may run Lua code, and once more after a garbage collection if something was exhausted. The file stays busy.
    /// Raises if `body` fails.
    pub fn attempt<R: Copy>(&self, body: impl Fn(Call) -> Result<R, Fault>) -> R {
        match attempt(self.lua, self.call.with_frame(self.lua.top()), &body) {
            Ok(value) => value,
            Err(fault) => self.fail(fault),
        }
    }

    /// Raises a fault. The caller of [`protect`] adds the position.
    #[cold]
    #[inline(never)]
    pub fn fail(&self, mut fault: Fault) -> ! {
        self.block.argument.set(fault.take_argument());
        fault::push(self.lua, fault);
        remember_fault(self.lua, self.values);
        self.lua.raise_top()
    }

    /// Calls a Lua function, which may use the file itself. The values of the current level are in the table of [`values`] during the
    /// call, so that messages can give the path to a value that the function reads or writes.
    pub fn call_lua(&self, arguments: c_int, results: c_int) {
        let callbacks = &self.call.shared().callbacks;
        if callbacks.get() == MOST_CALLBACKS {
            self.fail_too_deep();
        }
        callbacks.set(callbacks.get() + 1);
        let depth = self.step(|open| {
            let depth = open.depth();
            open.enter_callback().map(|()| depth)
        });
        for (slot, index) in F::kept(depth) {
            self.lua.push_value(slot);
            self.lua.raw_set(self.values, index);
        }
        self.block.busy.set(false);
        exchange(AccountId::NONE);
        self.lua.call(arguments, results);
        charge_to(self.call);
        self.block.busy.set(true);
        callbacks.set(callbacks.get() - 1);
        // If the function has caught an error of the file, some levels may remain.
        self.leave_to(depth);
    }

    #[cold]
    #[inline(never)]
    fn fail_too_deep(&self) -> ! {
        // The Lua code is above this function and the one that called it protected.
        self.lua.push_position_at(2);
        self.lua.push_text("methods that read or write objects call each other more than 200 levels deep");
        self.lua.concat(2);
        self.lua.raise_top()
    }

    /// Leaves all levels except the outermost `depth`.
    pub fn leave_to(&self, depth: usize) {
        self.step(|open| {
            open.leave_to(depth);
            Ok(())
        });
    }

    /// Lets the host interrupt and calls the progress function, if it is time.
    pub fn pause_if_due(&self) {
        let due = self.step(|open| {
            let (position, progress) = (open.position(), open.progress());
            Ok(progress.is_due(position).then_some((position, progress.total)))
        });
        let Some((position, total)) = due else { return };
        self.attempt(let_host_interrupt);
        // The last report comes from the end of the function.
        if position < total {
            self.report(position, total);
        }
    }

    /// Calls the progress function, if there is one, with the number of bytes so far and the number of all bytes.
    pub fn report(&self, position: u64, total: u64) {
        let lua = self.lua;
        lua.raw_get(self.values, values::PROGRESS);
        if lua.kind(-1) != mlua_sys::LUA_TFUNCTION {
            return lua.set_top(lua.top() - 1);
        }
        for bytes in [position, total] {
            lua.push_count(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
        self.call_lua(2, 0);
    }

    /// Reports that everything is read or written.
    pub fn report_end(&self) {
        let total = self.step(|open| Ok(open.progress().total));
        self.report(total, total);
    }
}

/// Charges what this thread allocates to the Lua state of a call. Nothing restores this if an error is raised, but the protected call does.
fn charge_to(call: Call) {
    if are_counted() {
        exchange(call.shared().account.get());
    }
}

/// How a protected call ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Done,
    /// With a fault of the file, which may have come through callbacks.
    Fault,
    /// With an error of a callback or a hook.
    Error,
}

/// Calls `inner` with the first `arguments` values of the stack. It works on the file at stack index `file`. Afterwards its `results`
/// are on the top, or its error. The returned block is valid until something is allocated.
pub fn protect<'call, F: File>(
    lua: Raising<'call>,
    file: c_int,
    arguments: c_int,
    inner: Function,
    results: c_int,
) -> (&'call Block<F>, End) {
    (0..ALL_UPVALUES).for_each(|_| lua.push_nil());
    lua.push_function(inner, ALL_UPVALUES);
    // Making the function may have run finalizers, which may have replaced the values below it. From here on nothing is
    // allocated until the function runs.
    let function = lua.top();
    // SAFETY: [live] the callers use the block while its userdata is in its slot.
    let block = run(lua, Call::new(lua), |call| unsafe { Block::<F>::find_idle(call, file) });
    Context::push_own(lua.state());
    lua.push_value(file);
    match block.push_values(lua.state()) {
        Some(values) => lua.raw_get(values, values::OWN),
        None => lua.push_nil(),
    }
    (1..=ALL_UPVALUES).rev().for_each(|n| lua.set_upvalue(function, n));
    (1..=arguments).for_each(|n| lua.push_value(n));
    let depth = || block.look(File::depth).unwrap_or(0);
    let before = depth();
    let callbacks = &Context::of(lua.state()).shared().callbacks;
    let outer = callbacks.get();
    block.busy.set(true);
    let is_done = lua.protected_call(arguments, results);
    block.busy.set(false);
    // An error leaves callbacks without coming back to `call_lua`.
    callbacks.set(outer);
    if is_done {
        return (block, End::Done);
    }
    if depth() > before {
        // The levels of values that are not complete would be wrong for the next value.
        let _ = block.with(|open| {
            open.leave_to(before);
            Ok(())
        });
    }
    let error = lua.top();
    let is_fault = block.push_values(lua.state()).is_some_and(|values| {
        lua.raw_get(values, values::FAULT);
        lua.kind(-1) == mlua_sys::LUA_TSTRING && lua.raw_equal(-1, error)
    });
    lua.set_top(error);
    (block, if is_fault { End::Fault } else { End::Error })
}

/// Raises the error on the top, with which a protected call ended. A fault gets the position of the caller.
pub fn raise_again<F: File>(lua: Raising, block: &Block<F>, end: End) -> ! {
    if end != End::Fault {
        lua.raise_top();
    }
    let error = lua.top();
    if let Some(n) = block.argument.take() {
        let fault = Fault::on_top(lua.state()).at(n);
        fault::raise(lua, fault);
    }
    block.push_values(lua.state());
    lua.push_position();
    lua.push_value(error);
    lua.concat(2);
    if let Some(values) = lua.table(error + 1) {
        remember_fault(lua, values);
    }
    lua.raise_top()
}

/// Remembers the error on the top as a fault of the file.
fn remember_fault(lua: Raising, values: Table<'_>) {
    lua.push_value(-1);
    lua.raw_set(values, values::FAULT);
}
