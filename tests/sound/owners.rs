//! Storages over memory of Rust values, which end in any thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use torch_storage::Storage;
use torch_storage::convert::Scalar;

use crate::{ROUNDS, in_two_threads};

/// An owner that reads its elements for the last time when it is dropped.
struct Last {
    elements: Vec<i32>,
    sum: Arc<AtomicUsize>,
}

impl AsMut<[i32]> for Last {
    fn as_mut(&mut self) -> &mut [i32] {
        &mut self.elements
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        let sum: i32 = self.elements.iter().sum();
        self.sum.store(sum.unsigned_abs().try_into().unwrap(), Ordering::Relaxed);
    }
}

#[test]
fn an_owner_ends_after_everything_that_threads_wrote() {
    for _ in 0..ROUNDS {
        let sum = Arc::new(AtomicUsize::new(0));
        let storage = Storage::from_owner_mut(Last { elements: vec![0; 10], sum: Arc::clone(&sum) });
        let tokens = [0, 5].map(|half| storage.view(half, 5).unwrap().token().unwrap());
        drop(storage);
        let threads = tokens.map(|token| {
            thread::spawn(move || {
                let half = Storage::from_token(token).unwrap();
                half.fill(Scalar::Signed(3)).unwrap();
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(sum.load(Ordering::Relaxed), 30);
    }
}

#[test]
fn a_program_reads_what_it_shares() {
    let table: Arc<[f32]> = (0..20u8).map(f32::from).collect();
    let storage = Storage::from_owner(Arc::clone(&table));
    in_two_threads(&storage, |storage, thread| {
        for _ in 0..ROUNDS {
            assert_eq!(storage.to_vec::<f32>().unwrap(), *table);
            assert!(storage.equals(storage) && storage.get(thread) == Some(f64::from(table[thread])));
            assert!(storage.view(1, 5).unwrap().set(0, Scalar::Signed(1)).is_err());
            let mut out = storage.cast(torch_storage::DType::Double).unwrap();
            assert_eq!(out.as_mut_slice::<f64>().unwrap()[3], 3.0);
        }
    });
    assert_eq!(table[19], 19.0);
}

#[test]
fn a_vector_is_written_by_two_threads() {
    let storage = Storage::from_vec(vec![0u16; 30]);
    in_two_threads(&storage, |storage, thread| {
        for _ in 0..ROUNDS {
            storage.view(thread * 15, 15).unwrap().fill(Scalar::Signed(7)).unwrap();
            storage.copy_from_slice(&[7u16; 30]).unwrap();
        }
    });
    assert_eq!(storage.to_vec::<u16>().unwrap(), [7; 30]);
}

/// The elements are inside the owner itself, so a look at the owner would be an access to them.
#[test]
fn an_owner_that_is_no_vector_is_not_touched_when_a_vector_is_wanted() {
    let storage = Storage::from_owner_mut([1i32, 2, 3]);
    storage.fill(Scalar::Signed(4)).unwrap();
    let storage = storage.try_into_vec::<i32>().unwrap_err();
    storage.fill(Scalar::Signed(5)).unwrap();
    assert_eq!(storage.to_vec::<i32>().unwrap(), [5, 5, 5]);
}

#[test]
fn a_vector_comes_back_after_threads_wrote_it() {
    let storage = Storage::from_vec(vec![1i32, 2]);
    let token = storage.view(1, 1).unwrap().token().unwrap();
    let storage = storage.try_into_vec::<i32>().unwrap_err();
    thread::spawn(move || Storage::from_token(token).unwrap().fill(Scalar::Signed(7)).unwrap()).join().unwrap();
    let mut vector = storage.try_into_vec::<i32>().unwrap();
    vector.push(3);
    assert_eq!(vector, [1, 7, 3]);
}
