//! Whole files that are saved: those of NumPy byte for byte, tensors of any layout, and what remains after a failure.

use std::path::Path;

use proptest::prelude::*;
use torch_storage::bulk::Writable;
use torch_storage::convert::Scalar;
use torch_storage::formats::{Item, Saving, Source, npy, npz, safetensors};
use torch_storage::storage::{MapOptions, Storage};
use torch_storage::tensor::{Layout, Tensor};
use torch_storage::{DType, Error};

use crate::{Outcome, data, read_file};

/// Writes a whole file. Returns the number of pieces.
fn finish(mut saving: Saving) -> Result<usize, Error> {
    let mut pieces = 0;
    let mut before = 0;
    while saving.step()? {
        pieces += 1;
        assert!(saving.position() >= before && saving.position() <= saving.total());
        before = saving.position();
    }
    saving.finish()?;
    assert_eq!(saving.position(), saving.total());
    Ok(pieces)
}

fn item(name: &str, storage: &Storage, layout: &Layout) -> Result<Item, Error> {
    Ok(Item { name: name.to_owned(), storage: storage.view(0, storage.size())?, layout: layout.clone() })
}

/// The same tensors once more.
fn again(items: &[Item]) -> Result<Vec<Item>, Error> {
    items.iter().map(|one| item(&one.name, &one.storage, &one.layout)).collect()
}

/// The elements of a tensor in row-major order.
fn bytes_of(tensor: &Tensor<'_>, dtype: DType, elements: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; elements * dtype.width()];
    tensor.copy_to(Writable::of(&mut bytes, dtype), 0..elements)?;
    Ok(bytes)
}

/// The array in a part of a file.
fn array_in(file: &[u8], array: &npy::Array) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let part = &file[usize::try_from(array.data.start)?..usize::try_from(array.data.end)?];
    let storage = Storage::from_bytes(array.dtype, part)?;
    Ok(bytes_of(&Tensor::new(&storage, &array.layout), array.dtype, array.layout.elements())?)
}

#[test]
fn an_npz_file_is_that_of_numpy() -> Outcome {
    let path = data("saved.npz");
    let mut items = Vec::new();
    for entry in read_file(&path, |source| npz::read(source, None))?.arrays {
        let array = entry.array;
        let options = MapOptions { offset: array.data.start, size: Some(array.layout.elements()), ..MapOptions::default() };
        let storage = if array.layout.elements() > 0 {
            Storage::map(array.dtype, &path, &options)?
        } else {
            Storage::zeroed(array.dtype, 0)?
        };
        items.push(Item { name: String::from_utf8(entry.name)?, storage, layout: array.layout });
    }
    assert_eq!(items.len(), 9);
    items.reverse();
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("copy.npz");
    finish(Saving::npz(&copy, true, items)?)?;
    assert_eq!(std::fs::read(copy)?, std::fs::read(path)?);
    Ok(())
}

#[test]
fn an_npy_file_is_that_of_numpy() -> Outcome {
    let folder = tempfile::tempdir()?;
    for name in ["fortran.npy", "empty.npy", "scalar.npy", "v1.npy"] {
        let (path, copy) = (data(name), folder.path().join(name));
        let bytes = std::fs::read(&path)?;
        let array = npy::read(&Source::of_bytes(&path, &bytes.as_slice()), None)?;
        let storage = Storage::from_bytes(array.dtype, &bytes[usize::try_from(array.data.start)?..])?;
        let item = Item { name: String::new(), storage, layout: array.layout };
        finish(Saving::npy(&copy, true, item)?)?;
        assert_eq!(std::fs::read(copy)?, bytes, "{name}");
    }
    Ok(())
}

#[test]
fn a_file_without_tensors_is_written() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("none");
    finish(Saving::safetensors(&path, true, Vec::new(), &[("a", "b")])?)?;
    let header = read_file(&path, safetensors::read)?;
    assert_eq!((header.tensors.len(), header.metadata.len()), (0, 1));
    finish(Saving::npz(&path, true, Vec::new())?)?;
    assert_eq!(read_file(&path, |source| npz::read(source, None))?.arrays, []);
    Ok(())
}

#[test]
fn what_cannot_be_saved_changes_no_file() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("old");
    std::fs::write(&path, "old")?;
    let storage = Storage::zeroed(DType::ComplexDouble, 2)?;
    let outside = [item("a", &storage, &Layout::contiguous(&[3])?)?];
    let endless = [item("a", &storage, &Layout::strided(0, &[isize::MAX.unsigned_abs()], &[0])?)?];
    let zero = [item("a\0b", &storage, &Layout::contiguous(&[2])?)?];
    for atomic in [true, false] {
        for (error, says) in [
            (Saving::npy(&path, atomic, again(&outside)?.remove(0)).err(), "of its storage, which has 2"),
            (Saving::npz(&path, atomic, again(&outside)?).err(), "of its storage, which has 2"),
            (Saving::npy(&path, atomic, again(&endless)?.remove(0)).err(), "more than a machine can address"),
            (Saving::npz(&path, atomic, again(&endless)?).err(), "more than a machine can address"),
            (Saving::npz(&path, atomic, again(&zero)?).err(), "zero byte"),
            (Saving::safetensors(&path, atomic, again(&zero)?, &[]).err(), "no dtype for complex"),
        ] {
            let message = error.ok_or("an error was expected")?.to_string();
            assert!(message.contains(says), "{message}");
            assert_eq!(std::fs::read(&path)?, b"old", "{message}");
        }
    }
    Ok(())
}

#[test]
fn a_file_that_is_not_finished_leaves_nothing() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("old");
    std::fs::write(&path, "old")?;
    let storage = Storage::zeroed(DType::Double, 1 << 20)?;
    let items = [item("a", &storage, &Layout::contiguous(&[1 << 20])?)?];
    for steps in 0..9 {
        let mut saving = Saving::npz(&path, true, again(&items)?)?;
        for _ in 0..steps {
            assert!(saving.step()?);
        }
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 2);
        drop(saving);
        assert_eq!(std::fs::read(&path)?, b"old");
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
    }
    Ok(())
}

#[test]
fn a_storage_may_be_resized_while_it_is_saved() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a.npz");
    let storage = Storage::zeroed(DType::Int, 1 << 20)?;
    storage.fill(Scalar::Float(7.0))?;
    let items = [item("a", &storage, &Layout::contiguous(&[1 << 20])?)?];
    let mut saving = Saving::npz(&path, true, again(&items)?)?;
    assert!(saving.step()?);
    storage.resize(1, torch_storage::storage::StateId::of_this_thread())?;
    drop(storage);
    finish(saving)?;
    let bytes = std::fs::read(&path)?;
    let slice = bytes.as_slice();
    let source = Source::of_bytes(&path, &slice);
    for entry in npz::read(&source, None)?.arrays {
        npz::check(&source, &entry)?;
        assert_eq!(array_in(&bytes, &entry.array)?, 7_i32.to_le_bytes().repeat(1 << 20));
    }
    Ok(())
}

#[test]
fn a_device_gets_all_bytes_and_an_error_if_it_is_full() -> Outcome {
    let storage = Storage::zeroed(DType::Double, 1 << 18)?;
    let items = [item("a", &storage, &Layout::contiguous(&[1 << 18])?)?];
    finish(Saving::npz(Path::new("/dev/null"), true, again(&items)?)?)?;
    let full = Path::new("/dev/full");
    for saving in [
        Saving::npz(full, true, again(&items)?)?,
        Saving::npy(full, true, again(&items)?.remove(0))?,
        Saving::safetensors(full, true, again(&items)?, &[])?,
    ] {
        let message = finish(saving).err().ok_or("an error was expected")?.to_string();
        assert!(message.contains("No space left on device"), "{message}");
    }
    Ok(())
}

/// A layout that is made from a contiguous one by operations that the numbers choose.
fn changed(sizes: &[usize], changes: &[(u8, usize, usize)]) -> Result<Layout, Error> {
    let mut layout = Layout::contiguous(sizes)?;
    for &(what, one, other) in changes {
        let dimensions = layout.dimensions();
        if dimensions == 0 {
            break;
        }
        let (one, other) = (one % dimensions, other % dimensions);
        let size = layout.sizes()[one];
        layout = match what {
            0 => layout.transpose(one, other)?,
            1 if size > 0 => layout.select(one, other % size)?,
            2 if size > 1 => layout.narrow(one, 1, size - 1)?,
            _ => layout,
        };
    }
    Ok(layout)
}

const NAMES: [&str; 3] = ["a", "x/y", "é"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tensors_of_any_layout_are_read_as_they_were_saved(
        tensors in prop::collection::vec(
            (prop::collection::vec(0..6_usize, 0..5), prop::collection::vec((0..3_u8, 0..5_usize, 0..5_usize), 0..4), 0..DType::ALL.len()),
            0..=NAMES.len(),
        ),
    ) {
        let result = (|| -> Outcome {
            let folder = tempfile::tempdir()?;
            let mut items = Vec::new();
            for (name, (sizes, changes, number)) in NAMES.iter().zip(&tensors) {
                let dtype = DType::ALL[*number];
                let dtype = if dtype == DType::ComplexDouble { DType::ComplexFloat } else { dtype };
                let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(6_usize.pow(4) * dtype.width()).collect();
                items.push(item(name, &Storage::from_bytes(dtype, &bytes)?, &changed(sizes, changes)?)?);
            }
            let expected = |item: &Item| bytes_of(&Tensor::new(&item.storage, &item.layout), item.storage.dtype(), item.layout.elements());
            let path = folder.path().join("file");
            finish(Saving::safetensors(&path, true, again(&items)?, &[])?)?;
            let (header, bytes) = (read_file(&path, safetensors::read)?, std::fs::read(&path)?);
            for item in &items {
                let tensor = header.tensors.iter().find(|tensor| tensor.name == item.name).ok_or("a tensor is missing")?;
                assert_eq!(&*tensor.file_sizes, item.layout.sizes());
                assert_eq!(bytes[usize::try_from(tensor.data.start)?..usize::try_from(tensor.data.end)?], expected(item)?);
            }
            for item in &items {
                finish(Saving::npy(&path, true, again(std::slice::from_ref(item))?.remove(0))?)?;
                let dtype = if item.storage.dtype().is_untyped() { DType::Byte } else { item.storage.dtype() };
                let bytes = std::fs::read(&path)?;
                let array = npy::read(&Source::of_bytes(&path, &bytes.as_slice()), Some(dtype))?;
                assert_eq!((array.layout.sizes(), array_in(&bytes, &array)?), (item.layout.sizes(), expected(item)?));
            }
            items.retain(|item| npy_has(item.storage.dtype()));
            finish(Saving::npz(&path, true, again(&items)?)?)?;
            let bytes = std::fs::read(&path)?;
            let slice = bytes.as_slice();
            let source = Source::of_bytes(&path, &slice);
            let entries = npz::read(&source, None)?.arrays;
            assert_eq!(entries.len(), items.len());
            for (entry, item) in entries.iter().zip(&items) {
                npz::check(&source, entry)?;
                assert_eq!((entry.name.as_slice(), entry.array.layout.sizes()), (item.name.as_bytes(), item.layout.sizes()));
                assert_eq!(array_in(&bytes, &entry.array)?, expected(item)?);
            }
            Ok(())
        })();
        result.map_err(|error| TestCaseError::fail(error.to_string()))?;
    }
}

/// Whether an npy file says the dtype of such elements.
fn npy_has(dtype: DType) -> bool {
    !matches!(dtype, DType::BFloat16 | DType::Float8_e4m3fn | DType::Float8_e4m3fnuz | DType::Float8_e5m2fnuz)
}
