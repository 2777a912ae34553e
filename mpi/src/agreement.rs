//! The ranks of a communicator compare what they are about to do, before each collective.
//!
//! A collective of unequal sizes fails on one rank and not on the other, or waits for ever. So the ranks first exchange what they
//! ask for, and if that is not the same, or if the arguments of one rank are wrong, the call is an error on all of them.
//!
//! It works like a barrier by dissemination: in round k each rank sends the least and the greatest values that it knows to the rank
//! that is 2^k further. Messages are as long as the receives expect, because only this file uses the hidden communicator for messages.
//! It is not a collective of MPI, because receives have to find their messages meanwhile.

use crate::communicator::Communicator;
use crate::elements::Operation;
use crate::failure::{Failure, Outcome};
use crate::session::{self, Session};
use crate::sys::{Part, constant};
use crate::table::View;

/// A collective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    Gather,
    Allgather,
    Scatter,
    Alltoall,
    Split,
    Free,
    BcastObject,
    Finalize,
}

impl Kind {
    const NAMES: [&'static str; 12] = [
        "barrier",
        "bcast",
        "reduce",
        "allreduce",
        "gather",
        "allgather",
        "scatter",
        "alltoall",
        "split",
        "free",
        "bcastobject",
        "finalize",
    ];
}

/// What a rank asks for. Each collective uses some of the fields.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub kind: Kind,
    /// The number of elements for each rank.
    pub size: usize,
    pub elements: Option<View>,
    pub operation: Option<Operation>,
    pub root: i32,
}

impl Request {
    pub const fn new(kind: Kind) -> Self {
        Self { kind, size: 0, elements: None, operation: None, root: 0 }
    }

    const FIELDS: usize = 6;

    /// The fields as numbers: kind, dtype, size, operation, root, and whether the arguments are wrong.
    fn numbers(&self) -> [i64; Self::FIELDS] {
        [
            self.kind as i64,
            self.elements.map_or(0, |view| view.dtype).into(),
            i64::try_from(self.size).unwrap_or(i64::MAX),
            self.operation.map_or(-1, |operation| operation as i64),
            self.root.into(),
            0,
        ]
    }
}

/// What a rank asks for, as numbers.
type Numbers = [i64; Request::FIELDS];

/// Messages that are exchanged: the least and the greatest numbers. The session has them, because MPI may write them as long as it
/// runs.
pub struct Words(*mut [[Numbers; 2]; 2]);

impl Words {
    /// Never freed, as the session.
    pub fn new() -> Self {
        Self(Box::into_raw(Box::new([[[0; Request::FIELDS]; 2]; 2])))
    }

    /// The message that is sent (0) or received (1).
    fn part(&self, which: usize) -> Part {
        let count = i32::try_from(2 * Request::FIELDS).unwrap_or_default();
        let data = self.0.cast::<[Numbers; 2]>().wrapping_add(which);
        let datatype = constant!(RSMPI_INT64_T);
        // SAFETY: [live] [in-bounds] there are two messages of so many numbers, which are never freed.
        unsafe { Part::new(data.cast(), count, datatype) }
    }

    fn set(&self, message: [Numbers; 2]) {
        // SAFETY: [live] [alias] MPI does not use the first message now.
        unsafe { self.0.cast::<[Numbers; 2]>().write(message) }
    }

    fn received(&self) -> [Numbers; 2] {
        let second = self.0.cast::<[Numbers; 2]>().wrapping_add(1);
        // SAFETY: [live] [in-bounds] MPI has written it.
        unsafe { second.read() }
    }
}

/// Compares this rank's request with those of the others. A failure of this rank's arguments becomes one of all ranks.
pub fn agree(session: &Session, communicator: &Communicator, kind: Kind, asked: Outcome<Request>) -> Outcome<Request> {
    if !session::checks() {
        return asked;
    }
    let mut numbers = asked.as_ref().map_or_else(|_| Request::new(kind).numbers(), Request::numbers);
    numbers[FAILED] = asked.is_err().into();
    let [least, greatest] = exchange(session, communicator, numbers)?;
    if least == greatest && greatest[FAILED] == 0 {
        return asked;
    }
    // Every rank knows this, so all of them exchange their numbers once more.
    let everyone = collect(session, communicator, numbers)?;
    let own = asked?;
    let name = name_of(own.kind as i64);
    Err(Failure::new(format!("{name}: {}", describe(&everyone))))
}

/// The field that says that the arguments are wrong.
const FAILED: usize = Request::FIELDS - 1;

/// The least and the greatest numbers of all ranks.
fn exchange(session: &Session, communicator: &Communicator, own: Numbers) -> Outcome<[Numbers; 2]> {
    let (mut least, mut greatest) = (own, own);
    let (rank, size) = (communicator.rank, communicator.size);
    let (mut distance, mut round) = (1, 0);
    session.flights.progress(session);
    while distance < size {
        let (next, previous) = ((rank + distance) % size, (rank + size - distance) % size);
        session.words.set([least, greatest]);
        let arriving = session.mpi.irecv(session.words.part(1), previous, round, communicator.hidden)?;
        let leaving = session.mpi.isend(session.words.part(0), next, round, communicator.hidden)?;
        session.flights.complete(session, arriving)?;
        session.flights.complete(session, leaving)?;
        let [others_least, others_greatest] = session.words.received();
        for n in 0..Request::FIELDS {
            least[n] = least[n].min(others_least[n]);
            greatest[n] = greatest[n].max(others_greatest[n]);
        }
        distance *= 2;
        round += 1;
    }
    Ok([least, greatest])
}

/// The numbers of all ranks, for the error.
fn collect(session: &Session, communicator: &Communicator, own: Numbers) -> Outcome<Vec<Numbers>> {
    let size = usize::try_from(communicator.size).unwrap_or_default();
    let mut everyone = vec![[0; Request::FIELDS]; size];
    let mut sent = own;
    let count = i32::try_from(Request::FIELDS).unwrap_or_default();
    let datatype = constant!(RSMPI_INT64_T);
    // SAFETY: [live] [in-bounds] our own memory, which stays while this call waits.
    let from = unsafe { Part::new(sent.as_mut_ptr().cast(), count, datatype) };
    // SAFETY: [live] [in-bounds] there are so many numbers for each rank.
    let to = unsafe { Part::new(everyone.as_mut_ptr().cast(), count, datatype) };
    session.mpi.allgather(from, to, communicator.hidden)?;
    Ok(everyone)
}

fn name_of(kind: i64) -> &'static str {
    usize::try_from(kind).ok().and_then(|kind| Kind::NAMES.get(kind)).copied().unwrap_or("another function")
}

fn operation_of(number: i64) -> &'static str {
    Operation::ALL.iter().find(|row| row.1 as i64 == number).map_or("no operation", |row| row.0)
}

/// What the ranks do not agree about: the first field in which a rank differs from rank 0.
fn describe(everyone: &[Numbers]) -> String {
    let first = everyone.first().copied().unwrap_or_default();
    if let Some(rank) = everyone.iter().position(|numbers| numbers[FAILED] != 0) {
        return format!("rank {rank} had an error in this call, so no rank does it");
    }
    let different = |field: usize| everyone.iter().position(|numbers| numbers[field] != first[field]).map(|rank| (rank, field));
    let Some((rank, field)) = (0..FAILED).find_map(different) else {
        return "the ranks do not agree".to_owned();
    };
    let (own, other) = (first[field], everyone[rank][field]);
    let both = match field {
        0 => [name_of(own).to_owned(), name_of(other).to_owned()].map(|name| format!("calls {name}")),
        1 => [own, other].map(|dtype| format!("has elements of {}", crate::table::dtype::name(dtype))),
        2 => [own, other].map(|size| format!("has {size} element{} for each rank", if size == 1 { "" } else { "s" })),
        3 => [own, other].map(|operation| format!("asks for '{}'", operation_of(operation))),
        _ => [own, other].map(|root| format!("says that the root is {root}")),
    };
    let [own, other] = both;
    format!("the ranks do not agree: rank 0 {own}, and rank {rank} {other}")
}
