//! The tensors and the metadata in the JSON text of a header.

use std::borrow::Cow;
use std::ops::Range;

use super::super::source::bytes_of;
use super::json::Json;
use super::{FileDType, Tensor};
use crate::error::{Error, Flaw, MAX_DIMENSIONS, Part, ShapeError};
use crate::fallible;

/// The name of the entry of the header that is not a tensor.
pub(super) const METADATA: &str = "__metadata__";

/// What an object of texts is called in an error.
const TEXTS: &str = "an object whose values are strings";

/// Names and texts.
pub(super) type Texts = Vec<(String, String)>;

/// Reads a header: its tensors, whose ranges are relative to the first byte after the header, and its metadata.
pub(super) fn read(mut json: Json<'_>) -> Result<(Vec<Tensor>, Texts), Error> {
    let (mut tensors, mut metadata) = (Vec::new(), None);
    json.object("an object", |json, name| {
        if name == METADATA {
            let found = if json.null()? { Texts::new() } else { texts(json)? };
            return if metadata.replace(found).is_none() { Ok(()) } else { Err(twice(json, &name)) };
        }
        let (file_dtype, file_sizes, data) = tensor(json).map_err(|error| in_tensor(error, &name))?;
        let name = owned(name)?;
        Ok(fallible::push(&mut tensors, Tensor { name, file_dtype, file_sizes, data })?)
    })?;
    json.end()?;
    Ok((tensors, metadata.unwrap_or_default()))
}

/// Reads an object whose values are all texts.
pub(super) fn texts(json: &mut Json<'_>) -> Result<Texts, Error> {
    let mut texts = Texts::new();
    json.object(TEXTS, |json, name| {
        let text = owned(json.text()?)?;
        Ok(fallible::push(&mut texts, (owned(name)?, text))?)
    })?;
    Ok(texts)
}

/// A text of its own.
fn owned(text: Cow<'_, str>) -> Result<String, Error> {
    match text {
        Cow::Borrowed(text) => Ok(fallible::text(text)?),
        Cow::Owned(text) => Ok(text),
    }
}

/// The error for a key that is there twice.
pub(super) fn twice(json: &Json<'_>, name: &str) -> Error {
    json.flaw(Flaw::Twice { name: (*name).into() })
}

/// The same error, in a tensor.
fn in_tensor(mut error: Error, name: &str) -> Error {
    if let Error::Format(error) = &mut error {
        error.part = Some(Part::Tensor((*name).into()));
    }
    error
}

/// What the object of a tensor says: the dtype, the sizes and the range.
type Described = (FileDType, Box<[usize]>, Range<u64>);

/// Reads the object of a tensor.
fn tensor(json: &mut Json<'_>) -> Result<Described, Error> {
    let (mut dtype, mut shape, mut range) = (None, None, None);
    json.object("an object with dtype, shape and data_offsets", |json, key| {
        let is_repeated = match &*key {
            "dtype" => {
                let name = json.text()?;
                let known = FileDType::named(&name).ok_or_else(|| json.flaw(Flaw::DType { name: (*name).into() }))?;
                dtype.replace(known).is_some()
            }
            "shape" => {
                let (sizes, count) = json.numbers::<MAX_DIMENSIONS>("an array of sizes")?;
                let Some(sizes) = sizes.get(..count) else {
                    return Err(json.flaw(Flaw::Shape(ShapeError::TooManyDimensions { dimensions: count })));
                };
                shape.replace(fallible::list_of(sizes.iter().copied())?.into_boxed_slice()).is_some()
            }
            "data_offsets" => {
                let ([begin, end], count) = json.numbers::<2>("an array of two offsets")?;
                if count != 2 {
                    return Err(json.wrong(format_args!("invalid length {count}, expected two offsets")));
                }
                range.replace(begin as u64..end as u64).is_some()
            }
            _ => {
                json.skip()?;
                false
            }
        };
        if is_repeated { Err(twice(json, &key)) } else { Ok(()) }
    })?;
    let missing = |key| json.flaw(Flaw::Missing { key });
    let dtype: FileDType = dtype.ok_or_else(|| missing("dtype"))?;
    let sizes = shape.ok_or_else(|| missing("shape"))?;
    let range = range.ok_or_else(|| missing("data_offsets"))?;
    match fits(dtype, &sizes, &range) {
        Ok(()) => Ok((dtype, sizes, range)),
        Err(flaw) => Err(json.flaw(flaw)),
    }
}

/// Checks that a range has the size of these elements.
fn fits(dtype: FileDType, sizes: &[usize], range: &Range<u64>) -> Result<(), Flaw> {
    let needed = bytes_of(sizes, dtype.bits())?;
    let elements: usize = sizes.iter().product();
    if !(elements % 8 * dtype.bits()).is_multiple_of(8) {
        return Err(Flaw::PartOfByte { dtype: dtype.name(), elements });
    }
    if range.end.checked_sub(range.start) != Some(needed) {
        let (begin, end) = (range.start, range.end);
        return Err(Flaw::Size { dtype: dtype.name(), sizes: sizes[..].into(), needed, begin, end });
    }
    Ok(())
}
