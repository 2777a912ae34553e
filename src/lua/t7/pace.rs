//! What happens from time to time while a file is read or written: the host may interrupt, and the progress function is called.

use super::block::{Block, Open, VALUES, ask_lua, bytes_as_number, step, values};
use super::frames::call_outside;
use crate::lua::args::Call;
use crate::lua::steps::let_host_interrupt;

/// Bytes between two looks at the host's hook and the progress function.
const PACE: u64 = 16 << 20;

/// Lets the host interrupt and calls the progress function, if it is time. Lua code may do anything to the file meanwhile but use it.
///
/// # Safety
/// May raise, and runs Lua code: nothing droppable is alive, no storage is borrowed.
pub(super) unsafe fn keep_pace(call: Call, block: &Block) {
    let due = |open: &mut Open| {
        let position = open.position();
        if position < open.report_at {
            return Ok(None);
        }
        open.report_at = position + if open.total == 0 { PACE } else { PACE.min((open.total / 64).max(1)) };
        Ok(Some((position, open.total)))
    };
    // SAFETY: as the caller says.
    let Some((position, total)) = (unsafe { step(call, block, due) }) else { return };
    // SAFETY: as the caller says.
    unsafe { ask_lua(call, block, let_host_interrupt) };
    let lua = call.state();
    lua.raw_get(VALUES, values::PROGRESS);
    if lua.kind(-1) != mlua_sys::LUA_TFUNCTION {
        lua.set_top(lua.top() - 1);
        return;
    }
    lua.push_number(bytes_as_number(position.min(total)));
    lua.push_number(bytes_as_number(total));
    // SAFETY: as the caller says.
    unsafe { call_outside(call, block, 2, 0) };
}
