//! Runs long operations in steps, so that the host can end them: Ctrl-C in `lua5.1` and `luajit` sets a hook, which raises an error.

use super::args::Call;
use super::fault::Fault;
use crate::error::shown;

/// The size of a step in bytes. A step takes some hundredths of a second.
pub const STEP: usize = 256 << 20;

/// Divides `count` elements of `width` bytes into steps. Calls `act` for each step, with the index of its first element, from 0, and
/// its number of elements. Between two steps a hook may run any Lua code, so `act` looks its storages up again each time.
pub fn in_steps(call: Call, count: usize, width: usize, act: impl Fn(usize, usize) -> Result<(), Fault>) -> Result<(), Fault> {
    let step = STEP / width;
    let mut done = 0;
    while done < count {
        let now = step.min(count - done);
        act(done, now)?;
        done += now;
        if done < count {
            let_host_interrupt(call)?;
        }
    }
    Ok(())
}

/// Runs the hook, if one is set. If the hook raises, the fault has its message. As in Lua, a hook that calls this is not run again.
pub fn let_host_interrupt(call: Call) -> Result<(), Fault> {
    let (state, is_in_hook) = (call.state(), &call.shared().is_in_hook);
    if !state.has_hook() || is_in_hook.get() {
        return Ok(());
    }
    let top = state.top();
    is_in_hook.set(true);
    let going_on = state.call_hook();
    is_in_hook.set(false);
    // SAFETY: [live] the message stays on the top while it is copied.
    let message = unsafe { state.string(top + 1) };
    let result = if going_on { Ok(()) } else { Err(Fault::new(shown(message.unwrap_or(b"interrupted")))) };
    state.set_top(top);
    result
}

/// The fault for a storage whose size a hook or a finalizer has changed in the middle of an operation.
pub fn changed() -> Fault {
    Fault::new("a hook or a finalizer has changed the size of the storage in the middle of the operation")
}
