//! Open files: their tensors as views of a map, and as copies.

use std::fs;

use torch_storage::formats::Opened;
use torch_storage::storage::Storage;
use torch_storage::tensor::Tensor;
use torch_storage::{DType, Error};

use crate::{Outcome, data, hex, safetensors_file, sizes, table};

/// A copy of the elements of tensor number `member`.
fn copied(opened: &mut Opened, member: usize) -> Result<Storage, Error> {
    opened.begin_copy(member)?;
    let mut bytes = 0;
    while let Some(more) = opened.copy_piece()? {
        bytes += more as u64;
    }
    assert_eq!(bytes, opened.members()[member].bytes());
    opened.take_copy().map_or_else(|| Storage::zeroed(DType::Byte, 0), Ok)
}

/// The elements of a storage with the layout of a tensor, in row-major order, as hexadecimal digits.
fn digits(opened: &Opened, member: usize, storage: &Storage) -> Result<String, Error> {
    let copy = Tensor::new(storage, &opened.members()[member].layout).to_storage(storage.dtype())?;
    let bytes = copy.reinterpret(DType::Byte, 0, copy.nbytes())?;
    let numbers = (0..bytes.size()).filter_map(|index| bytes.get(index));
    Ok(hex(&numbers.map(|byte| (0..=u8::MAX).find(|&n| f64::from(n) == byte).unwrap_or(0)).collect::<Vec<_>>()))
}

#[test]
fn every_array_of_the_reference_files_is_a_view_or_a_copy() -> Outcome {
    let rows = table("arrays.tsv")?;
    assert!(rows.len() >= 40, "{}", rows.len());
    for row in rows {
        let [file, dtype, name, class, shape, expected] = row.as_slice() else { return Err(format!("{row:?}").into()) };
        let (path, wanted) = (data(file), DType::from_name(dtype).filter(|_| !dtype.is_empty()));
        for maps in [true, false] {
            let mut opened = match file.rsplit('.').next() {
                Some("npy") => Opened::npy(&path, wanted, maps),
                Some("npz") => Opened::npz(&path, wanted, maps),
                _ => Opened::safetensors(&path, maps),
            }?;
            let member = if file.ends_with(".npy") { 0 } else { opened.find(name.as_bytes())? };
            let view = opened.view(member)?;
            assert_eq!(view.is_some(), maps && file != "big_endian.npy", "{file}");
            let storage = match view {
                Some(view) => view,
                None => copied(&mut opened, member)?,
            };
            assert!(!storage.is_retyped(), "{file} {name}");
            assert_eq!(storage.dtype().element_name(), class, "{file} {name}");
            assert_eq!(opened.members()[member].layout.sizes(), sizes(shape)?, "{file} {name}");
            assert_eq!(&digits(&opened, member, &storage)?, expected, "{file} {name}");
        }
    }
    Ok(())
}

#[test]
fn the_map_is_that_of_the_file_whose_header_was_read() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("x.safetensors");
    fs::write(&path, safetensors_file(br#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#, b"ab"))?;
    for maps in [true, false] {
        let mut opened = Opened::safetensors(&path, maps)?;
        let bytes = fs::read(&path)?;
        fs::remove_file(&path)?;
        fs::write(&path, "another file")?;
        let storage = match opened.view(0)? {
            Some(view) => view,
            None => copied(&mut opened, 0)?,
        };
        assert_eq!((storage.get(0), storage.get(1)), (Some(97.0), Some(98.0)));
        fs::remove_file(&path)?;
        fs::write(&path, bytes)?;
    }
    Ok(())
}

#[test]
fn a_name_that_no_tensor_has_is_an_error_with_the_names_that_there_are() -> Outcome {
    let opened = Opened::npz(&data("stored.npz"), None, true)?;
    match opened.find(b"x") {
        Err(Error::NoTensor { name, first, count, .. }) => {
            assert_eq!((&*name.to_string(), count), ("x", 4));
            assert_eq!(first.iter().map(ToString::to_string).collect::<Vec<_>>(), ["flag", "labels", "weights", "сеть/x"]);
        }
        other => return Err(format!("{other:?}").into()),
    }
    Ok(())
}

#[test]
fn a_copy_of_a_file_that_has_become_shorter_is_an_error() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("x.npy");
    fs::copy(data("v1.npy"), &path)?;
    let mut opened = Opened::npy(&path, None, false)?;
    fs::write(&path, "short")?;
    let message = copied(&mut opened, 0).map_err(|error| error.to_string()).err().unwrap_or_default();
    assert!(message.contains("at byte 128: the elements expected (48 bytes), but 0 bytes are left"), "{message}");
    assert!(matches!(copied(&mut opened, 0), Err(Error::Format(_))));
    Ok(())
}
