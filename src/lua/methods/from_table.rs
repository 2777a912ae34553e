//! Elements of tables become elements of storages. Numbers are read in blocks and converted by the kernels.

use std::ffi::c_int;
use std::fmt::Display;
use std::ops::Range;

use crate::convert::{Scalar, count_to_f64};
use crate::fallible;
use crate::lua::args::Call;
use crate::lua::context::Context;
use crate::lua::fault::Fault;
use crate::lua::state::{State, Table};
use crate::storage::Storage;

/// How many numbers are read by Lua's C API before they are converted.
const BLOCK: usize = 64;

/// How many numbers compiled code reads before they are converted. They fit into the cache.
const COMPILED_BLOCK: usize = 4096;

/// From this number of elements on, a call of compiled code takes less time than it gains.
const WORTH_COMPILING: usize = 64;

/// How many values are on the stack at once: fewer than the slots that Lua gives every C function.
const PUSHED: usize = 16;

/// `torch.TYPEStorage(table)`: a storage of the elements 1 to `#table` of argument 1, which are read without metamethods, as in
/// Torch7.
pub fn from_table(call: Call) -> Result<Storage, Fault> {
    let state = call.state();
    let table = state.table(1).ok_or_else(|| call.mismatch(1, "table"))?;
    let size = state.length(1);
    if size == 0 && call.element_at(1)?.is_some() {
        return Err(Fault::argument(
            1,
            "the table is a complex number; a storage of this element is made of a table of it: {{re=, im=}}",
        ));
    }
    if c_int::try_from(size).is_err() {
        return Err(Fault::argument(1, format_args!("a table of {size} elements: 2^31-1 are possible")));
    }
    let storage = Storage::unset(call.dtype(), size)?;
    read_elements(call, table, &storage, 0..size, &mut Vec::new(), |n| {
        let element = call.element_at(state.top())?;
        element.ok_or_else(|| {
            let (expected, got) = (call.element_kind(), call.show_value(state.top()));
            Fault::argument(1, format_args!("element {n} of the table: {expected} expected, got {got}"))
        })
    })?;
    Ok(storage)
}

/// Sets a range of the elements of a storage to the elements 1, 2, 3, ... of a table.
///
/// `other` gives the element for a value that is not a number, or an integer that a double rounds. It gets the value's index in the table,
/// from 1, and the value is on the top of the stack. It may run Lua code that changes the table. `block` is for the numbers that compiled
/// code reads, so that callers can use the same for several tables.
pub fn read_elements(
    call: Call,
    table: Table,
    storage: &Storage,
    range: Range<usize>,
    block: &mut Vec<f64>,
    other: impl Fn(usize) -> Result<Scalar, Fault>,
) -> Result<(), Fault> {
    let state = call.state();
    let size = range.len();
    let mut done = 0;
    if size >= WORTH_COMPILING
        && let Some(read) = Context::of(state).shared().table_reader.get()
    {
        let wanted = size.min(COMPILED_BLOCK);
        if block.len() < wanted {
            fallible::reserve(block, wanted - block.len())?;
            block.resize(wanted, 0.0);
        }
        done = in_blocks(storage, &range, 0, block, |first, numbers| read_compiled(call, table, read, first, numbers))?;
    }
    let mut numbers = [0.0; BLOCK];
    while done < size {
        done = in_blocks(storage, &range, done, &mut numbers, |first, numbers| Ok(read_numbers(state, table, first, numbers)))?;
        let top = state.top();
        while done < size {
            state.raw_get(table, slot(done) + 1);
            if state.double(top + 1).is_some() {
                state.set_top(top);
                break;
            }
            storage.set(range.start + done, other(done + 1)?)?;
            state.set_top(top);
            done += 1;
        }
    }
    Ok(())
}

/// Sets the elements of a range, but for the first `done`, to the numbers that `read` puts into `block`. `read` gets the index in the
/// table, from 0, of the first number, and returns how many numbers there were before something else. Returns the index of that.
fn in_blocks(
    storage: &Storage,
    range: &Range<usize>,
    mut done: usize,
    block: &mut [f64],
    read: impl Fn(usize, &mut [f64]) -> Result<usize, Fault>,
) -> Result<usize, Fault> {
    while done < range.len() {
        let wanted = block.len().min(range.len() - done);
        let count = read(done, &mut block[..wanted])?.min(wanted);
        storage.write_numbers(range.start + done, &block[..count])?;
        done += count;
        if count < wanted {
            break;
        }
    }
    Ok(done)
}

/// Reads elements of a table from index `first` (from 0) on, as long as they are numbers that a double holds. Returns how many there were.
fn read_numbers(state: State, table: Table, first: usize, numbers: &mut [f64]) -> usize {
    let top = state.top();
    let mut read = 0;
    for (part, numbers) in numbers.chunks_mut(PUSHED).enumerate() {
        let next = slot(first + part * PUSHED) + 1;
        for n in next..next + slot(numbers.len()) {
            state.raw_get(table, n);
        }
        // Counted from the top, because Lua checks indices from the bottom for whether there is a value.
        let values = (-slot(numbers.len())..0).zip(numbers.iter_mut());
        let found = values.map_while(|(index, number)| state.double(index).map(|double| *number = double));
        let count = found.count();
        state.set_top(top);
        read += count;
        if count < numbers.len() {
            break;
        }
    }
    read
}

/// The same by a Lua function that LuaJIT compiles. It writes the numbers to the address that it gets.
fn read_compiled(call: Call, table: Table, read: c_int, first: usize, numbers: &mut [f64]) -> Result<usize, Fault> {
    let state = call.state();
    // Compiled code does not call hooks, so with a hook the C functions are faster.
    if state.has_hook() {
        return Ok(0);
    }
    let top = state.top();
    state.push_referenced(read);
    state.push_value(table.index());
    state.push_number(count_to_f64(first + 1));
    state.push_number(count_to_f64(first + numbers.len()));
    state.push_light(numbers.as_mut_ptr().cast());
    let done = state.protected_call(4, 1);
    let result = if done {
        Ok(state.number(top + 1).and_then(|count| call.count_of(Scalar::Float(count))).unwrap_or(0))
    } else {
        Err(Fault::on_top(state))
    };
    state.set_top(top);
    result
}

/// The size of a table for `count` values. If that is too large, the fault begins with `what`, which says how many there are.
pub fn table_size(count: usize, what: impl Display) -> Result<c_int, Fault> {
    c_int::try_from(count).map_err(|_| Fault::new(format_args!("{what}, and a table can hold at most {}", c_int::MAX)))
}

/// An index of a table's array part, which has less than 2^31 elements.
pub fn slot(index: usize) -> c_int {
    c_int::try_from(index).unwrap_or(c_int::MAX)
}
