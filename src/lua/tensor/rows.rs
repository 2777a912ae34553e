//! Nested tables of numbers as tensors, and tensors as nested tables.

use std::ffi::c_int;
use std::fmt::Display;

use mlua_sys as ffi;

use super::element::stored;
use super::making::Made;
use crate::convert::Scalar;
use crate::error::MAX_DIMENSIONS;
use crate::fallible;
use crate::lua::args::Call;
use crate::lua::complex;
use crate::lua::entry::{self, raising};
use crate::lua::fault::{Fault, raise, written};
use crate::lua::methods::Method;
use crate::lua::methods::from_table::{read_elements, slot, table_size};
use crate::lua::state::{Raising, Real, Table, ZERO, real_at};
use crate::lua::steps::{changed, let_host_interrupt};
use crate::storage::Storage;
use crate::tensor::Layout;

pub const METHODS: &[Method] = &[(c"totable", raising(to_table))];

/// How many elements are read at once, before they are pushed.
const BLOCK: usize = 64;

/// How many rows are read before the host may interrupt.
const ROWS_IN_STEP: usize = 1 << 16;

/// How many tables are made before the host may interrupt.
const TABLES_IN_STEP: usize = 1 << 10;

/// Makes room on the stack for the rows of nested tables, one for each dimension. Raises if Lua has not enough.
pub fn make_room(lua: Raising) {
    if !lua.check_stack(slot(MAX_DIMENSIONS) + ffi::LUA_MINSTACK) {
        raise(lua, Fault::new("stack overflow"));
    }
}

/// `torch.TYPETensor(rows)`: the numbers of a nested table, which is read without metamethods. The first element of each level tells
/// the shape. Torch7. Differs from Torch7: tables without elements make dimensions of size 0.
pub fn from_rows(call: Call) -> Result<Made, Fault> {
    let table = row_at(call, 1)?.ok_or_else(|| {
        Fault::argument(1, "the table is a complex number; a tensor of this element is made of a table of it: {{re=, im=}}")
    })?;
    let sizes = sizes_of(call, table)?;
    let layout = Layout::contiguous(&sizes)?;
    let outer = &sizes[..sizes.len() - 1];
    if outer.iter().try_fold(1, |rows: c_int, &size| rows.checked_mul(slot(size))).is_none() {
        return Err(Fault::argument(1, "the table has too many rows: 2^31-1 are possible"));
    }
    let storage = Storage::unset(call.dtype(), layout.elements())?;
    Rows { call, sizes: &sizes, storage: &storage, next: 0, rows: 0, path: Vec::new(), block: Vec::new() }.read(table)?;
    Ok(Made { storage, layout, shows_storage: sizes != [0] })
}

/// The value at a stack index, if it is a row: any table but `{re=, im=}` for a complex class.
fn row_at(call: Call, index: c_int) -> Result<Option<Table>, Fault> {
    let state = call.state();
    let Some(table) = state.table(index) else { return Ok(None) };
    let is_number = call.dtype().is_complex() && state.length(index) == 0 && complex::read(state, index)?.is_some();
    Ok((!is_number).then_some(table))
}

/// The sizes that the first element of each level tells.
fn sizes_of(call: Call, table: Table) -> Result<Vec<usize>, Fault> {
    let state = call.state();
    let top = state.top();
    let (mut sizes, mut row) = (Vec::new(), Some(table));
    while let Some(table) = row {
        if sizes.len() == MAX_DIMENSIONS {
            return Err(Fault::argument(
                1,
                format_args!("the table has more than {MAX_DIMENSIONS} levels, and a tensor has at most as many dimensions"),
            ));
        }
        let size = state.length(table.index());
        fallible::push(&mut sizes, size)?;
        if size == 0 {
            break;
        }
        state.raw_get(table, 1);
        row = row_at(call, state.top())?;
    }
    state.set_top(top);
    Ok(sizes)
}

/// A nested table that is read into a storage. Lua code may change the tables while they are read: reading an FFI value runs Lua code.
struct Rows<'a> {
    call: Call<'a>,
    sizes: &'a [usize],
    storage: &'a Storage,
    /// The index of the next element of the storage.
    next: usize,
    /// The number of rows that were read.
    rows: usize,
    /// The indices, from 1, of the row that is read.
    path: Vec<usize>,
    /// For [`read_elements`].
    block: Vec<f64>,
}

impl<'a> Rows<'a> {
    /// Reads a row, which the path leads to.
    fn read(&mut self, row: Table) -> Result<(), Fault> {
        let size = self.sizes[self.path.len()];
        if self.path.len() + 1 == self.sizes.len() {
            return self.read_last(row, size);
        }
        let state = self.call.state();
        let top = state.top();
        for index in 1..=size {
            fallible::push(&mut self.path, index)?;
            state.raw_get(row, slot(index));
            let inner = self.checked_row(top + 1)?;
            self.read(inner)?;
            state.set_top(top);
            self.path.pop();
        }
        Ok(())
    }

    /// The row at a stack index, which the path leads to. It has as many elements as the first row of its level.
    fn checked_row(&self, index: c_int) -> Result<Table<'a>, Fault> {
        let Some(row) = row_at(self.call, index)? else {
            let is_table = self.call.state().table(index).is_some();
            let place = show_path(&self.path);
            return Err(match is_table {
                true => Fault::argument(1, format_args!("row {place}: table expected, got a complex number")),
                false => {
                    let got = self.call.show_value(index);
                    Fault::argument(1, format_args!("row {place}: table expected, got {got}"))
                }
            });
        };
        let (size, wanted) = (self.call.state().length(index), self.sizes[self.path.len()]);
        if size == wanted {
            return Ok(row);
        }
        let (place, first) = (show_path(&self.path), show_path(&[1; MAX_DIMENSIONS][..self.path.len()]));
        let elements = if size == 1 { "element" } else { "elements" };
        Err(Fault::argument(1, format_args!("row {place} has {size} {elements}, and row {first} has {wanted}")))
    }

    /// Reads a row of elements.
    fn read_last(&mut self, row: Table, size: usize) -> Result<(), Fault> {
        let (call, path) = (self.call, &self.path);
        read_elements(call, row, self.storage, self.next..self.next + size, &mut self.block, |n| {
            let top = call.state().top();
            // `{a, b}` is a row here, and a complex number elsewhere.
            let is_row = call.state().kind(top) == ffi::LUA_TTABLE && call.state().length(top) > 0;
            let element = if is_row { None } else { call.element_at(top)? };
            element.ok_or_else(|| {
                let expected = if call.dtype().is_complex() { "number, {re=, im=} or FFI complex" } else { call.element_kind() };
                Fault::argument(
                    1,
                    format_args!("element {}[{n}]: {expected} expected, got {}", show_path(path), call.show_value(top)),
                )
            })
        })?;
        self.next += size;
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_IN_STEP) { let_host_interrupt(call) } else { Ok(()) }
    }
}

/// Indices for messages, as in `[2][1]`.
fn show_path(path: &[usize]) -> impl Display {
    written(|f| path.iter().try_for_each(|index| write!(f, "[{index}]")))
}

/// `x:totable()`: a new table of the elements, nested for more than one dimension. That of a scalar is its number. Torch7.
fn to_table(lua: Raising) -> c_int {
    let call = Call::new(lua);
    let dimensions = entry::run(lua, call, |call| {
        call.expect_end(2)?;
        let this = call.this_tensor()?;
        this.elements().check()?;
        check_tables(this.layout)?;
        Ok(this.layout.dimensions())
    });
    make_room(lua);
    if dimensions == 0 {
        complex::push(lua, entry::run(lua, call, |call| element(call, &[])));
    } else {
        push_rows(lua, call, &mut [0; MAX_DIMENSIONS], 0, dimensions, &mut 0);
    }
    1
}

/// Returns a fault if a dimension is too large for a table, as one that is expanded can be.
fn check_tables(layout: &Layout) -> Result<(), Fault> {
    // Where there are no elements, there are no tables for the dimensions behind.
    let sizes = layout.sizes().iter().take_while(|&&size| size > 0);
    (1..).zip(sizes).try_for_each(|(dimension, &size)| {
        table_size(size, format_args!("dimension {dimension} of the tensor has {size} elements")).map(|_| ())
    })
}

/// Pushes a table of the elements whose first `level` indices are given. Making tables may run finalizers, so the tensor is looked up
/// again after each. `rows` counts the tables.
fn push_rows(lua: Raising, call: Call, indices: &mut [usize; MAX_DIMENSIONS], level: usize, dimensions: usize, rows: &mut usize) {
    // A tensor can have more rows than memory: one that is expanded, or that has a size of 0.
    *rows += 1;
    if rows.is_multiple_of(TABLES_IN_STEP) {
        entry::run(lua, call, let_host_interrupt);
    }
    let size = entry::run(lua, call, |call| Ok(slot(call.this_tensor()?.layout.sizes()[level])));
    let table = lua.push_table(size);
    if level + 1 < dimensions {
        for n in 1..=size {
            push_rows(lua, call, indices, level + 1, dimensions, rows);
            lua.raw_set(table, n);
            indices[level] += 1;
        }
        indices[level] = 0;
        return;
    }
    if call.dtype().is_complex() {
        for n in 1..=size {
            complex::push(lua, entry::run(lua, call, |call| element(call, &indices[..dimensions])));
            lua.raw_set(table, n);
            indices[level] += 1;
        }
        indices[level] = 0;
        return;
    }
    let mut done = 0;
    while done < size {
        let (numbers, count) = entry::run(lua, call, |call| read_block(call, &indices[..dimensions]));
        for (n, number) in (done + 1..).zip(numbers.into_iter().take(count)) {
            lua.push_real(number);
            // The table has room, so this runs no finalizer.
            lua.raw_set(table, n);
        }
        indices[level] += count;
        done += slot(count);
    }
    indices[level] = 0;
}

/// The element with these indices.
fn element(call: Call, indices: &[usize]) -> Result<Scalar, Fault> {
    let this = call.this_tensor()?;
    stored(&this, this.layout.element(indices)?)
}

/// The element with these indices and those that follow it in the last dimension, and how many were read.
fn read_block(call: Call, indices: &[usize]) -> Result<([Real; BLOCK], usize), Fault> {
    let this = call.this_tensor()?;
    this.elements().check()?;
    let last = indices.len() - 1;
    let (index, stride) = (this.layout.element(indices)?, this.layout.strides()[last]);
    let count = BLOCK.min(this.layout.sizes()[last] - indices[last]);
    let mut numbers = [ZERO; BLOCK];
    for (n, number) in (0..).zip(&mut numbers[..count]) {
        let element = real_at(this.storage.readable(), index.wrapping_add_signed(stride.wrapping_mul(n)));
        *number = element.ok_or_else(changed)?;
    }
    Ok((numbers, count))
}
