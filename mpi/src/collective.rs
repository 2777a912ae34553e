//! Collectives: what all ranks of a communicator do together, in place or from one storage to another.
//!
//! Each function reads its arguments, the ranks agree about them, and then MPI does it.

use std::ffi::c_int;

use crate::agreement::{Collective, Proposal};
use crate::communicator::Communicator;
use crate::elements::{Buffer, Operation, pieces};
use crate::entry::{Answer, Arguments};
use crate::failure::{Failure, Outcome};
use crate::session::{self, Session};
use crate::sys::{MPI_Op, RawBuffer};
use crate::table::{ALIGNED, View, WRITABLE};

/// The arguments of a collective. A rank that has no `from` or no `to`, or works in place, has `None` there.
#[derive(Clone, Copy)]
struct Plan {
    proposal: Proposal,
    from: Option<View>,
    to: Option<View>,
}

/// Reads the arguments, lets the ranks agree, and does the collective.
fn collective(
    arguments: Arguments,
    collective: Collective,
    read: impl FnOnce(Arguments, &Communicator) -> Outcome<Plan>,
    act: impl FnOnce(&Session, &Communicator, Plan) -> Outcome,
) -> Outcome<Answer> {
    let communicator = arguments.communicator()?;
    let session = session::enter()?;
    let plan = read(arguments, &communicator);
    let own = plan.as_ref().map(|plan| plan.proposal).map_err(Failure::clone);
    session.agree(&communicator, collective, own)?;
    act(session, &communicator, plan?)?;
    Ok(Answer::Nothing)
}

/// Whether argument `n` stands for a second storage: a number or nothing does not.
fn is_storage(arguments: Arguments, n: c_int) -> bool {
    !arguments.state.is_absent(n) && !arguments.state.is_number(n)
}

/// A buffer of some elements of a plan.
fn buffer(session: &Session, view: Option<View>, size: usize) -> Outcome<Option<Buffer>> {
    let first = view.map(|view| view.part(0, size));
    // SAFETY: [live] the views of a plan are of arguments of the running function, which waits for MPI.
    first.map(|view| unsafe { Buffer::new(session.mpi, &view) }).transpose()
}

/// Calls MPI with buffers of `size` elements. A rank that has no `from` works in place, and one that has no `to` gets nothing.
fn with_buffers(
    session: &Session,
    from: Option<View>,
    to: Option<View>,
    size: usize,
    act: impl FnOnce(RawBuffer, RawBuffer) -> Outcome,
) -> Outcome {
    let (from, to) = (buffer(session, from, size)?, buffer(session, to, size)?);
    act(from.as_ref().map_or_else(RawBuffer::in_place, Buffer::raw), to.as_ref().map_or_else(RawBuffer::nothing, Buffer::raw))
}

fn disjoint(from: &View, to: &View, n: c_int) -> Outcome {
    if from.overlaps(to) {
        return Err(Failure::argument(n, "other memory than that of the first storage expected: leave it out to work in place"));
    }
    Ok(())
}

/// Fails if a storage does not have `size` elements. `why` says where that number comes from.
fn sized(view: &View, size: usize, n: c_int, why: &str) -> Outcome {
    if view.size == size {
        return Ok(());
    }
    Err(Failure::argument(n, format!("{size} elements expected ({why}), got {}", view.size)))
}

/// The part of each rank in a storage that has the parts of all.
fn share(view: &View, communicator: &Communicator, n: c_int) -> Outcome<usize> {
    let ranks = communicator.ranks();
    if view.size.is_multiple_of(ranks) {
        return Ok(view.size / ranks);
    }
    Err(Failure::argument(n, format!("a multiple of {ranks} elements expected (one part for each rank), got {}", view.size)))
}

const WHOLE: &str = "those of each rank, one after the other";

/// `reduce(s, op)`, `reduce(from, to, op)`: the arguments of reductions, and the index of the first one after the operation.
fn reduction(
    arguments: Arguments,
    collective: Collective,
    has_target: impl Fn(c_int) -> Outcome<bool>,
) -> Outcome<(Plan, c_int)> {
    let is_in_place = arguments.state.is_string(3);
    let n = if is_in_place { 3 } else { 4 };
    let operation = arguments.operation(n)?;
    let has_target = has_target(n + 1)?;
    let from = if is_in_place && has_target { arguments.target(2, ALIGNED)? } else { arguments.elements(2, ALIGNED)? };
    operation.for_elements(&from).map_err(|why| Failure::argument(2, why))?;
    let mut proposal = Proposal::new(collective);
    proposal.size = from.size;
    proposal.elements = Some(from);
    proposal.operation = Some(operation);
    if is_in_place {
        let (from, to) = if has_target { (None, Some(from)) } else { (Some(from), None) };
        return Ok((Plan { proposal, from, to }, n + 1));
    }
    let to = if has_target {
        let to = arguments.same_class(3, &from, ALIGNED | WRITABLE)?;
        sized(&to, from.size, 3, "as many as in the first storage")?;
        disjoint(&from, &to, 3)?;
        Some(to)
    } else {
        None
    };
    Ok((Plan { proposal, from: Some(from), to }, n + 1))
}

/// Calls MPI for each piece of a reduction.
fn reduce_pieces(session: &Session, plan: Plan, act: impl Fn(RawBuffer, RawBuffer, MPI_Op) -> Outcome) -> Outcome {
    let (Some(elements), Some(operation)) = (plan.proposal.elements, plan.proposal.operation) else { return Ok(()) };
    let operation = Operation::for_elements(operation, &elements).map_err(Failure::new)?;
    for (first, size) in pieces(plan.proposal.size) {
        let piece = |view: Option<View>| view.map(|view| view.part(first, size));
        with_buffers(session, piece(plan.from), piece(plan.to), size, |from, to| act(from, to, operation))?;
    }
    Ok(())
}

pub fn bcast(arguments: Arguments) -> Outcome<Answer> {
    collective(
        arguments,
        Collective::Bcast,
        |arguments, communicator| {
            let root = arguments.root(3, communicator)?;
            let view = if root == communicator.rank { arguments.elements(2, 0)? } else { arguments.target(2, 0)? };
            let proposal = Proposal { size: view.size, elements: Some(view), root, ..Proposal::new(Collective::Bcast) };
            Ok(Plan { proposal, from: None, to: Some(view) })
        },
        |session, communicator, plan| {
            with_buffers(session, None, plan.to, plan.proposal.size, |_, to| {
                session.mpi.bcast(to, plan.proposal.root, communicator.handle)
            })
        },
    )
}

pub fn reduce(arguments: Arguments) -> Outcome<Answer> {
    collective(
        arguments,
        Collective::Reduce,
        |arguments, communicator| {
            let is_root = |n| Ok(arguments.root(n, communicator)? == communicator.rank);
            let (mut plan, n) = reduction(arguments, Collective::Reduce, is_root)?;
            plan.proposal.root = arguments.root(n, communicator)?;
            Ok(plan)
        },
        |session, communicator, plan| {
            let root = plan.proposal.root;
            reduce_pieces(session, plan, |from, to, operation| session.mpi.reduce(from, to, operation, root, communicator.handle))
        },
    )
}

pub fn allreduce(arguments: Arguments) -> Outcome<Answer> {
    collective(
        arguments,
        Collective::Allreduce,
        |arguments, _| Ok(reduction(arguments, Collective::Allreduce, |_| Ok(true))?.0),
        |session, communicator, plan| {
            reduce_pieces(session, plan, |from, to, operation| session.mpi.allreduce(from, to, operation, communicator.handle))
        },
    )
}

pub fn gather(arguments: Arguments) -> Outcome<Answer> {
    collective(
        arguments,
        Collective::Gather,
        |arguments, communicator| {
            let has_target = is_storage(arguments, 3);
            let position = if arguments.state.is_number(3) { 3 } else { 4 };
            let root = arguments.root(position, communicator)?;
            let is_root = root == communicator.rank;
            let in_place = is_root && !has_target;
            let from = if in_place { arguments.target(2, 0)? } else { arguments.elements(2, 0)? };
            let size = if in_place { share(&from, communicator, 2)? } else { from.size };
            let proposal = Proposal { size, elements: Some(from), root, ..Proposal::new(Collective::Gather) };
            if in_place {
                return Ok(Plan { proposal, from: None, to: Some(from) });
            }
            let to = if is_root {
                let to = arguments.same_class(3, &from, WRITABLE)?;
                sized(&to, size * communicator.ranks(), 3, WHOLE)?;
                disjoint(&from, &to, 3)?;
                Some(to)
            } else {
                None
            };
            Ok(Plan { proposal, from: Some(from), to })
        },
        |session, communicator, plan| {
            let Proposal { size, root, .. } = plan.proposal;
            with_buffers(session, plan.from, plan.to, size, |from, to| session.mpi.gather(from, to, root, communicator.handle))
        },
    )
}

pub fn allgather(arguments: Arguments) -> Outcome<Answer> {
    collective(
        arguments,
        Collective::Allgather,
        |arguments, communicator| {
            whole_both(arguments, communicator, Collective::Allgather, |from| Ok((from.size, from.size * communicator.ranks())))
        },
        |session, communicator, plan| {
            with_buffers(session, plan.from, plan.to, plan.proposal.size, |from, to| {
                session.mpi.allgather(from, to, communicator.handle)
            })
        },
    )
}

pub fn scatter(arguments: Arguments) -> Outcome<Answer> {
    collective(
        arguments,
        Collective::Scatter,
        |arguments, communicator| {
            let has_target = is_storage(arguments, 3);
            let position = if arguments.state.is_number(3) { 3 } else { 4 };
            let root = arguments.root(position, communicator)?;
            let mut proposal = Proposal { root, ..Proposal::new(Collective::Scatter) };
            if root != communicator.rank {
                let to = arguments.target(if has_target { 3 } else { 2 }, 0)?;
                proposal.size = to.size;
                proposal.elements = Some(to);
                return Ok(Plan { proposal, from: None, to: Some(to) });
            }
            let from = arguments.elements(2, 0)?;
            proposal.size = share(&from, communicator, 2)?;
            proposal.elements = Some(from);
            let to = if has_target {
                let to = arguments.same_class(3, &from, WRITABLE)?;
                sized(&to, proposal.size, 3, "the part of this rank")?;
                disjoint(&from, &to, 3)?;
                Some(to)
            } else {
                None
            };
            Ok(Plan { proposal, from: Some(from), to })
        },
        |session, communicator, plan| {
            let Proposal { size, root, .. } = plan.proposal;
            // The root, which sends, may keep its part where it is, and the others send nothing.
            with_buffers(session, plan.to, plan.from, size, |to, from| session.mpi.scatter(from, to, root, communicator.handle))
        },
    )
}

pub fn alltoall(arguments: Arguments) -> Outcome<Answer> {
    collective(
        arguments,
        Collective::Alltoall,
        |arguments, communicator| {
            whole_both(arguments, communicator, Collective::Alltoall, |from| Ok((share(from, communicator, 2)?, from.size)))
        },
        |session, communicator, plan| {
            with_buffers(session, plan.from, plan.to, plan.proposal.size, |from, to| {
                session.mpi.alltoall(from, to, communicator.handle)
            })
        },
    )
}

/// The arguments of a collective whose result is on every rank: one storage in place, or two. `sizes` says how many elements the
/// part of a rank has, and how many the result has, for the first of two storages.
fn whole_both(
    arguments: Arguments,
    communicator: &Communicator,
    collective: Collective,
    sizes: impl FnOnce(&View) -> Outcome<(usize, usize)>,
) -> Outcome<Plan> {
    if !is_storage(arguments, 3) {
        let both = arguments.target(2, 0)?;
        let proposal = Proposal { size: share(&both, communicator, 2)?, elements: Some(both), ..Proposal::new(collective) };
        return Ok(Plan { proposal, from: None, to: Some(both) });
    }
    let from = arguments.elements(2, 0)?;
    let (size, whole) = sizes(&from)?;
    let to = arguments.same_class(3, &from, WRITABLE)?;
    sized(&to, whole, 3, WHOLE)?;
    disjoint(&from, &to, 3)?;
    let proposal = Proposal { size, elements: Some(from), ..Proposal::new(collective) };
    Ok(Plan { proposal, from: Some(from), to: Some(to) })
}
