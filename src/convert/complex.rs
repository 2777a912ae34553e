//! Complex numbers as elements: two floats, the real part first.

use super::{Number, Scalar};

/// A complex number, with the memory layout that C, NumPy and PyTorch use.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Complex<P> {
    /// The real part.
    pub re: P,
    /// The imaginary part.
    pub im: P,
}

impl<P: PartialEq> PartialEq for Complex<P> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // `&` compares both parts without a branch, so that loops over elements are vectorised.
        (self.re == other.re) & (self.im == other.im)
    }
}

/// Implements [`Number`] by rule 7.
macro_rules! complex {
    ($($part:ty),*) => {$(
        impl Number for Complex<$part> {
            #[inline]
            fn from_f32(value: f32) -> Self {
                Self { re: value.convert(), im: 0.0 }
            }
            #[inline]
            fn from_f64(value: f64) -> Self {
                Self { re: value.convert(), im: 0.0 }
            }
            #[inline]
            fn from_i64(value: i64) -> Self {
                Self { re: <$part>::from_i64(value), im: 0.0 }
            }
            #[inline]
            fn from_u64(value: u64) -> Self {
                Self { re: <$part>::from_u64(value), im: 0.0 }
            }
            #[inline]
            fn from_parts<P: Number>(re: P, im: P) -> Self {
                Self { re: re.convert(), im: im.convert() }
            }
            #[inline]
            fn to_f64(self) -> f64 {
                self.re.to_f64()
            }
            #[inline]
            fn to_scalar(self) -> Scalar {
                Scalar::Complex(self.re.to_f64(), self.im.to_f64())
            }
            #[inline]
            fn convert<D: Number>(self) -> D {
                D::from_parts(self.re, self.im)
            }
        }
    )*};
}

complex! { f32, f64 }
