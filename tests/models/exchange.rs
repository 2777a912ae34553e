//! Tokens and publications in several threads: a token is taken once, and whoever gets a storage is ordered after its maker.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::thread;

use torch_storage::Error;
use torch_storage::storage::{Storage, Token};

use crate::{ONE, THREE, TWO, end, explore, owned, small};

#[test]
fn a_token_is_taken_by_one_of_two_threads() {
    explore("a token is taken by one of two threads", || {
        let (storage, elements) = owned();
        let token = storage.token(ONE).unwrap();
        // Only counts, so it adds no order to the model.
        let taken = Arc::new(AtomicUsize::new(0));
        let threads = [TWO, THREE].map(|state| {
            let (elements, taken) = (elements.clone(), Arc::clone(&taken));
            thread::spawn(move || match Storage::from_token(token, state) {
                Ok(storage) => {
                    taken.fetch_add(1, Ordering::Relaxed);
                    elements.read();
                    end(storage, state);
                }
                Err(error) => assert!(matches!(error, Error::SpentToken)),
            })
        });
        elements.read();
        end(storage, ONE);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(taken.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn what_was_written_before_a_token_is_seen_by_its_taker() {
    explore("what was written before a token is seen by its taker", || {
        let token = Token::new();
        let (storage, elements) = owned();
        let in_thread = elements.clone();
        let thread = thread::spawn(move || {
            in_thread.write();
            storage.park(token, ONE).unwrap();
            end(storage, ONE);
        });
        let taken = Storage::from_token(token, TWO);
        if let Ok(storage) = taken {
            elements.read();
            end(storage, TWO);
        }
        thread.join().unwrap();
        // It is still parked if this thread was too early.
        if let Ok(storage) = Storage::from_token(token, TWO) {
            end(storage, TWO);
        }
    });
}

#[test]
fn a_published_storage_is_looked_up_while_its_name_ends() {
    explore("a published storage is looked up while its name ends", || {
        let (storage, elements) = owned();
        let in_publisher = elements.clone();
        let publisher = thread::spawn(move || {
            in_publisher.write();
            storage.publish(b"name", ONE).unwrap();
            end(storage, ONE);
        });
        let reader = thread::spawn(move || {
            if let Some(storage) = Storage::lookup(b"name", TWO).unwrap() {
                elements.read();
                end(storage, TWO);
            }
        });
        let unpublish = || Storage::unpublish(b"name", THREE).unwrap().map(|storage| end(storage, THREE));
        unpublish();
        publisher.join().unwrap();
        reader.join().unwrap();
        unpublish();
    });
}

#[test]
fn a_resize_is_refused_or_comes_after_whoever_looked_the_storage_up() {
    explore("a resize is refused or comes after whoever looked the storage up", || {
        let (storage, elements) = small();
        storage.publish(b"name", ONE).unwrap();
        let in_thread = elements.clone();
        let thread = thread::spawn(move || {
            if let Some(found) = Storage::lookup(b"name", TWO).unwrap() {
                in_thread.write();
                end(found, TWO);
            }
        });
        assert!(matches!(storage.resize(8, ONE), Err(Error::HeldElsewhere)));
        end(Storage::unpublish(b"name", ONE).unwrap().unwrap(), ONE);
        match storage.resize(8, ONE) {
            Ok(()) => elements.write(),
            Err(error) => assert!(matches!(error, Error::HeldElsewhere)),
        }
        end(storage, ONE);
        thread.join().unwrap();
    });
}
