//! References to one storage in several threads: the last one ends the storage, and nobody resizes what others hold.

use loom::thread;

use torch_storage::storage::Storage;
use torch_storage::{DType, Error};

use crate::{ONE, THREE, TWO, end, explore, owned, small};

#[test]
fn the_last_of_two_references_ends_in_either_thread() {
    explore("the last of two references", || {
        let (storage, elements) = owned();
        let (other, in_thread) = (storage.share_with(ONE, TWO).unwrap(), elements.clone());
        let thread = thread::spawn(move || {
            in_thread.read();
            end(other, TWO);
        });
        elements.read();
        end(storage, ONE);
        thread.join().unwrap();
    });
}

#[test]
fn the_last_of_three_references_ends_in_any_thread() {
    explore("the last of three references", || {
        let (storage, elements) = owned();
        let threads = [TWO, THREE].map(|state| {
            let (other, elements) = (storage.share_with(ONE, state).unwrap(), elements.clone());
            thread::spawn(move || {
                elements.read();
                end(other, state);
            })
        });
        elements.read();
        end(storage, ONE);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_reference_is_shared_while_another_ends() {
    explore("a reference is shared while another ends", || {
        let (storage, elements) = owned();
        let (other, in_thread) = (storage.share_with(ONE, TWO).unwrap(), elements.clone());
        let thread = thread::spawn(move || {
            let more = other.share(TWO).unwrap();
            end(other, TWO);
            in_thread.read();
            end(more, TWO);
        });
        let more = storage.share(ONE).unwrap();
        end(more, ONE);
        elements.read();
        end(storage, ONE);
        thread.join().unwrap();
    });
}

#[test]
fn a_reference_is_handed_over_while_another_ends() {
    explore("a reference is handed over while another ends", || {
        let (storage, elements) = owned();
        let (other, in_thread) = (storage.share_with(ONE, TWO).unwrap(), elements.clone());
        let thread = thread::spawn(move || {
            let other = other.hand_over(TWO, THREE).map_err(|(_, error)| error).unwrap();
            in_thread.read();
            end(other, THREE);
        });
        elements.read();
        end(storage, ONE);
        thread.join().unwrap();
    });
}

#[test]
fn a_retained_storage_is_adopted_while_its_handle_ends() {
    explore("a retained storage is adopted while its handle ends", || {
        let (storage, elements) = owned();
        storage.retain(ONE).unwrap();
        let (address, in_thread) = (storage.address(), elements.clone());
        let thread = thread::spawn(move || {
            let adopted = Storage::adopt(address, DType::Byte, TWO).unwrap();
            in_thread.read();
            end(adopted, TWO);
        });
        elements.read();
        end(storage, ONE);
        thread.join().unwrap();
    });
}

#[test]
fn a_retained_storage_is_adopted_by_one_of_two_threads() {
    explore("a retained storage is adopted by one of two threads", || {
        let (storage, elements) = owned();
        storage.retain(ONE).unwrap();
        let (address, in_thread) = (storage.address(), elements.clone());
        let thread = thread::spawn(move || {
            let adopted = Storage::adopt(address, DType::Byte, TWO).ok();
            adopted.map(|adopted| {
                in_thread.read();
                end(adopted, TWO);
            })
        });
        let adopted = Storage::adopt(address, DType::Byte, ONE).ok();
        elements.read();
        end(storage, ONE);
        let here = adopted.map(|adopted| end(adopted, ONE));
        assert_ne!(here, thread.join().unwrap());
    });
}

#[test]
fn a_resize_is_refused_or_comes_after_the_other_holder() {
    explore("a resize is refused or comes after the other holder", || {
        let (storage, elements) = small();
        let (other, in_thread) = (storage.share_with(ONE, TWO).unwrap(), elements.clone());
        let thread = thread::spawn(move || {
            assert_eq!(other.size(), 16);
            in_thread.write();
            end(other, TWO);
        });
        match storage.resize(8, ONE) {
            Ok(()) => elements.write(),
            Err(error) => assert!(matches!(error, Error::HeldElsewhere)),
        }
        end(storage, ONE);
        thread.join().unwrap();
    });
}

#[test]
fn one_of_three_holders_resizes_when_the_others_have_ended() {
    explore("one of three holders resizes when the others have ended", || {
        let (storage, elements) = small();
        let threads = [TWO, THREE].map(|state| {
            let (other, elements) = (storage.share_with(ONE, state).unwrap(), elements.clone());
            thread::spawn(move || {
                if other.resize(8, state).is_ok() {
                    elements.write();
                }
                end(other, state);
            })
        });
        if storage.resize(8, ONE).is_ok() {
            elements.write();
        }
        end(storage, ONE);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
