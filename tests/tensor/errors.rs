//! The texts of the errors.

use torch_storage::tensor::{Layout, Shape, checked_size};
use torch_storage::{DType, Error};

/// The text of the error.
fn text<T>(result: Result<T, Error>) -> String {
    result.map_or_else(|error| error.to_string(), |_| "no error".to_owned())
}

#[test]
fn errors_name_the_shapes() -> Result<(), Error> {
    let x = Layout::contiguous(&[3, 4])?;
    let turned = x.transpose(0, 1)?;
    assert_eq!(text(x.view(&[3, 5])), "a view of 3 x 5 needs 15 elements, and the tensor of 3 x 4 has 12");
    assert_eq!(text(x.view(&[1])), "a view of 1 needs 1 element, and the tensor of 3 x 4 has 12");
    assert_eq!(text(x.view(&[])), "a view of no dimensions needs 1 element, and the tensor of 3 x 4 has 12");
    assert_eq!(
        text(turned.view(&[12])),
        "a view of 12 would need a copy: the tensor of 4 x 3 has strides 1, 4; use x:contiguous():view(...) or x:reshape(...)"
    );
    assert_eq!(text(x.view(&[-1, -1])), "only one size can be -1");
    assert_eq!(text(x.view(&[-2, 3])), "size -2 is not allowed: sizes are 0 or more, or -1 once");
    assert_eq!(text(checked_size(-2)), "size -2 is not allowed: sizes are 0 or more");
    assert_eq!(text(x.view(&[5, -1])), "12 elements cannot be divided into rows of 5");
    assert_eq!(text(x.view(&[0, -1])), "12 elements cannot be divided into rows of 0");
    assert_eq!(
        text(Layout::contiguous(&[0])?.view(&[-1, 0])),
        "the size for -1 is not determined: there are no elements and another size is 0, so any size would do"
    );
    assert_eq!(
        text(x.view(&[1 << 40, 1 << 40])),
        "a tensor of 1099511627776 x 1099511627776 has more elements than a machine can address"
    );
    assert_eq!(text(x.view(&[1; 65])), "a tensor can have at most 64 dimensions, got 65");
    assert_eq!(text(Shape::new(&[1; 65])), "a tensor can have at most 64 dimensions, got 65");
    let full = Layout::contiguous(&[1; 64])?;
    assert_eq!(text(full.unsqueeze(0)), "a tensor can have at most 64 dimensions, got 65");
    assert_eq!(text(full.unfold(0, 1, 1)), "a tensor can have at most 64 dimensions, got 65");
    Ok(())
}

#[test]
fn errors_name_the_dimension_and_the_index() -> Result<(), Error> {
    let x = Layout::contiguous(&[4, 3])?;
    for error in
        [text(x.dimension(3)), text(x.select(2, 0)), text(x.narrow(2, 0, 1)), text(x.transpose(0, 2)), text(x.split(2, 1))]
    {
        assert_eq!(error, "dimension 3 is out of range: the tensor has 2 dimensions");
    }
    for error in [text(x.chunk(2, 1)), text(x.unfold(2, 1, 1)), text(x.squeeze_dimension(2)), text(x.index(2, 1))] {
        assert_eq!(error, "dimension 3 is out of range: the tensor has 2 dimensions");
    }
    assert_eq!(text(x.dimension(-3)), "dimension -3 is out of range: the tensor has 2 dimensions");
    assert_eq!(text(x.new_dimension(0)), "dimension 0 is out of range: the tensor has 2 dimensions");
    assert_eq!(text(x.unsqueeze(3)), "dimension 4 is out of range: the tensor has 2 dimensions");
    assert_eq!(text(Layout::contiguous(&[5])?.dimension(2)), "dimension 2 is out of range: the tensor has 1 dimension");
    for error in [text(x.index(0, 5)), text(x.select(0, 4)), text(x.element(&[4, 0])), text(x.index_from_either_end(0, 5))] {
        assert_eq!(error, "index 5 is out of range: dimension 1 has size 4");
    }
    assert_eq!(text(x.index(0, -1)), "index -1 is out of range: dimension 1 has size 4");
    assert_eq!(text(x.range(0, 0, 1)), "index 0 is out of range: dimension 1 has size 4");
    assert_eq!(text(x.element(&[1])), "an element has an index for each dimension: the tensor has 2 dimensions, got 1");
    for error in [text(x.narrow(1, 1, 3)), text(x.range_of_length(1, 2, 3))] {
        assert_eq!(error, "a range of length 3 from index 2 on is out of range: dimension 2 has size 3");
    }
    assert_eq!(text(x.range_of_length(1, 2, -3)), "a length cannot be negative, got -3");
    assert_eq!(text(x.range(1, 2, -3)), "the range from 2 to -3 of dimension 2 ends before it begins");
    Ok(())
}

#[test]
fn errors_of_views_say_what_does_not_fit() -> Result<(), Error> {
    let x = Layout::contiguous(&[2, 3])?;
    assert_eq!(text(x.permute(&[0, 0])), "a permutation has each dimension from 1 to 2 once, got 1, 1");
    assert_eq!(text(x.permute(&[])), "a permutation has each dimension from 1 to 2 once, got none");
    assert_eq!(text(x.permute(&[0, 2])), "a permutation has each dimension from 1 to 2 once, got 1, 3");
    assert_eq!(
        text(Layout::contiguous(&[3])?.matrix_transpose()),
        "t() needs a tensor of 2 dimensions, and this one has 1; use x:transpose(a, b)"
    );
    assert_eq!(text(x.unfold(1, 4, 1)), "a window of size 4 is too large: dimension 2 has size 3");
    assert_eq!(text(x.unfold(1, 0, 1)), "the size of a window is 1 or more, got 0");
    assert_eq!(text(x.unfold(1, 2, 0)), "the step between windows is 1 or more, got 0");
    assert_eq!(text(x.split(1, 0)), "the size of a piece is 1 or more, got 0");
    assert_eq!(
        text(x.expand(&[2, 5])),
        "the tensor of 2 x 3 cannot be expanded to 2 x 5: only dimensions of size 1 expand, and dimension 2 has size 3"
    );
    assert_eq!(
        text(x.expand(&[2, 2, 3])),
        "an expansion has a size for each dimension: the tensor of 2 x 3 has 2 dimensions, got 3 sizes"
    );
    assert_eq!(text(Layout::strided(0, &[2, 3], &[1])), "there is a stride for each size, got 2 sizes and 1 stride");
    assert_eq!(text(x.span_in(5)), "the tensor of 2 x 3 with strides 3, 1 uses elements 1 to 6 of its storage, which has 5");
    assert_eq!(
        text(Layout::strided(2, &[4], &[-1])),
        "the tensor of 4 with strides -1 uses elements 0 to 3 of its storage, and elements are counted from 1 to 2^63-1"
    );
    assert_eq!(
        text(Layout::strided(0, &[2], &[isize::MAX - 1])?.unsqueeze(0)),
        "a stride would be more than a machine can address: the tensor of 2 has strides 9223372036854775806"
    );
    Ok(())
}

#[test]
fn errors_of_another_dtype_say_which_condition_fails() -> Result<(), Error> {
    let view = |offset, sizes: &[usize], strides: &[isize], to| -> Result<String, Error> {
        Ok(text(Layout::strided(offset, sizes, strides)?.view_dtype(DType::Float, to)))
    };
    let wide = "a Float tensor cannot be viewed as Double: ";
    assert_eq!(
        view(0, &[], &[], DType::Byte)?,
        "a Float tensor cannot be viewed as Byte: it has no dimension whose size could change"
    );
    assert_eq!(view(0, &[2, 2], &[1, 2], DType::Double)?, format!("{wide}its last stride must be 1, and is 2"));
    assert_eq!(view(0, &[2, 3], &[4, 1], DType::Double)?, format!("{wide}its last size must be a multiple of 2, and is 3"));
    assert_eq!(
        view(1, &[2, 2], &[4, 1], DType::Double)?,
        format!("{wide}the number of elements before its first one in the storage must be a multiple of 2, and is 1")
    );
    assert_eq!(
        view(0, &[2, 2], &[3, 1], DType::Double)?,
        format!("{wide}the stride of dimension 1 must be a multiple of 2, and is 3")
    );
    Ok(())
}
