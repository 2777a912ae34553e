//! Storages that several Lua states share: who may resize them, tokens and publications, also from several threads.

use std::error::Error as AnyError;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use torch_storage::convert::Scalar;
use torch_storage::storage::{Anchor, StateId, Storage, Token, usage};
use torch_storage::{DType, Error};

type Outcome = Result<(), Box<dyn AnyError>>;

/// The tests count the memory of the whole process and use the same names, so only one of them may run at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn state(number: usize) -> StateId {
    StateId::new(NonZeroUsize::MIN.saturating_add(number))
}

/// Releases a reference to a storage that has no anchor.
fn end(storage: Storage, state: StateId) {
    assert_eq!(storage.release(state), None);
}

#[test]
fn a_storage_that_others_hold_cannot_move() -> Outcome {
    let _alone = alone();
    let before = usage();
    let (one, two) = (state(1), state(2));
    let storage = Storage::from_bytes(DType::Byte, &[1, 2, 3])?;
    storage.retain(one)?;
    storage.retain(one)?;
    storage.resize(4, one)?; // the retains of the same state do not prevent a resize
    let refused = |storage: &Storage, who| {
        let data = storage.data();
        assert!(matches!(storage.resize(100_000, who), Err(Error::HeldElsewhere)));
        assert!(matches!(storage.reserve(100_000, who), Err(Error::HeldElsewhere)));
        assert!(matches!(storage.share_memory(None, who), Err(Error::HeldElsewhere)));
        assert_eq!((storage.data(), storage.size(), storage.get(1)), (data, 4, Some(2.0)));
    };
    let other = Storage::adopt(storage.address(), DType::Byte, two)?;
    assert_eq!(storage.references(), 3);
    refused(&storage, one);
    refused(&other, two);
    // After one state has released it, the other one is its only holder.
    assert!(storage.release_retained(one));
    assert_eq!(storage.release(one), None);
    other.resize(7, two)?;
    other.resize(4, two)?;

    let token = other.token(two)?;
    refused(&other, two);
    assert_eq!(token.parked()?, (DType::Byte, 4));
    let third = Storage::from_token(token, state(3))?;
    refused(&other, two);
    end(third, state(3));
    other.resize(4, two)?;

    other.publish(b"name", two)?;
    other.publish(b"name", two)?;
    refused(&other, two);
    let found = Storage::lookup(b"name", one)?.ok_or("nothing is published")?;
    assert_eq!((found.address(), other.references()), (other.address(), 3));
    let published = Storage::unpublish(b"name", two).ok_or("nothing is published")?;
    end(published, two);
    refused(&other, two);
    end(found, one);
    other.resize(5, two)?;
    assert_eq!(other.references(), 1);
    end(other, two);
    assert_eq!(usage(), before);
    Ok(())
}

#[test]
fn a_token_can_be_taken_once_and_only_in_its_process() -> Outcome {
    let _alone = alone();
    let before = usage();
    let storage = Storage::from_bytes(DType::Int, &[7; 8])?;
    let (first, second) = (storage.token(state(1))?, storage.token(state(1))?);
    assert_ne!(first, second);
    end(storage, state(1));
    assert_ne!(usage(), before, "a token keeps the storage");
    let text = first.to_string();
    assert_eq!(text.parse::<Token>()?, first);
    let taken = Storage::from_token(text.parse()?, state(2))?;
    assert!(matches!(Storage::from_token(first, state(2)), Err(Error::SpentToken)));
    assert!(matches!(first.parked(), Err(Error::SpentToken)));
    assert_eq!((taken.get(1), taken.references()), (Some(f64::from(0x0707_0707)), 2));

    let pid = std::process::id();
    for (part, other) in [(1, (pid + 1).to_string()), (2, "0".to_owned())] {
        let mut parts: Vec<&str> = text.split(':').collect();
        parts[part] = &other;
        let foreign = Storage::from_token(parts.join(":").parse()?, state(2));
        assert!(matches!(foreign, Err(Error::ForeignToken { here, .. }) if here == pid));
    }
    let unknown = format!("{second}9");
    assert!(matches!(Storage::from_token(unknown.parse()?, state(2)), Err(Error::SpentToken)));
    for junk in ["", "torch-storage", "x:1:1:1", "torch-storage:1:1", "torch-storage:a:1:1", "torch-storage:1:1:+1"] {
        assert!(matches!(junk.parse::<Token>(), Err(Error::NotAToken)), "{junk}");
    }
    assert!(matches!(format!("{text}:").parse::<Token>(), Err(Error::NotAToken)));
    assert!(matches!(format!("{text} ").parse::<Token>(), Err(Error::NotAToken)));

    end(taken, state(2));
    end(Storage::from_token(second, state(3))?, state(3));
    assert_eq!(usage(), before);
    Ok(())
}

#[test]
fn a_name_has_one_storage_at_a_time() -> Outcome {
    let _alone = alone();
    let (one, two) = (Storage::zeroed(DType::Byte, 1)?, Storage::zeroed(DType::Float, 1)?);
    assert!(Storage::lookup(b"a name", state(1))?.is_none());
    assert!(Storage::unpublish(b"a name", state(1)).is_none());
    one.publish(b"a name", state(1))?;
    two.publish(b"", state(1))?;
    assert!(matches!(two.publish(b"a name", state(1)), Err(Error::Published { name }) if name == b"a name"));
    assert_eq!((one.references(), two.references()), (2, 2));
    for (name, storage) in [(&b"a name"[..], one), (b"", two)] {
        let published = Storage::unpublish(name, state(1)).ok_or("nothing is published")?;
        assert_eq!(published.address(), storage.address());
        end(published, state(1));
        assert_eq!(storage.references(), 1);
        end(storage, state(1));
    }
    Ok(())
}

#[test]
fn memory_that_a_lua_value_owns_stays_with_its_state() -> Outcome {
    let _alone = alone();
    let mut memory = [0u8; 8];
    let anchor = Anchor { state: state(1), reference: 5 };
    // SAFETY: [live] the array outlives the storages below.
    let storage = unsafe { Storage::foreign(DType::Byte, memory.as_mut_ptr(), 8, Some(anchor)) }?;
    let view = storage.view(2, 2)?;
    for part in [&storage, &view] {
        assert!(matches!(part.token(state(1)), Err(Error::Anchored)));
        assert!(matches!(part.publish(b"anchored", state(1)), Err(Error::Anchored)));
        part.retain(state(1))?;
        assert!(matches!(Storage::adopt(part.address(), DType::Byte, state(2)), Err(Error::Anchored)));
        end(Storage::adopt(part.address(), DType::Byte, state(1))?, state(1));
        assert_eq!(part.references(), 1);
    }
    assert!(Storage::lookup(b"anchored", state(1))?.is_none());
    assert_eq!((view.release(state(1)), storage.release(state(1))), (None, Some(anchor)));
    Ok(())
}

/// Eight threads stand for Lua states. Each passes tokens to the next as text, of storages and of views.
#[test]
fn eight_states_pass_tokens_and_none_is_lost() -> Outcome {
    const STATES: usize = 8;
    const PASSES: usize = 12_500;
    let _alone = alone();
    let before = usage();
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..STATES).map(|_| mpsc::channel::<String>()).unzip();
    let threads: Vec<_> = receivers
        .into_iter()
        .enumerate()
        .map(|(number, receiver)| {
            let next = senders[(number + 1) % STATES].clone();
            thread::spawn(move || {
                let here = state(number);
                let mut sum = 0.0;
                for round in 0..PASSES {
                    let storage = Storage::from_bytes(DType::Byte, &[1; 64])?;
                    let storage = if round % 3 == 0 { storage.view(1, 5)? } else { storage };
                    storage.set(0, Scalar::Float(2.0))?;
                    next.send(storage.token(here)?.to_string()).map_err(|_| "the receiver has ended")?;
                    end(storage, here);
                    let taken = Storage::from_token(receiver.recv()?.parse()?, here)?;
                    sum += taken.get(0).unwrap_or(0.0);
                    end(taken, here);
                }
                Ok::<_, Box<dyn AnyError + Send + Sync>>(sum)
            })
        })
        .collect();
    drop(senders);
    for thread in threads {
        assert_eq!(thread.join().map_err(|_| "a thread failed")?.map_err(|error| error.to_string())?, 2.0 * 12_500.0);
    }
    assert_eq!(usage(), before);
    Ok(())
}

/// One thread publishes, unpublishes and resizes storages, while others look them up and read. Readers never see freed memory:
/// all elements have the published value.
#[test]
fn a_storage_that_was_looked_up_stays_valid() -> Outcome {
    let _alone = alone();
    let before = usage();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|number| {
                let done = &done;
                scope.spawn(move || {
                    let here = state(10 + number);
                    let mut found = 0;
                    while !done.load(Ordering::Acquire) {
                        let Some(storage) = Storage::lookup(b"busy", here)? else { continue };
                        let (first, last) = (storage.get(0), storage.get(storage.size() - 1));
                        assert!(first == last && first.is_some());
                        assert!(matches!(storage.resize(1, here), Err(Error::HeldElsewhere) | Ok(())));
                        end(storage, here);
                        found += 1;
                    }
                    Ok::<_, Error>(found)
                })
            })
            .collect();
        let here = state(9);
        for round in 1..3_000 {
            let storage = Storage::zeroed(DType::Int, 10 + round)?;
            storage.fill(Scalar::Float(5.0))?;
            storage.publish(b"busy", here)?;
            if round % 2 == 0 {
                thread::yield_now();
            }
            let published = Storage::unpublish(b"busy", here).ok_or("nothing is published")?;
            end(published, here);
            let resized = storage.resize(5, here);
            assert!(matches!(resized, Ok(()) | Err(Error::HeldElsewhere)));
            end(storage, here);
        }
        done.store(true, Ordering::Release);
        for reader in readers {
            reader.join().map_err(|_| "a reader failed")??;
        }
        Ok::<_, Box<dyn AnyError>>(())
    })?;
    assert_eq!(usage(), before);
    Ok(())
}
