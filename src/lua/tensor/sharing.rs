//! Tokens of tensors: the token of the storage, with the layout at the end of its text.
//!
//! The text is `torch-storage:PROCESS:RANDOM:NUMBER:OFFSET:SIZES:STRIDES`, with an `x` between sizes and between strides, as in
//! `...:0:2x3:3x1`. It has only letters, digits, `-` and `:`, like that of a storage, so every channel that carries one carries the
//! other. A program can change it. That does no harm, because the layout is compared with the storage when the token is taken.

use std::ffi::c_int;
use std::fmt::{Display, Write};
use std::str::FromStr;

use super::making::{Made, make_as};
use crate::element::DType;
use crate::error::Error;
use crate::fallible::{NoMemory, collected};
use crate::lua::args::Call;
use crate::lua::entry::raising;
use crate::lua::fault::Fault;
use crate::lua::methods::Method;
use crate::lua::methods::transfer::push_bytes_of;
use crate::lua::state::Raising;
use crate::storage::{Storage, Token};
use crate::tensor::Layout;

pub const METHODS: &[Method] = &[(c"token", raising(token))];

/// `x:token()`: a string that stands for one reference to the storage, and has the shape of the tensor. `torch.fromToken` makes the
/// tensor of it once, in any Lua state of this process. The string is pushed before the reference is made, because pushing may
/// raise.
fn token(lua: Raising) -> c_int {
    let body = |call: Call, push: &dyn Fn(*const [u8]) -> bool| {
        let token = Token::new();
        let text = {
            let this = call.this_tensor()?;
            this.elements().check()?;
            text_of(token, this.layout)?
        };
        let done = push(&raw const *text.into_bytes());
        if done {
            // Pushing the string may have run finalizers, so the tensor is looked up again.
            call.this_tensor()?.storage.park(token, call.state_id())?;
        }
        Ok(done)
    };
    push_bytes_of(lua, Call::new(lua), body)
}

/// The parts of the text of a storage's token, which those of the layout follow.
const PARTS: usize = 4;

fn text_of(token: Token, layout: &Layout) -> Result<String, Fault> {
    /// The most characters of a number with what is before it.
    const NUMBER: usize = 22;
    let numbers = PARTS + 1 + 2 * layout.dimensions();
    let mut text = String::new();
    text.try_reserve_exact(numbers * NUMBER).map_err(|_| NoMemory { bytes: numbers * NUMBER })?;
    // Writing to a string that has room does not fail.
    let _ = write!(text, "{token}:{}:", layout.offset());
    write_list(&mut text, layout.sizes());
    text.push(':');
    write_list(&mut text, layout.strides());
    Ok(text)
}

fn write_list(text: &mut String, numbers: &[impl Display]) {
    for (n, number) in numbers.iter().enumerate() {
        // Writing to a string that has room does not fail.
        let _ = write!(text, "{}{number}", if n > 0 { "x" } else { "" });
    }
}

/// The token at argument 1, and the layout in its text if it is that of a tensor.
pub fn read_token(call: Call) -> Result<(Token, Option<Layout>), Fault> {
    let text = call.string(1)?;
    read(text).map_err(|error| Fault::from(error).at(1))
}

fn read(text: &[u8]) -> Result<(Token, Option<Layout>), Error> {
    let text = str::from_utf8(text).map_err(|_| Error::NotAToken)?;
    let Some((end, _)) = text.match_indices(':').nth(PARTS - 1) else { return Ok((text.parse()?, None)) };
    let token = text[..end].parse()?;
    let mut parts = text[end + 1..].split(':');
    let mut next = || parts.next().ok_or(Error::NotAToken);
    let (offset, sizes, strides) = (number(next()?)?, list(next()?)?, list(next()?)?);
    if parts.next().is_some() {
        return Err(Error::NotAToken);
    }
    Ok((token, Some(Layout::strided(offset, &sizes, &strides)?)))
}

fn number<T: FromStr>(text: &str) -> Result<T, Error> {
    text.parse().ok().filter(|_| !text.starts_with('+')).ok_or(Error::NotAToken)
}

fn list<T: FromStr>(text: &str) -> Result<Vec<T>, Error> {
    if text.is_empty() { Ok(Vec::new()) } else { collected(text.split('x').map(number)) }
}

/// The class of the storage that the token at argument 1 refers to, and whether it is the token of a tensor. It is a fault if a
/// tensor of the layout in the text cannot be made. Nothing changes: the token can still be taken.
pub fn is_of_tensor(call: Call) -> Result<(DType, bool), Fault> {
    let (token, layout) = read_token(call)?;
    let (dtype, size) = token.parked().map_err(|error| Fault::from(error).at(1))?;
    if let Some(layout) = &layout {
        if dtype.is_untyped() {
            return Err(Fault::argument(1, "there are no tensors of bytes without a type"));
        }
        layout.span_in(size).map_err(|error| Fault::from(error).at(1))?;
    }
    Ok((dtype, layout.is_some()))
}

/// Pushes the tensor that the token at argument 1 stands for, and takes over its reference. [`is_of_tensor`] has told the class.
pub fn from_token(lua: Raising, call: Call, dtype: DType) -> c_int {
    make_as(lua, call, dtype, |call| {
        let (token, Some(layout)) = read_token(call)? else { return Err(Fault::from(Error::NotAToken).at(1)) };
        let storage = Storage::from_token(token, call.state_id()).map_err(|error| Fault::from(error).at(1))?;
        Ok(Made::new(storage, layout))
    })
}
