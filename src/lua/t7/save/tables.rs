//! Saving tables: their beginning, and then pair after pair.

use std::ffi::c_int;

use mlua_sys as ffi;

use super::{DEEPEST, at_path, index_of, refuse, write_leaf};
use crate::lua::args::Call;
use crate::lua::fault::Fault;
use crate::lua::state::State;
use crate::lua::t7::block::{Block, OBJECTS, Open, VALUES, step, values};
use crate::lua::t7::frames::{CONTAINER, KEY, ORDER, ascend, descend, expect_tables};
use crate::lua::t7::pace::keep_pace;
use crate::lua::t7::writing::{Level, SavedTable, Writing};
use crate::t7::tag;

/// Goes to the next value that is to be written, and pushes it; false if all are.
///
/// # Safety
/// May raise: nothing droppable is alive.
pub(super) unsafe fn advance(call: Call, block: &Block) -> bool {
    let lua = call.state();
    loop {
        // SAFETY: as the caller says, here and below.
        let (depth, table) = unsafe { step(call, block, |open| Ok((open.depth(), open.writing()?.table()))) };
        let Some(frame) = table else { return false };
        // SAFETY: see above.
        unsafe { expect_tables(call, block, frame.is_ordered) };
        if frame.has_key {
            lua.push_value(KEY);
            lua.raw_get_top(CONTAINER);
            // SAFETY: see above.
            unsafe { step(call, block, |open| turn(open, |frame| frame.has_key = false)) };
            return true;
        }
        // SAFETY: see above.
        if frame.is_ordered && unsafe { push_listed(call, block, frame) } {
            return true;
        }
        if !frame.is_ordered {
            lua.push_value(KEY);
            // SAFETY: see above.
            match unsafe { write_leaves(call, block) } {
                Pairs::Rest => return true,
                Pairs::Paused => {
                    // SAFETY: see above.
                    unsafe { keep_pace(call, block) };
                    continue;
                }
                Pairs::Done => {}
            }
        }
        // SAFETY: see above.
        let is_referenced = unsafe {
            step(call, block, |open| {
                open.leave_to(depth - 1);
                Ok(open.writing()?.is_referenced)
            })
        };
        if !is_referenced {
            lua.push_value(CONTAINER);
            lua.push_nil();
            // SAFETY: see above.
            unsafe { lua.raw_set_top(OBJECTS) };
        }
        ascend(lua, depth - 1);
    }
}

/// Changes the frame in hand.
fn turn(open: &mut Open, change: impl FnOnce(&mut SavedTable)) -> Result<(), Fault> {
    if let Some(table) = open.writing()?.table_mut() {
        change(table);
    }
    Ok(())
}

/// How far [`write_leaves`] came.
#[derive(Clone, Copy)]
enum Pairs {
    /// All are written.
    Done,
    /// The key or the value on the top is left to others, and its key is in the slot.
    Rest,
    /// It is time to look up: the last key is in the slot.
    Paused,
}

/// Writes the pairs of the table in hand after the key on the top, as long as key and value are leaves.
///
/// # Safety
/// May raise: nothing droppable is alive. `CONTAINER` is a table.
unsafe fn write_leaves(call: Call, block: &Block) -> Pairs {
    /// What is on the top now.
    #[derive(Clone, Copy)]
    enum Top {
        Written,
        WrittenAndDue,
        Key,
        Value,
    }
    let lua = call.state();
    loop {
        // SAFETY: as the caller says, here and below; `CONTAINER` is a table, and no Lua code runs meanwhile.
        let found = unsafe { lua.next_if_unchanged(CONTAINER) };
        let pair = |open: &mut Open| {
            let is_due = open.position() >= open.report_at;
            let Writing { writer, levels, .. } = open.writing()?;
            let Some(Level::Table(frame)) = levels.last_mut() else { return Err(Fault::no_memory()) };
            // What was counted at the beginning, or less, or more.
            if found != (frame.left > 0) {
                return refuse(call, open, "a table that changes meanwhile,");
            }
            if !found {
                return Ok(Top::Written);
            }
            frame.left -= 1;
            let leaves = write_leaf(lua, writer, -2).and_then(|key| Ok((key, key && write_leaf(lua, writer, -1)?)));
            match leaves {
                Ok((false, _)) => {
                    frame.has_key = true;
                    Ok(Top::Key)
                }
                Ok((true, false)) => Ok(Top::Value),
                Ok((true, true)) => Ok(if is_due { Top::WrittenAndDue } else { Top::Written }),
                Err(error) => {
                    lua.push_value(-2);
                    lua.replace(KEY);
                    Err(at_path(call, open, error))
                }
            }
        };
        // SAFETY: see above.
        match unsafe { step(call, block, pair) } {
            Top::Written if !found => return Pairs::Done,
            Top::Written => lua.set_top(lua.top() - 1),
            Top::WrittenAndDue => {
                lua.set_top(lua.top() - 1);
                lua.replace(KEY);
                return Pairs::Paused;
            }
            Top::Key => {
                lua.set_top(lua.top() - 1);
                lua.push_value(-1);
                lua.replace(KEY);
                return Pairs::Rest;
            }
            Top::Value => {
                lua.push_value(-2);
                lua.replace(KEY);
                lua.remove(-2);
                return Pairs::Rest;
            }
        }
    }
}

/// The next pair of the table in hand by its list: writes the key and pushes the value, or pushes a key that is no leaf. False if
/// there is none.
///
/// # Safety
/// May raise: nothing droppable is alive. `CONTAINER` and `ORDER` are tables.
unsafe fn push_listed(call: Call, block: &Block, frame: SavedTable) -> bool {
    let lua = call.state();
    if frame.left == 0 {
        return false;
    }
    lua.raw_get(ORDER, frame.seen.saturating_add(1));
    lua.replace(KEY);
    lua.push_value(KEY);
    lua.raw_get_top(CONTAINER);
    let pair = |open: &mut Open| {
        if lua.kind(-1) == ffi::LUA_TNIL {
            return refuse(call, open, "a table that changes meanwhile,");
        }
        let is_leaf = write_leaf(lua, &mut open.writing()?.writer, KEY);
        let has_key = !is_leaf.map_err(|error| at_path(call, open, error))?;
        turn(open, |frame| {
            frame.left -= 1;
            frame.seen = frame.seen.saturating_add(1);
            frame.has_key = has_key;
        })?;
        Ok(has_key)
    };
    // SAFETY: as the caller says.
    if unsafe { step(call, block, pair) } {
        // A key that is a value of its own: its value comes when it is written.
        lua.set_top(ORDER);
        lua.push_value(KEY);
    }
    true
}

/// Begins the table on the top: tag, index, number of pairs; adds its frame. Pops it.
///
/// # Safety
/// May raise: nothing droppable is alive.
pub(super) unsafe fn begin_table(call: Call, block: &Block) {
    let lua = call.state();
    let table = lua.top();
    lua.push_value(table);
    lua.raw_get_top(OBJECTS);
    let is_inside_itself = lua.kind(-1) != ffi::LUA_TNIL;
    lua.set_top(table);
    let check = |open: &mut Open| {
        if lua.kind(table) != ffi::LUA_TTABLE {
            return refuse(call, open, "what was replaced, by debug.setlocal,");
        }
        let is_circle = !open.writing()?.is_referenced && (is_inside_itself || open.depth() > DEEPEST);
        if is_circle { refuse(call, open, "a table that contains itself, without references,") } else { Ok(()) }
    };
    // SAFETY: as the caller says, here and below.
    unsafe { step(call, block, check) };
    lua.push_value(table);
    // SAFETY: see above.
    let (index, is_known) = unsafe { index_of(call, block) };
    let mut count: usize = 0;
    let mut is_ordered = false;
    if !is_known {
        lua.push_nil();
        while lua.next(table) {
            lua.set_top(lua.top() - 1);
            count += 1;
        }
        is_ordered = push_order(lua, table, count);
    }
    let begin = |open: &mut Open| {
        let writing = open.writing()?;
        writing.writer.int(tag::TABLE)?;
        writing.writer.int(index)?;
        if !is_known {
            let pairs = i32::try_from(count).map_err(|_| Fault::new(format!("cannot save a table of {count} pairs")))?;
            writing.writer.int(pairs)?;
        }
        let depth = writing.levels.len();
        writing.chain = 0;
        if count > 0 {
            writing.enter(Level::Table(SavedTable { left: count, seen: 0, has_key: false, is_ordered }))?;
        }
        Ok((depth, writing.is_referenced))
    };
    // SAFETY: see above.
    let (depth, is_referenced) = unsafe { step(call, block, begin) };
    if count > 0 {
        // SAFETY: see above.
        unsafe { descend(lua, depth) };
        lua.push_value(table);
        lua.replace(CONTAINER);
        if is_ordered {
            lua.push_value(table + 1);
            lua.replace(ORDER);
        }
    } else if !is_referenced {
        lua.push_value(table);
        lua.push_nil();
        // SAFETY: see above.
        unsafe { lua.raw_set_top(OBJECTS) };
    }
    lua.set_top(ORDER);
}

/// Pushes the list of the keys of a table in the order in which they were loaded, if it still has these `count` keys and no others.
fn push_order(lua: State, table: c_int, count: usize) -> bool {
    lua.raw_get(VALUES, values::ORDERS);
    if lua.kind(-1) != ffi::LUA_TTABLE {
        lua.set_top(table);
        return false;
    }
    lua.push_value(table);
    lua.raw_get_top(-2);
    lua.remove(-2);
    if lua.kind(-1) != ffi::LUA_TTABLE || lua.length(-1) != count {
        lua.set_top(table);
        return false;
    }
    let list = lua.top();
    for place in (1..).take(count) {
        lua.raw_get(list, place);
        if lua.kind(-1) == ffi::LUA_TNIL {
            lua.set_top(table);
            return false;
        }
        lua.raw_get_top(table);
        let is_there = lua.kind(-1) != ffi::LUA_TNIL;
        lua.set_top(list);
        if !is_there {
            lua.set_top(table);
            return false;
        }
    }
    true
}
