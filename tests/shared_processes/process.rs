//! Child processes that tests start, fork, send commands to, kill and wait for.

use std::env;
use std::error::Error as AnyError;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::ptr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::worker::SOCKET;
use torch_storage::storage::unlink_shared_memory;

type Result<T> = std::result::Result<T, Box<dyn AnyError>>;

/// A process that takes longer than this is taken to hang.
const LIMIT: Duration = Duration::from_secs(60);

/// A name for shared memory that no other test uses. It is removed when the test ends, even if the test fails.
pub struct Name(pub String);

impl Name {
    pub fn new(test: &str) -> Self {
        Self(format!("torch-storage-{test}-{}", process::id()))
    }

    pub fn path(&self) -> PathBuf {
        Path::new("/dev/shm").join(&self.0)
    }

    pub fn exists(&self) -> bool {
        self.path().exists()
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = unlink_shared_memory(self.0.as_ref());
    }
}

/// Starts the processes of a test, which connect to its socket.
pub struct Nursery {
    directory: TempDir,
    listener: UnixListener,
}

/// A process that waits for commands. If it still runs at the end of its test, it is killed.
pub struct Process {
    pub id: libc::pid_t,
    stream: BufReader<UnixStream>,
}

impl Nursery {
    pub fn new() -> Result<Self> {
        // Orphaned grandchildren become children of this process, so that it can wait for them.
        // SAFETY: [system] the call takes numbers and no pointers.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        let directory = tempfile::tempdir()?;
        let socket = directory.path().join("socket");
        let listener = UnixListener::bind(&socket)?;
        // A process connects after it was forked, and it may have changed its user by then.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755))?;
        fs::set_permissions(&socket, fs::Permissions::from_mode(0o777))?;
        listener.set_nonblocking(true)?;
        Ok(Self { directory, listener })
    }

    pub fn start(&self) -> Result<Process> {
        Command::new(env::current_exe()?)
            .args(["--ignored", "--exact", "worker", "--nocapture"])
            .env(SOCKET, self.directory.path().join("socket"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()?;
        self.accept()
    }

    fn accept(&self) -> Result<Process> {
        let end = Instant::now() + LIMIT;
        let stream = loop {
            match self.listener.accept() {
                Err(reason) if reason.kind() == io::ErrorKind::WouldBlock && Instant::now() < end => {
                    sleep(Duration::from_micros(200));
                }
                other => break other?.0,
            }
        };
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(LIMIT))?;
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line)?;
        Ok(Process { id: line.trim().parse()?, stream })
    }

    /// Lets a process fork and returns the child, which has the storages of its parent.
    pub fn fork(&self, parent: &mut Process, how: &str) -> Result<Process> {
        let child = parent.tell(&format!("fork {how}"))?;
        let process = self.accept()?;
        if process.id.to_string() == child { Ok(process) } else { Err(format!("forked {child}").into()) }
    }
}

impl Process {
    pub fn tell(&mut self, command: &str) -> Result<String> {
        writeln!(self.stream.get_mut(), "{command}")?;
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(format!("the process ended at the command '{command}'").into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// Ends the process and waits for its end. `how` is `exit` or `abort`, which the process does while its storages are alive;
    /// `kill`; or `return`, after which the process drops its storages. It is not enough to wait until the socket closes, because
    /// the system releases the locks of a process when the process has ended.
    pub fn end(mut self, how: &str) -> Result<()> {
        match how {
            "kill" => self.kill(),
            "return" => self.stream.get_ref().shutdown(std::net::Shutdown::Both)?,
            _ => writeln!(self.stream.get_mut(), "{how}")?,
        }
        let end = Instant::now() + LIMIT;
        while !self.has_ended() {
            if Instant::now() > end {
                return Err(format!("the process did not end after '{how}'").into());
            }
            sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    fn kill(&self) {
        // SAFETY: [system] the process is a descendant of this one and has not been waited for, so the id is still its own.
        unsafe { libc::kill(self.id, libc::SIGKILL) };
    }

    fn has_ended(&self) -> bool {
        let state = fs::read_to_string(format!("/proc/{}/stat", self.id)).unwrap_or_default();
        let ended = state.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with(['Z', 'X']));
        if ended {
            // This fails if the process is a child of another process, which does no harm.
            // SAFETY: [system] a null pointer means that no status is wanted.
            unsafe { libc::waitpid(self.id, ptr::null_mut(), libc::WNOHANG) };
        }
        ended
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.kill();
        }
    }
}
