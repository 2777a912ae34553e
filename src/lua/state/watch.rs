//! What builds with debug assertions watch in each thread: whether a method may raise now, and how often Lua code may have run.

use std::cell::Cell;

/// The former value of a flag. The flag is set while a body runs, which must not raise. Only builds with debug assertions set and
/// check it.
#[derive(Clone, Copy)]
pub struct Quiet(bool);

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

impl Quiet {
    /// From now on no method that may raise may be called, because `catch_unwind` is open. Returns the former value of the flag,
    /// for [`restore`](Self::restore).
    pub fn begin() -> Self {
        Self::set(true)
    }

    /// From now on methods that may raise may be called again, because Lua code runs in a protected call.
    #[inline]
    pub(super) fn pause() -> Self {
        Self::set(false)
    }

    fn set(is_quiet: bool) -> Self {
        Self(cfg!(debug_assertions) && IS_QUIET.replace(is_quiet))
    }

    /// Sets the flag to its former value.
    pub fn restore(self) {
        if cfg!(debug_assertions) {
            IS_QUIET.set(self.0);
        }
    }

    pub(super) fn assert_may_raise() {
        debug_assert!(
            !IS_QUIET.get(),
            "a method that may raise was called although catch_unwind is open: see the rule [no-drop]"
        );
    }
}

/// How often Lua code may have run in this thread. What was borrowed from a Lua value is used in the same age only. Only builds with
/// debug assertions count and check.
#[derive(Clone, Copy)]
pub struct Age {
    #[cfg(debug_assertions)]
    count: usize,
}

#[cfg(debug_assertions)]
thread_local! {
    static AGE: Cell<usize> = const { Cell::new(0) };
}

impl Age {
    #[inline(always)]
    pub fn now() -> Self {
        Self {
            #[cfg(debug_assertions)]
            count: AGE.get(),
        }
    }

    /// Lua code may run now.
    #[inline(always)]
    pub(super) fn pass() {
        #[cfg(debug_assertions)]
        AGE.set(AGE.get() + 1);
    }

    /// Panics if Lua code may have run since then.
    #[inline(always)]
    pub fn assert_now(self) {
        #[cfg(debug_assertions)]
        assert!(self.count == AGE.get(), "a borrowed storage is used although Lua code may have run: see the rule [live]");
    }
}
