//! The classes that the format itself defines: storages and tensors, also those of CUDA.

use super::ascii;
use crate::element::DType;

/// The number in a version text such as `V 1`. The answer is `None` for any other text. A file without versions has the class
/// name in the same position.
#[must_use]
pub fn version_in(text: &[u8]) -> Option<&[u8]> {
    let is_number = |number: &&[u8]| ascii::f64_at(number).is_some_and(|(_, used)| used == number.len());
    text.strip_prefix(b"V ").filter(is_number)
}

/// The data of an object. Its class decides which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A size and the elements.
    Storage(DType),
    /// A CUDA storage: a size and the elements.
    CudaStorage(DType),
    /// The number of dimensions, the sizes, the strides, the offset (counted from 1), and the storage or nil. CUDA tensors have
    /// the same.
    Tensor(DType),
    /// Anything else. A class without a `write` method has one object here: the table of its fields.
    Other,
}

impl Kind {
    /// The kind for a class name. `torch.CudaTensor` has floats, and `torch.CudaIntTensor` has ints.
    #[must_use]
    pub fn of(class: &[u8]) -> Self {
        let Some(name) = class.strip_prefix(b"torch.") else { return Self::Other };
        let (cuda, name) = name.strip_prefix(b"Cuda").map_or((false, name), |rest| (true, rest));
        let dtype = |element: &[u8]| {
            if cuda && element.is_empty() {
                return Some(DType::Float);
            }
            DType::ALL
                .iter()
                .copied()
                .filter(|dtype| dtype.is_in_torch7())
                .find(|dtype| dtype.element_name().as_bytes() == element)
        };
        if let Some(dtype) = name.strip_suffix(b"Storage").and_then(dtype) {
            return if cuda { Self::CudaStorage(dtype) } else { Self::Storage(dtype) };
        }
        name.strip_suffix(b"Tensor").and_then(dtype).map_or(Self::Other, Self::Tensor)
    }
}

/// Checks that a storage of `available` elements has all elements of a tensor. `sizes` and `strides` are in elements, one pair
/// for each dimension, and `offset` counts from 1. A tensor without dimensions, or with a dimension of size 0, has no elements.
/// `available` is `None` if there is no storage.
///
/// # Errors
/// A message with the numbers that do not fit.
pub fn check_tensor(sizes: &[i64], strides: &[i64], offset: i64, available: Option<usize>) -> Result<(), String> {
    if sizes.len() != strides.len() {
        return Err(format!("a tensor has as many strides as sizes, got {} sizes and {} strides", sizes.len(), strides.len()));
    }
    if let Some(size) = sizes.iter().find(|&&size| size < 0) {
        return Err(format!("the size of a dimension must not be negative, got {size}"));
    }
    if sizes.contains(&0) || sizes.is_empty() {
        return Ok(());
    }
    // A product of two 64-bit numbers fits into 128 bits. A sum that does not fit is outside of any storage, so it may saturate.
    let (mut first, mut last) = (i128::from(offset), i128::from(offset));
    let mut elements = 1_i128;
    for (&size, &stride) in sizes.iter().zip(strides) {
        let reach = (i128::from(size) - 1) * i128::from(stride);
        let end = if reach < 0 { &mut first } else { &mut last };
        *end = end.saturating_add(reach);
        elements = elements.saturating_mul(i128::from(size));
    }
    if elements > i128::from(i64::MAX) {
        return Err("the tensor has more than 2^63-1 elements".to_owned());
    }
    let Some(available) = available else { return Err(format!("the tensor has no storage for its elements, {elements} in all")) };
    if first < 1 || u128::try_from(last).is_ok_and(|last| last > available as u128) {
        return Err(format!("the tensor uses elements {first} to {last} of its storage, which has {available}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Kind, check_tensor};
    use crate::element::DType;

    #[test]
    fn the_class_name_decides_the_kind() {
        for (class, kind) in [
            ("torch.ByteStorage", Kind::Storage(DType::Byte)),
            ("torch.HalfTensor", Kind::Tensor(DType::Half)),
            ("torch.CudaStorage", Kind::CudaStorage(DType::Float)),
            ("torch.CudaDoubleStorage", Kind::CudaStorage(DType::Double)),
            ("torch.CudaTensor", Kind::Tensor(DType::Float)),
            ("torch.CudaLongTensor", Kind::Tensor(DType::Long)),
            ("torch.Storage", Kind::Other),
            ("torch.UntypedStorage", Kind::Other),
            // Torch7 does not have these classes, so the format does not define their data.
            ("torch.BFloat16Storage", Kind::Other),
            ("torch.BoolTensor", Kind::Other),
            ("torch.CudaFloat8_e5m2Storage", Kind::Other),
            ("torch.Tensor", Kind::Other),
            ("torch.CudaFoo", Kind::Other),
            ("nn.Linear", Kind::Other),
            ("", Kind::Other),
        ] {
            assert_eq!(Kind::of(class.as_bytes()), kind, "{class}");
        }
    }

    #[test]
    fn all_elements_of_a_tensor_are_in_its_storage() {
        assert_eq!(check_tensor(&[2, 3], &[3, 1], 1, Some(6)), Ok(()));
        assert_eq!(check_tensor(&[3, 2], &[1, 3], 1, Some(6)), Ok(()));
        assert_eq!(check_tensor(&[], &[], 1, None), Ok(()));
        assert_eq!(check_tensor(&[0, 7], &[7, 1], 1, None), Ok(()));
        assert_eq!(check_tensor(&[4], &[0], 6, Some(6)), Ok(()));
        for (sizes, strides, offset, available) in [
            (&[2_i64, 3][..], &[3_i64, 1][..], 2, Some(6)),
            (&[2, 3], &[3, 1], 0, Some(6)),
            (&[2], &[-1], 1, Some(6)),
            (&[-1], &[1], 1, Some(6)),
            (&[2], &[1, 1], 1, Some(6)),
            (&[1], &[1], 1, None),
            (&[i64::MAX, i64::MAX], &[i64::MAX, i64::MAX], i64::MAX, Some(6)),
            (&[i64::MAX, 3], &[0, 0], 1, Some(6)),
            (&[2], &[i64::MIN], 1, Some(6)),
        ] {
            assert!(check_tensor(sizes, strides, offset, available).is_err(), "{sizes:?} {strides:?} {offset}");
        }
    }
}
