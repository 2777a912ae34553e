//! Several threads for one large operation. None is kept: a pool that a process has inherited by `fork` would wait for ever.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::system::cores::Core;
use crate::system::signals::{Blocked, Signals};

/// The number of threads that were asked for; 0: as many as there are cores.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Bytes, read and written, from which on threads are worth starting: they need some 100 µs to begin, in which one alone moves 6 MB.
const WORTHWHILE: usize = 24 << 20;

/// Bytes, read and written, that a thread takes at once, at least. Of fresh memory these are whole huge pages of 2 MiB as a rule:
/// where two threads touch one for the first time, the system gives each a page, clears both and throws one away.
const BLOCK: usize = 4 << 20;

/// Bytes of a worker's stack: the kernels' buffers are 16 KiB; the rest is for what the host keeps for each thread.
const STACK: usize = 256 << 10;

/// How many threads a large operation runs in: [`set_threads`], otherwise the cores that this process may use (its affinity and
/// the quota of its control group respected) when this is first asked.
#[must_use]
pub fn threads() -> usize {
    // Relaxed: a number, nothing else is published by it.
    match THREADS.load(Ordering::Relaxed) {
        0 => {
            let cores = thread::available_parallelism().map_or(1, usize::from);
            THREADS.compare_exchange(0, cores, Ordering::Relaxed, Ordering::Relaxed).err().unwrap_or(cores)
        }
        threads => threads,
    }
}

/// Sets how many threads large operations of this process run in from now on; 0: as many as there are cores now.
pub fn set_threads(threads: usize) {
    THREADS.store(threads, Ordering::Relaxed);
}

/// Whether several threads may be worth starting for this many bytes, read and written.
pub(super) fn pay_for(bytes: usize) -> bool {
    bytes >= WORTHWHILE
}

/// Calls `act` on ranges of indices that make up `0..size`, in several threads if there are many. `weight` is what is read and
/// written for one index, in bytes.
pub(super) fn in_blocks(size: usize, weight: usize, act: impl Fn(Range<usize>) + Sync) {
    let bytes = size.saturating_mul(weight);
    let threads = if pay_for(bytes) { threads().min(bytes / BLOCK) } else { 1 };
    if threads == 1 {
        return act(0..size);
    }
    // A power of two: then each block's elements lie in their lines, and mostly in their pages, as the first one's.
    let block = (BLOCK / weight).next_power_of_two();
    let next = AtomicUsize::new(0);
    // Who is done takes the next block: a thread that starts late, or not at all, or whose core is busy, delays nobody.
    let work = || {
        loop {
            // Relaxed: it only has to give each block once; the end of the scope publishes what was written.
            let start = next.fetch_add(block, Ordering::Relaxed);
            if start >= size {
                break;
            }
            act(start..(start + block).min(size));
        }
    };
    let start = Start::new();
    thread::scope(|scope| {
        // Without them the workers might run the host's signal handlers, which belong into the host's threads.
        let blocked = Blocked::new(Signals::all());
        let worker = || {
            start.begin();
            work();
        };
        let spawn = |_: &usize| thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker).is_ok();
        let workers = (1..threads).take_while(spawn).count();
        drop(blocked);
        start.wait_for(workers);
        work();
    });
}

/// Gets the workers cores of their own.
///
/// Linux may put a new thread into the queue of the core that made it, and notice only some ticks later that another core is idle.
/// Measured with two cores (Linux 6.18, virtual machine): a worker begins 3.6 ms after it was made if the thread that made it goes on,
/// and 0.04 ms if that thread sleeps; a copy of 80 MB takes some 5 ms. So the thread that made the workers sleeps until they run,
/// and they leave its core.
struct Start {
    /// The thread that makes the workers, and its core.
    maker: Thread,
    core: Option<Core>,
    /// Workers that have begun.
    begun: AtomicUsize,
}

/// How long a worker that has a core of its own may take to begin.
const PROMPT: Duration = Duration::from_micros(25);

/// How long workers are waited for: longer than they take where a core is free.
const PATIENCE: Duration = Duration::from_micros(150);

impl Start {
    fn new() -> Self {
        Self { maker: thread::current(), core: Core::current(), begun: AtomicUsize::new(0) }
    }

    /// A worker begins.
    fn begin(&self) {
        if let Some(core) = self.core.filter(|_| Core::current() == self.core) {
            core.leave();
        }
        // Relaxed: nothing is published by it.
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.maker.unpark();
    }

    /// Waits until the workers have begun, within limits.
    fn wait_for(&self, workers: usize) {
        let since = Instant::now();
        while self.begun.load(Ordering::Relaxed) < workers {
            match PATIENCE.checked_sub(since.elapsed()) {
                None => break,
                Some(left) if left > PATIENCE.saturating_sub(PROMPT) => std::hint::spin_loop(),
                Some(left) => thread::park_timeout(left),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::{Condvar, Mutex, PoisonError};
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    use super::{WORTHWHILE, in_blocks, set_threads, threads};
    use crate::system::signals::kept_back;

    /// Whether `SIGINT` is kept from this thread.
    fn keeps_signals_back() -> bool {
        kept_back().is_ok_and(|signals| signals.contain(libc::SIGINT))
    }

    #[test]
    fn several_threads_do_each_index_once_and_take_no_signals() {
        const THREADS: usize = 3;
        set_threads(THREADS);
        assert_eq!(threads(), THREADS);
        let seen = Mutex::new((HashMap::<ThreadId, bool>::new(), Vec::new()));
        let arrived = Condvar::new();
        let size = WORTHWHILE + 7;
        in_blocks(size, 3, |indices| {
            let mut now = seen.lock().unwrap_or_else(PoisonError::into_inner);
            now.0.insert(thread::current().id(), keeps_signals_back());
            now.1.push(indices);
            arrived.notify_all();
            // Until all are here, so that nobody does it all: for ten seconds, if they do not come.
            drop(arrived.wait_timeout_while(now, Duration::from_secs(10), |now| now.0.len() < THREADS));
        });
        set_threads(0);
        assert!(threads() >= 1);
        let (threads, mut blocks) = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(threads.len(), THREADS);
        for (id, kept_back) in threads {
            assert_eq!(kept_back, id != thread::current().id());
        }
        assert!(!keeps_signals_back());
        blocks.sort_by_key(|indices| indices.start);
        assert_eq!(blocks.iter().map(|indices| indices.start % 64).max(), Some(0), "each begins where a line does");
        let ends = blocks.iter().map(|indices| indices.end);
        let starts = blocks.iter().map(|indices| indices.start);
        assert!(starts.eq([0].into_iter().chain(ends.clone().take(blocks.len() - 1))), "each index once");
        assert_eq!(ends.max(), Some(size));
    }

    #[test]
    fn little_work_is_done_here() {
        let maker = thread::current().id();
        let whole = Mutex::new(Vec::new());
        in_blocks(1000, 16, |indices| {
            assert_eq!(thread::current().id(), maker);
            whole.lock().unwrap_or_else(PoisonError::into_inner).push(indices);
        });
        assert_eq!(whole.into_inner().unwrap_or_else(PoisonError::into_inner), vec![0..1000]);
    }
}
