//! The program of the child processes: it reads commands from a socket, one a line, and answers each with a line.

use std::env;
use std::error::Error as AnyError;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use torch_storage::convert::Scalar;
use torch_storage::storage::{StateId, Storage, shared_memory, unlink_shared_memory};
use torch_storage::{DType, Error};

type Answer = Result<String, Box<dyn AnyError>>;

/// The environment variable with the path of the socket on which the test waits for its processes.
pub const SOCKET: &str = "TORCH_STORAGE_TEST_SOCKET";

/// Executes commands until the socket closes. A forked child goes on in this loop too, with a connection of its own and the
/// storages that it inherited.
pub fn serve() -> Result<(), Box<dyn AnyError>> {
    let socket = env::var_os(SOCKET).ok_or("only other tests can start this one")?;
    // The system reaps children that end, so that none becomes a zombie.
    // SAFETY: [system] the signal is ignored, and no handler is installed.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    let mut worker = Worker { storages: Vec::new() };
    let mut lines = connect(&socket)?;
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let words: Vec<_> = line.split_whitespace().collect();
        let answer = if words.first() == Some(&"fork") {
            match fork(words.get(1) == Some(&"starved"))? {
                // The child replaces its copy of the parent's connection by a new one.
                0 => {
                    lines = connect(&socket)?;
                    continue;
                }
                child => Ok(child.to_string()),
            }
        } else {
            worker.act(&words)
        };
        let answer = answer.unwrap_or_else(|error| format!("error: {error}"));
        writeln!(lines.get_mut(), "{answer}")?;
    }
}

fn connect(socket: &OsStr) -> Result<BufReader<UnixStream>, Box<dyn AnyError>> {
    let mut stream = UnixStream::connect(socket)?;
    writeln!(stream, "{}", process::id())?;
    Ok(BufReader::new(stream))
}

/// Forks. If `starved` is true, no descriptor can be opened during the fork.
fn fork(starved: bool) -> Result<libc::pid_t, Box<dyn AnyError>> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: [system] the structure is a local variable, which the call writes.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    if starved {
        let none = libc::rlimit { rlim_cur: 0, ..limit };
        // SAFETY: [system] the structure is a local variable, which the call reads.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const none) };
    }
    // SAFETY: [system] the child goes on in this thread and does not wait for any lock that another thread held.
    let child = unsafe { libc::fork() };
    // SAFETY: [system] the structure is a local variable, which the call reads.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    if child < 0 { Err(std::io::Error::last_os_error().into()) } else { Ok(child) }
}

struct Worker {
    storages: Vec<Storage>,
}

impl Worker {
    fn last(&self) -> Result<&Storage, &'static str> {
        self.storages.last().ok_or("no storage")
    }

    fn act(&mut self, words: &[&str]) -> Answer {
        match *words {
            ["attach", name, size] => {
                self.storages.push(Storage::shared(DType::Int, OsStr::new(name), size.parse().ok())?);
                Ok(self.last()?.size().to_string())
            }
            ["heap", size] => {
                self.storages.push(Storage::zeroed(DType::Int, size.parse()?)?);
                Ok("done".into())
            }
            ["share"] => self.last()?.share_memory(None, StateId::of_this_thread()).map(|()| "done".into()).map_err(Into::into),
            ["share", name] => self
                .last()?
                .share_memory(Some(OsStr::new(name)), StateId::of_this_thread())
                .map(|()| "done".into())
                .map_err(Into::into),
            ["set", index, value] => {
                let _ = self.last()?.set(index.parse()?, Scalar::Float(value.parse()?));
                Ok("done".into())
            }
            ["fill", value] => {
                self.last()?.fill(Scalar::Float(value.parse()?))?;
                Ok("done".into())
            }
            ["get"] => {
                let storage = self.last()?;
                let values = (0..storage.size()).filter_map(|index| storage.get(index));
                Ok(values.map(|value| value.to_string()).collect::<Vec<_>>().join(" "))
            }
            ["drop"] => self.storages.pop().map(|_| "done".into()).ok_or_else(|| "no storage".into()),
            ["exit"] => process::exit(0),
            ["abort"] => process::abort(),
            ["user", number] => {
                // SAFETY: [system] the call takes a number and no pointers.
                let result = unsafe { libc::setuid(number.parse()?) };
                if result == 0 { Ok("done".into()) } else { Err(std::io::Error::last_os_error().into()) }
            }
            ["held", name] => {
                let found = shared_memory()?.into_iter().find(|object| object.name == name);
                Ok(found.map_or_else(|| "no name".into(), |object| format!("{} {}", object.bytes, object.held)))
            }
            ["unlink", name] => Ok(unlink_shared_memory(OsStr::new(name))?.to_string()),
            ["descriptors"] => Ok(std::fs::read_dir("/proc/self/fd")?.count().to_string()),
            ["clone"] => clone_and_exit(),
            ["mount", bytes] => mount(bytes),
            ["race", name, rounds] => race(name, rounds.parse()?),
            ["storm", name, rounds] => storm(name, rounds.parse()?),
            _ => Err(format!("unknown command {words:?}").into()),
        }
    }
}

fn wait(child: libc::pid_t) {
    // SIGCHLD is ignored, so the call waits for the child and then fails, because the child has been reaped.
    // SAFETY: [system] a null pointer means that no status is wanted.
    unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
}

/// Makes a child by a bare system call, for which no fork handlers run. The child calls `exit` at once.
fn clone_and_exit() -> Answer {
    // SAFETY: [system] without a stack and without flags the call works like `fork`, and the child only exits.
    let child = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    if child == 0 {
        process::exit(0);
    }
    wait(libc::pid_t::try_from(child)?);
    Ok("done".into())
}

/// Mounts a `/dev/shm` of that many bytes, which only this thread sees.
fn mount(bytes: &str) -> Answer {
    // SAFETY: [system] the call takes a number and no pointers.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: [system] the string ends with a zero byte. The call ignores the null arguments when it changes the propagation.
    unsafe { libc::mount(ptr::null(), c"/".as_ptr(), ptr::null(), flags, ptr::null()) };
    let options = std::ffi::CString::new(format!("size={bytes}"))?;
    // SAFETY: [system] the strings end with a zero byte and live until the call returns.
    let result = unsafe { libc::mount(c"tmpfs".as_ptr(), c"/dev/shm".as_ptr(), c"tmpfs".as_ptr(), 0, options.as_ptr().cast()) };
    if result == 0 { Ok("done".into()) } else { Err(std::io::Error::last_os_error().into()) }
}

/// Two processes race `rounds` times. First both attach at once with different sizes: to a name that does not exist, to an object
/// that is held, or to one that is not held. Then one attaches while the other leaves.
fn race(name: &str, rounds: u64) -> Answer {
    let barrier = Storage::zeroed(DType::Long, 3)?;
    barrier.share_memory(None, StateId::of_this_thread())?;
    // SAFETY: [live] [layout] the storage has three aligned elements of 8 bytes, which are only accessed as atomics, and it
    // outlives the race.
    let cells = unsafe { &*barrier.data().cast::<libc::c_void>().cast::<[AtomicU64; 3]>() };
    let child = fork(false)?;
    let result = race_as(usize::from(child == 0), name, rounds, cells);
    if let Err(error) = &result {
        eprintln!("race: {error}");
        // This tells the other process to stop waiting.
        cells[2].store(1, Ordering::SeqCst);
    }
    if child == 0 {
        process::exit(i32::from(result.is_err()));
    }
    wait(child);
    if cells[2].load(Ordering::SeqCst) == 0 { Ok("done".into()) } else { Err("a racer failed".into()) }
}

fn race_as(racer: usize, name: &str, rounds: u64, cells: &[AtomicU64; 3]) -> Result<(), Box<dyn AnyError>> {
    let name = OsString::from(name);
    let path = std::path::Path::new("/dev/shm").join(&name);
    let mut steps = 0;
    let mut meet = || {
        steps += 1;
        cells[racer].store(steps, Ordering::SeqCst);
        while cells[1 - racer].load(Ordering::SeqCst) < steps {
            if cells[2].load(Ordering::SeqCst) != 0 {
                return Err("the other racer failed");
            }
            thread::yield_now();
        }
        Ok(())
    };
    for round in 0..rounds {
        // Sizes of some thousand bytes. The larger one is sometimes that of the one racer and sometimes that of the other.
        let sizes = [round * 7919 % 60_000 + 10, round * 104_729 % 60_000 + 10].map(|size| usize::try_from(size).unwrap_or(1));
        let mut first = None;
        if racer == 0 {
            match round % 3 {
                0 => {}
                1 => {
                    let storage = Storage::shared(DType::Byte, &name, Some(9))?;
                    storage.fill(Scalar::Float(3.0))?;
                    first = Some(storage);
                }
                _ => std::fs::write(&path, [3; 9])?,
            }
        }
        meet()?;
        let storage = Storage::shared(DType::Byte, &name, Some(sizes[racer]))?;
        let length = std::fs::metadata(&path)?.len();
        if storage.size() != sizes[racer] || length < sizes[racer] as u64 {
            return Err(format!("round {round}: {sizes:?}, {length} bytes").into());
        }
        // The last byte can be written, whatever the other racer does.
        let last = sizes[racer] - 1;
        let _ = storage.set(last, Scalar::Float(7.0));
        meet()?;
        let length = usize::try_from(std::fs::metadata(&path)?.len())?;
        let kept = round % 3 == 0 || (0..9).all(|index| storage.get(index) == Some(3.0));
        if length != sizes[0].max(sizes[1]) || !kept || storage.get(last) != Some(7.0) {
            return Err(format!("round {round}: {sizes:?}, {length} bytes, kept: {kept}").into());
        }
        meet()?;
        drop((first, storage));
        meet()?;
        if path.exists() {
            return Err(format!("round {round}: the name remained after both left").into());
        }
        meet()?;

        // Racer 0, the last holder, leaves while racer 1 attaches. Racer 1 must get an object with a name.
        let leaving = if racer == 0 { Some(Storage::shared(DType::Byte, &name, Some(9))?) } else { None };
        meet()?;
        drop(leaving);
        let coming = if racer == 1 { Some(Storage::shared(DType::Byte, &name, Some(5))?) } else { None };
        meet()?;
        let found = shared_memory()?.into_iter().find(|object| object.name == name);
        if !found.is_some_and(|object| object.held && (object.bytes == 5 || object.bytes == 9)) {
            return Err(format!("round {round}: the object of the racer that attached has no name").into());
        }
        meet()?;
        drop(coming);
        meet()?;
        if path.exists() {
            return Err(format!("round {round}: the name remained after racer 1 left").into());
        }
        meet()?;

        // Racer 0, the last holder, leaves while racer 1 tries to attach and fails.
        let leaving = if racer == 0 { Some(Storage::shared(DType::Byte, &name, Some(9))?) } else { None };
        meet()?;
        drop(leaving);
        if racer == 1 && Storage::shared(DType::Byte, &name, Some(1 << 50)).is_ok() {
            return Err("shared memory of 2^50 bytes was created".into());
        }
        meet()?;
        if path.exists() {
            return Err(format!("round {round}: the name remained after a failure").into());
        }
        meet()?;
    }
    Ok(())
}

/// One thread attaches, leaves, retains and moves storages, while another one forks `rounds` children that exit.
fn storm(name: &str, rounds: usize) -> Answer {
    let name = OsString::from(name);
    let attach = || -> Result<(), Error> {
        let storage = Storage::shared(DType::Int, &name, Some(100))?;
        storage.retain(StateId::of_this_thread())?;
        let adopted = Storage::adopt(storage.address(), DType::Int, StateId::of_this_thread())?;
        drop(storage);
        drop(adopted);
        let heap = Storage::zeroed(DType::Int, 10)?;
        heap.retain(StateId::of_this_thread())?;
        // A child may still hold the name.
        match heap.share_memory(Some(&name), StateId::of_this_thread()) {
            Ok(()) | Err(Error::SharedMemoryExists { .. }) => {}
            Err(error) => return Err(error),
        }
        let _ = heap.release_retained(StateId::of_this_thread());
        Ok(())
    };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let busy = scope.spawn(|| {
            let mut count = 0;
            while !done.load(Ordering::Relaxed) {
                attach()?;
                count += 1;
            }
            Ok::<usize, Error>(count)
        });
        let mut children = Vec::new();
        for _ in 0..rounds {
            match fork(false)? {
                0 => process::exit(0),
                child => children.push(child),
            }
        }
        children.into_iter().for_each(wait);
        done.store(true, Ordering::Relaxed);
        let count = busy.join().map_err(|_| "the thread panicked")??;
        if count > 0 { Ok("done".into()) } else { Err("nothing was attached".into()) }
    })
}
