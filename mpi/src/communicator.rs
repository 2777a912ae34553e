//! A communicator: a group of ranks that MPI knows.

use std::ffi::{c_int, c_void};

use crate::failure::Outcome;
use crate::lua::Payload;
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
    pub is_world: bool,
    pub was_freed: bool,
}

static MAGIC: u8 = 1;

impl Payload for Communicator {
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
