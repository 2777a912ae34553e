//! Long operations in steps, between which the host can end them: Ctrl-C sets a hook in `lua5.1` and `luajit`, and the hook raises.

use super::args::Call;
use super::fault::Fault;

/// Bytes of a step: some hundredths of a second.
pub const STEP: usize = 256 << 20;

/// Calls `act` with the first place and the number of elements of each step of `count` elements of `width` bytes. Between two steps
/// a hook may run any Lua code: `act` looks its storages up anew.
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

/// Gives a hook the chance to raise. Its error is the fault.
pub fn let_host_interrupt(call: Call) -> Result<(), Fault> {
    let state = call.state();
    if !state.has_hook() {
        return Ok(());
    }
    let top = state.top();
    let going_on = state.call_nothing();
    let message = state.string(top + 1).map(|text| String::from_utf8_lossy(text).into_owned());
    state.set_top(top);
    if going_on { Ok(()) } else { Err(Fault::new(message.unwrap_or_else(|| "interrupted".to_owned()))) }
}

/// A storage that a hook, or a finalizer, has changed meanwhile.
pub fn changed() -> Fault {
    Fault::new("a hook or a finalizer has changed the size of the storage in the middle of the operation")
}
