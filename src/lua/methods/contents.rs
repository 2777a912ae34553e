//! Methods that act on all elements: fill, zero, copy, byteswap, equal.

use std::cell::Cell;

use super::Method;
use crate::convert::Scalar;
use crate::error::Error;
use crate::lua::args::{Call, show};
use crate::lua::entry::{Answer, function};
use crate::lua::fault::Fault;
use crate::lua::steps::{STEP, changed, in_steps};
use crate::lua::tensor;
use crate::lua::userdata::Borrowed;

pub const METHODS: &[Method] = &[
    (c"fill", function(fill)),
    (c"zero", function(zero)),
    (c"copy", function(copy)),
    (c"rawcopy", function(copy_bytes)),
    (c"byteswap", function(byteswap)),
    (c"equal", function(equal)),
];

/// `s:fill(v [, i [, j]])`: sets every element, or those from `i` to `j`, to `v`, which is converted once; returns s. A Bool
/// takes booleans too. Torch7, without the range.
fn fill(call: Call) -> Result<Answer, Fault> {
    // The numbers are read first, because reading an FFI value runs Lua code, which could free the storage.
    let value = call.element(2);
    if call.count() <= 2 {
        let this = call.this()?;
        if this.nbytes() <= STEP {
            this.fill(value?)?;
            return Ok(Answer::Value(1));
        }
    }
    let range = call.range(3);
    let size = call.this()?.size();
    let (value, (first, count)) = (value?, range?.of(size)?);
    in_steps(call, count, call.dtype().width(), |done, now| {
        let this = call.this()?;
        if this.size() == size { Ok(this.fill_range(first + done, now, value)?) } else { Err(changed()) }
    })?;
    Ok(Answer::Value(1))
}

/// `s:zero()`: sets every element to 0; returns s.
fn zero(call: Call) -> Result<Answer, Fault> {
    let this = call.this()?;
    let size = this.size();
    in_steps(call, size, this.dtype().width(), |done, now| {
        let this = call.this()?;
        if this.size() == size { Ok(this.fill_range(done, now, Scalar::Signed(0))?) } else { Err(changed()) }
    })?;
    Ok(Answer::Value(1))
}

/// `s:copy(other)`: copies and converts the elements of a storage of any class and the same size; returns s.
///
/// `s:copy(other, to [, from [, n]])`: copies `n` elements of `other`, from index `from` on, to index `to` and those after
/// it. By default `to` and `from` are 1, and `n` is the number of elements from `from` to the end of `other`.
///
/// Torch7, without indices. Differs from Torch7: sizes are always compared, and overlapping parts are copied correctly.
fn copy(call: Call) -> Result<Answer, Fault> {
    if call.count() <= 2 {
        let this = call.this()?;
        let source = source(call)?;
        if this.nbytes().max(source.nbytes()) <= STEP {
            this.copy_from(&source).map_err(at_source)?;
            return Ok(Answer::Value(1));
        }
    }
    let optional = |n| if call.is_absent(n) { Ok(None) } else { call.scalar(n).map(Some) };
    let numbers = (optional(3), optional(4), if call.is_absent(5) { Ok(None) } else { call.size(5).map(Some) });
    let this = call.this()?;
    let source = source(call)?;
    let (to, from, count) = (numbers.0?, numbers.1?, numbers.2?);
    let bytes = this.copies_raw_bytes_from(&source);
    if to.is_none() && from.is_none() && count.is_none() {
        if bytes {
            return copy_bytes(call);
        }
        if this.size() != source.size() || !this.is_disjoint(&source) {
            this.copy_from(&source).map_err(at_source)?;
            return Ok(Answer::Value(1));
        }
        let size = this.size();
        in_steps(call, size, this.dtype().width().max(source.dtype().width()), |done, now| {
            let (this, source) = (call.this()?, call.storage(2)?);
            let same = this.size() == size && source.size() == size;
            if same { Ok(this.copy_range(done, &source, done, now)?) } else { Err(changed()) }
        })?;
        return Ok(Answer::Value(1));
    }
    if bytes {
        let (here, there) = (this.dtype().class_name(), source.dtype().class_name());
        return Err(Fault::argument(
            2,
            format_args!(
                "copying between a {here} and a {there} copies bytes, but the indices count elements: use untyped() of both"
            ),
        ));
    }
    let offset = |n, index: Option<Scalar>, size: usize| match index {
        Some(index) => call.index_of(n, "index", index, size + 1),
        None => Ok(0),
    };
    let (to, from) = (offset(3, to, this.size())?, offset(4, from, source.size())?);
    let available = source.size() - from;
    let count = count.unwrap_or(available);
    if count > available {
        let size = source.size();
        return Err(Fault::argument(5, format_args!("{count} elements from {} on are not in a source of {size}", from + 1)));
    }
    if count > this.size() - to {
        let size = this.size();
        return Err(Fault::argument(3, format_args!("{count} elements do not fit from {} on in a storage of {size}", to + 1)));
    }
    if count > 0 {
        this.copy_range(to, &source, from, count)?;
    }
    Ok(Answer::Value(1))
}

/// `s:byteswap([width])`: reverses the byte order of every element (for a complex class, of each part), or of every word of
/// `width` bytes, which is 1, 2, 4 or 8; returns s.
fn byteswap(call: Call) -> Result<Answer, Fault> {
    let width = if call.is_absent(2) { None } else { Some(call.scalar(2)?) };
    let width = width.map(|width| {
        call.count_of(width).ok_or_else(|| Fault::argument(2, format_args!("a word has 1, 2, 4 or 8 bytes, got {}", show(width))))
    });
    let (width, bytes) = (width.transpose()?, call.this()?.nbytes());
    // For an empty storage the closure below is never called, so the checks are made here too.
    call.this()?.byteswap_range(width, 0, 0).map_err(at_width)?;
    in_steps(call, bytes, 1, |done, now| {
        let this = call.this()?;
        if this.nbytes() == bytes { this.byteswap_range(width, done, now).map_err(at_width) } else { Err(changed()) }
    })?;
    Ok(Answer::Value(1))
}

/// `s:equal(other)`: whether class, size and all values are the same. NaN differs from itself, and -0 equals 0.
fn equal(call: Call) -> Result<Answer, Fault> {
    let (this, other) = (call.this()?, call.storage(2)?);
    let size = this.size();
    let same = Cell::new(this.dtype() == other.dtype() && other.size() == size);
    in_steps(call, if same.get() { size } else { 0 }, call.dtype().width(), |done, now| {
        same.set(same.get() && call.this()?.equals_range(&*call.storage(2)?, done, now));
        Ok(())
    })?;
    Ok(Answer::Boolean(same.get()))
}

/// The storage at argument 2, from which elements are copied.
fn source(call: Call<'_>) -> Result<Borrowed<'_>, Fault> {
    call.storage(2).map_err(|fault| match tensor::class(call.state(), 2) {
        Some(dtype) => {
            let got = dtype.tensor_class_name();
            Fault::argument(
                2,
                format_args!("torch.*Storage expected, got {got}: s:view(-1):copy(x) copies the elements of a tensor"),
            )
        }
        None => fault,
    })
}

/// `s:rawcopy(other)`: copies the bytes of a storage of any class, without conversion. Both must have the same number of bytes.
/// Returns s.
fn copy_bytes(call: Call) -> Result<Answer, Fault> {
    let (this, source) = (call.this()?, call.storage(2)?);
    let bytes = this.nbytes();
    if bytes != source.nbytes() || bytes <= STEP || !this.is_disjoint(&source) {
        this.copy_bytes(&source).map_err(at_source)?;
        return Ok(Answer::Value(1));
    }
    in_steps(call, bytes, 1, |done, now| {
        let (this, source) = (call.this()?, call.storage(2)?);
        let same = this.nbytes() == bytes && source.nbytes() == bytes;
        if same { Ok(this.copy_byte_range(&source, done, now)?) } else { Err(changed()) }
    })?;
    Ok(Answer::Value(1))
}

/// Turns an error into a fault. If the width is not 1, 2, 4 or 8, or does not divide the number of bytes, the fault is about
/// argument 2, the width.
fn at_width(error: Error) -> Fault {
    match error {
        error @ Error::NoWords { .. } => Fault::from(error).at(2),
        error => Fault::from(error),
    }
}

/// Turns an error into a fault. If the sizes differ, the fault is about argument 2, the source.
fn at_source(error: Error) -> Fault {
    match error {
        error @ (Error::SizeMismatch { .. } | Error::LengthMismatch { .. }) => Fault::from(error).at(2),
        error => Fault::from(error),
    }
}
