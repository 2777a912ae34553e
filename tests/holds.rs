//! References that a module in C has: handles of the program, which other threads give back, and memory that a C function gives back.

use std::num::NonZeroUsize;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use torch_storage::convert::Scalar;
use torch_storage::storage::header::StorageHeader;
use torch_storage::storage::{Anchor, StateId, Storage, Token, usage, weight};
use torch_storage::{DType, Error};

/// The tests count the memory of the whole process, so only one of them may run at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn state(number: usize) -> StateId {
    StateId::new(NonZeroUsize::MIN.saturating_add(number))
}

/// Memory as a C library would own it: a block, and how many blocks there are.
struct Block {
    floats: Vec<f32>,
    alive: Arc<AtomicUsize>,
}

impl Drop for Block {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A storage over a new block, which belongs to the storage.
fn lend(alive: &Arc<AtomicUsize>, size: usize) -> Result<Storage, Error> {
    alive.fetch_add(1, Ordering::Relaxed);
    let mut block = Box::new(Block { floats: vec![1.5; size], alive: Arc::clone(alive) });
    let data = block.floats.as_mut_ptr();
    // SAFETY: [live] the block has that many floats, and lives until it is dropped.
    unsafe { Storage::from_raw_parts(block, DType::Float, data.cast(), size, false) }
}

#[test]
fn memory_with_an_owner_is_given_back_once_after_its_last_storage() -> Result<(), Error> {
    let _alone = alone();
    let (before, light) = (usage(), weight());
    let alive = Arc::new(AtomicUsize::new(0));
    let storage = lend(&alive, 1000)?;
    assert_eq!((usage().foreign - before.foreign, weight() - light), (4000, 4000));
    let view = storage.view(500, 2)?;
    drop(storage);
    assert_eq!((alive.load(Ordering::Relaxed), view.get(1)), (1, Some(1.5)));
    drop(view);
    assert_eq!((alive.load(Ordering::Relaxed), usage(), weight()), (0, before, light));
    Ok(())
}

#[test]
fn an_owner_is_dropped_if_the_storage_cannot_be_made() {
    let _alone = alone();
    let alive = Arc::new(AtomicUsize::new(1));
    let block = Block { floats: Vec::new(), alive: Arc::clone(&alive) };
    // SAFETY: [live] the size is refused, so nothing is read.
    let made = unsafe { Storage::from_raw_parts(block, DType::Float, ptr::null_mut(), usize::MAX, true) };
    assert!(matches!(made, Err(Error::TooLarge { .. })));
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn memory_with_an_owner_goes_to_other_states_by_tokens_and_names() -> Result<(), Error> {
    let _alone = alone();
    let alive = Arc::new(AtomicUsize::new(0));
    let storage = lend(&alive, 10)?;
    let token: Token = storage.token(state(1))?;
    storage.publish(b"owned", state(1))?;
    assert_eq!(storage.release(state(1)), None);
    let taken = thread::spawn(move || {
        let taken = Storage::from_token(token, state(2))?;
        let sum: f64 = (0..10).filter_map(|index| taken.get(index)).sum();
        assert_eq!(taken.release(state(2)), None);
        Ok::<_, Error>(sum)
    });
    assert_eq!(taken.join().map_err(|_| Error::NotAToken)??, 15.0);
    assert_eq!(alive.load(Ordering::Relaxed), 1);
    let last = Storage::unpublish(b"owned", state(3))?.ok_or(Error::NotAToken)?;
    assert_eq!(last.release(state(3)), None);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
    Ok(())
}

#[test]
fn a_handle_of_the_program_keeps_the_elements_where_they_are() -> Result<(), Error> {
    let _alone = alone();
    let before = usage();
    let storage = Storage::zeroed(DType::Double, 4)?;
    let held = storage.share_with(state(1), StateId::of_this_thread())?;
    assert_eq!((held.address(), storage.references()), (storage.address(), 2));
    assert!(matches!(storage.resize(100, state(1)), Err(Error::HeldByProgram)));
    assert!(matches!(storage.share_memory(None, state(1)), Err(Error::HeldByProgram)));
    // A handle of the state itself does not count, and one of another state does.
    let own = storage.share_with(state(1), state(1))?;
    drop(held);
    storage.resize(5, state(1))?;
    let other = storage.share_with(state(1), state(2))?;
    assert!(matches!(storage.resize(6, state(1)), Err(Error::HeldElsewhere)));
    assert_eq!(own.release(state(1)), None);
    assert_eq!(storage.release(state(1)), None);
    other.resize(7, state(2))?;
    assert_eq!(other.release(state(2)), None);
    assert_eq!(usage(), before);

    let mut numbers = [0.0f64; 2];
    let anchor = Anchor { state: state(1), reference: 7 };
    // SAFETY: [live] the numbers outlive the storage.
    let anchored = unsafe { Storage::foreign(DType::Double, numbers.as_mut_ptr().cast(), 2, Some(anchor)) }?;
    assert!(matches!(anchored.share_with(state(1), StateId::of_this_thread()), Err(Error::Anchored)));
    assert_eq!(anchored.references(), 1);
    assert_eq!(anchored.release(state(1)), Some(anchor));
    Ok(())
}

/// A handle of the program on its way to another thread.
struct Held(*const StorageHeader);

// SAFETY: [live] the handle holds the storage, and any thread may give back a reference of the program.
unsafe impl Send for Held {}

impl Held {
    fn storage(self) -> Storage {
        // SAFETY: [owned] the pointer came from `into_raw`, and this uses the value up.
        unsafe { Storage::from_raw(self.0) }
    }
}

/// Eight threads share and release holds of C at random, while the Lua state that the storages belong to resizes them
/// when it can, and makes new ones.
#[test]
fn threads_share_and_release_at_random() -> Result<(), Error> {
    const ROUNDS: usize = if cfg!(miri) { 10 } else { 40_000 };
    let _alone = alone();
    let before = usage();
    let alive = Arc::new(AtomicUsize::new(0));
    let slots: Vec<Mutex<Option<Held>>> = (0..16).map(|_| Mutex::new(None)).collect();
    let ended = AtomicBool::new(false);
    let put = |slot: &Mutex<Option<Held>>, held: Option<Held>| {
        let old = std::mem::replace(&mut *slot.lock().unwrap_or_else(PoisonError::into_inner), held);
        old.map(Held::storage)
    };
    let release = |held: Option<Storage>| assert!(held.is_none_or(|held| held.release(StateId::PIN).is_none()));
    thread::scope(|scope| -> Result<(), Error> {
        for seed in 1..=if cfg!(miri) { 2 } else { 8usize } {
            let (slots, ended) = (&slots, &ended);
            scope.spawn(move || {
                let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                while !ended.load(Ordering::Relaxed) {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    if let Some(held) = put(&slots[(random >> 33) % 16], None) {
                        // While it is held, the elements stay where they are, and can be read.
                        assert_eq!(held.get(held.size() - 1), Some(1.5));
                        let more = held.share_with(StateId::PIN, StateId::PIN);
                        assert_eq!(held.release(StateId::PIN), None);
                        assert!(more.is_ok_and(|more| more.get(0) == Some(1.5) && more.release(StateId::PIN).is_none()));
                    }
                    thread::yield_now();
                }
            });
        }
        for round in 0..ROUNDS {
            let storage = if round % 3 == 0 { lend(&alive, 64)? } else { Storage::zeroed(DType::Float, 64)? };
            storage.fill(Scalar::Float(1.5))?;
            let held = storage.share_with(state(1), StateId::PIN)?;
            release(put(&slots[round % 16], Some(Held(held.into_raw()))));
            if round % 3 != 0 && storage.resize(100_000, state(1)).is_ok() {
                assert_eq!(storage.references(), 1, "it was resized although others held it");
            }
            assert_eq!(storage.release(state(1)), None);
        }
        ended.store(true, Ordering::Relaxed);
        Ok(())
    })?;
    slots.iter().for_each(|slot| release(put(slot, None)));
    assert_eq!((alive.load(Ordering::Relaxed), usage()), (0, before));
    Ok(())
}
