//! The table that `require 'torch.mpi'` returns.

use std::ffi::c_int;

use crate::agreement::{Collective, Proposal};
use crate::entry::{Answer, Arguments, answer, function, raising, run};
use crate::failure::{Failure, Message, Outcome};
use crate::group::{self, push_world};
use crate::lua::{Function, Name, REGISTRY, Raising, lua_State};
use crate::table::{KEY, MAJOR, MINOR, Torch};
use crate::{collective, object, point, request, session, sys};

type Method = (Name, Function);

const COMMUNICATOR: [Method; 17] = [
    (c"rank", function(group::rank)),
    (c"size", function(group::size)),
    (c"barrier", function(group::barrier)),
    (c"abort", function(group::abort)),
    (c"free", function(group::free)),
    (c"send", function(point::send_elements)),
    (c"recv", function(point::receive_elements)),
    (c"sendrecv", function(point::send_and_receive)),
    (c"bcast", function(collective::bcast)),
    (c"reduce", function(collective::reduce)),
    (c"allreduce", function(collective::allreduce)),
    (c"gather", function(collective::gather)),
    (c"allgather", function(collective::allgather)),
    (c"scatter", function(collective::scatter)),
    (c"alltoall", function(collective::alltoall)),
    (c"__tostring", raising(group::to_string)),
    (c"__len", function(group::size)),
];

/// Their second upvalue is the metatable of requests.
const BEGINNING: [Method; 2] = [(c"isend", raising(point::begin_send)), (c"irecv", raising(point::begin_receive))];

/// Their upvalues are `torch.serialize`, `torch.deserialize` and the metatable of bytes.
const OBJECTS: [Method; 3] = [
    (c"sendobject", raising(object::send_object)),
    (c"recvobject", raising(object::receive_object)),
    (c"bcastobject", raising(object::broadcast_object)),
];

const REQUEST: [Method; 3] =
    [(c"wait", function(request::wait)), (c"test", function(request::test)), (c"__gc", function(request::collect))];

const MODULE: [Method; 6] = [
    (c"waitall", function(request::wait_all)),
    (c"check", function(check)),
    (c"finalize", function(finalize)),
    (c"library", raising(library)),
    (c"main", raising(main)),
    (c"time", function(time)),
];

/// `check(false)` leaves the agreements out. Returns whether there were some before.
fn check(arguments: Arguments) -> Outcome<Answer> {
    let checks = &session::enter()?.agreements.checks;
    let former = checks.get();
    if !arguments.state.is_absent(1) {
        checks.set(arguments.state.truth(1));
    }
    Ok(Answer::Boolean(former))
}

fn finalize(_: Arguments) -> Outcome<Answer> {
    let session = session::enter()?;
    session.agree(&session.world, Collective::Finalize, Ok(Proposal::new(Collective::Finalize)))?;
    session.end()?;
    Ok(Answer::Nothing)
}

fn library(lua: Raising) -> c_int {
    let message = Message::new(&sys::library());
    lua.push_text(message.text());
    1
}

fn time(_: Arguments) -> Outcome<Answer> {
    Ok(Answer::Number(sys::time(session::enter()?.mpi)))
}

/// `main(f, ...)` calls `f(...)`. After an error it prints the error and ends all ranks.
fn main(lua: Raising) -> c_int {
    run(lua, |arguments| {
        session::enter()?;
        if !arguments.state.is_function(1) {
            let found = arguments.state.kind_name(1);
            return Err(Failure::argument(1, format!("a function expected, got {found}")));
        }
        Ok(())
    });
    lua.push_global(c"debug");
    if lua.state().is_table(-1) {
        lua.push_field(-1, c"traceback");
    } else {
        lua.push_nil();
    }
    lua.insert(1);
    lua.state().pop();
    let has_traceback = lua.state().is_function(1);
    let arguments = lua.state().top() - 2;
    if lua.try_call(arguments, mlua_sys::LUA_MULTRET, has_traceback.into()) {
        return lua.state().top() - 1;
    }
    answer(lua, |arguments| {
        let text = arguments.state.text(-1).unwrap_or_else(|| format!("an error ({})", arguments.state.kind_name(-1)));
        let session = session::enter()?;
        // One write, because the other ranks and mpirun print at the same time.
        let line = format!("torch.mpi: rank {}: {text}\n", session.world.rank);
        eprint!("{line}");
        session.abort(session.world.handle, 1);
        Ok(Answer::Nothing)
    })
}

/// Adds functions to the table on the top. They share the table of torch-storage and the `upvalues` values at `first`.
fn add(lua: Raising, torch: c_int, first: c_int, upvalues: c_int, methods: &[Method]) {
    for &(name, function) in methods {
        lua.push_value(torch);
        for n in 0..upvalues {
            lua.push_value(first + n);
        }
        lua.push_function(function, 1 + upvalues);
        lua.set_field(-2, name);
    }
}

/// Makes the table on the top the metatable of userdata that has it as its methods too.
fn make_class(lua: Raising, name: Name) {
    lua.push_value(-1);
    lua.set_field(-2, c"__index");
    lua.push_text(name);
    lua.set_field(-2, c"__name");
    // So getmetatable does not give the metatable to Lua code.
    lua.push_text(name);
    lua.set_field(-2, c"__metatable");
}

fn open(lua: Raising) -> c_int {
    /// Stack indices.
    const TORCH: c_int = 1;
    const SERIALIZE: c_int = 2;
    const RECEIVED: c_int = 4;
    const REQUESTS: c_int = 5;
    const COMMUNICATORS: c_int = 6;

    lua.set_top(0);
    lua.push_global(c"require");
    lua.push_text(c"torch");
    lua.call(1, 1);
    lua.push_field(REGISTRY, KEY);
    lua.insert(1);
    if Torch::at(lua.state(), TORCH).is_none() {
        let text = format!("torch.mpi needs a torch-storage with the functions of torch_storage.h {MAJOR}.{MINOR}: install it");
        let message = Message::new(&text);
        drop(text);
        lua.raise(message.text());
    }
    lua.push_field(2, c"serialize");
    lua.push_field(2, c"deserialize");
    // The table of torch is not needed any more.
    lua.remove(2);

    lua.push_table();
    add(lua, TORCH, 0, 0, &[(c"__gc", raising(object::collect))]);
    make_class(lua, c"torch.mpi.Bytes");
    lua.push_table();
    add(lua, TORCH, 0, 0, &REQUEST);
    make_class(lua, c"torch.mpi.Request");
    lua.push_table();
    add(lua, TORCH, 0, 0, &COMMUNICATOR);
    add(lua, TORCH, REQUESTS, 1, &BEGINNING);
    add(lua, TORCH, SERIALIZE, 3, &OBJECTS);
    add(lua, TORCH, COMMUNICATORS, 1, &[(c"split", raising(group::split))]);
    make_class(lua, c"torch.mpi.Communicator");

    lua.push_table();
    add(lua, TORCH, 0, 0, &MODULE);
    lua.push_value(TORCH);
    lua.push_value(COMMUNICATORS);
    lua.push_function(raising(make_world), 2);
    lua.call(0, 1);
    lua.set_field(-2, c"world");
    const { assert!(RECEIVED == SERIALIZE + 2) };
    1
}

/// Begins MPI, and returns `mpi.world`.
fn make_world(lua: Raising) -> c_int {
    let world = run(lua, |_| Ok(session::begin()?.world));
    push_world(lua, world);
    1
}

/// Opens the module, for `require 'torch.mpi'`.
///
/// # Safety
/// Lua calls it with a live state.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn luaopen_torch_mpi(state: *mut lua_State) -> c_int {
    // SAFETY: [state] Lua calls this with its state. [no-drop] `open` drops its text before it raises.
    open(unsafe { Raising::new(state) })
}
