//! Messages that are not complete: what `isend` and `irecv` began.
//!
//! MPI may write a message that is too long past the end of its buffer. So `irecv` does not hand its buffer to MPI at once: the
//! receive stays unmatched until a message has come, whose size is then known. Every function that waits looks for such messages
//! ([`Flights::progress`]). Receives get messages in the order in which they were begun, as MPI promises.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::arrival::{Envelope, Found, Moving};
use crate::elements::Buffer;
use crate::failure::{Failure, Outcome};
use crate::sys::{MPI_Comm, MPI_Message, MPI_Request, Mpi, Status, constant};
use crate::table::{Hold, View};

/// Which messages a receive takes.
#[derive(Clone, Copy, PartialEq)]
pub struct Pattern {
    pub communicator: MPI_Comm,
    pub source: c_int,
    pub tag: c_int,
}

impl Pattern {
    /// Whether the receive takes this message of a communicator.
    fn takes(&self, communicator: MPI_Comm, status: &Status) -> bool {
        self.communicator == communicator
            && (self.source == status.source() || self.source == constant!(RSMPI_ANY_SOURCE))
            && (self.tag == status.tag() || self.tag == constant!(RSMPI_ANY_TAG))
    }
}

/// How far a message is.
enum Stage {
    /// A receive for which no message has come.
    Unmatched(Pattern),
    Moving(Moving),
    Done(Outcome<Option<Envelope>>),
}

/// A message that `isend` or `irecv` began.
pub struct Flight {
    stage: RefCell<Stage>,
    /// The storage, until the message is complete.
    hold: RefCell<Option<Hold>>,
    view: View,
    communicator: MPI_Comm,
    /// The request was collected, so nobody asks for the message any more.
    is_abandoned: Cell<bool>,
}

/// The messages of this process that are not complete, in the order in which they were begun.
#[derive(Default)]
pub struct Flights {
    list: RefCell<Vec<Arc<Flight>>>,
    /// How many of them are receives for which no message has come.
    unmatched: Cell<usize>,
    abandoned: Cell<usize>,
}

/// Gives up the processor after a while of waiting: there may be fewer processors than ranks.
#[derive(Default)]
pub struct Patience(u32);

impl Patience {
    pub fn wait(&mut self) {
        self.0 += 1;
        if self.0 > 64 {
            std::thread::yield_now();
        }
    }
}

impl Flight {
    /// The elements of a message, which the flight holds until the message is complete.
    fn new(communicator: MPI_Comm, hold: Hold, stage: Stage) -> Arc<Self> {
        let view = hold.view();
        // Lua may close its state in another thread, which then drops its reference. Only the thread of MPI uses the contents.
        #[expect(clippy::arc_with_non_send_sync, reason = "only the count is used by other threads")]
        Arc::new(Self {
            stage: RefCell::new(stage),
            hold: RefCell::new(Some(hold)),
            view,
            communicator,
            is_abandoned: Cell::new(false),
        })
    }

    /// What became of the message, if it is complete.
    pub fn result(&self) -> Option<Outcome<Option<Envelope>>> {
        match &*self.stage.borrow() {
            Stage::Done(result) => Some(result.clone()),
            _ => None,
        }
    }

    fn pattern(&self) -> Option<Pattern> {
        match *self.stage.borrow() {
            Stage::Unmatched(pattern) => Some(pattern),
            _ => None,
        }
    }

    /// The message is complete, so its storage is not held any more.
    fn finish(&self, result: Outcome<Option<Envelope>>) {
        let former = self.stage.replace(Stage::Done(result));
        drop(self.hold.take());
        drop(former);
    }

    /// Ends the flight with the outcome of its request.
    fn arrive(&self, outcome: Outcome) {
        let result = match (outcome, &mut *self.stage.borrow_mut()) {
            (Ok(()), Stage::Moving(Moving { instead: Some((_, failure)), .. })) => Err(failure.clone()),
            (Ok(()), Stage::Moving(moving)) => Ok(moving.envelope),
            (outcome, _) => outcome.map(|()| None),
        };
        self.finish(result);
    }

    fn is_receive(&self) -> bool {
        matches!(&*self.stage.borrow(), Stage::Moving(Moving { envelope: Some(_), .. }))
    }

    fn request(&self) -> Option<MPI_Request> {
        match &*self.stage.borrow() {
            Stage::Moving(moving) => Some(moving.request),
            _ => None,
        }
    }

    /// Asks MPI whether the message is complete.
    fn poll(&self, mpi: Mpi) {
        if let Some(request) = self.request() {
            match mpi.test(request) {
                Ok(false) => {}
                outcome => self.arrive(outcome.map(|_| ())),
            }
        }
    }
}

impl Flights {
    /// Begins to send the elements that are held.
    pub fn send(&self, mpi: Mpi, hold: Hold, rank: c_int, tag: c_int, communicator: MPI_Comm) -> Outcome<Arc<Flight>> {
        let view = hold.view();
        // SAFETY: [live] the flight holds the storage until the message is complete.
        let buffer = unsafe { Buffer::new(mpi, &view) }?;
        let request = mpi.isend(buffer.raw(), rank, tag, communicator)?;
        let flight = Flight::new(communicator, hold, Stage::Moving(Moving { request, envelope: None, instead: None }));
        self.list.borrow_mut().push(Arc::clone(&flight));
        Ok(flight)
    }

    /// Begins to receive into the elements that are held.
    pub fn receive(&self, mpi: Mpi, hold: Hold, pattern: Pattern) -> Arc<Flight> {
        let flight = Flight::new(pattern.communicator, hold, Stage::Unmatched(pattern));
        self.list.borrow_mut().push(Arc::clone(&flight));
        self.unmatched.set(self.unmatched.get() + 1);
        self.progress(mpi);
        flight
    }

    /// Whether messages have to be looked for while this rank waits.
    pub const fn is_waiting(&self) -> bool {
        self.unmatched.get() > 0
    }

    /// How many messages are not complete.
    pub fn count(&self) -> usize {
        self.list.borrow().len()
    }

    /// How many of them belong to a communicator.
    pub fn count_of(&self, communicator: MPI_Comm) -> usize {
        self.list.borrow().iter().filter(|flight| flight.communicator == communicator).count()
    }

    /// Looks for messages for the receives that have none, and whether messages that were abandoned are complete.
    pub fn progress(&self, mpi: Mpi) {
        if !self.is_waiting() && self.abandoned.get() == 0 {
            return;
        }
        // No message has come for these.
        let mut empty: Vec<Pattern> = Vec::new();
        let mut is_any_done = false;
        for flight in self.list.borrow().iter() {
            while let Some(pattern) = flight.pattern().filter(|pattern| !empty.contains(pattern)) {
                match mpi.try_probe(pattern.source, pattern.tag, pattern.communicator) {
                    // It may be for an earlier receive, if it came after that one was looked at.
                    Ok(Some(found)) => drop(self.deliver(mpi, pattern.communicator, found)),
                    Ok(None) => empty.push(pattern),
                    Err(failure) => {
                        self.unmatched.set(self.unmatched.get() - 1);
                        flight.finish(Err(failure));
                    }
                }
            }
            if flight.is_abandoned.get() {
                flight.poll(mpi);
            }
            is_any_done |= flight.result().is_some();
        }
        if is_any_done {
            self.remove_done();
        }
    }

    /// Gives a message to the first receive that takes it. Returns the message if none does.
    fn deliver(
        &self,
        mpi: Mpi,
        communicator: MPI_Comm,
        (message, status): (MPI_Message, Status),
    ) -> Option<(MPI_Message, Status)> {
        let list = self.list.borrow();
        let takes = |flight: &&Arc<Flight>| flight.pattern().is_some_and(|pattern| pattern.takes(communicator, &status));
        let Some(flight) = list.iter().find(takes) else { return Some((message, status)) };
        let found = Found::new(mpi, (message, status), &flight.view);
        match found.and_then(|found| found.begin(mpi, &flight.view)) {
            Ok(moving) => *flight.stage.borrow_mut() = Stage::Moving(moving),
            Err(failure) => flight.finish(Err(failure)),
        }
        self.unmatched.set(self.unmatched.get() - 1);
        None
    }

    fn remove_done(&self) {
        let mut removed = Vec::new();
        self.list.borrow_mut().retain(|flight| {
            let is_done = flight.result().is_some();
            if is_done {
                removed.push(Arc::clone(flight));
            }
            !is_done
        });
        let abandoned = removed.iter().filter(|flight| flight.is_abandoned.get()).count();
        self.abandoned.set(self.abandoned.get() - abandoned);
    }

    fn remove(&self, flight: &Arc<Flight>) {
        let mut list = self.list.borrow_mut();
        if let Some(position) = list.iter().position(|other| Arc::ptr_eq(other, flight)) {
            let _ = list.remove(position);
        }
    }

    /// Whether the message is complete, after a look at it.
    pub fn test(&self, mpi: Mpi, flight: &Arc<Flight>) -> Option<Outcome<Option<Envelope>>> {
        if flight.result().is_none() {
            self.progress(mpi);
            flight.poll(mpi);
            let _ = flight.result()?;
            self.remove(flight);
        }
        flight.result()
    }

    /// Waits until the message is complete.
    pub fn wait(&self, mpi: Mpi, flight: &Arc<Flight>) -> Outcome<Option<Envelope>> {
        let mut patience = Patience::default();
        loop {
            if let Some(result) = self.test(mpi, flight) {
                return result;
            }
            if !self.is_waiting()
                && let Some(request) = flight.request()
            {
                flight.arrive(mpi.wait(request));
            } else {
                patience.wait();
            }
        }
    }

    /// Waits until a request is complete that does not belong to a flight.
    pub fn complete(&self, mpi: Mpi, request: MPI_Request) -> Outcome {
        if !self.is_waiting() {
            return mpi.wait(request);
        }
        let mut patience = Patience::default();
        while !mpi.test(request)? {
            self.progress(mpi);
            patience.wait();
        }
        Ok(())
    }

    /// Waits for a message, and takes it from the queue.
    pub fn find(&self, mpi: Mpi, pattern: Pattern) -> Outcome<(MPI_Message, Status)> {
        let Pattern { communicator, source, tag } = pattern;
        self.progress(mpi);
        let mut patience = Patience::default();
        while self.is_waiting() {
            let found = mpi.try_probe(source, tag, communicator)?;
            // Receives that were begun earlier come first.
            if let Some(found) = found.and_then(|found| self.deliver(mpi, communicator, found)) {
                return Ok(found);
            }
            patience.wait();
            self.progress(mpi);
        }
        mpi.probe(source, tag, communicator)
    }

    /// The request was collected. A receive without a message ends; another message goes on, and nobody asks for it.
    pub fn abandon(&self, mpi: Mpi, flight: &Arc<Flight>) {
        if flight.pattern().is_some() {
            flight.finish(Err(Failure::new("the request was collected")));
            self.unmatched.set(self.unmatched.get() - 1);
            self.remove(flight);
        } else if flight.result().is_none() {
            flight.is_abandoned.set(true);
            self.abandoned.set(self.abandoned.get() + 1);
            self.progress(mpi);
        }
    }

    /// Ends all receives without a message, and completes the other messages. Returns how many messages of this rank nobody has
    /// received. All ranks call this, with a communicator of all of them that has no other messages.
    pub fn settle(&self, mpi: Mpi, everyone: MPI_Comm) -> Outcome<usize> {
        /// How long MPI may take to say that a message was received, after all ranks have received what they will.
        const GRACE: Duration = Duration::from_secs(1);
        for flight in self.list.borrow().iter().filter(|flight| flight.pattern().is_some()) {
            flight.finish(Err(Failure::new("MPI has ended")));
        }
        self.unmatched.set(0);
        let mut patience = Patience::default();
        let is_receiving = |flight: &Arc<Flight>| flight.request().is_some() && flight.is_receive();
        while self.poll_all(mpi) > 0 && self.list.borrow().iter().any(is_receiving) {
            patience.wait();
        }
        let barrier = mpi.begin_barrier(everyone)?;
        while !mpi.test(barrier)? {
            self.poll_all(mpi);
            patience.wait();
        }
        let start = Instant::now();
        while self.poll_all(mpi) > 0 && start.elapsed() < GRACE {
            patience.wait();
        }
        Ok(self.count())
    }

    /// Looks at all messages. Returns how many are not complete.
    fn poll_all(&self, mpi: Mpi) -> usize {
        self.list.borrow().iter().for_each(|flight| flight.poll(mpi));
        self.remove_done();
        self.count()
    }
}
