//! The files that safetensors, NumPy and ml_dtypes wrote.

use std::path::Path;

use torch_storage::formats::{npy, npz, safetensors};
use torch_storage::storage::{MapOptions, Storage};
use torch_storage::tensor::{Layout, Tensor};
use torch_storage::{DType, Error};

use crate::{Outcome, data, hex, sizes, table};

/// An array that was found in a file.
struct Found {
    dtype: DType,
    layout: Layout,
    data: std::ops::Range<u64>,
    swap: usize,
}

impl From<npy::Array> for Found {
    fn from(array: npy::Array) -> Self {
        Self { dtype: array.dtype, layout: array.layout, data: array.data, swap: array.swap }
    }
}

fn of_tensor(tensor: &safetensors::Tensor) -> Result<Found, Error> {
    Ok(Found { dtype: tensor.dtype(), layout: tensor.layout()?, data: tensor.data.clone(), swap: 1 })
}

/// Maps the elements of an array, and returns them in row-major order.
fn elements(path: &Path, found: &Found) -> Result<Vec<u8>, Error> {
    let options = MapOptions { offset: found.data.start, size: Some(found.layout.elements()), ..MapOptions::default() };
    let mapped = Storage::map(found.dtype, path, &options)?;
    if found.swap > 1 {
        mapped.byteswap(Some(found.swap))?;
    }
    let copy = Tensor::new(&mapped, &found.layout).to_storage(found.dtype)?;
    let bytes = Storage::zeroed(DType::Byte, copy.nbytes())?;
    bytes.copy_bytes(&copy)?;
    // The elements of this storage are whole numbers from 0 to 255.
    Ok((0..bytes.size())
        .filter_map(|index| bytes.get(index))
        .map(|byte| (0..=u8::MAX).find(|&n| f64::from(n) == byte).unwrap_or(0))
        .collect())
}

fn find(file: &str, name: &str, dtype: &str) -> Result<Option<(std::path::PathBuf, Found)>, Error> {
    let path = data(file);
    Ok(match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => {
            let wanted = DType::from_name(dtype).filter(|_| !dtype.is_empty());
            let array = npy::open(&path, wanted)?;
            Some((path, array.into()))
        }
        Some("npz") => {
            let entry = npz::open(&path, None)?.arrays.into_iter().find(|entry| entry.name == name.as_bytes());
            entry.map(|entry| (path, entry.array.into()))
        }
        Some("json") => {
            let index = safetensors::Index::open(&path)?;
            let mut found = None;
            for (number, shard) in index.shards().enumerate() {
                let shard = shard?;
                let header = safetensors::open(&shard)?;
                for tensor in index.tensors(number, &header)? {
                    if tensor.name == name {
                        found = Some((shard.clone(), of_tensor(tensor)?));
                    }
                }
            }
            found
        }
        _ => match safetensors::open(&path)?.tensor(name) {
            Some(tensor) => Some((path, of_tensor(tensor)?)),
            None => None,
        },
    })
}

#[test]
fn every_array_of_the_reference_files_is_read() -> Outcome {
    let rows = table("arrays.tsv")?;
    assert!(rows.len() >= 40, "{}", rows.len());
    for row in rows {
        let [file, dtype, name, class, shape, digits] = row.as_slice() else { return Err(format!("{row:?}").into()) };
        let (path, found) = find(file, name, dtype)?.ok_or_else(|| format!("{file} has no '{name}'"))?;
        assert_eq!(found.dtype.element_name(), class, "{file} {name}");
        assert_eq!(found.layout.sizes(), sizes(shape)?, "{file} {name}");
        assert_eq!(&hex(&elements(&path, &found)?), digits, "{file} {name}");
    }
    Ok(())
}

#[test]
fn a_file_has_no_arrays_but_those_of_the_table() -> Outcome {
    let rows = table("arrays.tsv")?;
    for file in ["dtypes.safetensors", "unaligned.safetensors", "shapes.safetensors", "stored.npz"] {
        let count = if file.ends_with("npz") {
            npz::open(&data(file), None)?.arrays.len()
        } else {
            safetensors::open(&data(file))?.tensors().len()
        };
        assert_eq!(count, rows.iter().filter(|row| row[0] == file).count(), "{file}");
    }
    Ok(())
}

#[test]
fn metadata_is_read() -> Outcome {
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(safetensors::open(&data("dtypes.safetensors"))?.metadata(), [pair("format", "np")]);
    let expected = [pair("author", "Ünï"), pair("config", r#"{"layers": [1, 2]}"#), pair("step", "1200")];
    assert_eq!(safetensors::open(&data("shapes.safetensors"))?.metadata(), expected);
    assert_eq!(safetensors::open(&data("unaligned.safetensors"))?.metadata(), []);
    Ok(())
}

#[test]
fn an_array_in_fortran_order_has_strides_and_no_copy() -> Outcome {
    let array = npy::open(&data("fortran.npy"), None)?;
    assert_eq!((array.layout.sizes(), array.layout.strides(), array.swap), ([2, 3].as_slice(), [1, 2].as_slice(), 1));
    assert_eq!(array.data, 128..176);
    Ok(())
}

#[test]
fn the_refused_reference_files_are_refused() {
    let npy = |name| npy::open(&data(name), None).map(|_| ());
    let npz = |name| npz::open(&data(name), None).map(|_| ());
    let safetensors = |name| safetensors::open(&data(name)).map(|_| ());
    for (name, result, says) in [
        ("deflated.npz", npz("deflated.npz"), "is compressed: save it with numpy.savez, not savez_compressed"),
        ("refused_cut.safetensors", safetensors("refused_cut.safetensors"), "the elements expected"),
        ("refused_twice.safetensors", safetensors("refused_twice.safetensors"), "(tensor 'w'): the name 'w' is there twice"),
        ("refused_object.npy", npy("refused_object.npy"), "an array of objects ('|O')"),
        ("refused_shape.npy", npy("refused_shape.npy"), "the elements expected (4000000000000 bytes), but 0 bytes are left"),
        ("bfloat16.npy", npy("bfloat16.npy"), "dtype='bfloat16'"),
    ] {
        let message = result.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message.contains(says) && message.contains(name), "{name}: {message}");
    }
}
