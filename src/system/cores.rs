//! The cores of the processor, and on which one a thread runs.

/// A core of the processor, by the system's number.
#[derive(Clone, Copy, PartialEq)]
pub struct Core(libc::c_int);

#[cfg(target_os = "linux")]
impl Core {
    /// The core that this thread runs on now.
    pub fn current() -> Option<Self> {
        // SAFETY: [system] the call touches no memory of ours.
        let core = unsafe { libc::sched_getcpu() };
        (core >= 0).then_some(Self(core))
    }

    /// Moves this thread, for good, to the other cores that it may use. If there are none it stays.
    pub fn leave(self) {
        // SAFETY: [layout] a set of zeros is an empty set.
        let mut set: libc::cpu_set_t = unsafe { std::mem::MaybeUninit::zeroed().assume_init() };
        // SAFETY: [system] the set is ours to write to, and has that size.
        let known = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) } == 0;
        let Some(core) = usize::try_from(self.0).ok().filter(|&core| known && core < 8 * size_of_val(&set)) else { return };
        // SAFETY: [in-bounds] the core's number is below the number of bits of the set.
        unsafe { libc::CPU_CLR(core, &mut set) };
        // A set without cores is refused, and the thread stays: the work is the same.
        // SAFETY: [system] the set is initialised, and has that size.
        unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
    }
}

#[cfg(not(target_os = "linux"))]
impl Core {
    /// This system does not say.
    pub fn current() -> Option<Self> {
        None
    }

    /// Nothing to leave.
    pub fn leave(self) {}
}
