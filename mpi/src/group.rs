//! Communicators in Lua: groups of ranks. `mpi.world` has all ranks.

use std::ffi::c_int;

use crate::agreement::{Collective, Proposal};
use crate::communicator::Communicator;
use crate::entry::{Answer, Arguments, run};
use crate::failure::{Failure, Message, Outcome};
use crate::lua::{Raising, upvalue};
use crate::session;

/// Pushes a userdata that has no communicator yet. The metatable of communicators is upvalue 2.
fn push_empty(lua: Raising) -> *mut Communicator {
    let block = lua.push_block(size_of::<Communicator>()).cast::<Communicator>();
    // SAFETY: [layout] [in-bounds] the block has this size. Zeros are not the magic word, so it is not a communicator yet.
    unsafe { block.write_bytes(0, 1) };
    lua.push_value(upvalue(2));
    lua.set_metatable(-2);
    block
}

/// Pushes `mpi.world`. The metatable is upvalue 2 of the running function.
pub fn push_world(lua: Raising, world: Communicator) {
    let block = push_empty(lua);
    // SAFETY: [layout] the block has the size of a communicator.
    unsafe { block.write(world) };
}

pub fn rank(arguments: Arguments) -> Outcome<Answer> {
    let communicator = arguments.communicator()?;
    Ok(Answer::Integer(communicator.rank.into()))
}

pub fn size(arguments: Arguments) -> Outcome<Answer> {
    let communicator = arguments.communicator()?;
    Ok(Answer::Integer(communicator.size.into()))
}

pub fn barrier(arguments: Arguments) -> Outcome<Answer> {
    let communicator = arguments.communicator()?;
    let session = session::enter()?;
    if session.agreements.checks.get() {
        // No rank leaves the agreement before all ranks have come to it.
        session.agree(&communicator, Collective::Barrier, Ok(Proposal::new(Collective::Barrier)))?;
    } else {
        session.mpi.barrier(communicator.handle)?;
    }
    Ok(Answer::Nothing)
}

pub fn abort(arguments: Arguments) -> Outcome<Answer> {
    let communicator = arguments.communicator()?;
    let absent = arguments.state.is_absent(2);
    let code = if absent { 1 } else { arguments.integer(2, 0, 255, "an exit status")? };
    session::enter()?.abort(communicator.handle, code);
    Ok(Answer::Nothing)
}

pub fn split(lua: Raising) -> c_int {
    lua.set_top(3);
    let block = push_empty(lua);
    let made = run(lua, |arguments| {
        let communicator = arguments.communicator()?;
        let session = session::enter()?;
        let color = || {
            if arguments.state.is_absent(2) { Ok(None) } else { arguments.integer(2, 0, c_int::MAX, "a color").map(Some) }
        };
        let key = || {
            if arguments.state.is_absent(3) {
                Ok(communicator.rank)
            } else {
                arguments.integer(3, c_int::MIN, c_int::MAX, "a key")
            }
        };
        let given = color().and_then(|color| Ok((color, key()?)));
        let asked = given.as_ref().map(|_| Proposal::new(Collective::Split)).map_err(Failure::clone);
        session.agree(&communicator, Collective::Split, asked)?;
        let (color, key) = given?;
        let Some(handle) = session.mpi.split(communicator.handle, color, key)? else { return Ok(false) };
        let part = Communicator::new(session.mpi, handle, false)?;
        // SAFETY: [layout] [live] the block has the size of a communicator, and is on the stack.
        unsafe { block.write(part) };
        Ok(true)
    });
    if !made {
        lua.push_nil();
    }
    1
}

pub fn free(arguments: Arguments) -> Outcome<Answer> {
    let communicator = arguments.communicator()?;
    let session = session::enter()?;
    let open = session.flights.count_of(communicator.handle);
    let asked = if communicator.is_world {
        Err(Failure::argument(1, "mpi.world is not freed"))
    } else if open > 0 {
        Err(Failure::argument(1, format!("messages of this communicator are not complete: {open}")))
    } else {
        Ok(Proposal::new(Collective::Free))
    };
    session.agree(&communicator, Collective::Free, asked)?;
    if let Some(block) = arguments.state.payload::<Communicator>(1) {
        // SAFETY: [layout] [live] the block is a communicator, and an argument of the running function.
        unsafe { (*block).was_freed = true };
    }
    session.mpi.free(communicator.hidden)?;
    session.mpi.free(communicator.handle)?;
    Ok(Answer::Nothing)
}

/// `__tostring`.
pub fn to_string(lua: Raising) -> c_int {
    let message = run(lua, |arguments| {
        let Communicator { rank, size, .. } = arguments.communicator()?;
        Ok(Message::new(&format!("torch.mpi.Communicator (rank {rank} of {size})")))
    });
    lua.push_text(message.text());
    1
}
