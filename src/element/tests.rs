//! The list of dtypes agrees with itself, and every dtype is found by its names.

use super::{DType, Kind};

#[test]
fn a_dtype_is_found_by_its_class_name_with_and_without_the_module() {
    for (number, &dtype) in DType::ALL.iter().enumerate() {
        assert_eq!(dtype.number(), number);
        assert_eq!(DType::from_class_name(dtype.class_name()), Some(dtype));
        assert_eq!(DType::from_class_name(dtype.short_name()), Some(dtype));
    }
    assert_eq!(DType::from_class_name("torch.NoSuchStorage"), None);
    assert_eq!(DType::from_class_name("Byte"), None);
}

#[test]
fn a_dtype_is_found_by_the_names_of_pytorch() {
    for (name, dtype) in [
        ("uint8", DType::Byte),
        ("torch.uint8", DType::Byte),
        ("int8", DType::Char),
        ("short", DType::Short),
        ("int32", DType::Int),
        ("long", DType::Long),
        ("half", DType::Half),
        ("float16", DType::Half),
        ("torch.float", DType::Float),
        ("float64", DType::Double),
        ("complex64", DType::ComplexFloat),
        ("torch.cdouble", DType::ComplexDouble),
        ("untyped", DType::Untyped),
        ("FloatStorage", DType::Float),
        ("torch.UntypedStorage", DType::Untyped),
    ] {
        assert_eq!(DType::from_name(name), Some(dtype), "{name}");
    }
    for name in ["Byte", "Float32", "", "torch.", "torch.torch.int", "float9", "int "] {
        assert_eq!(DType::from_name(name), None, "{name}");
    }
}

#[test]
fn torch7_has_the_first_eight_dtypes_with_these_widths_on_every_platform() {
    let rows = DType::ALL.iter().filter(|dtype| dtype.is_in_torch7()).map(|dtype| (dtype.element_name(), dtype.width()));
    let expected = [("Byte", 1), ("Char", 1), ("Short", 2), ("Int", 4), ("Long", 8), ("Half", 2), ("Float", 4), ("Double", 8)];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    assert!(DType::ALL[..8].iter().all(|dtype| dtype.is_in_torch7()));
}

#[test]
fn the_kind_of_a_row_agrees_with_its_rust_type() {
    for &dtype in DType::ALL {
        assert_eq!(dtype.small_float().is_some(), dtype.kind() == Kind::SmallFloat, "{dtype:?}");
        assert!(dtype.small_float().is_none() || dtype.width() <= 2, "{dtype:?}");
        let parts = if dtype.is_complex() { 2 } else { 1 };
        assert_eq!(dtype.width(), parts * dtype.part().width(), "{dtype:?}");
    }
}

#[test]
fn no_two_dtypes_have_a_name_in_common() {
    let mut names = Vec::new();
    for dtype in DType::ALL {
        names.push(dtype.element_name().to_ascii_lowercase());
        names.extend(dtype.other_names().split_ascii_whitespace().map(str::to_owned));
    }
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "{names:?}");
}
