//! Threads that access the same elements atomically, next to plain access and views of other dtypes.

use std::time::Duration;

use torch_storage::convert::Scalar;
use torch_storage::{DType, Error, Storage, Waited};

use crate::{ROUNDS, in_two_threads};

fn count(rounds: usize) -> Scalar {
    Scalar::Signed(i64::try_from(rounds).unwrap())
}

#[test]
fn two_threads_count() {
    let all = [DType::Short, DType::Int, DType::Long, DType::UInt16, DType::UInt32, DType::UInt64, DType::Float, DType::Double];
    for dtype in all {
        let storage = Storage::zeroed(dtype, 3).unwrap();
        in_two_threads(&storage, |storage, _| {
            for _ in 0..ROUNDS {
                storage.atomic(1).add(Scalar::Signed(3)).unwrap();
                storage.atomic(1).sub(Scalar::Signed(1)).unwrap();
                loop {
                    let old = storage.atomic(2).load().unwrap();
                    let new = Scalar::Float(storage_number(old) + 1.0);
                    if storage.atomic(2).compare_exchange(old, new).unwrap().1 {
                        break;
                    }
                }
            }
        });
        let expected = 4.0 * f64::from(u32::try_from(ROUNDS).unwrap());
        assert_eq!((storage.get(0), storage.get(1), storage.get(2)), (Some(0.0), Some(expected), Some(expected / 2.0)));
    }
}

fn storage_number(value: Scalar) -> f64 {
    match value {
        Scalar::Float(number) | Scalar::Complex(number, _) => number,
        Scalar::Signed(number) => f64::from(i32::try_from(number).unwrap()),
        Scalar::Unsigned(number) => f64::from(u32::try_from(number).unwrap()),
    }
}

#[test]
fn what_was_written_before_is_seen() {
    let storage = Storage::zeroed(DType::Int, 4).unwrap();
    in_two_threads(&storage, |storage, thread| {
        for round in 0..ROUNDS {
            let (message, answer) = (storage.atomic(0), storage.atomic(1));
            if thread == 0 {
                storage.set(2, count(round + 7)).unwrap();
                message.store(count(round + 1)).unwrap();
                message.notify(None).unwrap();
                while answer.load().unwrap() != count(round + 1) {
                    assert_ne!(answer.wait(count(round), Some(Duration::from_secs(60))).unwrap(), Waited::TimedOut);
                }
            } else {
                while message.load().unwrap() != count(round + 1) {
                    assert_ne!(message.wait(count(round), Some(Duration::from_secs(60))).unwrap(), Waited::TimedOut);
                }
                assert_eq!(storage.get_scalar(2), Some(count(round + 7)));
                answer.store(count(round + 1)).unwrap();
                answer.notify(Some(1)).unwrap();
            }
        }
    });
}

/// Rust's own types do not allow this, so Miri, which runs them here, would complain.
#[cfg(not(miri))]
#[test]
fn views_of_other_dtypes_and_plain_access_are_defined() {
    let storage = Storage::zeroed(DType::Long, 8).unwrap();
    in_two_threads(&storage, |storage, thread| {
        let dtypes = [DType::Byte, DType::Short, DType::Float, DType::Int, DType::Bool];
        for round in 0..ROUNDS {
            let view = storage.reinterpret(dtypes[(round + thread) % dtypes.len()], 0, 8).unwrap();
            view.atomic(round % 8).exchange(Scalar::Signed(1)).unwrap();
            view.set(round % 8, Scalar::Signed(0)).unwrap();
            storage.atomic(round % 8).add(Scalar::Signed(1)).unwrap();
            assert!(storage.get(round % 8).is_some());
            storage.fill(Scalar::Signed(0)).unwrap();
        }
    });
}

#[test]
fn each_access_checks_the_element_again() {
    let storage = Storage::zeroed(DType::Int, 3).unwrap();
    let last = storage.atomic(2);
    assert_eq!(last.exchange(Scalar::Signed(5)).unwrap(), Scalar::Signed(0));
    storage.resize(2).unwrap();
    assert!(matches!(last.load(), Err(Error::OutOfRange { .. })));
    assert!(matches!(last.wait(Scalar::Signed(0), Some(Duration::ZERO)), Err(Error::OutOfRange { .. })));
    assert!(matches!(last.wait(Scalar::Signed(0), None), Err(Error::OutOfReach)));
    storage.resize(1 << 20).unwrap();
    assert_eq!(last.max(Scalar::Float(7.9)).unwrap(), Scalar::Signed(0));
    assert_eq!(last.load().unwrap(), Scalar::Signed(7));
    let odd = storage.reinterpret(DType::Int, 2, 4).unwrap();
    assert!(matches!(odd.atomic(0).add(Scalar::Signed(1)), Err(Error::Unaligned { .. })));
    assert!(matches!(Storage::zeroed(DType::Half, 1).unwrap().atomic(0).load(), Err(Error::NotAtomic { .. })));
    assert!(matches!(Storage::zeroed(DType::Float, 1).unwrap().atomic(0).xor(Scalar::Signed(1)), Err(Error::NotAtomic { .. })));
    let lent = Storage::from_owner([1i32, 2]);
    assert!(matches!(lent.atomic(0).store(Scalar::Signed(1)), Err(Error::ReadOnly { .. })));
    // Miri takes Rust's atomic types, which want memory that can be written, for loads too.
    if cfg!(miri) {
        return;
    }
    assert_eq!(lent.atomic(1).load().unwrap(), Scalar::Signed(2));
    assert_eq!(lent.atomic(1).wait(Scalar::Signed(2), Some(Duration::from_millis(5))).unwrap(), Waited::TimedOut);
    let _other = lent.token().unwrap();
    assert_eq!(lent.atomic(1).wait(Scalar::Signed(3), None).unwrap(), Waited::NotEqual);
}
