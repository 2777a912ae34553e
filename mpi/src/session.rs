//! The beginning and the end of MPI in this process. All Lua states of the process share one session.
//!
//! MPI begins when a Lua state first loads `torch.mpi`, and ends when the process ends. It does not end with a Lua state: a state
//! may be closed after an error, and then the other ranks would wait for messages of this one that never come. An exit status of 0
//! ends MPI, and any other status ends the job. Only glibc tells the status (`on_exit`); elsewhere `mpi.main` ends the job after an
//! error.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::agreement::{Agreements, Collective, Proposal};
use crate::communicator::Communicator;
use crate::failure::{Failure, Outcome};
use crate::flight::Flights;
use crate::sys::{self, MPI_Comm, Mpi, constant};

/// MPI in this process.
pub struct Session {
    pub mpi: Mpi,
    pub world: Communicator,
    pub flights: Flights,
    pub agreements: Agreements,
    process: c_int,
    /// This library began MPI, so it ends it.
    is_ours: bool,
    ended: Cell<bool>,
}

thread_local! {
    /// The session, in the thread that began it. It is never freed.
    static SESSION: Cell<Option<&'static Session>> = const { Cell::new(None) };
}

/// A thread of this process has begun the session.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

/// This process is a child of the one that began the session, made by fork.
static WAS_FORKED: AtomicBool = AtomicBool::new(false);

/// The environment variables in which a starter of MPI programs says how many ranks there are, and whose it is.
const STARTERS: [(&str, &str); 2] = [("OMPI_COMM_WORLD_SIZE", "Open MPI"), ("PMI_SIZE", "MPICH")];

/// The session, if MPI may be called here.
pub fn enter() -> Outcome<&'static Session> {
    match SESSION.get() {
        Some(session) if !WAS_FORKED.load(Ordering::Relaxed) && !session.ended.get() => Ok(session),
        session => Err(why_not(session.is_some())),
    }
}

#[cold]
fn why_not(is_thread: bool) -> Failure {
    Failure::new(if WAS_FORKED.load(Ordering::Relaxed) {
        "MPI does not work in a child made by fork: only the process that began it may use it. os.execute and io.popen work"
    } else if is_thread {
        "MPI has ended: mpi.finalize() was called"
    } else {
        "MPI runs in another thread of this process: only the thread that loaded torch.mpi first may use it"
    })
}

/// The session, which begins now if it has not begun yet.
pub fn begin() -> Outcome<&'static Session> {
    if HAS_BEGUN.load(Ordering::Acquire) || WAS_FORKED.load(Ordering::Relaxed) {
        return enter();
    }
    let (has_begun, has_ended) = sys::phase();
    if has_ended {
        return Err(Failure::new("MPI has ended in this process, and cannot begin again"));
    }
    let mpi = if has_begun { sys::begun_by_program()? } else { sys::begin()? };
    mpi.return_errors(constant!(RSMPI_COMM_WORLD))?;
    mpi.return_errors(constant!(RSMPI_COMM_SELF))?;
    let world = Communicator::new(mpi, mpi.duplicate(constant!(RSMPI_COMM_WORLD))?, true)?;
    let process = std::process::id().cast_signed();
    let session = Box::leak(Box::new(Session {
        mpi,
        world,
        flights: Flights::default(),
        agreements: Agreements::new(),
        process,
        is_ours: !has_begun,
        ended: Cell::new(false),
    }));
    SESSION.set(Some(session));
    HAS_BEGUN.store(true, Ordering::Release);
    watch_fork();
    watch_exit(session);
    expect_starter(world.size)?;
    Ok(session)
}

/// Fails if the program was started by the `mpirun` of another MPI: each rank would then be alone, and take itself for rank 0.
fn expect_starter(size: c_int) -> Outcome {
    for (variable, whose) in STARTERS {
        let said = std::env::var(variable).ok().and_then(|text| text.parse::<c_int>().ok());
        if let Some(said) = said.filter(|&said| said > 1 && size == 1) {
            let library = sys::library();
            return Err(Failure::new(format!(
                "this program was started with {said} ranks by the mpirun of another MPI ({whose}; {variable} is {said}), and \
                 torch.mpi is built with {library}, which finds one rank: use the mpirun of {library}"
            )));
        }
    }
    Ok(())
}

extern "C" fn after_fork() {
    WAS_FORKED.store(true, Ordering::Relaxed);
}

fn watch_fork() {
    // SAFETY: [system] the function stays, because the library stays loaded.
    unsafe { libc::pthread_atfork(None, None, Some(after_fork)) };
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn watch_exit(session: &'static Session) {
    unsafe extern "C" {
        fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }

    extern "C" fn at_exit(status: c_int, session: *mut c_void) {
        // SAFETY: [live] the session is never freed. The process ends, so its thread does not call MPI any more.
        unsafe { &*session.cast::<Session>() }.at_exit(status);
    }

    let session: *const Session = session;
    // SAFETY: [system] the function stays, because the library stays loaded.
    unsafe { on_exit(at_exit, session.cast_mut().cast()) };
}

/// Without the status: a program that fails has to end by `mpi.main`.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn watch_exit(session: &'static Session) {
    use std::sync::atomic::AtomicPtr;

    static ENDING: AtomicPtr<Session> = AtomicPtr::new(std::ptr::null_mut());

    extern "C" fn at_exit() {
        // SAFETY: [live] the session is never freed. The process ends, so its thread does not call MPI any more.
        unsafe { &*ENDING.load(Ordering::Acquire) }.at_exit(0);
    }

    ENDING.store(std::ptr::from_ref(session).cast_mut(), Ordering::Release);
    // SAFETY: [system] the function stays, because the library stays loaded.
    unsafe { libc::atexit(at_exit) };
}

/// Writes what the program has printed so far. Ending the job would lose it.
fn flush_output() {
    // SAFETY: [system] no stream means all of them.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

impl Session {
    /// Compares this rank's proposal with those of the others, before a collective. A failure of one rank becomes one of all ranks.
    pub fn agree(&self, communicator: &Communicator, collective: Collective, own: Outcome<Proposal>) -> Outcome<Proposal> {
        self.agreements.agree(self.mpi, &self.flights, communicator, collective, own)
    }

    /// Ends every rank. Does not return.
    pub fn abort(&self, communicator: MPI_Comm, code: c_int) {
        self.ended.set(true);
        flush_output();
        self.mpi.abort(communicator, code);
    }

    /// Ends MPI, after the messages of this rank were received. All ranks call this. Fails if they were not.
    pub fn end(&self) -> Outcome {
        let left = self.flights.settle(self.mpi, self.world.hidden)?;
        if left > 0 {
            let rank = self.world.rank;
            return Err(Failure::new(format!("messages that rank {rank} sends were never received: {left}")));
        }
        self.ended.set(true);
        if self.is_ours { self.mpi.end() } else { Ok(()) }
    }

    fn at_exit(&self, status: c_int) {
        let is_child = WAS_FORKED.load(Ordering::Relaxed) || std::process::id().cast_signed() != self.process;
        if is_child || self.ended.get() || !self.is_ours || sys::phase().1 {
            return;
        }
        if status != 0 {
            self.abort(self.world.handle, status & 0xff);
        } else if let Err(failure) = self.end() {
            flush_output();
            let line = format!("torch.mpi: {}\n", failure.text);
            eprint!("{line}");
            self.abort(self.world.handle, 1);
        }
    }
}
