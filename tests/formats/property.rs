//! What holds for any bytes that are read as one of the formats. The tests and the fuzzers in `fuzz/` use it. An error is a
//! violation, and the result says whether the bytes were accepted.

use std::ops::Range;
use std::path::Path;

use torch_storage::formats::{Source, npy, npz, safetensors};
use torch_storage::{DType, Error};

/// The name that errors have for the bytes.
const NAME: &str = "some file";

/// A part of the file is accepted, or the error names the file and a byte in it.
fn accepted<T>(result: Result<T, Error>, length: usize) -> Result<Option<T>, String> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Format(error)) if error.byte > length as u64 => Err(format!("wrong at byte {} of {length}", error.byte)),
        Err(error @ Error::Format(_)) if error.to_string().contains(NAME) => Ok(None),
        Err(error) => Err(format!("another error: {error}")),
    }
}

/// An array fills its bytes, which are in the file.
fn check_array(array: &npy::Array, length: usize) -> Result<(), String> {
    let elements = array.layout.elements();
    let right = array.data.end <= length as u64
        && array.data.end.checked_sub(array.data.start) == Some((elements * array.dtype.width()) as u64)
        && array.layout.span() == (0..elements)
        && array.layout.offset() == 0
        && [1, 2, 4, 8].contains(&array.swap);
    if right { Ok(()) } else { Err(format!("{array:?} in {length} bytes")) }
}

pub fn check_npy(bytes: &[u8]) -> Result<bool, String> {
    let mut is_array = false;
    for dtype in [None, Some(DType::BFloat16), Some(DType::Float8_e4m3fn)] {
        let Some(array) = accepted(npy::read(&Source::of_bytes(Path::new(NAME), &bytes), dtype), bytes.len())? else { continue };
        is_array = true;
        check_array(&array, bytes.len())?;
        let (mut file, _) = npy::header(array.dtype, &array.layout).map_err(|error| error.to_string())?;
        let written = file.len();
        // Only a file with few elements is written again.
        if array.data.end - array.data.start > 1 << 16 {
            continue;
        }
        file.resize(written + usize::try_from(array.data.end - array.data.start).unwrap_or(0), 0);
        let slice = file.as_slice();
        let again =
            npy::read(&Source::of_bytes(Path::new(NAME), &slice), Some(array.dtype)).map_err(|error| error.to_string())?;
        if (again.dtype, again.layout.sizes()) != (array.dtype, array.layout.sizes()) || again.data.start != written as u64 {
            return Err(format!("{array:?} became {again:?}"));
        }
    }
    Ok(is_array)
}

pub fn check_npz(bytes: &[u8]) -> Result<bool, String> {
    let source = Source::of_bytes(Path::new(NAME), &bytes);
    let Some(contents) = accepted(npz::read(&source, None), bytes.len())? else { return Ok(false) };
    let entries = contents.arrays;
    let mut ranges = Vec::new();
    for entry in &entries {
        check_array(&entry.array, bytes.len())?;
        ranges.push((entry.array.data.start, entry.array.data.end));
        accepted(npz::check(&source, entry), bytes.len())?;
    }
    ranges.sort_unstable();
    if ranges.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        return Err(format!("{ranges:?} overlap"));
    }
    if entries.windows(2).any(|pair| pair[0].name >= pair[1].name) {
        return Err("the names are not in order".to_owned());
    }
    let reference = in_reference(bytes).map_err(|error| format!("the reference refuses it: {error}"))?;
    if entries.len() + contents.others.len() != reference.len() {
        return Err(format!("{} entries, and {} of the reference", entries.len() + contents.others.len(), reference.len()));
    }
    for entry in &entries {
        let is_same = |(name, range): &Named| {
            let part = &bytes[range.clone()];
            (*name == entry.name || name.strip_suffix(b".npy") == Some(&entry.name))
                && npy::read(&Source::of_bytes(Path::new(NAME), &part), None)
                    .is_ok_and(|array| array.data.start + range.start as u64 == entry.array.data.start)
        };
        if !reference.iter().any(is_same) {
            return Err(format!("{entry:?} is not in {reference:?}"));
        }
    }
    Ok(true)
}

/// The name of an entry and its bytes in an archive.
type Named = (Vec<u8>, Range<usize>);

/// The entries that the crate `rawzip` finds in an archive.
fn in_reference(bytes: &[u8]) -> Result<Vec<Named>, rawzip::Error> {
    let archive = rawzip::ZipArchive::from_slice(bytes)?;
    let (mut found, mut records) = (Vec::new(), archive.entries());
    while let Some(record) = records.next_entry()? {
        let (begin, end) = archive.get_entry(record.wayfinder())?.compressed_data_range();
        let range = usize::try_from(begin).unwrap_or(usize::MAX)..usize::try_from(end).unwrap_or(usize::MAX);
        found.push((record.file_path().as_bytes().to_vec(), range));
    }
    Ok(found)
}

/// The tensors of a header: the name, the dtype, the sizes, and the bytes from the first one after the header on.
type Tensors = Vec<(String, String, Vec<usize>, usize)>;

/// Whatever is accepted is also accepted by the reference, which finds the same tensors.
pub fn check_safetensors(bytes: &[u8]) -> Result<bool, String> {
    let source = Source::of_bytes(Path::new(NAME), &bytes);
    accepted(safetensors::Index::read(&source, Path::new(NAME)), bytes.len())?;
    let Some(header) = accepted(safetensors::read(&source), bytes.len())? else { return Ok(false) };
    let reference = ::safetensors::SafeTensors::deserialize(bytes).map_err(|error| format!("the reference refuses: {error}"))?;
    let mut theirs: Tensors = reference
        .iter()
        .map(|(name, tensor)| {
            let at = tensor.data().as_ptr().addr() - bytes.as_ptr().addr();
            (name.to_owned(), tensor.dtype().to_string(), tensor.shape().to_vec(), at)
        })
        .collect();
    theirs.sort_unstable();
    let ours: Tensors = header
        .tensors
        .iter()
        .map(|tensor| {
            let at = usize::try_from(tensor.data.start).unwrap_or(usize::MAX);
            (tensor.name.clone(), tensor.file_dtype.name().to_owned(), tensor.file_sizes.to_vec(), at)
        })
        .collect();
    if ours != theirs {
        return Err(format!("{ours:?} instead of {theirs:?}"));
    }
    for tensor in &header.tensors {
        let layout = tensor.layout().map_err(|error| error.to_string())?;
        let bytes = tensor.data.end - tensor.data.start;
        if (layout.elements() * tensor.dtype().width()) as u64 != bytes {
            return Err(format!("{layout:?} of {tensor:?}"));
        }
    }
    Ok(true)
}
