//! Running one large operation in several threads.
//!
//! The threads end with the operation. A thread pool would hang in a process that inherited it by `fork`.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::system::cores::{self, Core};
use crate::system::workers;

/// The number of threads for a large operation, or 0 to use as many threads as there are cores.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// The number of bytes, read and written together, from which on it is worth starting threads. Threads need about 100 µs to
/// begin, and a single thread moves 6 MB in that time.
const WORTHWHILE: usize = 24 << 20;

/// The least number of bytes, read and written together, that a thread takes at once. It is chosen so that new memory is divided
/// at huge pages of 2 MiB. If two threads touch the same new page first, the system clears a page for each of them and throws one
/// away.
const BLOCK: usize = 4 << 20;

/// The size of a worker's stack in bytes. The buffers of the kernels take 16 KiB, and the rest is for thread-local data of the
/// host.
const STACK: usize = 256 << 10;

/// The number of threads that a large operation uses: the number given to [`set_threads`], otherwise the number of cores that
/// this process may use.
///
/// The number of cores respects the affinity of the process and the quota of its control group. It is determined when this
/// function is first called.
#[must_use]
pub fn threads() -> usize {
    // Relaxed: no other data depends on this number.
    match THREADS.load(Ordering::Relaxed) {
        0 => {
            let cores = cores::available();
            THREADS.compare_exchange(0, cores, Ordering::Relaxed, Ordering::Relaxed).err().unwrap_or(cores)
        }
        threads => threads,
    }
}

/// Sets the number of threads that large operations of this process use from now on. 0 takes the number of cores again.
pub fn set_threads(threads: usize) {
    THREADS.store(threads, Ordering::Relaxed);
}

/// Whether an operation on this many bytes, read and written together, is large enough for several threads.
pub(crate) fn are_worth_starting(bytes: usize) -> bool {
    bytes >= WORTHWHILE
}

/// Divides `0..size` into blocks of indices and calls `act` with each of them, in several threads if the work is large. `weight`
/// is the number of bytes that are read and written for one index.
pub(crate) fn for_each_block(size: usize, weight: usize, act: impl Fn(Range<usize>) + Sync) {
    let bytes = size.saturating_mul(weight);
    let threads = if are_worth_starting(bytes) { threads().min(bytes / BLOCK) } else { 1 };
    if threads == 1 { act(0..size) } else { in_threads(threads, size, weight, &act) }
}

/// Does the work of [`for_each_block`] with several threads. It is not inlined, because its room on the stack would make small operations
/// slower. It is compiled once for all work.
#[inline(never)]
fn in_threads(threads: usize, size: usize, weight: usize, act: &(dyn Fn(Range<usize>) + Sync)) {
    // With a power of two, all blocks have the same alignment to cache lines as the first one, and mostly to pages too.
    let block = (BLOCK / weight).next_power_of_two();
    let next = AtomicUsize::new(0);
    // A thread that has finished a block takes the next one. So a thread that starts late or never, or whose core is busy, does
    // not delay the others.
    let work = || {
        loop {
            // Relaxed: the counter only has to give each block out once. The end of the scope publishes what the threads wrote.
            let start = next.fetch_add(block, Ordering::Relaxed);
            if start >= size {
                break;
            }
            act(start..(start + block).min(size));
        }
    };
    let start = Start::new();
    let worker = || {
        start.begin();
        work();
    };
    workers::beside(threads - 1, STACK, &worker, |workers| {
        start.wait_for(workers);
        work();
    });
}

/// Makes the workers start at once, each on a core of its own.
///
/// Linux may put a new thread into the queue of the core that created it, and notice only several ticks later that another core
/// is idle. On a virtual machine with two cores and Linux 6.18, a worker began 3.6 ms after its creation if the creating thread
/// went on, and 0.04 ms after it if the creating thread slept. A copy of 80 MB takes about 5 ms there. So the creating thread
/// sleeps until the workers run, and a worker that runs on the core of the creating thread moves to another one.
struct Start {
    /// The core of the thread that creates the workers, if the system tells it.
    core: Option<Core>,
    /// The number of workers that have begun.
    begun: Mutex<usize>,
    /// Tells the creating thread that this number has changed.
    changed: Condvar,
}

/// How long the creating thread waits without sleeping. A worker with a core of its own begins within this time.
const PROMPT: Duration = Duration::from_micros(25);

/// The longest time that the creating thread waits for the workers. It is longer than a worker takes if a core is free.
const PATIENCE: Duration = Duration::from_micros(150);

impl Start {
    fn new() -> Self {
        Self { core: Core::current(), begun: Mutex::new(0), changed: Condvar::new() }
    }

    /// Tells the creating thread that this worker has begun. Before that, the worker leaves the core of the creating thread.
    fn begin(&self) {
        if let Some(core) = self.core.filter(|_| Core::current() == self.core) {
            core.leave();
        }
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_one();
    }

    /// Waits until the workers have begun, but not longer than [`PATIENCE`].
    fn wait_for(&self, workers: usize) {
        let since = Instant::now();
        let begun = || self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        while *begun() < workers && since.elapsed() < PROMPT {
            std::hint::spin_loop();
        }
        let left = PATIENCE.saturating_sub(since.elapsed());
        drop(self.changed.wait_timeout_while(begun(), left, |begun| *begun < workers));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::{Condvar, Mutex, PoisonError};
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    use super::{WORTHWHILE, for_each_block, set_threads, threads};
    use crate::system::signals::blocked_now;

    /// Whether `SIGINT` is blocked in this thread.
    fn blocks_sigint() -> bool {
        blocked_now().is_ok_and(|signals| signals.contains(libc::SIGINT))
    }

    #[test]
    fn several_threads_process_each_index_once_and_block_signals() {
        const THREADS: usize = 3;
        set_threads(THREADS);
        assert_eq!(threads(), THREADS);
        let seen = Mutex::new((HashMap::<ThreadId, bool>::new(), Vec::new()));
        let arrived = Condvar::new();
        let size = WORTHWHILE + 7;
        for_each_block(size, 3, |indices| {
            let mut now = seen.lock().unwrap_or_else(PoisonError::into_inner);
            now.0.insert(thread::current().id(), blocks_sigint());
            now.1.push(indices);
            arrived.notify_all();
            // Waits at most ten seconds for the other threads, so that the first thread does not do all the work.
            drop(arrived.wait_timeout_while(now, Duration::from_secs(10), |now| now.0.len() < THREADS));
        });
        set_threads(0);
        assert!(threads() >= 1);
        let (threads, mut blocks) = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(threads.len(), THREADS);
        for (id, blocks_signals) in threads {
            assert_eq!(blocks_signals, id != thread::current().id());
        }
        assert!(!blocks_sigint());
        blocks.sort_by_key(|indices| indices.start);
        assert_eq!(blocks.iter().map(|indices| indices.start % 64).max(), Some(0), "each block begins at a cache line");
        let ends = blocks.iter().map(|indices| indices.end);
        let starts = blocks.iter().map(|indices| indices.start);
        assert!(
            starts.eq([0].into_iter().chain(ends.clone().take(blocks.len() - 1))),
            "the blocks follow each other without gap or overlap"
        );
        assert_eq!(ends.max(), Some(size));
    }

    #[test]
    fn small_work_is_done_in_the_calling_thread() {
        let caller = thread::current().id();
        let whole = Mutex::new(Vec::new());
        for_each_block(1000, 16, |indices| {
            assert_eq!(thread::current().id(), caller);
            whole.lock().unwrap_or_else(PoisonError::into_inner).push(indices);
        });
        assert_eq!(whole.into_inner().unwrap_or_else(PoisonError::into_inner), vec![0..1000]);
    }
}
