//! Complex storages: two parts an element, which are filled, turned round, gathered and read together.

use torch_storage::convert::Scalar;
use torch_storage::{DType, Error, Storage};

const COMPLEX: [DType; 2] = [DType::ComplexFloat, DType::ComplexDouble];

fn storage(dtype: DType, parts: &[(f64, f64)]) -> Result<Storage, Error> {
    let storage = Storage::zeroed(dtype, parts.len())?;
    for (place, &(re, im)) in parts.iter().enumerate() {
        storage.set(place, Scalar::Complex(re, im))?;
    }
    Ok(storage)
}

fn parts(storage: &Storage) -> Vec<(f64, f64)> {
    let parts = |place| match storage.get_scalar(place)? {
        Scalar::Complex(re, im) => Some((re, im)),
        _ => None,
    };
    (0..storage.size()).filter_map(parts).collect()
}

#[test]
fn both_parts_are_there() -> Result<(), Error> {
    for dtype in COMPLEX {
        let block = storage(dtype, &[(1.0, -2.0), (0.5, 300.0)])?;
        assert_eq!(parts(&block), [(1.0, -2.0), (0.5, 300.0)]);
        assert_eq!((block.get(1), block.nbytes()), (Some(0.5), 4 * dtype.part().width()));
        block.set(0, Scalar::Signed(-7))?;
        assert_eq!(parts(&block), [(-7.0, 0.0), (0.5, 300.0)]);
        // A number alone, and a complex one to a class that has no parts.
        let real = Storage::zeroed(DType::Int, 2)?;
        real.fill(Scalar::Complex(9.7, 5.0))?;
        assert_eq!(real.get_scalar(1), Some(Scalar::Float(9.0)));
    }
    Ok(())
}

#[test]
fn a_fill_repeats_both_parts_wherever_it_begins_and_however_long_it_is() -> Result<(), Error> {
    for dtype in COMPLEX {
        // From few elements by plain code to several threads and stores past the caches.
        for size in [1, 2, 31, 33, 1001, (5 << 20) + 3] {
            let block = Storage::zeroed(dtype, size + 2)?;
            block.fill_range(1, size, Scalar::Complex(1.25, -4.0))?;
            let expected = |place| if place == 0 || place == size + 1 { (0.0, 0.0) } else { (1.25, -4.0) };
            let is_right = |place| block.get_scalar(place) == Some(Scalar::Complex(expected(place).0, expected(place).1));
            assert!((0..size + 2).all(is_right), "{dtype:?}, {size}");
        }
    }
    Ok(())
}

#[test]
fn each_part_is_turned_round() -> Result<(), Error> {
    for dtype in COMPLEX {
        let block = storage(dtype, &[(1.0, -2.0), (0.5, 300.0)])?;
        let flat = block.reinterpret(dtype.part(), 0, 4)?;
        let turned = Storage::zeroed(dtype.part(), 4)?;
        turned.copy_from(&flat)?;
        turned.byteswap(None)?;
        block.byteswap(None)?;
        assert!(flat.equals(&turned));
        block.byteswap(Some(dtype.part().width()))?;
        assert_eq!(parts(&block), [(1.0, -2.0), (0.5, 300.0)]);
    }
    Ok(())
}

#[test]
fn elements_are_gathered_whole() -> Result<(), Error> {
    for dtype in COMPLEX {
        let rows: Vec<(f64, f64)> = (0..6u8).map(|n| (f64::from(n), -10.0 * f64::from(n))).collect(); // 2 x 3
        let columns = storage(dtype, &rows)?.gather(0, &[3, 2], &[1, 3])?;
        let expected: Vec<(f64, f64)> = [0, 3, 1, 4, 2, 5].map(|place| rows[place]).into();
        assert_eq!(parts(&columns), expected);
        let back = storage(dtype, &rows)?.gather(5, &[6], &[-1])?;
        assert_eq!(parts(&back), rows.iter().rev().copied().collect::<Vec<_>>());
    }
    Ok(())
}
