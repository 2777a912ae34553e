//! Processes for tests to command: started, forked from one another, killed, and waited for.

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

/// One that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// A name of this test's own, removed at its end whatever happens.
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

/// Where the processes of a test connect to.
pub struct Nursery {
    directory: TempDir,
    listener: UnixListener,
}

/// A process that waits for commands. It is killed at the end of its test at the latest.
pub struct Process {
    pub id: libc::pid_t,
    stream: BufReader<UnixStream>,
}

impl Nursery {
    pub fn new() -> Result<Self> {
        // SAFETY: the call touches no memory of ours. Orphans are then this process's to wait for.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        let directory = tempfile::tempdir()?;
        let socket = directory.path().join("socket");
        let listener = UnixListener::bind(&socket)?;
        // Children connect that are of another user by then.
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

    /// The child of a process, with everything that it had.
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
            return Err(format!("it has ended at '{command}'").into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// Ends it in one of the ways `exit` and `abort` (with storages alive), `kill`, and `return`, and waits for the end. What a
    /// process held is free when it has ended, not when its socket closes.
    pub fn end(mut self, how: &str) -> Result<()> {
        match how {
            "kill" => self.kill(),
            "return" => self.stream.get_ref().shutdown(std::net::Shutdown::Both)?,
            _ => writeln!(self.stream.get_mut(), "{how}")?,
        }
        let end = Instant::now() + LIMIT;
        while !self.has_ended() {
            if Instant::now() > end {
                return Err(format!("it does not end by '{how}'").into());
            }
            sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    fn kill(&self) {
        // SAFETY: the process is a child of this one, or of one that this one has started, and not waited for yet.
        unsafe { libc::kill(self.id, libc::SIGKILL) };
    }

    fn has_ended(&self) -> bool {
        let state = fs::read_to_string(format!("/proc/{}/stat", self.id)).unwrap_or_default();
        let ended = state.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with(['Z', 'X']));
        if ended {
            // SAFETY: no status is asked for; it may be another process's child.
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
