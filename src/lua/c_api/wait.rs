//! Waiting for elements, for C modules: what the atomics of C cannot do. Neither function touches a Lua state.

use std::ffi::{c_int, c_void};
use std::time::Duration;

use super::caught;
use super::view::dtype_of;
use crate::atomic::{At, HOUR, Waited, can_be_awaited, in_turns, sleep_for, wake, with_atomic};
use crate::element::DType;
use crate::lua::fault::Fault;

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
        with_atomic!(dtype, T => {
            // SAFETY: [atomic] [vouched] the C module vouches for the element, which nobody writes here.
            let element = unsafe { At::<T>::new(element.cast_mut().cast(), 0) };
            // SAFETY: [vouched] by the C module, for a number of the class.
            let expected = unsafe { expected.cast::<T>().read_unaligned() };
            let Some(element) = element else { return Ok(WRONG) };
            Ok(match in_turns(limit, HOUR, |time| Ok::<_, Fault>(sleep_for(element, expected, time)))? {
                Waited::Woken => WOKEN,
                Waited::NotEqual => NOT_EQUAL,
                Waited::TimedOut => TIMED_OUT,
            })
        }, else Ok(WRONG))
    });
    done.unwrap_or(WRONG)
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
