//! `bytes:column` and `bytes:setColumn`: one field of records of equal length.

use std::ffi::c_int;

use mlua_sys as ffi;

use crate::bulk::Field;
use crate::element::DType;
use crate::lua::args::{Call, show};
use crate::lua::entry::{self, Answer};
use crate::lua::fault::Fault;
use crate::lua::options::Options;
use crate::lua::pressure;
use crate::lua::state::Raising;
use crate::lua::steps::{changed, in_steps};
use crate::lua::userdata::Borrowed;
use crate::picking;
use crate::storage::Storage;

/// `bytes:column(class, offset, record [, first [, count]] [, {byteorder=}])`: the field of `class` at byte `offset` (from 0) of each
/// record of `record` bytes, as a new storage. `first` is the first record, from 1, and `count` the number of records; without it all
/// complete records are read.
pub fn column(lua: Raising) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    let dtype = entry::run(lua, call, |call| {
        bytes(call)?;
        call.class(2)
    });
    entry::construct(lua, call, dtype, |call| read(call, dtype))
}

fn read(call: Call, dtype: DType) -> Result<Storage, Fault> {
    let last = last_number(call, 6);
    let field = read_field(call, dtype, last)?;
    let first = read_first(call, last)?;
    let count = if last < 6 || call.is_absent(6) { None } else { Some(call.size(6)?) };
    let records = bytes(call)?.nbytes() / field.record;
    let first = first.of(call, records)?;
    let left = records - first;
    let count = count.unwrap_or(left);
    if count > left {
        let (from, length) = (first + 1, field.record);
        return Err(Fault::argument(
            6,
            format_args!(
                "{count} records from {from} on are not there: the storage has {records} complete records of {length} bytes"
            ),
        ));
    }
    let target = Storage::unset(dtype, count)?;
    in_steps(call, count, field.weight(dtype.width()), |done, now| {
        let bytes = bytes(call)?;
        if bytes.nbytes() / field.record != records {
            return Err(changed());
        }
        Ok(picking::read_field((&bytes, first + done), (&target, done), now, field)?)
    })?;
    Ok(target)
}

/// `bytes:setColumn(storage, offset, record [, first] [, {byteorder=}])`: writes the elements of a storage of any class into the field at
/// byte `offset` (from 0) of records of `record` bytes, from record `first` (from 1) on; returns bytes.
pub fn set_column(call: Call) -> Result<Answer, Fault> {
    bytes(call)?;
    let dtype = call.storage(2)?.dtype();
    let last = last_number(call, 5);
    let field = read_field(call, dtype, last)?;
    let first = read_first(call, last)?;
    let (first, records, size, copy) = {
        let (bytes, source) = (bytes(call)?, call.storage(2)?);
        let (size, records) = (source.size(), bytes.nbytes() / field.record);
        let first = first.of(call, records)?;
        if size > records - first {
            let (from, length) = (first + 1, field.record);
            return Err(Fault::argument(
                2,
                format_args!(
                    "{size} elements do not fit from record {from} on: the storage has {records} complete records of {length} bytes"
                ),
            ));
        }
        // Also if there is nothing to write, read-only bytes are an error.
        picking::write_field((&bytes, first), (&source, 0), 0, field)?;
        // What is written could be read later otherwise.
        let copy = if bytes.is_disjoint(&source) { None } else { Some(source.cast(dtype)?) };
        (first, records, size, copy)
    };
    in_steps(call, size, field.weight(dtype.width()), |done, now| {
        let (bytes, source) = (bytes(call)?, call.storage(2)?);
        if bytes.nbytes() / field.record != records || source.size() != size {
            return Err(changed());
        }
        Ok(picking::write_field((&bytes, first + done), (copy.as_ref().unwrap_or(&source), done), now, field)?)
    })?;
    Ok(Answer::Value(1))
}

/// Argument 1 as a storage of bytes.
fn bytes(call: Call<'_>) -> Result<Borrowed<'_>, Fault> {
    let this = call.this()?;
    match this.dtype() {
        DType::Byte | DType::Char | DType::Untyped => Ok(this),
        dtype => {
            let class = dtype.class_name();
            Err(Fault::argument(1, format_args!("a storage of bytes expected, got {class}: s:untyped() shows its bytes")))
        }
    }
}

/// The number of the last argument before the options, which are a table after argument 4. At most `most` arguments are numbers.
fn last_number(call: Call, most: c_int) -> c_int {
    let last = call.count();
    if last > 4 && last <= most + 1 && call.kind(last) == ffi::LUA_TTABLE { last - 1 } else { most }
}

/// Arguments 3 and 4 and the options behind argument `last`: where the field is.
fn read_field(call: Call, dtype: DType, last: c_int) -> Result<Field, Fault> {
    let options = Options::read(call, last + 1, &["byteorder"])?;
    if !call.is_absent(last + 1) && call.kind(last + 1) != ffi::LUA_TTABLE {
        return Err(call.mismatch(last + 1, "table of options"));
    }
    if !call.is_absent(last + 2) {
        return Err(call.mismatch(last + 2, "nothing more"));
    }
    let word = if options.reverses_bytes("byteorder")? { dtype.part().width() } else { 1 };
    let offset = call.bytes(3)?;
    let record = call.scalar(4)?;
    let record = call.count_of(record).filter(|&record| record > 0).ok_or_else(|| {
        Fault::argument(
            4,
            format_args!("the length of a record is a whole number of bytes from 1 to 2^63-1, got {}", show(record)),
        )
    })?;
    let width = dtype.width();
    if offset.checked_add(width).is_none_or(|end| end > record) {
        let class = dtype.class_name();
        return Err(Fault::argument(
            3,
            format_args!("a field of {width} bytes ({class}) from byte {offset} on is not inside a record of {record} bytes"),
        ));
    }
    Ok(Field { offset, record, word })
}

/// The first record, from 1, as a program gives it.
#[derive(Clone, Copy)]
struct First(Option<crate::convert::Scalar>);

fn read_first(call: Call, last: c_int) -> Result<First, Fault> {
    Ok(First(if last < 5 || call.is_absent(5) { None } else { Some(call.scalar(5)?) }))
}

impl First {
    /// The first record, from 0. It may be the one after the last, where there are no records.
    fn of(self, call: Call, records: usize) -> Result<usize, Fault> {
        self.0.map_or(Ok(0), |first| call.index_of(5, "record", first, records + 1))
    }
}
