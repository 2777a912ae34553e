//! The rules of views, one case at a time, with the results that the documents of Torch7 and PyTorch give.

use torch_storage::error::ShapeError;
use torch_storage::tensor::{Layout, Reshaped};
use torch_storage::{DType, Error};

type Outcome = Result<(), Error>;

type Sizes = (Vec<usize>, Vec<isize>);

/// A view of a tensor with these sizes and strides; the errors are left to `errors.rs`.
fn view(sizes: &[usize], strides: &[isize], wanted: &[i64]) -> Result<Option<Sizes>, Error> {
    let view = Layout::strided(0, sizes, strides)?.view(wanted);
    Ok(view.ok().map(|view| (view.sizes().to_vec(), view.strides().to_vec())))
}

#[test]
fn view_follows_the_rule_of_pytorch() -> Outcome {
    let is = |sizes: &[usize], strides: &[isize]| Some((sizes.to_vec(), strides.to_vec()));
    assert_eq!(view(&[3, 4], &[4, 1], &[2, -1])?, is(&[2, 6], &[6, 1]));
    assert_eq!(view(&[4, 3], &[1, 4], &[12])?, None);
    assert_eq!(view(&[4, 3], &[1, 4], &[2, 2, 3])?, is(&[2, 2, 3], &[2, 1, 4]));
    assert_eq!(view(&[4, 3], &[1, 4], &[1, 4, 1, 3])?, is(&[1, 4, 1, 3], &[4, 1, 12, 4]));
    assert_eq!(view(&[3, 2], &[4, 1], &[3, 1, 2])?, is(&[3, 1, 2], &[4, 2, 1]));
    assert_eq!(view(&[3, 2], &[4, 1], &[6])?, None);
    assert_eq!(view(&[2, 3, 4], &[24, 4, 1], &[2, 12])?, is(&[2, 12], &[24, 1]));
    assert_eq!(view(&[2, 3, 4], &[24, 4, 1], &[6, 4])?, None);
    assert_eq!(view(&[6], &[2], &[2, 3])?, is(&[2, 3], &[6, 2]));
    assert_eq!(view(&[3, 4], &[0, 1], &[3, 2, 2])?, is(&[3, 2, 2], &[0, 2, 1]));
    assert_eq!(view(&[3, 4], &[0, 1], &[12])?, None);
    assert_eq!(view(&[0, 3], &[3, 1], &[3, -1])?, is(&[3, 0], &[1, 1]));
    assert_eq!(view(&[0, 3], &[3, 1], &[5, 0, 2])?, is(&[5, 0, 2], &[2, 2, 1]));
    assert_eq!(view(&[0, 3], &[77, 5], &[0, 3])?, is(&[0, 3], &[77, 5]));
    assert_eq!(view(&[0], &[1], &[-1])?, is(&[0], &[1]));
    assert_eq!(view(&[0], &[1], &[-1, 0])?, None);
    assert_eq!(view(&[], &[], &[1])?, is(&[1], &[1]));
    assert_eq!(view(&[], &[], &[-1])?, is(&[1], &[1]));
    assert_eq!(view(&[], &[], &[])?, is(&[], &[]));
    assert_eq!(view(&[1], &[1], &[])?, is(&[], &[]));
    assert_eq!(view(&[1, 1], &[5, 9], &[])?, is(&[], &[]));
    assert_eq!(view(&[2], &[1], &[])?, None);
    assert_eq!(view(&[3, 4], &[0, 0], &[12])?, is(&[12], &[0]));
    // The stride of a dimension of size 1 is calculated anew, even if the sizes stay.
    assert_eq!(view(&[1, 4], &[100, 1], &[1, 4])?, is(&[1, 4], &[4, 1]));
    let reversed = Layout::strided(11, &[3, 4], &[-4, -1])?.view(&[2, 6])?;
    assert_eq!((reversed.offset(), reversed.strides()), (11, [-6, -1].as_slice()));
    Ok(())
}

#[test]
fn the_examples_of_the_page_on_view_give_its_results() -> Outcome {
    let x = Layout::contiguous(&[4, 4])?;
    assert_eq!(x.view(&[16])?.sizes(), [16]);
    assert_eq!(x.view(&[-1, 8])?.sizes(), [2, 8]);
    let a = Layout::contiguous(&[1, 2, 3, 4])?;
    let (b, c) = (a.transpose(1, 2)?, a.view(&[1, 3, 2, 4])?);
    assert_eq!((b.sizes(), c.sizes()), ([1, 3, 2, 4].as_slice(), [1, 3, 2, 4].as_slice()));
    assert_ne!(b, c);
    // The page views a 4 x 4 tensor of float32 as other dtypes.
    let as_dtype = |dtype| x.view_dtype(DType::Float, dtype);
    assert_eq!(as_dtype(DType::Int)?.sizes(), [4, 4]);
    assert_eq!(as_dtype(DType::Byte)?.sizes(), [4, 16]);
    assert_eq!(as_dtype(DType::ComplexFloat)?.sizes(), [4, 2]);
    assert_eq!(as_dtype(DType::ComplexFloat)?.strides(), [2, 1]);
    Ok(())
}

#[test]
fn reshape_is_a_view_where_one_is_possible() -> Outcome {
    let rows = Layout::contiguous(&[2, 3])?;
    assert_eq!(rows.reshape(&[3, -1])?, Reshaped::View(rows.view(&[3, 2])?));
    assert_eq!(rows.transpose(0, 1)?.reshape(&[6])?, Reshaped::Copy(Layout::contiguous(&[6])?));
    let error = rows.reshape(&[4]).map_err(|error| error.to_string());
    assert_eq!(error, Err("a view of 4 needs 4 elements, and the tensor of 2 x 3 has 6".to_owned()));
    Ok(())
}

#[test]
fn a_view_as_another_dtype_has_the_conditions_of_pytorch() -> Outcome {
    let view = |offset, sizes: &[usize], strides: &[isize], from, to| -> Result<_, Error> {
        let view = Layout::strided(offset, sizes, strides)?.view_dtype(from, to);
        Ok(view.ok().map(|view| (view.offset(), view.sizes().to_vec(), view.strides().to_vec())))
    };
    use DType::{Byte, ComplexDouble, Double, Float, Int, Short};
    assert_eq!(view(3, &[], &[], Int, Float)?, Some((3, vec![], vec![])));
    assert_eq!(view(3, &[4, 3], &[1, 4], Int, Float)?, Some((3, vec![4, 3], vec![1, 4])));
    assert_eq!(view(0, &[], &[], Int, Short)?, None);
    assert_eq!(view(0, &[], &[], Int, Double)?, None);
    assert_eq!(view(3, &[2, 5], &[7, 1], Int, Short)?, Some((6, vec![2, 10], vec![14, 1])));
    assert_eq!(view(3, &[2, 5], &[-1, 1], Int, Byte)?, Some((12, vec![2, 20], vec![-4, 1])));
    assert_eq!(view(0, &[3, 4], &[1, 3], Int, Short)?, None);
    assert_eq!(view(0, &[3, 1], &[1, 3], Int, Short)?, None);
    assert_eq!(view(4, &[3, 4], &[8, 1], Int, Double)?, Some((2, vec![3, 2], vec![4, 1])));
    assert_eq!(view(3, &[3, 4], &[8, 1], Int, Double)?, None);
    assert_eq!(view(4, &[3, 4], &[7, 1], Int, Double)?, None);
    assert_eq!(view(4, &[3, 3], &[8, 1], Int, Double)?, None);
    assert_eq!(view(0, &[3, 0], &[8, 1], Int, Double)?, Some((0, vec![3, 0], vec![4, 1])));
    assert_eq!(view(0, &[2, 16], &[16, 1], Byte, ComplexDouble)?, Some((0, vec![2, 1], vec![1, 1])));
    Ok(())
}

/// The results of Torch7, which were recorded from it. Offsets count from 1 there.
#[test]
fn views_are_those_of_torch7() -> Outcome {
    let seq = Layout::contiguous;
    let shown = |layout: Layout| (layout.sizes().to_vec(), layout.strides().to_vec(), layout.offset() + 1);
    assert_eq!(shown(seq(&[2, 3])?.narrow(0, 1, 1)?), (vec![1, 3], vec![3, 1], 4));
    assert_eq!(shown(seq(&[2, 3])?.narrow(1, 1, 2)?), (vec![2, 2], vec![3, 1], 2));
    assert_eq!(shown(seq(&[2, 3])?.narrow(1, 3, 0)?), (vec![2, 0], vec![3, 1], 4));
    assert_eq!(shown(seq(&[2, 3])?.select(0, 1)?), (vec![3], vec![1], 4));
    assert_eq!(shown(seq(&[2, 3])?.select(1, 2)?), (vec![2], vec![3], 3));
    assert_eq!(shown(seq(&[3])?.select(0, 1)?), (vec![], vec![], 2));
    assert_eq!(shown(seq(&[2, 3])?.matrix_transpose()?), (vec![3, 2], vec![1, 3], 1));
    assert_eq!(shown(seq(&[2, 2, 3])?.transpose(0, 2)?), (vec![3, 2, 2], vec![1, 3, 6], 1));
    assert_eq!(shown(seq(&[2, 2, 3])?.transpose(1, 1)?), (vec![2, 2, 3], vec![6, 3, 1], 1));
    assert_eq!(shown(seq(&[2, 1, 3])?.permute(&[2, 0, 1])?), (vec![3, 2, 1], vec![1, 3, 3], 1));
    assert_eq!(shown(seq(&[7])?.unfold(0, 2, 1)?), (vec![6, 2], vec![1, 1], 1));
    assert_eq!(shown(seq(&[7])?.unfold(0, 3, 3)?), (vec![2, 3], vec![3, 1], 1));
    assert_eq!(shown(seq(&[2, 5])?.unfold(1, 2, 3)?), (vec![2, 2, 2], vec![5, 3, 1], 1));
    assert_eq!(shown(seq(&[2, 5])?.unfold(0, 2, 1)?), (vec![1, 5, 2], vec![5, 1, 5], 1));
    assert_eq!(shown(seq(&[3, 1])?.expand(&[3, 4])?), (vec![3, 4], vec![1, 0], 1));
    assert_eq!(shown(seq(&[1, 3])?.expand(&[2, 3])?), (vec![2, 3], vec![0, 1], 1));
    assert_eq!(shown(seq(&[1, 3])?.expand(&[1, 3])?), (vec![1, 3], vec![3, 1], 1));
    assert_eq!(shown(seq(&[1, 3])?.expand(&[0, 3])?), (vec![0, 3], vec![0, 1], 1));
    assert_eq!(shown(seq(&[1, 3, 1])?.squeeze()?), (vec![3], vec![1], 1));
    assert_eq!(shown(seq(&[1, 1])?.squeeze()?), (vec![], vec![], 1));
    assert_eq!(shown(seq(&[1, 3, 1])?.squeeze_dimension(0)?), (vec![3, 1], vec![1, 1], 1));
    assert_eq!(shown(seq(&[1, 3, 1])?.squeeze_dimension(1)?), (vec![1, 3, 1], vec![3, 1, 1], 1));
    // PyTorch's strides.
    assert_eq!(shown(seq(&[2, 3])?.unsqueeze(0)?), (vec![1, 2, 3], vec![6, 3, 1], 1));
    assert_eq!(shown(seq(&[2, 3])?.unsqueeze(1)?), (vec![2, 1, 3], vec![3, 3, 1], 1));
    assert_eq!(shown(seq(&[2, 3])?.unsqueeze(2)?), (vec![2, 3, 1], vec![3, 1, 1], 1));
    assert_eq!(shown(seq(&[])?.unsqueeze(0)?), (vec![1], vec![1], 1));
    Ok(())
}

#[test]
fn pieces_are_those_of_torch7() -> Outcome {
    let sizes = |pieces: Result<torch_storage::tensor::Pieces, Error>| -> Result<Vec<(usize, usize)>, Error> {
        pieces?.map(|piece| piece.map(|piece| (piece.sizes()[0], piece.offset()))).collect()
    };
    let seq = |size| Layout::contiguous(&[size]);
    assert_eq!(sizes(seq(7)?.split(0, 3))?, [(3, 0), (3, 3), (1, 6)]);
    assert_eq!(sizes(seq(7)?.split(0, usize::MAX))?, [(7, 0)]);
    assert_eq!(sizes(seq(7)?.chunk(0, 3))?, [(3, 0), (3, 3), (1, 6)]);
    assert_eq!(sizes(seq(10)?.chunk(0, 4))?, [(3, 0), (3, 3), (3, 6), (1, 9)]);
    for (size, count, pieces) in [(7, 8, 7), (9, 4, 3), (9, 5, 5), (7, 0, 1), (0, 3, 1), (7, usize::MAX, 7)] {
        assert_eq!(seq(size)?.chunk(0, count)?.len(), pieces, "{size} in {count}");
    }
    assert_eq!(sizes(seq(0)?.split(0, 2))?, [(0, 0)]);
    let columns: Vec<_> = Layout::contiguous(&[2, 5])?.split(1, 2)?.collect::<Result<_, _>>()?;
    assert_eq!(columns.iter().map(|piece| (piece.sizes()[1], piece.offset())).collect::<Vec<_>>(), [(2, 0), (2, 2), (1, 4)]);
    assert!(columns.iter().all(|piece| piece.strides() == [5, 1]));
    Ok(())
}

#[test]
fn contiguous_is_what_torch7_calls_so() -> Outcome {
    let is_contiguous = |sizes: &[usize], strides: &[isize]| Layout::strided(0, sizes, strides).map(|x| x.is_contiguous());
    assert!(is_contiguous(&[2, 3], &[3, 1])?);
    assert!(!is_contiguous(&[3, 2], &[1, 3])?);
    assert!(!is_contiguous(&[2, 2], &[3, 1])?);
    assert!(!is_contiguous(&[2, 3], &[0, 1])?);
    assert!(is_contiguous(&[1, 4], &[100, 1])?);
    assert!(is_contiguous(&[4, 1], &[1, 50])?);
    assert!(!is_contiguous(&[2], &[2])?);
    assert!(is_contiguous(&[], &[])?);
    assert!(is_contiguous(&[0, 3], &[1, 9])?);
    Ok(())
}

#[test]
fn numbers_of_lua_count_from_one_or_from_the_end() -> Outcome {
    let x = Layout::contiguous(&[2, 3, 4])?;
    assert_eq!([1, 3, -1, -3].map(|number| x.dimension(number).ok()), [Some(0), Some(2), Some(2), Some(0)]);
    assert_eq!([0, 4, -4, i64::MIN, i64::MAX].map(|number| x.dimension(number).ok()), [None; 5]);
    assert_eq!([1, 4, -1, -4].map(|number| x.new_dimension(number).ok()), [Some(0), Some(3), Some(3), Some(0)]);
    assert_eq!([0, 5, -5].map(|number| x.new_dimension(number).ok()), [None; 3]);
    assert_eq!([1, 3, 0, 4, -1].map(|number| x.index(1, number).ok()), [Some(0), Some(2), None, None, None]);
    let from_either_end = [1, 3, -1, -3, 0, 4, -4, i64::MIN].map(|number| x.index_from_either_end(1, number).ok());
    assert_eq!(from_either_end, [Some(0), Some(2), Some(2), Some(0), None, None, None, None]);
    assert_eq!(x.range(2, 2, -1)?, 1..4);
    assert_eq!(x.range(2, -1, -1)?, 3..4);
    assert!(matches!(x.range(2, 4, 3), Err(Error::Shape(error)) if matches!(*error, ShapeError::Reversed { .. })));
    assert_eq!(x.range_of_length(2, 1, 4)?, 0..4);
    assert_eq!(x.range_of_length(2, 5, 0)?, 4..4);
    for (first, length) in [(0, 1), (5, 1), (6, 0), (1, 5), (1, -1), (i64::MIN, 0), (i64::MAX, 1), (2, i64::MAX)] {
        assert!(x.range_of_length(2, first, length).is_err(), "{first}, {length}");
    }
    Ok(())
}

#[test]
fn an_element_is_found_by_its_indices() -> Outcome {
    let x = Layout::strided(23, &[2, 3, 4], &[-12, -4, -1])?;
    assert_eq!(x.element(&[0, 0, 0])?, 23);
    assert_eq!(x.element(&[1, 2, 3])?, 0);
    assert_eq!(Layout::strided(5, &[], &[])?.element(&[])?, 5);
    assert_eq!(Layout::strided(1, &[2, 2], &[-1, 1])?.element(&[1, 1])?, 1);
    assert!(x.element(&[0, 0]).is_err() && x.element(&[0, 3, 0]).is_err() && x.element(&[0, 0, 0, 0]).is_err());
    Ok(())
}

#[test]
fn sizes_near_the_largest_are_exact() -> Outcome {
    const MAX: usize = isize::MAX.unsigned_abs();
    let most = Layout::contiguous(&[MAX])?;
    assert_eq!((most.elements(), most.span()), (MAX, 0..MAX));
    assert_eq!(most.select(0, MAX - 1)?.offset(), MAX - 1);
    assert_eq!(most.narrow(0, MAX, 0)?.elements(), 0);
    assert_eq!(most.unfold(0, MAX, usize::MAX)?.sizes(), [1, MAX]);
    assert_eq!(most.unfold(0, 1, MAX)?.sizes(), [1, 1]);
    assert!(most.unfold(0, 1 << 62, 1).is_err());
    assert_eq!(
        most.split(0, MAX - 1)?.map(|piece| piece.map(|piece| piece.elements())).collect::<Result<Vec<_>, _>>()?,
        [MAX - 1, 1]
    );
    assert!(most.view_dtype(DType::Short, DType::Byte).is_err());
    assert!(Layout::contiguous(&[MAX + 1]).is_err() && Layout::contiguous(&[1 << 32, 1 << 31]).is_err());
    assert!(Layout::contiguous(&[usize::MAX, usize::MAX, usize::MAX]).is_err());
    assert!(Layout::contiguous(&[usize::MAX, 0, 7]).is_ok() && Layout::contiguous(&[0, 1 << 40, 1 << 22]).is_ok());
    assert!(Layout::contiguous(&[0, 1 << 40, 1 << 40, 1 << 40]).is_err());
    assert_eq!(Layout::strided(MAX - 1, &[1], &[isize::MAX])?.span(), MAX - 1..MAX);
    assert!(Layout::strided(MAX, &[1], &[1]).is_err() && Layout::strided(usize::MAX, &[0], &[1]).is_err());
    assert!(Layout::strided(1, &[2], &[isize::MAX]).is_err());
    assert!(Layout::strided(0, &[2], &[-1]).is_err() && Layout::strided(0, &[2], &[isize::MIN]).is_err());
    assert!(Layout::strided(MAX - 1, &[3, 3], &[isize::MAX, isize::MIN]).is_err());
    assert!(Layout::strided(0, &[1 << 31, 1 << 31], &[isize::MAX, isize::MIN]).is_err());
    // A dimension of size 1 may have any stride, and what follows from it is checked.
    let odd = Layout::strided(0, &[1, 3], &[isize::MIN, 1])?;
    assert_eq!(odd.view(&[3])?.strides(), [1]);
    assert_eq!(Layout::strided(0, &[1], &[isize::MIN])?.unsqueeze(0)?.strides(), [isize::MIN, isize::MIN]);
    let wide = Layout::strided(0, &[2], &[isize::MAX - 1])?;
    assert!(wide.unsqueeze(0).is_err() && wide.view(&[1, 2]).is_err());
    assert!(Layout::strided(0, &[0, 5], &[1, isize::MAX])?.narrow(1, 4, 1)?.offset() == 0);
    Ok(())
}
