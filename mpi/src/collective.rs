//! Collectives: what all ranks of a communicator do together, in place or from one storage to another.
//!
//! Each function reads its arguments, the ranks agree about them, and then MPI does it.

use std::ffi::c_int;

use crate::agreement::{Kind, Request, agree};
use crate::communicator::Communicator;
use crate::elements::{Buffer, Operation, pieces};
use crate::entry::{Answer, Arguments, functions, run};
use crate::failure::{Failure, Outcome};
use crate::lua::Raising;
use crate::session::{self, Session};
use crate::sys::{MPI_Op, Part};
use crate::table::{ALIGNED, View};

/// The arguments of a collective. A rank that has no `from` or no `to`, or works in place, has `None` there.
#[derive(Clone, Copy)]
struct Plan {
    request: Request,
    from: Option<View>,
    to: Option<View>,
}

/// Reads the arguments, lets the ranks agree, and does the collective.
fn collective(
    lua: Raising,
    kind: Kind,
    read: impl FnOnce(Arguments, &Communicator) -> Outcome<Plan>,
    act: impl FnOnce(&Session, &Communicator, Plan) -> Outcome,
) -> c_int {
    run(lua, |arguments| {
        let communicator = arguments.communicator()?;
        let session = session::enter()?;
        let plan = read(arguments, &communicator);
        let asked = plan.as_ref().map(|plan| plan.request).map_err(Failure::clone);
        agree(session, &communicator, kind, asked)?;
        act(session, &communicator, plan?)?;
        Ok(Answer::Nothing)
    })
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
    act: impl FnOnce(Part, Part) -> Outcome,
) -> Outcome {
    let (from, to) = (buffer(session, from, size)?, buffer(session, to, size)?);
    act(from.as_ref().map_or_else(Part::in_place, Buffer::part), to.as_ref().map_or_else(Part::nothing, Buffer::part))
}

fn disjoint(from: &View, to: &View, n: c_int) -> Outcome {
    if from.overlaps(to) {
        return Err(Failure::argument(n, "other memory than that of the first storage expected: leave it out to work in place"));
    }
    Ok(())
}

/// It is a failure if a storage has not so many elements.
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
fn reduction(arguments: Arguments, kind: Kind, has_target: impl Fn(c_int) -> Outcome<bool>) -> Outcome<(Plan, c_int)> {
    let is_in_place = arguments.state.is_string(3);
    let n = if is_in_place { 3 } else { 4 };
    let operation = arguments.operation(n)?;
    let has_target = has_target(n + 1)?;
    let from = if is_in_place && has_target { arguments.target(2, ALIGNED)? } else { arguments.elements(2, ALIGNED)? };
    operation.for_elements(&from).map_err(|why| Failure::argument(2, why))?;
    let mut request = Request::new(kind);
    request.size = from.size;
    request.elements = Some(from);
    request.operation = Some(operation);
    if is_in_place {
        let (from, to) = if has_target { (None, Some(from)) } else { (Some(from), None) };
        return Ok((Plan { request, from, to }, n + 1));
    }
    let to = if has_target {
        let to = arguments.same_class(3, &from, ALIGNED | crate::table::WRITABLE)?;
        sized(&to, from.size, 3, "as many as in the first storage")?;
        disjoint(&from, &to, 3)?;
        Some(to)
    } else {
        None
    };
    Ok((Plan { request, from: Some(from), to }, n + 1))
}

/// Calls MPI for each piece of a reduction.
fn reduce_pieces(session: &Session, plan: Plan, act: impl Fn(Part, Part, MPI_Op) -> Outcome) -> Outcome {
    let (Some(elements), Some(operation)) = (plan.request.elements, plan.request.operation) else { return Ok(()) };
    let operation = Operation::for_elements(operation, &elements).map_err(Failure::new)?;
    for (first, size) in pieces(plan.request.size) {
        let piece = |view: Option<View>| view.map(|view| view.part(first, size));
        with_buffers(session, piece(plan.from), piece(plan.to), size, |from, to| act(from, to, operation))?;
    }
    Ok(())
}

functions! {
    bcast(lua) {
        collective(lua, Kind::Bcast, |arguments, communicator| {
            let root = arguments.root(3, communicator)?;
            let view = if root == communicator.rank { arguments.elements(2, 0)? } else { arguments.target(2, 0)? };
            let request = Request { size: view.size, elements: Some(view), root, ..Request::new(Kind::Bcast) };
            Ok(Plan { request, from: None, to: Some(view) })
        }, |session, communicator, plan| {
            with_buffers(session, None, plan.to, plan.request.size, |_, to| {
                session.mpi.bcast(to, plan.request.root, communicator.handle)
            })
        })
    }

    reduce(lua) {
        collective(lua, Kind::Reduce, |arguments, communicator| {
            let is_root = |n| Ok(arguments.root(n, communicator)? == communicator.rank);
            let (mut plan, n) = reduction(arguments, Kind::Reduce, is_root)?;
            plan.request.root = arguments.root(n, communicator)?;
            Ok(plan)
        }, |session, communicator, plan| {
            let root = plan.request.root;
            reduce_pieces(session, plan, |from, to, operation| session.mpi.reduce(from, to, operation, root, communicator.handle))
        })
    }

    allreduce(lua) {
        collective(lua, Kind::Allreduce, |arguments, _| {
            Ok(reduction(arguments, Kind::Allreduce, |_| Ok(true))?.0)
        }, |session, communicator, plan| {
            reduce_pieces(session, plan, |from, to, operation| session.mpi.allreduce(from, to, operation, communicator.handle))
        })
    }

    gather(lua) {
        collective(lua, Kind::Gather, |arguments, communicator| {
            let has_target = is_storage(arguments, 3);
            let position = if arguments.state.is_number(3) { 3 } else { 4 };
            let root = arguments.root(position, communicator)?;
            let is_root = root == communicator.rank;
            let in_place = is_root && !has_target;
            let from = if in_place { arguments.target(2, 0)? } else { arguments.elements(2, 0)? };
            let size = if in_place { share(&from, communicator, 2)? } else { from.size };
            let request = Request { size, elements: Some(from), root, ..Request::new(Kind::Gather) };
            if in_place {
                return Ok(Plan { request, from: None, to: Some(from) });
            }
            let to = if is_root {
                let to = arguments.same_class(3, &from, crate::table::WRITABLE)?;
                sized(&to, size * communicator.ranks(), 3, WHOLE)?;
                disjoint(&from, &to, 3)?;
                Some(to)
            } else {
                None
            };
            Ok(Plan { request, from: Some(from), to })
        }, |session, communicator, plan| {
            let Request { size, root, .. } = plan.request;
            with_buffers(session, plan.from, plan.to, size, |from, to| session.mpi.gather(from, to, root, communicator.handle))
        })
    }

    allgather(lua) {
        collective(lua, Kind::Allgather, |arguments, communicator| {
            whole_both(arguments, communicator, Kind::Allgather, |from| Ok((from.size, from.size * communicator.ranks())))
        }, |session, communicator, plan| {
            with_buffers(session, plan.from, plan.to, plan.request.size, |from, to| {
                session.mpi.allgather(from, to, communicator.handle)
            })
        })
    }

    scatter(lua) {
        collective(lua, Kind::Scatter, |arguments, communicator| {
            let has_target = is_storage(arguments, 3);
            let position = if arguments.state.is_number(3) { 3 } else { 4 };
            let root = arguments.root(position, communicator)?;
            let mut request = Request { root, ..Request::new(Kind::Scatter) };
            if root != communicator.rank {
                let to = arguments.target(if has_target { 3 } else { 2 }, 0)?;
                request.size = to.size;
                request.elements = Some(to);
                return Ok(Plan { request, from: None, to: Some(to) });
            }
            let from = arguments.elements(2, 0)?;
            request.size = share(&from, communicator, 2)?;
            request.elements = Some(from);
            let to = if has_target {
                let to = arguments.same_class(3, &from, crate::table::WRITABLE)?;
                sized(&to, request.size, 3, "the part of this rank")?;
                disjoint(&from, &to, 3)?;
                Some(to)
            } else {
                None
            };
            Ok(Plan { request, from: Some(from), to })
        }, |session, communicator, plan| {
            let Request { size, root, .. } = plan.request;
            // The root, which sends, may keep its part where it is, and the others send nothing.
            with_buffers(session, plan.to, plan.from, size, |to, from| session.mpi.scatter(from, to, root, communicator.handle))
        })
    }

    alltoall(lua) {
        collective(lua, Kind::Alltoall, |arguments, communicator| {
            whole_both(arguments, communicator, Kind::Alltoall, |from| Ok((share(from, communicator, 2)?, from.size)))
        }, |session, communicator, plan| {
            with_buffers(session, plan.from, plan.to, plan.request.size, |from, to| {
                session.mpi.alltoall(from, to, communicator.handle)
            })
        })
    }
}

/// The arguments of a collective whose result is on every rank: one storage in place, or two. `sizes` says how many elements the
/// part of a rank has, and how many the result has, for the first of two storages.
fn whole_both(
    arguments: Arguments,
    communicator: &Communicator,
    kind: Kind,
    sizes: impl FnOnce(&View) -> Outcome<(usize, usize)>,
) -> Outcome<Plan> {
    if !is_storage(arguments, 3) {
        let both = arguments.target(2, 0)?;
        let request = Request { size: share(&both, communicator, 2)?, elements: Some(both), ..Request::new(kind) };
        return Ok(Plan { request, from: None, to: Some(both) });
    }
    let from = arguments.elements(2, 0)?;
    let (size, whole) = sizes(&from)?;
    let to = arguments.same_class(3, &from, crate::table::WRITABLE)?;
    sized(&to, whole, 3, WHOLE)?;
    disjoint(&from, &to, 3)?;
    let request = Request { size, elements: Some(from), ..Request::new(kind) };
    Ok(Plan { request, from: Some(from), to: Some(to) })
}
