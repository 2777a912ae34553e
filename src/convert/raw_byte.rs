//! Elements of untyped storages.

use super::{Number, Scalar};

/// An element of a `torch.UntypedStorage`: a byte, which converts like a `u8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct RawByte(pub u8);

impl Number for RawByte {
    #[inline]
    fn from_f32(value: f32) -> Self {
        Self(u8::from_f32(value))
    }
    #[inline]
    fn from_f64(value: f64) -> Self {
        Self(u8::from_f64(value))
    }
    #[inline]
    fn from_i64(value: i64) -> Self {
        Self(u8::from_i64(value))
    }
    #[inline]
    fn from_u64(value: u64) -> Self {
        Self(u8::from_u64(value))
    }
    #[inline]
    fn to_f64(self) -> f64 {
        self.0.to_f64()
    }
    #[inline]
    fn to_scalar(self) -> Scalar {
        Scalar::Signed(self.0.into())
    }
    #[inline]
    fn convert<D: Number>(self) -> D {
        self.0.convert()
    }
}
