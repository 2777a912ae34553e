//! `torch.atomic.wait` and `torch.atomic.notify`.

use std::time::Duration;

use super::argument::{class, element, value};
use crate::atomic::{AWAITED, Slept, Waited, can_be_awaited, in_turns};
use crate::convert::{Scalar, truncate};
use crate::error::Error;
use crate::lua::args::{Call, show};
use crate::lua::entry::{Answer, Method, function};
use crate::lua::fault::Fault;
use crate::lua::steps::let_host_interrupt;

pub const FUNCTIONS: &[Method] = &[(c"atomic.notify", function(notify)), (c"atomic.wait", function(wait))];

/// How long a thread sleeps before it lets hooks run.
const STEP: Duration = Duration::from_millis(50);

/// `wait(s, i, value, timeout)`: sleeps while the element is `value`, until `notify`, at most `timeout` seconds. Returns `'ok'`,
/// `'not-equal'` or `'timed-out'`.
///
/// Between two steps a hook may run any Lua code, so the storage is looked up again each time. A `notify` that comes between two steps
/// finds nobody. If it came with a change, as it should, the next step sees the change.
fn wait(call: Call) -> Result<Answer, Fault> {
    let dtype = class(call, can_be_awaited, AWAITED)?;
    let (key, expected) = (call.scalar(2)?, value(call, dtype, 3)?);
    let limit = time_limit(call)?;
    if limit.is_none() && element(call, key)?.0.is_out_of_reach(call.state_id()) {
        return Err(Error::OutOfReach.into());
    }
    let waited = in_turns(limit, STEP, |time| {
        let (storage, index) = element(call, key)?;
        let slept = storage.sleep(index, expected, time)?;
        if slept == Slept::Over {
            let_host_interrupt(call)?;
        }
        Ok::<_, Fault>(slept)
    })?;
    Ok(Answer::Text(match waited {
        Waited::Woken => "ok",
        Waited::NotEqual => "not-equal",
        Waited::TimedOut => "timed-out",
    }))
}

/// Argument 4 as a time; `None` if there is no limit. A negative time is none at all.
fn time_limit(call: Call) -> Result<Option<Duration>, Fault> {
    if call.is_absent(4) {
        return Ok(None);
    }
    let seconds = match call.scalar(4)? {
        Scalar::Float(seconds) if seconds.is_nan() => {
            return Err(Fault::argument(4, "a time-out is a number of seconds, got nan"));
        }
        Scalar::Float(seconds) => seconds,
        whole => {
            truncate(whole).map_or(f64::INFINITY, |seconds| Duration::from_secs(seconds.max(0).unsigned_abs()).as_secs_f64())
        }
    };
    // What is too long for the clock has no limit either.
    Ok(Duration::try_from_secs_f64(seconds.max(0.0)).ok())
}

/// `notify(s, i, count)`: wakes up to `count` threads that wait for the element, or all of them. Returns how many.
fn notify(call: Call) -> Result<Answer, Fault> {
    class(call, can_be_awaited, AWAITED)?;
    let (key, count) = (call.scalar(2)?, count(call)?);
    let (storage, index) = element(call, key)?;
    Ok(Answer::Count(storage.wake(index, count)?))
}

/// Argument 3 as a number of threads; `None` means all of them.
fn count(call: Call) -> Result<Option<usize>, Fault> {
    if call.is_absent(3) {
        return Ok(None);
    }
    match call.scalar(3)? {
        Scalar::Float(f64::INFINITY) => Ok(None),
        number => call
            .count_of(number)
            .map(Some)
            .ok_or_else(|| Fault::argument(3, format_args!("a number of waiters from 0 on is expected, got {}", show(number)))),
    }
}
