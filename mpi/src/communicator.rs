//! Communicators: groups of ranks. `mpi.world` has all of them.

use std::ffi::{c_int, c_void};

use crate::agreement::{Kind, Request, agree};
use crate::entry::{Answer, Block, block, functions, run, run_for};
use crate::failure::{Failure, Message, Outcome};
use crate::lua::{Raising, upvalue};
use crate::session;
use crate::sys::{MPI_Comm, Mpi};

/// The block of a communicator's userdata.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Communicator {
    magic: *const c_void,
    pub handle: MPI_Comm,
    /// The same ranks, for messages of this library itself.
    pub hidden: MPI_Comm,
    pub rank: c_int,
    pub size: c_int,
    pub largest_tag: c_int,
    is_world: bool,
    pub was_freed: bool,
}

static MAGIC: u8 = 1;

impl Block for Communicator {
    fn magic() -> *const c_void {
        (&raw const MAGIC).cast()
    }
}

impl Communicator {
    /// Takes a handle of MPI. All its ranks call this.
    pub fn new(mpi: Mpi, handle: MPI_Comm, is_world: bool) -> Outcome<Self> {
        mpi.return_errors(handle)?;
        let hidden = mpi.duplicate(handle)?;
        Ok(Self {
            magic: Self::magic(),
            handle,
            hidden,
            rank: mpi.rank(handle)?,
            size: mpi.size(handle)?,
            largest_tag: mpi.largest_tag(handle)?,
            is_world,
            was_freed: false,
        })
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        usize::try_from(self.size).unwrap_or(1)
    }
}

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

functions! {
    rank(lua) {
        run(lua, |arguments| {
            let communicator = arguments.communicator()?;
            Ok(Answer::Integer(communicator.rank.into()))
        })
    }

    size(lua) {
        run(lua, |arguments| {
            let communicator = arguments.communicator()?;
            Ok(Answer::Integer(communicator.size.into()))
        })
    }

    barrier(lua) {
        run(lua, |arguments| {
            let communicator = arguments.communicator()?;
            let session = session::enter()?;
            if session::checks() {
                // No rank leaves the agreement before all have come.
                agree(session, &communicator, Kind::Barrier, Ok(Request::new(Kind::Barrier)))?;
            } else {
                session.mpi.barrier(communicator.handle)?;
            }
            Ok(Answer::Nothing)
        })
    }

    abort(lua) {
        run(lua, |arguments| {
            let communicator = arguments.communicator()?;
            let absent = arguments.state.is_absent(2);
            let code = if absent { 1 } else { arguments.integer(2, 0, 255, "an exit status")? };
            session::enter()?.abort(communicator.handle, code);
            Ok(Answer::Nothing)
        })
    }

    split(lua) {
        lua.set_top(3);
        let block = push_empty(lua);
        let made = run_for(lua, |arguments| {
            let communicator = arguments.communicator()?;
            let session = session::enter()?;
            let color = || {
                if arguments.state.is_absent(2) { Ok(None) } else { arguments.integer(2, 0, c_int::MAX, "a color").map(Some) }
            };
            let key = || {
                if arguments.state.is_absent(3) { Ok(communicator.rank) } else { arguments.integer(3, c_int::MIN, c_int::MAX, "a key") }
            };
            let given = color().and_then(|color| Ok((color, key()?)));
            let asked = given.as_ref().map(|_| Request::new(Kind::Split)).map_err(Failure::clone);
            agree(session, &communicator, Kind::Split, asked)?;
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

    free(lua) {
        run(lua, |arguments| {
            let communicator = arguments.communicator()?;
            let session = session::enter()?;
            let open = session.flights.count_of(communicator.handle);
            let asked = if communicator.is_world {
                Err(Failure::argument(1, "mpi.world is not freed"))
            } else if open > 0 {
                Err(Failure::argument(1, format!("messages of this communicator are not complete: {open}")))
            } else {
                Ok(Request::new(Kind::Free))
            };
            agree(session, &communicator, Kind::Free, asked)?;
            if let Some(block) = block::<Communicator>(arguments.state, 1) {
                // SAFETY: [layout] [live] the block is a communicator, and an argument of the running function.
                unsafe { (*block).was_freed = true };
            }
            session.mpi.free(communicator.hidden)?;
            session.mpi.free(communicator.handle)?;
            Ok(Answer::Nothing)
        })
    }

    /// `__tostring`.
    to_string(lua) {
        let message = run_for(lua, |arguments| {
            let Communicator { rank, size, .. } = arguments.communicator()?;
            Ok(Message::new(&format!("torch.mpi.Communicator (rank {rank} of {size})")))
        });
        lua.push_text(message.text());
        1
    }
}
