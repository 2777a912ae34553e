//! Complex storages: each element has two parts, which every operation keeps together.

use torch_storage::convert::Scalar;
use torch_storage::storage::Storage;
use torch_storage::tensor::{Layout, Tensor};
use torch_storage::{DType, Error};

const COMPLEX: [DType; 2] = [DType::ComplexFloat, DType::ComplexDouble];

fn storage(dtype: DType, parts: &[(f64, f64)]) -> Result<Storage, Error> {
    let storage = Storage::zeroed(dtype, parts.len())?;
    for (index, &(re, im)) in parts.iter().enumerate() {
        storage.set(index, Scalar::Complex(re, im))?;
    }
    Ok(storage)
}

fn parts(storage: &Storage) -> Vec<(f64, f64)> {
    let parts = |index| match storage.get_scalar(index)? {
        Scalar::Complex(re, im) => Some((re, im)),
        _ => None,
    };
    (0..storage.size()).filter_map(parts).collect()
}

#[test]
fn both_parts_of_an_element_are_stored() -> Result<(), Error> {
    for dtype in COMPLEX {
        let block = storage(dtype, &[(1.0, -2.0), (0.5, 300.0)])?;
        assert_eq!(parts(&block), [(1.0, -2.0), (0.5, 300.0)]);
        assert_eq!((block.get(1), block.nbytes()), (Some(0.5), 4 * dtype.part().width()));
        block.set(0, Scalar::Signed(-7))?;
        assert_eq!(parts(&block), [(-7.0, 0.0), (0.5, 300.0)]);
        // A dtype that is not complex stores the real part.
        let real = Storage::zeroed(DType::Int, 2)?;
        real.fill(Scalar::Complex(9.7, 5.0))?;
        assert_eq!(real.get_scalar(1), Some(Scalar::Signed(9)));
    }
    Ok(())
}

#[test]
fn a_fill_of_any_length_repeats_both_parts_inside_its_range_only() -> Result<(), Error> {
    for dtype in COMPLEX {
        // The sizes range from a few elements, which plain code fills, to sizes that use several threads and streaming stores.
        for size in [1, 2, 31, 33, 1001, (5 << 20) + 3] {
            let block = Storage::zeroed(dtype, size + 2)?;
            block.fill_range(1, size, Scalar::Complex(1.25, -4.0))?;
            let expected = |index| if index == 0 || index == size + 1 { (0.0, 0.0) } else { (1.25, -4.0) };
            let is_right = |index| block.get_scalar(index) == Some(Scalar::Complex(expected(index).0, expected(index).1));
            assert!((0..size + 2).all(is_right), "{dtype:?}, {size}");
        }
    }
    Ok(())
}

#[test]
fn byteswap_reverses_the_bytes_of_each_part() -> Result<(), Error> {
    for dtype in COMPLEX {
        let block = storage(dtype, &[(1.0, -2.0), (0.5, 300.0)])?;
        let flat = block.reinterpret(dtype.part(), 0, 4)?;
        let swapped = Storage::zeroed(dtype.part(), 4)?;
        swapped.copy_from(&flat)?;
        swapped.byteswap(None)?;
        block.byteswap(None)?;
        assert!(flat.equals(&swapped));
        block.byteswap(Some(dtype.part().width()))?;
        assert_eq!(parts(&block), [(1.0, -2.0), (0.5, 300.0)]);
    }
    Ok(())
}

#[test]
fn a_strided_copy_keeps_the_parts_of_an_element_together() -> Result<(), Error> {
    for dtype in COMPLEX {
        let rows: Vec<(f64, f64)> = (0..6u8).map(|n| (f64::from(n), -10.0 * f64::from(n))).collect(); // 2 rows of 3 columns
        let flat = storage(dtype, &rows)?;
        let columns = Tensor::new(&flat, &Layout::strided(0, &[3, 2], &[1, 3])?).to_storage(dtype)?;
        let expected: Vec<(f64, f64)> = [0, 3, 1, 4, 2, 5].map(|index| rows[index]).into();
        assert_eq!(parts(&columns), expected);
        let back = Tensor::new(&flat, &Layout::strided(5, &[6], &[-1])?).to_storage(dtype)?;
        assert_eq!(parts(&back), rows.iter().rev().copied().collect::<Vec<_>>());
    }
    Ok(())
}
