//! Sleeping until an element changes: a thread sleeps as long as an element is what it expects, and others wake it by its address.
//!
//! ```text
//! linux        the kernel keeps the list of who sleeps, for all processes
//! macos        so does that of macOS since 14.4
//! elsewhere    this process keeps it; changes that other processes make are found by looking often
//! ```

// Miri knows not all calls of the kernel, so it takes the list of this process.
#[cfg(any(test, miri, not(target_os = "linux")))]
#[cfg_attr(all(target_os = "linux", not(miri)), allow(dead_code, reason = "here only its test uses it"))]
mod elsewhere;
#[cfg(all(target_os = "linux", not(miri)))]
mod linux;
#[cfg(all(target_os = "macos", not(miri)))]
mod macos;

#[cfg(any(miri, not(any(target_os = "linux", target_os = "macos"))))]
use elsewhere as system;
#[cfg(all(target_os = "linux", not(miri)))]
use linux as system;
#[cfg(all(target_os = "macos", not(miri)))]
use macos as system;

use std::time::{Duration, Instant};

use super::element::{At, Atomic};

/// Why a thread sleeps no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// Somebody has woken it.
    Woken,
    /// The element was not what was expected.
    Changed,
    /// The time is over, or the system ended the sleep for a reason of its own.
    Over,
}

/// How a program's wait for an element ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// Somebody has woken the thread. The element may be the same, or the same again.
    Woken,
    /// The element was not what was expected.
    NotEqual,
    /// The time is over.
    TimedOut,
}

/// Waits in turns, which end after at most `longest`, until one of them is woken or finds another element, or until `limit` is over.
/// `turn` sleeps for the time that it is given.
///
/// # Errors
/// Those of `turn`.
pub fn in_turns<E>(
    limit: Option<Duration>,
    longest: Duration,
    mut turn: impl FnMut(Duration) -> Result<Slept, E>,
) -> Result<Waited, E> {
    let begun = Instant::now();
    let mut is_first = true;
    loop {
        let left = limit.map_or(longest, |limit| limit.saturating_sub(begun.elapsed()));
        match turn(left.min(longest))? {
            Slept::Changed if is_first => return Ok(Waited::NotEqual),
            Slept::Woken | Slept::Changed => return Ok(Waited::Woken),
            Slept::Over if left.is_zero() => return Ok(Waited::TimedOut),
            Slept::Over => is_first = false,
        }
    }
}

/// How long a turn may be where nothing else has to run between two of them.
pub const HOUR: Duration = Duration::from_secs(3600);

/// How often a thread looks at an element where nobody can wake it.
const LOOK: Duration = Duration::from_millis(1);

/// Sleeps while the element is `expected`, until [`wake`] is called for it, or for `time`.
pub fn sleep<T: Atomic>(element: At<'_, T>, expected: T, time: Duration) -> Slept {
    let is_same = || element.load().to_word() == expected.to_word();
    if !is_same() {
        return Slept::Changed;
    }
    system::sleep(element.address().cast(), bytes_of(expected), &is_same, time)
}

/// Wakes up to `count` threads that sleep for the element. Returns how many.
pub fn wake<T: Atomic>(element: At<'_, T>, count: Option<usize>) -> usize {
    system::wake(element.address().cast(), count.unwrap_or(usize::MAX))
}

/// The bytes of an element of 4 or 8 bytes.
fn bytes_of<T: Atomic>(value: T) -> Bytes {
    let mut bytes = [0; 8];
    let width = size_of::<T>();
    // SAFETY: [in-bounds] an element that can be awaited has at most 8 bytes, and the array has as many.
    unsafe { std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), bytes.as_mut_ptr(), width.min(8)) };
    Bytes { bytes, width }
}

/// The bytes of an element, which has `width` of them.
#[derive(Clone, Copy)]
#[cfg_attr(any(miri, not(any(target_os = "linux", target_os = "macos"))), allow(dead_code, reason = "the kernel compares them"))]
struct Bytes {
    bytes: [u8; 8],
    width: usize,
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{Slept, elsewhere, sleep, system, wake};
    use crate::atomic::element::{At, Atomic};

    const LONG: Duration = Duration::from_secs(60);

    fn element<T: Atomic>(word: &AtomicU64) -> At<'_, T> {
        // SAFETY: [atomic] the word is borrowed, and everybody accesses it atomically.
        unsafe { At::new(word.as_ptr().cast(), 0) }.unwrap()
    }

    #[test]
    fn another_value_and_a_time_end_the_sleep() {
        let word = AtomicU64::new(7);
        assert_eq!(sleep(element(&word), 8i64, LONG), Slept::Changed);
        assert_eq!(sleep(element(&word), 7 + (1i64 << 32), LONG), Slept::Changed);
        let begun = Instant::now();
        assert_eq!(sleep(element(&word), 7i64, Duration::from_millis(20)), Slept::Over);
        assert!(begun.elapsed() >= Duration::from_millis(20));
        assert_eq!(sleep(element(&word), 7i64, Duration::ZERO), Slept::Over);
        assert_eq!(wake(element::<i64>(&word), None), 0);
    }

    /// A thread sleeps again and again until the number is what it waits for, and the other one is woken by it in the same way.
    fn ping_pong<T: Atomic + From<u32>>(
        rounds: u32,
        sleep: impl Fn(At<'_, T>, T) -> Slept + Sync,
        wake: impl Fn(At<'_, T>) -> usize + Sync,
    ) {
        let word = AtomicU64::new(0);
        let turns = |me: u32| {
            let element = element::<T>(&word);
            for round in 0..rounds {
                let (mine, other) = (T::from(2 * round + me), T::from(2 * round + me + 1));
                loop {
                    let now = element.load();
                    if now == mine {
                        break;
                    }
                    assert_ne!(sleep(element, now), Slept::Over, "a wake-up was lost");
                }
                element.store(other);
                wake(element);
            }
        };
        thread::scope(|scope| {
            scope.spawn(|| turns(1));
            turns(0);
        });
        assert_eq!(word.load(Ordering::SeqCst) & 0xffff_ffff, u64::from(2 * rounds));
    }

    #[test]
    fn no_wake_up_is_lost() {
        let rounds = if cfg!(miri) { 3 } else { 5000 };
        ping_pong(rounds, |at: At<'_, u32>, now| sleep(at, now, LONG), |at| wake(at, None));
        ping_pong(rounds, |at: At<'_, i64>, now| sleep(at, now, LONG), |at| wake(at, Some(1)));
    }

    /// With the list of this process, as on systems without one.
    #[test]
    fn no_wake_up_is_lost_elsewhere() {
        let sleep =
            |at: At<'_, i64>, now| elsewhere::sleep(at.address().cast(), super::bytes_of(now), &|| at.load() == now, LONG);
        ping_pong(if cfg!(miri) { 3 } else { 500 }, sleep, |at| elsewhere::wake(at.address().cast(), usize::MAX));
    }

    #[test]
    fn as_many_wake_as_were_asked_for() {
        for (sleep, wake) in [
            (system::sleep as fn(*mut u8, _, &dyn Fn() -> bool, _) -> _, system::wake as fn(*mut u8, usize) -> usize),
            (elsewhere::sleep, elsewhere::wake),
        ] {
            let word = AtomicU64::new(1);
            let at = element::<i64>(&word);
            thread::scope(|scope| {
                let sleepers: Vec<_> = (0..4)
                    .map(|_| {
                        scope.spawn(|| {
                            let at = element::<i64>(&word);
                            sleep(at.address().cast(), super::bytes_of(1i64), &|| at.load() == 1, LONG)
                        })
                    })
                    .collect();
                // Nobody changes the number, so each sleeps until it is woken.
                let mut woken = 0;
                while woken < 4 {
                    let now = wake(at.address().cast(), 1);
                    assert!(now <= 1);
                    woken += now;
                    thread::yield_now();
                }
                assert!(sleepers.into_iter().all(|sleeper| sleeper.join().unwrap() == Slept::Woken));
            });
        }
    }
}
