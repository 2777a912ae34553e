//! Heap memory keeps its bytes and zeroes new ones, whatever it grows from and shrinks to.

use super::{Bytes, Heap, spares};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::sample::Index;

#[derive(Clone, Copy, Debug)]
enum Step {
    Resize(usize),
    Reserve(usize),
    /// Writes to a range of the bytes. So the block may have been touched at one end, in the middle, everywhere or nowhere
    /// when it is given back.
    Fill(Index, Index),
    /// Gives the block back and makes a new one of this many bytes, which may be the old one again.
    Renew(usize),
    /// Reads all bytes, which touches their pages too.
    Read,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // Sizes near the limits at which the heap behaves differently, and sizes far from them.
    let near = |bytes: usize| bytes - 70_000..bytes + 70_000;
    let bytes = move || prop_oneof![4 => 0usize..64, 4 => near(128 << 10), 4 => near(512 << 10), 2 => near(2 << 20), 1 => 0usize..5 << 20];
    let step = prop_oneof![
        4 => bytes().prop_map(Step::Resize),
        2 => bytes().prop_map(Step::Reserve),
        4 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Step::Fill(from, to)),
        2 => bytes().prop_map(Step::Renew),
        2 => Just(Step::Read),
    ];
    proptest::collection::vec(step, 1..16)
}

fn bytes_of(heap: &Heap, bytes: usize) -> Vec<u8> {
    let mut copy = vec![0; bytes];
    if bytes > 0 {
        // SAFETY: [in-bounds] `bytes` bytes are in use, and the vector has as many.
        unsafe { std::ptr::copy_nonoverlapping(heap.data().cast_const(), copy.as_mut_ptr(), bytes) };
    }
    copy
}

fn heap(bytes: usize) -> Heap {
    Heap::zeroed(bytes).unwrap_or_else(|_| unreachable!())
}

proptest! {
    /// Compares the heap with a vector: kept bytes stay, new bytes are zero, and a block does not move within its reserved
    /// capacity.
    #[test]
    fn resizing_keeps_old_bytes_and_zeroes_new_ones(steps in steps()) {
        let mut model: Vec<u8> = Vec::new();
        let mut heap = heap(0);
        for step in steps {
            let (before, reserved) = (heap.data(), heap.reserved());
            match step {
                Step::Resize(bytes) => {
                    assert!(heap.resize(model.len(), bytes).is_ok());
                    if model.len().max(bytes) <= reserved {
                        assert_eq!(heap.data(), before);
                    }
                    model.resize(bytes, 0);
                }
                Step::Reserve(bytes) => assert!(heap.reserve(model.len(), bytes).is_ok()),
                Step::Fill(from, to) => {
                    let ends = [from.index(model.len() + 1), to.index(model.len() + 1)];
                    let (from, to) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
                    model[from..to].fill(0xa5);
                    if to > from {
                        // SAFETY: [in-bounds] `to` is at most the number of bytes in use.
                        unsafe { heap.data().wrapping_add(from).write_bytes(0xa5, to - from) };
                    }
                }
                Step::Renew(bytes) => {
                    drop(heap);
                    heap = self::heap(bytes);
                    model = vec![0; bytes];
                }
                Step::Read => assert!(bytes_of(&heap, model.len()) == model),
            }
            assert_eq!(heap.capacity(), model.len().max(heap.reserved()));
        }
        assert!(bytes_of(&heap, model.len()) == model);
    }
}

#[test]
fn a_block_is_unchanged_if_growing_it_fails() {
    for bytes in [8, 1 << 20, 3 << 20] {
        let mut heap = heap(bytes);
        // SAFETY: [in-bounds] at least eight bytes are in use.
        unsafe { heap.data().write(7) };
        assert!(heap.resize(bytes, 1 << 60).is_err());
        assert_eq!(heap.capacity(), bytes);
        // SAFETY: [in-bounds] at least eight bytes are in use.
        assert_eq!(unsafe { heap.data().read() }, 7);
    }
}

#[test]
fn bytes_that_are_cut_off_and_grown_again_within_the_reserve_are_zero() {
    for (bytes, reserved) in [(100, 1000), (100_000, 1 << 20), (600_000, 3 << 20)] {
        let mut heap = heap(bytes);
        // SAFETY: [in-bounds] `bytes` bytes are in use.
        unsafe { heap.data().write_bytes(7, bytes) };
        assert!(heap.reserve(bytes, reserved).is_ok());
        assert!(heap.resize(bytes, bytes / 2).is_ok());
        assert!(heap.resize(bytes / 2, bytes).is_ok());
        assert!(bytes_of(&heap, bytes)[bytes / 2..].iter().all(|&byte| byte == 0), "{bytes} bytes of {reserved}");
    }
}

#[test]
fn a_new_block_is_zero_even_if_it_was_used_before() {
    for size in [1 << 20, 9 << 20] {
        for touched in [&[][..], &[0], &[size / 2], &[size - 1], &[0, size - 1], &[0, size / 2, size - 1]] {
            spares::release_all();
            let old = heap(size);
            for &offset in touched {
                // SAFETY: [in-bounds] the offset is below the length of the block.
                unsafe { old.data().wrapping_add(offset).write(7) };
            }
            drop(old);
            for bytes in [size, size - 1000, size] {
                assert!(bytes_of(&heap(bytes), bytes).iter().all(|&byte| byte == 0), "{bytes} bytes after {touched:?}");
            }
        }
    }
}

#[test]
fn new_bytes_of_a_block_that_was_not_cleared_are_zero() {
    for (before, bytes, more) in [(1 << 20, 900_000, 1 << 20), (9 << 20, 8 << 20, 9 << 20), (1 << 20, 1000, 1 << 20)] {
        spares::release_all();
        let old = heap(before);
        // SAFETY: [in-bounds] `before` bytes are in use.
        unsafe { old.data().write_bytes(7, before) };
        drop(old);
        let mut heap = Heap::unset(bytes).unwrap_or_else(|_| unreachable!());
        // SAFETY: [in-bounds] `bytes` bytes are in use.
        unsafe { heap.data().write_bytes(9, bytes) };
        assert!(heap.resize(bytes, more).is_ok());
        let read = bytes_of(&heap, more);
        assert!(read[..bytes].iter().all(|&byte| byte == 9), "{bytes} bytes of {before}");
        assert!(read[bytes..].iter().all(|&byte| byte == 0), "the bytes after {bytes} of {before}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_block_keeps_its_pages_while_it_shrinks_a_little() {
    let mut heap = heap(600 << 10);
    for (bytes, pages) in [(100 << 10, true), (600 << 10, true), (50 << 10, false), (500 << 10, true), (0, false)] {
        assert!(heap.resize(0, bytes).is_ok());
        assert_eq!(matches!(heap.bytes, Bytes::Pages(..)), pages, "{bytes} bytes");
    }
}
