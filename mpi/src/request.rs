//! Requests: what `isend` and `irecv` return.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

use crate::arrival::Envelope;
use crate::entry::{Answer, Arguments, answer};
use crate::failure::{Failure, Outcome};
use crate::flight::{Flight, Pattern};
use crate::lua::{Payload, Raising, upvalue};
use crate::session::{self, Session};
use crate::sys::MPI_Comm;
use crate::table::{RawHold, Torch};

/// The block of a request's userdata.
#[derive(Clone, Copy)]
#[repr(C)]
struct Request {
    magic: *const c_void,
    /// From `Arc::into_raw`, until the request is collected.
    flight: *const Flight,
    /// The table, and a reference that no flight has taken yet.
    torch: Option<Torch>,
    hold: *mut RawHold,
}

static MAGIC: u8 = 2;

impl Payload for Request {
    fn magic() -> *const c_void {
        (&raw const MAGIC).cast()
    }
}

/// The arguments of a message that begins.
#[derive(Clone, Copy)]
pub struct Begun {
    pub is_send: bool,
    pub communicator: MPI_Comm,
    pub rank: c_int,
    pub tag: c_int,
    pub torch: Torch,
}

/// Begins a message, and pushes its request. Its storage or tensor is argument 2; the metatable of requests is upvalue 2.
pub fn push_request(lua: Raising, begun: Begun) -> c_int {
    let request = lua.push_block(size_of::<Request>()).cast::<Request>();
    let empty = Request { magic: Request::magic(), flight: ptr::null(), torch: None, hold: ptr::null_mut() };
    // SAFETY: [layout] the block has the size of a request.
    unsafe { request.write(empty) };
    lua.push_value(upvalue(2));
    lua.set_metatable(-2);
    // If something raises from here on, collecting the request gives the reference back.
    let hold = begun.torch.retain(lua, 2);
    // SAFETY: [layout] [live] the block is on the stack.
    unsafe { request.write(Request { torch: Some(begun.torch), hold, ..empty }) };
    answer(lua, |_| {
        let session = session::enter()?;
        // SAFETY: [layout] [live] the block is on the stack. It does not have the reference any more.
        unsafe { request.write(empty) };
        // SAFETY: [owned] `retain` gave it just now.
        let hold = unsafe { begun.torch.hold(hold) };
        let Begun { is_send, communicator, rank, tag, .. } = begun;
        let flight = if is_send {
            session.flights.send(session.mpi, hold, rank, tag, communicator)?
        } else {
            session.flights.receive(session.mpi, hold, Pattern { communicator, source: rank, tag })
        };
        // SAFETY: [layout] [live] the block is on the stack.
        unsafe { request.write(Request { flight: Arc::into_raw(flight), ..empty }) };
        Ok(Answer::Top)
    })
}

/// The flight of the request at a stack index.
fn flight(arguments: Arguments, index: c_int) -> Option<Arc<Flight>> {
    let found = arguments.state.payload::<Request>(index)?;
    // SAFETY: [layout] [live] the block has the magic word of requests, and is on the stack.
    let request = unsafe { found.read() };
    if request.flight.is_null() {
        return None;
    }
    // SAFETY: [owned] the userdata has a reference, which lasts until it is collected.
    unsafe { Arc::increment_strong_count(request.flight) };
    // SAFETY: [owned] this is the reference that was added.
    Some(unsafe { Arc::from_raw(request.flight) })
}

fn own_flight(arguments: Arguments) -> Outcome<Arc<Flight>> {
    let wrong = || Failure::argument(1, format!("a request expected, got {}", arguments.state.kind_name(1)));
    flight(arguments, 1).ok_or_else(wrong)
}

fn received(envelope: Option<Envelope>) -> Answer {
    envelope.map_or(Answer::Nothing, Answer::Received)
}

/// Waits for all requests of a table. If some fail, the others are waited for too, and the first failure is returned.
fn wait_for_all(arguments: Arguments, session: &Session) -> Outcome {
    let state = arguments.state;
    if !state.is_table(1) {
        return Err(Failure::argument(1, format!("a table of requests expected, got {}", state.kind_name(1))));
    }
    let mut flights = Vec::new();
    for n in 1..=c_int::try_from(state.length(1)).unwrap_or(c_int::MAX) {
        state.push_item(1, n);
        let found = flight(arguments, -1);
        let name = state.kind_name(-1);
        state.pop();
        flights
            .push(found.ok_or_else(|| Failure::argument(1, format!("a table of requests expected, got {name} at index {n}")))?);
    }
    let mut outcome = Ok(());
    for flight in flights {
        let result = session.flights.wait(session.mpi, &flight).map(|_| ());
        outcome = outcome.and(result);
    }
    outcome
}

pub fn wait(arguments: Arguments) -> Outcome<Answer> {
    let flight = own_flight(arguments)?;
    // A message that is complete needs no MPI.
    if let Some(result) = flight.result() {
        return result.map(received);
    }
    let session = session::enter()?;
    session.flights.wait(session.mpi, &flight).map(received)
}

pub fn test(arguments: Arguments) -> Outcome<Answer> {
    let flight = own_flight(arguments)?;
    let result = match flight.result() {
        Some(result) => Some(result),
        None => {
            let session = session::enter()?;
            session.flights.test(session.mpi, &flight)
        }
    };
    match result.transpose()? {
        None => Ok(Answer::Boolean(false)),
        Some(None) => Ok(Answer::Boolean(true)),
        Some(Some(envelope)) => Ok(Answer::TrueAndReceived(envelope)),
    }
}

pub fn wait_all(arguments: Arguments) -> Outcome<Answer> {
    wait_for_all(arguments, session::enter()?)?;
    Ok(Answer::Nothing)
}

/// `__gc`. A finalizer has no need to fail: whatever is wrong, the request is gone.
pub fn collect(arguments: Arguments) -> Outcome<Answer> {
    let Some(found) = arguments.state.payload::<Request>(1) else { return Ok(Answer::Nothing) };
    // SAFETY: [layout] [live] the block is a request, and an argument of the running function.
    let request = unsafe { found.read() };
    let empty = Request { flight: ptr::null(), torch: None, hold: ptr::null_mut(), ..request };
    // SAFETY: [layout] [live] the same block.
    unsafe { found.write(empty) };
    if let Some(torch) = request.torch {
        // SAFETY: [owned] the block had the reference, and has it no more.
        drop(unsafe { torch.hold(request.hold) });
    }
    if !request.flight.is_null() {
        // SAFETY: [owned] the block had this reference, and has it no more.
        let flight = unsafe { Arc::from_raw(request.flight) };
        if let Ok(session) = session::enter() {
            session.flights.abandon(session.mpi, &flight);
        }
    }
    Ok(Answer::Nothing)
}
