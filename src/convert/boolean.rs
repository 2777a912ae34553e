//! Booleans as elements: bytes, of which 0 is false and every other value is true.

use super::{Number, Scalar};

/// An element of a `torch.BoolStorage`. Any byte is a valid `Bool`, because others may write to mapped and shared memory.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
    /// The element that reads as 0.
    pub const FALSE: Self = Self(0);
    /// The element that reads as 1.
    pub const TRUE: Self = Self(1);

    /// The value as a Rust `bool`.
    #[must_use]
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    #[inline]
    fn from(value: bool) -> Self {
        Self(u8::from(value))
    }
}

impl PartialEq for Bool {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl PartialOrd for Bool {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.get().partial_cmp(&other.get())
    }
}

impl Number for Bool {
    #[inline]
    fn from_f32(value: f32) -> Self {
        Self::from(value != 0.0)
    }
    #[inline]
    fn from_f64(value: f64) -> Self {
        Self::from(value != 0.0)
    }
    #[inline]
    fn from_i64(value: i64) -> Self {
        Self::from(value != 0)
    }
    #[inline]
    fn from_u64(value: u64) -> Self {
        Self::from(value != 0)
    }
    #[inline]
    fn from_parts<P: Number>(re: P, im: P) -> Self {
        Self::from(re.convert::<Self>().get() | im.convert::<Self>().get())
    }
    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self.get()))
    }
    #[inline]
    fn to_scalar(self) -> Scalar {
        Scalar::Signed(i64::from(self.get()))
    }
    #[inline]
    fn convert<D: Number>(self) -> D {
        D::from_i64(i64::from(self.get()))
    }
}
