//! The ranks of a communicator compare what they are about to do, before each collective.
//!
//! A collective of unequal sizes fails on one rank and not on the other, or waits for ever. So the ranks first exchange what they
//! want to do. If that is not the same, or if the arguments of one rank are wrong, the call is an error on all of them.
//!
//! It works like a barrier by dissemination: in round k each rank sends the least and the greatest values that it knows to the rank
//! that is 2^k further. Messages have the length that the receives expect, because only this file uses the hidden communicator.
//! It is not a collective of MPI, because receives that `irecv` began have to find their messages while this rank waits.

use std::cell::Cell;

use crate::communicator::Communicator;
use crate::elements::Operation;
use crate::failure::{Failure, Outcome};
use crate::flight::Flights;
use crate::sys::{Mpi, RawBuffer, constant};
use crate::table::View;

/// A collective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Collective {
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

impl Collective {
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

/// What a rank wants to do. Each collective uses some of the fields.
#[derive(Clone, Copy, Debug)]
pub struct Proposal {
    pub collective: Collective,
    /// The number of elements for each rank.
    pub size: usize,
    pub elements: Option<View>,
    pub operation: Option<Operation>,
    pub root: i32,
}

impl Proposal {
    pub const fn new(collective: Collective) -> Self {
        Self { collective, size: 0, elements: None, operation: None, root: 0 }
    }

    const FIELDS: usize = 6;

    /// The fields as numbers: collective, dtype, size, operation, root, and whether the arguments are wrong.
    fn numbers(&self) -> [i64; Self::FIELDS] {
        [
            self.collective as i64,
            self.elements.map_or(0, |view| view.dtype).into(),
            i64::try_from(self.size).unwrap_or(i64::MAX),
            self.operation.map_or(-1, |operation| operation as i64),
            self.root.into(),
            0,
        ]
    }
}

/// A proposal as numbers.
type Numbers = [i64; Proposal::FIELDS];

/// How the ranks of this process's communicators agree.
pub struct Agreements {
    words: Words,
    /// Whether collectives are preceded by an agreement.
    pub checks: Cell<bool>,
}

/// The messages that are exchanged: the least and the greatest numbers. They are never freed, because MPI may write them as long as
/// it runs.
struct Words(*mut [[Numbers; 2]; 2]);

impl Words {
    /// The message that is sent (0) or received (1).
    fn raw(&self, which: usize) -> RawBuffer {
        let count = i32::try_from(2 * Proposal::FIELDS).unwrap_or_default();
        let data = self.0.cast::<[Numbers; 2]>().wrapping_add(which);
        let datatype = constant!(RSMPI_INT64_T);
        // SAFETY: [live] [in-bounds] there are two messages of that many numbers, which are never freed.
        unsafe { RawBuffer::new(data.cast(), count, datatype) }
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

/// The field that says that the arguments are wrong.
const FAILED: usize = Proposal::FIELDS - 1;

impl Agreements {
    pub fn new() -> Self {
        Self { words: Words(Box::into_raw(Box::new([[[0; Proposal::FIELDS]; 2]; 2]))), checks: Cell::new(true) }
    }

    /// Compares this rank's proposal with those of the others. A failure of this rank's arguments becomes one of all ranks.
    pub fn agree(
        &self,
        mpi: Mpi,
        flights: &Flights,
        communicator: &Communicator,
        collective: Collective,
        own: Outcome<Proposal>,
    ) -> Outcome<Proposal> {
        if !self.checks.get() {
            return own;
        }
        let mut numbers = own.as_ref().map_or_else(|_| Proposal::new(collective).numbers(), Proposal::numbers);
        numbers[FAILED] = own.is_err().into();
        let [least, greatest] = self.exchange(mpi, flights, communicator, numbers)?;
        if least == greatest && greatest[FAILED] == 0 {
            return own;
        }
        // Every rank knows this, so all of them exchange their numbers once more.
        let everyone = collect(mpi, communicator, numbers)?;
        let name = name_of(own?.collective as i64);
        Err(Failure::new(format!("{name}: {}", describe(&everyone))))
    }

    /// The least and the greatest numbers of all ranks.
    fn exchange(&self, mpi: Mpi, flights: &Flights, communicator: &Communicator, own: Numbers) -> Outcome<[Numbers; 2]> {
        let (mut least, mut greatest) = (own, own);
        let (rank, size) = (communicator.rank, communicator.size);
        let (mut distance, mut round) = (1, 0);
        flights.progress(mpi);
        while distance < size {
            let (next, previous) = ((rank + distance) % size, (rank + size - distance) % size);
            self.words.set([least, greatest]);
            let arriving = mpi.irecv(self.words.raw(1), previous, round, communicator.hidden)?;
            let leaving = mpi.isend(self.words.raw(0), next, round, communicator.hidden)?;
            flights.complete(mpi, arriving)?;
            flights.complete(mpi, leaving)?;
            let [others_least, others_greatest] = self.words.received();
            for n in 0..Proposal::FIELDS {
                least[n] = least[n].min(others_least[n]);
                greatest[n] = greatest[n].max(others_greatest[n]);
            }
            distance *= 2;
            round += 1;
        }
        Ok([least, greatest])
    }
}

/// The numbers of all ranks, for the error.
fn collect(mpi: Mpi, communicator: &Communicator, own: Numbers) -> Outcome<Vec<Numbers>> {
    let size = usize::try_from(communicator.size).unwrap_or_default();
    let mut everyone = vec![[0; Proposal::FIELDS]; size];
    let mut sent = own;
    let count = i32::try_from(Proposal::FIELDS).unwrap_or_default();
    let datatype = constant!(RSMPI_INT64_T);
    // SAFETY: [live] [in-bounds] our own memory, which stays while this call waits.
    let from = unsafe { RawBuffer::new(sent.as_mut_ptr().cast(), count, datatype) };
    // SAFETY: [live] [in-bounds] there are that many numbers for each rank.
    let to = unsafe { RawBuffer::new(everyone.as_mut_ptr().cast(), count, datatype) };
    mpi.allgather(from, to, communicator.hidden)?;
    Ok(everyone)
}

fn name_of(number: i64) -> &'static str {
    usize::try_from(number).ok().and_then(|number| Collective::NAMES.get(number)).copied().unwrap_or("another function")
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
