//! Small storages, whose elements are behind the header in one allocation. Views keep them, and resizing moves them elsewhere.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::thread;

use torch_storage::DType;
use torch_storage::convert::Scalar;
use torch_storage::storage::{StateId, Storage, usage};

/// The largest number of bytes of a small storage.
const SMALL: usize = 256;

fn here() -> StateId {
    StateId::of_this_thread()
}

/// Some tests count the memory of all storages, so the tests take turns.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bytes(size: usize) -> Storage {
    Storage::zeroed(DType::Byte, size).unwrap()
}

/// A storage with the elements 1, 2, 3 and so on.
fn counting(size: usize) -> Storage {
    let storage = bytes(size);
    storage.write_bytes(&expected(1, size)).unwrap();
    storage
}

fn expected(first: usize, size: usize) -> Vec<u8> {
    (first..first + size).map(|number| u8::try_from(number % 256).unwrap()).collect()
}

fn elements(storage: &Storage) -> Vec<u8> {
    let element = |index| match storage.get_scalar(index).unwrap() {
        Scalar::Unsigned(byte) => u8::try_from(byte).unwrap(),
        other => panic!("{other:?}"),
    };
    (0..storage.size()).map(element).collect()
}

/// Whether the elements are where those of a small storage are, in the allocation of the header.
fn is_behind_header(storage: &Storage) -> bool {
    let distance = |storage: &Storage| storage.data().addr().wrapping_sub(storage.address());
    distance(storage) == distance(&bytes(1))
}

#[test]
fn few_elements_are_behind_the_header() {
    let _turn = alone();
    for size in [1, 7, 8, 80, SMALL - 1, SMALL] {
        let storage = bytes(size);
        assert!(
            is_behind_header(&storage)
                && storage.data().addr().is_multiple_of(16)
                && storage.data().addr() - storage.address() < SMALL,
            "{size} bytes"
        );
        assert_eq!(elements(&storage), vec![0; size]);
    }
    assert!(bytes(0).data().is_null());
    let before = usage().heap;
    let (small, large) = (bytes(SMALL), bytes(SMALL + 1));
    assert_eq!(usage().heap - before, 2 * SMALL + 1);
    drop((small, large));
    assert_eq!(usage().heap, before);
}

#[test]
fn views_keep_the_elements_in_whatever_order_storages_end() {
    let _turn = alone();
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let whole = counting(100);
        let view = whole.view(10, 50).unwrap();
        let inner = view.view(5, 20).unwrap();
        let mut storages = [(Some(whole), 1, 100), (Some(view), 11, 50), (Some(inner), 16, 20)];
        for ends in order {
            for (storage, first, size) in &storages {
                if let Some(storage) = storage {
                    assert_eq!(elements(storage), expected(*first, *size), "{order:?}");
                }
            }
            storages[ends].0 = None;
        }
    }
}

#[test]
fn a_storage_that_grows_beyond_its_room_moves_its_elements() {
    let _turn = alone();
    let before = usage().heap;
    let storage = counting(100);
    let (header, data) = (storage.address(), storage.data());
    storage.resize(40, here()).unwrap();
    assert_eq!((storage.data(), usage().heap - before), (data, 40));
    storage.resize(100, here()).unwrap();
    assert_eq!(storage.data(), data);
    // Bytes that were cut off are zero again.
    assert_eq!(elements(&storage), [expected(1, 40), vec![0; 60]].concat());
    storage.resize(101, here()).unwrap();
    assert!(storage.data() != data && !is_behind_header(&storage));
    assert_eq!((storage.address(), usage().heap - before), (header, 101));
    assert_eq!(elements(&storage), [expected(1, 40), vec![0; 61]].concat());
    storage.resize(0, here()).unwrap();
    assert!(storage.data().is_null());
    storage.resize(3, here()).unwrap();
    assert_eq!(elements(&storage), [0; 3]);
    drop(storage);
    assert_eq!(usage().heap, before);
}

#[test]
fn a_storage_that_views_use_moves_its_elements_and_the_views_keep_the_old_ones() {
    let _turn = alone();
    let before = usage().heap;
    for new in [0, 20, 100, 1000] {
        let storage = counting(50);
        let (old, view) = (storage.data(), storage.view(10, 40).unwrap());
        storage.resize(new, here()).unwrap();
        assert_ne!(storage.data(), old);
        let kept = new.min(50);
        assert_eq!(elements(&storage), [expected(1, kept), vec![0; new - kept]].concat());
        if new > 10 {
            storage.set(10, Scalar::Float(77.0)).unwrap();
        }
        assert_eq!(elements(&view), expected(11, 40));
        // The storage has its new memory for itself, and others may use it, too.
        let second = storage.view(0, new).unwrap();
        storage.resize(new + 5, here()).unwrap();
        assert_eq!((second.size(), storage.size()), (new, new + 5));
        drop(storage);
        assert_eq!(elements(&view), expected(11, 40));
        drop(view);
    }
    assert_eq!(usage().heap, before);
}

#[test]
fn reserved_capacity_moves_the_elements_and_stays() {
    let _turn = alone();
    let storage = counting(10);
    storage.reserve(300, here()).unwrap();
    let data = storage.data();
    assert!(!is_behind_header(&storage));
    for size in [300, 1, 250] {
        storage.resize(size, here()).unwrap();
        assert_eq!(storage.data(), data);
    }
    assert_eq!(elements(&storage)[..2], [1, 0]);
}

/// The storage and its view end at the same time, in two threads, in every order that happens.
#[test]
fn a_storage_and_its_views_may_end_in_two_threads() {
    let _turn = alone();
    let before = usage().heap;
    let there = StateId::new(NonZeroUsize::MIN);
    for _ in 0..if cfg!(miri) { 10 } else { 2000 } {
        let storage = counting(16);
        let views = [storage.view(4, 8).unwrap(), storage.view(0, 16).unwrap()];
        let token = views[0].token(here()).unwrap();
        let begin = Barrier::new(2);
        thread::scope(|scope| {
            scope.spawn(|| {
                let view = Storage::from_token(token, there).unwrap();
                begin.wait();
                // A view of a view, while the other thread ends the storage.
                let inner = view.view(1, 3).unwrap();
                assert_eq!(view.release(there), None);
                assert_eq!(elements(&inner), expected(6, 3));
            });
            begin.wait();
            drop(views);
            storage.resize(20, here()).unwrap();
            assert_eq!(elements(&storage), [expected(1, 16), vec![0; 4]].concat());
            drop(storage);
        });
    }
    assert_eq!(usage().heap, before);
}

/// A storage that is resized after its view ended in another thread comes after what that thread wrote through the view, although this
/// thread has made and dropped a view of its own in between. The two threads tell each other nothing else: the flag is relaxed.
/// Only Miri and ThreadSanitizer see whether the order is kept.
#[test]
fn a_resize_comes_after_a_view_that_ended_in_another_thread() {
    let _turn = alone();
    let there = StateId::new(NonZeroUsize::MIN);
    for _ in 0..if cfg!(miri) { 10 } else { 2000 } {
        let storage = counting(16);
        let view = storage.view(4, 8).unwrap();
        let token = view.token(here()).unwrap();
        drop(view);
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let view = Storage::from_token(token, there).unwrap();
                view.fill(Scalar::Float(7.0)).unwrap();
                assert_eq!(view.release(there), None);
                ended.store(true, Ordering::Relaxed);
            });
            while !ended.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            drop(storage.view(0, 1).unwrap());
            storage.resize(20, here()).unwrap();
            assert_eq!(elements(&storage)[4..12], [7; 8]);
        });
    }
}
