//! The core that a thread runs on, and moving a thread away from a core.

/// A core of the processor, identified by the number that the system gives it.
#[derive(Clone, Copy, PartialEq)]
pub struct Core(libc::c_int);

#[cfg(target_os = "linux")]
impl Core {
    /// The core that this thread runs on now, if the system tells it.
    pub fn current() -> Option<Self> {
        // SAFETY: [system] the call touches no memory of ours.
        let core = unsafe { libc::sched_getcpu() };
        (core >= 0).then_some(Self(core))
    }

    /// Removes this core from those that this thread may use, for the rest of its life. If it may use no other core, nothing
    /// changes.
    pub fn leave(self) {
        // SAFETY: [layout] a `cpu_set_t` of zeros is an empty set.
        let mut set: libc::cpu_set_t = unsafe { std::mem::MaybeUninit::zeroed().assume_init() };
        // SAFETY: [system] the set is a local variable of that size.
        let known = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) } == 0;
        let Some(core) = usize::try_from(self.0).ok().filter(|&core| known && core < 8 * size_of_val(&set)) else { return };
        // SAFETY: [in-bounds] the number of the core is below the number of bits in the set.
        unsafe { libc::CPU_CLR(core, &mut set) };
        // The system refuses an empty set. The thread then stays where it is, which is only slower.
        // SAFETY: [system] the set is an initialised local variable of that size.
        unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
    }
}

#[cfg(not(target_os = "linux"))]
impl Core {
    /// Always `None`, because this system does not tell.
    pub fn current() -> Option<Self> {
        None
    }

    /// Does nothing.
    pub fn leave(self) {}
}
