//! Waiting for elements, for C modules: what the atomics of C cannot do. Neither function touches a Lua state.

use std::ffi::{c_int, c_void};
use std::time::{Duration, Instant};

use super::caught;
use super::view::dtype_of;
use crate::atomic::{At, Slept, can_be_awaited, sleep_for, wake, with_atomic};
use crate::element::DType;

/// The results of `torch_atomic_wait`.
const WOKEN: c_int = 0;
const NOT_EQUAL: c_int = 1;
const TIMED_OUT: c_int = 2;
const WRONG: c_int = -1;

/// The dtype with this number, if elements of it can be awaited.
fn awaited(dtype: c_int) -> Option<DType> {
    dtype_of(dtype).ok().filter(|&dtype| can_be_awaited(dtype))
}

pub unsafe extern "C" fn wait(element: *const c_void, dtype: c_int, expected: *const c_void, seconds: f64) -> c_int {
    let Some(dtype) = awaited(dtype) else { return WRONG };
    if seconds.is_nan() {
        return WRONG;
    }
    // What is too long for the clock has no limit.
    let limit = Duration::try_from_secs_f64(seconds.max(0.0)).ok();
    let done = caught(|| {
        Ok(with_atomic!(dtype, T => {
            // SAFETY: [atomic] [vouched] the C module vouches for the element, which nobody writes here.
            let element = unsafe { At::<T>::new(element.cast_mut().cast(), 0) };
            // SAFETY: [vouched] by the C module, for a number of the class.
            let expected = unsafe { expected.cast::<T>().read_unaligned() };
            element.map_or(WRONG, |element| wait_in_turns(limit, &|time| sleep_for(element, expected, time)))
        }, else WRONG))
    });
    done.unwrap_or(WRONG)
}

/// Sleeps until `sleep`, which sleeps for a time, is woken or finds another element.
fn wait_in_turns(limit: Option<Duration>, sleep: &dyn Fn(Duration) -> Slept) -> c_int {
    let begun = Instant::now();
    let mut is_first = true;
    loop {
        let left = limit.map_or(Duration::MAX, |limit| limit.saturating_sub(begun.elapsed()));
        match sleep(left.min(Duration::from_secs(3600))) {
            Slept::Changed if is_first => return NOT_EQUAL,
            Slept::Woken | Slept::Changed => return WOKEN,
            Slept::Over if left.is_zero() => return TIMED_OUT,
            Slept::Over => is_first = false,
        }
    }
}

pub unsafe extern "C" fn notify(element: *const c_void, dtype: c_int, count: usize) -> usize {
    let Some(dtype) = awaited(dtype) else { return 0 };
    let done = caught(|| {
        Ok(with_atomic!(dtype, T => {
            // SAFETY: [atomic] [vouched] the C module vouches for the element, which nobody writes here.
            let element = unsafe { At::<T>::new(element.cast_mut().cast(), 0) };
            element.map_or(0, |element| wake(element, Some(count)))
        }, else 0))
    });
    done.unwrap_or(0)
}
