//! What is written: the bytes of the reference libraries, which are read as they were written.

use std::collections::HashMap;
use std::path::Path;

use ::safetensors::tensor::{Dtype, TensorView, serialize};
use proptest::prelude::*;
use torch_storage::formats::{Source, npy, safetensors};
use torch_storage::tensor::Layout;
use torch_storage::{DType, Error};

use crate::{Outcome, data, hex, npy_file, safetensors_file, sizes, table};

/// The layout of a tensor whose elements lie side by side with the first index changing fastest.
fn fortran(sizes: &[usize]) -> Result<Layout, Error> {
    let mut next = 1_isize;
    let strides: Vec<isize> = sizes
        .iter()
        .map(|&size| {
            let stride = next;
            next *= size.max(1).cast_signed();
            stride
        })
        .collect();
    Layout::strided(0, sizes, &strides)
}

#[test]
fn headers_of_npy_files_are_those_of_numpy() -> Outcome {
    let rows = table("npy_headers.tsv")?;
    assert!(rows.len() > 100, "{}", rows.len());
    for row in rows {
        let [class, shape, order, digits] = row.as_slice() else { return Err(format!("{row:?}").into()) };
        let dtype = DType::from_class_name(&format!("{class}Storage")).ok_or_else(|| class.clone())?;
        let sizes = sizes(shape)?;
        let layout = if order == "F" { fortran(&sizes)? } else { Layout::contiguous(&sizes)? };
        assert_eq!(&hex(&npy::header(dtype, &layout)?.0), digits, "{class} {shape} {order}");
    }
    Ok(())
}

#[test]
fn elements_are_in_the_order_that_the_header_says() -> Outcome {
    let rows = Layout::contiguous(&[2, 3])?;
    for (layout, order) in [
        (rows.clone(), npy::Order::C),
        (rows.transpose(0, 1)?, npy::Order::Fortran),
        // These have no order of their own.
        (Layout::strided(5, &[2, 3], &[-3, 1])?, npy::Order::C),
        (Layout::strided(0, &[2, 3], &[0, 1])?, npy::Order::C),
        (Layout::strided(0, &[2, 3], &[1, 3])?, npy::Order::C),
    ] {
        assert_eq!(npy::header(DType::Float, &layout)?.1, order, "{layout:?}");
    }
    Ok(())
}

#[test]
fn untyped_bytes_are_written_as_bytes() -> Outcome {
    let layout = Layout::contiguous(&[3])?;
    assert_eq!(npy::header(DType::Untyped, &layout)?, npy::header(DType::Byte, &layout)?);
    let plan = |dtype| safetensors::plan(&[("a", dtype, &[3])], &[]);
    assert_eq!(plan(DType::Untyped)?, plan(DType::Byte)?);
    Ok(())
}

#[test]
fn other_spellings_of_a_header_are_read() -> Outcome {
    for header in [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}   \n",
        r#"{"shape":(2,3),"fortran_order":False,"descr":"<f4"}"#,
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }",
        " \t{ 'shape' : ( 2 , 3 , ) ,\n 'fortran_order' : False ,\r\n 'descr' : \"<f4\" } ",
    ] {
        for version in [1, 2, 3] {
            // Bytes after the array are ignored.
            for more in [0, 5] {
                let file = npy_file(version, header.as_bytes(), &vec![0; 24 + more]);
                let slice = file.as_slice();
                let array = npy::read(&Source::of_bytes(Path::new("x"), &slice), None)?;
                assert_eq!((array.dtype, array.layout.sizes()), (DType::Float, [2, 3].as_slice()), "{header}");
                assert_eq!(array.data.end, (file.len() - more) as u64);
            }
        }
    }
    Ok(())
}

#[test]
fn big_endian_elements_say_the_width_of_their_words() -> Outcome {
    for (descr, dtype, swap) in [
        (">f4", DType::Float, 4),
        (">i2", DType::Short, 2),
        (">u8", DType::UInt64, 8),
        (">c8", DType::ComplexFloat, 4),
        (">c16", DType::ComplexDouble, 8),
        (">u1", DType::Byte, 1),
        ("<u1", DType::Byte, 1),
        ("<c16", DType::ComplexDouble, 1),
    ] {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,), }}");
        let file = npy_file(1, header.as_bytes(), &[0; 16]);
        let slice = file.as_slice();
        let array = npy::read(&Source::of_bytes(Path::new("x"), &slice), None)?;
        assert_eq!((array.dtype, array.swap), (dtype, swap), "{descr}");
    }
    Ok(())
}

#[test]
fn safetensors_files_are_those_of_the_reference() -> Outcome {
    for name in ["dtypes.safetensors", "net-00001-of-00002.safetensors", "net-00002-of-00002.safetensors"] {
        let bytes = std::fs::read(data(name))?;
        let header = safetensors::read(&Source::of_bytes(Path::new(name), &bytes.as_slice()))?;
        let tensors: Vec<_> =
            header.tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.dtype(), &*tensor.file_sizes)).collect();
        let metadata: Vec<_> = header.metadata.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let plan = safetensors::plan(&tensors, &metadata)?;
        assert_eq!(plan.header, bytes[..plan.header.len()], "{name}");
        let mut at = plan.header.len() as u64;
        for index in plan.order {
            assert_eq!(header.tensors[index].data.start, at, "{name}");
            at = header.tensors[index].data.end;
        }
        assert_eq!(at, bytes.len() as u64, "{name}");
    }
    Ok(())
}

#[test]
fn what_a_safetensors_file_cannot_have_is_refused() {
    let huge = [usize::MAX / 4];
    let long = "a".repeat(100_000_000);
    for (tensors, says) in [
        (vec![("a", DType::ComplexDouble, [1].as_slice())], "the format has no dtype for complex numbers of 16 bytes"),
        (vec![("__metadata__", DType::Byte, &[1])], "the name is that of the metadata"),
        (vec![("a", DType::Byte, &[1]), ("a", DType::Float, &[1])], "another tensor has this name"),
        (vec![("a", DType::Double, &huge)], "more than 2^63-1 bytes"),
        (vec![("a", DType::Byte, &huge), ("b", DType::Byte, &huge), ("c", DType::Byte, &huge)], "more than 2^63-1 bytes"),
        (vec![(long.as_str(), DType::Byte, &[1])], "more than 100,000,000 bytes"),
    ] {
        let message = safetensors::plan(&tensors, &[]).map(|_| ()).map_err(|error| error.to_string()).err().unwrap_or_default();
        assert!(message.contains(says) && message.starts_with("a safetensors file cannot have the tensor '"), "{message}");
    }
}

#[test]
fn empty_metadata_is_none() -> Outcome {
    assert_eq!(safetensors::plan(&[], &[])?.header, safetensors_file(b"{}      ", &[]));
    let sorted = safetensors_file(br#"{"__metadata__":{"a":"\n","b":"1"}}     "#, &[]);
    assert_eq!(safetensors::plan(&[], &[("b", "1"), ("a", "\n")])?.header, sorted);
    Ok(())
}

/// The dtypes of the reference that this library writes.
const DTYPES: [(DType, Dtype); 6] = [
    (DType::Float, Dtype::F32),
    (DType::Byte, Dtype::U8),
    (DType::BFloat16, Dtype::BF16),
    (DType::Long, Dtype::I64),
    (DType::ComplexFloat, Dtype::C64),
    (DType::Bool, Dtype::BOOL),
];

fn any_sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..6_usize, 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_array_is_read_as_it_was_written(sizes in any_sizes(), number in 0..DType::ALL.len(), is_fortran: bool) {
        let dtype = DType::ALL[number];
        prop_assume!(!dtype.is_untyped());
        let layout = if is_fortran { fortran(&sizes) } else { Layout::contiguous(&sizes) };
        let layout = layout.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let (mut file, _) = npy::header(dtype, &layout)?;
        prop_assert_eq!(file.len() % 64, 0);
        let begin = file.len();
        file.resize(begin + layout.elements() * dtype.width(), 0);
        let slice = file.as_slice();
        let array = npy::read(&Source::of_bytes(Path::new("x"), &slice), Some(dtype));
        let array = array.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!((array.dtype, array.swap, array.data), (dtype, 1, begin as u64..file.len() as u64));
        prop_assert_eq!(array.layout.sizes(), layout.sizes());
        if layout.elements() > 0 {
            for (index, &size) in sizes.iter().enumerate() {
                prop_assert!(size == 1 || array.layout.strides()[index] == layout.strides()[index]);
            }
        }
    }

    #[test]
    fn tensors_are_written_as_the_reference_writes_them(
        tensors in prop::collection::btree_map("\\PC{0,8}", (any_sizes(), 0..DTYPES.len()), 0..8),
        text in prop::option::of(".{0,8}"),
    ) {
        prop_assume!(!tensors.contains_key("__metadata__"));
        let zeros = vec![0; 8 * 6 * 6 * 6 * 6];
        let ours: Vec<_> = tensors.iter().map(|(name, (sizes, dtype))| (name.as_str(), DTYPES[*dtype].0, sizes.as_slice())).collect();
        let theirs = tensors.iter().map(|(name, (sizes, dtype))| {
            let (ours, theirs) = DTYPES[*dtype];
            let bytes = &zeros[..sizes.iter().product::<usize>() * ours.width()];
            TensorView::new(theirs, sizes.clone(), bytes).map(|view| (name, view))
        });
        let theirs: Vec<_> = theirs.collect::<Result<_, _>>().map_err(|error| TestCaseError::fail(error.to_string()))?;
        let metadata = text.as_ref().map(|text| HashMap::from([("a\"b".to_owned(), text.clone())]));
        let expected = serialize(theirs, metadata).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let metadata: Vec<_> = text.iter().map(|text| ("a\"b", text.as_str())).collect();
        let plan = safetensors::plan(&ours, &metadata).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(&expected[..plan.header.len()], plan.header.as_slice());
        let slice = expected.as_slice();
        let read = safetensors::read(&Source::of_bytes(Path::new("x"), &slice));
        let read = read.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let read: Vec<_> = read.tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.dtype(), &*tensor.file_sizes)).collect();
        prop_assert_eq!(read, ours);
    }
}
