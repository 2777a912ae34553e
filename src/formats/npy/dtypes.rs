//! How NumPy names the types of elements: a byte order, a letter for the kind, and the width in bytes, as in `<f4`.

use crate::element::{DType, Kind};
use crate::error::Flaw;

/// The dtype that the caller named, if any.
#[derive(Clone, Copy)]
pub enum Wanted {
    /// All elements must have this dtype.
    Only(Option<DType>),
    /// Elements without a type have this dtype.
    IfUntyped(Option<DType>),
}

impl Wanted {
    fn dtype(self) -> Option<DType> {
        match self {
            Self::Only(dtype) | Self::IfUntyped(dtype) => dtype,
        }
    }
}

/// The dtype that elements have, and the width of the words whose byte order must be reversed to get this machine's: 1 for none.
///
/// Elements without a type need the dtype that is `wanted`.
pub(super) fn resolve(descr: &str, wanted: Wanted) -> Result<(DType, usize), Flaw> {
    let refuse = |what| Flaw::Elements { what, descr: descr.into() };
    let mut characters = descr.chars();
    let (order, letter, width) = match (characters.next(), characters.next()) {
        (Some(order @ ('<' | '>' | '|')), Some(letter)) => (order, letter, characters.as_str()),
        _ => return Err(refuse(kind_of(descr.chars().next()))),
    };
    // The width has no sign and no leading zero.
    let width = if width.starts_with(['+', '0']) { None } else { width.parse::<usize>().ok() };
    if let ('V', Some(width), '<' | '|') = (letter, width, order) {
        return match wanted.dtype() {
            None => Err(Flaw::Untyped { descr: descr.into() }),
            Some(dtype) if dtype.width() == width => Ok((dtype, 1)),
            Some(dtype) => Err(Flaw::OtherDType { descr: descr.into(), requested: dtype.dtype_name() }),
        };
    }
    let named = width.and_then(|width| DType::ALL.iter().copied().find(|&dtype| name_of(dtype) == Some((letter, width))));
    let Some(dtype) = named else { return Err(refuse(kind_of(Some(letter)))) };
    let word = dtype.part().width();
    if order == '|' && dtype.width() > 1 {
        return Err(refuse("an array of elements without a byte order"));
    }
    if let Wanted::Only(Some(wanted)) = wanted
        && wanted != dtype
    {
        return Err(Flaw::OtherDType { descr: descr.into(), requested: wanted.dtype_name() });
    }
    let native = if cfg!(target_endian = "little") { '<' } else { '>' };
    Ok((dtype, if order == native || order == '|' { 1 } else { word }))
}

/// How NumPy names elements of this dtype on a machine with this byte order: the order, the letter and the width.
pub(super) fn descr(dtype: DType) -> (char, char, usize) {
    // NumPy does not know these dtypes. ml_dtypes adds them as bytes without a type, with the byte order of a number.
    let (letter, width) = name_of(dtype).unwrap_or(('V', dtype.width()));
    let order = match (letter, width) {
        ('V' | 'f', _) | (_, 2..) => '<',
        _ => '|',
    };
    (order, letter, width)
}

/// NumPy's letter and width for a dtype, or `None` if NumPy has no name for it.
fn name_of(dtype: DType) -> Option<(char, usize)> {
    let letter = match dtype.kind() {
        Kind::Bool => 'b',
        Kind::Unsigned | Kind::Untyped => 'u',
        Kind::Signed => 'i',
        Kind::Float => 'f',
        Kind::Complex { .. } => 'c',
        // ml_dtypes gives one of the floats of 8 bits a letter of its own.
        Kind::SmallFloat if matches!(dtype, DType::Half | DType::Float8_e5m2) => 'f',
        Kind::SmallFloat => return None,
    };
    Some((letter, dtype.width()))
}

/// What this letter stands for, for an error.
fn kind_of(letter: Option<char>) -> &'static str {
    match letter {
        Some('O') => "an array of objects",
        Some('U') => "an array of strings",
        Some('S' | 'a') => "an array of byte strings",
        Some('M') => "an array of times",
        Some('m') => "an array of time differences",
        Some('V') => "an array of structures",
        Some('b') => "an array of booleans of this width",
        Some('i' | 'u') => "an array of integers of this width",
        Some('f') => "an array of floats of this width",
        Some('c') => "an array of complex numbers of this width",
        _ => "an array of elements of an unknown type",
    }
}
