//! Threads that read and write the same elements at the same time. They may read halves of numbers, and nothing else comes of it.

use torch_storage::convert::Scalar;
use torch_storage::{DType, Storage};

use crate::{ROUNDS, in_two_threads};

/// More than the buffer of a conversion has; Miri takes the bytes one by one.
const SIZE: usize = if cfg!(miri) { 17 } else { 5000 };

fn numbers() -> Storage {
    Storage::zeroed(DType::Double, SIZE).unwrap()
}

#[test]
fn two_threads_set_and_get() {
    let storage = numbers();
    in_two_threads(&storage, |storage, thread| {
        for round in 0..ROUNDS {
            let index = round % SIZE;
            assert!(storage.set(index, Scalar::Float(if thread == 0 { 1.5 } else { -2.5 })).unwrap());
            let element = storage.get(index).unwrap();
            // The processor writes an aligned double at once; a rule for that there is not.
            assert!(cfg!(miri) || element == 1.5 || element == -2.5, "{element}");
            assert!(storage.get_scalar(index).is_some() && storage.get(SIZE).is_none());
        }
    });
}

#[test]
fn two_threads_fill_copy_and_compare() {
    let storage = numbers();
    in_two_threads(&storage, |storage, thread| {
        for _ in 0..ROUNDS {
            storage.fill(Scalar::Signed(i64::try_from(thread).unwrap())).unwrap();
            let mut elements: Vec<f64> = storage.to_vec().unwrap();
            storage.copy_to_slice(&mut elements).unwrap();
            storage.copy_from_slice(&elements).unwrap();
            storage.copy_range(1, storage, 0, SIZE - 1).unwrap();
            storage.write_bytes(8, &[0; 16]).unwrap();
            let _ = storage.equals(&storage.cast(DType::Double).unwrap());
            storage.byteswap(None).unwrap();
        }
    });
    storage.fill(Scalar::Float(0.5)).unwrap();
    assert_eq!(storage.to_vec::<f64>().unwrap(), [0.5; SIZE]);
}

/// Accesses of different widths to the same bytes, which Rust's own atomic types do not allow.
#[test]
fn two_threads_use_views_of_other_dtypes() {
    let storage = numbers();
    let dtypes = [DType::Byte, DType::Short, DType::Float, DType::ComplexDouble, DType::Untyped];
    in_two_threads(&storage, |storage, thread| {
        for round in 0..ROUNDS {
            let dtype = dtypes[(round + thread) % dtypes.len()];
            // One view begins in the middle of the elements of the other.
            let size = (SIZE - 1) * size_of::<f64>() / dtype.width();
            let view = storage.reinterpret(dtype, thread * 3, size).unwrap();
            view.fill(Scalar::Signed(1)).unwrap();
            view.set(size / 2, Scalar::Float(2.5)).unwrap();
            let whole = storage.cast(DType::Float).unwrap();
            assert_eq!((whole.size(), view.get(size)), (SIZE, None));
            let elements = view.size().min(SIZE);
            view.copy_range(0, storage, 0, elements).unwrap();
            storage.copy_range(0, &view, 0, elements).unwrap();
            storage.copy_range(0, &whole, 0, SIZE).unwrap();
        }
    });
}

#[test]
fn an_overlapping_copy_next_to_another_thread_is_complete() {
    // The other thread works on the last elements only.
    let storage = numbers();
    let part = SIZE - 8;
    in_two_threads(&storage, |storage, thread| {
        let (wide, narrow) = (storage.view(0, part).unwrap(), storage.reinterpret(DType::Int, 12, part).unwrap());
        for round in 0..ROUNDS {
            if thread == 1 {
                storage.view(part, 8).unwrap().fill(Scalar::Signed(7)).unwrap();
            } else {
                let first = i32::try_from(round).unwrap();
                let elements: Vec<i32> = (first..).take(part).collect();
                narrow.copy_from_slice(&elements).unwrap();
                wide.copy_from(&narrow).unwrap();
                assert!(wide.to_vec::<f64>().unwrap().iter().zip(&elements).all(|(&wide, &narrow)| wide == f64::from(narrow)));
                narrow.copy_from(&wide).unwrap();
                assert_eq!(narrow.to_vec::<i32>().unwrap(), elements);
            }
        }
    });
}

#[test]
fn elements_that_a_program_has_alone_are_a_slice() {
    let mut storage = Storage::from_vec(vec![2i32, 1]);
    storage.as_mut_slice::<i32>().unwrap().sort_unstable();
    assert_eq!(storage.to_vec::<i32>().unwrap(), [1, 2]);
    assert!(storage.as_mut_slice::<u32>().is_none(), "another type");
    let other = storage.clone();
    assert!(storage.as_mut_slice::<i32>().is_none(), "another handle");
    drop(other);
    let mut view = storage.view(0, 1).unwrap();
    assert!(storage.as_mut_slice::<i32>().is_none() && view.as_mut_slice::<i32>().is_none(), "a view");
    drop(storage);
    view.as_mut_slice::<i32>().unwrap()[0] = 5;
    let token = view.token().unwrap();
    assert!(view.as_mut_slice::<i32>().is_none(), "a token");
    let mut taken = Storage::from_token(token).unwrap();
    drop(view);
    assert_eq!(taken.as_mut_slice::<i32>().unwrap(), [5]);
    taken.publish(b"sound, a slice").unwrap();
    assert!(taken.as_mut_slice::<i32>().is_none(), "a publication");
    drop(Storage::unpublish(b"sound, a slice"));
    let mut odd = Storage::zeroed(DType::Byte, 9).unwrap().reinterpret(DType::Int, 1, 2).unwrap();
    assert!(odd.as_mut_slice::<i32>().is_none(), "not aligned");
    assert!(Storage::from_owner([1i32]).as_mut_slice::<i32>().is_none(), "read-only");
    assert!(Storage::zeroed(DType::Int, 0).unwrap().as_mut_slice::<i32>().unwrap().is_empty());
}
