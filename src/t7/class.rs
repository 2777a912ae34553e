//! The classes that the format itself defines: storages and tensors, also those of CUDA.

use super::ascii;
use crate::element::DType;

/// The number in a version text such as `V 1`. Returns `None` for any other text. A file without versions has the class
/// name in the same position.
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
    /// The number of dimensions, the sizes, the strides, the offset (counted from 1), and the storage or nil.
    Tensor(DType),
    /// A CUDA tensor: the same as for a tensor, with a CUDA storage.
    CudaTensor(DType),
    /// Anything else. A class without a `write` method has one object here: the table of its fields.
    Other,
}

impl Kind {
    /// The kind for a class name. `torch.CudaTensor` has floats, and `torch.CudaIntTensor` has ints.
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
        let tensor = if cuda { Self::CudaTensor } else { Self::Tensor };
        name.strip_suffix(b"Tensor").and_then(dtype).map_or(Self::Other, tensor)
    }
}
