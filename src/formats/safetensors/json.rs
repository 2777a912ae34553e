//! The values in the JSON text of a header or of an index.
//!
//! `serde_json` reads the text, and refuses values that are nested more than 128 levels deep. The visitors here take the values
//! as they come, so that what is kept is not larger than the text.

use std::fmt;
use std::ops::Range;

use serde_core::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Unexpected, Visitor};

use super::super::source::{Source, bytes_of};
use super::{FileDType, Tensor};
use crate::error::{Error, Flaw, MAX_DIMENSIONS, Part, ShapeError};

/// The name of the entry of the header that is no tensor.
pub(super) const METADATA: &str = "__metadata__";

/// A flaw in a text: the offset of the byte at which it was noticed, and the tensor in which it is.
pub(super) struct Failure {
    at: u64,
    tensor: Option<String>,
    flaw: Flaw,
}

impl Failure {
    /// The error for this flaw, in a text that begins at byte `begin` of the file.
    pub(super) fn in_file(self, source: &Source<'_>, begin: u64) -> Error {
        source.error(begin + self.at, self.tensor.map(Part::Tensor).as_ref(), self.flaw)
    }
}

/// What is taken from a text.
pub(super) trait Target {
    /// Takes all entries of the outermost object.
    fn take<'de, A: MapAccess<'de>>(&mut self, entries: A) -> Result<(), A::Error>;

    /// Where the target notes what is wrong, and in which tensor.
    fn noted(&mut self) -> &mut Noted;
}

/// What a visitor notes before it returns an error of the parser, which has no room for it.
#[derive(Default)]
pub(super) struct Noted {
    tensor: Option<String>,
    flaw: Option<Flaw>,
}

impl Noted {
    /// Says which tensor the values belong to that are read next.
    pub(super) fn enter(&mut self, tensor: Option<String>) {
        self.tensor = tensor;
    }

    /// Notes a flaw, and makes an error that stops the parser.
    pub(super) fn refuse<E: serde_core::de::Error>(&mut self, flaw: Flaw) -> E {
        self.flaw = Some(flaw);
        E::custom("refused")
    }
}

/// Reads a text, whose outermost value must be an object.
pub(super) fn parse<T: Target>(text: &str, mut target: T) -> Result<T, Box<Failure>> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let parsed = Object(&mut target).deserialize(&mut parser);
    match parsed.and_then(|()| parser.end()) {
        Ok(()) => Ok(target),
        Err(error) => {
            let at = offset(text, error.line(), error.column());
            let noted = std::mem::take(target.noted());
            let flaw = noted.flaw.unwrap_or_else(|| {
                let reason = error.to_string();
                let position = format!(" at line {} column {}", error.line(), error.column());
                Flaw::Json { reason: reason.strip_suffix(&position).unwrap_or(&reason).to_owned() }
            });
            Err(Box::new(Failure { at, tensor: noted.tensor, flaw }))
        }
    }
}

/// The offset of a position that the parser gives as a line and a column, which count from 1.
fn offset(text: &str, line: usize, column: usize) -> u64 {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
    (before + column.saturating_sub(1)).min(text.len()) as u64
}

/// Reads the outermost object.
struct Object<'a, T>(&'a mut T);

impl<'de, T: Target> DeserializeSeed<'de> for Object<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, T: Target> Visitor<'de> for Object<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<(), A::Error> {
        self.0.take(entries)
    }
}

/// The tensors and the metadata of a header. The ranges of the tensors are relative to the first byte after the header.
#[derive(Default)]
pub(super) struct Tensors {
    pub tensors: Vec<Tensor>,
    pub metadata: Vec<(String, String)>,
    has_metadata: bool,
    noted: Noted,
}

impl Target for Tensors {
    fn take<'de, A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        while let Some(name) = entries.next_key::<String>()? {
            if name == METADATA {
                if std::mem::replace(&mut self.has_metadata, true) {
                    return Err(self.noted.refuse(Flaw::Twice { name }));
                }
                entries.next_value_seed(Texts { into: &mut self.metadata, may_be_null: true })?;
                continue;
            }
            self.noted.enter(Some(name));
            let (file_dtype, file_sizes, data) = entries.next_value_seed(Info(&mut self.noted))?;
            let name = self.noted.tensor.take().unwrap_or_default();
            self.tensors.push(Tensor { name, file_dtype, file_sizes, data });
        }
        Ok(())
    }

    fn noted(&mut self) -> &mut Noted {
        &mut self.noted
    }
}

/// Reads an object whose values are all texts.
pub(super) struct Texts<'a> {
    pub into: &'a mut Vec<(String, String)>,
    /// Whether `null` may stand for an object without values.
    pub may_be_null: bool,
}

impl<'de> DeserializeSeed<'de> for Texts<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Texts<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object whose values are strings")
    }

    fn visit_unit<E: serde_core::de::Error>(self) -> Result<(), E> {
        if self.may_be_null { Ok(()) } else { Err(E::invalid_type(Unexpected::Unit, &self)) }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(entry) = entries.next_entry()? {
            self.into.push(entry);
        }
        Ok(())
    }
}

/// Reads the object of a tensor.
struct Info<'a>(&'a mut Noted);

type Described = (FileDType, Box<[usize]>, Range<u64>);

impl<'de> DeserializeSeed<'de> for Info<'_> {
    type Value = Described;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Described, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Info<'_> {
    type Value = Described;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with dtype, shape and data_offsets")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Described, A::Error> {
        let (mut dtype, mut shape, mut range) = (None, None, None);
        while let Some(key) = fields.next_key::<String>()? {
            let repeated = match key.as_str() {
                "dtype" => {
                    let name = fields.next_value::<String>()?;
                    let known = FileDType::named(&name).ok_or_else(|| self.0.refuse(Flaw::DType { name }))?;
                    dtype.replace(known).is_some()
                }
                "shape" => {
                    let (sizes, count) = fields.next_value_seed(Numbers::<MAX_DIMENSIONS>("an array of sizes"))?;
                    if count > sizes.len() {
                        let flaw = Flaw::Shape(ShapeError::TooManyDimensions { dimensions: count });
                        return Err(self.0.refuse(flaw));
                    }
                    shape.replace(sizes).is_some()
                }
                "data_offsets" => {
                    let (ends, count) = fields.next_value_seed(Numbers::<2>("an array of two offsets"))?;
                    let &[begin, end] = ends.as_slice() else { return Err(A::Error::invalid_length(count, &"two offsets")) };
                    if count > 2 {
                        return Err(A::Error::invalid_length(count, &"two offsets"));
                    }
                    range.replace(begin as u64..end as u64).is_some()
                }
                _ => {
                    fields.next_value_seed(Skip)?;
                    false
                }
            };
            if repeated {
                return Err(self.0.refuse(Flaw::Twice { name: key }));
            }
        }
        let mut missing = |key| self.0.refuse(Flaw::Missing { key });
        let dtype: FileDType = dtype.ok_or_else(|| missing("dtype"))?;
        let sizes = shape.ok_or_else(|| missing("shape"))?;
        let range = range.ok_or_else(|| missing("data_offsets"))?;
        match fits(dtype, &sizes, &range) {
            Ok(()) => Ok((dtype, sizes.into_boxed_slice(), range)),
            Err(flaw) => Err(self.0.refuse(flaw)),
        }
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

/// Reads an array of numbers from 0 to 2^63-1. Returns the first `MOST` of them, and how many there are. The text says what is
/// expected.
struct Numbers<const MOST: usize>(&'static str);

impl<'de, const MOST: usize> DeserializeSeed<'de> for Numbers<MOST> {
    type Value = (Vec<usize>, usize);

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, const MOST: usize> Visitor<'de> for Numbers<MOST> {
    type Value = (Vec<usize>, usize);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let (mut first, mut count) = (Vec::new(), 0);
        while let Some(number) = elements.next_element::<u64>()? {
            let too_large = || A::Error::invalid_value(Unexpected::Unsigned(number), &"a number from 0 to 2^63-1");
            let number = isize::try_from(number).map_err(|_| too_large())?.unsigned_abs();
            if count < MOST {
                first.push(number);
            }
            count += 1;
        }
        Ok((first, count))
    }
}

/// Reads a value of any kind, and keeps nothing. Unlike `IgnoredAny` it counts the levels of nested values.
pub(super) struct Skip;

impl<'de> DeserializeSeed<'de> for Skip {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Skip {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while entries.next_key_seed(Self)?.is_some() {
            entries.next_value_seed(Self)?;
        }
        Ok(())
    }
}
