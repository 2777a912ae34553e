//! Who holds a storage, and what moves while it is held: handles, tokens, publications and views of several threads.

use std::cell::RefCell;
use std::thread;

use torch_storage::convert::Scalar;
use torch_storage::{DType, Error, Storage};

use crate::{ROUNDS, in_two_threads};

/// A storage moved here while another thread had a handle to it and read.
#[test]
fn memory_stays_where_it_is_while_another_thread_holds_it() {
    let storage = Storage::zeroed(DType::Double, 1000).unwrap();
    let token = storage.token().unwrap();
    let refused = |storage: &Storage| {
        assert!(matches!(storage.resize(1_000_000), Err(Error::HeldByOthers)));
        assert!(matches!(storage.reserve(1_000_000), Err(Error::HeldByOthers)));
        assert!(matches!(storage.share_memory(None), Err(Error::HeldByOthers)));
    };
    refused(&storage);
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let storage = Storage::from_token(token).unwrap();
            (0..1000).all(|index| storage.get(index) == Some(0.0)) && {
                refused(&storage);
                storage.get(999) == Some(0.0)
            }
        });
        while !reader.is_finished() {
            match storage.resize(1000 + ROUNDS) {
                Ok(()) => break,
                Err(error) => assert!(matches!(error, Error::HeldByOthers)),
            }
            thread::yield_now();
        }
        assert!(reader.join().unwrap());
    });
    storage.resize(2000).unwrap();
    assert_eq!((storage.size(), storage.get(1999)), (2000, Some(0.0)));
}

#[test]
fn several_handles_of_one_thread_may_move_it() {
    let storage = Storage::zeroed(DType::Byte, 10).unwrap();
    let (other, view) = (storage.clone(), storage.view(0, 10).unwrap());
    storage.resize(3000).unwrap();
    other.fill(Scalar::Signed(1)).unwrap();
    assert_eq!((other.size(), view.get(0), storage.get(2999)), (3000, Some(0.0), Some(1.0)));
    let token = storage.token().unwrap();
    drop((storage, other));
    let taken = Storage::from_token(token).unwrap();
    taken.resize(1).unwrap();
    assert!(taken.is_same(&taken.clone()) && !taken.is_same(&view));
}

/// A view of another thread writes the old memory while the storage moves away from it.
#[test]
fn a_storage_moves_away_from_views_that_are_written() {
    for round in 0..ROUNDS {
        let storage = Storage::zeroed(DType::Double, 50).unwrap();
        let token = storage.view(0, 50).unwrap().token().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || Storage::from_token(token).unwrap().fill(Scalar::Signed(-1)).unwrap());
            if round % 2 == 0 {
                storage.resize(60).unwrap();
            } else {
                storage.reserve(100).unwrap();
            }
        });
        assert!(storage.to_vec::<f64>().unwrap().iter().all(|&element| element == 0.0 || element == -1.0 || cfg!(miri)));
    }
}

/// What a thread wrote through its view has happened before the storage is resized, even if another view was made in between.
#[test]
fn a_view_that_another_thread_dropped_is_out_of_the_way() {
    for round in 0..ROUNDS {
        let mut storage = Storage::zeroed(DType::Double, 50).unwrap();
        let token = storage.view(0, 50).unwrap().token().unwrap();
        thread::scope(|scope| {
            let writer = scope.spawn(move || Storage::from_token(token).unwrap().fill(Scalar::Signed(-1)).unwrap());
            while storage.as_mut_slice::<f64>().is_none() {
                drop(storage.view(0, 1).unwrap());
                thread::yield_now();
            }
            if round % 2 == 0 {
                storage.resize(1000).unwrap();
            }
            storage.as_mut_slice::<f64>().unwrap().sort_by(f64::total_cmp);
            assert_eq!(storage.get(storage.size() - 50), Some(if round % 2 == 0 { 0.0 } else { -1.0 }));
            writer.join().unwrap();
        });
    }
}

#[test]
fn two_threads_make_and_drop_handles_views_and_tokens() {
    let storage = Storage::zeroed(DType::Int, 20).unwrap();
    in_two_threads(&storage, |storage, thread| {
        for round in 0..ROUNDS {
            let other = storage.clone();
            let view = other.view(5, 10).unwrap();
            let token = view.token().unwrap();
            view.set(round % 10, Scalar::Signed(1)).unwrap();
            drop((other, view));
            let view = Storage::from_token(token).unwrap();
            assert!(matches!(Storage::from_token(token), Err(Error::SpentToken)));
            let name = format!("sound, handles {thread}");
            view.publish(name.as_bytes()).unwrap();
            let found = Storage::lookup(name.as_bytes()).unwrap().unwrap();
            assert!(found.is_same(&view) && found.get(round % 10) == Some(1.0));
            assert!(Storage::unpublish(name.as_bytes()).unwrap().unwrap().is_same(&found));
            assert!(matches!(storage.resize(21), Err(Error::HeldByOthers) | Ok(())));
        }
    });
    storage.resize(30).unwrap();
}

thread_local! {
    static KEPT: RefCell<Option<Storage>> = const { RefCell::new(None) };
}

/// The number of the thread is still there when its thread-local values are dropped.
#[test]
fn a_handle_ends_with_its_thread() {
    let storage = Storage::zeroed(DType::Int, 20).unwrap();
    let token = storage.token().unwrap();
    thread::spawn(move || {
        let storage = Storage::from_token(token).unwrap();
        let other = storage.clone();
        KEPT.with(|kept| kept.replace(Some(other)));
    })
    .join()
    .unwrap();
    storage.resize(21).unwrap();
}
