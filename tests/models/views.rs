//! Views, and calls that take long, in other threads than the storage: the memory ends with its last user, the block with its second
//! side, and a storage is resized where it is only if nobody else uses its memory.

use loom::thread;

use crate::{ONE, end, explore, owned, small};

#[test]
fn the_last_of_two_users_ends_the_memory() {
    explore("the last of two users ends the memory", || {
        let (storage, elements) = owned();
        let (view, in_thread) = (storage.view(4, 8).unwrap(), elements.clone());
        let thread = thread::spawn(move || {
            in_thread.read();
            end(view, ONE);
        });
        elements.read();
        end(storage, ONE);
        thread.join().unwrap();
    });
}

#[test]
fn the_last_of_three_users_ends_the_memory() {
    explore("the last of three users ends the memory", || {
        let (storage, elements) = owned();
        let inner = storage.view(4, 8).unwrap().view(1, 2).unwrap();
        let threads = [storage.view(4, 8).unwrap(), inner].map(|view| {
            let elements = elements.clone();
            thread::spawn(move || {
                elements.read();
                end(view, ONE);
            })
        });
        elements.read();
        end(storage, ONE);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn the_side_that_ends_last_frees_the_block() {
    explore("the side that ends last frees the block", || {
        let (storage, elements) = small();
        let (view, in_thread) = (storage.view(4, 8).unwrap(), elements.clone());
        let thread = thread::spawn(move || {
            let inner = view.view(0, 2).unwrap();
            end(view, ONE);
            in_thread.read();
            assert_eq!(inner.get(1), Some(1.0));
            end(inner, ONE);
        });
        end(storage, ONE);
        thread.join().unwrap();
    });
}

/// The view that this thread makes and drops must not hide the one that the other thread has dropped.
#[test]
fn a_resize_comes_after_a_view_that_ended_elsewhere() {
    explore("a resize comes after a view that ended elsewhere", || {
        let (storage, elements) = small();
        let (view, in_thread) = (storage.view(4, 8).unwrap(), elements.clone());
        let thread = thread::spawn(move || {
            in_thread.write();
            end(view, ONE);
        });
        // Loom then also lets the other thread come first.
        thread::yield_now();
        end(storage.view(0, 1).unwrap(), ONE);
        let data = storage.data();
        storage.resize(8, ONE).unwrap();
        if storage.data() == data {
            elements.write();
        }
        end(storage, ONE);
        thread.join().unwrap();
    });
}

#[test]
fn a_storage_moves_away_from_memory_that_views_use() {
    explore("a storage moves away from memory that views use", || {
        let (storage, elements) = small();
        let (view, in_thread) = (storage.view(0, 16).unwrap(), elements.clone());
        let first = thread::spawn(move || {
            in_thread.write();
            end(view, ONE);
        });
        // Loom then also lets the other thread come first.
        thread::yield_now();
        let data = storage.data();
        storage.resize(8, ONE).unwrap();
        if storage.data() == data {
            elements.write();
        }
        // A view of what the storage has now, in a block of its own or not.
        let view = storage.view(0, 8).unwrap();
        let second = thread::spawn(move || {
            assert_eq!(view.get(7), Some(1.0));
            end(view, ONE);
        });
        end(storage, ONE);
        first.join().unwrap();
        second.join().unwrap();
    });
}

#[test]
fn a_call_that_takes_long_keeps_the_memory_where_it_is() {
    explore("a call that takes long keeps the memory where it is", || {
        let (storage, elements) = small();
        let (user, in_thread) = (storage.user(), elements.clone());
        let thread = thread::spawn(move || {
            let data = user();
            in_thread.read();
            assert_eq!(user(), data);
            drop(user);
        });
        // Loom then also lets the other thread come first.
        thread::yield_now();
        let data = storage.data();
        storage.resize(0, ONE).unwrap();
        storage.resize(8, ONE).unwrap();
        if storage.data() == data {
            elements.write();
        }
        end(storage, ONE);
        thread.join().unwrap();
    });
}
