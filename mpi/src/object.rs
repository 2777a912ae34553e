//! Any Lua value as a message, through `torch.serialize` and `torch.deserialize`, which are upvalues 2 and 3.
//!
//! A value that was received is in memory of ours until Lua has made a string of it. A userdata holds that memory, because making the
//! string may raise.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::agreement::{Collective, Proposal};
use crate::arrival::{Envelope, Found};
use crate::elements::Buffer;
use crate::entry::{Arguments, run};
use crate::failure::{Failure, Outcome};
use crate::flight::Pattern;
use crate::lua::{Payload, Raising, upvalue};
use crate::point;
use crate::session::{self, Session};
use crate::sys::MPI_Comm;
use crate::table::View;

/// The block of a userdata with bytes that were received.
#[derive(Clone, Copy)]
#[repr(C)]
struct Received {
    magic: *const c_void,
    /// From `Box::into_raw`, or null.
    bytes: *mut [u8],
}

static MAGIC: u8 = 3;

impl Payload for Received {
    fn magic() -> *const c_void {
        (&raw const MAGIC).cast()
    }
}

const NOTHING: *mut [u8] = ptr::slice_from_raw_parts_mut(ptr::null_mut(), 0);

/// Pushes a userdata for bytes. Its metatable is upvalue 4.
fn push_received(lua: Raising) -> *mut Received {
    let received = lua.push_block(size_of::<Received>()).cast::<Received>();
    // SAFETY: [layout] the block has this size.
    unsafe { received.write(Received { magic: Received::magic(), bytes: NOTHING }) };
    lua.push_value(upvalue(4));
    lua.set_metatable(-2);
    received
}

/// Gives the bytes back.
fn release(received: *mut Received) {
    // SAFETY: [layout] [live] the block is on the stack.
    let Received { magic, bytes } = unsafe { received.read() };
    // SAFETY: [layout] [live] the same.
    unsafe { received.write(Received { magic, bytes: NOTHING }) };
    if !bytes.is_null() {
        // SAFETY: [owned] the bytes came from `Box::into_raw`, and the block does not have them any more.
        drop(unsafe { Box::from_raw(bytes) });
    }
}

/// Memory for `size` bytes, in the userdata.
fn allocate(received: *mut Received, size: usize) -> Outcome<View> {
    let mut bytes: Vec<u8> = Vec::new();
    bytes.try_reserve_exact(size).map_err(|_| Failure::new(format!("no memory for a value of {size} bytes")))?;
    bytes.resize(size, 0);
    let bytes = Box::into_raw(bytes.into_boxed_slice());
    // SAFETY: [layout] [live] the block is on the stack, and has no bytes yet.
    unsafe { received.write(Received { magic: Received::magic(), bytes }) };
    // SAFETY: [owned] the block has the bytes, and nobody else uses them.
    Ok(View::over(unsafe { &mut *bytes }))
}

/// Makes a Lua value of the bytes in the userdata.
fn push_value(lua: Raising, received: *mut Received) {
    lua.push_value(upvalue(3));
    // SAFETY: [layout] [live] the block is on the stack.
    let bytes = unsafe { received.read() }.bytes;
    // SAFETY: [live] the userdata is on the stack, and only this function gives its bytes back.
    unsafe { lua.push_bytes(bytes) };
    release(received);
    lua.call(1, 1);
}

/// The bytes of the string at a stack index.
fn string(arguments: Arguments, index: c_int) -> Outcome<View> {
    let bytes = arguments.state.bytes(index).ok_or_else(|| Failure::new("torch.serialize returned no string"))?;
    Ok(View::of_bytes(bytes))
}

fn receive(session: &Session, pattern: Pattern, received: *mut Received) -> Outcome<Envelope> {
    let found = session.flights.find(session.mpi, pattern)?;
    let found = Found::new(session.mpi, found, &View::over(&mut []))?;
    let view = allocate(received, found.envelope.count)?;
    found.receive(session.mpi, &view)
}

/// Sends the bytes to all ranks, or receives them. First the ranks learn how many there are.
fn broadcast(session: &Session, bytes: Option<View>, root: c_int, communicator: MPI_Comm, received: *mut Received) -> Outcome {
    let mut size = bytes.map_or(0, |bytes| bytes.size as u64).to_ne_bytes();
    // SAFETY: [live] our own memory, and this waits for MPI.
    let buffer = unsafe { Buffer::new(session.mpi, &View::over(&mut size)) }?;
    session.mpi.bcast(buffer.raw(), root, communicator)?;
    let view = match bytes {
        Some(view) => view,
        None => allocate(received, usize::try_from(u64::from_ne_bytes(size)).unwrap_or(usize::MAX))?,
    };
    // SAFETY: [live] the string or the userdata is on the stack, and this waits for MPI.
    let buffer = unsafe { Buffer::new(session.mpi, &view) }?;
    session.mpi.bcast(buffer.raw(), root, communicator)
}

/// `sendobject(value, rank, tag)`.
pub fn send_object(lua: Raising) -> c_int {
    lua.set_top(4);
    run(lua, |arguments| {
        let communicator = arguments.communicator()?;
        session::enter()?;
        arguments.rank(3, &communicator)?;
        arguments.tag(4, &communicator).map(|_| ())
    });
    lua.push_value(upvalue(2));
    lua.push_value(2);
    lua.call(1, 1);
    run(lua, |arguments| {
        let communicator = arguments.communicator()?;
        let session = session::enter()?;
        let rank = arguments.rank(3, &communicator)?;
        let tag = arguments.tag(4, &communicator)?;
        point::send(session, &string(arguments, 5)?, rank, tag, communicator.handle)
    });
    0
}

/// `recvobject(source, tag)`.
pub fn receive_object(lua: Raising) -> c_int {
    lua.set_top(3);
    let received = push_received(lua);
    let envelope = run(lua, |arguments| {
        let communicator = arguments.communicator()?;
        let session = session::enter()?;
        let source = arguments.source(2, &communicator)?;
        let tag = arguments.any_tag(3, &communicator)?;
        receive(session, Pattern { communicator: communicator.handle, source, tag }, received)
    });
    push_value(lua, received);
    lua.push_integer(envelope.source.into());
    lua.push_integer(envelope.tag.into());
    3
}

/// `bcastobject(value, root)`.
pub fn broadcast_object(lua: Raising) -> c_int {
    lua.set_top(3);
    let is_root = run(lua, |arguments| {
        let communicator = arguments.communicator()?;
        session::enter()?;
        Ok(arguments.root(3, &communicator).is_ok_and(|root| root == communicator.rank))
    });
    // A value that cannot be serialized is an error of all ranks, so this one does not raise it at once.
    let mut is_serialized = true;
    if is_root {
        lua.push_value(upvalue(2));
        lua.push_value(2);
        is_serialized = lua.try_call(1, 1, 0);
    } else {
        lua.push_nil();
    }
    let received = push_received(lua);
    let is_done = run(lua, |arguments| {
        let communicator = arguments.communicator()?;
        let session = session::enter()?;
        let asked = arguments.root(3, &communicator).map(|root| Proposal { root, ..Proposal::new(Collective::BcastObject) });
        let asked = if is_serialized { asked } else { Err(Failure::new("the value was not serialized")) };
        let agreed = session.agree(&communicator, Collective::BcastObject, asked);
        if !is_serialized {
            return Ok(false);
        }
        let root = agreed?.root;
        let bytes = if is_root { Some(string(arguments, 4)?) } else { None };
        broadcast(session, bytes, root, communicator.handle, received)?;
        Ok(true)
    });
    if !is_done {
        // The error of torch.serialize.
        lua.push_value(4);
        lua.raise_top();
    }
    if is_root {
        lua.push_value(2);
    } else {
        push_value(lua, received);
    }
    1
}

/// `__gc` of the bytes.
pub fn collect(lua: Raising) -> c_int {
    if let Some(received) = lua.state().payload::<Received>(1) {
        release(received);
    }
    0
}
