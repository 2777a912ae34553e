//! The dtypes of safetensors files.

use crate::element::DType;

/// A dtype of a safetensors file. The order is that of the reference, which writes the tensors with the greatest dtype first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileDType(u8);

/// The name of a dtype, the bits of an element, and the dtype in memory. It is `None` for elements that are bytes in memory.
struct Row(&'static str, usize, Option<DType>);

/// Every dtype, in the order of the reference (`Dtype` in its `tensor.rs`).
const ROWS: &[Row] = &[
    Row("BOOL", 8, Some(DType::Bool)),
    Row("F4", 4, None),
    Row("F6_E2M3", 6, None),
    Row("F6_E3M2", 6, None),
    Row("U8", 8, Some(DType::Byte)),
    Row("I8", 8, Some(DType::Char)),
    Row("F8_E5M2", 8, Some(DType::Float8_e5m2)),
    Row("F8_E4M3", 8, Some(DType::Float8_e4m3fn)),
    Row("F8_E8M0", 8, None),
    Row("F8_E4M3FNUZ", 8, Some(DType::Float8_e4m3fnuz)),
    Row("F8_E5M2FNUZ", 8, Some(DType::Float8_e5m2fnuz)),
    Row("I16", 16, Some(DType::Short)),
    Row("U16", 16, Some(DType::UInt16)),
    Row("F16", 16, Some(DType::Half)),
    Row("BF16", 16, Some(DType::BFloat16)),
    Row("I32", 32, Some(DType::Int)),
    Row("U32", 32, Some(DType::UInt32)),
    Row("F32", 32, Some(DType::Float)),
    Row("C64", 64, Some(DType::ComplexFloat)),
    Row("F64", 64, Some(DType::Double)),
    Row("I64", 64, Some(DType::Long)),
    Row("U64", 64, Some(DType::UInt64)),
];

impl FileDType {
    /// Every dtype, in the order of the reference.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=u8::MAX).take(ROWS.len()).map(Self)
    }

    /// The dtype with this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::all().find(|dtype| dtype.name() == name)
    }

    /// The dtype of a file for elements in memory; `None` if the format has none. Bytes without a type are `U8`.
    pub(super) fn of(dtype: DType) -> Option<Self> {
        let dtype = if dtype.is_untyped() { DType::Byte } else { dtype };
        Self::all().find(|row| row.row().2 == Some(dtype))
    }

    fn row(self) -> &'static Row {
        &ROWS[usize::from(self.0)]
    }

    /// The name in the file, for example `"F32"`.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The number of bits of an element.
    pub fn bits(self) -> usize {
        self.row().1
    }

    /// The dtype of the elements in memory.
    pub fn in_memory(self) -> DType {
        self.row().2.unwrap_or(DType::Byte)
    }
}

impl std::fmt::Debug for FileDType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
