//! Messages from one rank to another: `send`, `recv`, `sendrecv`, `isend`, `irecv`.

use std::ffi::c_int;

use crate::arrival::{Envelope, Found};
use crate::elements::Buffer;
use crate::entry::{Answer, Arguments, run};
use crate::failure::{Failure, Outcome};
use crate::flight::Pattern;
use crate::lua::Raising;
use crate::request::{Begun, push_request};
use crate::session::{self, Session};
use crate::sys::MPI_Comm;
use crate::table::View;

/// Sends elements, and waits until their storage may be used again.
pub fn send(session: &Session, view: &View, rank: c_int, tag: c_int, communicator: MPI_Comm) -> Outcome {
    // SAFETY: [live] the view is of an argument of the running function, which waits here.
    let buffer = unsafe { Buffer::new(session.mpi, view) }?;
    session.flights.progress(session.mpi);
    if !session.flights.is_waiting() {
        return session.mpi.send(buffer.raw(), rank, tag, communicator);
    }
    let leaving = session.mpi.isend(buffer.raw(), rank, tag, communicator)?;
    session.flights.complete(session.mpi, leaving)
}

/// Waits for a message, and receives it into elements.
fn receive(session: &Session, view: &View, pattern: Pattern) -> Outcome<Envelope> {
    let found = session.flights.find(session.mpi, pattern)?;
    Found::new(session.mpi, found, view)?.receive(session.mpi, view)
}

/// Begins a message. `check` reads the arguments and checks them, before the storage is held.
fn start(lua: Raising, check: impl FnOnce(Arguments) -> Outcome<Begun>) -> c_int {
    lua.set_top(4);
    let begun = run(lua, check);
    push_request(lua, begun)
}

pub fn send_elements(arguments: Arguments) -> Outcome<Answer> {
    let communicator = arguments.communicator()?;
    let session = session::enter()?;
    let view = arguments.elements(2, 0)?;
    let rank = arguments.rank(3, &communicator)?;
    let tag = arguments.tag(4, &communicator)?;
    send(session, &view, rank, tag, communicator.handle)?;
    Ok(Answer::Nothing)
}

pub fn receive_elements(arguments: Arguments) -> Outcome<Answer> {
    let communicator = arguments.communicator()?;
    let session = session::enter()?;
    let view = arguments.target(2, 0)?;
    let source = arguments.source(3, &communicator)?;
    let tag = arguments.any_tag(4, &communicator)?;
    receive(session, &view, Pattern { communicator: communicator.handle, source, tag }).map(Answer::Received)
}

/// `sendrecv(from, rank, to, source, tag, tag to receive)`.
pub fn send_and_receive(arguments: Arguments) -> Outcome<Answer> {
    let communicator = arguments.communicator()?;
    let session = session::enter()?;
    let from = arguments.elements(2, 0)?;
    let rank = arguments.rank(3, &communicator)?;
    let to = arguments.target(4, 0)?;
    let source = arguments.source(5, &communicator)?;
    let tag = arguments.tag(6, &communicator)?;
    let received_tag = arguments.any_tag(7, &communicator)?;
    if from.overlaps(&to) {
        return Err(Failure::argument(4, "other memory than that of the elements to send expected"));
    }
    // SAFETY: [live] the view is of an argument of the running function, which waits here.
    let buffer = unsafe { Buffer::new(session.mpi, &from) }?;
    let leaving = session.mpi.isend(buffer.raw(), rank, tag, communicator.handle)?;
    let received = receive(session, &to, Pattern { communicator: communicator.handle, source, tag: received_tag });
    session.flights.complete(session.mpi, leaving)?;
    received.map(Answer::Received)
}

pub fn begin_send(lua: Raising) -> c_int {
    start(lua, |arguments| {
        let communicator = arguments.communicator()?;
        session::enter()?;
        arguments.elements(2, 0)?;
        let rank = arguments.rank(3, &communicator)?;
        let tag = arguments.tag(4, &communicator)?;
        Ok(Begun { is_send: true, communicator: communicator.handle, rank, tag, torch: arguments.torch })
    })
}

pub fn begin_receive(lua: Raising) -> c_int {
    start(lua, |arguments| {
        let communicator = arguments.communicator()?;
        session::enter()?;
        arguments.target(2, 0)?;
        let rank = arguments.source(3, &communicator)?;
        let tag = arguments.any_tag(4, &communicator)?;
        Ok(Begun { is_send: false, communicator: communicator.handle, rank, tag, torch: arguments.torch })
    })
}
