//! Storages over memory of Rust values: no copy, and each owner is dropped exactly once.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use half::f16;
use torch_storage::convert::{Bool, Scalar};
use torch_storage::element::Element;
use torch_storage::error::MemoryKind;
use torch_storage::storage::{self, StateId, usage, weight};
use torch_storage::{DType, Error, Storage};

/// Counts how often it is dropped, in whatever thread.
#[derive(Clone, Default)]
struct Drops(Arc<AtomicUsize>);

impl Drops {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// An owner whose elements are inside the value itself.
struct Inline<const N: usize> {
    elements: [i32; N],
    drops: Drops,
}

impl<const N: usize> Inline<N> {
    fn new(elements: [i32; N]) -> (Self, Drops) {
        let drops = Drops::default();
        (Self { elements, drops: drops.clone() }, drops)
    }
}

impl<const N: usize> Drop for Inline<N> {
    fn drop(&mut self) {
        // The owner reads its elements for the last time.
        let sum: i64 = self.elements.iter().map(|&element| i64::from(element)).sum();
        assert_ne!(sum, i64::MIN);
        self.drops.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl<const N: usize> AsRef<[i32]> for Inline<N> {
    fn as_ref(&self) -> &[i32] {
        &self.elements
    }
}

impl<const N: usize> AsMut<[i32]> for Inline<N> {
    fn as_mut(&mut self) -> &mut [i32] {
        &mut self.elements
    }
}

fn set(storage: &Storage, index: usize, value: f64) {
    assert!(storage.set(index, Scalar::Float(value)).unwrap());
}

#[test]
fn a_vector_is_not_copied() {
    let mut vector = Vec::with_capacity(10);
    vector.extend([1.5f64, 2.5, 3.5]);
    let address = vector.as_ptr().addr();
    let storage = Storage::from_vec(vector);
    assert_eq!((storage.data().addr(), storage.size(), storage.dtype()), (address, 3, DType::Double));
    set(&storage, 1, -4.0);
    assert_eq!(storage.to_vec::<f64>().unwrap(), [1.5, -4.0, 3.5]);
    assert_eq!(storage.kind(), MemoryKind::Owned);
}

#[test]
fn an_owner_is_dropped_when_the_last_storage_ends() {
    let (owner, drops) = Inline::new([1, 2, 3, 4]);
    let storage = Storage::from_owner_mut(owner);
    let view = storage.view(1, 2).unwrap();
    let copy = storage.clone();
    set(&view, 0, 20.0);
    set(&copy, 3, 40.0);
    assert_eq!(storage.to_vec::<i32>().unwrap(), [1, 20, 3, 40]);
    drop(storage);
    drop(copy);
    assert_eq!(drops.count(), 0);
    assert_eq!(view.get(0), Some(20.0));
    drop(view);
    assert_eq!(drops.count(), 1);
}

#[test]
fn elements_inside_the_owner_stay_where_they_are() {
    #[repr(align(4096))]
    struct Aligned([u8; 5]);
    impl AsMut<[u8]> for Aligned {
        fn as_mut(&mut self) -> &mut [u8] {
            &mut self.0
        }
    }
    let storages: Vec<Storage> = (0..10).map(|n| Storage::from_owner_mut(Aligned([n; 5]))).collect();
    for (n, storage) in (0u8..).zip(storages) {
        assert_eq!(storage.data().addr() % 4096, 0);
        storage.fill(Scalar::Float(f64::from(n) + 100.0)).unwrap();
        assert_eq!(storage.to_vec::<u8>().unwrap(), [n + 100; 5]);
    }
}

#[test]
fn a_storage_from_owner_cannot_be_written() {
    let (owner, drops) = Inline::new([7, 8]);
    let storage = Storage::from_owner(owner);
    let view = storage.reinterpret(DType::Byte, 0, 8).unwrap();
    assert!(matches!(storage.set(0, Scalar::Float(1.0)), Err(Error::ReadOnly { kind: MemoryKind::ReadOnlyOwned })));
    assert!(matches!(storage.copy_from_slice(&[1, 2]), Err(Error::ReadOnly { .. })));
    assert!(matches!(view.fill(Scalar::Signed(0)), Err(Error::ReadOnly { .. })));
    assert!(storage.is_read_only() && view.is_read_only());
    assert_eq!(storage.to_vec::<i32>().unwrap(), [7, 8]);
    assert_eq!(drops.count(), 0);
    drop((storage, view));
    assert_eq!(drops.count(), 1);
}

#[test]
fn memory_that_others_share_can_be_read_only_memory_of_a_storage() {
    let shared: Arc<[f32]> = [1.0, 2.0].into();
    let storages: Vec<Storage> = (0..3).map(|_| Storage::from_owner::<f32, _>(Arc::clone(&shared))).collect();
    assert_eq!(Arc::strong_count(&shared), 4);
    assert!(storages.iter().all(|storage| storage.data().addr() == shared.as_ptr().addr()));
    drop(storages);
    assert_eq!((Arc::strong_count(&shared), &shared[..]), (1, &[1.0f32, 2.0][..]));
}

#[test]
fn an_owner_without_elements_is_dropped_too() {
    let (owner, drops) = Inline::new([]);
    let storage = Storage::from_owner_mut(owner);
    assert_eq!((storage.size(), storage.data().is_null(), storage.get(0)), (0, true, None));
    assert!(storage.to_vec::<i32>().unwrap().is_empty());
    drop(storage);
    assert_eq!(drops.count(), 1);

    let empty = Storage::from_vec(Vec::<f16>::with_capacity(100));
    assert_eq!((empty.size(), empty.dtype()), (0, DType::Half));
}

#[test]
fn an_owner_without_a_size_is_dropped_too() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Constant;
    impl AsRef<[u16]> for Constant {
        fn as_ref(&self) -> &[u16] {
            &[1, 2, 3]
        }
    }
    impl Drop for Constant {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::SeqCst);
        }
    }
    let storage = Storage::from_owner(Constant);
    assert_eq!(storage.to_vec::<u16>().unwrap(), [1, 2, 3]);
    drop(storage);
    assert_eq!(DROPPED.load(Ordering::SeqCst), 1);
}

#[test]
fn a_panic_in_as_mut_drops_the_owner_once() {
    struct Panics(Drops);
    impl AsMut<[u8]> for Panics {
        fn as_mut(&mut self) -> &mut [u8] {
            panic!("no elements");
        }
    }
    impl Drop for Panics {
        fn drop(&mut self) {
            self.0.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let drops = Drops::default();
    let owner = Panics(drops.clone());
    assert!(catch_unwind(AssertUnwindSafe(|| Storage::from_owner_mut(owner))).is_err());
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_panic_while_the_owner_is_dropped_reaches_the_holder_of_the_last_reference() {
    struct Panics(Vec<u8>, Drops);
    impl AsRef<[u8]> for Panics {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    impl Drop for Panics {
        fn drop(&mut self) {
            self.1.0.fetch_add(1, Ordering::SeqCst);
            panic!("dropped");
        }
    }
    let drops = Drops::default();
    let storage = Storage::from_owner(Panics(vec![1; 100], drops.clone()));
    let view = storage.view(0, 50).unwrap();
    drop(storage);
    assert_eq!(drops.count(), 0);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(view))).is_err());
    assert_eq!(drops.count(), 1);
    // The locks of the process still work.
    let parked = Storage::from_vec(vec![1u8]);
    let token = parked.token().unwrap();
    assert_eq!(Storage::from_token(token).unwrap().size(), 1);
}

#[test]
fn an_owner_may_use_storages_while_it_is_dropped() {
    struct Uses(Vec<u8>, Option<Storage>, Drops);
    impl AsRef<[u8]> for Uses {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    // SAFETY: [live] in this test the value stays in one thread.
    unsafe impl Send for Uses {}
    impl Drop for Uses {
        fn drop(&mut self) {
            let other = self.1.take().unwrap();
            // Takes the register, which is free here.
            let token = other.token().unwrap();
            assert_eq!(Storage::from_token(token).unwrap().get(0), Some(5.0));
            self.2.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let drops = Drops::default();
    let storage = Storage::from_owner(Uses(vec![1], Some(Storage::from_vec(vec![5i8])), drops.clone()));
    let token = storage.token().unwrap();
    drop(storage);
    drop(Storage::from_token(token).unwrap());
    assert_eq!(drops.count(), 1);
}

#[test]
fn the_last_reference_may_end_in_another_thread() {
    let (owner, drops) = Inline::new([3, 4]);
    let storage = Storage::from_owner_mut(owner);
    let token = storage.token().unwrap();
    drop(storage);
    assert_eq!(drops.count(), 0);
    let dropped = drops.clone();
    thread::spawn(move || {
        let storage = Storage::from_token(token).unwrap();
        set(&storage, 0, 30.0);
        assert_eq!(storage.to_vec::<i32>().unwrap(), [30, 4]);
        drop(storage);
        assert_eq!(dropped.count(), 1);
    })
    .join()
    .unwrap();
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_publication_keeps_the_owner() {
    let (owner, drops) = Inline::new([1]);
    Storage::from_owner(owner).publish(b"owners.rs").unwrap();
    assert_eq!(drops.count(), 0);
    assert_eq!(Storage::lookup(b"owners.rs").unwrap().unwrap().get(0), Some(1.0));
    drop(Storage::unpublish(b"owners.rs"));
    assert_eq!(drops.count(), 1);
}

#[test]
fn owned_memory_cannot_be_resized_or_moved() {
    let (owner, drops) = Inline::new([1, 2]);
    let storage = Storage::from_owner_mut(owner);
    for failed in [storage.resize(3), storage.reserve(100), storage.share_memory(None)] {
        let message = failed.unwrap_err().to_string();
        assert!(message.contains("memory of the host program"), "{message}");
    }
    assert_eq!((storage.to_vec::<i32>().unwrap(), drops.count()), (vec![1, 2], 0));
}

#[test]
fn slices_are_copied_both_ways() {
    fn both_ways<T: Element + std::fmt::Debug>(elements: &[T]) {
        let storage = Storage::zeroed(T::DTYPE, elements.len()).unwrap();
        storage.copy_from_slice(elements).unwrap();
        assert_eq!(storage.to_vec::<T>().unwrap(), elements);
        let mut out = storage.to_vec::<T>().unwrap();
        out.reverse();
        storage.copy_to_slice(&mut out).unwrap();
        assert_eq!(out, elements);
        assert_eq!(Storage::from_vec(elements.to_vec()).to_vec::<T>().unwrap(), elements);
    }
    both_ways(&[1u8, 255]);
    both_ways(&[i64::MIN, i64::MAX, 0]);
    both_ways(&[u64::MAX]);
    both_ways(&[f16::from_f32(1.5), f16::INFINITY]);
    both_ways(&[half::bf16::from_f32(-2.0)]);
    both_ways(&[Bool::from(true), Bool::from(false)]);
    both_ways::<f32>(&[]);
    both_ways(&(0..if cfg!(miri) { 100 } else { 3_000_000 }).collect::<Vec<i32>>());
}

#[test]
fn bits_are_copied_as_they_are() {
    let odd = f64::from_bits(0x7ff4_0000_0000_0001);
    let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    let storage = Storage::from_vec(vec![odd, -0.0]);
    assert_eq!(bits(&storage.to_vec::<f64>().unwrap()), bits(&[odd, -0.0]));
}

#[test]
fn slices_of_another_length_or_type_are_refused() {
    let storage = Storage::from_vec(vec![1i32, 2, 3]);
    assert!(matches!(storage.copy_from_slice(&[1i32]), Err(Error::SizeMismatch { expected: 3, got: 1 })));
    assert!(matches!(storage.copy_to_slice(&mut [1i32; 4]), Err(Error::SizeMismatch { expected: 4, got: 3 })));
    let message = storage.copy_to_slice(&mut [0u32; 3]).unwrap_err().to_string();
    assert_eq!(message, "the storage is a torch.IntStorage, whose elements are Int, not UInt32");
    assert!(matches!(storage.to_vec::<f32>(), Err(Error::OtherElements { got: DType::Int, expected: DType::Float })));
    assert_eq!(storage.to_vec::<i32>().unwrap(), [1, 2, 3]);
}

#[test]
fn a_handle_can_be_shared_with_a_state_and_handed_over() {
    let state = |number| StateId::new(std::num::NonZeroUsize::new(number).unwrap());
    let (owner, drops) = Inline::new([1, 2, 3]);
    let storage = storage::Storage::from_owner_mut(owner);
    let other = storage.share_with(StateId::of_this_thread(), state(1)).unwrap();
    let third = storage.clone().hand_over(StateId::of_this_thread(), state(2)).unwrap();
    assert_eq!(storage.references(), 3);
    assert!(third.release(state(2)).is_none());
    drop(storage);
    assert!(other.release(state(1)).is_none());
    assert_eq!(drops.count(), 1);

    // Heap memory may move as soon as only one state holds it.
    let heap = storage::Storage::zeroed(DType::Byte, 1).unwrap();
    let other = heap.share_with(StateId::of_this_thread(), state(1)).unwrap();
    assert!(matches!(heap.resize(2, StateId::of_this_thread()), Err(Error::HeldByOthers)));
    assert!(matches!(other.resize(2, state(1)), Err(Error::HeldByProgram)));
    let heap = heap.hand_over(StateId::of_this_thread(), state(1)).unwrap();
    other.resize(2, state(1)).unwrap();
    assert_eq!(heap.size(), 2);
    assert!(heap.release(state(1)).is_none());
    assert!(other.release(state(1)).is_none());
}

#[test]
fn usage_and_weight_count_owned_memory() {
    // Other tests of this file run at the same time, and use little memory.
    const BYTES: usize = 64 << 20;
    let (before, weighed) = (usage().foreign, weight());
    let storage = Storage::from_vec(vec![0u8; if cfg!(miri) { 1 << 20 } else { BYTES }]);
    let bytes = storage.nbytes();
    assert!(usage().foreign >= before + bytes / 2 && weight() >= weighed + bytes / 2);
    drop(storage);
    assert!(usage().foreign < before + bytes / 2 && weight() < weighed + bytes / 2);
}

#[test]
fn a_vector_comes_back_without_a_copy() {
    let (foreign, before) = (usage().foreign, weight());
    let mut vector = Vec::with_capacity(10);
    vector.extend([1.5f64, 2.5]);
    let address = vector.as_ptr();
    let storage = Storage::from_vec(vector);
    set(&storage, 0, 7.0);
    let vector = storage.try_into_vec::<f64>().unwrap();
    assert_eq!((vector.as_ptr(), vector.capacity(), vector.as_slice()), (address, 10, &[7.0, 2.5][..]));
    // Other tests of this program run at the same time, with little memory.
    assert!(usage().foreign.abs_diff(foreign) < 1 << 20 && weight().abs_diff(before) < 1 << 30);
    assert_eq!(Storage::from_vec(Vec::<u8>::with_capacity(5)).try_into_vec::<u8>().unwrap().capacity(), 5);
}

#[test]
fn a_storage_that_others_use_or_that_has_no_vector_is_returned() {
    let returned = |storage: Storage| storage.try_into_vec::<i32>().unwrap_err();
    let storage = Storage::from_vec(vec![1i32, 2, 3]);
    let (handle, view) = (storage.clone(), storage.view(0, 3).unwrap());
    let storage = returned(storage);
    drop(handle);
    let storage = returned(storage);
    drop(view);
    let token = storage.token().unwrap();
    let storage = returned(storage);
    drop(Storage::from_token(token).unwrap());
    storage.publish(b"into a vector").unwrap();
    let storage = returned(storage);
    drop(Storage::unpublish(b"into a vector").unwrap());
    let storage = storage.try_into_vec::<u32>().unwrap_err();
    // A view is what is left of the memory: of a part of it, or all.
    let part = storage.view(1, 2).unwrap();
    drop(storage);
    assert_eq!(returned(part).to_vec::<i32>().unwrap(), [2, 3]);

    let (owner, drops) = Inline::new([1, 2, 3, 4]);
    let storage = returned(Storage::from_owner_mut(owner));
    set(&storage, 3, 9.0);
    assert_eq!((storage.to_vec::<i32>().unwrap(), drops.count()), (vec![1, 2, 3, 9], 0));
    drop(storage);
    assert_eq!(drops.count(), 1);
    assert_eq!(returned(Storage::zeroed(DType::Int, 2).unwrap()).size(), 2);
    let mut numbers = [1i32, 2];
    let address = numbers.as_mut_ptr().cast();
    // SAFETY: [vouched] the array outlives the storage, and nobody writes it.
    let raw = unsafe { Storage::from_raw_parts((), DType::Int, address, 2, true) }.unwrap();
    assert_eq!(returned(raw).data(), address);
}
