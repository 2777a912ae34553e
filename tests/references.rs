//! References to storages: retained and adopted addresses, several threads, and `fork`.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use torch_storage::convert::Scalar;
use torch_storage::storage::{Anchor, StateId, Storage, protect_across_fork, usage};
use torch_storage::{DType, Error};

const THREADS: usize = 4;

/// The tests count the memory of the whole process, so only one of them may run at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn handles_and_retains_are_references() -> Result<(), Error> {
    let _alone = alone();
    let before = usage();
    let storage = Storage::zeroed(DType::Int, 4)?;
    let address = storage.address();
    assert_eq!(storage.references(), 1);
    assert!(
        matches!(Storage::adopt(address, DType::Int, StateId::of_this_thread()), Err(Error::NotRetained { address: at }) if at == address)
    );
    assert!(!storage.release_retained(StateId::of_this_thread()));

    storage.retain(StateId::of_this_thread())?;
    storage.retain(StateId::of_this_thread())?;
    let view = storage.view(1, 2)?;
    assert_eq!((storage.references(), view.references()), (3, 1), "views do not count");
    assert!(matches!(Storage::adopt(view.address(), DType::Int, StateId::of_this_thread()), Err(Error::NotRetained { .. })));
    let other = Storage::adopt(address, DType::Float, StateId::of_this_thread());
    assert!(matches!(other, Err(Error::OtherClass { got: DType::Int, expected: DType::Float })));
    assert_eq!(storage.references(), 3, "a refused adoption takes no reference");

    let second = Storage::adopt(address, DType::Int, StateId::of_this_thread())?;
    assert_eq!((second.address(), second.references()), (address, 3));
    assert!(second.set(2, Scalar::Float(7.0))?);
    assert_eq!(storage.get(2), Some(7.0));
    assert!(second.release_retained(StateId::of_this_thread()));
    assert!(!second.release_retained(StateId::of_this_thread()));
    assert!(Storage::adopt(address, DType::Int, StateId::of_this_thread()).is_err());

    // A retain keeps the storage alive without any handle.
    second.retain(StateId::of_this_thread())?;
    drop((storage, second));
    assert_eq!(usage().heap, before.heap + 16);
    let third = Storage::adopt(address, DType::Int, StateId::of_this_thread())?;
    assert_eq!((third.references(), third.get(2)), (1, Some(7.0)));
    drop(third);
    assert_eq!(usage().heap, before.heap + 16, "the view keeps the memory");
    assert!(Storage::adopt(address, DType::Int, StateId::of_this_thread()).is_err());
    assert_eq!(view.get(1), Some(7.0));
    drop(view);
    assert_eq!(usage(), before);
    Ok(())
}

/// A token or a publication is a reference, too, but nobody can take it over by the address of the storage.
#[test]
fn a_storage_with_a_token_is_not_retained() -> Result<(), Error> {
    let _alone = alone();
    let state = StateId::of_this_thread();
    let storage = Storage::zeroed(DType::Int, 4)?;
    let token = storage.token(state)?;
    assert!(matches!(Storage::adopt(storage.address(), DType::Int, state), Err(Error::NotRetained { .. })));
    let taken = Storage::from_token(token, state)?;
    assert_eq!((taken.address(), taken.references()), (storage.address(), 2));
    Ok(())
}

/// Retained storages are found by their address. When a storage ends and another one gets its address, that one is not retained.
#[test]
fn the_address_of_a_storage_that_ended_is_no_longer_retained() -> Result<(), Error> {
    let _alone = alone();
    let mut ended = Vec::new();
    let number = if cfg!(miri) { 10 } else { 100 };
    for _ in 0..number {
        let storage = Storage::zeroed(DType::Byte, 1)?;
        storage.retain(StateId::of_this_thread())?;
        drop(Storage::adopt(storage.address(), DType::Byte, StateId::of_this_thread())?);
        ended.push(storage.address());
    }
    let alive: Vec<Storage> = (0..number).map(|_| Storage::zeroed(DType::Byte, 1)).collect::<Result<_, _>>()?;
    for address in ended.into_iter().chain([0, 1, 8, usize::MAX]) {
        assert!(matches!(Storage::adopt(address, DType::Byte, StateId::of_this_thread()), Err(Error::NotRetained { .. })));
    }
    assert!(alive.iter().all(|storage| storage.references() == 1));
    Ok(())
}

#[test]
fn the_last_release_returns_the_anchor_of_foreign_memory() -> Result<(), Error> {
    let _alone = alone();
    let before = usage();
    let mut memory = [1u8, 2, 3, 4];
    let owner = StateId::new(NonZeroUsize::MIN);
    let anchor = Anchor { state: owner, reference: 56 };
    // SAFETY: [live] the array outlives the storages below.
    let storage = unsafe { Storage::foreign(DType::Byte, memory.as_mut_ptr(), 4, Some(anchor)) }?;
    let (view, copy) = (storage.view(1, 2)?, storage.cast(DType::Byte)?);
    assert_eq!((storage.anchor(), view.anchor(), copy.anchor()), (Some(anchor), Some(anchor), None));
    storage.retain(owner)?;
    let second = Storage::adopt(storage.address(), DType::Byte, owner)?;
    assert_eq!(usage().foreign, before.foreign + 4);
    view.fill(Scalar::Float(9.0))?;
    let ends = [storage.release(owner), copy.release(owner), second.release(owner), view.release(owner)];
    assert!(ends == [None, None, None, Some(anchor)], "{ends:?}");
    assert_eq!(usage(), before);
    assert_eq!(memory, [1, 9, 9, 4]);
    Ok(())
}

/// Several threads retain and adopt at once for one holder. No reference is lost or given out twice, and the last one frees the storage.
#[test]
fn threads_retain_adopt_and_release() -> Result<(), Error> {
    const ROUNDS: usize = if cfg!(miri) { 5 } else { 5000 };
    let _alone = alone();
    let before = usage();
    let one = StateId::new(NonZeroUsize::MIN);
    let storage = Storage::zeroed(DType::Long, 1000)?;
    storage.fill(Scalar::Float(42.0))?;
    let address = storage.address();
    // One for each thread: an adoption fails if all retains are taken at that moment.
    for _ in 0..THREADS {
        storage.retain(one)?;
    }
    assert_eq!(storage.release(one), None);
    let results = thread::scope(|scope| {
        let work = move || -> Result<bool, Error> {
            let mut correct = true;
            for round in 0..ROUNDS {
                let storage = Storage::adopt(address, DType::Long, one)?;
                correct &= storage.get(round % 1000) == Some(42.0) && storage.references() >= 1;
                if round % 3 == 0 {
                    storage.retain(one)?;
                    correct &= storage.release_retained(one);
                }
                let view = storage.view(round % 1000, 1)?;
                storage.retain(one)?;
                assert_eq!(storage.release(one), None);
                correct &= view.get(0) == Some(42.0);
            }
            assert_eq!(Storage::adopt(address, DType::Long, one)?.release(one), None);
            Ok(correct)
        };
        let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    assert_eq!(results.len(), THREADS);
    assert!(results.iter().all(|result| matches!(result, Ok(Ok(true)))), "{results:?}");
    assert!(Storage::adopt(address, DType::Long, one).is_err());
    assert_eq!(usage(), before);
    Ok(())
}

/// Several threads may resize the same storage for one holder. Nobody writes to it, so all its elements stay zero, whatever the order is.
/// The threads also fill and free other blocks, so that memory that was not cleared would show.
#[test]
fn threads_may_resize_one_storage() -> Result<(), Error> {
    const ROUNDS: usize = if cfg!(miri) { 3 } else { 100 };
    // Resizing this many elements takes long enough for the threads to wait for each other often.
    const LARGEST: usize = if cfg!(miri) { 3000 } else { 300_000 };
    let _alone = alone();
    let before = usage();
    let storage = Storage::zeroed(DType::Byte, 64)?;
    let address = storage.address();
    let one = StateId::new(NonZeroUsize::MIN);
    let work = |seed: usize| -> Result<(), Error> {
        let storage = Storage::adopt(address, DType::Byte, one)?;
        for round in 0..8 {
            let size = (round * 7919 + seed * 104_729) % LARGEST;
            storage.resize(size, one)?;
            storage.reserve(size / 3, one)?;
            Storage::zeroed(DType::Byte, size % 5000)?.fill(Scalar::Float(165.0))?;
        }
        assert_eq!(storage.release(one), None);
        Ok(())
    };
    for round in 0..ROUNDS {
        for _ in 0..THREADS {
            storage.retain(one)?;
        }
        let results = thread::scope(|scope| {
            let workers: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(round * THREADS + thread))).collect();
            workers.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        assert!(results.iter().all(|result| matches!(result, Ok(Ok(())))), "{results:?}");
        let zeros = Storage::zeroed(DType::Byte, storage.size())?;
        assert!(storage.equals(&zeros), "round {round}: some of {} elements are not zero", storage.size());
    }
    assert_eq!(storage.references(), 1);
    drop(storage);
    assert_eq!(usage(), before);
    Ok(())
}

/// Waits for a child and returns its exit status, or `None` if it does not end in time.
fn wait(child: libc::pid_t) -> Option<i32> {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        let mut status = 0;
        // SAFETY: [system] the status is a local variable, which the call writes.
        if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == child {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(1));
    }
    // SAFETY: [system] the child was started by this test and has not been waited for, so the id is still its own.
    unsafe { libc::kill(child, libc::SIGKILL) };
    None
}

/// A forked child has only the thread that called `fork`. The locks are free in the child even if other threads held them.
#[test]
#[cfg_attr(miri, ignore = "Miri has no `fork`")]
fn a_forked_child_does_not_hang() -> Result<(), Error> {
    let _alone = alone();
    let storage = Storage::zeroed(DType::Int, 4)?;
    protect_across_fork();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..THREADS - 1 {
            scope.spawn(|| {
                let mine = Storage::zeroed(DType::Int, 4);
                while let (false, Ok(mine)) = (stop.load(Ordering::Relaxed), &mine) {
                    let released =
                        mine.retain(StateId::of_this_thread()).is_ok() && mine.release_retained(StateId::of_this_thread());
                    assert!(released);
                }
            });
        }
        let mut ends = Vec::new();
        for _ in 0..300 {
            // SAFETY: [system] the child only uses the storage and leaves by `_exit`.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let adopted = storage.retain(StateId::of_this_thread()).is_ok()
                    && Storage::adopt(storage.address(), DType::Int, StateId::of_this_thread()).is_ok();
                let good = adopted && storage.references() == 1 && !storage.release_retained(StateId::of_this_thread());
                // SAFETY: [system] the call ends the child at once.
                unsafe { libc::_exit(i32::from(!good)) };
            }
            ends.push(wait(child));
            if ends.last() != Some(&Some(0)) {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(ends.len() == 300 && ends.iter().all(|&end| end == Some(0)), "child {}: {:?}", ends.len(), ends.last());
    });
    assert_eq!(storage.references(), 1);
    storage.retain(StateId::of_this_thread())?;
    assert!(storage.release_retained(StateId::of_this_thread()), "the lock does not work in the parent");
    Ok(())
}
