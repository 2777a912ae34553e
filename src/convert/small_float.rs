//! Descriptions of the 8-bit and 16-bit floats, from which compiled Lua code converts them by their bits.

/// The binary format of a small float. As in IEEE 754, the bits from high to low are the sign, the exponent and the mantissa.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Number of bits of the mantissa.
    pub mantissa: u32,
    /// The bias of the exponent.
    pub bias: u32,
    /// The bits, without the sign, of numbers that are too large: infinity, or NaN in a format without infinity.
    pub overflow: u32,
    /// The bits of the NaN that conversions produce.
    pub nan: u32,
    /// Whether the bits of -0 mean NaN, so that there is one zero. Such a format has no infinity either.
    pub one_zero: bool,
}

/// What compiled Lua code needs to know about an 8-bit or 16-bit float: LuaJIT reads and writes its bits as an integer.
#[derive(Clone, Copy, Debug)]
pub struct SmallFloat {
    /// The binary format.
    pub format: Format,
    /// Converts a number and returns the bits of the element. LuaJIT calls it as a C function.
    pub bits: extern "C" fn(f64) -> u16,
    /// Fills the slice with the numbers of consecutive bit patterns, starting with the given bits. Every NaN becomes `f64::NAN`,
    /// because LuaJIT would take some other NaNs for values that are not numbers.
    pub numbers: fn(u16, &mut [f64]),
}

/// Makes the [`SmallFloat`] of a type.
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
