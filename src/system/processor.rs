//! What the processor says about itself: the size of its last cache, and who made it.

#[cfg(target_arch = "x86_64")]
pub use x86_64::{is_intel, last_cache};

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{__cpuid_count, CpuidResult};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The leaf that describes the caches of processors of Intel.
    const CACHES: u32 = 4;
    /// The leaf in which AMD's processors describe their caches, in the same form.
    const CACHES_OF_AMD: u32 = 0x8000_001d;

    /// Asks the processor. A leaf that it does not have gives zeros, and so does Miri, which has no such instruction.
    fn cpuid(leaf: u32, sub_leaf: u32) -> CpuidResult {
        const NOTHING: CpuidResult = CpuidResult { eax: 0, ebx: 0, ecx: 0, edx: 0 };
        if cfg!(miri) {
            return NOTHING;
        }
        #[allow(unused_unsafe, reason = "the function is safe since Rust 1.94")]
        // SAFETY: [cpu] every x86-64 processor has the instruction.
        let ask = |leaf, sub_leaf| unsafe { __cpuid_count(leaf, sub_leaf) };
        // The first leaf of each group tells the last one. For a leaf beyond that, some processors return the values of another leaf.
        let last = ask(leaf & 0x8000_0000, 0).eax;
        if leaf <= last { ask(leaf, sub_leaf) } else { NOTHING }
    }

    /// The bits of a word from bit `first` on, `count` of them, as a number.
    const fn bits(word: u32, first: u32, count: u32) -> usize {
        ((word >> first) & ((1 << count) - 1)) as usize
    }

    /// The size in bytes of the last cache that a leaf describes, 0 if it describes none.
    fn last_cache_of(leaf: u32) -> usize {
        const MOST: u32 = 8;
        let caches = (0..MOST).map(|number| cpuid(leaf, number)).take_while(|cache| bits(cache.eax, 0, 5) != 0);
        let size = |cache: CpuidResult| {
            let (line, partitions, ways) = (bits(cache.ebx, 0, 12), bits(cache.ebx, 12, 10), bits(cache.ebx, 22, 10));
            (line + 1) * (partitions + 1) * (ways + 1) * (cache.ecx as usize + 1)
        };
        caches.max_by_key(|cache| bits(cache.eax, 5, 3)).map_or(0, size)
    }

    /// The size of the last cache in bytes. If the processor does not tell, it is taken to be 32 MiB.
    pub fn last_cache() -> usize {
        /// What most processors of servers have for a group of cores.
        const USUAL: usize = 32 << 20;
        // 0 if nobody has asked yet. Relaxed: two threads that ask at once find the same size.
        static SIZE: AtomicUsize = AtomicUsize::new(0);
        match SIZE.load(Ordering::Relaxed) {
            0 => {
                let told = [CACHES, CACHES_OF_AMD].map(last_cache_of).into_iter().find(|&size| size > 0);
                let size = told.unwrap_or(USUAL);
                SIZE.store(size, Ordering::Relaxed);
                size
            }
            size => size,
        }
    }

    /// Whether Intel made this processor.
    pub fn is_intel() -> bool {
        // 0 if nobody has asked yet, 1 for no, 2 for yes. Relaxed, for the same reason.
        static ANSWER: AtomicUsize = AtomicUsize::new(0);
        match ANSWER.load(Ordering::Relaxed) {
            0 => {
                let name = cpuid(0, 0);
                let is_intel = [name.ebx, name.edx, name.ecx].map(u32::to_le_bytes).as_flattened() == b"GenuineIntel";
                ANSWER.store(1 + usize::from(is_intel), Ordering::Relaxed);
                is_intel
            }
            answer => answer == 2,
        }
    }
}

#[cfg(test)]
mod tests {
    /// Linux reads the same leaves, and shows what they say.
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    #[test]
    fn the_last_cache_is_the_one_that_the_system_shows() {
        let read = |number: usize, what| {
            std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{number}/{what}")).ok()
        };
        let shown = (0..8).filter_map(|number| Some((read(number, "level")?, read(number, "size")?))).max();
        let size = shown.and_then(|(_, size)| size.trim().strip_suffix('K')?.parse::<usize>().ok());
        assert_eq!(super::last_cache(), size.map_or(super::last_cache(), |size| size << 10));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_maker_is_the_one_that_the_system_shows() {
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let shown = text.lines().find(|line| line.starts_with("vendor_id"));
        assert_eq!(super::is_intel(), shown.map_or(super::is_intel(), |line| line.ends_with("GenuineIntel")));
    }
}
