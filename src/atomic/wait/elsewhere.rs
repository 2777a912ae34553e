//! A list of who sleeps in this process, for systems that have no list for all processes, or none that says how many were woken.
//!
//! Other processes, and other maps of the same file, are not in it. So each thread that sleeps also looks at its element often.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Bytes, LOOK, Slept};
use crate::fallible;

/// A thread that sleeps: the address of its element, and a number that no other one has.
type Sleeper = (usize, u64);

struct Sleepers {
    all: Vec<Sleeper>,
    next: u64,
}

static SLEEPERS: Mutex<Sleepers> = Mutex::new(Sleepers { all: Vec::new(), next: 0 });
/// Somebody has been woken.
static WOKEN: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, Sleepers> {
    SLEEPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sleeps while `is_same` returns true, until [`wake`] is called for the address, or for `time`.
pub fn sleep(at: *mut u8, _: Bytes, is_same: &dyn Fn() -> bool, time: Duration) -> Slept {
    let begun = Instant::now();
    let mut sleepers = lock();
    // Who changes the element later comes to the list later.
    if !is_same() {
        return Slept::Changed;
    }
    let number = sleepers.next;
    sleepers.next += 1;
    let is_listed = fallible::reserve(&mut sleepers.all, 1).is_ok();
    if is_listed {
        sleepers.all.push((at.addr(), number));
    }
    loop {
        let left = time.saturating_sub(begun.elapsed());
        sleepers = WOKEN.wait_timeout(sleepers, left.min(LOOK)).unwrap_or_else(PoisonError::into_inner).0;
        let place = sleepers.all.iter().position(|&(_, other)| other == number);
        if is_listed && place.is_none() {
            return Slept::Woken;
        }
        let changed = !is_same();
        if changed || begun.elapsed() >= time {
            if let Some(place) = place {
                sleepers.all.remove(place);
            }
            return if changed { Slept::Changed } else { Slept::Over };
        }
    }
}

/// Wakes up to `count` threads of this process that sleep for the address. Returns how many.
pub fn wake(at: *mut u8, count: usize) -> usize {
    let mut sleepers = lock();
    let mut woken = 0;
    sleepers.all.retain(|&(address, _)| {
        let stays = address != at.addr() || woken == count;
        woken += usize::from(!stays);
        stays
    });
    drop(sleepers);
    if woken > 0 {
        WOKEN.notify_all();
    }
    woken
}
