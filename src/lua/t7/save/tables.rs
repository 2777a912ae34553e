//! Saves tables: their beginning, and then one pair after the other.

use mlua_sys as ffi;

use super::identity::index_of;
use super::plain::{at_path, write_plain};
use crate::lua::fault::Fault;
use crate::lua::file::File;
use crate::lua::state::Table;
use crate::lua::t7::levels::{ascend, descend, expect_list, expect_table};
use crate::lua::t7::open::slots::{CONTAINER, KEY, ORDER};
use crate::lua::t7::open::{Open, Work, values};
use crate::lua::t7::path::refuse;
use crate::lua::t7::writing::{CONTAINS_ITSELF, DEEPEST, SavedTable, Writing};
use crate::t7::tag;

/// Why a table cannot be saved: Lua code has added or removed keys while the table was saved.
const CHANGED: &str = "it was changed while it was saved";

/// Finds the next value to write, and pushes it. Returns false if everything is written.
pub(super) fn push_next(work: &Work<'_>) -> bool {
    let lua = work.lua;
    loop {
        let (depth, table) = work.step(|open| {
            let depth = open.depth();
            let table = open.writing()?.table();
            Ok((depth, table.map(|table| SavedTable { has_key: std::mem::take(&mut table.has_key), ..*table })))
        });
        let Some(table) = table else { return false };
        let container = expect_table(work);
        if table.has_key {
            lua.push_value(KEY);
            lua.raw_get_top(container);
            return true;
        }
        if table.is_ordered && push_listed(work, table, container) {
            return true;
        }
        if !table.is_ordered {
            lua.push_value(KEY);
            match write_plain_pairs(work, container) {
                Pairs::NotPlain => return true,
                Pairs::Paused => {
                    work.pause_if_due();
                    continue;
                }
                Pairs::Done => {}
            }
        }
        let is_referenced = work.step(|open| {
            open.leave_to(depth - 1);
            Ok(open.writing()?.is_referenced)
        });
        if !is_referenced {
            lua.push_value(CONTAINER);
            lua.push_nil();
            lua.raw_set_top(work.objects());
        }
        ascend(work, depth - 1);
    }
}

/// The result of [`write_plain_pairs`].
enum Pairs {
    /// All pairs are written.
    Done,
    /// The key or the value on the top is not plain. The key is in the slot [`KEY`].
    NotPlain,
    /// It is time to let the host interrupt. The last key is in the slot [`KEY`].
    Paused,
}

/// Writes the pairs of the current table after the key on the top, as long as key and value are plain.
fn write_plain_pairs(work: &Work<'_>, container: Table) -> Pairs {
    /// The state after one pair: written, or the key or the value on the top is not plain.
    #[derive(Clone, Copy)]
    enum Top {
        Written,
        WrittenAndDue,
        Key,
        Value,
    }
    let lua = work.lua;
    loop {
        let found = lua.next_if_unchanged(container);
        let pair = |open: &mut Open| {
            let is_due = open.position() >= open.progress.due;
            let Writing { writer, levels, .. } = open.writing()?;
            let Some(Some(table)) = levels.last_mut() else { return Err(Fault::no_memory()) };
            // The number of pairs differs from the one that was counted at the beginning.
            if found != (table.left > 0) {
                return refuse(work, open, "a table", CHANGED);
            }
            if !found {
                return Ok(Top::Written);
            }
            table.left -= 1;
            let plain =
                write_plain(lua.state(), writer, -2).and_then(|key| Ok((key, key && write_plain(lua.state(), writer, -1)?)));
            match plain {
                Ok((false, _)) => {
                    table.has_key = true;
                    Ok(Top::Key)
                }
                Ok((true, false)) => Ok(Top::Value),
                Ok((true, true)) => Ok(if is_due { Top::WrittenAndDue } else { Top::Written }),
                Err(error) => {
                    lua.push_value(-2);
                    lua.replace(KEY);
                    Err(at_path(work, open, error))
                }
            }
        };
        match work.step(pair) {
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
                return Pairs::NotPlain;
            }
            Top::Value => {
                lua.push_value(-2);
                lua.replace(KEY);
                lua.remove(-2);
                return Pairs::NotPlain;
            }
        }
    }
}

/// Takes the next pair of the current table in the order of its list. Writes the key and pushes the value, or pushes the key if
/// it is not plain. Returns false if there are no more pairs.
fn push_listed(work: &Work<'_>, table: SavedTable, container: Table) -> bool {
    let lua = work.lua;
    let order = expect_list(work);
    if table.left == 0 {
        return false;
    }
    lua.raw_get(order, table.seen.saturating_add(1));
    lua.replace(KEY);
    lua.push_value(KEY);
    lua.raw_get_top(container);
    let pair = |open: &mut Open| {
        if lua.kind(-1) == ffi::LUA_TNIL {
            return refuse(work, open, "a table", CHANGED);
        }
        let writing = open.writing()?;
        let has_key = match write_plain(lua.state(), &mut writing.writer, KEY) {
            Ok(is_plain) => !is_plain,
            Err(error) => return Err(at_path(work, open, error)),
        };
        if let Some(now) = writing.table() {
            *now = SavedTable { left: table.left - 1, seen: table.seen.saturating_add(1), has_key, ..table };
        }
        Ok(has_key)
    };
    if work.step(pair) {
        // The key is not plain, so it is written first. Its value follows.
        lua.set_top(ORDER);
        lua.push_value(KEY);
    }
    true
}

/// Writes the beginning of the table on the top: its tag, its index and the number of its pairs. Enters the table if it has
/// pairs. Pops it.
pub(super) fn begin_table(work: &Work<'_>) {
    let lua = work.lua;
    let slot = lua.top();
    let (depth, is_referenced) = work.step(|open| Ok((open.depth(), open.writing()?.is_referenced)));
    if !is_referenced {
        lua.push_value(slot);
        lua.raw_get_top(work.objects());
        if depth > DEEPEST || lua.kind(-1) != ffi::LUA_TNIL {
            work.refuse("a table", CONTAINS_ITSELF);
        }
        lua.set_top(slot);
    }
    let Some(table) = lua.table(slot) else { work.refuse("a table", "it was replaced by debug.setlocal") };
    lua.push_value(slot);
    let (index, is_known) = index_of(work);
    let mut count: usize = 0;
    if !is_known {
        lua.push_nil();
        // SAFETY: [no-drop] the key is nil or comes from this loop, in which no Lua code runs.
        while unsafe { lua.next(table) } {
            lua.set_top(lua.top() - 1);
            count += 1;
        }
    }
    let is_ordered = count > 0 && push_order(work, table, count);
    work.write(|writing| {
        writing.writer.int(tag::TABLE)?;
        writing.writer.int(index)?;
        if !is_known {
            let pairs = i32::try_from(count).map_err(|_| Fault::new(format_args!("cannot save a table of {count} pairs")))?;
            writing.writer.int(pairs)?;
        }
        writing.chain = 0;
        if count > 0 {
            writing.enter(Some(SavedTable { left: count, seen: 0, has_key: false, is_ordered }))?;
        }
        Ok(())
    });
    if count > 0 {
        descend(work, depth);
        lua.push_value(slot);
        lua.replace(CONTAINER);
        if is_ordered {
            lua.push_value(slot + 1);
            lua.replace(ORDER);
        }
    } else if !is_referenced {
        lua.push_value(slot);
        lua.push_nil();
        lua.raw_set_top(work.objects());
    }
    lua.set_top(ORDER);
}

/// Pushes the list of a table's keys in the order in which they were loaded. Returns false, and pushes nothing, unless the table
/// has exactly these `count` keys.
fn push_order(work: &Work<'_>, table: Table, count: usize) -> bool {
    let lua = work.lua;
    lua.raw_get(work.values, values::ORDERS);
    if let Some(orders) = lua.table(-1) {
        lua.push_value(table.index());
        lua.raw_get_top(orders);
        lua.remove(-2);
    }
    let is_order = lua.table(-1).is_some_and(|list| {
        lua.length(list.index()) == count
            && (1..).take(count).all(|n| {
                lua.raw_get(list, n);
                if lua.kind(-1) != ffi::LUA_TNIL {
                    lua.raw_get_top(table);
                }
                let is_there = lua.kind(-1) != ffi::LUA_TNIL;
                lua.set_top(list.index());
                is_there
            })
    });
    if !is_order {
        lua.set_top(table.index());
    }
    is_order
}
