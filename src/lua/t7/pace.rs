//! From time to time while a file is read or written, the host may interrupt and the progress function is called.

use super::block::{Open, bytes_as_count, values};
use super::guard::Work;
use super::slots::call_lua;
use crate::lua::steps::{let_host_interrupt, next_report};

/// Lets the host interrupt and calls the progress function, if it is time.
pub(super) fn keep_pace(work: &Work<'_>) {
    let due = |open: &mut Open| {
        let position = open.position();
        if position < open.report_at {
            return Ok(None);
        }
        open.report_at = next_report(position, open.total);
        Ok(Some((position, open.total)))
    };
    let Some((position, total)) = work.step(due) else { return };
    work.ask_lua(let_host_interrupt);
    report(work, position.min(total), total);
}

/// Calls the progress function, if there is one, with the number of bytes so far and the number of all bytes.
pub(super) fn report(work: &Work<'_>, position: u64, total: u64) {
    let lua = work.lua;
    lua.raw_get(work.values, values::PROGRESS);
    if lua.kind(-1) != mlua_sys::LUA_TFUNCTION {
        lua.set_top(lua.top() - 1);
        return;
    }
    lua.push_count(bytes_as_count(position));
    lua.push_count(bytes_as_count(total));
    call_lua(work, 2, 0);
}
