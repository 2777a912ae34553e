//! Memory that several hold: shared memory, and storages on their way between Lua states.

use std::ffi::{OsStr, c_int};
use std::os::unix::ffi::OsStrExt;

use super::Method;
use super::references::give_back_anchor;
use super::transfer::push_bytes_of;
use crate::element::DType;
use crate::error::Error;
use crate::lua::args::Call;
use crate::lua::entry::{self, Answer, functions};
use crate::lua::fault::Fault;
use crate::lua::pressure;
use crate::lua::state::lua_State;
use crate::storage::{Storage, Token, shared_memory, unlink_shared_memory};

/// The methods of this file.
pub const METHODS: &[Method] = &[(c"shareMemory", share_memory), (c"isShared", is_shared), (c"token", token)];

/// Functions of the module.
pub const FUNCTIONS: &[Method] = &[
    (c"fromToken", from_token),
    (c"dropToken", drop_token),
    (c"publish", publish),
    (c"lookup", lookup),
    (c"unpublish", unpublish),
    (c"unlinkSharedMemory", unlink),
    (c"listshared", list_shared),
];

functions! {
    /// `s:isShared()`: whether other processes can see what is written: a shared map of a file, or shared memory.
    fn is_shared(call) {
        Ok(Answer::Boolean(call.this()?.is_shared()))
    }

    /// `torch.dropToken(token)`: gives back the reference that waits for the token.
    fn drop_token(call) {
        let storage = take(call)?;
        give_back_anchor(call.state(), storage.release(call.state_id()));
        Ok(Answer::Nothing)
    }

    /// `torch.publish(name, s)`: lets all Lua states of this process find the storage by `torch.lookup(name)`.
    fn publish(call) {
        let name = call.string(1)?;
        call.storage(2)?.publish(name, call.state_id())?;
        Ok(Answer::Nothing)
    }

    /// `torch.unpublish(name)`: ends that; whether there was such a name. Who has looked the storage up keeps it.
    fn unpublish(call) {
        let published = Storage::unpublish(call.string(1)?, call.state_id());
        let was = published.is_some();
        if let Some(storage) = published {
            give_back_anchor(call.state(), storage.release(call.state_id()));
        }
        Ok(Answer::Boolean(was))
    }

    /// `torch.unlinkSharedMemory(name)`: removes the name of shared memory; whether there was such a one. Who maps it keeps it.
    fn unlink(call) {
        Ok(Answer::Boolean(unlink_shared_memory(OsStr::from_bytes(call.string(1)?))?))
    }
}

/// `s:shareMemory([name])`: moves a heap storage's elements to shared memory, of a new name or of none; returns s.
unsafe extern "C-unwind" fn share_memory(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive, and no argument has been read.
    unsafe { pressure::relieve(call.state()) };
    let body = |call: Call| {
        let name = if call.is_absent(2) { None } else { Some(OsStr::from_bytes(call.string(2)?)) };
        call.this()?.share_memory(name, call.state_id())?;
        Ok(Answer::Value(1))
    };
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { entry::enter(state, body) }
}

/// `s:token()`: a string for one `torch.fromToken`, in whatever Lua state of this process. The text comes first: making it may
/// raise.
unsafe extern "C-unwind" fn token(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    unsafe { entry::run(call, |call| call.this().map(|_| ())) };
    let token = Token::new();
    let text = token.text();
    // SAFETY: nothing droppable is alive; a text is plain data.
    unsafe { call.state().push_bytes(text.as_bytes()) };
    // SAFETY: nothing droppable is alive.
    unsafe { entry::run(call.with_frame(call.state().top()), |call| Ok(call.this()?.park(token, call.state_id())?)) };
    1
}

fn read_token(call: Call) -> Result<Token, Fault> {
    let text = std::str::from_utf8(call.string(1)?).map_err(|_| Error::NotAToken);
    text.and_then(str::parse).map_err(|error| Fault::from(error).at(1))
}

/// `torch.fromToken(token)`: a userdata for the storage whose reference waits for the token, which is worth nothing from now on.
unsafe extern "C-unwind" fn from_token(state: *mut lua_State) -> c_int {
    let class = |call: Call| read_token(call)?.dtype().map_err(|error| Fault::from(error).at(1));
    // SAFETY: Lua calls this with a live state, and the function is pushed with our upvalues only.
    unsafe { entry::construct(state, class, take) }
}

/// The storage whose reference waits for the token at argument 1.
fn take(call: Call) -> Result<Storage, Fault> {
    Storage::from_token(read_token(call)?, call.state_id()).map_err(|error| Fault::from(error).at(1))
}

/// `torch.lookup(name)`: a userdata for the storage that is published under the name; nil if there is none.
unsafe extern "C-unwind" fn lookup(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    // SAFETY: nothing droppable is alive.
    let Some(dtype) = (unsafe { entry::run(call, |call| Ok(Storage::published(call.string(1)?))) }) else {
        call.state().push_nil();
        return 1;
    };
    // SAFETY: nothing droppable is alive.
    unsafe { entry::construct_as(call, dtype, move |call| find(call, dtype)) }
}

/// The class was looked at before, and another thread may have changed the publication since.
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

/// `core.listshared()`: the shared memory objects as one string, for the Lua side to take apart: name, zero byte, length in bytes,
/// space, 1 if it is held or 0, newline.
unsafe extern "C-unwind" fn list_shared(state: *mut lua_State) -> c_int {
    // SAFETY: Lua calls this with a live state.
    let call = unsafe { Call::new(state) };
    let body = |_: Call, push: &dyn Fn(*const [u8]) -> bool| {
        let mut text = Vec::new();
        for object in shared_memory()? {
            text.extend_from_slice(object.name.as_bytes());
            text.extend_from_slice(format!("\0{} {}\n", object.bytes, u8::from(object.held)).as_bytes());
        }
        Ok(push(&raw const *text))
    };
    // SAFETY: nothing droppable is alive.
    unsafe { push_bytes_of(call, body) }
}
