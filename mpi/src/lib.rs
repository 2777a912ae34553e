//! `torch.mpi`: storages and contiguous tensors of torch-storage as buffers of MPI, in place.
//!
//! ```text
//! module         the table that require 'torch.mpi' returns
//! group          groups of ranks: rank, size, split, barrier, abort
//! point          send, recv, sendrecv, isend, irecv
//! request        what isend and irecv return
//! collective     bcast, reduce, gather and so on
//! object         any Lua value, through torch.serialize
//! ------------------------------------------------------- below this line a function does not raise Lua errors
//! session        the beginning and the end of MPI in this process
//! agreement      the ranks compare what they are about to do
//! flight         messages that are not complete: matching, waiting, giving up
//! arrival        a message that has come: whether it fits, and receiving it
//! communicator   a group of ranks that MPI knows
//! elements       elements of a storage as a buffer of MPI; reductions
//! sys            calls of MPI
//! ------------------------------------------------------- both parts use these
//! entry          how Lua calls a function: arguments, results, errors
//! lua            Lua's C API
//! table          the functions of include/torch_storage.h
//! failure        what can go wrong
//! ```
//!
//! The rules that the proofs of `unsafe` blocks cite are in `docs/architecture.md`. This crate has one more:
//!
//! - `[mpi]` MPI is called by the thread that began it, in the process that began it, between its beginning and its end: whoever has
//!   a [`sys::Mpi`] may do so. Handles are constants or came from MPI, and were not given back.

mod agreement;
mod arrival;
mod collective;
mod communicator;
mod elements;
mod entry;
mod failure;
mod flight;
mod group;
mod lua;
mod module;
mod object;
mod point;
mod request;
mod session;
mod sys;
mod table;

pub use module::luaopen_torch_mpi;
