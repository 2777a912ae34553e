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

/// The number of cores that this process may use: those of its affinity, or fewer if its control group has a quota. The standard
/// library counts the same, and ends the process if there is no memory for it.
#[cold]
#[inline(never)]
pub fn available() -> usize {
    let cores = in_affinity().max(1);
    quota().map_or(cores, |quota| quota.clamp(1, cores))
}

#[cfg(target_os = "linux")]
fn in_affinity() -> usize {
    // SAFETY: [layout] a `cpu_set_t` of zeros is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::MaybeUninit::zeroed().assume_init() };
    // SAFETY: [system] the set is a local variable of that size.
    let known = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) } == 0;
    // SAFETY: [system] the set is an initialised local variable.
    let count = || unsafe { libc::CPU_COUNT(&set) };
    if known { usize::try_from(count()).unwrap_or(0) } else { online() }
}

#[cfg(not(target_os = "linux"))]
fn in_affinity() -> usize {
    online()
}

fn online() -> usize {
    // SAFETY: [system] the call returns a number and touches no memory of ours.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }).unwrap_or(1)
}

#[cfg(not(target_os = "linux"))]
fn quota() -> Option<usize> {
    None
}

/// The whole cores in the smallest quota of the control groups that the process is in. Of version 1 only the group is asked that a
/// container sees.
#[cfg(target_os = "linux")]
fn quota() -> Option<usize> {
    let mut groups = [0; 8192];
    let groups = beginning(&[b"/proc/self/cgroup"], &mut groups)?;
    let group = groups.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"0::"));
    let mut group = group.map_or(&b""[..], |group| group.trim_ascii_end());
    let mut smallest = None;
    loop {
        let mut text = [0; 64];
        // The quota and its period, or `max`.
        let found = beginning(&[b"/sys/fs/cgroup", group, b"/cpu.max"], &mut text).and_then(|text| {
            let mut numbers = text.trim_ascii_end().split(|&byte| byte == b' ').map(number);
            numbers.next()??.checked_div(numbers.next()??)
        });
        smallest = smallest.into_iter().chain(found).min();
        // The group that this one is in.
        match group.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => group = &group[..slash],
            None => break,
        }
    }
    let mut texts = [[0; 64]; 2];
    let [quota, period] = &mut texts;
    let version_1 = || {
        let quota = number(beginning(&[b"/sys/fs/cgroup/cpu/cpu.cfs_quota_us"], quota)?.trim_ascii_end())?;
        quota.checked_div(number(beginning(&[b"/sys/fs/cgroup/cpu/cpu.cfs_period_us"], period)?.trim_ascii_end())?)
    };
    smallest.or_else(version_1)
}

#[cfg(target_os = "linux")]
fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The first bytes of the file whose path the pieces make up, as many as there is room for.
#[cfg(target_os = "linux")]
fn beginning<'a>(pieces: &[&[u8]], room: &'a mut [u8]) -> Option<&'a [u8]> {
    use super::{files, texts};
    use std::io::{Read, Write};

    let mut path = [0; files::LONGEST];
    let mut rest = &mut path[..];
    pieces.iter().try_for_each(|piece| rest.write_all(piece)).ok()?;
    let left = rest.len();
    let mut file = files::open(texts::of_bytes(&path[..files::LONGEST - left]), libc::O_RDONLY, 0).ok()?;
    let length = file.read(room).ok()?;
    Some(&room[..length])
}

#[cfg(test)]
mod tests {
    #[test]
    fn as_many_cores_as_the_standard_library_counts_are_available() {
        assert_eq!(Some(super::available()), std::thread::available_parallelism().ok().map(usize::from));
    }
}
