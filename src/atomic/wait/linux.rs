//! The futexes of Linux, without the flag for a single process: memory that several processes share is one and the same to them.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::{Bytes, LOOK, Slept};

/// Sleeps while the bytes at `at` are `expected`, until [`wake`] is called for the address, or for `time`. `is_same` says whether they
/// are.
///
/// Waiters of an element of 8 bytes are in the list of its first word, and in that of the second one: a sleep for the first word alone
/// would begin although the second one has changed and its waker has come and gone.
pub fn sleep(at: *mut u8, expected: Bytes, is_same: &dyn Fn() -> bool, time: Duration) -> Slept {
    let words = expected.words();
    let slept = if expected.width == 4 { sleep_for_word(at, words[0], time) } else { sleep_for_both(at, words, time) };
    slept.unwrap_or_else(|| look_often(at, words[0], is_same, time))
}

/// Does the same where the kernel cannot: before Linux 5.16, or in a sandbox that does not know the call for two words. Who wakes the
/// first word wakes this thread at once.
fn look_often(at: *mut u8, first: u32, is_same: &dyn Fn() -> bool, time: Duration) -> Slept {
    let begun = Instant::now();
    loop {
        let left = time.saturating_sub(begun.elapsed());
        match sleep_for_word(at, first, left.min(LOOK)).unwrap_or_else(|| look(left)) {
            Slept::Over if !is_same() => return Slept::Changed,
            Slept::Over if left > LOOK => {}
            slept => return slept,
        }
    }
}

/// Wakes up to `count` threads that sleep for the bytes at `at`. Returns how many.
pub fn wake(at: *mut u8, count: usize) -> usize {
    let count = i32::try_from(count).unwrap_or(i32::MAX);
    // SAFETY: [system] the kernel takes any address, and reads and writes nothing there.
    let woken = unsafe { libc::syscall(libc::SYS_futex, at, libc::FUTEX_WAKE, count) };
    usize::try_from(woken).unwrap_or(0)
}

impl Bytes {
    /// The two words of 4 bytes, in the order of their addresses.
    fn words(self) -> [u32; 2] {
        let [a, b, c, d, e, f, g, h] = self.bytes;
        [u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])]
    }
}

/// Sleeps for one word. Returns `None` if the kernel cannot do this, as for memory of this process alone that is read-only.
fn sleep_for_word(at: *mut u8, expected: u32, time: Duration) -> Option<Slept> {
    let time = timespec(time);
    // SAFETY: [system] the kernel reads the word at an address that it checks, and the time, which stays where it is.
    let done = unsafe { libc::syscall(libc::SYS_futex, at, libc::FUTEX_WAIT, expected, &raw const time) };
    result_of(done)
}

/// One element of the list that `futex_waitv` takes.
#[repr(C)]
struct Waiter {
    expected: u64,
    at: u64,
    flags: u32,
    reserved: u32,
}

/// The flag for a word of 32 bits.
const SIZE_32: u32 = 2;

/// Sleeps for two words, one behind the other. Returns `None` if the kernel cannot do this.
fn sleep_for_both(at: *mut u8, expected: [u32; 2], time: Duration) -> Option<Slept> {
    // The kernel puts the thread into the lists in this order. `wake` takes it from the first one, so if it comes too early for that, the
    // element has changed before both words are compared.
    let waiters = [(at, expected[0]), (at.wrapping_add(4), expected[1])].map(|(at, expected)| Waiter {
        expected: expected.into(),
        at: at.expose_provenance() as u64,
        flags: SIZE_32,
        reserved: 0,
    });
    let until = timespec(now()?.checked_add(time)?);
    // SAFETY: [system] the kernel reads the list and the time, which stay where they are, and the words at addresses that it checks.
    let done = unsafe {
        libc::syscall(libc::SYS_futex_waitv, waiters.as_ptr(), waiters.len(), 0, &raw const until, libc::CLOCK_MONOTONIC)
    };
    result_of(done)
}

/// What a call of the kernel says.
fn result_of(done: libc::c_long) -> Option<Slept> {
    if done >= 0 {
        return Some(Slept::Woken);
    }
    match io::Error::last_os_error().raw_os_error() {
        Some(libc::EAGAIN) => Some(Slept::Changed),
        Some(libc::ETIMEDOUT | libc::EINTR) => Some(Slept::Over),
        _ => None,
    }
}

/// Sleeps for a moment, where nobody can wake the thread.
fn look(time: Duration) -> Slept {
    thread::sleep(time.min(LOOK));
    Slept::Over
}

/// The time of the clock by which `futex_waitv` measures.
fn now() -> Option<Duration> {
    let mut now = timespec(Duration::ZERO);
    // SAFETY: [system] the time is written to this variable.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    let (seconds, nanoseconds) = (u64::try_from(now.tv_sec).ok()?, u32::try_from(now.tv_nsec).ok()?);
    (done == 0).then(|| Duration::new(seconds, nanoseconds))
}

fn timespec(time: Duration) -> libc::timespec {
    // SAFETY: [layout] a time is a pair of numbers.
    let mut spec: libc::timespec = unsafe { std::mem::zeroed() };
    spec.tv_sec = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    spec.tv_nsec = time.subsec_nanos().into();
    spec
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn a_kernel_without_the_call_for_two_words_is_asked_often() {
        let word = AtomicU64::new(0);
        let (at, is_same) = (word.as_ptr().cast::<u8>(), || word.load(Ordering::SeqCst) == 0);
        let (begun, time) = (Instant::now(), Duration::from_millis(20));
        assert_eq!(look_often(at, 0, &is_same, time), Slept::Over);
        assert!(begun.elapsed() >= time);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(5));
                word.store(1 << 40, Ordering::SeqCst); // in the other word
            });
            assert_eq!(look_often(at, 0, &is_same, Duration::from_secs(60)), Slept::Changed);
        });
    }
}
