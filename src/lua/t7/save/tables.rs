//! Saving tables: their beginning, and then pair after pair.

use mlua_sys as ffi;

use super::{DEEPEST, at_path, index_of, refuse, write_leaf};
use crate::lua::args::Call;
use crate::lua::fault::Fault;
use crate::lua::state::{Raising, State, Table};
use crate::lua::t7::block::{Block, Engine, Open, keep_pace, step, values};
use crate::lua::t7::frames::{
    CONTAINER, Frame, KEY, OBJECTS, ORDER, TableFrame, VALUES, ascend, descend, expect_list, expect_tables,
};
use crate::t7::tag;

/// Goes to the next value that is to be written, and pushes it; false if all are.
pub(super) fn advance(lua: Raising, call: Call, block: &Block, base: usize) -> bool {
    loop {
        let (depth, frame) = step(lua, block, |open| Ok((open.frames.len(), open.frames.last().copied())));
        let Some(Frame::Table(frame)) = frame.filter(|_| depth > base) else { return false };
        let container = expect_tables(lua, block);
        if frame.has_key {
            lua.push_value(KEY);
            lua.raw_get_top(container);
            step(lua, block, |open| turn(open, |frame| frame.has_key = false));
            return true;
        }
        if frame.ordered && push_listed(lua, call, block, frame, container) {
            return true;
        }
        if !frame.ordered {
            lua.push_value(KEY);
            match write_leaves(lua, call, block, container) {
                Pairs::Rest => return true,
                Pairs::Paused => {
                    keep_pace(lua, call, block);
                    continue;
                }
                Pairs::Done => {}
            }
        }
        let leave = |open: &mut Open| {
            open.frames.truncate(depth - 1);
            Ok(open.referenced)
        };
        let is_referenced = step(lua, block, leave);
        if !is_referenced {
            lua.push_value(CONTAINER);
            lua.push_nil();
            lua.raw_set_top(OBJECTS);
        }
        ascend(*lua, depth - 1);
    }
}

/// Changes the frame in hand.
fn turn(open: &mut Open, change: impl FnOnce(&mut TableFrame)) -> Result<(), Fault> {
    if let Some(Frame::Table(frame)) = open.frames.last_mut() {
        change(frame);
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
fn write_leaves(lua: Raising, call: Call, block: &Block, container: Table) -> Pairs {
    /// What is on the top now.
    #[derive(Clone, Copy)]
    enum Top {
        Written,
        WrittenAndDue,
        Key,
        Value,
    }
    loop {
        let found = lua.next_if_unchanged(container);
        let pair = |open: &mut Open| {
            let is_due = open.position() >= open.report_at;
            let (Some(Frame::Table(frame)), Engine::Writing(writer)) = (open.frames.last_mut(), &mut open.engine) else {
                return Err(Fault::no_memory());
            };
            // What was counted at the beginning, or less, or more.
            if found != (frame.left > 0) {
                return refuse(call, open, "a table that changes meanwhile,");
            }
            if !found {
                return Ok(Top::Written);
            }
            frame.left -= 1;
            let leaves = write_leaf(*lua, writer, -2).and_then(|key| Ok((key, key && write_leaf(*lua, writer, -1)?)));
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
        match step(lua, block, pair) {
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
fn push_listed(lua: Raising, call: Call, block: &Block, frame: TableFrame, container: Table) -> bool {
    let order = expect_list(lua, block);
    if frame.left == 0 {
        return false;
    }
    lua.raw_get(order, frame.seen.saturating_add(1));
    lua.replace(KEY);
    lua.push_value(KEY);
    lua.raw_get_top(container);
    let pair = |open: &mut Open| {
        if lua.kind(-1) == ffi::LUA_TNIL {
            return refuse(call, open, "a table that changes meanwhile,");
        }
        let is_leaf = write_leaf(*lua, open.writer()?, KEY);
        let has_key = !is_leaf.map_err(|error| at_path(call, open, error))?;
        turn(open, |frame| {
            frame.left -= 1;
            frame.seen = frame.seen.saturating_add(1);
            frame.has_key = has_key;
        })?;
        Ok(has_key)
    };
    if step(lua, block, pair) {
        // A key that is a value of its own: its value comes when it is written.
        lua.set_top(ORDER);
        lua.push_value(KEY);
    }
    true
}

/// Begins the table on the top: tag, index, number of pairs; adds its frame. Pops it.
pub(super) fn begin_table(lua: Raising, call: Call, block: &Block) {
    let table = lua.top();
    lua.push_value(table);
    lua.raw_get_top(OBJECTS);
    let is_inside_itself = lua.kind(-1) != ffi::LUA_TNIL;
    lua.set_top(table);
    let check = |open: &mut Open| {
        let Some(saved) = lua.table(table) else {
            return refuse(call, open, "what was replaced, by debug.setlocal,");
        };
        let is_circle = !open.referenced && (is_inside_itself || open.frames.len() > DEEPEST);
        if is_circle { refuse(call, open, "a table that contains itself, without references,") } else { Ok(saved) }
    };
    let saved = step(lua, block, check);
    lua.push_value(table);
    let (index, is_known) = index_of(lua, block);
    let mut count: usize = 0;
    let mut is_ordered = false;
    if !is_known {
        lua.push_nil();
        while lua.next(saved) {
            lua.set_top(lua.top() - 1);
            count += 1;
        }
        is_ordered = push_order(lua.state(), saved, count);
    }
    let begin = |open: &mut Open| {
        let writer = open.writer()?;
        writer.int(tag::TABLE)?;
        writer.int(index)?;
        if !is_known {
            let pairs = i32::try_from(count).map_err(|_| Fault::new(format!("cannot save a table of {count} pairs")))?;
            writer.int(pairs)?;
        }
        let depth = open.frames.len();
        open.chain = 0;
        if count > 0 {
            let frame =
                TableFrame { left: count, seen: 0, integer: None, has_key: false, ordered: is_ordered, has_list: is_ordered };
            open.push_frame(Frame::Table(frame))?;
        }
        Ok((depth, open.referenced))
    };
    let (depth, is_referenced) = step(lua, block, begin);
    if count > 0 {
        descend(lua, depth);
        lua.push_value(table);
        lua.replace(CONTAINER);
        if is_ordered {
            lua.push_value(table + 1);
            lua.replace(ORDER);
        }
    } else if !is_referenced {
        lua.push_value(table);
        lua.push_nil();
        lua.raw_set_top(OBJECTS);
    }
    lua.set_top(ORDER);
}

/// Pushes the list of the keys of a table in the order in which they were loaded, if it still has these `count` keys and no others.
fn push_order(lua: State, saved: Table, count: usize) -> bool {
    let table = saved.index();
    lua.raw_get(VALUES, values::ORDERS);
    let Some(orders) = lua.table(-1) else {
        lua.set_top(table);
        return false;
    };
    lua.push_value(table);
    lua.raw_get_top(orders);
    lua.remove(-2);
    let Some(list) = lua.table(-1).filter(|list| lua.length(list.index()) == count) else {
        lua.set_top(table);
        return false;
    };
    for place in (1..).take(count) {
        lua.raw_get(list, place);
        if lua.kind(-1) == ffi::LUA_TNIL {
            lua.set_top(table);
            return false;
        }
        lua.raw_get_top(saved);
        let is_there = lua.kind(-1) != ffi::LUA_TNIL;
        lua.set_top(list.index());
        if !is_there {
            lua.set_top(table);
            return false;
        }
    }
    true
}
