//! What the floats of 8 and of 16 bits have in common: a format, and their way from and to numbers by their bits.

/// How the bits of a small float make a number. Below the sign come the exponent and then the mantissa, as in IEEE 754.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Bits of the mantissa.
    pub mantissa: u32,
    /// The bias of the exponent.
    pub bias: u32,
    /// The bits, without the sign, that a number becomes that is too large: infinity, or NaN in a format without infinity.
    pub overflow: u32,
    /// The bits of NaN as it is written.
    pub nan: u32,
    /// Whether the sign bit alone is NaN instead of -0. Such a format has no infinity either.
    pub one_zero: bool,
}

/// A float of 8 or 16 bits as compiled Lua code works with it: by its bits.
#[derive(Clone, Copy, Debug)]
pub struct SmallFloat {
    /// How the bits make a number.
    pub format: Format,
    /// The bits of the element that a number becomes. LuaJIT calls it as a C function.
    pub bits: extern "C" fn(f64) -> u16,
    /// Fills the slice with numbers: those of the elements with these bits, the bits after them, and so on. Every NaN is
    /// `f64::NAN`, whose bits LuaJIT takes for a number.
    pub numbers: fn(u16, &mut [f64]),
}

/// The [`SmallFloat`] of a type, with its format.
macro_rules! small_float {
    ($type:ty, $format:expr) => {{
        extern "C" fn bits(value: f64) -> u16 {
            <$type as $crate::convert::Number>::from_f64(value).to_bits().into()
        }
        fn numbers(first: u16, numbers: &mut [f64]) {
            for (offset, number) in numbers.iter_mut().enumerate() {
                let element = <$type>::from_bits(first.wrapping_add(offset as u16) as _);
                let exact = $crate::convert::Number::to_f64(element);
                *number = if exact.is_nan() { f64::NAN } else { exact };
            }
        }
        Some($crate::convert::SmallFloat { format: $format, bits, numbers })
    }};
}

pub(super) use small_float;
