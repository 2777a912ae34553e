//! Storages that several Lua states or processes use: shared memory, tokens, publications.

use std::ffi::c_int;
use std::path::Path;

use super::Method;
use super::references::give_back_anchor;
use super::transfer::push_bytes_of;
use crate::element::DType;
use crate::fallible;
use crate::lua::args::Call;
use crate::lua::entry::{self, Answer, function, growing, raising};
use crate::lua::fault::Fault;
use crate::lua::restricted::expect_listed;
use crate::lua::state::Raising;
use crate::lua::{pressure, tensor};
use crate::storage::{Storage, Token, shared_memory, unlink_shared_memory};
use crate::system::{files, names};
use std::io::Write;

pub const METHODS: &[Method] =
    &[(c"shareMemory", growing(share_memory)), (c"isShared", function(is_shared)), (c"token", raising(token))];

pub const FUNCTIONS: &[Method] = &[
    (c"fromToken", raising(from_token)),
    (c"dropToken", function(drop_token)),
    (c"publish", function(publish)),
    (c"lookup", raising(lookup)),
    (c"unpublish", function(unpublish)),
    (c"unlinkSharedMemory", function(unlink)),
    (c"listshared", raising(list_shared)),
];

/// `s:isShared()`: whether other processes can see writes to the elements. This is so for a shared map of a file and for
/// shared memory.
fn is_shared(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Boolean(call.this()?.is_shared()))
}

/// `torch.dropToken(token)`: gives back the reference that the token stands for.
fn drop_token(call: Call) -> Result<Answer, Fault> {
    let storage = take(call)?;
    give_back_anchor(call.state(), storage.release(call.state_id()));
    Ok(Answer::Nothing)
}

/// `torch.publish(name, s)`: lets all Lua states of this process find the storage by `torch.lookup(name)`.
fn publish(call: Call) -> Result<Answer, Fault> {
    let name = call.string(1)?;
    call.storage(2)?.publish(name, call.state_id())?;
    Ok(Answer::Nothing)
}

/// `torch.unpublish(name)`: removes a publication, and returns whether there was one. Lua states that have looked the storage up
/// keep it.
fn unpublish(call: Call) -> Result<Answer, Fault> {
    let published = Storage::unpublish(call.string(1)?, call.state_id())?;
    let was = published.is_some();
    if let Some(storage) = published {
        give_back_anchor(call.state(), storage.release(call.state_id()));
    }
    Ok(Answer::Boolean(was))
}

/// `torch.unlinkSharedMemory(name)`: removes the name of shared memory, and returns whether there was one. Storages in that
/// memory keep it.
fn unlink(call: Call) -> Result<Answer, Fault> {
    Ok(Answer::Boolean(unlink_shared_memory(names::of_lua(call.string(1)?)?.as_os_str())?))
}

/// `s:shareMemory([name])`: moves a heap storage's elements to shared memory, with a new name or without one; returns s.
fn share_memory(call: Call) -> Result<Answer, Fault> {
    let name = if call.is_absent(2) { None } else { Some(names::of_lua(call.string(2)?)?) };
    call.this()?.share_memory(name.as_deref().map(Path::as_os_str), call.state_id())?;
    Ok(Answer::Value(1))
}

/// `s:token()`: a string that stands for one reference to the storage. `torch.fromToken` takes the reference once, in any Lua
/// state of this process. The string is pushed before the reference is made, because pushing may raise.
fn token(lua: Raising) -> c_int {
    let call = Call::new(lua);
    entry::run(lua, call, |call| call.this().map(|_| ()));
    let token = Token::new();
    let text = token.text();
    // SAFETY: [live] the text is in this frame.
    unsafe { lua.push_bytes(text.as_bytes()) };
    entry::run(lua, call.with_frame(lua.top()), |call| Ok(call.this()?.park(token, call.state_id())?));
    1
}

/// `torch.fromToken(token)`: the storage or tensor of the token, with the reference of the token. The token cannot be used again.
fn from_token(lua: Raising) -> c_int {
    let call = Call::new(lua);
    pressure::relieve(lua);
    match entry::run(lua, call, tensor::is_of_tensor) {
        (dtype, true) => tensor::from_token(lua, call, dtype),
        (dtype, false) => entry::construct(lua, call, dtype, take),
    }
}

/// `torch.lookup(name)`: a userdata for the storage that is published under the name; nil if there is none.
fn lookup(lua: Raising) -> c_int {
    let call = Call::new(lua);
    let published = |call: Call| {
        expect_listed(call)?;
        Ok(Storage::published(call.string(1)?))
    };
    let Some(dtype) = entry::run(lua, call, published) else {
        lua.push_nil();
        return 1;
    };
    entry::construct(lua, call, dtype, |call| find(call, dtype))
}

/// `core.listshared()`: the shared memory objects as one string, which `lua/torch` parses. For each object the string has its
/// name, a zero byte, its length in bytes, a space, 1 if a process holds it or else 0, and a newline.
fn list_shared(lua: Raising) -> c_int {
    let body = |_: Call, push: &dyn Fn(*const [u8]) -> bool| {
        let mut text = Vec::new();
        for object in shared_memory()? {
            let mut room = [0; files::LONGEST];
            let name = names::for_lua(object.name.as_encoded_bytes(), &mut room);
            // Enough for a number of 64 bits and what is around it.
            fallible::reserve(&mut text, name.len() + 32)?;
            text.extend_from_slice(name);
            // Writing to a vector that has room does not fail.
            let _ = writeln!(text, "\0{} {}", object.bytes, u8::from(object.held));
        }
        Ok(push(&raw const *text))
    };
    push_bytes_of(lua, Call::new(lua), body)
}

/// Takes the reference that the token at argument 1 stands for.
fn take(call: Call) -> Result<Storage, Fault> {
    let (token, _) = tensor::read_token(call)?;
    Storage::from_token(token, call.state_id()).map_err(|error| Fault::from(error).at(1))
}

/// The storage that is published under the name at argument 1. It is a fault if the storage is gone or of another class than
/// `dtype`, because another thread has changed the publication after its class was read.
fn find(call: Call, dtype: DType) -> Result<Storage, Fault> {
    let found = Storage::lookup(call.string(1)?, call.state_id())?;
    let mut other = None;
    match found {
        Some(storage) if storage.dtype() == dtype => return Ok(storage),
        Some(storage) => other = storage.release(call.state_id()),
        None => {}
    }
    give_back_anchor(call.state(), other);
    Err(Fault::argument(1, "the publication has just been changed: look it up again"))
}
